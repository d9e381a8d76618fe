"""The solution to lesson 11's exercise, named as the exercise. One right answer among many.

In the notebook, solution("NAME") prints it.
"""

from __future__ import annotations


def what_is_seen(call) -> str:
    """'fails' if the call raises, 'deprecated' if it works and warns of its age, else 'holds'."""
    import warnings

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")  # without it, Python hides some and shows others only once
        try:
            call()
        except Exception:
            return "fails"
    old = any(issubclass(w.category, (DeprecationWarning, FutureWarning)) for w in heard)
    return "deprecated" if old else "holds"
