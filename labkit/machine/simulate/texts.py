"""The texts that tools would print on a simulated machine, in the tools' own formats.

They are made from the catalog and from the formats that the readers know; nothing was recorded from hardware.
"""

from __future__ import annotations

from typing import Any

from labkit.catalog.gfx import TARGETS
from labkit.machine.simulate.box import Box, Card, Node

SHAPE = 1
_CPU_NODE = {
    "cpu_cores_count": 16, "simd_count": 0, "mem_banks_count": 1, "caches_count": 0, "io_links_count": 1, "cpu_core_id_base": 0,
    "simd_id_base": 0, "max_waves_per_simd": 0, "gfx_target_version": 0, "vendor_id": 0, "device_id": 0, "location_id": 0,
}  # fmt: skip


def snapshot(box: Box) -> dict[str, Any]:
    """Everything that ``labkit.machine.snapshot`` would have collected on this machine."""
    linux = box.place != "windows"
    adapters = None
    if not box.native:
        adapters = [
            {"name": f"AMD {card.name}", "device": f"PCI\\VEN_1002&DEV_{card.device.upper()}&SUBSYS_00000000&REV_C8"}
            for card in box.cards
        ]
    return {
        "labkit_snapshot": SHAPE,
        "system": "Linux" if linux else "Windows",
        "kernel": box.kernel,
        "architecture": "x86_64" if linux else "AMD64",
        "python": {"version": box.python, "environment": "venv"},
        "os_release": _os_release(box.os_name) if linux else None,
        "proc_version": f"Linux version {box.kernel}" if linux else None,
        "modules": {"amdgpu": box.module if box.native else None},
        "kfd": _kfd(box),
        "devices": _devices(box),
        "groups": list(box.groups) if linux else [],
        "groups_on_file": [name for name in box.groups if name in ("render", "video")] if linux else [],
        "group_ids": {"render": "992", "video": "44"} if linux else {},
        "root": "root" in box.groups,
        "lspci": _lspci(box) if box.native else None,
        "pci": [],
        "nvidia": [],
        "windows_adapters": adapters,
        "environment": dict(box.environment),
        "container": list(box.container),
        "problems": [],
        "cmdline": box.cmdline if linux else None,
        "tools": _tools(box),
        "packages": _packages(box),
        "torch": box.torch_entry(),
        "symptom": "\n".join(box.symptom),
    }


def _os_release(name: str) -> str:
    word, version = name.split()[0], next((part for part in name.split() if part[0].isdigit()), "")
    return f'PRETTY_NAME="{name}"\nID={word.lower()}\nVERSION_ID="{version[:5]}"'


def _packages(box: Box) -> dict[str, str]:
    found = {"numpy": "2.3.5", **box.packages}
    if box.torch.version:
        found["torch"] = box.torch.version
    if box.torch.cuda:
        found.update({"nvidia-cublas": "13.1.0.3", "nvidia-cudnn-cu13": "9.15.1.9", "triton": "3.8.0"})
    return found


# ------------------------------------------------------------------------------------------------------------- the kernel


