"""The questions' numbers agree with plain Python on a few thousand random events, and do not depend on the rows' order."""

from __future__ import annotations

import random
from collections import defaultdict

import polars as pl
import pytest

from labkit.profile import diagnose
from labkit.profile import questions as ask
from labkit.profile.questions.attribution import CAUSES, REST
from labkit.profile.table import Profile
from labkit.profile.thresholds import SMALL_COPY_NS
from tests.profile.questions import slow
from tests.profile.questions.slow import Row

SEEDS = [(seed, devices) for seed in range(4) for devices in (0, 1, 3)]


@pytest.fixture(params=SEEDS, ids=str, scope="module")
def scene(request: pytest.FixtureRequest) -> tuple[list[Row], Profile]:
    seed, devices = request.param
    rows = slow.random_rows(random.Random(seed), 250, devices)
    return rows, slow.profile(rows)


def of(rows: list[Row], kind: str, device: int | None = None, *, everywhere: bool = False) -> list[Row]:
    return [r for r in rows if r["kind"] == kind and (everywhere or r.get("device") == device)]


def devices(rows: list[Row]) -> list[int | None]:
    found = {r["device"] for r in rows if r["kind"] == "dispatch"}
    return sorted(found, key=lambda d: (d is None, d))


def test_kernels(scene: tuple[list[Row], Profile]) -> None:
    rows, p = scene
    took: dict[str, list[int]] = defaultdict(list)
    for r in of(rows, "dispatch", everywhere=True):
        took[r["name"]].append(r["end_ns"] - r["start_ns"])
    whole = sum(map(sum, took.values()))
    expected = [
        (name, len(ns), sum(ns), sum(ns) / len(ns), min(ns), max(ns), sum(ns) / whole)
        for name, ns in sorted(took.items(), key=lambda item: (-sum(item[1]), item[0]))
    ]
    found = ask.kernels(p)
    assert found.select("name", "count", "total_ns", "mean_ns", "min_ns", "max_ns", "share").rows() == [
        (*row[:6], pytest.approx(row[6])) for row in expected
    ]
    assert ask.categories(p)["total_ns"].sum() == whole


def test_busy_and_gaps(scene: tuple[list[Row], Profile]) -> None:
    rows, p = scene
    found = {d.device: d for d in ask.busy(p).devices}
    assert list(found) == devices(rows)
    window = ask.window(p)
    assert window is not None
    for device, answer in found.items():
        mine = slow.intervals(of(rows, "dispatch", device))
        assert answer.busy_ns == slow.length(mine)
        assert answer.summed_ns == sum(b - a for a, b in mine) and answer.dispatches == len(mine)
        assert (answer.start_ns, answer.end_ns) == (min(a for a, _ in mine), max(b for _, b in mine))
        table = ask.gaps(p).filter(pl.col("device").eq_missing(pl.lit(device, dtype=pl.Int32))).sort("start_ns")
        assert table.select("start_ns", "end_ns").rows() == slow.free(mine, window.low_ns, window.high_ns)


def test_what_the_host_was_doing(scene: tuple[list[Row], Profile]) -> None:
    """The label of a gap covers at least half of it, and nothing within the label does."""
    rows, p = scene
    host = [r for r in rows if r["kind"] in ("api", "marker", "operator") and r["end_ns"] > r["start_ns"]]
    labelled = ask.gaps(p).filter(pl.col("host").is_not_null())
    assert labelled.height
    for gap in labelled.head(60).iter_rows(named=True):
        begin, end = gap["start_ns"], gap["end_ns"]

        def half(r: Row, begin: int = begin, end: int = end) -> bool:
            return 2 * (min(r["end_ns"], end) - max(r["start_ns"], begin)) >= end - begin

        threads = {gap["thread"]} if gap["thread"] is not None else {7, 8}
        fitting = [r for r in host if r["thread"] in threads and half(r)]
        mine = [r for r in fitting if r["name"] == gap["host"]]
        assert mine and gap["length_ns"] > 2_000


