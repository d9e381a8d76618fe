"""A float16 step with GradScaler and clipping: five calls, and an order that matters."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.exercises.mixed_precision.steps import Step, alike

_FACTOR, _MOST = 1024.0, 0.25


class _Noted(torch.amp.GradScaler):
    """A GradScaler on the CPU that notes the order of its calls."""

    def __init__(self) -> None:
        super().__init__("cpu", init_scale=_FACTOR, growth_interval=1000)
        self.calls: list[str] = []

    def scale(self, outputs: Any) -> Any:
        self.calls.append("scale")
        return super().scale(outputs)

    def unscale_(self, optimizer: torch.optim.Optimizer) -> None:
        self.calls.append("unscale_")
        super().unscale_(optimizer)

    def step(self, optimizer: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> float | None:
        self.calls.append("step")
        return super().step(optimizer, *args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        self.calls.append("update")
        super().update(new_scale)


def _length(gradients: list[Tensor]) -> float:
    return float(torch.cat([g.float().flatten() for g in gradients]).norm())


def _clipped(gradients: list[Tensor]) -> list[Tensor]:
    """What clip_grad_norm_ makes of them."""
    parameters = [nn.Parameter(torch.zeros_like(g)) for g in gradients]
    for p, g in zip(parameters, gradients, strict=True):
        p.grad = g.detach().float().clone()
    nn.utils.clip_grad_norm_(parameters, _MOST)
    return [p.grad for p in parameters if p.grad is not None]


def _probe_scaled_step(answer: Any) -> None:
    scaler = _Noted()

    def with_scaler(model: Any, optimizer: Any, loss_fn: Any, x: Any, y: Any, _dtype: Any) -> Any:
        return answer(model, optimizer, scaler, loss_fn, x, y, _MOST)

    step = Step(with_scaler, torch.float16, stale=8 * _FACTOR)
    calls = scaler.calls
    if not step.formats or step.formats[-1] != torch.float16:
        raise Wrong("no_autocast", got=str(step.formats[-1])[6:] if step.formats else "nothing")
    if "scale" not in calls:
        raise Wrong("no_scale")
    if not step.backwards:
        raise Wrong("no_backward")
    if "step" not in calls:
        raise Wrong("plain_step" if step.steps else "no_step")
    right = step.gradient(torch.float16)
    used = _length(step.stepped) if step.stepped else 0.0
    if not alike(step.stepped, _clipped(right)):
        values = {"got": used, "expected": _MOST}
        with_old = [g + 8.0 for g in right]
        if alike(step.stepped, with_old) or alike(step.stepped, _clipped(with_old)):
            raise Wrong("stale", **values)
        if alike(step.stepped, right):
            by_hand = "unscale_" in calls[: calls.index("step")]
            raise Wrong("clip_too_late" if by_hand else "no_clip", **values)
        raise Wrong("clipped_scaled" if used < 0.1 * _MOST else "other", **values)
    if step.steps == 0:
        raise Wrong("no_step")
    if "update" not in calls:
        raise Wrong("no_update")
    if calls.index("update") < calls.index("step"):
        raise Wrong("update_first")
    if not isinstance(step.result, Tensor) or step.result.numel() != 1:
        raise Wrong("not_a_loss", kind=type(step.result).__name__)
    if float(step.result) > 100:
        raise Wrong("scaled_loss", got=float(step.result), factor=_FACTOR)


scaled_step = Exercise(
    name="scaled_step",
    lesson="03",
    probe=_probe_scaled_step,
    errors={"unscale_() is being called after step()": "unscale_late", "No inf checks were recorded": "plain_step"},
    hints={
        "no_autocast": Hint(
            "the forward pass ran in {got}, not in float16.",
            "`with torch.amp.autocast(x.device.type, dtype=torch.float16):` around model and loss (now {got}).",
        ),
        "no_scale": Hint("the loss is never scaled.", "`scaler.scale(loss).backward()` instead of `loss.backward()`."),
        "no_backward": Hint(
            "no gradient reaches the weights.", "`scaler.scale(loss).backward()`: scale alone computes nothing."
        ),
        "plain_step": Hint(
            "`optimizer.step()` takes the gradients as they are, finite or not.",
            "`scaler.step(optimizer)` instead: it skips the step when a gradient is inf or NaN.",
        ),
        "no_step": Hint("the weights never move.", "`scaler.step(optimizer)` after the clipping."),
        "no_clip": Hint(
            "the gradient at the step has length {got:.2f}; it should have been clipped to {expected:g}.",
            "`nn.utils.clip_grad_norm_(model.parameters(), max_norm)` between unscale_ and step ({got:.2f}, not {expected:g}).",
        ),
        "clip_too_late": Hint(
            "the gradient at the step has length {got:.2f}, not {expected:g}. Does the clipping come after the step?",
            "`unscale_`, clip, `step`: in this order; at the step the length is still {got:.2f} (wanted: {expected:g}).",
        ),
        "clipped_scaled": Hint(
            "the gradient at the step has length {got:.2g} instead of {expected:g}: what was clipped was still multiplied.",
            "`scaler.unscale_(optimizer)` before the clipping; then the length is {expected:g}, not {got:.2g}.",
        ),
        "unscale_late": Hint(
            "`unscale_` comes after `step`: too late, the step has been made{where}.",
            "`unscale_`, clip, `step`, `update`: in this order ({error}).",
        ),
        "no_update": Hint(
            "the factor never changes, and next time `unscale_` will refuse. Which call is missing at the end?",
            "`scaler.update()` as the last call.",
        ),
        "update_first": Hint("`update` belongs after `step`.", "`scaler.step(optimizer)`, then `scaler.update()`."),
        "stale": Hint(
            "the gradient of the step before is still in it.", "`optimizer.zero_grad()` before `backward()`."
        ),
        "not_a_loss": Hint("give back the loss (this was: {kind}).", "end with `return loss`, not a {kind}."),
        "scaled_loss": Hint(
            "you give back {got:,.0f}: the loss times the factor. Nobody can compare that.",
            "keep `loss` as it is and write `scaler.scale(loss).backward()` (factor {factor:g}, you gave back {got:,.0f}).",
        ),
        "other": Hint(
            "the gradient at the step is not the clipped gradient of this batch (length {got:.2g}, expected {expected:g}).",
            "zero_grad, region, scale + backward, unscale_, clip, step, update: each once (length {got:.2g} now, wanted {expected:g}).",
        ),
    },
    push=(
        "Between `backward` and `step` the gradients are multiplied by the factor. Clipping has to see them as they are.",
        "`scaler.scale(loss).backward()`, `scaler.unscale_(optimizer)`, clip, `scaler.step(optimizer)`, `scaler.update()`.",
    ),
    mistakes=(
        KnownMistake(
            "clipped while still multiplied",
            """
