"""Reading loss curves: four real little trainings, three of them with something wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.isolation import untouched
from labkit.learn.judge import is_placeholder

WORDS = ("healthy", "too small", "too large", "no step")
_RUNS = {"A": ("too large", 4.0), "B": ("healthy", 0.4), "C": ("no step", 0.0), "D": ("too small", 0.05)}
_STEPS = 80


@cache
def practice_losses() -> dict[str, list[float]]:
    """The loss at each of 80 steps of four runs A to D, trained here and now on points made for this exercise.

    Ten clouds of points in 64 dimensions, batches of 64, an MLP 64-32-10 and plain SGD: the same model, the same batches;
    only the optimizer is treated differently. The same numbers on every call, whatever the random state.
    """
    with untouched():
        draw = torch.Generator().manual_seed(5)
        centres = torch.randn(10, 64, generator=draw)
        labels = torch.randint(0, 10, (_STEPS, 64), generator=draw)
        points = 0.4 * centres[labels] + torch.randn(_STEPS, 64, 64, generator=draw)
        return {name: _train(points, labels, rate) for name, (_, rate) in _RUNS.items()}


def _train(points: torch.Tensor, labels: torch.Tensor, rate: float) -> list[float]:
    torch.default_generator.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    losses = []
    for x, y in zip(points, labels, strict=True):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        if rate:
            optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def _probe_read_losses(answer: Any) -> None:
    if not isinstance(answer, Mapping):
        raise Wrong("form", kind=type(answer).__name__)
    if set(answer) != set(_RUNS):
        raise Wrong("names", got=", ".join(map(str, answer)) or "none")
    open_ones = [run for run in _RUNS if is_placeholder(answer[run])]
    if len(open_ones) == len(_RUNS):
        raise Wrong("not_started")
    if open_ones:
        raise Wrong("unanswered", missing=open_ones[0])
    given = {run: " ".join(re.sub(r"[^a-z]", " ", str(answer[run]).lower()).split()) for run in _RUNS}
    for run, word in given.items():
        if word not in WORDS:
            raise Wrong("word", run=run, got=answer[run])
    if len(set(given.values())) < len(WORDS):
        twice = next(word for word in given.values() if list(given.values()).count(word) > 1)
        raise Wrong("twice", word=twice)
    right = {word: run for run, (word, _) in _RUNS.items()}
    said = {word: run for run, word in given.items()}
    if said == right:
        return
    if said["too small"] == right["no step"] and said["no step"] == right["too small"]:
        raise Wrong("small_or_none")
    if said["too large"] != right["too large"]:
        raise Wrong("large", run=said["too large"])
    if said["healthy"] != right["healthy"]:
        raise Wrong("healthy", run=said["healthy"])
    raise Wrong("small_or_none")


read_losses = Exercise(
    name="read_losses",
    lesson="01",
    probe=_probe_read_losses,
    hints={
        "form": Hint(
            "keep the dict with A, B, C and D, and put a word in place of each None (this was: {kind}).",
            'the cell must read `read_losses = dict(A="…", B="…", C="…", D="…")`, not a {kind}.',
        ),
        "names": Hint(
            "the runs are called A, B, C and D; your dict has {got}.",
            "all four of A, B, C and D, in capitals, each with a word (you have {got}).",
        ),
        "unanswered": Hint(
            "run {missing} still has no word.", 'write one of the four words for {missing}, like "healthy".'
        ),
        "word": Hint(
            "{got!r} (run {run}) is not one of the words: healthy, too small, too large, no step.",
            'copy a word into run {run}: "healthy", "too small", "too large" or "no step" (you have {got!r}).',
        ),
        "twice": Hint(
            "each word fits one run; you use '{word}' more than once.",
            "there are four runs and four words. Look again at the runs that you call '{word}'.",
        ),
        "small_or_none": Hint(
            "two are exchanged: of the two that stay high, one falls a little all the time, the other does not fall at all.",
            "compare the first ten with the last ten: "
            "`sum(losses[run][:10]) / 10` against `sum(losses[run][-10:]) / 10`.",
        ),
        "large": Hint(
            "{run} is not the one whose steps are too large. Overshooting looks restless: the loss jumps above where it began.",
            "look for the run that climbs far above ln 10 ≈ 2.3 at the start (not {run}).",
        ),
        "healthy": Hint(
            "{run} is not the healthy one. That one falls fast at first, then ever more slowly, and ends lowest.",
            "look at the right edge: the lowest line is the healthy run (not {run}).",
        ),
    },
    push=(
        "The healthy run ends lowest. Steps that are too large jump up before anything else happens.",
        "Two runs stay near ln 10 ≈ 2.3. The one that still sinks takes steps that are too small; the flat one takes none.",
        'The numbers are there, too: `losses["A"][:10]` are the first ten of run A.',
    ),
    mistakes=(
        KnownMistake(
            "no step taken for steps that are too small",
            'read_losses = dict(A="too large", B="healthy", C="too small", D="no step")',
            "small_or_none",
        ),
        KnownMistake(
            "the restless one taken for the one that learns",
            'read_losses = dict(A="healthy", B="too large", C="no step", D="too small")',
            "large",
        ),
        KnownMistake(
            "the slow one taken for the healthy one",
            'read_losses = dict(A="too large", B="too small", C="no step", D="healthy")',
            "healthy",
        ),
        KnownMistake(
            "two runs with one word",
            'read_losses = dict(A="too large", B="healthy", C="too small", D="too small")',
            "twice",
        ),
        KnownMistake("own words", 'read_losses = dict(A="explodes", B="healthy", C="no step", D="too small")', "word"),
        KnownMistake("half done", 'read_losses = dict(A="too large", B="healthy", C=None, D=None)', "unanswered"),
        KnownMistake("one run left out", 'read_losses = dict(A="too large", B="healthy", C="no step")', "names"),
        KnownMistake("a list", 'read_losses = ["too large", "healthy", "no step", "too small"]', "form"),
    ),
    variants=(
        """
from labkit.learn.exercises.mnist import practice_losses
runs = practice_losses()
ends = {name: sum(values[-10:]) for name, values in runs.items()}
tops = {name: max(values) for name, values in runs.items()}
fall = {name: sum(values[:10]) - ends[name] for name, values in runs.items()}
read_losses = {max(tops, key=tops.get): "Too large", min(ends, key=ends.get): "healthy"}
slow, flat = sorted((name for name in runs if name not in read_losses), key=lambda name: -fall[name])
read_losses[slow], read_losses[flat] = "too_small", "NO-STEP."
""",
    ),
)
