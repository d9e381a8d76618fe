"""The network: sizes, parameters, building one, measuring one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import as_numbers, one_number

_SIZES = (
    (32, 3, 1, 0),
    (32, 3, 1, 1),
    (32, 5, 1, 2),
    (32, 2, 2, 0),
    (32, 3, 2, 1),
    (7, 3, 2, 0),
    (28, 5, 3, 1),
    (8, 8, 1, 0),
    (8, 3, 2, 0),
)


def _right_size(size: int, kernel: int, stride: int, padding: int) -> int:
    return (size + 2 * padding - kernel) // stride + 1


_WRONG_SIZES: dict[str, Callable[[int, int, int, int], float]] = {
    "plus_one": lambda n, k, s, p: (n + 2 * p - k) // s,
    "padding_once": lambda n, k, s, p: (n + p - k) // s + 1,
    "round_up": lambda n, k, s, p: math.ceil((n + 2 * p - k) / s) + 1,
    "rounded": lambda n, k, s, p: round((n + 2 * p - k) / s + 1),
    "stride": lambda n, k, s, p: n + 2 * p - k + 1,
    "stride_last": lambda n, k, s, p: (n + 2 * p - k + 1) // s,
    "padding_ignored": lambda n, k, s, p: (n - k) // s + 1,
}


def _probe_output_size(answer: Any) -> None:
    got: list[float] = []
    fraction = None
    for case in _SIZES:
        value = one_number(call(answer, *case), "not_a_number")
        got.append(value)
        if isinstance(value, float):
            fraction = value if fraction is None else fraction
    right = [_right_size(*case) for case in _SIZES]
    if fraction is not None and all(math.floor(v) == r for v, r in zip(got, right, strict=True)):
        raise Wrong("fraction", got=fraction)
    if got == right:
        if call(answer, 32, 3) != 30:
            raise Wrong("defaults")
        return
    for key, wrong in _WRONG_SIZES.items():
        if all(math.floor(v) == math.floor(wrong(*case)) for v, case in zip(got, _SIZES, strict=True)):
            raise Wrong(key)
    case, value, expected = next((c, v, r) for c, v, r in zip(_SIZES, got, right, strict=True) if v != r)
    raise Wrong("values", case=case, got=value, expected=expected)


output_size = Exercise(
    name="output_size",
    lesson="02",
    probe=_probe_output_size,
    hints={
        "not_a_number": Hint(
            "give back one whole number (this was: {kind}).",
            "end with `return` and a number, not a {kind}.",
        ),
        "fraction": Hint(
            "a feature map has a whole number of pixels, and you gave {got}. What happens to a last, incomplete step?",
            "use `//` instead of `/`: a step that does not fit is left out (you gave {got}).",
        ),
        "defaults": Hint(
            "`output_size(32, 3)` should be 30: keep the defaults of the stub.",
            "stride is 1 and padding 0 unless someone says otherwise: `def output_size(size, kernel, stride=1, padding=0)`.",
        ),
        "plus_one": Hint(
            "you count the steps of the kernel. How many places is it at, the first one included?",
            "add 1 at the end: a kernel as large as the picture takes no step and still gives one pixel.",
        ),
        "padding_once": Hint("padding is added on both sides.", "use `size + 2 * padding`."),
        "padding_ignored": Hint(
            "padding makes the picture larger before the kernel moves.",
            "start from `size + 2 * padding`.",
        ),
        "round_up": Hint(
            "you round up. A kernel that would stand half outside does not count.",
            "round down: `(…) // stride + 1`.",
        ),
        "rounded": Hint(
            "`round` goes up or down, whichever is nearer. A step that does not fit whole is no step.",
            "round down, always: `(…) // stride + 1`.",
        ),
        "stride": Hint(
            "right for stride 1. With stride 2 the kernel stands at about half as many places.",
            "divide the way that the kernel can move by the stride: `(…) // stride + 1`.",
        ),
        "stride_last": Hint(
            "nearly: the first place counts in full, only the steps after it are divided by the stride.",
            "first divide, then add 1: `(…) // stride + 1`.",
        ),
        "values": Hint(
            "for (size, kernel, stride, padding) = {case} the answer is {expected}, yours is {got}.",
            "how far can the kernel move (size + 2·padding − kernel)? How many steps fit? Plus the first place. "
            "For {case} that is {expected}, not {got}.",
        ),
    },
    push=(
        "Put the kernel at the left edge. How far can it still move to the right?",
        "It can move by size + 2·padding − kernel pixels. Divide by the stride, round down, and count the first place too.",
    ),
    mistakes=(
        KnownMistake(
            "first place not counted",
            """
def output_size(size, kernel, stride=1, padding=0):
    return (size + 2 * padding - kernel) // stride
""",
            "plus_one",
        ),
        KnownMistake(
            "padding on one side only",
            """
def output_size(size, kernel, stride=1, padding=0):
    return (size + padding - kernel) // stride + 1
""",
            "padding_once",
        ),
        KnownMistake(
            "true division",
            """
def output_size(size, kernel, stride=1, padding=0):
    return (size + 2 * padding - kernel) / stride + 1
""",
            "fraction",
        ),
        KnownMistake(
            "rounded to the nearest",
            """
