"""Collects what there is to know about a computer, once, as plain text: a snapshot.

A snapshot is a mapping that JSON can hold: names to the raw text that files and tools gave. It is understood elsewhere
(``labkit.machine.facts``, ``labkit.machine.evidence``), so a snapshot from another machine, or a simulated one, is treated
like this machine's own. Nothing is changed, nothing is sent, every command has a time limit, and everything may be missing.

The keys of every snapshot:

``labkit_snapshot`` version of this shape; ``simulated`` whether a machine like this exists only on paper;
``system``, ``kernel``, ``architecture``, ``os_release``, ``proc_version``; ``python`` {version, environment};
``modules`` {amdgpu: text of initstate, 'built in' or None}; ``kfd`` {node: text of properties};
``devices`` {path: {owner, group, mode, openable, error}} for /dev/kfd, /dev/dri/*, /dev/dxg;
``groups`` of this process, ``groups_on_file`` of this user, ``group_ids`` {render, video: number};
``lspci`` text or None; ``pci`` [{address, vendor, device, class, driver}] of display and compute devices;
``nvidia`` [signs]; ``windows_adapters`` [{name, device, driver}] or None; ``environment`` {variable: value};
``container`` [signs]; ``problems`` [what could not be read, and why].

A full one (not ``quick``) also has: ``cmdline`` of the kernel; ``uid_map`` of the user namespace; ``tools`` {name: text}
(``labkit.machine.probes.tools``, and sysctl, meminfo, modprobe, gcc from files); ``rocm`` [installations]; ``caches``;
``shared_memory``; ``ram_bytes``; ``windows`` {hip_sdk, libraries}; ``packages`` {name: version}; ``torch`` {python, version,
hip, cuda, arch_list, gcn_arch_names, cuda_available, devices, kernel_result: 'ok', the error's text or None, kernel_results,
libraries, error, printed}; ``tensorflow`` or None; ``identity`` {host, user, home}, which
``labkit.machine.redact`` needs and removes; ``collected`` {day, seconds}.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import stat
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit.machine.probes.commands import TEXT_LIMIT, Answer, ask, together

SHAPE = 1
WITHIN_S = 18.0  # a full snapshot takes no longer than this and a moment
_TORCH_S = 17.0

ENVIRONMENT = (
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "HSA_OVERRIDE_GFX_VERSION",
    "HSA_ENABLE_SDMA",
    "HSA_XNACK",
    "HSA_ENABLE_DXG_DETECTION",
    "AMD_LOG_LEVEL",
    "AMD_SERIALIZE_KERNEL",
    "AMD_SERIALIZE_COPY",
    "HIP_LAUNCH_BLOCKING",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_HIP_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_NO_HIP_MEMORY_CACHING",
    "HIPBLAS_WORKSPACE_CONFIG",
    "TORCH_BLAS_PREFER_HIPBLASLT",
    "PYTORCH_TUNABLEOP_ENABLED",
    "MIOPEN_FIND_MODE",
    "MIOPEN_FIND_ENFORCE",
    "PYTORCH_MIOPEN_SUGGEST_NHWC",
    "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL",
    "TORCH_ROCM_FA_PREFER_CK",
    "FLASH_ATTENTION_TRITON_AMD_ENABLE",
    "TORCHINDUCTOR_MAX_AUTOTUNE",
    "NCCL_DEBUG",
    "NCCL_SOCKET_IFNAME",
    "NCCL_MIN_NCHANNELS",
    "NCCL_P2P_DISABLE",
    "HSA_FORCE_FINE_GRAIN_PCIE",
    "GPU_MAX_HW_QUEUES",
    "PYTORCH_ROCM_ARCH",
    "ROCM_BOOTSTRAP_FORCE_GFX_ARCH",
    "ROCM_BOOTSTRAP_DISABLE_DETECTION",
)

_DISPLAY_CLASS = "{4d36e968-e325-11ce-bfc1-08002be10318}"  # Windows' own name for display adapters
_ADAPTERS_COMMAND = (
    "Get-CimInstance Win32_VideoController | Select-Object Name,PNPDeviceID,DriverVersion | ConvertTo-Json -Compress"
)


@dataclass(frozen=True)
class Place:
    """Where a snapshot is taken: this machine, or in tests a folder that looks like one."""

    root: Path = Path("/")
    system: str = field(default_factory=platform.system)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    run: Callable[[Sequence[str], float], Answer] = ask
    find: Callable[[str], str | None] = shutil.which
    python: str | None = None  # the interpreter whose torch is asked; None asks none

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


def collect(
    quick: bool = False,
    place: Place | None = None,
    *,
    python: str | None = None,
    torch: bool = True,
    within_s: float = WITHIN_S,
) -> dict[str, Any]:
    """A snapshot of this machine.

    ``quick`` starts no command where a file answers as well: a few milliseconds on Linux. In WSL one command is needed
    to ask Windows for its adapters. A full snapshot asks all tools at once and takes at most ``within_s`` seconds and a
    moment, whatever hangs. ``python`` is the interpreter whose torch is asked (this one, unless it is named);
    ``torch=False`` asks for none.
    """
    here = place or Place(python=sys.executable)
    if quick:
        snapshot = _files(here)
        _commands_of_quick(here, snapshot)
        return snapshot
    start = time.monotonic()
    tasks: dict[str, Callable[[], Any]] = {
        "files": lambda: _files(here),
        "places": lambda: _places(here),
        "lspci": lambda: _lspci(here, min(5.0, within_s)),
        "nvidia": lambda: _nvidia(here, asking_s=min(5.0, within_s)),
        "adapters": lambda: _windows_adapters(here, min(15.0, within_s)),
    }
    interpreter = (python or here.python) if torch else None
    tasks.update(_tool_tasks(here, interpreter, within_s))
    if interpreter:
        tasks.update(_interpreter_tasks(here, interpreter, within_s))
    results, late = together(tasks, within_s)
    snapshot = {
        **_files(Place(Path(os.devnull), here.system, {}, here.run, lambda name: None)),
        **results.get("files", {}),
    }
    problems: list[str] = [f"{name}: {why}" for name, why in late.items()]
    snapshot["problems"] = problems
    for name in ("lspci", "adapters"):
        content, problem = results.get(name, (None, None))
        snapshot["windows_adapters" if name == "adapters" else name] = content
        problems += [problem] if problem else []
    snapshot["nvidia"] = results.get("nvidia", [])
    tools = dict(results.get("places", {}).pop("tools", {}))
    for name, result in results.items():
        if name.startswith("tool:"):
            text, problem = result
            problems += [f"{name[5:]}: {problem}"] if problem else []
            if text:
                tools[name[5:]] = text
    journal = tools.pop("journal", None)
    if journal and "amdgpu" not in tools.get("dmesg", ""):  # dmesg may be closed to this user
        tools["dmesg"] = journal
    said = dict(results.get("torch") or {"torch": {}, "packages": None})
    problems += [said.pop("problem")] if "problem" in said else []
    snapshot |= {
        **results.get("places", {}), "tools": tools, **said, "tensorflow": results.get("tensorflow"),
        "collected": {"day": time.strftime("%Y-%m-%d", time.gmtime()), "seconds": round(time.monotonic() - start, 1)},
    }  # fmt: skip
    return snapshot


def _files(here: Place) -> dict[str, Any]:
    """What files alone tell."""
    return {
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
        "nvidia": _nvidia(here),
        "windows_adapters": None,
        "environment": _environment(here),
        "container": _container(here),
        "problems": [],
    }


def _commands_of_quick(here: Place, snapshot: dict[str, Any]) -> None:
    """The one or two commands without which nothing would be known of the GPU."""
    problem = None
    if here.system == "Linux" and not snapshot["pci"]:
        snapshot["lspci"], problem = _lspci(here, 5.0)
    snapshot["problems"] += [problem] if problem else []
    snapshot["windows_adapters"], problem = _windows_adapters(here, 15.0)
    snapshot["problems"] += [problem] if problem else []


_SECRET = re.compile(r"TOKEN|SECRET|PASSW|AUTH|CREDENTIAL|API_?KEY", re.I)
_FAMILIES = re.compile(
    r"(?:HSA|HIP|ROCR|ROCM|ROCBLAS|HIPBLAS|HIPBLASLT|MIOPEN|PYTORCH|TORCH|TORCHINDUCTOR|TRITON|NCCL|RCCL|AMD|GPU|CUDA|OMP|SNAP"
    r"|APPTAINER|SINGULARITY)_\w+|AMDGPU_\w+|LD_LIBRARY_PATH|LD_PRELOAD|SNAP|container|CONDA_PREFIX|VIRTUAL_ENV|WSL_DISTRO_NAME"
)


def _environment(here: Place) -> dict[str, str]:
    """Variables that steer the GPU stack; of a scheduler's only that they are there, of PATH on Windows the parts of ROCm."""
    found = {name: here.environment[name] for name in ENVIRONMENT if name in here.environment}
    for name in sorted(here.environment):
        if _FAMILIES.fullmatch(name) and not _SECRET.search(name):
            found.setdefault(name, here.environment[name][:4000])
        elif re.fullmatch(r"SLURM_(?:JOB_ID|JOB_PARTITION|GPUS\w*|NTASKS|STEP_ID)", name):
            found[name] = "(set)"
    if here.system == "Windows":
        parts = [part for part in here.environment.get("PATH", "").split(";") if re.search(r"rocm|hip", part, re.I)]
        found |= {"PATH": ";".join(parts)} if parts else {}
    return found


