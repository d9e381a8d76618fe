import numpy as np
import pytest
import torch

from labkit.errors import LabkitError
from labkit.show import histogram, intervals, lines, number, parts


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0, "0"),
        (0.012345, "0.0123"),
        (0.12345, "0.123"),
        (1.2345, "1.23"),
        (12.345, "12.3"),
        (123.45, "123"),
        (12345.0, "12,300"),
        (46_912_345, "46,900,000"),
        (6e-8, "6.00e-08"),
        (-12.345, "-12.3"),
        (float("nan"), "nan"),
    ],
)
def test_numbers_have_three_digits(value, told):
    assert number(value) == told


def test_an_interval_is_drawn_from_its_low_to_its_high_end():
    picture = intervals(["slow", "fast"], [12.0, 1.0], [11.0, 0.9], [14.0, 1.3], "s")
    bars = [c.get_segments()[0] for c in picture.axes.collections]
    assert [b[:, 0].tolist() for b in bars] == [[11.0, 14.0], [0.9, 1.3]]
    assert bars[0][0, 1] > bars[1][0, 1]  # the first name on top
    assert picture.axes.get_xlim()[0] == 0  # lengths can be compared
    assert "slow        12.0   11.0  14.0" in str(picture)
    assert "fast 1.00 s (0.900 to 1.30)" in picture.alt


@pytest.mark.parametrize("arguments", [(["a"], [1], [2], [3]), (["a"], [1, 2], [1], [1]), ([], [], [], [])])
def test_an_impossible_interval_is_told(arguments):
    with pytest.raises(LabkitError):
        intervals(*arguments)


def test_a_logarithmic_axis_refuses_zero():
    with pytest.raises(LabkitError, match="above 0"):
        intervals(["a"], [1], [0], [2], log=True)


def test_parts_lie_end_to_end_and_the_words_give_their_shares():
    picture = parts(["classic", "resident"], {"data": [9, 0.5], "compute": [1, 0.5]}, "ms")
    ends = [(round(bar.get_x(), 6), round(bar.get_x() + bar.get_width(), 6)) for bar in picture.axes.patches]
    assert ends == [(0, 9), (0, 0.5), (9, 10), (0.5, 1.0)]
    assert "classic    9.00 (90%)   1.00 (10%)      10.0" in str(picture)
    with pytest.raises(LabkitError):
        parts(["a"], {"x": [-1]})


def test_the_spread_of_a_whole_is_drawn_at_its_end_and_told():
    picture = parts(["a", "b"], {"x": [4, 1], "y": [1, 1]}, spread=[(4.5, 6), (1.5, 2.5)])
    (whisker,) = [c for c in picture.axes.collections if hasattr(c, "get_segments")]
    assert [s[:, 0].tolist() for s in whisker.get_segments()] == [[4.5, 6], [1.5, 2.5]]
    assert picture.axes.get_xlim()[1] > 6
    assert str(picture).splitlines()[2].split()[-3:] == ["5.00", "4.50", "6.00"]
    with pytest.raises(LabkitError, match="1 spreads for 2 names"):
        parts(["a", "b"], {"x": [1, 1]}, spread=[(1, 2)])


def test_zeros_and_what_is_not_finite_are_counted_apart():
    values = torch.tensor([0.0, 0.0, 1e-9, -1e-3, 1.0, float("inf"), float("nan")])
    picture = histogram({"gradients": values}, log_x=True, marks={"smallest float16": 6e-8}, bins=10)
    counts, edges, zeros, strange = picture.values["gradients"]
    assert (counts.sum(), zeros, strange) == (3, 2, 2)
    assert counts[0] == 1 and counts[-1] == 1 and len(edges) == 11
    assert "28.6% are exactly 0; 2 not finite; 33.3% below 6.00e-08 (smallest float16)" in str(picture)
    assert picture.axes.get_xscale() == "log"


