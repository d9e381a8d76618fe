import json

import pytest

from labkit.errors import LabkitError
from labkit.show.profiles import Timeline
from labkit.show.profiles.timeline import COLUMNS


def find(widget, description):
    """The button or slider of that name."""
    if getattr(widget, "description", None) == description:
        return widget
    return next((f for child in getattr(widget, "children", ()) if (f := find(child, description))), None)


def test_zoom_and_pan_stay_within_the_run(starved):
    line = Timeline(starved)
    whole = line.window
    line.zoom(4)
    low, high = line.window
    assert (high - low) == pytest.approx((whole[1] - whole[0]) / 4, rel=1e-6)
    line.pan(-100)
    assert line.window[0] == whole[0]
    line.pan(100)
    assert line.window[1] == whole[1] and line.window[1] - line.window[0] == high - low
    line.zoom(1e12)
    assert line.window[1] - line.window[0] == COLUMNS
    line.zoom(1e-12)
    assert line.window == whole
    line.whole()
    assert line.window == whole


def test_a_step_is_found_by_its_number(starved):
    line = Timeline(starved)
    line.step(2)
    starts = line.lanes.steps[0]
    assert line.window == (int(starts[2]), int(starts[3]))
    with pytest.raises(LabkitError, match="no step 99"):
        line.step(99)
    for call in (lambda: line.zoom(0), lambda: line.show(5, 5)):
        with pytest.raises(LabkitError):
            call()


def test_headless_it_is_a_drawing_and_words(starved, monkeypatch):
    monkeypatch.setenv("LABKIT_LIVE", "0")
    shown = Timeline(starved)._repr_mimebundle_()
    assert set(shown) == {"text/plain", "text/html"}
    assert "base64," in shown["text/html"] and 'alt="SIMULATED: Timeline' in shown["text/html"]
    assert shown["text/plain"].startswith("SIMULATED: Timeline")
    json.dumps(shown)


def test_buttons_and_sliders(starved):
    line = Timeline(starved)
    box = line.widget
    panel = box.children[-1]
    before = panel.value
    find(box, "Zoom in").click()
    width = line.window[1] - line.window[0]
    assert panel.value != before and find(box, "Zoom").value == 2
    find(box, "Position").value = 100
    assert line.window == (line.lanes.high - width, line.lanes.high)
    find(box, "Zoom").value = 6
    assert line.window[1] - line.window[0] == pytest.approx((line.lanes.high - line.lanes.low) / 8, rel=1e-3)
    find(box, "Whole run").click()
    assert panel.value == before and find(box, "Zoom").value == 0
    starts = line.lanes.steps[0]
    find(box, "Next step").click()
    assert line.window[0] == int(starts[0])
    find(box, "Next step").click()
    assert line.window[0] == int(starts[1])
    find(box, "Previous step").click()
    assert line.window[0] == int(starts[0])


def test_an_empty_profile_has_a_panel(nothing):
    line = Timeline(nothing)
    assert "no events" in str(line) and "<img" in line.panel() and line.widget is not None
