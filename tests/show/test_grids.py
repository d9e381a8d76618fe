from itertools import pairwise

import numpy as np
import pytest
import torch

from labkit.errors import LabkitError
from labkit.show import images, worst_mistakes
from labkit.show.grids import pixels


def drawn(picture):
    """The mosaic that was drawn, uint8 [H, W, 3]."""
    return picture.axes.images[0].get_array()


def cell(picture, i):
    left, top, right, bottom = picture.values[i]
    return drawn(picture)[top:bottom, left:right]


def test_uint8_grey_pictures_are_drawn_bit_for_bit_in_reading_order():
    given = torch.randint(0, 256, (6, 1, 5, 7), dtype=torch.uint8)
    grid = images(given, [0, 1, 2, 3, 4, 5], columns=3)
    for i in range(6):
        assert (cell(grid, i) == given[i, 0, :, :, None].numpy()).all()
    assert grid.values[2][0] > grid.values[1][0] > grid.values[0][0]  # left to right
    assert grid.values[3][1] > grid.values[2][1] and grid.values[3][0] == grid.values[0][0]  # then down


def test_colour_channels_are_not_swapped():
    red = torch.zeros(1, 3, 4, 4, dtype=torch.uint8)
    red[:, 0] = 200
    assert (cell(images(red), 0) == [200, 0, 0]).all()


def test_floats_from_0_to_1_are_not_stretched_but_normalised_ones_are():
    assert pixels(torch.tensor([[[0.0, 0.5]]]))[0, 0, :, 0].tolist() == [0, 128]
    assert pixels(torch.tensor([[[-1.0, 0.0, 1.0]]]))[0, 0, :, 0].tolist() == [0, 128, 255]
    assert pixels(torch.tensor([[[0.0, 1.0]]]), (0.0, 2.0))[0, 0, :, 0].tolist() == [0, 128]
    assert pixels(torch.tensor([[[7, 255]]], dtype=torch.int64))[0, 0, :, 0].tolist() == [7, 255]


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        (torch.zeros(4, 4), "shape"),
        (torch.zeros(1, 2, 4, 4), "shape"),
        (torch.zeros(2, 4, 4, 3), "shape"),
        (torch.full((1, 1, 2, 2), float("nan")), "NaN"),
        (torch.zeros(0, 1, 4, 4), "no picture"),
    ],
)
def test_what_is_not_a_picture_is_told(bad, word):
    with pytest.raises(LabkitError, match=word):
        images(bad)


def test_captions_are_names_and_the_text_form_has_them_all():
    grid = images(torch.zeros(3, 1, 4, 4), torch.tensor([2, 0, 9]), classes=("a", "b", "c"), title="Digits", n=3)
    assert [t.get_text() for t in grid.axes.texts] == ["c", "a", "9"]
    assert str(grid) == "Digits: 3 of 3, 4x4, grey\n1. c\n2. a\n3. 9"
    assert "c; a; 9" in grid.alt


def test_too_few_labels_are_told():
    with pytest.raises(LabkitError, match="3 pictures but 2 labels"):
        images(torch.zeros(3, 1, 4, 4), [1, 2])


def test_only_the_marked_picture_has_a_frame_around_it():
    grid = images(torch.zeros(3, 1, 6, 6), [0, 1, 2], marked=[False, True, False])
    (frame,) = grid.axes.patches
    left, top, right, bottom = grid.values[1]
    assert (frame.get_x(), frame.get_y(), frame.get_width(), frame.get_height()) == (
        left - 0.5,
        top - 0.5,
        right - left,
        bottom - top,
    )
    assert "2. 1 (marked)" in str(grid)


def test_the_worst_mistake_is_the_surest_wrong_answer():
    truth = [0, 0, 1, 1]
    sure = np.array([[0.9, 0.1], [0.3, 0.7], [0.95, 0.05], [0.1, 0.9]])
    given = torch.arange(4, dtype=torch.uint8).view(4, 1, 1, 1).expand(4, 1, 4, 4) * 60
    grid = worst_mistakes(given, truth, sure, ("cat", "dog"))
    assert grid.values.tolist() == [2, 1]
    assert str(grid).splitlines()[1] == "picture 2: is dog, model said cat (95%)"
    assert grid.axes.texts[0].get_text() == "is dog\nsaid cat\n95%"
    assert drawn(grid).reshape(-1, 3).tolist().count([120, 120, 120]) >= 16  # picture 2 itself is drawn


def test_a_model_without_numbers_left_is_not_sure_of_anything():
    gone = np.full((2, 3), np.nan)
    told = str(worst_mistakes(np.zeros((2, 1, 2, 2), np.uint8), [1, 2], gone, ["a", "b", "c"]))
    assert "model said a (no number)" in told and "nan" not in told


def test_no_mistake_is_said_and_not_an_error():
    grid = worst_mistakes(torch.zeros(2, 1, 4, 4), [0, 1], np.eye(2), ("a", "b"))
    assert str(grid).endswith("none in 2 pictures") and len(grid.values) == 0
    grid.png()


def test_a_long_name_does_not_reach_the_neighbour():
    names = ("Ankle boot", "T-shirt/top")
    sure = np.tile([[0.9, 0.1]], (6, 1))
    grid = worst_mistakes(torch.zeros(6, 1, 28, 28), [1] * 6, sure, names)
    grid.png()
    renderer = grid.figure.canvas.get_renderer()
    boxes = [t.get_window_extent(renderer) for t in grid.axes.texts]
    assert all(a.x1 <= b.x0 + 1 for a, b in pairwise(boxes))


def test_rows_are_of_equal_length_where_the_reader_did_not_choose():
    corners = images(torch.zeros(12, 1, 4, 4), n=12).values
    assert len({left for left, *_ in corners.tolist()}) == 6 and len({top for _, top, *_ in corners.tolist()}) == 2


def test_a_class_may_have_any_name(recwarn):
    import torch

    names = ["猫", "$5 and $_", "a_b^c", "<b>"]
    picture = images(torch.zeros(4, 3, 8, 8, dtype=torch.uint8), [0, 1, 2, 3], classes=names, title="$_ and $_")
    assert picture._repr_mimebundle_() and not recwarn.list
    assert all(name in picture.text for name in names)
