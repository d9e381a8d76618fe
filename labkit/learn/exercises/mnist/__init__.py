"""The exercises of lesson 01: from bytes to floats, the five calls of a training step, and reading what they print."""

from __future__ import annotations

from labkit.learn.exercises.mnist.curves import practice_losses, read_losses
from labkit.learn.exercises.mnist.numbers import linear_parameters, standardise
from labkit.learn.exercises.mnist.questions import forgotten_line, who_waits
from labkit.learn.exercises.mnist.steps import share_right, training_step

EXERCISES = (standardise, linear_parameters, training_step, read_losses, share_right)
QUIZZES = (forgotten_line, who_waits)

__all__ = ["EXERCISES", "QUIZZES", "practice_losses"]
