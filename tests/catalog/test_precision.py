"""Native number formats by target: the lines between the generations."""

from __future__ import annotations

import pytest

from labkit.catalog.gfx import TARGETS
from labkit.catalog.precision import BF16_CHECK, DTYPES, dtype_support, native_dtypes


@pytest.mark.parametrize(
    ("gfx", "bfloat16", "fp8", "tf32"),
    [
        ("gfx906", "emulated", "none", "none"),
        ("gfx908", "native", "none", "none"),
        ("gfx90a", "native", "none", "none"),
        ("gfx942", "native", "native", "native"),
        ("gfx950", "native", "native", "native"),
        ("gfx1012", "emulated", "none", "none"),
        ("gfx1030", "emulated", "none", "none"),
        ("gfx1036", "emulated", "none", "none"),
        ("gfx1100", "native", "none", "none"),
        ("gfx1103", "native", "none", "none"),
        ("gfx1151", "native", "none", "none"),
        ("gfx1200", "native", "native", "none"),
        ("gfx1201", "native", "native", "none"),
        ("gfx1250", "native", "unknown", "unknown"),
    ],
)
def test_the_lines_between_generations(gfx: str, bfloat16: str, fp8: str, tf32: str) -> None:
    found = dtype_support(gfx)
    assert (found["bfloat16"].status, found["fp8"].status, found["tf32"].status) == (bfloat16, fp8, tf32)
    assert found["float32"].native and found["float16"].native


@pytest.mark.parametrize("gfx", list(TARGETS))
def test_every_target_answers_with_a_reason_and_a_source_and_agrees_with_the_table(gfx: str) -> None:
    found = dtype_support(gfx)
    assert tuple(found) == DTYPES
    assert all(support.reason and support.source and support.checked for support in found.values())
    assert found["bfloat16"].native == TARGETS[gfx].native_bf16


def test_mi100_has_half_the_rate_and_mi300_its_own_encoding() -> None:
    assert "half" in dtype_support("gfx908")["bfloat16"].reason
    assert "FNUZ" in dtype_support("gfx942")["fp8"].reason and "OCP" in dtype_support("gfx1201")["fp8"].reason


@pytest.mark.parametrize("gfx", [None, "", "gfx803"])
def test_an_unknown_target_is_unknown(gfx: str | None) -> None:
    found = dtype_support(gfx)
    assert {support.status for dtype, support in found.items() if dtype != "float32"} == {"unknown"}
    assert native_dtypes(gfx) == ("float32",)


def test_feature_flags_behind_the_name_do_not_matter() -> None:
    assert native_dtypes("gfx90a:sramecc+:xnack-") == ("float32", "bfloat16", "float16")


def test_torchs_own_answer_is_known_to_be_wrong() -> None:
    assert "is_bf16_supported" in BF16_CHECK and "True on every ROCm build" in BF16_CHECK
