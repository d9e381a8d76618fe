"""Driver, kernel, firmware and the card itself."""

from __future__ import annotations

import re

from labkit.machine.evidence import Evidence
from labkit.machine.rules import NO_GPU, Match, rule, seen

_LOADED = "lsmod | grep amdgpu; ls -l /dev/kfd"
_DOWN = ("driver-not-loaded", "driver-not-bound", "kernel-too-old-for-gpu", *NO_GPU)


def _not_loaded(e: Evidence) -> str | None:
    """What shows that amdgpu is not loaded, or None."""
    if not e.has_kfd:
        return None
    if (e.rocminfo or {}).get("driver") == "not-loaded":
        return e.quote(r"NOT loaded", "rocminfo", "")
    if e.smi_problem == "driver-not-loaded":
        return e.quote(r"Driver not initialized", "rocm_smi", "")
    if e.modules is not None and "amdgpu" not in e.modules and not e.node("/dev/kfd").exists and not e.is_container:
        return "amdgpu is not among the loaded kernel modules"
    if e.match(r"lsmod \| grep (?:-i )?amdgpu[ \t]*\n(?:\s*\n|[^\n]*\$|\Z)") and not e.node("/dev/kfd").exists:
        return "lsmod lists no amdgpu"
    return None


def _works_anyway(e: Evidence) -> bool:
    return bool(e.node("/dev/kfd").openable) or bool(e.sees_gpu)


@rule(
    "no-amd-gpu",
    explains=(
        *_DOWN,
        "kfd-missing-in-container",
        "wrong-wheel-cpu",
        "wrong-wheel-cuda",
        "kernel-unsupported",
        "gpu-hidden-by-env",
    ),
)
def no_amd_gpu(e: Evidence) -> Match | None:
    if e.is_wsl or e.bus is None or e.bus or e.agents or e.topology_gpus or e.smi_gpus or e.node("/dev/kfd").exists:
        return None
    if e.sees_gpu:  # another vendor's device answers
        return None
    if (e.rocminfo or {}).get("problem") in ("kfd-permission", "kfd-open-refused", "kfd-unsupported-device"):
        return None  # there is a /dev/kfd, so the driver has a GPU
    return Match(
        seen("no AMD display device on the PCI bus", e.quote(r"VGA compatible|3D controller|Display controller", "lspci", ""), e.quote(r"vendor: |product: ", "")),
        (
            "There is no AMD GPU in this machine: the course runs on its CPU.",
            "In a virtual machine the host must hand the card over (PCI passthrough); otherwise run on the host itself.",
        ),
        ("lspci -nn | grep -iE 'vga|display|3d|accelerators'",),
    )  # fmt: skip


@rule("nomodeset", explains=("kfd-missing-in-container", "driver-not-loaded", "driver-not-bound", *NO_GPU))
def nomodeset(e: Evidence) -> Match | None:
    line = e.quote(
        r"(?:BOOT_IMAGE|root=|Command line:|GRUB_CMDLINE\w*=).*\bnomodeset\b|amdgpu\.modeset=0|booted with nomodeset",
        "cmdline", "", "dmesg",
    )  # fmt: skip
    if not line and _not_loaded(e):  # said in words, and not as something that is gone
        line = e.quote(r"^(?!.*(?:\bno|\bnot|n't|without|removed?|deleted?)\W+(?:\w+\W+)?nomodeset).*\bnomodeset\b", "")
    if not line or not e.has_kfd or _works_anyway(e):
        return None
    return Match(
        seen(line, _not_loaded(e)),
        (
            "Remove nomodeset from GRUB_CMDLINE_LINUX and GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub",
            "sudo update-grub (Fedora, RHEL: sudo grub2-mkconfig -o /boot/grub2/grub.cfg), then restart the machine",
        ),
        ("cat /proc/cmdline   # no nomodeset", _LOADED),
    )


