"""Folders and file systems that decide whether the GPU stack works: installations, caches, shared memory, run-time DLLs."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

_DLLS = (
    "vcruntime140.dll", "vcruntime140_1.dll", "msvcp140.dll", "libomp140.x86_64.dll", "amdhip64.dll", "amdhip64_6.dll",
    "amdhip64_7.dll", "amd_comgr0702.dll",
)  # fmt: skip


def rocm_installations(root: Path) -> list[dict[str, Any]]:
    """ROCm under /opt: [{path, version, link}], the version as .info/version gives it."""
    found = []
    folder = root / "opt"
    for entry in sorted(folder.glob("rocm*")) if folder.is_dir() else []:
        if not entry.is_dir():
            continue
        version = next(
            (text for name in ("version", "version-rocm", "version-dev") if (text := _text(entry / ".info" / name))),
            None,
        )
        target = entry.resolve().name if entry.is_symlink() else None
        found.append({"path": f"/opt/{entry.name}", "version": version, "link": target})
    return found


def hip_sdk(environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """HIP SDKs on Windows: what HIP_PATH names, and the folders below C:\\Program Files\\AMD\\ROCm."""
    found = [
        {"path": environment[name], "from": name}
        for name in sorted(environment)
        if re.fullmatch(r"HIP_PATH(?:_\d+)?", name)
    ]
    base = Path(environment.get("ProgramFiles", r"C:\Program Files")) / "AMD" / "ROCm"
    if base.is_dir():
        found += [{"path": str(entry), "from": "Program Files"} for entry in sorted(base.iterdir()) if entry.is_dir()]
    return found


def windows_libraries(environment: Mapping[str, str]) -> dict[str, bool]:
    """Which of the run-time DLLs that torch needs are in Windows' system folder."""
    folder = Path(environment.get("SystemRoot", r"C:\Windows")) / "System32"
    return {name: (folder / name).is_file() for name in _DLLS}


def caches(environment: Mapping[str, str], mounts: str, home: Path) -> dict[str, dict[str, Any]]:
    """MIOpen's, Triton's and Inductor's cache folders: {path, exists, writable, file_system, free_bytes}."""
    wanted = {
        "miopen_db": environment.get("MIOPEN_USER_DB_PATH") or str(home / ".config" / "miopen"),
        "miopen_cache": environment.get("MIOPEN_CUSTOM_CACHE_DIR") or str(home / ".cache" / "miopen"),
        "triton": environment.get("TRITON_CACHE_DIR") or str(home / ".triton" / "cache"),
        "inductor": environment.get("TORCHINDUCTOR_CACHE_DIR") or "",
    }
    return {name: _cache(Path(path), mounts) for name, path in wanted.items() if path}


def existing(path: Path) -> Path:
    """The path itself, or the nearest folder above it that is there: on its disk the path would be made."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def _cache(path: Path, mounts: str) -> dict[str, Any]:
    there = existing(path)
    writable = os.access(there, os.W_OK | os.X_OK)
    try:
        free: int | None = shutil.disk_usage(there).free
    except OSError:
        free = None
    return {
        "path": str(path),
        "exists": path.exists(),
        "writable": writable,
        "file_system": file_system(str(there), mounts),
        "free_bytes": free,
    }


def file_system(path: str, mounts: str) -> str | None:
    """The kind of file system that holds a path, from the text of /proc/self/mounts; None where that does not tell.

    >>> file_system("/home/me/.cache", "/dev/sda1 / ext4 rw 0 0\\nserver:/home /home nfs4 rw 0 0")
    'nfs4'
    """
    best: tuple[int, str | None] = (-1, None)
    for line in mounts.splitlines():
        parts = line.split()
        if len(parts) < 3:
            continue
        point = parts[1].replace("\\040", " ")
        inside = point == "/" or path == point or PurePosixPath(point) in PurePosixPath(path).parents
        if inside and len(point) >= best[0]:
            best = (len(point), parts[2])
    return best[1]


def shared_memory(path: Path) -> dict[str, int] | None:
    """Size and free bytes of /dev/shm; None where there is none."""
    try:
        usage = shutil.disk_usage(path)
    except OSError:
        return None
    return {"total_bytes": usage.total, "free_bytes": usage.free}


def ram_bytes() -> int | None:
    """The machine's memory; None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _windows_memory()[0]


def ram_available_bytes(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    """What programs may still take; None where the system does not say it in a simple way (macOS)."""
    try:
        text = meminfo.read_text(encoding="ascii", errors="replace")
    except OSError:
        return _windows_memory()[1]
    match = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(match.group(1)) * 1024 if match else None


def _windows_memory() -> tuple[int | None, int | None]:
    """Total and available bytes; None, None on another system."""
    try:
        import ctypes

        class Status(ctypes.Structure):
            _fields_ = (
                ("length", ctypes.c_ulong),
                ("load", ctypes.c_ulong),
                ("total", ctypes.c_ulonglong),
                ("available", ctypes.c_ulonglong),
                *((f"n{at}", ctypes.c_ulonglong) for at in range(5)),
            )

        status = Status(length=ctypes.sizeof(Status))
        windll: Any = ctypes.windll  # type: ignore[attr-defined,unused-ignore]
        told = windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))
        return (int(status.total), int(status.available)) if told else (None, None)
    except (ImportError, AttributeError, OSError):
        return None, None


def compiler_folders(root: Path) -> str:
    """The version folders of GCC and of its C++ headers, as 'ls' lists them; '' where there are none."""
    parts = []
    for folder in (*sorted((root / "usr/lib/gcc").glob("*-linux*")), root / "usr/include/c++"):
        if folder.is_dir():
            names = [entry.name for entry in sorted(folder.iterdir()) if entry.is_dir()]
            parts.append("\n".join([f"/{folder.relative_to(root).as_posix()}:", *names]))
    return "\n\n".join(parts)


def module_settings(root: Path) -> str:
    """Lines about amdgpu in modprobe's settings, each behind its file's name."""
    found = []
    for folder in ("etc/modprobe.d", "usr/lib/modprobe.d", "lib/modprobe.d", "run/modprobe.d"):
        for path in sorted((root / folder).glob("*.conf")):
            for line in (_text(path) or "").splitlines():
                if re.search(r"\b(?:amdgpu|vfio)\b", line) and not line.lstrip().startswith("#"):
                    found.append(f"/{folder}/{path.name}:{line.strip()}")
    return "\n".join(found[:100])


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:65536].strip() or None
    except OSError:
        return None
