"""The two numbers of any operation: the bytes that it must move and the arithmetic that it must do."""

from __future__ import annotations

from typing import Any

import torch

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import one_number

_NUMBER = Hint("give back one number (this was: {kind}).", "end with `return` and a whole number, not a {kind}.")


def _probe_moved_bytes(answer: Any) -> None:
    a, b, c = (torch.zeros(5, 7) for _ in range(3))
    got, n = one_number(call(answer, [a, b], [c]), "not_a_number"), a.numel()
    if got == 3 * n:
        raise Wrong("elements", got=got, expected=12 * n)
    if got == 8 * n:
        raise Wrong("reads_only", got=got, expected=12 * n)
    if got == 4 * n:
        raise Wrong("writes_only", got=got, expected=12 * n)
    if got == 4 * 3 * len(a):
        raise Wrong("first_side", got=got, expected=12 * n)
    if got != 12 * n:
        raise Wrong("other", got=got, expected=12 * n)
    small, large = torch.zeros(6, dtype=torch.bfloat16), torch.zeros(6, dtype=torch.float64)
    mixed = one_number(call(answer, [small], [large]), "not_a_number")
    if mixed != 60:
        raise Wrong("always_four", got=mixed, expected=60)
    twice = one_number(call(answer, [a, a], [c]), "not_a_number")
    if twice == 12 * n:
        raise Wrong("read_twice", got=twice, expected=8 * n)
    if twice != 8 * n:
        raise Wrong("other_twice", got=twice, expected=8 * n)
    equal = one_number(call(answer, [a, b], [c.clone()]), "not_a_number")
    if equal != 12 * n:
        raise Wrong("equal_is_not_same", got=equal, expected=12 * n)
    in_place = one_number(call(answer, [a, b], [a]), "not_a_number")
    if in_place == 8 * n:
        raise Wrong("in_place_once", got=in_place, expected=12 * n)
    if in_place != 12 * n:
        raise Wrong("other", got=in_place, expected=12 * n)


moved_bytes = Exercise(
    name="moved_bytes",
    lesson="07",
    probe=_probe_moved_bytes,
    hints={
        "not_a_number": _NUMBER,
        "elements": Hint(
            "those are elements; how many bytes has one?",
            "`x.numel() * x.element_size()` for each tensor: {expected} bytes, not {got}.",
        ),
        "reads_only": Hint(
            "what is written must travel too.", "add the tensors of `writes`: {expected} bytes, not {got}."
        ),
        "writes_only": Hint(
            "what is read must travel too.", "add the tensors of `reads`: {expected} bytes, not {got}."
        ),
        "first_side": Hint(
            "`len(x)` is the first side of a tensor only.", "`x.numel()` counts all elements: {expected}, not {got}."
        ),
        "always_four": Hint(
            "bfloat16 and float64 were moved this time. Has every element four bytes?",
            "`x.element_size()` instead of 4: {expected} bytes, not {got}.",
        ),
        "read_twice": Hint(
            "`a * a` names the same tensor twice. Must it come from memory twice?",
            "count each tensor of `reads` once, even if it is named twice: {expected}, not {got}.",
        ),
        "other_twice": Hint(
            "for `c = a * a` expected {expected} bytes, got {got}.",
            "there a is read once and c is written: {expected}, not {got}.",
        ),
        "equal_is_not_same": Hint(
            "two tensors with equal contents are still two tensors in memory.",
            "tell them apart by identity, for example by `id(x)` or `x.data_ptr()`: {expected}, not {got}.",
        ),
        "in_place_once": Hint(
            "`a += b` reads a and writes a. Those are two journeys.",
            "drop repetitions within `reads` only, not between `reads` and `writes`: {expected}, not {got}.",
        ),
        "other": Hint(
            "expected {expected} bytes, got {got}.",
            "bytes of the different tensors in `reads`, plus bytes of those in `writes`: {expected}, not {got}.",
        ),
    },
    push=(
        "Each tensor that is read comes from memory once; each that is written goes there once.",
        "Collect the reads by identity, `{id(x): x for x in reads}.values()`, and add `numel() * element_size()`.",
    ),
    mistakes=(
        KnownMistake(
            "elements instead of bytes",
            "def moved_bytes(reads, writes):\n    return sum(x.numel() for x in reads + writes)",
            "elements",
        ),
        KnownMistake(
            "only what is read",
            "def moved_bytes(reads, writes):\n    return sum(x.nbytes for x in reads)",
            "reads_only",
        ),
        KnownMistake(
            "only what is written",
            "def moved_bytes(reads, writes):\n    return sum(x.nbytes for x in writes)",
            "writes_only",
        ),
        KnownMistake(
            "len of a tensor",
            "def moved_bytes(reads, writes):\n    return sum(4 * len(x) for x in reads + writes)",
            "first_side",
        ),
        KnownMistake(
            "four bytes whatever the format",
            "def moved_bytes(reads, writes):\n    return sum(4 * x.numel() for x in reads + writes)",
            "always_four",
        ),
        KnownMistake(
            "the same tensor read twice",
            "def moved_bytes(reads, writes):\n    return sum(x.nbytes for x in reads + writes)",
            "read_twice",
        ),
        KnownMistake(
            "repetitions dropped everywhere",
            "def moved_bytes(reads, writes):\n"
            "    return sum(x.nbytes for x in {id(x): x for x in reads + writes}.values())",
            "in_place_once",
        ),
    ),
    variants=(
        """
def moved_bytes(reads, writes):
    seen, total = set(), 0
    for x in reads:
        if x.data_ptr() not in seen:
            seen.add(x.data_ptr())
            total += x.numel() * x.element_size()
    for x in writes:
        total += x.numel() * x.element_size()
    return torch.tensor(total)
""",
        """
def moved_bytes(reads, writes):
    return float(sum(x.nbytes for x in set(reads)) + sum(x.nbytes for x in writes))
""",
    ),
)


