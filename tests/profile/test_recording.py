"""Recording here: functions and scripts, with torch.profiler and with a program that takes rocprofv3's place."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from labkit.errors import LabkitError
from labkit.profile import questions
from labkit.profile.recording import Recording, record, rocprofv3_command
from labkit.profile.table import Profile

SCRIPT = """
import sys
import torch
from torch.profiler import record_function

weight = torch.ones(8, 8, requires_grad=True)
for number in range(int(sys.argv[1])):
    with record_function(f"step {number}"):
        with record_function("load"):
            x = torch.ones(4, 8)
        (x @ weight).sum().backward()
print("did", sys.argv[1:])
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train me.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


@pytest.fixture
def no_rocprof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)


def count(profile: Profile, name: str) -> int:
    return int((profile.events["name"].cast(str) == name).sum())


def test_a_function_is_called_for_warm_up_outside_and_for_steps_inside() -> None:
    import torch

    calls = []

    def step() -> None:
        calls.append(1)
        torch.ones(3).add_(1)

    made = record(step, steps=4, warmup=2)
    assert len(calls) == 6 and isinstance(made, Recording)
    found = questions.steps(made.profile)
    assert found.found == "markers" and found.table["step"].to_list() == [0, 1, 2, 3]
    assert count(made.profile, "aten::add_") == 4, "the warm-up is not in the profile"
    assert made.tool == "torch.profiler" and made.files == () and "rocprofv3" in made.note
    assert "KINETO_LOG_LEVEL" not in os.environ


def test_the_profilers_own_notes_do_not_reach_a_learner() -> None:
    """In a process of its own: the library asks for its level once, when a process first profiles."""
    code = "from labkit.profile import record; print(record(lambda: None, steps=1, warmup=0).tool)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=120,
    )
    assert (done.stdout, done.stderr) == ("torch.profiler\n", "")


def test_shapes_give_flops() -> None:
    import torch

    a, b = torch.ones(4, 6), torch.ones(6, 5)
    profile = record(lambda: a @ b, steps=2, warmup=0).profile
    assert profile.events["flops"].sum() == 2 * (2 * 4 * 6 * 5)


def test_an_error_in_the_function_comes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        record(lambda: 1 / 0, steps=1, warmup=0)
    assert "KINETO_LOG_LEVEL" not in os.environ


def test_a_script_without_rocprofv3_is_recorded_in_a_process_of_its_own(
    script: Path, tmp_path: Path, no_rocprof: None
) -> None:
    made = record(script, "3", "b c", folder=tmp_path / "kept")
    assert made.output.strip() == "did ['3', 'b c']"
    assert questions.steps(made.profile).table.height == 3 and count(made.profile, "load") == 3
    assert [path.name for path in made.files] == ["torch_trace.json"] and made.files[0].is_file()
    assert "not on this machine's PATH" in made.note and sys.executable in made.command


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise ValueError('no such layer')", "no such layer"),
        ("import sys; sys.exit('gave up')", "gave up"),
        ("import sys; sys.exit(3)", "exit status 3"),
        ("import os; os._exit(0)", "without a profile"),
        ("import time; time.sleep(60)", "did not end within 2 s"),
    ],
)
def test_a_script_that_fails_is_told_in_a_sentence(
    code: str, told: str, tmp_path: Path, no_rocprof: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "broken.py"
    path.write_text(code, encoding="utf-8")
    limit = 2 if "sleep" in code else 120
    with pytest.raises(LabkitError, match=told):
        record(path, timeout_s=limit, folder=tmp_path / "kept")
    assert not list((tmp_path / "kept").iterdir()), "nothing half-written stays"


def test_a_script_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path, no_rocprof: None) -> None:
    """As rocprofv3 starts the program that it profiles."""
    import psutil

    mark = tmp_path / "grandchild"
    path = tmp_path / "nest.py"
    path.write_text(
        "import pathlib, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"pathlib.Path({str(mark)!r}).write_text(str(child.pid))\n"
        "time.sleep(60)\n",
        encoding="utf-8",
    )
    with pytest.raises(LabkitError, match="did not end within"):
        record(path, timeout_s=15)
    number = int(mark.read_text(encoding="utf-8"))
    for _ in range(100):
        if not psutil.pid_exists(number) or psutil.Process(number).status() == psutil.STATUS_ZOMBIE:
            break
        time.sleep(0.05)
    else:
        pytest.fail("what the script had started still runs")


FAKE = """#!{python}
import json, pathlib, sys
at = sys.argv.index("--")
options, program = sys.argv[1:at], sys.argv[at + 1 :]
folder = pathlib.Path(options[options.index("-d") + 1])
pathlib.Path({seen!r}).write_text(json.dumps([options, program]), encoding="utf-8")
sys.path.insert(0, {root!r})
from labkit.profile import simulate
if {writes}:
    simulate.write(simulate.training("mlp", "Radeon RX 7900 XTX", steps=4), folder / "host", "rocprofv3-csv")
print("training output")
sys.exit({status})
"""


@pytest.mark.skipif(os.name == "nt", reason="the stand-in for rocprofv3 is a POSIX script")
@pytest.mark.parametrize(("writes", "status"), [(True, 0), (False, 0), (True, 7)])
def test_a_script_goes_to_rocprofv3_where_it_is_installed(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: bool, status: int
) -> None:
    """A program of that name takes its place: it notes its command line and writes simulated files."""
    import json

    folder, seen = tmp_path / "bin", tmp_path / "seen.json"
    folder.mkdir()
    fake = folder / "rocprofv3"
    root = str(Path(__file__).resolve().parents[2])
    fake.write_text(
        FAKE.format(python=sys.executable, seen=str(seen), root=root, writes=writes, status=status), encoding="utf-8"
    )
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(folder) + os.pathsep + os.environ["PATH"])
    if not writes or status:
        with pytest.raises(LabkitError, match="wrote nothing" if not status else "exit status 7"):
            record(script, "3")
        return
    made = record(script, "3")
    options, program = json.loads(seen.read_text(encoding="utf-8"))
    assert program == [sys.executable, str(script), "3"]
    assert {"--runtime-trace", "--output-format", "csv"} <= set(options)
    assert made.tool == "rocprofv3" and made.profile.kind == "rocprofv3-kernel-trace" and made.profile.simulated
    assert questions.steps(made.profile).table.height == 4
    assert made.files == () and "training output" in made.output


def test_the_command_line_has_its_two_dashes_before_the_program() -> None:
    command = rocprofv3_command("rocprofv3", Path("out"), Path("train.py"), ["--steps", "5"])
    assert command[command.index("--") + 1 :] == (sys.executable, "train.py", "--steps", "5")


@pytest.mark.parametrize(
    ("work", "options", "told"),
    [
        (print, {"tool": "nsys"}, "no recorder 'nsys'"),
        (print, {"tool": "rocprofv3"}, "cannot look into a running notebook"),
        (print, {"steps": 0}, "0 steps"),
        (3, {}, "type int cannot be recorded"),
        (iter([1, 2]).__next__, {"steps": 5, "warmup": 1}, "data ended in call 3 of 6"),
        ("missing.py", {}, "no script missing.py"),
        (__file__, {"tool": "rocprofv3"}, "not on this machine's PATH"),
    ],
)
def test_what_cannot_be_recorded_is_refused(work: Any, options: dict[str, Any], told: str, no_rocprof: None) -> None:
    with pytest.raises(LabkitError, match=told):
        record(work, **options)