def output_size(size, kernel, stride=1, padding=0):
    return round((size + 2 * padding - kernel) / stride + 1)
""",
            "rounded",
        ),
        KnownMistake(
            "stride forgotten",
            """
def output_size(size, kernel, stride=1, padding=0):
    return size + 2 * padding - kernel + 1
""",
            "stride",
        ),
        KnownMistake(
            "one added before dividing",
            """
def output_size(size, kernel, stride=1, padding=0):
    return (size + 2 * padding - kernel + 1) // stride
""",
            "stride_last",
        ),
    ),
    variants=(
        """
def output_size(size, kernel, stride=1, padding=0):
    picture = torch.zeros(1, 1, 1, size)
    layer = nn.Conv2d(1, 1, (1, kernel), stride=(1, stride), padding=(0, padding))
    return layer(picture).shape[-1]
""",
        """
def output_size(size, kernel, stride=1, padding=0):
    return len(range(0, size + 2 * padding - kernel + 1, stride))
""",
        """
def output_size(size, kernel, stride=1, padding=0):
    return math.floor((size + 2 * padding - (kernel - 1) - 1) / stride + 1)
""",
        """
def output_size(size, kernel, stride=1, padding=0):
    return (torch.tensor(size + 2 * padding - kernel) // stride + 1).numpy()
""",
    ),
)


class _Tied(nn.Module):
    """Two layers that share one weight, a frozen layer, and batch norm with its buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(6)
        self.first = nn.Linear(6, 6)
        self.second = nn.Linear(6, 6)
        self.second.weight = self.first.weight
        self.frozen = nn.Linear(6, 4)
        self.frozen.requires_grad_(False)


def _probe_count_parameters(answer: Any) -> None:
    simple, full = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Linear(8, 10, bias=False)), _Tied()

    def count(model: nn.Module, keep: Callable[[nn.Parameter], bool]) -> int:
        return sum(p.numel() for p in model.parameters() if keep(p))

    right = [count(m, lambda p: p.requires_grad) for m in (simple, full)]
    no_bias = [count(m, lambda p: p.requires_grad and p.dim() > 1) for m in (simple, full)]
    flags = [p.requires_grad for m in (simple, full) for p in m.parameters()]
    got = [one_number(call(answer, m), "not_a_number") for m in (simple, full)]
    if flags != [p.requires_grad for m in (simple, full) for p in m.parameters()]:
        raise Wrong("flags_changed")
    if got == right:
        return
    if got == [len(list(m.parameters())) for m in (simple, full)]:
        raise Wrong("tensors", got=got[0])
    if got == [sum(len(p) for p in m.parameters()) for m in (simple, full)]:
        raise Wrong("first_dimension", got=got[0])
    if got == no_bias:
        raise Wrong("no_bias")
    if got == [sum(t.numel() for t in m.state_dict().values()) for m in (simple, full)]:
        raise Wrong("state_dict")
    if got == [sum(count(part, lambda p: p.requires_grad) for part in m.modules()) for m in (simple, full)]:
        raise Wrong("counted_twice", got=got[0], expected=right[0])
    if got == [4 * number for number in right]:
        raise Wrong("bytes", got=got[0], expected=right[0])
    if got[0] == right[0] and got[1] == count(full, lambda p: True):
        raise Wrong("frozen")
    if got[0] == right[0]:
        raise Wrong("special", got=got[1], expected=right[1])
    raise Wrong("values", got=got[0], expected=right[0])


