"""Arithmetic of memory: what stays fixed, and what a chain of layers keeps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from torch import nn

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import one_number


def _partly_frozen() -> nn.Module:
    model = nn.Sequential(nn.Linear(6, 5), nn.Linear(5, 4))
    model[0].requires_grad_(False)
    return model


def _probe_fixed_bytes(answer: Any) -> None:
    plain = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4))
    n = sum(p.numel() for p in plain.parameters())
    got = one_number(call(answer, plain, 2), "not_a_number")
    zero = one_number(call(answer, plain, 0), "not_a_number")
    expected = 4 * n * 4
    if got == expected // 4:
        raise Wrong("elements", got=got, expected=expected)
    if got == zero:
        raise Wrong("no_copies", got=got)
    if got == 8 * n and zero == 0:
        raise Wrong("state_only", got=got, expected=expected)
    if got == 12 * n:
        raise Wrong("one_missing", got=got, expected=expected)
    if got == expected + 4 * len(list(plain.parameters())):
        raise Wrong("step_counters", got=got, expected=expected)
    if got != expected or zero != 8 * n:
        raise Wrong("other", got=got, expected=expected)
    half = one_number(call(answer, plain.bfloat16(), 2), "not_a_number")
    if half != 2 * n * 4:
        raise Wrong("always_four", got=half, expected=2 * n * 4)
    frozen = _partly_frozen()
    every, trained = 35 + 24, 24
    part = one_number(call(answer, frozen, 2), "not_a_number")
    if part == 4 * every * 4:
        raise Wrong("frozen_counted", got=part, expected=4 * every + 4 * 3 * trained)
    if part == 4 * trained * 4:
        raise Wrong("frozen_weights_gone", got=part, expected=4 * every + 4 * 3 * trained)
    if part != 4 * every + 4 * 3 * trained:
        raise Wrong("frozen", got=part, expected=4 * every + 4 * 3 * trained)


fixed_bytes = Exercise(
    name="fixed_bytes",
    lesson="05",
    probe=_probe_fixed_bytes,
    hints={
        "not_a_number": Hint(
            "give back one number (this was: {kind}).", "end with `return` and a whole number, not a {kind}."
        ),
        "elements": Hint(
            "that is the number of elements. How many bytes has one of them?",
            "`p.numel() * p.element_size()` are bytes (for this model {expected} in all, not {got}).",
        ),
        "no_copies": Hint(
            "the answer is the same with and without an optimizer that keeps something. Where does `copies` come in?",
            "the optimizer keeps `copies` more tensors of each parameter's shape; {got} counts none of them.",
        ),
        "state_only": Hint(
            "that is the optimizer's state alone. The weights themselves are in memory too, and something else.",
            "add the weights and one gradient per parameter: {expected}, not {got}.",
        ),
        "one_missing": Hint(
            "one copy is missing. What does `backward()` leave in memory?",
            "weights, gradients and `copies`: for copies=2 that is four times the weights ({expected}, not {got}).",
        ),
        "step_counters": Hint(
            "only Adam's step counters are too much: {got} bytes in place of {expected}. Leave them out.",
            "weights, gradients and `copies` tensors of the parameters' shape, nothing else ({expected}, not {got}).",
        ),
        "always_four": Hint(
            "a model in bfloat16 has 2 bytes per element. Ask each parameter, do not assume 4.",
            "`p.element_size()` says how many bytes one element has (bfloat16: {expected} in all, you have {got}).",
        ),
        "frozen_counted": Hint(
            "a frozen parameter (`requires_grad` False) gets no gradient, and the optimizer keeps nothing for it.",
            "count gradients and copies only `if p.requires_grad` ({expected} for a half-frozen model, not {got}).",
        ),
        "frozen_weights_gone": Hint(
            "a frozen parameter has no gradient, but its weights still lie in memory.",
            "weights of all parameters; gradients and copies only of those that are trained ({expected}, not {got}).",
        ),
        "frozen": Hint(
            "with a frozen layer the count is off. What does a frozen parameter still need, and what not?",
            "weights of all parameters; gradients and copies only of those that are trained ({expected}, not {got}).",
        ),
        "other": Hint(
            "expected {expected} bytes for a small model with copies=2, got {got}.",
            "bytes of the parameters times (1 for the weights + 1 for the gradients + copies): {expected}, not {got}.",
        ),
    },
    push=(
        "Three parts: the weights, one gradient for each, and what the optimizer keeps.",
        "Loop over `model.parameters()` and add `p.numel() * p.element_size()`, times how often it is in memory.",
    ),
    mistakes=(
        KnownMistake(
            "elements instead of bytes",
            "def fixed_bytes(model, copies):\n    return sum(p.numel() for p in model.parameters()) * (2 + copies)",
            "elements",
        ),
        KnownMistake(
            "gradients forgotten",
            "def fixed_bytes(model, copies):\n    return sum(p.numel() * 4 for p in model.parameters()) * (1 + copies)",
            "one_missing",
        ),
        KnownMistake(
            "the state alone",
            "def fixed_bytes(model, copies):\n    return sum(p.nbytes for p in model.parameters()) * copies",
            "state_only",
        ),
        KnownMistake(
            "copies not used",
            "def fixed_bytes(model, copies):\n    return sum(p.nbytes for p in model.parameters()) * 2",
            "no_copies",
        ),
        KnownMistake(
            "four bytes whatever the format",
            "def fixed_bytes(model, copies):\n    return sum(p.numel() for p in model.parameters()) * 4 * (2 + copies)",
            "always_four",
        ),
        KnownMistake(
            "step counters too",
            """
