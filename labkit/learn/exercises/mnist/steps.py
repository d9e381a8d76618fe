"""The two loops of lesson 01: one training step, and counting right answers."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import as_numbers, one_number

_RATE = 0.5


class _Notebook(torch.optim.SGD):
    """Plain SGD that notes what it was asked for."""

    def __init__(self, model: nn.Module, calls: list[str]) -> None:
        super().__init__(model.parameters(), lr=_RATE)
        self.calls = calls

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.calls.append("zero")
        super().zero_grad(set_to_none)

    def step(self, closure: Any = None) -> Any:
        self.calls.append("step")
        return super().step(closure)


def _material() -> tuple[nn.Sequential, list[tuple[Tensor, Tensor]]]:
    """A linear model with fixed weights, and three batches of 8 pictures [8, 1, 2, 2] with labels of 10 classes."""
    draw = torch.Generator().manual_seed(4)
    model = nn.Sequential(nn.Flatten(), nn.Linear(4, 10))
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(0.5 * torch.randn(weight.shape, generator=draw))
    batches = [(torch.randn(8, 1, 2, 2, generator=draw), torch.randint(0, 10, (8,), generator=draw)) for _ in range(3)]
    return model, batches


def _gradient(model: nn.Module, weights: list[Tensor], batch: tuple[Tensor, Tensor]) -> tuple[float, list[Tensor]]:
    """The loss of a batch at these weights, and its gradient."""
    names = [name for name, _ in model.named_parameters()]
    fixed = [w.detach().clone().requires_grad_() for w in weights]
    scores = torch.func.functional_call(model, dict(zip(names, fixed, strict=True)), (batch[0],))
    loss = F.cross_entropy(scores, batch[1])
    return float(loss.detach()), list(torch.autograd.grad(loss, fixed))


def _same(some: list[Tensor], others: list[Tensor]) -> bool:
    return all(torch.allclose(a, b, rtol=1e-4, atol=1e-6) for a, b in zip(some, others, strict=True))


def _probe_training_step(answer: Any) -> None:
    model, batches = _material()
    calls: list[str] = []
    next(model[1].parameters()).register_hook(lambda grad: calls.append("backward"))
    optimizer = _Notebook(model, calls)
    before: list[Tensor] = []
    for number, (images, labels) in enumerate(batches):
        calls.clear()
        start = [w.detach().clone() for w in model.parameters()]
        value, gradient = _gradient(model, start, (images, labels))
        result = call(answer, model, images, labels, nn.CrossEntropyLoss(), optimizer)
        now = [w.detach() for w in model.parameters()]
        if not _same(now, [w - _RATE * g for w, g in zip(start, gradient, strict=True)]):
            _name_the_fault(calls, start, now, gradient, before)
        loss = as_numbers(result, "not_the_loss")
        if loss.numel() != 1:
            raise Wrong("many_losses", got=loss.numel())
        if abs(float(loss) - value) > 1e-3:
            raise Wrong("other_loss", got=float(loss), expected=value)
        if not isinstance(result, Tensor):
            raise Wrong("item")
        if result.requires_grad:
            raise Wrong("keeps_history")
        before = [b + g for b, g in zip(before, gradient, strict=True)] if number else gradient


def _name_the_fault(
    calls: list[str], start: list[Tensor], now: list[Tensor], gradient: list[Tensor], before: list[Tensor]
) -> None:
    """The weights are not where one step brings them: say why."""
    if "backward" not in calls:
        raise Wrong("no_backward")
    if calls.count("backward") > 1 and calls.count("step") < 2:
        raise Wrong("two_backwards", got=calls.count("backward"))
    if "step" not in calls:
        raise Wrong("no_step" if _same(now, start) else "other_optimizer")
    first_step, first_backward = calls.index("step"), calls.index("backward")
    if first_step < first_backward:
        raise Wrong("step_first")
    if "zero" in calls[first_backward:first_step]:
        raise Wrong("zero_too_late")
    if calls.count("step") > 1:
        raise Wrong("two_steps", got=calls.count("step"))
    if before and _same(now, [w - _RATE * (g + b) for w, g, b in zip(start, gradient, before, strict=True)]):
        raise Wrong("adds_up")
    raise Wrong("other_weights")


training_step = Exercise(
    name="training_step",
    lesson="01",
    probe=_probe_training_step,
    hints={
        "no_backward": Hint(
            "nobody asked for gradients, so no weight can move.",
            "call `loss.backward()` after you have the loss and before `optimizer.step()`.",
        ),
        "no_step": Hint(
            "the gradients are there, but the weights stay where they are.",
            "call `optimizer.step()` after `loss.backward()`: it is what moves the weights.",
        ),
        "step_first": Hint(
            "the optimizer steps before the gradients of this batch exist.",
            "order: `loss.backward()` first, then `optimizer.step()`.",
        ),
        "zero_too_late": Hint(
            "the gradients are forgotten before the optimizer has used them.",
            "nothing between `loss.backward()` and `optimizer.step()`: `optimizer.zero_grad()` belongs at the top.",
        ),
        "adds_up": Hint(
            "the first batch is right, the second is not: it steps along the gradients of both.",
            "`backward` adds to what is there. Begin with `optimizer.zero_grad()`.",
        ),
        "two_steps": Hint(
            "the optimizer stepped {got} times for one batch.", "one call of `optimizer.step()` is enough, not {got}."
        ),
        "two_backwards": Hint(
            "`backward()` is called more than once for one batch. What does it do with what is in `.grad`?",
            "one `loss.backward()` between the loss and `optimizer.step()`.",
        ),
        "other_optimizer": Hint(
            "the weights moved, but not by the optimizer that your function is given.",
            "no new optimizer and no `-=` on the weights: call `step()` of the parameter `optimizer`.",
        ),
        "argmax": Hint(
            "`argmax` says which class won; the loss wants the scores of all ten.",
            "`loss_fn(model(images), labels)`: no argmax in a training step, it has no gradient.",
        ),
        "other_weights": Hint(
            "the weights moved, but not where the gradient of this batch leads. Is the loss `loss_fn(model(images), labels)`?",
            "nothing around the scores (CrossEntropyLoss has its own softmax) and nothing on the weights by hand: "
            "zero, answer, loss, backward, step.",
        ),
        "no_graph": Hint(
            "the loss has lost its history, so `backward` cannot go through it.",
            "no `detach()`, `item()`, `argmax` or `no_grad` before `backward()`; detach only what you give back.",
        ),
        "swapped": Hint(
            "the loss wants the scores first, then the labels.", "`loss_fn(model(images), labels)`, in this order."
        ),
        "not_the_loss": Hint(
            "give back the loss (this was: {kind}).", "the last line is `return loss.detach()`, not a {kind}."
        ),
        "many_losses": Hint(
            "give back one number, the loss; yours are {got}.",
            "`return loss.detach()`: the loss is one number, not {got}.",
        ),
        "other_loss": Hint(
            "the step is right, but what you give back is {got:.3f} and the loss of this batch was {expected:.3f}.",
            "give back the loss from which you called backward; do not ask the model again ({expected:.3f}, not {got:.3f}).",
        ),
        "item": Hint(
            "right on a CPU. On a GPU a plain number makes Python wait at every step: give back the tensor.",
            "`return loss.detach()`, without `.item()` or `float()`.",
        ),
        "keeps_history": Hint(
            "the step is right. The loss still drags along everything it was computed from; cut that off.",
            "`return loss.detach()`: whoever collects losses would otherwise keep all activations in memory.",
        ),
    },
    push=(
        "Five calls: forget the old gradients, let the model answer, measure the loss, find the gradients, move.",
        "`optimizer.zero_grad()`, `loss = loss_fn(model(images), labels)`, `loss.backward()`, `optimizer.step()`; "
        "then `return loss.detach()`.",
    ),
    mistakes=(
        KnownMistake(
            "zero_grad forgotten",
            """
