"""Scripts started by the real torchrun, from a notebook: output shown and kept, nothing left behind.

torchrun (``python -m torch.distributed.run``) gets a rendezvous on 127.0.0.1 at a port that the system picks, so that
two runs at once do not meet and no host name has to resolve. ``lifeline`` stands over it and ends the whole tree with
the notebook's kernel."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.comm import lifeline
from labkit.comm.available import distributed_missing, loopback_settings
from labkit.comm.team import Interrupted
from labkit.errors import LabkitError
from labkit.importable import python_path

FRESH_STORE = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
"""For restarts. torchrun's ranks share the agent's own store, which in torch 2.14.1 still holds the addresses of the
ranks that ended: gloo then connects to those ('connectFullMesh failed ... Connection refused'), about two times in
three here. With this every start gets a store of its own. Source:
torch/distributed/elastic/rendezvous/dynamic_rendezvous.py, read and run on 2026-11-30."""

_TAIL = 12
_EXTRA_S = 15.0  # beyond its own limit, before lifeline itself is ended


@dataclass(frozen=True)
class Run:
    """What a run gave. ``status``: torchrun's exit status, 0 for success, 124 where the time was over. ``output``: all
    that was printed, in order of arrival. ``seconds``: from start to end, imports included. ``command``: what to type
    to repeat it."""

    status: int
    output: str
    seconds: float
    command: tuple[str, ...] = ()

    @property
    def timed_out(self) -> bool:
        return self.status == lifeline.TIME_OVER

    @property
    def records(self) -> tuple[dict[str, Any], ...]:
        """Lines of the output that are JSON objects, as scripts print their results."""
        found = []
        for line in self.output.splitlines():
            if line.startswith("{"):
                with contextlib.suppress(ValueError):
                    found.append(json.loads(line))
        return tuple(found)


class LaunchError(LabkitError):
    """A run that failed or took too long. ``run``: what it gave until then."""

    def __init__(self, problem: str, remedy: str, run: Run) -> None:
        super().__init__(problem, remedy)
        self.run = run


def torchrun_command(script: str | Path, *args: Any, ranks: int = 2, max_restarts: int = 0) -> tuple[str, ...]:
    """The command line of one node. ``--local-addr`` keeps torchrun from asking for the address of the host's name.

    Source: https://docs.pytorch.org/docs/stable/elastic/run.html, single-node multi-worker (2026-11-30).
    """
    return (
        *(sys.executable, "-m", "torch.distributed.run", "--nnodes=1", f"--nproc-per-node={ranks}"),
        *(f"--max-restarts={max_restarts}", "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0"),
        *(f"--rdzv-id={uuid.uuid4().hex}", "--local-addr=127.0.0.1", str(script), *map(str, args)),
    )


def launch(
    script: str | Path,
    *args: Any,
    ranks: int = 2,
    max_restarts: int = 0,
    env: Mapping[str, str] | None = None,
    seconds: float = 120.0,
    check: bool = True,
    show: Callable[[str], object] | None = None,
    folder: str | Path | None = None,
) -> Run:
    """Runs ``script`` in ``ranks`` processes under torchrun and waits for its end.

    max_restarts: how often torchrun starts all ranks again after one failed. env: variables for the ranks; each has
    one CPU thread unless OMP_NUM_THREADS stands there. seconds: after that the whole tree is ended. show: called with
    each line as it comes, for example ``print``. folder: where the script runs (default: here).

    With ``check`` a failure or the time limit raises LaunchError, whose ``.run`` has the output; without it the
    status says so. An interrupt ends everything and raises ``Interrupted``. Raises LabkitError where the script is
    missing or torch has no distributed."""
    missing = distributed_missing()
    if missing:
        raise LabkitError(missing)
    path = Path(script)
    if not path.is_file():
        raise LabkitError(f"There is no script {script}.", "Give the path of a Python file.")
    command = torchrun_command(path.resolve(), *args, ranks=ranks, max_restarts=max_restarts)
    run = supervised(
        command,
        settings={**(FRESH_STORE if max_restarts else {}), **quiet_settings(env)},
        seconds=seconds,
        show=show,
        folder=folder,
    )
    if check and run.status:
        raise _error(run, path.name, seconds)
    return run


def quiet_settings(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment for the ranks: one CPU thread each, loopback, no chatter of c10d, OpenMP or RCCL."""
    here = {name: value for name, value in os.environ.items() if name != "NCCL_DEBUG"}
    return {
        **here,
        **loopback_settings(),
        "PYTHONPATH": python_path(here),
        "PYTHONUTF8": "1",
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": "1",
        "TORCH_CPP_LOG_LEVEL": "ERROR",
        "TORCHELASTIC_ERROR_FILE": "",
        **(env or {}),
    }


