"""Starts the child that runs real kernels, and turns whatever happens to it into a :class:`SmokeTest`.

A clean end, an exception, a wrong number, a signal, silence: each becomes a sentence with its likely cause and what to
do. The child announces every step before it starts, so a crash names its kernel.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from labkit.devices.kernels import DTYPES, MARK, OPS
from labkit.devices.symptoms import ANEW, HUNG, explain, explain_import, shorten

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class KernelResult:
    """One operation in one dtype against float64."""

    op: str
    dtype: str
    status: str  # 'ok' | 'wrong' | 'unsupported' | 'error' | 'crashed' | 'not run'
    error: float | None = None  # share of the scale; copy: share of the elements that differ
    tolerance: float | None = None
    text: str = ""


@dataclass(frozen=True, repr=False)
class SmokeTest:
    """What the child found. ``problem`` and ``remedy`` are sentences when something is wrong, else empty."""

    device: str | None
    results: tuple[KernelResult, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""
    remedy: str = ""
    detail: str = ""  # the end of what torch or the system printed, for whoever wants to search for it
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Every kernel ran and was right (one that torch does not offer here is left out of the count)."""
        return not self.problem and bool(self.results) and all(r.status in ("ok", "unsupported") for r in self.results)

    @property
    def usable(self) -> bool:
        """The three float32 kernels are right: the device can do most of the course."""
        mine = [result for result in self.results if result.dtype == "float32"]
        return len(mine) == len(OPS) and all(result.status == "ok" for result in mine)

    @property
    def verdict(self) -> str:
        """One sentence."""
        if self.problem:
            return self.problem
        right = sum(result.status == "ok" for result in self.results)
        return f"{right} of {len(self.results)} kernels on '{self.device}' agree with float64"

    def __str__(self) -> str:
        lines = [f"Smoke test on '{self.device}': real kernels against float64" if self.device else "Smoke test"]
        if self.results:
            lines.append(f"  {'':<8}" + "".join(f"{dtype:<16}" for dtype in DTYPES))
            for op in OPS:
                cells = (_cell(self._result(op, dtype)) for dtype in DTYPES)
                lines.append((f"  {op:<8}" + "".join(f"{cell:<16}" for cell in cells)).rstrip())
        lines.append(f"  {self.verdict}.".replace("..", "."))
        if self.remedy:
            lines.append(f"  What to do: {self.remedy}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head = "".join(f"<th style='text-align:left'>{dtype}</th>" for dtype in DTYPES)
        cell = "<td style='text-align:left'>{}</td>"
        rows = "".join(
            f"<tr><th style='text-align:left'>{op}</th>"
            + "".join(cell.format(escape(_cell(self._result(op, dtype)))) for dtype in DTYPES)
            + "</tr>"
            for op in OPS
        )
        table = f"<table><tr><th></th>{head}</tr>{rows}</table>" if self.results else ""
        remedy = f"<br><b>What to do:</b> {escape(self.remedy)}" if self.remedy else ""
        title = f"Smoke test on <code>{escape(self.device)}</code>" if self.device else "Smoke test"
        verdict = f"<div>{escape(self.verdict)}.{remedy}</div>"
        return f"<div><b>{title}</b>: real kernels against float64{table}{verdict}</div>"

    def _result(self, op: str, dtype: str) -> KernelResult:
        for result in self.results:
            if (result.op, result.dtype) == (op, dtype):
                return result
        return KernelResult(op, dtype, "not run")


def _cell(result: KernelResult) -> str:
    if result.status == "ok":
        return "ok"
    if result.status == "wrong":
        return "WRONG " + ("(NaN)" if result.text.startswith("NaN") else f"({result.error:.0e})")
    return {"error": "ERROR", "crashed": "CRASHED", "unsupported": "not offered"}.get(result.status, result.status)


def run(device: str = "auto", timeout_s: float = 120.0, command: Sequence[str] | None = None) -> SmokeTest:
    """Runs the child and waits for it; never raises for anything that the child does.

    ``device``: 'auto', 'none' (facts only) or a device string. ``command`` replaces the child (tests put a program
    there that crashes or hangs).
    """
    start = time.monotonic()
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), environment.get("PYTHONPATH")]))
    environment["PYTHONIOENCODING"] = "utf-8"
    command = list(command or [sys.executable, "-m", "labkit.devices.child", device])
    # Files instead of pipes: a process that hangs inside the driver may ignore even SIGKILL, and reading a pipe of
    # such a process would hang as well.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environment,
                cwd=ROOT,
                start_new_session=os.name == "posix",
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError as error:
            return SmokeTest(
                None,
                problem=f"The smoke test could not be started ({error})",
                remedy="check that there is free memory and that the environment's Python still exists",
            )
        try:
            status: int | None = child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            status = None
            _end(child)
        except BaseException:
            _end(child)
            raise
        out.seek(0)
        err.seek(0)
        printed = out.read().decode("utf-8", "replace")
        complained = err.read().decode("utf-8", "replace")
    return read(printed, complained, status, seconds=time.monotonic() - start, timeout_s=timeout_s)


