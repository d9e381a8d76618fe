"""What speaks for a diagnosis: numbers with the rows that they come from, and what else stands out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from labkit.profile import intervals
from labkit.profile import questions as ask
from labkit.profile.diagnosis_words import (
    BEFORE_OR_AFTER,
    INSIDE,
    MIXED,
    OPERATING,
    QUEUED,
    READING,
    SENTENCES,
    SINGLE_PAUSE,
    SLOWED,
    STILL_IDLE,
    TOO_FEW,
    of_time,
    percent,
)
from labkit.profile.questions import attribution as lost
from labkit.profile.questions import waiting
from labkit.profile.table import Profile
from labkit.profile.thresholds import FEW, LONGEST_LAUNCH_NS, MENTIONED, MIXED_NS, ONE_PAUSE
from labkit.timing.words import duration


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
    found += remarks(p)
    found += [sentence_of(p, name, shares[name]) for name in also]
    if shares["host"] >= MENTIONED and named != "host":
        found.append(f"{of_time(shares['host'])} the GPU waits while the host is busy with: {longest_host(p)[0]}.")
    if shares["queued"] >= MENTIONED:
        found.append(QUEUED.format(share=of_time(shares["queued"])))
    if shares["unknown"] >= MENTIONED and named:
        found.append(f"{of_time(shares['unknown'])} no kernel runs and the profile does not say why.")
    limits = ask.window(p)
    if limits is not None and limits.left_out:
        found.append("The first step took more than three times the others (warm-up) and is not counted.")
    s = ask.steps(p)
    if s.median_ns and s.found == "markers":
        number = f"median of {s.count}" if s.count > 1 else "there is one"
        found.append(f"A step takes {s.median_ns / 1e6:.3g} ms ({number}, by their markers).")
    elif s.median_ns:
        again = f"{s.period} kernels return in the same order every {s.median_ns / 1e6:.3g} ms, {s.count} times"
        found.append(f"{again}: a step, or a layer that repeats. No marker says which.")
    top = ask.kernels(p)
    if top.height and top["share"][0] is not None and top["share"][0] >= 0.25:
        found.append(
            f"{top['short'][0]} alone takes {top['share'][0]:.0%} of the kernels' time ({top['category'][0]})."
        )
    return (*found, *p.odd)


def on_the_host(p: Profile) -> list[str]:
    """What a run without a GPU shows of its steps: their time, Python between the operators, numbers read from tensors."""
    found = []
    s, side = ask.steps(p), ask.host(p)
    if s.median_ns and s.found == "markers":
        number = f"median of {s.count}" if s.count > 1 else "there is one"
        found.append(f"A step takes {s.median_ns / 1e6:.3g} ms ({number}, by their markers).")
    if side is not None:
        found.append(OPERATING.format(share=percent(side.operator_share)))
        if side.reads:
            found.append(READING.format(count=f"{side.reads / side.steps:.3g}"))
    return found


LAUNCHING = re.compile(r"^(?:hip|cu(?:da)?)\w*Launch\w*Kernel")
"""Calls that launch: one that takes milliseconds loads the kernel's code first."""


def longest_host(p: Profile) -> tuple[str, int]:
    """What the host was in for most of the idle time, and how much of it (ns)."""
    table = ask.gaps(p).filter(pl.col("host").is_not_null())
    if table.height == 0:
        return "nothing that this profile names", 0
    first = table.group_by("host").agg(pl.col("length_ns").sum()).sort(["length_ns", "host"], descending=[True, False])
    return str(first["host"][0]), int(first["length_ns"][0])


def sentence_of(p: Profile, cause: str, share: float) -> str:
    """The sentence of a cause. Copies that stay inside the GPU's memory are not called a wait for the host."""
    if cause == "copies":
        moved = p.of("copy").select(
            pl.col("name").cast(pl.String), (pl.col("end_ns") - pl.col("start_ns")).alias("took")
        )
        inside = moved.filter(pl.col("name").str.contains(_INSIDE))["took"].sum()
        if 2 * inside > moved["took"].sum():
            return INSIDE.format(share=of_time(share))
    return SENTENCES[cause].format(share=of_time(share))


_INSIDE = r"(?i)D(?:evice)?_?(?:to|2)_?D(?:evice)?(?:$|[^a-z])|memset|fill"


def remarks(p: Profile) -> list[str]:
    """What limits a recording's worth: a single pause, too few kernels, copies outside the window, Python's stacks."""
    limits = ask.window(p)
    if limits is None:
        return []
    found = []
    work, gap = p.dispatches, ask.gaps(p)["length_ns"]
    idle = int(gap.sum())
    if gap.len() > 1 and limits.whole and gap[0] >= ONE_PAUSE * idle and gap[0] > LONGEST_LAUNCH_NS:
        words = {"pause": duration(gap[0] / 1e9), "share": percent(gap[0] / idle)}
        found.append(SINGLE_PAUSE.format(**words, rest=_besides(p, int(gap[0]), idle)).strip())
    if gap.len() and gap[0] > MIXED_NS and len(p.sources) > 1:
        found.append(MIXED)
    if limits.whole:
        copies = p.of("copy").select("start_ns", "end_ns")
        pieces = intervals.union(*intervals.columns(copies))
        outside = intervals.length(pieces) - intervals.length(intervals.within(pieces, limits.low_ns, limits.high_ns))
        if outside > MENTIONED * (limits.high_ns - limits.low_ns):
            found.append(BEFORE_OR_AFTER.format(took=duration(outside / 1e9)))
        if 1 < work.height < FEW:
            span_words = duration((limits.high_ns - limits.low_ns) / 1e9)
            found.append(TOO_FEW.format(count=work.height, span=span_words))
    if bool((p.events["kind"] == "python").any()) and idle > MENTIONED * (limits.high_ns - limits.low_ns):
        found.append(SLOWED)
    return found


def _besides(p: Profile, pause: int, idle: int) -> str:
    """What the time without the longest pause went into."""
    parts = ask.losses(p).select("window_ns", "computing", "communication").sum().row(0, named=True)
    rest = parts["window_ns"] - pause
    if rest <= 0:
        return ""
    shares = {"computing": parts["computing"], "communication": parts["communication"], "idle": idle - pause}
    return STILL_IDLE.format(**{name: percent(value / rest) for name, value in shares.items()})