@rule(
    "secure-boot",
    explains=("kfd-missing-in-container", "driver-not-loaded", "driver-not-bound", "dkms-mismatch", *NO_GPU),
)
def secure_boot(e: Evidence) -> Match | None:
    line = e.kernel_log.get("secure-boot") or e.quote(
        r"Key was rejected by service|Required key not available|unavailable key is rejected", "", "dmesg"
    )
    if not line or _works_anyway(e):
        return None
    return Match(
        seen(line, e.quote(r"SecureBoot enabled|Secure boot enabled", "", "dmesg", "mokutil")),
        (
            "Enrol the key that signed the module: sudo mokutil --import /var/lib/shim-signed/mok/MOK.der (Ubuntu; Fedora and others: the key of dkms), restart, and confirm in the blue screen",
            "Or use the signed driver of the kernel itself: remove amdgpu-dkms. Or switch Secure Boot off in the firmware.",
        ),
        ("sudo modprobe amdgpu   # no error", _LOADED),
    )


@rule("kernel-unsupported", explains=("kfd-missing-in-container", "dkms-mismatch", "driver-not-loaded", *NO_GPU))
def kernel_unsupported(e: Evidence) -> Match | None:
    line = e.quote(
        r"BUILD_EXCLUSIVE.*(?:does not match|kernel)|Bad return status for module build on kernel|amdgpu.*not supported (?:on|by|for) (?:this )?kernel|"
        r"kernel (?:package |version )?\S+ is not supported|Error! (?:The )?.*amdgpu.* (?:kernel|build)|amdgpu-dkms.*(?:failed|error).*kernel",
        "", "dmesg",
    )  # fmt: skip
    if not line or _works_anyway(e):
        return None
    return Match(
        seen(line, f"running kernel: {e.kernel}" if e.kernel else None),
        (
            "Boot a kernel that the driver package supports (AMD's compatibility matrix lists them),",
            "or remove amdgpu-dkms and use the driver of the kernel itself; PyTorch's wheels need no more than that.",
        ),
        ("dkms status; uname -r", _LOADED),
    )


@rule("dkms-mismatch", explains=("kfd-missing-in-container", "driver-not-loaded", "driver-not-bound", *NO_GPU))
def dkms_mismatch(e: Evidence) -> Match | None:
    log = e.kernel_log.get("dkms-mismatch")
    half = e.quote(r"^i[FUH]\s+amdgpu-dkms", "", "dpkg")
    status = re.findall(r"^\s*(amdgpu/[\w.-]+?)[,:]\s*(\S+?), \S+: (\w+)", e.told("dkms"), re.M)
    added = re.findall(r"(?:^|\s)(amdgpu/[\w.-]+): added", e.told("dkms"), re.M)
    stale = bool(
        (status and e.kernel and all(kernel != e.kernel for _, kernel, state in status if state == "installed"))
        or (added and not status)
    )
    if not (log or half or (stale and _not_loaded(e))) or _works_anyway(e):
        return None
    version = status[0][0] if status else added[0] if added else "amdgpu/<version>"
    return Match(
        seen(
            log,
            f"dkms built {version} for {status[0][1]}; the running kernel is {e.kernel}" if stale and status else None,
            half,
            *(f"{name}: added, not installed" for name in added),
        ),
        (
            f"Build it for the running kernel: sudo apt install linux-headers-$(uname -r) && sudo dkms install {version} -k $(uname -r)",
            "Or boot the kernel that dkms built for, or remove amdgpu-dkms and use the kernel's own driver.",
        ),
        ("dkms status   # lists the kernel of uname -r as installed", _LOADED),
    )


# The first mainline kernel that drives a family. General knowledge of kernel releases, not looked up (2026-11-30).
_FIRST_KERNEL = (("gfx120", (6, 12)), ("gfx115", (6, 11)), ("gfx110", (6, 0)), ("gfx95", (6, 14)), ("gfx94", (6, 5)), ("gfx103", (5, 11)), ("gfx101", (5, 4)))  # fmt: skip


def _kernel(e: Evidence) -> tuple[int, int] | None:
    found = re.match(r"(\d+)\.(\d+)", e.kernel or "")
    return (int(found.group(1)), int(found.group(2))) if found else None


