"""What a format can tell apart, and by how much a gradient may be multiplied before float16 ends."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import one_number

_LARGEST = 65_504.0  # of float16
_PLACES = (
    (1.0, torch.bfloat16),
    (3.0, torch.float16),
    (1000.0, torch.bfloat16),
    (0.3, torch.float16),
    (1.9, torch.float16),
)


def _next_after(x: float, dtype: torch.dtype) -> float:
    """Distance from x, stored in the format, to the next larger number: by adding one to the bit pattern."""
    stored = torch.tensor([x]).to(dtype)
    return float(((stored.view(torch.int16) + 1).view(dtype).double() - stored.double()).item())


def _probe_spacing_at(answer: Any) -> None:
    given = [
        (x, dtype, one_number(call(answer, x, dtype), "not_a_number"), _next_after(x, dtype)) for x, dtype in _PLACES
    ]
    values = {"x": 1000.0, "format": "bfloat16", "got": given[2][2], "right": given[2][3]}
    for bits, precise in ((64, 2.0**-52), (32, 2.0**-23)):
        if all(math.isclose(got, precise * 2.0 ** math.floor(math.log2(x)), rel_tol=1e-6) for x, _, got, _ in given):
            raise Wrong("other_format", bits=bits, **values)
    if all(got == torch.finfo(dtype).eps for _, dtype, got, _ in given):
        raise Wrong("always_eps", **values)
    if all(math.isclose(got, x * torch.finfo(dtype).eps, rel_tol=1e-3) for x, dtype, got, _ in given):
        raise Wrong("not_a_power", **values)
    if all(got == right for x, _, got, right in given if x >= 1) and given[3][2] != given[3][3]:
        raise Wrong("below_one", x=0.3, format="float16", got=given[3][2], right=given[3][3])
    for x, dtype, got, right in given:
        values = {"x": x, "format": str(dtype)[6:], "got": got, "right": right}
        if got == 2 * right:
            raise Wrong("rounded_up", **values)
        if got == 0:
            raise Wrong("zero", **values)
        if not math.isclose(got, right, rel_tol=1e-6):
            raise Wrong("other", **values)


spacing_at = Exercise(
    name="spacing_at",
    lesson="03",
    probe=_probe_spacing_at,
    hints={
        "not_a_number": Hint(
            "give back a number (this was: {kind}).", "end with `return` and the distance, not a {kind}."
        ),
        "other_format": Hint(
            "those are the steps of a float with {bits} bits. At {x:g} in {format} the next number is {right:g} away, not {got:g}.",
            "go by `torch.finfo(dtype).eps`, or make a tensor of the `dtype` first: a Python number has 64 bits ({right:g}, not {got:g}).",
        ),
        "always_eps": Hint(
            "`eps` is the step after 1 only. At {x:g} in {format} the next number is {right:g} away, you say {got:g}.",
            "multiply `eps` with the power of two at or below x: at {x:g} the step is {right:g}, not {got:g}.",
        ),
        "not_a_power": Hint(
            "steps do not grow with every x, they double at each power of two. At {x:g} in {format}: {right:g}, not {got:g}.",
            "round x down to a power of two first: `2.0 ** math.floor(math.log2(x))`, then times eps ({right:g}, not {got:g}).",
        ),
        "below_one": Hint(
            "right from 1 upwards; at {x:g} in {format} the step is {right:g}, you say {got:g}. What does `int(-1.7)` give?",
            "`int` cuts towards zero: take `math.floor(math.log2(x))`, also for numbers below 1 ({right:g}, not {got:g}).",
        ),
        "rounded_up": Hint(
            "at {x:g} in {format} you say {got:g}, twice too much. Which power of two lies *below* x?",
            "`math.floor`, not `round` or `ceil`: at {x:g} the step is {right:g}, not {got:g}.",
        ),
        "zero": Hint(
            "at {x:g} in {format} your distance is 0: a step that small is rounded away.",
            "do not add something and subtract: compute the step, `2.0 ** floor(log2(x)) * eps` ({right:g}, not {got:g}).",
        ),
        "other": Hint(
            "at {x:g} in {format} the next number is {right:g} away; you say {got:g}.",
            "the power of two at or below x, times `torch.finfo(dtype).eps`: {right:g}, not {got:g}.",
        ),
    },
    push=(
        "Between 1 and 2 the step is `torch.finfo(dtype).eps`. Between 2 and 4 it is twice that, and so on.",
        "`2.0 ** math.floor(math.log2(x))` is the power of two at or below x.",
    ),
    mistakes=(
        KnownMistake("eps everywhere", "def spacing_at(x, dtype):\n    return torch.finfo(dtype).eps", "always_eps"),
        KnownMistake(
            "Python's own next number",
            "def spacing_at(x, dtype):\n    return math.nextafter(x, math.inf) - x",
            "other_format",
        ),
        KnownMistake("x times eps", "def spacing_at(x, dtype):\n    return x * torch.finfo(dtype).eps", "not_a_power"),
        KnownMistake(
            "int of the logarithm",
            "def spacing_at(x, dtype):\n    return 2.0 ** int(math.log2(x)) * torch.finfo(dtype).eps",
            "below_one",
        ),
        KnownMistake(
            "rounded to the nearest power of two",
            "def spacing_at(x, dtype):\n    return 2.0 ** round(math.log2(x)) * torch.finfo(dtype).eps",
            "rounded_up",
        ),
        KnownMistake(
            "a small number added and subtracted",
            """
