"""``python -m labkit.folklore.probes ID ...``: runs probes one after the other; one line of JSON for each.

On Linux each one runs in a fork of a process that has imported torch once; one that takes longer than ``--seconds`` is ended
with all that it started. With ``--here``, and elsewhere, they run in this process: whoever wants them apart and bounded
starts a process for each, as :mod:`labkit.folklore.running` does.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from labkit.catalog.claims import Claim, claims
from labkit.folklore.observation import Observation
from labkit.folklore.registry import find, missing

MARK = "labkit-probe:"
# evidence of a probe that came to no end
LATE = "it took longer than {:g} s and was ended"
SILENT = "it ended without a word: {:.200}"


def told(error: BaseException) -> str:
    """A probe's error as its evidence."""
    return f"{type(error).__name__}: {str(error).strip()[:300] or '(no text)'}"


def observe(claim: Claim) -> Observation:
    """Runs a claim's probe in this process; never raises. ``unmet`` where the machine lacks something or there is no probe."""
    try:
        probe = find(claim)
        if probe is None:
            return Observation("unmet", claim.why_no_probe)
        lacking = missing(probe.needs)
        return Observation("unmet", lacking) if lacking else probe.function()
    except Exception as error:
        return Observation("broken", told(error))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the probes of the ids; the exit status is 0 whatever they see."""
    parser = argparse.ArgumentParser(prog="labkit.folklore.probes", description=__doc__)
    parser.add_argument("ids", nargs="+", metavar="ID")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each probe (default: 60)")
    parser.add_argument("--here", action="store_true", help="in this process")
    options = parser.parse_args(arguments)
    table = claims()
    unknown = [name for name in options.ids if name not in table]
    if unknown:
        parser.error(f"no such claim: {', '.join(unknown)}")
    forking = sys.platform == "linux" and not options.here
    if forking and any(_wants_torch(table[name]) for name in options.ids):
        _warm_up()
    for name in options.ids:
        start = time.monotonic()
        seen = _forked(table[name], options.seconds) if forking else observe(table[name])
        _say(name, seen, time.monotonic() - start)
    return 0


def _wants_torch(claim: Claim) -> bool:
    with contextlib.suppress(LookupError, ImportError):
        probe = find(claim)
        return probe is not None and "torch" in " ".join(probe.needs) and find_spec("torch") is not None
    return False


def _warm_up() -> None:
    """Imports what the forks share: torch, and what its optimisers import when the first of them is made."""
    with contextlib.suppress(Exception):  # a broken torch is told by each probe
        import torch

        torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.0).zero_grad()


def _say(name: str, seen: Observation, seconds: float) -> None:
    print(
        f"\n{MARK}{json.dumps({'id': name, 'saw': seen.saw, 'evidence': seen.evidence, 'seconds': round(seconds, 3)})}",
        flush=True,
    )


def read(line: str) -> dict[str, Any] | None:
    """The message of a line that a probe process printed; None for any other line."""
    if not line.startswith(MARK):
        return None
    return dict(json.loads(line[len(MARK) :]))


def _forked(claim: Claim, seconds: float) -> Observation:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        result = Path(folder) / "observation.json"
        child = os.fork()
        if child == 0:
            _in_the_fork(claim, Path(folder), result)
        try:
            status = _wait(child, seconds)
        finally:
            with contextlib.suppress(OSError):
                os.killpg(child, signal.SIGKILL)  # what the probe left behind
        if status is None:
            return Observation("broken", LATE.format(seconds))
        if not result.exists():
            return Observation("broken", f"it ended with status {status} and said nothing")
        message = json.loads(result.read_text(encoding="utf-8"))
    return Observation(message["saw"], message["evidence"])


def _in_the_fork(claim: Claim, folder: Path, result: Path) -> None:
    try:
        os.setpgid(0, 0)
        os.chdir(folder)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        seen = observe(claim)
        result.write_text(json.dumps({"saw": seen.saw, "evidence": seen.evidence}), encoding="utf-8")
    finally:
        os._exit(0)


def _wait(child: int, seconds: float) -> int | None:
    """The exit status of a fork; None where its time was over and it was ended."""
    deadline = time.monotonic() + seconds
    parent = os.getppid()
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline or os.getppid() != parent:
            with contextlib.suppress(OSError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.01)


def _stopped(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    with contextlib.suppress(ValueError, OSError):
        signal.signal(signal.SIGTERM, _stopped)
    sys.exit(main())
