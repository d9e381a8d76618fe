"""What speaks for a diagnosis: numbers with the rows that they come from, and what else stands out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from labkit.profile import questions as ask
from labkit.profile.diagnosis_words import QUEUED, SENTENCES, of_time
from labkit.profile.questions import attribution as lost
from labkit.profile.questions import waiting
from labkit.profile.table import Profile
from labkit.profile.thresholds import MENTIONED


@dataclass(frozen=True)
class Evidence:
    """A number and where it comes from. value in ``unit`` (``share`` is 0 to 1); rows: the events that it was
    computed from."""

    what: str
    value: float
    unit: str
    rows: str


def evidence_of(p: Profile, cause: str, shares: Mapping[str, float]) -> list[Evidence]:
    """The numbers that speak for a cause."""
    found = [
        Evidence(
            f"lost: {cause}", shares[cause], "share", "gaps and kernels within the window, each nanosecond counted once"
        )
    ]
    s = ask.steps(p)
    if cause == "loader":
        load = lost.loading(p)
        names = ", ".join(sorted(load["name"].cast(pl.String).unique().to_list())[:3])
        took = float((load["end_ns"] - load["start_ns"]).median() or 0)  # type: ignore[arg-type]
        found.append(
            Evidence("median time of loading a batch", took / 1e6, "ms", f"{load.height} events named {names}")
        )
    elif cause == "launch-bound":
        launch = ask.launches(p)
        if launch.empty_share is not None:
            found.append(
                Evidence(
                    "kernels launched to an empty queue",
                    launch.empty_share,
                    "share",
                    f"{launch.joined} dispatches and their calls",
                )
            )
        if launch.kernel_ns is not None:
            found.append(Evidence("median kernel", launch.kernel_ns / 1e3, "µs", f"{launch.dispatches} dispatches"))
        gap = ask.gaps(p)
        between = gap.filter(pl.col("call_start_ns") >= pl.col("start_ns"))["length_ns"].median()
        if isinstance(between, float):
            rows = "gaps whose next kernel was launched in them"
            found.append(Evidence("median gap before such a kernel", between / 1e3, "µs", rows))
    elif cause == "synchronising":
        calls = waiting.waits(p)
        per_step = calls.height / s.count if s.found == "markers" and s.count else None
        names = ", ".join(sorted(calls["name"].unique().to_list())[:3])
        if per_step is not None:
            found.append(Evidence("blocking calls per step", per_step, "calls", f"{calls.height} API calls: {names}"))
        else:
            found.append(Evidence("blocking calls", float(calls.height), "calls", f"API calls: {names}"))
    else:
        for row in ask.overlap(p).iter_rows(named=True):
            if row["what"] == cause and row["total_ns"]:
                what = f"of the {cause} nothing hides"
                where = f"{row['count']} events on device {row['device']}"
                found.append(Evidence(what, row["exposed_ns"] / row["total_ns"], "share", where))
    return found


def observations(p: Profile, shares: Mapping[str, float], named: str | None) -> tuple[str, ...]:
    """What else stands out, most time first."""
    found = []
    also = sorted(
        (name for name in lost.CAUSES if name != named and shares[name] >= MENTIONED), key=lambda name: -shares[name]
    )
    found += [SENTENCES[name].format(share=of_time(shares[name])) for name in also]
    if shares["host"] >= MENTIONED:
        found.append(f"{of_time(shares['host'])} the GPU waits while the host is busy with: {longest_host(p)}.")
    if shares["queued"] >= MENTIONED:
        found.append(QUEUED.format(share=of_time(shares["queued"])))
    if shares["unknown"] >= MENTIONED and named:
        found.append(f"{of_time(shares['unknown'])} no kernel runs and the profile does not say why.")
    limits = ask.window(p)
    if limits is not None and limits.left_out:
        found.append("The first step took more than three times the others (warm-up) and is not counted.")
    s = ask.steps(p)
    if s.median_ns:
        how = "markers" if s.found == "markers" else f"pattern of {s.period} kernels"
        number = f"median of {s.count}" if s.count > 1 else "there is one"
        found.append(f"A step takes {s.median_ns / 1e6:.3g} ms ({number}, by their {how}).")
    top = ask.kernels(p)
    if top.height and top["share"][0] is not None and top["share"][0] >= 0.25:
        found.append(
            f"{top['short'][0]} alone takes {top['share'][0]:.0%} of the kernels' time ({top['category'][0]})."
        )
    return (*found, *p.odd)


def longest_host(p: Profile) -> str:
    """What the host was in for most of the idle time."""
    table = ask.gaps(p).filter(pl.col("host").is_not_null())
    if table.height == 0:
        return "nothing that this profile names"
    first = table.group_by("host").agg(pl.col("length_ns").sum()).sort(["length_ns", "host"], descending=[True, False])
    return str(first["host"][0])
