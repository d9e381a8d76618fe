"""Learning rates for body and head, and images per second."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.exercises.transfer_learning.toy import toy
from labkit.learn.judge import call
from labkit.learn.numbers import as_numbers

_BODY, _HEAD = 1e-3, 1e-2


def _rates(groups: Any) -> dict[int, list[float]]:
    """id of each parameter -> the rates under which it stands."""
    if isinstance(groups, dict) or not isinstance(groups, (list, tuple)):
        raise Wrong("not_groups", kind=type(groups).__name__)
    found: dict[int, list[float]] = {}
    for group in groups:
        if not isinstance(group, dict) or "params" not in group:
            raise Wrong("not_groups", kind=f"list of {type(group).__name__}")
        if "lr" not in group:
            raise Wrong("no_rate")
        params = [group["params"]] if isinstance(group["params"], Tensor) else list(group["params"])
        for p in params:
            p = p[1] if isinstance(p, tuple) else p
            if not isinstance(p, Tensor):
                raise Wrong("not_parameters", kind=type(p).__name__)
            found.setdefault(id(p), []).append(float(group["lr"]))
    return found


def _probe_parameter_groups(answer: Any) -> None:
    model = toy()
    rates = _rates(call(answer, model, _BODY, _HEAD))
    head = [id(p) for p in model.fc.parameters()]
    body = [id(p) for p in model.parameters() if id(p) not in head]
    if any(len(r) > 1 for r in rates.values()):
        raise Wrong("twice")
    if any(p not in rates for p in head):
        raise Wrong("head_missing")
    missing = [name for name, p in model.named_parameters() if id(p) in body and id(p) not in rates]
    if missing:
        raise Wrong("body_missing", names=", ".join(missing))
    if all(rates[p] == [_BODY] for p in head) and all(rates[p] == [_HEAD] for p in body):
        raise Wrong("swapped")
    for name, p in model.named_parameters():
        if rates[id(p)] != [_HEAD if id(p) in head else _BODY]:
            expected = "head_rate" if id(p) in head else "body_rate"
            raise Wrong("rates", which=name, got=rates[id(p)][0], name_of=expected)


parameter_groups = Exercise(
    name="parameter_groups",
    lesson="06",
    probe=_probe_parameter_groups,
    errors={"Boolean value of Tensor": "compared", "must match the size of tensor": "compared"},
    hints={
        "not_groups": Hint(
            "an optimizer wants a list of groups, each a dictionary with `params` and `lr` (this was: {kind}).",
            "`[{{'params': …, 'lr': …}}, {{'params': …, 'lr': …}}]`, not a {kind}.",
        ),
        "no_rate": Hint(
            "a group has no `lr`, so it would get the optimizer's own.",
            "each dictionary needs both: `params` and `lr`.",
        ),
        "not_parameters": Hint(
            "`params` should hold parameters; there is a {kind} in it.",
            "`named_parameters()` gives pairs: take the second of each, not a {kind}.",
        ),
        "twice": Hint(
            "some parameters stand in both groups; an optimizer refuses that. `model.parameters()` includes the head's.",
            "body: `[p for name, p in model.named_parameters() if not name.startswith('fc.')]`.",
        ),
        "head_missing": Hint(
            "the head is in no group, so it would never learn.", "one group needs `model.fc.parameters()`."
        ),
        "body_missing": Hint(
            "these are in no group and would silently stay as they are: {names}.",
            "everything that is not the head belongs to the body, not just one layer ({names} is missing).",
        ),
        "swapped": Hint(
            "the rates are exchanged: the new head should learn quickly, the body slowly.",
            "`body_rate` goes with the body's parameters, `head_rate` with those of `model.fc`.",
        ),
        "rates": Hint(
            "`{which}` has the rate {got:g}, and should have `{name_of}`. What belongs to the head, and what to the body?",
            "only what lies in `model.fc` gets `head_rate`, all else `body_rate` (`{which}`: `{name_of}`, not {got:g}).",
        ),
        "compared": Hint(
            "`p in list_of_tensors` compares numbers, element by element, not 'is it this one?'. Go by names instead.",
            "`name.startswith('fc.')` tells the head's parameters from the others.",
        ),
    },
    push=(
        "Two dictionaries in a list. The head's parameters are `model.fc.parameters()`; who are the others?",
        "`model.named_parameters()` gives names with the parameters; the head's begin with `fc.`",
    ),
    mistakes=(
        KnownMistake(
            "all parameters as the body",
            """
