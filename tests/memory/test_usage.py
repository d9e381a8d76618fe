"""The peak as the CPU's allocator reports it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from torch.profiler import record_function

from labkit.errors import LabkitError
from labkit.memory import measure

MIB = 2**20


def test_the_peak_of_two_tensors_that_live_one_after_the_other_is_one() -> None:
    def one_by_one() -> None:
        for _ in range(3):
            torch.empty(MIB, dtype=torch.uint8)

    def together() -> None:
        kept = [torch.empty(MIB, dtype=torch.uint8) for _ in range(3)]
        del kept

    first, second = measure(one_by_one, "cpu"), measure(together, "cpu")
    assert MIB <= first.peak_bytes < 1.1 * MIB and 3 * MIB <= second.peak_bytes < 3.1 * MIB
    assert first.left_bytes == second.left_bytes == 0
    assert max(total for _, total in second.timeline) == second.peak_bytes
    assert "allocator" in first.how and first.device == "cpu"


def test_what_stays_is_told_and_old_memory_is_not_counted() -> None:
    kept: list[torch.Tensor] = []
    assert measure(lambda: kept.append(torch.empty(MIB, dtype=torch.uint8)), "cpu").left_bytes == MIB
    released = measure(kept.clear, "cpu")
    assert released.left_bytes == released.peak_bytes == 0
    nothing = measure(lambda: None, "cpu")
    assert nothing.timeline == () and nothing.peak_within == ""


def test_marks_say_where_the_peak_is() -> None:
    def work() -> None:
        with record_function("small"):
            torch.empty(MIB, dtype=torch.uint8)
        with record_function("large"):
            torch.empty(2 * MIB, dtype=torch.uint8)

    usage = measure(work, "cpu", marks=("small", "large", "absent"))
    assert [name for name, _, _ in usage.marks] == ["small", "large"] and usage.peak_within == "large"
    assert all(0 <= first <= last < len(usage.timeline) for _, first, last in usage.marks)


def test_the_backward_pass_is_in_it() -> None:
    x = torch.randn(256, 1024, requires_grad=True)
    usage = measure(lambda: x.exp().sum().backward(), "cpu")
    assert usage.left_bytes == x.nbytes and usage.peak_bytes >= 2 * x.nbytes


def test_an_error_passes_through_and_the_environment_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KINETO_LOG_LEVEL", raising=False)
    with pytest.raises(ZeroDivisionError):
        measure(lambda: 1 / 0, "cpu")
    assert "KINETO_LOG_LEVEL" not in os.environ
    with pytest.raises(LabkitError, match="cannot be counted"):
        measure(lambda: None, "meta")


def test_on_a_gpu_the_allocator_s_statistics_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    state = {"now": 100, "peak": 900}

    def reset(device: object) -> None:
        state["peak"] = state["now"]

    def step() -> None:
        state["peak"], state["now"] = 700, 150

    monkeypatch.setattr("torch.cuda.synchronize", lambda device: None)
    monkeypatch.setattr("torch.cuda.memory_allocated", lambda device: state["now"])
    monkeypatch.setattr("torch.cuda.max_memory_allocated", lambda device: state["peak"])
    monkeypatch.setattr("torch.cuda.reset_peak_memory_stats", reset)
    usage = measure(step, "cuda:0", timeline=False)
    assert (usage.peak_bytes, usage.left_bytes, usage.timeline, usage.device) == (600, 50, (), "cuda:0")
    assert "max_memory_allocated" in usage.how


def test_releasing_what_was_there_before_leaves_no_note_and_other_words_stay() -> None:
    code = """
import os, torch
from labkit.memory import measure
old = [torch.ones(1000)]
def release():
    old.clear()
    os.write(2, b"mine")
    return torch.ones(10)
measure(release, "cpu")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=120)
    assert (done.stdout, done.stderr) == (b"", b"mine")
