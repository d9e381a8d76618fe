"""Frozen weights, and batch norm's statistics, which are no weights."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.exercises.transfer_learning.toy import batch, norms, toy
from labkit.learn.judge import call


def _probe_freeze_body(answer: Any) -> None:
    model = toy()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    result = call(answer, model)
    if not isinstance(result, nn.Module):
        raise Wrong("not_a_model", kind=type(result).__name__)
    after = dict(result.named_parameters())
    if "fc.weight" not in after:
        raise Wrong("only_part", kind=type(result).__name__)
    if not all(name in after and torch.equal(after[name], was) for name, was in before.items()):
        raise Wrong("changed")
    trained = {name for name, p in result.named_parameters() if p.requires_grad}
    head = {name for name, _ in result.named_parameters() if name.startswith("fc.")}
    body = {name for name, _ in result.named_parameters()} - head
    of_norms = {name for name in body if "bn1" in name or "layer1.0.1" in name}
    for name, module in result.named_modules():
        if "requires_grad" in vars(module):
            raise Wrong("attribute", which=f"model.{name}" if name else "model")
    if trained == head | body:
        raise Wrong("nothing")
    if not trained:
        raise Wrong("everything")
    if trained == body:
        raise Wrong("reversed")
    if head <= trained and trained - head and trained - head <= of_norms:
        raise Wrong("norms_left", names=", ".join(sorted(trained - head)))
    if trained != head:
        raise Wrong("some", names=", ".join(sorted(trained ^ head)))


freeze_body = Exercise(
    name="freeze_body",
    lesson="06",
    probe=_probe_freeze_body,
    hints={
        "not_a_model": Hint("give back the model (this was: {kind}).", "end with `return model`, not a {kind}."),
        "only_part": Hint(
            "that is a {kind} without `fc`. The whole model should come back.",
            "end with `return model`, not with one of its layers.",
        ),
        "changed": Hint(
            "a weight has another value than before. Freezing keeps values: it only says who is to be trained.",
            "set `p.requires_grad`, not `p.data`.",
        ),
        "attribute": Hint(
            "`{which}.requires_grad = …` makes a new attribute that nobody reads. The *parameters* have the switch.",
            "`for p in {which}.parameters(): p.requires_grad = …`, or the method with the underscore, `{which}.requires_grad_(…)`.",
        ),
        "nothing": Hint(
            "every parameter is still trained. `eval()` and `no_grad()` freeze no weight.",
            "set `p.requires_grad = False` for the parameters outside `model.fc`.",
        ),
        "everything": Hint(
            "the head is frozen too, so nothing is left to learn.",
            "afterwards switch the head on again: `for p in model.fc.parameters(): p.requires_grad = True`.",
        ),
        "reversed": Hint(
            "the wrong way round: the head is frozen and the body is trained.",
            "True for the parameters of `model.fc`, False for all others.",
        ),
        "norms_left": Hint(
            "the scales and shifts of batch norm are still trained ({names}). They are parameters of the body too.",
            "loop over `model.parameters()`, not over kinds of layers; {names} are still trained.",
        ),
        "some": Hint(
            "not all is as it should be: {names}.",
            "only the names that begin with `fc.` may be trained; look at {names}.",
        ),
    },
    push=(
        "First freeze everything, then switch the head on again.",
        "`model.requires_grad_(False)` and `model.fc.requires_grad_(True)` work on all parameters within.",
    ),
    mistakes=(
        KnownMistake(
            "an attribute of the model",
            "def freeze_body(model):\n    model.requires_grad = False\n    model.fc.requires_grad = True\n    return model",
            "attribute",
        ),
        KnownMistake(
            "an attribute of the head, all else right",
            """
def freeze_body(model):
    for p in model.parameters():
        p.requires_grad = False
    model.fc.requires_grad = True
    return model