def parameter_groups(model, body_rate, head_rate):
    return [{"params": model.parameters(), "lr": body_rate}, {"params": model.fc.parameters(), "lr": head_rate}]
""",
            "twice",
        ),
        KnownMistake(
            "exchanged",
            """
def parameter_groups(model, body_rate, head_rate):
    body = [p for name, p in model.named_parameters() if not name.startswith("fc.")]
    return [{"params": body, "lr": head_rate}, {"params": model.fc.parameters(), "lr": body_rate}]
""",
            "swapped",
        ),
        KnownMistake(
            "one layer as the body",
            """
def parameter_groups(model, body_rate, head_rate):
    return [{"params": model.layer1.parameters(), "lr": body_rate}, {"params": model.fc.parameters(), "lr": head_rate}]
""",
            "body_missing",
        ),
        KnownMistake(
            "asks whether a tensor is in a list of tensors",
            """
def parameter_groups(model, body_rate, head_rate):
    head = list(model.fc.parameters())
    body = [p for p in model.parameters() if p not in head]
    return [{"params": body, "lr": body_rate}, {"params": head, "lr": head_rate}]
""",
            "compared",
        ),
        KnownMistake(
            "weights here, biases there",
            """
def parameter_groups(model, body_rate, head_rate):
    weights = [p for name, p in model.named_parameters() if "weight" in name]
    biases = [p for name, p in model.named_parameters() if "bias" in name]
    return [{"params": weights, "lr": body_rate}, {"params": biases, "lr": head_rate}]
""",
            "rates",
        ),
        KnownMistake(
            "one group for all",
            """
def parameter_groups(model, body_rate, head_rate):
    return [{"params": model.parameters(), "lr": body_rate}]
""",
            "rates",
        ),
        KnownMistake(
            "only the body",
            """
def parameter_groups(model, body_rate, head_rate):
    body = [p for name, p in model.named_parameters() if "fc" not in name]
    return [{"params": body, "lr": body_rate}]
""",
            "head_missing",
        ),
        KnownMistake(
            "a dictionary of rates",
            """
def parameter_groups(model, body_rate, head_rate):
    return {"body": body_rate, "fc": head_rate}
""",
            "not_groups",
        ),
        KnownMistake(
            "no rate for the body",
            """
def parameter_groups(model, body_rate, head_rate):
    body = [p for name, p in model.named_parameters() if not name.startswith("fc.")]
    return [{"params": body}, {"params": model.fc.parameters(), "lr": head_rate}]
""",
            "no_rate",
        ),
    ),
    variants=(
        """
def parameter_groups(model, body_rate, head_rate):
    head = {id(p) for p in model.fc.parameters()}
    return [{"params": [p], "lr": head_rate if id(p) in head else body_rate} for p in model.parameters()]
