"""The smoke test from outside: a real child, children that die in every way, and what is made of their output."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from labkit.devices import smoke
from labkit.devices.kernels import DTYPES, MARK, OPS
from labkit.devices.smoke import read

FACTS = {
    "version": "2.13.0+rocm7.2",
    "hip": "7.2",
    "cuda": None,
    "arch_list": ["gfx1030"],
    "env": {},
    "devices": [{"index": 0, "name": "Radeon RX 6600", "gfx": "gfx1032", "capability": None, "integrated": False}],
}


PATIENCE = (1, 5, 30, 120)  # seconds: on a busy machine even the start of Python can take a while


def lines(*messages: dict[str, Any]) -> str:
    return "\n".join(f"noise of a library\n{MARK}{json.dumps(message)}" for message in messages) + "\n"


def result(op: str, dtype: str, status: str = "ok", text: str = "") -> dict[str, Any]:
    return {"result": {"op": op, "dtype": dtype, "status": status, "error": 0.0, "tolerance": 0.1, "text": text}}


def all_results(**replaced: dict[str, Any]) -> list[dict[str, Any]]:
    return [replaced.get(f"{op}_{dtype}", result(op, dtype)) for dtype in DTYPES for op in OPS]


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_the_real_child_on_the_cpu() -> None:
    pytest.importorskip("torch")
    test = smoke.run("cpu")
    assert test.passed and test.usable and not test.problem, test
    assert test.device == "cpu" and len(test.results) == len(OPS) * len(DTYPES)
    assert test.facts["version"]
    assert "9 of 9" in str(test)


def test_facts_only_runs_no_kernel() -> None:
    pytest.importorskip("torch")
    test = smoke.run("none")
    assert test.facts and not test.results and not test.problem


def test_a_device_that_is_not_there_is_a_sentence() -> None:
    torch = pytest.importorskip("torch")
    test = smoke.run(f"cuda:{torch.cuda.device_count() + 5}")
    assert not test.passed and test.problem and test.remedy
    assert {outcome.status for outcome in test.results} <= {"error", "unsupported"}


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL"])
def test_a_child_that_is_killed_names_its_kernel(name: str) -> None:
    text = lines(
        {"step": "import torch"},
        {"facts": FACTS},
        {"device": "cuda:0"},
        {"step": "matmul in float32"},
        result("matmul", "float32"),
        {"step": "conv in float32"},
    )
    code = (
        f"import os, signal, sys; sys.stdout.write({text!r}); sys.stdout.flush(); os.kill(os.getpid(), signal.{name})"
    )
    test = smoke.run(command=python(code), timeout_s=60)
    assert not test.passed and not test.usable
    assert (
        f"ended by the signal {name}" in test.problem and "conv in float32" in test.problem and "cuda:0" in test.problem
    )
    assert test.remedy
    assert [outcome.status for outcome in test.results] == ["ok", "crashed"]
    assert test.facts["version"] == FACTS["version"]  # what it said before it died is not lost


def test_a_child_that_hangs_is_stopped() -> None:
    code = (
        f"import sys, time; sys.stdout.write({lines({'step': 'import torch'})!r}); sys.stdout.flush(); time.sleep(600)"
    )
    start = time.monotonic()
    for timeout_s in PATIENCE:
        test = smoke.run(command=python(code), timeout_s=timeout_s)
        if "import torch" in test.problem:
            break
    assert time.monotonic() - start < 200
    assert (
        "hung" in test.problem and "import torch" in test.problem and f"{timeout_s} s" in test.problem and test.remedy
    )


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_nothing_of_a_stopped_child_lives_on(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    code = (
        f"import os, subprocess, sys, time; grandchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        f"open({str(note)!r}, 'w').write(f'{{os.getpid()}} {{grandchild.pid}}'); time.sleep(600)"
    )
    for timeout_s in PATIENCE:
        smoke.run(command=python(code), timeout_s=timeout_s)
        pids = note.read_text(encoding="utf-8").split() if note.exists() else []
        if len(pids) == 2:
            break
    assert len(pids) == 2
    deadline = time.monotonic() + 20
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in pids if alive(pid)]


def alive(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_child_that_says_nothing() -> None:
    test = smoke.run(command=python("raise SystemExit(3)"), timeout_s=60)
    assert "ended with status 3" in test.problem and "before it could say anything" in test.problem and test.remedy


def test_a_child_that_ends_well_but_early_has_not_passed() -> None:
    test = smoke.run(command=python("pass"), timeout_s=60)
    assert not test.passed and test.problem


def test_a_python_that_is_not_there() -> None:
    test = smoke.run(command=["no-such-python-anywhere", "-c", "pass"])
    assert "could not be started" in test.problem and test.remedy


def test_wheel_without_the_target() -> None:
    text = "RuntimeError: HIP error: invalid device function\nCompile with `TORCH_USE_HIP_DSA`"
    bad = {f"{op}_{dtype}": result(op, dtype, "error", text) for op in OPS for dtype in DTYPES}
    test = read(lines({"facts": FACTS}, {"device": "cuda:0"}, *all_results(**bad), {"done": True}), "", 0)
    assert not test.usable
    assert "9 of 9 kernels fail on 'cuda:0'" in test.problem and "this torch has no kernels for gfx1032" in test.problem
    assert "wheel has them" in test.remedy


def test_wheel_with_the_target_but_without_its_package() -> None:
    facts = {**FACTS, "arch_list": ["gfx1032"]}
    bad = {f"{op}_{dtype}": result(op, dtype, "error", "hipErrorInvalidImage") for op in OPS for dtype in DTYPES}
    test = read(lines({"facts": facts}, {"device": "cuda:0"}, *all_results(**bad), {"done": True}), "", 0)
    assert "names gfx1032, yet its kernels are not there" in test.problem and "torch[device-gfx1032]" in test.remedy


def test_wrong_numbers_are_never_called_fine() -> None:
    wrong = {"conv_bfloat16": result("conv", "bfloat16", "wrong", "off by 0.4 of the scale, allowed 0.016")}
    test = read(lines({"facts": FACTS}, {"device": "cuda:0"}, *all_results(**wrong), {"done": True}), "", 0)
    assert not test.passed and test.usable  # float32 is right: the device can be used, and the card says what is wrong
    assert "wrong numbers" in test.problem and "conv bfloat16" in test.problem and "do not trust" in test.remedy
    assert "WRONG" in str(test)


def test_wrong_numbers_under_an_override_blame_the_override() -> None:
    facts = {**FACTS, "env": {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}}
    wrong = {"matmul_float32": result("matmul", "float32", "wrong", "NaN in the result")}
    test = read(lines({"facts": facts}, {"device": "cuda:0"}, *all_results(**wrong), {"done": True}), "", 0)
    assert "unset HSA_OVERRIDE_GFX_VERSION" in test.remedy


def test_what_a_device_does_not_offer_is_not_a_failure() -> None:
    absent = {"conv_float16": result("conv", "float16", "unsupported", "not implemented for 'Half'")}
    test = read(lines({"facts": FACTS}, {"device": "cpu"}, *all_results(**absent), {"done": True}), "", 0)
    assert test.passed and "not offered" in str(test)


def test_a_crash_while_ending_keeps_the_results() -> None:
    test = read(lines({"facts": FACTS}, {"device": "cuda:0"}, *all_results(), {"done": True}), "", -11)
    assert test.usable and not test.passed and "after the last kernel" in test.problem


def test_a_memory_fault_is_recognised_in_what_the_runtime_printed() -> None:
    printed = lines({"facts": FACTS}, {"device": "cuda:0"}, {"step": "conv in float16"})
    test = read(
        printed, "Memory access fault by GPU node-1 (Agent handle: 0x55) on address 0x7f. Reason: Page not present", -6
    )
    assert "touched memory that is not its own" in test.problem and "conv in float16" in test.problem


def test_windows_access_violation() -> None:
    test = read(lines({"step": "import torch"}), "", 0xC0000005)
    assert "access violation" in test.problem and "import torch" in test.problem


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("ModuleNotFoundError", "No module named 'torch'", "not installed"),
        (
            "ImportError",
            "libamdhip64.so.6: cannot open shared object file: No such file or directory",
            "ROCm library libamdhip64.so.6",
        ),
        (
            "OSError",
            "libcudnn.so.9: cannot open shared object file: No such file or directory",
            "CUDA library libcudnn.so.9",
        ),
        (
            "OSError",
            '[WinError 126] The specified module could not be found. Error loading "C:\\x\\c10.dll"',
            "c10.dll",
        ),
        ("ImportError", "DLL load failed while importing _C", "DLL"),
        ("ModuleNotFoundError", "No module named 'torch._C'", "cannot start"),
        ("AttributeError", "partially initialized module 'torch'", "cannot start"),
    ],
)
def test_a_torch_that_does_not_import_is_a_sentence(kind: str, text: str, words: str) -> None:
    test = read(lines({"step": "import torch"}, {"import_error": {"type": kind, "text": text}}), "", 0)
    assert words in test.problem and test.remedy and not test.passed and not test.facts


def test_a_broken_torch_in_the_child(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text(
        "raise OSError('librocblas.so.5: cannot open shared object file: No such file')", encoding="utf-8"
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from labkit.devices import child; sys.exit(child.main(['auto']))"
    test = smoke.run(command=python(code), timeout_s=60)
    assert "librocblas.so.5" in test.problem and test.remedy


def test_html_escapes_what_libraries_print() -> None:
    bad = {"matmul_float32": result("matmul", "float32", "error", "<script>alert(1)</script>")}
    test = read(lines({"facts": FACTS}, {"device": "cuda:0"}, *all_results(**bad), {"done": True}), "", 0)
    assert "<script>" not in test._repr_html_() and "&lt;script&gt;" in test._repr_html_()


def test_garbage_in_the_output_is_passed_over() -> None:
    test = read(f"{MARK}{{broken\n{MARK}\n" + lines({"device": "cpu"}, *all_results(), {"done": True}), "", 0)
    assert test.passed
