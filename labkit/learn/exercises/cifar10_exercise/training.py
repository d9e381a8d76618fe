"""Training: the schedule, the loop, reading its curves, and the target."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import chain, pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Prepared, Wrong
from labkit.learn.judge import attempt, call


def _probe_learning_rate(answer: Any) -> None:
    total, peak, warmup = 100, 0.4, 20

    def curve(total: int, peak: float, warmup: int) -> list[float]:
        values = []
        for step in range(total):
            value = call(answer, step, total, peak, warmup)
            try:
                values.append(float(value))
            except (TypeError, ValueError, RuntimeError):
                raise Wrong("not_a_number", kind=type(value).__name__) from None
        return values

    lr = curve(total, peak, warmup)
    if not all(math.isfinite(v) for v in lr):
        raise Wrong("not_finite")
    if max(lr) - min(lr) < 1e-3 * peak:
        raise Wrong("constant")
    if min(lr) < -1e-9:
        raise Wrong("negative", step=lr.index(min(lr)), got=min(lr))
    rise, fall = lr[:warmup], lr[warmup:]
    if lr[0] <= 1e-6 * peak:
        raise Wrong("starts_at_zero")
    if lr[0] > 0.5 * peak:
        raise Wrong("no_warmup", got=lr[0])
    top = max(lr)
    if not math.isclose(top, peak, rel_tol=0.06):
        raise Wrong("peak", got=top, expected=peak)
    if abs(lr.index(top) - warmup) > 2:
        raise Wrong("late_peak", got=lr.index(top), expected=warmup)
    if not math.isclose(lr[warmup // 2], peak / 2, rel_tol=0.2):
        raise Wrong("bent_warmup", step=warmup // 2, got=lr[warmup // 2], expected=peak / 2)
    if any(b < a for a, b in pairwise(rise)):
        raise Wrong("bent_warmup", step=warmup // 2, got=lr[warmup // 2], expected=peak / 2)
    if abs(fall[0] - peak) > 0.06 * peak:
        raise Wrong("jump", before=lr[warmup - 1], after=fall[0])
    if any(b > a + 1e-9 for a, b in pairwise(fall[2:])):
        raise Wrong("up_again")
    if fall[-1] > 0.06 * peak:
        raise Wrong("ends_high", got=fall[-1])
    middle = warmup + (total - warmup) // 2
    if not math.isclose(lr[middle], peak / 2, rel_tol=0.08):
        raise Wrong("middle", step=middle, got=lr[middle], expected=peak / 2)
    quarter = warmup + (total - warmup) // 4
    right = peak * 0.5 * (1 + math.cos(math.pi / 4))
    if not math.isclose(lr[quarter], right, rel_tol=0.06):
        raise Wrong("not_cosine", step=quarter, got=lr[quarter], expected=right)
    try:
        none = curve(10, 1.0, 0)
    except ZeroDivisionError:
        raise Wrong("warmup_zero") from None
    if not math.isclose(none[0], 1.0, rel_tol=0.06):
        raise Wrong("warmup_zero")


learning_rate = Exercise(
    name="learning_rate",
    lesson="02",
    probe=_probe_learning_rate,
    hints={
        "not_a_number": Hint(
            "give back one number for one step (this was: {kind}).",
            "end with `return` and a float, not a {kind}.",
        ),
        "not_finite": Hint(
            "some values are not finite numbers.",
            "call it by hand for steps 0, 20 and 99 of 100, and look for the nan or inf.",
        ),
        "constant": Hint(
            "the same value for every step: the step number is not used.",
            "`step / warmup` grows during the warm-up; after it `(step - warmup) / (total - warmup)` goes from 0 to 1.",
        ),
        "negative": Hint(
            "at step {step} the rate is {got:.3f}: below zero the model would unlearn. A cosine goes from 1 to −1.",
            "lift the cosine: `0.5 * (1 + math.cos(…))` goes from 1 to 0 (step {step} gives {got:.3f}).",
        ),
        "starts_at_zero": Hint(
            "the first step has rate 0: it costs time and changes nothing.",
            "use `(step + 1) / warmup` in the warm-up.",
        ),
        "no_warmup": Hint(
            "the first step has {got:.2f} already: the warm-up is missing. Begin small.",
            "`if step < warmup: return peak * (step + 1) / warmup`.",
        ),
        "peak": Hint(
            "with peak={expected} the largest rate is {got:.3f}.",
            "multiply both parts by peak, and by nothing else: the largest should be {expected}, not {got:.3f}.",
        ),
        "late_peak": Hint(
            "the largest rate comes at step {got}; with warmup={expected} it should be there.",
            "warm up for exactly `warmup` steps, then fall (peak at step {got}, expected near {expected}).",
        ),
        "bent_warmup": Hint(
            "the warm-up should be a straight line: at step {step} about {expected:.2f}, you have {got:.3f}.",
            "`peak * (step + 1) / warmup` is a straight line (step {step}: {expected:.2f}, not {got:.3f}).",
        ),
        "jump": Hint(
            "at the end of the warm-up the rate jumps from {before:.3f} to {after:.3f}. The cosine should begin there, at 0.",
            "measure the progress of the second part from its own start: `(step - warmup) / (total - warmup)`.",
        ),
        "up_again": Hint(
            "after the peak the rate rises again. How far should the cosine's angle go?",
            "the angle goes from 0 to π, not to 2π: `math.cos(math.pi * progress)`.",
        ),
        "ends_high": Hint(
            "at the last step the rate is still {got:.3f}; it should be near 0.",
            "progress must reach 1 at the end: `(step - warmup) / (total - warmup)`, angle `math.pi * progress` "
            "(radians; you end at {got:.3f}).",
        ),
        "middle": Hint(
            "half-way through the second part (step {step}) the rate should be {expected:.2f}, you have {got:.3f}.",
            "`0.5 * peak * (1 + math.cos(math.pi * progress))` is {expected:.2f} half-way (you have {got:.3f}).",
        ),
        "not_cosine": Hint(
            "up, then down to zero: good. But it falls in a straight line or so; at step {step} a cosine has {expected:.3f}, "
            "you have {got:.3f}.",
            "`0.5 * peak * (1 + math.cos(math.pi * progress))` (step {step}: {expected:.3f}, not {got:.3f}).",
        ),
        "warmup_zero": Hint(
            "with warmup=0 it should begin at the peak, and not stop with an error.",
            "guard the first part with `if step < warmup:`; with warmup=0 that is never true.",
        ),
    },
    push=(
        "Two parts. Up to `warmup` a straight line to the peak; after it half a cosine down to nearly 0.",
        "Let progress go from 0 to 1 in the second part. `0.5 * (1 + math.cos(math.pi * progress))` goes from 1 to 0.",
    ),
    mistakes=(
        KnownMistake(
            "progress measured from the very start",
            """
