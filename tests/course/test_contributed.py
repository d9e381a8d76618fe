"""Reports of machines: made from a run, and checked for their form, for what can be true, and for personal data."""

from __future__ import annotations

import contextlib
import copy
import json
from argparse import Namespace
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.course import arguments, contributed, execute, table
from labkit.course.contributed import check, fingerprint, make, name, personal, plausible, shape
from labkit.course.table import Lesson
from labkit.errors import LabkitError
from tests import bare

NOW = datetime(2026, 12, 24, 12, 0, tzinfo=timezone.utc)
GPU = {
    "version": "2.14.1+rocm7.2",
    "build": "rocm",
    "hip": "7.2.26015-fc0010cf6a",
    "cuda": None,
    "device": "cuda:0",
    "product": "AMD Radeon RX 7900 XTX",
    "gfx": "gfx1100",
    "memory_bytes": 25753026560,
    "threads": 16,
}


def time(seconds: float) -> str:
    return (datetime(2026, 12, 1, 10, 0, tzinfo=timezone.utc) + timedelta(seconds=seconds)).strftime(
        "%Y-%m-%dT%H:%M:%SZ"
    )


def report(torch: dict[str, Any] | None = None) -> dict[str, Any]:
    """A report that is in order: all lessons of the course, 20 s each, one after the other."""
    lessons = [
        {
            "id": lesson.id,
            "name": lesson.name,
            "status": "passed",
            "seconds": 20.0,
            "cells": 30,
            "cells_total": 30,
            "executed": time(5 + 20 * at),
            "stand_in": None,
            "error": None,
            "fingerprint": "0123-4567-89ab-cdef",
        }
        for at, lesson in enumerate(table.load().lessons)
    ]
    return {
        "schema": shape.SCHEMA,
        "version": 1,
        "labkit": "0.1.0",
        "made": time(20 * len(lessons) + 60),
        "note": "",
        "profile": "quick",
        "started": time(0),
        "seconds": 20.0 * len(lessons) + 1,
        "workers": 1,
        "machine": {
            "system": "Linux",
            "architecture": "x86_64",
            "distribution": "ubuntu 24.04",
            "kernel": "6.8.0",
            "wsl": False,
            "container": False,
            "processor": "AMD Ryzen 9 7950X 16-Core Processor",
            "processors": 32,
            "ram_gib": 62.7,
            "python": "3.12.3",
            "torch": copy.deepcopy(torch or GPU),
            "rocm": "7.2.0",
            "driver": "6.12.12",
        },
        "lessons": lessons,
    }


def problems(data: Any) -> str:
    """What the check says to these data, in one text."""
    return "\n".join(map(str, check.text(json.dumps(data), NOW)[1]))


def changed(*path: Any, to: Any) -> dict[str, Any]:
    """A report in order but for one value."""
    made = report()
    put(made, path, to)
    return made


def put(place: Any, path: tuple[Any, ...], value: Any) -> None:
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value


# ------------------------------------------------------------------------------------------------------------- in order


@pytest.mark.parametrize(
    "torch",
    [
        GPU,
        {**GPU, "product": "AMD Instinct MI300X", "gfx": "gfx942", "memory_bytes": 206141652992},
        # a quarter of an MI300X, as its partitions show themselves
        {**GPU, "product": "AMD Instinct MI300X", "gfx": "gfx942", "memory_bytes": 48 * 2**30},
        {**GPU, "product": "AMD Radeon 8060S", "gfx": "gfx1151", "memory_bytes": 30 * 2**30},
        {**GPU, "product": "AMD Radeon Graphics", "gfx": "gfx1103", "memory_bytes": 4 * 2**30},
        {
            **GPU,
            **dict.fromkeys(("hip", "product", "gfx", "memory_bytes")),
            "version": "2.14.1+cpu",
            "build": "cpu",
            "device": "cpu",
        },
        {
            **GPU,
            **dict.fromkeys(("hip", "product", "gfx", "memory_bytes")),
            "version": "2.14.1",
            "build": "cpu",
            "device": "mps",
        },
        {
            **GPU,
            "version": "2.13.0+cu128",
            "build": "cuda",
            "hip": None,
            "cuda": "12.8",
            "gfx": None,
            "product": "NVIDIA H200",
        },
    ],
    ids=lambda torch: f"{torch['product']}-{torch['device']}",
)
def test_what_is_true_passes(torch: dict[str, Any]) -> None:
    assert problems(report(torch)) == ""


