"""The page of GPU targets and their peaks."""

from __future__ import annotations

import re

from labkit.catalog import wheels
from labkit.catalog.gfx import TARGETS, GfxTarget, target
from labkit.catalog.peaks import PEAKS, Peak
from labkit.site.pages import markup
from labkit.site.pages.markup import Choice, Row

_INTRO = """\
Every GPU target that PyTorch's or AMD's wheels are built for, and what is known of it. `python3 -m labkit describe` says
which one your machine has. Everything here was read, not measured: nothing in this course has run on ROCm hardware yet.
What nobody established says *not established*.

A *gfx target* is what a kernel is compiled for. A wheel without kernels for your target imports well, sees the GPU, and
fails at the first computation.
"""

_PEAKS_INTRO = """\
## Peaks

Theoretical ceilings for rooflines, dense (no sparsity). A peak is never a grade: real programs reach a part of it.
The *ridge* is how many FLOPs a kernel must do for each byte before arithmetic, not memory, limits it.
"""

SYSTEMS = (("linux", "Linux"), ("windows", "Windows"), ("wsl", "WSL"))


def page() -> str:
    """The document, Markdown for MyST."""
    families = markup.options(family(row.architecture) for row in TARGETS.values())
    targets = markup.table(
        "gpus",
        "GPU targets",
        ("Target", "Products", "Wheels with its kernels", "Where it is supported", "Notes and source"),
        [_target(row) for row in TARGETS.values()],
        (
            Choice("family", "Family", families),
            Choice("kind", "Kind", (("discrete", "discrete"), ("integrated", "integrated"))),
            Choice("system", "Wheels for", SYSTEMS[:2]),
        ),
        widths=(14, 20, 20, 23, 23),
    )
    peaks = markup.table(
        "peaks",
        "Theoretical peaks of GPUs",
        ("Product", "TFLOP/s", "Memory", "Ridge, FLOP per byte", "How it was got"),
        [_peak(row) for row in PEAKS],
        (Choice("family", "Family", markup.options(family_of(row.gfx) for row in PEAKS)),),
        widths=(20, 26, 19, 13, 22),
    )
    return f"{markup.HEAD}# GPUs\n\n{_INTRO}\n{targets}\n{_PEAKS_INTRO}\n{peaks}"


def family(architecture: str) -> str:
    """The family that a row's architecture names: 'RDNA3.5 (Strix Point)' is of 'RDNA 3.5', 'GCN5.1' of 'GCN 5'.

    CDNA-next has no number yet and keeps its name.
    """
    found = re.match(r"(GCN|CDNA|RDNA)(\d(?:\.5)?)", architecture)
    return f"{found[1]} {found[2]}" if found else architecture.split(" (")[0]


def family_of(gfx: str | None) -> str:
    """The family of a target's name, as gcnArchName may write it; "" for what is no target of the catalog."""
    row = target(gfx)
    return family(row.architecture) if row else ""


def systems_with_wheels(row: GfxTarget) -> tuple[str, ...]:
    """'linux' and 'windows', as far as some wheel of the catalog has the target's kernels there."""
    linux = bool(row.pytorch_indexes) or bool(wheels.amd_carries(row.gfx, "linux"))
    windows = bool(wheels.amd_carries(row.gfx, "windows"))
    return (*(["linux"] if linux else []), *(["windows"] if windows else []))


_CARRIES = {
    "listed": "yes, on AMD's page for ROCm 10",
    "seen": "not on AMD's page, but others install them",
    "": "no",
}


def _target(row: GfxTarget) -> Row:
    wave = markup.NOT_ESTABLISHED if row.wavefront_size is None else str(row.wavefront_size)
    head = f"{markup.code(row.gfx)}<br>{markup.text(row.architecture)}" + ("<br>integrated" if row.integrated else "")
    products = markup.text(", ".join(row.products)) + markup.labelled(
        (
            ("wavefront", wave),
            ("native bfloat16", markup.yes_no(row.native_bf16)),
            ("flash attention", markup.yes_no(row.flash_attention)),
        )
    )
    listed = ", ".join(row.pytorch_indexes) or "none"
    carried = markup.labelled(
        (
            ("PyTorch, Linux", markup.text(listed + (f"; {row.pytorch_note}" if row.pytorch_note else ""))),
            ("AMD, Linux", _CARRIES[wheels.amd_carries(row.gfx, "linux")]),
            ("AMD, Windows", _CARRIES[wheels.amd_carries(row.gfx, "windows")]),
        )
    )
    supported = markup.labelled(
        (("Linux", markup.known(row.linux)), ("Windows", markup.known(row.windows)), ("WSL", markup.known(row.wsl)))
    )
    history = (
        markup.labelled(
            (("history", f"overridden to {markup.text(row.override_to)} in old advice; labkit never does"),)
        )
        if row.override_to
        else ""
    )
    notes = (markup.text(row.notes) + history) + f"<div>{markup.sources(row.sources, row.checked)}</div>"
    return Row(
        (head, products, carried, supported, notes),
        row.gfx,
        {
            "family": (family(row.architecture),),
            "kind": ("integrated" if row.integrated else "discrete",),
            "system": systems_with_wheels(row),
        },
    )


def _peak(row: Peak) -> Row:
    rates = markup.labelled(
        (
            ("float32", markup.number(row.fp32_vector_tflops)),
            ("float32, matrix", markup.number(row.fp32_matrix_tflops)),
            ("float16, matrix", markup.number(row.fp16_matrix_dense_tflops)),
            ("bfloat16, matrix", markup.number(row.bf16_matrix_dense_tflops)),
            ("float16 that AMD calls achievable", _if_any(row.fp16_achievable_tflops)),
            ("bfloat16 that AMD calls achievable", _if_any(row.bf16_achievable_tflops)),
        )
    )
    size = "shared with the processor" if row.vram_gib is None else markup.number(row.vram_gib, "GiB")
    memory = markup.labelled((("size", size), ("bandwidth", markup.number(row.mem_bw_gbs, "GB/s"))))
    ridge = markup.labelled(
        (
            ("float32", markup.number(row.ridge_fp32_flop_per_byte)),
            ("float16", markup.number(row.ridge_fp16_flop_per_byte)),
        )
    )
    how = markup.labelled(
        (
            ("method", markup.text(row.method)),
            ("confidence", markup.text(row.confidence)),
            ("clock", markup.number(row.clock_mhz, "MHz")),
            ("compute units", markup.number(row.compute_units)),
            ("note", markup.text(row.note)),
        )
    )
    head = f'{markup.text(row.product)}<br><a href="#{row.gfx}">{markup.code(row.gfx)}</a>'
    return Row(
        (head, rates, memory, ridge, how + f"<div>{markup.sources(row.sources, row.checked)}</div>"),
        values={"family": (family_of(row.gfx),)},
    )


def _if_any(value: float | None) -> str:
    return "" if value is None else markup.number(value)
