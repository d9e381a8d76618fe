"""What of others' work lies in ``assets/``: the manifest says name, version, licence, where its notice is, and the sum of every file.

These files make the site work without a network: MathJax with its font, and what draws the state of ipywidgets.
Only a page with an ipywidget that has no still form loads the latter, and no lesson of today makes one. It stays for the
next that does, whose page would else lack what its control showed. ``embed-amd.js`` is what MyST-NB takes by itself and
holds its fonts and pictures; the package's ``embed.js`` is half as large, and wants fifteen files of them beside it.
They are copied as they were published; ``python -m labkit.site.vendored`` writes the sums anew after an exchange.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

ASSETS = Path(__file__).resolve().parent / "assets"
MANIFEST = ASSETS / "manifest.json"


def packages() -> list[dict[str, object]]:
    """The rows of the manifest: name, version, licence, files_in (its folder) and files (path -> SHA-256).

    ``licence_in`` is the file with the licence's text or notice, ``licence_note`` says where that text is from.
    """
    rows: list[dict[str, object]] = json.loads(MANIFEST.read_text(encoding="utf-8"))
    return rows


def sums(folder: Path = ASSETS) -> dict[str, str]:
    """Path below the folder -> SHA-256, of every file but the manifest."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST.name
    }


def wrong(rows: list[dict[str, object]], found: Mapping[str, str]) -> list[str]:
    """Where the manifest and the files differ, one sentence each."""
    listed: dict[str, str] = {}
    for row in rows:
        files = row["files"]
        assert isinstance(files, dict)
        listed.update(files)
    told = [f"{path} is not in the manifest" for path in found if path not in listed]
    told += [f"{path} is missing" for path in listed if path not in found]
    return told + [f"{path} was changed" for path, total in listed.items() if path in found and found[path] != total]


def _renew() -> None:
    found = sums()
    rows = packages()
    for row in rows:
        inside = [path for path in found if path.startswith(str(row["files_in"]))]
        row["files"] = {path: found[path] for path in inside}
    MANIFEST.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    _renew()
