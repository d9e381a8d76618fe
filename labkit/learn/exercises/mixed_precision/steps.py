"""One training step under autocast: what belongs inside the region, and what does not."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call


class Step:
    """One call of a learner's step on a small network; notes what ran in which format, and in which order."""

    def __init__(self, answer: Any, dtype: torch.dtype, stale: float = 8.0) -> None:
        draw = torch.Generator().manual_seed(3)
        self.model = nn.Linear(6, 4)
        with torch.no_grad():
            for p in self.model.parameters():
                p.copy_(torch.randn(p.shape, generator=draw))
        self.x = torch.randn(8, 6, generator=draw)
        self.y = torch.randint(0, 4, (8,), generator=draw)
        self.before = [p.detach().clone() for p in self.model.parameters()]
        self.formats: list[torch.dtype] = []
        self.backwards: list[bool] = []  # autocast on while a gradient arrived?
        self.steps = 0
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.125)
        for p in self.model.parameters():
            p.grad = torch.full_like(p, stale)  # left over from an earlier step
        self.stepped: list[Tensor] = []

        def before_step(stepping: torch.optim.Optimizer, *_: Any) -> None:
            if stepping is optimizer:
                self.steps += 1
                self.stepped = [p.grad.detach().clone() for p in self.model.parameters() if p.grad is not None]

        hooks = [
            register_optimizer_step_pre_hook(before_step),
            self.model.register_forward_hook(lambda _m, _i, out: self.formats.append(out.dtype)),
            *(
                p.register_hook(lambda _g: self.backwards.append(torch.is_autocast_enabled("cpu")))
                for p in self.model.parameters()
            ),
        ]
        try:
            self.result = call(answer, self.model, optimizer, F.cross_entropy, self.x, self.y, dtype)
        finally:
            for hook in hooks:
                hook.remove()

    def gradient(self, dtype: torch.dtype) -> list[Tensor]:
        """The gradient that a right step in this format has, from the weights before the step."""
        model = nn.Linear(6, 4)
        with torch.no_grad():
            for p, old in zip(model.parameters(), self.before, strict=True):
                p.copy_(old)
        with torch.amp.autocast("cpu", dtype=dtype):
            loss = F.cross_entropy(model(self.x), self.y)
        loss.backward()
        return [p.grad for p in model.parameters() if p.grad is not None]


def alike(a: list[Tensor], b: list[Tensor], tolerance: float = 0.02) -> bool:
    """Nearly the same vectors? tolerance: share of the length of b."""
    if [t.shape for t in a] != [t.shape for t in b]:
        return False
    first, second = (torch.cat([t.detach().float().flatten() for t in group]) for group in (a, b))
    return bool((first - second).norm() <= tolerance * second.norm())


def _probe_autocast_step(answer: Any) -> None:
    for dtype in (torch.bfloat16, torch.float16):
        step, name = Step(answer, dtype), str(dtype)[6:]
        kinds = {str(p.dtype)[6:] for p in step.model.parameters()}
        if kinds != {"float32"}:
            raise Wrong("weights", got=", ".join(sorted(kinds)))
        if not step.formats:
            raise Wrong("no_forward")
        if step.formats[-1] == torch.float32:
            raise Wrong("no_autocast", format=name)
        if step.formats[-1] != dtype:
            raise Wrong("fixed_format", got=str(step.formats[-1])[6:], format=name)
        if not step.backwards:
            raise Wrong("no_backward")
        if any(step.backwards):
            raise Wrong("backward_inside")
        if step.steps == 0:
            raise Wrong("no_step")
        if step.steps > 1:
            raise Wrong("two_steps", steps=step.steps)
        if not any(bool(g.any()) for g in step.stepped):
            raise Wrong("no_gradient")
        right = step.gradient(dtype)
        if not alike(step.stepped, right):
            stale = [g + 8.0 for g in right]
            raise Wrong("stale" if alike(step.stepped, stale) else "other")
        if not isinstance(step.result, Tensor) or step.result.numel() != 1:
            raise Wrong("not_a_loss", kind=type(step.result).__name__)
        if step.result.dtype != torch.float32:
            raise Wrong("loss_outside", got=str(step.result.dtype)[6:])


