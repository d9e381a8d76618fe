"""Which build of PyTorch fits a machine: a pure function from facts to a plan."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.machine.facts import Machine


@dataclass(frozen=True)
class TorchPlan:
    """One way to install torch and torchvision, with the reasons in sentences for people.

    ``index_url`` None means pip's own default index (or the mirror that pip is set to). ``requirements`` has torch
    first and torchvision second. Sizes are None where they are not established. ``fallback`` is what to do where the
    index cannot be reached.
    """

    build: str  # 'rocm', 'cuda', 'cpu' or 'default'
    index_url: str | None
    requirements: tuple[str, ...]
    gfx: tuple[str, ...]
    reasons: tuple[str, ...]
    download_bytes: int | None
    installed_bytes: int | None
    fallback: TorchPlan | None = None

    def pip_index_arguments(self) -> list[str]:
        """pip's arguments for the index: never an extra index, which would let another index's torch win."""
        return [] if self.index_url is None else ["--index-url", self.index_url]


def plan(machine: Machine, torch: str = "auto", index: str | None = None) -> TorchPlan:
    """Chooses the build. (First shape; the choice itself follows.)"""
    return TorchPlan("cpu", index or "https://download.pytorch.org/whl/cpu", ("torch", "torchvision"), (), (), None, None)
