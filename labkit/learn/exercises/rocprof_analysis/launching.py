"""A training that is bound by its launches: batches so small that starting the work costs more than doing it."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.exercises.rocprof_analysis.recorded import recorded
from labkit.learn.judge import call
from labkit.learn.numbers import one_number

PER_EXAMPLE = 8
"""Operators per example that are allowed: about a step of 20 examples and more of the check's small network."""
UPDATES = 4
"""Updates that a pass must still make."""

_EXAMPLES = 250  # no multiple of a usual batch


class _Pass:
    """One pass of the answer, unrecorded, with everything noted: what the model saw, and the gradient at each update."""

    def __init__(self, answer: Any) -> None:
        self.model, self.x, self.y = _training()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.0)
        self.seen: list[Tensor] = []
        self.updates: list[tuple[int, Tensor | None]] = []  # forward passes before it, gradient
        watch = self.model.register_forward_pre_hook(lambda _, inputs: self.seen.append(inputs[0][:, 0].long()))
        handle = register_optimizer_step_pre_hook(self._before_step)
        try:
            self.result = call(answer, self.model, self.optimizer, self.x, self.y)
        finally:
            watch.remove()
            handle.remove()

    def _before_step(self, stepping: torch.optim.Optimizer, *_: Any) -> None:
        if stepping is self.optimizer:
            grads = [p.grad for p in self.model.parameters()]
            known = [g.detach().flatten().clone() for g in grads if g is not None]
            self.updates.append((len(self.seen), torch.cat(known) if known else None))

    def gradient(self, rows: Tensor) -> Tensor:
        """The gradient of the mean loss over these examples."""
        self.model.zero_grad()
        F.cross_entropy(self.model(self.x[rows]), self.y[rows]).backward()
        return torch.cat([p.grad.flatten() for p in self.model.parameters() if p.grad is not None])


def _training() -> tuple[nn.Module, Tensor, Tensor]:
    draw = torch.Generator().manual_seed(6)
    x = torch.randn(_EXAMPLES, 12, generator=draw)
    x[:, 0] = torch.arange(_EXAMPLES)  # an example's number is its first feature
    first = nn.Linear(12, 16)
    with torch.no_grad():
        first.weight[:, 0] = 0.0
    return nn.Sequential(first, nn.ReLU(), nn.Linear(16, 5)), x, torch.randint(0, 5, (_EXAMPLES,), generator=draw)


def _probe_tiny_batches(answer: Any) -> None:
    run = _Pass(answer)
    if not run.updates:
        raise Wrong("no_update")
    counts = torch.bincount(torch.cat(run.seen) if run.seen else torch.zeros(0, dtype=torch.long), minlength=_EXAMPLES)
    missing = int((counts == 0).sum())
    if missing:
        size = max((len(rows) for rows in run.seen), default=0)
        tail = size and missing == _EXAMPLES % size and bool((counts[: _EXAMPLES - missing] > 0).all())
        raise Wrong("tail_dropped" if tail else "not_all", missing=missing, examples=_EXAMPLES)
    if int(counts.max()) > 1:
        raise Wrong("twice", most=int(counts.max()))
    if len(run.updates) <= len(run.seen) // 2:
        raise Wrong("accumulated", forwards=len(run.seen), updates=len(run.updates))
    if len(run.updates) < UPDATES:
        raise Wrong("few_updates", updates=len(run.updates), least=UPDATES)
    _own_gradient(run)
    counted = one_number(run.result, "not_a_count")
    if counted != _EXAMPLES:
        raise Wrong("count", got=counted, examples=_EXAMPLES)
    model, x, y = _training()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    found = recorded(lambda: answer(model, optimizer, x, y))
    each = found.operators / _EXAMPLES
    if each > PER_EXAMPLE:
        raise Wrong("still_tiny", each=each, limit=PER_EXAMPLE, updates=len(run.updates))


def _own_gradient(run: _Pass) -> None:
    """The first two updates use the gradient of their own examples alone (sum or mean, as the answer likes)."""
    (first, one), (second, two) = run.updates[:2]
    if one is None or two is None or not bool(two.any()):
        raise Wrong("no_gradient")
    before = run.gradient(torch.cat(run.seen[:first])) if first else torch.zeros_like(one)
    if not _same_direction(one, before):
        raise Wrong("other_labels")
    alone = run.gradient(torch.cat(run.seen[first:second])) if second > first else torch.zeros_like(two)
    if _same_direction(two, alone):
        return
    raise Wrong("not_cleared" if _same_direction(two - one, alone) else "other_labels")


def _same_direction(a: Tensor, b: Tensor) -> bool:
    return bool(F.cosine_similarity(a, b, dim=0) > 0.999)


