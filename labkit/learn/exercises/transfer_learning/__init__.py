"""The exercises and quizzes of lesson 06: a trained network for another task, and a rate that others can compare."""

from __future__ import annotations

from labkit.learn.exercises.transfer_learning.freezing import freeze_body, keep_bn_still
from labkit.learn.exercises.transfer_learning.heads import new_head
from labkit.learn.exercises.transfer_learning.quizzes import QUIZZES
from labkit.learn.exercises.transfer_learning.rates import parameter_groups, throughput

EXERCISES = (new_head, freeze_body, keep_bn_still, parameter_groups, throughput)

__all__ = ["EXERCISES", "QUIZZES"]
