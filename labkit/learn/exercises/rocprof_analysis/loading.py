"""A training that starves: its loader prepares one picture after the other."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import record_function

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.exercises.rocprof_analysis.recorded import least
from labkit.learn.judge import call

STARVED = 0.3
"""Share of the step that loading may take in the check. Prepared at once it takes about a tenth of the check's tiny step,
picture by picture far more than half."""

_PICTURES, _SIDE, _BATCH = 16_384, 8, 64
_MEAN, _STD = (0.5, 0.4, 0.3), (0.25, 0.2, 0.1)


def _right(images: Tensor, labels: Tensor, picks: Tensor) -> tuple[Tensor, Tensor]:
    mean, std = (torch.tensor(v).view(3, 1, 1) for v in (_MEAN, _STD))
    return (images[picks].float() / 255 - mean) / std, labels[picks]


def _probe_starved(answer: Any) -> None:
    draw = torch.Generator().manual_seed(4)
    images = torch.randint(0, 256, (_PICTURES, 3, _SIDE, _SIDE), generator=draw, dtype=torch.uint8)
    labels = torch.randint(0, 10, (_PICTURES,), generator=draw)
    for size in (6, 11):
        _same_batch(answer, images[:40], labels[:40], torch.randperm(40, generator=draw)[:size])
    model = nn.Sequential(nn.Flatten(), nn.Linear(3 * _SIDE * _SIDE, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        with record_function("load"):
            x, y = answer(images, labels, torch.randint(0, _PICTURES, (_BATCH,), generator=draw), _MEAN, _STD)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    found = least(step, lambda h: h.load_share, STARVED, steps=6)
    if found.load_share > STARVED:
        per_picture = found.operators / found.steps > 3 * _BATCH  # a step without a loop has some 150 operators
        key = "still_starved" if per_picture else "whole_set"
        raise Wrong(key, share=100 * found.load_share, operators=found.operators / found.steps, batch=_BATCH)


def _same_batch(answer: Any, images: Tensor, labels: Tensor, picks: Tensor) -> None:
    found = call(answer, images, labels, picks, _MEAN, _STD)
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise Wrong("not_a_pair", kind=type(found).__name__)
    x, y = found
    if not isinstance(x, Tensor) or not isinstance(y, Tensor):
        raise Wrong("not_a_pair", kind=f"{type(x).__name__} and {type(y).__name__}")
    right_x, right_y = _right(images, labels, picks)
    if x.shape != right_x.shape:
        raise Wrong("shape", got=list(x.shape), expected=list(right_x.shape))
    if y.shape != right_y.shape or not torch.equal(y.cpu(), right_y):
        raise Wrong("labels")
    if x.dtype == torch.float64:
        raise Wrong("double")
    x = x.detach().cpu().float()
    first, _ = _right(images, labels, torch.arange(len(picks)))
    if torch.allclose(x, first, atol=1e-3):
        raise Wrong("not_picked")
    mean, std = (torch.tensor(v).view(3, 1, 1) for v in (_MEAN, _STD))
    if torch.allclose(x, (images[picks].float() - mean) / std, atol=1e-2):
        raise Wrong("not_to_one")
    if torch.allclose(x, images[picks].float() / 255, atol=1e-4):
        raise Wrong("not_normalised")
    if not torch.allclose(x, right_x, atol=1e-3):
        raise Wrong("values", away=float((x - right_x).abs().max()))


starved = Exercise(
    name="starved",
    lesson="04",
    probe=_probe_starved,
    hints={
        "not_a_pair": Hint(
            "give back two tensors, pictures and labels (this was: {kind}).",
            "end with `return x, labels[picks]` (now {kind}).",
        ),
        "shape": Hint(
            "pictures of shape {expected} are wanted, yours have {got}.",
            "`images[picks]` has the batch first: {expected}; mean and std need the shape [3, 1, 1] (you have {got}).",
        ),
        "tuples": Hint(
            "mean and std are tuples of three numbers; a tensor minus a tuple is not defined{where}.",
            "`torch.tensor(mean).view(3, 1, 1)` has one number per channel ({error}).",
        ),
        "wrong_side": Hint(
            "three numbers meet the pictures' last side{where}: they belong to the channels, which come before height and width.",
            "`torch.tensor(mean).view(3, 1, 1)` lines them up with the channels ({error}).",
        ),
        "double": Hint(
            "your pictures are float64; the slow loader's are float32, as the model wants them.",
            "`.float()` makes float32, and `torch.tensor(mean)` is float32 by itself; nothing else is needed.",
        ),
        "labels": Hint(
            "the labels do not belong to the pictures. Which of them were picked?",
            "`labels[picks]` picks labels as `images[picks]` picks pictures.",
        ),
        "not_picked": Hint(
            "these are the first pictures of the set, not those of `picks`.",
            "`images[picks]`: a tensor of indices picks whole pictures at once.",
        ),
        "not_to_one": Hint(
            "the bytes have to be divided by 255 first; mean and std are those of pixels from 0 to 1.",
            "`images[picks].float() / 255`, then minus mean, then divided by std.",
        ),
        "not_normalised": Hint(
            "the pixels lie between 0 and 1: mean and std are not applied.",
            "`(x - mean) / std` with mean and std as tensors of shape [3, 1, 1].",
        ),
        "values": Hint(
            "the pictures are not the same as those of the slow loader (up to {away:.2g} apart).",
            "the slow loader computes `(pixel / 255 - mean) / std` for each channel; yours is up to {away:.2g} away from that.",
        ),
        "still_starved": Hint(
            "the new profile: {share:.0f} % of the step is still loading, with {operators:.0f} operators per step. "
            "Is there a loop over pictures?",
            "no `for` over pictures: `images[picks]` is all {batch} at once, and the arithmetic works on all of them "
            "({share:.0f} % of the step now).",
        ),
        "whole_set": Hint(
            "the new profile: {share:.0f} % of the step is still loading, with only {operators:.0f} operators per step. They are "
            "few but large: do you convert pictures that nobody asked for?",
            "pick first, then convert: `images[picks].float()`, not `images.float()[picks]` ({share:.0f} % of the step now).",
        ),
    },
    errors={
        "'Tensor' and 'tuple'": "tuples",
        "must match the size of tensor b (3)": "wrong_side",
        "(3) must match the size of tensor": "wrong_side",
    },
    push=(
        "What does the slow loader do for one picture? Tensors can do the same for all of them at once.",
        "`x = images[picks].float() / 255`; then mean and std as `torch.tensor(mean).view(3, 1, 1)`.",
    ),
    mistakes=(
        KnownMistake(
            "a shorter loop, but a loop",
            """
