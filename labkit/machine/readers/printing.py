"""What a reader found, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.machine.readers import bandwidth_text


def as_text(facts: Mapping[str, Any]) -> str:
    """A few lines that say what the text said; unknown values are left out."""
    kind = facts["kind"]
    if kind == "unknown":
        return f"Not recognised, because {facts['reason']}."
    if kind in bandwidth_text.KINDS:
        return bandwidth_text.as_text(facts)
    head = [f"This is the output of {_TITLES.get(kind, kind)}."]
    if facts.get("driver") in _DRIVER:
        head.append(_DRIVER[facts["driver"]])
    if facts.get("problem"):
        head.append(f"It names a problem: {facts['problem']}.")
    if kind == "collect-env":
        head += [f"{label}: {facts[key]}" for key, label in _REPORT if facts.get(key) is not None]
    if kind == "dmesg":
        found = facts["findings"]
        head.append("It shows: " + ", ".join(found) + "." if found else "No known GPU trouble in it.")
    things = facts.get("agents") or facts.get("gpus") or []
    rows = [_row(thing) for thing in things]
    if "gpus" in facts and not rows:
        head.append("It lists no GPU.")
    return "\n".join(head + [f"  - {row}" for row in rows])


_TITLES = {
    "dmesg": "the kernel log", "kfd-topology": "the KFD topology (/sys/class/kfd)", "collect-env": "torch.utils.collect_env",
}  # fmt: skip
_DRIVER = {
    "loaded": "The amdgpu driver is loaded.", "not-loaded": "The amdgpu driver is not loaded.", "wsl": "It ran in WSL.",
}  # fmt: skip
_REPORT = (
    ("torch", "PyTorch"), ("build", "Build"), ("hip", "HIP"), ("cuda", "CUDA"), ("python", "Python"), ("os", "System"),
    ("gpu_available", "GPU available"),
)  # fmt: skip


def _row(thing: object) -> str:
    if not isinstance(thing, Mapping):
        return str(thing)
    parts = []
    for key, content in thing.items():
        if content is None:
            continue
        if key.endswith("_bytes"):
            parts.append(f"{key[:-6].replace('_', ' ')} {content / 2**30:.1f} GiB")
        elif key.endswith("_percent"):
            parts.append(f"{key[:-8]} {content:g} %")
        elif key.endswith("_c"):
            parts.append(f"{content:g} °C")
        elif key.endswith("_w"):
            parts.append(f"{content:g} W")
        elif key in ("name", "marketing_name", "gfx", "type"):
            if str(content) not in parts:
                parts.append(str(content))
        else:
            parts.append(f"{key.replace('_', ' ')} {content}")
    return ", ".join(parts)