_SYSCTL = ("kernel.numa_balancing", "vm.max_map_count", "kernel.yama.ptrace_scope")
_MODULES = ("amdkcl", "amdttm", "amdxcp", "vfio_pci", "simpledrm", "nvidia", "nouveau", "i915", "xe")


def _places(here: Place) -> dict[str, Any]:
    """Folders, file systems, sizes, and the texts of a few settings."""
    from labkit.machine.probes import places

    home = here.environment.get("HOME") or here.environment.get("USERPROFILE") or str(Path("~").expanduser())
    texts = {
        "sysctl": "\n".join(
            f"{name} = {content}" for name in _SYSCTL if (content := here.text("/proc/sys/" + name.replace(".", "/")))
        ),
        "meminfo": "\n".join((here.text("/proc/meminfo") or "").splitlines()[:3]),
        "modprobe": places.module_settings(here.root) if here.system == "Linux" else "",
        "gcc": places.compiler_folders(here.root) if here.system == "Linux" else "",
    }
    found: dict[str, Any] = {
        "cmdline": here.text("/proc/cmdline"),
        "uid_map": here.text("/proc/self/uid_map"),
        "other_modules": {name: state for name in _MODULES if (state := _module(here, name))},
        "amdgpu_version": here.text("/sys/module/amdgpu/version"),
        "tools": {name: text for name, text in texts.items() if text},
        "rocm": places.rocm_installations(here.root) if here.system == "Linux" else [],
        "caches": places.caches(here.environment, here.text("/proc/self/mounts") or "", Path(home)),
        "shared_memory": places.shared_memory(here.path("/dev/shm")) if here.system == "Linux" else None,
        "ram_bytes": places.ram_bytes(),
        "windows": None,
        "identity": {"host": platform.node(), "user": _user(here), "home": home},
    }
    if here.system == "Windows":
        found["windows"] = {
            "hip_sdk": places.hip_sdk(here.environment),
            "libraries": places.windows_libraries(here.environment),
        }
    return found