def learning_rate(step, total, peak, warmup):
    if step < warmup:
        return peak * (step + 1) / warmup
    return 0.5 * peak * (1 + math.cos(math.pi * step / total))
""",
            "jump",
        ),
        KnownMistake(
            "first step at zero",
            """
def learning_rate(step, total, peak, warmup):
    if step < warmup:
        return peak * step / warmup
    return 0.5 * peak * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))
""",
            "starts_at_zero",
        ),
        KnownMistake(
            "cosine not lifted",
            """
def learning_rate(step, total, peak, warmup):
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * math.cos(math.pi * (step - warmup) / (total - warmup))
""",
            "negative",
        ),
        KnownMistake(
            "no warm-up",
            """
def learning_rate(step, total, peak, warmup):
    return 0.5 * peak * (1 + math.cos(math.pi * step / total))
""",
            "no_warmup",
        ),
        KnownMistake(
            "degrees",
            """
def learning_rate(step, total, peak, warmup):
    if step < warmup:
        return peak * (step + 1) / warmup
    return 0.5 * peak * (1 + math.cos(180 * (step - warmup) / (total - warmup)))
""",
            "up_again",
        ),
        KnownMistake(
            "straight line down",
            """
def learning_rate(step, total, peak, warmup):
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * (total - step) / (total - warmup)
""",
            "not_cosine",
        ),
    ),
    variants=(
        """
def learning_rate(step, total, peak, warmup):
    up = min(1.0, (step + 1) / (warmup + 1))
    down = math.cos(0.5 * math.pi * max(0, step - warmup) / (total - warmup)) ** 2
    return torch.tensor(peak * up * down)
""",
        """
def learning_rate(step, total, peak, warmup):
    if step >= warmup:
        return peak / 2 * (1 - math.sin(math.pi * ((step - warmup) / (total - warmup) - 0.5)))
    return peak / 100 + (peak - peak / 100) * step / warmup
""",
    ),
)


class _Recorder(nn.Module):
    """A linear model that notes its mode and which pictures came in which order (they carry their number in channel 2)."""

    def __init__(self) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(3)
        self.layer = nn.Linear(10, 10)
        with torch.no_grad():
            self.layer.weight.copy_(0.1 * torch.randn(10, 10, generator=draw))
            self.layer.bias.zero_()
        self.modes: list[bool] = []
        self.seen: list[list[int]] = []
        self.fresh: list[Tensor] = []
        self.layer.weight.register_hook(lambda grad: self.fresh.append(grad.detach().clone()))

    def forward(self, x: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            self.modes.append(self.training)
            self.seen.append(x[:, 2, 0, 0].round().long().tolist())
        return self.layer(x[:, 0].flatten(1)[:, :10])


def _lesson_material(count: int = 24) -> tuple[Tensor, Tensor]:
    """Pictures [count, 3, 4, 4] whose first ten pixels of channel 0 name the class, numbered in channel 2; labels [count]."""
    y = (torch.arange(count) * 7) % 10
    x = torch.zeros(count, 3, 4, 4)
    x[:, 0].flatten(1)[torch.arange(count), y] = 0.0
    flat = torch.zeros(count, 16)
    flat[torch.arange(count), y] = 3.0
    x[:, 0] = flat.view(count, 4, 4)
    x[:, 2] = torch.arange(count).view(count, 1, 1).float()
    return x, y


class _Training:
    """One run of the learner's fit, and everything that was seen of it."""

    def __init__(self, answer: Any, epochs: int, batch: int, rate: Callable[[int, int], float]) -> None:
        x, y = _lesson_material()
        self.model = _Recorder().eval()  # training mode is the learner's business
        self.start = self.model.layer.weight.detach().clone()
        self.augmented: list[int] = []
        self.rates: list[float] = []
        self.grads: list[tuple[Tensor | None, Tensor | None]] = []
        self.optimizers: list[torch.optim.Optimizer] = []  # in the order of their first step
        self.totals: list[int] = []
        self.x, self.y, self.epochs, self.batch = x, y, epochs, batch

        def augment_probe(images: Tensor) -> Tensor:
            self.augmented.append(len(images))
            return images.clone()

        def rate_probe(step: int, total: int) -> float:
            self.totals.append(total)
            return rate(step, total)

        def before_step(optimizer: torch.optim.Optimizer, *_: Any) -> None:
            self.rates.append(float(optimizer.param_groups[0]["lr"]))
            if not any(optimizer is known for known in self.optimizers):
                self.optimizers.append(optimizer)
            grad = self.model.layer.weight.grad
            fresh = self.model.fresh[-1] if self.model.fresh else None
            self.grads.append((None if grad is None else grad.detach().clone(), fresh))

        handle = register_optimizer_step_pre_hook(before_step)
        try:
            self.history = call(answer, self.model, x, y, epochs, batch, augment_probe, rate_probe)
        finally:
            handle.remove()
        self.moved = not torch.equal(self.start, self.model.layer.weight.detach())


