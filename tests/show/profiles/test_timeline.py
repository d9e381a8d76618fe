import tracemalloc

import numpy as np
import pytest

from labkit.errors import LabkitError
from labkit.profile import simulate
from labkit.show.profiles import timeline
from labkit.show.profiles.lanes import lanes
from labkit.show.profiles.timeline import COLUMNS, LARGEST


def pixels(picture):
    """The raster as drawn: uint8 [rows, columns, 3]."""
    (image,) = picture.axes.get_images()
    return np.asarray(image.get_array())


def test_no_words_touch(variety, clashes):
    for profile in variety:
        assert clashes(timeline(profile).figure) == []


def test_no_words_touch_closer_by(starved, clashes):
    ready = lanes(starved)
    for share in (0.5, 0.1, 0.02):
        width = int((ready.high - ready.low) * share)
        for at in (0.0, 0.31, 0.77):
            low = ready.low + int(at * (ready.high - ready.low - width))
            assert clashes(timeline(starved, low, low + width, made=ready).figure) == []


def test_what_is_drawn_is_said(starved):
    picture = timeline(starved)
    assert picture.text.startswith("SIMULATED: Timeline: ")
    assert "GPU, stream 0" in picture.text and "longest in view" in picture.text
    assert picture.alt.startswith("SIMULATED: ") and "busy" in picture.alt
    row = next(r for r in picture.values["lanes"] if r["title"] == "GPU, stream 0")
    assert 0.1 < row["busy"] < 0.9 and sum(row["shares"].values()) == pytest.approx(row["busy"])
    took = [e["end_ns"] - e["start_ns"] for e in picture.values["largest"]]
    assert len(took) == LARGEST and took == sorted(took, reverse=True)
    assert any("load" in text.get_text() for text in picture.axes.texts), "the gaps or the ranges are named"


def test_a_recorded_profile_is_not_called_simulated(real):
    assert "SIMULATED" not in timeline(real).text


def test_a_gap_stays_visible(real):
    image = pixels(timeline(real))
    rows = image.shape[0] // 5
    kernels = image[2 * rows : 3 * rows]  # GPU 0
    ground = (kernels == 238).all(axis=2).mean(axis=0)
    quarter = COLUMNS // 4
    assert ground[quarter // 4] == 0 and ground[int(0.5 * COLUMNS)] > 0.4, "busy at the start, idle in the middle"


def test_a_million_events_need_no_more_marks_than_a_thousand(starved):
    small = timeline(starved)
    ready = lanes(simulate.repeat(starved, 1_000_000))
    assert ready.events > 950_000
    large = timeline(simulate.repeat(starved, 1_000_000), made=ready)
    assert pixels(large).shape == pixels(small).shape
    assert large.values["marks"] <= small.values["marks"] + 5


def test_memory_of_a_redraw_does_not_grow_with_the_events(starved):
    """Ratios, not bytes: the rows need a bounded number of bytes for each event, a window of them hardly any."""
    held, drawn = {}, {}
    for count in (20_000, 1_000_000):
        profile = simulate.repeat(starved, count)
        ready = lanes(profile)
        arrays = {
            id(a): a.nbytes
            for lane in ready.lanes
            for t in lane.tracks
            for a in (t.start, t.end, t.code, *t.pieces, t.before)
        }
        held[count] = sum(arrays.values()) / count
        width = (ready.high - ready.low) * 20_000 // count
        timeline(profile, ready.low, ready.low + width, made=ready)  # the questions' answers are kept
        tracemalloc.start()
        timeline(profile, ready.low, ready.low + width, made=ready)
        drawn[count] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert held[1_000_000] < 40 and held[1_000_000] < 1.5 * held[20_000]
    assert drawn[1_000_000] < 2 * drawn[20_000]


def test_impossible_windows(starved, nothing):
    with pytest.raises(LabkitError, match="ends"):
        timeline(starved, 100, 100)
    picture = timeline(nothing)
    assert picture.values is None and "no events" in picture.text and picture.png()[:4] == b"\x89PNG"


def test_the_finest_window(starved):
    ready = lanes(starved)
    low, high = timeline(starved, ready.low, ready.low + 1, made=ready).values["window"]
    assert high - low == COLUMNS
