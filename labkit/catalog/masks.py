"""The variables that hide GPUs from a program.

Source: ROCm's documentation, "GPU isolation techniques" (ROCR_VISIBLE_DEVICES, GPU_DEVICE_ORDINAL, HIP_VISIBLE_DEVICES,
CUDA_VISIBLE_DEVICES), read 2026-11-30; what torch does with them is in ``labkit.comm.binding``.
"""

from __future__ import annotations

MASKS = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
"""In the order in which they act: each of the later two chooses from what the first leaves."""
HIDING = (*MASKS, "GPU_DEVICE_ORDINAL")
"""With the older one that HIP and OpenCL programs read too."""
