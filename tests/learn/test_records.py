"""The progress file: what is kept, what survives damage, many processes and kills, and that a check never depends on it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.learn import records
from labkit.learn.records import entry as form
from labkit.learn.records import file, place
from labkit.learn.records.entry import Entry, Event

ROOT = Path(__file__).resolve().parents[2]
DAY = "2027-03-01"
posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")


def event(name: str = "evaluate", passed: bool = False, day: str = DAY, kind: str = "exercise") -> Event:
    return Event(name, "02", kind, passed, day)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A progress file of its own, also for ``note``."""
    found = tmp_path / "deep" / "progress.jsonl"
    monkeypatch.setenv("LABKIT_PROGRESS", str(found))
    records.start_anew()
    return found


@pytest.fixture(autouse=True)
def _anew() -> None:
    records.start_anew()


def python(code: str, *arguments: object, wait: bool = True) -> subprocess.Popen[str]:
    """A real process that runs code with labkit at hand."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    if wait:
        process.wait(timeout=60)
    return process


# ------------------------------------------------------------------------------------------------------------- entries


def test_tries_are_counted_up_to_the_first_right_answer() -> None:
    found = form.merged({}, [event(), event(), event(passed=True, day="2027-03-02"), event(), event(passed=True)])
    assert found == {"evaluate": Entry("evaluate", "02", "exercise", True, 3, "2027-03-02")}


def test_counting_stops_so_that_a_loop_writes_no_more() -> None:
    full = {"evaluate": Entry("evaluate", "02", "exercise", False, form.MOST_TRIES, DAY)}
    assert form.after(full, event(day="2028-01-01")) == full["evaluate"]
    assert form.after(full, event(passed=True)).passed


names = st.from_regex(r"\w{1,20}", fullmatch=True)
some = st.builds(
    Entry,
    names,
    st.sampled_from(["02", "10"]),
    st.sampled_from(form.KINDS),
    st.booleans(),
    st.integers(1, 9999),
    st.just(DAY),
)


@given(st.lists(some, max_size=8))
def test_what_is_written_is_read(rows: list[Entry]) -> None:
    entries = {row.name: row for row in rows}
    content = form.parse(form.dump(entries))
    assert dict(content.entries) == entries and content.damaged == 0 and not content.newer


@given(st.lists(some, min_size=1, max_size=6, unique_by=lambda row: row.name), st.data())
def test_whatever_is_cut_off_the_rest_is_read(rows: list[Entry], data: st.DataObject) -> None:
    entries = {row.name: row for row in rows}
    whole = form.dump(entries)
    cut = whole[: data.draw(st.integers(0, len(whole) - 2))]
    content = form.parse(cut)
    full_lines = cut.count(b"\n")
    assert len(content.entries) >= full_lines - 1 and set(content.entries.values()) <= set(rows)
    assert content.damaged or not cut or len(content.entries) == len(rows)


@given(st.binary(max_size=300))
def test_no_bytes_make_reading_fail(data: bytes) -> None:
    form.parse(data)
    form.parse(form.dump({"x": Entry("x", "02", "quiz", True, 1, DAY)}) + data)


@pytest.mark.parametrize(
    "field",
    [
        {"name": "../../x"},
        {"name": "Ada Lovelace"},
        {"lesson": "/home/ada"},
        {"kind": "homework"},
        {"passed": "yes"},
        {"tries": True},
        {"tries": -1},
        {"tries": 10**9},
        {"day": "2027-03-01 Ada"},
    ],
    ids=str,
)
def test_a_field_of_another_form_is_damage(field: dict[str, object]) -> None:
    good = {"name": "x", "lesson": "02", "kind": "quiz", "passed": True, "tries": 1, "day": DAY}
    head = b'{"labkit_progress": 1, "entries": 1}\n'
    assert form.parse(head + json.dumps(good).encode()).damaged == 0
    content = form.parse(head + json.dumps({**good, **field}).encode())
    assert content.damaged == 1 and not content.entries


def test_carriage_returns_and_a_mark_from_an_editor_are_no_damage() -> None:
    entries = {"x": Entry("x", "02", "quiz", True, 1, DAY)}
    assert form.parse(b"\xef\xbb\xbf" + form.dump(entries).replace(b"\n", b"\r\n")) == form.Content(entries)


# --------------------------------------------------------------------------------------------------------------- place


@pytest.mark.parametrize(
    ("environment", "system", "expected"),
    [
        ({}, "linux", "home/.local/share/labkit/progress.jsonl"),
        ({"XDG_DATA_HOME": "d"}, "linux", "d/labkit/progress.jsonl"),
        ({}, "darwin", "home/Library/Application Support/labkit/progress.jsonl"),
        ({}, "win32", "home/AppData/Local/labkit/progress.jsonl"),
        ({"LOCALAPPDATA": "l"}, "win32", "l/labkit/progress.jsonl"),
    ],
)
def test_the_file_lies_where_the_system_keeps_data(environment: dict[str, str], system: str, expected: str) -> None:
    assert place.default_path(environment, system, Path("home")) == Path(expected)


def test_a_home_folder_that_does_not_exist_is_no_error() -> None:
    assert place.chosen({"LABKIT_PROGRESS": "~nobody_of_this_name/progress.jsonl"}).path is None


def test_the_variable_names_a_file_or_turns_it_off() -> None:
    assert place.chosen({"LABKIT_PROGRESS": "mine.jsonl"}).path == Path("mine.jsonl")
    for word in ("off", "OFF", "0", "no", "none", " off "):
        assert place.chosen({"LABKIT_PROGRESS": word}).path is None


@pytest.mark.parametrize(
    ("environment", "headless", "writes"),
    [
        ({}, False, True),
        ({}, True, False),
        ({"CI": "true"}, False, False),
        ({"CI": "false"}, False, True),
        ({"PYTEST_CURRENT_TEST": "x"}, False, False),
        ({"LABKIT_PROGRESS": "named", "CI": "true"}, True, True),
        ({"LABKIT_PROGRESS": "off"}, False, False),
    ],
    ids=str,
)
def test_only_a_learner_writes_unasked(environment: dict[str, str], headless: bool, writes: bool) -> None:
    found = place.writable(environment, headless=headless)
    assert (found.path is not None) == writes and bool(found.why) != writes


def test_a_run_of_lessons_and_this_test_run_write_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from labkit.course import kernel

    assert os.environ["LABKIT_PROGRESS"] == "off", "tests/conftest.py"
    with monkeypatch.context() as of_a_learner:
        of_a_learner.setenv("LABKIT_PROGRESS", "mine.jsonl")
        assert kernel.environment(Path("x"))["LABKIT_PROGRESS"] == "off"
    assert records.note("evaluate", "02", "exercise", True) == ""
    assert records.where().path is None
    assert records.entries()["evaluate"].passed, "this process still knows"


# ---------------------------------------------------------------------------------------------------------------- file


def test_note_saves_and_another_process_reads(path: Path) -> None:
    assert records.note("evaluate", "02", "exercise", False) == ""
    assert records.note("evaluate", "02", "exercise", True) == ""
    records.start_anew()
    found = records.entries()["evaluate"]
    assert (found.passed, found.tries) == (True, 2)
    assert sorted(other.name for other in path.parent.iterdir()) == ["progress.jsonl", "progress.jsonl.lock"]


def test_what_is_passed_is_not_written_again(path: Path) -> None:
    records.note("evaluate", "02", "exercise", True)
    before = path.stat().st_mtime_ns, path.stat().st_ino
    records.note("evaluate", "02", "exercise", False)
    records.note("evaluate", "02", "exercise", True)
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before


@posix
def test_only_its_owner_may_read_it(path: Path) -> None:
    records.note("evaluate", "02", "exercise", True)
    assert path.stat().st_mode & 0o077 == 0


@posix
def test_a_link_stays_a_link(path: Path, tmp_path: Path) -> None:
    real = tmp_path / "real.jsonl"
    path.parent.mkdir()
    path.symlink_to(real)
    records.note("evaluate", "02", "exercise", True)
    assert path.is_symlink() and file.load(real).entries["evaluate"].passed


@pytest.mark.parametrize(
    "harm",
    [
        lambda data: data[:-30],
        lambda data: data.replace(b'"normalize"', b'"norm\x00lize"'),
        lambda data: data + b"\x00" * 4096,
        lambda data: b"\xff\xfe" + data,
        lambda data: data.split(b"\n", 1)[1],
        lambda data: b"<<<<<<< mine\n" + data,
    ],
    ids=["cut", "zero byte", "zeros at the end", "other encoding", "no head", "conflict marks"],
)
def test_a_damaged_file_is_set_aside_and_what_is_readable_is_kept(path: Path, harm: Callable[[bytes], bytes]) -> None:
    rows = [event("augment", True), event("evaluate", True), event("fit", True), event("normalize", True)]
    file.save(path, rows)
    bad = harm(path.read_bytes())
    path.write_bytes(bad)
    said = records.note("output_size", "02", "exercise", True)
    kept = file.load(path)
    assert "damaged" in said and "\n" not in said and not kept.damaged
    assert {"augment", "evaluate", "output_size"} <= set(kept.entries) and len(kept.entries) >= 4
    (aside,) = path.parent.glob("progress-damaged-*.jsonl")
    assert aside.read_bytes() == bad and aside.name in said
    assert records.note("output_size", "02", "exercise", True) == "", "said once"


def test_two_damaged_files_of_one_day_are_both_kept(path: Path) -> None:
    path.parent.mkdir()
    for text in ("first", "second"):
        path.write_text(text, encoding="utf-8")
        assert "damaged" in records.note(text, "02", "quiz", True)
    assert len(list(path.parent.glob("progress-damaged-*"))) == 2


def test_a_file_of_a_newer_labkit_is_left_as_it_is(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{"labkit_progress": 2}\n{"anything": 1}\n', encoding="utf-8")
    before = path.read_bytes()
    assert "newer" in records.note("evaluate", "02", "exercise", True)
    assert path.read_bytes() == before


def test_a_huge_file_is_not_read_whole(path: Path) -> None:
    file.save(path, [event("evaluate", True)])
    with path.open("ab") as stream:
        stream.write(b"x" * (file.MOST_BYTES + 10))
    content = file.load(path)
    assert content.damaged and content.entries["evaluate"].passed


def test_what_could_not_be_saved_is_told_once_kept_and_saved_later(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(file.os, "fsync", full)
        said = [records.note(name, "02", "exercise", True) for name in ("evaluate", "fit", "augment")]
        assert "No space left" in said[0] and said[1:] == ["", ""] and "\n" not in said[0]
        assert not path.exists() and not list(path.parent.glob("*.tmp")), "nothing half-written stays"
        assert records.entries()["fit"].passed
    assert records.note("normalize", "02", "exercise", True) == ""
    assert set(file.load(path).entries) == {"evaluate", "fit", "augment", "normalize"}


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only_is_one_sentence(path: Path) -> None:
    path.parent.mkdir(mode=0o500)
    said = [records.note(name, "02", "exercise", True) for name in ("evaluate", "fit")]
    assert "Permission denied" in said[0] and said[1] == ""


@pytest.mark.parametrize("what", ["folder", "file as folder"])
def test_a_place_that_can_hold_no_file_is_one_sentence(path: Path, tmp_path: Path, what: str) -> None:
    if what == "folder":
        path.mkdir(parents=True)
    else:
        path.parent.write_text("x", encoding="utf-8")
    said = [records.note(name, "02", "exercise", True) for name in ("evaluate", "fit")]
    assert "not saved" in said[0] and said[1] == ""


@posix
def test_a_device_is_no_place_for_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABKIT_PROGRESS", "/dev/zero")  # reading it would never end
    assert "not a file" in records.note("evaluate", "02", "exercise", True)


@posix
def test_a_limit_on_file_sizes_leaves_the_old_file_whole(path: Path) -> None:
    """The system itself refuses to write on, in the middle of the file, as a full disk does."""
    file.save(path, [event(f"e{number}", True) for number in range(20)])
    before = path.read_bytes()
    process = python(
        """
        import resource, sys
        from pathlib import Path
        from labkit.learn.records import file
        from labkit.learn.records.entry import Event
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
        try:
            file.save(Path(sys.argv[1]), [Event("late", "02", "exercise", True, "2027-03-01")])
        except file.CannotSave as problem:
            print("told:", problem)
        """,
        path,
    )
    assert process.stdout is not None and process.stdout.read().startswith("told:")
    assert path.read_bytes() == before and not list(path.parent.glob("*.tmp"))


def test_without_locks_it_is_saved_all_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_lock: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(file, "_take", none)
    assert records.note("evaluate", "02", "exercise", True) == "" and file.load(path).entries


def test_a_lock_that_somebody_keeps_is_waited_for_and_then_a_sentence(path: Path) -> None:
    path.parent.mkdir()
    with file.locked(path), pytest.raises(file.CannotSave, match="locked"):
        file.save(path, [event()], wait_s=0.05)
    assert file.save(path, [event()], wait_s=0.05).entries


# -------------------------------------------------------------------------------------------------- many processes, kills

WRITER = """
import sys
from pathlib import Path
from labkit.learn.records import file
from labkit.learn.records.entry import Event
path, own, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for number in range(count):
    file.save(path, [Event("shared", "02", "exercise", False, "2027-03-01")], wait_s=60)
    file.save(path, [Event(f"{own}_{number}", "02", "exercise", True, "2027-03-01")], wait_s=60)
