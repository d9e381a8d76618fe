"""A training that asks the device for numbers again and again."""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.exercises.rocprof_analysis.recorded import recorded
from labkit.learn.judge import call
from labkit.learn.numbers import one_number

STOPS = 4
"""Numbers that a pass of the check's 20 batches may read: two at the end, and some to spare."""

_BATCHES, _SIZE = 20, 16


def _training() -> tuple[nn.Module, list[tuple[Tensor, Tensor]]]:
    where = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    draw = torch.Generator().manual_seed(8)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(8)
        model = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 5)).to(where)
    batches = [
        (
            torch.randn(_SIZE, 12, generator=draw).to(where),
            torch.randint(0, 5 if k % 3 else 2, (_SIZE,), generator=draw).to(where),
        )
        for k in range(_BATCHES)
    ]
    return model, batches


def _optimizer(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.2)


def _reference(model: nn.Module, batches: list[tuple[Tensor, Tensor]]) -> tuple[list[float], list[float]]:
    """Loss and share of right answers of each batch, training as the sick loop does."""
    optimizer = _optimizer(model)
    losses, shares = [], []
    for x, y in batches:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
        shares.append(float((out.argmax(1) == y).float().mean()))
    return losses, shares


def _probe_too_many_syncs(answer: Any) -> None:
    model, batches = _training()
    start, twin = copy.deepcopy(model), copy.deepcopy(model)
    losses, shares = _reference(twin, batches)
    with _Copies() as copies:
        found = call(answer, model, _optimizer(model), batches)
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise Wrong("not_a_pair", kind=type(found).__name__)
    loss, accuracy = (float(one_number(value, "not_a_pair")) for value in found)
    pairs = list(zip(model.parameters(), twin.parameters(), strict=True))
    if not all(torch.allclose(p, q, rtol=1e-3, atol=1e-4) for p, q in pairs):
        still = all(torch.equal(p, q) for p, q in zip(model.parameters(), start.parameters(), strict=True))
        raise Wrong("no_update" if still else "other_training")
    mean, right = sum(losses) / _BATCHES, sum(shares) / _BATCHES
    if abs(loss - losses[-1]) < 1e-3 and abs(mean - losses[-1]) > 1e-2:
        raise Wrong("only_last", got=loss, expected=mean)
    if abs(loss - sum(losses)) < 1e-2:
        raise Wrong("not_divided", got=loss, expected=mean)
    if abs(loss - mean) > 2e-3:
        raise Wrong("loss", got=loss, expected=mean)
    if abs(accuracy - right) > 2e-3:
        raise Wrong("accuracy", got=accuracy, expected=right)
    again, _ = _training()
    optimizer = _optimizer(again)
    stops = recorded(lambda: answer(again, optimizer, batches)).stops
    if copies.count > STOPS:  # on a GPU they are among the stops
        raise Wrong("to_the_host", moved=copies.count, batches=_BATCHES)
    if stops > STOPS:
        raise Wrong("still_reads", stops=stops, batches=_BATCHES, limit=STOPS)