def _user(here: Place) -> str:
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError, AttributeError):
        return next(
            (here.environment[name] for name in ("USER", "LOGNAME", "USERNAME") if here.environment.get(name)), ""
        )


def _tool_tasks(here: Place, interpreter: str | None, within_s: float) -> dict[str, Callable[[], Any]]:
    """One task for each tool of the table that is installed: its text (or None) and what went wrong (or None)."""
    from labkit.machine.probes.tools import TOOLS, Tool

    beside = [str(Path(interpreter).parent)] if interpreter else []  # AMD's wheels bring the tools into the environment
    tasks: dict[str, Callable[[], Any]] = {}
    for tool in TOOLS:
        if here.system not in tool.systems:
            continue
        name = tool.command[0]
        program = here.find(name)
        for folder in [*beside, "/opt/rocm/bin"]:
            if program is None and here.path(f"{folder}/{name}").is_file():
                program = str(here.path(f"{folder}/{name}"))
        if program is None:
            continue

        def task(tool: Tool = tool, program: str = program) -> tuple[str | None, str | None]:
            command = [program, *tool.command[1:]]
            limit_s = min(tool.seconds, within_s)
            answer = ask(command, limit_s, limit=tool.limit) if here.run is ask else here.run(command, limit_s)
            return (tool.keep(answer.text.strip())[:TEXT_LIMIT] or None), answer.problem

        tasks[f"tool:{tool.name}"] = task
    return tasks


def _interpreter_tasks(here: Place, interpreter: str, within_s: float) -> dict[str, Callable[[], Any]]:
    from labkit.machine.probes import interpreter as probe

    limit_s = max(0.1, min(_TORCH_S, within_s - 0.5))
    return {
        "torch": lambda: probe.torch(interpreter, here.run, limit_s),
        "tensorflow": lambda: probe.tensorflow(interpreter, here.run, limit_s),
    }


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
    paths = [
        "/dev/kfd",
        "/dev/dxg",
        *(f"/dev/dri/{name}" for name in here.names("/dev/dri") if name[:4] in ("card", "rend")),
    ]
    return {path: facts for path in paths if (facts := _device(here, path)) is not None}


def _device(here: Place, absolute: str) -> dict[str, Any] | None:
    path = here.path(absolute)
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
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
    return {
        "owner": _owner(status.st_uid),
        "group": _group(status.st_gid),
        "mode": stat.filemode(status.st_mode),
        "openable": error_text is None,
        "error": error_text,
    }


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
    return {
        "groups": sorted({_group(number) for number in [*os.getgroups(), os.getgid()]}),
        "groups_on_file": sorted(listed),
        "group_ids": ids,
        "root": os.getuid() == 0,
    }


