"""Quizzes: one of several, all of several, a number with its unit, an order; each wrong answer with its own reason.

A lesson's package under ``labkit/learn/exercises`` lists its quizzes as ``QUIZZES``, made of the kinds here;
``labkit.learn.quizzes.proofs`` shows that each can be trusted.
"""

from __future__ import annotations

from labkit.learn.quizzes.kinds import AllOf, Number, OneOf, Option, Order, Question, Slip

__all__ = ["AllOf", "Number", "OneOf", "Option", "Order", "Question", "Slip"]
