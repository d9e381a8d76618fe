"""How fast the processes of this machine work together: every collective, over sizes, checked on each.

What is timed is a lap: several calls one after the other, begun together, as nccl-tests does it. A call's time is the
lap's, divided by the calls, **of the rank that took longest**: a collective is over when the last rank has it.
nccl-tests and rccl-tests print the mean over threads and processes unless ``-a 3`` asks for the largest, so their times
are never longer than by this rule (``-a``: 0 rank 0, 1 mean, 2 smallest, 3 largest; the default is 1. NVIDIA/nccl-tests at 01d6761,
README.md, and src/common.cu, BenchTime and Allreduce; looked up 2026-11-30). Laps of all sizes and collectives take
turns. On Linux ranks are forked from a server that has torch loaded; gloo's small messages are quicker between such
than between freshly started interpreters, as torchrun's are (benchmarks/collectives_agree.py)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from labkit.comm import formulas, operations
from labkit.comm.formulas import COLLECTIVES, COUNTED, LABELS
from labkit.comm.results import Results, Series, here, point
from labkit.comm.team import Team
from labkit.errors import LabkitError

SIZES = tuple(2**k for k in (3, 8, 12, 15, 18, 21, 24))
"""8 B to 16 MiB: from pure latency to what bandwidth decides."""

LAP_S = 0.004
FEWEST_LAPS = 5
MOST_CALLS = 50
LATE = 1.5  # times the seconds asked for: from there on the results say so
DTYPES = ("float32", "float64", "float16", "bfloat16", "int32", "int64")


def measure_collectives(
    ranks: int | Team = 2,
    names: Sequence[str] = COLLECTIVES,
    sizes: Sequence[int] = SIZES,
    *,
    seconds: float = 4.0,
    dtype: str = "float32",
) -> Results:
    """Measures ``names`` (any spelling) at ``sizes`` bytes between ``ranks`` processes, in about ``seconds`` after the
    start, checks included; up to three times that where a machine is too slow for ``FEWEST_LAPS`` of each in it.

    ranks: how many processes, or a Team that is there already. Sizes are rounded to whole elements for each rank.
    ``Point.wrong`` is the number of wrong elements of all ranks, checked before and after the timing; exact, since
    all numbers are whole and small. ``Point.rate`` is algbw, ``formulas.busbw_factor(series.name, series.ranks)``
    times it busbw. What this torch's backend does not have is named in ``notes`` and left out. Raises LabkitError for
    fewer than two ranks, an unknown collective, size or dtype, a torch without distributed, and as ``Team.run`` does.
    """
    wanted = tuple(dict.fromkeys(formulas.name_of(name) for name in names))
    if not wanted or not sizes or min(sizes) < 1:
        raise LabkitError(
            "There is nothing to measure.", "Name at least one collective and one size of at least 1 byte."
        )
    if dtype not in DTYPES:
        raise LabkitError(f"'{dtype}' is not measured here.", f"Choose from: {', '.join(DTYPES)}.")
    if not seconds > 0:
        raise LabkitError(f"{seconds:g} seconds is no time to measure in.", "Give a positive number of seconds.")
    count = ranks.ranks if isinstance(ranks, Team) else int(ranks)
    if count < 2:
        raise LabkitError("One process has nobody to talk to.", "Measure with two or more ranks.")
    order = (wanted, tuple(sorted({int(size) for size in sizes})), float(seconds), dtype)
    if isinstance(ranks, Team):
        return _results(ranks, order)
    with Team(count) as team:
        return _results(team, order)


def _results(team: Team, order: tuple[Any, ...]) -> Results:
    names, _, asked, dtype = order
    told = laps(team, *order)
    device = told[0]["device"]
    series = []
    for name in names:
        points = []
        for size in told[0]["laps"].get(name, {}):
            points.append(point(size, slowest(told, name, size), wrong=sum(one["wrong"][name][size] for one in told)))
        if points:
            notes = (f"{team.backend}, {team.ranks} processes of one machine", "each time is that of the slowest rank")
            series.append(
                Series(
                    "collective", LABELS[name], device, f"{team.ranks} ranks", dtype, tuple(points), name,
                    "B/s", COUNTED[name], team.ranks, notes,
                )
            )  # fmt: skip
    said = [f"{LABELS[name]} was not measured: {why}" for name, why in told[0]["missing"].items()]
    took = max(one.get("seconds", 0.0) for one in told)
    if took > max(LATE * asked, 1.0):
        said.append(
            f"collectives took {took:.1f} s where {asked:g} s were asked for: {FEWEST_LAPS} laps of each size need that"
        )
    return here(series, said)


def laps(
    team: Team, names: Sequence[str], sizes: Sequence[int], seconds: float, dtype: str = "float32"
) -> list[dict[str, Any]]:
    """What every rank measured, as ``take_part`` gives it: the raw laps behind ``measure_collectives``."""
    told: list[dict[str, Any]] = team.run(
        take_part, names, sizes, seconds, dtype, seconds=60 + 20 * seconds, echo=False
    )
    return told


def slowest(told: Sequence[dict[str, Any]], name: str, size: int) -> list[float]:
    """Seconds per call of every lap: those of the rank that took longest."""
    return [max(lap) for lap in zip(*(one["laps"][name][size] for one in told), strict=True)]


def take_part(names: Sequence[str], sizes: Sequence[int], seconds: float, dtype: str) -> dict[str, Any]:
    """One rank's part: {'device', 'laps': {name: {bytes: [seconds per call]}}, 'wrong': {name: {bytes: int}}, 'missing',
    'seconds': what it took, 'calls': {name: {bytes: how many a lap has}}}."""
    import random

    import torch
    import torch.distributed as dist

    begun = time.perf_counter()
    device = f"cuda:{torch.cuda.current_device()}" if dist.get_backend() == "nccl" else "cpu"
    kind = getattr(torch, dtype)
    ready: dict[tuple[str, int], operations.Operation] = {}
    missing: dict[str, str] = {}
    wrong: dict[str, dict[int, int]] = {name: {} for name in names}
    for name in names:
        for size in dict.fromkeys(operations.real_size(name, s, dist.get_world_size(), kind.itemsize) for s in sizes):
            made = operations.operation(name, size, kind, device)
            made.fill()
            try:
                made.call()
            except (AttributeError, RuntimeError) as error:
                if not _is_lacking(error):
                    raise
                missing[name] = _first_line(error)
                break
            wrong[name][size] = made.wrong()
            made.rest()
            ready[name, size] = made
    keys = [key for key in ready if key[0] not in missing]
    if not keys:
        return {"device": device.split(":")[0], "laps": {}, "wrong": {}, "missing": missing}
    calls = {key: _calls(ready[key], device) for key in keys}
    taken: dict[str, dict[int, list[float]]] = {}
    for name, size in keys:
        taken.setdefault(name, {})[size] = []
    shuffler = random.Random(0)  # the same order in every rank
    turn, more, done = list(keys), True, 0
    while more:
        shuffler.shuffle(turn)
        for name, size in turn:
            taken[name][size].append(_lap(ready[name, size].call, calls[name, size], device))
        done += 1
        spent = time.perf_counter() - begun
        left = torch.tensor([float(spent < (3 if done < FEWEST_LAPS else 1) * seconds)], device=device)
        dist.broadcast(left, 0)  # rank 0's clock decides for all
        more = bool(left.item())
    for name, size in keys:
        ready[name, size].fill()
        ready[name, size].call()
        wrong[name][size] += ready[name, size].wrong()
    spent = time.perf_counter() - begun
    return {
        "device": device.split(":")[0],
        "laps": taken,
        "wrong": wrong,
        "missing": missing,
        "seconds": spent,
        "calls": {name: {size: calls[name, size] for size in taken[name]} for name in taken},
    }


def _lap(call: Any, calls: int, device: str) -> float:
    """Seconds per call. All ranks begin together; on a GPU the clock stops when the device is done."""
    import torch
    import torch.distributed as dist

    on_gpu = device != "cpu"
    dist.barrier()
    if on_gpu:
        torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(calls):
        call()
    if on_gpu:
        torch.cuda.synchronize()
    return (time.perf_counter() - begun) / calls


def _calls(made: operations.Operation, device: str) -> int:
    """How many calls fill a lap of ``LAP_S``: as the slowest rank sees it, after a warm-up, the same number in all."""
    import torch
    import torch.distributed as dist

    def slowest(seconds: float) -> float:
        took = torch.tensor([seconds], dtype=torch.float64, device=device)
        dist.all_reduce(took, dist.ReduceOp.MAX)
        return max(float(took), 1e-9)

    first = slowest(min(_lap(made.call, 1, device) for _ in range(2)))
    if first > 2 * LAP_S:  # one call is a lap, however much faster the next ones are
        return 1
    return max(1, min(MOST_CALLS, round(LAP_S / slowest(min(_lap(made.call, 3, device) for _ in range(2))))))


def _is_lacking(error: BaseException) -> bool:
    """Whether an operation failed because this torch or its backend has none such."""
    told = str(error).lower()
    return isinstance(error, (NotImplementedError, AttributeError)) or "support" in told or "implement" in told


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return text[0].rstrip(".") if text else type(error).__name__


def busbw(series: Series, at: Any) -> float:
    """busbw in bytes per second of a point of a collective's series."""
    return float(at.rate * formulas.busbw_factor(series.name, series.ranks or 1))