def _adds_up(grad: Tensor | None, fresh: Tensor | None) -> bool:
    """Is the gradient that the optimizer uses more than the last backward pass gave (scaling and clipping allowed)?"""
    if grad is None or fresh is None or not bool(fresh.any()):
        return False
    scale = float((grad * fresh).sum() / (fresh * fresh).sum())
    return float((grad - scale * fresh).norm()) > 0.01 * float(grad.norm())


def _probe_fit(answer: Any) -> None:
    epochs, batch = 3, 6
    run = _Training(answer, epochs, batch, lambda step, total: 0.05 + 0.01 * step)
    seen = run.model.seen
    if not seen:
        raise Wrong("never_called")
    if not run.moved:
        raise Wrong("no_step" if run.model.fresh else "no_backward")
    if not run.rates:
        raise Wrong("no_optimizer")
    if not all(run.model.modes):
        raise Wrong("eval_mode")
    if any(_adds_up(*pair) for pair in run.grads):
        raise Wrong("accumulates")
    steps = len(run.rates)
    per_epoch = len(run.x) // batch
    if max(len(s) for s in seen) > batch:
        raise Wrong("batch_size", got=max(len(s) for s in seen), expected=batch)
    if steps != epochs * per_epoch:
        raise Wrong("steps", got=steps, expected=epochs * per_epoch)
    orders = [list(chain.from_iterable(seen[e * per_epoch : (e + 1) * per_epoch])) for e in range(epochs)]
    if any(sorted(order) != list(range(len(run.x))) for order in orders):
        raise Wrong("not_each_once")
    if any(order == sorted(order) for order in orders):
        raise Wrong("no_shuffle")
    if orders[0] == orders[1]:
        raise Wrong("same_order")
    if not run.augmented:
        raise Wrong("no_augment")
    if sum(run.augmented) < epochs * len(run.x):
        raise Wrong("augment_once")
    expected = [0.05 + 0.01 * s for s in range(steps)]
    if not run.totals:
        raise Wrong("rate_never_asked")
    if len(set(run.rates)) == 1:
        raise Wrong("rate_fixed", got=run.rates[0])
    if not all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(run.rates, expected, strict=True)):
        changes = sum(a != b for a, b in pairwise(run.rates))
        if changes < epochs:
            raise Wrong("rate_per_epoch")
        at = next(
            i for i, (a, b) in enumerate(zip(run.rates, expected, strict=True)) if not math.isclose(a, b, rel_tol=1e-6)
        )
        raise Wrong("rate_wrong", step=at, got=run.rates[at], expected=expected[at])
    if len(run.optimizers) > 1 and any(one.state for one in run.optimizers):
        raise Wrong("new_optimizer", got=len(run.optimizers), steps=steps)
    if any(total != steps for total in run.totals):
        raise Wrong("total", got=next(t for t in run.totals if t != steps), expected=steps)
    _probe_history(answer)
    long = _Training(answer, 40, batch, lambda step, total: 0.05)
    with torch.no_grad():
        hits = (long.model.layer(long.x[:, 0].flatten(1)[:, :10]).argmax(1) == long.y).double().mean()
    if float(hits) < 0.9:
        raise Wrong("wrong_pairs", got=float(hits))


def _probe_history(answer: Any) -> None:
    """With a learning rate of 0 the model stays as it is, so the right loss of every epoch is known."""
    still = _Training(answer, 2, 6, lambda step, total: 0.0)
    history = still.history
    if isinstance(history, (int, float)) or (isinstance(history, Tensor) and history.dim() == 0):
        raise Wrong("history", kind="single number")
    try:
        values = list(history)
    except TypeError:
        raise Wrong("history", kind=type(history).__name__) from None
    if any(isinstance(v, Tensor) and v.requires_grad for v in values):
        raise Wrong("graph")
    try:
        losses = [float(v) for v in values]
    except (TypeError, ValueError, RuntimeError):
        raise Wrong("history", kind=f"list of {type(values[0]).__name__}") from None
    if len(losses) != 2:
        raise Wrong("history_length", got=len(losses), expected=2)
    with torch.no_grad():
        scores = still.model.layer(still.x[:, 0].flatten(1)[:, :10])
        right = float(F.cross_entropy(scores, still.y))
        soft = float(F.cross_entropy(scores.softmax(1), still.y))
    for got in losses:
        if math.isclose(got, right, rel_tol=2e-3):
            continue
        if math.isclose(got, soft, rel_tol=2e-3):
            raise Wrong("softmax")
        if math.isclose(got, 4 * right, rel_tol=2e-3) or math.isclose(got, 24 * right, rel_tol=2e-3):
            raise Wrong("loss_sum", got=got, expected=right)
        if math.isclose(got, right / 6, rel_tol=2e-3) or math.isclose(got, right / 24, rel_tol=2e-3):
            raise Wrong("divided_twice", got=got, expected=right)
        raise Wrong("loss", got=got, expected=right)


