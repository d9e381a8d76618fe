"""The quizzes of lesson 10: which dark floor comes first, and the order of the questions from memory."""

from __future__ import annotations

from labkit.learn.quizzes import OneOf, Option, Order

first_dark_floor = OneOf(
    name="first_dark_floor",
    lesson="10",
    question=(
        "The card is on the bus, amdgpu is loaded, /dev/kfd is there, the user is in no group but their own, "
        "HSA_OVERRIDE_GFX_VERSION is set, and torch is a CPU build. Which floor do you mend first?"
    ),
    options=(
        Option("the driver", "amdgpu is loaded and has made its doors: this floor is lit."),
        Option(
            "the environment",
            "the variable is dark too, but it lies one floor higher; nobody can see yet whether it does harm, because "
            "this user cannot open the doors.",
        ),
        Option(
            "the permission",
            "The doors are there and this user may not open them: the lowest dark floor. Whatever is mended above it "
            "cannot be tested before.",
            right=True,
        ),
        Option(
            "PyTorch",
            "a ROCm build will be needed in the end, but it could not reach the card today: somebody would reinstall it "
            "and see no change.",
        ),
    ),
    push=(
        "Go bottom up through the table of seven questions and stop at the first answer that is not good.",
        "Bus: good. Driver: good. Doors: good. And may this user open them?",
    ),
)

ask_order = Order(
    name="ask_order",
    lesson="10",
    question="From memory: put five of the questions in the order in which you ask them.",
    items=(
        "Is a card on the bus?",
        "Is amdgpu loaded?",
        "Are /dev/kfd and /dev/dri there?",
        "May this user open them?",
        "Which build of PyTorch is it?",
    ),
    reasons=(
        "a driver has nothing to drive where no card is on the bus, so ask for the card before the driver.",
        "the driver makes the doors, so ask whether it is loaded before you look for them.",
        "only a door that exists can be opened or refused, so look for the doors before the permission.",
        "a perfect build fails at a closed door, so settle the permission before you look at PyTorch.",
    ),
    push=(
        "Think of the floors of the house: what does each one stand on?",
        "Card, driver, doors, permission, PyTorch.",
    ),
)

QUIZZES = (first_dark_floor, ask_order)