def test_a_failed_lesson_is_as_welcome() -> None:
    made = report()
    made["lessons"][3] |= {"status": "failed", "cells": 7, "error": {"kind": "cell", "cell": 16}}
    made["lessons"][4] |= {
        "status": "failed",
        "seconds": 0.0,
        "cells": 0,
        "cells_total": 0,
        "executed": None,
        "fingerprint": None,
    }
    made["lessons"][4]["error"] = {"kind": "notebook", "cell": None}
    made["seconds"] -= 20
    assert problems(made) == ""


def test_the_reports_of_the_repository_are_in_order() -> None:
    found = check.files(contributed.REPORTS)
    assert found, "the course's own report is gone"
    for path in found:
        assert check.file(path).problems == ()


# ------------------------------------------------------------------------------------------------------------- the form


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value of a report, and of every object in it."""
    found = [path] if path else []
    if isinstance(value, dict):
        for key, content in value.items():
            found += leaves(content, (*path, key))
    elif isinstance(value, list):
        found += leaves(value[0], (*path, 0))
    return found


EVERY = leaves(report())


@pytest.mark.parametrize("path", EVERY, ids=str)
def test_every_key_is_needed_and_of_its_kind(path: tuple[Any, ...]) -> None:
    made = report()
    place: Any = made
    for step in path[:-1]:
        place = place[step]
    for wrong in (["x"], -1, "\x1b[31m", float("inf")):
        place[path[-1]] = wrong
        assert check.text(json.dumps(made).replace("Infinity", "1e999"), NOW)[1], f"{path} may be {wrong!r}"
    if path[-1] != 0:
        del place[path[-1]]
        assert f"'{'.'.join(map(str, path)).replace('.0.', '[0].')}' is missing" in problems(made) or path in (
            ("schema",),
            ("version",),
        )


@pytest.mark.parametrize("path", [(), ("machine",), ("machine", "torch"), ("lessons", 0)], ids=str)
def test_another_key_is_refused(path: tuple[Any, ...]) -> None:
    assert "is unknown. Take it out" in problems(changed(*path, "hostname", to="box"))


def test_other_texts_are_told_apart() -> None:
    assert "not JSON" in check.text("{", NOW)[1][0].what
    assert "a key stands there twice" in check.text('{"a": 1, "a": 2}', NOW)[1][0].what
    assert "NaN is no number" in check.text('{"a": NaN}', NOW)[1][0].what
    assert "nested too deeply" in check.text("[" * 100_000, NOW)[1][0].what
    assert "characters" in check.text(" " * 300_000, NOW)[1][0].what
    assert "one JSON object" in problems([])
    assert "its 'schema' is not" in problems({})
    assert "labkit report make --from" in problems({"schema": "rocm-labs-report", "version": 2})
    assert "another version" in problems({"schema": shape.SCHEMA, "version": 2})


# ------------------------------------------------------------------------------------------------------------ the truth


def late(seconds: float) -> str:
    return (NOW + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize(
    ("path", "to", "said"),
    [
        (("made",), late(3600), "made is in the future"),
        (("started",), "2026-10-31T23:59:59Z", "before the first lesson existed"),
        (("started",), "2026-12-32T10:00:00Z", "no time that exists"),
        (("made",), time(30), "before its run had ended"),
        (("lessons", 0, "executed"), time(-60), "not within the run"),
        (("lessons", 5, "executed"), time(86), "began before lesson"),
        (("lessons", 0, "seconds"), 0.01, "no kernel starts so fast"),
        (("lessons", 0, "seconds"), 0, "no kernel starts so fast"),
        (("lessons", 0, "seconds"), 4000.0, "longer than any limit"),
        (("lessons", 0, "seconds"), 300.0, "longer than the whole run"),
        (("lessons", 0, "seconds"), 60.0, "can hold"),
        (("seconds",), 9000.0, "its lessons only"),
        (("lessons", 0, "cells"), 29, "passed with 29 of 30 cells"),
        (("lessons", 0, "cells"), 31, "more cells than it has"),
        (("lessons", 0, "error"), {"kind": "cell", "cell": 1}, "passed and names an error"),
        (("lessons", 0, "status"), "failed", "without a kind of error"),
        (("lessons", 0, "fingerprint"), None, "which text of it is not said"),
        (("lessons", 0, "name"), "mnist", "no lesson 00_mnist"),
        (("lessons", 0, "id"), "77", "no lesson 77_"),
        (("machine", "torch", "hip"), None, "rocm build and names no version of HIP"),
        (("machine", "torch", "cuda"), "13.0", "rocm build and names a version of CUDA"),
        (("machine", "torch", "build"), "cpu", "CPU build of torch computed on a GPU"),
        (("machine", "torch", "version"), "2.14.1+cu130", "called a rocm build"),
        (("machine", "torch", "version"), "1.13.0", "need torch 2.10"),
        (("machine", "torch", "gfx"), "gfx1234", "not in the catalog"),
        (("machine", "torch", "gfx"), None, "not in the catalog"),
        (("machine", "torch", "gfx"), "gfx1030", "is gfx1100, and the file says gfx1030"),
        (("machine", "torch", "memory_bytes"), 16 * 2**30, "is not the memory of Radeon RX 7900 XTX"),
        (("machine", "torch", "memory_bytes"), None, "its memory is not named"),
        (("machine", "torch", "device"), "cpu", "a GPU's product, target or memory is named"),
        (("machine", "system"), "Windows", ""),
        (("machine", "python"), "2.7.18", "a version of Python 3"),
        (("machine", "kernel"), "6.8.0-annas-box", "the numbers of a version"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_cannot_be_is_refused(path: tuple[Any, ...], to: Any, said: str) -> None:
    told = problems(changed(*path, to=to))
    assert said in told and bool(told) is bool(said)


def test_lessons_twice_or_in_another_order_are_refused() -> None:
    made = report()
    made["lessons"][1] = {**made["lessons"][0]}
    assert "stands there twice" in problems(made)
    made = report()
    for one, other in ((2, 3), (3, 2)):
        lesson = table.load().lessons[other]
        made["lessons"][one] |= {"id": lesson.id, "name": lesson.name}
    assert "not in the order of the course" in problems(made)


def test_side_by_side_more_seconds_fit() -> None:
    made = report()
    made["seconds"] = made["seconds"] / 2
    assert "can hold" in problems(made)
    for at, row in enumerate(made["lessons"]):
        row["executed"] = time(5 + 10 * at)
    made["workers"] = 2
    assert problems(made) == ""


# -------------------------------------------------------------------------------------------------------- personal data

PLANTED = [
    ("/home/me/rocm-labs", "a path"),
    ("in ~/course", "a path"),
    (r"C:\Users\learner\labs", "a path"),
    ("data/mine/set", "a path"),
    ("ask anna@example.org", "an e-mail address"),
    ("anna@workstation", "an account name"),
    ("@annalearns", "an account name"),
    ("node17.cluster.local", "a host name"),
    ("gpu.example.com", "a host name"),
    ("DESKTOP-4F7K2QX", "a host name"),
    ("Annas-MacBook-Pro", "a host name"),
    ("anna-laptop", "a host name"),
    ("192.168.1.17", "a network address"),
    ("10.0.0.4", "a network address"),
    ("fe80::1c2a:3bff:fe4d:5e6f", "a network address"),
    ("aa:bb:cc:dd:ee:0f", "a hardware address (MAC)"),
    ("aabb.ccdd.ee0f", "a hardware address (MAC)"),
    ("serial: PCB012345-0001", "a serial number"),
    ("S/N 4711AX", "a serial number"),
    ("123e4567-e89b-12d3-a456-426614174000", "a UUID or unique id"),
    ("GPU-4f2a9c01d3e85b77", "a UUID or unique id"),
    ("0x4f2a9c01d3e85b77", "a UUID or unique id"),
    ("https://example.org/x", "a web address"),
    ("hf_abcdefghijklmnop", "a key or password"),
    ("ssh-ed25519 AAAAC3NzaC1lZDI1", "a key or password"),
    ("１９２.168。1.5", "a network address"),
    ("١٩٢.١٦٨.١.٥", "a network address"),
    ("+49 170 1234567", "a telephone number"),
]


@pytest.mark.parametrize(("text", "kind"), PLANTED, ids=lambda value: value)
def test_planted_personal_data_are_found(text: str, kind: str) -> None:
    assert kind in personal.kinds(text)
    told = problems(changed("note", to=f"Run with {text} beside it"))
    assert f"note seems to hold {kind}. Take it out" in told


@pytest.mark.parametrize("path", [path for path in EVERY if isinstance(path[-1], str)], ids=str)
def test_every_place_is_looked_at(path: tuple[Any, ...]) -> None:
    """A host name in any value, of any kind, is named; so is one in a key."""
    assert "seems to hold a host name" in problems(changed(*path, to="node17.cluster.local"))
    assert "a key of" in problems(changed(*path[:-1], "node17.cluster.local", to=1))


@pytest.mark.parametrize(
    "text",
    [
        "2.14.1+rocm7.2",
        "7.2.26015-fc0010cf6a",
        "gfx90a:sramecc+:xnack-",
        "AMD Ryzen 7 8845HS w/ Radeon 780M Graphics",
        "Intel(R) Xeon(R) Processor @ 2.80GHz",
        "Radeon RX 6700/6750 XT",
        "2026-12-01T10:00:05Z",
        "32.0.12011.1036",
        "6.6.87.2",
        "2.14.0a0+gitabcdef123456",
        "0123-4567-89ab-cdef",
        "algbw/busbw as in nccl-tests, n/a elsewhere",
        "Two cores, other work beside it; lesson 08 took longer.",
        "A mini-PC, a gaming-laptop, an old-pc",
    ],
)
def test_versions_and_products_are_nobody(text: str) -> None:
    assert personal.kinds(text) == ()


def test_a_text_that_is_no_json_is_looked_at_as_well() -> None:
    assert "a path" in "\n".join(map(str, check.text("{ /home/me/x", NOW)[1]))


# ------------------------------------------------------------------------------------------------------- never a traceback

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=30)
    | st.sampled_from(["cpu", "gfx1100", "passed"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.parametrize("whole", [10**400, 10**4000, -(10**400)], ids=["400 digits", "4000 digits", "below zero"])
def test_a_number_that_no_float_can_hold_is_answered(whole: int) -> None:
    assert "'seconds' is" in problems(changed("seconds", to=whole))
    assert "'workers' is" in problems(changed("workers", to=whole))


@pytest.mark.parametrize(
    "sign", ["\ud800", "\u202e", "\u200b", "\u2028", "\x85"], ids=["half", "turned round", "hidden", "line", "c1"]
)
def test_a_note_holds_only_what_can_be_seen_and_written(sign: str) -> None:
    assert "'note' is" in problems(changed("note", to=f"two{sign}cores"))
    if not sign.isspace():  # make puts one blank in the place of others
        with pytest.raises(LabkitError, match="signs that are no text"):
            make.judge(Namespace(note=f"two{sign}cores", output=None, executed=None))


def test_digits_of_other_scripts_are_no_version() -> None:
    assert "machine.python" in problems(changed("machine", "python", to="3.١١.٢"))


def test_long_texts_take_no_long_time() -> None:
    """Patterns over 100,000 characters took many minutes (the test's own limit of time ends it then)."""
    told = check.text(json.dumps({**report(), "a-" * 45_000: 1}), NOW)[1]
    assert any("is unknown" in one.what for one in told)


def test_a_device_or_a_folder_or_a_large_file_is_answered(tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(50 << 30)  # takes no room
    assert "more than 200000 bytes" in check.file(large, NOW).problems[0].what
    assert "is a folder" in check.file(tmp_path, NOW).problems[0].what
    if Path("/dev/zero").exists():
        assert "device" in check.file(Path("/dev/zero"), NOW).problems[0].what


@settings(max_examples=150)
@given(st.text(max_size=300))
def test_any_text_is_answered(text: str) -> None:
    assert check.text(text, NOW)[1]


@settings(max_examples=250)
@given(st.sampled_from(EVERY), ANYTHING, st.sampled_from(EVERY), ANYTHING)
def test_any_value_in_any_place_is_answered(
    first: tuple[Any, ...], one: Any, second: tuple[Any, ...], other: Any
) -> None:
    made = report()
    put(made, first, one)
    with contextlib.suppress(LookupError, TypeError):  # the first value may have taken the second's place away
        put(made, second, other)
    found, told = check.text(json.dumps(made), NOW)
    assert all(isinstance(one.what, str) and one.remedy for one in told)
    if found is not None and not told:
        name.file_name(found)


@settings(max_examples=100)
@given(st.binary(max_size=200))
def test_any_file_is_answered(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_bytes(content)
    assert check.file(path, NOW).problems


# ---------------------------------------------------------------------------------------------------------- the command


def test_a_line_for_each_file_and_the_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    committed = check.files(contributed.REPORTS)[0]
    good.write_bytes(committed.read_bytes())
    bad.write_text("{}", encoding="utf-8")
    assert check.main(Namespace(files=[str(good)])) == 0
    assert capsys.readouterr().out.startswith("OK  ")
    assert check.main(Namespace(files=[str(good), str(bad), str(tmp_path / "none.json"), str(tmp_path)])) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines if not line.startswith("  ")] == [
        "OK", "NOT IN ORDER", "NOT IN ORDER", "NOT IN ORDER", "1 of 4 files are in order.",
    ]  # fmt: skip
    assert all(line.startswith("  - ") for line in lines if line.startswith(" "))


def test_it_runs_on_a_bare_python() -> None:
    answer = bare.labkit("report", "check")
    assert answer.returncode == 0 and "OK  reports" in answer.stdout, answer.stdout + answer.stderr


def test_a_file_in_the_folder_has_its_machine_s_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "REPORTS", tmp_path)
    wanted = name.file_name(report())
    assert wanted == "gfx1100-radeon-rx-7900-xtx-linux-x86_64-torch2.14.1-2026-12-01.json"
    for file, fine in ((wanted, True), (wanted.replace(".json", "-2.json"), True), ("annas-box.json", False)):
        (tmp_path / file).write_text(json.dumps(report()), encoding="utf-8")
        told = [str(one) for one in check.file(tmp_path / file, NOW).problems]
        assert told == ([] if fine else [f"Its name is not that of its machine and day. Rename it to {wanted}."])


# ------------------------------------------------------------------------------------------------------------------ make

SNAPSHOT = {
    "system": "Linux",
    "architecture": "x86_64",
    "python": {"version": "3.12.3"},
    "kernel": "6.8.0-annas-box",
    "proc_version": "Linux version 6.8.0-annas-box (anna@box)",
    "os_release": 'NAME="Ubuntu"\nID=ubuntu\nVERSION_ID="24.04"\nHOME_URL="https://example.org"',
    "container": [],
    "ram_bytes": 64 * 10**9,
    "amdgpu_version": "6.12.12",
    "rocm": [{"version": "6.4.1-83"}, {"version": "7.2.0-12"}, {"version": None}],
    "identity": {"host": "annas-box", "user": "anna", "home": "/home/user"},
}


def cell(kind: str, source: str, *tags: str) -> dict[str, Any]:
    return {"cell_type": kind, "metadata": {"tags": list(tags)}, "source": source.splitlines(keepends=True)}


def ran(
    folder: Path, *, injected: str = 'profile = "quick"\n', at: int = 0, profile: str = "quick", **row: Any
) -> Path:
    """What a run of one lesson leaves in a folder."""
    folder.mkdir(exist_ok=True)
    lesson = table.load().lessons[at]
    cells = [cell("markdown", "# One"), cell("code", 'profile = "quick"', "parameters"), cell("code", "print(1)")]
    cells.insert(2, cell("code", injected, "injected-parameters"))
    (folder / lesson.path.name).write_text(json.dumps({"cells": cells}), encoding="utf-8")
    rows = {
        "id": lesson.id,
        "name": lesson.name,
        "title": lesson.title,
        "status": "passed",
        "seconds": 3.0,
        "cells": 2,
        "cells_total": 2,
        "executed": time(1),
        "stand_in": False,
        "error": None,
        "notebook": lesson.path.name,
        **row,
    }
    run = {
        "schema": "rocm-labs-report",
        "version": 2,
        "profile": profile,
        "started": time(0),
        "seconds": 4.0,
        "workers": 1,
        "machine": {
            "system": "Linux",
            "architecture": "x86_64",
            "python": "3.12.3",
            "torch": {**GPU, "gfx": "gfx1100:xnack-"},
        },
        "lessons": [rows],
    }
    (folder / "report.json").write_text(json.dumps(run), encoding="utf-8")
    return folder


def test_a_run_becomes_a_report(tmp_path: Path) -> None:
    made = make.of_run(ran(tmp_path / "run"), SNAPSHOT, note="quiet", now=NOW)
    assert problems(made) == ""
    machine = made["machine"]
    assert (machine["kernel"], machine["distribution"]) == ("6.8.0", "ubuntu 24.04")
    assert (machine["rocm"], machine["driver"], machine["torch"]["gfx"]) == ("7.2.0", "6.12.12", "gfx1100")
    assert "anna" not in json.dumps(made) and "box" not in json.dumps(made)
    assert made["note"] == "quiet" and made["made"] == "2026-12-24T12:00:00Z"


def test_an_error_s_message_stays_at_home(tmp_path: Path) -> None:
    error = {"kind": "cell", "message": "FileNotFoundError: /home/user/secret", "cell": 2, "source": "open(secret)"}
    made = make.of_run(ran(tmp_path / "run", status="failed", cells=1, error=error), SNAPSHOT, now=NOW)
    assert made["lessons"][0]["error"] == {"kind": "cell", "cell": 2}
    assert "secret" not in json.dumps(made) and problems(made) == ""


def broken(what: str, folder: Path) -> dict[str, Any]:
    """A run that no report can be made of; returns the snapshot to make it with."""
    if what == "no folder":
        return SNAPSHOT
    ran(folder, injected="epochs = 0\n" if what == "own parameters" else 'profile = "quick"\n')
    path = folder / "report.json"
    run = json.loads(path.read_text(encoding="utf-8"))
    if what == "no notebook":
        (folder / run["lessons"][0]["notebook"]).unlink()
    changes: dict[str, Callable[[], Any]] = {
        "no torch": lambda: run["machine"].update(torch=None),
        "no lesson": lambda: run.update(lessons=[]),
        "half a lesson": lambda: run["lessons"][0].pop("cells"),
        "other schema": lambda: run.update(version=1),
    }
    changes.get(what, lambda: None)()
    path.write_text("{" if what == "no JSON" else json.dumps(run), encoding="utf-8")
    return {**SNAPSHOT, "architecture": "arm64"} if what == "elsewhere" else SNAPSHOT


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("no folder", "There is no"),
        ("no JSON", "cannot be read"),
        ("other schema", "no report of this labkit's runs"),
        ("no lesson", "holds no lesson"),
        ("half a lesson", "not whole"),
        ("no notebook", "is not beside its report.json"),
        ("own parameters", "parameters of your own (epochs)"),
        ("no torch", "does not know its torch"),
        ("elsewhere", "on another machine"),
    ],
)
def test_a_run_that_cannot_be_taken_is_refused(what: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(LabkitError) as refused:
        make.of_run(tmp_path / "run", broken(what, tmp_path / "run"), now=NOW)
    assert said in refused.value.problem and refused.value.remedy


def test_what_the_full_profile_sets_is_no_parameter_of_one_s_own(tmp_path: Path) -> None:
    at = next(at for at, lesson in enumerate(table.load().lessons) if "epochs" in lesson.full)
    run = ran(tmp_path / "run", injected='profile = "full"\nepochs = 5\n', at=at, profile="full")
    assert problems(make.of_run(run, SNAPSHOT, now=NOW)) == ""


def test_a_note_does_not_name_its_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "anna")
    monkeypatch.setattr("platform.node", lambda: "Tower3.example")
    told = [one.what for one in check.here(changed("note", to="Anna's tower3, at night"))]
    assert told == ["The note holds your user name.", "The note holds this computer's name."]
    assert check.here(changed("note", to="annals of a tower")) == []
    monkeypatch.setenv("USER", "ubuntu")  # is a word of the machine's description as well
    assert check.here(report()) == []


