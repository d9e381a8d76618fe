"""What a report is called: in a list for people, and as a file in reports/."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_ARCHITECTURES = {"AMD64": "x86_64", "aarch64": "arm64"}


def device(machine: Mapping[str, Any]) -> str:
    """'CPU', 'Apple GPU (mps)', or the product with its target: 'Radeon RX 7900 XTX (gfx1100)'."""
    torch = machine["torch"]
    if torch["device"].startswith("cuda"):
        product = re.sub(r"^AMD ", "", str(torch["product"]))
        return f"{product} ({torch['gfx']})" if torch["gfx"] else product
    return "Apple GPU (mps)" if torch["device"] == "mps" else "CPU"


def title(report: Mapping[str, Any]) -> str:
    """One line: device, system, torch, day."""
    return f"{device(report['machine'])}, {system(report['machine'])}, torch {report['machine']['torch']['version']}, {day(report)}"


def system(machine: Mapping[str, Any]) -> str:
    """'Linux x86_64' or 'WSL x86_64'."""
    word = "WSL" if machine["wsl"] else "macOS" if machine["system"] == "Darwin" else machine["system"]
    return f"{word} {_ARCHITECTURES.get(machine['architecture'], machine['architecture'])}"


def day(report: Mapping[str, Any]) -> str:
    """The day of the run: 2026-11-30."""
    return str(report["started"])[:10]


def file_name(report: Mapping[str, Any]) -> str:
    """``cpu-linux-x86_64-torch2.14.1-2026-11-30.json``; with a GPU its target and product stand first."""
    machine = report["machine"]
    torch = machine["torch"]
    if torch["device"].startswith("cuda"):
        product = re.sub(r"\b(?:amd|nvidia|graphics)\b", " ", str(torch["product"]).lower())
        first = f"{torch['gfx'] or 'cuda'}-{re.sub(r'[^a-z0-9]+', '-', product).strip('-')}".strip("-")
    else:
        first = torch["device"]
    place = system(machine).lower().replace(" ", "-")
    version = str(torch["version"]).split("+")[0]
    return f"{first}-{place}-torch{version}-{day(report)}.json"


def is_of(given: str, wanted: str) -> bool:
    """Whether a file's name is this one, or this one with a number (a second machine of the kind on the same day)."""
    return re.fullmatch(re.escape(wanted.removesuffix(".json")) + r"(?:-\d{1,2})?\.json", given) is not None