class _Copies(TorchFunctionMode):
    """Counts calls that bring a tensor to the host. On a GPU each is a blocking copy, which the profile shows; on a CPU
    they cost nothing and leave no row, so they are counted as they are made."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += getattr(func, "__name__", "") in ("cpu", "numpy", "tolist")
        return func(*args, **(kwargs or {}))


too_many_syncs = Exercise(
    name="too_many_syncs",
    lesson="04",
    probe=_probe_too_many_syncs,
    hints={
        "not_a_pair": Hint(
            "give back two numbers, mean loss and accuracy (this was: {kind}).",
            "end with `return loss, accuracy`; numbers, or tensors with one element (this was: {kind}).",
        ),
        "no_update": Hint(
            "the weights have not changed: is `optimizer.step()` still there?",
            "mend only how numbers are read; `zero_grad()`, `backward()` and `step()` stay as they were.",
        ),
        "other_training": Hint(
            "the weights are not those of the sick loop. Only the reading of numbers should change.",
            "for each batch: `zero_grad()`, `backward()`, `step()`, in this order, on the mean loss of the batch.",
        ),
        "only_last": Hint(
            "{got:.3f} is the loss of the last batch; the mean of all is {expected:.3f}.",
            "add up on the device: `total += loss.detach()`, and divide at the end ({expected:.3f}, not {got:.3f}).",
        ),
        "not_divided": Hint(
            "{got:.2f} is the sum of all losses; the mean is {expected:.3f}.",
            "divide by `len(batches)` at the end: {got:.2f} becomes {expected:.3f}.",
        ),
        "loss": Hint(
            "the mean loss should be {expected:.3f}, not {got:.3f}.",
            "each batch's loss *before* its update, added up and divided by the number of batches ({expected:.3f}, not {got:.3f}).",
        ),
        "accuracy": Hint(
            "the accuracy should be {expected:.3f}, not {got:.3f}: the share of right answers over all batches.",
            "`right += (out.argmax(1) == y).sum()`, divided by the number of examples ({expected:.3f}, not {got:.3f}).",
        ),
        "still_reads": Hint(
            "the new profile: the host still reads {stops} numbers in a pass of {batches} batches. `.item()`, `float(…)`, "
            "`print(loss)` and `if loss > …` all read.",
            "add tensors to tensors in the loop and read once after it: {stops} reads become 2 (at most {limit} are allowed).",
        ),
        "to_the_host": Hint(
            "{moved} times in {batches} batches a tensor goes to the host (`.cpu()`, `.numpy()`, `.tolist()`). On a GPU that waits "
            "just like `.item()`.",
            "keep the sum where the model is: `torch.zeros((), device=x.device)` or `total = total + loss.detach()` ({moved} copies now).",
        ),
    },
    push=(
        "A tensor can be added to a tensor. Nobody has to look at it on the way.",
        "`total = total + loss.detach()` and `right = right + (out.argmax(1) == y).sum()` in the loop; `.item()` after it.",
    ),
    mistakes=(
        KnownMistake(
            "float in place of item",
            """
def too_many_syncs(model, optimizer, batches):
    total = right = 0
    for x, y in batches:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += float(loss.detach())
        right += (out.argmax(1) == y).float().mean()
    return total / len(batches), right / len(batches)
""",
            "still_reads",
        ),
        KnownMistake(
            "a look at the loss is left in",
            """
def too_many_syncs(model, optimizer, batches):
    total = right = 0
    for x, y in batches:
        out = model(x)
        loss = F.cross_entropy(out, y)
        if loss > 1e4:
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
        right += (out.argmax(1) == y).float().mean()
    return total / len(batches), right / len(batches)
""",
            "still_reads",
        ),
        KnownMistake(
            "a list of losses on the host",
            """
def too_many_syncs(model, optimizer, batches):
    losses, right = [], []
    for x, y in batches:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().cpu())
        right.append((out.argmax(1) == y).float().mean().cpu())
    return torch.stack(losses).mean(), torch.stack(right).mean()
""",
            "to_the_host",
        ),
        KnownMistake(
            "only the last loss",
            """
def too_many_syncs(model, optimizer, batches):
    right = 0
    for x, y in batches:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += (out.argmax(1) == y).float().mean()
    return loss.item(), (right / len(batches)).item()
""",
            "only_last",
        ),
        KnownMistake(
            "a sum in place of a mean",
            """
def too_many_syncs(model, optimizer, batches):
    total = right = 0
    for x, y in batches:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
        right += (out.argmax(1) == y).float().mean()
    return total.item(), (right / len(batches)).item()
""",
            "not_divided",
        ),
        KnownMistake(
            "the training is gone, too",
            """
def too_many_syncs(model, optimizer, batches):
    total = right = 0
    with torch.no_grad():
        for x, y in batches:
            out = model(x)
            total += F.cross_entropy(out, y)
            right += (out.argmax(1) == y).float().mean()
    return (total / len(batches)).item(), (right / len(batches)).item()
""",
            "no_update",
        ),
    ),
    variants=(
        """
def too_many_syncs(model, optimizer, batches):
    losses, hits, seen = [], 0, 0
    for k, (x, y) in enumerate(batches):
        out = model(x)
        loss = F.cross_entropy(out, y)
        model.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        hits = hits + (out.argmax(1) == y).sum()
        seen += len(y)
    return torch.stack(losses).mean(), hits / seen
""",
        """
def too_many_syncs(model, optimizer, batches):
    sums = torch.zeros(2, device=batches[0][0].device)
    for k, (x, y) in enumerate(batches):
        x, y = x.to(sums.device), y.to(sums.device)
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sums += torch.stack((loss.detach(), (out.argmax(1) == y).float().mean()))
        if k == 9:
            print(f"half way: {sums[0].item() / 10:.3f}")
    return tuple((sums / len(batches)).tolist())
""",
    ),
)
