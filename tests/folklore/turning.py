"""Claims turned round: the same probe looks at another subject, and has to see something else."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection

import pytest

from labkit.catalog.claims import claims
from labkit.folklore import child, registry
from labkit.folklore.observation import EXPECTED, Observation
from labkit.machine.probes.commands import Answer

Patch = pytest.MonkeyPatch
Look = Callable[[Patch], Observation]


class Turned(dict[str, tuple[str, Look]]):
    """Claim id -> (what is to be seen, the function that changes the subject and looks)."""

    def __call__(self, claim: str, saw: str) -> Callable[[Look], Look]:
        def keep(function: Look) -> Look:
            self[claim] = (saw, function)
            return function

        return keep

    def looks_different(self, claim: str, patch: Patch) -> None:
        """The probe sees what was announced, and that is not what the verdict says."""
        expected, look = self[claim]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seen = look(patch)
        assert seen.saw == expected, seen
        assert seen.saw != EXPECTED[claims()[claim].verdict], "this is what the verdict says: nothing was turned round"

    def has_all_of(self, themes: Collection[str]) -> None:
        """Every probe of these themes that runs on a CPU machine is turned round."""
        everywhere = {"torch", "module:pip", "module:numpy", "module:torchvision", "tool:apt", "tool:rocm-smi"}
        for claim in claims().values():
            if claim.probe and claim.theme in themes:
                found = registry.find(claim)
                assert found is not None
                assert claim.id in self or not set(found.needs) <= everywhere, claim.id


def says(patch: Patch, text: str, status: int = 0, which: str = "python") -> None:
    """The next program that a probe starts prints this."""
    patch.setattr(child, which, lambda *arguments, **settings: Answer(text, status))
