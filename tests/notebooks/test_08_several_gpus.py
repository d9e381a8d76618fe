"""Lesson 08: what it claims is what its run shows; without torch.distributed it still runs; nothing outlives it."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
from pathlib import Path
from typing import Any

import pytest

import labkit.comm
from labkit.comm import module_from
from labkit.course import table
from tests.notebooks.outputs import cells, cells_that_bind, numbers, until, words_of_figures

pytestmark = [pytest.mark.notebooks, pytest.mark.timeout(900)]

LESSON = table.find("08")
SKIPPED = "this torch is built without torch.distributed; what needs no second process still works."
NUMBER = r"([\d.]+(?:e[-+]\d+)?)"


def test_all_ranks_are_there_and_none_is_left(text: str) -> None:
    assert re.findall(r"^rank (\d) of 2, process \d+, over (?:gloo|nccl)$", text, re.MULTILINE) == ["0", "1"]
    assert "still running: 0" in text


def test_the_ring_s_messages_add_up(text: str) -> None:
    assert re.search(r"recorded from 24 real messages between 4 processes .+: every rank holds the sum\.", text)
    assert numbers(r"each sent \*\*([\d.]+)\*\* of its list", text) == [1.5]


def test_one_process_and_several_train_alike_and_batch_norm_does_not(text: str) -> None:
    assert "ranks, bit by bit: True" in text
    single, double = numbers(rf"At most \*\*{NUMBER}\*\*, and \*\*{NUMBER}\*\* in float64", text)
    assert double < 1e-9 < single
    told = numbers(rf"Group norm \*\*{NUMBER}\*\*, batch norm \*\*{NUMBER}\*\*.+Over all ranks \*\*{NUMBER}\*\*", text)
    group, batch, whole = told
    assert max(group, whole) < 1e-9 < 1e-3 < batch


def test_unequal_parts_bend_the_gradient(text: str) -> None:
    assert numbers(r"the gradient is \*\*(\d+)%\*\* off", text)[0] >= 2


def test_a_latency_and_a_bandwidth_with_their_spread(text: str) -> None:
    latency, low, high = numbers(r"smallest takes \*\*([\d,]+) µs\*\* \(95 % interval ([\d,]+) to ([\d,]+)\)", text)
    assert 0 < low <= latency <= high
    assert "wrong results: 0" in text


def test_published_figures_carry_their_source(text: str) -> None:
    assert "MI300X" in text and "Recorded by AMD, not measured here" in text
    claimed, recorded = numbers(r"as claimed: busbw ([\d,]+) GB/s\n.+recorded by AMD: busbw ([\d,]+) GB/s", text)
    assert claimed > 4 * recorded and recorded == pytest.approx(316.6, abs=1)


def test_efficiency_is_an_interval_and_single_steps_scatter(text: str) -> None:
    middle, low, high = numbers(r"strong \*\*([\d.]+) \(95 % interval ([\d.]+) to ([\d.]+), 16 repeats\)", text)
    assert low <= middle <= high
    least, most = numbers(r"between \*\*(\d+)%\*\* and \*\*(\d+)%\*\*", text)
    assert least < most


def test_no_sync_leaves_one_all_reduce_and_the_same_gradient(text: str) -> None:
    plain, quiet = numbers(r"not used: (\d+) all-reduces, [\d,]+ bytes\s+no_sync used: +(\d+) all-reduces", text)
    assert plain == 4 * quiet
    assert numbers(rf"the gradients differ by {NUMBER} of their length", text)[0] < 1e-5


def test_fsdp2_keeps_its_share(text: str) -> None:
    kept, share = numbers(r"keeps \*\*([\d.]+)\*\* of what DDP keeps, and 1/2 is (\d\.\d+)", text)
    assert kept == pytest.approx(share, abs=0.01)


def test_a_killed_rank_changes_nothing(text: str) -> None:
    assert "exitcode: -9" in text or "exitcode: 15" in text
    assert re.search(r"started again \*\*1\*\* time, went on from step 8, 16 steps in all", text)
    assert "Equal to the last bit: **True**" in text


def test_the_rank_that_did_not_come_is_found(text: str) -> None:
    assert re.search(r"^rank 0 was told: Timed out waiting 500ms", text, re.MULTILINE)
    assert text.count("rank 1 was told: nothing") == 3
    assert "Ranks 1 failed to pass monitoredBarrier" in text
    assert re.search(r"Collective 2 differs: rank 0: all_reduce of .+ not\s+called\s+by\s+rank\s+1\.", text)
    assert re.search(r"No answer in missed within 1 s: rank 0\s+is\s+in\s+report_loss\s+\(hang.py", text)


def test_the_doctor_names_both_faults_of_the_simulated_machine(text: str) -> None:
    assert "This machine is simulated" in text
    assert text.index("[rccl-iommu]") < text.index("[numa-balancing]")


def test_it_claims_nothing_for_rocm_that_nobody_ran() -> None:
    source = "\n".join("".join(cell["source"]) for cell in cells(LESSON))
    assert source.count("not yet verified on ROCm") >= 2 and "torchvision" not in source


def test_every_figure_has_a_text(notebook: dict[str, Any]) -> None:
    alts = words_of_figures(notebook)
    assert len(alts) >= 5 and all(alts)


def test_the_exercises_stay_open_in_the_course_s_run(text: str) -> None:
    assert len(re.findall(r"^TODO \w+: not started", text, re.MULTILINE)) == 6
    assert "0 of 10 passed" in text


def run(**parameters: Any) -> tuple[dict[str, Any], str]:
    """The names after all code cells in this process, and what they printed."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        names = until(LESSON, **parameters)
    return names, told.getvalue()