""",
    ),
)

_WARM_UP, _BATCH = 4, 32
_FAST, _MIDDLE, _SLOW = 0.010, 0.016, 0.020  # seconds; each so often that every common rule gives the same quartiles
_STEPS = [0.008, _FAST, _SLOW, _MIDDLE, _FAST, _SLOW, _MIDDLE, _FAST, 0.1, _SLOW, _MIDDLE]
_ALL = [0.9, 0.5, 0.3, 0.2, *_STEPS]


def _quartiles(values: list[float]) -> list[float]:
    return torch.quantile(torch.tensor(values, dtype=torch.float64), torch.tensor([0.25, 0.5, 0.75]).double()).tolist()


def _probe_throughput(answer: Any) -> None:
    result = call(answer, list(_ALL), _BATCH, _WARM_UP)
    numbers = as_numbers(result, "not_numbers").flatten()
    if len(numbers) == 1:
        raise Wrong("one_number")
    if len(numbers) != 3:
        raise Wrong("not_numbers", kind=f"sequence of {len(numbers)}")
    right = [_BATCH / s for s in (_SLOW, _MIDDLE, _FAST)]

    def alike(wanted: list[float]) -> bool:
        return bool(torch.allclose(numbers, torch.tensor(wanted, dtype=torch.float64), rtol=2e-3))

    if alike(right):
        return
    rates = [_BATCH / s for s in _STEPS]
    if alike(right[::-1]):
        raise Wrong("order")
    if alike(_quartiles(_STEPS)):
        raise Wrong("seconds")
    if alike([1 / s for s in (_SLOW, _MIDDLE, _FAST)]):
        raise Wrong("no_batch")
    if alike(_quartiles([_BATCH / s for s in _ALL])):
        raise Wrong("warm_up")
    if alike(_quartiles([_BATCH / s for s in _ALL[:_WARM_UP]])):
        raise Wrong("only_warm_up")
    if alike(_quartiles([_BATCH * s for s in _STEPS])):
        raise Wrong("upside_down")
    if alike([min(rates), right[1], max(rates)]):
        raise Wrong("extremes")
    middle = float(numbers[1])
    if any(abs(middle / m - 1) < 2e-3 for m in (sum(rates) / len(rates), _BATCH * len(_STEPS) / sum(_STEPS))):
        raise Wrong("mean")
    raise Wrong("other", got=[round(v, 1) for v in numbers.tolist()], expected=right)


throughput = Exercise(
    name="throughput",
    lesson="06",
    probe=_probe_throughput,
    errors={"quantile() q": "quantile", "for /: 'int' and 'list'": "list_divided"},
    hints={
        "not_numbers": Hint(
            "give back three numbers: quartile, median, quartile (this was: {kind}).", "three numbers, not a {kind}."
        ),
        "one_number": Hint(
            "one number hides how much it varies. Give back three: lower quartile, median, upper quartile.",
            "`torch.quantile(rates, torch.tensor([0.25, 0.5, 0.75]))` gives all three.",
        ),
        "order": Hint(
            "the three numbers come from high to low. The slowest steps have the *largest* seconds and the lowest rate.",
            "turn seconds into rates first, then take the quartiles.",
        ),
        "seconds": Hint(
            "these are seconds per step. How many images is that per second?",
            "the rate of a step is `batch / seconds`.",
        ),
        "no_batch": Hint(
            "these are steps per second. Each step has `batch` images.", "multiply by `batch`: `batch / seconds`."
        ),
        "warm_up": Hint(
            "the first `warm_up` steps are in it. They pay for compiling, caches and the first allocations.",
            "`seconds[warm_up:]` leaves them out.",
        ),
        "only_warm_up": Hint(
            "you kept the warm-up and left out the rest. The slice should begin where the warm-up ends.",
            "`seconds[warm_up:]`, the colon behind: `seconds[:warm_up]` is the warm-up itself.",
        ),
        "upside_down": Hint(
            "images *times* seconds grows with a slower step. How many images fit into one second?",
            "the rate of a step is `batch / seconds`, not `batch * seconds`.",
        ),
        "quantile": Hint(
            "`torch.quantile` is strict: the shares go from 0 to 1 (0.25, not 25) and have the same dtype as the rates{where}.",
            "`torch.quantile(rates, torch.tensor([0.25, 0.5, 0.75], dtype=rates.dtype))` ({error}).",
        ),
        "list_divided": Hint(
            "a number divided by a list{where}: Python does not go through a list by itself.",
            "`[batch / s for s in seconds[warm_up:]]`, or make a tensor of the seconds first.",
        ),
        "extremes": Hint(
            "those are the slowest and the fastest step: two accidents. Quartiles say how an ordinary step varies.",
            "0.25 and 0.75 in `torch.quantile`, not min and max.",
        ),
        "mean": Hint(
            "the middle one is a mean: a single slow step (a neighbour, a page fault) pulls it. Take the median.",
            "0.5 in `torch.quantile`, or `statistics.median`.",
        ),
        "other": Hint(
            "for the check's steps expected {expected}, got {got}.",
            "drop the warm-up, turn each step into `batch / s`, take quartiles: {expected}, not {got}.",
        ),
    },
    push=(
        "Three steps: leave the warm-up out, make a rate of each step, take quartiles.",
        "`rates = torch.tensor([batch / s for s in seconds[warm_up:]])`, then `torch.quantile`.",
    ),
    mistakes=(
        KnownMistake(
            "warm-up counted",
            """
