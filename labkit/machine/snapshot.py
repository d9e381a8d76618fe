"""Collects what there is to know about a computer, once, as plain text: a snapshot.

A snapshot is a mapping that JSON can hold: names to the raw text that files and tools gave. It is understood elsewhere
(``labkit.machine.facts``), so a snapshot from another machine, or a simulated one, is treated like this machine's own.
Nothing is changed, nothing is sent, every command has a time limit, and everything may be missing.

The keys:

``labkit_snapshot`` version of this shape; ``simulated`` whether a machine like this exists only on paper;
``system``, ``kernel``, ``architecture``, ``os_release``, ``proc_version``; ``python`` {version, environment};
``modules`` {amdgpu: text of initstate, 'built in' or None}; ``kfd`` {node: text of properties};
``devices`` {path: {owner, group, mode, openable, error}} for /dev/kfd, /dev/dri/*, /dev/dxg;
``groups`` of this process, ``groups_on_file`` of this user, ``group_ids`` {render, video: number};
``lspci`` text or None; ``pci`` [{address, vendor, device, class, driver}] of display and compute devices;
``nvidia`` [signs]; ``windows_adapters`` [{name, device}] or None; ``environment`` {variable: value};
``container`` [signs]; ``problems`` [what could not be read, and why].
A ``torch`` entry is added by whoever imports torch: {version, hip, cuda, arch_list, gcn_arch_names, cuda_available,
kernel_result: 'ok', the error's text, or None}.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SHAPE = 1
TEXT_LIMIT = 64 * 1024  # bytes kept of one file or one command's output

ENVIRONMENT = (
    "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
    "HSA_OVERRIDE_GFX_VERSION", "HSA_ENABLE_SDMA", "HSA_XNACK", "HSA_ENABLE_DXG_DETECTION", "AMD_LOG_LEVEL",
    "AMD_SERIALIZE_KERNEL", "AMD_SERIALIZE_COPY", "HIP_LAUNCH_BLOCKING", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_NO_HIP_MEMORY_CACHING", "HIPBLAS_WORKSPACE_CONFIG",
    "TORCH_BLAS_PREFER_HIPBLASLT", "PYTORCH_TUNABLEOP_ENABLED", "MIOPEN_FIND_MODE", "MIOPEN_FIND_ENFORCE",
    "PYTORCH_MIOPEN_SUGGEST_NHWC", "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL", "TORCH_ROCM_FA_PREFER_CK",
    "FLASH_ATTENTION_TRITON_AMD_ENABLE", "TORCHINDUCTOR_MAX_AUTOTUNE", "NCCL_DEBUG", "NCCL_SOCKET_IFNAME",
    "NCCL_MIN_NCHANNELS", "NCCL_P2P_DISABLE", "HSA_FORCE_FINE_GRAIN_PCIE", "GPU_MAX_HW_QUEUES", "PYTORCH_ROCM_ARCH",
    "ROCM_BOOTSTRAP_FORCE_GFX_ARCH", "ROCM_BOOTSTRAP_DISABLE_DETECTION",
)

_DISPLAY_CLASS = "{4d36e968-e325-11ce-bfc1-08002be10318}"  # Windows' own name for display adapters
_ADAPTERS_COMMAND = ("Get-CimInstance Win32_VideoController | Select-Object Name,PNPDeviceID | ConvertTo-Json -Compress")


def _run(command: Sequence[str], timeout_s: float) -> str:
    """Output of a command; raises OSError or subprocess.SubprocessError where it is missing, fails or takes too long."""
    done = subprocess.run(list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          timeout=timeout_s, check=True, env={**os.environ, "LC_ALL": "C"})
    return done.stdout[:TEXT_LIMIT].decode("utf-8", errors="replace")


@dataclass(frozen=True)
class Place:
    """Where a snapshot is taken: this machine, or in tests a folder that looks like one."""

    root: Path = Path("/")
    system: str = field(default_factory=platform.system)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    run: Callable[[Sequence[str], float], str] = _run
    find: Callable[[str], str | None] = shutil.which

    def path(self, absolute: str) -> Path:
        return self.root / absolute.lstrip("/")

    def text(self, absolute: str) -> str | None:
        """The file's text without the last line end, at most TEXT_LIMIT bytes; None where it cannot be read."""
        try:
            with self.path(absolute).open("rb") as file:
                return file.read(TEXT_LIMIT).decode("utf-8", errors="replace").rstrip("\n")
        except OSError:
            return None

    def names(self, absolute: str) -> list[str]:
        """Sorted names in a folder; empty where there is none."""
        try:
            return sorted(entry.name for entry in self.path(absolute).iterdir())
        except OSError:
            return []


