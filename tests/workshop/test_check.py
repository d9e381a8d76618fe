"""`workshop check`: each point can fail, the line is stable and holds nothing personal, and many lines become a table."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.course import lab
from labkit.errors import LabkitError
from labkit.machine import doctor, evidence, simulate
from labkit.machine.facts import Gpu, Machine
from labkit.setup.environment import Environment
from labkit.setup.install import Usage
from labkit.workshop import check, lines
from labkit.workshop.check import Here
from labkit.workshop.lines import Line
from labkit.workshop.pack.contents import Contents, WheelSet
from tests import bare

ROOT = Path(__file__).resolve().parents[2]
MACHINE = Machine("linux", False, "x86_64", (3, 12), (), False, False)
SET = WheelSet("linux", False, "x86_64", "3.12", "cpu", "cpu", (), "2.14.1+cpu", (("torch.whl", 3),))


@pytest.fixture
def here(tmp_path: Path) -> Here:
    """A healthy machine, with everything set up, in no pack."""
    place = Environment(tmp_path / "course" / ".venv", tmp_path / "course")
    return Here(tmp_path / "course", {}, MACHINE, place, True, {"torch": "2.14.1+cpu"}, None, None, None, "")


@pytest.fixture
def in_pack(here: Here, tmp_path: Path) -> Here:
    """The same machine before set-up, in a pack that fits it."""
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "torch.whl").write_bytes(b"abc")
    table = Contents(datetime.now(timezone.utc).strftime("%Y-%m-%d"), "", (SET,), (), True)
    return replace(here, ready=False, pack=tmp_path, table=table, chosen=SET)


def failed(here: Here, found: Any = ()) -> tuple[str, ...]:
    return check.judge(here, "", list(found))[1].failed


@pytest.fixture(autouse=True)
def healthy(monkeypatch: Any) -> None:
    """What depends on the computer of the tests is in order, unless a test says otherwise."""
    monkeypatch.setattr(lab, "choose_port", lambda _: 8888)
    monkeypatch.setattr(check, "_BROWSERS", ("sh", "cmd"))
    monkeypatch.setattr(check.places, "ram_available_bytes", lambda: 8_000_000_000)
    monkeypatch.setattr(check.shutil, "disk_usage", lambda _: Usage(10**12, 0, 10**12))
    monkeypatch.setattr(check.disk, "__defaults__", (lambda _: Usage(10**12, 0, 10**12),))


def test_a_machine_that_is_set_up_is_ready(here: Here) -> None:
    _, line = check.judge(here, "12", [])
    assert line.ready
    assert str(line).startswith(
        "READY seat=12 gpu=none doctor=ok torch=2.14.1+cpu env=yes python=3.12 system=linux disk=1000GB "
    )
    assert str(line).endswith(" port=8888 check=1")


def test_a_pack_that_fits_is_enough(in_pack: Here) -> None:
    _, line = check.judge(in_pack, "", [])
    assert line.ready and line.values["env"] == "no" and line.values["torch"] == "none"


def test_without_a_pack_an_environment_is_needed(here: Here) -> None:
    assert failed(replace(here, ready=False)) == ("environment",)


def test_a_pack_without_wheels_for_this_machine_is_not_enough(in_pack: Here) -> None:
    lost = replace(in_pack, chosen=None, note="The pack has wheels for Python 3.11; this is Python 3.12.")
    assert failed(lost) == ("wheels",)
    points, _ = check.judge(lost, "", [])
    assert any("install Python 3.12" in point.remedy for point in points), "the versions of the pack are named"


def test_a_wheel_that_was_cut_off_is_found(in_pack: Here) -> None:
    assert in_pack.pack is not None
    (in_pack.pack / "wheels" / "torch.whl").write_bytes(b"ab")
    assert failed(in_pack) == ("wheels",)


def test_an_old_python_is_named(in_pack: Here) -> None:
    assert failed(replace(in_pack, machine=replace(MACHINE, python=(3, 9)))) == ("python",)


def test_a_python_without_venv_is_named(in_pack: Here, monkeypatch: Any) -> None:
    monkeypatch.setattr(check.importlib.util, "find_spec", lambda _: None)
    assert failed(in_pack) == ("python",)


def test_a_full_disk_is_named(here: Here, monkeypatch: Any) -> None:
    monkeypatch.setattr(check.disk, "__defaults__", (lambda _: Usage(10**12, 0, 10**9),))
    assert failed(here) == ("disk",)


def test_before_set_up_more_room_is_needed(in_pack: Here, monkeypatch: Any) -> None:
    monkeypatch.setattr(check.disk, "__defaults__", (lambda _: Usage(10**12, 0, 3 * 10**9),))
    assert failed(in_pack) == ("disk",)
    assert failed(replace(in_pack, ready=True)) == ()


@pytest.mark.parametrize(
    ("bytes_", "good"),
    [((16 * 10**9, 10**9), False), ((16 * 10**9, 3 * 10**9), True), ((10**9, None), False), ((None, None), True)],
)
def test_memory(bytes_: tuple[int | None, int | None], good: bool) -> None:
    assert check.memory(bytes_)[1].good is good


def test_no_free_port_is_named(here: Here, monkeypatch: Any) -> None:
    def none(_: Any) -> int:
        raise LabkitError("No port from 8888 to 8987 is free.", "name one.")

    monkeypatch.setattr(lab, "choose_port", none)
    _, line = check.judge(here, "", [])
    assert line.failed == ("port",) and line.values["port"] == "none"


def test_a_machine_without_a_browser_is_named(monkeypatch: Any) -> None:
    monkeypatch.setattr(check, "_BROWSERS", ("no-such-browser",))

    def nothing() -> None:
        raise check.webbrowser.Error

    monkeypatch.setattr(check.webbrowser, "get", nothing)
    assert not check.browser(MACHINE, {}).good
    assert check.browser(MACHINE, {"BROWSER": "/opt/my browser"}).good
    assert check.browser(replace(MACHINE, wsl=True), {}).good
    assert check.browser(replace(MACHINE, system="windows"), {}).good


@pytest.mark.parametrize(
    ("day", "good"), [("1970-01-01", False), ("2026-11-29", True), ("2026-12-24", True), ("2038-01-19", False)]
)
def test_a_clock_that_cannot_be_right(day: str, good: bool) -> None:
    now = datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=timezone.utc)
    assert check.clock(Contents("2026-11-30", "", (), (), False), now).good is good


@pytest.mark.parametrize("fault", ["kfd-permission", "driver-not-loaded"])
def test_a_fault_that_the_doctor_finds_is_the_code_of_the_line(here: Here, fault: str) -> None:
    name = next(name for name in simulate.names() if fault in simulate.faults(name))
    found = doctor.diagnose(evidence.from_snapshot(simulate.snapshot(name, [fault]))).findings
    sick = replace(here, machine=replace(MACHINE, gpus=(Gpu("gfx1100", "Radeon", False, "test"),)))
    _, line = check.judge(sick, "", list(found))
    assert line.failed == ("gpu",) and line.values["doctor"] == fault and line.values["gpu"] == "gfx1100"


def test_a_machine_without_a_gpu_is_no_fault(here: Here) -> None:
    name = next(name for name in simulate.names() if "no-amd-gpu" in simulate.faults(name))
    found = doctor.diagnose(evidence.from_snapshot(simulate.snapshot(name, ["no-amd-gpu"]))).findings
    assert "no-amd-gpu" in [finding.code for finding in found]
    assert failed(here, [finding for finding in found if finding.code == "no-amd-gpu"]) == ()


def test_every_point_has_a_remedy(in_pack: Here) -> None:
    points, _ = check.judge(in_pack, "", [])
    assert {point.name for point in points} | {"files"} == set(lines.REMEDIES)
    for point in points:
        assert "What to do: " in str(replace(point, good=False))


def test_the_teacher_s_page_says_what_to_do_for_every_point() -> None:
    page = (ROOT / "notebooks" / "pages" / "teaching.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(lines.REMEDIES)
    (example,) = lines.parse(page)
    assert example.ready, "its example is a line that the command could print"


# -- the line ----------------------------------------------------------------------------------------------------------


WORD = st.text(st.characters(codec="utf-8"), max_size=30)


@given(
    ready=st.booleans(),
    names=st.lists(st.sampled_from(sorted(lines.REMEDIES)), min_size=1, max_size=4, unique=True),
    values=st.dictionaries(st.sampled_from(lines.FIELDS), WORD, min_size=1),
    before=st.sampled_from(["", "[12:03] Ana: ", "> ", "Seat 3 says\n", "\ufeff"]),
)
def test_a_line_survives_a_chat(ready: bool, names: list[str], values: dict[str, str], before: str) -> None:
    line = Line(ready, () if ready else tuple(names), {name: value for name, value in values.items() if value})
    if not line.values:
        return
    (found,) = lines.parse(f"{before}{line}\r\nthanks!")
    assert found.ready == line.ready and found.failed == line.failed
    assert set(found.values) == set(line.values)
    assert str(found) == str(line)


def test_a_line_that_was_wrapped_is_read() -> None:
    text = "NOT READY (wheels,\n disk) seat=3 gpu=none\n  python=3.12 check=1"
    (found,) = lines.parse(text)
    assert found.failed == ("wheels", "disk") and not found.ready and found.values["python"] == "3.12"


@pytest.mark.parametrize(
    "text",
    [
        "*READY* seat=3 python=3.12 check=1",
        "`READY seat=3 python=3.12 check=1`",
        "Ready Seat=3 python=3.12 check=1",
        "> READY seat=3\n> python=3.12 check=1",
        "\u200eREADY seat=3\u00a0python=3.12 check=1",
    ],
)
def test_a_line_that_a_chat_program_dressed_up_is_read(text: str) -> None:
    (found,) = lines.parse(text)
    assert found.ready and found.values == {"seat": "3", "python": "3.12"} and lines.unread(text) == []


def test_a_line_that_was_cut_off_is_named_and_never_dropped_in_silence(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "chat.txt"
    file.write_text("READY seat=1 env=yes check=1\nGus: READY seat=7 gpu=none doctor=ok sys\n", encoding="utf-8")
    assert check.collect([str(file)]) == 1
    said = capsys.readouterr().out
    assert "1 of 1 are ready." in said and said.rstrip().endswith("  Gus: READY seat=7 gpu=none doctor=ok sys")


def test_two_computers_under_one_seat_are_told(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "chat.txt"
    text = "READY seat=1 system=linux ram=8GB check=1\nNOT READY (disk) seat=2 system=linux ram=8GB check=1\n"
    file.write_text(text + "READY seat=2 system=linux ram=8GB check=1", encoding="utf-8")
    assert check.collect([str(file)]) == 0 and "two different" not in capsys.readouterr().out
    file.write_text(text + "READY seat=2 system=linux ram=16GB check=1", encoding="utf-8")
    check.collect([str(file)])
    assert "Seat 2 was named by two different computers" in capsys.readouterr().out


def test_words_about_being_ready_are_no_line() -> None:
    assert lines.parse("I am READY now. NOT READY yet? READY seat=3 check=9") == []


@pytest.mark.parametrize("name", ["12", "left-3", "A.7", "x" * 20])
def test_a_seat(name: str) -> None:
    assert lines.check_seat(name) == name


@pytest.mark.parametrize("name", ["", "Ana María", "a b", "x" * 21, "seat=3", "-3", "näh"])
def test_a_seat_that_cannot_stand_in_the_line(name: str) -> None:
    with pytest.raises(LabkitError, match="--seat"):
        lines.check_seat(name)


CHAT = """\
[09:01] Ana: READY seat=10 gpu=gfx1100 doctor=ok torch=2.14.1+rocm7.2 env=yes python=3.12 system=linux port=8888 check=1
[09:02] Bo: NOT READY (wheels, disk) seat=2 gpu=none doctor=ok torch=none env=no python=3.13 system=windows disk=2GB check=1
[09:03] Cem: NOT READY (disk) seat=9 env=no python=3.12 check=1
[09:04] Bo: sorry, again
[09:05] Bo: READY seat=2 gpu=none doctor=ok torch=none env=no python=3.12 system=windows disk=90GB check=1
"""


def test_lines_become_a_table(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "chat.txt"
    file.write_text(CHAT, encoding="utf-16")  # as PowerShell's > writes it
    assert check.collect([str(file)]) == 1
    said = capsys.readouterr().out
    rows = said.splitlines()
    assert [row.split()[1] for row in rows[1:4]] == ["2", "9", "10"], (
        "sorted as numbers, the last line of each seat counts"
    )
    assert "2 of 3 are ready." in said and "Of these, 1 with all packages" in said
    assert "disk (seat 9): free some space" in said and "wheels" not in said
    file.write_text(CHAT.replace("NOT READY (disk)", "READY"), encoding="utf-8")
    assert check.collect([str(file)]) == 0


def test_a_file_without_lines_is_told(tmp_path: Path) -> None:
    file = tmp_path / "empty.txt"
    file.write_text("hello\n", encoding="utf-8")
    with pytest.raises(LabkitError, match="no line of"):
        check.collect([str(file)])
    with pytest.raises(LabkitError):
        check.collect([str(tmp_path / "missing.txt")])


# -- as a user calls it ------------------------------------------------------------------------------------------------


def test_a_bare_python_answers_with_one_line_at_the_end(tmp_path: Path) -> None:
    answer = bare.labkit("workshop", "check", "--seat", "7", LABKIT_ENV=str(tmp_path / "none"))
    last = answer.stdout.rstrip().splitlines()[-1]
    (line,) = lines.parse(last)
    assert line.seat == "7" and "environment" in line.failed and answer.returncode == 1
    assert str(line) == last
    assert not list(tmp_path.iterdir()), "it changes nothing"
    user = os.environ.get("USER", "")
    assert str(Path.home()) not in last and (not user or user not in last.split("seat=7")[1])


def test_a_wrong_pack_is_told() -> None:
    answer = bare.labkit("workshop", "check", "--pack")
    assert answer.returncode == 1 and "lies in no pack" in answer.stderr and "Traceback" not in answer.stderr