count_parameters = Exercise(
    name="count_parameters",
    lesson="02",
    probe=_probe_count_parameters,
    hints={
        "not_a_number": Hint(
            "give back one whole number (this was: {kind}).",
            "end with `return sum(…)`, not a {kind}.",
        ),
        "flags_changed": Hint(
            "your function changed `requires_grad` in the model. Counting must leave the model as it is.",
            "only read `p.requires_grad`, never set it: no `p.requires_grad = True`, no `requires_grad_()`.",
        ),
        "tensors": Hint(
            "you counted the tensors ({got}). Each of them holds many numbers.",
            "add up `p.numel()` over the parameters instead of counting the parameters.",
        ),
        "first_dimension": Hint(
            "len() of a tensor is its first dimension only (you got {got}).",
            "use `p.numel()`, the number of its elements, in place of `len(p)`.",
        ),
        "no_bias": Hint(
            "weights alone: the biases are trained too.",
            "take every parameter, also those with one dimension.",
        ),
        "state_dict": Hint(
            "the state dict also holds batch norm's running statistics, which no optimizer trains, and what is frozen.",
            "go through `model.parameters()` and keep those with `p.requires_grad`.",
        ),
        "counted_twice": Hint(
            "each parameter is counted with its layer and again with the model around it ({got}, not {expected}).",
            "`model.parameters()` goes through all layers by itself: no loop over `model.modules()` around it.",
        ),
        "bytes": Hint(
            "those are bytes, four for each number ({got}). How many numbers are there?",
            "`p.numel()` alone, not times `p.element_size()` ({expected}, not {got}).",
        ),
        "frozen": Hint(
            "right for a plain model. But frozen parameters are not trained: leave them out.",
            "count a parameter only if `p.requires_grad`.",
        ),
        "special": Hint(
            "right for a plain model; a model with shared and frozen layers has {expected}, you have {got}.",
            "`model.parameters()` gives a shared weight once, and `p.requires_grad` is False for a frozen one: "
            "{expected}, not {got}.",
        ),
        "values": Hint(
            "a Conv2d(3, 8, 3) and a Linear(8, 10) without bias have {expected} together, you have {got}.",
            "add up `p.numel()` for every p of `model.parameters()` that has `p.requires_grad`: {expected}, not {got}.",
        ),
    },
    push=(
        "`model.parameters()` gives the tensors; `p.numel()` says how many numbers one holds.",
        "A parameter is trained only if `p.requires_grad` is True.",
    ),
    mistakes=(
        KnownMistake(
            "counts the tensors",
            """
def count_parameters(model):
    return len(list(model.parameters()))
""",
            "tensors",
        ),
        KnownMistake(
            "counts frozen parameters",
            """
def count_parameters(model):
    return sum(p.numel() for p in model.parameters())
""",
            "frozen",
        ),
        KnownMistake(
            "goes through the state dict",
            """
def count_parameters(model):
    return sum(t.numel() for t in model.state_dict().values())
""",
            "state_dict",
        ),
        KnownMistake(
            "layers and the model around them",
            """
def count_parameters(model):
    return sum(p.numel() for layer in model.modules() for p in layer.parameters() if p.requires_grad)
""",
            "counted_twice",
        ),
        KnownMistake(
            "bytes",
            """
def count_parameters(model):
    return sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad)
""",
            "bytes",
        ),
        KnownMistake(
            "len instead of numel",
            """
def count_parameters(model):
    return sum(len(p) for p in model.parameters())
""",
            "first_dimension",
        ),
        KnownMistake(
            "prints and returns nothing",
            """
def count_parameters(model):
    print(sum(p.numel() for p in model.parameters() if p.requires_grad))
""",
            "returned_none",
        ),
        KnownMistake(
            "thaws everything and counts it",
            """
def count_parameters(model):
    total = 0
    for p in model.parameters():
        p.requires_grad = True
        total += p.numel() if p.requires_grad else 0
    return total
""",
            "flags_changed",
        ),
        KnownMistake(
            "gives back text",
            """
def count_parameters(model):
    return f"{sum(p.numel() for p in model.parameters() if p.requires_grad):,}"
""",
            "not_a_number",
        ),
    ),
    variants=(
        """
def count_parameters(model):
    total = 0
    for name, p in model.named_parameters():
        if p.requires_grad:
            total += math.prod(p.shape)
    return total
""",
        """
def count_parameters(model):
    return torch.tensor([p.numel() for p in model.parameters() if p.requires_grad]).sum()
""",
        """
import numpy as np

def count_parameters(model):
    return sum(np.prod(p.shape) for p in model.parameters() if p.requires_grad)
""",
        """
import numpy as np

def count_parameters(model):
    return np.array([p.numel() for p in model.parameters() if p.requires_grad]).sum(keepdims=True)
""",
    ),
)


_LARGE = 1_500_000


def _home(model: nn.Module) -> torch.device:
    """The device on which a model lives."""
    first = next(model.parameters(), None)
    return torch.device("cpu") if first is None else first.device


def _all_one(values: Tensor) -> bool:
    return bool(((values - 1).abs() < 1e-4).all())


def _in_a_plain_list(model: nn.Module) -> str:
    """The name of an attribute that hides modules from the model in a list, tuple or dict; '' where there is none."""
    known = {id(m) for m in model.modules()}
    for module in model.modules():
        for name, value in vars(module).items():
            if name.startswith("_") or not isinstance(value, (list, tuple, dict)):
                continue
            held = value.values() if isinstance(value, dict) else value
            if any(isinstance(v, nn.Module) and id(v) not in known for v in held):
                return name
    return ""


def _first_call(model: nn.Module, x: Tensor) -> Any:
    """The model's answer; where its layers do not fit together, Wrong that names the layer and what reached it."""
    reached: list[tuple[nn.Module, list[int]]] = []

    def arrives(layer: nn.Module, inputs: tuple[Any, ...]) -> None:
        if inputs and isinstance(inputs[0], Tensor):
            reached.append((layer, list(inputs[0].shape)))

    handles = [m.register_forward_pre_hook(arrives) for m in model.modules() if next(m.children(), None) is None]
    try:
        return model(x)
    except NotImplementedError as error:
        raise Wrong("no_forward") from error
    except (RuntimeError, ValueError) as error:
        if not reached or "device" in str(error):
            raise
        layer, shape = reached[-1]
        _name_the_misfit(layer, shape, error)
        raise
    finally:
        for handle in handles:
            handle.remove()


