"""Exercises: checks that understand mistakes, hints, solutions."""