@rule(
    "kernel-too-old-for-gpu",
    explains=("kfd-missing-in-container", "driver-not-loaded", "driver-not-bound", "kfd-unsupported-device", *NO_GPU),
)
def kernel_too_old_for_gpu(e: Evidence) -> Match | None:
    running = _kernel(e)
    if not e.has_kfd or running is None or not e.bus or _works_anyway(e):
        return None
    for device in e.bus:
        gfx = e._on_bus(device)
        first = next((version for prefix, version in _FIRST_KERNEL if gfx and gfx.startswith(prefix)), None)
        if first and running < first and not device["driver"] and (e.bus_says_drivers or _not_loaded(e)):
            return Match(
                seen(
                    f"{device['name']} ({gfx}) came with kernel {first[0]}.{first[1]}; this is {e.kernel}",
                    "no kernel driver is in use for it" if e.bus_says_drivers else _not_loaded(e),
                ),
                (
                    "Install a newer kernel (Ubuntu: sudo apt install linux-generic-hwe-24.04; Fedora: sudo dnf upgrade) or AMD's amdgpu-dkms,",
                    "and the newest linux-firmware, then restart the machine.",
                ),
                ("lspci -nnk | grep -A3 -iE 'vga|display'   # Kernel driver in use: amdgpu", _LOADED),
            )
    return None


@rule(
    "gpu-init-failed",
    explains=("kfd-missing-in-container", "driver-not-bound", "driver-not-loaded", "dgpu-missing", *NO_GPU),
)
def gpu_init_failed(e: Evidence) -> Match | None:
    line = e.kernel_log.get("gpu-init-failed") or e.quote(
        r"Fatal error during GPU init|PSP (?:create ring|load) .*failed", "dmesg", ""
    )
    if not line:
        return None
    code = e.quote(r"amdgpu.*(?:probe|failed) .*error -\d+", "dmesg", "")
    return Match(
        seen(line, code),
        (
            "Error -12 (no room for the card's memory): in the BIOS switch on Above 4G Decoding, a larger MMIO size and Resizable BAR.",
            "Other codes: update linux-firmware, check the card's power cables and seating; the lines before the error say more: sudo dmesg | grep amdgpu",
        ),
        ("sudo dmesg | grep -i 'amdgpu.*initialized'",),
    )


@rule(
    "driver-not-bound",
    explains=("kfd-missing-in-container", "no-gpu-agent", "hip-no-device", "hsa-init-failed", "dgpu-missing"),
)
def driver_not_bound(e: Evidence) -> Match | None:
    if (
        not e.bus
        or not e.bus_says_drivers
        or e.is_container
        or _not_loaded(e)
        or (e.agents and len(e.bus) == len(e.agents))
    ):
        return None
    loaded = (
        (e.rocminfo or {}).get("driver") == "loaded"
        or (e.modules is not None and "amdgpu" in e.modules)
        or bool(e.match(r"^amdgpu\s+\d+"))
    )
    unbound = [device for device in e.bus if device["driver"] != "amdgpu"]
    taken = [device for device in unbound if device["driver"]]
    if (
        not unbound
        or not (loaded or taken)
        or (e.sees_gpu and not taken)
        or (e.agents and not taken and len(unbound) < len(e.bus) and e.sees_gpu)
    ):
        return None
    device = (taken or unbound)[0]
    if e.sees_gpu:
        return None  # a card that is given away on purpose beside one that works
    return Match(
        seen(
            f"{device['name']}: "
            + (f"kernel driver in use is {device['driver']}" if device["driver"] else "no kernel driver in use"),
            e.quote(r"simple-?framebuffer|simpledrm|vfio", "dmesg", "lspci", ""),
        ),
        (
            f"Give the card back to amdgpu: remove it from the {device['driver']} configuration (vfio-pci.ids on the kernel command line, /etc/modprobe.d), then restart."
            if device["driver"]
            else "The amdgpu of this kernel does not take the card: install a kernel or amdgpu-dkms that knows its PCI id, then restart.",
        ),
        ("lspci -nnk | grep -A3 -iE 'vga|display|accelerators'   # Kernel driver in use: amdgpu",),
    )


