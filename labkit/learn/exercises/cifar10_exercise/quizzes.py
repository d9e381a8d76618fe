"""The quizzes of lesson 02: what eval mode changes, and what a faster GPU gains behind a slow loader."""

from __future__ import annotations

from labkit.learn.quizzes import AllOf, Number, Option, Slip

eval_mode = AllOf(
    name="eval_mode",
    lesson="02",
    question="You call model.eval(). What changes from then on? Name all.",
    options=(
        Option("dropout lets every number through", "In use nothing is dropped at random.", right=True),
        Option(
            "no gradients are computed any more",
            "eval() does not touch autograd. That is what torch.no_grad() is for; measuring wants both.",
        ),
        Option(
            "batch norm uses its running mean and variance",
            "It no longer looks at the batch, so a picture's scores do not depend on its neighbours.",
            right=True,
        ),
        Option(
            "the weights are frozen", "an optimizer's step would still change them; freezing is requires_grad=False."
        ),
        Option(
            "batch norm's running values stay as they are",
            "They are only updated in training mode, so measuring leaves no trace in the model.",
            right=True,
        ),
    ),
    push=(
        "Look at the output of the cell above: which of the two layers gave something else in use, and did it learn from it?",
        "Three are right. The two wrong ones are what no_grad() and requires_grad=False are for.",
    ),
)

faster_gpu = Number(
    name="faster_gpu",
    lesson="02",
    question=(
        "A loader prepares batches in a worker while the GPU trains on the one before. It needs 30 ms for a batch, the GPU 10 ms. "
        "You buy a GPU that is twice as fast. How many ms does one step take then?"
    ),
    value=30.0,
    unit="ms",
    relative=0.02,
    slips=(
        Slip(5.0, "that is how long the GPU works. It is done early, and then waits for the next batch."),
        Slip(15.0, "only the GPU became faster; the loader still needs its 30 ms."),
        Slip(20.0, "that would be half of 40 ms. But the two run side by side, and only the GPU became faster."),
        Slip(35.0, "that would be one after the other. Here the loader works while the GPU does."),
        Slip(40.0, "that would be one after the other, and with the old GPU."),
    ),
    why=(
        "Side by side the slower of the two sets the pace: 30 ms before, 30 ms after. The new GPU only waits longer, 25 ms of "
        "every step. Two workers, or a cheaper loader, would help."
    ),
    push=(
        "Two things run side by side. Which of them is done last?",
        "The GPU waits for the loader, before and after.",
    ),
)

QUIZZES = (eval_mode, faster_gpu)