def starved(images, labels, picks, mean, std):
    mean, std = torch.tensor(mean).view(3, 1, 1), torch.tensor(std).view(3, 1, 1)
    x = torch.stack([(images[i].float() / 255 - mean) / std for i in picks])
    return x, labels[picks]
""",
            "still_starved",
        ),
        KnownMistake(
            "everything is converted for every batch",
            """
def starved(images, labels, picks, mean, std):
    mean, std = torch.tensor(mean).view(3, 1, 1), torch.tensor(std).view(3, 1, 1)
    return ((images.float() / 255 - mean) / std)[picks], labels[picks]
""",
            "whole_set",
        ),
        KnownMistake(
            "a tensor minus a tuple",
            "def starved(images, labels, picks, mean, std):\n    return (images[picks].float() / 255 - mean) / std, labels[picks]",
            "tuples",
        ),
        KnownMistake(
            "three numbers for the width",
            """
def starved(images, labels, picks, mean, std):
    return (images[picks].float() / 255 - torch.tensor(mean)) / torch.tensor(std), labels[picks]
""",
            "wrong_side",
        ),
        KnownMistake(
            "twice as exact as asked",
            """
def starved(images, labels, picks, mean, std):
    mean, std = (torch.tensor(v, dtype=torch.float64).view(3, 1, 1) for v in (mean, std))
    return (images[picks] / 255 - mean) / std, labels[picks]
""",
            "double",
        ),
        KnownMistake(
            "the first pictures",
            """
def starved(images, labels, picks, mean, std):
    mean, std = torch.tensor(mean).view(3, 1, 1), torch.tensor(std).view(3, 1, 1)
    n = len(picks)
    return (images[:n].float() / 255 - mean) / std, labels[picks]
""",
            "not_picked",
        ),
        KnownMistake(
            "labels of other pictures",
            """
def starved(images, labels, picks, mean, std):
    mean, std = torch.tensor(mean).view(3, 1, 1), torch.tensor(std).view(3, 1, 1)
    return (images[picks].float() / 255 - mean) / std, labels[:len(picks)]
""",
            "labels",
        ),
        KnownMistake(
            "255 forgotten",
            """
def starved(images, labels, picks, mean, std):
    mean, std = torch.tensor(mean).view(3, 1, 1), torch.tensor(std).view(3, 1, 1)
    return (images[picks].float() - mean) / std, labels[picks]
""",
            "not_to_one",
        ),
        KnownMistake(
            "not normalised",
            "def starved(images, labels, picks, mean, std):\n    return images[picks].float() / 255, labels[picks]",
            "not_normalised",
        ),
    ),
    variants=(
        """
def starved(images, labels, picks, mean, std):
    x = images.index_select(0, picks).to(torch.float32)
    for c in range(3):
        x[:, c] = (x[:, c] / 255 - mean[c]) / std[c]
    return x, labels.index_select(0, picks)
""",
        """
def starved(images, labels, picks, mean, std):
    scale = torch.tensor([1 / (255 * s) for s in std])[None, :, None, None]
    shift = torch.tensor([m / s for m, s in zip(mean, std)])[None, :, None, None]
    return images[picks] * scale - shift, labels[picks]
""",
    ),
)
