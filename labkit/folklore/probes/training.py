"""Training code: the lines of the guides, run on small data."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable
from typing import Any

from labkit.folklore import child
from labkit.folklore.observation import Observation
from labkit.folklore.registry import probe


@probe("1.22", needs="torch")
def dataloader_command_line() -> Observation:
    """Runs the command, with an option besides that surely does not exist."""
    answer = child.python("-m", "torch.utils.data.dataloader", "--dataset", "ImageFolder", "--no-such-option")
    said = child.last_line(answer.text)
    reads_options = any(word in answer.text.lower() for word in ("usage:", "unrecognized", "no such option"))
    saw = "holds" if reads_options else "fails" if answer.status == 0 else "broken"  # other than 'right' says
    return Observation(
        saw,
        f"Exit status {answer.status} for an option that does not exist"
        f"{'' if reads_options else ', so no option is read'}. Printed: {said}",
    )


@probe("1.23", needs="module:torchvision")
def pretrained_argument() -> Observation:
    """Makes a network with the old argument (False, so that nothing is fetched) and listens for warnings."""
    import torchvision

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            torchvision.models.squeezenet1_1(pretrained=False)
        except TypeError as error:
            return Observation("fails", f"torchvision {torchvision.__version__}: TypeError: {error}")
    told = [str(warning.message) for warning in caught if "pretrained" in str(warning.message)]
    return Observation(
        "deprecated" if told else "holds",
        f"torchvision {torchvision.__version__} says: {told[0] if told else 'nothing'}",
    )


@probe("1.24", needs="rocm-torch")
def model_cuda() -> Observation:
    """Moves a layer."""
    import torch

    where = next(torch.nn.Linear(2, 2).cuda().parameters()).device
    return Observation(
        "holds" if where.type == "cuda" else "fails", f"The parameters are on {where}, HIP {torch.version.hip}."
    )


@probe("1.25", needs="torch")
def old_head_stays(outputs_kept: int = 1000) -> Observation:
    """Loads weights of a network for 1,000 classes, trains it on 10, and looks at what it answers."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    old, copy = (nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, outputs_kept)) for _ in range(2))
    copy.load_state_dict(old.state_dict())
    inputs, labels = torch.randn(200, 20), torch.randint(0, 10, (200,))
    optimizer = torch.optim.SGD(copy.parameters(), lr=0.1)
    first = nn.functional.cross_entropy(copy(inputs), labels)
    first.backward()
    optimizer.step()
    outputs = copy(inputs)
    last = nn.functional.cross_entropy(outputs, labels)
    outside = int((outputs.argmax(1) >= 10).sum())
    saw = "partly" if last < first and outputs.shape[1] != 10 else "holds" if outputs.shape[1] == 10 else "fails"
    return Observation(
        saw,
        f"Loaded and trained on 10 classes: the loss falls ({first:.2f} to {last:.2f}), and the network "
        f"still has {outputs.shape[1]} outputs. "
        f"After one step {outside} of 200 answers are classes that the data does not have.",
    )


@probe("1.26", needs="torch")
def rate_needs_conditions() -> Observation:
    """Times one network on this CPU under four sets of the conditions that the claim leaves out."""
    import torch
    from torch import nn

    net = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.AdaptiveAvgPool2d(1)
    )
    rates = {}
    with torch.no_grad():
        for batch, pixels in ((1, 32), (16, 32), (1, 128), (16, 128)):
            pictures = torch.randn(batch, 3, pixels, pixels)
            net(pictures)
            best = min(_seconds(net, pictures) for _ in range(5))
            rates[f"batch {batch}, {pixels} pixels"] = batch / best
    spread = max(rates.values()) / min(rates.values())
    told = ", ".join(f"{name}: {rate:,.0f}" for name, rate in rates.items())
    return Observation(
        "open" if spread > 2 else "holds",
        f"One small network on this CPU, pictures per second: {told}. A factor of {spread:.0f}.",
    )


def _seconds(net: Callable[[Any], Any], pictures: Any) -> float:
    start = time.perf_counter()
    net(pictures)
    return time.perf_counter() - start


@probe("1.28", needs="torch")
def no_crash_is_no_measure() -> Observation:
    """Runs ten epochs twice: once as they should be, once with a learning rate of zero."""
    before, after = {}, {}
    for name, rate in (("learning rate 0.1", 0.1), ("learning rate 0", 0.0)):
        before[name], after[name] = _train(epochs=10, rate=rate)
    learnt = {name: after[name] < 0.9 * before[name] for name in before}
    saw = "open" if set(learnt.values()) == {True, False} else "holds" if all(learnt.values()) else "fails"
    told = "; ".join(f"{name}: loss {before[name]:.3f} to {after[name]:.3f}" for name in before)
    return Observation(
        saw, f"Ten epochs without a crash, twice. {told}. Only one of them learnt anything, and both pass the test."
    )


