"""amd-smi: key-value reports, JSON, CSV, the monitor table and the framed default table."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any

from labkit.machine.readers.smi import Gpus
from labkit.machine.readers.text import embedded_json, holds_any, lines, number, size, value

_GPU = re.compile(r"^(\s*)GPU:\s*(\d+)\s*$")
_OTHER = re.compile(r"^\s*(?:CPU|CORE|NIC|SWITCH):\s*\d+\s*$")
_FIELD = re.compile(r"^(\s*)([A-Z][A-Za-z0-9_ ]*?)\s*:(?:\s+(.*))?$")
_VERSION = re.compile(r"AMDSMI (?:Tool|Library version):", re.I)
_TABLE = re.compile(r"^\s*(?:[A-Z][A-Z0-9/ _-]* TABLE(?: [A-Z0-9/ _-]+)?|NUMA BW TABLE):\s*$")
_BDF = r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
# what stands below a number: a key in capitals, further to the right
_SECTION = re.compile(r"^\s+[A-Z][A-Z0-9_]+(?: [A-Z0-9_]+)*\s*:(?:\s|$)")


def begins(line: str) -> bool:
    """Whether only amd-smi prints such a line (its usage text excluded)."""
    return bool(
        _VERSION.search(line)
        or _TABLE.match(line)
        or _GPU.match(line)
        or _is_monitor_head(line)
        or _DEFAULT_FIRST.match(line)
    )


def is_gpu_json(found: Any) -> bool:
    """Whether a JSON value is amd-smi's: a list of objects that number their GPU."""
    entries = list(_entries(found))
    return bool(entries)


WORDS = ("GPU", "gpu,", "AMDSMI", "TABLE:", "CPU:", "CORE:", "NIC:", "SWITCH:", "| 0000:", "|0000:", " | 00")


def is_amd_smi(text: str) -> bool:
    """Whether the text holds a record of amd-smi."""
    if not holds_any(text, WORDS):
        return False
    numbered = False
    for line in lines(text):
        if (
            _VERSION.search(line)
            or _TABLE.match(line)
            or _is_monitor_head(line)
            or _DEFAULT_FIRST.match(line)
            or _is_csv_head(line)
        ):
            return True
        if _GPU.match(line) or _OTHER.match(line):
            numbered = True
        elif numbered and (_SECTION.match(line) or re.match(r"^\s*\[?output truncated", line)):
            return True
        elif line.strip():
            numbered = False
    return False


def read(text: str) -> dict[str, Any]:
    """Facts of an amd-smi output: problem (None: the tool has no known one) and gpus."""
    gpus = Gpus()
    found = embedded_json(text) if '"gpu"' in text else None
    if found is not None and is_gpu_json(found):
        for entry in _entries(found):
            _json_entry(entry, gpus)
    else:
        rows = list(lines(text))
        _key_values(rows, gpus)
        _monitor(rows, gpus)
        _default_table(rows, gpus)
        _csv(rows, gpus)
        for line in rows:
            link = re.match(rf"^\s*GPU(\d+)\s+(?:{_BDF}|[0-9a-f]{{2}}:[0-9a-f]{{2}}\.[0-7])\s", line)
            if link:
                gpus.mention(int(link.group(1)))
    return {"kind": "amd-smi", "problem": None, "gpus": gpus.as_list()}


def _reading(gpus: Gpus, index: int, path: tuple[str, ...], content: object) -> None:
    """Files one value by the section it stands in: the same key means other things in other sections."""
    section = path[0] if len(path) > 1 else ""
    key = path[-1]
    if section.startswith("process"):
        return
    if key in ("market_name", "marketing_name", "product_name") and section in ("asic", "board", ""):
        if key != "product_name":
            gpus.set(index, "name", _name(content))
    elif key == "target_graphics_version":
        text = value(str(content))
        gpus.set(index, "gfx", text if text and text.startswith("gfx") else None)
    elif (section, key) == ("vram", "size") or key in ("vram_size_mb", "total_vram", "fb_total", "vram_total"):
        gpus.set(index, "vram_total_bytes", _bytes(content))
    elif key in ("used_vram", "fb_used", "vram_used"):
        gpus.set(index, "vram_used_bytes", _bytes(content))
    elif key in ("gfx_activity", "gfx_usage", "gfx") and section in ("usage", ""):
        gpus.set(index, "use_percent", _amount(content))
    elif section == "temperature" and key in ("edge", "edge_temperature"):
        gpus.set(index, "temperature_c", _amount(content))
    elif (section == "temperature" and key in ("hotspot", "junction")) or key in (
        "hotspot_temperature",
        "junction_temperature",
    ):
        gpus.set(index, "hotspot_c", _amount(content))
    elif key == "power_usage" or (
        section == "power" and key in ("socket_power", "current_socket_power", "average_socket_power")
    ):
        gpus.set(index, "power_w", _amount(content))


