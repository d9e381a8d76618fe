"""Questions to a profile: pure functions of its table. Row order never matters; what cannot be known is None or empty.

``kernels`` ``categories`` ``operators``  where the time went           ``busy`` ``gaps``  how busy, and why not
``overlap`` ``launches`` ``synchronisations`` ``steps`` ``host``  what the host did   ``compare``  before and after
``losses``  every nanosecond of the GPU's time by its cause
``occupancy`` ``occupancies`` ``roofline``  how far from the hardware's limits
"""

from __future__ import annotations

from labkit.profile.questions.attribution import losses
from labkit.profile.questions.busyness import Busy, DeviceBusy, busy
from labkit.profile.questions.comparison import Comparison, Side, compare
from labkit.profile.questions.hosting import Host, host
from labkit.profile.questions.idle import gaps
from labkit.profile.questions.launching import Launches, launches
from labkit.profile.questions.limits import Occupancy, occupancies, occupancy
from labkit.profile.questions.operating import operators
from labkit.profile.questions.overlapping import overlap
from labkit.profile.questions.ranking import categories, kernels
from labkit.profile.questions.roof import Roofline, roofline
from labkit.profile.questions.stepping import Steps, Window, steps, window
from labkit.profile.questions.waiting import synchronisations

__all__ = [
    "Busy",
    "Comparison",
    "DeviceBusy",
    "Host",
    "Launches",
    "Occupancy",
    "Roofline",
    "Side",
    "Steps",
    "Window",
    "busy",
    "categories",
    "compare",
    "gaps",
    "host",
    "kernels",
    "launches",
    "losses",
    "occupancies",
    "occupancy",
    "operators",
    "overlap",
    "roofline",
    "steps",
    "synchronisations",
    "window",
]
