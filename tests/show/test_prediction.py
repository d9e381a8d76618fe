import math

import pytest

import labkit
from labkit.errors import LabkitError
from labkit.show import compare_guess, predict


def test_the_default_is_never_called_your_guess():
    guess = labkit.predict("How many times faster?")
    assert str(guess) == "How many times faster? The default guess: 3 times."
    assert "default guess was 3 times" in str(guess.compare(9.3, 9.1, 9.5)) and "You guessed" not in str(
        guess.compare(9.3)
    )
    guess.value = 4
    assert guess.changed and str(guess) == "How many times faster? Your guess: 4 times."
    assert (
        str(guess.compare(9.3, 9.1, 9.5))
        .splitlines()[1]
        .startswith("You guessed 4 times; measured 9.3 times (9.10 to 9.50)")
    )
    guess.value = 3
    assert not guess.changed


@pytest.mark.parametrize(
    "guess, measured, words",
    [
        (3.0, (9.3, 9.1, 9.5), "3.10 times as much as you thought."),
        (30.0, (9.3, 9.1, 9.5), "the guess was 3.23 times too high."),
        (9.2, (9.3, 9.1, 9.5), "within what was measured."),
        (9.0, (9.3, 9.1, 9.5), "close, 3.3% more than you thought."),
        (10.0, (9.3,), "close, 7.0% less than you thought."),
        (5.0, (5.0,), "within what was measured."),
        (-1.0, (2.0,), "3.00 more than guessed."),
        (0.0, (0.5,), "0.500 more than guessed."),
    ],
)
def test_the_sentence_says_how_far_off_the_guess_was(guess, measured, words):
    assert str(compare_guess(guess, *measured)).endswith(words)


def test_a_plain_number_that_equals_the_cell_s_default_is_called_that():
    assert "default guess was 3 times" in str(compare_guess(3.0, 9.0, default=3.0))
    assert "You guessed 2 ms" in str(compare_guess(2.0, 9.0, unit="ms", default=3.0))


def test_the_picture_has_both_and_a_log_axis_where_they_are_far_apart():
    far, near, below = compare_guess(1, 50, 40, 60), compare_guess(40, 50, 40, 60), compare_guess(-1, 50, 40, 60)
    assert [p.axes.get_xscale() for p in (far, near, below)] == ["log", "linear", "linear"]
    assert far.values == (1, 50, 40, 60)
    assert [t.get_text() for t in far.axes.get_yticklabels()] == ["your guess", "measured"]
    far.png()


def test_typing_and_sliding_are_the_guess():
    guess = predict("How many?", low=1, high=100)
    question, controls, noted = guess.widget.children
    field, slider = controls.children
    assert "How many?" in question.value and "3 times is the default" in noted.value
    field.value = 20
    assert guess.value == 20 and slider.value == pytest.approx(20) and "Noted: 20 times" in noted.value
    field.value = 5000  # beyond the slider's end: the guess stays what was typed
    assert guess.value == 5000 and slider.value == pytest.approx(100) and field.value == 5000
    slider.value = 10
    assert guess.value == field.value == 10
    guess.value = 3
    slider.value = 10 ** (0.02 * round(math.log10(3) / 0.02))  # the front end puts the knob onto a notch
    assert guess.value == 3 and not guess.changed
    guess.value = 7
    assert field.value == 7 and slider.value == pytest.approx(7)
    for rapid in range(1, 100):
        field.value = rapid
    assert guess.value == 99


def test_a_wish_for_no_number_is_said_and_the_last_guess_stays():
    guess = predict("How many?")
    field, noted = guess.widget.children[1].children[0], guess.widget.children[2]
    field.value = float("nan")
    assert "Problem:" in noted.value and guess.value == 3


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: predict("?", default=float("nan")),
        lambda: predict("?", low=1),
        lambda: predict("?", low=2, high=1),
        lambda: compare_guess(1, float("nan")),
        lambda: compare_guess(1, 5, 6, 7),
        lambda: compare_guess(1, 5, 4),
        lambda: compare_guess("many", 5),
    ],
)
def test_what_cannot_be_compared_is_told(wrong):
    with pytest.raises(LabkitError):
        wrong()


def test_a_slider_over_far_ends_is_logarithmic():
    kinds = [type(predict("?", low=a, high=b).widget.children[1].children[1]).__name__ for a, b in ((1, 100), (0, 10))]
    assert kinds == ["FloatLogSlider", "FloatSlider"]


def test_a_count_is_told_whole():
    """The table beside it says 109,386; a sentence that says 109,000 would contradict it."""
    guess = predict("How many numbers?", "numbers", 1_000)
    assert "1,000 numbers" in str(guess)
    assert "measured 109,386 numbers" in str(guess.compare(109_386))
    assert "measured 0.5 numbers" in str(guess.compare(0.5)) and "5.00e+30" in str(guess.compare(5e30))
