"""The quizzes of lesson 05: a model on the back of an envelope, and what a smaller batch makes smaller."""

from __future__ import annotations

from labkit.learn.quizzes import AllOf, Number, Option, Slip

envelope_memory = Number(
    name="envelope_memory",
    lesson="05",
    question=(
        "A model has 100 million float32 parameters and is trained with AdamW. How many GB (1 GB = a thousand million bytes) do "
        "weights, gradients and optimizer state take together, before any activation?"
    ),
    value=1.6,
    unit="GB",
    relative=0.03,
    slips=(
        Slip(0.4, "that is the weights alone: 100 million times 4 bytes."),
        Slip(0.8, "weights and gradients; AdamW keeps two more numbers for each parameter."),
        Slip(1.2, "one copy is missing: weights, gradients, and two averages for AdamW make four."),
        Slip(0.16, "four copies is right, but of 4 bytes each: multiply by 16, not by 1.6."),
    ),
    why="Four copies of 100 million numbers with 4 bytes each: weights, gradients, and AdamW's two averages.",
    push=("How many copies of the parameters are there?", "4 copies, 4 bytes, 100 million."),
)

halved_batch = AllOf(
    name="halved_batch",
    lesson="05",
    question="You halve the batch. What gets about half as large? Name all.",
    options=(
        Option(
            "the activations",
            "Activations are kept for each example, so half the examples leave half of them.",
            right=True,
        ),
        Option(
            "the gradients", "there is one gradient for each parameter, summed over the batch, however large it is."
        ),
        Option("the optimizer state", "its averages have the shape of the parameters."),
        Option(
            "the gradients that flow back between layers",
            "They have the shape of the activations: one for each example.",
            right=True,
        ),
        Option("the weights", "a model does not shrink because it is shown less."),
    ),
    push=(
        "Which of these has a batch dimension in its shape?",
        "Two of the five have the batch as their first dimension.",
    ),
)

QUIZZES = (envelope_memory, halved_batch)
