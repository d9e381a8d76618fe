"""Collectives: every result is checked, what is missing is named, and the figures and formulas agree."""

from __future__ import annotations

from types import ModuleType

import pytest

from labkit.comm import collectives, formulas, operations
from labkit.comm.formulas import COLLECTIVES
from labkit.comm.results import Results
from labkit.comm.team import Team
from labkit.errors import LabkitError


@pytest.mark.parametrize("ranks", [2, 3])
def test_every_collective_is_right_and_one_wrong_value_is_counted(work: ModuleType, ranks: int) -> None:
    with Team(ranks) as team:
        told = team.run(
            work.check_operations, list(COLLECTIVES), [8, 4096], ["float32", "bfloat16", "int64"], seconds=60
        )
    assert len(told[0]) == len(COLLECTIVES) * 2 * 3
    for number, first in enumerate(told[0]):
        name, size, dtype, _, _ = first
        assert [one[number][3] for one in told] == [0] * ranks, (name, size, dtype)
        spoilt = sum(one[number][4] for one in told)
        readers = {"send_recv": 1, "reduce_scatter": 1, "all_to_all": 1, "all_gather": ranks, "broadcast": ranks}
        assert spoilt == readers.get(name, ranks), (name, size, dtype)


def test_a_measurement_carries_sizes_intervals_checks_and_the_machine(work: ModuleType) -> None:
    with Team(2) as team:
        found = collectives.measure_collectives(team, ["AllReduce", "all_gather"], [8, 4, 5000], seconds=0.2)
    assert [s.name for s in found.of("collective")] == ["all_reduce", "all_gather"] and not found.notes
    reduced, gathered = found.series
    assert [p.bytes for p in reduced.points] == [4, 8, 5000]
    assert [p.bytes for p in gathered.points] == [8, 5000], "two ranks share at least one element each"
    for series in found.series:
        assert (series.ranks, series.kind, series.unit) == (2, "collective", "B/s") and not series.local
        assert any("slowest rank" in note for note in series.notes) and "gloo" in series.notes[0]
        for p in series.points:
            assert p.wrong == 0 and 0 < p.low_s <= p.median_s <= p.high_s and p.repetitions >= 1
            factor = formulas.busbw_factor(series.name, 2)
            assert collectives.busbw(series, p) == pytest.approx(p.bytes / p.median_s * factor)
    assert found.card["rows"] and Results.from_json(found.to_json()).series == found.series


def test_what_the_backend_lacks_is_named_and_the_rest_is_measured(
    work: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collectives, "take_part", work.without_reduce_scatter)
    with Team(2) as team:
        found = collectives.measure_collectives(team, ["reduce_scatter", "broadcast"], [64], seconds=0.1)
    assert [s.name for s in found.series] == ["broadcast"]
    assert found.notes == ("reduce-scatter was not measured: ProcessGroupGloo does not support reduce_scatter",)


def test_each_time_is_that_of_the_slowest_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    class Two:
        ranks, backend = 2, "gloo"

        def run(self, *_: object, **__: object) -> list[dict[str, object]]:
            laps = ([0.1, 0.4, 0.3], [0.2, 0.1, 0.3])
            return [
                {"device": "cpu", "missing": {}, "laps": {"all_reduce": {8: lap}}, "wrong": {"all_reduce": {8: k}}}
                for k, lap in enumerate(laps, 1)
            ]

    monkeypatch.setattr(collectives, "here", lambda series, notes: Results(tuple(series), notes=tuple(notes)))
    found = collectives._results(Two(), (("all_reduce",), (8,), 1.0, "float32"))  # type: ignore[arg-type]
    only = found.series[0].points[0]
    assert only.samples == (0.2, 0.3, 0.4) and only.median_s == 0.3 and only.wrong == 3


def test_what_makes_no_sense_is_said_before_a_process_starts() -> None:
    for words, bad in (
        ("nobody to talk to", {"ranks": 1}),
        ("no formula for", {"names": ["gather_all"]}),
        ("nothing to measure", {"sizes": []}),
        ("not measured here", {"dtype": "complex64"}),
        ("no time to measure in", {"seconds": 0}),
    ):
        with pytest.raises(LabkitError, match=words):
            collectives.measure_collectives(**bad)


def test_sizes_are_whole_elements_for_every_rank() -> None:
    assert operations.real_size("all_reduce", 7, 4, 4) == 4
    assert operations.real_size("all_gather", 8, 4, 4) == 16
    assert operations.real_size("all_to_all", 1000, 3, 8) == 984


def test_the_numbers_that_are_checked_are_cheap_and_those_of_the_rule() -> None:
    import torch

    for rank in (0, 1, 2, 7, 63):
        for count in (0, 1, 2, 3, 5, 191, 192, 193, 1000):
            places = torch.arange(count)
            rule = (places // (rank + 1) + places * 7 + rank) % 3 + 1
            for dtype in (torch.float32, torch.bfloat16, torch.int64):
                made = operations.numbers(torch, count, rank, torch.zeros(1, dtype=dtype))
                assert made.dtype == dtype and torch.equal(made, rule.to(dtype)), (rank, count)


@pytest.mark.parametrize(("took", "said"), [(1.4, False), (9.0, True)])
def test_a_measurement_that_took_much_longer_than_asked_says_so(
    monkeypatch: pytest.MonkeyPatch, took: float, said: bool
) -> None:
    class Two:
        ranks, backend = 2, "gloo"

        def run(self, *_: object, **__: object) -> list[dict[str, object]]:
            one = {"device": "cpu", "missing": {}, "laps": {"broadcast": {8: [0.1]}}, "wrong": {"broadcast": {8: 0}}}
            return [{**one, "seconds": took}, {**one, "seconds": 0.1}]

    monkeypatch.setattr(collectives, "here", lambda series, notes: Results(tuple(series), notes=tuple(notes)))
    found = collectives._results(Two(), (("broadcast",), (8,), 1.0, "float32"))  # type: ignore[arg-type]
    assert [note.startswith("collectives took 9.0 s where 1 s were asked for") for note in found.notes] == [True] * said