@rule("driver-not-loaded", explains=("kfd-missing-in-container", *NO_GPU))
def driver_not_loaded(e: Evidence) -> Match | None:
    line = _not_loaded(e)
    if not line or _works_anyway(e):
        return None
    where = "On the host, not in the container: " if e.is_container else ""
    blacklist = e.quote(r"blacklist\s+amdgpu", "", "modprobe")
    steps = [f"{where}sudo modprobe amdgpu"]
    if blacklist:
        file = blacklist.split(":")[0] if ":" in blacklist else "the file in /etc/modprobe.d"
        steps.insert(
            0,
            f"{where}delete the line 'blacklist amdgpu' from {file}, then: sudo update-initramfs -u (Fedora: sudo dracut -f)",
        )
    steps.append("If it does not load or no /dev/kfd appears, the reason is in: sudo dmesg | grep -iE 'amdgpu|kfd'")
    return Match(seen(line, blacklist), tuple(steps), (_LOADED,))


@rule("firmware-too-old", explains=("pcie-atomics-missing", *NO_GPU))
def firmware_too_old(e: Evidence) -> Match | None:
    line = e.kernel_log.get("firmware-too-old")
    if not line:
        return None
    return Match(
        (line,),
        (
            "Update linux-firmware (or amdgpu-dkms-firmware), rebuild the initramfs (sudo update-initramfs -u; Fedora: sudo dracut -f), restart.",
            "The first number is the firmware that is loaded, the second the one that works without PCIe atomics.",
        ),
        ("sudo dmesg | grep 'kfd.*added device'",),
    )


@rule("pcie-atomics-missing", explains=NO_GPU)
def pcie_atomics_missing(e: Evidence) -> Match | None:
    line = e.kernel_log.get("pcie-atomics-missing")
    if not line:
        return None
    return Match(
        (line,),
        (
            "This GPU needs PCIe atomics: put it into a slot that is wired to the processor, not to the chipset, or into a newer platform. Risers and Thunderbolt boxes lose them too.",
        ),
        ("sudo dmesg | grep 'kfd.*added device'",),
    )


@rule("kfd-unsupported-device", explains=("kfd-permission", *NO_GPU))
def kfd_unsupported_device(e: Evidence) -> Match | None:
    line = e.kernel_log.get("kfd-unsupported-device")
    from_open = e.quote(r"Unable to open /dev/kfd read-write: Cannot allocate memory", "rocminfo", "")
    if not line and not from_open:
        return None
    if e.sees_gpu or (e.agents and not from_open):
        return None  # another device was taken and works
    return Match(
        seen(line, from_open, f"kernel {e.kernel}" if e.kernel else None),
        (
            "This kernel's KFD does not take the device. A newer kernel may (for a new card); for cards that AMD never supported in KFD there is no remedy.",
        ),
        ("sudo dmesg | grep 'kfd.*added device'",),
    )


@rule("mes-firmware-hang", explains=())
def mes_firmware_hang(e: Evidence) -> Match | None:
    line = e.kernel_log.get("mes-firmware-hang") or e.quote(
        r"MES failed to respon|MES might be in unrecoverable", "dmesg", ""
    )
    if not line:
        return None
    return Match(
        (line,),
        (
            "Update linux-firmware and the kernel, then restart. If it began with an update, go back to the linux-firmware before it.",
            "Until then keep the display's work off this GPU while it computes.",
        ),
        ("sudo dmesg | grep MES   # no new line after a day's work",),
    )


@rule("memory-access-fault")
def memory_access_fault(e: Evidence) -> Match | None:
    line = e.quote(r"Memory access fault by GPU", "", "rocminfo") or e.kernel_log.get("memory-access-fault")
    if not line:
        return None
    return Match(
        seen(line, e.kernel_log.get("memory-access-fault")),
        (
            "Find the kernel: AMD_SERIALIZE_KERNEL=3 python your_program.py   # the Python line in the trace is then the true one",
            "Check indices and labels on the CPU: an index outside an embedding or a class label beyond the last class does just this. ROCm builds have kernel asserts off.",
        ),
        ("Run one batch with everything on device='cpu': a bad index raises IndexError there.",),
    )


