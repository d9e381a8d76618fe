"""The exercises and quizzes of lesson 08: several processes that train one model."""

from __future__ import annotations

from labkit.learn.exercises.several_gpus.bandwidth import bus_bandwidth
from labkit.learn.exercises.several_gpus.quizzes import QUIZZES
from labkit.learn.exercises.several_gpus.ring import ring_chunk
from labkit.learn.exercises.several_gpus.scaling import serial_share
from labkit.learn.exercises.several_gpus.sharding import shard
from labkit.learn.exercises.several_gpus.syncing import sync_once
from labkit.learn.exercises.several_gpus.weights import loss_factor

EXERCISES = (ring_chunk, shard, loss_factor, bus_bandwidth, serial_share, sync_once)

__all__ = ["EXERCISES", "QUIZZES"]
