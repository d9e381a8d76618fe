"""What a snapshot says about a machine: pure functions from raw text to facts.

Nothing here reads a file or runs a command, so a broken laptop elsewhere, a simulated server and this machine are
understood by the same code.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Gpu:
    """One AMD GPU as found before anything is installed.

    ``gfx`` is the target, for example ``gfx1100``, or None where it could not be read. ``found_by`` names the part of
    the snapshot that it comes from.
    """

    gfx: str | None
    name: str | None
    integrated: bool | None
    found_by: str


@dataclass(frozen=True)
class Machine:
    """What the choice of a PyTorch build depends on."""

    system: str  # 'linux', 'windows', 'macos' or 'other'
    wsl: bool
    architecture: str  # 'x86_64', 'arm64', or what the system calls it
    python: tuple[int, int]
    gpus: tuple[Gpu, ...]  # AMD GPUs, discrete ones first
    nvidia: bool
    apple: bool
