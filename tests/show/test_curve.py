import re

import pytest
import torch

from labkit.errors import LabkitError
from labkit.show import LiveCurve, curve, memory_reading


class Clock:
    """A clock that the test moves; each look at it costs ``cost``."""

    def __init__(self, cost=0.0):
        self.now, self.cost = 0.0, cost

    def __call__(self):
        self.now += self.cost
        return self.now


class Handle:
    def __init__(self):
        self.updates = []

    def update(self, shown):
        self.updates.append(shown)


@pytest.fixture
def screen(monkeypatch):
    """What IPython's display was given: [(object, keyword arguments)], and the handle it returned."""
    import IPython.display

    shown, handle = [], Handle()

    def display(thing, **options):
        shown.append((thing, options))
        return handle

    monkeypatch.setattr(IPython.display, "display", display)
    monkeypatch.setattr(curve, "in_notebook", lambda: True)
    return shown, handle


def test_headless_shows_one_still_picture_and_one_line(screen, capsys):
    shown, handle = screen
    clock = Clock()
    with LiveCurve("MNIST", live=False, clock=clock) as c:
        for i in range(1000):
            clock.now += 0.01
            c.add(2.0 - i / 1000, samples=64)
        c.mark(accuracy=0.9312)
    assert [options for _, options in shown] == [{}]  # no display id: nbval and papermill see one plain output
    assert handle.updates == []
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    assert (
        "MNIST; loss 1.98 at the start, 1.03 at the end of 1000 steps; test accuracy 93.1%; 6,400 pictures per second"
        in line
    )
    assert c.finish() is c.picture and len(shown) == 1  # a second finish shows nothing more


def test_a_watched_training_is_drawn_at_most_twice_a_second_and_ends_as_the_still_picture(screen):
    shown, handle = screen
    clock = Clock()
    with LiveCurve("MNIST", live=True, total_steps=1000, clock=clock) as c:
        for _ in range(1000):
            clock.now += 0.01  # ten seconds in all
            c.add(1.0, samples=64)
        moving = c.updates
    assert 14 <= moving <= 20
    ((_, options),) = shown
    assert options == {"display_id": True}
    assert len(handle.updates) == moving  # the first drawing was the display itself, the last is the still picture
    assert handle.updates[-1] is c.picture


def test_a_slow_drawing_makes_room_for_the_training():
    clock = Clock()
    c = LiveCurve(live=True, show=False, clock=clock)
    c._live, c._svg = True, lambda: _slow(clock)
    c._handle = Handle()
    for _ in range(20_000):
        clock.now += 0.01
        c.add(1.0)
    c.finish()
    assert c.updates >= 3
    assert 0 < c.share < 0.012  # each drawing took half a second, and still the share stays small


def _slow(clock):
    clock.now += 0.5
    return "<svg/>"


def test_losses_stay_on_the_device_until_it_draws():
    clock = Clock()
    c = LiveCurve(show=False, clock=clock)
    weight = torch.ones((), requires_grad=True)
    for i in range(5):
        c.add(weight * i, samples=1)
    assert c.losses == [] and c.steps == 5
    assert not any(v.requires_grad for v in c._pending)  # the graph is let go
    clock.now = 1.0
    c.add((weight * 5).reshape(1), samples=1)
    assert c.losses == [0, 1, 2, 3, 4, 5]


def test_a_loss_changed_in_place_later_is_the_caller_s_business_but_floats_and_tensors_mix():
    c = LiveCurve(show=False)
    c.add(1.5)
    c.add(torch.tensor(2.5))
    c.finish()
    assert c.picture.values == [1.5, 2.5]


def test_a_loss_that_is_not_a_number_is_told_and_does_not_break_the_picture():
    c = LiveCurve(show=False)
    for v in (1.0, float("nan"), float("inf"), *[0.5] * 20):
        c.add(v)
    assert "loss 1.00 at the start, 0.500 at the end" in str(c)
    assert "2 of the losses not finite, the first in step 2" in str(c)
    c.finish().png()
    assert "NaN" not in c._svg() and "nan" not in c._svg()


