"""The page of wheel indexes, and of what labkit's plan would install for each target and system."""

from __future__ import annotations

from labkit.catalog import wheels
from labkit.catalog.gfx import TARGETS, GfxTarget
from labkit.machine.facts import Gpu, Machine
from labkit.setup.plan import TorchPlan, plan
from labkit.setup.words import size
from labkit.site.pages import markup
from labkit.site.pages.gpus import SYSTEMS, family
from labkit.site.pages.markup import Choice, Row

_INTRO = """\
Where PyTorch for AMD GPUs comes from, and what `python3 -m labkit setup` would take for which GPU. Nothing here was installed on
ROCm hardware yet: the choice follows from what the sources say, and set-up ends with a real kernel that proves it or not.

## What labkit would install

`python3 -m labkit setup --dry-run` prints the plan for your own machine. The plans below are for an x86_64 processor, Python 3.12,
and one GPU.
"""

_CHANNELS = """\
## The indexes

`pip install torch` takes pip's default index, and that has no build for ROCm.
"""

_VERSIONS = """\
## Which torch came with which ROCm

The indexes of download.pytorch.org that got wheels of a version of torch (Linux, x86_64). The course accepts torch 2.10 to 2.14.
"""


def page() -> str:
    """The document, Markdown for MyST."""
    families = markup.options(family(row.architecture) for row in TARGETS.values())
    builds = (("pytorch", "PyTorch's ROCm wheels"), ("amd", "AMD's wheels"), ("cpu", "the CPU"))
    plans = markup.table(
        "plans",
        "What labkit would install, by target and system",
        ("Target", "System", "Installs", "Why", "Size"),
        [_plan(row, system, words) for row in TARGETS.values() for system, words in SYSTEMS],
        (
            Choice("family", "Family", families),
            Choice("system", "System", SYSTEMS),
            Choice("build", "Installs", builds),
        ),
    )
    channels = markup.table(
        "indexes",
        "Indexes of wheels",
        ("Index", "Address", "For", "Note", "Source"),
        [_channel(row) for row in wheels.CHANNELS.values()],
        widths=(14, 20, 16, 26, 24),
        filterable=False,
    )
    versions = markup.table(
        "versions",
        "Versions of torch and their ROCm indexes",
        ("torch", "ROCm indexes", "Established", "Source"),
        [_version(row) for row in reversed(wheels.TORCH_INDEXES)],
        widths=(10, 25, 15, 50),
        filterable=False,
    )
    return f"{markup.HEAD}# Wheels\n\n{_INTRO}\n{plans}\n{_CHANNELS}\n{channels}\n{_VERSIONS}\n{versions}"


def planned(gfx: str, system: str) -> TorchPlan:
    """labkit's plan for a machine with one GPU of a target, on 'linux', 'windows' or 'wsl'."""
    row = TARGETS[gfx]
    return plan(
        Machine(
            system="windows" if system == "windows" else "linux",
            wsl=system == "wsl",
            architecture="x86_64",
            python=(3, 12),
            gpus=(Gpu(gfx, row.products[0], row.integrated, "the catalog"),),
            nvidia=False,
            apple=False,
        )
    )


def _plan(row: GfxTarget, system: str, words: str) -> Row:
    chosen = planned(row.gfx, system)
    rocm = "pytorch" if (chosen.index_url or "").startswith(wheels.PYTORCH_BASE) else "amd"
    kind = rocm if chosen.build == "rocm" else "cpu"
    index = markup.text(chosen.index_url) if chosen.index_url else "pip's default index"
    installs = markup.items([markup.code(requirement) for requirement in chosen.requirements])
    head = f'<a href="gpus.html#{row.gfx}">{markup.code(row.gfx)}</a><br>{markup.text(row.products[0])}'
    sizes = markup.labelled((("download", _size(chosen.download_bytes)), ("installed", _size(chosen.installed_bytes))))
    return Row(
        (
            head,
            words,
            installs + markup.labelled((("from", index),)),
            markup.items([markup.text(reason) for reason in chosen.reasons]),
            sizes,
        ),
        f"{row.gfx}-{system}",
        {"family": (family(row.architecture),), "system": (system,), "build": (kind,)},
    )


def _size(count: int | None) -> str:
    return markup.NOT_ESTABLISHED if count is None else size(count)


def _channel(row: wheels.Channel) -> Row:
    first, last = row.pythons
    places = markup.labelled(
        (
            ("systems", markup.text(", ".join(row.systems))),
            ("processors", markup.text(", ".join(row.architectures))),
            ("Python", f"3.{first} to 3.{last}"),
        )
    )
    address = markup.text(row.url) if row.url else "pip's own"
    return Row(
        (markup.text(row.name), address, places, markup.text(row.note), markup.sources((row.source,), row.checked))
    )


def _version(row: wheels.TorchIndexes) -> Row:
    indexes = markup.text(", ".join(row.indexes)) if row.indexes else markup.NOT_ESTABLISHED
    established = "yes" if row.established else "no"
    return Row((markup.text(row.torch), indexes, established, markup.sources((row.source,), row.checked)))
