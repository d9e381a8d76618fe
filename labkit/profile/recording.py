"""Makes a profile here: by rocprofv3 where it is there and a program is to be profiled, else by torch.profiler. The table is the same."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.errors import LabkitError
from labkit.importable import python_path
from labkit.machine.probes import commands
from labkit.profile import kineto
from labkit.profile.readers import read
from labkit.profile.table import Profile

TOOLS = ("auto", "rocprofv3", "torch.profiler")
_TAIL = 12  # lines of a failed program's output that are told


@dataclass(frozen=True)
class Recording:
    """A profile that was made here.

    tool: ``rocprofv3`` or ``torch.profiler``. command: the command line, empty for a function. files: what the tool wrote, kept only
    where a folder was named. note: which tool it was and why, for people. output: what a program printed.
    """

    profile: Profile
    tool: str
    note: str
    command: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    output: str = ""

    def __repr__(self) -> str:
        return f"<Recording by {self.tool}: {self.profile!r}>"


def record(
    work: Callable[[], Any] | str | Path,
    *arguments: str,
    steps: int = 10,
    warmup: int = 3,
    shapes: bool = True,
    folder: str | Path | None = None,
    tool: str = "auto",
    timeout_s: float = 600,
) -> Recording:
    """Profiles a function that does one step, or a Python script.

    work: a function is called ``warmup`` times outside the profile and then ``steps`` times inside, each call marked ``step N``; a
        script (path) is run once with ``arguments`` in a process of its own and should do its warm-up and few steps itself.
    shapes: note the shapes of the operators' inputs, from which FLOPs are counted (torch.profiler only).
    folder: where the tool's files are kept (default: nowhere).
    tool: ``auto`` (for a script rocprofv3 where it is installed, else torch.profiler), or one of them.

    rocprofv3 starts the program that it looks into, so a function in a running notebook is always recorded by torch.profiler; the two
    must not run at the same time. Raises LabkitError where the script is missing, fails, or takes longer than ``timeout_s``, and where the
    function's data ends too soon; what the function itself raises comes through.
    """
    if tool not in TOOLS:
        raise LabkitError(f"There is no recorder '{tool}'.", f"choose one of: {', '.join(TOOLS)}.")
    if steps < 1 or warmup < 0:
        raise LabkitError(f"{steps} steps after {warmup} of warm-up cannot be recorded.", "use at least one step.")
    with ExitStack() as stack:
        place = _place(folder, stack)
        if callable(work):
            if arguments:
                raise LabkitError("A function is recorded without arguments.", "put them into a lambda.")
            if tool == "rocprofv3":
                raise LabkitError(
                    "rocprofv3 cannot look into a running notebook: it starts the program that it profiles.",
                    "put the training into a script and record that, or use tool='torch.profiler'.",
                )
            return _function(work, steps, warmup, shapes, place, keep=folder is not None)
        if not isinstance(work, (str, os.PathLike)):
            raise LabkitError(
                f"A value of type {type(work).__name__} cannot be recorded.",
                "give a function, or the path of a script.",
            )
        script = Path(work)
        if not script.is_file():
            raise LabkitError(f"There is no script {script}.", "give the path of a Python file.")
        found = shutil.which("rocprofv3")
        if tool == "rocprofv3" and found is None:
            raise LabkitError(
                "rocprofv3 is not on this machine's PATH.", "install ROCm's profiler, or use tool='torch.profiler'."
            )
        if found is not None and tool != "torch.profiler":
            return _rocprofv3(found, script, arguments, place, timeout_s, keep=folder is not None)
        return _child(script, arguments, shapes, place, timeout_s, keep=folder is not None)


def rocprofv3_command(program: str, folder: Path, script: Path, arguments: Sequence[str]) -> tuple[str, ...]:
    """The command line: kernels, copies, HIP calls, markers and RCCL, as CSV files. ``--`` before the program is required.

    Source: rocprofiler-sdk, using-rocprofv3.rst (ROCm 7).
    """
    return (
        *(program, "--runtime-trace", "--output-format", "csv", "-d", str(folder), "-o", "run", "--"),
        *(sys.executable, str(script), *arguments),
    )


def _place(folder: str | Path | None, stack: ExitStack) -> Path:
    if folder is None:
        made: AbstractContextManager[str] = tempfile.TemporaryDirectory(
            prefix="labkit-profile-", ignore_cleanup_errors=True
        )
        return Path(stack.enter_context(made))
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabkitError(f"{place} cannot be made: {error.strerror or error}.", "choose another folder.") from error
    return place


def _function(work: Callable[[], Any], steps: int, warmup: int, shapes: bool, place: Path, *, keep: bool) -> Recording:
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function

    on_gpu = torch.cuda.is_available()

    def wait() -> None:
        if on_gpu:
            torch.cuda.synchronize()

    def once(number: int) -> None:
        try:
            work()
        except StopIteration:
            raise LabkitError(
                f"The function's data ended in call {number} of {warmup + steps} ({warmup} of them warm-up).",
                "ask for fewer steps, or let the function begin its data anew.",
            ) from None

    for number in range(warmup):
        once(number + 1)
    wait()
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with kineto.quiet(), profile(activities=activities, record_shapes=shapes) as recorder:
        for number in range(steps):
            with record_function(f"step {number}"):
                once(warmup + number + 1)
        wait()
    path = _export(recorder, place)
    note = (
        "Recorded by torch.profiler, which can look into a running notebook; rocprofv3 starts the program that it "
        "profiles. "
        + ("GPU kernels and host operators." if on_gpu else "No GPU here: the operators of the CPU, no kernels.")
    )
    return Recording(read(path), "torch.profiler", note, files=(path,) if keep else ())


def _export(recorder: Any, place: Path) -> Path:
    """The recorder's trace, whole or not at all."""
    path, draft = place / "torch_trace.json", place / f"torch_trace.{os.getpid()}.part.json"
    try:
        recorder.export_chrome_trace(str(draft))
        draft.replace(path)
    except (OSError, RuntimeError) as error:
        draft.unlink(missing_ok=True)
        raise LabkitError(f"The trace cannot be written to {place}: {error}.", "choose another folder.") from error
    return path


