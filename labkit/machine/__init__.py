"""A machine is a value: one module collects a snapshot, everything else is pure functions on it."""