def _probe_conv_flops(answer: Any) -> None:
    batch, c_in, c_out, kernel, side = 11, 7, 5, 3, 13  # primes: no two slips give one number
    right = 2 * batch * c_out * side**2 * c_in * kernel**2
    got = one_number(call(answer, batch, c_in, c_out, kernel, side), "not_a_number")
    named: dict[float, str] = {
        right // 2: "macs",
        right // batch: "no_batch",
        right // c_in: "one_input_channel",
        right // c_out: "one_output_channel",
        right // kernel: "kernel_not_squared",
        right // side: "side_not_squared",
        right // side**2: "one_place",
        2 * c_in * c_out * kernel**2: "parameters",
        right - batch * c_out * side**2: "one_addition_less",
        right + batch * c_out * side**2: "with_bias",
        right // side**2 * (side - kernel + 1) ** 2: "shrunk",
    }
    if got != right:
        raise Wrong(named.get(got, "other"), got=got, expected=right)
    wide = one_number(call(answer, 1, 2, 1, 1, 10), "not_a_number")
    if wide != 400:
        raise Wrong("other", got=wide, expected=400)


conv_flops = Exercise(
    name="conv_flops",
    lesson="07",
    probe=_probe_conv_flops,
    hints={
        "not_a_number": _NUMBER,
        "macs": Hint(
            "that counts multiplications. What happens to the products?",
            "each product is also added: 2 FLOPs for each ({expected}, not {got}).",
        ),
        "no_batch": Hint("that is for one picture. How many are there?", "times `batch`: {expected}, not {got}."),
        "one_input_channel": Hint(
            "an output value looks at every input channel.", "times `c_in`: {expected}, not {got}."
        ),
        "one_output_channel": Hint(
            "that makes a single output map. How many are made?", "times `c_out`: {expected}, not {got}."
        ),
        "kernel_not_squared": Hint(
            "the kernel is a square, not a line.", "`kernel ** 2` products per channel: {expected}, not {got}."
        ),
        "side_not_squared": Hint(
            "the output map is a square, not a line.", "`side ** 2` places: {expected}, not {got}."
        ),
        "one_place": Hint(
            "that is for one place of the map. The kernel stands at many.",
            "times `side ** 2` places: {expected}, not {got}.",
        ),
        "parameters": Hint(
            "that depends on the weights alone. The kernel is used anew at every place of every picture.",
            "times `side ** 2` places and `batch` pictures: {expected}, not {got}.",
        ),
        "one_addition_less": Hint(
            "exact, since the first product needs no addition. By custom, as for the matrix product, it is counted.",
            "2 FLOPs for each product, also for the first: {expected}, not {got}.",
        ),
        "with_bias": Hint(
            "one addition for each output value is too many: that is the bias.",
            "leave the bias out: {expected}, not {got}.",
        ),
        "shrunk": Hint(
            "`side` is already that of the output map: nothing is to be taken off.",
            "`side ** 2` places: {expected}, not {got}.",
        ),
        "other": Hint(
            "expected {expected} FLOPs, got {got}. How many output values are there, and what does each cost?",
            "batch × c_out × side² values, each 2 × c_in × kernel² FLOPs: {expected}, not {got}.",
        ),
    },
    push=(
        "First: how many numbers come out? Then: what does one of them cost?",
        "Out come batch × c_out × side × side numbers. Each is a sum of c_in × kernel × kernel products.",
    ),
    mistakes=(
        KnownMistake(
            "multiplications only",
            "def conv_flops(batch, c_in, c_out, kernel, side):\n    return batch * c_out * side**2 * c_in * kernel**2",
            "macs",
        ),
        KnownMistake(
            "one picture",
            "def conv_flops(batch, c_in, c_out, kernel, side):\n    return 2 * c_out * side**2 * c_in * kernel**2",
            "no_batch",
        ),
        KnownMistake(
            "one input channel",
            "def conv_flops(batch, c_in, c_out, kernel, side):\n    return 2 * batch * c_out * side**2 * kernel**2",
            "one_input_channel",
        ),
        KnownMistake(
            "the kernel as a line",
            "def conv_flops(batch, c_in, c_out, kernel, side):\n    return 2 * batch * c_out * side**2 * c_in * kernel",
            "kernel_not_squared",
        ),
        KnownMistake(
            "the map as a line",
            "def conv_flops(batch, c_in, c_out, kernel, side):\n    return 2 * batch * c_out * side * c_in * kernel**2",
            "side_not_squared",
        ),
        KnownMistake(
            "one place of the map",
            "def conv_flops(batch, c_in, c_out, kernel, side):\n    return 2 * batch * c_out * c_in * kernel**2",
            "one_place",
        ),
        KnownMistake(
            "twice the parameters",
            "def conv_flops(batch, c_in, c_out, kernel, side):\n    return 2 * c_out * c_in * kernel**2",
            "parameters",
        ),
        KnownMistake(
            "one addition less",
            "def conv_flops(batch, c_in, c_out, kernel, side):\n"
            "    return batch * c_out * side**2 * (2 * c_in * kernel**2 - 1)",
            "one_addition_less",
        ),
        KnownMistake(
            "with the bias",
            "def conv_flops(batch, c_in, c_out, kernel, side):\n"
            "    return batch * c_out * side**2 * (2 * c_in * kernel**2 + 1)",
            "with_bias",
        ),
        KnownMistake(
            "side taken for that of the input",
            "def conv_flops(batch, c_in, c_out, kernel, side):\n"
            "    return 2 * batch * c_out * (side - kernel + 1) ** 2 * c_in * kernel**2",
            "shrunk",
        ),
        KnownMistake(
            "no number at all",
            "def conv_flops(batch, c_in, c_out, kernel, side):\n    return math.inf * batch",
            "other",
        ),
    ),
    variants=(
        """
def conv_flops(batch, c_in, c_out, kernel, side):
    rows, inner, columns = batch * side * side, c_in * kernel * kernel, c_out  # as a matrix product
    return 2.0 * rows * inner * columns
""",
        """
def conv_flops(batch, c_in, c_out, kernel, side):
    values = math.prod((batch, c_out, side, side))
    return torch.tensor(values * 2 * c_in * kernel ** 2)
""",
    ),
)
