"""A running job's own words: log lines of NCCL and RCCL, and the status report of its RAS service (text or JSON).

The report's forms are those of RCCL and NCCL 2.24 to 2.29 (src/ras/client_support.cc, troubleshooting guide; looked up 2026-11-30).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from labkit.machine.readers.labels import bare_lines, unlabelled
from labkit.machine.readers.text import embedded_json, holds_any

LOG_WORDS = ("NCCL ", "RCCL ", "ProcessGroupNCCL")
RAS_WORDS = ("Communicators...", "Job summary", "Comms", "compiled with")

_LEVEL = r"[NR]CCL (?:INFO|WARN|TRACE|ABORT|ERROR|CALL|VERSION)\b"
_LOG = re.compile(
    rf"\s*(?:\S+:\d+:\d+\s+\[\d*\].{{0,200}}?{_LEVEL}|\S+:\d+:\d+\s+{_LEVEL}|(?:\[\d+\]\s+)?(?:\S+:\d+\s+)?{_LEVEL} \S"
    r"|\[\S{1,60} ProcessGroupNCCL\.cpp:\d+\]|\[[^\]]{1,60} ProcessGroupNCCL\.cpp:\d+\]|[NR]CCL version ?:? ?\d+\.\d+\.\d+[+-])"
)
_RANKS = re.compile(r"\bn_?ranks[ =:]+0*(\d{1,7})\b", re.I)
_IOMMU = re.compile(r"Missing ['\"\\]*iommu=pt")


def is_log(text: str) -> bool:
    """Whether lines of an NCCL or RCCL log are there."""
    return holds_any(text, LOG_WORDS) and any(log_begins(line) for line in text.split("\n"))


def log_begins(line: str) -> bool:
    """Whether this is a line of such a log."""
    return "CCL" in line and _LOG.match(unlabelled(line[:600])) is not None


def read_log(text: str) -> dict[str, Any]:
    """Facts of a cleaned log: the largest communicator, and the one problem that the library itself names."""
    ranks = [int(found) for found in _RANKS.findall(text)]
    return {
        "kind": "rccl-log",
        "problem": "rccl-iommu" if _IOMMU.search(text) else None,
        "ranks": max(ranks, default=None),
    }


_VERSION = re.compile(r"^\s*[NR]CCL version (\S+) compiled with", re.M)
_TABLE = re.compile(r"\s*Group\s+Comms\s+Nodes\s+Ranks\b")
_JOB = re.compile(
    r"\(total\)\s+per node\s+per process\s+\(total\)\s+\(total\)\s+\d+\s+[\d-]+\s+[\d-]+\s+\d+\s+(\d+)(?!\S)"
)
_GROUP = re.compile(
    r"(?<![\w#])\d+\s+(\d+)\s+([\d-]+)\s+([\d-]+)\s+(\d+)\s+(\d+)\s+(?:[A-Z]{4,}(?:,[A-Z]+)*)\s+(OK|[A-Z]+(?:,[A-Z]+)*)(?![\w-])"
)
_LOST = re.compile(r"Missing communicator data from (\d+) rank")
_RANK = re.compile(r"^\s*Rank (\d+) --", re.M)
_PROCESS = re.compile(r"^\s*Process (\d+) on node (\S+) managing GPUs? ([\d,\- ]+)", re.M)


def is_ras(text: str) -> bool:
    """Whether the report of a RAS service is there. A client that was refused has none."""
    return holds_any(text, RAS_WORDS) and any(ras_begins(line) for line in text.split("\n"))


def ras_begins(line: str) -> bool:
    """Whether a RAS report may begin with this line."""
    if not any(word in line for word in ("version", "Job summary", "Communicators...", "Comms")):
        return False
    line = unlabelled(line[:400])
    return bool(
        _VERSION.match(line) or _TABLE.match(line) or re.match(r"\s*(?:Job summary\s*$|Communicators\.\.\.)", line)
    )


def read_ras(text: str) -> dict[str, Any]:
    """Facts of a cleaned report: ranks that the job should have, ranks that answered; None where the report does not get that far."""
    text = "\n".join(bare_lines(text))
    version = _VERSION.search(text)
    job = _JOB.search(text)
    head = re.search(r"Group\s+Comms\s+Nodes", text)
    rows = _GROUP.findall(text[head.end() :]) if head else []
    groups = [(int(comms), int(per_comm), int(present)) for comms, _, _, per_comm, present, _ in rows]
    expected = max([int(job.group(1)) if job else 0, *(per_comm for _, per_comm, _ in groups)])
    name = version.group(1) if version else None
    if not expected or not groups:
        return _ras(name, expected or None, None)
    lost = [per_comm - present for comms, per_comm, present in groups if comms == 1]
    lost += [
        expected - present
        for comms, per_comm, present in groups
        if comms > 1 and comms * per_comm >= expected > present
    ]
    lost += [_uneven(row) for row in rows if row[0] == "1" and "INCOMPLETE" in row[5]]
    lost += [int(count) for count in _LOST.findall(text)]
    lost.append(len(set(_RANK.findall(_sections(text, "INCOMPLETE")))))
    gone = {(process, node): gpus for process, node, gpus in _PROCESS.findall(_sections(text, "INCOMPLETE|DEAD"))}
    lost.append(sum(map(_gpus, gone.values())))
    found = _ras(name, expected, max(0, expected - max(0, *lost)))
    if found["problem"] is None and any("INCOMPLETE" in row[5] for row in rows):
        # some are missing; how many, it does not say
        return found | {"problem": "rccl-missing-rank", "ranks_present": None}
    return found


def _uneven(row: tuple[str, ...]) -> int:
    """Ranks that a node lacks, where the report gives the fewest and the most of a node ('7-8') and all should have the most."""
    fewest, _, most = row[2].partition("-")
    full = most.isdigit() and row[1].isdigit() and int(row[1]) * int(most) == int(row[3])
    return max(0, int(most) - int(fewest)) if full and fewest.isdigit() else 0


def _sections(text: str, names: str) -> str:
    """The paragraphs of the report's Errors part that are headed by one of the names."""
    parts = re.split(r"\n[ \t]*\n", text)
    return "\n".join(part for part in parts if re.match(rf"\s*(?:#\S+ \(\w+\) )?(?:{names})\b", part))