def _name_the_misfit(layer: nn.Module, shape: list[int], error: Exception) -> None:
    text = str(error).splitlines()[0]
    kind = type(layer).__name__
    if "too small" in text or "greater than actual input" in text:
        raise Wrong("map_too_small", layer=kind, got=shape[1:]) from error
    if isinstance(layer, nn.Linear) and shape[-1] != layer.in_features:
        if len(shape) > 2:
            raise Wrong("no_flatten", got=shape[1:], product=math.prod(shape[1:])) from error
        raise Wrong("does_not_fit", wants=layer.in_features, got=shape[-1]) from error
    if isinstance(layer, nn.Conv2d) and len(shape) != 4:
        raise Wrong("flat_too_early", layer=kind, got=shape) from error
    if isinstance(layer, nn.Conv2d) and shape[1] != layer.in_channels:
        raise Wrong(
            "channels",
            layer=f"Conv2d({layer.in_channels}, {layer.out_channels}, …)",
            wants=layer.in_channels,
            got=shape[1],
        ) from error
    if isinstance(layer, nn.BatchNorm2d):
        if len(shape) != 4:
            raise Wrong("flat_too_early", layer=kind, got=shape) from error
        if shape[1] != layer.num_features:
            raise Wrong(
                "channels", layer=f"BatchNorm2d({layer.num_features})", wants=layer.num_features, got=shape[1]
            ) from error


def _probe_small_cnn(answer: Any) -> None:
    if isinstance(answer, nn.Module):
        raise Wrong("a_model")
    model = call(answer, 8)
    if not isinstance(model, nn.Module):
        raise Wrong("not_a_model", kind=type(model).__name__)
    again = call(answer, 8)
    if again is model or {id(p) for p in model.parameters()} & {id(p) for p in again.parameters()}:
        raise Wrong("same_model")
    if name := _in_a_plain_list(model):
        raise Wrong("plain_list", where=name)
    x = torch.randn(6, 3, 32, 32, device=_home(model))
    model.train()
    out = _first_call(model, x)
    if out is None:
        raise Wrong("returned_none")
    if not isinstance(out, Tensor) or tuple(out.shape) != (6, 10):
        raise Wrong("shape", got=list(out.shape) if isinstance(out, Tensor) else type(out).__name__)
    model.eval()
    with torch.no_grad():
        out = model(x)
        if not torch.equal(model(x), out):
            raise Wrong("random_in_eval")
        if _all_one(out.exp().sum(1)) or (bool((out >= 0).all()) and _all_one(out.sum(1))):
            raise Wrong("softmax")
        if bool((out >= 0).all()):
            raise Wrong("relu_last")
        if not any(isinstance(m, nn.Conv2d) for m in model.modules()):
            raise Wrong("no_convolution")
        a, b = torch.randn(2, 6, 3, 32, 32).to(x.device)
        bend = model(a) + model(b) - model(a + b) - model(torch.zeros_like(a))
        if float(bend.abs().max()) < 1e-4 * float(model(a).abs().max()):  # float32, as the model is: not converted
            raise Wrong("straight")
    if sum(isinstance(m, nn.Conv2d) for m in model.modules()) < 2:
        raise Wrong("one_convolution")
    wider = call(answer, 16)
    _first_call(wider, x)  # lazy layers get their shape only now
    small, large = (sum(p.numel() for p in m.parameters()) for m in (model, wider))
    if large <= small:
        raise Wrong("width_ignored")
    if large > _LARGE:
        raise Wrong("too_large", got=large, most=_LARGE)


