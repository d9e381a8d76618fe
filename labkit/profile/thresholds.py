"""The numbers that the diagnosis judges by, all in one place, each with its reason. Times in nanoseconds, shares 0 to 1."""

from __future__ import annotations

NAMED = 0.25
"""A cause is named when it costs a quarter of the GPUs' time: without it a step takes three quarters as long, or less. Below
that the kernels themselves are the better place to look, and the cause stands among the observations."""

MENTIONED = 0.05
"""Worth a line among the further observations."""

WARM_UP = 3.0
"""A first step that takes this many times the median step is warm-up (kernel search, compilation, first allocations)."""

SHORT_GAP_NS = 60_000
"""A launch costs the host 5 to 10 µs, and an operator of PyTorch around it as much again or a few times that: gaps up to this
length are what launching one by one leaves."""

LONGEST_LAUNCH_NS = 1_000_000
"""A longer gap is something that the host did, not the overhead of one launch after the other."""

OVERHEAD_NS = (4_000, 50_000)
"""What a launch to an idle GPU takes is measured in the profile (``launches``), and believed within these bounds."""

BETWEEN_NS = 3_000
"""Two kernels in a row on one queue are a microsecond or two apart. Without API calls, that is all that can be told."""

SMALL_COPY_NS = 20_000
"""Copies that take no longer than this within a gap move a few bytes: their time belongs to the wait that asked for them."""

LABELLED_NS = 2_000
"""Shorter gaps are not labelled with what the host did: it explains nothing about a pause that the GPU itself needs."""

LABELLED = 200_000
"""Nor are more gaps than this, the longest first."""

FEW = 20
"""Fewer kernels than this, without marked steps, are no training: hardly a step of the smallest model."""

ONE_PAUSE = 0.5
"""A single gap that is at least this part of all idle time is told by itself: it says more than the average."""

MIXED_NS = 3_600_000_000_000
"""An idle hour within one recording: then its files hardly belong together."""
