"""The benchmark's values arrive right and are counted if they do not; its sizes, factors and output."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest
import torch
import torch.distributed as dist

from labkit.comm import Team, launch


def test_every_collective_moves_the_right_values(three: Team, bench: ModuleType) -> None:
    for op, factor in bench.FACTORS.items():
        for size in (1, 100, 5_000):
            line, *others = three.run(bench.measure, op, size, torch.device("cpu"), 1, 2, 3)
            assert {other["wrong"] for other in (line, *others)} == {0}, op
            assert line["bytes"] == max(size // 12, 1) * 12 and line["ranks"] == 3
            assert 0 < line["low_s"] <= line["median_s"] <= line["high_s"]
            assert line["algbw_gb_s"] == pytest.approx(line["bytes"] / line["median_s"] / 1e9)
            assert line["busbw_gb_s"] == pytest.approx(factor(3) * line["algbw_gb_s"])


def test_a_wrong_value_is_counted(bench: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        assert bench.measure("broadcast", 40, torch.device("cpu"), 0, 1, 1)["wrong"] == 0
        monkeypatch.setattr(dist, "broadcast", lambda x, source: x.view(-1)[:3].add_(1))
        assert bench.measure("broadcast", 40, torch.device("cpu"), 0, 1, 1)["wrong"] == 3
    finally:
        dist.destroy_process_group()


def test_sizes(bench: ModuleType) -> None:
    assert [bench.size_of(text) for text in ("8", "4K", "16m", "1GB")] == [8, 4096, 16 * 1024**2, 1024**3]
    assert bench.sizes_between(8, 200, 4) == [8, 32, 128]
    for text in ("", "K", "1.5M", "-4", "0", "4T"):
        with pytest.raises(ValueError):
            bench.size_of(text)


def test_bus_factors_are_those_of_nccl_tests(bench: ModuleType) -> None:
    eight = {op: factor(8) for op, factor in bench.FACTORS.items()}
    assert eight == {
        "all_reduce": 1.75,
        "all_gather": 0.875,
        "reduce_scatter": 0.875,
        "all_to_all": 0.875,
        "broadcast": 1.0,
        "send_recv": 1.0,
    }


def test_the_script(scripts: Path) -> None:
    run = launch(scripts / "collective_bench.py", "--ops", "all_reduce,send_recv", "-b", "64", "-e", "1K", "-n", "2")
    *lines, last = run.records
    assert [(line["op"], line["bytes"]) for line in lines] == [
        (op, size) for op in ("all_reduce", "send_recv") for size in (64, 256, 1024)
    ]
    assert last["summary"]["wrong"] == 0 and set(last["summary"]["best_busbw_gb_s"]) == {"all_reduce", "send_recv"}
    assert all("Warning" not in line for line in run.output.splitlines())
    json.dumps(last)


@pytest.mark.parametrize(
    "words", [["--ops", "all"], ["-b", "4T"], ["-f", "1"], ["-n", "0"], ["-b", "1M", "-e", "1"], []]
)
def test_its_command_line_refuses(
    bench: ModuleType, words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with pytest.raises(SystemExit) as leaving:
        bench.main(words)
    assert leaving.value.code == 2
    told = capsys.readouterr().err
    assert ("at least two processes" if not words else "sizes are like") in told