def supervised(
    command: Sequence[str],
    *,
    settings: Mapping[str, str] | None = None,
    seconds: float = 120.0,
    show: Callable[[str], object] | None = None,
    folder: str | Path | None = None,
) -> Run:
    """Any command under ``lifeline``: its tree ends with this process, after ``seconds``, and when somebody
    interrupts."""
    started = time.monotonic()
    whole = [sys.executable, "-E", str(lifeline.__file__), str(seconds), *command]
    process = subprocess.Popen(
        whole,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=None if settings is None else dict(settings),
        cwd=folder,
        start_new_session=os.name == "posix",  # a notebook's interrupt goes to the kernel alone, which ends this
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )
    lines: list[str] = []
    try:
        _follow(process, lines, show, started + seconds + _EXTRA_S)
    except KeyboardInterrupt:
        raise Interrupted("Interrupted: everything that was started has been ended.") from None
    finally:
        _end(process)
    return Run(process.returncode, "".join(lines), time.monotonic() - started, tuple(command))


def _follow(
    process: subprocess.Popen[bytes], lines: list[str], show: Callable[[str], object] | None, limit: float
) -> None:
    """Collects lines until the process has ended and closed its output, or ``limit`` (monotonic clock)."""
    came: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read() -> None:
        assert process.stdout is not None
        with contextlib.suppress(OSError, ValueError):
            for line in process.stdout:
                came.put(line.decode("utf-8", errors="replace").replace("\r\n", "\n"))
        came.put(None)

    threading.Thread(target=read, daemon=True).start()
    while time.monotonic() < limit:
        try:
            line = came.get(timeout=0.2)  # short: on Windows an interrupt waits for it
        except queue.Empty:
            continue
        if line is None:
            break
        lines.append(line)
        if show is not None:
            show(line.rstrip("\n"))
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(2.0)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Closes the lifeline, which ends the tree; what does not end by that is killed."""
    with contextlib.suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    try:
        process.wait(lifeline._END_S + 2.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        with contextlib.suppress(OSError):
            process.stdout.close()


def _error(run: Run, name: str, seconds: float) -> LaunchError:
    if run.timed_out:
        return LaunchError(
            f"{name} did not end within {seconds:g} s, and all its processes were ended.\n{_tail(run.output)}",
            "A rank may wait for another one; for long work pass a larger seconds=.",
            run,
        )
    return LaunchError(
        f"{name} failed (exit status {run.status}): {cause(run.output)}",
        "The whole output is in the error's .run.output.",
        run,
    )


_ERROR = re.compile(r"^(?:\[rank(\d+)\]:? ?)?([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt)\b.*)$", re.MULTILINE)
_FIRST = re.compile(r"^Root Cause.*?^\s*rank\s*:\s*(\d+).*?(?=^=====)", re.MULTILINE | re.DOTALL)


def cause(output: str) -> str:
    """One line on why: what torchrun names as the first failure if that was a signal, else the first Python error of that
    rank (or of any), else the last line."""
    first = _FIRST.search(output)
    killed = re.search(r"Signal \d+ \((SIG\w+)\)", first.group()) if first else None
    if first and killed:
        return f"rank {first.group(1)} was killed by {killed.group(1)}."
    errors = [(rank, text.strip()) for rank, text in _ERROR.findall(output) if "ChildFailedError" not in text]
    own = [error for error in errors if first and error[0] == first.group(1)]
    for rank, text in (own or errors)[:1]:
        return f"rank {rank}: {text}" if rank else text
    return _tail(output, 1) or "it said nothing."


def _tail(text: str, lines: int = _TAIL) -> str:
    return "\n".join(text.strip().splitlines()[-lines:])