small_cnn = Exercise(
    name="small_cnn",
    lesson="02",
    probe=_probe_small_cnn,
    errors={"before Module.__init__() call": "no_super"},
    hints={
        "a_model": Hint(
            "this is a model already. Hand over the function that builds one.",
            'write `check("small_cnn", small_cnn)`, without calling it.',
        ),
        "not_a_model": Hint(
            "the function should give back an nn.Module, not a {kind}.",
            "`return nn.Sequential(…)` gives back a model; layers in a list are not one (this was: {kind}).",
        ),
        "no_super": Hint(
            "your class does not tell nn.Module that it begins. The first line of `__init__` is missing{where}.",
            "the first line of `__init__` is `super().__init__()`; the layers come after it.",
        ),
        "no_forward": Hint(
            "your module has no `forward`, or a misspelt one.",
            "inside your class: `def forward(self, x): …; return x`, at the same indentation as `__init__`.",
        ),
        "does_not_fit": Hint(
            "a linear layer expects {wants} numbers for each picture and gets {got}. How large is the map when it is flattened?",
            "do the arithmetic of exercise 3 layer by layer (channels × rows × columns = {got}), or let nn.AdaptiveAvgPool2d(1) "
            "make every map 1×1 before you flatten.",
        ),
        "no_flatten": Hint(
            "a linear layer got a map of shape {got}; it wants one row of numbers for each picture. What is missing before it?",
            "put `nn.Flatten()` before the linear layer: it makes {product} numbers of {got}.",
        ),
        "channels": Hint(
            "`{layer}` expects {wants} channels, and {got} arrive. Each layer takes what the one before it puts out.",
            "the second number of a Conv2d is the first number of the next: where `{layer}` stands, {got} channels come in.",
        ),
        "flat_too_early": Hint(
            "a {layer} got {got}: there are no rows and columns left. Was the flatten too early?",
            "first all convolutions and poolings, then `nn.Flatten()`, then the linear layer.",
        ),
        "map_too_small": Hint(
            "nothing is left for a {layer}: a map of {got} reaches it. Each pooling halves the side.",
            "32 halves five times at most: take out a pooling, or give the convolutions `padding=1` ({layer} gets {got}).",
        ),
        "same_model": Hint(
            "two calls gave back the same layers. Each call should build a new model with new weights.",
            "make all layers inside the function, not above it: `def small_cnn(width=16): return nn.Sequential(…)`.",
        ),
        "plain_list": Hint(
            "the layers in `{where}` are hidden in a plain Python container: the model does not know that they are its own, and an "
            "optimizer would never train them.",
            "use `nn.ModuleList(…)` for `{where}` (or `nn.Sequential(*layers)`), so that `model.parameters()` finds them.",
        ),
        "shape": Hint(
            "6 pictures should give [6, 10], ten scores for each; yours gives {got}.",
            "flatten everything but the first dimension (`nn.Flatten()`), and end with `nn.Linear(…, 10)`; you give {got}.",
        ),
        "random_in_eval": Hint(
            "in eval mode the same pictures gave two different answers. What in your model is still random?",
            "use the module nn.Dropout, which eval() switches off, not F.dropout without `training=self.training`.",
        ),
        "softmax": Hint(
            "your scores are probabilities already. F.cross_entropy does the softmax itself; twice makes learning slow.",
            "take the softmax out: the last layer is the plain `nn.Linear(…, 10)`.",
        ),
        "relu_last": Hint(
            "every score is zero or more: there is a ReLU after the last layer, and it hides half of what the model says.",
            "end with the plain `nn.Linear(…, 10)`, no ReLU after it.",
        ),
        "no_convolution": Hint(
            "there is no nn.Conv2d in it. This one should see neighbourhoods, not a long row of pixels.",
            "begin with `nn.Conv2d(3, width, 3, padding=1)`.",
        ),
        "straight": Hint(
            "without something bent between them all your layers are one linear map. What is missing between two convolutions?",
            "put `nn.ReLU()` after every convolution.",
        ),
        "one_convolution": Hint(
            "one convolution sees 3 to 5 pixels at a time. Stack at least two, with pooling between them.",
            "add a second block: `nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)`.",
        ),
        "width_ignored": Hint(
            "width 8 and width 16 give the same number of parameters. Use `width` for the channels.",
            "`nn.Conv2d(3, width, …)`, then `nn.Conv2d(width, 2 * width, …)` and so on.",
        ),
        "too_large": Hint(
            "{got:,} parameters at width 16 will keep you waiting; stay under {most:,}. Where are most of them?",
            "most sit in the linear layer after a large map: pool before you flatten ({got:,} now, at most {most:,}).",
        ),
    },
    push=(
        "Two or three blocks of convolution, ReLU, pooling; then flatten; then one linear layer with ten outputs.",
        "A block can be `nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(), nn.MaxPool2d(2)`.",
        "After three poolings a 32×32 picture is 4×4; `nn.AdaptiveAvgPool2d(1)` or MaxPool makes it 1×1 before the linear layer.",
    ),
    mistakes=(
        KnownMistake(
            "super().__init__() forgotten",
            """
class Net(nn.Module):
    def __init__(self, width):
        self.convolution = nn.Conv2d(3, width, 3, padding=1)

    def forward(self, x):
        return self.convolution(x)

def small_cnn(width=16):
    return Net(width)
""",
            "no_super",
        ),
        KnownMistake(
            "softmax at the end",
            """
def small_cnn(width=16):
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(2 * width * 64, 10), nn.Softmax(dim=1))
""",
            "softmax",
        ),
        KnownMistake(
            "no padding, but computed as if there were",
            """
def small_cnn(width=16):
    return nn.Sequential(nn.Conv2d(3, width, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(width, 2 * width, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(2 * width * 64, 10))
""",
            "does_not_fit",
        ),
        KnownMistake(
            "the flatten missing",
            """
def small_cnn(width=16):
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Linear(2 * width * 64, 10))
""",
            "no_flatten",
        ),
        KnownMistake(
            "channels that do not match",
            """
def small_cnn(width=16):
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16 * width, 2 * width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(2 * width * 64, 10))
""",
            "channels",
        ),
        KnownMistake(
            "channels of the batch norm",
            """
def small_cnn(width=16):
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(width, 2 * width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(2 * width * 64, 10))
""",
            "channels",
        ),
        KnownMistake(
            "flattened before the second convolution",
            """
def small_cnn(width=16):
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.Flatten(),
                         nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.Linear(2 * width * 1024, 10))
""",
            "flat_too_early",
        ),
        KnownMistake(
            "pooled to nothing",
            """
def small_cnn(width=16):
    return nn.Sequential(nn.Conv2d(3, width, 3), nn.ReLU(), nn.MaxPool2d(8),
                         nn.Conv2d(width, 2 * width, 3), nn.ReLU(), nn.MaxPool2d(4),
                         nn.Flatten(), nn.Linear(2 * width, 10))
""",
            "map_too_small",
        ),
        KnownMistake(
            "layers in a Python list",
            """
class Blocks(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.blocks = [nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 2 * width, 3, padding=1)]
        self.head = nn.Linear(2 * width * 64, 10)

    def forward(self, x):
        for block in self.blocks:
            x = F.max_pool2d(F.relu(block(x)), 2)
        return self.head(x.flatten(1))

def small_cnn(width=16):
    return Blocks(width)
""",
            "plain_list",
        ),
        KnownMistake(
            "one model for all calls",
            """
the_model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Flatten(), nn.Linear(32 * 64, 10))

def small_cnn(width=16):
    return the_model
""",
            "same_model",
        ),
        KnownMistake(
            "nothing between the convolutions",
            """
def small_cnn(width=16):
    return nn.Sequential(nn.Conv2d(3, width, 3, stride=2, padding=1),
                         nn.Conv2d(width, 2 * width, 3, stride=2, padding=1),
                         nn.Flatten(), nn.Linear(2 * width * 64, 10))
""",
            "straight",
        ),
        KnownMistake(
            "ReLU after the last layer",
            """
def small_cnn(width=16):
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(4),
                         nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(4),
                         nn.Flatten(), nn.Linear(2 * width * 4, 10), nn.ReLU())
""",
            "relu_last",
        ),
        KnownMistake(
            "the flatten forgotten",
            """
def small_cnn(width=16):
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Linear(8, 10))
""",
            "shape",
        ),
        KnownMistake(
            "width fixed",
            """
def small_cnn(width=16):
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(32 * 64, 10))
""",
            "width_ignored",
        ),
        KnownMistake(
            "an MLP",
            """
def small_cnn(width=16):
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 8 * width), nn.ReLU(), nn.Linear(8 * width, 10))
""",
            "no_convolution",
        ),
    ),
    variants=(
        """
class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a = nn.Conv2d(3, width, 5, stride=2)
        self.b = nn.Conv2d(width, width, 3)
        self.head = nn.LazyLinear(10)

    def forward(self, x):
        x = F.max_pool2d(F.gelu(self.a(x)), 2)
        x = F.relu(self.b(x)).flatten(1)
        return self.head(F.dropout(x, 0.2, self.training))

def small_cnn(width=16):
    return Net(width)
""",
        """
def small_cnn(width=16):
    layers, channels = [], 3
    for step in range(3):
        layers += [nn.Conv2d(channels, width << step, 3, padding=1), nn.BatchNorm2d(width << step), nn.SiLU(), nn.MaxPool2d(2)]
        channels = width << step
    return nn.Sequential(*layers, nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(channels, 10))
""",
    ),
)


