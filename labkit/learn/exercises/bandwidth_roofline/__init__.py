"""The exercises and quizzes of lesson 07: bytes, FLOPs, the roof over them, and figures that tools print."""

from __future__ import annotations

from labkit.learn.exercises.bandwidth_roofline.bound import which_bound
from labkit.learn.exercises.bandwidth_roofline.counting import conv_flops, moved_bytes
from labkit.learn.exercises.bandwidth_roofline.fusing import fused_bytes
from labkit.learn.exercises.bandwidth_roofline.links import link_range
from labkit.learn.exercises.bandwidth_roofline.quizzes import QUIZZES
from labkit.learn.exercises.bandwidth_roofline.roof import roof_time

EXERCISES = (moved_bytes, conv_flops, roof_time, which_bound, fused_bytes, link_range)

__all__ = ["EXERCISES", "QUIZZES"]
