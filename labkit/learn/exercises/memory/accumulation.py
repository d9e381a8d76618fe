"""Gradients in portions, and exactly those of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import one_number, times


class _Windows:
    """One run of the learner's accumulate on micro-batches of these sizes; the rate is 0, so the weights stay."""

    def __init__(self, answer: Any, sizes: Sequence[int], every: int, stale: float = 0.0) -> None:
        draw = torch.Generator().manual_seed(5)
        self.model = nn.Linear(3, 4)
        with torch.no_grad():
            for p in self.model.parameters():
                p.copy_(torch.randn(p.shape, generator=draw))
        self.batches = [(torch.randn(n, 3, generator=draw), torch.randint(0, 4, (n,), generator=draw)) for n in sizes]
        self.sizes, self.every, self.stale = list(sizes), every, stale
        self.means = [self._gradient([k]) for k in range(len(sizes))]
        self.steps: list[Tensor | None] = []
        if stale:
            for p in self.model.parameters():
                p.grad = torch.full_like(p, stale)
        else:
            self.model.zero_grad()
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.0)

        def before_step(stepping: torch.optim.Optimizer, *_: Any) -> None:
            if stepping is optimizer:
                grads = [p.grad for p in self.model.parameters()]
                flat = [g.detach().flatten().clone() for g in grads if g is not None]
                self.steps.append(torch.cat(flat) if len(flat) == len(grads) else None)

        handle = register_optimizer_step_pre_hook(before_step)
        try:
            self.result = call(answer, self.model, F.cross_entropy, optimizer, list(self.batches), every)
        finally:
            handle.remove()

    def _gradient(self, which: Sequence[int]) -> Tensor:
        """The gradient of the mean loss over all examples of these micro-batches, as one vector."""
        self.model.zero_grad()
        x, y = (torch.cat([self.batches[k][part] for k in which]) for part in (0, 1))
        F.cross_entropy(self.model(x), y).backward()
        return torch.cat([p.grad.flatten() for p in self.model.parameters() if p.grad is not None])

    def right(self, window: int) -> Tensor:
        """The gradient that the step of this window should use."""
        which = range(window * self.every, min((window + 1) * self.every, len(self.sizes)))
        return self._gradient(list(which))


def _same(a: Tensor | None, b: Tensor) -> bool:
    return a is not None and torch.allclose(a, b, rtol=1e-3, atol=1e-5)


def _times(a: Tensor | None, b: Tensor) -> float | None:
    """The factor by which a is b, None where it is no multiple."""
    return None if a is None else times(a, b)


def _probe_accumulate(answer: Any) -> None:
    run = _Windows(answer, (4, 4, 4, 4), 2)
    steps = run.steps
    if not steps:
        raise Wrong("no_step")
    if len(steps) == 3 and steps[2] is None and steps[0] is not None and steps[1] is not None:
        raise Wrong("empty_step")
    if any(step is None for step in steps):
        raise Wrong("no_backward")
    if len(steps) == 4:
        raise Wrong("every_batch")
    first, second = run.right(0), run.right(1)
    if _times(steps[0], run.means[0]) is not None:
        raise Wrong("early")
    if _times(steps[0], run.means[1]) is not None:
        raise Wrong("zeroed_inside")
    if len(steps) != 2:
        raise Wrong("steps", got=len(steps), expected=2, batches=4, every=2)
    factor = _times(steps[0], first)
    if factor is not None and abs(factor - 1) > 0.01:
        raise Wrong("scaled", got=factor)
    if not _same(steps[0], first):
        raise Wrong("other")
    if _same(steps[1], first + second):
        raise Wrong("never_zeroed")
    if not _same(steps[1], second):
        raise Wrong("other")
    _probe_tail(answer)
    stale = _Windows(answer, (4, 4), 2, stale=50.0)
    if not _same(stale.steps[0], stale.right(0)):
        raise Wrong("stale")


def _probe_tail(answer: Any) -> None:
    tail = _Windows(answer, (4, 4, 4, 4, 4), 2)
    if len(tail.steps) == 2:
        raise Wrong("tail_dropped", got=2, expected=3)
    if len(tail.steps) != 3:
        raise Wrong("steps", got=len(tail.steps), expected=3, batches=5, every=2)
    factor = _times(tail.steps[2], tail.right(2))
    if factor is not None and abs(factor - 1) > 0.01:
        raise Wrong("tail_divided", got=factor)
    uneven = _Windows(answer, (6, 6, 6, 2), 2)
    right = uneven.right(1)
    if not _same(uneven.steps[1], right):
        given = uneven.steps[1]
        away = 100 * float((given - right).norm() / right.norm()) if given is not None else 100.0
        raise Wrong("unequal", away=away)
    alone = _Windows(answer, (3, 5, 2), 8)
    if len(alone.steps) != 1 or not _same(alone.steps[0], alone.right(0)):
        raise Wrong("short_epoch", every=8, batches=3)
    for run, expected in ((tail, 3), (uneven, 2)):
        got = one_number(run.result, "not_a_number")
        if got != expected:
            raise Wrong("count", got=got, expected=expected)


