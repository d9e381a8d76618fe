"""How probes are run: apart, bounded, in an environment of their own; and what is told when one comes to no end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from labkit.catalog.claims import claims
from labkit.errors import LabkitError
from labkit.folklore import run
from labkit.folklore.observation import Observation, agrees
from labkit.folklore.probes.__main__ import observe, read
from labkit.folklore.registry import missing, probe
from labkit.folklore.running import ROOT, environment

QUICK = ["1.18", "2.33", "1.38"]


def test_one_claim_by_its_id_and_several() -> None:
    (outcome,) = run("1.38")
    assert outcome.claim.id == "1.38" and outcome.agrees is True and outcome.observation.holds is False
    assert outcome.seconds > 0
    heard: list[str] = []
    several = run(QUICK, told=lambda each: heard.append(each.claim.id))
    assert [each.claim.id for each in several] == heard and set(heard) == set(QUICK)
    assert all(each.agrees for each in several)


def test_a_claim_without_a_probe_gives_its_reason_and_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: pytest.fail("a process was started"))
    (outcome,) = run(["1.8"])
    assert outcome.agrees is None and outcome.observation.evidence == claims()["1.8"].why_no_probe


def test_an_unknown_id_is_told() -> None:
    with pytest.raises(LabkitError):
        run("7.7")


@pytest.mark.parametrize("ids", [["1.10"], ["1.10", "1.22", "2.33"]], ids=["alone", "together"])
def test_a_probe_that_takes_too_long_is_ended_with_what_it_started(ids: list[str]) -> None:
    """These two start a Python that imports torch, which takes longer than this."""
    outcomes = {outcome.claim.id: outcome for outcome in run(ids, seconds=0.3)}
    assert outcomes["1.10"].observation.saw == "broken" and "longer than 0.3 s" in outcomes["1.10"].observation.evidence
    assert outcomes["1.10"].agrees is None
    if "2.33" in outcomes:
        assert outcomes["2.33"].agrees is True, "the others go on"
    deadline = time.monotonic() + 5
    while (left := _probe_processes()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left


def _probe_processes() -> list[str]:
    """Processes below this one that belong to a probe, by what they were started with."""
    found = []
    for process in psutil.process_iter(["cmdline", "status", "environ"]):
        words = " ".join(process.info["cmdline"] or ())
        place = str((process.info["environ"] or {}).get("HOME", ""))
        if (
            "labkit-probes-" in place
            and process.info["status"] != psutil.STATUS_ZOMBIE
            and f"{os.getpid()}" in _parents(process)
        ):
            found.append(words)
    return found


def _parents(process: psutil.Process) -> str:
    """Ids of the processes above one; of one whose parent died (an orphan) this one's too, so that it is noticed."""
    try:
        above = [parent.pid for parent in process.parents()]
    except psutil.Error:
        return ""
    return f"{above} {os.getpid() if above[:1] == [1] or len(above) <= 1 else ''}"


def test_an_interpreter_that_cannot_run_it_is_told(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho this is no Python\nexit 3\n", encoding="utf-8")
    broken.chmod(0o755)
    if os.name == "nt":
        pytest.skip("a script with #! is for POSIX")
    outcomes = run(QUICK, python=str(broken))
    assert [outcome.observation.saw for outcome in outcomes] == ["broken"] * 3
    assert "this is no Python" in outcomes[0].observation.evidence


def test_the_environment_is_a_cleaned_one() -> None:
    given = {
        "PATH": "/bin", "HOME": "/home/me", "HSA_OVERRIDE_GFX_VERSION": "10.3.0", "PIP_INDEX_URL": "https://example.org", "SECRET": "x",
        "PYTORCH_ALLOC_CONF": "max_split_size_mb:64", "HIP_VISIBLE_DEVICES": "1", "PYTHONPATH": "/elsewhere", "https_proxy": "http://a",
    }  # fmt: skip
    made = environment("/tmp/folder", given)
    assert made["PATH"] == "/bin" and made["HIP_VISIBLE_DEVICES"] == "1"
    assert made["HOME"] == made["TMPDIR"] == made["TEMP"] == "/tmp/folder"
    assert not {"HSA_OVERRIDE_GFX_VERSION", "PIP_INDEX_URL", "SECRET", "PYTORCH_ALLOC_CONF"} & set(made)
    assert made["PIP_CONFIG_FILE"] == os.devnull and made["https_proxy"].startswith("http://127.0.0.1:")
    assert made["PYTHONPATH"] == str(ROOT)


def test_nothing_is_left_behind_and_nothing_of_the_package_changes(tmp_path: Path) -> None:
    before = sorted(path for path in (ROOT / "labkit" / "folklore").rglob("*") if "__pycache__" not in path.parts)
    folder = tmp_path / "temporary"
    folder.mkdir()
    program = "from labkit.folklore import run; print([o.agrees for o in run(['2.15', '2.34', '1.32', '1.47'])])"
    answer = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answer.stdout.strip() == "[True, True, True, True]", answer.stdout + answer.stderr
    assert list(folder.iterdir()) == []
    assert before == sorted(
        path for path in (ROOT / "labkit" / "folklore").rglob("*") if "__pycache__" not in path.parts
    )


@pytest.mark.light
def test_a_probe_that_raises_is_broken_and_does_not_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    from labkit.catalog import wheels

    monkeypatch.setattr(wheels, "indexes_for", lambda torch: 1 / 0)
    seen = observe(claims()["2.33"])
    assert seen.saw == "broken" and "ZeroDivisionError" in seen.evidence
    assert agrees("WRONG", seen.saw) is None and seen.holds is None


@pytest.mark.light
def test_an_observation_is_one_of_the_words_with_evidence() -> None:
    with pytest.raises(ValueError, match="none of"):
        Observation("perhaps", "a text")
    with pytest.raises(ValueError, match="without evidence"):
        Observation("holds", "  ")


@pytest.mark.light
def test_a_claim_has_one_probe() -> None:
    def other() -> Observation:
        return Observation("holds", "a text")

    observe(claims()["2.33"])
    with pytest.raises(ValueError, match="already"):
        probe("2.33")(other)


@pytest.mark.light
def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing(["tool:no-such-program-at-all"]) == "needs the program no-such-program-at-all"
    assert missing(["module:no_such_package"]) == "needs the package no_such_package"
    assert missing([]) == ""
    monkeypatch.setattr("labkit.folklore.registry._has_kfd", lambda: False)
    monkeypatch.setattr("labkit.folklore.registry._rocm_torch", lambda: False)
    assert missing(["amd-gpu"]) == missing(["rocm-torch"]) == "needs an AMD GPU"
    monkeypatch.setattr("labkit.folklore.registry._has_kfd", lambda: True)
    assert missing(["amd-gpu"]) == "" and "ROCm build" in missing(["rocm-torch"])


@pytest.mark.light
def test_a_line_of_the_protocol_and_any_other() -> None:
    assert read("a warning of some library") is None
    message = read("labkit-probe:" + json.dumps({"id": "1.1", "saw": "holds", "evidence": "e", "seconds": 0.1}))
    assert message is not None and message["saw"] == "holds"