def test_a_histogram_counts_every_value_once_also_at_the_edges():
    numbers = np.linspace(-1, 1, 101)
    counts = histogram(numbers, bins=7).values[""][0]
    assert counts.sum() == 101
    assert histogram([5, 5, 5], bins=4).values[""][0].sum() == 3


def test_a_mark_outside_the_values_is_still_on_the_picture():
    picture = histogram([1.0, 2.0], marks={"limit": 10.0})
    assert picture.values[""][1][-1] >= 10 and picture.axes.get_xlim()[1] >= 10


def test_the_words_of_marks_stand_above_the_axes_apart_from_each_other():
    values = np.geomspace(1e-9, 1e3, 500)
    marks = {"below this: 0": 3e-8, "from here: all digits": 6e-5, "close to it": 9e-5, "above this: inf": 65_504.0}
    picture = histogram({"a": values, "b": values * 3}, log_x=True, marks=marks, title="Two lines\nof title")
    picture.png()
    renderer = picture.figure.canvas.get_renderer()
    words = {text.get_text(): text.get_window_extent(renderer) for text in picture.axes.texts}
    frame, title = picture.axes.get_window_extent(renderer), picture.axes._left_title.get_window_extent(renderer)
    assert set(words) == set(marks)
    assert all(box.y0 >= frame.y1 and box.y1 <= title.y0 + 1 for box in words.values())
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in words.values())
    boxes = list(words.values())
    assert not any(one.overlaps(other) for k, one in enumerate(boxes) for other in boxes[:k])
    assert picture.axes.get_xlim()[1] > 65_504 * 2, "no mark is drawn on the edge"


def test_nothing_to_count_is_told():
    with pytest.raises(LabkitError, match="all are zero or not finite"):
        histogram([0.0, float("nan")], log_x=True)


def test_lines_tell_their_ends_and_what_is_lost():
    picture = lines({"loss": ([1, 2, 3], [4.0, 2.0, float("nan")])}, xlabel="step", ylabel="loss")
    assert str(picture) == "loss over step\nloss: 3 points, from 4.00 to 2.00, lowest 2.00, highest 4.00, 1 not finite"
    assert picture.axes.lines[0].get_ydata()[:2].tolist() == [4.0, 2.0]
    with pytest.raises(LabkitError, match="x has 2, y has 1"):
        lines({"a": ([1, 2], [1])})


def _ticks(picture):
    picture.figure.draw_without_rendering()
    low, high = picture.axes.get_xlim()
    axis = picture.axes.xaxis
    shown = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
    return [label.get_text() for x, label in shown if low <= x <= high]


def test_a_logarithmic_axis_has_plain_numbers_at_its_few_points():
    assert _ticks(lines({"a": ([1, 5, 20, 100], [1, 2, 3, 4])}, log_x=True)) == ["1", "5", "20", "100"]
    assert _ticks(lines({"a": ([1000, 2000], [1, 2]), "b": ([20_000], [3])}, log_x=True)) == [
        "1,000",
        "2,000",
        "20,000",
    ]


def test_many_points_on_a_logarithmic_axis_get_ticks_at_1_2_and_5():
    ticks = _ticks(lines({"a": (list(range(1, 300)), list(range(1, 300)))}, log_x=True))
    assert ticks == ["1", "2", "5", "10", "20", "50", "100", "200"]


def test_very_small_and_very_large_numbers_keep_their_powers_of_ten():
    assert all("10^" in tick for tick in _ticks(lines({"a": ([1e-8, 1e8], [1, 2])}, log_x=True)))


@pytest.mark.parametrize("log", [True, False])
def test_the_numbers_of_intervals_stay_inside_the_axes(log):
    picture = intervals(["a", "b"], [0.4, 900], [0.4, 800], [0.5, 1000], "images per second", log=log)
    picture.figure.draw_without_rendering()
    box = picture.axes.get_window_extent()
    for label in picture.axes.texts:
        words = label.get_window_extent()
        assert box.x0 - 2 <= words.x0 and words.x1 <= box.x1 + 2, label.get_text()