autocast_step = Exercise(
    name="autocast_step",
    lesson="03",
    probe=_probe_autocast_step,
    errors={
        "`device_type` of type `str`": "no_device_type",
        "does not require grad": "not_recorded",
        "must have the same dtype": "cast_by_hand",
        "should be the same": "cast_by_hand",
        "expected m1 and m2": "cast_by_hand",
    },
    hints={
        "weights": Hint(
            "the model's weights are {got} after your step. Mixed precision leaves them in float32.",
            "no `model.to(dtype)`, `.half()` or `.bfloat16()`: autocast makes small copies by itself (weights now: {got}).",
        ),
        "no_forward": Hint("the model is never called.", "`loss = loss_fn(model(x), y)` inside the region."),
        "no_autocast": Hint(
            "the forward pass ran in float32, not in {format}. Is the region switched on for the device of x?",
            "`with torch.amp.autocast(x.device.type, dtype=dtype):`; a region for 'cuda' does nothing on a CPU ({format}).",
        ),
        "fixed_format": Hint(
            "asked for {format}, the forward pass ran in {got}.",
            "pass the parameter on: `dtype=dtype`. Without it each device has its own default (now {got}).",
        ),
        "cast_by_hand": Hint(
            "{error}{where}: two formats met. Do you convert x by hand?",
            "leave x and the model as they are; `autocast` converts inside the region ({error}).",
        ),
        "no_backward": Hint("no gradient reaches the weights.", "`loss.backward()` after the region."),
        "backward_inside": Hint(
            "`backward()` runs inside the autocast region. PyTorch advises against it: it needs no region.",
            "end the `with` block after the loss; `loss.backward()` stands one indentation to the left.",
        ),
        "no_step": Hint("the weights never move.", "`optimizer.step()` after `loss.backward()`."),
        "two_steps": Hint(
            "the optimizer makes {steps} steps with one batch.",
            "`optimizer.step()` once, after `backward()` (now {steps} times).",
        ),
        "no_gradient": Hint(
            "at `optimizer.step()` there is no gradient. In which order are `zero_grad()`, `backward()` and `step()` called?",
            "`zero_grad()` first, `backward()` in the middle, `step()` last.",
        ),
        "no_device_type": Hint(
            "`autocast` first wants the kind of device as text, such as 'cpu' or 'cuda'{where}.",
            "`x.device.type` is that text, `x.device` and `dtype` are not: `torch.amp.autocast(x.device.type, dtype=dtype)`.",
        ),
        "not_recorded": Hint(
            "nothing was recorded for `backward()`{where}. Is there a `torch.no_grad()` or a `.detach()`?",
            "no `no_grad`, `inference_mode` or `detach` around the forward pass: `backward()` needs what they leave out ({error}).",
        ),
        "stale": Hint(
            "the step used the gradient of the step before, too.", "`optimizer.zero_grad()` before `backward()`."
        ),
        "not_a_loss": Hint(
            "give back the loss as a tensor with one number (this was: {kind}).",
            "end with `return loss`, not a {kind}.",
        ),
        "loss_outside": Hint(
            "your loss is {got}. Inside the region the loss function would have used float32.",
            "compute the loss inside the `with` block too, so that it is float32, not {got}.",
        ),
        "other": Hint(
            "the gradient at `optimizer.step()` is not that of this batch.",
            "zero_grad, region with model and loss, backward, step: in this order, each once.",
        ),
    },
    push=(
        "Only two things belong inside the region: the model's call and the loss.",
        "`with torch.amp.autocast(x.device.type, dtype=dtype):` then `loss = loss_fn(model(x), y)`; the rest stands after it.",
    ),
    mistakes=(
        KnownMistake(
            "the whole model in half",
            """
def autocast_step(model, optimizer, loss_fn, x, y, dtype):
    model.to(dtype)
    optimizer.zero_grad()
    loss = loss_fn(model(x.to(dtype)), y)
    loss.backward()
    optimizer.step()
    return loss
""",
            "weights",
        ),
        KnownMistake(
            "the device of the copied guide",
            """
def autocast_step(model, optimizer, loss_fn, x, y, dtype):
    optimizer.zero_grad()
    with torch.amp.autocast("cuda", dtype=dtype):
        loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.step()
    return loss
""",
            "no_autocast",
        ),
        KnownMistake(
            "everything inside the region",
            """
def autocast_step(model, optimizer, loss_fn, x, y, dtype):
    optimizer.zero_grad()
    with torch.amp.autocast(x.device.type, dtype=dtype):
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
    return loss
""",
            "backward_inside",
        ),
        KnownMistake(
            "the loss outside",
            """
def autocast_step(model, optimizer, loss_fn, x, y, dtype):
    optimizer.zero_grad()
    with torch.amp.autocast(x.device.type, dtype=dtype):
        out = model(x)
    loss = loss_fn(out, y)
    loss.backward()
    optimizer.step()
    return loss
""",
            "loss_outside",
        ),
        KnownMistake(
            "the format not passed on",
            """
def autocast_step(model, optimizer, loss_fn, x, y, dtype):
    optimizer.zero_grad()
    with torch.amp.autocast(x.device.type):
        loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.step()
    return loss
""",
            "fixed_format",
        ),
        KnownMistake(
            "x converted, the weights not",
            """
def autocast_step(model, optimizer, loss_fn, x, y, dtype):
    optimizer.zero_grad()
    loss = loss_fn(model(x.to(dtype)), y)
    loss.backward()
    optimizer.step()
    return loss
""",
            "cast_by_hand",
        ),
        KnownMistake(
            "no zero_grad",
            """
def autocast_step(model, optimizer, loss_fn, x, y, dtype):
    with torch.amp.autocast(x.device.type, dtype=dtype):
        loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.step()
    return loss
""",
            "stale",
        ),
        KnownMistake(
            "zero_grad between backward and step",
            """
def autocast_step(model, optimizer, loss_fn, x, y, dtype):
    with torch.amp.autocast(x.device.type, dtype=dtype):
        loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss
""",
            "no_gradient",
        ),
        KnownMistake(
            "the step before backward",
            """
def autocast_step(model, optimizer, loss_fn, x, y, dtype):
    optimizer.zero_grad()
    with torch.amp.autocast(x.device.type, dtype=dtype):
        loss = loss_fn(model(x), y)
    optimizer.step()
    loss.backward()
    return loss
""",
            "no_gradient",
        ),
        KnownMistake(
            "the device in place of its kind",
            """
def autocast_step(model, optimizer, loss_fn, x, y, dtype):
    optimizer.zero_grad()
    with torch.amp.autocast(x.device, dtype=dtype):
        loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.step()
    return loss
""",
            "no_device_type",
        ),
        KnownMistake(
            "no_grad, as in an evaluation",
            """
def autocast_step(model, optimizer, loss_fn, x, y, dtype):
    optimizer.zero_grad()
    with torch.no_grad(), torch.amp.autocast(x.device.type, dtype=dtype):
        loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.step()
    return loss
""",
            "not_recorded",
        ),
        KnownMistake(
            "no step",
            """
def autocast_step(model, optimizer, loss_fn, x, y, dtype):
    optimizer.zero_grad()
    with torch.amp.autocast(x.device.type, dtype=dtype):
        loss = loss_fn(model(x), y)
    loss.backward()
    return loss
""",
            "no_step",
        ),
    ),
    variants=(
        """
def autocast_step(model, optimizer, loss_fn, x, y, dtype):
    @torch.autocast(device_type=x.device.type, dtype=dtype)
    def forward():
        return loss_fn(model(x), y)

    loss = forward()
    model.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()
""",
    ),
)
