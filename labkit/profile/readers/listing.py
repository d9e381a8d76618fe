"""Two texts that hold no table: the list of counters of rocprofv3, and the log of rocprof-compute. Standard library only."""

from __future__ import annotations

import re
from typing import Any

_START = r"^(?:[ ]{0,9}\d{1,9}\t)?[^\w\n]{0,40}"  # a line number, a quote's signs, indentation
_COUNTER = re.compile(
    _START + r"(?:Counter_?Name\s*:\s*\S|gpu-agent\d+\s*:\s*\w+[ \t]*\n" + _START[1:] + r"Description\s*:)", re.M | re.I
)
_NAME = re.compile(_START + r"(?:Counter_?Name\s*:\s*(\w+)|gpu-agent\d+\s*:\s*(\w+)[ \t]*$)", re.M | re.I)
_GPU = re.compile(
    _START + r"(?:GPU|Agent)\s*:\s*\d+[^\n]{0,200}\n[^\w]{0,80}(?:\d{1,9}\t)?Name\s*:\s*gfx[0-9a-f]{3,}", re.M | re.I
)
_CONFIGURATION = re.compile(_START + r"Method\s*:\s*(?:host_trap|stochastic|none)\b", re.M | re.I)
_AGENT = re.compile(_START + r"(?:logical_node_type_id|simd_arrays_per_engine|cu_per_simd_array)\s*:\s*\d", re.M)
_TARGET = re.compile(
    _START + r"(?:(?:agent|gpu)[-_ ]?)?(?:name|agent|gpu)\b[^\n]{0,80}?\b(gfx[0-9a-f]{3,5})\b", re.M | re.I
)
_VERSION = re.compile(r"(?:rocprofiler[- ]compute|rocprof-compute|omniperf)\s+ver(?:sion)?\s*:\s*v?(\d[\w.+-]*)", re.I)
_LOG = re.compile(
    _START + r"(?:(?:INFO|DEBUG|WARNING)\W{0,5})?(?:" + _VERSION.pattern +
    r"|\[profiling\]\s+(?:pre-processing|performing profiling|Current input file|post-processing|Iteration multiplexing)"
    r"|\[(?:run|gen)_?sysinfo\]|\[(?:pre|post)[_-]?processing\]\s+(?:omniperf|rocprof)|Collecting Performance Counters\s*$"
    r"|\[Run \d+/\d+\]\s*\[Approximate|\[roofline\]\s+(?:Checking|Roofline)|\|->\s*\[rocprof[\w-]*\]"
    r"|\[analysis\]\s+(?:deriving|prep)|Analysis mode\s*=\s*\w"
    r"|Profiler choice\s*(?::|=)\s*rocprof"
    r")",
    re.M | re.I,
)  # fmt: skip
_FIELDS = {
    "target": _START + r"(?:INFO\W{0,5})?Target\s*:\s*(\S+)",
    "command": _START + r"(?:INFO\W{0,5})?Command\s*:\s*(.+?)\s*$",
}


def find(text: str) -> int | None:
    """Where such a text begins, None where there is none."""
    places = [m.start() for p in (_COUNTER, _GPU, _CONFIGURATION, _AGENT, _LOG) if (m := p.search(text)) is not None]
    return min(places, default=None)


def kind_and_extras(text: str) -> tuple[str, dict[str, Any], str | None] | None:
    """Kind, extras and the tool's version; None for other texts."""
    listed = next((m for p in (_COUNTER, _GPU, _CONFIGURATION, _AGENT) if (m := p.search(text)) is not None), None)
    log = _LOG.search(text)
    if listed is not None and (log is None or listed.start() < log.start()):
        gpus = sorted({found.lower() for found in _TARGET.findall(text)})
        counters = [m.group(1) or m.group(2) for m in _NAME.finditer(text)]
        return "rocprofv3-list-avail", {"gpus": gpus, "available": list(dict.fromkeys(counters))}, None
    if log is not None:
        version = _VERSION.search(text)
        found = {name: m.group(1) for name, pattern in _FIELDS.items() if (m := re.search(pattern, text, re.M))}
        return "rocprof-compute", {"log": found}, version.group(1) if version else None
    return None
