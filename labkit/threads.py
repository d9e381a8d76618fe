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

_default_threads: int | None = None  # torch's own choice, remembered before the first one made here


@dataclass(frozen=True)
class Pace:
    """What the probe saw with one number of threads: seconds per step (mean, median, quartiles) over ``steps`` steps."""

    threads: int
    mean_s: float
    median_s: float
    lower_quartile_s: float
    upper_quartile_s: float
    steps: int

    def __str__(self) -> str:
        spread = words.span(self.lower_quartile_s, self.upper_quartile_s, self.median_s)
        return f"{_count(self.threads)}: {words.duration(self.mean_s)} per step (quartiles {spread}, {self.steps} steps)"

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
    return KernelEnvironment({}, (
        "Threads that sleep while they wait (OMP_WAIT_POLICY=passive) lose on a quiet machine and gain nothing over one thread "
        "beside a busy one, and no spin count does well in both; choosing the number of threads does. "
        "python -m benchmarks.cpu_threads repeats the measurement."))


def choose(step: Callable[[], object], *, seconds: float = 0.12, torch: Any = None,
           clock: Callable[[], float] = time.perf_counter, seed: int = 0) -> ThreadChoice:
    """Tries ``step()`` with one thread and with all of torch's threads, keeps the better number, and says why.

    The probe takes about ``seconds`` seconds, or six steps where that is longer. It really runs the step: give it one whose
    effects do not matter, for example on a copy of the model. With a GPU nothing is changed.

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
            raise LabkitError(f"CPU threads are chosen for torch, which cannot be imported: {error}",
                              "Run 'python -m labkit setup'.") from error
    before = int(torch.get_num_threads())
    if torch.cuda.is_available():
        return ThreadChoice(before, before, "left alone: the GPU does the work")
    if _default_threads is None:
        _default_threads = before
    most = max(before, _default_threads)
    if most == 1:
        return ThreadChoice(1, before, "torch has only one here")
    try:
        paces, probe_s = _probe(step, (1, most), seconds, torch, clock, random.Random(seed))
    except BaseException:
        torch.set_num_threads(before)
        raise
    one, every = paces
    threads = most if every.mean_s <= WORTH_IT * one.mean_s else 1
    torch.set_num_threads(threads)
    if threads == 1:
        reason = "more do not pay for this step here and now"
    else:
        reason = f"this step is {words.digits(one.mean_s / every.mean_s)} times as fast as with one"
    return ThreadChoice(threads, before, reason, paces, probe_s)


def _probe(step: Callable[[], object], numbers: tuple[int, ...], seconds: float, torch: Any, clock: Callable[[], float],
           shuffler: random.Random) -> tuple[tuple[Pace, ...], float]:
    """Times blocks of steps with each number of threads in turn; the first step after each change is not counted."""
    begin = clock()
    steps = {}
    for number in numbers:  # first calls pay for set-up: they only tell how many steps fill a block
        torch.set_num_threads(number)
        step()
        start = clock()
        step()
        steps[number] = max(1, round(_BLOCK_S / max(clock() - start, 1e-7)))
    blocks: dict[int, list[float]] = {number: [] for number in numbers}
    order = list(numbers)
    rounds = 0
    while rounds < _FEWEST_ROUNDS or clock() - begin < seconds:
        if rounds >= 1 and clock() - begin > 3 * seconds:  # a long step: what was seen must do
            break
        shuffler.shuffle(order)
        for number in order:
            torch.set_num_threads(number)
            if steps[number] > 1:
                step()
            start = clock()
            for _ in range(steps[number]):
                step()
            blocks[number].append((clock() - start) / steps[number])
        rounds += 1
    paces = []
    for number in numbers:
        told = summary(blocks[number])
        paces.append(Pace(number, sum(blocks[number]) / rounds, told["median"], told["lower_quartile"], told["upper_quartile"],
                          rounds * steps[number]))
    return tuple(paces), clock() - begin


def _count(threads: int) -> str:
    return f"{threads} thread{'s' if threads != 1 else ''}"
