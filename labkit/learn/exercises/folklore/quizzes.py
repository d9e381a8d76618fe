"""The quizzes of lesson 11: from evidence to a verdict, what counts as evidence, and in which order one looks."""

from __future__ import annotations

from labkit.learn.quizzes import AllOf, OneOf, Option, Order

from_evidence = OneOf(
    name="from_evidence",
    lesson="11",
    question=(
        'A guide says: "set OPTION=1, it makes training 20 % faster". You run each way ten times. With the option a step takes '
        "0.97 to 1.04 times as long as without (95 % interval), for your model on your card. The guide names neither model nor "
        "card. What is your verdict on the guide's claim?"
    ),
    options=(
        Option("true", "20 % faster would be a ratio of about 0.83, and your interval does not reach it."),
        Option("outdated", "nothing that you saw is about age: no warning, no successor, no release note."),
        Option(
            "wrong",
            "it is wrong for your model and card, and there may be others for which it holds: the claim does not say which it means.",
        ),
        Option(
            "unverifiable as it stands; it does not hold for this model and card",
            "The claim names no conditions, so it cannot be settled as a whole; for your own conditions you know the answer, and the "
            "interval with it.",
            right=True,
        ),
    ),
    push=(
        "For which model and which card does the guide say it?",
        "Two sentences: one about the claim as written, one about your own machine.",
    ),
)

counts_as_evidence = AllOf(
    name="counts_as_evidence",
    lesson="11",
    question='What would count as evidence for "tool X has the option --monitor"? Name all.',
    options=(
        Option("X --help lists it", "The program that is installed here says so itself, with its version.", right=True),
        Option("three guides show it", "guides copy from one another: three copies are one source."),
        Option(
            "the source of the argument parser, at a named commit",
            "That is where an option comes into being; the commit says for which version.",
            right=True,
        ),
        Option(
            "X --monitor ends with status 0",
            "an exit status alone says little: claim 1.22 ends with 0 and does nothing.",
        ),
        Option("a language model says so", "it repeats what is written often, which is how folklore begins."),
    ),
    push=(
        "Which of these would look different if the option did not exist?",
        "Two of them come from the program itself.",
    ),
)

how_to_find_out = Order(
    name="how_to_find_out",
    lesson="11",
    question="You meet a claim. Put the steps in order.",
    items=(
        "write it down so that it can be wrong: what, where, under which conditions",
        "look for the source: the maker's page or the code, with version and day",
        "write a probe, and a second subject on which it has to see something else",
        "run it here, several times if it is a time",
        "write the verdict with evidence, version and day",
    ),
    reasons=(
        "A sentence that cannot be wrong needs no source.",
        "The source often settles it without running anything, and tells what to run.",
        "A probe that has never seen the other answer proves nothing, so that is settled before its answer counts.",
        "A verdict without what was seen is another claim.",
    ),
    push=(
        "The verdict is last. What can be done before anything runs?",
        "Write down, source, probe, run, verdict.",
    ),
)

QUIZZES = (from_evidence, counts_as_evidence, how_to_find_out)
