"""TransferBench: peer-to-peer matrices, all-to-all, tests from a file; also what rocm-bandwidth-test 7.0 runs as its plugin ``tb``.

The forms are those of its presets (PeerToPeer, AllToAll) and documentation, versions 1.2 to 1.68, tables and CSV (looked up 2026-11-30).
"""

from __future__ import annotations

import re
from typing import Any

from labkit.machine.readers.labels import bare_lines, unlabelled
from labkit.machine.readers.matrices import CELL, Matrix, may_be_cut, square, unfolded
from labkit.machine.readers.text import finite, holds_any, lines

WORDS = (
    "TransferBench v",
    "D/D",
    "SRC",
    "->",
    "-&gt;",
    " Timed)",
    "Bytes Per Direction",
    "Executor:",
    "Transfer ",
    "→",
    "↔",
)

_BANNER = re.compile(r"\s*(?:Run configuration \()?TransferBench v\d")
_ARROW = r"(?:<->|->|<-)"
_ROW = re.compile(rf"\b(CPU|GPU)\s+(\d{{1,4}})[\s|]*({_ARROW})((?:[\s,|]+{CELL})*)")
_OLD_ROW = re.compile(rf"^\s*(CPU|GPU)\s+(\d{{1,4}})((?:[ \t]+{CELL})+)[ \t]*$", re.M)
_CORNER = r"(?:SRC(?:\+EXE)?\\{1,4}(?:EXE\+)?DST(?:\+EXE)?|D/D(?=\s+[CG]PU))"  # D/D: the first versions
_HEADER = re.compile(rf"{_CORNER}((?:[\s,|]*(?:CPU|GPU)\s+\d{{1,4}}(?!\d)(?![\s|]*{_ARROW}))+)")
_TITLE = re.compile(r"\b(Unid|Bid)irectional\s+copy\s+peak\s+bandwidth")
_DEVICE = re.compile(r"(CPU|GPU)\s+(\d+)")
_EXECUTOR = re.compile(r"\s*\|?\s*Executor:\s+\w+\s+\S+\s*\|\s*[\d.]+\s+GB/s")
_TRANSFER = re.compile(
    r"\s*\|?\s*Transfer\s+\d+\s*\|\s*([\d.]+)\s+GB/s\s*\|\s*[\d.]+\s+ms\s*\|\s*(\d+)\s+bytes\s*\|"
    r"\s*(\w+)\s*->\s*\S+\s*->\s*(\w+)"
)
_OWN_LINE = re.compile(  # no rest of the line before
    rf"\s*(?:[CG]PU\s+\d+\s*(?:{_ARROW}|min|max|sd|[\s|,]+{CELL})|SRC|D/D|Unid|Bid|Bytes|Aver|CPU->|Aggr|Summ|RTotal"
    r"|Transfer|Test|Executor|[A-Z][A-Z0-9_]{4,}\s|[-=#$>\[|])"
)
_TEST = re.compile(r"\s*Test\s+\d+\s*:\s*(?:\[(\d+) bytes\])?")
# versions 1.x before 1.11: the triplet stands in front, the size in the test's line
_OLD_TRANSFER = re.compile(
    r"\s*(?:Transfer|Link)\s+\d+:\s*(\w+)\s*->\s*\[[^\]]+\]\s*->\s*(\w+)\s*\|\s*([\d.]+)\s+GB/s\s*\|(?:.*?\|\s*(\d+)\s+bytes)?"
)
_TOPOLOGY = re.compile(r"Detected Topology:\s*(\d+) (?:configured )?CPU NUMA node.*?(\d+) GPU device", re.S)
_TIMED = re.compile(r"\s*(?:Average|Aggregate)\s+bandwidth \([\w-]+ Timed\):\s+[\d.]+")
_USAGE = re.compile(r"^\s*(?:Usage|USAGE)\s*:", re.M)
_ACROSS = re.compile(rf"^\s*\|?\s*GPU\s+(\d{{1,4}})\s*\|?((?:[\s,|]+{CELL}){{2,}})", re.M)


def is_transferbench(text: str) -> bool:
    """Whether a run printed something; how to call it is not enough."""
    found = [line for line in lines(text) if begins(line)] if holds_any(text, WORDS) else []
    if not found:
        return False
    return not _USAGE.search(text) or "Detected Topology" in text or any(not _BANNER.match(line) for line in found)


def begins(line: str) -> bool:
    """Whether output of TransferBench may begin with this line."""
    line = _plain(unlabelled(line[:4000]))
    if (
        _BANNER.match(line)
        or _EXECUTOR.match(line)
        or _TRANSFER.match(line)
        or _TIMED.match(line)
        or _OLD_TRANSFER.match(line)
    ):
        return True
    if re.match(rf"[\s|]*{_CORNER}", line) or re.match(r"\s*Bytes Per Direction[ ,]+\d", line):
        return True
    row = _ROW.match(line.lstrip(" \t|"))
    return row is not None and bool(row.group(4).strip(" ,|"))


