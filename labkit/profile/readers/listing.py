"""Two texts that hold no table: the list of counters of rocprofv3, and the log of rocprof-compute. Standard library only."""

from __future__ import annotations

import re
from typing import Any

_COUNTER = re.compile(r"^(?:[ ]{0,9}\d{1,9}\t)?[^\w\n]{0,40}Counter_?Name\s*:\s*\S", re.M | re.I)
_GPU = re.compile(
    r"^(?:[ ]{0,9}\d{1,9}\t)?[^\w\n]{0,40}(?:GPU|Agent)\s*:\s*\d+[^\n]{0,200}\n[^\w]{0,80}(?:\d{1,9}\t)?Name\s*:\s*gfx[0-9a-f]{3,}",
    re.M | re.I,
)
_CONFIGURATION = re.compile(
    r"^(?:[ ]{0,9}\d{1,9}\t)?[^\w\n]{0,40}Method\s*:\s*(?:host_trap|stochastic|none)\b", re.M | re.I
)
_TARGET = re.compile(r"^[^\n]{0,80}?\b(?:Name|GPU|Agent)\b[^\n]{0,80}?\b(gfx[0-9a-f]{3,5})\b", re.M | re.I)

_LOG = re.compile(
    r"^(?:[ ]{0,9}\d{1,9}\t)?[^\w\n]{0,40}(?:(?:INFO|DEBUG|WARNING)\W{0,5})?(?:"
    r"(?:rocprofiler[- ]compute|rocprof-compute|omniperf)\s+version\s*:\s*v?(?P<version>[\w.+-]+)"
    r"|\[profiling\]\s+(?:pre-processing|performing profiling|Current input file|post-processing)"
    r"|\[(?:run|gen)_?sysinfo\]|\[(?:pre|post)[_-]?processing\]\s+(?:omniperf|rocprof)|Collecting Performance Counters\s*$"
    r"|Profiler choice\s*(?::|=)\s*rocprof"
    r")",
    re.M | re.I,
)  # fmt: skip
_FIELDS = {
    "target": r"^(?:[ ]{0,9}\d{1,9}\t)?[^\w\n]{0,40}(?:INFO\W{0,5})?Target\s*:\s*(\S+)",
    "command": r"^(?:[ ]{0,9}\d{1,9}\t)?[^\w\n]{0,40}(?:INFO\W{0,5})?Command\s*:\s*(.+?)\s*$",
}  # fmt: skip
_VERSION = re.compile(r"(?:rocprofiler[- ]compute|rocprof-compute|omniperf)\s+version\s*:\s*v?([\w.+-]+)", re.I)


def find(text: str) -> int | None:
    """Where such a text begins, None where there is none."""
    places = [m.start() for p in (_COUNTER, _GPU, _CONFIGURATION, _LOG) if (m := p.search(text)) is not None]
    return min(places, default=None)


def kind_and_extras(text: str) -> tuple[str, dict[str, Any], str | None] | None:
    """Kind, extras and the tool's version; None for other texts."""
    listed = _COUNTER.search(text) or _GPU.search(text) or _CONFIGURATION.search(text)
    log = _LOG.search(text)
    if listed is not None and (log is None or listed.start() < log.start()):
        gpus = sorted({found.lower() for found in _TARGET.findall(text)})
        counters = [
            m.group(1)
            for m in re.finditer(r"^(?:[ ]{0,9}\d{1,9}\t)?[^\w\n]{0,40}Counter_?Name\s*:\s*(\w+)", text, re.M | re.I)
        ]
        return "rocprofv3-list-avail", {"gpus": gpus, "available": list(dict.fromkeys(counters))}, None
    if log is not None:
        version = _VERSION.search(text)
        found = {name: m.group(1) for name, pattern in _FIELDS.items() if (m := re.search(pattern, text, re.M))}
        return "rocprof-compute", {"log": found}, version.group(1) if version else None
    return None