def fixed_bytes(model, copies):
    trained = [p for p in model.parameters() if p.requires_grad]
    return sum(p.nbytes for p in model.parameters()) + sum(p.nbytes * (1 + copies) + 4 for p in trained)
""",
            "step_counters",
        ),
        KnownMistake(
            "frozen parameters like the others",
            "def fixed_bytes(model, copies):\n    return sum(p.nbytes for p in model.parameters()) * (2 + copies)",
            "frozen_counted",
        ),
        KnownMistake(
            "frozen parameters left out",
            """
def fixed_bytes(model, copies):
    return sum(p.nbytes * (2 + copies) for p in model.parameters() if p.requires_grad)
""",
            "frozen_weights_gone",
        ),
    ),
    variants=(
        """
def fixed_bytes(model, copies):
    total = 0
    for p in model.parameters():
        times = 2 + copies if p.requires_grad else 1
        total += times * p.numel() * p.element_size()
    return torch.tensor(total)
""",
        """
def fixed_bytes(model, copies):
    weights = sum(p.untyped_storage().nbytes() for p in model.parameters())
    trained = sum(p.untyped_storage().nbytes() for p in model.parameters() if p.requires_grad)
    return float(weights + trained * (1 + copies))
""",
    ),
)


def _probe_mlp_activations(answer: Any) -> None:
    widths, batch = [60, 30, 20, 7], 6
    got = one_number(call(answer, list(widths), batch), "not_a_number")
    right = 4 * batch * sum(widths[:-1])
    if got * 4 == right:
        raise Wrong("elements", got=got, expected=right)
    if got * batch == right:
        raise Wrong("no_batch", got=got, expected=right)
    if got == 4 * batch * sum(widths):
        raise Wrong("output_counted", got=got, expected=right)
    if got == 4 * batch * sum(widths[1:]):
        raise Wrong("input_forgotten", got=got, expected=right)
    if got == 4 * batch * (widths[0] + 2 * sum(widths[1:-1])):
        raise Wrong("relu_twice", got=got, expected=right)
    if got == 4 * batch * widths[0]:
        raise Wrong("input_only", got=got, expected=right)
    if got == 4 * batch * sum(widths[1:-1]):
        raise Wrong("hidden_only", got=got, expected=right)
    if got == 4 * sum((a + 1) * b for a, b in pairwise(widths)):
        raise Wrong("weights", got=got, expected=right)
    if got != right:
        raise Wrong("other", got=got, expected=right)
    single = one_number(call(answer, [3, 2], 1), "not_a_number")
    if single != 12:
        raise Wrong("other", got=single, expected=12)


mlp_activations = Exercise(
    name="mlp_activations",
    lesson="05",
    probe=_probe_mlp_activations,
    hints={
        "not_a_number": Hint(
            "give back one number (this was: {kind}).", "end with `return` and a whole number, not a {kind}."
        ),
        "elements": Hint(
            "those are elements; a float32 has more than one byte.", "times 4: {expected} bytes, not {got}."
        ),
        "no_batch": Hint(
            "that is for one example. How many go through at once?", "times batch: {expected}, not {got}."
        ),
        "output_counted": Hint(
            "the last layer's output is in it. Which layer would need it for its backward pass?",
            "a Linear layer needs its *input*; nobody needs the last output here: {expected}, not {got}.",
        ),
        "input_forgotten": Hint(
            "the first layer's input is missing, and the last output is not needed. What does a Linear layer keep?",
            "each Linear layer keeps its input: all widths but the last ({expected}, not {got}).",
        ),
        "relu_twice": Hint(
            "ReLU's output and the next layer's input are the same tensor. It lies in memory once.",
            "count each hidden width once: {expected}, not {got}.",
        ),
        "input_only": Hint(
            "that is the first layer's input alone. The other Linear layers keep theirs too.",
            "all widths but the last, added: {expected}, not {got}.",
        ),
        "hidden_only": Hint(
            "the first Linear layer keeps its input too: the batch itself.",
            "begin with widths[0]: {expected}, not {got}.",
        ),
        "weights": Hint(
            "that is the model's parameters. Activations are the values that pass through it.",
            "for each Linear layer: batch times the width of its input, times 4 bytes ({expected}, not {got}).",
        ),
        "other": Hint(
            "expected {expected} bytes, got {got}. Look at the table above: who keeps what?",
            "batch × (all widths but the last, added) × 4 bytes: {expected}, not {got}.",
        ),
    },
    push=(
        "Look at the table above: which tensors are kept, and which of them twice?",
        "Every Linear layer keeps its input. ReLU keeps its output, and that is the next layer's input.",
    ),
    mistakes=(
        KnownMistake(
            "every width", "def mlp_activations(widths, batch):\n    return 4 * batch * sum(widths)", "output_counted"
        ),
        KnownMistake(
            "outputs instead of inputs",
            "def mlp_activations(widths, batch):\n    return 4 * batch * sum(widths[1:])",
            "input_forgotten",
        ),
        KnownMistake(
            "ReLU counted by itself",
            """