fit = Exercise(
    name="fit",
    lesson="02",
    probe=_probe_fit,
    errors={"between instances of 'function' and": "rate_handed_over"},
    hints={
        "never_called": Hint(
            "the model was never called with gradients on. Is the loop running?",
            "for every batch: `loss = F.cross_entropy(model(augment(x[part])), y[part])`.",
        ),
        "no_backward": Hint(
            "the weights did not change, and no gradient was ever computed.",
            "after the loss: `loss.backward()`, then `optimizer.step()`.",
        ),
        "no_step": Hint(
            "gradients were computed, but the weights did not change. Who applies them?",
            "after `loss.backward()` comes `optimizer.step()`, and the optimizer must hold `model.parameters()`.",
        ),
        "no_optimizer": Hint(
            "use one of torch.optim's optimizers, so that the schedule can set its rate.",
            "for example `optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)`.",
        ),
        "eval_mode": Hint(
            "the model came in eval mode and was trained in it: batch norm would learn nothing about the data.",
            "call `model.train()` at the start.",
        ),
        "accumulates": Hint(
            "the gradient of each step still holds those of the steps before. What empties it?",
            "`optimizer.zero_grad()` before every `loss.backward()`.",
        ),
        "batch_size": Hint(
            "{got} pictures went in at once; the batch size is {expected}.",
            "slice the shuffled order: `part = order[i:i + batch_size]` ({got} at once, should be {expected}).",
        ),
        "steps": Hint(
            "24 pictures, batches of 6, 3 epochs: {expected} steps. Yours made {got}.",
            "two loops: epochs outside, batches inside; one `optimizer.step()` in the inner one ({expected} steps, not {got}).",
        ),
        "not_each_once": Hint(
            "in one epoch some pictures came twice and others not at all.",
            "`order = torch.randperm(len(x))` has every number once; `randint` does not.",
        ),
        "no_shuffle": Hint(
            "the pictures always come in the order of the file. Shuffle them.",
            "at the start of each epoch: `order = torch.randperm(len(x), device=x.device)`.",
        ),
        "same_order": Hint(
            "every epoch has the same order. Shuffle anew each time.",
            "move `torch.randperm` into the loop over epochs.",
        ),
        "no_augment": Hint("`augment` was never called.", "`images = augment(x[part])` before you call the model."),
        "augment_once": Hint(
            "the pictures were augmented once and then reused. Each epoch should see new ones.",
            "call `augment` inside the loop, on each batch.",
        ),
        "rate_never_asked": Hint(
            "`rate` was never called: it says which learning rate each step should have.",
            "before each step: `group['lr'] = rate(step, total)` for every group of `optimizer.param_groups`.",
        ),
        "rate_fixed": Hint(
            "every step used the rate {got:.3f}: `rate(step, total)` was asked, but nobody told the optimizer.",
            "`for group in optimizer.param_groups: group['lr'] = rate(step, total)` before `optimizer.step()`.",
        ),
        "rate_per_epoch": Hint(
            "the learning rate changes once per epoch; it should change with every step.",
            "count steps across epochs (`step += 1` per batch) and set the rate inside the inner loop.",
        ),
        "rate_wrong": Hint(
            "step {step} (counted from 0) used the rate {got:.3f}; `rate({step}, total)` is {expected:.3f}.",
            "set the rate before `optimizer.step()`, and count from 0 across all epochs "
            "(step {step}: {expected:.3f}, not {got:.3f}).",
        ),
        "new_optimizer": Hint(
            "{got} optimizers for {steps} steps: each new one has forgotten what the one before it remembered (its momentum).",
            "make one optimizer, before the loops; in the loop only change `group['lr']` of its `param_groups`.",
        ),
        "rate_handed_over": Hint(
            "`rate` is a function, and the optimizer wants a number{where}. It is asked anew before each step.",
            "begin with any number, `lr=0.1`, and before each step: `group['lr'] = rate(step, total)` for every group.",
        ),
        "total": Hint(
            "you told `rate` that there are {got} steps in all; there are {expected}.",
            "`total = epochs * math.ceil(len(x) / batch_size)` ({expected}, not {got}).",
        ),
        "history": Hint(
            "give back a list with one mean loss per epoch (this was: {kind}).",
            "`history = []` at the start, `history.append(…)` at the end of each epoch, `return history` (this was: {kind}).",
        ),
        "history_length": Hint(
            "2 epochs should give {expected} losses; you gave {got}.",
            "append once per epoch, at its end, not once per batch ({expected}, not {got}).",
        ),
        "graph": Hint(
            "your losses still hold the graph of their step: memory grows with every one that you keep.",
            "collect `loss.detach()`, and turn it into a number once per epoch with `.item()`.",
        ),
        "softmax": Hint(
            "the loss is computed from probabilities; F.cross_entropy wants the raw scores.",
            "`F.cross_entropy(model(images), labels)`, no softmax in between.",
        ),
        "loss_sum": Hint(
            "the losses of an epoch are added up ({got:.2f}) but not averaged.",
            "divide by the number of batches, or add up `loss * len(part)` and divide by `len(x)` ({expected:.3f}, not {got:.2f}).",
        ),
        "divided_twice": Hint(
            "the mean loss is {expected:.3f}, you have {got:.3f}: divided once too often?",
            "cross_entropy gives the batch's mean; average those over the batches, nothing more.",
        ),
        "loss": Hint(
            "with a rate of 0 the mean loss of every epoch is {expected:.3f}; you report {got:.3f}.",
            "average over the batches of this epoch only, and begin each epoch at 0 ({expected:.3f}, not {got:.3f}).",
        ),
        "wrong_pairs": Hint(
            "it runs, but after 40 epochs only {got:.0%} of a very easy task is right. Do pictures and labels still belong together?",
            "take both with the same index: `x[part]` and `y[part]` ({got:.0%} right so far).",
        ),
    },
    push=(
        "Lesson 01's loop, with three additions: a new shuffle each epoch, augment on each batch, a new rate before each step.",
        "`order = torch.randperm(len(x), device=x.device)`, then `for part in order.split(batch_size):`.",
        "`for group in optimizer.param_groups: group['lr'] = rate(step, total)`, with step counted across epochs.",
    ),
    mistakes=(
        KnownMistake(
            "a new optimizer in every step",
            """
def fit(model, x, y, epochs, batch_size, augment, rate):
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    history, step, total = [], 0, epochs * math.ceil(len(x) / batch_size)
    for _ in range(epochs):
        losses = []
        for part in torch.randperm(len(x)).split(batch_size):
            optimizer = torch.optim.SGD(model.parameters(), lr=rate(step, total), momentum=0.9)
            loss = F.cross_entropy(model(augment(x[part])), y[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    return history
""",
            "new_optimizer",
        ),
        KnownMistake(
            "the function for the number",
            """
def fit(model, x, y, epochs, batch_size, augment, rate):
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    history, step, total = [], 0, epochs * math.ceil(len(x) / batch_size)
    for _ in range(epochs):
        losses = []
        for part in torch.randperm(len(x)).split(batch_size):
            pass
            loss = F.cross_entropy(model(augment(x[part])), y[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    return history
""",
            "rate_handed_over",
        ),
        KnownMistake(
            "zero_grad forgotten",
            """
def fit(model, x, y, epochs, batch_size, augment, rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    total, step, history = epochs * math.ceil(len(x) / batch_size), 0, []
    model.train()
    for _ in range(epochs):
        losses = []
        for part in torch.randperm(len(x), device=x.device).split(batch_size):
            optimizer.param_groups[0]["lr"] = rate(step, total)
            loss = F.cross_entropy(model(augment(x[part])), y[part])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            step += 1
        history.append(sum(losses) / len(losses))
    return history
""",
            "accumulates",
        ),
        KnownMistake(
            "no optimizer.step",
            """
def fit(model, x, y, epochs, batch_size, augment, rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    total, step, history = epochs * math.ceil(len(x) / batch_size), 0, []
    model.train()
    for _ in range(epochs):
        losses = []
        for part in torch.randperm(len(x), device=x.device).split(batch_size):
            optimizer.param_groups[0]["lr"] = rate(step, total)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(augment(x[part])), y[part])
            loss.backward()
            losses.append(loss.item())
            step += 1
        history.append(sum(losses) / len(losses))
    return history
""",
            "no_step",
        ),
        KnownMistake(
            "model.train forgotten",
            """
def fit(model, x, y, epochs, batch_size, augment, rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    total, step, history = epochs * math.ceil(len(x) / batch_size), 0, []
    for _ in range(epochs):
        losses = []
        for part in torch.randperm(len(x), device=x.device).split(batch_size):
            optimizer.param_groups[0]["lr"] = rate(step, total)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(augment(x[part])), y[part])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            step += 1
        history.append(sum(losses) / len(losses))
    return history
""",
            "eval_mode",
        ),
        KnownMistake(
            "rate computed but not set",
            """
def fit(model, x, y, epochs, batch_size, augment, rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    total, step, history = epochs * math.ceil(len(x) / batch_size), 0, []
    model.train()
    for _ in range(epochs):
        losses = []
        for part in torch.randperm(len(x), device=x.device).split(batch_size):
            lr = rate(step, total)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(augment(x[part])), y[part])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            step += 1
        history.append(sum(losses) / len(losses))
    return history
""",
            "rate_fixed",
        ),
        KnownMistake(
            "rate set once per epoch",
            """
def fit(model, x, y, epochs, batch_size, augment, rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    history = []
    model.train()
    for epoch in range(epochs):
        optimizer.param_groups[0]["lr"] = rate(epoch, epochs)
        losses = []
        for part in torch.randperm(len(x), device=x.device).split(batch_size):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(augment(x[part])), y[part])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    return history
""",
            "rate_per_epoch",
        ),
        KnownMistake(
            "augmented once before the loop",
            """
def fit(model, x, y, epochs, batch_size, augment, rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    total, step, history = epochs * math.ceil(len(x) / batch_size), 0, []
    model.train()
    x = augment(x)
    for _ in range(epochs):
        losses = []
        for part in torch.randperm(len(x), device=x.device).split(batch_size):
            optimizer.param_groups[0]["lr"] = rate(step, total)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[part]), y[part])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            step += 1
        history.append(sum(losses) / len(losses))
    return history
""",
            "augment_once",
        ),
        KnownMistake(
            "never shuffled",
            """
def fit(model, x, y, epochs, batch_size, augment, rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    total, step, history = epochs * math.ceil(len(x) / batch_size), 0, []
    model.train()
    for _ in range(epochs):
        losses = []
        for i in range(0, len(x), batch_size):
            optimizer.param_groups[0]["lr"] = rate(step, total)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(augment(x[i:i + batch_size])), y[i:i + batch_size])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            step += 1
        history.append(sum(losses) / len(losses))
    return history
""",
            "no_shuffle",
        ),
        KnownMistake(
            "labels in another order",
            """
def fit(model, x, y, epochs, batch_size, augment, rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    total, step, history = epochs * math.ceil(len(x) / batch_size), 0, []
    model.train()
    for _ in range(epochs):
        losses = []
        x = x[torch.randperm(len(x))]
        for i in range(0, len(x), batch_size):
            optimizer.param_groups[0]["lr"] = rate(step, total)
            optimizer.zero_grad()
            scores = model(augment(x[i:i + batch_size]))
            loss = F.cross_entropy(scores, y[i:i + batch_size])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            step += 1
        history.append(sum(losses) / len(losses))
    return history
""",
            "loss",
        ),
    ),
    variants=(
        """
def fit(model, x, y, epochs, batch_size, augment, rate):
    total = epochs * -(-len(x) // batch_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1.0, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate(step, total) if step < total else 0.0)
    model.train()
    history = []
    for epoch in range(epochs):
        shuffled = torch.randperm(len(x))
        images, labels = augment(x[shuffled]), y[shuffled]
        running = 0.0
        for xb, yb in zip(images.split(batch_size), labels.split(batch_size)):
            loss = F.cross_entropy(model(xb), yb)
            model.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            running += loss.item() * len(xb)
        history.append(running / len(x))
    return history
""",
        """
def fit(model, x, y, epochs, batch_size, augment, rate):
    from torch.utils.data import DataLoader, TensorDataset
    loader = DataLoader(TensorDataset(x, y), batch_size=batch_size, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, nesterov=True, momentum=0.9, weight_decay=5e-4)
    criterion, history, step = nn.CrossEntropyLoss(), torch.zeros(epochs), 0
    for epoch in range(epochs):
        for images, labels in loader:
            model.train()
            for group in optimizer.param_groups:
                group["lr"] = rate(step, epochs * len(loader))
            loss = criterion(model(augment(images)), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            history[epoch] += loss.detach() / len(loader)
            step += 1
    return history
""",
    ),
)


