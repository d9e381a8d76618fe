"""What does this interpreter's torch say? Started from its text (``python -c``) with that interpreter; prints JSON lines.

It sees only what is installed there and may crash or hang without harm: every stage is announced before it begins. Kept
to the standard library and to what Python 3.8 understands. ``labkit.devices`` imports ``describe`` for the same facts.

    {"stage": name}           before it begins
    {"python": version, "packages": {name: version}}
    {"error": text}           torch cannot be imported
    {"torch": facts}          see ``describe``
    {"kernel": [n, text]}     'ok' or the error of a real kernel on GPU n
    {"libraries": [path]}     shared libraries of the GPU stack that the process loaded (Linux)
    {"done": true}
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

MARK = "@labkit-torch@"
FAMILY = re.compile(
    r"^(?:torch|pytorch|triton|rocm|hip|amd|nvidia|cuda|cupy|tensorflow|keras|jax|flash|xformers|bitsandbytes|onnxruntime"
    r"|deepspeed|vllm|accelerate|transformers|diffusers|numpy$|apex|aiter|intel-)"
)
LIBRARY = re.compile(
    r"/lib(?:amdhip64|hsa|hip|roc|MIOpen|rccl|amd_|drm|torch|c10|cuda|cudart|cudnn|nccl|nvrtc|numa|stdc\+\+|omp|gomp|dxcore)[\w.+-]*\.so"
)


def say(**message: Any) -> None:
    sys.stdout.write("\n" + MARK + json.dumps(message) + "\n")
    sys.stdout.flush()


def packages() -> dict[str, str]:
    """Installed packages of the torch family, by normalised name."""
    from importlib import metadata

    found: dict[str, str] = {}
    for distribution in metadata.distributions():
        try:
            name = re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower()
            if FAMILY.match(name):
                found.setdefault(name, str(distribution.version))
        except Exception:
            continue
    return dict(sorted(found.items()))


def describe(torch: Any) -> dict[str, Any]:
    """What an imported torch says of itself and of its devices. Never raises.

    Keys: python, version, hip, cuda, arch_list, cuda_available, gcn_arch_names, devices (index, name, gcn_arch_name,
    compute_units, memory_bytes), errors (question to text).
    """
    errors: dict[str, str] = {}

    def ask(question: str, call: Any, otherwise: Any) -> Any:
        try:
            return call()
        except Exception as error:
            errors[question] = f"{type(error).__name__}: {error}"
            return otherwise

    available = bool(ask("is_available", lambda: torch.cuda.is_available(), False))
    count = ask("device_count", lambda: int(torch.cuda.device_count()), 0) if available else 0
    devices = []
    for index in range(count):
        known = ask(
            "properties of cuda:" + str(index), lambda index=index: torch.cuda.get_device_properties(index), None
        )
        devices.append({
            "index": index,
            "name": str(known.name) if known else None,
            "gcn_arch_name": str(getattr(known, "gcnArchName", "") or "") or None,
            "compute_units": getattr(known, "multi_processor_count", None),
            "memory_bytes": getattr(known, "total_memory", None),
        })  # fmt: skip
    hip = getattr(torch.version, "hip", None)
    return {
        "python": sys.version.split()[0],
        "version": str(torch.__version__),
        "hip": hip,
        "cuda": getattr(torch.version, "cuda", None),
        "arch_list": [str(name) for name in ask("get_arch_list", lambda: torch.cuda.get_arch_list(), [])],
        "cuda_available": available,
        "gcn_arch_names": [device["gcn_arch_name"] for device in devices if hip and device["gcn_arch_name"]],
        "devices": devices,
        "errors": errors,
    }


def kernel(torch: Any, index: int) -> str:
    """'ok' when one small sum and one small product on GPU ``index`` are right, else what went wrong."""
    try:
        device = "cuda:" + str(index)
        total = float(torch.arange(8.0, device=device).mul(2).sum().item())
        product = torch.ones(32, 32, device=device)
        product = float((product @ product).sum().item())
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip()}"
    return "ok" if (total, product) == (56.0, 32768.0) else f"wrong numbers: {total} for 56, {product} for 32768"


def libraries() -> list[str]:
    """Shared libraries of the GPU stack that this process has loaded; empty where /proc does not tell."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            found = {line.split(None, 5)[5].strip() for line in file if line.count(" ") >= 5 and LIBRARY.search(line)}
    except (OSError, IndexError):
        return []
    return sorted(found)[:120]


def main() -> None:
    sys.path[:] = [path for path in sys.path if path]  # not what lies about in the current folder
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except Exception:
        pass
    say(stage="list the packages")
    say(python=sys.version.split()[0], packages=packages())
    say(stage="import torch")
    try:
        import torch
    except BaseException as error:
        say(error=f"{type(error).__name__}: {str(error).strip()}")
        say(libraries=libraries(), done=True)
        return
    say(stage="ask for the devices")
    facts = describe(torch)
    say(torch=facts)
    for index in range(min(len(facts["devices"]), 8)):
        say(stage="a kernel on cuda:" + str(index))
        say(kernel=[index, kernel(torch, index)])
    say(libraries=libraries(), done=True)


if __name__ == "__main__":
    main()
