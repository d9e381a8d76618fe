"""Pastes of many ages and shapes (``pastes.json``, one a line), each with what a reader must say of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from labkit.machine.readers import dmesg, recognise

PASTES = json.loads((Path(__file__).parent / "pastes.json").read_text("utf-8"))


def _differs(want: Any, got: Any, tolerance: float) -> bool:
    if isinstance(want, dict):
        return any(_differs(inner, (got or {}).get(key), tolerance) for key, inner in want.items())
    if isinstance(want, list):
        return len(want) != len(got) or any(_differs(w, g, tolerance) for w, g in zip(want, got, strict=True))
    if isinstance(want, float) or (isinstance(want, int) and not isinstance(want, bool)):
        return got is None or abs(want - got) > tolerance * abs(want)
    return bool(want != got)


@pytest.mark.parametrize("paste", PASTES, ids=[paste["id"] for paste in PASTES])
def test_a_paste_is_read(paste: dict[str, Any]) -> None:
    got = recognise.read_text(paste["text"])
    if "findings" in got:
        got["findings"] = sorted(got["findings"])
        paste["expect"]["findings"] = sorted(paste["expect"]["findings"])
    assert not _differs(paste["expect"], got, paste.get("rel_tol", 1e-6)), got


@pytest.mark.parametrize("kind", ["rocminfo", "rocm-smi", "amd-smi", "collect-env", "lspci", "dmesg"])
def test_a_record_deep_in_a_long_log_is_found(kind: str) -> None:
    record = next(
        paste["text"]
        for paste in PASTES
        if paste["expect"]["kind"] == kind and len(paste["text"]) > 100 and not paste["text"].startswith(("{", "[{"))
    )
    noise = "12:00:01 worker 3 did its work well\n" * 150_000  # above the size from which the place is looked for
    assert recognise.read_text(noise + record + noise) == recognise.read_text(record)


def test_a_long_kernel_log_is_read_to_its_end() -> None:
    log = "[    1.000000] usb 1-1: new device\n" * 150_000
    assert recognise.read_text(log) == {"kind": "dmesg", "findings": []}
    trouble = "[   99.000000] amdgpu 0000:03:00.0: amdgpu: GPU reset begin!\n"
    assert recognise.read_text(log + trouble + log)["findings"] == ["gpu-reset"]


def test_another_driver_s_hang_is_no_finding() -> None:
    assert dmesg.findings_of("[drm] GPU reset begin! i915 0000:00:02.0") == []
    assert dmesg.findings_of("nvidia 0000:01:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT]") == ["iommu-page-fault"]
