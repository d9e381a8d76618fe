"""The doctor in a notebook: what is wrong with this machine, or with a snapshot, and what mends it.

``labkit.doctor()`` looks at this machine. It changes nothing, sets nothing, sends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.machine import evidence, report
from labkit.machine.doctor import Diagnosis, Finding, diagnose


@dataclass(frozen=True, repr=False)
class Report:
    """A diagnosis to look at: ``str()`` is plain text; on a cell's last line it is HTML, with a box for each command."""

    diagnosis: Diagnosis

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, the best explanation first; ``ok`` stands in front where nothing blocks and nothing degrades."""
        return self.diagnosis.findings

    @property
    def healthy(self) -> bool:
        """Whether nothing blocks and nothing degrades."""
        return self.diagnosis.healthy

    def __str__(self) -> str:
        return report.as_text(self.diagnosis)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return report.as_html(self.diagnosis)

    def as_markdown(self) -> str:
        """The same for an issue or a forum: evidence and commands in code spans."""
        return report.as_markdown(self.diagnosis)


def doctor(snapshot: Mapping[str, Any] | str | Path | None = None, symptom: str = "") -> Report:
    """The doctor's findings, with the evidence for each, what mends it, and how to see that it is mended.

    snapshot: a snapshot (``labkit.devices.snapshot()``, or a simulated one), or a file that ``labkit snapshot -o FILE``
        made on another machine; None looks at this machine, and runs a few real kernels for it once.
    symptom: what went wrong, in your words, or the error's text.
    Raises LabkitError for a file that cannot be read or holds no snapshot.
    """
    if isinstance(snapshot, (str, Path)):
        return Report(diagnose(evidence.load(Path(snapshot), symptom)))
    if snapshot is None:
        from labkit import devices

        snapshot = devices.snapshot()
    return Report(diagnose(evidence.from_snapshot(snapshot, symptom)))
