"""Machines that exist only on paper: snapshots with the shape of real ones, always marked ``"simulated": True``.

They let a lesson show what another computer would say, and let tests judge machines that nobody here has. Targets and
wheels come from the catalog, the format from the driver's files; nothing here was recorded from hardware.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.catalog.gfx import TARGETS
from labkit.catalog.wheels import AMD_TORCH
from labkit.errors import LabkitError
from labkit.machine.snapshot import SHAPE

_LINUX = "6.18.9-generic"
_WSL = "6.6.87.2-microsoft-standard-WSL2"
_CPU_NODE = {"cpu_cores_count": 16, "simd_count": 0, "mem_banks_count": 1, "caches_count": 0, "io_links_count": 1,
             "cpu_core_id_base": 0, "simd_id_base": 0, "max_waves_per_simd": 0, "gfx_target_version": 0, "vendor_id": 0,
             "device_id": 0, "location_id": 0}
_OPEN = {"owner": "root", "group": "render", "mode": "crw-rw----", "openable": True, "error": None}
_CLOSED = {**_OPEN, "openable": False, "error": "Permission denied"}


def names() -> tuple[str, ...]:
    """The simulated machines."""
    return tuple(_MACHINES)


def title(name: str) -> str:
    """One line on a simulated machine, for a menu."""
    return _machine(name)[0]


def snapshot(name: str) -> dict[str, Any]:
    """A fresh snapshot of a simulated machine; raises LabkitError for a name that is not in ``names()``."""
    text, build = _machine(name)
    return {**build(), "simulated": True, "simulated_name": name, "simulated_title": text}


def _machine(name: str) -> tuple[str, Callable[[], dict[str, Any]]]:
    if name not in _MACHINES:
        raise LabkitError(f"There is no simulated machine '{name}'.", f"Choose one of: {', '.join(_MACHINES)}.")
    return _MACHINES[name]


# --------------------------------------------------------------------------------------------------------------- parts


def _linux(nodes: list[dict[str, int]], lspci: str | None = "", **changes: Any) -> dict[str, Any]:
    """A Linux machine with these KFD nodes after that of its processor, in order and with this user allowed."""
    kfd = {str(number): _properties(node) for number, node in enumerate([_CPU_NODE, *nodes])} if nodes else {}
    renders = {f"/dev/dri/renderD{128 + number}": dict(_OPEN) for number in range(len(nodes))}
    cards = {f"/dev/dri/card{number}": {**_OPEN, "group": "video"} for number in range(len(nodes))}
    made: dict[str, Any] = {
        "labkit_snapshot": SHAPE, "system": "Linux", "kernel": _LINUX, "architecture": "x86_64",
        "python": {"version": "3.12.3", "environment": "venv"},
        "os_release": 'PRETTY_NAME="Ubuntu 24.04.3 LTS"\nID=ubuntu\nVERSION_ID="24.04"',
        "proc_version": f"Linux version {_LINUX}", "modules": {"amdgpu": "live" if nodes else None}, "kfd": kfd,
        "devices": {"/dev/kfd": dict(_OPEN), **cards, **renders} if nodes else {},
        "groups": ["render", "user", "video"], "groups_on_file": ["render", "video"],
        "group_ids": {"render": "992", "video": "44"}, "root": False, "lspci": lspci, "pci": [], "nvidia": [],
        "windows_adapters": None, "environment": {}, "container": [], "problems": [],
    }
    return {**made, **changes}


def _properties(node: dict[str, int]) -> str:
    return "\n".join(f"{key} {value}" for key, value in node.items())


def _node(gfx: str, compute_units: int, device: str, clock_mhz: int, **changes: int) -> dict[str, int]:
    """A GPU's properties as the driver writes them: CDNA has four SIMDs in a compute unit, RDNA two."""
    row = TARGETS[gfx]
    cdna = gfx.startswith("gfx9")
    digits = gfx[3:]
    version = int(digits[:-2]) * 10000 + int(digits[-2], 16) * 100 + int(digits[-1], 16)
    simds = 4 if cdna else 2
    return {
        "cpu_cores_count": 0, "simd_count": compute_units * simds, "mem_banks_count": 1, "caches_count": 64,
        "io_links_count": 1, "p2p_links_count": 0, "cpu_core_id_base": 0, "simd_id_base": 2147487744,
        "max_waves_per_simd": 8 if cdna else 16, "lds_size_in_kb": 64, "gds_size_in_kb": 0, "num_gws": 64,
        "wave_front_size": row.wavefront_size or 32, "array_count": 8, "simd_arrays_per_engine": 2,
        "cu_per_simd_array": max(1, compute_units // 8), "simd_per_cu": simds, "max_slots_scratch_cu": 32,
        "gfx_target_version": version, "vendor_id": 0x1002, "device_id": int(device, 16), "location_id": 768, "domain": 0,
        "drm_render_minor": 128, "hive_id": 0, "num_sdma_engines": 2, "num_xcc": 1, "max_engine_clk_fcompute": clock_mhz,
        "max_engine_clk_ccompute": 5000, **changes,
    }


def _display(device: str, name: str, slot: str = "03:00.0", kind: str = "VGA compatible controller [0300]") -> str:
    return (f"{slot} {kind}: Advanced Micro Devices, Inc. [AMD/ATI] {name} [1002:{device}]\n"
            "\tKernel driver in use: amdgpu\n\tKernel modules: amdgpu")


def _torch(gfx: list[str], **changes: Any) -> dict[str, Any]:
    """What PyTorch's own wheel of the index rocm7.2 would say where its kernels run."""
    held = [row.gfx for row in TARGETS.values() if "rocm7.2" in row.pytorch_indexes]
    return {"version": "2.13.0+rocm7.2", "hip": "7.2.0", "cuda": None, "arch_list": held, "gcn_arch_names": gfx,
            "cuda_available": True, "kernel_result": "ok", **changes}


def _amd_torch(gfx: list[str]) -> dict[str, Any]:
    """What AMD's wheel with the extras of these targets would say."""
    return _torch(gfx, version=AMD_TORCH, hip="10.0.0", arch_list=list(dict.fromkeys(gfx)))


_CPU_TORCH: dict[str, Any] = {
    "version": "2.14.1+cpu", "hip": None, "cuda": None, "arch_list": [], "gcn_arch_names": [], "cuda_available": False,
    "kernel_result": None,
}


def _xtx(**changes: Any) -> dict[str, Any]:
    made = _linux([_node("gfx1100", 96, "744c", 2498)],
                  _display("744c", "Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]"), torch=_torch(["gfx1100"]))
    return {**made, **changes}


def _rx6600(torch: dict[str, Any]) -> dict[str, Any]:
    return _linux([_node("gfx1032", 28, "73ff", 2491)], _display("73ff", "Navi 23 [Radeon RX 6600/6600 XT/6600M]"), torch=torch)


def _laptop() -> dict[str, Any]:
    nodes = [_node("gfx1103", 12, "15bf", 2700, location_id=50176), _node("gfx1102", 32, "7480", 2200)]
    text = "\n".join([_display("7480", "Navi 33 [Radeon RX 7600/7600 XT/7600M XT/7600S/7700S / PRO W7600]"),
                      _display("15bf", "Phoenix1 [Radeon 740M / 760M / 780M Graphics]", "c4:00.0")])
    return _linux(nodes, text, torch=_torch(["gfx1102"]), environment={"HIP_VISIBLE_DEVICES": "1"})


def _mi300x() -> dict[str, Any]:
    nodes = [_node("gfx942", 304, "74a1", 2100, num_xcc=8, location_id=256 * (number + 1), drm_render_minor=128 + number)
             for number in range(8)]
    text = "\n".join(_display("74a1", "Aqua Vanjaram [Instinct MI300X]", f"{number + 1:02x}:00.0", "Processing accelerators [1200]")
                     for number in range(8))
    return _linux(nodes, text, torch=_torch(["gfx942:sramecc+:xnack-"] * 8))


def _mi250x() -> dict[str, Any]:
    nodes = [_node("gfx90a", 110, "7408", 1700, location_id=256 * (number + 1), drm_render_minor=128 + number)
             for number in range(2)]
    text = "\n".join(_display("7408", "Aldebaran/MI200 [Instinct MI250X]", f"{number + 1:02x}:00.0", "Display controller [0380]")
                     for number in range(2))
    return _linux(nodes, text, torch=_torch(["gfx90a:sramecc+:xnack-"] * 2))


def _wsl() -> dict[str, Any]:
    adapters = [{"name": "AMD Radeon RX 7900 XTX", "device": "PCI\\VEN_1002&DEV_744C&SUBSYS_0E3B1002&REV_C8"}]
    dxg = {**_OPEN, "group": "root", "mode": "crw-rw-rw-"}
    return _linux([], kernel=_WSL, proc_version=f"Linux version {_WSL}", devices={"/dev/dxg": dxg}, windows_adapters=adapters,
                  groups=["user"], groups_on_file=[], torch=_amd_torch(["gfx1100"]))


def _windows() -> dict[str, Any]:
    adapters = [{"name": "AMD Radeon RX 7900 XTX", "device": "PCI\\VEN_1002&DEV_744C&SUBSYS_0E3B1002&REV_C8"}]
    return _linux([], system="Windows", kernel="11", architecture="AMD64", os_release=None, proc_version=None, lspci=None,
                  windows_adapters=adapters, groups=[], groups_on_file=[], group_ids={}, torch=_amd_torch(["gfx1100"]))


_NO_DEVICE = {"cuda_available": False, "gcn_arch_names": [], "kernel_result": "RuntimeError: No HIP GPUs are available"}


def _container() -> dict[str, Any]:
    return _xtx(devices={}, container=["/.dockerenv"], groups=["root"], groups_on_file=[], root=True,
                torch=_torch([], **_NO_DEVICE))


def _outsider() -> dict[str, Any]:
    made = _xtx(groups=["user"], groups_on_file=[], torch=_torch([], **_NO_DEVICE))
    made["devices"] = {path: dict(_CLOSED) if "card" not in path else {**_CLOSED, "group": "video"} for path in made["devices"]}
    return made


_MACHINES: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "rx6600": ("Radeon RX 6600, Linux, AMD's wheels", lambda: _rx6600(_amd_torch(["gfx1032"]))),
    "rx6800": ("Radeon RX 6800, Linux", lambda: _linux(
        [_node("gfx1030", 60, "73bf", 2105)], _display("73bf", "Navi 21 [Radeon RX 6800/6800 XT / 6900 XT]"),
        torch=_torch(["gfx1030"]))),
    "rx7600": ("Radeon RX 7600, Linux", lambda: _linux(
        [_node("gfx1102", 32, "7480", 2655)],
        _display("7480", "Navi 33 [Radeon RX 7600/7600 XT/7600M XT/7600S/7700S / PRO W7600]"), torch=_torch(["gfx1102"]))),
    "rx7900xtx": ("Radeon RX 7900 XTX, Linux", _xtx),
    "rx9070xt": ("Radeon RX 9070 XT, Linux", lambda: _linux(
        [_node("gfx1201", 64, "7550", 2970)], _display("7550", "Navi 48 [Radeon RX 9070/9070 XT/9070 GRE]"),
        torch=_torch(["gfx1201"]))),
    "laptop_780m_rx7700s": ("Laptop: Radeon 780M in the processor beside a Radeon RX 7700S, Linux", _laptop),
    "strix_halo": ("Ryzen AI Max+ 395 with Radeon 8060S, Linux, AMD's wheels", lambda: _linux(
        [_node("gfx1151", 40, "1586", 2900)],
        _display("1586", "Strix Halo [Radeon Graphics / Radeon 8050S Graphics / Radeon 8060S Graphics]", "c5:00.0",
                 "Display controller [0380]"), torch=_amd_torch(["gfx1151"]))),
    "mi300x_x8": ("Eight Instinct MI300X, Linux", _mi300x),
    "mi250x": ("One Instinct MI250X, which shows as two devices, Linux", _mi250x),
    "wsl_rx7900xtx": ("Radeon RX 7900 XTX in WSL, AMD's wheels", _wsl),
    "windows_rx7900xtx": ("Radeon RX 7900 XTX, Windows, AMD's wheels", _windows),
    "no_gpu": ("No GPU, Linux, CPU build", lambda: _linux([], torch=dict(_CPU_TORCH), groups=["user"], groups_on_file=[])),
    "container_without_devices": ("Container that was started without the GPU's devices, Radeon RX 7900 XTX", _container),
    "user_not_in_render_group": ("User outside the group render, Radeon RX 7900 XTX", _outsider),
    "cpu_wheel_on_rx7900xtx": ("CPU build of PyTorch, Radeon RX 7900 XTX", lambda: _xtx(torch=dict(_CPU_TORCH))),
    "wheel_without_target_rx6600": ("Radeon RX 6600 with a wheel that has no kernels for it", lambda: _rx6600(
        _torch(["gfx1032"], kernel_result="RuntimeError: HIP error: invalid device function"))),
}
