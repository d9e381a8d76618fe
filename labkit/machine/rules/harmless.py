"""Worth knowing, nothing to do. These never take the 'ok' away."""

from __future__ import annotations

import re

from labkit.machine.evidence import Evidence
from labkit.machine.rules import Match, rule, seen


@rule("override-ignored-on-windows")
def override_ignored_on_windows(e: Evidence) -> Match | None:
    if not e.is_windows or e.override is None:
        return None
    return Match(
        (
            f"HSA_OVERRIDE_GFX_VERSION={(e.env or {}).get('HSA_OVERRIDE_GFX_VERSION', '')} is set on Windows, where nothing reads it",
        ),
        (
            "Remove the variable: HSA_OVERRIDE_GFX_VERSION has no effect on Windows. What decides there is a wheel for the GPU's own gfx target.",
        ),
    )


_ASKED = re.compile(r"(?:HIP|ROCR|CUDA)_VISIBLE_DEVICES=(\d+)\b|\bcuda:(\d+)\b")
_BUSY = re.compile(r"\bGPU ?\[?(\d+)\b")


def _names_differ(line: str) -> bool:
    """Whether a line sets numbers of torch against other numbers of a GPU, as rocm-smi and amd-smi give them."""
    asked = {int(first or second) for first, second in _ASKED.findall(line)}
    busy = {int(number) for number in _BUSY.findall(line)}
    return bool(asked and busy and asked != busy)


@rule("device-index-order")
def device_index_order(e: Evidence) -> Match | None:
    line = None
    if not e.content:
        line = e.quote(
            r"(?:amd|rocm)-smi.*(?:number|order|index)\w*.*differ|(?:number|order|index)\w*.*(?:not match|differ|mismatch).*(?:amd|rocm)-smi|"
            r"(?:VISIBLE_DEVICES|cuda:\d).*(?:other|another|wrong|different) (?:card|GPU).*(?:\bhot|heat|warm|100 ?%|active|memory|fills?|fan)|"
            r"(?:other|another|wrong|different) (?:card|GPU).*(?:busy|load)",
            "",
        ) or next((one for one in e.said.split("\n") if _names_differ(one)), None)
    if not line:
        return None
    return Match(
        (line.strip()[:300],),
        (
            "Match the devices by PCI address: rocm-smi --showbus (or amd-smi list) against torch.cuda.get_device_properties(i).pci_bus_id.",
        ),
    )


@rule("hipblaslt-unsupported-arch")
def hipblaslt_unsupported_arch(e: Evidence) -> Match | None:
    line = e.quote(r"Attempting to use hipBLASLt on an? unsupported architecture", "")
    if not line:
        return None
    return Match(
        (line,), ("Nothing to do: torch falls back to hipBLAS. TORCH_BLAS_PREFER_HIPBLASLT=0 silences the line.",)
    )


@rule("rocshmem-libnuma-warning")
def rocshmem_libnuma_warning(e: Evidence) -> Match | None:
    line = e.quote(r"rocSHMEM Could not open lib(?:numa|ibverbs)", "")
    if not line:
        return None
    return Match((line,), ("Nothing to do. Installing libnuma (and libibverbs) removes the line.",))


@rule("smi-group-warning")
def smi_group_warning(e: Evidence) -> Match | None:
    line = e.quote(r"User is missing the following required groups", "amd_smi", "rocm_smi", "")
    if not line or e.node("/dev/kfd").openable is False:
        return None
    return Match((line,), ("Nothing for PyTorch: the devices open. Join the groups to use amd-smi.",))


@rule("smi-no-data")
def smi_no_data(e: Evidence) -> Match | None:
    line = e.quote(r"No JSON data to report", "rocm_smi", "")
    if not line:
        return None
    return Match((line,), ("Ask for another section, or without --json.",))


@rule("rocminfo-builtin-false-alarm")
def rocminfo_builtin_false_alarm(e: Evidence) -> Match | None:
    line = e.quote(r"NOT loaded", "rocminfo", "")
    if not line or e.is_wsl or not (e.sees_gpu or e.topology_gpus or e.node("/dev/kfd").openable):
        return None
    return Match(
        seen(
            line,
            "all the same /dev/kfd opens" if e.node("/dev/kfd").openable else None,
            "torch sees the GPU" if e.sees_gpu else None,
        ),
        (
            "Nothing to do: amdgpu is built into this kernel, and this rocminfo looks for a module. A newer rocminfo does not say it.",
        ),
    )


@rule("libdrm-ids-warning")
def libdrm_ids_warning(e: Evidence) -> Match | None:
    line = e.quote(r"amdgpu\.ids: No such file", "rocminfo", "rocm_smi", "")
    if not line:
        return None
    return Match(
        (line,),
        ("Nothing to do: libdrm's table of names is missing, so the card may be called 'AMD Radeon Graphics'.",),
    )


@rule("amdsmi-init-warning")
def amdsmi_init_warning(e: Evidence) -> Match | None:
    line = e.quote(r"Can't initialize amdsmi", "")
    if not line:
        return None
    return Match((line,), ("Nothing for training: torch uses amdsmi for statistics only.",))


@rule("miopen-workspace-warning")
def miopen_workspace_warning(e: Evidence) -> Match | None:
    line = e.quote(r"IsEnoughWorkspace", "")
    if not line:
        return None
    return Match((line,), ("Nothing to do while the speed is normal: MIOpen took another solver.",))


@rule("expandable-segments-unsupported")
def expandable_segments_unsupported(e: Evidence) -> Match | None:
    line = e.quote(r"expandable_segments not supported on this platform", "")
    if not line:
        return None
    return Match(
        (line,), ("Drop expandable_segments from the allocator's variable, or use a build for ROCm 7 or newer.",)
    )


@rule("wgp-count")
def wgp_count(e: Evidence) -> Match | None:
    said = e.match(r"multi_processor_count\D{0,12}(\d+)")
    if not said:
        return None
    half = int(said.group(1))
    for agent in e.agents:
        if agent["compute_units"] == 2 * half and re.match(r"gfx1\d", agent["gfx"] or ""):
            return Match(
                (f"torch counts {half}, rocminfo {agent['compute_units']}",),
                ("Nothing to do: on RDNA torch counts work group processors, which hold two compute units each.",),
            )
    return None
