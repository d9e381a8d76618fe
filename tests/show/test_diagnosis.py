"""The doctor's door for notebooks: any snapshot, a file from somebody else, this machine; text, HTML, Markdown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import labkit
from labkit import devices
from labkit.errors import LabkitError
from labkit.machine import simulate
from labkit.machine.report import command_in
from labkit.show.diagnosis import doctor


def test_a_broken_machine_is_named_in_all_three_forms() -> None:
    report = doctor(simulate.snapshot("user_not_in_render_group"))
    assert report.findings[0].code == "kfd-permission" and not report.healthy
    for form in (str(report), report._repr_html_(), report.as_markdown()):
        assert "kfd-permission" in form and "usermod -aG" in form
        assert "simulated" in form, "nothing simulated is shown without the word"


def test_a_healthy_machine_is_called_healthy() -> None:
    report = doctor(simulate.snapshot("rx7900xtx"))
    assert report.healthy and report.findings[0].code == "ok"


def test_the_symptom_is_heard() -> None:
    said = "RuntimeError: Expected one of cpu, cuda device type at start of device string: rocm"
    codes = [finding.code for finding in doctor(simulate.snapshot("rx7900xtx"), said).findings]
    assert codes[0] == "wrong-device-string"


def test_a_file_from_somebody_else_is_read(tmp_path: Path) -> None:
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps(simulate.snapshot("cpu_wheel_on_rx7900xtx")), encoding="utf-8")
    assert doctor(path).findings[0].code == "wrong-wheel-cpu"
    assert doctor(str(path)).findings[0].code == "wrong-wheel-cpu"
    with pytest.raises(LabkitError):
        doctor(tmp_path / "missing.json")


def test_without_an_argument_it_looks_at_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {**simulate.snapshot("wheel_without_target_rx6600"), "simulated": False}
    monkeypatch.setattr(devices, "snapshot", lambda: made)
    report = labkit.doctor()
    assert report.findings[0].code == "arch-not-in-wheel" and "simulated" not in str(report)


def test_what_others_wrote_is_shown_and_not_run() -> None:
    made = simulate.snapshot("user_not_in_render_group")
    made["groups"] = ["<script>alert(1)</script>"]
    shown = doctor(made)._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown


def test_every_command_of_a_report_has_its_own_box() -> None:
    shown = doctor(simulate.snapshot("cpu_wheel_on_rx7900xtx"))._repr_html_()
    boxes = [part.split(">", 1)[1].split("</pre>")[0] for part in shown.split("<pre")[1:]]
    assert any(box.startswith("python -m pip install --index-url") for box in boxes)
    assert not [box for box in boxes if box[0].isupper()], "a box holds a command and no sentence"


@pytest.mark.parametrize(
    ("step", "words", "command"),
    [
        ("sudo usermod -aG render,video $USER", "", "sudo usermod -aG render,video $USER"),
        ("On the host: sudo setsebool -P x=true", "On the host:", "sudo setsebool -P x=true"),
        (
            "unset A   # and delete it from ~/.bashrc, then log in",
            "",
            "unset A   # and delete it from ~/.bashrc, then log in",
        ),
        ('python -c "print((1), then)"', "", 'python -c "print((1), then)"'),
        ("Log out and in again.", "Log out and in again.", ""),
        ("sudo update-grub (Fedora: other), then restart", "sudo update-grub (Fedora: other), then restart", ""),
    ],
)
def test_commands_are_told_from_sentences(step: str, words: str, command: str) -> None:
    assert command_in(step) == (words, command)
