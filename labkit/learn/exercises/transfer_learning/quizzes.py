"""The quizzes of lesson 06: what moves in a frozen model, and what a rate needs beside it."""

from __future__ import annotations

from labkit.learn.quizzes import AllOf, OneOf, Option

frozen_moves = OneOf(
    name="frozen_moves",
    lesson="06",
    question=(
        "All parameters of the body have `requires_grad = False`. You call `model.train()` and make one forward pass, "
        "no `backward()`. What changes?"
    ),
    options=(
        Option(
            "nothing: without backward() and step() a model cannot change",
            "that holds for parameters; batch norm also has buffers, and in train mode the forward pass writes them.",
        ),
        Option(
            "the running means and variances of batch norm",
            "In train mode each forward pass mixes the batch's mean and variance into them; requires_grad has no say.",
            right=True,
        ),
        Option(
            "the scales and shifts of batch norm",
            "those are parameters: only an optimizer's step changes them, and they are frozen.",
        ),
        Option("the weights of the head", "they need backward() and a step; a forward pass only reads them."),
    ),
    push=(
        "`requires_grad` speaks to the optimizer. Is there a number in the model that is no parameter?",
        "Compare `model.named_buffers()` before and after.",
    ),
)

comparable_rate = AllOf(
    name="comparable_rate",
    lesson="06",
    question="'ResNet-50: 800 images per second.' What must stand beside it before you can compare your card with it? Name all.",
    options=(
        Option("precision", "With half the bytes and the matrix units another rate is normal.", right=True),
        Option("batch size", "A small batch leaves a large card idle, a large one does not.", right=True),
        Option("resolution", "A convolution's work grows with the area of the picture.", right=True),
        Option("training or inference", "Backward costs about twice the forward pass, on top of it.", right=True),
        Option("the accuracy that was reached", "it matters, but the same steps take the same time with any weights."),
        Option("the names of the classes", "no operation looks at them; only their number sizes the last layer."),
    ),
    push=(
        "Which of these change the work of a step, or how well it fills the card?",
        "Four of the six.",
    ),
)

QUIZZES = (frozen_moves, comparable_rate)
