"""Messages as people posted them, and what each is about."""

from __future__ import annotations

import pytest

from labkit.errors import LabkitError
from labkit.memory import REPORTS, read_message

CAUSES = {
    "ROCm/TheRock#1054": "too-much",
    "pytorch/pytorch#138002": "fragmentation",
    "ROCm/TheRock#2396": "others",
    "pytorch/pytorch#175431": "not-capacity",
    "ROCm/TheRock#2118": "limit",
}
MESSAGES = {  # where it was posted -> (message, cause)
    **{source: (REPORTS[source], cause) for source, cause in CAUSES.items()},
    "the wording before torch 2.1": (
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 256.00 MiB (GPU 0; 8.00 GiB total capacity; 7.31 GiB "
        "already allocated; 90.00 MiB free; 7.36 GiB reserved in total by PyTorch)",
        "too-much",
    ),
    "made up: a little more is free than was asked for": (
        "HIP out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 20.00 GiB of which 6.00 GiB is free. "
        "Of the allocated memory 13.00 GiB is allocated by PyTorch, and 0.50 GiB is reserved by PyTorch but unallocated.",
        "too-much",
    ),
    "nothing but the name": ("RuntimeError: CUDA out of memory.", "unknown"),
}


@pytest.mark.parametrize(("text", "cause"), MESSAGES.values(), ids=MESSAGES)
def test_the_cause_is_named(text: str, cause: str) -> None:
    found = read_message(f"Traceback (most recent call last):\n  File …\n{text}\n")
    assert found.cause == cause and found.advice in str(found)


def test_every_report_is_looked_at() -> None:
    assert set(REPORTS) == set(CAUSES)


def test_every_number_is_read() -> None:
    found = read_message(REPORTS["pytorch/pytorch#138002"])
    gib = 2**30
    assert (found.platform, found.gpu) == ("HIP", 0)
    assert found.requested == round(6.64 * gib) and found.unallocated == round(7.10 * gib)
    assert found.reserved == pytest.approx(12.44 * gib, rel=1e-6)
    assert found.elsewhere == pytest.approx(1.26 * gib, rel=1e-6)
    old = read_message(MESSAGES["the wording before torch 2.1"][0])
    assert old.platform == "CUDA" and old.unallocated == pytest.approx(0.05 * gib, rel=1e-6)
    assert read_message(MESSAGES["nothing but the name"][0]).elsewhere is None


def test_another_text_is_turned_down() -> None:
    with pytest.raises(LabkitError, match="no message"):
        read_message("Memory access fault by GPU node-1")
