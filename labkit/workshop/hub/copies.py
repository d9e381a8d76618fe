"""The learner's own copies of the lessons: brought once, never overwritten once they are changed.

Run as the learner: ``python -m labkit.workshop.hub.copies SOURCE TARGET``. A file that is missing is brought. One that the
learner never changed follows the course. One that they changed stays as it is; where the course's has changed too, that comes
beside it as NAME.new.ipynb. What was brought is remembered in TARGET/.brought.json by its SHA-256. Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

_RECORD = ".brought.json"
WHAT = ("[0-9][0-9]_*.ipynb", "pages/*.md", "scripts/*.py")
"""What of the course's folder ``notebooks`` a learner gets: the lessons and what they refer to."""


def bring(source: Path, target: Path) -> list[str]:
    """Brings what is missing and what changed; returns a line for each file that was written."""
    target.mkdir(parents=True, exist_ok=True)
    record_path = target / _RECORD
    record = _read(record_path)
    said = []
    for path in sorted(path for pattern in WHAT for path in source.glob(pattern)):
        name = path.relative_to(source).as_posix()
        content = path.read_bytes()
        new = hashlib.sha256(content).hexdigest()
        mine = target / name
        now = _sum(mine)
        if now in (None, record.get(name)) and now != new:
            said.append(f"{'updated' if now else 'brought'} {name}")
            _write(mine, content)
        elif now != new and record.get(name) != new:  # both were changed
            beside = _beside(mine, target, record, new)
            if beside is not None:
                said.append(f"kept {name}; the course's new one is {beside.name}")
                _write(beside, content)
                record[beside.relative_to(target).as_posix()] = new
        record[name] = new
    _write(record_path, f"{json.dumps(record, indent=1)}\n".encode())
    return said


def _beside(mine: Path, target: Path, record: dict[str, str], new: str) -> Path | None:
    """A name beside the learner's file: free, or that of an earlier new one that they never changed; None: it is there already."""
    for number in range(1, 100):
        path = mine.with_name(f"{mine.stem}.new{'' if number == 1 else f'-{number}'}{mine.suffix}")
        now = _sum(path)
        if now == new:
            return None
        if now is None or now == record.get(path.relative_to(target).as_posix()):
            return path
    return None


def _write(path: Path, content: bytes) -> None:
    """Private, and whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_bytes(content)
    temporary.chmod(0o600)
    temporary.replace(path)


def _sum(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def _read(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): str(value) for name, value in found.items()}
    except (OSError, ValueError, AttributeError):
        return {}


if __name__ == "__main__":
    for line in bring(Path(sys.argv[1]), Path(sys.argv[2])):
        print(line)