def _gpus(text: str) -> int:
    count = 0
    for part in text.replace(" ", "").strip(",").split(","):
        first, _, last = part.partition("-")
        if first.isdigit():
            count += int(last) - int(first) + 1 if last.isdigit() and int(first) <= int(last) < int(first) + 64 else 1
    return count


def _ras(version: str | None, expected: int | None, present: int | None) -> dict[str, Any]:
    missing = expected is not None and present is not None and present < expected
    return {
        "kind": "rccl-ras",
        "problem": "rccl-missing-rank" if missing else None,
        "version": version,
        "ranks": expected,
        "ranks_present": present,
    }


def is_ras_json(found: object) -> bool:
    """Whether JSON is a report of the RAS service."""
    return isinstance(found, dict) and isinstance(found.get("communicators"), list)


def read_ras_json(text: str) -> dict[str, Any]:
    """Facts of a text that holds such JSON."""
    found = embedded_json(text)
    report: Mapping[str, Any] = found if isinstance(found, dict) else {}
    here: set[tuple[str, str, str]] = set()
    gone: set[tuple[str, str, str]] = set()
    sizes, lost = [0], [0]
    for comm in _entries(report.get("communicators")):
        ranks = _entries(comm.get("ranks"))
        missing = _entries(comm.get("missing_ranks"))
        here.update(map(_place, ranks))
        gone.update(map(_place, missing))
        size = _count(comm.get("size"), len(ranks) + len(missing))
        sizes.append(size)
        lost.append(
            max(
                len(missing),
                _count(comm.get("missing_ranks_count"), 0),
                size - _count(comm.get("ranks_count"), len(ranks) or size),
            )
        )
    gone -= here
    expected = max(*sizes, len(here | gone))
    version = report.get("rccl_version", report.get("nccl_version"))
    return _ras(version if isinstance(version, str) else None, expected, max(0, expected - max(*lost, len(gone))))


def _entries(found: object) -> list[Mapping[str, Any]]:
    return [entry for entry in found if isinstance(entry, Mapping)] if isinstance(found, list) else []


def _place(rank: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(rank.get("host")), str(rank.get("pid")), str(rank.get("cuda_dev", rank.get("rank")))


def _count(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 24 else otherwise
