"""Leaves a sentence where a learner sees it: ``python -m labkit.workshop.hub.tell FOLDER SENTENCE``, run as the learner."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path


def tell(folder: Path, sentence: str) -> None:
    """Writes the sentence and the time into ABOUT_YOUR_LIMITS.txt, in place of what stood there."""
    now = datetime.datetime.now().strftime("%H:%M")
    (folder / "ABOUT_YOUR_LIMITS.txt").write_text(f"{now}  {sentence}\n", encoding="utf-8")


if __name__ == "__main__":
    tell(Path(sys.argv[1]), sys.argv[2])
