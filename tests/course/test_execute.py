"""Executing small made lessons: what runs, what is refused, and what a person is told when something breaks."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from labkit.course import execute, table
from labkit.course.table import Lesson
from labkit.errors import LabkitError

Make = Callable[..., Lesson]


def run(tmp_path: Path, *lessons: Lesson, **options: Any) -> tuple[int, dict[str, Any]]:
    status = execute.run_lessons(lessons, output=tmp_path / "out", machine=False, **options)
    return status, json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))


def executed(tmp_path: Path, lesson: Lesson) -> str:
    """Everything that the executed notebook printed."""
    notebook = json.loads((tmp_path / "out" / lesson.path.name).read_text(encoding="utf-8"))
    return "".join("".join(out.get("text", "")) for cell in notebook["cells"] for out in cell.get("outputs", []))


def test_a_whole_lesson_runs_and_is_reported(
    tmp_path: Path, make_lesson: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    lesson = make_lesson(
        "print(profile, epochs * 2, rate)",
        "print('PASS one')\nprint('TODO two: think')",
        "import time\nblock = b'x' * (64 * 2**20)  # written, so that it really is in memory, and kept for a while\ntime.sleep(1)",
    )
    status, report = run(tmp_path, lesson, parameters={"epochs": "7"})
    assert status == 0
    assert report["status"] == "passed" and report["version"] == 2 and report["profile"] == "quick"
    row = report["lessons"][0]
    assert (row["status"], row["cells"], row["cells_total"], row["error"]) == ("passed", 4, 4, None)
    assert row["checks"] == {"passed": 1, "todo": 1}
    assert row["parameters"] == {"profile": "quick", "epochs": 7, "rate": 0.5} and row["stand_in"] is None
    assert row["notebook"] == lesson.path.name and row["executed"] >= report["started"]
    assert row["seconds"] > 0 and row["peak_memory_bytes"] > 64 * 2**20
    assert "quick 14 0.5" in executed(tmp_path, lesson)
    printed = capsys.readouterr().out
    assert "cell 3/6  print(profile, epochs * 2, rate)" in printed, "plain lines where there is no terminal"
    assert "All" not in printed and "The lesson ran" in printed and "4/4" in printed and "1/2" in printed
    assert str(tmp_path) not in (tmp_path / "out" / lesson.path.name).read_text(encoding="utf-8")
    assert str(tmp_path) not in json.dumps(report)


def test_the_kernel_is_this_interpreter_beside_the_notebook_whatever_is_registered(
    tmp_path: Path, make_lesson: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "jupyter" / "kernels" / "python3"
    other.mkdir(parents=True)
    spec = {"argv": ["does-not-exist"], "display_name": "x", "language": "python"}
    (other / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    startup = tmp_path / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00.py").write_text("rate = 'from a start-up file'", encoding="utf-8")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    lesson = make_lesson(
        "import sys, pathlib, labkit\nprint(sys.executable)\nprint(pathlib.Path.cwd().name)\nprint('in', labkit.__file__)"
    )
    status, _ = run(tmp_path, lesson)
    assert status == 0
    lines = executed(tmp_path, lesson).splitlines()
    assert lines[0] == sys.executable
    assert lines[1] == lesson.path.parent.name
    assert lines[2] == f"in {Path(table.__file__).resolve().parent.parent / '__init__.py'}"


def test_a_failing_cell_is_named_and_the_next_lesson_runs(
    tmp_path: Path, make_lesson: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    first = make_lesson("a = 1", "# half of it\nb = a / 0", "print('never')", id="90", name="breaks")
    second = make_lesson("print('still here')", id="91", name="whole")
    status, report = run(tmp_path, first, second)
    assert status == 1 and report["status"] == "failed"
    error = report["lessons"][0]["error"]
    assert (error["kind"], error["cell"], error["source"]) == ("cell", 4, "# half of it")
    assert error["message"] == "cell 4, which begins with '# half of it', failed. ZeroDivisionError: division by zero"
    assert report["lessons"][0]["cells"] == 2
    assert report["lessons"][1]["status"] == "passed"
    printed = capsys.readouterr().out
    assert "ZeroDivisionError: division by zero" in printed and "Traceback" not in printed
    assert "1 of 2 lessons failed" in printed
    assert "ZeroDivisionError" in (tmp_path / "out" / first.path.name).read_text(encoding="utf-8"), (
        "kept as far as it came"
    )


@pytest.mark.parametrize("exit_line", ["import sys; sys.exit(0)", "import sys; sys.exit()", "raise SystemExit"])
def test_sys_exit_is_no_success(tmp_path: Path, make_lesson: Make, exit_line: str) -> None:
    status, report = run(tmp_path, make_lesson("x = 1", exit_line, "print('never')"))
    assert status == 1
    assert report["lessons"][0]["error"]["kind"] == "pending"
    assert report["lessons"][0]["error"]["cell"] == 4 and "sys.exit" in report["lessons"][0]["error"]["message"]


def test_sys_exit_in_the_last_cell_is_no_success_either(tmp_path: Path, make_lesson: Make) -> None:
    status, report = run(tmp_path, make_lesson("x = 1", "import sys; sys.exit(0)"))
    assert status == 1 and report["lessons"][0]["error"]["cell"] == 4


def test_a_killed_kernel_is_told_in_words(tmp_path: Path, make_lesson: Make) -> None:
    lesson = make_lesson(
        "import os, signal", "os.kill(os.getpid(), getattr(signal, 'SIGKILL', 9))", "print('never')", id="90"
    )
    whole = make_lesson("print('next')", id="91")
    status, report = run(tmp_path, lesson, whole)
    assert status == 1
    row = report["lessons"][0]
    assert (
        row["error"]["kind"] == "dead kernel"
        and row["error"]["cell"] == 4
        and "out of memory" in row["error"]["message"]
    )
    assert row["cells"] == 2, "neither the cell that killed it nor those after it count"
    assert report["lessons"][1]["status"] == "passed"


def test_quit_in_a_cell_is_no_success(tmp_path: Path, make_lesson: Make) -> None:
    status, report = run(tmp_path, make_lesson("quit()", "import time; time.sleep(3)", "print('never')"))
    assert status == 1, report


def test_a_cell_over_its_limit_is_stopped(tmp_path: Path, make_lesson: Make) -> None:
    lesson = make_lesson("import time", "time.sleep(600)", "print('never')", limits={"quick": {"cell_s": 1.5}})
    status, report = run(tmp_path, lesson)
    assert status == 1
    row = report["lessons"][0]
    assert row["error"]["kind"] == "timeout" and row["error"]["cell"] == 4
    assert "limit of 1.5 s for one cell" in row["error"]["message"]
    assert row["cells"] == 2 and row["seconds"] < 60


def test_a_lesson_over_its_limit_is_stopped(tmp_path: Path, make_lesson: Make) -> None:
    lesson = make_lesson("import time", *["time.sleep(1.5)"] * 40, limits={"quick": {"lesson_s": 6}})
    status, report = run(tmp_path, lesson)
    assert status == 1
    row = report["lessons"][0]
    assert row["error"]["kind"] == "timeout" and "lesson's limit of 6 s" in row["error"]["message"]
    assert 0 < row["cells"] < 40


def test_no_process_of_a_lesson_outlives_it(tmp_path: Path, make_lesson: Make) -> None:
    psutil = pytest.importorskip("psutil")
    start = "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)"
    lesson = make_lesson(
        f"import subprocess, sys, time\n{start}",
        "print('child', child.pid, flush=True)",
        "time.sleep(600)",
        limits={"quick": {"cell_s": 2}},
    )
    run(tmp_path, lesson)
    child = int(executed(tmp_path, lesson).split("child ")[1].split()[0])
    if psutil.pid_exists(child):
        assert psutil.Process(child).status() == psutil.STATUS_ZOMBIE


def test_a_lesson_without_code_fails(tmp_path: Path, make_lesson: Make) -> None:
    lesson = make_lesson(parameters="")
    result = execute.execute(lesson.path, {}, 10, 30)
    assert result.error is not None and result.error.kind == "no cell"


def test_a_lesson_that_took_no_time_fails(tmp_path: Path, make_lesson: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat
    import papermill

    lesson = make_lesson("print('recorded long ago')")

    def recorded(path: str, _output: Any, *, labkit_run: Any, **_: Any) -> None:
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            cell.metadata["papermill"] = {"status": "completed", "duration": 0.0}
            cell["execution_count"] = 1
        labkit_run.notebook = notebook

    monkeypatch.setattr(papermill, "execute_notebook", recorded)
    result = execute.execute(lesson.path, {}, 10, 30)
    assert result.error is not None and result.error.kind == "no time"


def test_an_unknown_parameter_is_refused_before_anything_runs(tmp_path: Path, make_lesson: Make) -> None:
    with pytest.raises(LabkitError, match="does not declare a parameter 'epoch'") as caught:
        run(tmp_path, make_lesson(), parameters={"epoch": "3"})
    assert "epochs, rate" in caught.value.remedy
    assert not (tmp_path / "out").exists()


def test_a_parameter_goes_to_the_lessons_that_declare_it(tmp_path: Path, make_lesson: Make) -> None:
    first = make_lesson("print('rate', rate)", id="90")
    second = make_lesson("print('fine')", id="91", parameters='profile = "quick"')
    status, _ = run(tmp_path, first, second, parameters={"rate": "0.25"})
    assert status == 0
    assert "rate 0.25" in executed(tmp_path, first)


def test_a_profile_that_a_lesson_does_not_declare_fails_it(tmp_path: Path, make_lesson: Make) -> None:
    status, report = run(tmp_path, make_lesson("print(1)", parameters="epochs = 1", id="90"), make_lesson(id="91"))
    assert status == 1
    assert [row["status"] for row in report["lessons"]] == ["failed", "passed"]
    assert (
        report["lessons"][0]["error"]["kind"] == "parameter" and "profile" in report["lessons"][0]["error"]["message"]
    )


def test_the_full_profile_sets_what_the_table_says(tmp_path: Path, make_lesson: Make) -> None:
    lesson = make_lesson("print(profile, epochs)", full={"epochs": 9})
    status, report = run(tmp_path, lesson, profile="full")
    assert status == 0 and report["profile"] == "full"
    assert "full 9" in executed(tmp_path, lesson)
    status, report = run(tmp_path, make_lesson(full={"epoks": 9}), profile="full")
    assert status == 1 and "epoks" in report["lessons"][0]["error"]["message"]


@pytest.mark.parametrize(("name", "value"), [("epochs", "two"), ("profile", "full"), ("rate", "True")])
def test_a_parameter_of_the_wrong_kind_is_refused(tmp_path: Path, make_lesson: Make, name: str, value: str) -> None:
    with pytest.raises(LabkitError):
        run(tmp_path, make_lesson(), parameters={name: value})


@pytest.mark.parametrize("content", ["", "{", "[]", '{"cells": 3}', "<<<<<<< ours"])
def test_a_damaged_notebook_fails_its_lesson_alone(tmp_path: Path, make_lesson: Make, content: str) -> None:
    broken, missing, whole = make_lesson(id="90"), make_lesson(id="91"), make_lesson(id="92")
    broken.path.write_text(content, encoding="utf-8")
    missing.path.unlink()
    status, report = run(tmp_path, broken, missing, whole)
    assert status == 1
    assert [row["status"] for row in report["lessons"]] == ["failed", "failed", "passed"]
    assert (
        report["lessons"][0]["error"]["kind"] == "notebook"
        and broken.path.name in report["lessons"][0]["error"]["message"]
    )


@pytest.mark.parametrize(("stand_in", "told"), [(True, True), (False, False)])
def test_a_stand_in_is_seen_in_the_card_that_the_lesson_shows(
    tmp_path: Path, make_lesson: Make, stand_in: bool, told: bool
) -> None:
    lesson = make_lesson(
        "import torch\nfrom labkit.data.dataset import Dataset, Provenance\n"
        "pictures, labels = torch.zeros(2, 1, 28, 28, dtype=torch.uint8), torch.zeros(2, dtype=torch.int64)\n"
        f"Dataset('mnist', pictures, labels, pictures, labels, ('0',), Provenance('here', None, 'none', {stand_in}), 'drawn')"
    )
    _, report = run(tmp_path, lesson)
    assert report["lessons"][0]["stand_in"] is told


def test_executed_lessons_of_earlier_runs_go_and_nothing_else(tmp_path: Path, make_lesson: Make) -> None:
    out = tmp_path / "out"
    out.mkdir()
    names = [lesson.path.name for lesson in table.load().lessons]
    executed_before = json.dumps({"cells": [], "metadata": {"papermill": {}}})
    (out / names[0]).write_text(executed_before, encoding="utf-8")
    (out / names[1]).write_text(json.dumps({"cells": [], "metadata": {}}), encoding="utf-8")  # not labkit's
    (out / names[2]).write_text("no notebook", encoding="utf-8")
    (out / "my_own.ipynb").write_text(executed_before, encoding="utf-8")
    lesson = make_lesson()
    assert run(tmp_path, lesson)[0] == 0
    assert {path.name for path in out.iterdir()} == {
        names[1],
        names[2],
        "my_own.ipynb",
        lesson.path.name,
        "report.json",
        "report.txt",
    }


def test_the_lessons_are_never_overwritten(make_lesson: Make) -> None:
    lesson = make_lesson()
    before = lesson.path.read_text(encoding="utf-8")
    with pytest.raises(LabkitError, match="folder of the lessons"):
        execute.run_lessons([lesson], output=lesson.path.parent, machine=False)
    assert lesson.path.read_text(encoding="utf-8") == before


def test_an_output_folder_that_is_a_file_is_told(tmp_path: Path, make_lesson: Make) -> None:
    (tmp_path / "out").write_text("", encoding="utf-8")
    with pytest.raises(LabkitError, match="cannot be used"):
        execute.run_lessons([make_lesson()], output=tmp_path / "out", machine=False)


def test_values_are_read_as_papermill_reads_them() -> None:
    typed = ["3", "-2", "1e-3", "0.5", "True", "False", "None", "fashion_mnist", "", "1_000"]
    assert [execute.parse_value(text) for text in typed] == [
        3,
        -2,
        1e-3,
        0.5,
        True,
        False,
        None,
        "fashion_mnist",
        "",
        1000,
    ]
    from papermill.cli import _resolve_type

    for text in typed:
        assert execute.parse_value(text) == _resolve_type(text)


def test_on_a_terminal_one_line_moves(make_lesson: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "50")
    stream = Terminal()
    progress = execute.Progress(make_lesson(), 1, 3, stream)
    progress.cell(2, 9, "\n  x = 'a long line that does not fit into fifty columns of a terminal'")
    progress.end("2 cells in 0.1 s")
    text = stream.getvalue()
    assert "cell 2/9" in text and text.count("\n") == 1 and text.endswith("2 cells in 0.1 s\n")
    assert all(len(part.replace("\x1b[2K", "")) < 50 for part in text.splitlines()[0].split("\r")[:-1])


# ------------------------------------------------------------------------------------------------ side by side


def test_two_workers_run_lessons_side_by_side_and_report_in_the_order_of_the_course(
    tmp_path: Path, make_lesson: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each lesson waits for the other's file: one after the other, the first would wait for ever and fail."""
    meet = """
import pathlib, time
here = pathlib.Path({mine!r})
here.write_text("here", encoding="utf-8")
for _ in range(400):
    if pathlib.Path({other!r}).exists():
        break
    time.sleep(0.05)
else:
    raise SystemError("nobody came")
print("met")
"""
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    lessons = (
        make_lesson(meet.format(mine=one, other=two), "import time\ntime.sleep(0.5)", id="90", name="slow"),
        make_lesson(meet.format(mine=two, other=one), id="91", name="quick"),
        make_lesson("1 / 0", id="92", name="broken"),
    )
    status, report = run(tmp_path, *lessons, workers=2)
    assert status == 1
    assert [(row["id"], row["status"]) for row in report["lessons"]] == [
        ("90", "passed"),
        ("91", "passed"),
        ("92", "failed"),
    ]
    assert "ZeroDivisionError" in report["lessons"][2]["error"]["message"]
    assert report["workers"] == 2 and report["seconds"] > 0
    assert "met" in executed(tmp_path, lessons[0])
    assert "cell 3/" not in capsys.readouterr().out, "lines of cells that run side by side would only confuse"