def training_step(model, images, labels, loss_fn, optimizer):
    loss = loss_fn(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss.detach()
""",
            "adds_up",
        ),
        KnownMistake(
            "step before backward",
            """
def training_step(model, images, labels, loss_fn, optimizer):
    optimizer.zero_grad()
    loss = loss_fn(model(images), labels)
    optimizer.step()
    loss.backward()
    return loss.detach()
""",
            "step_first",
        ),
        KnownMistake(
            "zero_grad after backward",
            """
def training_step(model, images, labels, loss_fn, optimizer):
    loss = loss_fn(model(images), labels)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.detach()
""",
            "zero_too_late",
        ),
        KnownMistake(
            "no step",
            """
def training_step(model, images, labels, loss_fn, optimizer):
    optimizer.zero_grad()
    loss = loss_fn(model(images), labels)
    loss.backward()
    return loss.detach()
""",
            "no_step",
        ),
        KnownMistake(
            "no backward",
            """
def training_step(model, images, labels, loss_fn, optimizer):
    optimizer.zero_grad()
    loss = loss_fn(model(images), labels)
    optimizer.step()
    return loss.detach()
""",
            "no_backward",
        ),
        KnownMistake(
            "an optimizer of one's own",
            """
def training_step(model, images, labels, loss_fn, optimizer):
    own = torch.optim.SGD(model.parameters(), lr=0.05)
    own.zero_grad()
    loss = loss_fn(model(images), labels)
    loss.backward()
    own.step()
    return loss.detach()
""",
            "other_optimizer",
        ),
        KnownMistake(
            "backward twice",
            """
def training_step(model, images, labels, loss_fn, optimizer):
    optimizer.zero_grad()
    loss = loss_fn(model(images), labels)
    loss.backward()
    loss.backward()
    optimizer.step()
    return loss.detach()
""",
            "two_backwards",
        ),
        KnownMistake(
            "argmax before the loss",
            """
def training_step(model, images, labels, loss_fn, optimizer):
    optimizer.zero_grad()
    loss = loss_fn(model(images).argmax(dim=1), labels)
    loss.backward()
    optimizer.step()
    return loss.detach()
""",
            "argmax",
        ),
        KnownMistake(
            "softmax before CrossEntropyLoss",
            """
def training_step(model, images, labels, loss_fn, optimizer):
    optimizer.zero_grad()
    loss = loss_fn(model(images).softmax(dim=1), labels)
    loss.backward()
    optimizer.step()
    return loss.detach()
""",
            "other_weights",
        ),
        KnownMistake(
            "a number for every step",
            """
def training_step(model, images, labels, loss_fn, optimizer):
    optimizer.zero_grad()
    loss = loss_fn(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss.item()
""",
            "item",
        ),
        KnownMistake(
            "the loss with its history",
            """
def training_step(model, images, labels, loss_fn, optimizer):
    optimizer.zero_grad()
    loss = loss_fn(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss
""",
            "keeps_history",
        ),
        KnownMistake(
            "detached too early",
            """
def training_step(model, images, labels, loss_fn, optimizer):
    optimizer.zero_grad()
    loss = loss_fn(model(images), labels).detach()
    loss.backward()
    optimizer.step()
    return loss
""",
            "no_graph",
        ),
        KnownMistake(
            "labels first",
            """
def training_step(model, images, labels, loss_fn, optimizer):
    optimizer.zero_grad()
    loss = loss_fn(labels, model(images))
    loss.backward()
    optimizer.step()
    return loss.detach()
""",
            "swapped",
        ),
        KnownMistake(
            "nothing given back",
            """
def training_step(model, images, labels, loss_fn, optimizer):
    optimizer.zero_grad()
    loss = loss_fn(model(images), labels)
    loss.backward()
    optimizer.step()
""",
            "returned_none",
        ),
        KnownMistake(
            "the loss after the step",
            """
def training_step(model, images, labels, loss_fn, optimizer):
    optimizer.zero_grad()
    loss_fn(model(images), labels).backward()
    optimizer.step()
    return loss_fn(model(images), labels).detach()
""",
            "other_loss",
        ),
    ),
    variants=(
        """
def training_step(model, images, labels, loss_fn, optimizer):
    loss = loss_fn(model(images), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach()
""",
        """
def training_step(model, images, labels, loss_fn, optimizer):
    model.zero_grad()
    scores = model(images)
    loss = loss_fn(scores, labels)
    weights = list(model.parameters())
    for weight, gradient in zip(weights, torch.autograd.grad(loss, weights)):
        weight.grad = gradient
    optimizer.step()
    return loss.data
""",
    ),
    errors={
        "does not require grad": "no_graph",
        "expected scalar type Long": "swapped",
        "Expected floating point type for target": "argmax",
        "through the graph a second time": "two_backwards",
        "not implemented for 'Long'": "swapped",
        "at argument #1 'self'": "swapped",
        "expected target size": "swapped",
        "Expected target size": "swapped",
        "size mismatch (got input": "swapped",
        "expected input batch_size": "swapped",
    },
)


class _Readings(TorchFunctionMode):
    """Counts how often a tensor is read by Python (``item()``, ``float()``, ``if tensor``, ``tolist()``, ``cpu()``)."""

    _READS = frozenset(
        (
            "item",
            "tolist",
            "numpy",
            "cpu",
            "__bool__",
            "__float__",
            "__int__",
            "__index__",
            "__array__",
            "__contains__",
            "__format__",
        )
    )

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in self._READS:
            self.count += 1
        return func(*args, **(kwargs or {}))


class _Reversed(nn.Module):
    """Turns a picture, which is a row of scores back to front here, into scores: who leaves the model out gets others."""

    def forward(self, pictures: Tensor) -> Tensor:
        return pictures.flip(1)


def _scored() -> list[tuple[Tensor, Tensor]]:
    """Batches of 10, 10, 10 and 3 pictures [n, 10] for ``_Reversed``, with labels; hits 7, 3, 8 and 1."""
    draw = torch.Generator().manual_seed(24)
    batches = []
    for size, hits in ((10, 7), (10, 3), (10, 8), (3, 1)):
        labels = torch.randint(0, 10, (size,), generator=draw)
        said = torch.where(torch.arange(size) < hits, labels, (labels + 1) % 10)
        scores = 0.1 * torch.rand(size, 10, generator=draw) + F.one_hot(said, 10)
        batches.append((scores.flip(1), labels))
    return batches


def _probe_share_right(answer: Any) -> None:
    batches, model = _scored(), _Reversed()
    scored = [(model(pictures), labels) for pictures, labels in batches]
    hits = [int((scores.argmax(1) == labels).sum()) for scores, labels in scored]
    sizes = [len(labels) for _, labels in batches]
    right = sum(hits) / sum(sizes)
    with _Readings() as readings:
        result = call(answer, model, batches)
    if isinstance(result, Tensor) and result.numel() != 1:
        raise Wrong("many", got=list(result.shape))
    got = float(one_number(result, "not_a_number"))
    if abs(got - right) < 1e-5:
        if readings.count > 2:
            raise Wrong("item_each", got=readings.count)
        return
    mean_of_means = sum(h / s for h, s in zip(hits, sizes, strict=True)) / len(sizes)
    without_model = sum(int((pictures.argmax(1) == labels).sum()) for pictures, labels in batches)
    flat = sum(int((scores.argmax() == labels).sum()) for scores, labels in scored)
    for key, wrong in (
        ("no_model", without_model / sum(sizes)),
        ("no_dim", flat / sum(sizes)),
        ("first_only", hits[0] / sizes[0]),
        ("all_counted", 1.0),
        ("mean_of_means", mean_of_means),
        ("percent", 100 * right),
        ("percent", 100 * mean_of_means),
        ("count", sum(hits)),
        ("per_batch", sum(hits) / len(sizes)),
        ("last_only", hits[-1] / sizes[-1]),
        ("last_only", hits[-1] / sum(sizes)),
        ("last_only", sum(hits) / sizes[-1]),
        ("not_divided", sum(h / s for h, s in zip(hits, sizes, strict=True))),
        ("rounded_down", 0.0),
        ("mistakes", 1 - right),
        ("full_batches", sum(hits) / (len(sizes) * sizes[0])),
        ("full_batches", sum(hits) / (len(sizes) * 64)),
    ):
        if abs(got - wrong) < 1e-5:
            raise Wrong(key, got=got)
    raise Wrong("value", got=got, expected=right)


share_right = Exercise(
    name="share_right",
    lesson="01",
    probe=_probe_share_right,
    hints={
        "not_a_number": Hint(
            "give back one number (this was: {kind}).",
            "end with `return` and one number between 0 and 1, not a {kind}.",
        ),
        "many": Hint(
            "give back one number; yours has the shape {got}.",
            "`.sum()` makes one number of the comparison of a batch (you have the shape {got}).",
        ),
        "item_each": Hint(
            "the share is right. But you read a number from a tensor {got} times; a GPU's queue runs empty at each.",
            "add up tensors: `hits = hits + (…).sum()`, and call `.item()` once, after the loop (not {got} times).",
        ),
        "no_model": Hint(
            "that would be the share if the pictures were the answers. Who answers?",
            "`model(images).argmax(dim=1)`: the model turns pictures into scores.",
        ),
        "no_dim": Hint(
            "`argmax()` without `dim` looks for one largest number in the whole batch; you need one for each picture.",
            "`model(images).argmax(dim=1)`: one answer for each row.",
        ),
        "max_pair": Hint(
            "`max(dim=1)` gives two things: the largest values, and where they are. You need where.",
            "`model(images).argmax(dim=1)`, or `.max(dim=1).indices`.",
        ),
        "first_only": Hint(
            "only the first batch counts. Where does the `return` stand?",
            "the `return` belongs below the loop, without its indent: it ends the function.",
        ),
        "all_counted": Hint(
            "that says every answer is right. `len` counts all rows, right or wrong.",
            "the comparison gives True and False; `.sum()` counts the True ones.",
        ),
        "mean_of_means": Hint(
            "the last batch is smaller than the others, and you give it the same weight.",
            "count hits and pictures over all batches, and divide once at the end.",
        ),
        "percent": Hint("a share lies between 0 and 1; yours is {got:.1f}.", "no `* 100` (you have {got:.1f})."),
        "count": Hint(
            "that is how many are right ({got:.0f}). Which share is it?",
            "divide by the number of pictures, counted along the way: `{got:.0f} / count`.",
        ),
        "per_batch": Hint(
            "you divide by the number of batches; each holds many pictures (yours: {got:.2f}).",
            "add `len(labels)` in the loop, and divide by that sum (not by len(batches); you have {got:.2f}).",
        ),
        "last_only": Hint(
            "only the last batch counts: each round starts from nothing.",
            "set the counters to 0 before the loop, and add to them inside.",
        ),
        "not_divided": Hint(
            "you add up a share for each batch, and the sum is {got:.2f}.",
            "add up hits (`.sum()`), not shares (`.mean()`); divide once at the end (you have {got:.2f}).",
        ),
        "rounded_down": Hint(
            "the result is 0. Did a division round down, or is nothing counted?",
            "use `/`, not `//`, and add to the counter inside the loop.",
        ),
        "mistakes": Hint("that is the share of mistakes.", "compare with `==`, not with `!=`."),
        "full_batches": Hint(
            "you divide by the same size for every batch; the last one is smaller.",
            "add `len(labels)` for each batch; do not multiply the number of batches by a size.",
        ),
        "wrong_dim": Hint(
            "the scores have one row for each picture and one column for each class. Along which do you look for the largest?",
            "`model(images).argmax(dim=1)`: one answer for each row.",
        ),
        "value": Hint(
            "the check's batches have {expected:.3f} right; you have {got:.3f}.",
            "per batch: `(model(images).argmax(dim=1) == labels).sum()`; in the end hits / pictures "
            "({expected:.3f}, not {got:.3f}).",
        ),
    },
    push=(
        "Two counters: how many are right, how many there are. `argmax(dim=1)` is the class with the largest score.",
        "In the loop `hits = hits + (model(images).argmax(dim=1) == labels).sum()` and `count += len(labels)`.",
        "After the loop `return (hits / count).item()`: the only place where a number leaves the device.",
    ),
    mistakes=(
        KnownMistake(
            "a number from every batch",
            """
def share_right(model, batches):
    hits, count = 0, 0
    for images, labels in batches:
        hits += (model(images).argmax(dim=1) == labels).sum().item()
        count += len(labels)
    return hits / count
""",
            "item_each",
        ),
        KnownMistake(
            "each answer asked for by itself",
            """
@torch.inference_mode()
def share_right(model, batches):
    hits, count = 0, 0
    for images, labels in batches:
        for said, label in zip(model(images).argmax(dim=1), labels):
            if said == label:
                hits += 1
            count += 1
    return hits / count
""",
            "item_each",
        ),
        KnownMistake(
            "lists instead of tensors",
            """
@torch.inference_mode()
def share_right(model, batches):
    hits, count = 0, 0
    for images, labels in batches:
        said = model(images).argmax(dim=1).tolist()
        hits += sum(a == b for a, b in zip(said, labels.tolist()))
        count += len(labels)
    return hits / count
""",
            "item_each",
        ),
        KnownMistake(
            "nobody asked the model",
            """
def share_right(model, batches):
    hits, count = 0, 0
    for images, labels in batches:
        hits = hits + (images.argmax(dim=1) == labels).sum()
        count += len(labels)
    return hits / count
""",
            "no_model",
        ),
        KnownMistake(
            "argmax of the whole batch",
            """
def share_right(model, batches):
    hits, count = 0, 0
    for images, labels in batches:
        hits = hits + (model(images).argmax() == labels).sum()
        count += len(labels)
    return hits / count
""",
            "no_dim",
        ),
        KnownMistake(
            "max gives a pair",
            """
def share_right(model, batches):
    hits, count = 0, 0
    for images, labels in batches:
        hits = hits + (model(images).max(dim=1) == labels).sum()
        count += len(labels)
    return hits / count
""",
            "max_pair",
        ),
        KnownMistake(
            "return inside the loop",
            """
def share_right(model, batches):
    hits, count = 0, 0
    for images, labels in batches:
        hits = hits + (model(images).argmax(dim=1) == labels).sum()
        count += len(labels)
        return hits / count
""",
            "first_only",
        ),
        KnownMistake(
            "the length of a comparison",
            """
def share_right(model, batches):
    hits, count = 0, 0
    for images, labels in batches:
        hits += len(model(images).argmax(dim=1) == labels)
        count += len(labels)
    return hits / count
""",
            "all_counted",
        ),
        KnownMistake(
            "the mean of the batches' means",
            """
def share_right(model, batches):
    shares = [(model(images).argmax(dim=1) == labels).float().mean() for images, labels in batches]
    return torch.stack(shares).mean().item()
""",
            "mean_of_means",
        ),
        KnownMistake(
            "per cent",
            """
def share_right(model, batches):
    hits, count = 0, 0
    for images, labels in batches:
        hits = hits + (model(images).argmax(dim=1) == labels).sum()
        count += len(labels)
    return (100 * hits / count).item()
""",
            "percent",
        ),
        KnownMistake(
            "argmax over the pictures",
            """
def share_right(model, batches):
    hits, count = 0, 0
    for images, labels in batches:
        hits = hits + (model(images).argmax(dim=0) == labels).sum()
        count += len(labels)
    return (hits / count).item()
""",
            "wrong_dim",
        ),
        KnownMistake(
            "divided by the number of batches",
            """
def share_right(model, batches):
    hits = 0
    for images, labels in batches:
        hits = hits + (model(images).argmax(dim=1) == labels).sum()
    return (hits / len(batches)).item()
""",
            "per_batch",
        ),
        KnownMistake(
            "counters set back in the loop",
            """
def share_right(model, batches):
    for images, labels in batches:
        hits, count = 0, 0
        hits = hits + (model(images).argmax(dim=1) == labels).sum()
        count += len(labels)
    return (hits / count).item()
""",
            "last_only",
        ),
        KnownMistake(
            "how many, not which share",
            """
def share_right(model, batches):
    hits = 0
    for images, labels in batches:
        hits = hits + (model(images).argmax(dim=1) == labels).sum()
    return hits
""",
            "count",
        ),
        KnownMistake(
            "division that rounds down",
            """
def share_right(model, batches):
    hits, count = 0, 0
    for images, labels in batches:
        hits = hits + (model(images).argmax(dim=1) == labels).sum()
        count += len(labels)
    return (hits // count).item()
""",
            "rounded_down",
        ),
    ),
    variants=(
        """
@torch.inference_mode()
def share_right(model, batches):
    hits, count = torch.zeros((), dtype=torch.long), 0
    for images, labels in batches:
        hits += (model(images).argmax(dim=1) == labels).sum()
        count += labels.numel()
    return hits / count
""",
        """
def share_right(model, batches):
    right = [model(images).max(1).indices.eq(labels) for images, labels in batches]
    return float(torch.cat(right).float().mean())
""",
    ),
    errors={"at non-singleton dimension": "wrong_dim", "'bool' object has no attribute": "max_pair"},
)
