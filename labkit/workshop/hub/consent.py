"""Who lets the teacher see their progress: each learner's own answer, on the page where their server starts."""

from __future__ import annotations

import json

from labkit.course import files
from labkit.workshop.hub.accounts import Folder

ANSWERS = {"no": "no", "unnamed": "yes, without my name", "named": "yes, with my name"}
"""What is stored, and the words on the page."""


def answers(place: Folder) -> dict[str, str]:
    """Who lets the teacher see their progress: name to 'no', 'unnamed' or 'named'. Whoever is missing does not."""
    try:
        found = json.loads(place.consent.read_text(encoding="utf-8"))
        return {str(name): str(value) for name, value in found.items() if value in ANSWERS}
    except (OSError, ValueError, AttributeError):
        return {}


def store(place: Folder, name: str, answer: str) -> None:
    """Stores a learner's answer; anything else than a yes is a no."""
    known = answers(place)
    answer = answer if answer in ANSWERS else "no"
    if known.get(name, "no") != answer:
        files.write_text(place.consent, json.dumps({**known, name: answer}, indent=1) + "\n")