def collect(quick: bool = False, place: Place | None = None) -> dict[str, Any]:
    """A snapshot of this machine.

    ``quick`` starts no command where a file answers as well: a few milliseconds on Linux. In WSL one command is needed
    to ask Windows for its adapters.
    """
    here = place or Place()
    problems: list[str] = []
    snapshot: dict[str, Any] = {
        "labkit_snapshot": SHAPE,
        "simulated": False,
        "system": here.system,
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "python": {"version": platform.python_version(), "environment": _python_environment(here)},
        "os_release": here.text("/etc/os-release"),
        "proc_version": here.text("/proc/version"),
        "modules": {"amdgpu": _module(here, "amdgpu")},
        "kfd": _kfd(here),
        "devices": _devices(here),
        **_groups(here),
        "lspci": None,
        "pci": _pci(here),
        "nvidia": _nvidia(here, quick),
        "windows_adapters": None,
        "environment": {name: here.environment[name] for name in ENVIRONMENT if name in here.environment},
        "container": _container(here),
        "problems": problems,
    }
    if here.system == "Linux" and (not quick or not snapshot["pci"]):
        snapshot["lspci"] = _lspci(here, problems)
    if here.system == "Windows":
        snapshot["windows_adapters"] = _registry_adapters() or _asked_adapters(here, "powershell", problems)
    elif "/dev/dxg" in snapshot["devices"]:
        snapshot["windows_adapters"] = _asked_adapters(here, "powershell.exe", problems)
    return snapshot


def _python_environment(here: Place) -> str:
    if sys.prefix != sys.base_prefix:
        return "venv"
    return "conda" if here.environment.get("CONDA_PREFIX") else "system"


def _module(here: Place, name: str) -> str | None:
    """'live' where the module is loaded, 'built in' where the kernel holds it, None where neither shows."""
    if not here.path(f"/sys/module/{name}").is_dir():
        return None
    return here.text(f"/sys/module/{name}/initstate") or "built in"


def _kfd(here: Place) -> dict[str, str]:
    nodes = {}
    base = "/sys/class/kfd/kfd/topology/nodes"
    for name in here.names(base):
        text = here.text(f"{base}/{name}/properties")
        if text is not None:
            nodes[name] = text
    return nodes


def _devices(here: Place) -> dict[str, dict[str, Any]]:
    paths = ["/dev/kfd", "/dev/dxg", *(f"/dev/dri/{name}" for name in here.names("/dev/dri") if name[:4] in ("card", "rend"))]
    return {path: facts for path in paths if (facts := _device(here, path)) is not None}


def _device(here: Place, absolute: str) -> dict[str, Any] | None:
    path = here.path(absolute)
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        return {"owner": None, "group": None, "mode": None, "openable": False, "error": error.strerror or str(error)}
    error_text = None
    if absolute == "/dev/kfd":  # cgroups can forbid what the mode allows, so only opening tells; it changes nothing
        try:
            os.close(os.open(path, os.O_RDWR))
        except OSError as error:
            error_text = error.strerror or str(error)
    elif not os.access(path, os.R_OK | os.W_OK):  # opening a render node could wake a sleeping card
        error_text = "Permission denied"
    return {"owner": _owner(status.st_uid), "group": _group(status.st_gid), "mode": stat.filemode(status.st_mode),
            "openable": error_text is None, "error": error_text}


def _owner(number: int) -> str:
    try:
        import pwd

        return pwd.getpwuid(number).pw_name if number == 0 else "another user" if number != os.getuid() else "this user"
    except (ImportError, KeyError, AttributeError):
        return str(number)


def _group(number: int) -> str:
    try:
        import grp

        return grp.getgrgid(number).gr_name
    except (ImportError, KeyError):
        return str(number)


def _groups(here: Place) -> dict[str, Any]:
    """Names of groups: of this process, and of this user in /etc/group (they differ until the next login)."""
    if not hasattr(os, "getgroups"):
        return {"groups": [], "groups_on_file": [], "group_ids": {}, "root": False}
    try:
        import pwd

        user = pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        user = ""
    ids, listed = {}, []
    for line in (here.text("/etc/group") or "").splitlines():
        parts = line.split(":")
        if len(parts) == 4:
            if parts[0] in ("render", "video"):
                ids[parts[0]] = parts[2]
            if user and user in parts[3].split(","):
                listed.append(parts[0])
    return {"groups": sorted({_group(number) for number in [*os.getgroups(), os.getgid()]}), "groups_on_file": sorted(listed),
            "group_ids": ids, "root": os.getuid() == 0}


