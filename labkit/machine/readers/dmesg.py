"""The kernel log: which known GPU troubles it shows. The patterns are a table; one row more is one trouble more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from labkit.machine.readers.text import LONGEST_LINE, lines

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

# words of which every pattern needs one, for the quick question before the patterns
_WORDS = (
    "pci rejects atomics", "supported_devices", "supported in kfd", "unknown symbol", "disagrees about", "key was rejected",
    "loading of ", "during gpu init", "failed with error", "mes failed", "mes might be", "mes ring", "gpu reset", "gpu mode",
    "mode1 reset", "mode2 reset", " timeout", "hardware error", "poison is", "saved bad pages", "accelerator check", "io_page_fault",
    "page fault", "l2_protection_fault", "memory access fault", "nomodeset",
)  # fmt: skip
_OTHER_DRIVER = re.compile(r"\b(?:i915|xe|nouveau|nvidia|NVRM)\b")

_SHAPES = (
    re.compile(r"^\s*(?:<\d+>)?\[\s*\d+\.\d+\]"),
    re.compile(r"^\s*(?:kern|user|daemon|syslog)\s*:\s*(?:emerg|alert|crit|err|warn|notice|info|debug)\s*:", re.I),
    re.compile(r"^\s*\[\w{3} \w{3}\s+\d+ [\d:]+ \d{4}\]"),
    re.compile(r"\bkernel: (?!\w+\s*$)"),  # 'kernel: copy_kernel' alone is a line of rocprof's input
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
    if "kernel: " in text or _STAMPED.search(text):
        return any(is_kernel_line(line) for line in lines(text)) or any(begins(line) for line in suspicious(text))
    return any(begins(line) for line in suspicious(text))


def begins(line: str) -> bool:
    """Whether a line is the kernel log's: by its time stamp or, without one, by a driver's prefix before a known trouble."""
    return is_kernel_line(line) or bool(_PREFIX.search(line) and findings_of(line))


def suspicious(text: str) -> Iterator[str]:
    """The lines that may show a known trouble, in their order: those with one of its words. Fast on logs of any length."""
    low = text.lower()
    if len(low) != len(text):  # a few letters change their length; then the text itself must do
        low = text
    at: set[tuple[int, int]] = set()
    for word in _WORDS:
        place = low.find(word)
        for _ in range(_MOST_LINES):
            if place < 0:
                break
            start = low.rfind("\n", 0, place) + 1
            end = low.find("\n", place)
            at.add((start, end if end >= 0 else len(low)))
            place = low.find(word, end) if end >= 0 else -1
    for start, end in sorted(at):
        yield text[start : min(end, start + LONGEST_LINE)]


_MOST_LINES = 20_000  # for each word; a log that repeats a line more often says nothing new


def findings_of(line: str) -> list[str]:
    """Codes whose pattern occurs in one line."""
    # a machine check of the CPU is no GPU fault, whatever words it uses
    if "Machine Check" in line:
        return []
    found = [code for code, pattern in PATTERNS if pattern.search(line)]
    if found and _OTHER_DRIVER.search(line) and "amdgpu" not in line:
        found = [code for code in found if code == "iommu-page-fault"]
    return found


def read(text: str) -> dict[str, Any]:
    """The codes of all known troubles in the log, each once, in the order of their first line."""
    found: dict[str, None] = {}
    for line in suspicious(text):
        for code in findings_of(line):
            found.setdefault(code)
    return {"kind": "dmesg", "findings": list(found)}
