"""The quizzes of lesson 08: batch and rate, a test of one GPU, memory per rank, and who is missing."""

from __future__ import annotations

from labkit.learn.quizzes import Number, OneOf, Option, Slip

rate_for_eight = Number(
    name="rate_for_eight",
    lesson="08",
    question=(
        "One process trains well with batch 64 and learning rate 0.02. You go to 8 processes with 64 examples each, and "
        "accumulate 2 micro-batches per step. By the linear rule (rate in proportion to the global batch), which rate do you "
        "try first?"
    ),
    value=0.32,
    relative=0.01,
    slips=(
        Slip(0.16, "the 8 processes are in it, the 2 micro-batches are not: a step sees 8 · 2 · 64 examples."),
        Slip(0.04, "the 2 micro-batches are in it, the 8 processes are not: their examples count in the same step."),
        Slip(0.08, "that is the square-root rule, 0.02 · √16. It is another rule of thumb, often used with Adam."),
        Slip(0.02, "nothing has changed then: 16 times fewer steps per epoch, each as short as before."),
        Slip(0.00125, "divided instead of multiplied: a larger batch has a steadier gradient, so the step may grow."),
    ),
    why="A step sees 8 · 2 · 64 = 1,024 examples, 16 times 64. 16 · 0.02 = 0.32. A rule of thumb: warm up, and look.",
    push=("How many examples does one optimizer step see?", "1,024 in place of 64."),
)

one_gpu_tested = OneOf(
    name="one_gpu_tested",
    lesson="08",
    question=(
        "On a machine with 8 GPUs, `all_reduce_perf -b 8 -e 1G -f 2` says nGpus 1, a huge algbw, and busbw 0.00 in every row. "
        "What was measured?"
    ),
    options=(
        Option(
            "a copy within one GPU: no link was used",
            "Without -g 8 the test uses one GPU, and 2·(1 - 1)/1 is 0: nothing travels. Add -g 8.",
            right=True,
        ),
        Option(
            "broken links: busbw 0.00 means that nothing arrives",
            "then #wrong would not be 0, or the test would hang. The factor 2·(n - 1)/n itself is 0 for n = 1.",
        ),
        Option(
            "all 8 GPUs, at a size that is too small for a bandwidth",
            "sizes up to 1 GB are large enough; the heading says how many GPUs took part.",
        ),
        Option(
            "the speed of the links, but busbw needs one process per GPU",
            "one process with -g 8 gives a busbw too; here a single GPU took part.",
        ),
    ),
    push=("Put n = 1 into the formula of busbw.", "What does `nGpus 1` say?"),
)

memory_per_rank = Number(
    name="memory_per_rank",
    lesson="08",
    question=(
        "A model of 1,000 million float32 parameters is trained with AdamW on 8 ranks under FSDP2, everything sharded. How "
        "many GB (thousand million bytes) of weights, gradients and optimizer state does one rank keep between two steps?"
    ),
    value=2.0,
    unit="GB",
    relative=0.02,
    slips=(
        Slip(16.0, "that is DDP: each rank keeps all four copies."),
        Slip(0.5, "the weights alone; gradients and Adam's two averages are sharded in the same way."),
        Slip(5.5, "the weights are sharded too, not only gradients and state (that would be ZeRO's stage 2)."),
        Slip(10.0, "weights and gradients are sharded too, not only the state (that would be ZeRO's stage 1)."),
        Slip(1.0, "two copies of the four: weights and gradients. Adam keeps two more."),
    ),
    why="Four copies of 4 bytes are 16 GB for 1,000 million parameters; an eighth of that is 2 GB.",
    push=("First without sharding: four copies, 4 bytes each.", "16 GB over 8 ranks."),
)

silent_rank = OneOf(
    name="silent_rank",
    lesson="08",
    question=(
        "A job of four ranks stops with 'collective operation timeout', printed by rank 0. The flight recorder says: rank 0 "
        "all_reduce 7 started, rank 1 all_reduce 7 started, rank 2 all_reduce 6 completed, rank 3 all_reduce 7 started. Where "
        "do you look?"
    ),
    options=(
        Option(
            "rank 0: it printed the error",
            "rank 0 waited, like 1 and 3, and lost patience first. Who complains is where others did not come.",
        ),
        Option(
            "rank 2: it never came to the 7th all_reduce",
            "Three wait in number 7, one never started it. What did rank 2 do after number 6?",
            right=True,
        ),
        Option(
            "the network: a time-out means that data got lost",
            "then the 7th would be started everywhere. Here one rank has not even begun it.",
        ),
        Option(
            "the time limit: it was too short for this collective",
            "a longer limit makes the wait longer: rank 2 still does not come. (If it was only slow, find out what at.)",
        ),
    ),
    push=("Which rank is not where the others are?", "Compare the numbers: 7, 7, 6, 7."),
)

QUIZZES = (rate_for_eight, one_gpu_tested, memory_per_rank, silent_rank)