""",
            "attribute",
        ),
        KnownMistake(
            "gives back the head",
            "def freeze_body(model):\n    model.requires_grad_(False)\n    return model.fc.requires_grad_(True)",
            "only_part",
        ),
        KnownMistake("eval mode", "def freeze_body(model):\n    model.eval()\n    return model", "nothing"),
        KnownMistake(
            "the head too",
            "def freeze_body(model):\n    for p in model.parameters():\n        p.requires_grad = False\n    return model",
            "everything",
        ),
        KnownMistake(
            "the head instead",
            "def freeze_body(model):\n    for p in model.fc.parameters():\n        p.requires_grad = False\n    return model",
            "reversed",
        ),
        KnownMistake(
            "only convolutions",
            """
def freeze_body(model):
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            for p in module.parameters():
                p.requires_grad = False
    return model
""",
            "norms_left",
        ),
        KnownMistake(
            "zeros",
            """
def freeze_body(model):
    for name, p in model.named_parameters():
        if not name.startswith("fc"):
            p.data.zero_()
    return model
""",
            "changed",
        ),
    ),
    variants=(
        """
def freeze_body(model):
    for name, p in model.named_parameters():
        p.requires_grad = name.startswith("fc.")
    return model
""",
    ),
)


def _probe_keep_bn_still(answer: Any) -> None:
    for start in (False, True):
        model = toy().train(start)
        kept = [_statistics(norm) for norm in norms(model)]
        with _watched_modes() as history:
            result = call(answer, model)
        if not isinstance(result, nn.Module):
            raise Wrong("not_a_model", kind=type(result).__name__)
        found = norms(result)
        if any(norm.running_mean is None or norm.running_var is None or not norm.track_running_stats for norm in found):
            raise Wrong("gone")
        if len(found) != 2:
            raise Wrong("removed")
        still = [not norm.training for norm in found]
        if not any(still):
            _name_the_movement(result, history)
        if not all(still):
            raise Wrong("some")
        if not result.training or not result.layer1[1].training:  # type: ignore[index, union-attr]
            raise Wrong("all_eval")
        if not all(torch.equal(_statistics(norm), was) for norm, was in zip(found, kept, strict=True)):
            raise Wrong("reset")
        before = [norm.running_mean.clone() for norm in found]  # type: ignore[union-attr]
        result(batch())
        if not all(torch.equal(norm.running_mean, b) for norm, b in zip(found, before, strict=True)):  # type: ignore[arg-type]
            raise Wrong("moves")


def _statistics(norm: nn.BatchNorm2d) -> Tensor:
    assert norm.running_mean is not None and norm.running_var is not None
    return torch.cat([norm.running_mean, norm.running_var])


@contextmanager
def _watched_modes() -> Iterator[dict[int, list[bool]]]:
    """id of each batch norm -> in which order it is put into train (True) and eval (False) mode within the block."""
    seen: dict[int, list[bool]] = defaultdict(list)

    def train(norm: nn.BatchNorm2d, mode: bool = True) -> nn.Module:
        seen[id(norm)].append(mode)
        return nn.Module.train(norm, mode)

    with mock.patch.object(nn.BatchNorm2d, "train", train):
        yield seen


def _name_the_movement(model: nn.Module, history: dict[int, list[bool]]) -> None:
    found = norms(model)
    if any(False in history[id(norm)] and history[id(norm)][-1] for norm in found):
        raise Wrong("undone")
    if all(norm.momentum == 0 for norm in found):
        raise Wrong("momentum")
    if all(not p.requires_grad for norm in found for p in norm.parameters()):
        raise Wrong("only_frozen")
    raise Wrong("moves")


keep_bn_still = Exercise(
    name="keep_bn_still",
    lesson="06",
    probe=_probe_keep_bn_still,
    hints={
        "not_a_model": Hint("give back the model (this was: {kind}).", "end with `return model`, not a {kind}."),
        "gone": Hint(
            "the running statistics are switched off, so even an evaluation would use each batch's own.",
            "leave `track_running_stats` alone; put the batch norm layers into eval mode.",
        ),
        "removed": Hint(
            "a batch norm layer has disappeared. It must stay.", "change the layers' mode, not the layers."
        ),
        "moves": Hint(
            "the batch norm layers are in train mode: each forward pass still moves their statistics.",
            "after `model.train()`: call `.eval()` on each module that is an `nn.BatchNorm2d`.",
        ),
        "undone": Hint(
            "you did put the batch norm layers into eval mode, and then a `train()` took them back. It reaches everything inside.",
            "first `model.train()`, once, then the loop that only calls `.eval()`.",
        ),
        "reset": Hint(
            "they are still now, but with other numbers: what they had measured is lost. Keep the running statistics as they are.",
            "no `reset_running_stats()`, and no new values: only `.eval()`.",
        ),
        "momentum": Hint(
            "momentum 0 keeps the statistics, but in train mode the layer still normalises with the *batch's* numbers.",
            "`module.eval()` for each batch norm: then it also uses what it keeps.",
        ),
        "only_frozen": Hint(
            "`requires_grad` stops the optimizer. The running statistics are no parameters: the forward pass itself writes them.",
            "call `module.eval()` on each batch norm layer, after `model.train()`.",
        ),
        "some": Hint(
            "one batch norm is still, another moves. Not every one lies outermost, and not every one has `bn` in its name.",
            "`model.modules()` goes through all layers, however deep; ask each for its type (`children()` sees only the outermost).",
        ),
        "all_eval": Hint(
            "now everything is in eval mode: dropout is off too. Only batch norm should be still.",
            "`model.train()` first, and then eval only for modules that are an `nn.BatchNorm2d`.",
        ),
    },
    push=(
        "Two steps: the whole model into train mode, then some of its layers back into eval mode.",
        "`for module in model.modules(): if isinstance(module, nn.BatchNorm2d): …`",
    ),
    mistakes=(
        KnownMistake("all of it in eval", "def keep_bn_still(model):\n    return model.eval()", "all_eval"),
        KnownMistake("all of it in train", "def keep_bn_still(model):\n    return model.train()", "moves"),
        KnownMistake(
            "the wrong order",
            """