def _name(content: object) -> str | None:
    text = value(str(content)) if content is not None else None
    return None if text is None or re.match(r"^0x[0-9a-f]+$", text, re.I) else text


def _amount(content: object) -> float | None:
    return number(content.get("value")) if isinstance(content, dict) else number(content)


def _bytes(content: object) -> int | None:
    if isinstance(content, dict):
        return size(content.get("value"), str(content.get("unit") or "MB"))
    return size(content, "MB")


# --- 'GPU: 0' and an indented tree ------------------------------------------------------------------------------------
def _key_values(rows: list[str], gpus: Gpus) -> None:
    index: int | None = None
    stack: list[tuple[int, str]] = []
    for line in rows:
        start = _GPU.match(line)
        if start:
            index, stack = int(start.group(2)), []
            gpus.mention(index)
            continue
        if _OTHER.match(line) or line.startswith("PROCESS INFO"):
            index = None
        field = _FIELD.match(line)
        if index is None or not field:
            continue
        depth, key, content = len(field.group(1)), field.group(2).strip().lower().replace(" ", "_"), field.group(3)
        while stack and stack[-1][0] >= depth:
            stack.pop()
        if content is None:
            stack.append((depth, key))
        else:
            _reading(gpus, index, (*(name for _, name in stack), key), content)


# --- JSON -------------------------------------------------------------------------------------------------------------
def _entries(found: Any) -> Iterator[dict[str, Any]]:
    """Objects that number a GPU, at the top of a list or below one key such as 'gpu_data'."""
    if isinstance(found, dict):
        if isinstance(found.get("gpu"), int):
            yield found
            return
        for inner in found.values():
            if isinstance(inner, list):
                yield from _entries(inner)
    elif isinstance(found, list):
        for inner in found:
            if isinstance(inner, dict) and isinstance(inner.get("gpu"), int) and not isinstance(inner.get("gpu"), bool):
                yield inner


def _json_entry(entry: dict[str, Any], gpus: Gpus) -> None:
    index = entry["gpu"]
    gpus.mention(index)

    def walk(node: dict[str, Any], path: tuple[str, ...]) -> None:
        for key, content in node.items():
            here = (*path, str(key).lower())
            if isinstance(content, dict) and not {"value", "unit"} & set(content) and len(here) < 6:
                walk(content, here)
            elif not isinstance(content, list):
                _reading(gpus, index, here, content)

    walk(entry, ())


# --- tables -----------------------------------------------------------------------------------------------------------
_UNIT = r"(?:W|°\s?C|C|%|[KMG]Hz|[KMGT]?B|[KMG]b/s|mV|ns)"
_CELL = re.compile(
    rf"N/A(?:\s{_UNIT}(?=\s|$))?|-?[\d.]+\s*/\s*[\d.]+(?:\s{_UNIT}(?=\s|$))?|-?[\d.]+(?:\s?{_UNIT}(?=\s|$))?|\S+"
)
_MONITOR = {
    "POWER": "power_w", "GPU_TEMP": "temperature_c", "GPU_T": "temperature_c", "HOTSPOT_TEMP": "temperature_c", "GFX_UTIL": "use_percent",
    "GFX%": "use_percent", "VRAM_USED": "vram_used_bytes", "VRAM_TOTAL": "vram_total_bytes", "VRAM_USAGE": "vram",
}  # fmt: skip


