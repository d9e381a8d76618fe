"""The two quizzes of lesson 01."""

from __future__ import annotations

from labkit.learn.quizzes.kinds import AllOf, OneOf, Option

forgotten_line = OneOf(
    name="forgotten_line",
    lesson="01",
    question="Someone forgets `optimizer.zero_grad()`. What happens in the second step?",
    push=("What does `backward` do with the numbers that are in `.grad` already?",),
    options=(
        Option("PyTorch stops with an error.", "It does not: adding up gradients is a feature, and nobody warns you."),
        Option(
            "Nothing changes: `backward` overwrites the old gradient.",
            "It does not overwrite, it adds to what is there.",
        ),
        Option(
            "The weights move along the sum of both batches' gradients.",
            "`backward` adds to `.grad`. The older the gradient, the less it has to do with the weights of today.",
            right=True,
        ),
        Option("The weights stay where they are.", "They move; only the direction is not that of this batch."),
    ),
)

who_waits = AllOf(
    name="who_waits",
    lesson="01",
    question="A GPU works through its queue. Which of these lines make Python wait until that queue is empty?",
    push=("Which of them cannot go on without knowing the number?", "A decision needs the number, and so does text."),
    options=(
        Option(
            "`total += loss.item()`", "item() gives back a Python number, so the number has to be known.", right=True
        ),
        Option("`losses.append(loss.detach())`", "A tensor may be kept without anybody knowing yet what is in it."),
        Option('`print(f"{loss:.3f}")`', "Text needs the digits.", right=True),
        Option(
            "`if loss > 10: break`",
            "A decision needs the number: `if` turns the tensor into True or False.",
            right=True,
        ),
        Option("`loss.backward()`", "It puts further work into the queue and comes back."),
    ),
)
