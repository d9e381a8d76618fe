"""rocminfo of every age: the driver's status line, the agents, and the one problem that an early end names."""

from __future__ import annotations

import re
from typing import Any

from labkit.machine.readers.text import holds_any, lines, value

_WSL = re.compile(r"WSL environment detected|librocdxg|\bDTIF\b|/wsl/", re.I)
_STATUS = re.compile(r"\bmodule\b.*\bis (NOT )?loaded|^\W*\w{0,5} module .*\bloaded", re.I)
_HEADING = re.compile(r"^\s*\*{0,}\s*Agent ([1-9]\d{0,3})\s*\**$")
_FIELD = re.compile(r"^\s*([A-Z][A-Za-z0-9 ./()_]*?)\s*:(?:\s+(.*)|)$")
_ISA_NAME = re.compile(r"(?:amdgcn-[\w-]*?--|AMD:AMDGPU:)(\S+)")
_OPEN = re.compile(r"Unable to open /dev/kfd read-write:\s*(.*)")
_API_FAILURE = re.compile(r"hsa api call failure|Call returned (?:HSA_|\d)", re.I)
_OPEN_CODES = {
    "permission denied": "kfd-permission",
    "no such file or directory": "kfd-missing-in-container",
    "cannot allocate memory": "kfd-unsupported-device",
}
# keys that stand in an agent's own part; two of them make a paste without any heading an agent
_AGENT_KEYS = {
    "Uuid", "Marketing Name", "Vendor Name", "Feature", "Profile", "Float Round Mode", "Max Queue Number", "Queue Min Size",
    "Queue Max Size", "Queue Type", "Device Type", "Cache Info", "Chip ID", "Cacheline Size", "Max Clock Frequency (MHz)",
    "Max Clock Freq. (MHz)", "BDFID", "Internal Node ID", "Compute Unit", "SIMDs per CU", "Shader Engines", "Fast F16 Operation",
    "Wavefront Size", "Max Waves Per CU", "Pool Info", "ISA Info",
}  # fmt: skip

WORDS = ("loaded", "/dev/kfd", "hsa api", "unsupported GPU", "WSL environment", "HSA System", "Agent ", *_AGENT_KEYS)


def begins(line: str) -> bool:
    """Whether only rocminfo prints such a line."""
    return bool(
        re.search(r"\bROC\w* module\b.*loaded|Ck module is (?:NOT )?loaded|Unable to open /dev/kfd read-write", line)
        or re.search(r"hsa api call failure|ROCR: unsupported GPU|WSL environment detected|HSA System Attributes", line)
        or _HEADING.match(line)
        or re.match(r"\s*Marketing Name:\s", line)
    )


def is_rocminfo(text: str) -> bool:
    """Whether the text holds any record of rocminfo, a middle piece without headings included."""
    if not holds_any(text, WORDS):
        return False
    keys = set()
    for line in lines(text):
        if begins(line):
            return True
        field = _FIELD.match(line)
        if field and field.group(1) in _AGENT_KEYS:
            keys.add(field.group(1))
            if len(keys) >= 3:
                return True
    return False


class _Agent:
    def __init__(self) -> None:
        self.name: str | None = None
        self.marketing_name: str | None = None
        self.type: str | None = None
        self.isa: str | None = None
        self.compute_units: int | None = None
        self.pools: list[int] = []
        self.section = "agent"
        self.pool_is_global = False

    def facts(self) -> dict[str, Any] | None:
        memory = max(self.pools, default=None)
        if all(x is None for x in (self.name, self.marketing_name, self.type, self.isa, self.compute_units, memory)):
            return None
        kind = self.type or ("gpu" if (self.name or self.isa or "").startswith("gfx") else "cpu")
        gfx = None
        if kind == "gpu":
            source = self.name if self.name is not None else self.isa
            found = re.match(r"gfx[0-9a-f]+", source or "")
            gfx = found.group() if found else None
        return {
            "type": kind, "gfx": gfx, "name": self.name, "marketing_name": self.marketing_name,
            "compute_units": self.compute_units, "global_memory_bytes": memory,
        }  # fmt: skip


