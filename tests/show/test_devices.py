"""The view of a watch: words and meters, the still picture, and a widget that is closed at the end."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("matplotlib")

from labkit.profile.sensors import Reading
from labkit.profile.watching import Watch
from labkit.show import devices


def made(*readings: Reading, times: int = 3) -> Watch:
    w = Watch(1, lambda: readings)
    for _ in range(times):
        w._sample()
    return w


FULL = Reading("made", 0, 50.0, 2**30, 2**34, 120.0, 60.0)


def test_the_latest_values_in_words_and_as_a_meter() -> None:
    text = devices.latest(made(FULL, Reading("made", 1)))
    assert '<meter min="0" max="100" value="50" aria-label="GPU 0: 50 % busy, 1.00 GiB, 120 W, 60 °C">' in text
    assert "GPU 1: nothing known" in text and text.count("<meter") == 1
    assert devices.latest(made(times=0)) == "<div>no sample yet</div>"


def test_the_picture_has_a_panel_for_each_quantity_that_is_known() -> None:
    assert [a.get_ylabel() for a in devices.samples(made(FULL)).figure.axes] == [
        *("busy, %", "memory, GiB", "power, W", "temperature, °C")
    ]
    few = devices.samples(made(Reading("CPU", 0, 10.0, 2**30)))
    assert [a.get_ylabel() for a in few.figure.axes] == ["busy, %", "memory, GiB"]
    assert "CPU (no GPU to watch)" in str(few) and few.values.height == 3


def test_two_cards_have_a_legend_and_an_empty_watch_says_so() -> None:
    two = devices.samples(made(FULL, Reading("made", 1, 20.0)))
    assert [text.get_text() for text in two.figure.axes[0].get_legend().get_texts()] == ["GPU 0", "GPU 1"]
    assert "no sample yet" in str(devices.samples(made(times=0)))


def test_a_person_sees_a_view_that_moves_and_is_closed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class View:
        value, closed = "", False

        def close(self) -> None:
            self.closed = True

    view = View()
    monkeypatch.setattr(devices, "_view", lambda content: view)
    with devices.LiveWatch(Watch(1, lambda: (FULL,)), live=True, show=True):
        pass
    assert view.closed and "50 % busy" in view.value


def test_elsewhere_nothing_moves_and_the_summary_is_printed(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def no(content: str) -> Any:
        raise AssertionError("nobody watches")

    monkeypatch.setattr(devices, "_view", no)
    with devices.LiveWatch(Watch(1, lambda: (FULL,)), live=False) as w:
        pass
    assert "GPU 0 (made)" in capsys.readouterr().out and w.picture.values.height >= 1
