"""Perfetto traces (.pftrace): recognised, and said how to come by a form that can be read."""

from __future__ import annotations

from typing import Any

from labkit.errors import LabkitError
from labkit.profile.table import Profile


def read(content: Any, name: str = "") -> Profile:
    """Raises LabkitError: labkit does not read Perfetto's packets."""
    raise LabkitError(
        "This is a Perfetto trace (.pftrace), which labkit does not read.",
        "Convert the database that rocprofv3 wrote beside it with `rocpd convert -i FILE.db -f csv`, "
        "or record again with `rocprofv3 --output-format csv`.",
    )
