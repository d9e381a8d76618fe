"""The list of pip commands, and what is said when pip fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.errors import LabkitError
from labkit.setup import install
from labkit.setup.install import Outcome, Step, Usage
from labkit.setup.plan import TorchPlan

CONSTRAINTS = Path("/e/labkit-constraints.txt")
DEPENDENCIES = ("torch>=2.10,<2.16", "torchvision>=0.25", "numpy>=1.26", "tomli>=2; python_version < '3.11'")
ROCM = TorchPlan(
    "rocm", "https://x.example/rocm7.2", ("torch", "torchvision>=0.25,<0.30"), ("gfx1100",), (), 4 * 10**9, 9 * 10**9
)
AMD = TorchPlan(
    "rocm",
    "https://amd.example/",
    ("torch[device-gfx1151]==2.13.0+rocm10.0.0", "torchvision[device-gfx1151]==0.28.0+rocm10.0.0"),
    ("gfx1151",),
    (),
    None,
    None,
)
GB = 10**9


def test_torch_first_alone_then_torchvision_then_the_rest_pinned():
    first, second, third = install.steps(ROCM, DEPENDENCIES, CONSTRAINTS)
    assert first.arguments == ("install", "--index-url", "https://x.example/rocm7.2", "torch>=2.10,<2.16")
    assert second.arguments == (
        "install",
        "--index-url",
        "https://x.example/rocm7.2",
        "--constraint",
        str(CONSTRAINTS),
        "torchvision>=0.25,<0.30",
    )
    assert third.arguments == ("install", "--constraint", str(CONSTRAINTS), *DEPENDENCIES[2:])
    assert (first.only, second.only, third.only) == (True, True, False)


def test_of_amds_index_only_the_torch_family_with_its_extras():
    calls = install.steps(AMD, DEPENDENCIES, CONSTRAINTS)
    assert [step.arguments[-1] for step in calls[:2]] == list(AMD.requirements)
    assert not any("amd.example" in argument for argument in calls[2].arguments)


def test_no_step_ever_has_an_extra_index():
    for plan in (ROCM, AMD, None):
        for wheelhouse in (None, Path("/w")):
            assert not [
                step
                for step in install.steps(plan, DEPENDENCIES, CONSTRAINTS, wheelhouse=wheelhouse)
                if "--extra-index-url" in step.arguments
            ]


def test_a_kept_torch_and_a_missing_torchvision():
    assert len(install.steps(None, DEPENDENCIES, CONSTRAINTS)) == 1
    only = install.steps(ROCM, DEPENDENCIES, CONSTRAINTS, family=("torchvision",))
    assert len(only) == 2 and "--constraint" in only[0].arguments


def test_a_folder_of_wheels_stands_for_every_index():
    for step in install.steps(ROCM, DEPENDENCIES, CONSTRAINTS, wheelhouse=Path("/w")):
        assert step.arguments[1:4] == ("--no-index", "--find-links", str(Path("/w"))) and step.only


def test_the_planned_build_is_taken_from_a_folder_with_several(tmp_path):
    for name in (
        "torch-2.14.1+cpu-cp311-x.whl",
        "torch-2.14.1+rocm7.2-cp311-x.whl",
        "torch-2.14.1-cp311-x.whl",
        "torchvision-0.29.1+rocm7.2-x.whl",
        "torchvision-0.29.1+cpu-x.whl",
    ):
        (tmp_path / name).write_text("", encoding="utf-8")
    assert install.from_wheelhouse(ROCM, tmp_path).requirements == (
        "torch==2.14.1+rocm7.2",
        "torchvision==0.29.1+rocm7.2",
    )
    for name in tmp_path.glob("*rocm*"):
        name.unlink()
    other = install.from_wheelhouse(ROCM, tmp_path)
    assert other.build == "default" and "no rocm build" in other.reasons[-1]  # taken as it is, and said
    assert other.installed_bytes is None, "the size of the build that was planned says nothing about this one"


def test_pins_keep_the_local_part():
    assert (
        install.pins({"torch": "2.14.1+rocm7.2", "numpy": "2", "torchvision": "0.29.1"})
        == "torch==2.14.1+rocm7.2\ntorchvision==0.29.1\n"
    )


def test_no_room_says_how_much_is_needed_and_there(tmp_path):
    needed = install.bytes_needed(ROCM, "course")
    assert needed == 13 * GB + install.COURSE_BYTES
    with pytest.raises(LabkitError, match=r"13\.4 GB are needed, 2\.0 GB are free") as problem:
        install.check_room(tmp_path / "not" / "yet", needed, lambda path: Usage(0, 0, 2 * GB))
    assert "LABKIT_ENV" in problem.value.remedy
    assert install.check_room(tmp_path, needed, lambda path: Usage(0, 0, 2 * GB), there=12 * GB) == 2 * GB
    assert install.check_room(tmp_path, needed, lambda path: Usage(0, 0, 14 * GB)) == 14 * GB


STEP = Step("torch, alone, from somewhere", ("install", "--index-url", "https://x.example/cpu", "torch"), True)


@pytest.mark.parametrize(
    ("status", "text", "words"),
    [
        (
            -9,
            "Collecting torch",
            "ended from outside (SIGKILL) while it installed torch. The system does that where memory runs out",
        ),
        (
            1,
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            "became full while pip installed torch; 3.0 GB are free",
        ),
        (1, "ERROR: [Errno 13] Permission denied: '/e/lib'", "may not write into /e"),
        (1, "error: externally-managed-environment", "belongs to the system's package manager"),
        (
            1,
            "WARNING: Retrying after connection broken by NewConnectionError('Failed to establish a new connection')\n"
            "ERROR: No matching distribution found for torch",
            "https://x.example/cpu could not be reached",
        ),
        (
            1,
            "ERROR: Could not find a version that satisfies the requirement torch>=2 (from versions: 1.0)\n"
            "ERROR: No matching distribution found for torch>=2",
            "https://x.example/cpu has no torch>=2 for this system and Python",
        ),
        (1, "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", "arrived damaged"),
        (2, "something\nnew", "could not install torch (exit status 2).\n    pip: something\n    pip: new"),
    ],
)
def test_a_failed_pip_becomes_a_sentence_with_a_remedy(status, text, words):
    error = install.explain(
        Outcome(status, tuple(text.splitlines()), 1.0),
        STEP,
        Path("/e"),
        Path("/e/log"),
        lambda path: Usage(0, 0, 3 * GB),
    )
    assert words in error.problem.replace("\\", "/") and error.remedy


def test_only_an_index_that_failed_leads_to_the_fallback():
    def failed(text: str, status: int = 1) -> bool:
        return install.is_unavailable(Outcome(status, (text,), 1.0))

    assert failed("ERROR: No matching distribution found for torch")
    assert failed("ReadTimeoutError: Read timed out.")
    assert not failed("[Errno 28] No space left on device")
    assert not failed("No matching distribution found for torch", status=-2)  # ended by a person


def test_signs_of_life():
    assert (
        install.activity("Downloading torch-2.14.1-cp311-linux.whl (812.3 MB)")
        == "downloading torch-2.14.1-cp311-linux.whl (812.3 MB)"
    )
    assert install.activity("Collecting torch<2.16,>=2.10") == "looking for torch<2.16,>=2.10"
    assert install.activity("Installing collected packages: a, b, c, d") == "unpacking 4 packages (b, c, d)"
    assert install.activity("  x") == ""


def fake_pip(folder: Path, body: str) -> dict[str, str]:
    (folder / "pip").mkdir()
    (folder / "pip" / "__init__.py").write_text("", encoding="utf-8")
    (folder / "pip" / "__main__.py").write_text(body, encoding="utf-8")
    return {**os.environ, "PYTHONPATH": str(folder)}


def test_a_slow_pip_is_reported_and_everything_is_logged(tmp_path):
    environ = fake_pip(
        tmp_path,
        "import os, time\nprint('Downloading big.whl (3 GB)', flush=True)\ntime.sleep(0.7)\nprint(os.environ['TMPDIR'])",
    )
    said: list[str] = []
    outcome = install.run_pip(
        sys.executable,
        ["install", "x"],
        environ=environ,
        log=tmp_path / "log",
        temporary=tmp_path / "tmp",
        say=said.append,
        heartbeat_s=0.2,
    )
    assert outcome.status == 0 and outcome.lines == ("Downloading big.whl (3 GB)", str(tmp_path / "tmp"))
    assert any("still downloading big.whl (3 GB)" in line for line in said)
    assert "pip install x" in (tmp_path / "log").read_text() and "Downloading" in (tmp_path / "log").read_text()
    assert not (tmp_path / "tmp").exists()


def test_what_a_killed_attempt_left_in_the_temporary_folder_is_removed(tmp_path):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / "half a download").write_text("x", encoding="utf-8")
    environ = fake_pip(tmp_path, "import os; print(os.listdir(os.environ['TMPDIR']))")
    outcome = install.run_pip(sys.executable, [], environ=environ, log=tmp_path / "log", temporary=tmp_path / "tmp")
    assert outcome.lines == ("[]",)


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_ends_pip_too(tmp_path, eventually):
    environ = fake_pip(tmp_path, "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)")
    program = (
        "import signal, sys; from pathlib import Path; from labkit.setup import install; f = Path(sys.argv[1]);"
        "signal.signal(signal.SIGINT, signal.default_int_handler);"  # a job in the background begins by ignoring it
        "install.run_pip(sys.executable, [], environ=dict(__import__('os').environ), log=f / 'log', temporary=f / 'tmp')"
    )
    root = str(Path(install.__file__).parents[2])
    environ["PYTHONPATH"] = os.pathsep.join([str(tmp_path), root])
    process = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], env=environ, stderr=subprocess.DEVNULL)
    pid = tmp_path / "pid"
    assert eventually(lambda: pid.exists() and pid.read_text() != "")
    process.send_signal(2)
    process.wait(30)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
