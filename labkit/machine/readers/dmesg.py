"""The kernel log: which known GPU troubles it shows. The patterns are a table; one row more is one trouble more."""

from __future__ import annotations

import re
from typing import Any

from labkit.machine.readers.text import lines

# finding code -> pattern of one log line. Wordings differ with the kernel's age, so a pattern keeps to the words that stayed.
PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (code, re.compile(pattern, re.I))
    for code, pattern in (
        ("firmware-too-old", r"PCI rejects atomics\s+\d+\s*<\s*\d+"),
        ("pcie-atomics-missing", r"PCI rejects atomics(?!\s+\d+\s*<)"),
        ("kfd-unsupported-device", r"is missing in supported_devices|not supported in kfd"),
        ("dkms-mismatch", r"amdgpu: (?:Unknown symbol|disagrees about version of symbol)|amdkcl: (?:Unknown symbol|disagrees about)"),
        ("secure-boot", r"Key was rejected by service|Loading of (?:unsigned )?module.*(?:unavailable key|is rejected)"),
        ("gpu-init-failed", r"Fatal error during GPU init|amdgpu\b.*probe (?:of|with driver) .*failed with error"),
        ("mes-firmware-hang", r"MES (?:failed to respon|might be in unrecoverable state|ring buffer is full)"),
        ("gpu-reset", r"GPU reset(?:\(\d+\))? begin|GPU mode[12]? ?reset|\bMODE[12] reset|kick off gpu reset|\bring \S+ timeout"),
        ("ras-errors", r"correctable hardware errors? detected|poison is|Saved bad pages|Accelerator Check Architecture"),
        ("iommu-page-fault", r"IO_PAGE_FAULT"),
        ("memory-access-fault", r"amdgpu\b.*\bpage fault\b|L2_PROTECTION_FAULT|Memory access fault by GPU"),
        ("nomodeset", r"Command line:.*\bnomodeset\b"),
    )
)  # fmt: skip

_ANY = re.compile("|".join(pattern.pattern for _, pattern in PATTERNS), re.I)

_SHAPES = (
    re.compile(r"^\s*(?:<\d+>)?\[\s*\d+\.\d+\]"),
    re.compile(r"^\s*(?:kern|user|daemon|syslog)\s*:\s*(?:emerg|alert|crit|err|warn|notice|info|debug)\s*:", re.I),
    re.compile(r"^\s*\[\w{3} \w{3}\s+\d+ [\d:]+ \d{4}\]"),
    re.compile(r"\bkernel: "),
)

# how a driver begins its lines, for pastes without time stamps
_PREFIX = re.compile(
    r"\b(?:amdgpu|kfd|amdkcl|amd_iommu|AMD-Vi|drm|Lockdown)(?: [\w:.-]{1,40}|\]){0,2}:\s|\[drm[:\]]|"
    r"^\W{0,3}Loading of (?:unsigned )?module|^\W{0,3}Command line:",
    re.I,
)

_STAMPED = re.compile(
    r"^[ \t]*(?:(?:<\d+>)?\[ *\d+\.\d+\]|(?:kern|user|daemon|syslog) *:|\[\w{3} \w{3} +\d+ [\d:]+ \d{4}\])", re.M
)


def is_kernel_line(line: str) -> bool:
    """Whether a line looks like the kernel log, in any of its time-stamp styles."""
    return any(shape.search(line) for shape in _SHAPES)


def is_dmesg(text: str) -> bool:
    """Whether the text holds lines of the kernel log."""
    if "kernel: " not in text and not _STAMPED.search(text) and not _ANY.search(text):
        return False
    return any(begins(line) for line in lines(text))


def begins(line: str) -> bool:
    """Whether a line is the kernel log's: by its time stamp or, without one, by a driver's prefix before a known trouble."""
    return is_kernel_line(line) or bool(_PREFIX.search(line) and findings_of(line))


def may_say_something(line: str) -> bool:
    """Whether any known trouble's words are in a line: the quick question before :func:`findings_of`."""
    return _ANY.search(line) is not None


def findings_of(line: str) -> list[str]:
    """Codes whose pattern occurs in one line."""
    # a machine check of the CPU is no GPU fault, whatever words it uses
    if not _ANY.search(line) or "Machine Check" in line:
        return []
    return [code for code, pattern in PATTERNS if pattern.search(line)]


def read(text: str) -> dict[str, Any]:
    """The codes of all known troubles in the log, each once, in the order of their first line."""
    found: dict[str, None] = {}
    for line in lines(text):
        for code in findings_of(line):
            found.setdefault(code)
    return {"kind": "dmesg", "findings": list(found)}
