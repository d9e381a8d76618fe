"""The four live faults: harmless, and real wherever the machine allows it. Their evidence is what the lesson's cells print."""

from __future__ import annotations

from labkit.catalog.findings import codes
from labkit.learn.exercises.troubleshooting_lab.case import Case, Choice


def _cause(code: str, why_not: str = "") -> Choice:
    return Choice(code, codes()[code].meaning, why_not)


def live_cases() -> tuple[Case, ...]:
    """An emptied variable, a name that is no device, a clock that is read too early, a number that does not fit."""
    return (_hidden(), _no_such_name(), _early_clock(), _too_large())


def _hidden() -> Case:
    return Case(
        "verdict_9",
        "The variable that is set to nothing",
        "Somebody wrote 'export HIP_VISIBLE_DEVICES=' into a start script, to switch an old setting off. Below, the same two lines "
        "run twice in a fresh Python: once without the variable, once with the empty one.",
        "",
        "Between the two runs one thing differs: the variable. Empty is a list of GPUs too: a list without any.",
        (
            _cause("driver-not-loaded", "The driver does not read variables of a program, and it was the same in both runs."),
            _cause("gpu-hidden-by-env"),
            _cause("gpu-reset", "A reset stands in the kernel's log and happens to all programs at once. Here the two runs differ "
                   "by what one of them was told."),
        ),
        (
            Choice("reinstall", "Install torch anew.", "Both runs used the same torch. The variable would be read by the new one too."),
            Choice("restart", "Restart the machine.", "The start script sets the variable again."),
            Choice("set-true", "export HIP_VISIBLE_DEVICES=true", "It takes numbers of devices, separated by commas. A word that "
                   "is no number ends the list, so the list is as empty as before."),
            Choice("unset", "unset HIP_VISIBLE_DEVICES   # and delete the line from the start script"),
        ),
    )  # fmt: skip


def _no_such_name() -> Case:
    return Case(
        "verdict_10",
        "A tensor for 'rocm'",
        "A blog says: on AMD, send your tensors to 'rocm'. It sounds right.",
        "",
        "The message lists the names that PyTorch knows. Which of them is the one for GPUs of AMD (lesson 00, section 5)?",
        (
            _cause("build-without-hip", "The message is about a word, and comes before any GPU is looked for. A build with HIP has "
                   "the same list of words in it."),
            _cause("driver-not-loaded", "PyTorch stopped while it was reading the name. It had not asked the driver for anything yet."),
            _cause("wrong-device-string"),
        ),
        (
            Choice("cuda-name", "Write 'cuda', or take what labkit.device() gives."),
            Choice("hip-name", "Write 'hip'.", "'hip' is on the list, and that is the trap: the name is read, and the first tensor "
                   "fails all the same. PyTorch's manual for ROCm says to use 'cuda'."),
            Choice("install-rocm", "Install ROCm on the system.", "The list of words is part of torch itself. Nothing on the system "
                   "adds a word to it."),
            Choice("try-except", "try: …  except RuntimeError: device = 'cpu'", "Then the program runs on the processor for ever, "
                   "also where a GPU waits, and nobody is told."),
        ),
    )  # fmt: skip


def _early_clock() -> Case:
    return Case(
        "verdict_11",
        "Too fast to be true",
        "A matrix product is timed twice, with two clocks. One result is so good that somebody wants to put it on a slide.",
        "",
        "A launch only puts work into a queue and comes back. One of the two clocks is read at that moment, while the work goes on.",
        (
            Choice("clock-read-too-early", "The clock is read when the work was handed over, not when it was done."),
            Choice("gpu-is-that-fast", "The GPU really is that fast.", "Multiply two 1024 × 1024 matrices: 2 × 1024³ operations. Divide by "
                   "the shorter time: is that a rate that a peak in the catalog allows? And the other clock timed the same work."),
            Choice("no-warm-up", "The first runs were slow, and were counted.", "Both clocks had the same warm-up. And a cold start "
                   "makes a time longer; the suspicious one is short."),
        ),
        (
            Choice("finer-clock", "Use time.perf_counter_ns().", "A finer clock reads the wrong moment more finely."),
            Choice("more-repeats", "Repeat a hundred times and take the median.", "The median of a hundred handings-over is a very exact "
                   "handing-over. (And a full queue makes some of them wait, which mixes two things.)"),
            Choice("sleep", "Add time.sleep(0.1) before the clock is read.", "Then every result is 0.1 s, whatever the work. You need the "
                   "moment at which the work is done."),
            Choice("synchronise", "Wait for the device before each reading: torch.cuda.synchronize(), or labkit.benchmark, which does it."),
        ),
    )  # fmt: skip


def _too_large() -> Case:
    return Case(
        "verdict_12",
        "The loss turns into nan",
        "Since the model was switched to float16 the loss is nan from the first step on. In float32 it trained.",
        "",
        "Look at the largest square before the division: which format can hold it, and what is the largest number of float16?",
        (
            Choice("float16-overflow", "A number is larger than float16 can hold, becomes inf, and inf / inf is nan."),
            Choice("float16-underflow", "Numbers are too small for float16 and become 0.", "Zeros came from nowhere here: the squares are "
                   "large. Underflow would make a loss stand still, without nan."),
            Choice("learning-rate", "The learning rate is too high.",
                   "Not one step was taken: the numbers are from a single forward pass."),
            _cause("numerics-suspect", "The same input gives finite numbers in two other formats, on the same device. A device that "
                   "computes wrongly would not know which format to spare."),
        ),
        (
            Choice("grad-scaler", "Add torch.amp.GradScaler.", "It makes the loss *larger*, to save small gradients. This forward pass "
                   "overflows before it comes into play; it would skip every step."),
            Choice("nan-to-num", "loss = torch.nan_to_num(loss)", "It paints over the alarm. The number that is put in has "
                   "nothing to do with your data, and its gradient teaches nothing."),
            Choice("smaller-learning-rate", "Divide the learning rate by ten.", "The forward pass has no learning rate in it."),
            Choice("wider-format", "Compute this step in float32, or use bfloat16; autocast does the first for many operations."),
        ),
    )  # fmt: skip
