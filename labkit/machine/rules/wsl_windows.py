"""WSL and Windows."""

from __future__ import annotations

import re

from labkit.catalog.gfx import TARGETS
from labkit.machine.evidence import Evidence
from labkit.machine.rules import NO_GPU, Match, rule, seen
from labkit.machine.rules.install import WORKS, commands

_NO_DEVICE = (
    r"hipErrorNoDevice|no ROCm-capable device is detected|No HIP GPUs are available|is_available\(\)\S*\s*\n\s*False"
)


@rule("wsl-gpu-unsupported", explains=("wsl-bridge-missing", "wsl-bundled-hsa", *NO_GPU))
def wsl_gpu_unsupported(e: Evidence) -> Match | None:
    line = e.quote(r"ROCR: unsupported GPU", "rocminfo", "")
    if not line:
        return None
    return Match(
        (line,),
        (
            "WSL's stack does not take this GPU. Run on native Linux, or try a newer WSL stack (Adrenalin driver and librocdxg) that lists it.",
        ),
        ("rocminfo | grep gfx   # in WSL",),
    )


@rule("wsl-vram-query-failed", explains=("oom-real", "oom-fragmentation", "oom-not-capacity", "apu-memory-limit"))
def wsl_vram_query_failed(e: Evidence) -> Match | None:
    if not e.is_wsl:
        return None
    line = e.quote(r"VramAvail returns|memory_pool_get_info.*HSA_STATUS_ERROR", "")
    zero = e.quote(r"of which 0 bytes is free|mem_get_info|^\(0, \d+\)", "")
    if not line and not e.match(r"of which 0 bytes is free|^\(0, \d{9,}\)"):
        return None
    return Match(
        seen(line, zero),
        (
            "Update librocdxg in WSL and the Adrenalin driver on Windows together: the query for free memory fails, the memory is not full.",
        ),
        ('python -c "import torch; print(torch.cuda.mem_get_info())"   # the first number is not 0',),
    )


@rule("wsl-bundled-hsa", explains=("wsl-bridge-missing", "arch-not-in-wheel", *NO_GPU))
def wsl_bundled_hsa(e: Evidence) -> Match | None:
    facts = e.torch_facts
    if not e.is_wsl or not e.agents or facts is None or facts.build != "rocm" or e.sees_gpu or facts.error:
        return None
    own = e.quote(r"torch/lib/libhsa-runtime64|^libhsa-runtime64\.so", "")
    tag = re.search(r"\+(rocm[\d.]+)$", facts.version or "")
    from_pytorch = bool(tag and any(tag.group(1) in row.pytorch_indexes for row in TARGETS.values()))
    if not own and not from_pytorch:
        return None
    return Match(
        seen(
            f"rocminfo lists {e.agents[0]['gfx']}; torch {facts.version} sees no device", own, e.quote(_NO_DEVICE, "")
        ),
        (
            "The wheel brings its own HSA runtime (torch/lib/libhsa-runtime64.so), which does not know /dev/dxg. Take AMD's wheels:",
            *commands(e)[1:2],
            "Or let the system's runtime be found: remove torch/lib/libhsa-runtime64.so* from the environment's site-packages.",
        ),
        (WORKS,),
        likely=not own,
    )