def keep_bn_still(model):
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eval()
    return model.train()
""",
            "undone",
        ),
        KnownMistake(
            "frozen parameters",
            """
def keep_bn_still(model):
    model.train()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.requires_grad_(False)
    return model
""",
            "only_frozen",
        ),
        KnownMistake(
            "momentum 0",
            """
def keep_bn_still(model):
    model.train()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 0
    return model
""",
            "momentum",
        ),
        KnownMistake(
            "train mode for all others, one by one",
            """
def keep_bn_still(model):
    model.eval()
    for module in model.modules():
        if not isinstance(module, nn.BatchNorm2d):
            module.train()
    return model
""",
            "undone",
        ),
        KnownMistake(
            "by name",
            """
def keep_bn_still(model):
    model.train()
    for name, module in model.named_modules():
        if "bn" in name:
            module.eval()
    return model
""",
            "some",
        ),
        KnownMistake(
            "statistics set back",
            """
def keep_bn_still(model):
    model.train()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.reset_running_stats()
            module.eval()
    return model
""",
            "reset",
        ),
        KnownMistake(
            "only the outermost layers",
            """
def keep_bn_still(model):
    model.train()
    for module in model.children():
        if isinstance(module, nn.BatchNorm2d):
            module.eval()
    return model
""",
            "some",
        ),
        KnownMistake(
            "no statistics at all",
            """
def keep_bn_still(model):
    model.train()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.track_running_stats = False
            module.eval()
    return model
""",
            "gone",
        ),
    ),
    variants=(
        """
def keep_bn_still(model):
    for module in model.modules():
        module.training = not isinstance(module, nn.modules.batchnorm._BatchNorm)
    return model
""",
        """
def keep_bn_still(model):
    model.train()
    for module in model.modules():
        if type(module) == nn.BatchNorm2d:
            module.eval()
    return model
""",
        """
def keep_bn_still(model):
    def still(module):
        if isinstance(module, nn.BatchNorm2d):
            module.train(False)

    return model.train().apply(still)
""",
    ),
)
