"""rocm-bandwidth-test, the classic tool: matrices of ``-a`` and ``-A``, sweeps of ``-s``, ``-d`` and ``-b``, listings of ``-e`` and ``-t``.

The forms are those of its sources (rocm_bandwidth_test_report.cpp, versions 1 to 2.6; looked up 2026-11-30). Release 7.0 runs
TransferBench as a plugin; what that prints is read in :mod:`labkit.machine.readers.transferbench`.
"""

from __future__ import annotations

import re
from typing import Any

from labkit.machine.readers.labels import bare_lines, unlabelled
from labkit.machine.readers.matrices import CELL, Matrix, may_be_cut, square, unfolded, words
from labkit.machine.readers.text import finite, holds_any, lines, size

WORDS = ("RocmBandwidthTest", "D/D", "Benchmark Result", "Device Index:", "Data Size", "Device: ", " Id: ")

_VERSION = re.compile(r"\s*(?:>>\s*)?RocmBandwidthTest Version\s*:\s*\S", re.I)
_HEADER = re.compile(r"\s*\|?\s*D/D(?:\s*$|[\s|]+[\d.…])")
_OWN_LINE = re.compile(
    r"\s*(?:D/D|[DSB=#$>|.]|Unid|Inter|Link|Launch|Rocm)|\s{4,}\d{1,4}\s{2,}|\s*\d+\s+(?:Bytes|[KMG]?B)\b"
)  # no rest of the line before
_DEVICE = re.compile(r"\s*Device:\s+(\d+),\s*(.*)")
_INDEX = re.compile(r"\s*Device Index:\s+(\d+)\s*$")
_IS_GPU = re.compile(r"\s*Device Type:\s+GPU\b")
_NAME = re.compile(r"\s*Device Name:\s+(.*\S)")
_SOURCE = re.compile(r"[=\s]*Src (?:Device|Pool) Id:\s*(\d+)")
_TARGET = re.compile(r"Dst (?:Device|Pool) Id:\s*(\d+)")
_SWEEP = re.compile(r"\s*Data Size\s+.*(?:Time|BW)\s*\(", re.I)
_TITLE = re.compile(
    r"(?P<uni>\bUnid\w+\s+(?:copy\s+)?(?:peak\s+|average\s+)?bandwidth)|(?P<bi>\bB(?:i|)d\w+\s+(?:copy\s+)?(?:peak\s+|average\s+)?bandwidth)"
    r"|(?P<other>Device\s+(?:Access|Numa|NUMA|Link)\b|Link\s+(?:Type|Hops)\b|Data\s+Path\s+Validation|Benchmark\s+Result)"
)
_WHOLE_ROW = re.compile(rf"^[ \t|]*(\d{{1,4}})((?:[ \t]+{CELL})+)[ \t]*$", re.M)
_USAGE = re.compile(r"^\s*(?:Supported arguments|Usage|USAGE)\b", re.M)


def is_bandwidth(text: str) -> bool:
    """Whether the tool printed something: a listing, a matrix or a sweep, not only how to call it."""
    found = [line for line in lines(text) if begins(line)] if holds_any(text, WORDS) else []
    if not found:
        return False
    return not _USAGE.search(text) or any(not _VERSION.match(line) for line in found)


def begins(line: str) -> bool:
    """Whether output of the tool may begin with this line."""
    line = unlabelled(line[:400])
    return any(pattern.match(line) for pattern in (_VERSION, _HEADER, _DEVICE, _INDEX, _SOURCE, _SWEEP))


def read(text: str) -> dict[str, Any]:
    """Facts of a cleaned text: devices, both matrices (GB/s), and ``transfers`` where sizes were swept. Never raises."""
    bare = unfolded(list(bare_lines(text)), lambda line: _OWN_LINE.match(line) is not None, 3)
    text = "\n".join(bare) + ("\n" if text[-1:].isspace() else "")
    names: dict[int, str | None] = {}
    gpus: set[int] = set()
    last = None
    for line in bare:
        if found := _DEVICE.match(line):
            at, said = int(found.group(1)[:6]), found.group(2)
            names[at] = said.split(",")[0].strip() or None
            if re.search(r",\s*(?:GPU-|\w{1,8}:\w+\.)", said):  # a processor has no identity and no PCI address
                gpus.add(at)
        elif found := _INDEX.match(line):
            last = int(found.group(1)[:6])
            names.setdefault(last, None)
        elif last is not None and _IS_GPU.match(line):
            gpus.add(last)
        elif last is not None and (found := _NAME.match(line)):
            names[last], last = found.group(1), None
    uni, both, columns = _matrices(text)
    devices = max(len(names), columns) or None
    facts: dict[str, Any] = {
        "kind": "rocm-bandwidth-test",
        "devices": devices,
        "unidirectional_gbps": uni,
        "bidirectional_gbps": both,
        "names": [names.get(at) for at in range(devices or 0)] if names else None,
        "gpus": sorted(gpus) or None,
    }
    if transfers := _transfers(bare, ends_open=not text.endswith("\n")):
        facts["transfers"] = transfers
    return facts


