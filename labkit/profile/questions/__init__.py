"""Questions to a profile: pure functions of its table. Row order never matters; what cannot be known is None or empty.

``kernels`` ``categories`` ``operators``  where the time went           ``busy`` ``gaps``  how busy, and why not
``overlap`` ``launches`` ``synchronisations`` ``steps``  what the host did       ``compare``  before and after
``occupancy`` ``roofline``  how far from the hardware's limits
"""

from __future__ import annotations

from labkit.profile.questions.busyness import Busy, DeviceBusy, busy
from labkit.profile.questions.ranking import categories, kernels

__all__ = ["Busy", "DeviceBusy", "busy", "categories", "kernels"]
