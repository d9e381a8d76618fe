"""Which torch is installed, and whether it can be."""

from __future__ import annotations

import re

from labkit.catalog import wheels
from labkit.catalog.gfx import target
from labkit.machine.evidence import Evidence, is_integrated, labkit_command
from labkit.machine.rules import NOT_SEEN, Match, rule, seen
from labkit.machine.rules.install import WORKS, commands

_INVALID = r"invalid device function|hipErrorInvalidDeviceFunction|no kernel image|NoBinaryForGpu|Unable to find code object|INVALID_ISA|hipErrorInvalidImage|device kernel image is invalid"


def _not_an_amd_machine(e: Evidence) -> bool:
    """Whether another vendor's wheel is right here: no AMD GPU on the bus, or a device that works."""
    if e.kernel_ran and e.sees_gpu and not e.agents and not (e.torch_facts and e.torch_facts.gcn_arch_names):
        return True
    if e.agents or e.smi_gpus or e.topology_gpus or e.bus:
        return False
    nvidia = e.quote(r"NVIDIA-SMI|GeForce|\bRTX [2-5]0\d\d|\bA100|\bH100|Tesla", "", "collect_env")
    return e.bus == [] or bool(nvidia and not e.match(r"\b(?:AMD|Radeon|ROCm|Instinct)\b"))


def _python(e: Evidence) -> str | None:
    """'3.12' of the interpreter that runs the program, from the facts or as the person shows it."""
    found = re.match(r"\d+\.\d+", e.python or "")
    if found:
        return found.group()
    shown = (
        e.match(r"^Python (\d+\.\d+)\.\d+")
        or e.match(r"/bin/python(3\.\d+)['\")]*\s*$")
        or e.match(r"\\Python(3)(\d{1,2})\\python\.exe")
    )
    return ".".join(shown.groups()) if shown else None


@rule("python-mismatch", explains=("torch-missing", "no-wheel-for-python"))
def python_mismatch(e: Evidence) -> Match | None:
    missing = e.quote(r"No module named ['\"]?torch['\"]?(?![.\w])", "")
    if not missing and not (e.torch and e.torch.error and "No module named" in e.torch.error):
        return None
    installed = [
        e.quote(r"^pip3? [\d.]+ from .*\(python \d+\.\d+\)", ""),
        e.quote(r"Requirement already satisfied: torch\b.*python3\.\d+", ""),
    ]
    of_pip = re.search(r"\(python (\d+\.\d+)\)", installed[0]) if installed[0] else None
    of_pip = of_pip or (re.search(r"python(3\.\d+)", installed[1]) if installed[1] else None)
    of_python = _python(e)
    executable = e.quote(r"python(?:\d*\.exe|3?(?:\.\d+)?)$", "")
    which_pip, which_python = e.match(r"^(\S*/(?:s?bin))/pip3?$"), e.match(r"^(\S*/(?:s?bin))/python(?:3(?:\.\d+)?)?$")
    other_version = of_pip and of_python and of_pip.group(1) != of_python
    other_place = which_pip and which_python and which_pip.group(1) != which_python.group(1)
    if not (other_version or other_place):
        return None
    return Match(
        seen(missing, *installed, executable, f"this interpreter is Python {of_python}" if of_python else None),
        (
            "Make a fresh environment with the interpreter that runs the program: python -m venv .venv",
            "Call pip through it, so that both are one: python -m pip install …",
        ),
        ('python -c "import sys, torch; print(sys.executable, torch.__version__)"',),
    )


@rule(
    "windows-no-rocm-wheel",
    explains=("wrong-wheel-cpu", "no-wheel-for-platform", "no-wheel-for-python", "torch-missing"),
)
def windows_no_rocm_wheel(e: Evidence) -> Match | None:
    if not e.is_windows:
        return None
    from_pytorch = e.quote(r"download\.pytorch\.org/whl/(?:nightly/|test/)?rocm", "")
    refused = e.quote(
        r"no wheels with a matching platform tag|No matching distribution|from versions: none|following platform", ""
    )
    linux_tag = e.quote(r"torch\S*\+rocm\d+\.\d+(?:\.\d)?\b.*(?:win_amd64|matching platform tag)", "")
    fell_back = e.quote(r"torch-backend[= ]auto", "") if e.torch_facts and e.torch_facts.build == "cpu" else None
    if not (
        linux_tag or fell_back or (from_pytorch and (refused or (e.torch_facts and e.torch_facts.build != "rocm")))
    ):
        return None
    return Match(
        seen(from_pytorch, refused or linux_tag, fell_back),
        (
            f"PyTorch's own ROCm wheels exist for Linux only. Windows wheels come from AMD's index: {wheels.AMD_INDEX} (repo.amd.com).",
            *commands(e),
        ),
        (WORKS,),
    )


