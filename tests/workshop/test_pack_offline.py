"""A pack is used where there is no network: set-up, lessons 00 and 01, an exercise, JupyterLab and the site.

The room is a network namespace that has nothing but a loopback of its own. Where the system allows none, this test fails: it
could not prove anything.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit.course import execute, table
from labkit.errors import LabkitError
from labkit.site import executed
from tests.browser.chromium import find_browser

pytestmark = [pytest.mark.notebooks, pytest.mark.timeout(2400)]
ROOT = Path(__file__).resolve().parents[2]
ROOM = "tests.workshop.offline_room"
BUILD = execute.BUILD / "test"


def without_network() -> list[str]:
    """What to put before a command, so that it runs without a network; fails where that is impossible here."""
    choices = ([["unshare", "-n", "--"]] if os.geteuid() == 0 else []) + [["unshare", "-rn", "--"]]
    said = []
    for choice in choices:
        answer = subprocess.run([*choice, "true"], capture_output=True, text=True, check=False, timeout=60)
        if answer.returncode == 0:
            return choice
        said.append(f"{' '.join(choice)}: {answer.stderr.strip()}")
    pytest.fail(
        f"This system allows no network namespace, so that nothing can be proved about a room without network. {said}"
    )


@pytest.fixture(scope="module")
def lessons() -> Path:
    """All lessons, executed: those of the run that other tests look at, if they are of this clone; else executed now."""
    folder = BUILD / "quick"
    try:
        executed.taken(folder, table.load().lessons)
    except (LabkitError, OSError, ValueError):
        execute.run([], profile="quick", parameters={}, output=folder, workers=2)
    return folder


@pytest.fixture(scope="module")
def pack(lessons: Path) -> Iterator[Path]:
    """A pack for this machine, made by the command that a teacher calls; deleted afterwards."""
    place = BUILD / "workshop"
    shutil.rmtree(place, ignore_errors=True)
    made = place / "pack"
    command = [
        sys.executable,
        "-m",
        "labkit",
        "workshop",
        "pack",
        "-o",
        str(made),
        "--no-fetch",
        "--from",
        str(lessons),
    ]
    try:
        answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=1500)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        print(answer.stdout)
        yield made
    finally:  # several GB
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="module")
def told(pack: Path) -> dict[str, Any]:
    """What happened in the room, in a copy of the pack whose path has a space and letters of other scripts."""
    copy = pack.parent / "Stick Übung 実験" / "ROCm Labs"
    shutil.copytree(pack, copy, copy_function=_hard_link)
    assert find_browser(), "no Chromium is here: what .ci/run installs is needed"
    answer = pack.parent / "told.json"
    with socket.create_server(("127.0.0.1", 0)) as server:  # somebody who can be reached from here, and not from there
        port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        threading.Thread(target=server.accept, daemon=True).start()
        command = [*without_network(), sys.executable, "-m", ROOM, str(copy), str(port), str(answer)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=2000)
    assert done.returncode == 0, done.stderr + (answer.read_text(encoding="utf-8") if answer.is_file() else "")
    return dict(json.loads(answer.read_text(encoding="utf-8")))


def _hard_link(source: str, target: str) -> None:
    """A copy takes three GB; wheels are only read."""
    if source.endswith(".whl"):
        os.link(source, target)
    else:
        shutil.copy2(source, target)


@pytest.mark.parametrize("when", ["network", "network at the end"])
def test_the_network_is_off(told: dict[str, Any], when: str) -> None:
    state = told[when]
    assert state["interfaces"] == ["lo"]
    assert state["outside"] == ["ENETUNREACH", "ENETUNREACH"]
    assert state["name"] == "unknown"
    assert state["the host's server"] == "ECONNREFUSED"


def test_the_computer_is_ready_before_and_after(told: dict[str, Any]) -> None:
    before, after = told["check before"], told["check after"]
    assert before["status"] == 0, before["text"]
    assert "all checksums" in before["text"]
    last = before["text"].strip().splitlines()[-1]
    assert last.startswith("READY seat=7 ") and " env=no " in last
    assert after["status"] == 0, after["text"]
    assert " env=yes " in after["text"].strip().splitlines()[-1]


def test_the_start_script_installs_everything_and_opens_jupyterlab(told: dict[str, Any]) -> None:
    start = told["start"]
    assert start["page"], start["text"]
    assert "From the pack: " in start["text"] and "JupyterLab starts" in start["text"]


def test_lessons_00_and_01_run(told: dict[str, Any], pack: Path) -> None:
    run = told["run"]
    assert run["status"] == 0, run["text"]
    folder = pack.parent / "Stick Übung 実験" / "ROCm Labs" / "course" / "build" / "room"
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert [row["id"] for row in report["lessons"]] == ["00", "01"]
    notebook = (folder / "01_mnist.ipynb").read_text(encoding="utf-8")
    assert "TODO linear_parameters" in notebook


def test_an_exercise_is_checked(told: dict[str, Any]) -> None:
    lines = told["exercise"]["text"].splitlines()
    assert told["exercise"]["status"] == 0, lines
    assert any(line.startswith("TODO linear_parameters") for line in lines)
    assert any(line.startswith("PASS linear_parameters") for line in lines)


def test_data_of_the_pack_is_found(told: dict[str, Any], pack: Path) -> None:
    """Where this machine has a data set, the pack has it, says under which licence, and the lessons find it there."""
    assert told["data"]["status"] == 0, told["data"]["text"]
    for item in json.loads((pack / "pack.json").read_text(encoding="utf-8"))["data"]:
        assert (pack / "course" / "data" / item["name"]).is_dir() == item["present"]
        assert item["licence"] if item["present"] else item["note"]
        found = f"course/data/{item['name']} (LABKIT_DATA)" in told["data"]["text"]
        assert found == item["present"], told["data"]["text"]


def test_the_site_opens_from_its_files(told: dict[str, Any]) -> None:
    site = told["site"]
    assert site["asked"] and all(url.startswith(("file:", "data:", "blob:")) for url in site["asked"]), site["asked"]
    assert not site["complaints"]
    assert "MNIST" in site["lesson"] and "linear_parameters" in site["text"]


def test_nothing_personal_is_in_it(pack: Path) -> None:
    """Neither this clone's folder, nor the home of whoever made the pack, nor the environment's."""
    names = {str(ROOT), str(Path.home()), sys.prefix, str(BUILD)}
    wanted = [f"{name}/".encode() for name in names if len(name) > 3]
    found = [
        path.relative_to(pack).as_posix()
        for path in pack.rglob("*")
        if path.is_file() and path.suffix != ".whl" and any(name in path.read_bytes() for name in wanted)
    ]
    assert not found
