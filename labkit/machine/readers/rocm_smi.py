"""rocm-smi: JSON, 'GPU[0] : key: value' lines, and the concise tables of several ages."""

from __future__ import annotations

import csv
import re
from typing import Any

from labkit.machine.readers.smi import Gpus
from labkit.machine.readers.text import embedded_json, holds_any, lines, number, size, value

_LINE = re.compile(r"^\W{0,4}GPU\[(\d+)\]\s*:\s*(.*)$")
_CARD = re.compile(r"^card(\d+)$")
_BANNER = re.compile(r"=\s*ROCm System Management Interface|=\s*End of ROCm SMI Log", re.I)
_NOT_LOADED = re.compile(r"Driver not initialized \(amdgpu not found in modules\)")
_NO_DATA = re.compile(r"No JSON data to report")
_HEX = re.compile(r"^0x[0-9a-f]+$", re.I)


def begins(line: str) -> bool:
    """Whether only rocm-smi prints such a line."""
    return bool(
        _BANNER.search(line)
        or _LINE.match(line)
        or _NOT_LOADED.search(line)
        or _NO_DATA.search(line)
        or _is_table_head(line)
        or _is_csv_head(line)
    )


WORDS = (
    "anagement Interface",
    "ANAGEMENT INTERFACE",
    "SMI Log",
    "GPU[",
    "amdgpu not found",
    "No JSON data",
    "Temp",
    "device,",
    "Device,",
)


def is_rocm_smi(text: str) -> bool:
    """Whether the text holds a record of rocm-smi."""
    return holds_any(text, WORDS) and any(begins(line) for line in lines(text))


def is_card_json(found: Any) -> bool:
    """Whether a JSON value is rocm-smi's."""
    return isinstance(found, dict) and any(_CARD.match(key) and isinstance(card, dict) for key, card in found.items())


def read(text: str) -> dict[str, Any]:
    """Facts of a rocm-smi output: problem (finding code or None) and gpus, as ``labkit read --json`` prints them."""
    gpus = Gpus()
    problem = None
    found = embedded_json(text) if '"card' in text else None
    if isinstance(found, dict) and is_card_json(found):
        for key, card in found.items():
            match = _CARD.match(key)
            if match and isinstance(card, dict):
                gpus.mention(int(match.group(1)))
                for name, content in card.items():
                    _reading(gpus, int(match.group(1)), name, content)
    else:
        rows = list(lines(text))
        for at, line in enumerate(rows):
            if _NOT_LOADED.search(line):
                problem = problem or "driver-not-loaded"
            elif _NO_DATA.search(line):
                problem = problem or "smi-no-data"
            numbered = _LINE.match(line)
            if numbered:
                gpus.mention(int(numbered.group(1)))
                name, _, content = numbered.group(2).rpartition(": ")
                # a value may hold a colon itself (addresses); the key never ends before the first one
                first, _, rest = numbered.group(2).partition(": ")
                for key, val in {(name, content), (first, rest)}:
                    _reading(gpus, int(numbered.group(1)), key.strip(), val)
            elif _is_table_head(line):
                _table(rows, at, gpus)
            elif _is_csv_head(line):
                _csv_table(rows, at, gpus)
    return {"kind": "rocm-smi", "problem": problem, "gpus": gpus.as_list()}


def _reading(gpus: Gpus, index: int, key: str, content: object) -> None:
    """Files one named value."""
    name = re.sub(r"\s+", " ", str(key)).strip().lower()
    if name in ("card series", "device name", "market name", "marketing name"):
        text = value(str(content))
        if text and not _HEX.match(text):
            gpus.set(index, "name", text)
    elif name == "gfx version":
        text = value(str(content))
        gpus.set(index, "gfx", text if text and text.startswith("gfx") else None)
    elif name == "vram total memory (b)":
        gpus.set(index, "vram_total_bytes", size(content, "B"))
    elif name == "vram total used memory (b)":
        gpus.set(index, "vram_used_bytes", size(content, "B"))
    elif name == "gpu use (%)":  # 'GFX Activity' is a running counter
        gpus.set(index, "use_percent", number(content))
    elif name.startswith("temperature (sensor edge)"):
        gpus.set(index, "temperature_c", number(content))
    elif name.startswith(("temperature (sensor junction)", "temperature (sensor hotspot)")):
        gpus.set(index, "hotspot_c", number(content))
    elif re.match(r"(?:average|current)\b.*\bpower\b.*\(w\)", name):
        gpus.set(index, "power_w", number(content))


