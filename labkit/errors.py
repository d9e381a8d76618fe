"""The one error that labkit raises for anything foreseeable: what is wrong, and what to do about it."""

from __future__ import annotations


class LabkitError(Exception):
    """A foreseeable problem, told in one sentence with its remedy.

    The command line prints both and exits with status 1; a notebook shows them without a traceback.
    """

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.problem}\n  What to do: {self.remedy}" if self.remedy else self.problem

    def _render_traceback_(self) -> list[str]:
        """What IPython prints instead of a traceback."""
        return str(self).splitlines()
