"""What launchers write before every line of a job's output: ``[1,0]<stdout>:`` of mpirun, ``3: `` of srun, a worker's name, a time."""

from __future__ import annotations

import re
from collections.abc import Iterator

from labkit.machine.readers.text import lines

_CLOCK = r"\d\d:\d\d:\d\d[\d.,]*"
_TIME = rf"\d{{4}}-\d\d-\d\d[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_LABEL = re.compile(
    r"\s*(?:"
    r"\[\d+,\d+\](?:<[^>]{0,20}>)?:[ \t]?"  # mpirun --tag-output
    r"|\[[\w.@-]{1,80},\d+(?::[^\]\s]{0,80})?\](?:<[^>]{0,20}>:?|:)[ \t]?"  # and of Open MPI 5: [prterun-host-123@1,0]<stdout>:
    rf"|(?:[A-Z][a-z]{{2}} {_MONTH}[ \d]{{4}}{_CLOCK} \d{{4}}){{0,1}}<std(?:out|err)>:[ \t]?"  # --timestamp-output
    r"|<?std(?:out|err)>?:[ \t]"
    r"|\[?(?:rank|default|worker|node|host)[ _-]?\d+\]?[ \t]?(?::(?:[ \t]|$|(?=\[))|\|(?:[ \t]|$))"  # torchrun, and scripts
    r"|\d{1,5}:(?=[ \t#]|$)[ \t]?"  # srun --label, grep -n
    r"|\([\w.]{1,40} pid=\d+(?:, ip=[\d.]+)?\)[ \t]"  # Ray
    rf"|\[?{_TIME}\]?(?:[ \t]|$)"
    rf"|\[?{_CLOCK}\]?(?:[ \t]|$)"
    rf"|{_MONTH}[ ]{{1,2}}\d{{1,2}} {_CLOCK}(?:[ \t]|$)(?:[\w.-]{{1,60}} [\w./-]{{1,60}}\[\d+\]:(?:[ \t]|$))?"  # syslog, ts
    r"|[\w.-]{1,60}-\d+[ \t]+\|(?:[ \t]|$)"  # docker compose
    r"|\[pod/[\w.-]{1,120}/[\w.-]{1,60}\](?:[ \t]|$)"  # kubectl logs --prefix
    r"|[\w.-]{1,60}:[ \t](?=[ \t]*(?:#|\d+[ \t]+\d+[ \t]+[a-z]))"  # pdsh, clush: any host's name
    r")"
)


def unlabelled(line: str) -> str:
    """A line without the labels before it; its own indentation is kept as far as it can be told apart.

    >>> unlabelled("[1,0]<stdout>:# nThread 1 nGpus 1")
    '# nThread 1 nGpus 1'
    """
    for _ in range(3):
        found = _LABEL.match(line)
        if found is None or not found.end():
            break
        line = line[found.end() :]
    return line


def bare_lines(text: str) -> Iterator[str]:
    """The lines of a cleaned text, each without its labels."""
    for line in lines(text):
        yield unlabelled(line)
