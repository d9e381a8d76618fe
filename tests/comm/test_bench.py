"""``labkit bench``: judged before it starts, told while it runs, whole or not at all."""

from __future__ import annotations

import io
import json
from argparse import Namespace
from pathlib import Path

import pytest

from labkit import cli
from labkit.comm import bench, parts
from labkit.comm.results import Results, Series, point
from labkit.course import arguments
from labkit.errors import LabkitError

SERIES = Series("memory", "triad", "cpu", "cpu", "float32", (point(1024, [1e-6, 2e-6]),), name="triad")


def measured(what, *, seconds, progress) -> Results:
    progress("memory: triad, 1 KiB")
    progress("memory: triad, 2 KiB")
    progress("gemm: float32, n = 8")
    return Results((SERIES,), notes=(f"{list(what)} for {seconds:g} s",))


def text_of(results: Results) -> str:
    return f"text of {len(results.series)}"


def test_text_on_one_stream_progress_on_the_other(capsys) -> None:
    assert bench.run(["memory"], text=text_of, measure=measured) == 0
    out, err = capsys.readouterr()
    assert out == "text of 1\n"
    assert err.splitlines() == ["  memory: triad …", "  gemm: float32 …"]  # a line for each measure, not for each size


def test_json_is_all_that_is_printed(capsys, tmp_path) -> None:
    path = tmp_path / "bench.json"
    assert bench.run([], text=text_of, as_json=True, output=str(path), measure=measured) == 0
    out, err = capsys.readouterr()
    assert Results.from_json(out) == Results.read(path) == Results.from_json(json.dumps(json.loads(out)))
    assert "Written" in err