class _Witness(nn.Module):
    """A model that notes how it is called; in training mode it answers differently."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 10)
        self.modes: list[bool] = []
        self.grads: list[bool] = []
        self.sizes: list[int] = []

    def forward(self, x: Tensor) -> Tensor:
        self.modes.append(self.training)
        self.grads.append(torch.is_grad_enabled())
        self.sizes.append(len(x))
        out = self.layer(x.flatten(2).mean(2))
        return out.flip(1) if self.training else out


def _probe_evaluate(answer: Any) -> None:
    count, batch = 22, 8  # 8, 8, 6
    x = torch.randn(count, 3, 8, 8) * 4
    model = _Witness()
    with torch.no_grad():
        scores = model.layer(x.flatten(2).mean(2))
        y = scores.argmax(1)
        y[::3] = (y[::3] + 1) % 10
        y[16:] = scores[16:].argmax(1)  # the last, smaller batch is all right: a plain mean of batches differs
        losses = F.cross_entropy(scores, y, reduction="none")
    hits = (scores.argmax(1) == y).double()
    loss, accuracy = float(losses.mean()), float(hits.mean())
    model.train()
    result = call(answer, model, x, y, batch)
    if not model.modes:
        raise Wrong("never_called")
    try:
        got_loss, got_accuracy = (float(as_numbers(v, "not_a_pair")) for v in result)
    except (TypeError, ValueError, RuntimeError):
        raise Wrong("not_a_pair", kind=type(result).__name__) from None
    if any(model.modes):
        raise Wrong("training_mode")
    if any(model.grads):
        raise Wrong("gradients")
    if not model.training:
        raise Wrong("mode_left")
    if max(model.sizes) > batch:
        raise Wrong("no_batches", got=max(model.sizes), most=batch)

    def near(a: float, b: float) -> bool:
        return math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-5)

    chunks = list(zip(losses.double().split(batch), hits.split(batch), strict=True))
    plain = [sum(float(part[i].mean()) for part in chunks) / len(chunks) for i in (0, 1)]
    if near(got_loss, accuracy) and near(got_accuracy, loss):
        raise Wrong("swapped")
    if near(got_accuracy, 100 * accuracy):
        raise Wrong("percent", got=got_accuracy)
    if near(got_accuracy, float(hits.sum())):
        raise Wrong("count", got=got_accuracy)
    if sum(model.sizes) < count or near(got_accuracy, float(hits[:16].mean())):
        raise Wrong("last_batch_dropped")
    if near(got_accuracy, float(hits[16:].mean())):
        raise Wrong("last_batch_only")
    if near(got_accuracy, plain[1]) or near(got_loss, plain[0]):
        raise Wrong("mean_of_means")
    if not near(got_accuracy, accuracy):
        raise Wrong("accuracy", got=got_accuracy, expected=accuracy)
    if near(got_loss, float(losses.sum())) or near(got_loss, loss * count / len(chunks)):
        raise Wrong("loss_sum", got=got_loss)
    if near(got_loss, sum(float(part[0].mean()) for part in chunks) / count):
        raise Wrong("divided_twice", got=got_loss)
    if near(got_loss, float(F.cross_entropy(scores.softmax(1), y))):
        raise Wrong("softmax")
    if not near(got_loss, loss):
        raise Wrong("loss", got=got_loss, expected=loss)
    model.eval()
    call(answer, model, x, y, batch)
    if model.training:
        raise Wrong("mode_forced")


evaluate = Exercise(
    name="evaluate",
    lesson="02",
    probe=_probe_evaluate,
    errors={"at non-singleton dimension": "wrong_dimension"},
    hints={
        "never_called": Hint(
            "your function never called the model.",
            "inside the loop: `scores = model(x[i:i + batch_size])`.",
        ),
        "not_a_pair": Hint(
            "give back two numbers, the loss and the accuracy (this was: {kind}).",
            "end with `return loss, accuracy`, both plain numbers (this was: {kind}).",
        ),
        "training_mode": Hint(
            "the model was in training mode while you measured it: dropout and batch norm behave differently there.",
            "call `model.eval()` before the loop.",
        ),
        "gradients": Hint(
            "torch recorded everything for a backward pass that never comes: that costs memory and time.",
            "put the loop under `with torch.no_grad():` (or decorate the function with `@torch.no_grad()`).",
        ),
        "mode_left": Hint(
            "the model was training before your function and is in eval mode after it. Whoever called you will not notice.",
            "remember `was_training = model.training`, and end with `model.train(was_training)`.",
        ),
        "mode_forced": Hint(
            "a model that came in eval mode leaves in training mode. Leave it as it was.",
            "remember `was_training = model.training`, and end with `model.train(was_training)`, not `model.train()`.",
        ),
        "no_batches": Hint(
            "the model was given {got} pictures at once, and the batch size is {most}. A whole test set may not fit.",
            "go through `range(0, len(x), batch_size)` and slice `x[i:i + batch_size]` ({got} came, at most {most} may).",
        ),
        "swapped": Hint(
            "the loss comes first, then the accuracy.",
            "`return loss, accuracy`: you have them the other way round.",
        ),
        "percent": Hint(
            "accuracy is a fraction between 0 and 1 here; you gave {got:.1f}.",
            "leave out the factor 100.",
        ),
        "count": Hint(
            "that is how many were right ({got:.0f}). Which fraction is it?",
            "divide the number of hits ({got:.0f}) by `len(x)`.",
        ),
        "last_batch_dropped": Hint(
            "some pictures were never looked at: the last batch is smaller, and it counts too.",
            "`range(0, len(x), batch_size)` with slices reaches the end by itself; `len(x) // batch_size` does not.",
        ),
        "last_batch_only": Hint(
            "you gave back the last batch's result. Add up over all batches.",
            "start with `hits = 0` before the loop, add inside it, and divide after it.",
        ),
        "mean_of_means": Hint(
            "a mean of batch means: the last batch is smaller, and its pictures count for more than the others.",
            "add up hits and `loss * len(batch)` (or `reduction='sum'`), and divide once, by `len(x)`.",
        ),
        "accuracy": Hint(
            "the accuracy should be {expected:.3f}, yours is {got:.3f}.",
            "compare `scores.argmax(dim=1)` with the labels, add up the hits, divide by `len(x)`: {expected:.3f}, not {got:.3f}.",
        ),
        "loss_sum": Hint(
            "the accuracy is right; the loss is not yet divided by the number of pictures ({got:.1f}).",
            "`F.cross_entropy(…, reduction='sum')` added up over the batches, divided by `len(x)` at the end.",
        ),
        "softmax": Hint(
            "the accuracy is right; the loss is computed from probabilities. F.cross_entropy does the softmax itself.",
            "hand the raw scores to `F.cross_entropy`, no softmax before it.",
        ),
        "wrong_dimension": Hint(
            "your hits do not line up with the labels{where}: {error}. Over which dimension of [N, 10] does argmax look?",
            "`scores.argmax(dim=1)` gives one class for each picture; `dim=0` gives one picture for each class.",
        ),
        "divided_twice": Hint(
            "the accuracy is right; the loss is divided too often: cross_entropy gives a mean already ({got:.4f}).",
            "multiply each batch's loss by its length, or use `reduction='sum'`, before you divide by `len(x)`.",
        ),
        "loss": Hint(
            "the accuracy is right; the loss should be {expected:.3f}, yours is {got:.3f}.",
            "`F.cross_entropy(scores, labels, reduction='sum')` over all batches, divided by `len(x)`: {expected:.3f}.",
        ),
    },
    push=(
        "Switch the model to eval mode, go through the data in slices without gradients, add up, divide at the end.",
        "The last slice may be smaller: add up sums, not means.",
        "`was_training = model.training` at the start and `model.train(was_training)` at the end leave no trace.",
    ),
    mistakes=(
        KnownMistake(
            "training mode",
            """
