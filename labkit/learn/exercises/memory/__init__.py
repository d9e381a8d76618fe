"""The exercises and quizzes of lesson 05: what fills memory, and how to need less of it."""

from __future__ import annotations

from labkit.learn.exercises.memory.accumulation import accumulate
from labkit.learn.exercises.memory.amounts import fixed_bytes, mlp_activations
from labkit.learn.exercises.memory.checkpointing import checkpoint_blocks
from labkit.learn.exercises.memory.limits import largest_fit, why_oom
from labkit.learn.exercises.memory.quizzes import QUIZZES

EXERCISES = (fixed_bytes, mlp_activations, accumulate, checkpoint_blocks, why_oom, largest_fit)

__all__ = ["EXERCISES", "QUIZZES"]
