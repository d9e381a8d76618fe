"""Package indexes in a folder, with wheels of a few hundred bytes, to see what pip would take. Nothing is installed."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from labkit.folklore import child


@dataclass(frozen=True)
class Choice:
    """The version that pip would install (None: none), and the last error that it printed."""

    version: str | None
    said: str


def make(folder: Path, name: str, files: Sequence[str]) -> str:
    """Writes an index with wheels of these file names, which hold nothing but their metadata; returns its file:// address."""
    project = folder / "simple" / name
    project.mkdir(parents=True)
    for file in files:
        version = file.split("-")[1]
        info = f"{name}-{version}.dist-info"
        with zipfile.ZipFile(project / file, "w") as wheel:
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            wheel.writestr(
                f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {file[:-4].split('-', 2)[2]}\n"
            )
            wheel.writestr(f"{info}/RECORD", "")
    links = "".join(f'<a href="{file.replace("+", "%2B")}">{file}</a>\n' for file in files)
    (project / "index.html").write_text(f"<!DOCTYPE html><html><body>\n{links}</body></html>\n", encoding="utf-8")
    return (folder / "simple").as_uri()


def choose(folder: Path, name: str, index: str, *, extra: str = "", platform: str = "") -> Choice:
    """What pip would install from these indexes: a dry run, without pip's own settings, its cache and the network."""
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    command = [
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--no-deps",
        "--no-cache-dir",
        "--disable-pip-version-check",
        "--quiet",
    ]
    command += ["--target", str(folder / "nowhere"), "--report", str(report), "--index-url", index]
    command += ["--extra-index-url", extra] if extra else []
    if platform:
        command += ["--platform", platform, "--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"]
        command += ["--only-binary", ":all:"]
    settings = {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INPUT": "1",
        "PIP_FIND_LINKS": "",
        "PIP_CONSTRAINT": "",
        "PIP_EXTRA_INDEX_URL": "",
    }
    answer = child.python(*command, name, environment=settings)
    if answer.status == 0 and report.exists():
        found = json.loads(report.read_text(encoding="utf-8"))["install"]
        return Choice(found[0]["metadata"]["version"] if found else None, "")
    errors = [line for line in answer.text.splitlines() if line.startswith("ERROR")]
    return Choice(None, (errors or [child.last_line(answer.text)])[-1].replace("ERROR: ", ""))