def scaled_step(model, optimizer, scaler, loss_fn, x, y, max_norm):
    optimizer.zero_grad()
    with torch.amp.autocast(x.device.type, dtype=torch.float16):
        loss = loss_fn(model(x), y)
    scaler.scale(loss).backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss
""",
            "clipped_scaled",
        ),
        KnownMistake(
            "optimizer.step out of habit",
            """
def scaled_step(model, optimizer, scaler, loss_fn, x, y, max_norm):
    optimizer.zero_grad()
    with torch.amp.autocast(x.device.type, dtype=torch.float16):
        loss = loss_fn(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    scaler.update()
    return loss
""",
            "plain_step",
        ),
        KnownMistake(
            "the loss not scaled",
            """
def scaled_step(model, optimizer, scaler, loss_fn, x, y, max_norm):
    optimizer.zero_grad()
    with torch.amp.autocast(x.device.type, dtype=torch.float16):
        loss = loss_fn(model(x), y)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss
""",
            "no_scale",
        ),
        KnownMistake(
            "no update",
            """
def scaled_step(model, optimizer, scaler, loss_fn, x, y, max_norm):
    optimizer.zero_grad()
    with torch.amp.autocast(x.device.type, dtype=torch.float16):
        loss = loss_fn(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    return loss
""",
            "no_update",
        ),
        KnownMistake(
            "not clipped",
            """
def scaled_step(model, optimizer, scaler, loss_fn, x, y, max_norm):
    optimizer.zero_grad()
    with torch.amp.autocast(x.device.type, dtype=torch.float16):
        loss = loss_fn(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss
""",
            "no_clip",
        ),
        KnownMistake(
            "clipped after the step",
            """
def scaled_step(model, optimizer, scaler, loss_fn, x, y, max_norm):
    optimizer.zero_grad()
    with torch.amp.autocast(x.device.type, dtype=torch.float16):
        loss = loss_fn(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.update()
    return loss
""",
            "clip_too_late",
        ),
        KnownMistake(
            "the scaled loss given back",
            """
def scaled_step(model, optimizer, scaler, loss_fn, x, y, max_norm):
    optimizer.zero_grad()
    with torch.amp.autocast(x.device.type, dtype=torch.float16):
        loss = loss_fn(model(x), y)
    loss = scaler.scale(loss)
    loss.backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss
""",
            "scaled_loss",
        ),
        KnownMistake(
            "no autocast",
            """
def scaled_step(model, optimizer, scaler, loss_fn, x, y, max_norm):
    optimizer.zero_grad()
    loss = loss_fn(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss
""",
            "no_autocast",
        ),
        KnownMistake(
            "no zero_grad",
            """
def scaled_step(model, optimizer, scaler, loss_fn, x, y, max_norm):
    with torch.amp.autocast(x.device.type, dtype=torch.float16):
        loss = loss_fn(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return loss
""",
            "stale",
        ),
    ),
    variants=(
        """
def scaled_step(model, optimizer, scaler, loss_fn, x, y, max_norm):
    model.zero_grad()
    with torch.autocast(x.device.type, torch.float16):
        out = model(x)
    loss = loss_fn(out.float(), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    total = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
    if total > max_norm:
        for p in model.parameters():
            p.grad *= max_norm / total
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()
""",
    ),
)
