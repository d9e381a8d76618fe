"""Files, folders, several files, packed files, and the fast way beside the slow one."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from labkit.errors import LabkitError
from labkit.profile.facts import facts
from labkit.profile.readers import command, delimited, look, read, read_bytes
from labkit.profile.table import CORE
from tests.profile.readers.texts import MAKERS, agents, api_trace, counters, kernel_trace, memory_copies

pytestmark = pytest.mark.light
FAST = (
    "kernel_trace",
    "kernel_trace_old",
    "kernel_trace_converted",
    "rocprofv2",
    "rocprof_v1",
    "counters",
    "api_trace",
    "markers",
    "memory_copies",
)


@pytest.mark.parametrize("make", [m for m in MAKERS if m.__name__ in FAST], ids=lambda m: m.__name__)
def test_both_ways_give_the_same_table(make, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    text = make(3).text
    path = tmp_path / "x.csv"
    path.write_text(text, encoding="utf-8")
    from labkit.profile.readers.recognise import Source

    assert delimited.read(Source(text.encode())) is not None
    fast, slow = read(path), read_bytes(("some words\n" + text).encode())
    assert fast.kind == slow.kind and fast.odd == slow.odd and fast.devices == slow.devices
    columns = [c for c in fast.events.columns if c in CORE or c in slow.events.columns]
    assert set(fast.events.columns) == set(slow.events.columns)
    assert fast.events.select(columns).rows() == slow.events.select(columns).rows()
    assert facts(fast) == facts(slow)


def test_pieces_and_large_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = kernel_trace(5)
    path = tmp_path / "x.csv"
    path.write_text(text.text, encoding="utf-8")
    whole = facts(read(path))
    monkeypatch.setattr(delimited, "PIECE", 700)
    assert facts(read(path)) == whole
    monkeypatch.setattr(delimited, "LARGE", 10)
    found = read(path)
    assert facts(found) == whole and "vgpr" not in found.events.columns
    assert found.extras["launches"]["dispatches"].sum() == text.expect["dispatches"]
    monkeypatch.setattr(delimited, "FORGIVING", 10)
    path.write_text(text.text + "...\n", encoding="utf-8")
    assert {k: v for k, v in facts(read(path)).items() if k != "odd"} == whole


def test_a_folder_of_one_run(tmp_path: Path) -> None:
    folder = tmp_path / "host"
    folder.mkdir()
    trace, calls, copies = kernel_trace(1), api_trace(1), memory_copies(1)
    (folder / "4711_kernel_trace.csv").write_text(trace.text, encoding="utf-8")
    (folder / "4711_hip_api_trace.csv").write_text(calls.text, encoding="utf-8")
    (folder / "4711_memory_copy_trace.csv.gz").write_bytes(gzip.compress(copies.text.encode()))
    (folder / "4711_agent_info.csv").write_text(agents(1).text, encoding="utf-8")
    (folder / "4711_counter_collection.csv").write_text(counters(1).text, encoding="utf-8")
    (folder / "notes.txt").write_text("nothing of interest\n", encoding="utf-8")
    found = facts(read(tmp_path))
    assert {k: found[k] for k in trace.expect} == trace.expect, "a counter table repeats the dispatches of the trace"
    assert found["apis"] == calls.expect["apis"] and found["copies"] == copies.expect["copies"]
    assert found["counters"] == ["OccupancyPercent", "SQ_WAVES"] and found["gpus"] == ["gfx1100"]
    several = facts(read(sorted(folder.glob("4711_[khm]*"))))
    assert several["dispatches"] == trace.expect["dispatches"] and several["copies"] == copies.expect["copies"]


def test_two_passes_are_one_program(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"pmc_{number}").mkdir()
        text = counters(9).text.replace("SQ_WAVES", f"C{number}")
        (tmp_path / f"pmc_{number}" / f"{100 + number}_counter_collection.csv").write_text(text, encoding="utf-8")
    found = facts(read(tmp_path))
    assert found["dispatches"] == counters(9).expect["dispatches"] and found["counters"] == [
        "C1",
        "C2",
        "OccupancyPercent",
    ]


def test_processes_keep_their_correlations_apart(tmp_path: Path) -> None:
    for process in (100, 200):
        (tmp_path / f"{process}_kernel_trace.csv").write_text(kernel_trace(process).text, encoding="utf-8")
    found = read(tmp_path)
    assert found.events.height == 2 * kernel_trace(1).expect["dispatches"]
    assert found.events["correlation"].n_unique() == found.events.height and set(found.events["process"]) == {100, 200}


def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    for wrong in (tmp_path / "missing.csv", tmp_path / "empty", tmp_path, []):
        with pytest.raises(LabkitError):
            read(wrong)


@pytest.mark.parametrize("make", MAKERS, ids=lambda m: m.__name__)
def test_the_look_sees_profiles(make) -> None:  # type: ignore[no-untyped-def]
    text = make(1).text
    assert look.begins(text.encode()) is not None
    assert look.begins(gzip.compress(text.encode())) is not None
    assert look.begins(text.encode("utf-16")) is not None


@pytest.mark.parametrize(
    "text",
    [
        "Agent 1\n*******\n  Name: gfx1100\n",
        "GPU[0]\t: Temperature: 40\n",
        '{"card0": {"GPU use (%)": "1"}}',
        "a,b\n1,2\n",
        "{}",
        "",
    ],
)
def test_the_look_sees_nothing_in_other_texts(text: str) -> None:
    assert look.begins(text.encode()) is None


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x"
    path.write_text(kernel_trace(1).text, encoding="utf-8")
    assert command.run(str(path), as_json=False, root=tmp_path) == 0
    assert "9 kernel dispatches" in capsys.readouterr().out
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    assert command.run(str(path), as_json=True, root=tmp_path) == 2
    assert '"unknown"' in capsys.readouterr().out


def test_without_packages_there_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_text(kernel_trace(1).text, encoding="utf-8")
    monkeypatch.setattr(command, "_has_packages", lambda: False)
    monkeypatch.setenv("LABKIT_ENV", str(tmp_path / "none"))
    with pytest.raises(LabkitError, match="not installed"):
        command.run(str(path), as_json=True, root=tmp_path)


def archive(folder: Path, target: Path, mode: str) -> Path:
    import tarfile

    with tarfile.open(target, mode) as made:
        made.add(folder, arcname=folder.name)
    return target


@pytest.mark.parametrize(("name", "mode"), [("run.tar", "w"), ("run.tar.gz", "w:gz")])
def test_an_archive_is_read_as_the_folder_that_it_holds(tmp_path: Path, name: str, mode: str) -> None:
    from labkit.profile import simulate
    from labkit.profile.facts import facts
    from labkit.profile.readers import look

    folder = tmp_path / "run"
    simulate.write(simulate.training("mlp", "Radeon RX 7900 XTX", steps=4), folder, "rocprofv3-csv")
    packed = archive(folder, tmp_path / name, mode)
    assert look.begins(packed.read_bytes()) == 0
    whole, again = read(folder), read(packed)
    assert facts(again) == facts(whole) and again.simulated
    assert facts(read_bytes(packed.read_bytes())) == facts(whole)


def test_a_damaged_archive_and_one_without_profiles_are_told(tmp_path: Path) -> None:
    from labkit.profile.readers import look

    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "notes.md").write_text("nothing here", encoding="utf-8")
    packed = archive(folder, tmp_path / "other.tar", "w")
    assert look.begins(packed.read_bytes()) is None
    with pytest.raises(LabkitError, match="No profile was found in the archive"):
        read(packed)
    (folder / "1_kernel_trace.csv").write_text("x" * 5000, encoding="utf-8")
    whole = archive(folder, tmp_path / "cut.tar", "w").read_bytes()
    (tmp_path / "cut.tar").write_bytes(whole[: len(whole) // 2 - 700])
    with pytest.raises(LabkitError):
        read(tmp_path / "cut.tar")
