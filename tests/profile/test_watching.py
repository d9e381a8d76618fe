"""The watch: samples, their summary, and what happens when a sensor fails or somebody forgets it."""

from __future__ import annotations

import threading

import pytest

from labkit.errors import LabkitError
from labkit.profile import watching
from labkit.profile.sensors import Reading
from labkit.profile.watching import Watch, watch


class Card:
    """A card whose busy share rises by ten at each look."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.looks, self.fail_at, self.seen = 0, fail_at, threading.Event()

    def __call__(self) -> tuple[Reading, ...]:
        self.looks += 1
        if self.looks >= 4:
            self.seen.set()
        if self.fail_at is not None and self.looks >= self.fail_at:
            raise OSError("the card is asleep")
        return (Reading("made", 0, 10.0 * self.looks, self.looks * 2**30, 2**34, 100.0), Reading("made", 1))


def test_samples_come_while_the_block_runs_and_one_at_its_end() -> None:
    card = Card()
    with Watch(0.02, card) as w:
        assert card.seen.wait(20)
    count = card.looks
    table = w.samples
    assert table.height == 2 * count and dict(table.schema) == watching.COLUMNS
    mine = table.filter(table["device"] == 0)
    assert mine["seconds"].is_sorted() and mine["busy_percent"].to_list() == [10.0 * k for k in range(1, count + 1)]
    assert not [t for t in threading.enumerate() if t.name == "labkit-watch-devices"]
    w.stop()
    assert card.looks == count, "stopping twice takes no second last sample"


def test_the_summary_and_its_words() -> None:
    card = Card()
    w = Watch(1, card)
    for _ in range(3):
        w._sample()
    one, two = w.summary().to_dicts()
    assert (one["busy_percent_mean"], one["busy_percent_max"], one["power_w_mean"]) == (20.0, 30.0, 100.0)
    assert one["memory_bytes_max"] == 3 * 2**30 and two["busy_percent_mean"] is None
    text = str(w)
    assert "GPU 0 (made): busy 20 % on average, 30 % at most, memory 3.00 of 16.0 GiB, 100 W on average" in text
    assert "GPU 1 (made): nothing known (3 samples)" in text and "<pre>" in w._repr_html_()


def test_a_sensor_that_fails_ends_the_watch_and_nothing_else() -> None:
    card = Card(fail_at=3)
    with Watch(0.02, card) as w:
        thread = w._thread
        assert thread is not None
        thread.join(20)
        assert not thread.is_alive()
    assert w.samples.height == 4 and "the card is asleep" in w.problem and "the card is asleep" in str(w)


def test_a_listener_hears_each_sample() -> None:
    heard = []
    w = Watch(1, Card())
    w.on_sample(lambda it: heard.append(it.samples.height))
    w._sample()
    w._sample()
    assert heard == [2, 4]


def test_a_forgotten_watch_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_KEPT", 6)
    with Watch(0.02, Card()) as w:
        thread = w._thread
        assert thread is not None
        thread.join(20)
    assert "ended after 6 readings" in w.problem


def test_this_machine_can_be_watched() -> None:
    with watch(0.05) as w:
        pass
    assert w.samples.height >= 1 and str(w)


@pytest.mark.parametrize("interval", [0, -1, 0.001, float("nan"), 1e9])
def test_an_interval_that_is_not_possible_is_refused(interval: float) -> None:
    with pytest.raises(LabkitError, match="A sample every"):
        watch(interval)