def test_overlap(scene: tuple[list[Row], Profile]) -> None:
    rows, p = scene
    several = len(devices(rows)) > 1
    for row in ask.overlap(p).iter_rows(named=True):
        work = of(rows, "dispatch", row["device"], everywhere=not several)
        if row["what"] == "copies":
            mine, beside = of(rows, "copy", row["device"], everywhere=not several), work
        else:
            mine = [r for r in work if r["name"].startswith("nccl")]
            beside = [r for r in work if not r["name"].startswith("nccl")]
        assert row["count"] == len(mine) > 0
        assert row["total_ns"] == slow.length(slow.intervals(mine))
        assert row["exposed_ns"] == slow.length(slow.intervals(mine), outside=slow.intervals(beside))
        assert row["overlapped_ns"] == row["total_ns"] - row["exposed_ns"]


def test_losses_add_up_and_agree(scene: tuple[list[Row], Profile]) -> None:
    rows, p = scene
    window = ask.window(p)
    assert window is not None
    several = len(devices(rows)) > 1
    for row in ask.losses(p).iter_rows(named=True):
        assert (
            sum(row[name] for name in ("computing", *CAUSES, *REST))
            == row["window_ns"]
            == window.high_ns - window.low_ns
        )
        work = of(rows, "dispatch", row["device"])
        computing = slow.intervals(r for r in work if not r["name"].startswith("nccl"))
        talking = slow.intervals(r for r in work if r["name"].startswith("nccl"))
        copies = slow.intervals(of(rows, "copy", row["device"], everywhere=not several))
        large = [pair for pair in copies if pair[1] - pair[0] > SMALL_COPY_NS]
        load = slow.intervals(of(rows, "marker", everywhere=True))
        edges = {"low": window.low_ns, "high": window.high_ns}
        assert row["computing"] == slow.length(computing, **edges)
        assert row["communication"] == slow.length(talking, outside=computing, **edges)
        moved = loading = 0
        for begin, end in slow.free(slow.intervals(work), window.low_ns, window.high_ns):
            inside = {"low": begin, "high": end}
            covered = slow.length(copies, **inside)
            some = covered > SMALL_COPY_NS or slow.length(large, **inside) > 0
            moved += covered if some else 0
            loading += slow.length(load, outside=copies if some else (), **inside)
        assert row["copies"] == moved
        assert row["loader"] >= loading  # more where the loading emptied the queue
        assert row["loader"] == loading or row["launch-bound"] == 0


def test_operators(scene: tuple[list[Row], Profile]) -> None:
    rows, p = scene
    found = {r["name"]: r for r in ask.operators(p).iter_rows(named=True)}
    for name in ("aten::mm", "aten::add"):
        mine = [r for r in rows if r["name"] == name]
        assert found[name]["count"] == len(mine)
        assert found[name]["total_ns"] == sum(r["end_ns"] - r["start_ns"] for r in mine)
    calls = {r["correlation"]: r for r in rows if r["kind"] == "api" and r.get("correlation")}
    inside = 0
    for r in rows:
        call = calls.get(r["correlation"]) if r["kind"] == "dispatch" else None
        inside += call is not None and any(
            o["kind"] == "operator"
            and o["thread"] == call["thread"]
            and o["start_ns"] <= call["start_ns"] < o["end_ns"]
            for o in rows
        )
    assert sum(r["kernels"] for r in found.values()) == inside


def answers(p: Profile) -> list[object]:
    frames = (
        ask.kernels,
        ask.categories,
        ask.gaps,
        ask.overlap,
        ask.losses,
        ask.synchronisations,
        ask.operators,
        ask.occupancies,
    )
    return [
        *(question(p).rows() for question in frames),
        ask.busy(p),
        ask.launches(p),
        ask.window(p),
        ask.steps(p).found,
        ask.steps(p).table.rows(),
        ask.roofline(p).points.rows(),
        diagnose(p).as_json(),
    ]


@pytest.mark.parametrize(("seed", "count"), [(11, 250), (12, 30), (13, 6), (14, 1)])
def test_the_order_of_the_rows_does_not_matter(seed: int, count: int) -> None:
    die = random.Random(seed)
    rows = slow.random_rows(die, count, 2)
    expected = answers(slow.profile(rows))
    for _ in range(3):
        die.shuffle(rows)
        assert answers(slow.profile(rows)) == expected