def test_an_interrupt_ends_every_lesson_that_runs_and_keeps_what_is_done(
    tmp_path: Path, make_lesson: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    import _thread
    import signal
    import threading
    import time

    mark = tmp_path / "runs"
    lessons = (
        make_lesson("print('done')", id="90", name="first"),
        make_lesson(
            f"import pathlib, time\npathlib.Path({str(mark)!r}).touch()\ntime.sleep(200)", id="91", name="endless"
        ),
        make_lesson("print('never')", id="92", name="third"),
        make_lesson("import time\ntime.sleep(200)", id="93", name="late"),
    )

    def stop() -> None:
        while not mark.exists() or len(execute._running) < 2:
            time.sleep(0.05)
        time.sleep(0.5)
        _thread.interrupt_main()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background begins by ignoring it
    threading.Thread(target=stop, daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            execute.run_lessons(lessons, output=tmp_path / "out", machine=False, workers=2)
    finally:
        signal.signal(signal.SIGINT, before)
    report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    rows = {row["id"]: row for row in report["lessons"]}
    assert len(rows) == 4 and rows["90"]["status"] == "passed" and rows["91"]["status"] == "failed"
    assert not execute._running, "no kernel is left"


def test_no_workers_are_refused(tmp_path: Path, make_lesson: Make) -> None:
    with pytest.raises(LabkitError, match="0 workers"):
        run(tmp_path, make_lesson("1"), workers=0)
