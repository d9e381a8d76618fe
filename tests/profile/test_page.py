"""The one-page answer on the command line: text, JSON, a comparison, and the page with pictures."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from labkit.errors import LabkitError
from labkit.profile import Profile, diagnose, page, read, simulate
from tests.profile.questions import slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runs")
    for name, sickness in (("sick", "loader"), ("well", None)):
        run = simulate.training("cnn", "Radeon RX 7900 XTX", sickness, steps=5)
        simulate.write(run, place / name, "rocprofv3-csv")
    return place


def test_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert page.run([str(folder / "sick")]) == 0
    text = capsys.readouterr().out
    assert text.startswith("SIMULATED") and "the GPU waits for the host: data loading." in text
    for part in ("Where", "How busy", "Why idle", "Calls in which the host waited", "What to do"):
        assert part in text
    assert max(map(len, text.splitlines())) < 200


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert page.run([str(folder / "sick")], as_json=True) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["diagnosis"]["cause"] == "loader" and answer["simulated"] and answer["steps"]["count"] == 5
    assert answer["kernels"][0]["total_ns"] > 0 and answer["gaps"][0]["host"] == "load"


def test_before_and_after(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert page.run([str(folder / "well")], [str(folder / "sick")]) == 0
    text = capsys.readouterr().out
    assert "Before and after" in text and "times the time" in text and "Nothing stands out" in text


def test_the_pictures_page_gets_what_was_found(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: dict[str, object] = {}

    def draw(p: object, found: object, path: Path, **more: object) -> None:
        seen.update(profile=p, found=found, path=path, **more)

    page.run([str(folder / "well")], [str(folder / "sick")], html=str(tmp_path / "out.html"), draw=draw)
    assert seen["path"] == tmp_path / "out.html" and "before" in seen
    assert seen["found"] == diagnose(seen["profile"])  # type: ignore[arg-type]
    assert "Written" in capsys.readouterr().out


def test_several_files_of_one_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted(str(f) for f in (folder / "sick").rglob("*.csv"))
    page.run(files)
    assert "data loading" in capsys.readouterr().out


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.csv"
    with pytest.raises(LabkitError):
        page.run([str(nothing)])


def as_text(p: Profile) -> str:
    return page.as_text(p, diagnose(p))


def test_counters_leave_no_word_about_idle_time(tmp_path: Path) -> None:
    simulate.write(simulate.training("transformer", "Instinct MI300X", steps=2), tmp_path, "rocprof-compute-csv")
    text = as_text(read(tmp_path))
    assert "Where" in text and "How far from the roof" in text and "memory" in text
    assert "How busy" not in text and "Why idle" not in text


def test_a_profile_without_kernels_shows_what_it_holds(folder: Path) -> None:
    calls = next((folder / "sick").rglob("*hip_api_trace.csv"))
    text = as_text(read(calls))
    assert "What it holds: calls" in text and "hipLaunchKernel" in text and "Name all files of the run" in text


def test_gaps_of_nanoseconds_are_no_reason_to_be_idle() -> None:
    rows = [
        {"kind": "dispatch", "device": 0, "name": "a", "start_ns": 1_000 * i, "end_ns": 1_000 * i + 999}
        for i in range(50)
    ]
    text = as_text(slow.profile(rows))
    assert "Why idle" not in text and "of all this time: computing" in text and "steps span" not in text


def test_profiles_without_a_common_kernel_are_said_to_be_different(folder: Path) -> None:
    one, other = (
        read(folder / "sick"),
        slow.profile([{"kind": "dispatch", "name": "a", "start_ns": 0, "end_ns": 9}] * 3),
    )
    assert "No kernel stands in both" in page.as_text(one, diagnose(one), other)
    assert "No kernel stands in both" not in page.as_text(one, diagnose(one), read(folder / "well"))


def test_an_unknown_gpu_is_told_before_anything_is_read(folder: Path) -> None:
    with pytest.raises(LabkitError, match="RX 9999") as told:
        page.run([str(folder / "sick")], gpu="Radeon RX 9999 XT")
    assert "Radeon RX" in str(told.value.remedy)


def test_standard_input(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    content = next((folder / "sick").rglob("*kernel_trace.csv")).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert page.run(["-"]) == 0
    assert "standard input" in capsys.readouterr().out
