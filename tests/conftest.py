"""A test run is no learner: nothing here writes to the progress of whoever runs it."""

from __future__ import annotations

import os

os.environ["LABKIT_PROGRESS"] = "off"
