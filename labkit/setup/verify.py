"""Is the torch that is there the one that was chosen, and does it compute? Asked in a process of its own.

A torch whose libraries crash on load, or whose first kernel is ended by the driver, takes only that process with it; what
is left is a sentence.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from labkit.errors import LabkitError
from labkit.setup.plan import TorchPlan

_KERNEL = Path(__file__).parent / "probes" / "kernel.py"
SECONDS = 240.0  # a first kernel on a GPU may compile for a while


@dataclass(frozen=True)
class Verdict:
    """``works``: kernels gave the right numbers on ``device``. ``warning``: what does not work, though the course can start."""

    works: bool
    version: str = ""
    build: str = ""  # 'rocm', 'cuda' or 'cpu'
    build_version: str = ""  # of HIP or CUDA
    device: str = ""
    name: str = ""
    gfx: str = ""
    error: str = ""
    warning: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def sentence(self) -> str:
        toolkit = {"rocm": f" (HIP {self.build_version})", "cuda": f" (CUDA {self.build_version})"}.get(self.build, "")
        kind = {"rocm": "ROCm", "cuda": "CUDA", "cpu": "CPU"}.get(self.build, self.build)
        where = (
            f"{self.device} ({', '.join(part for part in (self.name, self.gfx) if part)})" if self.name else self.device
        )
        return (
            f"torch {self.version}, a {kind} build{toolkit}; a matrix product and a convolution ran right on {where}."
        )


def verify(
    python: Path | str,
    gfx: Sequence[str] = (),
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    seconds: float = SECONDS,
) -> Verdict:
    """Runs real kernels on the device that torch was chosen for; where that fails, on the CPU.

    A GPU that fails is a warning (lesson 00 finds out why); a torch that fails on the CPU too is an error.
    """
    first = _ask(python, ",".join(gfx), environ, cwd, seconds)
    if first.works or first.device in ("", "cpu"):
        return first
    second = _ask(python, "cpu", environ, cwd, seconds)
    if not second.works:
        return second
    return Verdict(**{**asdict(second), "warning": f"{first.error} The CPU works; lesson 00 looks into it."})


def _ask(
    python: Path | str, argument: str, environ: Mapping[str, str] | None, cwd: Path | None, seconds: float
) -> Verdict:
    source = _KERNEL.read_text(encoding="utf-8")
    env = dict(os.environ if environ is None else environ)
    env.update(PYTHONIOENCODING="utf-8")
    command = [str(python), "-c", source, argument]
    try:
        answer = subprocess.run(
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=seconds,
            env=env,
            cwd=cwd,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        return judge(answer.stdout, answer.stderr, answer.returncode)
    except subprocess.TimeoutExpired as late:
        output = late.stdout.decode("utf-8", "replace") if isinstance(late.stdout, bytes) else late.stdout or ""
        return judge(output, "", None, seconds)
    except OSError as error:
        return Verdict(False, error=f"{python} does not start: {error.strerror}.")


def judge(output: str, errors: str, status: int | None, seconds: float = SECONDS) -> Verdict:
    """From what the probe printed to a verdict. ``status`` None: it did not end in time."""
    facts: dict[str, Any] = {}
    stage, error = "start", ""
    for line in output.splitlines():
        try:
            told = json.loads(line)
        except ValueError:
            continue  # a library printed something
        if not isinstance(told, dict) or "stage" not in told:
            continue
        if told["stage"] == "failed":
            error = str(told.get("error", ""))
            continue
        stage = told["stage"]
        facts.update(told)
    where = facts.get("device", "")
    gfx = facts.get("gfx") or ""
    place = f"{where}{f' ({gfx})' if gfx else ''}"
    known = {
        "version": facts.get("version", ""),
        "device": where,
        "name": facts.get("name", ""),
        "gfx": gfx,
        "build": "rocm" if facts.get("hip") else "cuda" if facts.get("cuda") else "cpu" if "version" in facts else "",
        "build_version": facts.get("hip") or facts.get("cuda") or "",
    }
    doing = {
        "start": "Python did not start",
        "import": "torch does not load",
        "build": "torch found no device to use",
        "device": f"torch loads, but its first kernel on {place} failed",
    }.get(stage, "")
    if stage == "done" and status == 0:
        wrong = facts.get("error") or ""
        return Verdict(not wrong, error=f"torch runs on {place}, but {wrong}." if wrong else "", **known)
    if stage == "done":
        doing = f"torch computed on {place}, but could not end properly"
    if status is None:
        return Verdict(False, error=f"{doing}: no answer within {seconds:.0f} s.", **known)
    if not error:
        last = [line.strip() for line in errors.splitlines() if line.strip()][-1:]
        error = f"the process {_ending(status)}" + (f"; its last words: {last[0][:200]}" if last else "")
    return Verdict(False, error=f"{doing}: {error.rstrip('.')}.", **known)


def _ending(status: int) -> str:
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def as_chosen(verdict: Verdict, plan: TorchPlan | None, log: Path) -> Verdict:
    """Raises LabkitError where torch does not work at all or is another build than the one that was chosen."""
    if not verdict.works:
        raise LabkitError(
            f"PyTorch is installed but does not work: {verdict.error}",
            f"install it anew with --recreate, or try another build with --torch. What pip did: {log}",
        )
    if plan is None or plan.build == "default" or verdict.build == plan.build:
        return verdict
    raise LabkitError(
        f"A {plan.build} build of torch was chosen, but {verdict.version} is a {verdict.build} build.",
        f"check what {plan.index_url or 'the index of pip (PIP_INDEX_URL, pip.conf)'} holds, then use --recreate, or choose with --torch.",
    )
