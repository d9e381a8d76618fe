"""Out of memory: full, in pieces, or not the memory at all."""

from __future__ import annotations

import re

from labkit.machine.evidence import Evidence, is_integrated
from labkit.machine.rules import Match, rule, seen, setting

_UNIT = {
    "bytes": 1,
    "b": 1,
    "kib": 2**10,
    "kb": 2**10,
    "mib": 2**20,
    "mb": 2**20,
    "gib": 2**30,
    "gb": 2**30,
    "tib": 2**40,
    "tb": 2**40,
}
_AMOUNT = r"([\d.]+) ?(bytes|[KMGT]i?B)"


class Oom:
    """The numbers of torch's message, in bytes, None where it does not have one. Both wordings, of before and after torch 2.1."""

    def __init__(self, text: str) -> None:
        def amount(*patterns: str) -> float | None:
            for pattern in patterns:
                found = re.search(pattern, text, re.I)
                if found:
                    return float(found.group(1)) * _UNIT[found.group(2).lower()]
            return None

        self.requested = amount(rf"Tried to allocate {_AMOUNT}")
        self.capacity = amount(
            rf"total capacity of {_AMOUNT}", rf"{_AMOUNT} total capacity", rf"\bfree, {_AMOUNT} total"
        )
        self.free = amount(rf"of which {_AMOUNT} is free", rf"{_AMOUNT} free;")
        self.allowed = amount(rf"{_AMOUNT} allowed")
        self.allocated = amount(rf"{_AMOUNT} is allocated by PyTorch", rf"{_AMOUNT} already allocated")
        self.unallocated = amount(rf"{_AMOUNT} is reserved by PyTorch but unallocated")
        reserved = amount(rf"{_AMOUNT} reserved in total by PyTorch")
        if self.unallocated is None and reserved is not None and self.allocated is not None:
            self.unallocated = max(0.0, reserved - self.allocated)


def _message(e: Evidence) -> str | None:
    return e.quote(r"(?:HIP|CUDA) out of memory|OutOfMemoryError", "")


def _ram(e: Evidence) -> float | None:
    """The machine's memory as the person or rocminfo's CPU agents say it, in bytes."""
    said = [
        float(n) * 2**30
        for n in re.findall(
            r"\b(\d{2,4}) ?Gi?B\b(?! is| of which)(?=[^\n]*\b(?:machine|RAM|memory|system|laptop|unified|installed)\b)",
            e.said,
            re.I,
        )
    ]
    said += [
        float(n) * 2**30
        for n in re.findall(
            r"\b(?:machine|RAM|system|laptop|unified memory)\b[^\n.]*?\b(\d{2,4}) ?Gi?B\b", e.said, re.I
        )
    ]
    total = re.search(r"MemTotal:\s*(\d+) kB", e.told("meminfo"))
    if total:
        said.append(float(total.group(1)) * 1024)
    agents = [
        agent["global_memory_bytes"] or 0 for agent in (e.rocminfo or {}).get("agents", ()) if agent["type"] == "cpu"
    ]
    return max([*said, float(sum(agents))]) or None


@rule("apu-memory-limit", explains=("oom-real", "oom-fragmentation"))
def apu_memory_limit(e: Evidence) -> Match | None:
    apu = next((gfx for gfx in e.real_gfx if is_integrated(gfx)), None)
    if apu is None or any(not is_integrated(gfx) for gfx in e.real_gfx) or e.is_wsl:
        return None
    oom = Oom(e.said)
    shown = re.search(
        rf"total_memory\D{{0,30}}{_AMOUNT}|(?:only|shows|sees|offers|reports)\D{{0,20}}{_AMOUNT}", e.said, re.I
    )
    capacity = oom.capacity
    divided = e.match(
        r"total_memory[^\n]*?/ ?(?:2 ?\*\* ?30|1024 ?\*\* ?3|1e9|\(?1 ?<< ?30\)?)\W[^\n\d]*(?:\n\D*)?(\d+(?:\.\d+)?)"
    )
    plain = e.match(r"total_memory\D{0,12}(\d{9,13})\b")
    if capacity is None and (divided or plain):
        shown = divided or plain
        capacity = float(divided.group(1)) * 2**30 if divided else float(plain.group(1)) if plain else None
    if capacity is None and shown:
        number, unit = next((shown.group(i), shown.group(i + 1)) for i in (1, 3) if shown.group(i))
        capacity = float(number) * _UNIT[unit.lower()]
    ram = _ram(e)
    if capacity is None or ram is None or capacity > 0.65 * ram or not (_message(e) or shown):
        return None
    return Match(
        seen(_message(e) or (shown.group() if shown else None), f"{apu} shares the system's memory: {ram / 2**30:.0f} GiB, of which PyTorch is offered {capacity / 2**30:.1f} GiB",
             e.quote(r"^\d{9,12}$|mem_info_(?:vram|gtt)_total", "")),
        (
            "Set the graphics memory (carve-out) in the BIOS: small, when the system may share (GTT), or as large as you need.",
            "Raise the kernel's limit for shared memory: ttm.pages_limit=<bytes/4096> on the kernel command line (older kernels: amdgpu.gttsize=<MiB>), then restart. A newer kernel allows more by default.",
        ),
        ('python -c "import torch; print(torch.cuda.mem_get_info())"',),
    )  # fmt: skip


