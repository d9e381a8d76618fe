"""Being built."""

from __future__ import annotations

import argparse

from labkit.errors import LabkitError


def main(options: argparse.Namespace) -> int:
    raise LabkitError("This is not there yet.", "come back later.")
