from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from labkit.profile.table import Profile, events
from labkit.show.profiles import look
from labkit.show.profiles.lanes import DEVICE_LANES, HOST_LANES, lanes


def scene(seed, count=300, *, overlapping):
    """Random kernels on one stream, one after the other or across each other."""
    rng = np.random.default_rng(seed)
    took = rng.integers(1, 60, count)
    start = rng.integers(0, 9_000, count) if overlapping else np.cumsum(took + rng.integers(0, 30, count)) - took
    names = [("Cijk_gemm_MT16x16", "softmax_kernel", "strange")[k] for k in rng.integers(0, 3, count)]
    rows = {"device": [0] * count, "stream": [0] * count, "name": names, "start_ns": start, "end_ns": start + took}
    return Profile("x", events(rows, kind="dispatch"), "x"), list(zip(names, start, start + took, strict=True))


@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_busy_shares_agree_with_counting_nanoseconds(seed, overlapping):
    profile, rows = scene(seed, overlapping=overlapping)
    (lane,) = lanes(profile).lanes
    edges = np.unique(np.random.default_rng(seed + 9).integers(0, 9_500, 40))
    each, busy = lane.shares(edges)
    taken = np.zeros(20_000, bool)
    for _, start, end in rows:
        taken[start:end] = True
    expected = [taken[a:b].mean() for a, b in pairwise(edges)]
    assert np.allclose(busy, expected)
    assert np.allclose(each.sum(axis=0), expected), "the colours share what is busy, they do not add to it"


def test_each_colour_gets_its_own_time():
    profile, rows = scene(5, overlapping=False)
    (lane,) = lanes(profile).lanes
    each, _ = lane.shares(np.array([0, 20_000]))
    gemm = sum(end - start for name, start, end in rows if name.startswith("Cijk"))
    assert each[[t.key for t in lane.tracks].index("gemm"), 0] * 20_000 == pytest.approx(gemm)


def test_events_in_view_are_found(starved):
    for lane in lanes(starved).lanes:
        for track in lane.tracks:
            low, high = int(track.start[0]) + 1, int(track.start[-1])
            wanted = [
                k
                for k in range(track.start.size)
                if track.end[k] > low and track.start[k] < high and track.end[k] - track.start[k] >= 2_000
            ]
            assert track.within(low, high, 2_000).tolist() == wanted


def test_host_lanes_know_loading_waiting_and_launching(starved):
    found = {lane.title: {t.key for t in lane.tracks} for lane in lanes(starved).lanes}
    assert found["markers, thread 4000"] == {"loading"}, "steps are lines, not ranges"
    assert {"waiting", "launching"} <= found["calls, thread 4000"]
    assert "convolution" in found["operators, thread 4000"]
    assert found["GPU, copies"] == {"copy"}


def test_collectives_and_several_gpus_have_their_rows(variety, real):
    titles = [lane.title for lane in lanes(variety[3]).lanes]
    assert "GPU, communication" in titles
    titles = [lane.title for lane in lanes(real).lanes]
    assert titles == ["markers, thread 7", "calls, thread 7", "GPU 0, stream 0", "GPU 1, stream 0", "GPU 1, copies"]


def test_rows_in_any_order_give_the_same(starved):
    mixed = Profile("x", starved.events.sample(fraction=1.0, shuffle=True, seed=3), "x", simulated=True)
    one, other = lanes(starved), lanes(mixed)
    edges = np.linspace(one.low, one.high, 200).astype(np.int64)
    assert [lane.title for lane in one.lanes] == [lane.title for lane in other.lanes]
    for a, b in zip(one.lanes, other.lanes, strict=True):
        assert np.array_equal(a.shares(edges)[0], b.shares(edges)[0])


def test_many_streams_and_threads_are_counted_where_they_have_no_room():
    count = 40
    start = np.arange(count) * 100
    device = {"device": [0] * count, "stream": range(count), "thread": [None] * count}
    host = {"device": [None] * count, "stream": [None] * count, "thread": range(count)}
    frames = [
        events({**part, "name": ["n"] * count, "start_ns": start, "end_ns": start + 50}, kind=kind)
        for kind, part in (("dispatch", device), ("api", host))
    ]
    found = lanes(Profile("x", pl.concat(frames), "x"))
    assert len(found.lanes) == HOST_LANES + DEVICE_LANES
    assert found.left_out == 2 * count - HOST_LANES - DEVICE_LANES


def test_a_long_pause_is_not_in_focus():
    start = np.concatenate((np.arange(3) * 100, 10**9 + np.arange(50) * 1_000))
    rows = {"device": [0] * 53, "name": ["n"] * 53, "start_ns": start, "end_ns": start + 90}
    found = lanes(Profile("x", events(rows, kind="dispatch"), "x"))
    assert (found.low, found.high) == (0, 10**9 + 49_090)
    assert found.focus[0] > 9 * 10**8 and found.focus[1] == found.high


def test_nothing_has_no_lanes(nothing):
    found = lanes(nothing)
    assert found.lanes == () and found.low == found.high == 0
    assert look.KEYS[0] == "gemm"
