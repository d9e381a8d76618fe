"""lspci, plain or with -k, -n, -nn: the AMD display devices and accelerators, and who drives them."""

from __future__ import annotations

import re
from typing import Any

from labkit.machine.readers.text import lines

DEVICE = re.compile(
    r"^\W{0,4}(?:(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\s+"
    r"(?P<cls>[A-Z0-9][A-Za-z0-9/&., -]*?)(?:\s*\[(?P<code>[0-9a-f]{4})\])?:\s+(?P<rest>\S.*)$"
)
_GPU_CLASSES = ("VGA compatible controller", "3D controller", "Display controller", "Processing accelerators")
# lspci -mm: the fields stand in quotes
_QUOTED = re.compile(r'^(\W{0,4}(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) "([^"]*)" "([^"]*)" "([^"]*)".*$')
# every line of lspci names a class of devices
WORDS = ("controller", "ridge", "evice", "accelerator", "Bridge", "emory", "ignal", "peripheral", "Encryption")
_ADDRESS = re.compile(r"[0-9a-f]:[0-9a-f]{2}\.[0-7]\s")
_VENDOR = re.compile(r"Advanced Micro Devices, Inc\. \[AMD(?:/ATI)?\]|ATI Technologies Inc|\[AMD/ATI\]")
_IDS = re.compile(r"\s*\[([0-9a-f]{4}:[0-9a-f]{4})\]")


def is_lspci(text: str) -> bool:
    """Whether any line is lspci's."""
    return bool(_ADDRESS.search(text)) and any(begins(line) for line in lines(text))


def begins(line: str) -> bool:
    """Whether a line is a device of lspci, in its plain form or that of -mm."""
    return bool(DEVICE.match(line) or _QUOTED.match(line))


def read(text: str) -> dict[str, Any]:
    """Facts of an lspci output: ``gpus`` with name (text behind the vendor, without revision and id), pci_id, driver."""
    gpus: list[dict[str, Any]] = []
    current: dict[str, Any] | None = None
    for line in lines(text):
        device = DEVICE.match(_QUOTED.sub(r"\1 \2: \3 \4", line))
        if device:
            current = None
            rest = device["rest"]
            vendor = _VENDOR.search(rest)
            if device["cls"] in _GPU_CLASSES and vendor:
                name = re.sub(r"\s*\((?:rev|prog-if) [^)]*\)", "", rest[vendor.end() :])
                ids = _IDS.findall(name)
                name = _IDS.sub("", name).strip()
                current = {"name": name, "pci_id": ids[-1] if ids else None, "driver": None}
                gpus.append(current)
        elif current is not None and current["driver"] is None:
            driver = re.match(r"\s*Kernel driver in use:\s*(\S+)", line)
            if driver:
                current["driver"] = driver.group(1)
    return {"kind": "lspci", "gpus": gpus}
