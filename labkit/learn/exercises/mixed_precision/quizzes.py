"""The quizzes of lesson 03: what one byte means in two encodings, and what autocast leaves alone."""

from __future__ import annotations

from labkit.learn.quizzes import AllOf, Number, Option, Slip

read_as_fnuz = Number(
    name="read_as_fnuz",
    lesson="03",
    question=(
        "A file holds FP8 weights in OCP's E4M3 (bias 7). A program reads the same bytes as FNUZ's E4M3 (bias 8). "
        "A weight was 5. What does the program get?"
    ),
    value=2.5,
    unit="",
    relative=0.01,
    slips=(
        Slip(5.0, "the bits are the same, but the exponent is counted from another bias."),
        Slip(10.0, "the wrong direction: value = fraction times 2 to (exponent minus bias), and the bias got larger."),
        Slip(
            4.0,
            "the bias is not subtracted from the value: it sits in the exponent, so one more of it is a factor of two.",
        ),
    ),
    why="The stored exponent is the same, the bias one larger: every number is half of what it was. No error is raised.",
    push=(
        "value = fraction times 2 to (exponent minus bias). What happens when the bias grows by one?",
        "A factor of two.",
    ),
)

stays_float32 = AllOf(
    name="stays_float32",
    lesson="03",
    question="Training with autocast in bfloat16. What stays in float32? Name all.",
    options=(
        Option(
            "the weights",
            "Autocast makes small copies for the matrix products; the weights themselves stay.",
            right=True,
        ),
        Option("the output of a Linear layer", "a matrix product under autocast gives its result in bfloat16."),
        Option("the gradients of the weights", "They have the format of the weights.", right=True),
        Option("the gradients that flow back through a Linear layer", "they have the format of its output: bfloat16."),
        Option("Adam's averages", "They are made from the weights' gradients, in float32.", right=True),
    ),
    push=(
        "Three of them belong to the optimizer's step, two to the way through the network.",
        "What belongs to a parameter stays; what flows through a matrix product is small.",
    ),
)

QUIZZES = (read_as_fnuz, stays_float32)