@rule("oom-not-capacity", explains=("oom-real", "oom-fragmentation"))
def oom_not_capacity(e: Evidence) -> Match | None:
    line = _message(e)
    if not line:
        return None
    oom = Oom(e.said)
    if oom.requested is None or oom.free is None:
        return None
    fraction = oom.allowed is not None or e.match(r"set_per_process_memory_fraction")
    if not fraction and not (oom.free >= 2 * oom.requested and oom.free - oom.requested > 64 * 2**20):
        return None
    if oom.free < oom.requested and not fraction:
        return None
    count = e.quote(r"max_map_count", "", "sysctl")
    steps = (
        ("This process allows itself only a part: remove torch.cuda.set_per_process_memory_fraction(…), or raise it.",)
        if fraction
        else (
            "It is not the capacity. Look for torch.cuda.set_per_process_memory_fraction in the program, and take fewer and larger allocations:",
            setting(e, "PYTORCH_ALLOC_CONF", "expandable_segments:True") + "   # ROCm 7 and newer",
        )
        if e.is_windows
        else (
            "It is not the capacity: the process has too many memory mappings. sudo sysctl -w vm.max_map_count=1048576 (to keep it: a file in /etc/sysctl.d)",
            "PYTORCH_ALLOC_CONF=expandable_segments:True needs fewer mappings (ROCm 7 and newer). If a limit was set in the program: torch.cuda.set_per_process_memory_fraction.",
        )
    )
    check = 'python -c "import torch; print(torch.cuda.mem_get_info())"' if e.is_windows else "sysctl vm.max_map_count"
    return Match(seen(line, count), steps, (check,))


@rule("oom-fragmentation", explains=("oom-real",))
def oom_fragmentation(e: Evidence) -> Match | None:
    line = _message(e)
    oom = Oom(e.said)
    if not line or oom.requested is None or oom.unallocated is None or oom.unallocated < oom.requested / 2:
        return None
    rocm = e.torch_facts.rocm if e.torch_facts else None
    if rocm is not None and rocm[0] < 7:
        steps = (
            "This build is for ROCm below 7 and has no expandable segments: call torch.cuda.empty_cache() between phases (training, evaluation),",
            "and keep shapes fixed: pad to a few lengths, drop_last=True.",
        )
    else:
        steps = (
            f"{setting(e, 'PYTORCH_ALLOC_CONF', 'expandable_segments:True')}   # before Python starts; ROCm 7 and newer",
            "Shapes that change with every batch make the pieces: pad to a few lengths.",
        )
    return Match(
        seen(
            line,
            f"{oom.unallocated / 2**30:.2f} GiB are reserved and unused, {oom.requested / 2**30:.2f} GiB were asked for",
        ),
        steps,
        ('python -c "import torch; print(torch.cuda.memory_summary())"   # inactive split blocks',),
    )


@rule("oom-real")
def oom_real(e: Evidence) -> Match | None:
    line = _message(e)
    if not line:
        return None
    oom = Oom(e.said)
    return Match(
        seen(
            line,
            f"{oom.free / 2**30:.2f} GiB free, {oom.requested / 2**30:.2f} GiB asked for"
            if oom.free is not None and oom.requested is not None
            else None,
        ),
        (
            "Use a smaller batch (and gradient accumulation), bfloat16 or float16 by torch.amp, or checkpointing of activations.",
            "Look for another process on the GPU: amd-smi process (or rocm-smi --showpids).",
        ),
        ('python -c "import torch; print(torch.cuda.mem_get_info())"',),
        likely=oom.free is None,
    )
