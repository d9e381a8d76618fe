"""The exercises and quizzes of lesson 03: number formats, autocast, scaling by hand and by GradScaler, reading a result."""

from __future__ import annotations

from labkit.learn.exercises.mixed_precision.choosing import choose_precision
from labkit.learn.exercises.mixed_precision.formats import pick_scale, spacing_at
from labkit.learn.exercises.mixed_precision.quizzes import QUIZZES
from labkit.learn.exercises.mixed_precision.reading import as_accurate, read_speedup
from labkit.learn.exercises.mixed_precision.scaling import scaled_step
from labkit.learn.exercises.mixed_precision.steps import autocast_step

EXERCISES = (spacing_at, autocast_step, pick_scale, scaled_step, read_speedup, as_accurate, choose_precision)

__all__ = ["EXERCISES", "QUIZZES"]