def practice_curves(epochs: int = 20) -> dict[str, dict[str, list[float]]]:
    """Three pairs of learning curves to practise reading: {'A' | 'B' | 'C': {'train': […], 'validation': […]}}.

    Losses per epoch, drawn by formula; no training stands behind them. One run overfits, one underfits, one is sound.
    """
    t = [e / epochs for e in range(1, epochs + 1)]

    def wobble(e: int, size: float) -> float:
        return size * math.sin(2.4 * e) * math.cos(0.7 * e)

    return {
        "A": {
            "train": [2.0 * math.exp(-5.2 * u) + 0.42 + wobble(e, 0.008) for e, u in enumerate(t)],
            "validation": [2.0 * math.exp(-4.8 * u) + 0.50 + wobble(e + 3, 0.012) for e, u in enumerate(t)],
        },
        "B": {
            "train": [0.62 * math.exp(-2.2 * u) + 1.55 + wobble(e, 0.008) for e, u in enumerate(t)],
            "validation": [0.60 * math.exp(-2.2 * u) + 1.59 + wobble(e + 5, 0.012) for e, u in enumerate(t)],
        },
        "C": {
            "train": [2.1 * math.exp(-4.0 * u) + 0.02 + wobble(e, 0.004) for e, u in enumerate(t)],
            "validation": [3.2 * math.exp(-10 * u) + 0.3 + 1.6 * u + wobble(e + 1, 0.004) for e, u in enumerate(t)],
        },
    }