def test_a_file_that_cannot_be_written_does_not_take_the_results_with_it(capsys, tmp_path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()

    def slow(what, *, seconds, progress) -> Results:
        folder.rmdir()  # somebody tidies up while it measures
        return Results((SERIES,))

    with pytest.raises(LabkitError, match="cannot be written"):
        bench.run(["memory"], text=text_of, output=str(folder / "bench.json"), measure=slow)
    assert capsys.readouterr().out == "text of 1\n"


def test_an_interrupt_leaves_the_old_file_and_no_half_one(tmp_path) -> None:
    path = tmp_path / "bench.json"
    bench.run([], text=text_of, output=str(path), measure=measured)
    before = path.read_bytes()

    def interrupted(what, *, seconds, progress) -> Results:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.run([], text=text_of, output=str(path), measure=interrupted)
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["bench.json"]


def test_the_command_says_one_sentence_when_it_is_interrupted(monkeypatch, capsys) -> None:
    def interrupted(options: Namespace) -> int:
        raise KeyboardInterrupt

    monkeypatch.setitem(cli._COMMANDS, "bench", interrupted)
    monkeypatch.setattr(cli, "_need_environment", lambda what: None)
    monkeypatch.setattr("labkit.setup.enter", lambda *_: None)
    assert cli.main(["bench", "copy"]) == 130
    assert capsys.readouterr().err.strip() == "labkit: stopped by you."


@pytest.mark.parametrize(
    ("what", "seconds", "output", "told"),
    [
        (["copies"], 1.0, None, "nothing called 'copies'"),
        ([], 0.0, None, "no time to measure"),
        ([], float("nan"), None, "no time to measure"),
        ([], float("inf"), None, "no time to measure"),
        ([], 1.0, "missing/folder/bench.json", "folder that is not there"),
        ([], 1.0, ".", "is a folder"),
    ],
)
def test_a_slip_is_told_before_anything_is_measured_or_installed(what, seconds, output, told) -> None:
    with pytest.raises(LabkitError, match=told):
        arguments.check(Namespace(command="bench", what=what, seconds=seconds, output=output))
    with pytest.raises(LabkitError, match=told):
        bench.run(what, text=text_of, seconds=seconds, output=output, measure=lambda *_, **__: pytest.fail("measured"))


def test_parts_and_measures_are_the_same() -> None:
    assert tuple(bench.MEASURES) == parts.PARTS
    assert cli._parser().parse_args(["bench"]).seconds == parts.SECONDS


def test_a_part_that_cannot_be_measured_is_a_note_unless_it_was_asked_for() -> None:
    def broken(device, seconds, progress) -> Results:
        raise LabkitError("This torch has no distributed.", "Use another.")

    def good(device, seconds, progress) -> Results:
        return Results((SERIES,))

    measures = {"memory": good, "collectives": broken}
    found = bench.measured(device="cpu", seconds=0.1, measures=measures)
    assert found.series == (SERIES,) and found.notes == (
        "collectives was not measured: This torch has no distributed.",
    )
    assert found.card["rows"] and found.made and found.torch and found.threads
    with pytest.raises(LabkitError, match="no distributed"):
        bench.measured(["collectives"], device="cpu", seconds=0.1, measures=measures)
    assert bench.measured(["memory", "memory"], device="cpu", seconds=0.1, measures=measures).series == (SERIES,)


def test_a_real_quick_run_of_all_that_needs_one_process() -> None:
    told: list[str] = []
    found = bench.measured(["copy", "memory", "gemm"], device="cpu", seconds=0.05, progress=told.append)
    assert {s.kind for s in found.series} == {"copy", "memory", "gemm"}
    assert all(p.rate > 0 and p.low_s <= p.median_s <= p.high_s for s in found.series for p in s.points)
    assert Results.from_json(found.to_json()) == found
    assert any("triad" in line for line in told)


def test_the_teller_prints_a_measure_once() -> None:
    stream = io.StringIO()
    teller = bench.Teller(stream)
    for line in ("a, 1", "a, 2", "b", "a, 3"):
        teller(line)
    assert stream.getvalue().split() == ["a", "…", "b", "…", "a", "…"]


RCCL = """# nThread 1 nGpus 4 minBytes 1024 maxBytes 1024 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
     1048576        262144     float     sum      -1    62.50   16.78   25.17      0    61.10   17.16   25.74      0
# Avg bus bandwidth    : 25.17
"""


class Drawn:
    def save(self, path: str) -> None:
        Path(path).write_bytes(b"drawn")


def test_a_file_of_rccl_tests_stands_beside_it_in_text_json_and_a_figure(capsys, tmp_path) -> None:
    (tmp_path / "rccl.txt").write_text(RCCL, encoding="utf-8")
    told: dict = {
        "text": text_of,
        "measure": measured,
        "beside": lambda found, other: f"beside {other.name}: {len(other.rows)} row",
        "picture": lambda found, other: Drawn(),
        "against": str(tmp_path / "rccl.txt"),
    }
    assert bench.run(["collectives"], figure=str(tmp_path / "both.png"), **told) == 0
    out = capsys.readouterr().out
    assert "beside rccl.txt: 1 row" in out and (tmp_path / "both.png").read_bytes() == b"drawn"
    assert bench.run(["collectives"], as_json=True, **told) == 0
    out = capsys.readouterr().out
    assert json.loads(out)["against"]["rows"][0]["busbw_gbps"] == 25.17
    assert Results.from_json(out).series == (SERIES,), "what else stands in it does not make it another form"


def test_earlier_results_are_told_again_without_a_measurement(capsys, tmp_path) -> None:
    path = str(tmp_path / "bench.json")
    bench.run([], text=text_of, output=path, measure=measured)
    capsys.readouterr()
    not_again = lambda *_, **__: pytest.fail("measured")  # noqa: E731
    assert bench.run([], text=text_of, earlier=path, measure=not_again) == 0
    assert capsys.readouterr().out == "text of 1\n"
    assert bench.run(["memory"], text=text_of, earlier=path, as_json=True, measure=not_again) == 0
    assert Results.from_json(capsys.readouterr().out) == Results.read(path)
    with pytest.raises(LabkitError, match="holds no results of collectives"):
        bench.run(["collectives"], text=text_of, earlier=path, measure=not_again)


@pytest.mark.parametrize(
    ("what", "option", "told"),
    [
        ([], {"against": "missing.txt"}, "no file missing.txt"),
        ([], {"earlier": "missing.json"}, "no file missing.json"),
        ([], {"figure": "both.pdf"}, "does not end in .png"),
        ([], {"figure": "missing/both.png"}, "folder that is not there"),
        (["memory"], {"figure": "both.png"}, "--figure is about collectives"),
        (["memory", "gemm"], {"against": __file__}, "--against is about collectives"),
    ],
)
def test_a_slip_in_the_comparison_is_told_before_anything_is_measured(what, option, told) -> None:
    with pytest.raises(LabkitError, match=told):
        arguments.check(Namespace(command="bench", what=what, seconds=1.0, output=None, **option))
    with pytest.raises(LabkitError, match=told):
        bench.run(what, text=text_of, **option, measure=lambda *_, **__: pytest.fail("measured"))


def test_a_file_of_something_else_is_told_before_anything_is_measured() -> None:
    with pytest.raises(LabkitError, match="no output of rccl-tests"):
        bench.run([], text=text_of, against=str(parts.__file__), measure=lambda *_, **__: pytest.fail("measured"))
