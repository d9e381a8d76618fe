"""FLOPs of operators from recorded shapes, against torch's own counter."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from labkit.profile.flops import flops
from labkit.profile.readers import json_profiles


def recorded(work: Any, path: Any) -> float:
    """The sum over a trace of this work."""
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        work()
    profiler.export_chrome_trace(str(path))
    events = json_profiles.read(path.read_bytes()).events
    return float(events["flops"].sum()) if "flops" in events.columns else 0.0


@pytest.mark.parametrize(
    "work",
    [
        lambda: torch.nn.Linear(8, 16)(torch.randn(4, 8)).sum().backward(),
        lambda: torch.bmm(torch.randn(3, 4, 5), torch.randn(3, 5, 6)),
        lambda: torch.baddbmm(torch.randn(3, 4, 6), torch.randn(3, 4, 5), torch.randn(3, 5, 6)),
        lambda: torch.nn.Conv2d(4, 8, 3, stride=2, padding=1)(torch.randn(2, 4, 9, 9)).sum().backward(),
        lambda: torch.nn.Conv1d(4, 8, 3, dilation=2)(torch.randn(2, 4, 19, requires_grad=True)).sum().backward(),
        lambda: torch.nn.ConvTranspose2d(4, 8, 3, stride=2)(torch.randn(2, 4, 5, 5)),
    ],
)
def test_as_torch_counts(work: Any, tmp_path: Any) -> None:
    torch.manual_seed(0)
    with FlopCounterMode(display=False) as counter:
        work()
    assert recorded(work, tmp_path / "t.json") == counter.get_total_flops() > 0


def test_groups_and_the_gradients_that_were_wanted() -> None:
    """Each of 2·4·8 outputs of 5 by 5 meets 2 channels of 3 by 3; torch's counter forgets the groups backward."""
    data, weight, once = [2, 4, 9, 9], [8, 2, 3, 3], 2.0 * 2 * 8 * 5 * 5 * 2 * 9
    how = ["[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "2"]
    assert flops("aten::convolution", [data, weight, [8]], ["", "", "", *how]) == once
    for mask, products in (("[True, True, True]", 2), ("[False, True, True]", 1), ("[0, 0, 1]", 0)):
        values = ["", "", "", "[8]", *how, mask]
        assert flops("aten::convolution_backward", [[2, 8, 5, 5], data, weight], values) == products * once


def test_what_is_not_known_is_none() -> None:
    for shapes in ([], [[4, 8]], [[4, 8], [9, 2]], ["x", None], [[4, "8"], [8, 2]], None, {}):
        assert flops("aten::mm", shapes) is None  # type: ignore[arg-type]
    assert flops("aten::convolution", [[1, 2, 3, 3], [4, 2, 3, 3]], ["", "", ""]) is None
    assert flops("aten::add", [[4, 8], [4, 8]]) is None