def evaluate(model, x, y, batch_size=500):
    hits = total = 0.0
    with torch.no_grad():
        for i in range(0, len(x), batch_size):
            scores = model(x[i:i + batch_size])
            total += F.cross_entropy(scores, y[i:i + batch_size], reduction="sum").item()
            hits += (scores.argmax(1) == y[i:i + batch_size]).sum().item()
    return total / len(x), hits / len(x)
""",
            "training_mode",
        ),
        KnownMistake(
            "softmax before the loss",
            """
@torch.no_grad()
def evaluate(model, x, y, batch_size=500):
    was = model.training
    model.eval()
    total = hits = 0.0
    for images, labels in zip(x.split(batch_size), y.split(batch_size)):
        scores = model(images).softmax(1)
        total += F.cross_entropy(scores, labels, reduction="sum").item()
        hits += (scores.argmax(1) == labels).sum().item()
    model.train(was)
    return total / len(x), hits / len(x)
""",
            "softmax",
        ),
        KnownMistake(
            "argmax over the pictures",
            """
@torch.no_grad()
def evaluate(model, x, y, batch_size=500):
    was = model.training
    model.eval()
    total = hits = 0.0
    for images, labels in zip(x.split(batch_size), y.split(batch_size)):
        scores = model(images)
        total += F.cross_entropy(scores, labels, reduction="sum").item()
        hits += (scores.argmax(0) == labels).sum().item()
    model.train(was)
    return total / len(x), hits / len(x)
