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
    if step.steps > 1:
        raise Wrong("two_steps", steps=step.steps)
    right = step.gradient(torch.float16)
    used = _length(step.stepped) if step.stepped else 0.0
    if not alike(step.stepped, _clipped(right)):
        values = {"got": used, "expected": _MOST}
        with_old = [g + 8.0 for g in right]
        if alike(step.stepped, with_old) or alike(step.stepped, _clipped(with_old)):
            raise Wrong("stale", **values)
        if alike(step.stepped, right):
            by_hand = "unscale_" in calls[: calls.index("step")]
            raise Wrong("clip_misplaced" if by_hand else "no_clip", **values)
        if alike(step.stepped, [g / _FACTOR for g in right]):
            raise Wrong("not_scaled", factor=_FACTOR)
        if alike(step.stepped, [g.clamp(-_MOST, _MOST) for g in right]):
            raise Wrong("by_value", **values)
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


_FORWARD = """    optimizer.zero_grad()
    with torch.amp.autocast(x.device.type, dtype=torch.float16):
        loss = loss_fn(model(x), y)
"""
_SCALE, _UNSCALE = "scaler.scale(loss).backward()", "scaler.unscale_(optimizer)"
_CLIP = "nn.utils.clip_grad_norm_(model.parameters(), max_norm)"
_STEP, _UPDATE = "scaler.step(optimizer)", "scaler.update()"
_OWN = "scaler = torch.amp.GradScaler(x.device.type)"


def _slip(what: str, hint: str, *calls: str, forward: str = _FORWARD) -> KnownMistake:
    """A wrong answer: the forward pass, then these calls."""
    lines = "".join(f"    {line}\n" for line in (*calls, "return loss"))
    return KnownMistake(
        what, f"def scaled_step(model, optimizer, scaler, loss_fn, x, y, max_norm):\n{forward}{lines}", hint
    )