def _end(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(5)


def read(
    printed: str, complained: str, status: int | None, *, seconds: float = 0.0, timeout_s: float = 120.0
) -> SmokeTest:
    """Turns what a child printed and how it ended (exit status; None: it was stopped after ``timeout_s``) into a
    :class:`SmokeTest`. A pure function."""
    facts: Mapping[str, Any] = {}
    device = step = import_error = None
    done = False
    results: list[KernelResult] = []
    for line in printed.splitlines():
        if not line.startswith(MARK):
            continue
        try:
            message = json.loads(line[len(MARK) :])
        except ValueError:
            continue
        facts = message.get("facts", facts)
        device = message.get("device", device)
        step = message.get("step", step)
        import_error = message.get("import_error", import_error)
        done = done or bool(message.get("done"))
        if "result" in message:
            results.append(KernelResult(**message["result"]))
            step = None
    detail = complained.strip()[-2000:]

    def finish(problem: str = "", remedy: str = "", detail: str = detail) -> SmokeTest:
        return SmokeTest(device, tuple(results), facts, problem, remedy, detail, seconds)

    if import_error is not None:
        problem, remedy = explain_import(import_error["type"], import_error["text"])
        return finish(problem, remedy, f"{import_error['type']}: {import_error['text']}")
    if status != 0 or not done:
        doing = (
            f"while it ran {step}"
            if step and " in " in step
            else f"at the step '{step}'"
            if step
            else "after the last kernel, while it was ending"
            if done
            else "before it could say anything"
        )
        if step and " in " in step:
            op, dtype = step.split(" in ")
            results.append(KernelResult(op, dtype, "crashed"))
        cause, remedy = explain(complained + printed, facts, device)
        whose = f"The test on '{device}'" if device else "The start of torch" if step else "The test"
        if status is None:
            what = f"{whose} hung {doing} and was stopped after {timeout_s:g} s"
            remedy = remedy or HUNG
        else:
            what = f"{whose} was {_ending(status)} {doing}"
            remedy = remedy or f"{ANEW}, then update the GPU driver"
        return finish(f"{what}{f': {cause}' if cause else ''}", remedy)
    bad = [result for result in results if result.status in ("error", "wrong")]
    if bad:
        first = bad[0]
        names = ", ".join(f"{result.op} {result.dtype}" for result in bad)
        if first.status == "error":
            cause, remedy = explain(first.text, facts, device)
            problem = (
                f"{len(bad)} of {len(results)} kernels fail on '{device}' ({cause or shorten(first.text)}): {names}"
            )
        else:
            problem = f"{len(bad)} of {len(results)} kernels give wrong numbers on '{device}' ({first.text}): {names}"
            remedy = _wrong_remedy(facts)
        return finish(problem, remedy or ANEW, first.text)
    return finish()


def _wrong_remedy(facts: Mapping[str, Any]) -> str:
    if "HSA_OVERRIDE_GFX_VERSION" in (facts.get("env") or {}):
        return "unset HSA_OVERRIDE_GFX_VERSION: kernels made for another GPU can run and still be wrong"
    return (
        "do not trust results from this device: set LABKIT_DEVICE=cpu, update the driver and torch, and report it "
        "with this text if it stays"
    )


def _ending(status: int) -> str:
    if status < 0:
        with contextlib.suppress(ValueError):
            name = signal.Signals(-status).name
            memory = " (often this means that the system had no memory left)" if name == "SIGKILL" else ""
            return f"ended by the signal {name}{memory}"
        return f"ended by signal {-status}"
    windows = {0xC0000005: "an access violation", 0xC0000409: "a stack overrun", 0xC0000135: "a missing DLL"}
    if status in windows:
        return f"ended by {windows[status]} (0x{status:X})"
    return f"ended with status {status}"
