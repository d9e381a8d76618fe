"""What is known of two neighbours of PyTorch on AMD GPUs, TensorFlow and OpenCL: each statement with its source."""

from __future__ import annotations

from dataclasses import dataclass

CHECKED = "2026-11-30"


@dataclass(frozen=True)
class Statement:
    """One thing that is so. ``about``: a few words for the left column of a table."""

    about: str
    text: str
    source: str
    checked: str = CHECKED


TENSORFLOW: tuple[Statement, ...] = (
    Statement(
        "pip install tensorflow-rocm",
        "Old advice. The last one on PyPI is 2.14.0.600, of January 2024, and nothing newer came there.",
        "PyPI's list of releases",
    ),
    Statement(
        "where wheels are",
        "From ROCm 6.1 on AMD puts them on repo.radeon.com, one folder for each release of ROCm.",
        "AMD's documentation for Radeon, version 6.3, page on TensorFlow",
    ),
    Statement(
        "what AMD supports today",
        "AMD's page for ROCm 10 names Instinct GPUs on Linux only: no Radeon, no Windows. It lists known ImportErrors.",
        "https://rocm.docs.amd.com/projects/ai-ecosystem/en/latest/frameworks/tensorflow/install.html",
    ),
    Statement(
        "how to ask it",
        "tf.config.list_physical_devices('GPU') is the right question.",
        "TensorFlow's own interface; not yet verified on ROCm by this course",
    ),
)

OPENCL: tuple[Statement, ...] = (
    Statement(
        "what clinfo proves",
        "That an OpenCL runtime was found, and nothing about PyTorch, which uses HIP. Either can work without the other.",
        "component lists in ROCm/TheRock's README",
    ),
    Statement(
        "apt install rocm-opencl-runtime",
        "It mends OpenCL programs only. A GPU that PyTorch does not see stays unseen.",
        "component lists in ROCm/TheRock's README",
    ),
)
