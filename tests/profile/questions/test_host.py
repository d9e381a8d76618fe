"""Waits, launches, and to whom a gap is put down: small scenes with one cause each."""

from __future__ import annotations

import re

import pytest

from labkit.profile import diagnose, simulate
from labkit.profile import questions as ask
from labkit.profile.questions.attribution import CAUSES, REST
from labkit.profile.questions.waiting import BLOCKING
from labkit.profile.table import Profile
from tests.profile.questions import slow
from tests.profile.questions.slow import Row

US = 1_000


def scene(
    *, ahead: bool = False, before: str | None = None, pause: int = 130 * US, copy: bool = False, count: int = 20
) -> Profile:
    """Kernels of 100 µs with a pause before each, in which the host does ``before``; it launches late, or ``ahead`` of time."""
    rows: list[Row] = []
    clock = 0
    for at in range(1, count + 1):
        begin, end = clock + pause, clock + pause + 100 * US
        call = 0 if ahead else begin - 8 * US
        rows.append(
            {"kind": "dispatch", "device": 0, "name": "gemm", "start_ns": begin, "end_ns": end, "correlation": at}
        )
        rows.append(
            {
                "kind": "api",
                "thread": 1,
                "name": "hipLaunchKernel",
                "start_ns": call,
                "end_ns": call + 4 * US,
                "correlation": at,
            }
        )
        if before == "load":
            rows.append({"kind": "marker", "thread": 1, "name": "load", "start_ns": clock, "end_ns": begin - 10 * US})
        elif before:  # a wait that returns shortly after the kernel before
            rows.append(
                {"kind": "api", "thread": 1, "name": before, "start_ns": clock - 50 * US, "end_ns": clock + 10 * US}
            )
        if copy:
            rows.append({"kind": "copy", "device": 0, "name": "HOST_TO_DEVICE", "start_ns": clock, "end_ns": begin})
        clock = end
    return slow.profile(rows)


@pytest.mark.parametrize(
    ("p", "cause", "where"),
    [
        (scene(), "launch-bound", "launch-bound"),
        (scene(before="load"), "loader", "loader"),
        (scene(before="hipStreamSynchronize"), "synchronising", "synchronising"),
        (scene(before="cudaMemcpy"), "synchronising", "synchronising"),
        (scene(before="hipMemcpyAsync"), "launch-bound", "launch-bound"),
        (scene(copy=True), "copies", "copies"),
        (scene(ahead=True), "none", "queued"),
        (scene(pause=3_000 * US), "none", "host"),
        (scene(pause=10 * US), "none", "computing"),
    ],
    ids=("launches", "load", "wait", "blocking copy", "async copy", "copies", "ahead", "pause", "busy"),
)
def test_one_cause_each(p: Profile, cause: str, where: str) -> None:
    row = ask.losses(p).row(0, named=True)
    assert max(("computing", *CAUSES, *REST), key=lambda name: row[name]) == where
    assert diagnose(p).cause == cause


def test_a_wait_that_still_waits_when_work_goes_on_is_not_to_blame() -> None:
    rows = [
        {"kind": "dispatch", "device": 0, "name": "a", "start_ns": t, "end_ns": t + 10 * US, "correlation": i}
        for i, t in enumerate((0, 20 * US, 40 * US), 1)
    ]
    calls = [
        {"kind": "api", "thread": 1, "name": "hipLaunchKernel", "start_ns": -9, "end_ns": -5, "correlation": i}
        for i in (1, 2, 3)
    ]
    wait = {"kind": "api", "thread": 1, "name": "hipDeviceSynchronize", "start_ns": 0, "end_ns": 51 * US}
    found = ask.synchronisations(slow.profile([*rows, *calls, wait]))
    assert found.select("name", "calls", "total_ns", "idle_after_ns").rows() == [
        ("hipDeviceSynchronize", 1, 51 * US, 0)
    ]


def test_a_wait_within_a_wait_counts_once() -> None:
    rows = [
        {"kind": "api", "thread": 1, "name": "hipMemcpyWithStream", "start_ns": 0, "end_ns": 100},
        {"kind": "api", "thread": 1, "name": "hipStreamSynchronize", "start_ns": 10, "end_ns": 100},
        {"kind": "api", "thread": 2, "name": "hipStreamSynchronize", "start_ns": 20, "end_ns": 30},
        {"kind": "api", "thread": 1, "name": "hipStreamSynchronize", "start_ns": 100, "end_ns": 120},
        {"kind": "marker", "thread": 1, "name": "step 1", "start_ns": 0, "end_ns": 200},
    ]
    found = ask.synchronisations(slow.profile(rows))
    assert found.sort("name").select("name", "calls", "per_step").rows() == [
        ("hipMemcpyWithStream", 1, 1.0),
        ("hipStreamSynchronize", 2, 2.0),
    ]


@pytest.mark.parametrize(
    "name", ["hipDeviceSynchronize", "cudaStreamSynchronize", "hipMemcpy", "hipMemcpyDtoH", "cuCtxSynchronize"]
)
def test_blocking(name: str) -> None:
    assert re.search(BLOCKING, name)


