"""Small sums of lesson 01: pictures as numbers around zero, and how many numbers a layer has."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import close, one_number


def _grey_pictures(count: int = 6, side: int = 5) -> Tensor:
    """Random grey pictures, uint8 [count, 1, side, side]; black and white are among the pixels."""
    draw = torch.Generator().manual_seed(2)
    images = torch.randint(0, 256, (count, 1, side, side), generator=draw, dtype=torch.uint8)
    images[0, 0, 0, 0], images[0, 0, 0, 1] = 0, 255
    return images


def _probe_standardise(answer: Any) -> None:
    images, mean, std = _grey_pictures(), 0.3, 0.2
    got = call(answer, images, mean, std)
    if not isinstance(got, Tensor):
        raise Wrong("not_a_tensor", kind=type(got).__name__)
    if not got.is_floating_point():
        raise Wrong("whole_numbers", got=str(got.dtype))
    if got.shape != images.shape:
        raise Wrong("shape", got=list(got.shape), expected=list(images.shape))
    y, x = got.detach().cpu().double(), images.double() / 255
    right = (x - mean) / std
    if got.dtype != torch.float32 and close(y, right, 1e-2, 1e-2):  # bfloat16 has three digits
        raise Wrong("dtype", got=str(got.dtype))
    if close(y, right, 1e-4, 1e-5):
        return
    if close(y, (images.double() // 255 - mean) / std, 1e-4, 1e-4):
        raise Wrong("rounded_down")
    if close(y, (2 * x - 1 - mean) / std, 1e-3, 1e-3):
        raise Wrong("twice")
    if close(y, (x + mean) / std, 1e-4, 1e-4):
        raise Wrong("added")
    if close(y, (images.double() - mean) / std, 1e-3, 1e-2):
        raise Wrong("scale", got=float(y.max()))
    if close(y, x - mean / std, 1e-4, 1e-4):
        raise Wrong("brackets")
    if close(y, (x - mean) * std, 1e-4, 1e-4):
        raise Wrong("times")
    if close(y, (x - std) / mean, 1e-4, 1e-4):
        raise Wrong("swapped")
    if close(y, (images.double() / 256 - mean) / std, 1e-4, 1e-4):
        raise Wrong("by_256")
    if close(y, (x - x.mean()) / x.std(), 1e-2, 1e-2):
        raise Wrong("own_statistics")
    if close(y, (x - 0.5) / 0.5, 1e-4, 1e-4):
        raise Wrong("fixed_numbers")
    worst = int((y - right).abs().nan_to_num(torch.inf).argmax())
    raise Wrong(
        "values", pixel=int(images.flatten()[worst]), right=float(right.flatten()[worst]), got=float(y.flatten()[worst])
    )


standardise = Exercise(
    name="standardise",
    lesson="01",
    probe=_probe_standardise,
    hints={
        "not_a_tensor": Hint(
            "give back a tensor (this was: {kind}).", "end with `return` and the tensor, not a {kind}."
        ),
        "whole_numbers": Hint(
            "your result holds whole numbers ({got}); most of these values are fractions.",
            "start with `images.float() / 255`, and do not go back to bytes at the end (you have {got}).",
        ),
        "shape": Hint(
            "the shape should stay {expected}; yours is {got}.",
            "no mean(), view() or index on the pictures: {expected} goes in and comes out (you have {got}).",
        ),
        "dtype": Hint(
            "right numbers, in {got}. The model's weights are float32, and its input must be, too.",
            "`.float()` makes float32, whatever it was before (you have {got}).",
        ),
        "scale": Hint(
            "your largest value is {got:.0f}: the pixels still go from 0 to 255.",
            "mean and std belong to pixels between 0 and 1: divide by 255 first (your largest is {got:.0f}).",
        ),
        "brackets": Hint(
            "the division reaches the mean only. What should happen first?",
            "put brackets: `(x - mean) / std`.",
        ),
        "times": Hint(
            "you multiply by std.", "divide: a small std means that the values lie close together, and are spread."
        ),
        "swapped": Hint(
            "mean and std have changed places.", "subtract `mean`, then divide by `std`; you do it the other way round."
        ),
        "by_256": Hint(
            "very near. What is the largest value of a byte?",
            "a byte goes from 0 to 255, so white is 1 only if you divide by 255, not by 256.",
        ),
        "own_statistics": Hint(
            "you use the mean and spread of these pictures; use the two numbers that are given.",
            "no `.mean()` and `.std()` here: every batch must be moved by the same amount, by the parameters `mean` and `std`.",
        ),
        "rounded_down": Hint(
            "black and white are right, all greys have become black. Which division keeps fractions?",
            "`/`, not `//`: the second one rounds down, and only 255 // 255 is 1.",
        ),
        "twice": Hint(
            "your pixels went to −1…1 first. `mean` and `std` are meant for 0…1.",
            "only divide by 255, nothing else, before you subtract `mean`; do not call `to_float`.",
        ),
        "added": Hint("you add the mean; it should be taken away.", "`(x - mean) / std`, with a minus."),
        "fixed_numbers": Hint(
            "that is right for 0.5 and 0.5 only; the check gives other numbers.",
            "write `mean` and `std` where you wrote 0.5.",
        ),
        "values": Hint(
            "with mean 0.3 and std 0.2 a pixel of {pixel} should become {right:.2f}; yours is {got:.2f}.",
            "three things in this order: divide by 255, subtract mean, divide by std. With mean 0.3 and std 0.2 that makes "
            "{right:.2f} of the pixel {pixel}, not {got:.2f}.",
        ),
    },
    push=(
        "First make fractions between 0 and 1 of the bytes; mean and std are meant for those.",
        "`x = images.float() / 255`, then one line with `mean` and `std`. No loop over pictures.",
    ),
    mistakes=(
        KnownMistake(
            "not divided by 255",
            "def standardise(images, mean, std):\n    return (images.float() - mean) / std",
            "scale",
        ),
        KnownMistake(
            "brackets left out", "def standardise(images, mean, std):\n    return images / 255 - mean / std", "brackets"
        ),
        KnownMistake(
            "times std", "def standardise(images, mean, std):\n    return (images / 255 - mean) * std", "times"
        ),
        KnownMistake(
            "the numbers of the lesson's own cell",
            "def standardise(images, mean, std):\n    return (images.float() / 255 - 0.5) / 0.5",
            "fixed_numbers",
        ),
        KnownMistake(
            "each batch by its own statistics",
            "def standardise(images, mean, std):\n    x = images.float() / 255\n    return (x - x.mean()) / x.std()",
            "own_statistics",
        ),
        KnownMistake(
            "divided by 256", "def standardise(images, mean, std):\n    return (images / 256 - mean) / std", "by_256"
        ),
        KnownMistake(
            "division that rounds down",
            "def standardise(images, mean, std):\n    return (images // 255 - mean) / std",
            "rounded_down",
        ),
        KnownMistake(
            "moved to -1..1 first",
            "def standardise(images, mean, std):\n    return ((images / 255 - 0.5) / 0.5 - mean) / std",
            "twice",
        ),
        KnownMistake(
            "plus mean", "def standardise(images, mean, std):\n    return (images / 255 + mean) / std", "added"
        ),
        KnownMistake(
            "float16", "def standardise(images, mean, std):\n    return ((images / 255 - mean) / std).half()", "dtype"
        ),
        KnownMistake(
            "back to bytes",
            "def standardise(images, mean, std):\n    return ((images / 255 - mean) / std).to(images.dtype)",
            "whole_numbers",
        ),
        KnownMistake(
            "written into the bytes",
            "def standardise(images, mean, std):\n    images /= 255\n    return (images - mean) / std",
            "bytes_in_place",
        ),
        KnownMistake(
            "no return", "def standardise(images, mean, std):\n    x = (images / 255 - mean) / std", "returned_none"
        ),
        KnownMistake(
            "float64", "def standardise(images, mean, std):\n    return (images.double() / 255 - mean) / std", "dtype"
        ),
    ),
    variants=(
        "def standardise(images, mean, std):\n    x = images.to(torch.float32)\n    return x / (255 * std) - mean / std",
        "def standardise(images, mean, std):\n    return images.float().div(255).sub_(mean).div_(std)",
    ),
)

_LAYERS = ((784, 128), (64, 10), (3, 1), (1, 5))
_WRONG_COUNTS: dict[str, Callable[[int, int], int]] = {
    "no_bias": lambda i, o: i * o,
    "bias_per_input": lambda i, o: i * o + i,
    "one_bias": lambda i, o: i * o + 1,
    "both_sides": lambda i, o: i * o + i + o,
    "added": lambda i, o: i + o,
    "bytes": lambda i, o: 4 * (i * o + o),
}


def _probe_linear_parameters(answer: Any) -> None:
    got = [one_number(call(answer, *layer), "not_a_number") for layer in _LAYERS]
    right = [inputs * outputs + outputs for inputs, outputs in _LAYERS]
    if got == right:
        return
    for key, wrong in _WRONG_COUNTS.items():
        if got == [wrong(*layer) for layer in _LAYERS]:
            raise Wrong(key)
    if len(set(got)) == 1:
        raise Wrong("constant", got=_short(got[0]))
    layer, value, expected = next((a, g, r) for a, g, r in zip(_LAYERS, got, right, strict=True) if g != r)
    raise Wrong("values", inputs=layer[0], outputs=layer[1], got=_short(value), expected=expected)


def _short(value: float) -> str:
    """A number that fits into a sentence."""
    if isinstance(value, int) and abs(value) >= 10**12:  # inputs ** outputs has hundreds of digits
        return f"a number of {int(math.log10(abs(value))) + 1} digits"
    return f"{value:,}"


linear_parameters = Exercise(
    name="linear_parameters",
    lesson="01",
    probe=_probe_linear_parameters,
    hints={
        "not_a_number": Hint(
            "give back one whole number (this was: {kind}).", "end with `return` and a number, not a {kind}."
        ),
        "no_bias": Hint(
            "the weights are right. Each sum also has a number of its own that is added at the end, the bias.",
            "one bias for each output: add `outputs`.",
        ),
        "bias_per_input": Hint(
            "the weights are right. The bias belongs to a sum, and there is one sum for each output.",
            "add `outputs`, not `inputs`.",
        ),
        "one_bias": Hint(
            "the weights are right. One bias is too few: every sum has its own.",
            "there are `outputs` sums, so add `outputs`, not 1.",
        ),
        "both_sides": Hint(
            "the weights are right, but you add a bias on both sides.",
            "only the outputs have a bias: add `outputs` once.",
        ),
        "added": Hint(
            "every output looks at every input. How many pairs is that?",
            "multiply: `inputs * outputs`, then the biases.",
        ),
        "constant": Hint(
            "you give {got} for every layer. Use `inputs` and `outputs` in place of numbers.",
            "the function is asked about several layers: a formula with `inputs` and `outputs`, not {got}.",
        ),
        "bytes": Hint(
            "those are bytes; a number in float32 has four. How many numbers are they?",
            "no `4 *`: count numbers, not bytes.",
        ),
        "values": Hint(
            "nn.Linear({inputs}, {outputs}) has {expected} numbers; you have {got}.",
            "one weight for each pair of input and output, one bias for each output: {expected} for ({inputs}, {outputs}), "
            "not {got}.",
        ),
    },
    push=(
        "Each output is a weighted sum of all inputs, and a bias is added to it.",
        "Weights: one for each pair of input and output. Biases: one for each output.",
    ),
    mistakes=(
        KnownMistake(
            "bias forgotten", "def linear_parameters(inputs, outputs):\n    return inputs * outputs", "no_bias"
        ),
        KnownMistake(
            "a bias for each input",
            "def linear_parameters(inputs, outputs):\n    return inputs * outputs + inputs",
            "bias_per_input",
        ),
        KnownMistake(
            "one bias for the layer",
            "def linear_parameters(inputs, outputs):\n    return inputs * outputs + 1",
            "one_bias",
        ),
        KnownMistake(
            "the numbers of one layer",
            "def linear_parameters(inputs, outputs):\n    return 784 * 128 + 128",
            "constant",
        ),
        KnownMistake(
            "bytes", "def linear_parameters(inputs, outputs):\n    return 4 * (inputs + 1) * outputs", "bytes"
        ),
        KnownMistake("a power", "def linear_parameters(inputs, outputs):\n    return inputs ** outputs", "values"),
        KnownMistake("added", "def linear_parameters(inputs, outputs):\n    return inputs + outputs", "added"),
        KnownMistake(
            "the table's line as text",
            'def linear_parameters(inputs, outputs):\n    return f"{inputs * outputs + outputs:,}"',
            "not_a_number",
        ),
        KnownMistake(
            "squares", "def linear_parameters(inputs, outputs):\n    return inputs ** 2 + outputs ** 2", "values"
        ),
    ),
    variants=(
        "def linear_parameters(inputs, outputs):\n    return (inputs + 1) * outputs",
        "def linear_parameters(inputs, outputs):\n"
        "    layer = nn.Linear(inputs, outputs)\n    return sum(w.numel() for w in layer.parameters())",
    ),
)