def _node(card: Card, number: int) -> str:
    """A GPU's properties as the driver writes them: CDNA has four SIMDs in a compute unit, RDNA two."""
    cdna = card.gfx.startswith("gfx9")
    digits = card.gfx[3:]
    simds = 4 if cdna else 2
    bus, device = card.slot.split(":")[0], card.slot.split(":")[1].split(".")[0]
    properties = {
        "cpu_cores_count": 0, "simd_count": card.units * simds, "mem_banks_count": 1, "caches_count": 64, "io_links_count": 1,
        "p2p_links_count": 0, "cpu_core_id_base": 0, "simd_id_base": 2147487744, "max_waves_per_simd": 8 if cdna else 16,
        "lds_size_in_kb": 64, "gds_size_in_kb": 0, "num_gws": 64, "wave_front_size": TARGETS[card.gfx].wavefront_size or 32,
        "array_count": 8, "simd_arrays_per_engine": 2, "cu_per_simd_array": max(1, card.units // 8), "simd_per_cu": simds,
        "max_slots_scratch_cu": 32,
        "gfx_target_version": int(digits[:-2]) * 10000 + int(digits[-2], 16) * 100 + int(digits[-1], 16), "vendor_id": 0x1002,
        "device_id": int(card.device, 16), "location_id": int(bus, 16) * 256 + int(device, 16) * 8, "domain": 0,
        "drm_render_minor": 128 + number, "hive_id": 0, "num_sdma_engines": 2, "num_xcc": card.xcc,
        "max_engine_clk_fcompute": card.clock_mhz, "max_engine_clk_ccompute": 5000,
    }  # fmt: skip
    return _properties(properties)


def _properties(properties: dict[str, int]) -> str:
    return "\n".join(f"{name} {number}" for name, number in properties.items())


def _kfd(box: Box) -> dict[str, str]:
    """The topology; the kernel shows it inside a container as well."""
    if not box.native or not box.module or not box.cards:
        return {}
    nodes = [_properties(_CPU_NODE), *(_node(card, at) for at, card in enumerate(box.serviceable))]
    return {str(number): text for number, text in enumerate(nodes)}


def _devices(box: Box) -> dict[str, Any]:
    if box.place == "windows":
        return {}
    if box.place == "wsl":
        return {"/dev/dxg": _device(Node("root", mode="crw-rw-rw-"))}
    driven = [card for card in box.cards if card.driver == "amdgpu"] if box.module else []
    found = {}
    if box.kfd and box.module and box.cards:
        found["/dev/kfd"] = _device(box.kfd)
    if box.render and driven:
        for number in range(len(driven)):
            found[f"/dev/dri/card{number}"] = _device(Node("video", error=box.render.error if box.container else None))
            found[f"/dev/dri/renderD{128 + number}"] = _device(box.render)
    return found


def _device(node: Node) -> dict[str, Any]:
    return {"owner": node.owner, "group": node.group, "mode": node.mode, "openable": node.openable, "error": node.error}


def _lspci(box: Box) -> str:
    """What 'lspci -nnk' shows of display and compute devices."""
    if not box.cards:
        return (
            "00:02.0 VGA compatible controller [0300]: Intel Corporation AlderLake-S GT1 [8086:4680] (rev 0c)\n"
            "\tKernel driver in use: i915\n\tKernel modules: i915, xe"
        )
    rows = []
    for card in box.cards:
        rows.append(f"{card.slot} {card.kind}: Advanced Micro Devices, Inc. [AMD/ATI] {card.chip} [1002:{card.device}]")
        driver = card.driver if box.module or card.driver != "amdgpu" else None
        if driver:
            rows.append(f"\tKernel driver in use: {driver}")
        rows.append("\tKernel modules: amdgpu")
    return "\n".join(rows)


def _dmesg(box: Box) -> str:
    lines = [f"Command line: {box.cmdline}"]
    if box.module:
        for card in box.cards:
            if card.driver == "amdgpu":
                lines.append(f"[drm] initialized amdgpu for 0000:{card.slot} on minor 1")
            if card.driver == "amdgpu" and card.in_kfd:
                lines.append(f"kfd kfd: amdgpu: added device 1002:{card.device}")
    return "\n".join(
        f"[{at + 1:5d}.{at * 7919 % 1000000:06d}] {line}" for at, line in enumerate([*lines, *box.kernel_log])
    )


# --------------------------------------------------------------------------------------------------------------- the tools


def _tools(box: Box) -> dict[str, str]:
    found = {**box.tools, "collect_env": _collect_env(box)}
    if box.place == "windows":
        found["hipinfo"] = _hipinfo(box)
        return found
    found["meminfo"] = f"MemTotal:       {box.ram_gib * 2**20} kB"
    found["rocminfo"] = _rocminfo(box)
    if box.native:
        found["rocm_smi"], found["amd_smi"] = _rocm_smi(box), _amd_smi(box)
        found["sysctl"] = "\n".join(f"{name} = {number}" for name, number in box.sysctl.items())
        if not box.container or box.kernel_log:
            found["dmesg"] = _dmesg(box)
        found.setdefault("mokutil", "SecureBoot disabled")
    return found


def _rocminfo(box: Box) -> str:
    lines = list(box.rocminfo_before)
    if box.place == "wsl":
        lines.append("WSL environment detected.")
        if box.wsl == "unsupported":
            return "\n".join([*lines, "ROCR: unsupported GPU"])
        if box.wsl == "no-bridge":
            return "\n".join(
                [*lines, "librocdxg.so: cannot open shared object file: No such file or directory", *_FAILED]
            )
    elif not box.module or not box.cards:
        return "\n".join([*lines, "ROCk module is NOT loaded, possibly no GPU devices"])
    else:
        lines.append("ROCk module is loaded" if box.module == "live" else _BUILT_IN)
    if box.native and box.rocminfo_ends != "cpu-only":
        reason = "No such file or directory" if box.kfd is None else box.kfd.error
        if box.rocminfo_ends not in (None, "api-failure"):
            reason = box.rocminfo_ends
        if reason:
            lines.append(f"Unable to open /dev/kfd read-write: {reason}")
            if reason == "Permission denied" and box.kfd:
                lines.append(f'user is not member of "{box.kfd.group}" group, the default DRM access group.')
            return "\n".join(lines)
        if box.rocminfo_ends == "api-failure" or not (box.render and box.render.openable):
            return "\n".join([*lines, *_FAILED])
    lines += [
        "=====================", "HSA System Attributes", "=====================", "Runtime Version:         1.18",
        "Runtime Ext Version:     1.11", "System Timestamp Freq.:  1000.000000MHz", "", "==========", "HSA Agents", "==========",
    ]  # fmt: skip
    agents = [_cpu_agent(box)]
    if box.rocminfo_ends != "cpu-only":
        agents += [_gpu_agent(box, card) for card in box.serviceable]
    for number, agent in enumerate(agents, 1):
        lines += ["*******", f"Agent {number}", "*******", agent]
    return "\n".join([*lines, "*** Done ***"])


_BUILT_IN = "ROCk module is NOT loaded, possibly no GPU devices"  # an older rocminfo looks for a module only
_FAILED = (
    "hsa api call failure at: /longer_pathname_so_that_rpms_can_support_packaging/rocminfo.cc:1282",
    "Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources.",
)


def _cpu_agent(box: Box) -> str:
    return (
        "  Name:                    Simulated Processor\n  Uuid:                    CPU-XX\n"
        "  Marketing Name:          Simulated Processor\n  Vendor Name:             CPU\n  Device Type:             CPU\n"
        "  Compute Unit:            16\n  Pool Info:\n    Pool 1\n      Segment:                 GLOBAL; FLAGS: FINE GRAINED\n"
        f"      Size:                    {box.ram_gib * 2**20}({box.ram_gib * 2**20:#x}) KB\n  ISA Info:"
    )


def _gpu_agent(box: Box, card: Card) -> str:
    gfx = box.shown_gfx(card)
    memory = card.vram_gib * 2**20
    return (
        f"  Name:                    {gfx}\n  Uuid:                    GPU-XX\n  Marketing Name:          {_marketing(card)}\n"
        f"  Vendor Name:             AMD\n  Device Type:             GPU\n"
        f"  Chip ID:                 {int(card.device, 16)}(0x{card.device})\n"
        f"  Max Clock Freq. (MHz):   {card.clock_mhz}\n  Compute Unit:            {card.units}\n  SIMDs per CU:            2\n"
        f"  Wavefront Size:          {TARGETS[card.gfx].wavefront_size or 32}(0x20)\n  Pool Info:\n    Pool 1\n"
        f"      Segment:                 GLOBAL; FLAGS: COARSE GRAINED\n      Size:                    {memory}({memory:#x}) KB\n"
        f"  ISA Info:\n    ISA 1\n      Name:                    amdgcn-amd-amdhsa--{gfx}"
    )


def _marketing(card: Card) -> str:
    return f"AMD {card.name}"


def _rocm_smi(box: Box) -> str:
    if not box.module or not box.cards:
        return (
            "cat: /sys/module/amdgpu/initstate: No such file or directory\n"
            "ERROR:root:Driver not initialized (amdgpu not found in modules)"
        )
    lines = [*box.smi_before, "========================= ROCm System Management Interface ========================="]
    for number, card in enumerate(_driven(box)):
        lines += [
            f"GPU[{number}]\t\t: Card Series: \t\t{_marketing(card)}", f"GPU[{number}]\t\t: GFX Version: \t\t{card.gfx}",
            f"GPU[{number}]\t\t: VRAM Total Memory (B): {card.vram_gib * 2**30}",
            f"GPU[{number}]\t\t: VRAM Total Used Memory (B): {300 * 2**20}", f"GPU[{number}]\t\t: GPU use (%): 0",
            f"GPU[{number}]\t\t: Temperature (Sensor edge) (C): 38.0",
        ]  # fmt: skip
    return "\n".join([*lines, "=============================== End of ROCm SMI Log ================================"])


def _driven(box: Box) -> list[Card]:
    if box.render is None:
        return []  # a container without /dev/dri: the tools find no card
    return [card for card in box.cards if card.driver == "amdgpu"]


def _amd_smi(box: Box) -> str:
    if not box.module or not _driven(box):
        return (
            "ERROR:root:Unable to detect any GPU devices, check amdgpu version and module status (sudo modprobe amdgpu)"
        )
    lines = []
    for number, card in enumerate(_driven(box)):
        lines += [
            f"GPU: {number}", "    ASIC:", f"        MARKET_NAME: {_marketing(card)}", "        VENDOR_ID: 0x1002",
            f"        DEVICE_ID: 0x{card.device}", "        ASIC_SERIAL: N/A", f"        NUM_COMPUTE_UNITS: {card.units}",
            f"        TARGET_GRAPHICS_VERSION: {card.gfx}", "    BUS:", f"        BDF: 0000:{card.slot}", "    VRAM:",
            f"        SIZE: {card.vram_gib * 1024} MB", "",
        ]  # fmt: skip
    return "\n".join(lines)


def _hipinfo(box: Box) -> str:
    if not box.sees:
        return "error: 'no ROCm-capable device is detected'(100)" if box.torch.blind else ""
    lines = []
    for number, card in enumerate(box.cards):
        lines += [
            "-" * 80, f"device#                           {number}", f"Name:                             {_marketing(card)}",
            f"totalGlobalMem:                   {card.vram_gib}.00 GB", f"gcnArchName:                      {card.gfx}",
        ]  # fmt: skip
    return "\n".join(lines)


def _collect_env(box: Box) -> str:
    torch = box.torch
    if not torch.imports:
        return "\n".join(
            ["Collecting environment information...", "PyTorch version: N/A", "Is debug build: N/A", "CUDA used to build PyTorch: N/A",
             "ROCM used to build PyTorch: N/A", "", f"OS: {box.os_name} (x86_64)", f"Python version: {box.python} (64-bit runtime)",
             "Is CUDA available: N/A", "GPU models and configuration: Could not collect", "Is XNNPACK available: N/A"]
        )  # fmt: skip
    entry = box.torch_entry()
    gpus = [f"{_marketing(card)} ({box.shown_gfx(card)})" for card in box.visible] if box.sees else []
    models = (
        gpus[0]
        if len(gpus) == 1
        else "".join(f"\nGPU {at}: {name}" for at, name in enumerate(gpus)) or "Could not collect"
    )
    return "\n".join([
        "Collecting environment information...", f"PyTorch version: {torch.version}", "Is debug build: False",
        f"CUDA used to build PyTorch: {torch.cuda or ('N/A' if torch.hip else 'None')}",
        f"ROCM used to build PyTorch: {torch.hip or 'N/A'}", "", f"OS: {box.os_name} (x86_64)",
        f"Python version: {box.python} (64-bit runtime)", f"Is CUDA available: {entry['cuda_available']}",
        f"GPU models and configuration: {models}", f"HIP runtime version: {torch.hip or 'N/A'}", "Is XNNPACK available: True",
    ])  # fmt: skip