@rule("no-wheel-for-platform", explains=("no-wheel-for-python", "torch-missing"))
def no_wheel_for_platform(e: Evidence) -> Match | None:
    wrong_tag = e.quote(
        r"no wheels with a matching platform tag|wheels? (?:is|are)? ?(?:available )?.*following platform|"
        r"or wheel for the current platform",
        "",
    )
    file = e.match(
        r"(\S+-cp(\d{2,3})-\S+?-(win_amd64|linux_x86_64|manylinux\w*|linux_aarch64|macosx\w*)\.whl) is not a supported wheel"
    )
    if file:
        here = ("win",) if e.is_windows else ("linux", "manylinux")
        other_processor = file.group(3).endswith("x86_64") and e.match(r"^\W*(?:aarch64|arm64)\W*$|Apple M\d")
        if file.group(3).startswith(here) and not other_processor:
            return None  # the platform fits: then it is the Python version
        wrong_tag = e.quote(r"is not a supported wheel on this platform", "")
    if not wrong_tag:
        return None
    return Match(
        (wrong_tag,),
        ("This index has wheels for another system. Use an index with wheels for this one:", *commands(e)),
        ("python -m pip debug --verbose   # under 'Compatible tags': what this Python accepts",),
    )


@rule("no-wheel-for-python", explains=("torch-missing",))
def no_wheel_for_python(e: Evidence) -> Match | None:
    # a host that does not answer also ends in 'from versions: none'
    if e.match(
        r"Name or service not known|Temporary failure in name resolution|NewConnectionError|getaddrinfo failed|Connection refused|ProxyError"
    ):
        return None
    none = e.quote(
        r"from versions: none|No matching distribution found for torch|no wheels with a matching Python (?:ABI |version )?tag",
        "",
    )
    file = e.match(r"\S+-cp(\d)(\d{1,2})-\S+\.whl is not a supported wheel")
    version = re.match(r"(\d+)\.(\d+)", e.python or "")
    if file and version and (file.group(1), file.group(2)) != version.groups():
        none = e.quote(r"is not a supported wheel on this platform", "")
    if not none or (e.torch and e.torch.version):
        return None
    versions = f"This is Python {e.python}." if e.python else None
    return Match(
        seen(none, versions),
        (
            "Make the environment anew with a Python that has wheels, 3.12 is the safe choice: "
            + ("py -3.12 -m venv .venv" if e.is_windows else "python3.12 -m venv .venv"),
            "Then install again in it, with the same index.",
        ),
        ("python --version",),
        likely=version is None,
    )


@rule("build-without-hip", explains=("wrong-wheel-cpu", *NOT_SEEN))
def build_without_hip(e: Evidence) -> Match | None:
    facts = e.torch_facts
    zero = e.quote(r"ROCM used to build PyTorch: 0\.0\.0", "collect_env", "")
    if not zero and not (facts and (facts.hip or "").startswith("0.0.0")):
        return None
    return Match(
        seen(zero, f"torch.version.hip is {facts.hip}" if facts and facts.hip else None),
        (
            "Install the ROCm development packages, then build again with ROCM_PATH=/opt/rocm and "
            f"PYTORCH_ROCM_ARCH={e.primary_gfx or 'gfxNNNN'} set, after: python tools/amd_build/build_amd.py",
            "Or take a ready wheel instead of a build of your own:",
            *commands(e),
        ),
        ('python -c "import torch; print(torch.version.hip)"   # must not be 0.0.0 or None',),
    )


@rule("wrong-wheel-cuda", explains=NOT_SEEN)
def wrong_wheel_cuda(e: Evidence) -> Match | None:
    facts = e.torch_facts
    if facts is None or facts.build != "cuda" or _not_an_amd_machine(e):
        return None
    if facts.cuda_available and not e.agents and not e.bus:
        return None  # a CUDA device answers: this is an NVIDIA machine
    nvidia = sorted(name for name in e.packages or () if name.startswith("nvidia-"))
    return Match(
        seen(
            f"torch {facts.version} is a CUDA build: torch.version.cuda is {facts.cuda or 'set'}, torch.version.hip is {facts.hip}",
            f"packages of NVIDIA came with it: {', '.join(nvidia[:3])}" if nvidia else None,
            e.quote(
                r"Found no NVIDIA driver|CUDA driver version is insufficient|Torch is not able to use GPU|Torch not compiled with CUDA",
                "",
            ),
        ),
        ("This build cannot use an AMD GPU. Replace it by a ROCm build:", *commands(e)),
        (WORKS,),
    )


