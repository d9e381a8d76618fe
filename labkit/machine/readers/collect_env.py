"""The report of ``python -m torch.utils.collect_env``."""

from __future__ import annotations

import itertools
import re
from typing import Any

from labkit.machine.readers.text import holds_any, lines, value

_KEYS = {
    "PyTorch version": "torch", "ROCM used to build PyTorch": "hip", "CUDA used to build PyTorch": "cuda",
    "Python version": "python", "OS": "os", "Is CUDA available": "available", "CUDA available": "available",
    "GPU models and configuration": "gpus",
}  # fmt: skip
_FIELD = re.compile(r"([A-Z][A-Za-z0-9 \-./'()]*?) *:(?:\s(.*)|)$")
# every label of the report, so that a line of the next field ends a list of GPUs
_JOINED = re.compile(
    r"(PyTorch version|Is debug build|CUDA used to build PyTorch|ROCM used to build PyTorch|OS|GCC version|Clang version|CMake version|"
    r"Libc version|Python version|Python platform|Is CUDA available|CUDA runtime version|CUDA_MODULE_LOADING set to|"
    r"GPU models and configuration|Nvidia driver version|cuDNN version|HIP runtime version|MIOpen runtime version|Is XPU available|"
    r"Is XNNPACK available): "
)


WORDS = ("environment information", "used to build PyTorch", "PyTorch version", "collect_env.py")


def is_collect_env(text: str) -> bool:
    """Whether the text holds a record of the report, or the report's own crash."""
    return holds_any(text, WORDS) and any(begins(line) for line in lines(text))


def begins(line: str) -> bool:
    """Whether only this report prints such a line."""
    if re.search(r"Collecting environment information|(?:ROCM|CUDA) used to build PyTorch *:", line):
        return True
    return bool(re.match(r"\s*PyTorch version *:", line) or re.search(r"File .*collect_env\.py\"?, line", line))


def read(text: str) -> dict[str, Any]:
    """Facts of the report: torch, build, hip, cuda, python, os, gpu_available, gpus.

    The build is 'rocm' when HIP is known or the version says so, 'cuda' likewise, 'cpu' when neither is, and 'unknown'
    when torch itself is. '0.0.0' as ROCm means that HIP was not found at build time.
    """
    raw: dict[str, str] = {}
    gpus: list[str] = []
    reporting = gpu_list = False
    for whole in lines(text):
        for line in _split_joined(whole):
            field = _FIELD.match(line.strip())
            key = _KEYS.get(field.group(1)) if field else None
            if begins(line) or re.match(
                r"\s*OS {2,}: ", line
            ):  # vLLM's copy of the report pads its colons and puts OS first
                reporting = True
            if gpu_list:
                entry = re.match(r"\s*(?:GPU \d+:\s*)(.*)$", line)
                if entry and not key:
                    gpus.append(entry.group(1).strip())
                    continue
                gpu_list = False
            if not (field and key and reporting):
                continue
            content = (field.group(2) or "").strip()
            if key == "gpus":
                if "gpus" not in raw:
                    raw["gpus"] = content
                    gpu_list = True
                    if value(content) and content not in ("No CUDA", "Could not collect"):
                        gpus.append(re.sub(r"^GPU \d+:\s*", "", content))
            else:
                raw.setdefault(key, content)

    torch, cuda = value(raw.get("torch")), value(raw.get("cuda"))
    hip = (value(raw.get("hip")) or "").rstrip("-") or None
    built_without_hip = hip is not None and re.match(r"0\.0\.0", hip) is not None
    if built_without_hip:
        hip = None
    if torch is None:
        build = "unknown"
    elif hip or "+rocm" in torch:
        build = "rocm"
    elif cuda or "+cu" in torch:
        build = "cuda"
    else:
        build = "cpu"
    python = re.match(r"\d+(?:\.\d+)+", raw.get("python", ""))
    available = {"true": True, "yes": True, "false": False, "no": False}.get(raw.get("available", "").strip().lower())
    return {
        "kind": "collect-env", "torch": torch, "build": build, "hip": hip, "cuda": cuda, "python": python.group() if python else None,
        "os": value(raw.get("os")), "gpu_available": available, "gpus": gpus,
    }  # fmt: skip


def _split_joined(line: str) -> list[str]:
    """A terminal's padding can join two lines of the report: cut before each known label that follows blanks."""
    cuts = [
        match.start()
        for match in _JOINED.finditer(line)
        if match.start() and line[match.start() - 2 : match.start()] == "  "
    ]
    if not cuts or not line[: cuts[0]].strip():
        return [line]
    edges = [0, *cuts, len(line)]
    return [line[a:b] for a, b in itertools.pairwise(edges)]
