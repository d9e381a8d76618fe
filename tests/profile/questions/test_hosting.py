"""What the host did in the steps: small scenes that can be counted by hand, and simulated runs."""

from __future__ import annotations

import pytest

from labkit.profile import questions as ask
from labkit.profile import simulate
from labkit.profile.questions.hosting import READS
from tests.profile.questions import slow
from tests.profile.questions.slow import Row


def _row(kind: str, name: str, start: int, end: int, thread: int = 1, **more: int) -> Row:
    return {"kind": kind, "name": name, "start_ns": start, "end_ns": end, "thread": thread, **more}


def scene() -> list[Row]:
    """Three steps of 100 ns; loading takes 20, 30 and 90 of them; one number is read before the steps, two within."""
    rows = [_row("operator", READS[0], 10, 20)]
    for number, took in enumerate((20, 30, 90)):
        at = 1_000 + 100 * number
        rows += [
            _row("marker", f"step {number}", at, at + 100),
            _row("marker", "load", at, at + took),
            _row("operator", "aten::add", at + 5, at + 15),
        ]
    rows += [_row("operator", READS[0], 1_050, 1_060), _row("operator", READS[0], 1_150, 1_170, thread=2)]
    return rows


def test_a_scene_counted_by_hand() -> None:
    found = ask.host(slow.profile(scene()))
    assert found is not None
    assert (found.steps, found.span_ns, found.operators, found.reads, found.waits, found.launches) == (
        3,
        300,
        5,
        2,
        0,
        0,
    )
    assert found.load_shares == pytest.approx((0.2, 0.3, 0.9)) and found.load_share == pytest.approx(0.3)
    assert found.operators_ns == 60 and found.operator_share == pytest.approx(0.2)
    assert found.stops == 2


def test_loading_that_is_marked_twice_counts_once() -> None:
    found = ask.host(slow.profile([*scene(), _row("marker", "dataloader", 1_010, 1_040)]))
    assert found is not None and found.load_shares[0] == pytest.approx(0.4)


def test_row_order_does_not_matter() -> None:
    assert ask.host(slow.profile(scene()[::-1])) == ask.host(slow.profile(scene()))


def test_blocking_calls_count_instead_of_reads_where_there_are_some() -> None:
    calls = [_row("api", "hipMemcpyWithStream", 1_051, 1_059), _row("api", "hipStreamSynchronize", 1_052, 1_058)]
    found = ask.host(slow.profile([*scene(), *calls, _row("api", "hipDeviceSynchronize", 2_000, 2_100)]))
    assert found is not None and (found.waits, found.reads, found.stops) == (1, 2, 1)


def test_without_marked_steps_there_is_no_answer() -> None:
    assert ask.host(slow.profile([r for r in scene() if not str(r["name"]).startswith("step")])) is None


@pytest.mark.parametrize("gpu", ["Radeon RX 7900 XTX", "Instinct MI300X"])
def test_the_numbers_tell_simulated_sicknesses_apart(gpu: str) -> None:
    runs = {s: ask.host(simulate.training("cnn", gpu, s, steps=6)) for s in (None, "loader", "synchronising")}
    healthy, starved, watchful = (runs[s] for s in (None, "loader", "synchronising"))
    assert healthy and starved and watchful
    assert starved.load_share > 0.5 > 0.2 > max(healthy.load_share, watchful.load_share)
    assert watchful.stops > 20 * max(healthy.stops, 1) and healthy.launches > 6 * 20