def spacing_at(x, dtype):
    t = torch.tensor(x, dtype=dtype)
    return ((t + 1e-6) - t).item()
""",
            "zero",
        ),
    ),
    variants=(
        """
def spacing_at(x, dtype):
    t = torch.tensor(x, dtype=dtype)
    return (torch.nextafter(t, torch.tensor(math.inf, dtype=dtype)).double() - t.double()).item()
""",
        """
def spacing_at(x, dtype):
    t = torch.tensor([x]).to(dtype)
    return ((t.view(torch.int16) + 1).view(dtype).double() - t.double()).item()
""",
        """
def spacing_at(x, dtype):
    fraction, exponent = math.frexp(x)
    return math.ldexp(torch.finfo(dtype).eps, exponent - 1)
""",
    ),
)


def _pick(gradient: Tensor) -> float:
    largest = float(gradient.abs().max())
    return float(2.0 ** math.floor(math.log2(_LARGEST / largest)))


def _probe_pick_scale(answer: Any) -> None:
    cases = [
        torch.tensor([3e-5, -2e-6, 1e-7, 0.0]),
        torch.tensor([1e-4, -3e-3]),
        torch.tensor([[0.5, 2.0], [-7.0, 0.25]]),
        torch.tensor([1e-8, 3e-9]),
        torch.tensor([40_000.0, 2.0]),
        torch.tensor([-130_000.0, 3.0]),  # only a factor below 1 will do
        torch.tensor([0.5, -1.0]),  # 65,536 would be one step too far
        torch.full((4, 4), 3e-4),  # many of the same size: the norm is larger than the largest
    ]
    given = [one_number(call(answer, g.clone()), "not_a_number") for g in cases]
    right = [_pick(g) for g in cases]
    if given == right:
        return
    largest = [float(g.abs().max()) for g in cases]
    if len(set(given)) == 1:
        raise Wrong("fixed", got=given[0], right=right[3], largest=largest[3])
    if given == [math.log2(n) for n in right]:
        raise Wrong("exponent", got=given[3], right=right[3])
    if any(not math.isfinite(n) or n <= 0 for n in given):
        raise Wrong("not_finite", got=next(n for n in given if not math.isfinite(n) or n <= 0))
    if given[1] > right[1] and given[2] > right[2] and given[0] == right[0]:
        raise Wrong("sign", got=given[1], right=right[1], largest=largest[1])
    for got, wanted, most in zip(given, right, largest, strict=True):
        if got != wanted:
            values = {"got": got, "right": wanted, "largest": most, "after": got * most}
            if math.frexp(got)[0] != 0.5:
                raise Wrong("no_power", **values)
            if got * most > _LARGEST:
                raise Wrong("overflows", **values)
            raise Wrong("too_small", **values)


pick_scale = Exercise(
    name="pick_scale",
    lesson="03",
    probe=_probe_pick_scale,
    hints={
        "not_a_number": Hint(
            "give back one number (this was: {kind}).", "`return` the factor as a number, not a {kind}."
        ),
        "fixed": Hint(
            "you always say {got:,.0f}. The right factor depends on the gradient.",
            "compute it from the largest size: with {largest:g} there is room for {right:,.0f}, not only for {got:,.0f}.",
        ),
        "exponent": Hint(
            "{got:g} is the exponent. Asked is the factor itself: what do you multiply by?",
            "`2.0 ** ` your number: {right:,.0f}, not {got:g}.",
        ),
        "not_finite": Hint(
            "one of your factors was {got}. Does `//` or `int` cut it off, or do you divide by the smallest number, which may be 0?",
            "divide 65,504 by the *largest* size, `gradient.abs().max()`; you got {got}.",
        ),
        "sign": Hint(
            "the gradient's largest size is {largest:g}, with a minus before it. `max()` alone does not see that.",
            "`gradient.abs().max()`: then the factor is {right:,.0f}, not {got:,.0f}.",
        ),
        "overflows": Hint(
            "largest size {largest:,g} times your factor {got:,.15g} is {after:,.0f}: more than float16's 65,504.",
            "round the power *down*: `2.0 ** math.floor(math.log2(65504 / largest))` gives {right:,.15g}, not {got:,.15g}.",
        ),
        "no_power": Hint(
            "{got:,.10g} is no power of two. Multiplying by a power of two only moves the exponent: nothing is rounded.",
            "`2.0 ** math.floor(math.log2(65504 / largest))`: {right:,.15g} instead of {got:,.10g}.",
        ),
        "too_small": Hint(
            "with the largest size {largest:g} there is room for a larger power of two than {got:,.15g}.",
            "the largest power of two that still fits is {right:,.15g}, not {got:,.15g} (65,504 divided by the largest size).",
        ),
    },
    push=(
        "Which of the numbers reaches float16's end first when all are multiplied?",
        "`room = 65504 / gradient.abs().max().item()`, then the power of two at or below room.",
    ),
    mistakes=(
        KnownMistake("the famous start value", "def pick_scale(gradient):\n    return 65536.0", "fixed"),
        KnownMistake(
            "max without abs",
            "def pick_scale(gradient):\n    return 2.0 ** math.floor(math.log2(65504 / gradient.max().item()))",
            "sign",
        ),
        KnownMistake(
            "no power of two",
            "def pick_scale(gradient):\n    return 65504 / gradient.abs().max().item()",
            "no_power",
        ),
        KnownMistake(
            "rounded up",
            "def pick_scale(gradient):\n    return 2.0 ** math.ceil(math.log2(65504 / gradient.abs().max().item()))",
            "overflows",
        ),
        KnownMistake(
            "never below 1",
            "def pick_scale(gradient):\n    return max(1.0, 2.0 ** math.floor(math.log2(65504 / gradient.abs().max().item())))",
            "overflows",
        ),
        KnownMistake(
            "65,536 instead of 65,504",
            "def pick_scale(gradient):\n    return 2.0 ** math.floor(math.log2(65536 / gradient.abs().max().item()))",
            "overflows",
        ),
        KnownMistake(
            "int cuts towards zero",
            "def pick_scale(gradient):\n    return 2.0 ** int(math.log2(65504 / gradient.abs().max().item()))",
            "overflows",
        ),
        KnownMistake(
            "the norm, not the largest",
            "def pick_scale(gradient):\n    return 2.0 ** math.floor(math.log2(65504 / gradient.norm().item()))",
            "too_small",
        ),
        KnownMistake(
            "the exponent given back",
            "def pick_scale(gradient):\n    return math.floor(math.log2(65504 / gradient.abs().max().item()))",
            "exponent",
        ),
        KnownMistake(
            "by the smallest",
            """
def pick_scale(gradient):
    smallest = gradient.abs().min()
    return (torch.tensor(6e-8) / smallest).item()
""",
            "not_finite",
        ),
        KnownMistake(
            "a step too careful",
            "def pick_scale(gradient):\n    return 2.0 ** (math.floor(math.log2(65504 / gradient.abs().max().item())) - 1)",
            "too_small",
        ),
    ),
    variants=(
        """
def pick_scale(gradient):
    largest, scale = gradient.abs().max().item(), 2.0**-40
    while 2 * scale * largest <= torch.finfo(torch.float16).max:
        scale *= 2
    return scale
""",
        """
def pick_scale(gradient):
    return torch.exp2(torch.floor(torch.log2(65504 / gradient.double().abs().max())))
""",
    ),
)