@rule(
    "wsl-bridge-missing",
    explains=("driver-not-loaded", "no-gpu-agent", "kfd-missing-in-container", "arch-not-in-wheel", *NO_GPU),
)
def wsl_bridge_missing(e: Evidence) -> Match | None:
    if not e.is_wsl or e.agents or e.sees_gpu:
        return None
    assertion = e.quote(r"HSA_OVERRIDE_GFX_VERSION may be needed", "rocminfo", "")
    distribution = e.quote(r"^ii\s+libhsa-runtime64-1|^ii\s+libhsakmt1", "", "dpkg")
    loader = e.quote(r"librocdxg.*(?:cannot open|not found|No such file)", "rocminfo", "")
    info = e.rocminfo or {}
    nothing = info.get("driver") == "not-loaded" or info.get("problem") in (
        "no-gpu-agent",
        "hsa-init-failed",
        "kfd-missing-in-container",
        "driver-not-loaded",
    )
    no_dxg = e.node("/dev/dxg").exists is False
    facts = e.torch_facts
    blind = facts is not None and facts.build == "rocm" and e.sees_gpu is False and e.rocminfo is None
    if not (assertion or distribution or loader or nothing or blind):
        return None
    if facts is not None and facts.build in ("cpu", "cuda") and not (assertion or distribution or loader or nothing):
        return None
    return Match(
        seen(assertion, loader, distribution, "/dev/dxg is missing: this is WSL 1, or the Windows driver offers no GPU" if no_dxg else "/dev/dxg is there, and no GPU behind it" if e.node("/dev/dxg").exists else None,
             e.quote(r"NOT loaded", "rocminfo") if nothing else None),
        (
            "On Windows: install the Adrenalin driver that AMD names for WSL, then: wsl --shutdown",
            "In WSL: install librocdxg of the same release (AMD's guide for WSL), and remove the distribution's runtime: sudo apt remove libhsa-runtime64-1 libhsakmt1",
            "If librocdxg.so is installed and not found: sudo ldconfig",
        ),
        ("rocminfo | grep gfx   # in WSL",),
        likely=not (assertion or distribution or loader),
    )  # fmt: skip


@rule("windows-dll-missing", explains=("torch-missing", "hip-library-mismatch", *NO_GPU))
def windows_dll_missing(e: Evidence) -> Match | None:
    line = e.quote(
        r"WinError 126|WinError 127|DLL load failed|(?:VCRUNTIME140(?:_1)?|MSVCP140|libomp140\S*|amdhip64_\d+)\.dll\b.*(?:not found|missing|could not|cannot)|(?:not found|missing|could not find).*(?:VCRUNTIME140|amdhip64)\S*\.dll",
        "",
    )
    if e.torch and e.torch.error and re.search(r"WinError 12[67]|DLL load failed", e.torch.error):
        line = line or e.torch.error
    if not line or not e.is_windows:
        return None
    hip = re.search(r"amdhip64_\d+\.dll", line)
    return Match(
        (line,),
        (
            "The file named is there; something that it needs is not. Install the Microsoft Visual C++ Redistributable (x64), and the OpenMP runtime libomp140.x86_64.dll that comes with it,",
            *((f"install or update the Adrenalin driver, which brings {hip.group()},",) if hip else ()),
            "or take a newer wheel: newer ones bring it along.",
        ),
        ('python -c "import torch; print(torch.__version__)"',),
    )


@rule("windows-rdna2-not-enumerated", explains=("arch-not-in-wheel", *NO_GPU))
def windows_rdna2_not_enumerated(e: Evidence) -> Match | None:
    facts = e.torch_facts
    if not e.is_windows or e.sees_gpu:
        return None
    wheel_for = facts.arch_list if facts and facts.arch_list and len(facts.arch_list) == 1 else ()
    gfx = next((name for name in (*e.real_gfx, *wheel_for) if name.startswith("gfx103")), None)
    line = e.quote(_NO_DEVICE + r"|hipErrorNoDevice|\b100\b.*no ROCm-capable", "")
    seven_one = (
        "ROCm\\7.1" in (e.env or {}).get("HIP_PATH", "")
        or (facts is not None and facts.rocm == (7, 1))
        or e.match(r"amdhip64_7\.dll|HIP (?:SDK )?7\.1|ROCm\\7\.1|rocm-?7\.1")
    )
    if not gfx or not line or not seven_one:
        return None
    return Match(
        seen(
            f"the GPU is {gfx} (RDNA 2)",
            line,
            f"HIP {facts.hip}" if facts and facts.hip else e.quote(r"amdhip64_7\.dll|7\.1", ""),
        ),
        (
            "HIP 7.1 on Windows does not list RDNA 2 cards. Take a newer wheel (of March 2026 or later), which brings its own runtime:",
            *commands(e, gfx=gfx)[1:2],
            "or stay with HIP SDK 6.4.",
        ),
        (WORKS,),
    )
