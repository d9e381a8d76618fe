"""Activations computed twice instead of kept."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.memory.saved import saved_tensors


class _Blocks:
    """Four blocks that count how often their forward pass runs, and one run of the learner's function on them."""

    def __init__(self, answer: Any, count: int, needs_grad: bool) -> None:
        draw = torch.Generator().manual_seed(7)
        self.blocks = [nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh()) for _ in range(4)]
        with torch.no_grad():
            for p in (p for block in self.blocks for p in block.parameters()):
                p.copy_(0.4 * torch.randn(p.shape, generator=draw))
        self.x = torch.randn(5, 8, generator=draw).requires_grad_(needs_grad)
        reference = self.x
        for block in self.blocks:
            reference = block(reference)
        self.reference = reference.detach()
        reference.square().sum().backward()
        self.right = [p.grad.clone() for block in self.blocks for p in block.parameters() if p.grad is not None]
        for block in self.blocks:
            block.zero_grad()
        self.calls = [0] * 4
        for k, block in enumerate(self.blocks):
            block.register_forward_pre_hook(self._counter(k))  # recomputation may stop inside a block
        with saved_tensors(*self.blocks) as saved:
            self.out = call(answer, list(self.blocks), self.x, count)
        self.kept = saved.bytes

    def _counter(self, k: int) -> Any:
        def hook(*_: Any) -> None:
            self.calls[k] += 1

        return hook

    def backward(self) -> None:
        """Raises Wrong where the gradients do not arrive as they should."""
        if not self.out.requires_grad:
            raise Wrong("no_gradient")
        self.out.square().sum().backward()
        grads = [p.grad for block in self.blocks for p in block.parameters()]
        if any(g is None for g in grads):
            raise Wrong("no_gradient")
        if not all(torch.allclose(g, r, rtol=1e-4, atol=1e-6) for g, r in zip(grads, self.right, strict=True)):  # type: ignore[arg-type]
            raise Wrong("other_gradient")


def _kept_by(count: int) -> int:
    """Bytes that four such blocks keep where the first ``count`` are checkpointed one by one: an input each; of the others
    two tensors each, and the input of the first of them."""
    one = 5 * 8 * 4
    return one * (count + 2 * (4 - count) + (1 if count < 4 else 0))


def _probe_checkpoint_blocks(answer: Any) -> None:
    for count in (2, 0, 4):
        run = _Blocks(answer, count, needs_grad=True)
        if not isinstance(run.out, Tensor):
            raise Wrong("not_a_tensor", kind=type(run.out).__name__)
        if run.out.shape != run.reference.shape or not torch.allclose(run.out, run.reference, rtol=1e-4, atol=1e-6):
            raise Wrong("output", calls=sum(run.calls))
        run.backward()
        expected = [2 if k < count else 1 for k in range(4)]
        if run.calls != expected:
            _name_the_calls(run.calls, expected, count)
        if run.kept < _kept_by(count):
            raise Wrong("one_region", count=count)
    without = _Blocks(answer, 4, needs_grad=False)
    try:
        without.backward()
    except Wrong:
        raise Wrong("reentrant") from None


def _name_the_calls(calls: list[int], expected: list[int], count: int) -> None:
    if calls == [1] * 4:
        raise Wrong("not_checkpointed", count=count)
    if calls == [2] * 4:
        raise Wrong("all_blocks", count=count)
    if calls == expected[::-1]:
        raise Wrong("wrong_end", count=count)
    got = [k for k, times in enumerate(calls) if times == 2]
    if len(got) == count:
        raise Wrong("which", got=got, expected=list(range(count)))
    raise Wrong("calls", got=len(got), expected=count)


