"""What fusing saves: bytes of a chain of elementwise operations, one by one and as one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import pair


def _asked(answer: Any, n: int, itemsize: int, extras: Sequence[int]) -> tuple[float, float]:
    return pair(call(answer, n, itemsize, list(extras)), "not_a_pair")


def _probe_fused_bytes(answer: Any) -> None:
    n, size, extras = 10, 4, [0, 2, 0, 1]
    separate, fused = n * size * (2 * len(extras) + 3), n * size * (2 + 3)
    one, two = _asked(answer, n, size, extras)
    known = {"expected": f"({separate}, {fused})", "got": f"({one:g}, {two:g})"}
    if (one, two) == (fused, separate):
        raise Wrong("exchanged", **known)
    if (one * size, two * size) == (separate, fused):
        raise Wrong("elements", **known)
    if one == n * size * (len(extras) + 3):
        raise Wrong("one_way", **known)
    if one == n * size * 2 * len(extras):
        raise Wrong("separate_without_extras", **known)
    if one == n * size * (2 + 3) == two:
        raise Wrong("nothing_saved", **known)
    if one != separate:
        raise Wrong("separate", **known)
    if two == 0:
        raise Wrong("fused_nothing", **known)
    if two == n * size * 2:
        raise Wrong("fused_without_extras", **known)
    if two == n * size * 3:
        raise Wrong("fused_extras_only", **known)
    if two == separate / len(extras):
        raise Wrong("divided", **known)
    if two != fused:
        raise Wrong("fused", **known)
    half = _asked(answer, 6, 2, [0])
    if half != (24, 24):
        raise Wrong("single", expected="(24, 24)", got=f"({half[0]:g}, {half[1]:g})")


fused_bytes = Exercise(
    name="fused_bytes",
    lesson="07",
    probe=_probe_fused_bytes,
    hints={
        "not_a_pair": Hint(
            "give back two numbers, (separate, fused); this was: {kind}.",
            "end with `return separate, fused`: two numbers (this was: {kind}).",
        ),
        "exchanged": Hint(
            "both are right and in the wrong order.", "separate first, then fused: {expected}, not {got}."
        ),
        "elements": Hint("those are elements, not bytes.", "times `itemsize`: {expected}, not {got}."),
        "one_way": Hint(
            "each operation on its own reads the running value *and* writes a result. One of both is missing.",
            "per operation: 1 read + its extras + 1 write, in tensors of n elements ({expected}, not {got}).",
        ),
        "separate_without_extras": Hint(
            "an operation such as `x * w` also reads w.",
            "add `extras[k]` reads for operation k: {expected}, not {got}.",
        ),
        "nothing_saved": Hint(
            "the first of your two numbers is that of the fused chain: nothing would be saved.",
            "one by one, each operation writes its result to memory and the next reads it: {expected}, not {got}.",
        ),
        "separate": Hint(
            "the first number is off: expected {expected}, got {got}.",
            "one by one: the sum over operations of (1 + extras[k] + 1), times n and itemsize: {expected}, not {got}.",
        ),
        "fused_nothing": Hint(
            "even a fused chain must read its input and write its result.",
            "fused: 1 read + all extras + 1 write, times n and itemsize: {expected}, not {got}.",
        ),
        "fused_without_extras": Hint(
            "fusing saves the values in between. The extra inputs must still be read.",
            "fused: 1 read + all extras + 1 write: {expected}, not {got}.",
        ),
        "fused_extras_only": Hint(
            "the chain's input must be read and its result written.",
            "fused: 1 read + all extras + 1 write: {expected}, not {got}.",
        ),
        "divided": Hint(
            "dividing by the number of operations is not it: extras are not shared.",
            "fused: 1 read + all extras + 1 write, times n and itemsize: {expected}, not {got}.",
        ),
        "fused": Hint(
            "the second number is off: expected {expected}, got {got}.",
            "fused: 1 read + all extras + 1 write, times n and itemsize: {expected}, not {got}.",
        ),
        "single": Hint(
            "for one operation without extras, 6 elements of 2 bytes, expected {expected}, got {got}.",
            "a single operation has nothing to be fused with: both numbers are {expected}, not {got}.",
        ),
    },
    push=(
        "Write down, for three operations one by one, what is read and what is written. Then strike out what stays in the kernel.",
        "One by one: (1 + extras[k] + 1) tensors for each operation. Fused: 1 + sum(extras) + 1 tensors.",
    ),
    mistakes=(
        KnownMistake(
            "exchanged",
            """
def fused_bytes(n, itemsize, extras):
    return n * itemsize * (2 + sum(extras)), n * itemsize * (2 * len(extras) + sum(extras))
""",
            "exchanged",
        ),
        KnownMistake(
            "elements",
            """
def fused_bytes(n, itemsize, extras):
    return n * (2 * len(extras) + sum(extras)), n * (2 + sum(extras))
""",
            "elements",
        ),
        KnownMistake(
            "writes forgotten",
            """
def fused_bytes(n, itemsize, extras):
    return n * itemsize * (len(extras) + sum(extras)), n * itemsize * (1 + sum(extras))
""",
            "one_way",
        ),
        KnownMistake(
            "extras forgotten",
            "def fused_bytes(n, itemsize, extras):\n    return 2 * n * itemsize * len(extras), 2 * n * itemsize",
            "separate_without_extras",
        ),
        KnownMistake(
            "extras forgotten when fused",
            """
def fused_bytes(n, itemsize, extras):
    return n * itemsize * sum(2 + e for e in extras), 2 * n * itemsize
""",
            "fused_without_extras",
        ),
        KnownMistake(
            "divided by the operations",
            """
def fused_bytes(n, itemsize, extras):
    separate = n * itemsize * sum(2 + e for e in extras)
    return separate, separate / len(extras)
""",
            "divided",
        ),
        KnownMistake(
            "fused costs nothing",
            "def fused_bytes(n, itemsize, extras):\n    return n * itemsize * sum(2 + e for e in extras), 0",
            "fused_nothing",
        ),
        KnownMistake(
            "one number",
            "def fused_bytes(n, itemsize, extras):\n    return 2 * n * itemsize * (len(extras) - 1)",
            "not_a_pair",
        ),
    ),
    variants=(
        """
def fused_bytes(n, itemsize, extras):
    separate = sum((1 + extra + 1) * n * itemsize for extra in extras)
    fused = separate - 2 * n * itemsize * (len(extras) - 1)  # each value in between: one write, one read
    return [separate, fused]
""",
        """
def fused_bytes(n, itemsize, extras):
    tensors = torch.tensor([2 * len(extras) + sum(extras), 2 + sum(extras)])
    return tensors * n * itemsize
""",
    ),
)
