"""A rank that failed, died or hung, in a sentence."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from labkit.comm.rank import Failure
from labkit.errors import LabkitError


class RankError(LabkitError):
    """A rank failed, hung or died. ``rank``: which one (None: several). ``trace``: its traceback. ``output``: what it
    printed."""

    def __init__(self, problem: str, remedy: str = "", *, rank: int | None, trace: str = "", output: str = "") -> None:
        super().__init__(problem, remedy)
        self.rank, self.trace, self.output = rank, trace, output


def failed(number: int, ranks: int, failure: Failure, output: str) -> RankError:
    """Rank ``number`` of ``ranks`` raised. ``output``: what it printed."""
    what = ": ".join(part for part in (failure.kind, failure.message) if part)
    spot = f" ({failure.spot})" if failure.spot else ""
    return RankError(
        f"Rank {number} of {ranks} failed: {what.rstrip('.')}{spot}. All ranks were ended.",
        failure.remedy or "the rank's traceback is the error's .trace.",
        rank=number,
        trace=failure.trace,
        output=output,
    )


def died(number: int, ranks: int, status: int | None, doing: str, output: str) -> RankError:
    """The process of rank ``number`` ended with ``status`` (multiprocessing's exit code). ``doing``: 'in f', 'to start'."""
    last = next((line for line in reversed(output.splitlines()) if line.strip()), "")
    return RankError(
        f"Rank {number} of {ranks} {ended_how(status)} {doing}. All ranks were ended.",
        f"its last words: {last}"
        if last
        else "see the system's log; an exit status 137 or SIGKILL often means too little memory.",
        rank=number,
        output=output,
    )


def hung(doing: str, seconds: float, outputs: Mapping[int, str], done: Sequence[int]) -> RankError:
    """``outputs``: what each rank printed that did not answer within ``seconds``. ``done``: the ranks that did."""
    spots = [f"rank {number}{where_it_is(output)}" for number, output in outputs.items()]
    finished = f" Finished: rank {', '.join(map(str, done))}." if done else ""
    return RankError(
        f"No answer {doing} within {seconds:g} s: {'; '.join(spots)}.{finished} All ranks were ended.",
        "a rank that waits alone in a collective means that another one skipped it; for long work pass a larger seconds=.",
        rank=next(iter(outputs)) if len(outputs) == 1 else None,
        output="\n".join(outputs.values()),
    )


def ended_how(status: int | None) -> str:
    """'was killed by SIGKILL', 'ended with status 3': a process's exit code in words."""
    if status is not None and status < 0:
        with contextlib.suppress(ValueError):
            return f"was killed by {signal.Signals(-status).name}"
    return "ended" if status is None else f"ended with status {status}"


def where_it_is(output: str) -> str:
    """' in f (file.py, line n)' from the last dump of faulthandler, the innermost frame outside torch; '' without a dump."""
    _, mark, dump = output.rpartition("Timeout (")
    main = dump[dump.rfind("\nThread ") :] if mark else ""  # the thread that was started first is told last
    for line in main.splitlines():
        head, found, name = line.strip().rpartition(" in ")
        file, _, place = head.removeprefix('File "').partition('", line ')
        if found and place and "torch" not in Path(file).parts:
            return f" is in {name} ({Path(file).name}, line {place})"
    return ""
