"""The exercises and quizzes of lesson 04: reading a profile, and mending three sick trainings."""

from __future__ import annotations

from labkit.learn.exercises.rocprof_analysis.covering import busy_time
from labkit.learn.exercises.rocprof_analysis.launching import tiny_batches
from labkit.learn.exercises.rocprof_analysis.loading import starved
from labkit.learn.exercises.rocprof_analysis.quizzes import QUIZZES
from labkit.learn.exercises.rocprof_analysis.reading import hottest_kernel
from labkit.learn.exercises.rocprof_analysis.waiting import too_many_syncs

EXERCISES = (hottest_kernel, busy_time, starved, tiny_batches, too_many_syncs)

__all__ = ["EXERCISES", "QUIZZES"]
