"""Words typed on one machine about another, and what is said of a machine without an AMD GPU."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.machine import doctor, redact, report, simulate
from labkit.machine.doctor import Diagnosis
from labkit.machine.evidence import from_snapshot

LAPTOP: dict[str, Any] = {
    "labkit_snapshot": 2, "system": "Linux", "pci": [], "devices": {}, "modules": {}, "environment": {}, "groups": ["users"],
    "kernel": "6.8.0", "packages": {"torch": "2.11.0"},
    "torch": {"version": "2.11.0+cpu", "hip": None, "cuda": None, "cuda_available": False},
}  # fmt: skip


def _of(symptom: str, snapshot: dict[str, Any] = LAPTOP) -> Diagnosis:
    return doctor.diagnose(from_snapshot(snapshot, symptom))


def test_a_machine_without_an_amd_gpu_is_told_that_the_course_runs() -> None:
    found = _of("")
    assert [finding.code for finding in found.findings] == ["no-amd-gpu"]
    for text in (report.as_text(found), report.as_markdown(found), report.as_html(found)):
        flat = " ".join(text.replace("&#x27;", "'").split())
        assert "The course runs on this machine's CPU" in flat and "doctor --from FILE" in flat
        assert "BLOCKS" not in flat


@pytest.mark.parametrize(
    ("symptom", "code"),
    [
        ("RuntimeError: HIP error: invalid device function", "arch-not-in-wheel"),
        ("Unable to open /dev/kfd read-write: Permission denied\nGPU agents: none", "kfd-permission"),
        (
            "ImportError: libamdhip64.so.5: cannot open shared object file: No such file or directory",
            "hip-library-mismatch",
        ),
        ("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.", "oom-real"),
        (
            "PS C:\\Users\\me> python -c 'import torch'\nOSError: [WinError 126] error loading c10.dll",
            "windows-dll-missing",
        ),
    ],
)
@pytest.mark.parametrize("system", ["Linux", "Darwin"])
def test_words_about_another_machine_are_judged(symptom: str, code: str, system: str) -> None:
    found = _of(symptom, {**LAPTOP, "system": system})
    first = found.findings[0]
    assert (first.code, first.confidence) == (code, "likely")
    assert "finding 1 is judged by them alone" in found.note
    assert found.as_json()["note"] == found.note
    if system == "Linux":
        assert [finding.code for finding in found.findings][1:] == ["no-amd-gpu"]


def test_words_that_nobody_knows_are_said_to_be_so() -> None:
    found = _of("the screen is a little sad today")
    assert [finding.code for finding in found.findings] == ["no-amd-gpu"]
    assert "point to nothing that the doctor knows" in found.note


def test_words_that_this_machine_explains_stay_with_it() -> None:
    broken = {**LAPTOP, "torch": {"error": "ModuleNotFoundError: No module named 'torch'"}, "packages": {}}
    found = _of("No module named 'torch'", broken)
    assert {finding.code: finding.confidence for finding in found.findings} == {
        "no-amd-gpu": "certain",
        "torch-missing": "certain",
    }
    assert not any("rocm" in step for finding in found.findings for step in finding.fix)


def test_words_on_a_machine_with_an_amd_gpu_are_about_it() -> None:
    machine = simulate.snapshot("rx7900xtx")
    found = _of("HIP error: invalid device function", machine)
    assert "no-amd-gpu" not in [finding.code for finding in found.findings] and not found.note


def test_what_such_a_machine_never_has_is_not_listed_as_missing() -> None:
    assert _of("").unknown == ("kernel log",)
    windows = _of("", {**LAPTOP, "system": "Windows", "windows_adapters": [{"name": "Intel(R) UHD Graphics"}]})
    assert not set(windows.unknown) & {"device nodes", "groups", "KFD topology", "PCI bus", "kernel log", "your words"}


@pytest.mark.parametrize("name", simulate.names())
def test_redaction_changes_no_finding(name: str) -> None:
    for fault in ["", *simulate.faults(name)]:
        snapshot = simulate.snapshot(name, [fault] if fault else [])
        before, after = (doctor.diagnose(from_snapshot(one)) for one in (snapshot, redact.redact(snapshot)))
        assert [finding.code for finding in before.findings] == [finding.code for finding in after.findings], fault


def test_markdown_keeps_sentences_as_sentences_and_commands_as_code() -> None:
    lines = report.as_markdown(_of("")).splitlines()
    assert "- There is no AMD GPU in this machine: the course runs on its CPU." in lines
    assert "- `` lspci -nn | grep -iE 'vga|display|3d|accelerators' ``" in lines
    for name in simulate.names():
        for fault in simulate.faults(name):
            for line in report.as_markdown(
                doctor.diagnose(from_snapshot(simulate.snapshot(name, [fault])))
            ).splitlines():
                words = line if "``" not in line else line.split("``")[0] + line.split("``")[-1]
                assert "<" not in words, (fault, line)  # a browser would take it for a tag