"""


def test_many_processes_at_once_lose_nothing(path: Path) -> None:
    writers, count = 5, 8
    running = [python(WRITER, path, f"w{number}", count, wait=False) for number in range(writers)]
    seen: list[int] = []
    while any(process.poll() is None for process in running):
        content = file.load(path)
        assert not content.damaged
        seen.append(len(content.entries))
        time.sleep(0.002)
    assert [process.wait(timeout=60) for process in running] == [0] * writers
    found = file.load(path).entries
    assert found["shared"].tries == writers * count
    assert len(found) == 1 + writers * count and seen == sorted(seen), "a reader never sees less than before"


KILLED = """
import os, signal, sys
from pathlib import Path
from labkit.learn.records import file
from labkit.learn.records.entry import Event
path, where = Path(sys.argv[1]), sys.argv[2]
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
if where == "write":
    real = os.write
    def half(stream, data):
        real(stream, bytes(data)[: len(data) // 2])
        die()
    file.os.write = half
elif where == "fsync":
    file.os.fsync = die
elif where == "rename":
    file._patiently = die
elif where == "aside":
    file._copy_aside = die
file.save(path, [Event("late", "02", "exercise", True, "2027-03-01")])
print("alive")
"""


@posix
@pytest.mark.parametrize("where", ["write", "fsync", "rename", "aside"])
def test_a_kill_at_any_point_leaves_a_whole_file(path: Path, where: str) -> None:
    file.save(path, [event("evaluate", True), event("fit", True)])
    if where == "aside":
        path.write_bytes(path.read_bytes() + b"junk")
    before = path.read_bytes()
    assert python(KILLED, path, where).returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    assert set(file.save(path, [event("augment", True)], wait_s=1).entries) == {"evaluate", "fit", "augment"}
    assert not list(path.parent.glob("*.tmp")), "what the dead one left is used up"


@posix
def test_kills_at_random_moments_lose_nothing_that_was_saved(path: Path) -> None:
    code = """
    import sys
    from pathlib import Path
    from labkit.learn.records import file
    from labkit.learn.records.entry import Event
    number = int(sys.argv[2])
    while True:
        file.save(Path(sys.argv[1]), [Event(f"e{number}", "02", "exercise", True, "2027-03-01")])
        print(f"e{number}", flush=True)
        number += 1
    """
    dice = random.Random(7)
    start, told = 0, set()
    for _ in range(6):
        process = python(code, path, start, wait=False)
        assert process.stdout is not None
        told.add(process.stdout.readline().strip())
        time.sleep(dice.uniform(0.001, 0.05))
        process.kill()
        told |= {line for line in process.stdout.read().split("\n")[:-1] if line}
        process.wait(timeout=30)
        content = file.load(path)
        assert not content.damaged and told <= set(content.entries)
        start += 1000
    assert len(told) >= 6


def test_forgetting_renames_the_file(path: Path) -> None:
    assert file.move_aside(path) is None
    file.save(path, [event("evaluate", True)])
    before = path.read_bytes()
    aside = file.move_aside(path)
    assert aside is not None and aside.read_bytes() == before and not path.exists()
    assert records.entries() == {}


def test_an_entry_carries_no_more_than_it_says() -> None:
    assert set(replace(Entry("x", "02", "quiz", True, 1, DAY)).__dict__) == {
        "name", "lesson", "kind", "passed", "tries", "day"
    }  # fmt: skip
