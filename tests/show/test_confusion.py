import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.errors import LabkitError
from labkit.show import confusion_matrix

TRUTH, SAID = [0, 0, 0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1, 2, 0]


def test_rows_are_the_truth_and_columns_the_answer():
    matrix = confusion_matrix(torch.tensor(TRUTH), torch.tensor(SAID), ("a", "b", "c")).values
    assert matrix.tolist() == [[3, 1, 0], [0, 2, 0], [1, 0, 1]]


def test_right_is_blue_wrong_is_vermillion_and_nothing_is_paper():
    picture = confusion_matrix(TRUTH, SAID, ("a", "b", "c"))
    colours = np.asarray(picture.axes.images[0].get_array())
    red, blue = colours[..., 0], colours[..., 2]
    assert all(blue[i, i] > red[i, i] for i in range(3))
    assert red[0, 1] > blue[0, 1] and red[2, 0] > blue[2, 0]
    assert colours[1, 0].tolist() == pytest.approx([252 / 255] * 3)
    assert blue[1, 1] - red[1, 1] > blue[2, 2] - red[2, 2]  # all of b is right, only half of c
    assert {t.get_text(): t.get_position() for t in picture.axes.texts}["3"] == (0, 0)


def test_the_words_say_the_share_and_the_commonest_mistakes():
    text = str(confusion_matrix([*TRUTH, 2], [*SAID, 0], ("cat", "dog", "owl")))
    assert "6 of 9 right (66.7%). Most frequent: owl taken for cat 2 times; cat taken for dog 1 times." in text
    assert text.splitlines()[1:] == [
        "is \\ said  cat  dog  owl",
        "cat          3    1    0",
        "dog          0    2    0",
        "owl          2    0    1",
    ]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
@settings(max_examples=25, deadline=None)
def test_every_pair_is_counted_once(pairs):
    matrix = confusion_matrix([a for a, _ in pairs], [b for _, b in pairs], "wxyz").values
    assert matrix.sum() == len(pairs)
    assert all(matrix[a, b] == pairs.count((a, b)) for a, b in pairs)


def test_a_number_that_is_no_class_is_told():
    with pytest.raises(LabkitError, match="between 0 and 1"):
        confusion_matrix([0, 2], [0, 1], ("a", "b"))
    with pytest.raises(LabkitError, match="truth has 2, predicted has 1"):
        confusion_matrix([0, 1], [0], ("a", "b"))
