"""Every name of a list of real kernels gets its category. The list stands in kernel_names.json: [name, category]."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labkit.profile.categories import CATEGORIES, category, patterns

NAMES: list[list[str]] = json.loads((Path(__file__).parent / "kernel_names.json").read_text(encoding="utf-8"))


def test_there_are_enough_of_each() -> None:
    assert len(NAMES) >= 150 and len({name for name, _ in NAMES}) == len(NAMES)
    for one in CATEGORIES:
        assert sum(kind == one for _, kind in NAMES) >= 5, one


@pytest.mark.parametrize(("name", "expected"), NAMES, ids=[name[:40] for name, _ in NAMES])
def test_real_names(name: str, expected: str) -> None:
    assert category(name) == expected


def test_white_space_and_kernel_descriptors_change_nothing() -> None:
    assert category("void  at::native::\nreduce_kernel<512> [clone .kd]") == "reduction"
    assert category("Cijk_Ailk_Bljk_SB_MT64x64x16.kd") == "gemm"


def test_the_table_has_a_reason_in_each_row_and_no_row_is_never_reached() -> None:
    first = {}
    for name, _ in NAMES:
        from labkit.profile.names import demangle

        at = next((i for i, row in enumerate(patterns()) if row.pattern.search(demangle(name))), None)
        first.setdefault(at, name)
    assert all(row.category in CATEGORIES and row.what for row in patterns())
    assert set(range(len(patterns()))) <= set(first), "a row that no name of the list needs"
