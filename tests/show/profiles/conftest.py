"""Simulated profiles that several tests draw, and a look at where the words of a figure stand."""

from collections.abc import Callable
from itertools import combinations

import pytest

from labkit.profile import simulate
from labkit.profile.table import Profile, events

GPU = "Radeon RX 7900 XTX"


@pytest.fixture(scope="session")
def healthy() -> Profile:
    return simulate.training("cnn", GPU, None, steps=5, seed=1)


@pytest.fixture(scope="session")
def starved() -> Profile:
    return simulate.training("cnn", GPU, "loader", steps=5, seed=1)


@pytest.fixture(scope="session")
def variety(healthy: Profile, starved: Profile) -> list[Profile]:
    """Healthy and sick runs of several models and GPUs."""
    return [
        healthy,
        starved,
        simulate.training("mlp", GPU, "launch-bound", steps=12, seed=2),
        simulate.training("transformer", "Instinct MI210", "communication", steps=4, seed=3),
        simulate.training("resnet50", "Instinct MI300X", "copies", steps=4, seed=4),
    ]


@pytest.fixture(scope="session")
def real() -> Profile:
    """Two GPUs and two threads by hand, not simulated."""
    rows = {
        "kind": ["dispatch", "dispatch", "dispatch", "copy", "api", "marker", "marker"],
        "device": [0, 0, 1, 1, None, None, None],
        "stream": [0, 0, 0, 0, None, None, None],
        "thread": [None, None, None, None, 7, 7, 7],
        "name": [
            "Cijk_gemm",
            "softmax",
            "Cijk_gemm",
            "MEMORY_COPY_HOST_TO_DEVICE",
            "hipDeviceSynchronize",
            "step 0",
            "load",
        ],
        "start_ns": [1_000, 60_000, 2_000, 70_000, 20_000, 0, 0],
        "end_ns": [41_000, 80_000, 90_000, 95_000, 100_000, 100_000, 900],
    }
    return Profile("rocprofv3-kernel-trace", events(rows), "rocprofv3")


@pytest.fixture(scope="session")
def nothing() -> Profile:
    from labkit.profile.table import empty

    return Profile("rocprofv3-kernel-trace", empty(), "rocprofv3")


@pytest.fixture(scope="session")
def clashes() -> Callable:
    """The words of a figure that touch each other or leave it, after it was drawn."""
    from matplotlib.text import Text

    def look(figure) -> list[str]:
        renderer = figure.canvas.get_renderer()
        figure.draw(renderer)
        undrawn = set()
        for axes in figure.findobj(lambda artist: hasattr(artist, "xaxis") and hasattr(artist, "get_window_extent")):
            for axis in (axes.xaxis, axes.yaxis):
                drawn = {id(label) for tick in axis._update_ticks() for label in (tick.label1, tick.label2)}
                every = {
                    id(label) for tick in (*axis.majorTicks, *axis.minorTicks) for label in (tick.label1, tick.label2)
                }
                undrawn |= every - drawn
            if not axes.axison:
                undrawn |= {id(text) for axis in (axes.xaxis, axes.yaxis) for text in axis.findobj(Text)}
        boxes = [
            (text.get_text(), Text.get_window_extent(text, renderer))  # without the arrow of an annotation
            for text in figure.findobj(Text)
            if text.get_text().strip() and text.get_visible() and id(text) not in undrawn
        ]
        whole = figure.bbox
        found = [
            f"leaves the figure: {words}"
            for words, box in boxes
            if box.x0 < whole.x0 - 1 or box.x1 > whole.x1 + 1 or box.y0 < whole.y0 - 1 or box.y1 > whole.y1 + 1
        ]
        for (words, one), (others, other) in combinations(boxes, 2):
            wide = min(one.x1, other.x1) - max(one.x0, other.x0)
            high = min(one.y1, other.y1) - max(one.y0, other.y0)
            if wide > 1 and high > 2:
                found.append(f"'{words}' touches '{others}'")
        return found

    return look