def _probe_read_curves(answer: Any) -> None:
    curves = practice_curves()
    overfits, underfits = "C", "B"
    validation, train = curves[overfits]["validation"], curves[overfits]["train"]
    best = validation.index(min(validation)) + 1
    gap = validation[-1] - train[-1]
    wanted = ("overfits", "underfits", "best_epoch", "gap")
    if not isinstance(answer, Mapping):
        raise Wrong("not_a_dict", kind=type(answer).__name__)
    if any(
        answer.get(key) is None or answer.get(key) is Ellipsis or answer.get(key) is NotImplemented for key in wanted
    ):
        if all(
            answer.get(key) is None or answer.get(key) is Ellipsis or answer.get(key) is NotImplemented
            for key in wanted
        ):
            raise Wrong("not_started")
        raise Wrong("unanswered", missing=next(k for k in wanted if answer.get(k) in (None, ..., NotImplemented)))
    over, under = (str(answer[key]).strip().upper() for key in ("overfits", "underfits"))
    for given in (over, under):
        if given not in curves:
            raise Wrong("letters", got=given)
    if (over, under) == (underfits, overfits):
        raise Wrong("swapped")
    if over != overfits:
        raise Wrong("overfits", got=over)
    if under != underfits:
        raise Wrong("underfits", got=under)
    try:
        epoch, got_gap = float(answer["best_epoch"]), float(answer["gap"])
    except (TypeError, ValueError):
        raise Wrong("numbers") from None
    if epoch == best - 1:
        raise Wrong("from_zero", got=int(epoch))
    if epoch in (len(validation), len(validation) - 1):
        raise Wrong("last_epoch", got=int(epoch))
    if epoch != best:
        raise Wrong("best_epoch", got=epoch)
    if math.isclose(got_gap, -gap, abs_tol=0.12):
        raise Wrong("gap_sign", got=got_gap)
    if math.isclose(got_gap, validation[best - 1] - train[best - 1], abs_tol=0.12):
        raise Wrong("gap_at_best")
    if not math.isclose(got_gap, gap, abs_tol=0.1):
        raise Wrong("gap", got=got_gap)


