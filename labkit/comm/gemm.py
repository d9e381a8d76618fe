"""Matrix products by dtype and size: 2·m·n·k floating-point operations each (a multiplication and an addition per term)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from labkit.comm import sizes as which
from labkit.comm.pace import Pace, Progress, quiet
from labkit.comm.results import Point, Series
from labkit.errors import LabkitError
from labkit.timing import words
from labkit.timing.stopwatch import Stopwatch, stopwatch_for

COUNTED = "2·m·n·k FLOP per product"
CPU_SIZES = (128, 256, 512, 1024, 2048)
GPU_SIZES = (256, 512, 1024, 2048, 4096, 8192)
DTYPES = ("float32", "bfloat16", "float16")
_LONGEST = 1.5  # of a point's time: one product may not take more, or there is none to compare it with
_ITEM_BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}


def flop(m: int, n: int, k: int) -> int:
    """Floating-point operations of an m × k by k × n product."""
    return 2 * m * n * k


def measure_gemm(
    device: Any = "cpu",
    *,
    dtypes: Sequence[str] = DTYPES,
    sizes: Sequence[int] | None = None,
    seconds: float = 4.0,
    stopwatch: Stopwatch | None = None,
    progress: Progress = quiet,
    torch: Any = None,
) -> tuple[Series, ...]:
    """One series for each dtype over n of n × n products (``Point.size``; ``Point.bytes``: the three matrices).

    ``seconds``: about how long all of it takes. A dtype that the device only emulates can be a hundred times slower: each
    size is first tried once, and a series ends, with a note, before a product that would take longer than its share.
    A dtype that the device does not multiply at all gives a series no place; where none is left, LabkitError is raised, as
    it is for an unknown dtype, a size under 1, or memory that does not suffice.
    """
    if torch is None:
        import torch
    where = str(device)
    for name in dtypes:
        if name not in _ITEM_BYTES:
            raise LabkitError(f"There is no product in '{name}' here.", f"Choose from: {', '.join(_ITEM_BYTES)}.")
    chosen = tuple(sorted(set(sizes if sizes is not None else GPU_SIZES if where.startswith("cuda") else CPU_SIZES)))
    if not dtypes or not chosen or chosen[0] < 1:
        raise LabkitError("A product needs a dtype and sizes of at least 1.", "Leave them out for the usual ones.")
    which.fits(where, 3 * chosen[-1] ** 2 * max(_ITEM_BYTES[name] for name in dtypes), torch)
    watch = stopwatch_for(where) if stopwatch is None else stopwatch
    made, refused = [], ""
    for name in dtypes:
        try:
            made.append(_series(where, name, chosen, seconds / len(dtypes), watch, progress, torch))
        except (RuntimeError, NotImplementedError, TypeError) as error:  # what torch raises for a dtype it lacks here
            refused = " ".join(str(error).split())[:120]
            progress(f"gemm: {name} is not there ({refused})")
    if not made:
        raise LabkitError(f"{where} multiplies none of {', '.join(dtypes)}: {refused}", "Choose other dtypes.")
    return tuple(made)


def _series(
    where: str, name: str, sizes: Sequence[int], seconds: float, watch: Stopwatch, progress: Progress, torch: Any
) -> Series:
    dtype = getattr(torch, name)
    pace = Pace(seconds, len(sizes), watch)
    first, out = _matrices(sizes[-1], dtype, where, torch)
    points: list[Point] = []
    notes: list[str] = []
    last = 0.0  # seconds of the size before
    for at, n in enumerate(sizes):
        foreseen = last * (n / sizes[at - 1]) ** 3 if at else 0.0
        if foreseen > _LONGEST * pace.share_s:
            notes.append(
                f"ends at n = {sizes[at - 1]}: a product of n = {n} would take about {words.duration(foreseen)} here"
            )
            break
        product = _product(n, first, out, torch)
        watch.lap(product, 1)  # libraries set themselves up in their first call
        once = watch.lap(product, 1).wall_s
        progress(f"gemm: {name}, n = {n}")
        size = 3 * n * n * _ITEM_BYTES[name]
        if once > _LONGEST * pace.share_s:
            notes.append(f"stops at n = {n}: one product takes {words.duration(once)} here, so it was timed once only")
            points.append(Point(size, once, once, once, 1, float(flop(n, n, n)), n, None, (once,)))
            break
        points.append(pace.point(product, size, work=float(flop(n, n, n)), size=n))
        last = points[-1].median_s
    notes += pace.notes()
    if name == "float32":
        notes += _tf32(where, torch)
    return Series(
        "gemm",
        f"{name} n × n product",
        where,
        where,
        name,
        tuple(points),
        name="gemm",
        unit="FLOP/s",
        counted=COUNTED,
        notes=tuple(notes),
    )


def _matrices(n: int, dtype: Any, where: str, torch: Any) -> tuple[Any, Any]:
    """(factors and result as flat arrays that every size takes its beginning of)."""
    factors = torch.empty(2 * n * n, dtype=dtype, device=where)
    factors.normal_(
        generator=torch.Generator(device=where).manual_seed(0)
    )  # the program's own random numbers stay as they are
    return factors, torch.zeros(n * n, dtype=dtype, device=where)


def _product(n: int, factors: Any, out: Any, torch: Any) -> Callable[[], object]:
    a, b = factors[: n * n].view(n, n), factors[n * n : 2 * n * n].view(n, n)
    result = out[: n * n].view(n, n)
    return lambda: torch.mm(a, b, out=result)


def _tf32(where: str, torch: Any) -> list[str]:
    """A note where torch may round float32 products on its own account."""
    precision = str(torch.get_float32_matmul_precision())
    if where.startswith("cuda") and precision != "highest":
        return [f"torch's float32 products are set to '{precision}': they may be rounded to fewer digits"]
    return []


def compute_roofs(series: Sequence[Series]) -> dict[str, Point]:
    """The highest point of each dtype's products, for a roofline. Empty where none was measured."""
    return {s.dtype: s.best for s in series if s.kind == "gemm"}
