"""``labkit bench``: measures what was asked for, one part after the other, and gives one result."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from labkit.comm import against as compared
from labkit.comm.against import Reference
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
    return among.measure_collectives(2, seconds=seconds)


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
    beside: Callable[[Results, Reference], str] | None = None,
    picture: Callable[[Results, Reference | None], Any] | None = None,
    seconds: float = SECONDS,
    as_json: bool = False,
    output: str | None = None,
    against: str | None = None,
    figure: str | None = None,
    earlier: str | None = None,
    measure: Callable[..., Results] = measured,
) -> int:
    """The command: measures, or reads ``earlier`` results, writes the JSON to ``output``, prints ``text(results)`` or the
    JSON; gives 0. ``against``: a file of rccl-tests, told by ``beside``, in JSON as 'against'. ``figure``: where
    ``picture`` goes.

    Progress goes to the standard error. An interrupt leaves no file. Raises LabkitError as ``measured``, ``check`` and
    ``against.read`` do, before anything is measured where that can be known.
    """
    check(what, seconds, output, against=against, figure=figure, earlier=earlier)
    other = compared.read(against) if against else None
    before = chosen(Results.read(earlier), what, earlier) if earlier else None
    found = before or measure(what, seconds=seconds, progress=Teller(sys.stderr))
    lost: LabkitError | None = None
    if output:  # first, and a failure is told last: what took its time must not be lost, neither way
        try:
            found.write(output)
        except LabkitError as error:
            lost = error
    if as_json:
        told = {"against": {"file": other.name, **other.facts}} if other else {}
        print(json.dumps({**found.to_dict(), **told}, ensure_ascii=False, indent=1))
    else:
        print(text(found))
        if other and beside:
            print("\n" + beside(found, other))
    if figure and picture:
        _draw(picture(found, other), figure)
    if lost:
        raise lost
    for name in (output, figure):
        if name:
            print(f"Written: {name}", file=sys.stderr if as_json else sys.stdout)
    return 0


def chosen(found: Results, what: Sequence[str], name: str) -> Results:
    """Of earlier results the parts ``what`` (none named: all). Raises LabkitError where nothing is left."""
    kinds = {"collective" if part == "collectives" else part for part in what}
    if not kinds:
        return found
    left = replace(found, series=tuple(s for s in found.series if s.kind in kinds))
    if not left.series:
        raise LabkitError(f"{name} holds no results of {', '.join(what)}.", "Measure them, or name other parts.")
    return left


def _draw(picture: Any, figure: str) -> None:
    try:
        picture.save(figure)
    except OSError as error:
        raise LabkitError(f"{figure} cannot be written: {error.strerror or error}.", "Choose another place.") from error


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
