"""The kernels of the smoke test, their float64 references and how close they must come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

MARK = "labkit-smoke "  # begins every line of the child, whatever libraries print around it
OPS = ("matmul", "conv", "copy")
DTYPES = ("float32", "float16", "bfloat16")

# How far a result may be from the float64 reference, as a share of the sum of the products' sizes (|a| @ |b|).
# The inputs are rounded to the dtype first, so only the arithmetic is judged, not the rounding of the inputs.
TOLERANCE = {"float32": 1e-4, "float16": 2e-3, "bfloat16": 1.6e-2}
TOLERANCE_REASON = {
    "float32": "24 significant bits: each number of the convolution is a sum of 72 products (8 channels x 3 x 3), which in "
    "any order stays within 72 x 2^-24 = 4e-6; the rest is room for fast algorithms, and a wrong kernel is off "
    "by far more",
    "float16": "11 significant bits: one rounding of the result is 2^-11 = 5e-4; four of them allow partial sums kept in float16",
    "bfloat16": "8 significant bits: one rounding of the result is 2^-8 = 4e-3; four of them allow partial sums kept in bfloat16",
    "copy": "a copy must be equal bit for bit",
}


class Case(NamedTuple):
    """Inputs on the CPU in their dtype, the float64 reference, and the scale that errors are measured against."""

    inputs: tuple[Any, ...]
    reference: Any
    scale: Any  # None: the result must be equal bit for bit


def case(torch: Any, op: str, dtype: str) -> Case:
    """The inputs and the float64 reference of one test, the same on every machine (seed 0).

    matmul: [64, 64] @ [64, 64]. conv: [2, 8, 16, 16] with [8, 8, 3, 3] and padding 1. copy: [512, 256].
    """
    generator = torch.Generator().manual_seed(0)
    kind = getattr(torch, dtype)

    def numbers(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator).to(kind)

    if op == "copy":
        a = numbers(512, 256)
        return Case((a,), a.double().t().contiguous(), None)
    if op == "matmul":
        a, b = numbers(64, 64), numbers(64, 64)
        return Case((a, b), a.double() @ b.double(), a.double().abs() @ b.double().abs())
    a, b = numbers(2, 8, 16, 16), numbers(8, 8, 3, 3)
    conv = torch.nn.functional.conv2d
    return Case((a, b), conv(a.double(), b.double(), padding=1), conv(a.double().abs(), b.double().abs(), padding=1))


def kernels(torch: Any) -> dict[str, Callable[..., Any]]:
    """The operations under test: each takes tensors on the device and returns one."""
    return {
        "matmul": lambda a, b: a @ b,
        "conv": lambda a, b: torch.nn.functional.conv2d(a, b, padding=1),
        "copy": lambda a: a.t().contiguous(),  # through the device, turned there: a real copy kernel
    }


def check_kernel(
    torch: Any, device: str, op: str, dtype: str, kernel: Callable[..., Any] | None = None
) -> dict[str, Any]:
    """Runs one operation once on ``device`` and compares it with float64 on the CPU.

    Returns a mapping with op, dtype, status ('ok', 'wrong', 'unsupported' or 'error'), error (share of the scale, see
    ``TOLERANCE``; for copy the share of elements that differ), tolerance and text. ``kernel`` replaces the operation
    (tests put a wrong one there).
    """
    outcome: dict[str, Any] = {
        "op": op,
        "dtype": dtype,
        "status": "ok",
        "error": None,
        "tolerance": 0.0 if op == "copy" else TOLERANCE[dtype],
        "text": "",
    }
    try:
        given = case(torch, op, dtype)
        result = (kernel or kernels(torch)[op])(*(tensor.to(device) for tensor in given.inputs))
        result = result.to("cpu").double()  # waits for the device
    except (RuntimeError, NotImplementedError, TypeError) as error:
        text = str(error).strip()
        unsupported = isinstance(error, (NotImplementedError, TypeError)) or "not implemented for" in text
        return {
            **outcome,
            "status": "unsupported" if unsupported else "error",
            "text": f"{type(error).__name__}: {text}",
        }
    difference = (result - given.reference).abs()
    if given.scale is None:
        share = float((result != given.reference).double().mean())
    elif bool(result.isnan().any()):
        return {**outcome, "status": "wrong", "error": float("inf"), "text": "NaN in the result"}
    else:
        share = float((difference / given.scale).max())
    outcome["error"] = share
    if not share <= outcome["tolerance"]:
        outcome["status"] = "wrong"
        outcome["text"] = (
            f"{share:.0%} of the elements differ"
            if given.scale is None
            else f"off by {share:.1g} of the scale, allowed {outcome['tolerance']:g}"
        )
    return outcome