def read(text: str) -> dict[str, Any]:
    """Facts of a rocminfo output, as ``labkit read --json`` prints them.

    Returns a mapping with kind, driver ('loaded', 'not-loaded', 'wsl', 'unknown'), problem (a finding code or None)
    and agents (type, gfx, name, marketing_name, compute_units, global_memory_bytes), in the order of the text.
    """
    agents: list[_Agent] = []
    current: _Agent | None = None
    driver = "unknown"
    wsl = unsupported = done = api_failure = False
    open_error: str | None = None
    system_part = False

    for line in lines(text):
        if _WSL.search(line):
            wsl = True
        status = _STATUS.search(line)
        if status and driver != "not-loaded":
            driver = "not-loaded" if re.search(r"\bNOT loaded", line, re.I) else "loaded"
            continue
        unsupported = unsupported or "unsupported GPU" in line
        done = done or "*** Done ***" in line
        api_failure = api_failure or bool(_API_FAILURE.search(line))
        refused = _OPEN.search(line)
        if refused:
            open_error = open_error or refused.group(1).strip().lower()
            continue
        if "HSA System Attributes" in line:
            system_part, current = True, None
        if _HEADING.match(line):
            current, system_part = _Agent(), False
            agents.append(current)
            continue
        field = _FIELD.match(line)
        if not field:
            continue
        key, content = field.group(1), value(field.group(2))
        current = _field(key, content, current, agents, system_part)

    problem = None
    if unsupported:
        problem = "wsl-gpu-unsupported"
    elif driver == "not-loaded":
        problem = "driver-not-loaded"
    elif open_error is not None:
        problem = next(
            (code for words, code in _OPEN_CODES.items() if open_error.startswith(words)), "kfd-open-refused"
        )
    found = [facts for agent in agents if (facts := agent.facts())]
    if problem is None and api_failure:
        problem = "hsa-init-failed"
    if problem is None and done and not any(agent["type"] == "gpu" for agent in found):
        problem = "no-gpu-agent"
    return {"kind": "rocminfo", "driver": "wsl" if wsl else driver, "problem": problem, "agents": found}


def _field(
    key: str, content: str | None, current: _Agent | None, agents: list[_Agent], system_part: bool
) -> _Agent | None:
    """Takes one 'Key: value' line; returns the agent that the next line belongs to."""

    def started() -> _Agent:
        if current is not None:
            return current
        agents.append(_Agent())
        return agents[-1]

    if key == "ISA Info":
        if current is not None:
            current.section = "isa"
        return current
    if key == "Pool Info":
        if current is not None:
            current.section = "pool"
        return current
    if key == "Name":
        isa = _ISA_NAME.match(content or "")
        if isa:
            if current is not None and current.isa is None and isa.group(1).startswith("gfx"):
                current.isa = isa.group(1)
            return current
        if (
            current is None
            or current.name is not None
            or current.section != "agent"
            or current.marketing_name is not None
        ):
            if current is not None and current.section == "isa":
                return current  # an unknown spelling of an ISA name; agents begin with a heading
            agents.append(_Agent())
            current = agents[-1]
        current.name = content
        return current
    if key == "Marketing Name":
        current = started()
        if current.marketing_name is None:
            current.marketing_name = content
    elif key == "Device Type" and (content or "").upper() in ("CPU", "GPU", "DSP"):
        current = started()
        current.type = (content or "").lower()
    elif key == "Compute Unit":
        current = started()
        digits = re.match(r"\d+", content or "")
        if digits and current.compute_units is None:
            current.compute_units = int(digits.group())
    elif key == "Uuid" and not system_part:
        current = started()
    elif key == "Segment" and current is not None:
        current.pool_is_global = (content or "").upper().startswith("GLOBAL")
    elif key == "Size" and current is not None and current.pool_is_global:
        size = re.match(r"(\d+)\s*(?:\(0x[0-9a-f]+\))?\s*(KB|MB|GB|B)\b", content or "", re.I)
        if size:
            current.pools.append(int(size.group(1)) << {"B": 0, "KB": 10, "MB": 20, "GB": 30}[size.group(2).upper()])
        current.pool_is_global = False
    return current