tiny_batches = Exercise(
    name="tiny_batches",
    lesson="04",
    probe=_probe_tiny_batches,
    hints={
        "no_update": Hint(
            "`optimizer.step()` is never called: nothing is learnt.",
            "for each batch: loss, `zero_grad()`, `backward()`, `optimizer.step()`.",
        ),
        "no_gradient": Hint(
            "at `optimizer.step()` there is no gradient. Is `backward()` called before it, and `zero_grad()` before that?",
            "the order is `optimizer.zero_grad()`, `loss.backward()`, `optimizer.step()`.",
        ),
        "other_labels": Hint(
            "the gradient at an update is not that of the examples that the model saw. Do `x` and `y` have the same slice?",
            "`x[i : i + size]` and `y[i : i + size]`: the labels of the very same examples.",
        ),
        "not_a_count": Hint(
            "give back how many examples it were, as one number (this was: {kind}).",
            "end with `return len(x)`, or count on the way; not a {kind}.",
        ),
        "count": Hint(
            "you say {got} examples; there were {examples}. Do you count batches?",
            "count examples, not batches: `len(x)`, or the sum of all `len(part)` ({examples}, not {got}).",
        ),
        "not_all": Hint(
            "{missing} of {examples} examples are never shown to the model. The work should get cheaper, not less.",
            "go through all of them: `for i in range(0, len(x), size)` with `x[i : i + size]` ({missing} are missing).",
        ),
        "tail_dropped": Hint(
            "the last {missing} of {examples} examples are never shown: the last batch may be smaller.",
            "`range(0, len(x), size)`, not `range(len(x) // size)`: the slice of the last {missing} is simply shorter.",
        ),
        "twice": Hint(
            "some examples are shown {most} times in one pass. Do the slices overlap?",
            "step by the batch size: `range(0, len(x), size)` and `x[i : i + size]` ({most} times now).",
        ),
        "accumulated": Hint(
            "{forwards} forward passes for {updates} updates: accumulation saves memory, but each small forward and backward "
            "pass is launched all the same.",
            "one larger batch per update instead of several small ones ({forwards} forward passes, {updates} updates now).",
        ),
        "few_updates": Hint(
            "cheap, but the whole pass makes {updates} update(s); at least {least} are asked for. A batch can be too large, too.",
            "a batch of 32 or so makes several updates in a pass (at least {least}, now {updates}).",
        ),
        "not_cleared": Hint(
            "the second update still holds the gradient of the first batch.",
            "`optimizer.zero_grad()` for every batch, before `backward()`.",
        ),
        "still_tiny": Hint(
            "the new profile: {each:.1f} operators per example; at most {limit} are asked for. How many examples share a step?",
            "every step launches about the same, whatever its batch: a larger batch brings {each:.1f} below {limit}. (A `DataLoader` "
            "picks example by example, which launches for each of them: take slices.)",
        ),
    },
    push=(
        "How many operators does a step have, whatever its batch? By how many examples are they shared?",
        "the same loop with a batch of 32 in place of 4.",
    ),
    mistakes=(
        KnownMistake(
            "only a little larger",
            """
def tiny_batches(model, optimizer, x, y, size=8):
    for i in range(0, len(x), size):
        loss = F.cross_entropy(model(x[i : i + size]), y[i : i + size])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return len(x)
""",
            "still_tiny",
        ),
        KnownMistake(
            "all at once",
            """
def tiny_batches(model, optimizer, x, y):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    return len(x)
""",
            "few_updates",
        ),
        KnownMistake(
            "accumulated instead of larger",
            """
def tiny_batches(model, optimizer, x, y):
    optimizer.zero_grad()
    for i in range(0, len(x), 4):
        (F.cross_entropy(model(x[i : i + 4]), y[i : i + 4]) / 16).backward()
        if i % 64 == 60 or i + 4 >= len(x):
            optimizer.step()
            optimizer.zero_grad()
    return len(x)
""",
            "accumulated",
        ),
        KnownMistake(
            "the tail is dropped",
            """
def tiny_batches(model, optimizer, x, y):
    for k in range(len(x) // 32):
        part = slice(32 * k, 32 * (k + 1))
        optimizer.zero_grad()
        F.cross_entropy(model(x[part]), y[part]).backward()
        optimizer.step()
    return len(x)
""",
            "tail_dropped",
        ),
        KnownMistake(
            "as many steps as before, so fewer examples",
            """
def tiny_batches(model, optimizer, x, y):
    for i in range(0, 4 * 32, 32):
        optimizer.zero_grad()
        F.cross_entropy(model(x[i : i + 32]), y[i : i + 32]).backward()
        optimizer.step()
    return 128
""",
            "not_all",
        ),
        KnownMistake(
            "the step of the loop left at 4",
            """
def tiny_batches(model, optimizer, x, y):
    for i in range(0, len(x), 4):
        optimizer.zero_grad()
        F.cross_entropy(model(x[i : i + 32]), y[i : i + 32]).backward()
        optimizer.step()
    return len(x)
""",
            "twice",
        ),
        KnownMistake(
            "the labels of the first batch for all",
            """
def tiny_batches(model, optimizer, x, y, size=50):
    for i in range(0, len(x), size):
        optimizer.zero_grad()
        F.cross_entropy(model(x[i : i + size]), y[:size]).backward()
        optimizer.step()
    return len(x)
""",
            "other_labels",
        ),
        KnownMistake(
            "batches counted",
            """
def tiny_batches(model, optimizer, x, y, size=50):
    count = 0
    for i in range(0, len(x), size):
        optimizer.zero_grad()
        F.cross_entropy(model(x[i : i + size]), y[i : i + size]).backward()
        optimizer.step()
        count += 1
    return count
""",
            "count",
        ),
        KnownMistake(
            "zero_grad forgotten",
            """
def tiny_batches(model, optimizer, x, y):
    for i in range(0, len(x), 32):
        F.cross_entropy(model(x[i : i + 32]), y[i : i + 32]).backward()
        optimizer.step()
    return len(x)
""",
            "not_cleared",
        ),
    ),
    variants=(
        """
def tiny_batches(model, optimizer, x, y):
    for rows in torch.randperm(len(x)).split(50):
        loss = nn.CrossEntropyLoss()(model(x[rows]), y[rows])
        model.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return len(x)
""",
    ),
)
