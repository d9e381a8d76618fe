"""The drawing of the stack, and tables of words."""

from __future__ import annotations

import pytest

from labkit.devices.stack import layers
from labkit.machine import simulate
from labkit.show.tables import word_table


@pytest.mark.parametrize("name", ["rx7900xtx", "no_gpu", "user_not_in_render_group"])
def test_every_layer_is_drawn_and_told(name: str) -> None:
    pytest.importorskip("matplotlib")
    from labkit.show.stack import stack

    found = layers(simulate.snapshot(name))
    drawn = stack(found, title="a machine")
    for layer in found:
        assert layer.name in str(drawn) and layer.here in str(drawn)
    assert drawn.png().startswith(b"\x89PNG") and len(drawn.axes.patches) == len(found)
    assert ("Not here: " in drawn.alt) == any(layer.state == "absent" for layer in found)


def test_nothing_is_drawn_outside_its_box() -> None:
    pytest.importorskip("matplotlib")
    from labkit.show.stack import stack

    drawn = stack(layers(simulate.snapshot("laptop_780m_rx7700s")))  # the longest name
    drawn.png()
    renderer = drawn.figure.canvas.get_renderer()
    right = drawn.axes.get_window_extent(renderer).x1
    assert max(text.get_window_extent(renderer).x1 for text in drawn.axes.texts) <= right


def test_a_table_of_words() -> None:
    shown = word_table(["check", "do"], [["<b>", "run with --device=/dev/kfd & more"], ["long name", ""]], title="T")
    assert str(shown) == "T\ncheck      do\n<b>        run with --device=/dev/kfd & more\nlong name"
    html = shown._repr_html_()
    assert "&lt;b&gt;" in html and "&amp; more" in html and "<b>" not in html
    assert "white-space:nowrap'>--device=/dev/kfd</span>" in html


def test_a_column_that_is_empty_everywhere_is_left_out() -> None:
    shown = word_table(["check", "what to do", "seen"], [["a", "", "x"], ["b", " ", ""]])
    assert (shown.columns, shown.rows) == (("check", "seen"), (("a", "x"), ("b", "")))
    assert "what to do" not in str(shown) + shown._repr_html_()
    assert word_table(["a", "b"], []).columns == ("a", "b")


def test_columns_do_not_shrink_to_one_word() -> None:
    shown = word_table(["check", "what it means"], [["gfx942", "a sentence of several words " * 4], ["b", "short"]])
    html = shown._repr_html_()
    assert "min-width:6ch" in html and "min-width:24ch" in html and "word-break:normal" in html
    assert "min-width:14ch" in word_table(["architecture"], [["RDNA3"]])._repr_html_(), (
        "and so is the longest of its heading"
    )
    assert "min-width:15ch" in word_table(["x"], [["a hardware-report is"]])._repr_html_(), "its longest word is whole"


def test_a_simulated_table_says_so() -> None:
    shown = word_table(["a"], [["b"]], title="T", simulated=True)
    assert "simulated" in str(shown) and "simulated" in shown._repr_html_() and "dashed" in shown._repr_html_()