def _matrices(text: str) -> tuple[Matrix | None, Matrix | None, int]:
    """(unidirectional, bidirectional, columns of the widest table). The first of each kind counts."""
    found: dict[str, Matrix | None] = {"uni": None, "bi": None}
    widest = 0
    titles = list(_TITLE.finditer(text))
    starts = [(match.end(), match.lastgroup or "") for match in titles]
    if "D/D" in text[: titles[0].start() if titles else None]:
        starts.insert(0, (0, "other"))  # a table whose title is missing: which it is, nobody can tell
    for (start, kind), end in zip(
        starts, [match.start() for match in titles[len(titles) - len(starts) + 1 :]] + [len(text)], strict=False
    ):
        part = text[start:end]
        rows, columns = _table(part, ends_open=end == len(text) and not text.endswith("\n"), bandwidth=kind != "other")
        widest = max(widest, columns)
        if kind in found and found[kind] is None:
            found[kind] = square(rows, columns)
    if found["bi"] and found["uni"] is None and titles[0].lastgroup == "bi":
        found["uni"] = _headless(text[: titles[0].start()], len(found["bi"]))
    return found["uni"], found["bi"], widest


def _headless(part: str, columns: int) -> Matrix | None:
    """The last rows of a table whose start is cut off: before the bidirectional table stands the unidirectional one."""
    rows: dict[int, list[float | None]] = {}
    for match in _WHOLE_ROW.finditer(part):
        cells = match.group(2).split()
        if len(cells) == columns and int(match.group(1)) < columns and any("." in cell for cell in cells):
            rows[int(match.group(1))] = [finite(cell) for cell in cells]
    return square(rows, columns)


def _table(part: str, *, ends_open: bool, bandwidth: bool) -> tuple[dict[int, list[float | None]], int]:
    """(rows by device, number of columns) of one table; lines may be wrapped or joined, parts may be left out ('...')."""
    tokens = words(part)
    if ends_open and tokens and bandwidth and may_be_cut(tokens[-1], tokens[:-1], 3):
        tokens.pop()
    columns = first = at = 0
    if "D/D" in tokens:
        at = tokens.index("D/D") + 1
        first = int(tokens[at]) if at < len(tokens) and re.fullmatch(r"\d{1,4}", tokens[at]) else 0
        while at < len(tokens) and (_left_out(tokens[at]) or tokens[at] == str(first + columns)):
            if not _left_out(tokens[at]):
                columns += 1
            elif at + 1 < len(tokens) and re.fullmatch(r"\d{1,4}", tokens[at + 1]):
                columns = max(columns, int(tokens[at + 1]) - first)
            at += 1
    rows: dict[int, list[float | None]] = {}
    if not bandwidth:
        return rows, columns
    row, gap, last = -1, 0, -1
    for token in tokens[at:] if columns or re.match(r"\s*(?:GB/s)?\s*(?:\S*\s+)?0\s+(?:N/A|\d+\.)", part) else []:
        if _left_out(token):
            gap = len(rows[row]) if row in rows else 0
        elif re.fullmatch(r"\d{1,4}", token) and last < int(token) - first < max(columns, 64):
            _close(rows, row, gap, columns)
            row = last = int(token) - first
            gap = 0
            rows[row] = []
        elif row >= 0 and (token == "N/A" or (finite(token) is not None and "." in token)):
            rows[row].append(finite(token))
        elif token != "GB/s":
            break
    _close(rows, row, gap, columns)
    return {at: cells for at, cells in rows.items() if cells}, columns or max(map(len, rows.values()), default=0)


def _left_out(token: str) -> bool:
    return re.fullmatch(r"\.{2,}|…+|<SNIP>\S*|\[\.\.\.\]", token) is not None


def _close(rows: dict[int, list[float | None]], row: int, gap: int, columns: int) -> None:
    """Cells behind '...' stand at the right end of their row."""
    cells = rows.get(row)
    if cells and gap and 0 < len(cells) < columns and len(cells) > gap:
        rows[row] = cells[:gap] + [None] * (columns - len(cells)) + cells[gap:]


def _transfers(bare: list[str], *, ends_open: bool) -> list[dict[str, Any]]:
    """The sweeps: one entry a copy and size, peak and average in GB/s."""
    found: list[dict[str, Any]] = []
    source = target = None
    both = False
    columns: list[str] = []
    for at, line in enumerate(bare):
        if "Benchmark Result" in line:
            source = target = None
            both = "Bid" in line
        if match := _SOURCE.match(line):
            source = int(match.group(1)[:6])
        if match := _TARGET.search(line):
            target = int(match.group(1)[:6])
        if _SWEEP.match(line):
            columns = [
                re.sub(r"\s+", " ", name).lower() for name in re.findall(r"\w+ (?:Time|BW|Bandwidth)", line, re.I)
            ]
        match = re.match(r"\s*(\d+)\s*(Bytes|B|KB|MB|GB)((?:\s+(?:\d+\.\d+|N/A))+)\s*$", line)
        if match is None or (not columns and source is None):
            continue
        cells = match.group(3).split()
        if ends_open and at == len(bare) - 1 and may_be_cut(cells[-1], cells[:-1], 3):
            cells.pop()
        named = columns or ["avg time", "avg bw", "min time", "peak bw"]
        values = dict(zip(named, map(finite, cells), strict=False))
        found.append(
            {
                "src": source,
                "dst": target,
                "bytes": size(f"{match.group(1)} {match.group(2).replace('Bytes', 'B')}"),
                "avg_gbps": values.get("avg bw", values.get("avg bandwidth")),
                "peak_gbps": values.get("peak bw", values.get("peak bandwidth")),
                "both_ways": both,
            }
        )
    return found
