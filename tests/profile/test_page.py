"""The one-page answer on the command line: text, JSON, a comparison, and the page with pictures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labkit.errors import LabkitError
from labkit.profile import diagnose, page, simulate


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