""",
            "wrong_dimension",
        ),
        KnownMistake(
            "mean of batch means",
            """
@torch.no_grad()
def evaluate(model, x, y, batch_size=500):
    model.eval()
    losses, hits = [], []
    for i in range(0, len(x), batch_size):
        scores = model(x[i:i + batch_size])
        losses.append(F.cross_entropy(scores, y[i:i + batch_size]).item())
        hits.append((scores.argmax(1) == y[i:i + batch_size]).float().mean().item())
    model.train()
    return sum(losses) / len(losses), sum(hits) / len(hits)
""",
            "mean_of_means",
        ),
        KnownMistake(
            "with gradients",
            """
def evaluate(model, x, y, batch_size=500):
    model.eval()
    hits = total = 0.0
    for i in range(0, len(x), batch_size):
        scores = model(x[i:i + batch_size])
        total += F.cross_entropy(scores, y[i:i + batch_size], reduction="sum").item()
        hits += (scores.argmax(1) == y[i:i + batch_size]).sum().item()
    model.train()
    return total / len(x), hits / len(x)
""",
            "gradients",
        ),
        KnownMistake(
            "left in eval mode",
            """
@torch.no_grad()
def evaluate(model, x, y, batch_size=500):
    model.eval()
    hits = total = 0.0
    for i in range(0, len(x), batch_size):
        scores = model(x[i:i + batch_size])
        total += F.cross_entropy(scores, y[i:i + batch_size], reduction="sum").item()
        hits += (scores.argmax(1) == y[i:i + batch_size]).sum().item()
    return total / len(x), hits / len(x)
""",
            "mode_left",
        ),
        KnownMistake(
            "percent",
            """
@torch.no_grad()
def evaluate(model, x, y, batch_size=500):
    model.eval()
    hits = total = 0.0
    for i in range(0, len(x), batch_size):
        scores = model(x[i:i + batch_size])
        total += F.cross_entropy(scores, y[i:i + batch_size], reduction="sum").item()
        hits += (scores.argmax(1) == y[i:i + batch_size]).sum().item()
    model.train()
    return total / len(x), 100 * hits / len(x)
""",
            "percent",
        ),
        KnownMistake(
            "everything at once",
            """
@torch.no_grad()
def evaluate(model, x, y, batch_size=500):
    model.eval()
    scores = model(x)
    model.train()
    return F.cross_entropy(scores, y).item(), (scores.argmax(1) == y).float().mean().item()
""",
            "no_batches",
        ),
        KnownMistake(
            "last incomplete batch dropped",
            """
@torch.no_grad()
def evaluate(model, x, y, batch_size=500):
    model.eval()
    hits = total = 0.0
    batches = len(x) // batch_size
    for b in range(batches):
        part = slice(b * batch_size, (b + 1) * batch_size)
        scores = model(x[part])
        total += F.cross_entropy(scores, y[part], reduction="sum").item()
        hits += (scores.argmax(1) == y[part]).sum().item()
    model.train()
    return total / (batches * batch_size), hits / (batches * batch_size)
""",
            "last_batch_dropped",
        ),
    ),
    variants=(
        """
def evaluate(model, x, y, batch_size=500):
    was = model.training
    model.eval()
    try:
        with torch.inference_mode():
            scores = torch.cat([model(part) for part in x.split(batch_size)])
            return F.cross_entropy(scores, y), scores.argmax(1).eq(y).float().mean()
    finally:
        model.train(was)
""",
        """
@torch.no_grad()
def evaluate(model, x, y, batch_size=500):
    before = model.training
    model.train(False)
    loss = hits = 0.0
    for xb, yb in zip(x.split(batch_size), y.split(batch_size)):
        s = model(xb)
        loss += F.cross_entropy(s, yb).item() * len(xb) / len(x)
        hits += (s.argmax(-1) == yb).double().mean().item() * len(xb) / len(x)
    model.train(before)
    return [loss, hits]
""",
    ),
)
