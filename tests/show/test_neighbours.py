"""The cards for TensorFlow and OpenCL: what a machine has, and statements that carry their source."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.catalog import neighbours as known
from labkit.machine import simulate
from labkit.show import neighbours

CLINFO = """Number of platforms                               1
  Platform Name                                   AMD Accelerated Parallel Processing
Number of devices                                 2
"""


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (None, ["not installed"]),
        ({"package": "tensorflow", "version": "2.20.0", "rocm": False, "cuda": True, "gpus": []}, ["2.20.0", "CUDA build", "no"]),
        ({"package": "tensorflow-rocm", "version": "2.14.0", "rocm": True, "cuda": False, "gpus": ["GPU:0"]}, ["a ROCm build", "yes, 1"]),
        ({"package": "tensorflow", "version": None, "error": "ImportError: x"}, ["does not start", "not known: ImportError"]),
        ({"package": "tensorflow-cpu", "version": "2.20.0", "gpus": None}, ["a CPU build", "not asked"]),
    ],
)  # fmt: skip
def test_tensorflow_as_it_is_here(said: dict[str, Any] | None, words: list[str]) -> None:
    card = str(neighbours.tensorflow({"tensorflow": said}))
    assert not [word for word in words if word not in card]
    assert "Instinct GPUs on Linux only" in card and "2.14.0.600" in card


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "not installed"),
        ("Number of platforms                               0\n", "finds no OpenCL platform"),
        (CLINFO, "finds 1 platform (AMD Accelerated Parallel Processing) with 2 devices"),
        ("clinfo: error while loading shared libraries", "says: clinfo: error"),
    ],
)
def test_clinfo_stands_beside_torch(text: str | None, words: str) -> None:
    card = str(neighbours.opencl({"tools": {"clinfo": text} if text else {}, "torch": {"cuda_available": True}}))
    assert words in card and "sees a GPU" in card and "HIP" in card


def test_every_statement_has_a_source_and_a_day() -> None:
    for one in (*known.TENSORFLOW, *known.OPENCL):
        assert one.about and one.text and one.source and one.checked == known.CHECKED


def test_a_simulated_machine_is_called_simulated() -> None:
    assert "simulated" in str(neighbours.opencl(simulate.snapshot("rx6600")))


def test_odd_snapshots_do_not_stop_it() -> None:
    for odd in ({}, {"tensorflow": "x", "tools": None, "torch": []}, {"tensorflow": {}}):
        assert str(neighbours.tensorflow(odd)) and str(neighbours.opencl(odd))
