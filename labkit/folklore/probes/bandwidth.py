"""Bandwidth: figures against what memory and links can carry, the old tool's options, and the roofline."""

from __future__ import annotations

import getopt
import statistics

from labkit.catalog import links, peaks
from labkit.folklore import child
from labkit.folklore.observation import Observation
from labkit.folklore.registry import probe


def _picture() -> links.MatrixFigures:
    return next(row for row in links.matrices() if row.product == "Instinct MI300A")


@probe("1.30")
def peak_against_links(figure_gbs: float = 2144.053, devices: int = 8) -> Observation:
    """Sets the figure against all links of a device together, and against its memory, by AMD's own picture."""
    picture = _picture()
    together = picture.link_high_gbps * (devices - 1)
    rccl = links.reference("all_reduce", "Instinct MI300X", 8)[0].busbw_gbps
    row = peaks.peak("Instinct MI300A")
    memory = row.mem_bw_gbs if row else 0.0
    saw = "fails" if together < figure_gbs <= memory else "holds" if figure_gbs <= together else "broken"
    where = "stands in" if picture.local_low_gbps <= figure_gbs <= picture.local_high_gbps else "is outside of"
    return Observation(
        saw,
        f"{figure_gbs:g} GB/s are more than all {devices - 1} links of a device at {picture.link_high_gbps:g} GB/s together "
        f"({together:g}), and {figure_gbs / rccl:.1f} times the busbw of AMD's run of RCCL on eight MI300X ({rccl:g}). The figure {where} "
        f"the diagonal of AMD's picture of MI300A ({picture.local_low_gbps:g} to "
        f"{picture.local_high_gbps:.7g}), whose memory peaks at {memory:g}.",
    )


@probe("1.34")
def two_cards_on_pcie(figure_gbs: float = 50.0) -> Observation:
    """Works out both directions of PCIe 4.0 with sixteen and with eight lanes."""
    both = {lanes: 2 * (links.pcie_gbs(4, lanes) or 0.0) for lanes in (16, 8)}
    above = [rate > figure_gbs for rate in both.values()]
    saw = "open" if any(above) and not all(above) else "holds" if all(above) else "fails"
    told = ", ".join(f"x{lanes}: at most {rate:.0f} GB/s" for lanes, rate in both.items())
    return Observation(
        saw,
        f"PCIe 4.0, both directions together, {told}. The board decides on which side of {figure_gbs:g} that is; "
        f"what is reached is lower.",
    )


@probe("1.36")
def both_sides_of_the_ridge() -> Observation:
    """Puts an addition and a product of matrices under the roof of every card of the catalog."""
    n = 4096
    addition, product = 1 / 12, 2 * n**3 / (3 * 2 * n**2)  # FLOP per byte
    rows = [row for row in peaks.PEAKS if row.ridge_fp16_flop_per_byte]
    additions = sum(addition < row.ridge_fp32_flop_per_byte for row in rows)
    products = sum(product < (row.ridge_fp16_flop_per_byte or 0) for row in rows)
    every = len(rows)
    saw = "partly" if (additions, products) == (every, 0) else "holds" if additions == products == every else "fails"
    return Observation(
        saw,
        f"By the catalog's peaks: an addition in float32 ({addition:.2g} FLOP per byte) waits for memory on {additions} of "
        f"{every} cards; a product of {n} x {n} matrices in float16 ({product:.2g} FLOP per byte) waits for memory on "
        f"{products} of {every} cards.",
    )


@probe("1.37")
def diagonal_is_memory(picture: links.MatrixFigures | None = None) -> Observation:
    """Compares the spread between devices with the step from link to memory, in the numbers of the picture."""
    picture = picture or _picture()
    scatter = picture.link_high_gbps / picture.link_low_gbps
    step = picture.local_low_gbps / picture.link_high_gbps
    return Observation(
        "partly" if step > 2 * scatter else "holds",
        f"Between devices {picture.link_low_gbps:g} to {picture.link_high_gbps:g} GB/s, a factor of "
        f"{scatter:.2f}; from a link to a device's "
        f"own memory ({picture.local_low_gbps:g} to {picture.local_high_gbps:.7g} GB/s) a factor of {step:.0f}. "
        f"The difference that one sees is memory against link.",
    )


# Debian and AMD both built the classic program with this string: ROCm/rocm_bandwidth_test rocm_bandwidth_test_parse.cpp line 323.
_OPTIONS = "hqteclvaAb:i:s:d:r:w:m:k:K:"


@probe("1.38")
def short_options_only(option: str = "--bidirectional", options: str = _OPTIONS) -> Observation:
    """Parses the command with the program's own option string."""
    try:
        getopt.getopt([option], options)
    except getopt.GetoptError as error:
        return Observation(
            "fails",
            f"Parsed with the program's own option string '{options}': {error.msg}. Known are -b with devices, and -A.",
        )
    return Observation("holds", f"'{option}' is an option by the string '{options}'.")


# Copies 64 MB on the GPU and prints the median rate in GB/s.
_COPY = """
import statistics, time, torch
x = torch.empty(64 * 2**20, dtype=torch.uint8, device="cuda"); y = torch.empty_like(x); rates = []
for _ in range(40):
    torch.cuda.synchronize(); t = time.perf_counter(); y.copy_(x); torch.cuda.synchronize()
    rates.append(2 * x.numel() / (time.perf_counter() - t) / 1e9)
print(statistics.median(rates))
"""


@probe("1.41", needs="rocm-torch")
def copy_with_allocator_options() -> Observation:
    """Measures a copy in fresh processes, with and without the options, in turn."""
    options = {"PYTORCH_HIP_ALLOC_CONF": "garbage_collection_threshold:0.6,max_split_size_mb:128"}
    rates: dict[str, list[float]] = {"without": [], "with": []}
    for _ in range(2):
        for name, settings in (("without", {}), ("with", options)):
            answer = child.python("-c", _COPY, environment=settings)
            if answer.status == 0:
                rates[name].append(float(child.last_line(answer.text)))
    if not all(rates.values()):
        return Observation("broken", "The copy could not be measured.")
    middle = {name: statistics.median(values) for name, values in rates.items()}
    gain = middle["with"] / middle["without"] - 1
    return Observation(
        "holds" if gain > 0.1 else "fails",
        f"A copy on the GPU: {middle['without']:.0f} GB/s without, {middle['with']:.0f} with the options, {gain:+.1%}.",
    )
