"""Results go to JSON and back unchanged; anything else gets a sentence; a file is there whole or not at all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.comm import results
from labkit.comm.results import KEPT_SAMPLES, Point, Results, Series, machine_card, point, point_of
from labkit.errors import LabkitError
from labkit.timing import benchmark
from tests.comm.stand_ins import Watch

POINTS = tuple(point(n, [n / 1e9 + 1e-6, n / 0.9e9 + 1e-6], work=2.0 * n) for n in (1024, 2048))
SERIES = Series("copy", "host to device", "cpu", "cuda:0", "float32", POINTS, name="pinned", notes=("odd — é",))
RESULTS = Results(
    (SERIES, replace(SERIES, kind="collective", ranks=2)),
    {"title": "This machine", "rows": [["CPU", "x"]]},
    "2026-11-30T10:00:00Z",
    "2.14.1",
    {"python": "3.11"},
    2,
    ("a note",),
)


def with_point(**changes: object) -> str:
    """The results' JSON with other values in its first point."""
    found = RESULTS.to_dict()
    found["series"][0]["points"][0].update(changes)
    return json.dumps(found)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_out_and_in_again() -> None:
    assert Results.from_json(RESULTS.to_json()) == RESULTS
    assert json.loads(RESULTS.to_json())["form"] == "labkit bench"


def test_written_whole(tmp_path) -> None:
    path = RESULTS.write(tmp_path / "bench.json")
    assert Results.read(path) == RESULTS
    assert names(tmp_path) == ["bench.json"]


def test_nothing_is_left_where_it_cannot_be_written(tmp_path) -> None:
    with pytest.raises(LabkitError, match="cannot be written"):
        RESULTS.write(tmp_path / "missing" / "bench.json")
    with pytest.raises(LabkitError, match="cannot be written"):
        RESULTS.write(tmp_path)
    assert names(tmp_path) == []


def test_an_old_file_survives_a_write_that_fails(tmp_path, monkeypatch) -> None:
    path = RESULTS.write(tmp_path / "bench.json")

    def full(self, *_args: object, **_more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(path), "replace", full)
    with pytest.raises(LabkitError, match="No space left"):
        replace(RESULTS, made="later").write(path)
    assert Results.read(path) == RESULTS and names(tmp_path) == ["bench.json"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not JSON"),
        ("# nThread 1 nGpus 8 minBytes", "not JSON"),
        ("[" * 100_000, "nested too deeply|not JSON"),
        ("[1, 2]", "JSON, but holds no results"),
        ('{"nodes": []}', "JSON, but holds no results"),
        (RESULTS.to_json()[:-40], "cut short"),
        (RESULTS.to_json().replace('"version": 1', '"version": 2'), "version 2"),
        (RESULTS.to_json().replace('"kind": "copy"', '"kind": "dance"'), "unknown kind 'dance'"),
        (RESULTS.to_json().replace('"bytes": 1024', '"bytes": "1024"'), "series 1, point 1"),
        (RESULTS.to_json().replace('"median_s"', '"mean_s"'), "median_s"),
        (RESULTS.to_json().replace('"work": 2048.0', '"work": NaN'), "positive number"),
        (json.dumps({**RESULTS.to_dict(), "series": [{**RESULTS.to_dict()["series"][0], "points": []}]}), "no points"),
        (with_point(median_s=1e9), "median outside of its interval"),
        (with_point(low_s=-1.0), "'low_s' .* is not a positive number"),
        (with_point(samples=[1e-6, 0.0]), "sample that is no time"),
        (json.dumps({**RESULTS.to_dict(), "series": 3}), "'series'"),
        (json.dumps({**RESULTS.to_dict(), "card": None}), "'card'"),
    ],
)
def test_what_is_wrong_with_another_text_is_said(text: str, told: str) -> None:
    with pytest.raises(LabkitError, match=told) as caught:
        Results.from_json(text, "bench.json")
    assert "bench.json" in caught.value.problem and caught.value.remedy


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_damage_gets_past_the_reader(data) -> None:
    """Any value of the file put in the place of any other, or a cut: a LabkitError or results, nothing else."""
    text = RESULTS.to_json()
    if data.draw(st.booleans()):
        text = text[: data.draw(st.integers(0, len(text)))]
    else:
        whole = json.loads(text)
        junk = data.draw(st.sampled_from([None, -1, 0, "x", [], {}, True, 1e400, [None], [[1]], 2**70]))
        target = data.draw(st.sampled_from([whole, whole["series"][0], whole["series"][0]["points"][0]]))
        target[data.draw(st.sampled_from(sorted(target)))] = junk
        text = json.dumps(whole)
    try:
        found = Results.from_json(text)
    except LabkitError:
        return
    for s in found.series:
        assert s.best.rate > 0 and s.largest.bytes >= 0


def test_a_point_s_rate_and_interval() -> None:
    p = point(1000, [1e-6, 2e-6, 4e-6], work=3000)
    assert p.median_s == 2e-6 and p.rate == pytest.approx(1.5e9)
    low, high = p.rate_interval
    assert low <= p.rate <= high and high == pytest.approx(3000 / p.low_s)
    assert Point(8, 1.0, 1.0, 1.0, 1).counted == 8.0


def test_samples_are_few_and_keep_their_ends() -> None:
    p = point(8, [1e-6 * k for k in range(1, 1001)])
    assert len(p.samples) == KEPT_SAMPLES and p.repetitions == 1000
    assert p.samples[0] == 1e-6 and p.samples[-1] == 1e-3


def test_a_measurement_s_point_takes_its_interval_and_computes_none(monkeypatch) -> None:
    ticks = iter(range(1, 10**6))
    told = benchmark(lambda: None, seconds=0.05, warmup_seconds=0.01, stopwatch=Watch(lambda: 1e-3 * next(ticks)))
    monkeypatch.delattr(results, "summary")
    p = point_of(8, told, work=16.0)
    assert (p.median_s, p.low_s, p.high_s) == (told.median_s, told.low_s, told.high_s) and p.low_s < p.high_s
    assert p.repetitions == len(told.samples) and p.samples[0] == pytest.approx(min(told.samples)) and p.work == 16.0
    with pytest.raises(ValueError, match="positive"):
        point_of(8, replace(told, samples=(0.0, 1.0)))


@pytest.mark.parametrize("samples", [[], [0.0], [1.0, -1.0]])
def test_a_point_needs_positive_times(samples) -> None:
    with pytest.raises(ValueError, match="positive"):
        point(8, samples)


def test_parts_are_joined() -> None:
    bare = Results((SERIES,), notes=("a note", "another"))
    whole = RESULTS.joined(bare)
    assert len(whole.series) == 3 and whole.notes == ("a note", "another") and whole.card == RESULTS.card
    assert bare.joined(RESULTS).made == RESULTS.made
    assert len(whole.of("copy")) == 2 and len(whole.of("copy", "pinned", "float32")) == 2 and not whole.of("gemm")


def test_the_card_is_plain_and_names_the_device() -> None:
    card = machine_card()
    assert json.loads(json.dumps(card)) == card
    assert card["device"] and any(label == "torch" for label, _ in card["rows"])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_file_that_powershell_wrote_is_read_as_well(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    path.write_text(RESULTS.to_json(), encoding=encoding)
    assert Results.read(path) == RESULTS


def test_a_file_of_bytes_is_no_results(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    path.write_bytes(bytes(range(256)) * 8)
    with pytest.raises(LabkitError, match="no results of labkit bench"):
        Results.read(path)
