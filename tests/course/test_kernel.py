"""The kernel of lessons: its command line and what it is given."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from labkit.course import kernel
from labkit.importable import ROOT
from tests.apart import apart


def test_it_is_this_interpreter() -> None:
    assert kernel.command()[0] == sys.executable and "{connection_file}" in kernel.command()
    spec = kernel.CourseKernelManager(kernel_name="anything").kernel_spec
    assert spec.argv == kernel.command() and spec.language == "python"


def test_it_finds_this_labkit_first_and_keeps_what_the_user_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["elsewhere", str(ROOT)]))
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("LABKIT_DEVICE", "cpu")
    made = kernel.environment(tmp_path)
    assert made["PYTHONPATH"] == os.pathsep.join([str(ROOT), "elsewhere"])
    assert (made["OMP_NUM_THREADS"], made["LABKIT_DEVICE"]) == ("3", "cpu")
    assert made["IPYTHONDIR"] == str(tmp_path)
    assert os.environ["PYTHONPATH"].startswith("elsewhere"), "this process keeps its own"


def test_shutting_down_interrupts_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """An idle kernel that is interrupted prints an error on the learner's terminal."""

    async def once() -> int:
        manager = kernel.CourseKernelManager(kernel_name="python3")
        sent: list[int] = []
        await manager.start_kernel(env=kernel.environment(tmp_path))
        client = manager.client()
        client.start_channels()
        await client.wait_for_ready(timeout=60)
        signal_kernel = manager.provisioner.send_signal

        async def note(number: int) -> None:
            sent.append(number)
            await signal_kernel(number)

        manager.provisioner.send_signal = note  # type: ignore[method-assign, union-attr]
        await manager.interrupt_kernel()
        assert len(sent) == 1, "a cell can still be interrupted"
        sent.clear()
        client.stop_channels()
        await manager.shutdown_kernel()
        assert not await manager.is_alive()
        return sent.count(signal.SIGINT)

    assert apart(lambda: asyncio.run(once())) == 0


def test_no_process_before_it_is_started() -> None:
    assert kernel.CourseKernelManager().process_id is None
