"""The exercise and the quizzes of lesson 11: how to find out whether a claim is true."""

from __future__ import annotations

from labkit.learn.exercises.folklore.quizzes import QUIZZES
from labkit.learn.exercises.folklore.seen import what_is_seen

EXERCISES = (what_is_seen,)

__all__ = ["EXERCISES", "QUIZZES"]
