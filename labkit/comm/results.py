"""What a measurement of bytes or products gave: series of points with their intervals, on a named machine, on a day.

All of it are plain values. ``Results.to_json`` and ``from_json`` go both ways; ``write`` puts the file there whole or
not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from labkit.errors import LabkitError
from labkit.timing import Measurement
from labkit.timing.statistics import summary

FORM = "labkit bench"
VERSION = 1
KINDS = ("copy", "memory", "gemm", "collective")
KEPT_SAMPLES = 64  # of each point: enough for a bootstrap, few enough for a readable file


@dataclass(frozen=True)
class Point:
    """One size.

    ``bytes``: the message (copies, collectives), the working set (memory) or the three matrices (gemm). ``median_s``
    seconds per call, ``low_s`` to ``high_s`` its bootstrap 95 % interval, ``repetitions`` how many samples it rests on.
    ``work``: what a call counts for, bytes or FLOP (None: ``bytes``). ``size``: n of an n × n product. ``wrong``: how
    many elements were wrong (None: not checked). ``samples``: seconds per call, at most ``KEPT_SAMPLES`` of them, evenly
    taken from the sorted ones.
    """

    bytes: int
    median_s: float
    low_s: float
    high_s: float
    repetitions: int
    work: float | None = None
    size: int | None = None
    wrong: int | None = None
    samples: tuple[float, ...] = ()

    @property
    def counted(self) -> float:
        """Bytes or FLOP of one call."""
        return float(self.bytes) if self.work is None else self.work

    @property
    def rate(self) -> float:
        """``counted`` per second (B/s or FLOP/s)."""
        return self.counted / self.median_s

    @property
    def rate_interval(self) -> tuple[float, float]:
        """(low, high) of ``rate``: the interval of the time, turned round."""
        return self.counted / self.high_s, self.counted / self.low_s


def point(
    bytes: int,
    samples: Sequence[float],
    *,
    work: float | None = None,
    size: int | None = None,
    wrong: int | None = None,
) -> Point:
    """The point that ``samples`` (seconds per call, at least one, all positive) give. Raises ValueError otherwise."""
    values = _times(samples)
    told = summary(values)
    return Point(
        int(bytes), told["median"], told["low"], told["high"], len(values), work, size, wrong, _thinned(values)
    )


def point_of(bytes: int, measured: Measurement, *, work: float | None = None, size: int | None = None) -> Point:
    """The point of a ``labkit.timing`` measurement, with the interval that it has already. Raises ValueError as ``point``."""
    values = _times(measured.samples)
    middle, low, high = measured.median_s, measured.low_s, measured.high_s
    return Point(int(bytes), middle, low, high, len(values), work, size, None, _thinned(values))


def _times(samples: Sequence[float]) -> list[float]:
    values = sorted(float(value) for value in samples)
    if not values or values[0] <= 0:
        raise ValueError("a point needs at least one time, and times are positive")
    return values


def _thinned(values: list[float]) -> tuple[float, ...]:
    """At most ``KEPT_SAMPLES`` of the sorted ``values``, evenly from all of them, to seven significant digits."""
    if len(values) > KEPT_SAMPLES:
        step = (len(values) - 1) / (KEPT_SAMPLES - 1)
        values = [values[round(k * step)] for k in range(KEPT_SAMPLES)]
    return tuple(float(f"{value:.7g}") for value in values)


@dataclass(frozen=True)
class Series:
    """One measure over sizes.

    ``kind``: one of ``KINDS``. ``name``: the measure for programs ('triad', 'pinned', 'all_reduce'); ``label``: for
    people. ``src``, ``dst``: devices ('cpu', 'cuda:0'; the same where nothing leaves it). ``dtype``: torch's name without 'torch.'.
    ``unit``: 'B/s' or 'FLOP/s'. ``counted``: in words, what ``work`` counts. ``ranks``: of a collective. ``notes``: what
    a reader should know.
    """

    kind: str
    label: str
    src: str
    dst: str
    dtype: str
    points: tuple[Point, ...]
    name: str = ""
    unit: str = "B/s"
    counted: str = ""
    ranks: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> Point:
        """The point of the highest rate."""
        return max(self.points, key=lambda p: p.rate)

    @property
    def largest(self) -> Point:
        """The point of the most bytes."""
        return max(self.points, key=lambda p: p.bytes)

    @property
    def local(self) -> bool:
        """Nothing crossed a link: source and destination are one device."""
        return self.src == self.dst


@dataclass(frozen=True)
class Results:
    """Series with the card of their machine.

    ``card``: title, device, build, gfx and rows [[label, value], …] of ``labkit.describe()``. ``made``: UTC, ISO form.
    ``torch``: its version. ``versions``: of what else took part. ``threads``: torch's CPU threads. ``notes``: what could not be measured,
    and why.
    """

    series: tuple[Series, ...]
    card: Mapping[str, Any] = field(default_factory=dict)
    made: str = ""
    torch: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    threads: int | None = None
    notes: tuple[str, ...] = ()

    def of(self, kind: str, name: str = "", dtype: str = "") -> tuple[Series, ...]:
        """The series of this kind; with ``name`` or ``dtype`` only those."""
        return tuple(s for s in self.series if s.kind == kind and name in ("", s.name) and dtype in ("", s.dtype))

    def joined(self, *others: Results) -> Results:
        """All series and notes in one; the rest is this one's (of the first that has it)."""
        parts = (self, *others)
        return replace(
            self,
            series=tuple(s for part in parts for s in part.series),
            card=next((part.card for part in parts if part.card), {}),
            made=next((part.made for part in parts if part.made), ""),
            torch=next((part.torch for part in parts if part.torch), ""),
            versions={name: version for part in reversed(parts) for name, version in part.versions.items()},
            threads=next((part.threads for part in parts if part.threads is not None), None),
            notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "form": FORM,
            "version": VERSION,
            "made": self.made,
            "torch": self.torch,
            "versions": dict(self.versions),
            "threads": self.threads,
            "card": dict(self.card),
            "notes": list(self.notes),
            "series": [_series_dict(s) for s in self.series],
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1)

    def write(self, path: str | Path) -> Path:
        """Writes the JSON, whole or not at all. Raises LabkitError where that is not possible."""
        target = Path(path)
        draft = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            draft.write_text(self.to_json() + "\n", encoding="utf-8")
            draft.replace(target)
        except OSError as error:
            raise LabkitError(
                f"{target} cannot be written: {error.strerror or error}.", "Choose another place with -o."
            ) from error
        finally:
            with contextlib.suppress(OSError):
                draft.unlink()
        return target

    @staticmethod
    def from_json(text: str, name: str = "The text") -> Results:
        """What ``to_json`` wrote. Raises LabkitError that says what is wrong with anything else."""
        from labkit.comm.reading import results_from

        return results_from(text, name)

    @staticmethod
    def read(path: str | Path) -> Results:
        """The results in a file, also in one that PowerShell's ``>`` wrote (UTF-16). Raises LabkitError where it cannot be
        read or holds something else."""
        from labkit.machine import intake
        from labkit.machine.readers.recognise import LARGEST

        return Results.from_json(intake.decode(intake.read(path, LARGEST)) or "", str(path))


def _series_dict(s: Series) -> dict[str, Any]:
    """All of it, the long list of points last."""
    found = asdict(s)
    points = found.pop("points")
    return {**found, "points": points}


def here(series: Iterable[Series], notes: Iterable[str] = (), *, card: Mapping[str, Any] | None = None) -> Results:
    """Results of this machine, now: with its card (``machine_card``, unless given), versions and threads."""
    import torch

    import labkit

    return Results(
        tuple(series),
        machine_card() if card is None else card,
        datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        str(torch.__version__),
        {"python": platform.python_version(), "labkit": labkit.__version__, "hip": str(torch.version.hip or "")},
        int(torch.get_num_threads()),
        tuple(notes),
    )


def machine_card() -> dict[str, Any]:
    """The card of ``labkit.describe()`` as plain values, asked in this process and without its kernels."""
    from labkit.devices import card_here

    made = card_here()
    rows = [[row.label, row.value] for row in made.rows if row.label not in ("smoke test", "variable")]
    return {"title": made.title, "device": made.device, "build": made.build, "gfx": made.gfx, "rows": rows}
