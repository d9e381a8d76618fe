"""The kernels of the smoke test: right ones pass, wrong ones are caught."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from labkit.devices.kernels import DTYPES, OPS, TOLERANCE, check_kernel, kernels  # noqa: E402


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", OPS)
def test_the_cpu_is_right_and_with_room(op: str, dtype: str) -> None:
    found = check_kernel(torch, "cpu", op, dtype)
    assert found["status"] == "ok", found
    assert found["error"] <= found["tolerance"] / 2  # a tolerance that is nearly used up would fail elsewhere
    if op != "copy":
        assert found["error"] > 0  # a reference that comes from the same arithmetic would prove nothing


def off_by(share: float) -> Any:
    def wrong(a: Any, b: Any) -> Any:
        right = a.double() @ b.double()
        right[3, 5] += share * (a.double().abs() @ b.double().abs())[3, 5]
        return right

    return wrong


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_wrong_element_is_caught(dtype: str) -> None:
    assert check_kernel(torch, "cpu", "matmul", dtype, off_by(0.5 * TOLERANCE[dtype]))["status"] == "ok"
    found = check_kernel(torch, "cpu", "matmul", dtype, off_by(2 * TOLERANCE[dtype]))
    assert found["status"] == "wrong" and "allowed" in found["text"]


@pytest.mark.parametrize(
    ("op", "kernel"),
    [
        ("matmul", lambda a, b: torch.zeros_like(a @ b)),  # a kernel that wrote nothing
        ("matmul", lambda a, b: b @ a),
        ("conv", lambda a, b: torch.nn.functional.conv2d(a, b.flip(3), padding=1)),
        ("conv", lambda a, b: torch.nn.functional.conv2d(a, b, padding=1) * float("nan")),
        ("copy", lambda a: a.reshape(256, 512)),
        ("copy", lambda a: a.t().contiguous() + 1e-3),
    ],
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_wrong_kernels_are_caught(op: str, kernel: Any, dtype: str) -> None:
    assert check_kernel(torch, "cpu", op, dtype, kernel)["status"] == "wrong"


def test_half_precision_in_a_float32_kernel_is_caught() -> None:
    assert (
        check_kernel(torch, "cpu", "matmul", "float32", lambda a, b: a.bfloat16() @ b.bfloat16())["status"] == "wrong"
    )


def raises(error: Exception) -> Any:
    def kernel(*tensors: Any) -> Any:
        raise error

    return kernel


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RuntimeError("HIP error: invalid device function"), "error"),
        (RuntimeError("\"addmm_impl_cpu_\" not implemented for 'Half'"), "unsupported"),
        (NotImplementedError("no such operator"), "unsupported"),
    ],
)
def test_an_exception_is_an_outcome(error: Exception, status: str) -> None:
    found = check_kernel(torch, "cpu", "matmul", "float16", raises(error))
    assert found["status"] == status and str(error) in found["text"]


def test_every_operation_has_a_kernel() -> None:
    assert set(kernels(torch)) == set(OPS)
