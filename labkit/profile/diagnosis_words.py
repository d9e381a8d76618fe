"""What a diagnosis says: sentences and advice per cause, and what a profile lacks."""

from __future__ import annotations

import polars as pl

from labkit.profile.table import Profile

SENTENCES = {
    "loader": "{share} the GPU waits for the host: data loading.",
    "launch-bound": "{share} the GPU waits for the host: launching the kernels takes longer than running them.",
    "synchronising": "{share} the GPU waits for the host, which has just waited for the GPU: too many synchronisations.",
    "copies": "{share} the GPU waits for copies between host and device.",
    "communication": "{share} the GPU does nothing but exchange data with other GPUs, or wait for them.",
}
INSIDE = "{share} the GPU copies or fills its own memory, and no kernel runs."  # copies that do not come from the host
QUEUED = (
    "{share} no kernel runs although the next one is already launched: they depend on one another, or are very short."
)
ONE_KERNEL = (
    "{name} takes {share:.0%} of the kernels' time. This table has no time stamps, so it cannot say how busy the GPU was, "
    "or what it waited for."
)
COUNTED = (
    "{name} takes {share:.0%} of the kernels' time. While counters are collected the kernels run one by one, so this profile "
    "cannot say how busy the GPU was."
)
ONLY_COUNTS = "The profile counts kernels, but not when they ran: it cannot say how busy the GPU was."
LONE = "A single kernel ({took}) is in this profile: nothing is known of what the GPU did before and after it."
SINGLE_PAUSE = "A single pause of {pause} is {share} of all idle time. {rest}"
STILL_IDLE = "Of the rest: computing {computing}, communication {communication}, no kernel {idle}."
BEFORE_OR_AFTER = "Copies take {took} before the first kernel and after the last: not counted here, but waited for."
TOO_FEW = "Only {count} kernels in {span}: a few steps of a training would say more."
SLOWED = (
    "This trace notes Python's functions (with_stack=True), which slows the host down: the gaps look longer than they are. "
    "Record again without it before you believe in them."
)
MIXED = "Files of different runs have no time in common: name the files of one run only."
NO_KERNEL = "No kernel is in this profile, so it says nothing about the GPU."
NO_GPU = "No GPU is in this profile."
ON_THE_CPU = "No GPU is in this profile; on the CPU {name} takes {share:.0%} of the operators' own time."
OPERATING = "Operators run in {share} of the steps' time; the rest is Python, and whatever no operator names."
READING = "Numbers read from tensors per step (.item(), float(t), print): {count}. Of a tensor on a GPU, each waits for all work before it."
CANNOT_KNOW = "{share} no kernel runs. Why cannot be known from this profile: it holds {lacking}."

ADVICE = {
    "loader": (
        "Prepare batches in other processes: DataLoader(..., num_workers=4, persistent_workers=True, pin_memory=True).",
        "Do less per sample: transform whole batches, decode once and keep the result, or keep a small data set on the GPU.",
    ),
    "launch-bound": (
        "Give each launch more work: a larger batch.",
        "Launch less: torch.compile(model), mode='reduce-overhead' (graphs), optimisers with fused=True or foreach=True.",
    ),
    "synchronising": (
        "Read numbers from the GPU rarely: .item(), .cpu(), print(loss) and `if loss > x` each wait for everything before them.",
        "Add the loss up on the GPU (total += loss.detach()) and read it every hundredth step.",
    ),
    "copies": (
        "Copy from pinned memory and do not wait for it: pin_memory=True in the DataLoader, .to(device, non_blocking=True).",
        "Send less: uint8 pictures, normalised on the GPU; or keep the data on the GPU.",
    ),
    "communication": (
        "Let gradients travel during the backward pass: DistributedDataParallel with its buckets, gradient_as_bucket_view=True.",
        "Send less or more rarely: no_sync() with gradient accumulation, bf16 gradients; and measure the links (rccl-tests).",
    ),
    "none": ("Look at the largest kernels next, and how far they are from the roofline.",),
    "host": ("Put markers (torch.profiler.record_function, roctx) around the parts of the loop, and record again.",),
    "counted": (
        "Ask the roofline of this profile; for idle time record a second one without counters (rocprofv3 --runtime-trace).",
    ),
    "no kernel": (
        "Name all files of the run, or its folder; if none of them has kernels, record them: rocprofv3 --runtime-trace.",
    ),
    "no times": ("Record a trace instead of statistics: rocprofv3 --runtime-trace, or torch.profiler.",),
    "loading code": (
        "Let a few steps of warm-up run first and record only those after it: the code is loaded at a kernel's first launch.",
    ),
    "unknown": (
        "Record the host, too: rocprofv3 --runtime-trace --marker-trace, or torch.profiler with its CPU activity.",
        "Mark the steps and the loading of batches (torch.profiler.record_function, roctx), so that the gaps have names.",
    ),
}


def of_time(share: float) -> str:
    """For example '62 % of the time'."""
    number = f"{100 * share:.0f}" if share >= 0.095 else f"{100 * share:.1f}"
    return f"{number} % of the time"


def missing(p: Profile) -> tuple[str, ...]:
    """What a profile lacks for telling the cause of idle time, in words that follow 'it holds'."""
    kinds = set(p.events.select(pl.col("kind").cast(pl.String).unique())["kind"].to_list())
    lacking = []
    if "api" not in kinds:
        lacking.append("no API calls")
    if not kinds & {"marker", "operator", "python"}:
        lacking.append("no markers")
    if "copy" not in kinds:
        lacking.append("no copies")
    return tuple(lacking)


def percent(share: float) -> str:
    """For example '62 %'."""
    return of_time(share).removesuffix(" of the time")


def called(category: str) -> str:
    """A category of kernels in a sentence."""
    words = {"gemm": "matrix products", "copy": "kernels that only move data", "other": "kernels of no known category"}
    return words.get(category, f"{category} kernels")


def listed(words: tuple[str, ...]) -> str:
    """For example 'a, b and c'."""
    return " and ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words)