def _pci(here: Place) -> list[dict[str, str]]:
    """Display and compute devices by number: vendor and device as four hexadecimal digits."""
    found = []
    base = "/sys/bus/pci/devices"
    for address in here.names(base):
        kind = here.text(f"{base}/{address}/class") or ""
        if not kind.startswith(("0x03", "0x12")):
            continue
        driver = here.path(f"{base}/{address}/driver")
        found.append(
            {
                "address": address,
                "class": kind,
                "vendor": (here.text(f"{base}/{address}/vendor") or "").replace("0x", ""),
                "device": (here.text(f"{base}/{address}/device") or "").replace("0x", ""),
                "driver": driver.resolve().name if driver.exists() else "",
            }
        )
    if found:
        return found
    for card in here.names("/sys/class/drm"):  # where the bus itself is hidden
        if re.fullmatch(r"card\d+", card):
            vendor, device = (here.text(f"/sys/class/drm/{card}/device/{name}") or "" for name in ("vendor", "device"))
            if vendor:
                found.append(
                    {
                        "address": card,
                        "class": "0x030000",
                        "vendor": vendor.replace("0x", ""),
                        "device": device.replace("0x", ""),
                        "driver": "",
                    }
                )
    return found


def _lspci(here: Place, timeout_s: float) -> tuple[str | None, str | None]:
    """lspci's blocks on display and compute devices, and what went wrong."""
    program = here.find("lspci") if here.system == "Linux" else None
    if not program:
        return None, None
    answer = here.run([program, "-nnk"], timeout_s)
    if answer.status != 0:
        return None, f"lspci: {_short(answer)}"
    blocks = re.split(r"\n(?=\S)", answer.text.strip("\n"))
    return "\n".join(block.rstrip() for block in blocks if re.search(r"\[(?:03|12)\w\w\]:", block.split("\n")[0])), None


_NVIDIA_SIGNS = ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/nvidia0", "/usr/lib/wsl/lib/nvidia-smi")


def _nvidia(here: Place, asking_s: float = 0.0) -> list[str]:
    """Signs of a working NVIDIA driver. The program nvidia-smi alone is none: container images carry it."""
    signs = [sign for sign in _NVIDIA_SIGNS if here.path(sign).exists()]
    program = here.find("nvidia-smi") if asking_s and not signs else None
    if program:
        answer = here.run([program, "-L"], asking_s)
        if answer.status == 0 and "GPU 0" in answer.text:
            signs.append("nvidia-smi -L")
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
                driver = _value(registry, key, "DriverVersion")
        except OSError:
            continue
        found.append({"name": name, "device": device, "driver": driver})
    return found


def _value(registry: Any, key: Any, name: str) -> str:
    try:
        return str(registry.QueryValueEx(key, name)[0])
    except OSError:
        return ""


_Adapters = tuple[list[dict[str, str]] | None, str | None]


def _windows_adapters(here: Place, timeout_s: float) -> _Adapters:
    """Windows' display adapters, on Windows or from inside WSL, and what went wrong; neither elsewhere."""
    if here.system == "Windows":
        registered = _registry_adapters()
        return (registered, None) if registered else _asked_adapters(here, "powershell", timeout_s)
    if here.path("/dev/dxg").exists():
        return _asked_adapters(here, "powershell.exe", timeout_s)
    return None, None


def _asked_adapters(here: Place, program: str, timeout_s: float) -> _Adapters:
    """Windows' display adapters by PowerShell."""
    usual = "/mnt/c/Windows/System32/WindowsPowerShell/v1.0/powershell.exe"
    path = here.find(program) or (usual if program.endswith(".exe") and here.path(usual).exists() else None)
    if not path:
        return None, "Windows' display adapters: PowerShell was not found"
    answer = here.run([path, "-NoProfile", "-NonInteractive", "-Command", _ADAPTERS_COMMAND], timeout_s)
    if answer.status != 0:
        return None, f"Windows' display adapters: {_short(answer)}"
    try:
        rows = json.loads(answer.text.strip() or "[]")
    except ValueError as error:
        return None, f"Windows' display adapters: {error}"
    rows = rows if isinstance(rows, list) else [rows]
    return [
        {
            "name": str(row.get("Name") or ""),
            "device": str(row.get("PNPDeviceID") or ""),
            "driver": str(row.get("DriverVersion") or ""),
        }
        for row in rows
        if isinstance(row, dict)
    ], None


def _container(here: Place) -> list[str]:
    signs = [path for path in ("/.dockerenv", "/run/.containerenv") if here.path(path).exists()]
    if here.environment.get("container"):
        signs.append(f"container={here.environment['container']}")
    if re.search(r"docker|kubepods|containerd|libpod|lxc", here.text("/proc/1/cgroup") or ""):
        signs.append("/proc/1/cgroup")
    return signs


def _short(answer: Answer) -> str:
    return answer.problem or f"ended with status {answer.status}"