def _pci(here: Place) -> list[dict[str, str]]:
    """Display and compute devices by number: vendor and device as four hexadecimal digits."""
    found = []
    base = "/sys/bus/pci/devices"
    for address in here.names(base):
        kind = here.text(f"{base}/{address}/class") or ""
        if not kind.startswith(("0x03", "0x12")):
            continue
        driver = here.path(f"{base}/{address}/driver")
        found.append({
            "address": address, "class": kind,
            "vendor": (here.text(f"{base}/{address}/vendor") or "").replace("0x", ""),
            "device": (here.text(f"{base}/{address}/device") or "").replace("0x", ""),
            "driver": driver.resolve().name if driver.exists() else "",
        })
    if found:
        return found
    for card in here.names("/sys/class/drm"):  # where the bus itself is hidden
        if re.fullmatch(r"card\d+", card):
            vendor, device = (here.text(f"/sys/class/drm/{card}/device/{name}") or "" for name in ("vendor", "device"))
            if vendor:
                found.append({"address": card, "class": "0x030000", "vendor": vendor.replace("0x", ""),
                              "device": device.replace("0x", ""), "driver": ""})
    return found


def _lspci(here: Place, problems: list[str]) -> str | None:
    """lspci's blocks on display and compute devices."""
    program = here.find("lspci")
    if not program:
        return None
    try:
        text = here.run([program, "-nnk"], 5.0)
    except (OSError, subprocess.SubprocessError) as error:
        problems.append(f"lspci: {_short(error)}")
        return None
    blocks = re.split(r"\n(?=\S)", text)
    return "\n".join(block.rstrip() for block in blocks if re.search(r"\[(?:03|12)\w\w\]:", block.split("\n")[0]))


_NVIDIA_SIGNS = ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/nvidia0", "/usr/lib/wsl/lib/nvidia-smi")


def _nvidia(here: Place, quick: bool) -> list[str]:
    """Signs of a working NVIDIA driver. The program nvidia-smi alone is none: container images carry it."""
    signs = [sign for sign in _NVIDIA_SIGNS if here.path(sign).exists()]
    program = here.find("nvidia-smi")
    if program and not quick and not signs:
        try:
            if "GPU 0" in here.run([program, "-L"], 5.0):
                signs.append("nvidia-smi -L")
        except (OSError, subprocess.SubprocessError):
            pass
    return signs


def _registry_adapters() -> list[dict[str, str]]:
    """Windows' display adapters from its registry: much quicker than asking PowerShell."""
    try:
        import winreg
    except ImportError:
        return []
    registry: Any = winreg
    found = []
    base = rf"SYSTEM\CurrentControlSet\Control\Class\{_DISPLAY_CLASS}"
    for number in range(32):
        try:
            with registry.OpenKey(registry.HKEY_LOCAL_MACHINE, rf"{base}\{number:04d}") as key:
                name = str(registry.QueryValueEx(key, "DriverDesc")[0])
                device = str(registry.QueryValueEx(key, "MatchingDeviceId")[0])
        except OSError:
            continue
        found.append({"name": name, "device": device})
    return found


def _asked_adapters(here: Place, program: str, problems: list[str]) -> list[dict[str, str]] | None:
    """Windows' display adapters by PowerShell, on Windows or from inside WSL; None where it cannot be asked."""
    usual = "/mnt/c/Windows/System32/WindowsPowerShell/v1.0/powershell.exe"
    path = here.find(program) or (usual if program.endswith(".exe") and here.path(usual).exists() else None)
    if not path:
        problems.append("Windows' display adapters: PowerShell was not found")
        return None
    try:
        text = here.run([path, "-NoProfile", "-NonInteractive", "-Command", _ADAPTERS_COMMAND], 15.0)
        rows = json.loads(text.strip() or "[]")
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        problems.append(f"Windows' display adapters: {_short(error)}")
        return None
    rows = rows if isinstance(rows, list) else [rows]
    return [{"name": str(row.get("Name") or ""), "device": str(row.get("PNPDeviceID") or "")}
            for row in rows if isinstance(row, dict)]


def _container(here: Place) -> list[str]:
    signs = [path for path in ("/.dockerenv", "/run/.containerenv") if here.path(path).exists()]
    if here.environment.get("container"):
        signs.append(f"container={here.environment['container']}")
    if re.search(r"docker|kubepods|containerd|libpod|lxc", here.text("/proc/1/cgroup") or ""):
        signs.append("/proc/1/cgroup")
    return signs


def _short(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"no answer within {error.timeout:g} s"
    if isinstance(error, subprocess.CalledProcessError):
        return f"ended with status {error.returncode}"
    return str(error) or type(error).__name__
