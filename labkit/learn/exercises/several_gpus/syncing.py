"""Accumulation under DDP: one all-reduce for a whole step. A stand-in for DDP counts them in one process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import close, times


class _Arm(torch.autograd.Function):
    """The identity; on the way back it tells the stand-in that a backward pass runs."""

    @staticmethod
    def forward(ctx: Any, owner: StandIn, x: Tensor) -> Tensor:
        ctx.owner, ctx.synced = owner, owner.synced
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor]:
        ctx.owner.passes.append(ctx.synced)
        return None, grads[0]


class StandIn(nn.Module):
    """Like DistributedDataParallel in what counts here: whether a backward pass will all-reduce is settled by the *forward*.

    (torch 2.14, torch/nn/parallel/distributed.py, ``_pre_forward``.) passes: for each backward pass, did it all-reduce?
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module, self.synced, self.passes = module, True, list[bool]()

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = _Arm.apply(self, self.module(x))
        return out

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """As DDP's: forward passes in here do not all-reduce on the way back."""
        before, self.synced = self.synced, False
        try:
            yield
        finally:
            self.synced = before


class _Optimizer:
    """Takes notes instead of steps. (The first of torch's own costs an import of seconds, and nothing here asks for one.)"""

    def __init__(self, model: StandIn) -> None:
        self.model = model
        self.steps: list[Tensor] = []
        self.passes_before: list[int] = []

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.model.zero_grad(set_to_none)

    def step(self) -> None:
        grads = [p.grad for p in self.model.parameters() if p.grad is not None]
        self.steps.append(torch.cat([g.detach().flatten().clone() for g in grads]) if grads else torch.zeros(16))
        self.passes_before.append(len(self.model.passes))


class _Step:
    """One run of the learner's function over micro-batches of 4."""

    def __init__(self, answer: Any, count: int) -> None:
        draw = torch.Generator().manual_seed(3)
        inner = nn.Linear(3, 4)
        with torch.no_grad():
            for p in inner.parameters():
                p.copy_(torch.randn(p.shape, generator=draw))
        self.model = StandIn(inner)
        batches = [(torch.randn(4, 3, generator=draw), torch.randint(0, 4, (4,), generator=draw)) for _ in range(count)]
        x, y = (torch.cat([batch[part] for batch in batches]) for part in (0, 1))
        F.cross_entropy(inner(x), y).backward()
        self.right = torch.cat([p.grad.flatten() for p in inner.parameters() if p.grad is not None])
        inner.zero_grad()
        optimizer = _Optimizer(self.model)
        self.steps, self.before_step = optimizer.steps, optimizer.passes_before
        call(_returning(answer), self.model, F.cross_entropy, optimizer, batches)


def _returning(answer: Any) -> Any:
    """The learner's function as one that gives back something: this exercise asks for deeds, not for a result."""
    if not callable(answer):
        return answer

    def run(*args: Any) -> Any:
        result = answer(*args)
        return True if result is None else result

    return run


def _probe_sync_once(answer: Any) -> None:
    for count in (4, 1, 3):
        run = _Step(answer, count)
        passes = run.model.passes
        told = {"count": count, "steps": len(run.steps), "passes": len(passes), "synced": sum(passes)}
        if not run.steps:
            raise Wrong("no_step", **told)
        if len(run.steps) > 1:
            raise Wrong("many_steps", **told)
        if run.before_step[0] < count:
            raise Wrong("no_backward" if not passes else "skipped", **told)
        if sum(passes) == count and count > 1:
            raise Wrong("always", **told)
        if not any(passes):
            raise Wrong("never", **told)
        if passes[0] and not passes[-1]:
            raise Wrong("first", **told)
        if sum(passes) > 1:
            raise Wrong("often", **told)
        if close(run.steps[0], run.right, relative=1e-3):
            continue
        factor = times(run.steps[0], run.right)
        if factor is not None:
            raise Wrong("scaled", factor=factor, **told)
        raise Wrong("other", **told)


