"""What launchers write before every line of a job's output: ``[1,0]<stdout>:`` of mpirun, ``3: `` of srun, a worker's name, a time."""

from __future__ import annotations

import re
from collections.abc import Iterator

from labkit.machine.readers.text import lines

_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.,]*(?:Z|[+-]\d\d:?\d\d)?"
_LABEL = re.compile(
    r"\s*(?:"
    r"\[\d+,\d+\](?:<[^>]{0,20}>)?:[ \t]?"  # mpirun --tag-output
    r"|<?std(?:out|err)>?:[ \t]"
    r"|\[?(?:rank|default|worker|node|host)[ _-]?\d+\]?[ \t]?(?::(?:[ \t]|$|(?=\[))|\|(?:[ \t]|$))"  # torchrun, and scripts
    r"|\d{1,5}:(?=[ \t#]|$)[ \t]?"  # srun --label, grep -n
    r"|\([\w.]{1,40} pid=\d+(?:, ip=[\d.]+)?\)[ \t]"  # Ray
    rf"|\[?{_TIME}\]?(?:[ \t]|$)"
    r"|[\w.-]{1,60}-\d+[ \t]+\|(?:[ \t]|$)"  # docker compose
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