scaled_step = Exercise(
    name="scaled_step",
    lesson="03",
    probe=_probe_scaled_step,
    errors={
        "unscale_() is being called after step()": "unscale_late",
        "unscale_() has already been called": "unscale_twice",
        "_scale is None": "scale_late",
        "has no attribute 'unscale'": "no_underscore",
        "No inf checks were recorded": "plain_step",
        "`device_type` of type `str`": "no_device_type",
        "does not require grad": "not_recorded",
    },
    hints={
        "no_autocast": Hint(
            "the forward pass ran in {got}, not in float16.",
            "`with torch.amp.autocast(x.device.type, dtype=torch.float16):` around model and loss (now {got}).",
        ),
        "no_scale": Hint(
            "the `scaler` that your function is given never scales the loss.",
            "`scaler.scale(loss).backward()` instead of `loss.backward()`, with the `scaler` from the parameters.",
        ),
        "not_scaled": Hint(
            "the gradient at the step is {factor:g} times too small: `scale` was called, but `backward()` ran on the loss as it is.",
            "in one line: `scaler.scale(loss).backward()`. `scale` gives back a new tensor, {factor:g} times the loss.",
        ),
        "two_steps": Hint(
            "the weights move {steps} times with one batch. Which call makes a step?",
            "`scaler.step(optimizer)` calls `optimizer.step()` itself; leave the other one out (now {steps} steps).",
        ),
        "by_value": Hint(
            "you clip each number by itself: the whole gradient still has length {got:.2f}, not {expected:g}.",
            "`clip_grad_norm_`, not `clip_grad_value_` (length {got:.2f}, wanted {expected:g}).",
        ),
        "unscale_twice": Hint(
            "`unscale_` is called a second time{where}. Once per step is all that it allows.",
            "`unscale_` once, before the clipping; `scaler.step` knows that it is done ({error}).",
        ),
        "scale_late": Hint(
            "the scaler has not scaled anything yet{where}.",
            "`scaler.scale(loss).backward()` comes first, then `scaler.unscale_(optimizer)` ({error}).",
        ),
        "no_underscore": Hint(
            "the scaler has no `unscale`: its name ends in an underscore, because it works in place{where}.",
            "`scaler.unscale_(optimizer)`, with the underscore.",
        ),
        "no_device_type": Hint(
            "`autocast` first wants the kind of device as text{where}.",
            "`torch.amp.autocast(x.device.type, dtype=torch.float16)`: `x.device.type` is such a text, `x.device` is not.",
        ),
        "not_recorded": Hint(
            "nothing was recorded for `backward()`{where}. Is there a `torch.no_grad()` or a `.detach()`?",
            "no `no_grad`, `inference_mode` or `detach` around the forward pass ({error}).",
        ),
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
        "clip_misplaced": Hint(
            "the gradient at the step has length {got:.2f}, not {expected:g}. Does the clipping come between `unscale_` and `step`?",
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
        "not_a_loss": Hint(
            "give back the loss as a tensor (this was: {kind}).", "end with `return loss`, not a {kind}."
        ),
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
        _slip("clipped while still multiplied", "clipped_scaled", _SCALE, _CLIP, _STEP, _UPDATE),
        _slip("optimizer.step out of habit", "plain_step", _SCALE, _UNSCALE, _CLIP, "optimizer.step()", _UPDATE),
        _slip("both steps", "two_steps", _SCALE, _UNSCALE, _CLIP, _STEP, "optimizer.step()", _UPDATE),
        _slip("the loss not scaled", "no_scale", "loss.backward()", _CLIP, "optimizer.step()"),
        _slip(
            "the product thrown away",
            "not_scaled",
            "loss.backward()",
            "scaler.scale(loss)",
            _UNSCALE,
            _CLIP,
            _STEP,
            _UPDATE,
        ),
        _slip("a scaler of its own", "no_scale", _OWN, _SCALE, _UNSCALE, _CLIP, _STEP, _UPDATE),
        _slip("no update", "no_update", _SCALE, _UNSCALE, _CLIP, _STEP),
        _slip("not clipped", "no_clip", _SCALE, _STEP, _UPDATE),
        _slip(
            "clipped number by number", "by_value", _SCALE, _UNSCALE, _CLIP.replace("norm_(", "value_("), _STEP, _UPDATE
        ),
        _slip("clipped after the step", "clip_misplaced", _SCALE, _UNSCALE, _STEP, _CLIP, _UPDATE),
        _slip("clipped before there is a gradient", "clip_misplaced", _CLIP, _SCALE, _UNSCALE, _STEP, _UPDATE),
        _slip("unscaled twice", "unscale_twice", _SCALE, _UNSCALE, _CLIP, _UNSCALE, _STEP, _UPDATE),
        _slip("unscaled before anything is scaled", "scale_late", _UNSCALE, _SCALE, _CLIP, _STEP, _UPDATE),
        _slip("the underscore forgotten", "no_underscore", _SCALE, "scaler.unscale(optimizer)", _CLIP, _STEP, _UPDATE),
        _slip(
            "the scaled loss given back",
            "scaled_loss",
            "loss = scaler.scale(loss)",
            "loss.backward()",
            _UNSCALE,
            _CLIP,
            _STEP,
            _UPDATE,
        ),
        _slip(
            "no autocast",
            "no_autocast",
            _SCALE,
            _UNSCALE,
            _CLIP,
            _STEP,
            _UPDATE,
            forward="    optimizer.zero_grad()\n    loss = loss_fn(model(x), y)\n",
        ),
        _slip("no zero_grad", "stale", _SCALE, _UNSCALE, _CLIP, _STEP, _UPDATE, forward=_FORWARD.partition("\n")[2]),
    ),
    variants=(
        """
def scaled_step(model, optimizer, scaler, loss_fn, x, y, max_norm):
    optimizer.zero_grad()
    with torch.amp.autocast(x.device.type, dtype=torch.float16):
        loss = loss_fn(model(x), y)
    scaler.scale(loss).backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm * scaler.get_scale())
    scaler.step(optimizer)
    scaler.update()
    return loss
""",
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
