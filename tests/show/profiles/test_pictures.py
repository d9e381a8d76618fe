"""Kernels, gaps, roofline and comparison."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from labkit.profile import questions as ask
from labkit.profile.table import Device, Profile, events
from labkit.show.profiles import compare, gaps, kernels, roofline


def counted(count, *, same=False, seed=0):
    """Kernels on an MI300X with counters of operations and bytes; ``same``: all at one place of the roofline."""
    rng = np.random.default_rng(seed)
    names = [f"Cijk_Ailk_Bljk_BBS_BH_MT{16 * k + 16}x64x32_SN" if k % 3 else f"kernel_{k}_norm" for k in range(count)]
    time = np.cumsum(rng.integers(1_000, 900_000, count + 1))
    rows = []
    for k, name in enumerate(names):
        seconds = (time[k + 1] - time[k] - 200) * 1e-9
        intensity = 200.0 if same else 10 ** rng.uniform(0, 3)
        flops = seconds * (1e13 if same else 10 ** rng.uniform(11, 12.5))
        rows += [(k, name, "SQ_INSTS_VALU_MFMA_MOPS_BF16", flops / 512), (k, name, "WRITE_SIZE", 0.0)]
        rows += [(k, name, "FETCH_SIZE", flops / intensity / 1024)]
    schema = {"dispatch": pl.Int64, "name": pl.String, "counter": pl.String, "value": pl.Float64}
    table = events(
        {
            "device": [0] * count,
            "name": names,
            "start_ns": time[:-1],
            "end_ns": time[1:] - 200,
            "dispatch": list(range(count)),
        },
        kind="dispatch",
    )
    gpu = Device(0, "gfx942", "AMD Instinct MI300X")
    counters = pl.DataFrame(rows, schema=schema, orient="row")
    return Profile("rocprofv3-counter-collection", table, "rocprofv3", devices=(gpu,), counters=counters)


def test_no_words_touch(variety, real, clashes):
    for profile in (*variety, real):
        for draw in (kernels, gaps, roofline):
            assert clashes(draw(profile).figure) == [], draw.__name__
    for before, after in ((variety[1], variety[0]), (variety[2], variety[3]), (real, real)):
        assert clashes(compare(before, after).figure) == []


@pytest.mark.parametrize("profile", [counted(14), counted(40, seed=3), counted(9, same=True), counted(1)])
def test_rooflines_keep_their_words_apart(profile, clashes):
    assert clashes(roofline(profile).figure) == []


def test_kernels_are_sorted_and_the_rest_is_counted(healthy, starved):
    picture = kernels(healthy, most=5)
    totals = [row[3] for row in picture.values]
    assert totals == sorted(totals, reverse=True) and len(totals) == ask.kernels(healthy).height
    assert sum(row[4] for row in picture.values) == pytest.approx(1)
    labels = [label.get_text() for label in picture.axes.get_yticklabels()]
    assert labels[-1] == f"and {len(totals) - 5} more" and len(labels) == 6
    assert picture.text.startswith("SIMULATED: ") and f"and {len(totals) - 5} more" in picture.text


def test_kernels_of_statistics_and_operators_of_a_cpu():
    from labkit.profile.table import Entry, empty

    told = Profile("x", empty(), "x", statistics={"kernels": (Entry("a_gemm", 3, 900.0), Entry("b", 1, 100.0))})
    assert [row[0] for row in kernels(told).values] == ["a_gemm", "b"]
    rows = {"thread": [1, 1], "name": ["aten::mm", "aten::add"], "start_ns": [0, 2_000], "end_ns": [1_500, 2_500]}
    picture = kernels(Profile("x", events(rows, kind="operator"), "x"))
    assert [row[:2] for row in picture.values] == [("aten::mm", "gemm"), ("aten::add", "elementwise")]
    assert "operators on the CPU" in picture.text


def test_gaps_add_up_to_the_idle_time(starved):
    picture = gaps(starved)
    found = ask.gaps(starved)["length_ns"]
    assert sum(float(a.sum()) for a in picture.values["idle_ns"].values()) == pytest.approx(found.sum())
    assert picture.values["counts"].sum() == found.len()
    assert next(iter(picture.values["idle_ns"])) == "load", "what cost most comes first"
    assert picture.values["overhead_ns"] == ask.launches(starved).overhead_ns
    assert "a launch" in picture.text


def test_the_shortest_gaps_count_in_the_first_column():
    rows = {"device": [0] * 3, "name": ["a"] * 3, "start_ns": [0, 1_010, 9_000], "end_ns": [1_000, 2_000, 9_500]}
    picture = gaps(Profile("x", events(rows, kind="dispatch"), "x"))
    assert picture.values["counts"][0] == 1 and picture.values["counts"].sum() == 2
    assert sum(float(a.sum()) for a in picture.values["idle_ns"].values()) == 7_010


def test_nothing_to_draw_is_said(nothing):
    for draw, why in ((kernels, "no kernel"), (gaps, "no kernels"), (roofline, "neither counters")):
        picture = draw(nothing)
        assert why in picture.text and picture.values is None
    assert compare(nothing, nothing).values is None


def test_the_roofline_has_peaks_and_what_is_achievable():
    picture = roofline(counted(14))
    lines = [text.get_text() for text in picture.axes.get_legend().get_texts()]
    assert any("theoretical" in line for line in lines) and any("max achievable" in line for line in lines)
    assert "ceilings, not grades" in picture.text
    assert len(picture.axes.collections) == 14, "a dot for each kernel"
    times = [row["device_ns"] for row in picture.values]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("factor", [1.0, 1.3, 8.0, 400.0])
def test_rates_alone_keep_their_words_apart(factor, clashes):
    """Whatever the range of the logarithmic axis."""
    rates = (1.0, factor)
    rows = {
        "kind": ["operator", "api", "dispatch"] * 2,
        "device": [None, None, 0] * 2,
        "thread": [1, 1, None] * 2,
        "name": [
            "aten::mm",
            "hipLaunchKernel",
            "Cijk_a_BBS_MT16x16x16",
            "aten::mm",
            "hipLaunchKernel",
            "Cijk_b_SB_MT32x32x32",
        ],
        "start_ns": [0, 10, 100, 200_000, 200_010, 200_100],
        "end_ns": [90, 80, 100_100, 200_090, 200_080, 300_100],
        "correlation": [None, 1, 1, None, 2, 2],
        "flops": [rates[0] * 1e9, None, None, rates[1] * 1e9, None, None],
    }
    profile = Profile("torch-trace", events(rows), "torch", devices=(Device(0, None, "AMD Instinct MI300X"),))
    picture = roofline(profile)
    assert len(picture.values) == 2
    assert clashes(picture.figure) == []


def test_long_names_of_the_host_leave_room_for_the_share(clashes):
    host = "torch/utils/data/a_very_long_folder/and_a_longer_file_name.py(113): decorate_context_of_everything"
    rows = {
        "kind": ["dispatch", "dispatch", "marker"],
        "device": [0, 0, None],
        "thread": [None, None, 1],
        "name": ["a", "b", host],
        "start_ns": [0, 90_000, 1_000],
        "end_ns": [1_000, 95_000, 90_000],
    }
    picture = gaps(Profile("x", events(rows), "x"))
    labels = [text.get_text() for legend in picture.figure.legends for text in legend.get_texts()]
    assert labels[0].endswith(" 100%") and "…" in labels[0]
    assert clashes(picture.figure) == []


def test_without_bytes_rates_stand_beside_peaks(healthy):
    bare = healthy.events.with_columns(
        pl.when(pl.col("kind") != "dispatch").then(name).alias(name) for name in ("flops", "bytes")
    )
    picture = roofline(replace(healthy, events=bare))  # as a trace with shapes has it
    assert "does not say how many bytes" in picture.text and picture.values[0]["intensity"] is None
    assert "SIMULATED" in picture.text
    unknown = Profile("x", healthy.events, "x")
    assert "no peak" in roofline(unknown).text


def test_before_and_after(starved, healthy, real):
    picture = compare(starved, healthy)
    found = picture.values
    assert found.step_ratio is not None and found.step_ratio < 1
    assert "time per step" in picture.text and "GPU idle" in picture.text
    assert "SIMULATED" in compare(real, healthy).text


def test_a_single_kernel_is_not_called_never_idle():
    alone = Profile(
        "test", events({"device": [0], "name": ["k"], "start_ns": [0], "end_ns": [9]}, kind="dispatch"), "test"
    )
    assert "single kernel" in gaps(alone).text and "never idle" not in gaps(alone).text
