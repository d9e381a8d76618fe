"""The doctor: evidence in, findings out. It changes nothing, sets nothing, sends nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from labkit.catalog.findings import SEVERITIES, codes
from labkit.machine.evidence import Evidence, labkit_command, snapshot_command
from labkit.machine.rules import RULES, Match

# The order of causes: a rule of an earlier module ranks above one of a later module with the same severity.
_MODULES = (
    "driver", "access", "wsl_windows", "environment", "torch_build", "libraries", "memory", "several_gpus", "numbers",
    "harmless",
)  # fmt: skip
for _module in _MODULES:
    import_module(f"labkit.machine.rules.{_module}")


@dataclass(frozen=True)
class Finding:
    """One thing that is so on this machine, with what proves it and what mends it."""

    code: str
    severity: str  # 'blocks', 'degrades' or 'info'
    meaning: str
    evidence: tuple[str, ...]
    confidence: str  # 'certain' (seen) or 'likely' (inferred)
    fix: tuple[str, ...]
    verify: tuple[str, ...]
    not_to_be_confused_with: str
    sources: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain data, as ``labkit doctor --json`` prints it."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in self.__dict__.items()}


@dataclass(frozen=True)
class Diagnosis:
    """The findings, best explanation first, and what could not be looked at."""

    findings: tuple[Finding, ...]
    checked: tuple[str, ...]
    unknown: tuple[str, ...]
    simulated: bool
    note: str = ""  # what a reader has to know before the findings

    @property
    def healthy(self) -> bool:
        """Whether nothing blocks and nothing degrades."""
        return self.findings[0].code == "ok"

    def as_json(self) -> dict[str, Any]:
        """Plain data, as ``labkit doctor --json`` prints it."""
        return {
            "findings": [finding.as_json() for finding in self.findings],
            "checked": list(self.checked), "unknown": list(self.unknown), "simulated": self.simulated,
            "note": self.note,
        }  # fmt: skip


def diagnose(e: Evidence) -> Diagnosis:
    """All findings about one machine: causes before consequences, blocking ones first, harmless observations last.

    Words that somebody typed on a machine without an AMD GPU are about another machine, most likely: what they alone
    show comes first then, as likely.
    """
    ordered = _findings(e)
    checked, unknown = _scope(e)
    note = ""
    labkit, collect = labkit_command(e.is_windows), f"{snapshot_command()} FILE"
    if e.asked and not e.has_amd_gpu:
        alone = [finding for finding in _findings(e.in_words_alone()) if finding.severity != "info"]
        of_machine = _findings(e.without_words())
        known = {finding.code for finding in of_machine}
        elsewhere = [replace(finding, confidence="likely") for finding in alone if finding.code not in known]
        if elsewhere:
            ordered = [*elsewhere, *of_machine]
            note = (
                f"This machine has no AMD GPU, so the words may be about another one: {_listed(elsewhere)} judged by them alone. "
                f"There, '{collect}' collects the evidence; '{labkit} doctor --from FILE' reads it here."
            )
        elif not alone:
            note = (
                "This machine has no AMD GPU, and the words alone point to nothing that the doctor knows. If they are about "
                f"another machine: there '{collect}', here '{labkit} doctor --from FILE'."
            )
    elif any(finding.code == "no-amd-gpu" for finding in ordered):
        note = (
            "The course runs on this machine's CPU; an AMD GPU is not needed for it. To look at another machine: there "
            f"'{collect}', here '{labkit} doctor --from FILE'."
        )
    if not any(finding.severity != "info" for finding in ordered):
        ordered.insert(0, _nothing(e, unknown))
    return Diagnosis(tuple(ordered), checked, unknown, e.simulated, note)


def _listed(findings: list[Finding]) -> str:
    return "finding 1 is" if len(findings) == 1 else f"findings 1 to {len(findings)} are"


def _findings(e: Evidence) -> list[Finding]:
    """What the rules find, in the order of a diagnosis."""
    table = codes()
    matched: list[tuple[int, str, Match]] = []
    explained: set[str] = set()
    for late in (False, True):
        for place, rule in enumerate(RULES):
            if rule.last is not late or (late and rule.code in explained):
                continue
            match = rule.test(e)
            if match is not None:
                matched.append((-1 if rule.first else place, rule.code, match))
                explained |= rule.explains
    findings = [
        (SEVERITIES.index(table[code].severity), match.likely, place, _finding(code, match))
        for place, code, match in matched
        if code not in explained
    ]
    return [finding for *_, finding in sorted(findings, key=lambda item: item[:3])]


def _finding(code: str, match: Match) -> Finding:
    row = codes()[code]
    return Finding(
        code, row.severity, row.meaning, match.evidence, "likely" if match.likely else "certain", match.fix, match.verify,
        row.not_to_be_confused_with, row.sources,
    )  # fmt: skip


def _nothing(e: Evidence, unknown: tuple[str, ...]) -> Finding:
    """The answer where nothing blocks or degrades: healthy by evidence, or just nothing found."""
    proof = []
    if e.torch_facts and e.torch_facts.build == "rocm":
        proof.append(f"torch {e.torch_facts.version} is a ROCm build")
    if e.node("/dev/kfd").openable:
        proof.append("/dev/kfd opens for this process")
    if e.primary_gfx and e.wheel_has(e.primary_gfx):
        proof.append(f"{e.primary_gfx} is in the wheel's list of targets")
    if e.kernel_ran:
        proof.append("work was done on the GPU")
    proved = bool(e.sees_gpu or e.kernel_ran)
    row = codes()["ok"]
    meaning = (
        row.meaning
        if proved
        else "Nothing wrong was found in what could be looked at; that is not a proof that all is well."
    )
    steps = (
        ()
        if proved
        else (
            f"If it does not work all the same: {snapshot_command(e.is_windows)} snapshot.json, and put that file into a bug report.",
        )
    )
    return Finding(
        "ok",
        "info",
        meaning,
        tuple(proof),
        "certain" if proved else "likely",
        steps,
        (),
        row.not_to_be_confused_with,
        row.sources,
    )


# what can be looked at -> whether such a system has it at all, and how to tell that it was looked at
_SCOPE: tuple[tuple[str, Callable[[Evidence], bool], Callable[[Evidence], bool]], ...] = (
    ("your words", lambda e: bool(e.symptom), lambda e: bool(e.symptom)),
    ("torch", lambda e: True, lambda e: e.torch_facts is not None),
    ("device nodes", lambda e: e.has_kfd or e.is_wsl, lambda e: bool(e.nodes)),
    ("groups", lambda e: e.has_kfd or e.is_wsl, lambda e: e.groups is not None),
    ("environment variables", lambda e: True, lambda e: e.env is not None),
    ("display adapters", lambda e: e.is_windows, lambda e: bool(e.adapters)),
    ("PCI bus", lambda e: e.has_kfd, lambda e: e.bus is not None),
    ("rocminfo", lambda e: e.has_amd_gpu and not e.is_windows, lambda e: e.rocminfo is not None),
    ("rocm-smi or amd-smi", lambda e: e.has_amd_gpu and e.has_kfd, lambda e: bool(e.smi_gpus) or e.smi_problem is not None),
    ("kernel log", lambda e: e.has_kfd, lambda e: bool(e.texts.get("dmesg"))),
    ("KFD topology", lambda e: e.has_amd_gpu and e.has_kfd, lambda e: e.topology is not None),
    ("installed packages", lambda e: True, lambda e: e.packages is not None),
)  # fmt: skip


def _scope(e: Evidence) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What was looked at, and what such a machine would have and was not there to look at."""
    seen = tuple(name for name, _, there in _SCOPE if there(e))
    return seen, tuple(name for name, has, there in _SCOPE if has(e) and not there(e))


def rule_codes() -> Mapping[str, int]:
    """How many rules each code has."""
    counts: dict[str, int] = {}
    for rule in RULES:
        counts[rule.code] = counts.get(rule.code, 0) + 1
    return counts