@rule("ras-errors")
def ras_errors(e: Evidence) -> Match | None:
    line = e.kernel_log.get("ras-errors")
    if not line or ("corrected" in line.lower() and "uncorrect" not in line.lower() and " 0 correctable" in line):
        return None
    return Match(
        (line,),
        (
            "Read the RAS counters: sudo amd-smi metric --ecc, take the node out of use and ask the vendor. 'node-N' in a message is the KFD node, not cuda:N.",
        ),
        ("sudo amd-smi bad-pages",),
    )


@rule("gpu-reset")
def gpu_reset(e: Evidence) -> Match | None:
    line = e.kernel_log.get("gpu-reset") or e.quote(r"HW Exception by GPU .*GPU Hang", "")
    if not line:
        return None
    return Match(
        (line,),
        (
            "A reset follows from something: read the lines before the first one: sudo dmesg | grep -B20 'GPU reset begin'",
        ),
        ("sudo dmesg | grep -c 'GPU reset begin'   # does not grow",),
    )


@rule("iommu-page-fault")
def iommu_page_fault(e: Evidence) -> Match | None:
    line = e.kernel_log.get("iommu-page-fault")
    if not line:
        return None
    return Match(
        (line,),
        (
            "See which device the address in the line is (lspci -s <address>). If it is a GPU: add iommu=pt to the kernel command line and restart.",
        ),
        ("sudo dmesg | grep IO_PAGE_FAULT   # no new line",),
    )


@rule("no-gpu-agent", last=True, explains=("hip-no-device",))
def no_gpu_agent(e: Evidence) -> Match | None:
    if (e.rocminfo or {}).get("problem") != "no-gpu-agent" or e.is_wsl:
        return None
    return Match(
        ("rocminfo is complete and lists processors only",),
        ("The reason is in the kernel log: sudo dmesg | grep -iE 'amdgpu|kfd'",),
        ("rocminfo | grep gfx",),
        likely=True,
    )


@rule("hsa-init-failed", last=True, explains=("hip-no-device",))
def hsa_init_failed(e: Evidence) -> Match | None:
    line = e.quote(r"hsa api call failure|Call returned \d{4}|HSA_STATUS_ERROR_OUT_OF_RESOURCES", "rocminfo", "")
    if not line or (e.rocminfo or {}).get("problem") not in ("hsa-init-failed", None) or e.sees_gpu:
        return None
    return Match(
        (line,),
        (
            "Check that /dev/kfd is there and opens, that you are in the render group, and read: sudo dmesg | grep -iE 'amdgpu|kfd'",
        ),
        ("rocminfo",),
        likely=True,
    )


@rule("hip-no-device", last=True)
def hip_no_device(e: Evidence) -> Match | None:
    facts = e.torch_facts
    line = e.quote(r"No HIP GPUs are available|hipErrorNoDevice|no ROCm-capable device is detected", "")
    if facts is not None and facts.build not in ("rocm", None):
        return None
    blind = facts is not None and facts.build == "rocm" and e.sees_gpu is False
    if not line and not blind:
        return None
    if e.sees_gpu or e.platform == "macos":
        return None
    return Match(
        seen(line, f"torch {facts.version} is a ROCm build and sees no device" if blind and facts else None),
        (
            "Let the runtime tell: AMD_LOG_LEVEL=3 python -c 'import torch; torch.cuda.init()'"
            if not e.is_windows
            else "Let the runtime tell: $env:AMD_LOG_LEVEL=3 (AMD_LOG_LEVEL=3), then python -c 'import torch; torch.cuda.init()'",
            "Compare its version with the driver's (cat /sys/module/amdgpu/version, or the kernel's)."
            if e.has_kfd
            else "Compare its version with that of the graphics driver.",
        ),
        ('python -c "import torch; print(torch.cuda.is_available())"',),
        likely=not blind,
    )
