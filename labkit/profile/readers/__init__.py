"""Every profiler's files, read into one table: ``read`` takes a file, a folder, or several of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labkit.profile.table import Profile

__all__ = ["read", "read_bytes"]


def read(source: str | Path | Iterable[str | Path]) -> Profile:
    """The profile in a file, a folder of one run's files, or several files of one run.

    The content decides, never the name: rocprof v1, rocprofv2, rocprofv3 (every CSV, JSON, rocpd), RPD,
    rocprof-compute, torch.profiler; plain,
    gzipped, or pasted into a text. Raises LabkitError for what cannot be read.
    """
    from labkit.profile.readers import files

    return files.read(source)


def read_bytes(content: bytes, name: str = "") -> Profile:
    """The profile in these bytes. Raises LabkitError for what cannot be read."""
    from labkit.profile.readers import files

    return files.read_bytes(content, name)
