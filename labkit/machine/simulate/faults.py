"""Every fault of the catalog, as a change to a :class:`~labkit.machine.simulate.box.Box`.

One place to add one: a function under ``@fault("code", …)`` that changes causes, or says what a person would see. A fault
also says, in data, how far the machine must work for its signs to be there (``needs``), what no longer works because of it
(``breaks``) and which part of the machine it takes (``claims``): from these follows which two can be there at once
(:mod:`labkit.machine.simulate.pairs`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from labkit.catalog.gfx import TARGETS
from labkit.catalog.wheels import TORCH_INDEXES, version
from labkit.machine.simulate.box import (
    Box,
    Node,
    Torch,
    cpu_wheel,
    cuda_wheel,
    pytorch_wheel,
)

# The stages of a working machine. Each stands on the ones before it, but torch's import and build stand on no driver.
CARD, DRIVER, DEVICE, IMPORT, BUILD, SEES, KERNEL, END = (
    "card", "driver", "device", "import", "build", "sees", "kernel", "end",
)  # fmt: skip
RUNS = frozenset((CARD, DRIVER, DEVICE, IMPORT, BUILD, SEES, KERNEL))  # a program that computes on the GPU
DRIVER_DOWN = frozenset((DRIVER, DEVICE, SEES, KERNEL, END))
CLOSED = frozenset((DEVICE, SEES, KERNEL, END))
NO_IMPORT = frozenset((IMPORT, BUILD, SEES, KERNEL, END))
NOT_ROCM = frozenset((BUILD, SEES, KERNEL, END))
BLIND = frozenset((SEES, KERNEL, END))
FAILS = frozenset((KERNEL, END))
STOPS = frozenset((END,))  # kernels run, and the program ends with an error all the same
NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Fault:
    """One fault: on which machines it can be, and what it does to one."""

    code: str
    fits: Callable[[Box], bool]
    inject: Callable[[Box], None]
    needs: frozenset[str]
    breaks: frozenset[str]
    claims: frozenset[str]


FAULTS: dict[str, Fault] = {}


def fault(
    code: str,
    fits: Callable[[Box], bool],
    *,
    needs: frozenset[str] = NOTHING,
    breaks: frozenset[str] = NOTHING,
    claims: str = "",
) -> Callable[[Callable[[Box], Any]], Callable[[Box], Any]]:
    """Registers a fault. ``claims``: words for the parts of the machine that only one fault at a time can have."""

    def register(inject: Callable[[Box], Any]) -> Callable[[Box], Any]:
        FAULTS[code] = Fault(
            code, lambda box: bool(box.cards) and fits(box), inject, needs, breaks, frozenset(claims.split())
        )
        return inject

    return register


# ---------------------------------------------------------------------------------------------------- which machines


def everywhere(box: Box) -> bool:
    return True


def linux(box: Box) -> bool:
    return box.place == "linux"


def container(box: Box) -> bool:
    return box.place == "container"


def native(box: Box) -> bool:
    return box.native


def wsl(box: Box) -> bool:
    return box.place == "wsl"


def windows(box: Box) -> bool:
    return box.place == "windows"


def not_windows(box: Box) -> bool:
    return box.place != "windows"


def families(*prefixes: str) -> Callable[[Box], bool]:
    return lambda box: any(card.gfx.startswith(prefixes) for card in box.cards)


def _main(box: Box) -> str:
    """The target of the card that matters."""
    return next((card for card in box.cards if not card.integrated), box.cards[0]).gfx


def _instinct(box: Box) -> bool:
    return box.place == "linux" and _main(box) in ("gfx90a", "gfx942")


def _several(box: Box) -> bool:
    return _instinct(box) and len(box.cards) > 1


def _laptop(box: Box) -> bool:
    return box.place == "linux" and {card.integrated for card in box.cards} == {True, False}


def _apu(box: Box) -> bool:
    return box.place == "linux" and all(card.integrated for card in box.cards)


# --------------------------------------------------------------------------------------- driver, kernel, the card itself


def _down(box: Box) -> None:
    box.module = None


@fault("driver-not-loaded", linux, breaks=DRIVER_DOWN, claims="driver")
def _driver_not_loaded(box: Box) -> None:
    _down(box)
    box.tools["modprobe"] = "/etc/modprobe.d/blacklist-gpu.conf:blacklist amdgpu"


@fault("nomodeset", linux, breaks=DRIVER_DOWN, claims="driver")
def _nomodeset(box: Box) -> None:
    _down(box)
    box.cmdline += " nomodeset"


@fault("secure-boot", linux, breaks=DRIVER_DOWN, claims="driver")
def _secure_boot(box: Box) -> None:
    _down(box)
    box.tools["mokutil"] = "SecureBoot enabled"
    box.log("amdgpu: Loading of module with unavailable key is rejected")
    box.say("$ sudo modprobe amdgpu", "modprobe: ERROR: could not insert 'amdgpu': Key was rejected by service")


@fault("dkms-mismatch", linux, breaks=DRIVER_DOWN, claims="driver")
def _dkms_mismatch(box: Box) -> None:
    _down(box)
    box.tools["dkms"] = "amdgpu/6.16.6-2238411.24.04, 6.8.0-90-generic, x86_64: installed"


@fault("kernel-unsupported", linux, breaks=DRIVER_DOWN, claims="driver")
def _kernel_unsupported(box: Box) -> None:
    _down(box)
    box.say(
        "$ sudo apt install amdgpu-dkms", f"Error! Bad return status for module build on kernel: {box.kernel} (x86_64)"
    )


@fault("kernel-too-old-for-gpu", lambda box: linux(box) and _main(box) != "gfx90a", breaks=DRIVER_DOWN, claims="driver")
def _kernel_too_old(box: Box) -> None:
    box.kernel = "5.4.0-216-generic"
    box.cmdline = box.cmdline.replace("6.18.9", "5.4.0-216")
    for card in box.cards:
        card.driver = None
    box.kfd = box.render = None


@fault("driver-not-bound", lambda box: linux(box) and not _laptop(box), breaks=DRIVER_DOWN, claims="driver")
def _driver_not_bound(box: Box) -> None:
    for card in box.cards:
        card.driver = "vfio-pci"
    box.render = None


@fault("gpu-init-failed", linux, breaks=DRIVER_DOWN, claims="driver")
def _gpu_init_failed(box: Box) -> None:
    slot = box.cards[0].slot
    box.log(
        f"amdgpu 0000:{slot}: amdgpu: amdgpu_device_ip_init failed",
        f"amdgpu 0000:{slot}: amdgpu: Fatal error during GPU init",
        f"amdgpu 0000:{slot}: probe with driver amdgpu failed with error -12",
    )
    for card in box.cards:
        card.driver = None
    box.render = None


@fault("pcie-atomics-missing", linux, needs=frozenset((DRIVER,)), breaks=CLOSED, claims="kfd-topology")
def _pcie_atomics(box: Box) -> None:
    for card in box.cards:
        box.log(f"kfd kfd: amdgpu: skipped device 1002:{card.device}, PCI rejects atomics")
        card.in_kfd = False


@fault("firmware-too-old", linux, needs=frozenset((DRIVER,)), breaks=CLOSED, claims="kfd-topology")
def _firmware_too_old(box: Box) -> None:
    for card in box.cards:
        box.log(f"kfd kfd: amdgpu: skipped device 1002:{card.device}, PCI rejects atomics 514<1090")
        card.in_kfd = False


@fault("kfd-unsupported-device", linux, needs=frozenset((DRIVER,)), breaks=CLOSED, claims="kfd-topology")
def _kfd_unsupported(box: Box) -> None:
    for card in box.cards:
        box.log(f"kfd kfd: amdgpu: DID {card.device} is missing in supported_devices")
        card.in_kfd = False


@fault("no-gpu-agent", native, needs=frozenset((DRIVER, DEVICE)), breaks=BLIND, claims="kfd-topology rocminfo")
def _no_gpu_agent(box: Box) -> None:
    box.rocminfo_ends = "cpu-only"
    for card in box.cards:
        card.in_kfd = False


@fault("hsa-init-failed", native, needs=frozenset((DRIVER, DEVICE)), breaks=BLIND, claims="rocminfo")
def _hsa_init_failed(box: Box) -> None:
    box.rocminfo_ends = "api-failure"


@fault(
    "hip-no-device",
    lambda box: box.place != "wsl",
    needs=frozenset((DRIVER, DEVICE, IMPORT, BUILD)),
    breaks=BLIND,
    claims="blind",
)
def _hip_no_device(box: Box) -> None:
    box.torch.blind = True


@fault(
    "mes-firmware-hang",
    lambda box: linux(box) and families("gfx11", "gfx12")(box),
    needs=frozenset((DRIVER,)),
    claims="log:mes",
)
def _mes_hang(box: Box) -> None:
    slot = box.cards[0].slot
    box.log(
        f"amdgpu 0000:{slot}: amdgpu: MES failed to respond to msg=REMOVE_QUEUE",
        f"amdgpu 0000:{slot}: amdgpu: MES might be in unrecoverable state, issue a GPU reset",
    )


@fault("memory-access-fault", not_windows, needs=RUNS, breaks=STOPS, claims="crash")
def _memory_access_fault(box: Box) -> None:
    box.say(
        "Memory access fault by GPU node-1 (Agent handle: 0x55d0c8a4e2f0) on address 0x7f2b50000000. "
        "Reason: Page not present or supervisor privilege.",
        "Aborted (core dumped)",
    )


@fault("ras-errors", _instinct, needs=frozenset((DRIVER,)))
def _ras_errors(box: Box) -> None:
    box.log(f"amdgpu 0000:{box.cards[0].slot}: amdgpu: 3 uncorrectable hardware errors detected in umc block")


@fault("gpu-reset", linux, needs=frozenset((DRIVER,)))
def _gpu_reset(box: Box) -> None:
    slot = box.cards[0].slot
    box.log(f"amdgpu 0000:{slot}: amdgpu: ring gfx_0.0.0 timeout, signaled seq=812, emitted seq=814",
            f"amdgpu 0000:{slot}: amdgpu: GPU reset begin!")  # fmt: skip


@fault("iommu-page-fault", linux, needs=frozenset((DRIVER,)))
def _iommu_fault(box: Box) -> None:
    box.log(
        f"amdgpu 0000:{box.cards[0].slot}: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x001e address=0xfffffffdf8000000 flags=0x0000]"
    )


# ------------------------------------------------------------------------------------------------ access to the device


def _shut(box: Box, error: str = "Permission denied") -> None:
    for node in (box.kfd, box.render):
        if node:
            node.error = error


@fault("kfd-permission", lambda box: native(box) and "/run/.containerenv" not in box.container,
       needs=frozenset((DRIVER,)), breaks=CLOSED, claims="kfd render")  # fmt: skip
def _kfd_permission(box: Box) -> None:
    _shut(box)
    box.groups[:] = ["root"] if box.container else ["user"]


@fault("kfd-node-mode", linux, needs=frozenset((DRIVER,)), breaks=CLOSED, claims="kfd")
def _kfd_node_mode(box: Box) -> None:
    box.kfd = Node("root", mode="crw-------", error="Permission denied")


@fault("render-node-mode", linux, needs=frozenset((DRIVER,)), breaks=CLOSED, claims="render kfd")
def _render_node_mode(box: Box) -> None:
    box.render = Node("root", mode="crw-------", error="Permission denied")


@fault("kfd-missing-in-container", container, needs=frozenset((DRIVER,)), breaks=CLOSED, claims="kfd render")
def _kfd_missing(box: Box) -> None:
    box.kfd = box.render = None
    box.groups[:] = ["root"]


@fault("kfd-open-refused", container, needs=frozenset((DRIVER,)), breaks=CLOSED, claims="kfd render")
def _kfd_open_refused(box: Box) -> None:
    box.kfd = Node(error="Operation not permitted")
    box.render = Node(error="Operation not permitted")
    box.groups[:] = ["render", "root", "video"]


@fault("rootless-container-groups", lambda box: "/run/.containerenv" in box.container, needs=frozenset((DRIVER,)), breaks=CLOSED,
       claims="kfd render")  # fmt: skip
def _rootless_groups(box: Box) -> None:
    _shut(box)
    box.groups[:] = ["root"]


@fault("selinux-denied", container, needs=frozenset((DRIVER,)), breaks=CLOSED, claims="kfd render")
def _selinux(box: Box) -> None:
    _shut(box)
    box.os_name = "Fedora Linux 42 (Container Image)"
    box.say(
        "$ sudo ausearch -m avc -ts recent",
        'type=AVC msg=audit(1764480000.511:731): avc:  denied  { read write } for  pid=4242 comm="python3" name="kfd" dev="devtmpfs" '
        "scontext=system_u:system_r:container_t:s0:c1,c2 tcontext=system_u:object_r:hsa_device_t:s0 tclass=chr_file permissive=0",
    )


@fault("snap-confined", linux, needs=frozenset((DRIVER,)), breaks=CLOSED, claims="kfd render")
def _snap(box: Box) -> None:
    _shut(box, "Operation not permitted")
    box.environment["SNAP"] = "/snap/code/211"
    box.log(
        'audit: type=1400 audit(1764480000.101:97): apparmor="DENIED" operation="open" profile="snap.code.code" name="/dev/kfd"'
    )


@fault("docker-vm", lambda box: "/.dockerenv" in box.container, breaks=DRIVER_DOWN, claims="driver kfd render")
def _docker_vm(box: Box) -> None:
    box.kernel = "6.12.54-linuxkit"
    box.kfd = box.render = None
    box.module = None
    box.groups[:] = ["root"]


@fault("shm-too-small", container, needs=RUNS, breaks=STOPS, claims="shm")
def _shm(box: Box) -> None:
    box.say(
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
        "$ df -h /dev/shm",
        "Filesystem      Size  Used Avail Use% Mounted on",
        "shm              64M   64M     0 100% /dev/shm",
    )


# ----------------------------------------------------------------------------------------------------- WSL and Windows


@fault("wsl-bridge-missing", wsl, breaks=DRIVER_DOWN, claims="driver")
def _wsl_bridge(box: Box) -> None:
    box.wsl = "no-bridge"
    box.tools["dpkg"] = "ii  libhsa-runtime64-1:amd64  6.1.2-3  amd64  HSA Runtime API and runtime for ROCm"


@fault("wsl-gpu-unsupported", wsl, breaks=DRIVER_DOWN, claims="driver")
def _wsl_unsupported(box: Box) -> None:
    box.wsl = "unsupported"


@fault("wsl-bundled-hsa", wsl, needs=frozenset((DRIVER, DEVICE, IMPORT)), breaks=BLIND, claims="torch blind")
def _wsl_bundled(box: Box) -> None:
    box.torch = pytorch_wheel()
    box.torch.blind = True
    box.say("$ ls .venv/lib/python3.12/site-packages/torch/lib | grep hsa", "libhsa-runtime64.so")


@fault("wsl-vram-query-failed", wsl, needs=frozenset((DRIVER, DEVICE, IMPORT, BUILD, SEES)), breaks=FAILS, claims="oom")
def _wsl_vram(box: Box) -> None:
    box.say(
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 23.98 GiB "
        "of which 0 bytes is free.",
    )


@fault("windows-dll-missing", windows, breaks=NO_IMPORT, claims="torch")
def _dll(box: Box) -> None:
    box.torch.error = (
        "OSError: [WinError 126] The specified module could not be found. Error loading "
        '"C:\\Users\\user\\.venv\\Lib\\site-packages\\torch\\lib\\shm.dll" or one of its dependencies.'
    )


@fault("windows-rdna2-not-enumerated", lambda box: windows(box) and families("gfx103")(box), needs=frozenset((DRIVER, DEVICE)),
       breaks=BLIND, claims="torch blind")  # fmt: skip
def _rdna2(box: Box) -> None:
    box.torch = Torch("2.9.1+rocm7.1.1", "7.1.52802", None, ("gfx1030", "gfx1100", "gfx1101"), blind=True)
    box.say("hipErrorNoDevice: no ROCm-capable device is detected (100)")


@fault("windows-no-rocm-wheel", windows, breaks=NOT_ROCM, claims="torch")
def _windows_no_wheel(box: Box) -> None:
    box.torch = cpu_wheel()
    box.say(
        "PS> uv pip install torch --index-url https://download.pytorch.org/whl/rocm7.2",
        "because torch==2.13.0+rocm7.2 has no wheels with a matching platform tag (win_amd64)",
    )


@fault("windows-no-distributed", windows, needs=frozenset((IMPORT,)), breaks=STOPS, claims="distributed")
def _no_distributed(box: Box) -> None:
    box.say("ModuleNotFoundError: No module named 'torch._C._distributed_c10d'; 'torch._C' is not a package")


# -------------------------------------------------------------------------------- environment variables, which GPU


def _own_version(box: Box) -> str:
    digits = _main(box)[3:]
    return f"{int(digits[:-2])}.{int(digits[-2], 16)}.{int(digits[-1], 16)}"


@fault("override-unneeded", native, needs=frozenset((CARD, IMPORT, BUILD)), claims="override")
def _override_unneeded(box: Box) -> None:
    box.environment["HSA_OVERRIDE_GFX_VERSION"] = _own_version(box)


@fault(
    "override-wrong-family",
    native,
    needs=frozenset((DRIVER, DEVICE, IMPORT, BUILD, SEES)),
    breaks=FAILS,
    claims="override",
)
def _override_wrong(box: Box) -> None:
    box.environment["HSA_OVERRIDE_GFX_VERSION"] = "11.0.0" if _main(box).startswith("gfx103") else "10.3.0"
    box.say("RuntimeError: HIP error: an illegal memory access was encountered")


@fault("override-unsafe", lambda box: linux(box) and _main(box) in ("gfx1032", "gfx1102", "gfx1151"),
       needs=frozenset((DRIVER, DEVICE, IMPORT, BUILD, SEES)), breaks=FAILS, claims="override")  # fmt: skip
def _override_unsafe(box: Box) -> None:
    box.environment["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0" if _main(box).startswith("gfx103") else "11.0.0"
    box.torch.kernel_error = "RuntimeError: HIP error: invalid device function"
    box.say("HSA_STATUS_ERROR_INVALID_ISA: The instruction set architecture is invalid. code: 0x100f")


@fault("env-not-exported", not_windows, claims="shell")
def _not_exported(box: Box) -> None:
    box.say(
        "$ MIOPEN_LOG_LEVEL=5",
        "$ python -c \"import os; print(os.environ.get('MIOPEN_LOG_LEVEL'))\"",
        "None",
    )


@fault(
    "gpu-hidden-by-env",
    everywhere,
    needs=frozenset((DRIVER, DEVICE, IMPORT, BUILD)),
    breaks=BLIND,
    claims="visibility blind",
)
def _hidden(box: Box) -> None:
    box.environment["HIP_VISIBLE_DEVICES"] = "-1"


@fault(
    "igpu-shadows-dgpu",
    _laptop,
    needs=frozenset((DRIVER, DEVICE, IMPORT, BUILD, SEES)),
    breaks=FAILS,
    claims="visibility kernel override",
)
def _shadows(box: Box) -> None:
    box.environment.pop("HIP_VISIBLE_DEVICES", None)
    box.torch.kernel_error = "RuntimeError: HIP error: shared object initialization failed"


@fault("dgpu-missing", _laptop, needs=frozenset((DRIVER,)), breaks=BLIND | {CARD}, claims="kfd-topology rocminfo")
def _dgpu_missing(box: Box) -> None:
    for card in box.cards:
        card.in_kfd = card.integrated


@fault("alloc-conf-conflict", everywhere, claims="allocator")
def _alloc_conf(box: Box) -> None:
    box.environment["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"
    box.environment["PYTORCH_HIP_ALLOC_CONF"] = "max_split_size_mb:512"


# ------------------------------------------------------------------------------------------------- which torch there is


@fault("python-mismatch", everywhere, breaks=NO_IMPORT, claims="torch")
def _python_mismatch(box: Box) -> None:
    box.torch = Torch(error="ModuleNotFoundError: No module named 'torch'")
    where = "C:\\Python310\\Lib\\site-packages\\pip" if box.place == "windows" else "/usr/lib/python3/dist-packages/pip"
    box.say("> pip --version", f"pip 25.3 from {where} (python 3.10)")


@fault("no-wheel-for-platform", everywhere, breaks=NO_IMPORT, claims="torch install")
def _no_wheel_platform(box: Box) -> None:
    box.torch = Torch(error="ModuleNotFoundError: No module named 'torch'")
    other = "linux_x86_64" if box.place == "windows" else "win_amd64"
    tag = f"cp{box.python.split('.')[0]}{box.python.split('.')[1]}"
    box.say(f"ERROR: torch-2.13.0-{tag}-{tag}-{other}.whl is not a supported wheel on this platform.")


@fault("no-wheel-for-python", everywhere, breaks=NO_IMPORT, claims="torch install python")
def _no_wheel_python(box: Box) -> None:
    box.python = "3.15.0"
    box.torch = Torch(error="ModuleNotFoundError: No module named 'torch'")
    box.say(
        "ERROR: Could not find a version that satisfies the requirement torch (from versions: none)",
        "ERROR: No matching distribution found for torch",
    )


@fault("build-without-hip", native, needs=frozenset((IMPORT,)), breaks=NOT_ROCM, claims="torch")
def _build_without_hip(box: Box) -> None:
    box.torch = Torch("2.14.0a0+gitd1b2c3d", "0.0.0")


@fault("wrong-wheel-cuda", everywhere, needs=frozenset((IMPORT,)), breaks=NOT_ROCM, claims="torch")
def _cuda(box: Box) -> None:
    box.torch = cuda_wheel()


@fault("wrong-wheel-cpu", everywhere, needs=frozenset((IMPORT,)), breaks=NOT_ROCM, claims="torch")
def _cpu(box: Box) -> None:
    box.torch = cpu_wheel()


@fault("torch-missing", everywhere, breaks=NO_IMPORT, claims="torch")
def _torch_missing(box: Box) -> None:
    box.torch = Torch(error="ModuleNotFoundError: No module named 'torch'")


@fault("wrong-device-string", everywhere, needs=frozenset((IMPORT,)), breaks=STOPS, claims="device-string")
def _device_string(box: Box) -> None:
    box.say(">>> model.to('hip')", "RuntimeError: PyTorch is not linked with support for hip devices")


@fault("rocm-too-old-for-gpu", lambda box: native(box) and _main(box) not in ("gfx90a", "gfx1030"),
       needs=frozenset((DRIVER, DEVICE, IMPORT)), breaks=BLIND, claims="torch blind override")  # fmt: skip
def _rocm_too_old(box: Box) -> None:
    box.torch = Torch(
        "2.1.2+rocm5.6", "5.6.31061", None, ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx1030"), blind=True
    )
    box.say(
        "UserWarning: HIP initialization: Unexpected error from hipGetDeviceCount(). Error 101: hipErrorInvalidDevice"
    )


@fault(
    "rocblas-arch-missing",
    everywhere,
    needs=frozenset((DRIVER, DEVICE, IMPORT, BUILD, SEES)),
    breaks=FAILS,
    claims="kernel",
)
def _rocblas(box: Box) -> None:
    path = (
        "C:\\Users\\user\\.venv\\Lib\\site-packages\\_rocm_sdk_libraries\\bin"
        if box.place == "windows"
        else "/opt/rocm/lib"
    )
    box.torch.kernel_error = (
        f"rocBLAS error: Cannot read {path}/rocblas/library/TensileLibrary.dat: "
        f"No such file or directory for GPU arch : {_main(box)}"
    )


@fault(
    "arch-not-in-wheel",
    everywhere,
    needs=frozenset((DRIVER, DEVICE, IMPORT, SEES)),
    breaks=FAILS,
    claims="torch kernel override",
)
def _arch_not_in_wheel(box: Box) -> None:
    if not box.native:
        box.torch.arch_list = ("gfx1201",)  # AMD's wheel with the extra for another target
        return
    row = TARGETS[_main(box)]
    older = [
        (index, known.torch) for known in TORCH_INDEXES for index in known.indexes
        if known.established and version(index[4:]) >= (6, 0) and index not in row.pytorch_indexes
    ]  # fmt: skip
    if not row.pytorch_indexes:
        box.torch = pytorch_wheel()
    elif older:
        box.torch = pytorch_wheel(older[-1][0], f"{older[-1][1]}.0")
    else:  # every wheel has it: then it is somebody's own build for another target
        box.torch = Torch("2.13.0a0+gitb5c2e1f", "7.2.0", None, ("gfx1101",))


@fault("bf16-unsupported", families("gfx103"), needs=RUNS, claims="speed")
def _bf16(box: Box) -> None:
    box.say("autocast with torch.bfloat16: 2.8 it/s", "autocast with torch.float16: 10.9 it/s")


# -------------------------------------------------------------------------------------- libraries, run-time compilation


@fault("libstdcxx-too-old", not_windows, breaks=NO_IMPORT, claims="torch")
def _libstdcxx(box: Box) -> None:
    box.torch.error = (
        "ImportError: /home/user/miniconda3/envs/rocm/bin/../lib/libstdc++.so.6: version `GLIBCXX_3.4.32' not found "
        "(required by /opt/rocm/lib/libMIOpen.so.1)"
    )


@fault("ld-library-path-mix", native, breaks=NO_IMPORT, claims="torch")
def _ld_library_path(box: Box) -> None:
    if box.torch.version and "+rocm" not in box.torch.version:
        box.torch = pytorch_wheel()
    box.environment["LD_LIBRARY_PATH"] = "/opt/rocm-6.1.2/lib"
    box.torch.error = (
        "ImportError: /home/user/.venv/lib/python3.12/site-packages/torch/lib/libtorch_hip.so: "
        "undefined symbol: hipMemPoolTrimToV2"
    )


@fault("rocm-library-not-found", native, breaks=NO_IMPORT, claims="torch")
def _library_not_found(box: Box) -> None:
    box.torch.error = "ImportError: libMIOpen.so.1: cannot open shared object file: No such file or directory"
    box.packages.update({"rocm-sdk-core": "10.0.0", "rocm-sdk-libraries": "10.0.0"})
    box.say(
        "$ find .venv -name 'libMIOpen.so.1'",
        ".venv/lib/python3.12/site-packages/_rocm_sdk_libraries/lib/libMIOpen.so.1",
    )


@fault("hip-library-mismatch", native, breaks=NO_IMPORT, claims="torch")
def _library_mismatch(box: Box) -> None:
    box.torch.error = "ImportError: libamdhip64.so.6: cannot open shared object file: No such file or directory"
    box.say("$ ls /opt/rocm/lib/libamdhip64.so*", "/opt/rocm/lib/libamdhip64.so.7")


@fault("import-hang", native, breaks=NO_IMPORT, claims="torch")
def _import_hang(box: Box) -> None:
    box.torch.error = "import torch was stopped after 17 s (no answer within 17 s)"
    box.say("$ python -c 'import torch'", "import torch hangs, there is no prompt after half an hour")


@fault(
    "miopen-headers-missing",
    native,
    needs=frozenset((DRIVER, DEVICE, IMPORT, BUILD, SEES)),
    breaks=STOPS,
    claims="miopen",
)
def _headers(box: Box) -> None:
    box.say(
        "MIOpen(HIP): Error [Compile] naive_conv.cpp: HIPRTC_ERROR_COMPILATION (6)",
        "/tmp/comgr-81a0c2/input/naive_conv.cpp:41:10: fatal error: 'cmath' file not found",
        "RuntimeError: miopenStatusUnknownError",
    )
    box.tools["gcc"] = "/usr/lib/gcc/x86_64-linux-gnu:\n12\n13\n\n/usr/include/c++:\n12\n"


@fault(
    "miopen-cache-unwritable",
    everywhere,
    needs=frozenset((DRIVER, DEVICE, IMPORT, BUILD, SEES)),
    breaks=STOPS,
    claims="miopen",
)
def _cache(box: Box) -> None:
    box.say(
        "MIOpen(HIP): Warning [SQLiteBase] Unable to read system database file",
        "RuntimeError: MIOpen Error: Internal error while accessing SQLite database: attempt to write a readonly database",
    )


@fault(
    "miopen-compile-failed",
    everywhere,
    needs=frozenset((DRIVER, DEVICE, IMPORT, BUILD, SEES)),
    breaks=STOPS,
    claims="miopen",
)
def _compile(box: Box) -> None:
    box.say(
        "MIOpen(HIP): Error [BuildHip] HIPRTC status = HIPRTC_ERROR_COMPILATION (6), source file: gemm.cpp",
        "RuntimeError: miopenStatusUnknownError",
    )


@fault("miopen-warmup", everywhere, needs=RUNS | {END}, claims="speed")
def _warmup(box: Box) -> None:
    box.say("step 1 (new shape): 41.5 s", "step 2 (same shape): 0.3 s", "step 3 (same shape): 0.3 s")


# ---------------------------------------------------------------------------------------------------------------- memory


def _oom(asked: str, capacity: float, free: str, allocated: str, reserved: str) -> str:
    return (
        f"torch.OutOfMemoryError: HIP out of memory. Tried to allocate {asked}. GPU 0 has a total capacity of {capacity:.2f} GiB of which "
        f"{free} is free. Of the allocated memory {allocated} is allocated by PyTorch, and {reserved} is reserved by PyTorch "
        "but unallocated."
    )


@fault("apu-memory-limit", _apu, needs=RUNS, breaks=STOPS, claims="oom")
def _apu_limit(box: Box) -> None:
    box.say(_oom("12.00 GiB", 15.5, "7.10 GiB", "8.02 GiB", "40.00 MiB"))


@fault("oom-not-capacity", lambda box: not _apu(box), needs=RUNS, breaks=STOPS, claims="oom")
def _not_capacity(box: Box) -> None:
    size = box.cards[-1].vram_gib
    box.say(_oom("2.00 MiB", size, f"{size * 0.6:.2f} GiB", f"{size * 0.3:.2f} GiB", "64.00 MiB"))


@fault("oom-fragmentation", lambda box: not _apu(box), needs=RUNS, breaks=STOPS, claims="oom")
def _fragmentation(box: Box) -> None:
    box.say(_oom("3.00 GiB", box.cards[-1].vram_gib, "1.10 GiB", "3.00 GiB", "3.60 GiB"))


@fault("oom-real", lambda box: not _apu(box), needs=RUNS, breaks=STOPS, claims="oom")
def _real(box: Box) -> None:
    size = box.cards[-1].vram_gib
    box.say(_oom("2.00 GiB", size, "310.00 MiB", f"{size - 0.5:.2f} GiB", "55.00 MiB"))


# ---------------------------------------------------------------------------------------------------------- several GPUs


@fault("rccl-iommu", _several, needs=RUNS, breaks=STOPS, claims="rccl")
def _iommu(box: Box) -> None:
    box.cmdline = box.cmdline.replace(" iommu=pt", "")
    box.say('NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!')


@fault("rccl-data-errors", _several, needs=RUNS, breaks=STOPS, claims="rccl")
def _data_errors(box: Box) -> None:
    box.say("# all_reduce_perf", "# Out of bounds values : 12 FAILED")


@fault("rccl-missing-rank", _several, needs=RUNS, breaks=STOPS, claims="rccl")
def _missing_rank(box: Box) -> None:
    box.say("RCCL RAS report: communicator 0x6d1f INCOMPLETE", "  missing ranks: 3")


@fault("rccl-alltoallv-hang", _several, needs=RUNS, breaks=STOPS, claims="rccl torch")
def _alltoallv(box: Box) -> None:
    box.torch = pytorch_wheel("rocm6.0", "2.2.2")
    box.torch.version, box.torch.hip = "2.2.2+rocm5.7", "5.7.31921"
    box.say("alltoallv_perf over PCIe, four GPUs: no further output")


@fault("rccl-crash", _several, needs=RUNS, breaks=STOPS, claims="rccl crash")
def _crash(box: Box) -> None:
    box.say("# all_gather_perf", "node1: Test NCCL failure common.cu:1021 'unhandled cuda error'", "exited with code 3")


@fault(
    "rccl-scratch-reclaim", lambda box: _several(box) and _main(box) == "gfx90a", needs=RUNS, claims="rccl torch speed"
)
def _scratch(box: Box) -> None:
    box.torch = pytorch_wheel("rocm7.14", "2.14.1")
    box.say("all_reduce_perf: busbw 112 GB/s with rocm7.2, slower with rocm7.14: busbw 69 GB/s")


@fault("numa-balancing", _several, needs=frozenset((DRIVER,)), claims="numa")
def _numa(box: Box) -> None:
    box.sysctl["kernel.numa_balancing"] = 1


# ----------------------------------------------------------------------------------------------------- numbers and speed


@fault(
    "nan-bf16-attention",
    lambda box: linux(box) and _main(box) == "gfx1151",
    needs=RUNS,
    breaks=STOPS,
    claims="numbers torch",
)
def _nan(box: Box) -> None:
    box.torch = pytorch_wheel()
    box.say("bf16, attn_implementation='flash_attention_2'", "step 1 loss 2.31", "step 2 loss nan")


@fault("numerics-suspect", everywhere, needs=RUNS, breaks=STOPS, claims="numbers")
def _suspect(box: Box) -> None:
    box.say("the output is all nan with float16, and the same with float32", "largest value of the first layer: 3.2e38")


@fault("hipblaslt-wrong-results", everywhere, needs=RUNS, breaks=STOPS, claims="numbers")
def _wrong_results(box: Box) -> None:
    setting = (
        "PS> $env:TORCH_BLAS_PREFER_HIPBLASLT=0"
        if box.place == "windows"
        else "$ TORCH_BLAS_PREFER_HIPBLASLT=0 python same.py"
    )
    box.say(
        ">>> (a.cuda() @ b.cuda()).cpu().sub(a @ b).abs().max()",
        "tensor(287.4)",
        setting,
        "tensor(0.0011)",
    )


@fault("sdpa-math-fallback", families("gfx11", "gfx12"), needs=RUNS, claims="speed")
def _sdpa(box: Box) -> None:
    box.say(
        "UserWarning: Flash Efficient attention on Current AMD GPU is still experimental. "
        "Enable it with TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1."
    )


@fault("perf-below-reference", everywhere, needs=RUNS | {END}, claims="speed")
def _slow(box: Box) -> None:
    box.say("GEMM of 8192 after warm-up: 8.7 TFLOP/s, an older release gave 25.9 TFLOP/s: far below the reference")


# ---------------------------------------------------------------------------------------------- harmless, worth knowing


@fault("device-index-order", lambda box: linux(box) and len(box.cards) > 1, needs=RUNS, claims="order")
def _order(box: Box) -> None:
    box.say("cuda:1 computes, and rocm-smi shows the load on GPU[0]")


@fault("hipblaslt-unsupported-arch", everywhere, needs=RUNS, claims="speed")
def _hipblaslt(box: Box) -> None:
    box.say(
        "UserWarning: Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas"
    )


@fault("rocshmem-libnuma-warning", native, needs=frozenset((IMPORT,)))
def _rocshmem(box: Box) -> None:
    box.say("E-001h rocSHMEM Could not open libnuma. Returning")


@fault("smi-group-warning", native, needs=frozenset((DRIVER, DEVICE)))
def _smi_group(box: Box) -> None:
    box.smi_before.append(
        "WARNING: User is missing the following required groups: render, video. Please add user to these groups."
    )


@fault("smi-no-data", native, needs=frozenset((DRIVER, DEVICE)))
def _smi_no_data(box: Box) -> None:
    box.smi_before.append("WARNING: No JSON data to report")


@fault("rocminfo-builtin-false-alarm", linux, needs=frozenset((DRIVER, DEVICE)), claims="rocminfo")
def _builtin(box: Box) -> None:
    box.module = "built in"


@fault("libdrm-ids-warning", not_windows, needs=frozenset((DRIVER, DEVICE)))
def _libdrm(box: Box) -> None:
    path = "/opt/amdgpu/share/libdrm/amdgpu.ids" if box.native else "/usr/share/libdrm/amdgpu.ids"
    box.rocminfo_before.append(f"{path}: No such file or directory")


@fault("amdsmi-init-warning", not_windows, needs=frozenset((IMPORT,)))
def _amdsmi(box: Box) -> None:
    box.say("UserWarning: Can't initialize amdsmi - Error code: 34")


@fault("miopen-workspace-warning", everywhere, needs=RUNS, claims="speed")
def _workspace(box: Box) -> None:
    box.say(
        "MIOpen(HIP): Warning [IsEnoughWorkspace] [EvaluateInvokers] Solver <GemmFwdRest>, workspace required: 31719424, "
        "provided ptr: 0 size: 0"
    )


@fault("expandable-segments-unsupported", everywhere, needs=RUNS)
def _expandable(box: Box) -> None:
    box.say("UserWarning: expandable_segments not supported on this platform")


@fault("wgp-count", lambda box: linux(box) and len(box.cards) == 1, needs=RUNS)
def _wgp(box: Box) -> None:
    box.say(f"multi_processor_count={box.cards[0].units // 2}")


@fault("override-ignored-on-windows", windows, claims="override")
def _override_windows(box: Box) -> None:
    box.environment["HSA_OVERRIDE_GFX_VERSION"] = "11.0.0"


# ------------------------------------------------------------------ last: afterwards there is no card to do anything to


@fault("no-amd-gpu", linux, breaks=DRIVER_DOWN | {CARD}, claims="driver")
def _no_amd_gpu(box: Box) -> None:
    box.cards.clear()
    _down(box)
    box.kfd = box.render = None
