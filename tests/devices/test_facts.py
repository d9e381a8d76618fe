"""What torch says, collected from a real torch and from objects that stand for other builds."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from labkit.devices.facts import best_device, build_of, has_kernels, is_integrated, target_of, torch_facts


def fake_torch(
    *, hip: str | None = "7.2.1", cuda: str | None = None, properties: Any = None, available: bool = True
) -> Any:
    def get_device_properties(index: int) -> Any:
        if isinstance(properties, Exception):
            raise properties
        return properties

    return SimpleNamespace(
        __version__="2.13.0+rocm7.2",
        version=SimpleNamespace(hip=hip, cuda=cuda),
        cuda=SimpleNamespace(
            is_available=lambda: available,
            device_count=lambda: 1,
            get_arch_list=lambda: ["gfx1100"],
            is_bf16_supported=lambda: True,
            get_device_properties=get_device_properties,
        ),
        backends=SimpleNamespace(cpu=SimpleNamespace(get_cpu_capability=lambda: "AVX2")),
        cpu=SimpleNamespace(),
        get_num_threads=lambda: 4,
    )


def test_a_rocm_gpu_is_known_by_its_target() -> None:
    told = torch_facts(
        fake_torch(
            properties=SimpleNamespace(
                name="AMD Instinct MI210",
                gcnArchName="gfx90a:sramecc+:xnack-",
                total_memory=64 * 2**30,
                major=9,
                minor=0,
                is_integrated=0,
            )
        )
    )
    assert build_of(told) == "rocm"
    assert told["devices"] == [
        {
            "index": 0,
            "name": "AMD Instinct MI210",
            "gfx": "gfx90a",
            "capability": None,
            "memory_bytes": 64 * 2**30,
            "integrated": False,
        }
    ]
    assert told["bf16_claim"] is True


def test_an_nvidia_gpu_is_known_by_its_capability() -> None:
    told = torch_facts(
        fake_torch(
            hip=None,
            cuda="13.0",
            properties=SimpleNamespace(
                name="NVIDIA H200", gcnArchName="NVIDIA H200", total_memory=139 * 2**30, major=9, minor=0
            ),
        )
    )
    assert build_of(told) == "cuda"
    assert told["devices"][0]["gfx"] is None and told["devices"][0]["capability"] == [9, 0]
    assert told["devices"][0]["integrated"] is None  # not said is not 'no'
    assert target_of(told["devices"][0]) == "sm_90"


def test_a_question_that_fails_is_a_fact_and_not_an_end() -> None:
    told = torch_facts(fake_torch(properties=RuntimeError("HIP error: invalid argument")))
    assert "invalid argument" in told["errors"]["properties of cuda:0"]
    assert told["devices"][0]["name"] is None and told["device_count"] == 1
    assert "mps" in told["errors"]  # this torch has no such part
    json.dumps(told)


def test_the_torch_that_is_here() -> None:
    torch = pytest.importorskip("torch")
    told = torch_facts(torch)
    json.dumps(told)
    assert told["version"] == str(torch.__version__)
    assert told["available"] == torch.cuda.is_available()
    assert build_of(told) == ("rocm" if torch.version.hip else "cuda" if torch.version.cuda else "cpu")
    if sys.platform == "linux":
        assert told["cpu"]["flags"], "the flags of a Linux machine's processor can always be read"


@pytest.mark.parametrize(
    ("device", "arch_list", "expected"),
    [
        ({"gfx": "gfx1100"}, ["gfx1030", "gfx1100"], True),
        ({"gfx": "gfx1102"}, ["gfx1100", "gfx1101"], False),  # a neighbour is not the target
        ({"gfx": "gfx90a"}, ["gfx90a:xnack-"], True),
        ({"gfx": "gfx1151"}, ["gfx11-generic"], True),
        ({"gfx": "gfx1100"}, [], None),
        ({"capability": [8, 9]}, ["sm_80", "sm_86"], True),  # binary code runs on a higher minor version
        ({"capability": [8, 0]}, ["sm_86"], False),
        ({"capability": [12, 0]}, ["sm_90", "compute_90"], True),  # PTX is compiled for what is newer
        ({"capability": [7, 5]}, ["sm_90", "compute_90"], False),
        ({"capability": [10, 0]}, ["sm_100a"], True),
        ({}, ["gfx1100"], None),
    ],
)
def test_has_kernels(device: dict[str, Any], arch_list: list[str], expected: bool | None) -> None:
    assert has_kernels(device, arch_list) is expected


def test_integrated_by_torch_or_by_the_catalog() -> None:
    assert is_integrated({"gfx": "gfx1100", "integrated": False}) is False
    assert is_integrated({"gfx": "gfx1036", "integrated": None}) is True
    assert is_integrated({"gfx": "gfx942", "integrated": None}) is None
    assert is_integrated({"capability": [8, 7], "integrated": True}) is True


def test_best_device_without_a_gpu() -> None:
    assert best_device({}) == "cpu"
