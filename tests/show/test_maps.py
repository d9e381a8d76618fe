import base64
import io
import re

import numpy as np
import pytest
import torch

from labkit.errors import LabkitError
from labkit.show import style, tensor
from labkit.show.maps import count


def drawn(html):
    """The picture in the panel, uint8 [H, W, 3]."""
    import matplotlib.image

    data = base64.b64decode(re.search(r"base64,([^\"]+)", html)[1])
    return np.rint(matplotlib.image.imread(io.BytesIO(data)) * 255).astype(np.uint8)[..., :3]


@pytest.mark.parametrize(
    "shape, maps",
    [
        ((), (1, 1, 1, 1)),
        ((5,), (1, 1, 1, 5)),
        ((3, 4), (1, 1, 3, 4)),
        ((2, 3, 4), (1, 2, 3, 4)),
        ((6, 2, 3, 4), (6, 2, 3, 4)),
        ((2, 3, 5, 3, 4), (6, 5, 3, 4)),
    ],
)
def test_any_rank_becomes_samples_channels_and_maps_in_the_tensor_s_order(shape, maps):
    x = torch.arange(max(1, int(np.prod(shape)))).reshape(shape)
    view = tensor(x)
    assert view.maps.shape == maps and (view.maps.ravel() == np.arange(x.numel())).all()
    assert str(list(shape)) in str(view)
    view.picture.png()
    view.show()


@pytest.mark.parametrize(
    "dtype",
    [torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.int64, torch.bool, torch.complex64, torch.float64],
)
def test_any_dtype_is_shown(dtype):
    view = tensor(torch.ones(2, 2).to(dtype))
    assert str(dtype).removeprefix("torch.") in str(view) and view.counts.high == 1


def test_what_is_not_finite_is_counted_exactly_and_seen():
    x = torch.zeros(1, 2, 4, 4)
    x[0, 0, 0, 0], x[0, 0, 0, 3], x[0, 0, 3, 3], x[0, 1, 2, 2] = float("nan"), float("inf"), -float("inf"), float("nan")
    view = tensor(x)
    assert (view.counts.nan, view.counts.plus_inf, view.counts.minus_inf, view.counts.zeros) == (2, 1, 1, 28)
    assert "NOT FINITE: 2 NaN, 1 +infinity, 1 -infinity" in str(view)
    assert "1 NaN, 1 +infinity, 1 -infinity" in view.text(0, 0) and "NOT FINITE: 1 NaN" in view.text(0, 1)
    panel = view.show(0, 0)
    picture = drawn(panel)
    k = picture.shape[0] // 4
    assert (picture[k : 3 * k] == 255).all(), "zeros are white"
    corners = [picture[1, k // 2], picture[1, 3 * k + k // 2 - 3], picture[3 * k + 1, 3 * k + 3]]
    assert all(corner.mean() < 140 for corner in corners)
    assert len({tuple(corner) for corner in corners}) == 3
    assert "✕" in panel and "+infinity" in panel


def test_blue_is_above_zero_and_vermillion_below_on_one_scale():
    view = tensor(torch.tensor([[[1.0, -1.0]], [[0.5, 0.0]]]))
    picture = drawn(view.show(0, 0))
    colours = ["#{:02X}{:02X}{:02X}".format(*picture[0, x]) for x in (0, -1)]
    assert colours == [style.BLUE, style.VERMILLION]
    shared, own = drawn(view.show(0, 1))[0, 0], drawn(view.show(0, 1, own_scale=True))[0, 0]
    assert shared[0] > own[0] and "#{:02X}{:02X}{:02X}".format(*own) == style.BLUE


def test_a_single_nan_in_a_huge_map_is_still_seen():
    x = torch.zeros(3000, 3000)
    x[1, 2998] = float("nan")
    picture = drawn(tensor(x).show())
    assert max(picture.shape) <= 512 and (picture < 128).any()


def test_nothing_but_nan_and_nothing_at_all():
    view = tensor(torch.full((2, 2), float("nan")))
    assert "no finite value" in str(view)
    view.picture.png()
    assert "No finite value to count" in view.show()
    with pytest.raises(LabkitError, match="no value"):
        tensor(torch.zeros(0, 3))


def test_moving_the_sliders_changes_the_panel_and_the_tensor_may_change_behind_it():
    x = torch.arange(24.0).reshape(2, 3, 2, 2)
    view = tensor(x, "activations")
    controls, _, panel = view.widget.children
    sample, channel, own = controls.children
    x.zero_()
    sample.value, channel.value = 1, 2
    assert "sample 1, channel 2: 4 values, 20.0 to 23.0" in panel.value
    channel.value = 0
    before = panel.value
    own.value = True
    assert panel.value != before
    assert [c.description for c in tensor(torch.zeros(2, 2)).widget.children[0].children] == []


def test_count_of_plain_lists():
    counted = count([1.0, 3.0, float("inf")])
    assert (counted.values, counted.plus_inf, counted.low, counted.high, counted.mean) == (3, 1, 1.0, 3.0, 2.0)
