import importlib.util
from itertools import combinations
from pathlib import Path

import pytest

from labkit.profile.categories import CATEGORIES
from labkit.show import style
from labkit.show.profiles import look

_SPEC = importlib.util.spec_from_file_location("sight", Path(__file__).parents[1] / "test_style.py")
sight = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(sight)


@pytest.mark.parametrize("who", ["normal", *sight.SIGHT])
def test_categories_are_told_apart_by_everyone(who):
    close = {(a, b): sight.distance(look.COLOURS[a], look.COLOURS[b], who) for a, b in combinations(look.COLOURS, 2)}
    assert min(close.values()) > 15, min(close, key=close.get)
    ground = {key: sight.distance(colour, "#EEEEEE", who) for key, colour in look.COLOURS.items()}
    assert min(ground.values()) > 15, min(ground, key=ground.get)


def test_every_category_has_a_colour_and_readable_words():
    assert set(CATEGORIES) <= set(look.COLOURS)
    for colour in look.COLOURS.values():
        assert style.contrast(colour, look.on(colour)) >= 3.5


def test_words_fit_or_end_in_an_ellipsis():
    ruler = look.Ruler(9)
    name = "miopenSp3AsmConv_v30_3_1_gfx11_fp32_f2x3_stride1"
    for inches in (0.2, 0.5, 1.0, 2.0, 9.0):
        for middle in (False, True):
            words = ruler.fit(name, inches, middle=middle)
            assert words == "" or ruler.width(words) <= inches
            assert words in ("", name) or "…" in words
    assert ruler.fit(name, 9) == name
    assert ruler.fit(name, 1.5, middle=True).endswith("ride1")
    assert ruler.fit("cost $x$", 9) == r"cost \$x\$", "a dollar sign would begin a formula"
    assert ruler.first(("a long sentence of words", "short"), 0.5) == "short"
    assert ruler.first(("a long sentence of words",), 0.1) == ""


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "-"), (0, "0"), (1_500, "1.50 µs"), (2.5e6, "2.50 ms"), (3e9, "3.00 s")]
)
def test_times(value, shown):
    assert look.ns(value) == shown
