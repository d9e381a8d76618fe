"""Copies between GPUs, each with each, and the table device × device that they give. Not yet verified on ROCm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.comm import sizes as which
from labkit.comm.copies import COUNTED, COUNTED_BOTH, LOCAL, UNVERIFIED, both_ways, one_way
from labkit.comm.pace import Pace, Progress, quiet
from labkit.comm.results import Results, Series
from labkit.errors import LabkitError
from labkit.timing.stopwatch import Stopwatch, stopwatch_for
from labkit.timing.words import size as words

SIZES = (64 * 2**10, 2**20, 16 * 2**20, 256 * 2**20)
_ITEM = 4  # float32
ONE = "fewer than two GPUs here: no copies between GPUs"


@dataclass(frozen=True)
class Matrix:
    """GB/s (10^9 bytes) from the device of the row to the device of the column, None where nothing is known.

    ``local``: the diagonal is a copy within a device: local memory, not a link. ``intervals``: (low, high) of each, where there are
    some. ``note``: at which size, and where from.
    """

    devices: tuple[str, ...]
    gbps: tuple[tuple[float | None, ...], ...]
    intervals: tuple[tuple[tuple[float, float] | None, ...], ...] = ()
    note: str = ""


def measure_peers(
    *,
    sizes: Sequence[int] = SIZES,
    seconds: float = 4.0,
    both: bool = True,
    watch_for: Callable[[str], Stopwatch] = stopwatch_for,
    progress: Progress = quiet,
    torch: Any = None,
) -> tuple[Series, ...]:
    """Copies from each GPU to each other one ('peer'), for each pair both directions at once ('peer-both'), and within each
    ('local'); () where there are fewer than two GPUs.

    ``sizes``: bytes in one direction; what does not fit four times into the free memory of every GPU is left out. ``seconds``: about how
    long all of it takes. A pair without peer access copies through the host's memory, and its note says so. The events
    lie on the source's stream, on which torch also makes such copies. Raises LabkitError where no size fits.
    """
    if torch is None:
        import torch
    count = int(torch.cuda.device_count()) if torch.cuda.is_available() else 0
    if count < 2:
        return ()
    names = [f"cuda:{k}" for k in range(count)]
    room = min(which.free_bytes(name, torch) for name in names) // 4
    chosen = tuple(sorted(n // _ITEM * _ITEM for n in sizes if _ITEM <= n <= room))
    if not chosen:
        raise LabkitError(f"The GPUs have {words(room)} for each buffer, and no size fits.", "Name smaller sizes.")
    items = chosen[-1] // _ITEM
    out = [torch.full((items,), 1.0, dtype=torch.float32, device=name) for name in names]
    into = [torch.full((items,), 2.0, dtype=torch.float32, device=name) for name in names]
    turns = [(i, j, 1) for i in range(count) for j in range(count)]
    turns += [(i, j, 2) for i in range(count) for j in range(i + 1, count) if both]
    verified = [UNVERIFIED] if getattr(torch.version, "hip", None) else []
    made = []
    for i, j, directions in turns:
        pace = Pace(seconds / len(turns), len(chosen), watch_for(names[i]))
        points = []
        label = f"{names[i]} to {names[j]}" if directions == 1 else f"{names[i]} and {names[j]}, both directions"
        there, back = (into[j], out[i]), (into[i], out[j])
        copy = one_way(*there, at_once=True) if directions == 1 else both_ways(there, back, (names[i], names[j]), torch)
        for n in chosen:
            progress(f"copy: {label}, {words(n * directions)}")
            points.append(pace.point(copy(n // _ITEM), n * directions, work=n * directions))
        made.append(
            Series(
                "copy",
                label if i != j else f"within {names[i]}",
                names[i],
                names[j],
                "float32",
                tuple(points),
                name="local" if i == j else "peer" if directions == 1 else "peer-both",
                counted=COUNTED if directions == 1 else COUNTED_BOTH,
                notes=(*_access(i, j, torch), *verified, *pace.notes()),
            )
        )
    return tuple(made)


def _access(i: int, j: int, torch: Any) -> tuple[str, ...]:
    if i == j:
        return (LOCAL,)
    try:
        direct = bool(torch.cuda.can_device_access_peer(i, j))
    except RuntimeError:
        return ("whether the pair has peer access is not known",)
    return () if direct else ("no peer access: the copy goes through the host's memory",)


def matrix(results: Results) -> Matrix:
    """Device × device of all copies in ``results``, at each pair's largest size; of several ways (pageable, pinned) the fastest,
    without those that count two directions. Raises LabkitError where no copy was measured.
    """
    series = [s for s in results.of("copy") if s.name not in ("both", "peer-both")]
    if not series:
        raise LabkitError("These results hold no copies.", "Measure: python3 -m labkit bench copy.")
    devices = tuple(sorted({name for s in series for name in (s.src, s.dst)}, key=_order))
    best: dict[tuple[str, str], Series] = {}
    for s in series:
        pair = s.src, s.dst
        if pair not in best or s.largest.rate > best[pair].largest.rate:
            best[pair] = s
    sizes = sorted({s.largest.bytes for s in best.values()})
    told = f"measured at {words(sizes[0])}" + (f" to {words(sizes[-1])}" if len(sizes) > 1 else "")

    def value(pair: tuple[str, str]) -> float | None:
        return best[pair].largest.rate / 1e9 if pair in best else None

    def interval(pair: tuple[str, str]) -> tuple[float, float] | None:
        if pair not in best:
            return None
        low, high = best[pair].largest.rate_interval
        return low / 1e9, high / 1e9

    return Matrix(
        devices,
        tuple(tuple(value((a, b)) for b in devices) for a in devices),
        tuple(tuple(interval((a, b)) for b in devices) for a in devices),
        told,
    )


def matrix_of(facts: dict[str, object], *, both: bool = False) -> Matrix:
    """Device × device of what labkit's reader found in the output of rocm-bandwidth-test or TransferBench.

    facts: the reader's dict, with ``unidirectional_gbps`` or ``bidirectional_gbps`` ([[float or None]]). both: the second one.
    Raises LabkitError where that matrix is missing.
    """
    key = "bidirectional_gbps" if both else "unidirectional_gbps"
    found = facts.get(key)
    if not isinstance(found, (list, tuple)) or not found:
        raise LabkitError(
            f"The text has no {'bi' if both else 'uni'}directional matrix.",
            "rocm-bandwidth-test prints it with -a; the older one when called without options.",
        )
    width = max(len(found), *(len(row) for row in found))
    rows = tuple(
        tuple(None if cell is None else float(cell) for cell in (*row, *[None] * (width - len(row)))) for row in found
    )
    rows += tuple((None,) * width for _ in range(width - len(rows)))
    told = f"as {facts.get('kind') or 'a tool'} printed it" + (", both directions at once" if both else "")
    return Matrix(tuple(f"device {k}" for k in range(width)), rows, (), told)


def _order(name: str) -> tuple[bool, str, int]:
    kind, _, number = name.partition(":")
    return kind != "cpu", kind, int(number) if number.isdigit() else 0
