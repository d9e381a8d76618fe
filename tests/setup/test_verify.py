"""The proof that torch computes: the probe runs for real on a stand-in torch that is right, wrong or broken."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from labkit.errors import LabkitError
from labkit.setup.plan import TorchPlan
from labkit.setup.verify import Verdict, as_chosen, judge, verify

ROCM = TorchPlan("rocm", "https://x.example/rocm7.2", ("torch",), ("gfx1100",), (), None, None)


def test_a_torch_that_is_right(stand_in_torch):
    verdict = verify(sys.executable, environ=stand_in_torch("2.14.1+cpu"))
    assert verdict.works and (verdict.build, verdict.device, verdict.version) == ("cpu", "cpu", "2.14.1+cpu")


def test_the_gpu_that_torch_was_chosen_for(stand_in_torch):
    environ = stand_in_torch("2.14.1+rocm7.2", gfx=["gfx1036", "gfx1100"])
    verdict = verify(sys.executable, ("gfx1100",), environ=environ)
    assert (
        verdict.works and verdict.device == "cuda:1" and verdict.gfx == "gfx1100" and verdict.build_version == "7.2.1"
    )
    assert verify(sys.executable, ("gfx942",), environ=environ).device == "cuda:0"


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("import", "torch does not load: OSError: libamdhip64.so.7"),
        ("exit", "its first kernel on cpu failed: the process ended with exit status 7"),
        ("wrong", "torch runs on cpu, but a matrix product came out wrong"),
        pytest.param(
            "abort",
            "its first kernel on cpu failed: the process was ended by SIGABRT",
            marks=pytest.mark.skipif(os.name == "nt", reason="signals"),
        ),
    ],
)
def test_a_broken_torch_is_a_sentence(stand_in_torch, how, words):
    verdict = verify(sys.executable, environ=stand_in_torch("2.14.1+cpu", how=how))
    assert not verdict.works and words in verdict.error
    with pytest.raises(LabkitError, match="does not work"):
        as_chosen(verdict, None, Path("log"))


def test_a_gpu_whose_first_kernel_crashes_leaves_the_cpu_and_a_warning(stand_in_torch):
    verdict = verify(
        sys.executable, ("gfx1100",), environ=stand_in_torch("2.14.1+rocm7.2", how="abort on gpu", gfx=["gfx1100"])
    )
    assert verdict.works and verdict.device == "cpu"
    assert "its first kernel on cuda:0 (gfx1100) failed" in verdict.warning and "lesson 00" in verdict.warning


def test_no_torch_at_all_and_no_python_at_all(tmp_path):
    assert (
        "torch does not load: ModuleNotFoundError"
        in judge(
            '{"stage": "import"}\n{"stage": "failed", "error": "ModuleNotFoundError: No module named \'torch\'"}', "", 1
        ).error
    )
    assert "does not start" in verify(tmp_path / "nothing").error


def test_a_probe_that_never_ends_and_one_that_prints_noise():
    told = (
        'noise\n[1]\n{"stage": "import"}\n{"stage": "build", "version": "2", "hip": "7", "cuda": null}\n'
        '{"stage": "device", "device": "cuda:0", "gfx": "gfx1151", "name": "x"}\n'
    )
    verdict = judge(told, "", None, 240)
    assert "no answer within 240 s" in verdict.error and verdict.device == "cuda:0" and verdict.build == "rocm"
    assert "SIGSEGV" in judge(told, "", -11).error


def test_another_build_than_the_chosen_one_is_turned_down():
    there = Verdict(True, version="2.15.0", build="cuda", device="cpu")
    with pytest.raises(LabkitError, match=r"A rocm build of torch was chosen, but 2\.15\.0 is a cuda build"):
        as_chosen(there, ROCM, Path("log"))
    assert as_chosen(there, None, Path("log")) is there
