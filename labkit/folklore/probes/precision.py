"""Mixed precision: old names, and who needs a scaler."""

from __future__ import annotations

import warnings

from labkit.folklore.observation import Observation
from labkit.folklore.registry import probe


@probe("2.27", needs="torch")
def cuda_amp_names() -> Observation:
    """Imports both, uses them, and listens for warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            from torch.cuda.amp import GradScaler, autocast

            GradScaler(enabled=False)
            autocast(enabled=False)
        except (ImportError, AttributeError) as error:
            return Observation("fails", f"{type(error).__name__}: {error}")
    told = [str(warning.message) for warning in caught if issubclass(warning.category, FutureWarning)]
    both = any("GradScaler" in text for text in told) and any("autocast" in text for text in told)
    saw = "deprecated" if both else "partly" if told else "holds"
    return Observation(saw, " ".join(f"FutureWarning: {text}" for text in told) or "No warning.")


@probe("2.28", needs="torch")
def who_needs_a_scaler(lowest: float = -10) -> Observation:
    """Sends gradients from 1e-3 down to 1e-10 through both formats and counts what becomes zero."""
    import torch

    small = torch.logspace(-3, lowest, 701)
    lost = {dtype: float((small.to(dtype) == 0).float().mean()) for dtype in (torch.float16, torch.bfloat16)}
    scaled = float(((small * 65536.0).to(torch.float16) == 0).float().mean())
    needs = [dtype for dtype, share in lost.items() if share > 0]
    saw = "partly" if needs == [torch.float16] else "holds" if len(needs) == 2 else "fails"
    return Observation(
        saw,
        f"Of 701 gradients from 1e-3 to 1e{lowest:g} become zero: {lost[torch.float16]:.0%} in float16 "
        f"({scaled:.0%} after multiplying by 65,536), "
        f"{lost[torch.bfloat16]:.0%} in bfloat16.",
    )


@probe("2.29", needs="torch")
def scaler_order() -> Observation:
    """Makes the three calls, and compares the step with one without a scaler; then clips with and without unscale_."""
    import torch

    def step(scaled: bool, clip: str = "") -> tuple[float, float]:
        weight = torch.nn.Parameter(torch.zeros(2))
        optimizer = torch.optim.SGD([weight], lr=1.0)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=scaled)
        scaler.scale((weight * torch.tensor([3.0, 4.0])).sum()).backward()
        if clip == "unscaled first":
            scaler.unscale_(optimizer)
        norm = float(torch.nn.utils.clip_grad_norm_([weight], 1e9 if not clip else 1.0))
        scaler.step(optimizer)
        scaler.update()
        return norm, float(weight.detach().norm())

    plain, with_scaler = step(False)[1], step(True)[1]
    right, wrong = step(True, "unscaled first")[1], step(True, "at once")[1]
    saw = "holds" if abs(plain - with_scaler) < 1e-5 * plain else "fails"
    return Observation(
        saw,
        f"Length of the step without a scaler {plain:g}, with the three calls {with_scaler:g}. Clipped "
        f"to 1: {right:.3f} with unscale_ before, "
        f"{wrong:.3f} without, because the gradients were still multiplied.",
    )