def _rocprofv3(
    program: str, script: Path, arguments: Sequence[str], place: Path, timeout_s: float, *, keep: bool
) -> Recording:
    names = (f"rocprofv3-{number}" for number in itertools.count(1))  # files of an earlier run are not mixed in
    target = next(place / name for name in names if not (place / name).exists())
    command = rocprofv3_command(program, target, script, arguments)
    output = _run(command, timeout_s)
    files = tuple(sorted(path for path in target.rglob("*") if path.is_file()))
    if not files:
        raise LabkitError(
            f"rocprofv3 wrote nothing. It said: {_tail(output) or 'nothing'}",
            "run the command by hand: " + " ".join(command),
        )
    note = "Recorded by rocprofv3: kernels, copies, HIP calls and markers of the whole program, its warm-up included."
    return Recording(read(target), "rocprofv3", note, command, files if keep else (), output)


def _child(
    script: Path, arguments: Sequence[str], shapes: bool, place: Path, timeout_s: float, *, keep: bool
) -> Recording:
    path = place / "torch_trace.json"
    module = ["-m", "labkit.profile.recorded", str(path), *(["--shapes"] if shapes else []), "--"]
    command = (sys.executable, *module, str(script), *arguments)
    output = _run(command, timeout_s)
    if not path.is_file():
        raise LabkitError(
            f"The script ended without a profile. It said: {_tail(output) or 'nothing'}",
            "see that it does not leave by os._exit or exec.",
        )
    note = "Recorded by torch.profiler in a process of its own: rocprofv3 is not on this machine's PATH."
    return Recording(read(path), "torch.profiler", note, command, (path,) if keep else (), output)


def _run(command: Sequence[str], timeout_s: float) -> str:
    settings = {**os.environ, "PYTHONUTF8": "1", "PYTHONPATH": python_path(os.environ)}
    try:
        process = subprocess.Popen(
            command, env=settings, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=os.name == "posix",
        )  # fmt: skip
    except OSError as error:
        raise LabkitError(
            f"{command[0]} could not be started: {error.strerror or error}.", "see that it runs."
        ) from None
    try:
        said, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise LabkitError(
            f"The script did not end within {timeout_s:g} s.", "let it do fewer steps: ten are enough for a profile."
        ) from None
    finally:  # also when somebody interrupts: rocprofv3 starts the script, and both have to end
        if process.poll() is None:
            commands.end(process)
    output = said.decode("utf-8", errors="replace")
    if process.returncode:
        raise LabkitError(
            f"The script failed (exit status {process.returncode}):\n{_tail(output)}",
            "run it without a profiler first: " + " ".join(map(str, command[command.index("--") + 1 :])),
        )
    return output


def _tail(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-_TAIL:])