@pytest.mark.parametrize(
    "name", ["hipMemcpyAsync", "hipMemcpyDtoHAsync", "hipStreamCreate", "cudaMemcpy2DAsync", "hipEventRecord"]
)
def test_not_blocking(name: str) -> None:
    assert not re.search(BLOCKING, name)


def test_launches() -> None:
    late = ask.launches(scene())
    assert (late.dispatches, late.joined, late.empty_share) == (20, 20, 1.0)
    assert (late.call_ns, late.delay_ns, late.overhead_ns, late.kernel_ns) == (4 * US, 8 * US, 8 * US, 100 * US)
    assert late.idle_ns == 19 * 130 * US and late.short_gap_ns == 0
    early = ask.launches(scene(ahead=True, pause=10 * US))
    assert early.empty_share == 1 / 20 and early.short_gap_ns == early.idle_ns  # only the first found nothing before it


@pytest.mark.parametrize(("copies", "copied"), [(1, 0), (40, 40 * 5 * US)])
def test_a_small_copy_counts_for_nothing_and_many_of_them_in_a_row_for_what_they_take(copies: int, copied: int) -> None:
    rows: list[Row] = [
        {"kind": "dispatch", "device": 1, "name": "a", "start_ns": begin, "end_ns": begin + 100 * US}
        for begin in (0, 400 * US)
    ]
    rows += [
        {
            "kind": "copy",
            "device": 1,
            "name": "Memcpy DtoD",
            "start_ns": (110 + 6 * i) * US,
            "end_ns": (115 + 6 * i) * US,
        }
        for i in range(copies)
    ]
    assert ask.losses(slow.profile(rows))["copies"][0] == copied


def test_a_kernel_that_waits_for_a_copy_does_not_tell_what_a_launch_costs() -> None:
    rows: list[Row] = []
    for at in range(20):
        begin = 1_000 * US * at
        rows += [
            {"kind": "copy", "device": 1, "name": "Memcpy HtoD", "start_ns": begin, "end_ns": begin + 500 * US},
            {"kind": "api", "thread": 1, "name": "hipLaunchKernel", "correlation": 1 + 2 * at,
             "start_ns": begin + 5 * US, "end_ns": begin + 9 * US},
            {"kind": "dispatch", "device": 1, "name": "a", "correlation": 1 + 2 * at,
             "start_ns": begin + 500 * US, "end_ns": begin + 520 * US},
        ]  # fmt: skip
    assert ask.launches(slow.profile(rows)).overhead_ns is None
    for at in range(2):
        begin = 1_000 * US * at + 700 * US
        rows += [
            {"kind": "api", "thread": 1, "name": "hipLaunchKernel", "correlation": 2 + 2 * at,
             "start_ns": begin, "end_ns": begin + 4 * US},
            {"kind": "dispatch", "device": 1, "name": "b", "correlation": 2 + 2 * at,
             "start_ns": begin + 9 * US, "end_ns": begin + 20 * US},
        ]  # fmt: skip
    assert ask.launches(slow.profile(rows)).overhead_ns == 9 * US
    run = simulate.training("cnn", "Instinct MI300X", "loader", steps=6)
    assert (ask.launches(run).overhead_ns or 0) < 50 * US


def test_without_calls_the_queue_is_unknown() -> None:
    bare = Profile("test", scene().dispatches, "test")
    found = ask.launches(bare)
    assert found.joined == 0 and found.empty_share is None and found.delay_ns is None
    assert ask.losses(bare).row(0, named=True)["unknown"] == found.idle_ns


def test_a_launch_that_was_only_just_in_time_is_still_late() -> None:
    """The call began before the GPU was done, but the kernel started as soon as a launch can take effect."""
    rows: list[Row] = []
    for at in range(1, 30):
        begin = 20 * US * at
        rows.append(
            {
                "kind": "dispatch",
                "device": 0,
                "name": "a",
                "start_ns": begin,
                "end_ns": begin + 12 * US,
                "correlation": at,
            }
        )
        call = begin - (10 * US if at % 3 else 8 * US)  # the gap before is 8 µs long
        rows.append(
            {
                "kind": "api",
                "thread": 1,
                "name": "hipLaunchKernel",
                "start_ns": call,
                "end_ns": call + US,
                "correlation": at,
            }
        )
    row = ask.losses(slow.profile(rows)).row(0, named=True)
    assert row["launch-bound"] == 28 * 8 * US and row["queued"] == 0


def test_kernels_of_the_same_moment_are_told_apart_by_their_names() -> None:
    first = {"kind": "dispatch", "device": 0, "name": "z", "start_ns": 0, "end_ns": 10}
    same = [{"kind": "dispatch", "device": 0, "name": name, "start_ns": 90_000, "end_ns": 95_000} for name in "ba"]
    for rows in ([first, *same], [*same[::-1], first]):
        assert ask.gaps(slow.profile(rows))["before"].to_list() == ["a"]