def test_without_distributed_it_says_so_once_and_the_rest_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labkit.comm, "distributed_missing", lambda: SKIPPED, raising=False)
    monkeypatch.setattr("labkit.comm.available.distributed_missing", lambda: SKIPPED)
    names, told = run()
    assert "teams" not in names, "no process was started"
    assert told.count(f"Skipped: {SKIPPED}") >= 20
    for part in ("TODO ring_chunk: not started", "without set_epoch:", "8 GiB in 47.5 ms", "QUIZ silent_rank"):
        assert part in told
    assert told.rstrip().endswith(SKIPPED), "the last cell with ranks closes no team"


def chosen(gpus: int, monkeypatch: pytest.MonkeyPatch, **parameters: Any) -> tuple[int, ...]:
    """The numbers of processes that the lesson takes on a machine with so many GPUs."""
    monkeypatch.setattr("torch.cuda.device_count", lambda: gpus)
    return tuple(until(LESSON, "assert profile in", **parameters)["worlds"])


@pytest.mark.parametrize(
    ("gpus", "ranks", "worlds"),
    [(0, 2, (1, 2, 4)), (1, 2, (1, 2, 4)), (2, 2, (1, 2)), (3, 2, (1, 2)), (8, 2, (1, 2, 4)), (2, 4, (1, 2, 4)),
     (0, 8, (1, 2, 4, 8)), (8, 8, (1, 2, 4, 8))],
)  # fmt: skip
def test_all_numbers_of_processes_run_on_the_same_kind_of_device(
    gpus: int, ranks: int, worlds: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else 2 processes on GPUs would be compared with 4 on the CPU, or 1 on a GPU with 2 on the CPU."""
    assert chosen(gpus, monkeypatch, ranks=ranks) == worlds
    assert gpus < ranks or max(worlds) <= gpus


@pytest.mark.parametrize(
    "wrong",
    [
        {"profile": "fast"},
        {"ranks": 3},
        {"batch": 20},
        {"pictures": 100},
        {"width": 6},
        {"rounds": -1},
        {"rounds": 2},
        {"rccl_tests": "nowhere.txt"},
    ],
)
def test_a_parameter_that_cannot_be_is_named_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match=next(iter(wrong))):
        run(**wrong)


def test_the_functions_of_the_ranks_are_short_enough_to_be_shown() -> None:
    lines = (Path(LESSON.path).parent / "scripts" / "several_gpus.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 300
    work = module_from(Path(LESSON.path).parent / "scripts" / "several_gpus.py")
    assert re.findall(r"# DDP (\d)", inspect.getsource(work.train)) == list("12345"), "the five lines of section 3"


KEPT = (
    "teams", "team", "waiting", "x", "y", "single", "double", "sizes", "right", "timed", "reduced", "smallest", "largest",
    "strong", "weak", "stronger", "weaker", "middle", "ideal", "slower", "exposed", "options", "smooth", "run",
)  # fmt: skip


def test_no_later_cell_takes_a_name_that_an_earlier_one_needs_when_it_runs_again() -> None:
    assert cells_that_bind(LESSON, KEPT) == dict.fromkeys(KEPT, 1)