@rule("wrong-wheel-cpu", explains=NOT_SEEN)
def wrong_wheel_cpu(e: Evidence) -> Match | None:
    facts = e.torch_facts
    if (
        facts is None
        or facts.version is None
        or facts.build != "cpu"
        or _not_an_amd_machine(e)
        or e.platform == "macos"
    ):
        return None
    if e.torch is None and e.report is None and "+cpu" not in facts.version:
        return None  # a bare package list: PyPI's torch does not say what it is
    return Match(
        seen(
            f"torch {facts.version} is a CPU build: torch.version.hip and torch.version.cuda are both None",
            e.quote(r"Torch not compiled with CUDA enabled|\+cpu|%2Bcpu|extra-index-url", ""),
        ),
        (
            "This build knows no GPU. Replace it by a ROCm build:",
            *commands(e),
            *(
                (
                    "On Windows give all wheels of the set in one command, or use --no-deps, so that pip does not swap one.",
                )
                if e.is_windows
                else ()
            ),
        ),
        (WORKS,),
    )


@rule("torch-missing", explains=NOT_SEEN)
def torch_missing(e: Evidence) -> Match | None:
    line = e.quote(r"No module named ['\"]?torch['\"]?(?![.\w])", "")
    if (
        e.torch
        and e.torch.version is None
        and e.torch.error
        and re.search(r"No module named ['\"]?torch['\"]?(?![.\w])", e.torch.error)
    ):
        line = line or e.torch.error
    report = e.report
    other = e.torch is not None and e.torch.error  # its import fails for another reason, which other rules read
    if not line and not other and report and report["torch"] is None and report["python"] is not None:
        line = e.quote(r"PyTorch version: N/A", "collect_env", "")
    if not line:
        return None
    if e.bus == [] and not e.has_amd_gpu:
        return Match(
            (line,),
            (
                "torch is not installed in the interpreter that was asked, and this machine has no AMD GPU.",
                f"For the course: {labkit_command(e.is_windows)} setup   # it installs the build that fits this machine",
            ),
            (f"{labkit_command(e.is_windows)} describe",),
        )
    return Match(
        (line,),
        ("torch is not installed in the interpreter that ran this. Install a ROCm build there:", *commands(e)[1:]),
        (WORKS,),
    )


@rule("torch-missing", last=True, explains=NOT_SEEN)
def torch_broken(e: Evidence) -> Match | None:
    """torch is there and its import fails for a reason that no other rule knows: a damaged file, a crash."""
    error = e.torch.error if e.torch else None
    if not error or "No module named 'torch'" in error:
        return None
    steps = commands(e)
    if e.bus == [] and not e.has_amd_gpu:  # a ROCm build is of no use here
        steps = (f"{labkit_command(e.is_windows)} setup --recreate   # in the course's environment",)
    return Match(
        (error.strip().split("\n")[-1][:300],),
        (
            "torch is installed and cannot be imported: files of it are damaged or missing. Install it anew:",
            *steps,
        ),
        ('python -c "import torch; print(torch.__version__)"',),
    )


@rule("wrong-device-string", explains=("wrong-wheel-cpu",))
def wrong_device_string(e: Evidence) -> Match | None:
    line = e.quote(
        r"not linked with support for (?:hip|rocm) devices|device type at start of device string: (?:rocm|hip|amd|gpu)\b",
        "",
    )
    if not line:
        return None
    return Match(
        (line,),
        ("Write 'cuda' (or 'cuda:0'): PyTorch uses that name for AMD GPUs as well, for example model.to('cuda').",),
        ("python -c \"import torch; print(torch.ones(2, device='cuda'))\"",),
    )


@rule("windows-no-distributed")
def windows_no_distributed(e: Evidence) -> Match | None:
    line = e.quote(
        r"No module named 'torch\._C\._distributed_c10d'|torch\.distributed.* has no attribute 'init_process_group'", ""
    )
    if not line or not e.is_windows:
        return None
    return Match(
        (line,),
        (
            "Take a newer wheel from AMD (since June 2026 they have torch.distributed with gloo), or Linux for RCCL.",
            *commands(e)[1:2],
        ),
        ('python -c "import torch.distributed as d; print(d.is_gloo_available())"',),
    )


