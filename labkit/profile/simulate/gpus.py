"""A GPU of the catalog as a roofline: how long a kernel takes on it.

    time = fixed minimum + max(FLOPs / (share x peak x filled), bytes / (share x bandwidth))

Every constant is an **assumption**, named here, and none was measured on the GPU in question: real kernels reach other
shares, and a cache can beat the memory's bandwidth. The peaks and their sources are the catalog's (``labkit.catalog.peaks``).
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.catalog.peaks import PEAKS, Peak, peak
from labkit.errors import LabkitError
from labkit.profile.simulate.layers import Work

# The part of the theoretical peak that a good matrix kernel reaches. AMD's own 'max achievable' figures for MI300X are
# about half of its peak (catalog, note of that row); other GPUs are assumed alike.
MATRIX_SHARE = 0.5
CONVOLUTION_SHARE = 0.4  # convolutions and attention move their data less regularly
VECTOR_SHARE = 0.6  # sums, bends, normalisations: they hardly ever wait for arithmetic
BANDWIDTH_SHARE = 0.75  # the part of the memory's peak bandwidth that streaming kernels reach
KERNEL_MINIMUM_NS = 2_500  # start and end of any kernel, however small
TILE = 64 * 64  # numbers of the result that one compute unit works on: fewer tiles than units leave units idle

WAVE64 = ("gfx9",)  # targets whose wavefront holds 64 work items; the others 32


@dataclass(frozen=True)
class Gpu:
    """A catalog GPU to be simulated. index: its number in the profile (agent 0 is the CPU, as rocprofv3 counts)."""

    peak: Peak
    index: int = 1

    @property
    def name(self) -> str:
        """What a simulated file calls it: it never looks like a recording."""
        return f"simulated {self.peak.product}"

    @property
    def gfx(self) -> str:
        """Its target."""
        return self.peak.gfx

    @property
    def wavefront(self) -> int:
        """Work items per wavefront."""
        return 64 if self.gfx.startswith(WAVE64) else 32

    def tflops(self, precision: str, *, matrix: bool) -> float:
        """The catalog's peak for this precision in TFLOP/s. Raises LabkitError where the GPU has none."""
        row = self.peak
        if precision == "fp32" or not matrix:
            return (row.fp32_matrix_tflops or row.fp32_vector_tflops) if matrix else row.fp32_vector_tflops
        found = row.fp16_matrix_dense_tflops if precision == "fp16" else row.bf16_matrix_dense_tflops
        if found is None:
            raise LabkitError(
                f"{row.product} has no native {precision} (catalog).", "Simulate it with precision 'fp16' or 'fp32'."
            )
        return found

    def duration_ns(self, work: Work, precision: str) -> float:
        """How long the roofline lets a kernel take, in nanoseconds, without jitter."""
        matrix = bool(work.shape)
        share = VECTOR_SHARE
        if matrix:
            filled = min(1.0, max(1.0, work.outputs * _split(work) / TILE) / self.peak.compute_units)
            share = (MATRIX_SHARE if work.kind == "gemm" else CONVOLUTION_SHARE) * filled
        compute = work.flops / (share * self.tflops(precision, matrix=matrix) * 1e12)
        memory = work.bytes / (BANDWIDTH_SHARE * self.peak.mem_bw_gbs * 1e9)
        return KERNEL_MINIMUM_NS + 1e9 * max(compute, memory)


def _split(work: Work) -> int:
    """Deep products with a small result are split along their depth, so that more units have work."""
    depth = work.shape[2] if work.shape else 1
    return max(1, depth // 2048)


GPUS = tuple(row.product for row in PEAKS)


def gpu(name: str, index: int = 1) -> Gpu:
    """The GPU of a product name or of a target with one product. Raises LabkitError for any other name."""
    row = peak(name) or next((row for row in PEAKS if name.lower() in row.product.lower()), None) if name else None
    if row is None:
        raise LabkitError(f"The catalog has no peaks of '{name}'.", f"Choose one of: {', '.join(GPUS)}.")
    return Gpu(row, index)
