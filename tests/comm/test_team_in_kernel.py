"""A team inside a real Jupyter kernel: an interrupt is one sentence, and a killed kernel leaves nothing."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

jupyter = pytest.importorskip("jupyter_client")
pytest.importorskip("ipykernel")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals")

ROOT = Path(__file__).resolve().parents[2]
WORK = str(Path(__file__).with_name("ranks_work.py"))
START = f"from labkit.comm import Team, launch, module_from; team = Team(2); work = module_from({WORK!r})"


@pytest.fixture
def kernel(work: ModuleType) -> Iterator[tuple[Any, Any]]:
    from jupyter_client.kernelspec import KernelSpec

    manager = jupyter.KernelManager()
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager._kernel_spec = KernelSpec(argv=argv, display_name="this Python", language="python")
    manager.start_kernel(cwd=str(ROOT), env={**os.environ, "PYTHONPATH": str(ROOT)})
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=90)
        yield manager, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def said(client: Any, asked: str, seconds: float = 90) -> str:
    """All that a cell printed or showed, errors included, until it is done."""
    parts: list[str] = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        message = client.get_iopub_msg(timeout=seconds)
        if message["parent_header"].get("msg_id") != asked:
            continue
        content = message["content"]
        parts += [content.get("text", ""), *content.get("traceback", [])]
        if content.get("data"):
            parts.append(content["data"].get("text/plain", ""))
        if content.get("execution_state") == "idle":
            return "\n".join(parts)
    raise AssertionError("the cell did not end")


def test_a_cell_runs_is_interrupted_and_a_killed_kernel_takes_its_ranks_along(
    kernel: tuple[Any, Any],
    gone: Callable[[Iterable[int]], list[int]],
    appears: Callable[..., list[str]],
    tmp_path: Path,
) -> None:
    psutil = pytest.importorskip("psutil")
    manager, client = kernel
    shown = said(
        client, client.execute(f"{START}\nteam.run(work.talk)\nprint([x.tolist() for x in team.run(work.add_up, 1)])")
    )
    assert shown.split() == ["rank", "0:", "I", "am", "0", "rank", "1:", "I", "am", "1", "[[3.0],", "[3.0]]"], shown

    def begin(folder: Path) -> tuple[str, list[int]]:
        folder.mkdir()
        asked = client.execute(f"team.run(work.wait_with_child, {str(folder)!r}, seconds=300)")
        return asked, [int(n) for n in " ".join(appears(folder / "rank-0", folder / "rank-1")).split()]

    asked, first = begin(tmp_path / "first")
    manager.interrupt_kernel()
    shown = said(client, asked)
    assert "Interrupted: all 2 ranks were ended." in shown and "Traceback" not in shown and "rank.py" not in shown, (
        shown
    )
    assert gone(first) == []

    shown = said(client, client.execute("def mine(): return 1\nteam.run(mine)"))
    assert "lives in this notebook" in shown and "%%writefile" in shown and "Traceback" not in shown

    asked, second = begin(tmp_path / "second")
    pid = manager.provisioner.process.pid
    below = {child.pid for child in psutil.Process(pid).children(recursive=True)}
    assert set(second) <= below
    psutil.Process(pid).kill()
    assert gone(below) == []


def test_torchrun_in_a_cell_is_interrupted_in_one_sentence(
    kernel: tuple[Any, Any],
    gone: Callable[[Iterable[int]], list[int]],
    appears: Callable[..., list[str]],
    tmp_path: Path,
) -> None:
    manager, client = kernel
    script = tmp_path / "stay.py"
    script.write_text(
        "import os, time\nfrom pathlib import Path\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "draft = folder / ('.' + os.environ['RANK'])\n"
        "draft.write_text(f'{os.getpid()} {os.getppid()}')\n"
        "draft.replace(folder / ('rank-' + os.environ['RANK']))\ntime.sleep(600)\n",
        encoding="utf-8",
    )
    asked = client.execute(f"from labkit.comm import launch\nlaunch({str(script)!r}, seconds=300)")
    started = [int(n) for n in " ".join(appears(tmp_path / "rank-0", tmp_path / "rank-1")).split()]
    manager.interrupt_kernel()
    shown = said(client, asked)
    assert "Interrupted: everything that was started has been ended." in shown and "Traceback" not in shown, shown
    assert gone(started) == []
