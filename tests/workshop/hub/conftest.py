"""The hub is for Linux only, and says so elsewhere (test_command.py in the folder above)."""

from __future__ import annotations

import sys

collect_ignore_glob = [] if sys.platform == "linux" else ["test_*.py"]
