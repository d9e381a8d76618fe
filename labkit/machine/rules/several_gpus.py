"""Collectives over several GPUs."""

from __future__ import annotations

import re

from labkit.machine.evidence import Evidence
from labkit.machine.rules import Match, rule, seen

_SLOW = (
    r"slow|throughput|went (?:down|up|from)|dropp?ed|drops?\b|doubled|latency|worse|lower|regress|used to|only \d|instead of|dominat|"
    r"\btook\b|\bwas\b|\bwere\b|\bhad\b|before|half|\d ?(?:x|times)\b|poor|bad\b|from \d[\d.]*[^\n]{0,12} to \d|expected|should"
)


def _several(e: Evidence) -> bool:
    counted = max(e.gpu_count or 0, len(e.torch_facts.gcn_arch_names) if e.torch_facts else 0)
    return counted > 1 or bool(
        e.match(
            r"nproc_per_node|\b[2-9]\d? ?x ?(?:AMD |Radeon |Instinct )?(?:RX|PRO|MI|W)[ \d]|\bDDP\b|all[-_ ]?(?:reduce|gather)|reduce[-_ ]?scatter|torchrun|RCCL|NCCL|\d GPUs"
        )
    )


@rule("rccl-iommu", explains=("rccl-crash",))
def rccl_iommu(e: Evidence) -> Match | None:
    line = e.quote(r"Missing ['\"]?iommu=pt", "")
    command_line = e.quote(r"BOOT_IMAGE=|\broot=\S+ ro\b", "cmdline", "")
    inferred = None
    if not line and command_line and "iommu=pt" not in command_line and _several(e):
        inferred = e.quote(r"(?:hang|stuck|no further output|freez)", "")
    if not line and not inferred:
        return None
    return Match(
        seen(line or inferred, command_line if command_line and "iommu=pt" not in command_line else None),
        (
            "Add iommu=pt to GRUB_CMDLINE_LINUX in /etc/default/grub, sudo update-grub, restart. (Inside a KVM guest it is not needed.)",
        ),
        ("cat /proc/cmdline   # has iommu=pt",),
        likely=not line,
    )


@rule("rccl-data-errors")
def rccl_data_errors(e: Evidence) -> Match | None:
    line = e.quote(r"Out of bounds values\s*:\s*[1-9]\d* FAILED|#wrong\D+[1-9]|data corruption", "")
    if not line:
        row = e.match(r"^\s*\d+\s+\d+\s+\w+\s+\w+\s+-?\d+\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+([1-9]\d*)\b")
        line = row.group().strip() if row else None
    if not line:
        return None
    return Match(
        (line,),
        (
            "Do not train on these links: results are wrong. Check iommu=pt on the kernel command line, the links (amd-smi xgmi, amd-smi topology), and the firmware.",
        ),
        ("./build/all_reduce_perf -b 8 -e 1G -f 2 -g 8   # '#wrong' is 0 in every row",),
    )


@rule("rccl-missing-rank")
def rccl_missing_rank(e: Evidence) -> Match | None:
    line = e.quote(r"INCOMPLETE|missing ranks?|ranks? (?:did not|not) respond|\d+ ranks? (?:is|are) missing", "")
    if not line or not e.match(r"\b(?:RCCL|NCCL|RAS|rank)"):
        return None
    return Match(
        (line,),
        (
            "One rank does not answer: look at that rank's process and its node (log, dmesg, is it alive?), then restart the job.",
        ),
        ("The RAS report lists every rank.",),
    )


@rule("rccl-alltoallv-hang")
def rccl_alltoallv_hang(e: Evidence) -> Match | None:
    facts = e.torch_facts
    line = e.quote(r"all_?to_?allv?", "")
    if not line or not e.match(r"hang|stuck|freez|timeout|no (?:further )?output"):
        return None
    if not ((facts and facts.rocm == (5, 7)) or e.match(r"ROCm 5\.7|rocm-?5\.7")):
        return None
    return Match(
        (line, f"ROCm {'.'.join(map(str, facts.rocm))}" if facts and facts.rocm else "ROCm 5.7"),
        ("Upgrade to ROCm 6.0 or newer; until then: export NCCL_MAX_P2P_NCHANNELS=2",),
        ("The collective returns.",),
    )


@rule("rccl-scratch-reclaim", explains=("numa-balancing",))
def rccl_scratch_reclaim(e: Evidence) -> Match | None:
    facts = e.torch_facts
    if "gfx90a" not in e.real_gfx or facts is None or facts.rocm is None or facts.rocm < (7, 13) or facts.rocm[0] > 9:
        return None
    line = e.quote(r"busbw|all[-_ ]?reduce|all[-_ ]?gather|reduce[-_ ]?scatter|collective|RCCL", "")
    if (
        not line
        or not e.match(_SLOW)
        or e.content
        or (e.env or {}).get("HSA_NO_SCRATCH_RECLAIM") == "1"
        or not _several(e)
    ):
        return None
    rates = [float(rate) for rate in re.findall(r"(\d+(?:\.\d+)?) ?GB/s", e.said)]
    if e.match(r"hangs?\b|stuck|FAILED") or (len(rates) > 1 and min(rates) > 0.8 * max(rates)):
        return None
    return Match(
        (line, f"gfx90a with ROCm {'.'.join(map(str, facts.rocm))}"),
        ("export HSA_NO_SCRATCH_RECLAIM=1",),
        ("Run the same all_reduce_perf again and compare busbw.",),
        likely=True,
    )


@rule("rccl-crash")
def rccl_crash(e: Evidence) -> Match | None:
    tool = e.match(
        r"\b\w+_perf\b|rccl-tests|NCCL (?:WARN|ERROR)|ncclUnhandledCudaError|ncclSystemError|ncclInternalError|RCCL error"
    )
    line = e.quote(
        r"\bFATAL\b|signal \d+|exited with (?:code|status) [1-9]|exit(?:ed)? on signal|Segmentation fault|Test (?:NCCL|CUDA|HIP) failure|ncclUnhandledCudaError|ncclSystemError|ncclInternalError",
        "",
    )
    if not tool or not line or e.match(r"Memory access fault"):
        return None
    return Match(
        (line,),
        (
            "Read the first error of the rank that failed first (NCCL_DEBUG=INFO), and at that time in: sudo dmesg | grep -i amdgpu",
        ),
        ("The test ends with '# Avg bus bandwidth'.",),
    )


@rule("numa-balancing")
def numa_balancing(e: Evidence) -> Match | None:
    line = e.quote(
        r"numa_balancing\s*(?:[=:]|is|->|shows?|says|prints|gives|returns)\s*[1-9]|NUMA (?:auto[- ]?)?balancing (?:(?:is|was|still) )*(?:on|enabled|active)\b",
        "",
        "sysctl",
    )
    if not line and e.match(r"numa_balancing[ \t]*\n\s*[1-9]\b"):
        line = "kernel.numa_balancing is not 0"
    if not line or not _several(e):
        return None
    return Match(
        (line,),
        ("sudo sysctl -w kernel.numa_balancing=0   # to keep it: kernel.numa_balancing=0 in a file in /etc/sysctl.d",),
        ("cat /proc/sys/kernel/numa_balancing   # 0",),
    )
