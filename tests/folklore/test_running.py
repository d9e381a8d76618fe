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
from labkit.folklore import child, run, running
from labkit.folklore.observation import Observation, agrees
from labkit.folklore.probes import __main__ as batch
from labkit.folklore.probes.__main__ import observe, read
from labkit.folklore.registry import missing, probe
from labkit.folklore.running import ROOT, environment

QUICK = ["1.18", "2.33", "1.38"]
_MESSAGE = json.dumps({"id": "1.18", "saw": "fails", "evidence": "a text", "seconds": 0.1})


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


def _alive(argument: str) -> list[int]:
    """Processes that were started with this argument and still run."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if argument in (process.info["cmdline"] or ()) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process.pid)
    return found


def _gone(argument: str) -> bool:
    deadline = time.monotonic() + 10
    while _alive(argument) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not _alive(argument)


@pytest.mark.skipif(sys.platform != "linux", reason="probes are forked on Linux only")
def test_a_forked_probe_that_takes_too_long_is_ended_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = tmp_path / "begun"

    def slow(claim: object) -> Observation:
        begun.write_text("", encoding="utf-8")
        child.tool("sleep", "61.25")
        return Observation("holds", "it was waited for")

    monkeypatch.setattr(batch, "observe", slow)
    seen = batch._forked(claims()["1.38"], 1.5)
    assert begun.exists() and seen.saw == "broken" and "longer than 1.5 s" in seen.evidence
    assert _gone("61.25")


@pytest.mark.skipif(os.name == "nt", reason="a script with #! is for POSIX")
@pytest.mark.parametrize("ids", [["1.38"], QUICK], ids=["alone", "together"])
def test_a_process_that_says_nothing_is_ended_with_what_it_started(
    ids: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_BEGIN", 1.0)
    silent = tmp_path / "python"
    silent.write_text("#!/bin/sh\nsleep 62.25 &\nwait\n", encoding="utf-8")
    silent.chmod(0o755)
    outcomes = run(ids, seconds=0.5, python=str(silent))
    assert all(outcome.observation.saw == "broken" for outcome in outcomes)
    assert "was ended" in outcomes[0].observation.evidence
    assert max(outcome.seconds for outcome in outcomes) < 60, "it was waited for to its own end"
    assert _gone("62.25")


@pytest.mark.skipif(sys.platform != "linux", reason="a batch is started on Linux only")
def test_whoever_stops_asking_ends_the_batch(tmp_path: Path) -> None:
    silent = tmp_path / "python"
    silent.write_text(f"#!/bin/sh\necho 'labkit-probe:{_MESSAGE}'\nsleep 63.25\n", encoding="utf-8")
    silent.chmod(0o755)

    def stop(outcome: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(QUICK, python=str(silent), told=stop)
    assert _gone("63.25")


def test_an_interpreter_that_cannot_run_it_is_told(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho this is no Python\nexit 3\n", encoding="utf-8")
    broken.chmod(0o755)
    if os.name == "nt":
        pytest.skip("a script with #! is for POSIX")
    outcomes = run(QUICK, python=str(broken))
    assert [outcome.observation.saw for outcome in outcomes] == ["broken"] * 3
    assert "this is no Python" in outcomes[0].observation.evidence


@pytest.mark.light
def test_no_room_for_a_temporary_folder_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**options: object) -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(running.tempfile, "TemporaryDirectory", full)
    with pytest.raises(LabkitError, match="No usable temporary directory") as told:
        run(QUICK)
    assert "TMPDIR" in told.value.remedy


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


def test_nothing_is_left_behind(tmp_path: Path) -> None:
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