def test_nothing_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make, "REPORTS", tmp_path)
    paths = [make.write(report(), f"{number}\n", None) for number in range(3)]
    wanted = name.file_name(report()).removesuffix(".json")
    assert [path.name for path in paths] == [f"{wanted}.json", f"{wanted}-2.json", f"{wanted}-3.json"]
    assert [path.read_text() for path in paths] == ["0\n", "1\n", "2\n"]
    with pytest.raises(LabkitError, match="there already"):
        make.write(report(), "x", paths[0])
    assert paths[0].read_text() == "0\n"


def test_make_writes_only_what_is_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(make, "_snapshot", lambda: SNAPSHOT)
    monkeypatch.setattr(plausible, "CLOCKS_DIFFER", timedelta(days=1000))  # the run of this test is in December
    folder, output = ran(tmp_path / "run"), tmp_path / "mine.json"

    def options(note: str) -> Namespace:
        return Namespace(executed=str(folder), output=str(output), note=note)

    for note, said in (("see /home/me/x", "a path"), ("x" * 301, "301 characters")):
        with pytest.raises(LabkitError, match=said):
            make.main(options(note))
        assert not output.exists()
    real = datetime

    class December(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return real(2026, 12, 24, tzinfo=tz)

    monkeypatch.setattr(make, "datetime", December)
    assert make.main(options("two\ncores")) == 0
    assert "1 of 1 lessons passed" in capsys.readouterr().out
    assert json.loads(output.read_text(encoding="utf-8"))["note"] == "two cores"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"note": "mine is node17.cluster.local"}, "a host name"),
        ({"note": "x" * 301}, "301 characters"),
        ({"output": "taken.json"}, "is there already"),
        ({"executed": "nowhere"}, "There is no"),
    ],
    ids=str,
)
def test_a_slip_is_told_before_anything_runs(
    row: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken.json").write_text("mine", encoding="utf-8")
    options = Namespace(
        **{"command": "report", "subcommand": "make", "executed": None, "output": None, "note": None, **row}
    )
    with pytest.raises(LabkitError, match=said):
        arguments.check(options)
    monkeypatch.setattr(make, "_execute", lambda: pytest.fail("the lessons were executed first"))
    with pytest.raises(LabkitError, match=said):
        make.main(options)
    assert Path("taken.json").read_text(encoding="utf-8") == "mine"


def test_the_fingerprint_is_that_of_the_committed_text(make_lesson: Callable[..., Lesson], tmp_path: Path) -> None:
    """What papermill adds, outputs and counts change nothing; a changed cell does."""
    lesson = make_lesson("print(epochs)", "1 / 0  # fails: papermill adds a banner")
    execute.run_lessons([lesson], output=tmp_path / "out", machine=False)
    executed = json.loads((tmp_path / "out" / lesson.path.name).read_text(encoding="utf-8"))
    committed = json.loads(lesson.path.read_text(encoding="utf-8"))
    assert len(executed["cells"]) > len(committed["cells"])
    assert fingerprint.of(executed) == fingerprint.of(committed) == fingerprint.read(lesson.path)
    committed["cells"][2]["source"] = ["print(epochs + 1)"]
    assert fingerprint.of(executed) != fingerprint.of(committed)
    assert fingerprint.read(tmp_path / "none.ipynb") is None
    with pytest.raises(ValueError, match="not a notebook"):
        fingerprint.of({"cells": [1]})
