"""Pictures of memory say the same in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labkit.errors import LabkitError
from labkit.memory import Block, CachingAllocator, Segment, Usage
from labkit.show.memory import MIB, memory_map, memory_timeline, tradeoff


def held(**options: bool) -> CachingAllocator:
    a = CachingAllocator(200 * MIB, **options)
    for k in range(3):
        a.allocate(str(k), 30 * MIB)
    a.free("1")
    a.allocate("x", 20 * MIB)
    a.allocate("small", 1000)
    return a


def test_the_map_draws_each_block_and_names_the_simulation() -> None:
    picture = memory_map(held().segments(), title="Segments", simulated=True)
    assert picture.values == {"": (92 * MIB, 80 * MIB + 1024, 10 * MIB)}
    assert "(simulation)" in picture.text and "(simulation)" in picture.alt
    assert "[20.0] (10.0)" in picture.text and "reserved 92.00 MiB, in use 80.00 MiB" in picture.alt
    blocks = sum(len(segment.blocks) for segment in held().segments())
    assert len(picture.axes.patches) == blocks == 6 and picture.png()[:4] == b"\x89PNG"
    assert "simulation" not in memory_map(held().segments()).text


def test_several_states_stand_in_one_map() -> None:
    a, b = held(), held(expandable=True)
    b.free("0")
    b.empty_cache()
    picture = memory_map({"fixed": a.segments(), "expandable": b.segments()})
    assert set(picture.values) == {"fixed", "expandable"}
    assert "<20.0>" in picture.text and "expandable" in picture.text
    assert {t.get_text() for t in picture.axes.texts} == {"fixed", "expandable"}


def test_many_segments_are_counted_in_words() -> None:
    many = [Segment("large", (Block((k + 1) * MIB, "used"),)) for k in range(40)]
    picture = memory_map(many)
    assert len(picture.axes.patches) == 24 and "and 16 smaller segments" in picture.text
    with pytest.raises(LabkitError, match="no segment"):
        memory_map([])


def usage(*amounts: int) -> Usage:
    return Usage(max(amounts), amounts[-1], tuple((k / 10, v) for k, v in enumerate(amounts)), "cpu", "how")


def test_the_timeline_marks_the_peak() -> None:
    picture = memory_timeline({"plain": usage(MIB, 5 * MIB, 0), "other": usage(MIB, 2 * MIB, MIB)})
    assert picture.values == {"plain": 5 * MIB, "other": 2 * MIB}
    assert {t.get_text() for t in picture.axes.texts} >= {"5.00 MiB", "2.00 MiB"}
    assert "plain: peak 5.00 MiB, left 0 B" in picture.text
    marked = replace(usage(MIB, 5 * MIB, 0), marks=(("forward", 0, 1), ("backward", 2, 2)))
    picture = memory_timeline({"a step": marked})
    assert "peak 5.00 MiB during forward" in picture.alt
    assert {t.get_text() for t in picture.axes.texts} >= {"forward", "backward"}
    tiny = memory_timeline(
        {"a step": replace(usage(5 * MIB, *[5 * MIB + k for k in range(50)], 0), marks=(("x", 2, 40),))}
    )
    assert len(tiny.axes.lines[0].get_xdata()) < 8 and "x" not in {t.get_text() for t in tiny.axes.texts}
    with pytest.raises(LabkitError, match="no timeline"):
        memory_timeline({"nothing": Usage(0, 0, (), "cpu", "how")})


def test_the_tradeoff_keeps_the_spread() -> None:
    picture = tradeoff(["none", "all"], [(1, 1, 1), (1.3, 1.2, 1.5)], [8, 2], xlabel="time", ylabel="MiB")
    assert picture.values.tolist() == [[1, 1, 1, 8], [1.3, 1.2, 1.5, 2]]
    assert "all: 1.30 (1.20 to 1.50), 2.00" in picture.alt
    assert {t.get_text() for t in picture.axes.texts} == {"none", "all"}
    with pytest.raises(LabkitError, match="low <= median"):
        tradeoff(["x"], [(1, 2, 3)], [1], xlabel="", ylabel="")
