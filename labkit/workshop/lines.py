"""The one line in which a machine says whether it is ready, and a table of many of them. Standard library only.

::

    READY seat=12 gpu=gfx1100 doctor=ok torch=2.14.1+rocm7.2 env=yes python=3.11 system=linux disk=120GB ram=31GB port=8888 check=1
    NOT READY (wheels, disk) seat=7 gpu=none doctor=ok torch=none env=no python=3.12 system=windows disk=2GB ram=15GB ...

No user, host, path or address: only the seat's name, which is asked for. ``check=1`` is the version of this form and ends it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from labkit.errors import LabkitError

VERSION = "1"
FIELDS = ("seat", "gpu", "doctor", "torch", "env", "python", "system", "disk", "ram", "port")
_VALUE = r"[A-Za-z0-9][A-Za-z0-9.+,:/_-]*"
_LINE = re.compile(
    rf"(?P<not>NOT\s+)?READY\s+(?:\((?P<failed>[a-z,\s]+)\)\s+)?(?P<fields>(?:[a-z]+={_VALUE}\s+)+)check=(?P<version>\d+)",
    re.IGNORECASE,
)
# What chat and mail programs put around or into a line: bold, code, quotes at its beginning, characters without width.
_DECORATION = re.compile(r"[*`\u200b-\u200f\u2060\ufeff]|(?m:^(?:[ \t]*>)+)")
_TRACE = re.compile(r"\b(?:seat|doctor)=", re.IGNORECASE)  # where a line was, even one that cannot be read
_SEAT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,19}")

# What a teacher does about a point that failed, by its name.
REMEDIES = {
    "python": "install Python 3.10 to 3.14 with its venv module (for a pack: one of the versions that START_HERE.txt names)",
    "disk": "free some space, or let LABKIT_ENV name a folder on a larger disk",
    "wheels": "copy the pack once more from the stick; or the pack was not made for this kind of computer: make one (--for)",
    "gpu": "run `python3 -m labkit doctor` there: it names the fault and the fix. Until then the lessons run on the CPU",
    "port": "close other JupyterLabs and servers, or restart the computer",
    "browser": "install a browser (Firefox, Chromium); or use one on another computer of the room with a GPU server",
    "memory": "close other programs; with less than 2 GB free the first lesson may be ended by the system",
    "clock": "set the date and the time",
    "environment": "with a network: `python3 -m labkit setup`. Without: start it from a pack (start.sh or start.bat)",
    "files": "copy the pack once more: files of it are missing or damaged",
}


@dataclass(frozen=True)
class Line:
    """What one machine said. ``failed`` names the points that are not in order."""

    ready: bool
    failed: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        state = "READY" if self.ready else f"NOT READY ({', '.join(self.failed)})"
        parts = [f"{name}={_clean(self.values[name])}" for name in FIELDS if self.values.get(name)]
        return " ".join([state, *parts, f"check={VERSION}"])

    @property
    def seat(self) -> str:
        return self.values.get("seat", "")


def _clean(value: str) -> str:
    return re.sub(r"[^A-Za-z0-9.+,:/_-]+", "_", value).lstrip("_.+,:/-").rstrip("_") or "unknown"


def check_seat(name: str) -> str:
    """The name of a seat as it may stand in the line; raises LabkitError for another one."""
    if not _SEAT.fullmatch(name.strip()):
        raise LabkitError(
            f"--seat {name!r} cannot stand in the line.",
            "Use up to 20 letters without accents, digits, dots, hyphens and underscores: --seat 12, --seat left-3.",
        )
    return name.strip()


def parse(text: str) -> list[Line]:
    """Every such line in a text, however it was pasted: after a name and a time of a chat, quoted, or wrapped."""
    found = []
    for match in _LINE.finditer(_DECORATION.sub("", text)):
        if match["version"] != VERSION:
            continue
        values = {key.lower(): value for key, value in (item.split("=", 1) for item in match["fields"].split())}
        failed = tuple(name.strip().lower() for name in (match["failed"] or "").split(",") if name.strip())
        found.append(Line(match["not"] is None, failed, values))
    return found


def unread(text: str) -> list[str]:
    """What looks like a line and could not be read: cut off, changed by hand, or of another version of the course."""
    rest = _LINE.sub(lambda match: "" if match["version"] == VERSION else match[0], _DECORATION.sub("", text))
    return [line.strip() for line in rest.splitlines() if _TRACE.search(line)]


def shared(lines: Iterable[Line]) -> list[str]:
    """The seats under which two different computers sent a line: another system, or another size of memory."""
    computers: dict[str, set[tuple[str, str]]] = {}
    for line in lines:
        if line.seat:
            computers.setdefault(line.seat, set()).add((line.values.get("system", ""), line.values.get("ram", "")))
    return sorted((seat for seat, kinds in computers.items() if len(kinds) > 1), key=_order)


def latest(lines: Iterable[Line]) -> list[Line]:
    """The last line of each seat, sorted by seat, numbers as numbers; lines without a seat stay all, at the end."""
    by_seat = {line.seat: line for line in lines if line.seat}
    ordered = sorted(by_seat.values(), key=lambda line: _order(line.seat))
    return [*ordered, *(line for line in lines if not line.seat)]


def _order(seat: str) -> tuple[tuple[int, int, str], ...]:
    parts = re.findall(r"\d+|\D+", seat)
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part.lower()) for part in parts)


def table(lines: Sequence[Line]) -> str:
    """The lines as a table, how many are ready, and what to do for the others. ``lines`` as ``latest`` gives them."""
    columns = ("seat", "gpu", "torch", "env", "python", "system", "disk", "ram")
    rows: list[tuple[str, ...]] = [("ready", *columns, "not in order")]
    for line in lines:
        cells = (line.values.get(name, "-") for name in columns)
        rows.append(("yes" if line.ready else "NO", *cells, ", ".join(line.failed) or "-"))
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    ready = [line for line in lines if line.ready]
    waiting = [line for line in ready if line.values.get("env") == "no"]
    text += ["", f"{len(ready)} of {len(lines)} are ready."]
    if waiting:
        text.append(
            f"Of these, {len(waiting)} with all packages but not set up yet (env=no): the first start there takes some minutes."
        )
    points = dict.fromkeys(name for line in lines for name in line.failed)
    for name in points:
        seats = ", ".join(line.seat or "(no seat)" for line in lines if name in line.failed)
        text.append(f"{name} (seat {seats}): {REMEDIES.get(name, 'look at what the check printed there')}.")
    return "\n".join(text)
