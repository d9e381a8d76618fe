"""Timing that says how sure it is: ``benchmark`` for one function, ``compare`` for two or more.

Both run on a CPU without torch. torch is looked at only when the function's own code has imported it already, or when
a device is named.
"""

from __future__ import annotations

from labkit.timing.conditions import Conditions
from labkit.timing.contrast import Comparison, Contrast, compare
from labkit.timing.measure import Measurement, benchmark

__all__ = ["Comparison", "Conditions", "Contrast", "Measurement", "benchmark", "compare"]
