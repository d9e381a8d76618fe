"""rccl-tests: what a run of ``all_reduce_perf`` and its like printed for people. Its files for programs: rccl_records.py.

The forms are those of rccl-tests and nccl-tests (src/common.cu, src/util.cu; looked up 2026-11-30): with and without root column,
'error' or '#wrong', device lines with and without group and host.
"""

from __future__ import annotations

import re
from typing import Any

from labkit.machine.readers import rccl_table
from labkit.machine.readers.labels import bare_lines, unlabelled
from labkit.machine.readers.rccl_records import PROGRAM, facts_of, read_csv
from labkit.machine.readers.rccl_table import ROW
from labkit.machine.readers.text import finite, holds_any

# of which every such text has one: the lines around the table, and the types that its rows name
WORDS = (
    "nThread", "busbw", "Avg bus bandwidth", "Out of bounds values", "Collective test", "Using devices", "ccl-tests",
    "numCycle", "failure common", "number of GPUs", " Pid ", " Test ", " float", " half", " double", " int8", " uint8", " int32", " uint32",
    " int64", " uint64", " bfloat16", " bf16", " fp16", " fp8", " f8",
)  # fmt: skip

_RANK = re.compile(
    r"\s*#?\s*Rank\s+(\d+)\s+(?:(?:Group\s+\d+\s+)?Pid\s+\d+|(?=on\s+\S+\s+device\s))(?:\s*on\s+(\S+))?(?:\s+device\s+\d+\s+\[[^\]]*\]\s*(.*))?"
)
_AVERAGE = re.compile(r"\s*#?\s*Avg bus bandwidth\s*:\s*([-+\d.eE]+)")
_LINE = re.compile(
    r"\s*(?:#?\s*nThreads?:?\s+\d+\s+nGpus:?\s+\d+|#\s*Using devices\b|#?\s*Out of bounds values\s*:\s*\d+"
    r"|#?\s*Collective test (?:starting|concluded)\s*:|#?\s*Avg bus bandwidth\s*:\s*\d"
    r"|rccl-tests: Version|#\s*[nr]ccl-tests version"
    r"|(?:[\w.-]+:\s+)?Test (?:NCCL|CUDA|HIP) failure\s+\S+:\d+|\.\. \S+ pid \d+: Test failure"
    r"|Invalid number of GPUs: \d+ requested)"
)
_NAMED = re.compile(r"Collective test (?:starting|concluded)\s*:\s*(?:\S*/)?(\w+?)_perf")
_CRASH = re.compile(
    r"exited on signal|terminated by signal|received signal|signal: ?\w+ \(|\bSIG(?:SEGV|ABRT|KILL|BUS|TERM|ILL)\b"
    r"|Segmentation fault|core dump(?:ed)?\b|(?<!non)(?<!non-)\bfatal\b|MPI_ABORT was invoked|terminate called"
    r"|exit(?:ed)?(?: with)?(?: exit)?(?: code| status| value)?:?[ =]+(?:code )?[1-9]\d*\b"
    r"|non-?zero (?:exit )?(?:code|status)|\b(?:rc|returncode|return code)\s*[=:]\s*[1-9]"
    r"|Test (?:NCCL|CUDA|HIP) failure|: Test failure|Test timeout \(|unhandled (?:cuda|hip|system) error"
    r"|Invalid number of GPUs|CANCELLED AT "
    r"|Memory access fault by GPU|HSA_STATUS_ERROR|^\s*(?:Aborted|Killed)\b",
    re.I | re.M,
)
_BAD = re.compile(r"Out of bounds values\s*:\s*(?:[1-9]\d*\b|\d+\s+FAILED)|^\s*#\s*Errors\s*:\s*[1-9]", re.M)


def is_rccl_tests(text: str) -> bool:
    """Whether a line is one that rccl-tests prints."""
    return holds_any(text, WORDS) and any(begins(line) for line in text.split("\n"))


def begins(line: str) -> bool:
    """Whether a run of rccl-tests may begin with this line."""
    line = unlabelled(line[:400])
    return bool(
        _LINE.match(line) or _RANK.match(line) or _row(line) or rccl_table.header(line) or line.startswith("numCycle,")
    )


def _row(line: str) -> bool:
    found = ROW.match(line.replace("|", " ").strip())
    return found is not None and len(re.findall(r"\s\d+\.\d+(?=\s|$)", line)) >= 3


def read(text: str) -> dict[str, Any]:
    """Facts of a cleaned text: rows of the out-of-place half, ranks, the printed average, and the gravest problem. Never raises."""
    if re.search(r"^\s*numCycle,", text, re.M):
        return read_csv(text)
    lines = list(bare_lines(text))
    table = rccl_table.read(lines, ends_open=not text[-1:].isspace())
    ranks: list[int] = []
    hosts, names = set(), set()
    average = None
    first = 0  # how often rank 0 is listed before a run ends
    for line in lines:
        if found := _RANK.match(line):
            ranks.append(int(found.group(1)[:9]))
            first += average is None and ranks[-1] == 0
            hosts.update({found.group(2)} - {None})
            names.update({(found.group(3) or "").strip()} - {""})
        elif average is None and (found := _AVERAGE.match(line)):
            average = finite(found.group(1))
    bare = "\n".join(lines)
    problem = None
    if _CRASH.search(bare):
        problem = "rccl-crash"
    elif table.in_place_wrong or table.starred or _BAD.search(bare) or any(row["wrong"] for row in table.rows):
        problem = "rccl-data-errors"
    size = max(ranks) + 1 if ranks else None
    facts = facts_of(problem, _first_program(bare), size, table.rows, average, gpu_names=names, hosts=hosts)
    if facts["checked"] is False:
        # a deviation is a check too, and a column that is not there says nothing
        facts["checked"] = True if table.deviations else False if table.unchecked else None
    return facts | {"separate_runs": first if first > 1 and max(ranks) == 0 else None}


def _first_program(text: str) -> str | None:
    """The program that is named first, whether by its command line or by its own report."""
    found = [match for match in (_NAMED.search(text), PROGRAM.search(text)) if match]
    return min(found, key=lambda match: match.start(1)).group(1) if found else None
