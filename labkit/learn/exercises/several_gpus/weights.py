"""Unequal shards: what a rank's mean loss has to be multiplied by, judged by the gradient that comes out."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import one_number


def _gradients(sizes: list[int]) -> tuple[list[Tensor], Tensor]:
    """The gradient of each shard's mean loss, and that of the mean over all examples: a linear model, squared error."""
    draw = torch.Generator().manual_seed(7)
    x = torch.randn(sum(sizes), 3, generator=draw, dtype=torch.float64)
    y = torch.randn(sum(sizes), generator=draw, dtype=torch.float64)

    def gradient(part: slice) -> Tensor:
        w = torch.zeros(3, dtype=torch.float64, requires_grad=True)
        ((x[part] @ w - y[part]) ** 2).mean().backward()
        assert w.grad is not None
        return w.grad

    ends = [sum(sizes[: k + 1]) for k in range(len(sizes))]
    return [gradient(slice(end - size, end)) for size, end in zip(sizes, ends, strict=True)], gradient(slice(None))


def _probe_loss_factor(answer: Any) -> None:
    for sizes in ([6, 2], [4, 4], [32, 32, 32, 4], [1, 3, 5]):
        factors = [float(one_number(call(answer, list(sizes), rank), "not_a_number")) for rank in range(len(sizes))]
        parts, whole = _gradients(sizes)
        averaged = torch.stack([f * g for f, g in zip(factors, parts, strict=True)]).mean(0)  # what DDP does
        if torch.allclose(averaged, whole, rtol=1e-4, atol=1e-8):
            continue
        shares = [size / sum(sizes) for size in sizes]
        right = [len(sizes) * share for share in shares]
        told = {
            "sizes": sizes, "ranks": len(sizes), "total": sum(sizes), "got": [round(f, 4) for f in factors],
            "right": [round(f, 4) for f in right], "away": 100 * float((averaged - whole).norm() / whole.norm()),
        }  # fmt: skip
        if _same(factors, [1.0] * len(sizes)):
            raise Wrong("nothing", **told)
        if _same(factors, shares):
            raise Wrong("ddp_divides", **told)
        if _same(factors, [float(size) for size in sizes]):
            raise Wrong("sums", **told)
        if _same(factors, [1 / f for f in right]) or _same(factors, [1 / s for s in shares]):
            raise Wrong("upside_down", **told)
        if len(set(factors)) == 1:
            raise Wrong("one_for_all", **told)
        if _same([f / factors[0] for f in factors], [r / right[0] for r in right]):
            raise Wrong("scaled", times=factors[0] / right[0], **told)
        raise Wrong("other", **told)


def _same(a: list[float], b: list[float]) -> bool:
    return all(math.isclose(x, y, rel_tol=1e-5, abs_tol=1e-9) for x, y in zip(a, b, strict=True))


loss_factor = Exercise(
    name="loss_factor",
    lesson="08",
    probe=_probe_loss_factor,
    hints={
        "not_a_number": Hint(
            "give back one number (this was: {kind}).", "end with `return` and a number, not a {kind}."
        ),
        "nothing": Hint(
            "with shards of {sizes} examples the gradient is {away:.0f} % off: a mean of means is not the mean.",
            "the rank with more examples must count more: {right} for {sizes}, not {got}.",
        ),
        "ddp_divides": Hint(
            "the shares of {sizes} are right, and the gradient is {ranks} times too small. What does DDP do with the sum?",
            "DDP divides by the number of ranks; multiply by it: {right}, not {got}.",
        ),
        "sums": Hint(
            "that makes a sum over examples of the mean, {total} times too large or nearly so.",
            "divide by the examples of all ranks together ({total}), times the ranks: {right}, not {got}.",
        ),
        "upside_down": Hint(
            "the other way up: the rank with *fewer* examples counts more now.",
            "`ranks * mine / total`: {right} for {sizes}, not {got}.",
        ),
        "one_for_all": Hint(
            "every rank gets the same factor, whatever it holds (sizes {sizes}).",
            "`sizes[rank]` must come into it: {right}, not {got}.",
        ),
        "scaled": Hint(
            "the ranks stand in the right proportion, but all are {times:.3g} times what they should be (sizes {sizes}).",
            "the factors of all ranks must add up to the number of ranks ({ranks}): {right}, not {got}.",
        ),
        "other": Hint(
            "sizes {sizes}: with your factors {got} the gradient is {away:.0f} % off.",
            "DDP makes (f₀·g₀ + f₁·g₁ + …) / ranks of the means' gradients; {sizes} needs {right}, not {got}.",
        ),
    },
    push=(
        "Write down what you want: each example with weight 1 / total. And what DDP makes: the sum over ranks, divided by ranks.",
        "mean over my examples, times my examples, over all examples, times ranks (because DDP divides by it).",
    ),
    mistakes=(
        KnownMistake("nothing to do", "def loss_factor(sizes, rank):\n    return 1.0", "nothing"),
        KnownMistake(
            "the share alone", "def loss_factor(sizes, rank):\n    return sizes[rank] / sum(sizes)", "ddp_divides"
        ),
        KnownMistake("the size", "def loss_factor(sizes, rank):\n    return sizes[rank]", "sums"),
        KnownMistake(
            "upside down",
            "def loss_factor(sizes, rank):\n    return sum(sizes) / (len(sizes) * sizes[rank])",
            "upside_down",
        ),
        KnownMistake(
            "against the largest", "def loss_factor(sizes, rank):\n    return sizes[rank] / max(sizes)", "scaled"
        ),
        KnownMistake("the number of ranks", "def loss_factor(sizes, rank):\n    return len(sizes)", "one_for_all"),
    ),
    variants=(
        "def loss_factor(sizes, rank):\n    return sizes[rank] / (sum(sizes) / len(sizes))",
        "def loss_factor(sizes, rank):\n    return torch.tensor(sizes).float().div(torch.tensor(sizes).float().mean())[rank]",
    ),
)