accumulate = Exercise(
    name="accumulate",
    lesson="05",
    probe=_probe_accumulate,
    hints={
        "no_step": Hint(
            "`optimizer.step()` is never called.", "call `optimizer.step()` once at the end of each window."
        ),
        "no_backward": Hint(
            "at `optimizer.step()` there is no gradient. Is `backward()` called for every micro-batch, and does `zero_grad()` "
            "wait until the step is made?",
            "for each micro-batch: `loss.backward()`; it adds to `.grad`. Then one `step()`.",
        ),
        "empty_step": Hint(
            "the list divides evenly here, and you make one more step at the end, with nothing to learn from.",
            "a last step only if something is left: `if len(batches) % every:`, or cut the list with `batches[i : i + every]`.",
        ),
        "every_batch": Hint(
            "there is a step after every micro-batch: that is training with small batches.",
            "one `step()` per window of `every` micro-batches: cut the list with `batches[i : i + every]`.",
        ),
        "early": Hint(
            "the first step comes after one micro-batch only: `i % every == 0` is true for i = 0.",
            "`(i + 1) % every == 0` is the end of a window; or cut the list: `batches[i : i + every]`.",
        ),
        "zeroed_inside": Hint(
            "each step uses the gradient of its last micro-batch only: something empties the sum.",
            "`zero_grad()` belongs before a window, not before every micro-batch.",
        ),
        "never_zeroed": Hint(
            "the second step still holds the gradient of the first window.",
            "`optimizer.zero_grad()` after each step (or before each window).",
        ),
        "stale": Hint(
            "the model came with an old gradient in `.grad`, and your first step used it.",
            "call `zero_grad()` *before* the first window too.",
        ),
        "scaled": Hint(
            "the gradient is {got:.2f} times the one of the whole window at once. `backward()` adds; a mean has to be divided.",
            "weight each loss with its share: `loss * len(y) / total`, total: examples in the window (now {got:.2f} times).",
        ),
        "tail_dropped": Hint(
            "5 micro-batches, every=2: {got} steps. What becomes of the fifth?",
            "what is left at the end is a window too, only shorter: {expected} steps, not {got}.",
        ),
        "tail_divided": Hint(
            "the last, shorter window is weighted with {got:.2f} of what it should be. How many examples has it?",
            "do not divide by `every`: divide by what is really in the window (now {got:.2f} times too small or large).",
        ),
        "unequal": Hint(
            "with 6 and 2 examples in one window the gradient is {away:.0f} % off. A mean of means is not the mean.",
            "weight each micro-batch with its examples: `loss * len(y) / total`, total = 6 + 2 ({away:.0f} % off now).",
        ),
        "short_epoch": Hint(
            "with fewer micro-batches ({batches}) than `every` ({every}) there should be one exact step.",
            "`batches[i : i + every]` for i in range(0, len(batches), every) gives one window of {batches} for every={every}.",
        ),
        "steps": Hint(
            "{batches} micro-batches, every={every}: {expected} steps, you make {got}.",
            "one step per window: {expected}, not {got} ({batches} micro-batches, every={every}).",
        ),
        "count": Hint(
            "give back how many steps were made: {expected}, not {got}.", "`return` the number of steps ({expected})."
        ),
        "not_a_number": Hint(
            "give back the number of steps (this was: {kind}).", "end with `return steps`, not a {kind}."
        ),
        "other": Hint(
            "a step's gradient is not that of its window. Compare it with one backward pass over the whole window.",
            "per micro-batch: `(loss_fn(model(x), y) * len(y) / total).backward()`; nothing else touches `.grad`.",
        ),
    },
    push=(
        "Cut the list into windows. In a window: zero, add up, one step. How many examples has the window?",
        "`total = sum(len(y) for _, y in window)`, then `(loss_fn(model(x), y) * len(y) / total).backward()` for each.",
    ),
    mistakes=(
        KnownMistake(
            "the copied snippet: the tail is dropped",
            """
def accumulate(model, loss_fn, optimizer, batches, every):
    steps = 0
    optimizer.zero_grad()
    for i, (x, y) in enumerate(batches):
        loss = loss_fn(model(x), y) / every
        loss.backward()
        if (i + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()
            steps += 1
    return steps
""",
            "tail_dropped",
        ),
        KnownMistake(
            "the tail with the divisor of a whole window",
            """
def accumulate(model, loss_fn, optimizer, batches, every):
    steps = 0
    optimizer.zero_grad()
    for i, (x, y) in enumerate(batches):
        (loss_fn(model(x), y) / every).backward()
        if (i + 1) % every == 0 or i + 1 == len(batches):
            optimizer.step()
            optimizer.zero_grad()
            steps += 1
    return steps
""",
            "tail_divided",
        ),
        KnownMistake(
            "a mean of means",
            """
def accumulate(model, loss_fn, optimizer, batches, every):
    steps = 0
    for i in range(0, len(batches), every):
        window = batches[i : i + every]
        optimizer.zero_grad()
        for x, y in window:
            (loss_fn(model(x), y) / len(window)).backward()
        optimizer.step()
        steps += 1
    return steps
""",
            "unequal",
        ),
        KnownMistake(
            "not divided",
            """
def accumulate(model, loss_fn, optimizer, batches, every):
    steps = 0
    for i in range(0, len(batches), every):
        optimizer.zero_grad()
        for x, y in batches[i : i + every]:
            loss_fn(model(x), y).backward()
        optimizer.step()
        steps += 1
    return steps
""",
            "scaled",
        ),
        KnownMistake(
            "zero_grad before every micro-batch",
            """
def accumulate(model, loss_fn, optimizer, batches, every):
    steps = 0
    for i in range(0, len(batches), every):
        window = batches[i : i + every]
        total = sum(len(y) for _, y in window)
        for x, y in window:
            optimizer.zero_grad()
            (loss_fn(model(x), y) * len(y) / total).backward()
        optimizer.step()
        steps += 1
    return steps
""",
            "zeroed_inside",
        ),
        KnownMistake(
            "never zero_grad",
            """
def accumulate(model, loss_fn, optimizer, batches, every):
    steps = 0
    for i in range(0, len(batches), every):
        window = batches[i : i + every]
        total = sum(len(y) for _, y in window)
        for x, y in window:
            (loss_fn(model(x), y) * len(y) / total).backward()
        optimizer.step()
        steps += 1
    return steps
""",
            "never_zeroed",
        ),
        KnownMistake(
            "a step at i % every == 0",
            """
def accumulate(model, loss_fn, optimizer, batches, every):
    steps = 0
    optimizer.zero_grad()
    for i, (x, y) in enumerate(batches):
        (loss_fn(model(x), y) / every).backward()
        if i % every == 0:
            optimizer.step()
            optimizer.zero_grad()
            steps += 1
    return steps
""",
            "early",
        ),
        KnownMistake(
            "a step after the loop whatever is left",
            """
def accumulate(model, loss_fn, optimizer, batches, every):
    steps = 0
    optimizer.zero_grad()
    for i, (x, y) in enumerate(batches):
        (loss_fn(model(x), y) / every).backward()
        if (i + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()
            steps += 1
    optimizer.step()
    return steps + 1
""",
            "empty_step",
        ),
        KnownMistake(
            "zero_grad between backward and step",
            """
def accumulate(model, loss_fn, optimizer, batches, every):
    steps = 0
    for i in range(0, len(batches), every):
        window = batches[i : i + every]
        total = sum(len(y) for _, y in window)
        for x, y in window:
            (loss_fn(model(x), y) * len(y) / total).backward()
        optimizer.zero_grad()
        optimizer.step()
        steps += 1
    return steps
""",
            "no_backward",
        ),
        KnownMistake(
            "zero_grad only after the steps",
            """
def accumulate(model, loss_fn, optimizer, batches, every):
    steps = 0
    for i in range(0, len(batches), every):
        window = batches[i : i + every]
        total = sum(len(y) for _, y in window)
        for x, y in window:
            (loss_fn(model(x), y) * len(y) / total).backward()
        optimizer.step()
        optimizer.zero_grad()
        steps += 1
    return steps
""",
            "stale",
        ),
    ),
    variants=(
        """
def accumulate(model, loss_fn, optimizer, batches, every):
    steps, seen = 0, 0
    model.zero_grad()
    for i, (x, y) in enumerate(batches, 1):
        (loss_fn(model(x), y) * len(x)).backward()
        seen += len(x)
        if i % every == 0 or i == len(batches):
            for p in model.parameters():
                p.grad /= seen
            optimizer.step()
            model.zero_grad()
            steps, seen = steps + 1, 0
    return steps
""",
    ),
)
