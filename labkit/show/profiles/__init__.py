"""Pictures of a profile: the timeline, kernels, gaps, roofline and a comparison, and the page that holds them all."""

from __future__ import annotations

from labkit.show.profiles.compare import compare
from labkit.show.profiles.gaps import gaps
from labkit.show.profiles.kernels import kernels
from labkit.show.profiles.roofline import roofline
from labkit.show.profiles.timeline import timeline
from labkit.show.profiles.zoom import Timeline

__all__ = ["Timeline", "compare", "gaps", "kernels", "roofline", "timeline"]
