"""The project's own descriptions of machines (``cases/*.json``) and the judge of what the doctor says of them.

The files hold one case a line. Long tool texts are written short there: ``rocminfo`` as head, processor and GPUs (name,
marketing name, compute units, KB), ``devices`` as 'open', 'none' or 'wsl', ``groups`` as 'all', the list of targets by the
name of the wheel. :func:`load` writes them out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "cases"

_OLD = ["gfx900", "gfx906", "gfx908", "gfx90a", "gfx1030"]
_SIX = ["gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100"]
_NEW = [*_SIX, "gfx1101", "gfx1102", "gfx1200", "gfx1201"]
_SEVEN = [*_NEW, "gfx950"]
_LATE = [*(name for name in _SEVEN if name not in ("gfx900", "gfx906")), "gfx1150", "gfx1151", "gfx1103"]
WHEELS = {
    "rocm5": _OLD, "rocm6.0": _SIX, "rocm6.1": [*_SIX, "gfx1101"], "rocm6.2": _SIX, "rocm6.2.4": _NEW, "rocm6.3": _NEW,
    "rocm6.4": _NEW, "rocm7.0": _SEVEN, "rocm7.1": _SEVEN, "rocm7.2": [*_SEVEN, "gfx1150", "gfx1151"], "rocm7.13": _LATE,
    "rocm7.14": _LATE,
}  # fmt: skip

_OPEN = {"exists": True, "mode": "0660", "owner": "root", "group": "render", "readable": True}
_NONE = {"exists": False, "mode": None, "owner": None, "group": None, "readable": False}


def _rocminfo(short: dict[str, Any]) -> str:
    rows = [short["head"], "=====================", "HSA System Attributes", "====================="]
    agents = [("CPU", short["cpu"], short["cpu"], 16, 32768000), *(("GPU", *gpu) for gpu in short["gpus"])]
    for at, (kind, name, marketing, units, *memory) in enumerate(agents, start=1):
        size = next((entry for entry in memory if isinstance(entry, int)), 25149440)
        rows += [
            "*******", f"Agent {at}", "*******", f"  Name:                    {name}",
            f"  Marketing Name:          {marketing}", f"  Device Type:             {kind}", f"  Compute Unit:            {units}",
            "  Pool Info:", "    Pool 1", "      Segment:                 GLOBAL; FLAGS: COARSE GRAINED",
            f"      Size:                    {size}(0x17fc000) KB", "  ISA Info:",
        ]  # fmt: skip
        if kind == "GPU":
            rows += ["    ISA 1", f"      Name:                    amdgcn-amd-amdhsa--{name}"]
    return "\n".join([*rows, "*** Done ***", ""])


def _devices(short: str) -> dict[str, Any]:
    word, _, count = short.partition(" ")
    if word == "wsl":
        return {"/dev/dxg": {**_OPEN, "mode": "0666", "group": "root"}, "/dev/kfd": _NONE}
    node = _OPEN if word == "open" else _NONE
    return {"/dev/kfd": node, **{f"/dev/dri/renderD{128 + i}": node for i in range(int(count or 1))}}


def written_out(case: dict[str, Any]) -> dict[str, Any]:
    """A case with its short forms replaced by what a tool would have printed."""
    given = dict(case["given"])
    if isinstance(given.get("rocminfo"), dict):
        given["rocminfo"] = _rocminfo(given["rocminfo"])
    if isinstance(given.get("devices"), str):
        given["devices"] = _devices(given["devices"])
    if given.get("groups") == "all":
        given["groups"] = ["ana", "adm", "sudo", "video", "render"]
    if isinstance(given.get("torch"), dict):
        facts = {"hip": None, "cuda": None, "arch_list": [], "gcn_arch_names": [], **given["torch"]}
        if isinstance(facts["arch_list"], str):
            facts["arch_list"] = WHEELS[facts["arch_list"]]
        given["torch"] = facts
    return {**case, "given": given}


def load() -> list[dict[str, Any]]:
    """All cases, written out."""
    return [written_out(case) for path in sorted(FOLDER.glob("*.json")) for case in json.loads(path.read_text("utf-8"))]


def misses(expect: dict[str, Any], findings: list[dict[str, Any]]) -> list[str]:
    """What is not as expected in the doctor's findings; empty when all is."""
    codes = [finding["code"] for finding in findings]
    wrong = []
    if codes[:1] != [expect["top"]]:
        wrong.append(f"first is {codes[:3]}, not {expect['top']}")
    if expect["top"] == "ok" and any(finding["severity"] != "info" for finding in findings):
        wrong.append(f"'ok' beside {codes}")
    wrong += [f"{code} is missing" for code in expect.get("also", ()) if code not in codes]
    wrong += [f"{code} must not be there" for code in expect.get("never", ()) if code in codes]
    fixes = " \n".join(step for finding in findings for step in finding["fix"]).lower()
    first = " \n".join(
        step for finding in findings if finding["code"] == expect["top"] for step in finding["fix"]
    ).lower()
    wrong += [f"no '{word}' in the fix" for word in expect.get("fix_mentions", ()) if word.lower() not in first]
    wrong += [f"'{word}' in a fix" for word in expect.get("fix_never_mentions", ()) if word.lower() in fixes]
    return wrong
