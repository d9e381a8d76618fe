"""The exercises of lesson 10: twelve faults, each to be named from evidence and mended without harm.

``cases()`` gives what the lesson shows; a fault is an exercise whose answer is ``{"cause": …, "fix": …}``.
"""

from __future__ import annotations

from labkit.learn.exercises.troubleshooting_lab.case import Case, Choice
from labkit.learn.exercises.troubleshooting_lab.exercises import EXERCISES, cases
from labkit.learn.exercises.troubleshooting_lab.quizzes import QUIZZES

__all__ = ["EXERCISES", "QUIZZES", "Case", "Choice", "cases"]
