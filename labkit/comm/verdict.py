"""One sentence about a figure, with the figure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """``code`` for programs, ``sentence`` for people, ``quote``: the figure as the text has it.

    ``is_note``: it says how to read a figure, and nothing is wrong.
    """

    code: str
    sentence: str
    quote: str
    is_note: bool = False