def five_lines(net: Any, criterion: Any, optimizer: Any, inputs: Any, labels: Any) -> float:
    """The guides' step, with its indentation. Returns the loss before the step."""
    optimizer.zero_grad()
    loss = criterion(net(inputs), labels)
    loss.backward()
    optimizer.step()
    return float(loss.item())


def _train(epochs: int, rate: float) -> tuple[float, float]:
    """Loss of the first and of the last step on 120 points of three classes, made with a fixed seed."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    labels = torch.arange(120) % 3
    inputs = torch.randn(120, 4) * 0.5 + torch.eye(3, 4)[labels] * 2
    net, criterion = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3)), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=rate)
    losses = [
        five_lines(net, criterion, optimizer, inputs[k::4], labels[k::4]) for _ in range(epochs) for k in range(4)
    ]
    return losses[0], losses[-1]


@probe("2.23", needs="torch")
def five_lines_train(rate: float = 0.1) -> Observation:
    """Runs the five lines for ten epochs."""
    first, last = _train(epochs=10, rate=rate)
    return Observation(
        "holds" if last < 0.7 * first else "fails",
        f"Ten epochs on 120 points of three classes: loss {first:.3f} to {last:.3f}.",
    )


@probe("2.21")
def block_without_indentation(source: str | None = None) -> Observation:
    """Takes the indentation from a function of Python, as the print did, and compiles both."""
    source = inspect.getsource(five_lines) if source is None else source
    printed = "\n".join(line.strip() for line in source.splitlines())
    compile(source, "with its indentation", "exec")
    try:
        compile(printed, "as printed", "exec")
    except SyntaxError as error:
        return Observation(
            "fails",
            f"With its indentation the block compiles. Without: {type(error).__name__}: {error.msg}, line {error.lineno}.",
        )
    return Observation("holds", "The block compiles without its indentation.")


@probe("2.20", needs="torch module:numpy")
def half_and_half(mean: float = 0.5, spread: float = 0.5) -> Observation:
    """Normalises the digits that this course ships with 0.5 and 0.5, and trains on them."""
    import torch
    from torch import nn

    from labkit.data.digits import digits

    train_images, train_labels, test_images, test_labels = (torch.from_numpy(array) for array in digits())
    own_mean, own_spread = (train_images / 255).mean().item(), (train_images / 255).std().item()
    inputs, tests = (((images.float() / 255 - mean) / spread).flatten(1) for images in (train_images, test_images))
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(15):
        for k in range(5):
            five_lines(net, nn.CrossEntropyLoss(), optimizer, inputs[k::5], train_labels[k::5])
    right = (net(tests).argmax(1) == test_labels).float().mean().item()
    within = inputs.min() >= -1 and inputs.max() <= 1
    return Observation(
        "holds" if within and right > 0.8 else "fails",
        f"On the digits that stand in for MNIST the values lie from {inputs.min():.2f} to "
        f"{inputs.max():.2f} (mean {inputs.mean():.2f}, spread "
        f"{inputs.std():.2f}), and a small network reaches {right:.0%}. Their own constants would be {own_mean:.3f} and {own_spread:.3f}.",
    )


@probe("2.24", needs="torch")
def reads_per_step(steps: int = 100) -> Observation:
    """Counts how often Python has to wait for a number: with .item() in each step, and with the losses collected."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Reads(TorchDispatchMode):
        """Counts the operator behind .item(), which hands a number to Python and therefore waits for it."""

        count = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.count += "_local_scalar_dense" in str(func)
            return func(*args, **(kwargs or {}))

    losses = [torch.tensor(1.0 / (k + 1), requires_grad=True) for k in range(steps)]
    with Reads() as each:
        running = 0.0
        for loss in losses:
            running += loss.item()
    with Reads() as once:
        collected = torch.stack([loss.detach() for loss in losses]).sum().item()
    same = abs(running - collected) < 1e-4
    saw = "partly" if same and each.count > once.count else "holds" if same else "fails"
    return Observation(
        saw,
        f"{steps} steps: with .item() in each, Python waits {each.count} times; with losses collected, {once.count} time. "
        f"The sums: {running:.5f} and {collected:.5f}.",
    )
