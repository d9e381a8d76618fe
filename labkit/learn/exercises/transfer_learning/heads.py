"""The head: the one layer that knows the classes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.exercises.transfer_learning.toy import batch, toy
from labkit.learn.judge import call


def _probe_new_head(answer: Any) -> None:
    for width, classes in ((12, 3), (20, 7)):
        model = toy(5, width)
        old_weight = model.fc.weight
        old_rows = old_weight.detach().clone()
        body = {name: p.detach().clone() for name, p in model.named_parameters() if not name.startswith("fc")}
        result = call(answer, model, classes)
        if not isinstance(result, nn.Module):
            raise Wrong("not_a_model", kind=type(result).__name__)
        if isinstance(result, nn.Linear):
            raise Wrong("only_head")
        outputs = _outputs(result, model)
        inside = {id(p) for p in result.parameters()}
        if outputs.shape == (8, 5):
            raise Wrong("kept_old" if _layers(result) == _layers(toy()) else "not_used", classes=classes)
        if outputs.shape != (8, classes):
            raise Wrong("shape", got=tuple(outputs.shape), expected=(8, classes))
        if id(old_weight) in inside:
            raise Wrong("stacked", classes=classes)
        if any(p.shape == (classes, width) and _same_rows(p, old_rows) for p in result.parameters()):
            raise Wrong("old_rows")
        if bool((outputs >= 0).all()) and torch.allclose(outputs.sum(1), torch.ones(8), atol=1e-4):
            raise Wrong("softmax")
        kept = dict(result.named_parameters())
        if not all(any(p.shape == was.shape and torch.equal(p, was) for p in kept.values()) for was in body.values()):
            raise Wrong("body_lost")


def _outputs(result: nn.Module, model: nn.Module) -> Tensor:
    """What the answer's model says about 8 pictures; Wrong where a model was made anew and its parts do not fit together."""
    try:
        outputs = result.eval()(batch())
    except RuntimeError as error:
        if type(result) is not type(model):
            raise Wrong("rebuilt", kind=type(result).__name__) from error
        raise
    if not isinstance(outputs, Tensor):
        raise Wrong("not_a_model", kind="model without an output")
    return outputs


def _layers(model: nn.Module) -> int:
    return len(list(model.modules()))


def _same_rows(new: Tensor, old: Tensor) -> bool:
    rows = min(len(new), len(old))
    return torch.equal(new[:rows], old[:rows])


new_head = Exercise(
    name="new_head",
    lesson="06",
    probe=_probe_new_head,
    errors={"shapes cannot be multiplied": "in_features"},
    hints={
        "not_a_model": Hint("give back the model (this was: {kind}).", "end with `return model`, not a {kind}."),
        "only_head": Hint(
            "that is the new layer alone. Put it into the model, and give back the model.",
            "`model.fc = nn.Linear(…)` puts it in place; then `return model`.",
        ),
        "kept_old": Hint(
            "the model still has its old number of outputs. A number in a layer's `out_features` alone changes nothing.",
            "make a new layer and put it in place of the old one: `model.fc = nn.Linear(…, {classes})`.",
        ),
        "not_used": Hint(
            "there is a new layer in the model, but nobody calls it: the model's `forward` uses the layer named `fc`.",
            "the new layer must have the old one's name: `model.fc = nn.Linear(…, {classes})`.",
        ),
        "old_rows": Hint(
            "the new head holds rows of the old head's weights. They were learnt for other classes.",
            "a fresh layer begins with random weights: make a new `nn.Linear(…)` instead of cutting the old weights.",
        ),
        "rebuilt": Hint(
            "a {kind} made of the model's layers is another model: what `forward` does between the layers (here a mean over rows and "
            "columns) is lost.",
            "do not make a {kind}; change the model that you were given: `model.fc = nn.Linear(…)`.",
        ),
        "shape": Hint(
            "for 8 pictures the output has the shape {got}; expected: {expected}.",
            "the second number of `nn.Linear(…, …)` is the number of classes: {expected}, not {got}.",
        ),
        "stacked": Hint(
            "the old head is still inside: the new layer sees only the old classes' scores, not the features.",
            "do not put a layer behind the model. `model.fc = nn.Linear(…, {classes})` replaces the head itself.",
        ),
        "softmax": Hint(
            "the outputs are probabilities. `CrossEntropyLoss` wants plain scores: it takes the logarithm of softmax itself.",
            "only a Linear layer: no Softmax behind it.",
        ),
        "body_lost": Hint(
            "the other layers have other weights now, so what was learnt is gone. Change the model that you were given.",
            "make no new model: only `model.fc` is replaced.",
        ),
        "in_features": Hint(
            "the new layer expects another number of features than this model's body gives.",
            "ask the old head: `model.fc.in_features` is right for every model that has an `fc`.",
        ),
    },
    push=(
        "The head is an attribute of the model, called `fc`. An attribute can be set.",
        "`nn.Linear(model.fc.in_features, classes)` is the new layer.",
    ),
    mistakes=(
        KnownMistake(
            "a number of features that fits one model",
            "def new_head(model, classes):\n    model.fc = nn.Linear(12, classes)\n    return model",
            "in_features",
        ),
        KnownMistake(
            "only the attribute",
            "def new_head(model, classes):\n    model.fc.out_features = classes\n    return model",
            "kept_old",
        ),
        KnownMistake(
            "a new layer under another name",
            "def new_head(model, classes):\n    model.head = nn.Linear(model.fc.in_features, classes)\n    return model",
            "not_used",
        ),
        KnownMistake(
            "rows of the old head",
            """
def new_head(model, classes):
    old = model.fc
    model.fc = nn.Linear(old.in_features, classes)
    rows = min(classes, old.out_features)
    with torch.no_grad():
        model.fc.weight[:rows] = old.weight[:rows]
    return model
""",
            "old_rows",
        ),
        KnownMistake(
            "the layers in a row",
            """
def new_head(model, classes):
    return nn.Sequential(*list(model.children())[:-1], nn.Linear(model.fc.in_features, classes))
""",
            "rebuilt",
        ),
        KnownMistake(
            "one layer more behind the old head",
            "def new_head(model, classes):\n    return nn.Sequential(model, nn.Linear(model.fc.out_features, classes))",
            "stacked",
        ),
        KnownMistake(
            "gives back the layer",
            "def new_head(model, classes):\n    return nn.Linear(model.fc.in_features, classes)",
            "only_head",
        ),
        KnownMistake(
            "softmax in the head",
            """
def new_head(model, classes):
    model.fc = nn.Sequential(nn.Linear(model.fc.in_features, classes), nn.Softmax(dim=1))
    return model
""",
            "softmax",
        ),
        KnownMistake(
            "a new model with the right number of outputs",
            "def new_head(model, classes):\n    return type(model)(classes, model.fc.in_features)",
            "body_lost",
        ),
    ),
    variants=(
        """
def new_head(model, classes):
    import copy
    moved = copy.deepcopy(model)
    features = moved.fc.weight.shape[1]
    setattr(moved, "fc", nn.Sequential(nn.Dropout(0.2), nn.Linear(features, classes)))
    return moved
""",
    ),
)
