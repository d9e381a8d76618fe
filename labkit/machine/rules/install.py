"""The steps that put a fitting torch into an environment; used by every rule whose remedy is another wheel."""

from __future__ import annotations

from labkit.catalog import wheels
from labkit.machine.evidence import Evidence, is_integrated
from labkit.machine.facts import Gpu, Machine

WORKS = "python -c \"import torch; print(torch.version.hip); print(torch.ones(2, device='cuda') * 2)\""


def commands(e: Evidence, *, gfx: str | None = None) -> tuple[str, ...]:
    """What to type, for this system and GPU. The choice of the index is that of the set-up (labkit.setup.plan)."""
    from labkit.setup.plan import plan  # the set-up stands above; only its pure choice is asked

    target = gfx or e.primary_gfx
    system = "windows" if e.is_windows else "linux"
    gpus = (Gpu(target, None, is_integrated(target), "doctor"),) if target else ()
    python = tuple(int(part) for part in (e.python or "3.12").split(".")[:2] if part.isdigit())
    chosen = plan(
        Machine(system, e.is_wsl, "x86_64", (python[0], python[1]) if len(python) == 2 else (3, 12), gpus, False, False)
    )
    lines = ["python -m pip uninstall -y torch torchvision torchaudio"]
    if chosen.build == "rocm" and chosen.index_url:
        wanted = " ".join(f'"{requirement}"' for requirement in chosen.requirements)
        lines.append(f"python -m pip install --index-url {chosen.index_url} {wanted}")
        if target and wheels.amd_carries(target, system) and "repo.amd.com" not in chosen.index_url:
            lines.append(
                f'AMD\'s own wheels are the other way: --index-url {wheels.AMD_INDEX} "torch[device-{target}]" (repo.amd.com)'
            )
    elif system == "windows":
        lines.append(
            f'python -m pip install --index-url {wheels.AMD_INDEX} "torch[device-gfxNNNN]=={wheels.AMD_TORCH}" '
            "with the gfx target of your Radeon in place of gfxNNNN (rocm wheels for Windows come from repo.amd.com only)"
        )
    else:
        if target:
            lines.append(
                f"No ROCm wheels are known for {target}. If an index lists it, install from that one alone, for example:"
            )
        lines.append(
            f"python -m pip install --index-url {wheels.PYTORCH_BASE}{wheels.PREFERRED_ROCM} torch torchvision"
        )
    lines.append(
        "Take --index-url, not --extra-index-url, and install other packages afterwards with a constraints file that pins torch."
    )
    return tuple(lines)