def throughput(seconds, batch, warm_up):
    return torch.quantile(torch.tensor([batch / s for s in seconds]), torch.tensor([0.25, 0.5, 0.75])).tolist()
""",
            "warm_up",
        ),
        KnownMistake(
            "the warm-up alone",
            """
def throughput(seconds, batch, warm_up):
    return torch.quantile(torch.tensor([batch / s for s in seconds[:warm_up]]), torch.tensor([0.25, 0.5, 0.75])).tolist()
""",
            "only_warm_up",
        ),
        KnownMistake(
            "images times seconds",
            """
def throughput(seconds, batch, warm_up):
    return torch.quantile(torch.tensor([batch * s for s in seconds[warm_up:]]), torch.tensor([0.25, 0.5, 0.75])).tolist()
""",
            "upside_down",
        ),
        KnownMistake(
            "quantiles in per cent",
            """
def throughput(seconds, batch, warm_up):
    rates = torch.tensor([batch / s for s in seconds[warm_up:]])
    return torch.quantile(rates, torch.tensor([25, 50, 75])).tolist()
""",
            "quantile",
        ),
        KnownMistake(
            "divides by the list",
            """
def throughput(seconds, batch, warm_up):
    rates = torch.tensor(batch / seconds[warm_up:])
    return torch.quantile(rates, torch.tensor([0.25, 0.5, 0.75])).tolist()
""",
            "list_divided",
        ),
        KnownMistake(
            "all images by all seconds",
            """
def throughput(seconds, batch, warm_up):
    kept = seconds[warm_up:]
    return batch * len(kept) / sum(kept)
""",
            "one_number",
        ),
        KnownMistake(
            "steps, not images",
            """
def throughput(seconds, batch, warm_up):
    rates = torch.tensor([1 / s for s in seconds[warm_up:]])
    return torch.quantile(rates, torch.tensor([0.25, 0.5, 0.75])).tolist()
""",
            "no_batch",
        ),
        KnownMistake(
            "quartiles of seconds, then turned over",
            """
def throughput(seconds, batch, warm_up):
    quartiles = torch.quantile(torch.tensor(seconds[warm_up:]), torch.tensor([0.25, 0.5, 0.75]))
    return (batch / quartiles).tolist()
""",
            "order",
        ),
        KnownMistake(
            "slowest and fastest",
            """
def throughput(seconds, batch, warm_up):
    rates = sorted(batch / s for s in seconds[warm_up:])
    return rates[0], rates[len(rates) // 2], rates[-1]
""",
            "extremes",
        ),
        KnownMistake(
            "the mean in the middle",
            """
def throughput(seconds, batch, warm_up):
    rates = torch.tensor([batch / s for s in seconds[warm_up:]])
    return rates.quantile(0.25), rates.mean(), rates.quantile(0.75)
""",
            "mean",
        ),
        KnownMistake(
            "seconds",
            """
def throughput(seconds, batch, warm_up):
    return torch.quantile(torch.tensor(seconds[warm_up:]), torch.tensor([0.25, 0.5, 0.75])).tolist()
""",
            "seconds",
        ),
    ),
    variants=(
        """
def throughput(seconds, batch, warm_up):
    import statistics
    return tuple(statistics.quantiles([batch / s for s in seconds[warm_up:]], n=4))
""",
    ),
)