def read(text: str) -> dict[str, Any]:
    """Facts of a cleaned text: devices and both matrices (GB/s). Never raises."""
    ends_open = not text[-1:].isspace()
    bare = unfolded(list(bare_lines(text)), lambda line: _OWN_LINE.match(line) is not None, 2)
    text = _plain("\n".join(bare)) + ("" if ends_open else "\n")
    header = _header(text)
    uni: dict[str, list[str]] = {}
    both: dict[str, list[str]] = {}
    titles = list(_TITLE.finditer(text))
    bounds = [0, *(match.start() for match in titles), len(text)]
    kinds = ["", *(match.group(1) for match in titles)]
    for kind, start, end in zip(kinds, bounds, bounds[1:], strict=False):
        rows = list(_ROW.finditer(text, start, end))
        two_way = kind == "Bid" or (not kind and any(row.group(3) != "->" for row in rows))
        for row in rows:
            device, cells = _name(row.group(1), row.group(2)), re.findall(CELL, row.group(4))
            if ends_open and row.end() == len(text) and cells and may_be_cut(cells[-1], cells[:-1], 2):
                cells.pop()
            if row.group(3) == "<->":
                both.setdefault(device, cells)
            elif row.group(3) == "->" and not two_way:
                uni.setdefault(device, cells)
        if kind and not rows:
            # the first versions print rows without an arrow
            old = {
                _name(*row.group(1, 2)): re.findall(CELL, row.group(3)) for row in _OLD_ROW.finditer(text, start, end)
            }
            for device, cells in old.items():
                (both if kind == "Bid" else uni).setdefault(device, cells)
    order = header or _order({**both, **uni})
    across, peers = _all_to_all(text)
    listed = _TOPOLOGY.search(text)
    facts: dict[str, Any] = {
        "kind": "transferbench",
        "devices": len(order) or (sum(map(int, listed.groups())) if listed else 0) or peers or None,
        "unidirectional_gbps": _matrix(uni, order),
        "bidirectional_gbps": _matrix(both, order),
        "names": order or None,
    }
    if across:
        facts["all_to_all_gbps"] = across
    if transfers := _transfers(text):
        facts["transfers"] = transfers
    return facts


def _plain(text: str) -> str:
    """Without what pages add: roles, back quotes, escaped bars, arrows as signs."""
    text = text.replace(":mark:", "").replace("`", "").replace("\\|", "|").replace("\\*", "*")
    for sign, plain in (("&lt;", "<"), ("&gt;", ">"), ("↔", "<->"), ("→", "->"), ("←", "<-")):
        text = text.replace(sign, plain)
    return text


def _name(kind: str, index: str) -> str:
    return f"{kind} {int(index):02d}"


def _header(text: str) -> list[str]:
    """The devices of the widest peer-to-peer header; one of an all-to-all table only where there is no other."""
    found: list[tuple[bool, int, list[str]]] = []
    for match in _HEADER.finditer(text):
        order: list[str] = []
        for kind, index in _DEVICE.findall(match.group(1)):
            name = _name(kind, index)
            if name in order:
                break
            order.append(name)
        behind = text[match.end() : match.end() + 400]
        peer = bool(re.search(_ARROW, behind)) or bool(_TITLE.search(text, max(0, match.start() - 200), match.start()))
        found.append((peer, len(order), order))
    found = [entry for entry in found if entry[0]]
    return max(found, default=(True, 0, []))[2]


def _order(rows: dict[str, list[str]]) -> list[str]:
    """The devices without a header: GPUs up to the last one that has a row; the other columns are CPUs."""
    if not rows:
        return []
    columns = max(map(len, rows.values()))
    gpus = max((int(name[4:]) + 1 for name in rows if name.startswith("GPU")), default=0)
    cpus = max((int(name[4:]) + 1 for name in rows if name.startswith("CPU")), default=0)
    cpus = max(cpus, columns - gpus) if gpus else cpus
    gpus = max(gpus, columns - cpus)
    if cpus + gpus > 4096:
        return []
    return [f"CPU {at:02d}" for at in range(cpus)] + [f"GPU {at:02d}" for at in range(gpus)]


def _matrix(rows: dict[str, list[str]], order: list[str]) -> Matrix | None:
    cells = {order.index(name): [finite(cell) for cell in row] for name, row in rows.items() if name in order and row}
    return square(cells, len(order))


def _all_to_all(text: str) -> tuple[Matrix | None, int]:
    """(the all-to-all matrix among GPUs, number of GPUs). Totals at the ends of the rows are no links."""
    rows = {int(match.group(1)): re.findall(CELL, match.group(2)) for match in _ACROSS.finditer(text)}
    if not rows or re.search(r"D/D\s+[CG]PU", text):
        return None, 0
    header = next((match for match in _HEADER.finditer(text) if "STotal" in text[match.end() : match.end() + 40]), None)
    gpus = len(set(_DEVICE.findall(header.group(1)))) if header else max(rows) + 1
    if gpus > 1024:
        return None, 0
    cells: dict[int, list[float | None]] = {
        at: [finite(cell) for cell in row[:gpus]] for at, row in rows.items() if at < gpus
    }
    return square(cells, gpus), gpus


def _transfers(text: str) -> list[dict[str, Any]]:
    """The single transfers of tests from a file, and of presets that print them."""
    found = []
    tested: str | None = None  # bytes of every transfer of this test
    for line in text.split("\n"):
        if match := _TEST.match(line):
            tested = match.group(1)
        elif match := _TRANSFER.match(line):
            rate, size, source, target = match.groups()
            found.append(_transfer(source, target, size, rate))
        elif match := _OLD_TRANSFER.match(line):
            source, target, rate, size = match.groups()
            found.append(_transfer(source, target, size or tested, rate))
    return found


def _transfer(source: str, target: str, size: str | None, rate: str) -> dict[str, Any]:
    return {
        "src": source,
        "dst": target,
        "bytes": None if size is None else int(size),
        "avg_gbps": finite(rate),
        "peak_gbps": None,
    }
