"""Names of kernels: demangled with the C++ runtime and without, and shortened without losing what tells them apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.profile import names
from labkit.profile.names import demangle, shorten

RMSNORM = "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassINS_27Rmsnorm2dFwdPipelineProblemIffEEEEEEEEvv"


@pytest.mark.parametrize("runtime", [True, False])
@pytest.mark.parametrize(
    ("mangled", "qualified"),
    [
        ("_Z3addPf", "add"),
        ("_ZN2at6native13reduce_kernelEv", "at::native::reduce_kernel"),
        ("_ZN12_GLOBAL__N_16kernelEi", "(anonymous namespace)::kernel"),
        ("_Z8divide_kPfPKfS1_ii.kd", "divide_k"),
    ],
)
def test_demangled_with_and_without_the_runtime(
    monkeypatch: pytest.MonkeyPatch, runtime: bool, mangled: str, qualified: str
) -> None:
    if not runtime:
        monkeypatch.setattr(names, "_runtime", lambda: None)
    demangle.cache_clear()
    assert demangle(mangled).split("(int")[0].split("(float")[0].removesuffix("()") == qualified
    demangle.cache_clear()


def test_without_the_runtime_a_short_name_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten.cache_clear()
    demangle.cache_clear()
    with_runtime = shorten(RMSNORM)
    monkeypatch.setattr(names, "_runtime", lambda: None)
    shorten.cache_clear()
    demangle.cache_clear()
    assert shorten(RMSNORM) == with_runtime == "ck_tile::kentry<Rmsnorm2dFwd>"
    shorten.cache_clear()
    demangle.cache_clear()


@pytest.mark.parametrize(
    "name", ["_Znonsense", "_Z", "Z3add", "", "_Z3addPf with blanks", "_ZN" + "2at" * 9000, "_Z99999999999x"]
)
def test_what_is_not_mangled_stays(name: str) -> None:
    assert demangle(name) == name


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >"
            "(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
            "vectorized_elementwise_kernel<CUDAFunctor_add>",
        ),
        (
            "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 1, 128, 1>(float*)",
            "CatArrayBatchedCopy",
        ),
        (
            "void at::native::elementwise_kernel<512, 1, at::native::gpu_kernel_impl<at::native::direct_copy_kernel_cuda"
            "(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda(float)#1}>(int)>(int)",
            "elementwise_kernel<direct_copy_kernel_cuda>",
        ),
        ("Cijk_Ailk_Bljk_SB_MT128x64x16_MI32x32x2x1_SN_1LDSB1_APM1", "Cijk_Ailk_Bljk_SB MT128x64x16"),
        ("Cijk_Alik_Bljk_HHS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN", "Cijk_Alik_Bljk_HHS MT256x192x64"),
        ("igemm_fwd_gtcx3_nhwc_fp16_bx0_ex0_bt128x128x32_wt32x32x8_ws1x1", "igemm_fwd_gtcx3_nhwc_fp16 128x128x32"),
        ("matmul_tiled(float const*, float const*, float*, int)", "matmul_tiled"),
        ("void rocprim::ROCPRIM_400200_NS::detail::trampoline_kernel<rocprim::ROCPRIM_400200_NS::detail::wrapped_reduce_config<int>>(int)",
         "rocprim::trampoline_kernel<reduce>"),
        ("ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_Generic_1"),
        ("triton_poi_fused_add_gelu_1", "triton_poi_fused_add_gelu_1"),
        ("void cut_off<float, at::native::Add", "cut_off"),
        ("attn_fwd.kd", "attn_fwd"),
    ],
)  # fmt: skip
def test_shortened(name: str, short: str) -> None:
    assert shorten(name) == short


@given(st.text(max_size=200))
def test_any_text_gives_a_short_text(text: str) -> None:
    assert len(shorten(text)) <= max(72, len(text)) and isinstance(demangle(text), str)


@given(st.text(alphabet="_ZNSKILE0123456789abtv", max_size=80).map("_Z".__add__))
def test_what_looks_mangled_never_raises(text: str) -> None:
    assert isinstance(shorten(text), str) and isinstance(names._qualified(text), str | None)
