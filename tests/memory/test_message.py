"""Messages as people posted them, and what each is about."""

from __future__ import annotations

import pytest

from labkit.errors import LabkitError
from labkit.memory import read_message

MESSAGES = {  # where it was posted -> (message, cause)
    "ROCm/TheRock 1054": (
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 16.00 GiB. GPU 0 has a total capacity of 15.24 GiB of "
        "which 15.09 GiB is free. Of the allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is reserved by PyTorch "
        "but unallocated. If reserved but unallocated memory is large try setting PYTORCH_HIP_ALLOC_CONF=",
        "too-much",
    ),
    "pytorch/pytorch 138002": (
        "HIP out of memory. Tried to allocate 6.64 GiB. GPU 0 has a total capacity of 19.92 GiB of which 6.22 GiB is free. Of "
        "the allocated memory 5.34 GiB is allocated by PyTorch, and 7.10 GiB is reserved by PyTorch but unallocated.",
        "fragmentation",
    ),
    "pytorch/pytorch 175431": (
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 7 has a total capacity of 287.98 GiB of "
        "which 203.49 GiB is free. Of the allocated memory 68.63 GiB is allocated by PyTorch, and 14.93 GiB is reserved by "
        "PyTorch but unallocated.",
        "not-capacity",
    ),
    "ROCm/TheRock 2118": (
        "HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 255.98 GiB of which 244.65 GiB is free. "
        "1.05 GiB allowed; Of the allocated memory 1017.01 MiB is allocated by PyTorch, with 17.00 MiB allocated in private "
        "pools (e.g., HIP Graphs), and 54.99 MiB is reserved by PyTorch but unallocated.",
        "limit",
    ),
    "ROCm/TheRock 2396": (
        "HIP out of memory. Tried to allocate 76.00 MiB. GPU 0 has a total capacity of 287.98 GiB of which 0 bytes is free. Of "
        "the allocated memory 8.51 GiB is allocated by PyTorch, and 1.99 MiB is reserved by PyTorch but unallocated.",
        "others",
    ),
    "the wording before torch 2.1": (
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 256.00 MiB (GPU 0; 8.00 GiB total capacity; 7.31 GiB "
        "already allocated; 90.00 MiB free; 7.36 GiB reserved in total by PyTorch)",
        "too-much",
    ),
    "nothing but the name": ("RuntimeError: CUDA out of memory.", "unknown"),
}


@pytest.mark.parametrize(("text", "cause"), MESSAGES.values(), ids=MESSAGES)
def test_the_cause_is_named(text: str, cause: str) -> None:
    found = read_message(f"Traceback (most recent call last):\n  File …\n{text}\n")
    assert found.cause == cause and found.advice in str(found)


def test_every_number_is_read() -> None:
    found = read_message(MESSAGES["pytorch/pytorch 138002"][0])
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