def _is_monitor_head(line: str) -> bool:
    words = line.split()
    return (
        len(words) >= 2
        and "GPU" in words[:2]
        and any(word in _MONITOR or word in ("GFX_CLK", "GFX_CLOCK", "MEM_UTIL", "MEM%") for word in words)
    )


def _monitor(rows: list[str], gpus: Gpus) -> None:
    head: list[str] | None = None
    for line in rows:
        if _is_monitor_head(line):
            head = line.split()
            continue
        if "PROCESS INFO" in line or (line.split()[:1] == ["GPU"] and "NAME" in line.split()):
            head = None
        if head is None or not line.strip():
            continue
        cells = _CELL.findall(line)
        # a cut last row still says whose it is and what its first cells are
        at = head.index("GPU")
        if len(cells) <= at or not cells[at].isdigit() or (len(cells) < len(head) and at > 0):
            continue
        row = dict(zip(head, cells, strict=False))
        index = int(row["GPU"])
        gpus.mention(index)
        for column, cell in row.items():
            field = _MONITOR.get(column)
            if field == "vram":
                used, _, total = cell.partition("/")
                unit = re.search(r"([KMGT]?B)", cell)
                gpus.set(index, "vram_used_bytes", size(used.strip(), unit.group(1) if unit else None))
                gpus.set(index, "vram_total_bytes", size(total.strip(), unit.group(1) if unit else None))
            elif field in ("vram_used_bytes", "vram_total_bytes"):
                gpus.set(index, field, size(cell))
            elif field:
                gpus.set(index, field, number(cell))


_DEFAULT_FIRST = re.compile(rf"^\s*\|\s*(?P<bdf>{_BDF})\s+(?P<name>[^|]*?)\s*\|(?P<right>[^|]*)\|\s*$")
_DEFAULT_SECOND = re.compile(r"^\s*\|\s*(?P<gpu>\d+)\s[^|]*\|(?P<right>[^|]*)\|\s*$")


def _default_table(rows: list[str], gpus: Gpus) -> None:
    """The framed table: two lines for each GPU, the address line first."""
    waiting: re.Match[str] | None = None
    for line in rows:
        first = _DEFAULT_FIRST.match(line)
        if first:
            waiting = first
            continue
        second = _DEFAULT_SECOND.match(line) if waiting else None
        if not (waiting and second):
            continue
        index = int(second["gpu"])
        gpus.set(index, "name", _name(waiting["name"]))
        upper, lower = waiting["right"], second["right"]
        heat = re.search(r"([\d.]+)\s*°\s*C", upper)
        power = re.search(r"([\d.]+)\s*/\s*(?:[\d.]+|N/A)\s*W", upper)
        use = re.match(r"\s*([\d.]+)\s*%", lower)
        memory = re.search(r"([\d.]+)\s*/\s*([\d.]+)\s*([KMGT]?B)", lower)
        gpus.set(index, "temperature_c", float(heat.group(1)) if heat else None)
        gpus.set(index, "power_w", float(power.group(1)) if power else None)
        gpus.set(index, "use_percent", float(use.group(1)) if use else None)
        if memory:
            gpus.set(index, "vram_used_bytes", size(memory.group(1), memory.group(3)))
            gpus.set(index, "vram_total_bytes", size(memory.group(2), memory.group(3)))
        gpus.mention(index)
        waiting = None


def _is_csv_head(line: str) -> bool:
    return bool(
        re.match(r"(?:timestamp,)?gpu,", line)
        and re.search(r"market_name|gfx_activity|socket_power|gpu_bdf|vram|power_usage|hotspot|target_graphics", line)
    )


def _csv(rows: list[str], gpus: Gpus) -> None:
    head: list[str] | None = None
    for line in rows:
        if _is_csv_head(line):
            head = line.split(",")
            continue
        if head is None or "," not in line:
            head = None
            continue
        row = dict(zip(head, next(csv.reader([line]), []), strict=False))
        if not row.get("gpu", "").isdigit():
            continue
        index = int(row.pop("gpu"))
        for key, content in row.items():
            section = {"edge": "temperature", "hotspot": "temperature", "socket_power": "power", "size": "vram"}.get(
                key
            )
            _reading(gpus, index, (section, key) if section else (key,), content)
        gpus.mention(index)
