"""The quizzes of lesson 04: what utilisation says, and what a mended bottleneck can gain at most."""

from __future__ import annotations

from labkit.learn.quizzes import Number, OneOf, Option, Slip

full_utilisation = OneOf(
    name="full_utilisation",
    lesson="04",
    question="amd-smi shows a GPU utilisation of 100 % during your training. What do you know now?",
    options=(
        Option("the training uses all that the GPU can do", "a kernel with one busy compute unit counts as busy, too."),
        Option(
            "whenever it looked, some kernel was running",
            "That is all that it counts. How much of the GPU each kernel used, only a profile with FLOPs or counters tells.",
            right=True,
        ),
        Option(
            "the data loader is fast enough",
            "nearly, but a step that is all synchronised tiny kernels can show it, too.",
        ),
        Option(
            "a faster GPU would not help", "on the contrary: a GPU that is always busy is what a faster one would help."
        ),
    ),
    push=(
        "What does a counter see that only asks 'is anything running?'",
        "One small kernel on one compute unit, or a matrix product on all of them: both are 'running'.",
    ),
)

best_gain = Number(
    name="best_gain",
    lesson="04",
    question=(
        "A step takes 20 ms. In it, kernels cover 8 ms, and the GPU waits for the loader during the other 12 ms. If loading "
        "cost nothing at all, how many times as fast would the training be?"
    ),
    value=2.5,
    unit="times",
    relative=0.02,
    slips=(
        Slip(1.5, "12 / 8 compares the waiting with the work. The new step takes 8 ms, the old one took 20."),
        Slip(1.6667, "20 / 12 would be right if the kernels cost nothing. They stay."),
        Slip(0.6, "that is the share that goes away; asked is old time over new time."),
        Slip(0.4, "that is new time over old time; turn it round."),
    ),
    why="The kernels' 8 ms stay, so the step goes from 20 ms to 8 ms at best: 20 / 8.",
    push=("How long is the step when the waiting is gone?", "Old time over new time: 20 ms over 8 ms."),
)

QUIZZES = (full_utilisation, best_gain)
