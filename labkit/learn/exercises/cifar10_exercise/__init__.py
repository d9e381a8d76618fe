"""The exercises of lesson 02: from the statistics of the data to a network that beats a target."""

from __future__ import annotations

from labkit.learn.exercises.cifar10_exercise.network import count_parameters, evaluate, output_size, small_cnn
from labkit.learn.exercises.cifar10_exercise.pictures import augment, channel_stats, normalize
from labkit.learn.exercises.cifar10_exercise.quizzes import QUIZZES
from labkit.learn.exercises.cifar10_exercise.training import (
    beat_target,
    fit,
    learning_rate,
    practice_curves,
    read_curves,
)

EXERCISES = (
    channel_stats,
    normalize,
    output_size,
    count_parameters,
    small_cnn,
    evaluate,
    augment,
    learning_rate,
    fit,
    read_curves,
    beat_target,
)

__all__ = ["EXERCISES", "QUIZZES", "practice_curves"]