def test_losses_that_end_as_no_number_do_not_hide_how_they_began():
    c = LiveCurve(show=False)
    for v in (2.0, float("nan"), *[float("nan")] * 58):
        c.add(v)
    assert (
        "loss 2.00 at the start, not finite at the end of 60 steps; 59 of the losses not finite, the first in step 2"
        in str(c)
    )


def test_the_rate_is_of_the_training_without_the_drawing():
    clock = Clock()
    c = LiveCurve(live=True, show=False, clock=clock)
    c._live, c._svg, c._handle = True, lambda: _slow(clock), Handle()
    for _ in range(3000):
        clock.now += 0.1
        c.add(1.0, samples=50)
    c.finish()
    assert c.own_s > 1 and len(c.rates) > 3
    assert [rate for _, rate in c.rates] == pytest.approx([500] * len(c.rates))


def test_the_moving_picture_stays_inside_its_frame_and_small():
    c = LiveCurve('<b>"title"', show=False, live=False, total_steps=100_000)
    for i in range(30_000):
        c.add(3.0 - i / 10_000)
    c.mark(accuracy=1.0)
    c.finish()
    svg = c._svg()
    xy = [tuple(map(float, p.split(","))) for p in re.search(r'points="([^"]+)"', svg)[1].split()]
    assert 200 <= len(xy) <= 500 and all(50 <= x <= 540 and 29 <= y <= 161 for x, y in xy)
    assert xy[-1][0] == pytest.approx(50 + 490 * 0.3, abs=1)  # 30 % of the way
    assert "<b>" not in svg and len(svg) < 12_000


def test_an_interrupted_training_still_shows_what_it_has(screen, capsys):
    shown, _ = screen
    with pytest.raises(KeyboardInterrupt), LiveCurve(live=False) as c:
        c.add(1.0)
        raise KeyboardInterrupt
    assert len(shown) == 1 and "end of 1 steps" in capsys.readouterr().out


def test_no_step_at_all_is_fine():
    c = LiveCurve(show=False)
    assert "no step yet" in str(c)
    c.finish().png()


def test_a_rate_of_zero_is_told():
    with pytest.raises(LabkitError):
        LiveCurve(updates_per_second=0)


class Shared:
    """What a GPU's statistics would say; the tests have none."""

    def __init__(self, now, most):
        self.reading = memory_reading.MemoryReading(now, most, "memory allocated on the GPU (HIP)")

    def __call__(self, device):
        return self.reading


def test_memory_and_learning_rate_are_told_while_it_runs_and_at_the_end(monkeypatch):
    monkeypatch.setattr(curve, "read_memory", Shared(1_500_000_000, 2_000_000_000))
    clock = Clock()
    c = LiveCurve(show=False, clock=clock)
    for step in range(100):
        clock.now += 0.1
        c.add(1.0, samples=10, learning_rate=0.1 if step < 50 else 0.01)
    c.mark(accuracy=0.5)
    assert "memory allocated on the GPU (HIP): 1.50 GB" in c._svg() and "learning rate 0.01" in c._svg()
    c.finish()
    assert "memory allocated on the GPU (HIP): 2.00 GB at most; learning rate 0.1 to 0.01" in str(c)
    assert c.learning_rates == [(1, 0.1), (51, 0.01)]
    titles = [axes.get_title(loc="left") for axes in c.picture.axes]
    assert titles == ["Loss", "Accuracy", "Speed", "Memory allocated on the GPU (HIP)", "Learning rate"]


def test_without_a_gpu_the_memory_is_that_of_the_process():
    import psutil

    reading = memory_reading.read_memory(torch.device("cpu"))
    assert reading.label == "memory of this process"
    assert reading.bytes == pytest.approx(psutil.Process().memory_info().rss, rel=0.2)
    assert memory_reading.told(812_400_000) == "812 MB"


def test_a_system_that_does_not_tell_its_memory_gets_none(monkeypatch):
    monkeypatch.setattr(memory_reading, "_resident", lambda: None)
    c = LiveCurve(show=False)
    c.add(1.0)
    c.finish()
    assert c.memory == [] and "memory" not in str(c)
