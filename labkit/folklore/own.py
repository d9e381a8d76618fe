"""A claim of one's own, shown by the machinery that shows the ledger's: apart, bounded, in a cleaned environment.

The function's source text is what runs, so it imports what it needs itself. ``python -m labkit.folklore.own FILE NAME
ARGUMENTS`` is the other side: it runs one function of a file and prints one line of JSON.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import IO, Any

from labkit.catalog.claims import VERDICTS, Claim
from labkit.errors import LabkitError
from labkit.folklore.observation import Observation, Outcome
from labkit.folklore.probes.__main__ import LATE, MARK, SILENT, read, told
from labkit.folklore.running import environment
from labkit.machine.probes.commands import end, start

SECONDS = 30.0
_KEPT = 65536  # bytes of what a probe prints; its answer is the last line
_EVIDENCE = 500  # characters


def own(
    says: str, verdict: str, probe: Callable[..., Observation], *given: Any, right: str = "", seconds: float = SECONDS
) -> Outcome:
    """Runs ``probe(*given)`` in a process of its own and sets what it saw against the verdict.

    probe: a function written with ``def``, which imports what it uses and returns an Observation. given: its arguments, of
    JSON's kinds. seconds: then the process is ended with all that it started. A probe that fails is 'broken', and its error
    the evidence. LabkitError for an unknown verdict, or a function whose text cannot be found.
    """
    wanted = verdict.strip().upper()
    if wanted not in VERDICTS:
        raise LabkitError(f"There is no verdict '{verdict}'.", f"Verdicts are: {', '.join(VERDICTS)}.")
    source, arguments = _source(probe), _as_json(given)
    began = time.monotonic()
    seen = _apart(source, probe.__name__, arguments, seconds)
    claim = Claim("own", "", "", says, "", wanted, right, ("this probe",), date.today().isoformat(), (), "own", "")
    return Outcome(claim, seen, time.monotonic() - began)


def _source(probe: Callable[..., Observation]) -> str:
    if not callable(probe):
        raise LabkitError(
            f"A probe is a function, and this is {type(probe).__name__}.",
            "Pass its name without brackets: own(sentence, verdict, my_probe).",
        )
    try:
        text = textwrap.dedent(inspect.getsource(probe))
    except (OSError, TypeError):
        text = ""
    if not text.lstrip().startswith("def "):
        raise LabkitError("The text of this probe cannot be found.", "Write it with def in a cell, and run that cell.")
    return text


def _as_json(given: tuple[Any, ...]) -> str:
    try:
        return json.dumps(given)
    except (TypeError, ValueError):
        raise LabkitError(
            "A probe's arguments must be plain values.", "Pass texts, numbers or lists; make the rest inside the probe."
        ) from None


def _apart(source: str, name: str, arguments: str, seconds: float) -> Observation:
    with tempfile.TemporaryDirectory(prefix="labkit-own-", ignore_cleanup_errors=True) as folder:
        file = Path(folder) / "claim.py"
        file.write_text(source, encoding="utf-8")
        command = [sys.executable, "-m", "labkit.folklore.own", str(file), name, arguments]
        process = start(command, environment(folder, os.environ), folder)
        assert process.stdout is not None
        kept = bytearray()
        reader = threading.Thread(target=_read, args=(process.stdout, kept), daemon=True)
        reader.start()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            return Observation("broken", LATE.format(seconds))
        finally:
            end(process)  # and what it started, which may hold the pipe
            process.wait()
            reader.join(5)
    lines = bytes(kept).decode("utf-8", errors="replace").splitlines()
    found = [message for message in map(read, lines) if message is not None]
    if not found:
        said = next((line.strip() for line in reversed(lines) if line.strip()), "nothing printed")
        return Observation("broken", SILENT.format(said))
    return Observation(found[-1]["saw"], found[-1]["evidence"])


def _read(stream: IO[bytes], kept: bytearray) -> None:
    """The last bytes of a stream into ``kept``: a probe that prints without end fills neither memory nor disk."""
    with stream:
        while piece := os.read(stream.fileno(), _KEPT):
            kept += piece
            del kept[:-_KEPT]


def _words(saw: object, evidence: object = "") -> Observation:
    """What a probe's text calls Observation: its words may be any values."""
    return Observation(str(saw), str(evidence))


def _cut(evidence: str) -> str:
    return evidence if len(evidence) <= _EVIDENCE else f"{evidence[:_EVIDENCE]} ... ({len(evidence):,} characters)"


def _observed(file: str, name: str, arguments: str) -> Observation:
    """Never raises."""
    names: dict[str, Any] = {"__name__": "claim", "Observation": _words}
    try:
        exec(compile(Path(file).read_text(encoding="utf-8"), file, "exec"), names)
        seen = names[name](*json.loads(arguments))
    except (Exception, SystemExit) as error:
        alone = ". A probe runs alone: import and define inside it what it uses" if isinstance(error, NameError) else ""
        return Observation("broken", told(error) + alone)
    if not isinstance(seen, Observation):
        what = type(seen).__name__
        return Observation(
            "broken", f"it returned {what}, and no Observation; end it with return Observation(word, evidence)"
        )
    return Observation(seen.saw, _cut(seen.evidence))


if __name__ == "__main__":
    done = _observed(*sys.argv[1:4])
    print(f"\n{MARK}{json.dumps({'saw': done.saw, 'evidence': done.evidence})}", flush=True)
