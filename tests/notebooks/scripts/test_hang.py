"""A skipped collective is found in each way that the script offers, and by the name of the rank that skipped it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from labkit.comm import Team, launch


@pytest.fixture(scope="module")
def found(three: Team, hang: ModuleType) -> dict[str, list[dict[str, Any]]]:
    return {way: three.run(hang.missed, way, 1.0, 1) for way in hang.WAYS}


def test_only_the_others_wait_and_fail(found: dict[str, list[dict[str, Any]]]) -> None:
    for way, ranks in found.items():
        assert [one["rank"] for one in ranks] == [0, 1, 2] and {one["way"] for one in ranks} == {way}
        assert ranks[0]["error"] and ranks[2]["error"], way
        assert bool(ranks[1]["error"]) == (way == "mismatch"), way
        if way != "mismatch":
            assert ranks[0]["waited_s"] >= 0.9, way


def test_what_the_messages_name(found: dict[str, list[dict[str, Any]]]) -> None:
    assert "Timed out" in found["timeout"][0]["error"] and "Rank" not in found["timeout"][0]["error"]
    for way in ("barrier", "detail"):
        assert "Ranks 1 failed to pass monitoredBarrier" in found[way][0]["error"]
    assert "Detected mismatch between collectives" in found["mismatch"][1]["error"]


def test_the_recorders_tell_who_did_not_call_it(found: dict[str, list[dict[str, Any]]], hang: ModuleType) -> None:
    lists = {one["rank"]: one["collectives"] for one in found["recorder"]}
    if not any(lists.values()):
        pytest.skip("this torch's flight recorder does not record gloo")
    sentence = hang.compare_recorders(lists)
    assert sentence.startswith("Collective 2 differs: ") and sentence.endswith("; not called by rank 1.")
    assert "rank 0: all_reduce of [[7]]" in sentence


def test_comparing_lists(hang: ModuleType) -> None:
    one, two = {"kind": "all_reduce", "shapes": [[4]]}, {"kind": "broadcast", "shapes": [[4]]}
    assert hang.compare_recorders({0: [one, two], 1: [one, two]}) == "All ranks called the same collectives."
    other = hang.compare_recorders({0: [one, one], 1: [one, two]})
    assert other == "Collective 2 differs: rank 0: all_reduce of [[4]]; rank 1: broadcast of [[4]]."
    assert "TORCH_FR_BUFFER_SIZE" in hang.compare_recorders({0: [], 1: []})


def test_the_script(scripts: Any) -> None:
    run = launch(scripts / "hang.py", "--way", "recorder", "--seconds", "1", seconds=120)
    assert sorted(record["rank"] for record in run.records) == [0, 1]
    assert "not called by rank 1" in run.output or "recorded nothing" in run.output


def test_alone_it_says_how_to_start_it(hang: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        hang.main([])
    assert "torchrun" in capsys.readouterr().err
