"""How many CPU threads a training step should use here and now, found out by trying.

torch's default is one OpenMP thread for each core, and those threads wait for each other by spinning. On large operations that
is fastest; on small ones the waiting costs more than the help, and beside a busy neighbour a spinning thread waits for
one that is not even running. No fixed number is right for both, so a short probe measures and chooses.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from labkit.errors import LabkitError
from labkit.timing import words
from labkit.timing.statistics import summary

WORTH_IT = 0.9
"""All cores are taken only where a step then takes at most this share of one thread's time; in doubt, one thread."""

_BLOCK_S = 4e-3  # steps are timed in blocks at least this long: longer than one turn of a neighbour at the core
_FEWEST_ROUNDS = 2
_PATIENCE = 3  # times the time asked for: then what was seen must do
_HOPELESS = 2  # so many times one thread's step: more than the set-up of a first step explains

_default_threads: int | None = None  # torch's own choice, remembered before the first one made here


@dataclass(frozen=True)
class Pace:
    """What the probe saw with one number of threads: seconds per step (mean, median, quartiles of blocks) over ``steps`` steps.

    ``blocks`` is how many times were read; one alone has no spread."""

    threads: int
    mean_s: float
    median_s: float
    lower_quartile_s: float
    upper_quartile_s: float
    steps: int
    blocks: int

    def __str__(self) -> str:
        told = f"{_count(self.threads)}: {words.duration(self.mean_s)} per step"
        if self.blocks == 1:
            return f"{told} ({'one step' if self.steps == 1 else f'{self.steps} steps timed together'}, no spread)"
        return f"{told} (quartiles {words.span(self.lower_quartile_s, self.upper_quartile_s, self.median_s)}, {self.steps} steps)"

    __repr__ = __str__


@dataclass(frozen=True)
class ThreadChoice:
    """The number of CPU threads that torch now uses, and why. ``paces`` is empty where nothing had to be measured."""

    threads: int
    before: int
    reason: str
    paces: tuple[Pace, ...] = ()
    probe_s: float = 0.0

    def __str__(self) -> str:
        measured = "; ".join(map(str, self.paces))
        return f"CPU threads: {self.threads} ({self.reason}{': ' + measured if measured else ''})"

    __repr__ = __str__


@dataclass(frozen=True)
class KernelEnvironment:
    """Environment variables that a notebook's kernel should start with, and why."""

    variables: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""


def environment() -> KernelEnvironment:
    """What to set for kernels so that ``choose`` can do its work: nothing.

    How OpenMP's threads wait (``OMP_WAIT_POLICY``, ``GOMP_SPINCOUNT``) is read once, when the runtime starts, so it could only
    be set here. ``benchmarks/cpu_threads`` measures what that would bring.
    """
    return KernelEnvironment(
        {},
        (
            "Threads that sleep while they wait (OMP_WAIT_POLICY=passive) lose on a quiet machine and gain nothing over one thread "
            "beside a busy one, and no spin count does well in both; choosing the number of threads does. "
            "python -m benchmarks.cpu_threads repeats the measurement."
        ),
    )


def choose(
    step: Callable[[], object],
    *,
    seconds: float = 0.12,
    torch: Any = None,
    clock: Callable[[], float] = time.perf_counter,
    seed: int = 0,
) -> ThreadChoice:
    """Tries ``step()`` with one thread and with all of torch's threads, keeps the better number, and says why.

    The probe takes about ``seconds`` seconds, or four to six steps where that is longer. It begins with one thread; if the
    first step with all threads then takes twice as long and three times ``seconds``, it was the last. (A step that has begun
    cannot be stopped.) The step really runs: give one whose effects do not matter, for example on a copy of the model.
    With a GPU nothing is changed.

    ``torch`` and ``clock`` are for tests. Raises LabkitError for a time that is not positive; what ``step`` raises passes
    through, with the number of threads as it was.
    """
    global _default_threads
    if not seconds > 0:
        raise LabkitError("The probe needs a positive number of seconds.", "For example choose(step, seconds=0.12).")
    if torch is None:
        try:
            import torch
        except Exception as error:
            raise LabkitError(
                f"CPU threads are chosen for torch, which cannot be imported: {error}", "Run 'python3 -m labkit setup'."
            ) from error
    before = int(torch.get_num_threads())
    if torch.cuda.is_available():
        return ThreadChoice(before, before, "left alone: the GPU does the work")
    if _default_threads is None:
        _default_threads = before
    most = max(before, _default_threads)
    if most == 1:
        return ThreadChoice(1, before, "torch has only one here")
    try:
        paces, probe_s, stopped = _probe(step, (1, most), seconds, torch, clock, random.Random(seed))
    except BaseException:
        torch.set_num_threads(before)
        raise
    one, every = paces
    threads = most if every.mean_s <= WORTH_IT * one.mean_s else 1
    torch.set_num_threads(threads)
    if threads == 1:
        reason = "more do not pay for this step here and now"
        if stopped:
            reason = f"the first step with {most} took {words.digits(every.mean_s / one.mean_s)} times as long"
    else:
        reason = f"this step is {words.digits(one.mean_s / every.mean_s)} times as fast as with one"
    return ThreadChoice(threads, before, reason, paces, probe_s)


def _probe(
    step: Callable[[], object],
    numbers: tuple[int, ...],
    seconds: float,
    torch: Any,
    clock: Callable[[], float],
    shuffler: random.Random,
) -> tuple[tuple[Pace, ...], float, bool]:
    """Times blocks of steps with each number of threads in turn, the smallest first; the first step after each change is not
    counted, unless there is no time for a second. Returns the paces, the probe's seconds, and whether it was stopped for that."""
    begin = clock()

    def timed(count: int = 1) -> float:
        start = clock()
        for _ in range(count):
            step()
        return (clock() - start) / count

    steps: dict[int, int] = {}
    second: dict[int, float] = {}
    for number in numbers:  # first calls pay for set-up: they only tell how many steps fill a block
        torch.set_num_threads(number)
        first = timed()
        if second and first >= max(_HOPELESS * min(second.values()), _PATIENCE * seconds):
            second[number] = first
            return tuple(_pace(n, [second[n]], 1) for n in numbers if n in second), clock() - begin, True
        second[number] = timed()
        steps[number] = max(1, round(_BLOCK_S / max(second[number], 1e-7)))
    long = clock() - begin > seconds and max(steps.values()) == 1  # steps so long that those count which are there
    blocks = {number: [second[number]] if long else [] for number in numbers}
    order = list(numbers)
    rounds = int(long)
    while rounds < _FEWEST_ROUNDS or clock() - begin < seconds:
        shuffler.shuffle(order)
        for number in order:
            if all(blocks.values()) and clock() - begin > _PATIENCE * seconds:
                break
            torch.set_num_threads(number)
            if steps[number] > 1:
                step()
            blocks[number].append(timed(steps[number]))
        else:
            rounds += 1
            continue
        break
    return tuple(_pace(number, blocks[number], steps[number]) for number in numbers), clock() - begin, False


def _pace(number: int, blocks: list[float], steps: int) -> Pace:
    told = summary(blocks)
    return Pace(
        number,
        sum(blocks) / len(blocks),
        told["median"],
        told["lower_quartile"],
        told["upper_quartile"],
        len(blocks) * steps,
        len(blocks),
    )


def _count(threads: int) -> str:
    return f"{threads} thread{'s' if threads != 1 else ''}"
