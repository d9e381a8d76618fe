"""The simulated caching allocator keeps the rules that it names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.errors import LabkitError
from labkit.memory import CachingAllocator, SimulatedOutOfMemory
from labkit.memory.allocator import MIB, rounded, segment_size
from labkit.memory.segments import totals


def test_sizes_are_rounded() -> None:
    assert [rounded(n) for n in (1, 512, 513, 1024)] == [512, 512, 1024, 1024]
    assert [segment_size(n) // MIB for n in (512, MIB, MIB + 512, 10 * MIB - 512, 10 * MIB, 21 * MIB)] == [
        2, 2, 20, 20, 10, 22,
    ]  # fmt: skip


def test_a_free_block_is_used_again_and_nothing_new_is_fetched() -> None:
    a = CachingAllocator(100 * MIB)
    a.allocate("x", 30 * MIB)
    a.free("x")
    assert (a.reserved, a.allocated) == (30 * MIB, 0)
    a.allocate("y", 30 * MIB)
    assert a.reserved == 30 * MIB


def test_the_smallest_block_that_fits_is_split_and_neighbours_merge() -> None:
    a = CachingAllocator(200 * MIB)
    for name, size in (("big", 40), ("small", 12)):
        a.allocate(name, size * MIB)
    a.free("big")
    a.free("small")
    a.allocate("x", 11 * MIB)  # fits into 12 and leaves 1 MiB: not more than 1 MiB, so not split
    assert [[(b.size // MIB, b.state) for b in s.blocks] for s in a.segments()] == [[(40, "free")], [(12, "used")]]
    a.allocate("y", 15 * MIB)
    a.allocate("z", 5 * MIB)
    assert [(b.size // MIB, b.name) for b in a.segments()[0].blocks] == [(15, "y"), (5, "z"), (20, "")]
    a.free("y")
    a.free("z")
    assert [b.size // MIB for b in a.segments()[0].blocks] == [40]


def test_small_requests_share_segments_of_2_mib_and_never_take_large_ones() -> None:
    a = CachingAllocator(100 * MIB)
    a.allocate("large", 30 * MIB)
    a.free("large")
    for k in range(4):
        a.allocate(f"s{k}", MIB // 2)
    assert [(s.kind, s.reserved // MIB) for s in a.segments()] == [("large", 30), ("small", 2)]


def test_whole_free_segments_are_given_back_before_it_gives_up() -> None:
    a = CachingAllocator(64 * MIB)
    a.allocate("x", 40 * MIB)
    a.free("x")
    a.allocate("y", 50 * MIB)
    assert a.reserved == 50 * MIB


def changed_shapes(**options: object) -> CachingAllocator:
    """Six tensors of 30 MiB come and go; then six of 20 MiB stay."""
    a = CachingAllocator(200 * MIB, **options)  # type: ignore[arg-type]
    for k in range(6):
        a.allocate(f"first {k}", 30 * MIB)
    for k in range(6):
        a.free(f"first {k}")
    for k in range(6):
        a.allocate(f"second {k}", 20 * MIB)
    return a


def test_changing_shapes_fragment_and_empty_cache_does_not_help() -> None:
    a = changed_shapes()
    assert totals(a.segments()) == (180 * MIB, 120 * MIB, 10 * MIB)
    assert a.empty_cache() == 0
    with pytest.raises(SimulatedOutOfMemory, match="Simulated") as error:
        a.allocate("one more", 60 * MIB)
    assert error.value.reserved - error.value.allocated >= error.value.requested


def test_expandable_segments_fit_where_fixed_ones_do_not() -> None:
    a = changed_shapes(expandable=True)
    a.allocate("one more", 60 * MIB)
    assert totals(a.segments()) == (180 * MIB, 180 * MIB, 0) and len(a.segments()) == 1


def test_expandable_segments_do_not_help_where_what_stays_lies_in_between() -> None:
    a = CachingAllocator(256 * MIB, expandable=True)
    for k in range(10):
        a.allocate(f"temporary {k}", 8 * MIB)
        a.allocate(f"kept {k}", 8 * MIB)
    for k in range(10):
        a.free(f"temporary {k}")
    assert a.empty_cache() == 0, "no page of 20 MiB is wholly free"
    with pytest.raises(SimulatedOutOfMemory):
        a.allocate("one more", 100 * MIB)


def test_the_memory_behind_free_pages_can_go() -> None:
    a = CachingAllocator(120 * MIB, expandable=True)
    for name in ("a", "b", "c"):
        a.allocate(name, 30 * MIB)
    a.free("b")
    a.allocate("d", 40 * MIB)  # b's place is too small; its one whole page moves to the end
    (segment,) = a.segments()
    assert "unmapped" in {block.state for block in segment.blocks} and a.reserved == 120 * MIB


def test_max_split_keeps_large_blocks_whole() -> None:
    a = CachingAllocator(200 * MIB, max_split=32 * MIB)
    a.allocate("x", 64 * MIB)
    a.free("x")
    a.allocate("kept", 2 * MIB)
    assert [s.reserved // MIB for s in a.segments()] == [64, 20]


def test_names_are_unique_and_known() -> None:
    a = CachingAllocator(10 * MIB)
    a.allocate("x", 1)
    with pytest.raises(LabkitError, match="already"):
        a.allocate("x", 1)
    with pytest.raises(LabkitError, match="Nothing called"):
        a.free("y")
    with pytest.raises(LabkitError, match="capacity"):
        CachingAllocator(0)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 40 * MIB)), max_size=40),
    st.booleans(),
    st.sampled_from([None, 8 * MIB]),
)
def test_the_books_balance(actions: list[tuple[bool, int]], expandable: bool, max_split: int | None) -> None:
    a = CachingAllocator(256 * MIB, expandable=expandable, max_split=max_split)
    live: dict[str, int] = {}
    for k, (take, amount) in enumerate(actions):
        if take or not live:
            try:
                a.allocate(str(k), amount)
                live[str(k)] = amount
            except SimulatedOutOfMemory:
                assert a.reserved <= a.capacity
        else:
            name = sorted(live)[amount % len(live)]
            a.free(name)
            del live[name]
        used = [block for segment in a.segments() for block in segment.blocks if block.state == "used"]
        assert sorted(block.name for block in used) == sorted(live)
        assert all(block.size >= live[block.name] for block in used)
        assert a.allocated <= a.reserved <= a.capacity
    for name in live:
        a.free(name)
    a.empty_cache()
    assert a.reserved == a.allocated == 0 and not a.segments()
