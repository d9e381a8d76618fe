"""The one answer: what the GPU waits for most, with its evidence; or that nothing stands out, or what cannot be
known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

from labkit.profile import intervals
from labkit.profile import questions as ask
from labkit.profile.diagnosis_evidence import (
    LAUNCHING,
    Evidence,
    evidence_of,
    longest_host,
    observations,
    on_the_host,
    remarks,
    sentence_of,
)
from labkit.profile.diagnosis_words import (
    ADVICE,
    CANNOT_KNOW,
    COUNTED,
    LONE,
    NO_GPU,
    NO_KERNEL,
    ON_THE_CPU,
    ONE_KERNEL,
    ONLY_COUNTS,
    called,
    listed,
    missing,
    of_time,
)
from labkit.profile.questions import attribution as lost
from labkit.profile.table import Profile
from labkit.profile.thresholds import NAMED
from labkit.timing.words import duration

CAUSES = (*lost.CAUSES, "none")


@dataclass(frozen=True)
class Diagnosis:
    """cause: of CAUSES. sentence: the answer in one sentence. evidence, advice, observations: most important first.

    shares: of the GPUs' time in the window (0 to 1): ``computing``, each cause, ``queued``, ``host`` and
    ``unknown``; empty without time stamps. certain: false where the profile lacks what would tell the cause;
    missing: what that is. window_ns: what was looked at.
    """

    cause: str
    sentence: str
    evidence: tuple[Evidence, ...] = ()
    advice: tuple[str, ...] = ()
    observations: tuple[str, ...] = ()
    shares: Mapping[str, float] = field(default_factory=dict)
    certain: bool = True
    missing: tuple[str, ...] = ()
    window_ns: int | None = None
    simulated: bool = False

    @property
    def idle_share(self) -> float | None:
        """Share of the time without any kernel; None without time stamps."""
        return 1 - self.shares["computing"] - self.shares["communication"] if self.shares else None

    def as_json(self) -> dict[str, Any]:
        """Plain lists, mappings and numbers."""
        return {**asdict(self), "idle_share": self.idle_share}

    def __str__(self) -> str:
        return self.sentence


def counted(p: Profile) -> bool:
    """Whether counters were collected: the tool then runs the kernels one by one, some of them again and again."""
    return p.counters is not None or p.kind == "rocprof-compute"


def diagnose(p: Profile) -> Diagnosis:
    """Names what costs the GPUs most of their time, from the table alone."""
    if counted(p):
        return _counted(p)
    table = ask.losses(p)
    if table.height == 0:
        return _without_times(p)
    if p.dispatches.height == 1 and ask.steps(p).found == "none":
        took = int((p.dispatches["end_ns"] - p.dispatches["start_ns"]).sum())
        sentence = LONE.format(took=duration(took / 1e9))
        return Diagnosis(
            "none", sentence, (), ADVICE["unknown"], (*remarks(p), *p.odd), {}, False, missing(p), None, p.simulated
        )
    window = int(table["window_ns"].sum())
    names = ("computing", *lost.CAUSES, *lost.REST)
    shares = {name: int(table[name].sum()) / window for name in names}
    worst = max(lost.CAUSES, key=lambda name: shares[name])
    lacking = missing(p)
    doing, how_long = longest_host(p)
    named = how_long * 2 >= shares["host"] * window
    unclear = shares["unknown"] + (shares["host"] if "no markers" in lacking and not named else 0.0)
    idle = 1 - shares["computing"] - shares["communication"]
    evidence = [
        Evidence("a kernel computes", shares["computing"], "share", "union of the dispatches within the window"),
        Evidence("no kernel runs", idle, "share", "gaps between the dispatches within the window"),
    ]
    common: dict[str, Any] = {
        "shares": shares,
        "missing": lacking,
        "window_ns": window // table.height,
        "simulated": p.simulated,
    }
    if shares[worst] >= NAMED and shares[worst] >= unclear:
        evidence[:0] = evidence_of(p, worst, shares)
        sentence = sentence_of(p, worst, shares[worst])
        return Diagnosis(worst, sentence, tuple(evidence), ADVICE[worst], observations(p, shares, worst), **common)
    if unclear >= NAMED:
        evidence.append(
            Evidence("idle without a recorded reason", unclear, "share", "gaps that no API call or marker explains")
        )
        sentence = CANNOT_KNOW.format(share=of_time(idle), lacking=listed(lacking) or "nothing that the host did then")
        further = observations(p, shares, None)
        return Diagnosis("none", sentence, tuple(evidence), ADVICE["unknown"], further, certain=False, **common)
    if shares["host"] >= NAMED:
        evidence.append(
            Evidence("the host did something else", shares["host"], "share", f"gaps in which the host was in: {doing}")
        )
        sentence = f"{of_time(shares['host'])} the GPU waits for the host, which is busy with something else: {doing}."
        advice = ADVICE["loading code" if LAUNCHING.search(doing) else "host"]
        further = observations(p, shares, "host")
        return Diagnosis("none", sentence, tuple(evidence), advice, further, certain=False, **common)
    top = ask.categories(p).row(0, named=True)
    sentence = (
        f"Nothing stands out: the GPU computes {of_time(shares['computing'])}, most of it in {called(top['category'])}."
    )
    evidence.append(
        Evidence(
            f"kernels of the category {top['category']}",
            float(top["share"] or 0),
            "share of kernel time",
            "names of the dispatches",
        )
    )
    return Diagnosis("none", sentence, tuple(evidence), ADVICE["none"], observations(p, shares, None), **common)


def _counted(p: Profile) -> Diagnosis:
    """A collection of counters: which kernels, and nothing about idle time."""
    ranked = ask.kernels(p)
    if ranked.height == 0 or ranked["share"][0] is None:
        return _without_times(p)
    sentence = COUNTED.format(name=ranked["short"][0], share=ranked["share"][0])
    evidence = (Evidence("the largest kernel", ranked["share"][0], "share of kernel time", "dispatches with counters"),)
    return Diagnosis(
        "none", sentence, evidence, ADVICE["counted"], p.odd, {}, False, ("undisturbed times",), None, p.simulated
    )


def _without_times(p: Profile) -> Diagnosis:
    """What can be said of a table without time stamps, or of a run without a GPU."""
    ranked = ask.kernels(p)
    if ranked.height:
        first = ranked.row(0, named=True)
        known = first["share"] is not None
        sentence = ONE_KERNEL.format(name=first["short"], share=first["share"] or 0) if known else ONLY_COUNTS
        evidence = (
            Evidence(
                "the largest kernel", float(first["share"] or 0), "share of kernel time", "statistics of the kernels"
            ),
        )
        lacking: tuple[str, ...] = ("time stamps",)
        return Diagnosis(
            "none",
            sentence,
            evidence if known else (),
            ADVICE["no times"],
            p.odd,
            {},
            False,
            lacking,
            None,
            p.simulated,
        )
    operators = ask.operators(p)
    if operators.height == 0:
        return Diagnosis("none", NO_KERNEL, (), ADVICE["no kernel"], p.odd, {}, False, ("kernels",), None, p.simulated)
    return _on_the_cpu(p, operators)


def _on_the_cpu(p: Profile, operators: pl.DataFrame) -> Diagnosis:
    """A run without a GPU: only the loading of data can be told from the rest."""
    total = max(int(operators["self_ns"].sum()), 1)
    first = operators.row(0, named=True)
    largest = Evidence(
        f"own time of {first['name']}", first["self_ns"] / total, "share of the operators' time", "operator events"
    )
    common: dict[str, Any] = {"missing": ("kernels",), "simulated": p.simulated}
    further = on_the_host(p)
    evidence: tuple[Evidence, ...] = (largest,)
    s = ask.steps(p)
    if s.count:
        low, high = int(s.table["start_ns"].min()), int(s.table["end_ns"].max())  # type: ignore[arg-type]
        load = intervals.within(intervals.union(*intervals.columns(lost.loading(p))), low, high)
        share = intervals.length(load) / max(high - low, 1)
        loading = Evidence("loading data", share, "share", f"markers of data loading within {s.count} steps")
        if share >= NAMED:
            sentence = f"{of_time(share)} goes into loading data, before the CPU computes anything."
            found = (loading, largest)
            return Diagnosis(
                "loader", sentence, found, ADVICE["loader"], (NO_GPU, *further), window_ns=high - low, **common
            )
        if share > 0:
            evidence = (largest, loading)
    sentence = ON_THE_CPU.format(name=first["name"], share=first["self_ns"] / total)
    return Diagnosis("none", sentence, evidence, (), (*further, *p.odd), **common)
