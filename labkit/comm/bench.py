"""``labkit bench``: measures what was asked for, one part after the other, and gives one result."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

from labkit.comm.pace import Progress, quiet
from labkit.comm.parts import SECONDS, check
from labkit.comm.results import Results, here
from labkit.errors import LabkitError

Measure = Callable[[str, float, Progress], Results]
"""(device, seconds, progress) -> the results of one part."""


def copy(device: str, seconds: float, progress: Progress) -> Results:
    """Copies to, from and within ``device``, and between all GPUs where there are several."""
    from labkit.comm import copies, peers

    among = device.startswith("cuda")
    series = copies.measure_copies(device, seconds=seconds / 2 if among else seconds, progress=progress)
    if not among:
        return Results(series)
    others = peers.measure_peers(seconds=seconds / 2, progress=progress)
    if not others:
        return Results(series, notes=(peers.ONE,))
    return Results((*(s for s in series if not s.local), *others))


def memory(device: str, seconds: float, progress: Progress) -> Results:
    """Read, write, copy and triad in ``device``'s memory."""
    from labkit.comm import streams

    return Results(streams.measure_memory(device, seconds=seconds, progress=progress))


def gemm(device: str, seconds: float, progress: Progress) -> Results:
    """Matrix products on ``device``."""
    from labkit.comm import gemm as products

    return Results(products.measure_gemm(device, seconds=seconds, progress=progress))


def collectives(device: str, seconds: float, progress: Progress) -> Results:
    """all-reduce and its relatives between two processes of this machine."""
    from labkit.comm import collectives as among

    progress("collectives: two processes")
    return among.measured(ranks=2, seconds=seconds)


MEASURES: dict[str, Measure] = {"copy": copy, "memory": memory, "gemm": gemm, "collectives": collectives}


def measured(
    what: Sequence[str] = (),
    *,
    device: Any = None,
    seconds: float = SECONDS,
    progress: Progress = quiet,
    measures: dict[str, Measure] | None = None,
) -> Results:
    """The results of the parts ``what`` (none named: all that this machine can), each in about ``seconds``.

    device: default ``labkit.device()``. Where no part is named, one that cannot be measured becomes a note; where it is
    named, its LabkitError passes through. Raises LabkitError for an unknown part or a time that is not positive.
    """
    check(what, seconds)
    if device is None:
        from labkit import devices

        with contextlib.redirect_stdout(sys.stderr):  # what it has to say is no result
            device = devices.device()
    table = MEASURES if measures is None else measures
    found: list[Results] = []
    notes: list[str] = []
    for part in dict.fromkeys(what or table):
        try:
            found.append(table[part](str(device), seconds, progress))
        except LabkitError as error:
            if what:
                raise
            notes.append(f"{part} was not measured: {error.problem}")
    return here((), notes).joined(*found)


def run(
    what: Sequence[str],
    *,
    text: Callable[[Results], str],
    seconds: float = SECONDS,
    as_json: bool = False,
    output: str | None = None,
    measure: Callable[..., Results] = measured,
) -> int:
    """The command: measures, writes the JSON to ``output``, prints ``text(results)`` or the JSON; gives 0.

    Progress goes to the standard error. An interrupt leaves no file. Raises LabkitError as ``measured`` and ``check`` do.
    """
    check(what, seconds, output)
    found = measure(what, seconds=seconds, progress=Teller(sys.stderr))
    if output:
        found.write(output)
    if as_json:
        print(json.dumps(found.to_dict(), ensure_ascii=False, indent=1))
    else:
        print(text(found))
    if output:
        print(f"Written: {output}", file=sys.stderr if as_json else sys.stdout)
    return 0


class Teller:
    """Prints progress: one line for each measure, not for each of its sizes."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._last = ""

    def __call__(self, text: str) -> None:
        measure = text.rpartition(", ")[0] or text
        if measure != self._last:
            self._last = measure
            print(f"  {measure} …", file=self._stream, flush=True)