def mlp_activations(widths, batch):
    return 4 * batch * (sum(widths[:-1]) + sum(widths[1:-1]))
""",
            "relu_twice",
        ),
        KnownMistake("one example", "def mlp_activations(widths, batch):\n    return 4 * sum(widths[:-1])", "no_batch"),
        KnownMistake(
            "elements", "def mlp_activations(widths, batch):\n    return batch * sum(widths[:-1])", "elements"
        ),
        KnownMistake(
            "hidden layers only",
            "def mlp_activations(widths, batch):\n    return 4 * batch * sum(widths[1:-1])",
            "hidden_only",
        ),
        KnownMistake(
            "the input only", "def mlp_activations(widths, batch):\n    return 4 * batch * widths[0]", "input_only"
        ),
        KnownMistake(
            "the weights",
            """
def mlp_activations(widths, batch):
    return 4 * sum((a + 1) * b for a, b in zip(widths, widths[1:]))
""",
            "weights",
        ),
    ),
    variants=(
        """
def mlp_activations(widths, batch):
    total = 0
    for incoming, outgoing in zip(widths[:-1], widths[1:]):
        total += batch * incoming * torch.float32.itemsize
    return total
""",
        """
def mlp_activations(widths, batch):
    return (torch.tensor(widths[:-1]) * batch * 4).sum()
""",
    ),
)
