"""The shared corpus, where it lies beside the repository (or where LABKIT_CORPUS points): a score, and never a quiet pass without it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from labkit.machine import doctor
from labkit.machine.evidence import from_case
from labkit.machine.readers import recognise
from tests.machine.case_files import misses

CORPUS = Path(os.environ.get("LABKIT_CORPUS") or Path(__file__).parents[3] / "shared" / "corpus")
KINDS = {"rocminfo", "rocm-smi", "amd-smi", "collect-env", "lspci", "dmesg", "kfd-topology", "unknown"}
KINDS |= {"rccl-tests", "rccl-log", "rccl-ras", "rocm-bandwidth-test", "transferbench"}

pytestmark = pytest.mark.skipif(
    not (CORPUS / "samples" / "TRUTH.jsonl").is_file(),
    reason="the shared corpus is not here (shared/corpus beside the repository, or LABKIT_CORPUS): nothing was scored",
)


def _samples() -> list[dict[str, Any]]:
    truth = CORPUS / "samples" / "TRUTH.jsonl"
    if not truth.is_file():
        return []
    rows = [json.loads(line) for line in truth.read_text("utf-8").splitlines() if line.strip()]
    return [row for row in rows if row["kind"] in KINDS]


def _cases() -> list[dict[str, Any]]:
    return [json.loads(path.read_text("utf-8")) for path in sorted((CORPUS / "cases").glob("*.json"))]


def _differs(want: Any, got: Any, where: str = "") -> str | None:
    """None when all that is wanted is there; more keys than wanted are allowed."""
    if isinstance(want, dict):
        for key, inner in want.items():
            if key == "findings":
                if set(inner) != set((got or {}).get(key) or ()):
                    return f"{where}.{key}: {got}"
            elif found := _differs(inner, (got or {}).get(key), f"{where}.{key}"):
                return found
        return None
    if isinstance(want, list):
        if not isinstance(got, list) or len(want) != len(got):
            return f"{where}: {got}"
        return next((found for i, row in enumerate(want) if (found := _differs(row, got[i], f"{where}[{i}]"))), None)
    if isinstance(want, (int, float)) and not isinstance(want, bool):
        near = isinstance(got, (int, float)) and abs(want - got) <= 1e-6 * abs(want)
        return None if near else f"{where}: {got}, not {want}"
    return None if want == got else f"{where}: {got!r}, not {want!r}"


@pytest.mark.parametrize("row", _samples(), ids=lambda row: str(row["file"]))
def test_a_sample_is_read(row: dict[str, Any]) -> None:
    got = recognise.read_path(CORPUS / "samples" / row["file"])
    assert _differs(row["expect"], got) is None
    assert got["kind"] != "unknown" or got["reason"]


@pytest.mark.parametrize("case", _cases(), ids=lambda case: str(case["id"]))
def test_a_case_gets_its_diagnosis(case: dict[str, Any]) -> None:
    seen = {"platform": case["platform"], "given": case["given"]}
    assert misses(case["expect"], doctor.diagnose(from_case(seen)).as_json()["findings"]) == []
