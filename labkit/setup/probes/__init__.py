"""Small programs that set-up runs with the environment's own Python.

They are started from their text (``python -c``), not as modules: they must run on whatever Python the environment has,
see only what is installed there, and may crash without taking set-up with them. Each prints JSON lines.
"""
