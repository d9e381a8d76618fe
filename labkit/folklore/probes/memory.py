"""Memory: what training keeps, accumulated gradients, checkpoints, and the limits of a card."""

from __future__ import annotations

import warnings
from typing import Any

from labkit.folklore.observation import Observation
from labkit.folklore.registry import probe


@probe("1.27", needs="torch")
def memory_needs_conditions(
    cases: tuple[tuple[int, int], ...] = ((2, 32), (16, 32), (2, 128), (16, 128)),
) -> Observation:
    """Counts the bytes that one network keeps for its backward pass, for two batches and two sizes of picture."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
    kept: dict[str, int] = {}
    for batch, pixels in cases:
        held: dict[int, int] = {}

        def keep(tensor: Any, held: dict[int, int] = held) -> Any:
            held[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            result = net(torch.randn(batch, 3, pixels, pixels)).sum()
        kept[f"batch {batch}, {pixels} pixels"] = sum(held.values())
        del result
    spread = max(kept.values()) / min(kept.values())
    told = ", ".join(f"{name}: {size / 2**20:.1f} MiB" for name, size in kept.items())
    return Observation(
        "open" if spread > 2 else "holds",
        f"One small network keeps for its backward pass: {told}. A factor of {spread:.0f}.",
    )


@probe("1.42", needs="torch")
def fragmentation_needs_conditions() -> Observation:
    """Plays two courses of requests through labkit's simulated allocator, with and without the option."""
    from labkit.memory import CachingAllocator
    from labkit.memory.segments import totals

    change: dict[str, float] = {}
    for name, sizes in (("equal requests", (16,) * 8), ("mixed requests", (200, 30, 200, 30, 150, 30))):
        unused = []
        for limit in (None, 128 * 2**20):
            books = CachingAllocator(capacity=4 * 2**30, max_split=limit)
            for number, size in enumerate(sizes):
                books.allocate(f"{number}", size * 2**20)
            for number in range(0, len(sizes), 2):
                books.free(f"{number}")
            for number, size in enumerate(sizes):
                books.allocate(f"again {number}", max(1, size // 2) * 2**20)
            reserved, allocated, _ = totals(books.segments())
            unused.append(reserved - allocated)
        change[name] = (unused[1] - unused[0]) / unused[0] if unused[0] else 0.0
    told = ", ".join(f"{name}: {value:+.0%}" for name, value in change.items())
    differ = max(change.values()) - min(change.values()) > 0.05
    saw = "open" if differ else "holds" if all(value <= -0.25 for value in change.values()) else "fails"
    return Observation(
        saw,
        f"In labkit's simulation of the allocator, memory reserved and unused with max_split_size_mb:128 against without: {told}.",
    )


@probe("1.45", needs="rocm-torch")
def more_than_the_card_has() -> Observation:
    """Asks for more than the card has in one piece, which is refused at once and fills nothing."""
    import torch

    properties = torch.cuda.get_device_properties(0)
    total = properties.total_memory
    if getattr(properties, "is_integrated", False):  # its total may be a part of what it can take from the system
        return Observation("unmet", "needs a GPU with memory of its own")
    try:
        torch.empty(int(total * 1.2), dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError as error:
        return Observation(
            "fails", f"The card has {total / 2**30:.1f} GiB; 1.2 times that: {str(error).splitlines()[0][:160]}"
        )
    return Observation("holds", f"The card has {total / 2**30:.1f} GiB and gave 1.2 times that.")


def copied_snippet(model: Any, criterion: Any, optimizer: Any, micro: Any, every: int) -> int:
    """The guides' loop; returns the number of steps."""
    steps = 0
    for number, (inputs, labels) in enumerate(micro):
        loss = criterion(model(inputs), labels) / every
        loss.backward()
        if (number + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()
            steps += 1
    return steps


@probe("2.25", needs="torch")
def accumulation_tail(batches: int = 10, every: int = 4, last: int = 1) -> Observation:
    """Runs the loop on full groups, on a tail, and on micro-batches of unequal size, each against one large batch."""
    import torch
    from torch import nn

    def distance(sizes: tuple[int, ...]) -> float:
        """Largest difference of a gradient between accumulated micro-batches and one batch of all of them."""
        torch.manual_seed(0)
        model, criterion = nn.Linear(6, 3), nn.CrossEntropyLoss()
        micro = [(torch.randn(size, 6), torch.randint(0, 3, (size,))) for size in sizes]
        for inputs, labels in micro:
            (criterion(model(inputs), labels) / len(sizes)).backward()
        parts, model.weight.grad = model.weight.grad, None
        criterion(model(torch.cat([x for x, _ in micro])), torch.cat([y for _, y in micro])).backward()
        assert parts is not None and model.weight.grad is not None
        return float((parts - model.weight.grad).abs().max())

    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    micro = [(torch.randn(4, 6), torch.randint(0, 3, (4,))) for _ in range(batches)]
    steps = copied_snippet(model, nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.1), micro, every)
    left = batches - steps * every
    equal, unequal = distance((8, 8, 8, 8)), distance((8, 8, 8, last))
    saw = "partly" if equal < 1e-6 and (left or unequal > 1e-4) else "holds" if equal < 1e-6 else "fails"
    return Observation(
        saw,
        f"{batches} micro-batches in groups of {every}: {steps} steps, {left} micro-batches never "
        "stepped. Against one large batch the gradient is off by "
        f"{equal:.1e} with equal micro-batches, by {unequal:.1e} if the last is smaller.",
    )


@probe("2.26", needs="torch")
def checkpoint_flag() -> Observation:
    """Calls it as the guide does, and with the flag."""
    import torch
    from torch.utils.checkpoint import checkpoint

    block = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh())

    def call(**options: Any) -> tuple[list[str], str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = f"gradient for the weights: {checkpoint(block, torch.randn(2, 8), **options).requires_grad}"
            except Exception as error:
                result = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
        return [str(warning.message) for warning in caught if "use_reentrant" in str(warning.message)], result

    told, result = call()
    _, new = call(use_reentrant=False)
    saw = "deprecated" if told and result.startswith("gradient") else "holds" if result.endswith("True") else "fails"
    return Observation(
        saw,
        f"As the guide writes it: {result}; PyTorch says: {told[0][:140] if told else 'nothing'}... With use_reentrant=False: {new}.",
    )