sync_once = Exercise(
    name="sync_once",
    lesson="08",
    probe=_probe_sync_once,
    hints={
        "no_step": Hint("`optimizer.step()` is never called.", "one `optimizer.step()` after the loop."),
        "many_steps": Hint(
            "{count} micro-batches should make one step, you make {steps}.",
            "`optimizer.step()` once, after the loop and not in it ({steps} steps now).",
        ),
        "no_backward": Hint(
            "`backward()` is never called.", "`loss.backward()` for each of the {count} micro-batches."
        ),
        "skipped": Hint(
            "{count} micro-batches, and {passes} backward passes before the step.",
            "every micro-batch goes forward and backward: {count}, not {passes}.",
        ),
        "always": Hint(
            "each of {count} backward passes does an all-reduce. Is the *forward* inside `no_sync()` too?",
            "DDP decides in the forward pass: `with model.no_sync(): loss = …; loss.backward()`, both in it "
            "({synced} all-reduces now, one is right).",
        ),
        "never": Hint(
            "nothing is ever averaged with the other ranks ({count} micro-batches): each would train a model of its own.",
            "the *last* micro-batch goes outside `no_sync()`; its all-reduce takes the whole sum (for {count} too).",
        ),
        "first": Hint(
            "the all-reduce comes with the first micro-batch; what is added later never reaches the others.",
            "synchronise with the last: `i == len(micro_batches) - 1` ({synced} of {count} now, too early).",
        ),
        "often": Hint(
            "{synced} all-reduces for {count} micro-batches; one is enough.",
            "all but the last inside `no_sync()` ({synced} now).",
        ),
        "scaled": Hint(
            "the gradient is {factor:.2f} times that of the whole. `backward()` adds up.",
            "divide each loss by the number of micro-batches, {count} (now {factor:.2f} times).",
        ),
        "other": Hint(
            "the step's gradient is not that of the {count} micro-batches together.",
            "`zero_grad()` before the loop and not in it; each loss divided by {count}.",
        ),
    },
    push=(
        "Loop over the micro-batches; all but the last run inside `with model.no_sync():`.",
        "`from contextlib import nullcontext`; `with nullcontext() if last else model.no_sync():` around forward *and* backward.",
    ),
    mistakes=(
        KnownMistake(
            "no_sync not used",
            """
def sync_once(model, loss_fn, optimizer, micro_batches):
    optimizer.zero_grad()
    for x, y in micro_batches:
        (loss_fn(model(x), y) / len(micro_batches)).backward()
    optimizer.step()
""",
            "always",
        ),
        KnownMistake(
            "only backward inside",
            """
def sync_once(model, loss_fn, optimizer, micro_batches):
    from contextlib import nullcontext
    optimizer.zero_grad()
    for i, (x, y) in enumerate(micro_batches):
        loss = loss_fn(model(x), y) / len(micro_batches)
        with nullcontext() if i + 1 == len(micro_batches) else model.no_sync():
            loss.backward()
    optimizer.step()
""",
            "always",
        ),
        KnownMistake(
            "everything inside",
            """
def sync_once(model, loss_fn, optimizer, micro_batches):
    optimizer.zero_grad()
    with model.no_sync():
        for x, y in micro_batches:
            (loss_fn(model(x), y) / len(micro_batches)).backward()
    optimizer.step()
""",
            "never",
        ),
        KnownMistake(
            "the first instead of the last",
            """
def sync_once(model, loss_fn, optimizer, micro_batches):
    from contextlib import nullcontext
    optimizer.zero_grad()
    for i, (x, y) in enumerate(micro_batches):
        with model.no_sync() if i else nullcontext():
            (loss_fn(model(x), y) / len(micro_batches)).backward()
    optimizer.step()
""",
            "first",
        ),
        KnownMistake(
            "not divided",
            """
def sync_once(model, loss_fn, optimizer, micro_batches):
    from contextlib import nullcontext
    optimizer.zero_grad()
    for i, (x, y) in enumerate(micro_batches):
        with nullcontext() if i + 1 == len(micro_batches) else model.no_sync():
            loss_fn(model(x), y).backward()
    optimizer.step()
""",
            "scaled",
        ),
        KnownMistake(
            "emptied inside the loop",
            """
def sync_once(model, loss_fn, optimizer, micro_batches):
    from contextlib import nullcontext
    for i, (x, y) in enumerate(micro_batches):
        optimizer.zero_grad()
        with nullcontext() if i + 1 == len(micro_batches) else model.no_sync():
            (loss_fn(model(x), y) / len(micro_batches)).backward()
    optimizer.step()
""",
            "other",
        ),
        KnownMistake(
            "emptied before the step",
            """
def sync_once(model, loss_fn, optimizer, micro_batches):
    from contextlib import nullcontext
    for i, (x, y) in enumerate(micro_batches):
        with nullcontext() if i + 1 == len(micro_batches) else model.no_sync():
            (loss_fn(model(x), y) / len(micro_batches)).backward()
    optimizer.zero_grad()
    optimizer.step()
""",
            "other",
        ),
        KnownMistake(
            "a step for each micro-batch",
            """
def sync_once(model, loss_fn, optimizer, micro_batches):
    for x, y in micro_batches:
        optimizer.zero_grad()
        loss_fn(model(x), y).backward()
        optimizer.step()
""",
            "many_steps",
        ),
    ),
    variants=(
        """
def sync_once(model, loss_fn, optimizer, micro_batches):
    optimizer.zero_grad()
    *most, (x, y) = micro_batches
    with model.no_sync():
        for a, b in most:
            (loss_fn(model(a), b) / len(micro_batches)).backward()
    (loss_fn(model(x), y) / len(micro_batches)).backward()
    optimizer.step()
    return None
""",
        """
def sync_once(model, loss_fn, optimizer, micro_batches):
    n = len(micro_batches)
    for i, (x, y) in enumerate(micro_batches, 1):
        if i < n:
            with model.no_sync():
                loss_fn(model(x), y).div(n).backward()
        else:
            loss_fn(model(x), y).div(n).backward()
    optimizer.step()
    optimizer.zero_grad()
    return n
""",
    ),
)
