"""Cards for two neighbours of PyTorch: what this machine has of TensorFlow and OpenCL, and what is known of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from labkit.catalog.neighbours import OPENCL, TENSORFLOW, Statement
from labkit.show.tables import Table, word_table

_NOT_NEEDED = "Nothing in this course needs it."


def tensorflow(snapshot: Mapping[str, Any]) -> Table:
    """Is TensorFlow there, which build is it, does it see a GPU; and what AMD supports. Reads only the snapshot."""
    said = snapshot.get("tensorflow")
    rows: list[tuple[str, str, str]]
    if not isinstance(said, Mapping):
        rows = [("here", f"not installed. {_NOT_NEEDED}", "this machine")]
    else:
        rows = [
            (
                "here",
                f"{said.get('package')} {said.get('version') or '(version not known)'}, {_build(said)}",
                "this machine",
            )
        ]
        rows.append(("sees a GPU", _gpus(said), "this machine"))
    return _card("TensorFlow", rows, TENSORFLOW, snapshot)


def _build(said: Mapping[str, Any]) -> str:
    if said.get("error"):
        return "which does not start"
    if said.get("rocm"):
        return "a ROCm build"
    if said.get("cuda"):
        return "a CUDA build: it cannot use an AMD GPU"
    return "a CPU build"


def _gpus(said: Mapping[str, Any]) -> str:
    if said.get("error"):
        return f"not known: {str(said['error'])[:200]}"
    found = said.get("gpus")
    if found is None:
        return "not asked"
    count = len(found) if isinstance(found, Sequence) and not isinstance(found, str) else int(found)
    return f"yes, {count}" if count else "no"


def opencl(snapshot: Mapping[str, Any]) -> Table:
    """What clinfo says beside what torch says: two questions with two answers. Reads only the snapshot."""
    tools = snapshot.get("tools")
    text = tools.get("clinfo") if isinstance(tools, Mapping) else None
    torch = snapshot.get("torch")
    sees = torch.get("cuda_available") if isinstance(torch, Mapping) else None
    rows = [
        ("clinfo", _clinfo(text), "this machine"),
        ("PyTorch", "not known" if sees is None else "sees a GPU" if sees else "sees no GPU", "this machine"),
    ]
    return _card("OpenCL", rows, OPENCL, snapshot)


def _clinfo(text: object) -> str:
    if not isinstance(text, str) or not text.strip():
        return f"not installed, or it said nothing. {_NOT_NEEDED}"
    platforms = re.search(r"Number of platforms\W+(\d+)", text)
    if platforms is None:
        return f"says: {text.strip().splitlines()[0][:120]}"
    devices = [int(count) for count in re.findall(r"Number of devices\W+(\d+)", text)]
    count = int(platforms.group(1))
    if not count:
        return "finds no OpenCL platform"
    names = list(dict.fromkeys(re.findall(r"^\s*Platform Name\W\s+(\S.*?)\s*$", text, re.M)))
    named = f" ({', '.join(names)})" if names else ""
    return f"finds {count} platform{'s' if count != 1 else ''}{named} with {sum(devices)} device{'s' if sum(devices) != 1 else ''}"


def _card(
    title: str, rows: Sequence[tuple[str, str, str]], known: Sequence[Statement], snapshot: Mapping[str, Any]
) -> Table:
    told = [(one.about, one.text, f"{one.source} ({one.checked})") for one in known]
    return word_table(["", title, "from"], [*rows, *told], simulated=bool(snapshot.get("simulated")))