@rule("rocm-too-old-for-gpu", explains=("arch-not-in-wheel", *NOT_SEEN))
def rocm_too_old_for_gpu(e: Evidence) -> Match | None:
    facts = e.torch_facts
    if facts is None or facts.build != "rocm" or facts.cuda_available or e.override:
        return None
    line = e.quote(r"Error 101: hipErrorInvalidDevice|hipErrorInvalidDevice\b(?!Function)|invalid device ordinal", "")
    gfx = e.primary_gfx
    row = target(gfx)
    first = min((wheels.version(name[4:]) for name in row.pytorch_indexes), default=None) if row else None
    older = bool(first and facts.rocm and facts.rocm < first[:2])
    if not line or (gfx and e.wheel_has(gfx)) or (first and facts.rocm and not older):
        return None
    return Match(
        seen(
            line,
            f"torch was built for ROCm {'.'.join(map(str, facts.rocm))}" if facts.rocm else None,
            f"wheels for {gfx} begin with ROCm {'.'.join(map(str, first))}" if first and older else None,
        ),
        (
            "The ROCm inside this image or wheel is older than the GPU. Take a newer one (image: rocm/pytorch:latest), or in a plain environment:",
            *commands(e),
        ),
        (WORKS,),
        likely=not older,
    )


@rule("rocblas-arch-missing", explains=("arch-not-in-wheel",))
def rocblas_arch_missing(e: Evidence) -> Match | None:
    line = e.quote(r"rocBLAS error: Cannot read .*TensileLibrary", "") or e.quote(
        r"TensileLibrary\S*\.dat.* for GPU arch", ""
    )
    arch = e.match(r"for GPU arch ?: ?(gfx[0-9a-f]+)")
    if not line and not arch:
        return None
    gfx = arch.group(1) if arch else e.primary_gfx or "the GPU's gfx target"
    return Match(
        seen(line, e.quote(r"for GPU arch", "")),
        (
            f"Take a wheel or release whose rocBLAS has kernels for {gfx}; copying files between installations is no remedy.",
            *commands(e, gfx=gfx if arch else None),
        ),
        ("python -c \"import torch; a = torch.ones(64, 64, device='cuda'); print((a @ a)[0, 0])\"",),
    )


@rule("arch-not-in-wheel", explains=NOT_SEEN)
def arch_not_in_wheel(e: Evidence) -> Match | None:
    facts = e.torch_facts
    if e.override or (facts is not None and facts.build not in ("rocm", None)):
        return None
    line = e.quote(_INVALID, "")
    gfx = next((name for name in e.real_gfx if not is_integrated(name)), e.primary_gfx)
    if gfx is None:
        found = e.match(r"\b(gfx[0-9a-f]{3,4})\b")
        gfx = found.group(1) if found and line else None
    missing = e.wheel_has(gfx) is False if gfx else False
    if missing and e.sees_gpu is False and not line:
        missing = False  # torch does not even see the device: something else comes first
    kernel_failed = facts is not None and facts.kernel_ok is False and missing
    if gfx and missing and (line or kernel_failed or (e.sees_gpu and not e.kernel_ran)):
        listed = ", ".join(facts.arch_list or ()) if facts else ""
        return Match(
            seen(f"the GPU is {gfx}; torch {facts.version if facts else ''} has kernels for: {listed}", line),
            (f"Install a wheel that has kernels for {gfx}:", *commands(e, gfx=gfx), _amd_way(e, gfx)),
            (f"python -c \"import torch; print('{gfx}' in torch.cuda.get_arch_list())\"", WORKS),
        )
    covered = e.wheel_has(gfx) if gfx else None
    if line and covered is None:
        return Match(
            seen(line, f"the GPU is {gfx}" if gfx else None),
            (
                f"Install a wheel that has kernels for {gfx or 'this GPU (rocminfo names its gfx target)'}:",
                *commands(e, gfx=gfx),
                _amd_way(e, gfx or "gfxNNNN"),
            ),
            (
                'python -c "import torch; print(torch.cuda.get_device_properties(0).gcnArchName, torch.cuda.get_arch_list())"',
                WORKS,
            ),
            likely=True,
        )
    return None


def _amd_way(e: Evidence, gfx: str) -> str:
    return f"AMD's index has one extra for each target (device-{gfx}): {wheels.AMD_INDEX} (repo.amd.com)."


@rule("bf16-unsupported")
def bf16_unsupported(e: Evidence) -> Match | None:
    if not e.match(r"\bbf16\b|bfloat16"):
        return None
    for gfx in e.real_gfx[:1]:  # a processor's own graphics counts only where there is no card
        row = target(gfx)
        native = row.native_bf16 if row else (False if gfx.startswith(("gfx8", "gfx90c", "gfx902")) else None)
        if native is False:
            return Match(
                seen(
                    e.quote(r"\bbf16\b|bfloat16", ""),
                    f"{gfx} has no native bfloat16; torch.cuda.is_bf16_supported() says True all the same",
                ),
                (
                    "Use float16 with torch.amp.autocast('cuda', dtype=torch.float16) and torch.amp.GradScaler('cuda'), or stay with float32.",
                ),
                ("Compare the rate of the three precisions: labkit.compare in lesson 03 does it.",),
            )
    return None