checkpoint_blocks = Exercise(
    name="checkpoint_blocks",
    lesson="05",
    probe=_probe_checkpoint_blocks,
    errors={"not callable": "called_first"},
    hints={
        "not_a_tensor": Hint(
            "give back the last block's output (this was: {kind}).", "end with `return x`, not a {kind}."
        ),
        "output": Hint(
            "the output is not that of all four blocks in order. Does each block get what the one before it gave?",
            "`x = …` in each round of the loop, for every block ({calls} forward passes were seen in all).",
        ),
        "no_gradient": Hint(
            "no gradient arrives at the weights. Checkpointing must not cut the graph: no `no_grad`, no `detach`.",
            "`x = checkpoint(block, x, use_reentrant=False)` is all; autograd stays on.",
        ),
        "other_gradient": Hint(
            "the gradients differ from those without checkpointing.",
            "each block once per forward pass, its output into the next. (A `lambda` in a loop calls the loop's *last* block "
            "when it is called again: hand over the block itself.)",
        ),
        "not_checkpointed": Hint(
            "no block is computed again in the backward pass (count={count}): nothing is checkpointed.",
            "for the first {count} blocks: `checkpoint(block, x, use_reentrant=False)` instead of `block(x)`.",
        ),
        "all_blocks": Hint(
            "all blocks are checkpointed, though count={count}.",
            "`enumerate(blocks)` gives a number: `if number < count:` checkpoint, else call the block (count={count}).",
        ),
        "wrong_end": Hint(
            "count={count}: the *first* {count} blocks should be checkpointed, you took the last.",
            "`if number < count:`, not `>=` (count={count}).",
        ),
        "which": Hint(
            "as many blocks as asked for are checkpointed, but not the first ones: the numbers {got} in place of {expected}.",
            "`enumerate(blocks)` counts from 0: `if number < count:` checkpoint ({expected}, not {got}).",
        ),
        "calls": Hint(
            "{got} blocks are computed again in the backward pass; expected: {expected}.",
            "`if number < count:` checkpoint, else call the block: {expected} of them, not {got}.",
        ),
        "one_region": Hint(
            "the first {count} blocks are one checkpoint. Then all of them are in memory again at once in the backward pass.",
            "call `checkpoint` for each of the {count} blocks by itself: each keeps its own input.",
        ),
        "reentrant": Hint(
            "with an input that needs no gradient, as pictures are, your weights get none. Which kind of checkpoint is it?",
            "pass `use_reentrant=False`.",
        ),
        "called_first": Hint(
            "`checkpoint` was given a tensor where it wants the block: `checkpoint(block(x))` computes the block before it is "
            "called. Hand over the block and x.",
            "`checkpoint(block, x, use_reentrant=False)`: the function first, its input after the comma.",
        ),
    },
    push=(
        "A loop over the blocks: some through `checkpoint`, the others called as usual.",
        "`checkpoint(block, x, use_reentrant=False)` stands for `block(x)`.",
    ),
    mistakes=(
        KnownMistake(
            "the old kind",
            """
def checkpoint_blocks(blocks, x, count):
    for number, block in enumerate(blocks):
        x = checkpoint(block, x, use_reentrant=True) if number < count else block(x)
    return x
""",
            "reentrant",
        ),
        KnownMistake(
            "the block is called first",
            """
def checkpoint_blocks(blocks, x, count):
    for number, block in enumerate(blocks):
        x = checkpoint(block(x), use_reentrant=False) if number < count else block(x)
    return x
""",
            "called_first",
        ),
        KnownMistake(
            "all blocks",
            """
def checkpoint_blocks(blocks, x, count):
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False)
    return x
""",
            "all_blocks",
        ),
        KnownMistake(
            "no checkpoint",
            """
def checkpoint_blocks(blocks, x, count):
    for block in blocks:
        x = block(x)
    return x
""",
            "not_checkpointed",
        ),
        KnownMistake(
            "no_grad saves memory too",
            """
def checkpoint_blocks(blocks, x, count):
    for number, block in enumerate(blocks):
        if number < count:
            with torch.no_grad():
                x = block(x)
        else:
            x = block(x)
    return x
""",
            "no_gradient",
        ),
        KnownMistake(
            "one checkpoint around them all",
            """
def checkpoint_blocks(blocks, x, count):
    def first(x):
        for block in blocks[:count]:
            x = block(x)
        return x
    if count:
        x = checkpoint(first, x, use_reentrant=False)
    for block in blocks[count:]:
        x = block(x)
    return x
""",
            "one_region",
        ),
        KnownMistake(
            "the last blocks",
            """
def checkpoint_blocks(blocks, x, count):
    for number, block in enumerate(blocks):
        x = block(x) if number < len(blocks) - count else checkpoint(block, x, use_reentrant=False)
    return x
""",
            "wrong_end",
        ),
        KnownMistake(
            "every other block",
            """
def checkpoint_blocks(blocks, x, count):
    for number, block in enumerate(blocks):
        x = checkpoint(block, x, use_reentrant=False) if number % 2 == 0 else block(x)
    return x
""",
            "which",
        ),
        KnownMistake(
            "block and input exchanged",
            """
def checkpoint_blocks(blocks, x, count):
    for number, block in enumerate(blocks):
        x = checkpoint(x, block, use_reentrant=False) if number < count else block(x)
    return x
""",
            "called_first",
        ),
        KnownMistake(
            "a lambda in the loop",
            """
def checkpoint_blocks(blocks, x, count):
    for number, block in enumerate(blocks):
        x = checkpoint(lambda v: block(v), x, use_reentrant=False) if number < count else block(x)
    return x
""",
            "other_gradient",
        ),
        KnownMistake(
            "x does not move on",
            """
def checkpoint_blocks(blocks, x, count):
    for number, block in enumerate(blocks):
        out = checkpoint(block, x, use_reentrant=False) if number < count else block(x)
    return out
""",
            "output",
        ),
    ),
    variants=(
        """
def checkpoint_blocks(blocks, x, count):
    import torch.utils.checkpoint as again
    for block in blocks[:count]:
        x = again.checkpoint(lambda values, block=block: block(values), x, use_reentrant=False)
    return nn.Sequential(*blocks[count:])(x)
""",
    ),
)
