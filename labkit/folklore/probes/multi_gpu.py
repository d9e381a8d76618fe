"""Several GPUs: what one GPU can communicate, what a link would have to carry, and what Windows has not."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from labkit.catalog import links, peaks
from labkit.comm.available import loopback_settings
from labkit.comm.formulas import busbw_factor
from labkit.folklore.observation import Observation
from labkit.folklore.registry import probe


@probe("1.32", needs="torch")
def one_gpu_moves_nothing() -> Observation:
    """Does a real all-reduce with one process, as the program does with one GPU, and asks what it had to move."""
    import torch
    import torch.distributed as dist

    moved = busbw_factor("all_reduce", 1)
    if not dist.is_available():
        return Observation(
            "fails",
            f"By the formula of rccl-tests one GPU moves {moved:g} times its data (this PyTorch has no torch.distributed).",
        )
    os.environ.update(loopback_settings())  # else Gloo looks this machine's name up, which may ask the network
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", store=dist.FileStore(str(Path(folder) / "store"), 1), rank=0, world_size=1)
        values = torch.arange(4.0)
        dist.all_reduce(values)
        same = values.tolist() == [0.0, 1.0, 2.0, 3.0]
        dist.destroy_process_group()
    return Observation(
        "fails" if same and moved == 0 else "holds",
        f"An all-reduce of one process leaves [0, 1, 2, 3] as {[int(v) for v in values.tolist()]}: "
        "nothing to add, nothing to send. By the formula "
        f"of rccl-tests each of n GPUs moves 2(n-1)/n times its data: {moved:g} for one, {busbw_factor('all_reduce', 8):g} for eight.",
    )


@probe("1.33")
def eight_gigabytes_in_ten_ms(bytes_: float = 8e9, seconds: float = 0.010) -> Observation:
    """Works out the rate that two cards on PCIe would need, and looks up what AMD measured on eight MI300X."""
    sent, link = busbw_factor("all_reduce", 2) * bytes_, (links.pcie_gbs(4, 16) or 0.0)
    needed = sent / seconds / 1e9
    measured = links.reference("all_reduce", "Instinct MI300X", 8)[0]
    told = measured.time_us / 1e6
    return Observation(
        "fails" if needed > link and told > seconds else "holds",
        f"Two cards each send and receive {sent / 1e9:g} GB. In {seconds * 1e3:g} ms that is "
        f"{needed:.0f} GB/s each way; PCIe 4.0 x16 carries at most "
        f"{link:.1f}. AMD's own run on eight {measured.product} takes {told * 1e3:.1f} ms for {measured.bytes / 1e9:.1f} GB.",
    )


# ResNet-50: 25.6 million parameters, 4.1e9 multiply-adds forward for a picture of 224 x 224 (He et al., 2015; torchvision's
# table of models), two FLOP each, three times that with the backward pass.
_PARAMETERS, _FLOP = 25.6e6, 3 * 2 * 4.1e9


@probe("1.35")
def efficiency_needs_conditions(
    product: str = "Radeon RX 7900 XTX", batches: tuple[int, ...] = (8, 64, 512)
) -> Observation:
    """Works out the efficiency of two cards from the catalog's peak and the link, for several batches."""
    row = peaks.peak(product)
    if row is None:
        return Observation("broken", f"The catalog has no peak for {product}.")
    sent = busbw_factor("all_reduce", 2) * _PARAMETERS * 4 / ((links.pcie_gbs(4, 16) or 0.0) * 1e9)
    efficiency = {}
    for batch in batches:
        computed = batch * _FLOP / (row.fp32_vector_tflops * 1e12)
        efficiency[batch] = computed / (computed + sent)
    above = [value > 0.9 for value in efficiency.values()]
    saw = "open" if any(above) and not all(above) else "holds" if all(above) else "fails"
    told = ", ".join(f"{value:.0%} with a batch of {batch}" for batch, value in efficiency.items())
    return Observation(
        saw,
        f"Arithmetic, no measurement: ResNet-50 on two {product} at their float32 peak, gradients over "
        f"PCIe 4.0 x16 without overlap: {told}.",
    )


def _without_rccl() -> Observation:
    import torch.distributed as dist

    nccl = dist.is_available() and dist.is_nccl_available()
    gloo = dist.is_available() and dist.is_gloo_available()
    return Observation(
        "holds" if nccl else "fails", f"On this Windows PyTorch has RCCL (as 'nccl'): {nccl}; Gloo: {gloo}."
    )


@probe("1.29", needs="windows torch")
def rccl_on_windows() -> Observation:
    """Asks PyTorch on a Windows machine which ways of talking it has."""
    return _without_rccl()


@probe("1.56", needs="windows torch")
def cluster_on_windows() -> Observation:
    """Asks PyTorch on a Windows machine which ways of talking it has."""
    return _without_rccl()
