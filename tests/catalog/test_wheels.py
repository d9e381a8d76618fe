"""Indexes, versions and sizes, and what an address says about its wheels."""

from __future__ import annotations

import pytest

from labkit.catalog import wheels
from labkit.catalog.gfx import TARGETS


@pytest.mark.parametrize(
    ("torch", "indexes"),
    [
        ("2.13.0", ("rocm7.1", "rocm7.2")),
        ("2.14.1+rocm7.2", ("rocm7.2", "rocm7.14")),
        ("2.0.1", ("rocm5.3", "rocm5.4.2")),
        ("2.15.0", ()),
        ("9.9", ()),
    ],
)
def test_indexes_of_a_version(torch: str, indexes: tuple[str, ...]) -> None:
    assert wheels.indexes_for(torch) == indexes


def test_the_index_that_pytorch_shows_comes_first_and_an_unconfirmed_one_not_at_all() -> None:
    assert wheels.usable_rocm_indexes() == ("rocm7.2", "rocm7.1", "rocm7.0")


def test_amds_lists_are_those_of_its_page() -> None:
    assert len(wheels.amd_targets("linux")) == 15 and len(wheels.amd_targets("windows")) == 11
    assert not any(gfx.startswith("gfx9") for gfx in wheels.amd_targets("windows"))
    assert wheels.amd_targets("macos") == ()


@pytest.mark.parametrize(
    ("gfx", "system", "answer"),
    [
        ("gfx1100", "windows", "listed"),
        ("gfx1032", "windows", "seen"),
        ("gfx1032", "linux", "seen"),
        ("gfx942", "windows", ""),
        ("gfx1250", "windows", ""),
        ("gfx1250", "linux", "seen"),
        ("gfx906", "linux", ""),
        ("gfx803", "linux", ""),
    ],
)
def test_what_amds_wheels_carry(gfx: str, system: str, answer: str) -> None:
    assert wheels.amd_carries(gfx, system) == answer


def test_everything_but_two_old_targets_is_carried_by_amd_on_linux() -> None:
    assert {gfx for gfx in TARGETS if not wheels.amd_carries(gfx, "linux")} == {"gfx900", "gfx906"}


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://download.pytorch.org/whl/rocm7.2/", "rocm7.2"),
        ("https://download.pytorch.org/whl/cpu", "cpu"),
        ("https://download.pytorch.org/whl/cu130", "cuda"),
        (wheels.AMD_INDEX, "amd"),
        (wheels.AMD_MULTI_ARCH_INDEX, "amd-multi-arch"),
        ("http://127.0.0.1:8000/simple/", None),
    ],
)
def test_what_an_address_says(url: str, kind: str | None) -> None:
    assert wheels.kind_of(url) == kind


def test_every_fact_has_a_source_and_a_day() -> None:
    for fact in (*wheels.TORCH_INDEXES, *wheels.CHANNELS.values(), *wheels.SIZES.values()):
        assert fact.source and fact.checked
    for size in wheels.SIZES.values():
        assert size.download_bytes or size.installed_bytes or "not established" in size.source


def test_the_tested_versions_are_within_what_is_asked_for() -> None:
    assert wheels.version("2.10") <= wheels.version(wheels.TESTED_TORCH) < wheels.version("2.15")
    assert wheels.TORCH_RANGE == ">=2.10,<2.15" and wheels.TORCHVISION_RANGE == ">=0.25,<0.30"
