"""Out-of-memory messages that people reported in public, each with where it stands. Checked on 2026-11-30.

Only the sentence with the numbers is kept.
"""

from __future__ import annotations

REPORTS: dict[str, str] = {
    # An APU with 96 GB set aside for graphics: https://github.com/ROCm/TheRock/issues/1054
    "ROCm/TheRock#1054": (
        "HIP out of memory. Tried to allocate 16.00 GiB. GPU 0 has a total capacity of 15.24 GiB of which 15.09 GiB is free. "
        "Of the allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated."
    ),
    # https://github.com/pytorch/pytorch/issues/138002
    "pytorch/pytorch#138002": (
        "HIP out of memory. Tried to allocate 6.64 GiB. GPU 0 has a total capacity of 19.92 GiB of which 6.22 GiB is free. "
        "Of the allocated memory 5.34 GiB is allocated by PyTorch, and 7.10 GiB is reserved by PyTorch but unallocated."
    ),
    # https://github.com/ROCm/TheRock/issues/2396
    "ROCm/TheRock#2396": (
        "HIP out of memory. Tried to allocate 76.00 MiB. GPU 0 has a total capacity of 287.98 GiB of which 0 bytes is free. "
        "Of the allocated memory 8.51 GiB is allocated by PyTorch, and 1.99 MiB is reserved by PyTorch but unallocated."
    ),
    # https://github.com/pytorch/pytorch/issues/175431
    "pytorch/pytorch#175431": (
        "HIP out of memory. Tried to allocate 2.00 MiB. GPU 7 has a total capacity of 287.98 GiB of which 203.49 GiB is free. "
        "Of the allocated memory 68.63 GiB is allocated by PyTorch, and 14.93 GiB is reserved by PyTorch but unallocated."
    ),
    # https://github.com/ROCm/TheRock/issues/2118
    "ROCm/TheRock#2118": (
        "HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 255.98 GiB of which 244.65 GiB is free. "
        "1.05 GiB allowed; Of the allocated memory 1017.01 MiB is allocated by PyTorch, with 17.00 MiB allocated in private "
        "pools (e.g., HIP Graphs), and 54.99 MiB is reserved by PyTorch but unallocated."
    ),
}