read_curves = Exercise(
    name="read_curves",
    lesson="02",
    probe=_probe_read_curves,
    hints={
        "not_a_dict": Hint(
            "keep the dict of the stub, and fill in its values (this was: {kind}).",
            "`read_curves = dict(overfits=…, …)`, not a {kind}.",
        ),
        "unanswered": Hint(
            "one answer is still missing: {missing}.",
            "fill in {missing}; the figure has all you need.",
        ),
        "letters": Hint(
            "the runs are called A, B and C; you wrote {got}.",
            'write one letter in quotes, like "A" (you wrote {got}).',
        ),
        "swapped": Hint(
            "the other way round. Which run learns the training pictures by heart, and which learns too little of them?",
            "overfits: training loss near 0 while validation rises. Underfits: both stay high. You have them swapped.",
        ),
        "overfits": Hint(
            "{got} is not the one. Look for a run whose training loss keeps falling while its validation loss rises.",
            "look at the right edge of {got}: its two lines are close. In the run that overfits they part.",
        ),
        "underfits": Hint(
            "{got} is not the one. Look for a run whose training loss itself stays high.",
            "compare the blue lines at the right edge; the highest belongs to the run that underfits, and {got} is lower.",
        ),
        "numbers": Hint(
            "best_epoch and gap are numbers.",
            "write them without quotes, for example `best_epoch=12, gap=0.5`.",
        ),
        "from_zero": Hint(
            "nearly: the figure counts epochs from 1, and {got} is one too early. Did you use index() on the list?",
            "list.index counts from 0; add 1 to get the epoch ({got} is the index).",
        ),
        "last_epoch": Hint(
            "at epoch {got} the training loss is lowest. Which loss tells how it does on new pictures?",
            "take the lowest point of the validation line of the run that overfits, not of the training line (epoch {got}).",
        ),
        "best_epoch": Hint(
            "epoch {got:.0f} is not the lowest point of the validation loss.",
            '`values = curves[…]["validation"]`, then `values.index(min(values)) + 1` (not {got:.0f}).',
        ),
        "gap_sign": Hint(
            "the size is right, the sign is not: validation minus training.",
            "validation is the higher one here, so the gap is positive.",
        ),
        "gap_at_best": Hint(
            "that is the gap at the best epoch. The question is about the last one.",
            "take both lists at `[-1]`.",
        ),
        "gap": Hint(
            "the gap at the last epoch is not {got:.2f}. Read both lines at the right edge of the run that overfits.",
            '`curves[…]["validation"][-1] - curves[…]["train"][-1]`, to within 0.1 (you have {got:.2f}).',
        ),
    },
    push=(
        "Overfitting: good on pictures that it has seen, worse and worse on others. Underfitting: poor on both.",
        "The best epoch is where the validation loss is lowest. The gap is validation minus training loss at the last epoch.",
        'You may compute the numbers: `curves["A"]["validation"]` is a plain list.',
    ),
    mistakes=(
        KnownMistake(
            "under and over swapped",
            """
read_curves = dict(overfits="B", underfits="C", best_epoch=6, gap=1.8)
""",
            "swapped",
        ),
        KnownMistake(
            "epoch from list.index",
            """
read_curves = dict(overfits="C", underfits="B", best_epoch=5, gap=1.84)
""",
            "from_zero",
        ),
        KnownMistake(
            "lowest training loss",
            """
read_curves = dict(overfits="C", underfits="B", best_epoch=20, gap=1.84)
""",
            "last_epoch",
        ),
        KnownMistake(
            "gap at the best epoch",
            """
read_curves = dict(overfits="C", underfits="B", best_epoch=6, gap=0.28)
""",
            "gap_at_best",
        ),
        KnownMistake(
            "training minus validation",
            """
read_curves = dict(overfits="C", underfits="B", best_epoch=6, gap=-1.8)
""",
            "gap_sign",
        ),
        KnownMistake(
            "the sound run taken for overfitting",
            """
read_curves = dict(overfits="A", underfits="B", best_epoch=6, gap=1.8)
""",
            "overfits",
        ),
    ),
    variants=(
        """
from labkit.learn.exercises.cifar10_exercise import practice_curves
values = practice_curves()["C"]
read_curves = {"overfits": "c", "underfits": "b",
               "best_epoch": torch.tensor(values["validation"]).argmin() + 1,
               "gap": torch.tensor(values["validation"][-1] - values["train"][-1])}
""",
        'read_curves = dict(underfits="B", overfits="C", best_epoch=6.0, gap=1.8)',
    ),
    prepare=None,
)


def _probe_beat_target(answer: Any, x: Tensor, y: Tensor, target: float) -> None:
    if isinstance(answer, (int, float)) and not isinstance(answer, bool):
        raise Wrong("a_number", got=answer)
    if not isinstance(answer, nn.Module):
        raise Wrong("not_a_model", kind=type(answer).__name__)
    parameter = next(answer.parameters(), None)
    device = x.device if parameter is None else parameter.device
    was_training = answer.training
    answer.eval()
    try:
        with torch.no_grad():
            guess = torch.cat([answer(part.to(device)).argmax(1).cpu() for part in x.split(500)])
    finally:
        answer.train(was_training)
    labels = y.cpu()
    accuracy = float((guess == labels).double().mean())
    classes = int(guess.unique().numel())
    if accuracy >= target:
        return
    values = {"got": accuracy, "target": target, "missing": 100 * (target - accuracy)}
    if classes == 1:
        raise Wrong("one_class", **values)
    if accuracy < 0.2:
        raise Wrong("chance", **values)
    if accuracy < target - 0.08:
        raise Wrong("below", **values)
    raise Wrong("close", **values)


def toy_task() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """A task that a small CNN learns in about a second: ten colours. Normalised pictures [N, 3, 32, 32] and labels, train, then test."""
    draw = torch.Generator().manual_seed(5)
    colours = (
        torch.tensor([[(k >> c) & 1 for c in range(3)] for k in range(8)] + [[0.5, 0, 1], [1, 0.5, 0]]) * 2.0 - 1.0
    )
    y = torch.arange(560) % 10
    x = colours[y].view(-1, 3, 1, 1) + 0.5 * torch.randn(560, 3, 32, 32, generator=draw)
    return x[:400], y[:400], x[400:], y[400:]


def _prepare_beat_target(namespace: Mapping[str, Any]) -> Prepared:
    """Train with the answer on the toy task, and hand over what it gave back, as the notebook does on the real one."""
    answer = namespace["beat_target"]
    train_x, train_y, test_x, test_y = toy_task()
    result = attempt(answer, train_x, train_y, 4, 0)
    return (result, test_x, test_y), {"target": 0.9}


_USES_OWN_PIECES = """
def beat_target(train_x, train_y, epochs, seed):
    torch.manual_seed(seed)
    model = small_cnn(8)
    history = fit(model, train_x, train_y, epochs, 50, augment, lambda step, total: learning_rate(step, total, 0.05, total // 5))
    return {result}
"""

