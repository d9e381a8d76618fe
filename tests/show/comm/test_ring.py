"""The ring's pictures say what the record says, step by step, and that it is a record."""

from __future__ import annotations

import pytest

pytest.importorskip("matplotlib")

from labkit.comm.ring import Message, RingRun
from labkit.show.comm.ring import ring_grid, ring_view

RUN = RingRun(
    2,
    "gloo",
    (
        (((1.0,), (1.0,)), ((10.0,), (10.0,))),
        (((1.0,), (11.0,)), ((11.0,), (10.0,))),
        (((11.0,), (11.0,)), ((11.0,), (11.0,))),
    ),
    (
        Message(0, 1, 0, 1, True, (10.0,), 8, 0.1),
        Message(0, 0, 1, 0, True, (1.0,), 8, 0.1),
        Message(1, 1, 0, 0, False, (11.0,), 8, 0.2),
        Message(1, 0, 1, 1, False, (11.0,), 8, 0.2),
    ),
    ((11.0,), (11.0,)),
)


def test_the_text_lists_every_message_by_sender() -> None:
    text = str(ring_view(RUN))
    assert "recorded from 4 real messages between 2 processes (gloo)" in text
    assert "step 1 (add): 0 sends chunk 0 (1) to 1; 1 sends chunk 1 (10) to 0" in text
    assert "step 2 (take over): 0 sends chunk 1 (11) to 1; 1 sends chunk 0 (11) to 0" in text


def test_the_panel_shows_the_state_after_the_step_and_its_arrows() -> None:
    view = ring_view(RUN)
    start, middle, end = (view.show(step) for step in range(3))
    assert start.count("marker-end") == 0 and middle.count("marker-end") == end.count("marker-end") == 2
    assert middle.count(">11<") == 2 and end.count(">11<") == 4
    assert "2 of 4 chunks hold the whole sum" in middle and "4 of 4" in end
    assert all("Recorded from real messages" in panel and "aria-label" in panel for panel in (start, middle, end))


def test_the_grid_has_a_box_for_every_chunk_and_marks_what_came() -> None:
    picture = ring_grid(RUN)
    assert len(picture.axes.patches) == 3 * 2 * 2
    assert sum(patch.get_linewidth() > 2 for patch in picture.axes.patches) == 4
    assert "recorded" in picture.axes.get_title(loc="left") + picture.alt and picture.values == RUN.states


def test_the_slider_and_the_play_button_move_the_panel() -> None:
    pytest.importorskip("ipywidgets")
    view = ring_view(RUN)
    controls, _, panel = view.widget.children
    play, slider = controls.children
    play.value = 1
    assert slider.value == 1 and panel.value == view.show(1)
    slider.value = 2
    assert play.value == 2 and panel.value == view.show(2) and slider.max == RUN.steps


def test_a_page_without_a_kernel_keeps_the_grid_and_the_words() -> None:
    shown = ring_view(RUN)._repr_mimebundle_()
    assert shown["text/html"].startswith("<img alt=") and "real messages" in shown["text/plain"]