def _is_csv_head(line: str) -> bool:
    return bool(re.match(r"\W{0,4}device,.*(?:\([%CBW]\)|\bcard (?:series|model|vendor)|gfx version)", line, re.I))


def _csv_table(rows: list[str], head_at: int, gpus: Gpus) -> None:
    """Rows 'card0,…' below a header that names each column as the JSON form does."""
    head = next(csv.reader([rows[head_at].strip()]), [])
    for line in rows[head_at + 1 :]:
        cells = next(csv.reader([line.strip()]), [])
        card = _CARD.match(cells[0]) if cells else None
        if not card:
            return
        gpus.mention(int(card.group(1)))
        for name, content in list(zip(head, cells, strict=False))[1:]:
            _reading(gpus, int(card.group(1)), name, content)


# --- the concise table ----------------------------------------------------------------------------------------------
_CELLS = re.compile(r"\S+(?: \S+)*")
# what a cell of a column must look like, so that a column that moved is not read for another
_COLUMNS = (
    ("temperature_c", re.compile(r"^temp", re.I), re.compile(r"^([\d.]+)\s*°?\s*c$", re.I)),
    ("power_w", re.compile(r"^(?:avgpwr|power)\b", re.I), re.compile(r"^([\d.]+)\s*W$", re.I)),
    ("use_percent", re.compile(r"^GPU%$", re.I), re.compile(r"^([\d.]+)\s*%$")),
)


def _is_table_head(line: str) -> bool:
    words = line.split()
    return (
        bool(words)
        and words[0].lstrip("|").strip() in ("GPU", "Device", "DID")
        and any(w.startswith("Temp") for w in words)
        and bool({"GPU%", "VRAM%", "AvgPwr", "PwrCap"} & set(words))
    )


def _table(rows: list[str], head_at: int, gpus: Gpus) -> None:
    """One concise table, from its header to its end."""
    head = [(match.start(), match.group()) for match in _CELLS.finditer(_double_blanks(rows[head_at]))]
    named = False
    last: int | None = None
    for line in rows[head_at + 1 :]:
        stripped = line.strip()
        if re.match(r"^=+\s*End of", stripped) or _is_table_head(line):
            return
        if not stripped or set(stripped) <= set("=-+| "):
            continue
        row = re.match(r"^\W*(\d+)(?:\s|$)", line)
        if not row:
            if last is None:  # a second header line
                named = named or "Name" in stripped
            elif named and not _LINE.match(line):
                gpus.set(last, "name", value(stripped))
            else:
                return
            continue
        last = int(row.group(1))
        gpus.mention(last)
        cells = [(match.start(), match.group()) for match in _CELLS.finditer(_double_blanks(line))]
        for field, column, shape in _COLUMNS:
            where = next((i for i, (_, name) in enumerate(head) if column.match(name)), None)
            if where is None:
                continue
            cell = _cell(head, cells, where)
            match = shape.match(cell) if cell else None
            if match:
                gpus.set(last, field, float(match.group(1)))


def _double_blanks(line: str) -> str:
    """Tabs separate cells as two blanks do."""
    return line.replace("\t", "  ")


def _cell(head: list[tuple[int, str]], cells: list[tuple[int, str]], where: int) -> str | None:
    """The cell below a header: by count where both have as many, else the one that begins nearest to it."""
    if len(head) == len(cells):
        return cells[where][1]
    start = head[where][0]
    position, text = min(cells, key=lambda cell: abs(cell[0] - start))
    return text if abs(position - start) <= 3 else None