beat_target = Exercise(
    name="beat_target",
    lesson="02",
    probe=_probe_beat_target,
    hints={
        "returned_none": Hint(
            "`beat_target` gives back None. Is the `return` missing?",
            "the last line of `beat_target` must be `return model`: the model was trained, and then forgotten.",
        ),
        "rate_signature": Hint(
            "`fit` calls `rate(step, total)` with two arguments, and your `learning_rate` needs four. "
            "Who tells it the peak and the warm-up?",
            "hand `fit` a function of two arguments that fills in the others: "
            "`lambda step, total: learning_rate(step, total, 0.05, total // 5)`.",
        ),
        "rate_is_a_number": Hint(
            "`fit` wants a function that it can ask before each step, and got a single number or nothing.",
            "no call when you hand it over: `lambda step, total: learning_rate(step, total, 0.05, total // 5)` is a function.",
        ),
        "a_number": Hint(
            "hand over the trained model: the check measures it itself (this was the number {got:.3f}).",
            "`beat_target` ends with `return model` (this was the number {got:.3f}).",
        ),
        "not_a_model": Hint(
            "hand over the trained model; this was a {kind}.",
            "`beat_target` ends with `return model`, the nn.Module that was trained, not a {kind}.",
        ),
        "one_class": Hint(
            "your model gives the same class to every picture ({got:.1%}). A rate that is far too high does that.",
            "divide the peak rate by 10, and look at the training loss of each epoch: it should fall from about 2.3.",
        ),
        "chance": Hint(
            "{got:.1%} is about what guessing gives. Was this model trained, and on normalised pictures?",
            "print what `fit` gave back: the loss should fall. If it does, is it this model that you return? ({got:.1%} now)",
        ),
        "below": Hint(
            "{got:.1%}, and the target is {target:.1%}. It learns; look whether it underfits (training loss high) or overfits.",
            "training loss still high: a higher peak rate, batch norm, more width or epochs. Low: augment. "
            "{got:.1%} of {target:.1%} so far.",
        ),
        "close": Hint(
            "{got:.1%}: {missing:.1f} points to the target of {target:.1%}. You are nearly there.",
            "try twice the peak rate, batches half as large, or batch norm after each convolution; "
            "{missing:.1f} points are missing to {target:.1%}.",
        ),
    },
    push=(
        "Put your own pieces together: small_cnn, augment, learning_rate, fit.",
        "Watch the training loss. High at the end: it underfits, so more rate, width or epochs. Low, and still poor: augment.",
        "Batch norm after each convolution and a peak rate of 0.05 to 0.3 for SGD with momentum are a good start.",
    ),
    mistakes=(
        KnownMistake(
            "nothing given back",
            """
def beat_target(train_x, train_y, epochs, seed):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Flatten(), nn.Linear(3072, 10))
    plain = torch.optim.SGD(model.parameters(), lr=0.01)
    F.cross_entropy(model(train_x), train_y).backward()
    plain.step()
""",
            "returned_none",
        ),
        KnownMistake(
            "the four-argument learning_rate",
            """
def beat_target(train_x, train_y, epochs, seed):
    torch.manual_seed(seed)
    model = small_cnn(8)
    fit(model, train_x, train_y, epochs, 50, augment, learning_rate)
    return model
""",
            "rate_signature",
        ),
        KnownMistake(
            "a number for the rate",
            """
def beat_target(train_x, train_y, epochs, seed):
    torch.manual_seed(seed)
    model = small_cnn(8)
    fit(model, train_x, train_y, epochs, 50, augment, learning_rate(0, 100, 0.05, 20))
    return model
""",
            "rate_is_a_number",
        ),
        KnownMistake(
            "the rate forgotten",
            """
def beat_target(train_x, train_y, epochs, seed):
    torch.manual_seed(seed)
    model = small_cnn(8)
    fit(model, train_x, train_y, epochs, 50, augment)
    return model
""",
            "raised",
        ),
        KnownMistake("gives back the losses", _USES_OWN_PIECES.replace("{result}", "history"), "not_a_model"),
        KnownMistake(
            "gives back the accuracy",
            _USES_OWN_PIECES.replace("{result}", "float(evaluate(model, train_x, train_y)[1])"),
            "a_number",
        ),
        KnownMistake(
            "a rate so high that one class is left",
            """
def beat_target(train_x, train_y, epochs, seed):
    torch.manual_seed(seed)
    model = small_cnn(8)
    optimizer = torch.optim.SGD(model.parameters(), lr=1000.0)
    for part in torch.arange(300).split(50):
        optimizer.zero_grad()
        F.cross_entropy(model(train_x[part]), train_y[part]).backward()
        optimizer.step()
    return model
""",
            "one_class",
        ),
        KnownMistake(
            "a rate a thousand times too low",
            """
def beat_target(train_x, train_y, epochs, seed):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Flatten(), nn.Linear(3072, 10))
    with torch.no_grad():
        model[1].weight.copy_(0.02 * torch.randn(10, 3072))
    fit(model, train_x, train_y, 1, 50, augment, lambda step, total: 1e-7)
    return model
""",
            "chance",
        ),
        KnownMistake(
            "stopped far too early",
            """
def beat_target(train_x, train_y, epochs, seed):
    torch.manual_seed(seed)
    model = small_cnn(8)
    few = torch.arange(len(train_y))[train_y < 5][:100]
    fit(model, train_x[few], train_y[few], 6, 20, augment, lambda step, total: learning_rate(step, total, 0.05, total // 5))
    return model
""",
            "below",
        ),
        KnownMistake(
            "three classes taken for one",
            """
def beat_target(train_x, train_y, epochs, seed):
    torch.manual_seed(seed)
    model = small_cnn(8)
    y = train_y.clamp(max=7)
    fit(model, train_x, y, 5, 50, augment, lambda step, total: learning_rate(step, total, 0.05, total // 5))
    return model
""",
            "below",
        ),
    ),
    variants=(
        """
def beat_target(train_x, train_y, epochs, seed):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(80):
        optimizer.zero_grad()
        F.cross_entropy(model(train_x), train_y).backward()
        optimizer.step()
    return model
""",
    ),
    prepare=_prepare_beat_target,
    errors={
        "required positional arguments: 'peak' and 'warmup'": "rate_signature",
        "required positional argument: 'warmup'": "rate_signature",
        "required positional argument: 'peak'": "rate_signature",
        "object is not callable": "rate_is_a_number",
    },
    of_result=True,
)
