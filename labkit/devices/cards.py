"""The card of a machine: what it has, and whether torch can use it. Pure functions of facts."""

from __future__ import annotations

import platform
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from labkit.devices.choice import SETUP, Choice, choose
from labkit.devices.facts import best_device, build_of, build_text, gpu_facts, has_kernels, is_integrated, target_of
from labkit.devices.kernels import DTYPES, OPS
from labkit.devices.native import Dtype, dtypes
from labkit.devices.smoke import SmokeTest
from labkit.errors import LabkitError

if TYPE_CHECKING:
    from labkit.machine.facts import Machine


@dataclass(frozen=True)
class Row:
    """One line of a card; ``state`` is 'good', 'bad', 'unknown' or 'plain'."""

    label: str
    value: str
    state: str = "plain"


_SIGN = {"good": "✓", "bad": "✗", "unknown": "?", "plain": " "}
_COLOUR = {"good": "#0072B2", "bad": "#D55E00", "unknown": "#888888", "plain": "inherit"}  # Okabe and Ito's palette


@dataclass(frozen=True, repr=False)
class Card:
    """What a machine has and whether torch can use it. ``str()`` is plain text, ``_repr_html_`` a table.

    ``device`` is what labkit.device() gives there, ``build`` 'rocm', 'cuda', 'cpu' or None (no torch), ``gfx`` the
    target ('gfx1100', or 'sm_90' for NVIDIA) of the GPU that the card is about, ``advice`` what to do, most urgent first.
    """

    title: str
    device: str | None
    build: str | None
    gfx: str | None
    rows: tuple[Row, ...]
    advice: tuple[str, ...]
    dtypes: tuple[Dtype, ...]
    smoke: SmokeTest | None
    simulated: bool = False

    @property
    def ready(self) -> bool:
        """Lessons can run on ``device``: torch starts and no kernel that was tried failed there."""
        return self.device is not None and not any(row.state == "bad" and row.label == "device" for row in self.rows)

    def __str__(self) -> str:
        width = max(len(row.label) for row in self.rows)
        lines = [self.title, "-" * len(self.title)]
        for row in self.rows:
            lead = f"{_SIGN[row.state]} {row.label:<{width}}  "
            lines += textwrap.wrap(
                row.value,
                100,
                initial_indent=lead,
                subsequent_indent=" " * len(lead),
                break_long_words=False,
                break_on_hyphens=False,
            ) or [lead.rstrip()]
        for text in self.advice:
            lines += textwrap.wrap(
                text, 100, initial_indent="→ ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
            )
        return "\n".join(line.rstrip() for line in lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        left = "text-align:left;vertical-align:top;padding:2px 12px 2px 0;color:inherit;background:transparent"
        rows = "".join(
            f"<tr style='background:transparent'>"
            f"<td style='{left};color:{_COLOUR[row.state]};font-weight:bold'>{_SIGN[row.state].strip()}</td>"
            f"<th scope='row' style='{left};font-weight:600;white-space:nowrap'>{escape(row.label)}</th>"
            f"<td style='{left}'>{escape(row.value)}</td></tr>"
            for row in self.rows
        )
        advice = "".join(f"<li>{escape(text)}</li>" for text in self.advice)
        # Colours and backgrounds come from the page, so that the card reads on a light and on a dark theme.
        return (
            f"<div style='border:1px {'dashed' if self.simulated else 'solid'} #999;border-radius:6px;"
            "padding:8px 14px;max-width:60em;color:inherit;background:transparent'>"
            f"<div style='font-weight:bold;margin-bottom:4px'>{escape(self.title)}</div>"
            f"<table style='border-collapse:collapse;margin:0;color:inherit;background:transparent'>{rows}</table>"
            + (f"<div style='margin-top:6px'><ul style='margin:2px 0'>{advice}</ul></div>" if advice else "")
            + "</div>"
        )


def card(
    facts: Mapping[str, Any],
    *,
    smoke: SmokeTest | None = None,
    machine: Machine | None = None,
    override: str = "",
    simulated: str = "",
) -> Card:
    """Builds a card from facts: a pure function, the same for this machine, a recorded and a simulated one.

    ``facts`` as from ``labkit.devices.facts.torch_facts`` (empty: torch did not start, and ``smoke.problem`` says why).
    ``simulated`` names the simulated machine; the card then says that word.
    """
    title = f"Simulated machine: {simulated} (nothing here was run)" if simulated else "This machine"
    rows: list[Row] = []
    advice: list[str] = []

    def tell(problem: str, remedy: str) -> None:
        sentence = f"{problem.rstrip('.')}. What to do: {remedy}." if remedy else f"{problem.rstrip('.')}."
        advice.append(sentence)

    if machine is not None:
        rows.append(Row("system", _system_text(machine, simulated)))
        for found, count in Counter(machine.gpus).items():
            times = f"{count} × " if count > 1 else ""
            target = _target_text(found.gfx, products=not _is_product(found.name))
            rows.append(
                Row(
                    "AMD GPU",
                    f"{times}{found.name or 'name not known'} · {target} · "
                    f"{_kind_text(found.integrated)} (seen in {_SEEN_IN.get(found.found_by, found.found_by)})",
                )
            )
        if not machine.gpus:
            rows.append(Row("AMD GPU", "the system shows none"))
    if not facts:
        why = smoke.problem if smoke and smoke.problem else "nothing is known of torch"
        rows.append(Row("torch", why, "bad"))
        rows.append(Row("device", "none: without torch no lesson can run", "bad"))
        if smoke and smoke.problem:
            tell(smoke.problem, smoke.remedy)
        return Card(title, None, None, None, tuple(rows), tuple(advice), (), smoke, bool(simulated))

    build = build_of(facts)
    wanted = ""
    try:
        choice = choose(facts, override, smoke)
    except LabkitError as error:
        wanted = error.problem
        tell(error.problem, error.remedy)
        choice = choose(facts, "", smoke)
    forced = bool(override.strip()) and not wanted
    about = choice.device if forced or choice.device != "cpu" else best_device(facts)
    gpu = gpu_facts(facts, about)
    rows.append(Row("torch", f"{facts['version']} · {build_text(facts)}"))
    if gpu:
        rows.append(Row("GPU in torch", _gpu_text(gpu)))
        others = [other for other in facts.get("devices") or [] if other is not gpu]
        rows += [Row("also there", _gpu_text(other)) for other in others[:3]]
        if others[3:]:
            rows.append(Row("also there", f"{len(others) - 3} more, up to cuda:{others[-1]['index']}"))
        rows.append(_kernels_row(facts, gpu))
    else:
        rows.append(_no_gpu_row(facts, machine, about))
        rows.append(Row("CPU", _cpu_text(facts)))
    native = dtypes(facts, about)
    rows += _dtype_rows(facts, native, gpu)
    rows += [Row("variable", f"{name}={value}") for name, value in sorted((facts.get("env") or {}).items())]
    rows.append(_smoke_row(smoke, simulated))
    rows.append(_device_row(choice, wanted, about, smoke))
    if smoke and smoke.problem:
        tell(smoke.problem, smoke.remedy)
    elif choice.sentence:
        advice.append(choice.sentence)
    advice += _advice(facts, machine, build, gpu)
    return Card(
        title,
        choice.device,
        build,
        target_of(gpu),
        tuple(rows),
        tuple(dict.fromkeys(advice)),
        native,
        smoke,
        bool(simulated),
    )


def _system_text(machine: Machine, simulated: str) -> str:
    name = {"linux": "Linux", "windows": "Windows", "macos": "macOS"}.get(machine.system, machine.system)
    if machine.wsl:
        name += " in WSL"
    python = ".".join(map(str, machine.python)) if simulated else platform.python_version()
    return f"{name} · {machine.architecture} · Python {python}"


def _target_text(gfx: str | None, *, products: bool = False) -> str:
    if not gfx:
        return "gfx target not known"
    from labkit.catalog import gfx as catalog_gfx

    row = catalog_gfx.target(gfx)
    if row is None:
        return f"{gfx} (not in labkit's catalog)"
    sold = f", sold as {', '.join(row.products[:3])}{' …' if row.products[3:] else ''}" if products else ""
    return f"{gfx} ({row.architecture}{sold})"


_SEEN_IN = {
    "kfd": "the driver's own list",
    "pci": "the list of PCI devices",
    "Windows display adapters": "Windows' display adapters",
}


def _is_product(name: str | None) -> bool:
    return bool(name) and any(word in str(name) for word in ("Radeon", "Instinct", "Ryzen"))


def _kind_text(integrated: bool | None) -> str:
    return {True: "integrated", False: "discrete", None: "integrated or discrete: not known"}[integrated]


def _gpu_text(gpu: Mapping[str, Any]) -> str:
    parts = [f"cuda:{gpu['index']}", gpu.get("name") or "name not known"]
    if gpu.get("gfx"):
        parts.append(_target_text(str(gpu["gfx"])))
    elif gpu.get("capability"):
        parts.append(f"compute capability {gpu['capability'][0]}.{gpu['capability'][1]} (NVIDIA)")
    if gpu.get("memory_bytes"):
        parts.append(f"{gpu['memory_bytes'] / 2**30:.1f} GiB")
    if is_integrated(gpu):
        parts.append("integrated: shares the processor's memory")
    return " · ".join(parts)


def _cpu_text(facts: Mapping[str, Any]) -> str:
    cpu = facts.get("cpu") or {}
    threads = facts.get("threads")
    parts = [
        cpu.get("name") or "name not known",
        f"torch uses {cpu['capability']}" if cpu.get("capability") else "",
        f"{threads} thread{'s' if threads != 1 else ''}" if threads else "",
    ]
    return " · ".join(part for part in parts if part)


def _kernels_row(facts: Mapping[str, Any], gpu: Mapping[str, Any]) -> Row:
    target, listed = target_of(gpu) or "this GPU", has_kernels(gpu, facts.get("arch_list") or [])
    names = " ".join(facts.get("arch_list") or [])
    if listed is None:
        return Row(
            "kernels", f"this torch does not say which targets it has kernels for ({target} is needed)", "unknown"
        )
    if listed:
        return Row("kernels", f"this torch lists {target}", "good")
    return Row("kernels", f"this torch has none for {target}; it has: {names}", "bad")


def _no_gpu_row(facts: Mapping[str, Any], machine: Machine | None, about: str) -> Row:
    build, present = build_of(facts), machine is not None and bool(machine.gpus)
    if about == "mps":
        return Row("GPU in torch", "Apple GPU through Metal (mps); the lessons are not tested there", "unknown")
    if present and build != "rocm":
        return Row("GPU in torch", f"none: this is a {build.upper()} build, which cannot drive an AMD GPU", "bad")
    if build == "cpu":
        return Row("GPU in torch", "none: a CPU build drives no GPU")
    vendor = {"rocm": "AMD", "cuda": "NVIDIA"}[build]
    return Row(
        "GPU in torch",
        f"none: is_available() is False, torch sees no {vendor} GPU that it may use",
        "bad" if present or (build == "cuda" and machine is not None and machine.nvidia) else "plain",
    )


def _dtype_rows(facts: Mapping[str, Any], native: Sequence[Dtype], gpu: Mapping[str, Any]) -> list[Row]:
    groups = {
        status: [dtype.name for dtype in native if dtype.status == status]
        for status in ("native", "emulated", "none", "unknown")
    }
    words = {
        "native": "native",
        "emulated": "emulated (works, saves no time)",
        "none": "not there",
        "unknown": "not known",
    }
    rows = [
        Row("dtypes", " · ".join(f"{words[status]}: {', '.join(names)}" for status, names in groups.items() if names))
    ]
    bf16 = next((dtype for dtype in native if dtype.name == "bfloat16"), None)
    if bf16 and gpu and facts.get("hip") and facts.get("bf16_claim") and bf16.status not in ("native", "unknown"):
        rows.append(
            Row(
                "bfloat16",
                f"torch.cuda.is_bf16_supported() says True, as it always does on ROCm. {bf16.reason}",
                "unknown",
            )
        )
    return rows


def _smoke_row(smoke: SmokeTest | None, simulated: str) -> Row:
    if simulated:
        return Row("smoke test", "not run: this machine is simulated", "unknown")
    if smoke is None or not (smoke.results or smoke.problem):
        return Row("smoke test", "not run", "unknown")
    if smoke.problem:  # the whole sentence is part of the advice below the rows
        right = sum(result.status == "ok" for result in smoke.results)
        return Row(
            "smoke test",
            f"FAILED: {right} of {len(OPS) * len(DTYPES)} kernels were right on '{smoke.device or 'cpu'}'",
            "bad",
        )
    left_out = [f"{result.op} {result.dtype}" for result in smoke.results if result.status == "unsupported"]
    more = f" (not offered here: {', '.join(left_out)})" if left_out else ""
    return Row("smoke test", smoke.verdict + more, "good" if smoke.passed else "bad")


def _device_row(choice: Choice, wanted: str, about: str, smoke: SmokeTest | None) -> Row:
    if wanted:
        return Row("device", f"LABKIT_DEVICE cannot be obeyed: {wanted}", "bad")
    tested = smoke is not None and smoke.device == choice.device and bool(smoke.results or smoke.problem)
    if tested and smoke is not None and not smoke.usable:
        return Row("device", f"labkit.device() is '{choice.device}', but its float32 kernels do not work", "bad")
    instead = f" instead of '{about}'" if choice.device != about else ""
    return Row("device", f"labkit.device() is '{choice.device}'{instead}", "unknown" if instead else "good")


def _advice(facts: Mapping[str, Any], machine: Machine | None, build: str, gpu: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    env = facts.get("env") or {}
    present = machine is not None and bool(machine.gpus)
    if not gpu and present and build != "rocm":
        found.append(
            f"The system shows an AMD GPU, but this torch is a {build.upper()} build. "
            f"What to do: '{SETUP}' chooses the build for it."
        )
    if not gpu and present and build == "rocm":
        found.append(
            "The system shows an AMD GPU and torch is a ROCm build, yet torch may not use the GPU. "
            "What to do: look at the checks for /dev/kfd and groups in lesson 00."
        )
    if "HSA_OVERRIDE_GFX_VERSION" in env:
        found.append(
            f"HSA_OVERRIDE_GFX_VERSION={env['HSA_OVERRIDE_GFX_VERSION']} is set: it makes the GPU claim another "
            "target, so the target above may not be the true one. What to do: unset it."
        )
    if facts.get("mps") and not gpu:
        found.append("There is an Apple GPU. The lessons run on the CPU; LABKIT_DEVICE=mps tries the GPU, untested.")
    return found
