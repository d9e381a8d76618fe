"""Which device is chosen: from fed-in facts, without a GPU."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.devices import KernelResult, SmokeTest, choose
from labkit.errors import LabkitError


def gpu(index: int, gfx: str, *, integrated: bool | None = None, name: str = "Radeon") -> dict[str, Any]:
    return {
        "index": index,
        "name": name,
        "gfx": gfx,
        "capability": None,
        "memory_bytes": 16 * 2**30,
        "integrated": integrated,
    }


def facts(
    *gpus: dict[str, Any], arch_list: tuple[str, ...] = ("gfx1030", "gfx1100", "gfx1036", "gfx942")
) -> dict[str, Any]:
    return {
        "version": "2.13.0+rocm7.2",
        "hip": "7.2",
        "cuda": None,
        "devices": list(gpus),
        "arch_list": list(arch_list),
        "mps": False,
    }


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        ((), "cpu"),
        ((gpu(0, "gfx1100"),), "cuda:0"),
        ((gpu(0, "gfx1100"), gpu(1, "gfx1030")), "cuda:0"),
        ((gpu(0, "gfx1036", integrated=True), gpu(1, "gfx1100", integrated=False)), "cuda:1"),
        (
            (gpu(0, "gfx1036"), gpu(1, "gfx1100")),
            "cuda:1",
        ),  # an old torch does not say what is integrated: the catalog does
        ((gpu(0, "gfx1032"), gpu(1, "gfx1030")), "cuda:1"),  # the first has no kernels in this wheel
        (
            (gpu(0, "gfx1031", integrated=False), gpu(1, "gfx1036", integrated=True)),
            "cuda:1",
        ),  # one that works beats one that is better
        ((gpu(0, "gfx1036", integrated=True),), "cuda:0"),
        ((gpu(0, "gfx1032"),), "cpu"),
    ],
)
def test_the_best_gpu_that_can_work(gpus: tuple[dict[str, Any], ...], expected: str) -> None:
    assert choose(facts(*gpus)).device == expected


def test_a_gpu_without_kernels_becomes_a_sentence() -> None:
    choice = choose(facts(gpu(0, "gfx1032", name="AMD Radeon RX 6600")))
    assert choice.device == "cpu"
    assert (
        "RX 6600" in choice.sentence
        and "no kernels for gfx1032" in choice.sentence
        and "setup --recreate" in choice.sentence
    )


def test_a_wheel_that_says_nothing_of_its_targets_is_trusted() -> None:
    assert choose(facts(gpu(0, "gfx1032"), arch_list=())).device == "cuda:0"


def test_code_for_a_generic_target_counts() -> None:
    assert choose(facts(gpu(0, "gfx1032"), arch_list=("gfx10-3-generic",))).device == "cuda:0"
    assert choose(facts(gpu(0, "gfx1032"), arch_list=("gfx11-generic",))).device == "cpu"


def test_a_gpu_that_failed_the_smoke_test_is_not_used() -> None:
    failed = SmokeTest("cuda:0", (KernelResult("matmul", "float32", "crashed"),), problem="it crashed")
    choice = choose(facts(gpu(0, "gfx1100")), smoke=failed)
    assert choice.device == "cpu" and "smoke test" in choice.sentence


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("cpu", "cpu"),
        ("CPU ", "cpu"),
        ("cuda", "cuda:1"),
        ("cuda:0", "cuda:0"),
        ("cuda:1", "cuda:1"),
        ("", "cuda:1"),
        ("  ", "cuda:1"),
    ],
)
def test_the_override_is_obeyed(wanted: str, expected: str) -> None:
    both = facts(gpu(0, "gfx1036", integrated=True), gpu(1, "gfx1100"))
    assert choose(both, wanted).device == expected


def test_the_override_may_ask_for_a_gpu_without_kernels() -> None:
    assert choose(facts(gpu(0, "gfx1032")), "cuda").device == "cuda:0"


def test_mps_where_there_is_one() -> None:
    assert choose({**facts(), "mps": True}, "mps").device == "mps"
    assert choose({**facts(), "mps": True}).device == "cpu"


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("hip", "calls AMD GPUs 'cuda'"),
        ("ROCm", "AMD GPUs 'cuda'"),
        ("gpu", "AMD GPUs 'cuda'"),
        ("hip:0", "AMD GPUs 'cuda'"),
        ("cuda:1", "sees only 1 GPU"),
        ("cuda:2", "sees only 1 GPU"),
        ("mps", "no Apple GPU"),
        ("cuda:x", "not a device"),
        ("cpu:0", "not a device"),
        ("tpu", "not a device"),
    ],
)
def test_an_override_that_cannot_be_obeyed_says_why(wanted: str, words: str) -> None:
    with pytest.raises(LabkitError) as caught:
        choose(facts(gpu(0, "gfx1100")), wanted)
    assert words in caught.value.problem and caught.value.remedy


def test_cuda_without_a_gpu_names_the_build() -> None:
    with pytest.raises(LabkitError, match="CPU build") as caught:
        choose({"version": "2.14.1+cpu", "hip": None, "cuda": None, "devices": []}, "cuda")
    assert "sees no GPU" in caught.value.problem
