"""Kernel names and launch shapes as ROCm's libraries print them, per kind of work, target and precision.

The shapes of the names are those of real profiles (rocBLAS and hipBLASLt from Tensile, MIOpen, AOTriton, RCCL, ATen);
tile sizes and register counts are plausible, not looked up: which solver a library picks differs by release.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from labkit.profile.simulate.gpus import Gpu
from labkit.profile.simulate.layers import Work

_C10 = {"fp32": "float", "fp16": "c10::Half", "bf16": "c10::BFloat16"}
_TENSILE = {"fp32": "S_B", "fp16": "HHS_BH", "bf16": "BBS_BH"}
_SHORT = {"fp32": "fp32", "fp16": "fp16", "bf16": "bf16"}


@dataclass(frozen=True)
class Kernel:
    """What a dispatch row shows besides its times. grid: work items. module: launched with hipExtModuleLaunchKernel."""

    name: str
    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    vgpr: int
    accum_vgpr: int
    sgpr: int
    lds_bytes: int
    module: bool = False


def _functor(functor: str, arrays: int, width: int) -> str:
    tail = f"std::array<char*, {arrays}ul> "
    return f"void at::native::vectorized_elementwise_kernel<{width}, {functor}, {tail}>(int, {functor}, {tail.strip()})"


def _lambda(function: str, kind: str) -> str:
    return f"at::native::{function}(at::TensorIteratorBase&)::{{lambda()#2}}::operator()() const::{{lambda({kind})#1}}"


def _foreach(functor: str, depth: int) -> str:
    inner = f"at::native::(anonymous namespace)::TensorListMetadata<{depth}>"
    call = f"at::native::(anonymous namespace)::{functor}"
    return (
        f"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<{inner}, {call}, std::plus<float>, float>"
        f"({inner}, {call}, std::plus<float>, float)"
    )


def _elementwise(kind: str, t: str) -> str | None:
    width = 4 if t == "float" else 8
    binary = f"at::native::BinaryFunctor<{t}, {t}, {t}, at::native::binary_internal::"
    found = {
        "relu": lambda: _functor(_lambda("(anonymous namespace)::launch_clamp_scalar", t), 2, width),
        "relu_backward": lambda: _functor(_lambda("threshold_kernel_impl", f"{t}, {t}"), 3, width),
        "gelu": lambda: _functor(_lambda("GeluCUDAKernelImpl", t), 2, width),
        "gelu_backward": lambda: _functor(_lambda("GeluBackwardCUDAKernelImpl", f"{t}, {t}"), 3, width),
        "add": lambda: _functor(f"at::native::CUDAFunctor_add<{t}>", 3, width),
        "add_bias": lambda: _functor(f"at::native::CUDAFunctorOnSelf_add<{t}>", 3, width),
        "divide": lambda: _functor(f"{binary}DivFunctor<float> >", 3, width),
        "compare": lambda: _functor(f"at::native::(anonymous namespace)::CompareEqFunctor<{t}>", 3, width),
    }.get(kind)
    return found() if found else None


def _native(kind: str, t: str) -> str | None:
    hidden = "void at::native::(anonymous namespace)::"
    sum_of = f"at::native::ReduceOp<{t}, at::native::func_wrapper_t<{t}, at::native::sum_functor<{t}, float, {t}> >, unsigned int, {t}, 4, 4>"
    mean_of = f"at::native::ReduceOp<{t}, at::native::MeanOps<{t}, float, float, {t}>, unsigned int, {t}, 4, 4>"
    return {
        "sum": f"void at::native::reduce_kernel<128, 4, {sum_of} >({sum_of})",
        "mean": f"void at::native::reduce_kernel<512, 1, {mean_of} >({mean_of})",
        "max_pool": f"{hidden}max_pool_forward_nchw<{t}>(int, {t} const*, long, long, long, int, int, int, int, int, int, int, int, int, int, {t}*, long*)",
        "max_pool_backward": f"{hidden}max_pool_backward_nchw<{t}, float>({t} const*, long const*, int, long, long, long, int, int, int, int, int, int, int, int, int, int, {t}*)",
        "layer_norm": f"{hidden}vectorized_layer_norm_kernel<{t}, float, false>(int, float, {t} const*, {t} const*, {t} const*, float*, float*, {t}*)",
        "layer_norm_backward": f"{hidden}layer_norm_grad_input_kernel<{t}, float, false>({t} const*, {t} const*, float const*, float const*, {t} const*, {t}*, int)",
        "layer_norm_weights": f"{hidden}cuComputePartGradGammaBeta<{t}, float, false>({t} const*, {t} const*, long, long, float const*, float const*, float*, float*)",
        "gather": "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)",
        "embedding_backward": f"{hidden}embedding_backward_feature_kernel<{t}, float, long>(long const*, {t} const*, {t}*, int, long, int)",
        "log_softmax": f"void (anonymous namespace)::softmax_warp_forward<{t}, {t}, float, 10, true, false>({t}*, {t} const*, int, int, int, bool const*, int, bool)",
        "log_softmax_backward": f"void (anonymous namespace)::softmax_warp_backward<{t}, {t}, float, 10, true, false>({t}*, {t} const*, {t} const*, int, int, int, bool const*)",
        "nll_loss": f"{hidden}nll_loss_forward_reduce_cuda_kernel_2d<{t}, float, long>({t}*, {t}*, {t} const*, long const*, {t} const*, bool, long, long, long, long)",
        "nll_loss_backward": f"{hidden}nll_loss_backward_reduce_cuda_kernel_2d<{t}, long>({t}*, {t} const*, long const*, {t} const*, {t} const*, bool, int, int, long, long)",
        "foreach_scale": _foreach("BinaryOpScalarFunctor<float, 1, 1, 0>", 1),
        "foreach_add": _foreach("BinaryOpListAlphaFunctor<float, 2, 2, 0>", 2),
        "all_reduce": "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)",
        "fill": "__amd_rocclr_fillBufferAligned",
    }.get(kind)


def _tile(work: Work) -> tuple[int, int]:
    rows, columns = work.shape[0], work.shape[1]  # type: ignore[misc]
    return (16 if rows < 32 else 64 if rows < 2048 else 128), (16 if columns < 32 else 64 if columns < 1024 else 128)


def _tensile(work: Work, gpu: Gpu, precision: str) -> str:
    high, wide = _tile(work)
    layout = {"aten::addmm": "Alik_Bljk", "aten::mm": "Ailk_Bjlk"}.get(work.operator, "Ailk_Bljk")
    isa = gpu.gfx.removeprefix("gfx")
    matrix = (
        "MI16x16x1_"
        if gpu.wavefront == 64
        else "WMMA16x16x16_"
        if isa.startswith(("11", "12")) and precision != "fp32"
        else ""
    )
    tail = f"GRVWA8_GRVWB8_GSUAMB_GLS0_ISA{isa}_IU1_K1_LRVW8_PGR2_PLR1_SVW4_VWA4_VWB1_WS{gpu.wavefront}_WG32_8_1"
    return f"Cijk_{layout}_{_TENSILE[precision]}_Bias_HA_S_SAV_UserArgs_MT{high}x{wide}x32_{matrix}SN_LDSB1_AFC1_CLR1_EPS0_{tail}"


def _convolution(work: Work, gpu: Gpu, precision: str) -> str:
    way = {"conv_forward": "fwd", "conv_data": "bwd", "conv_weight": "wrw"}[work.kind]
    high, wide = _tile(work)
    if gpu.wavefront == 64:
        generation = "gtcx2" if gpu.gfx == "gfx90a" else "gtcx" if gpu.gfx == "gfx908" else "gtcx3"
        return f"igemm_{way}_{generation}_nhwc_{_SHORT[precision]}_bx0_ex1_bt{high}x{wide}x16_wt16x16x4_ws1x1_wr2x2_ta1x1x4x1_1x16x1x16_tb1x1x4x1_1x16x1x16"
    family = {"gfx10": "gfx10", "gfx11": "gfx11", "gfx12": "gfx12"}[gpu.gfx[:5]]
    if way == "wrw":
        return (
            f"miopenGcnAsmConv1x1WrW_{family}_{_SHORT[precision]}"
            if work.shape[1] < 64
            else f"miopenSp3AsmConv_v30_3_1_{family}_{_SHORT[precision]}_wrw_f3x2_stride1"
        )  # type: ignore[misc]
    return f"miopenSp3AsmConv_v30_3_1_{family}_{_SHORT[precision]}_f2x3_stride1"


def name_of(work: Work, gpu: Gpu, precision: str) -> str:
    """The kernel's name."""
    t = _C10[precision]
    if work.kind == "gemm":
        return _tensile(work, gpu, precision)
    if work.kind in ("conv_forward", "conv_data", "conv_weight"):
        return _convolution(work, gpu, precision)
    fixed = {
        "batch_norm": "MIOpenBatchNormFwdTrainSpatial",
        "batch_norm_backward": "MIOpenBatchNormBwdSpatial",
        "attention_forward": "attn_fwd",
        "attention_keys": "bwd_kernel_dk_dv",
        "attention_queries": "bwd_kernel_dq",
    }
    found = fixed.get(work.kind) or _elementwise(work.kind, t) or _native(work.kind, t)
    if found is None:
        raise ValueError(f"no kernel name for work of kind {work.kind!r}")
    return found


_MODULE = ("gemm", "conv_forward", "conv_data", "conv_weight", "batch_norm", "batch_norm_backward")
# kind -> work items per group, numbers per item, vector registers, scalar registers, LDS bytes
_SHAPE = {
    "sum": (128, 16, 28, 80, 1024),
    "mean": (512, 16, 16, 80, 1024),
    "batch_norm": (256, 16, 32, 48, 2112),
    "batch_norm_backward": (256, 16, 40, 48, 2112),
    "layer_norm": (256, 8, 12, 48, 512),
    "attention_forward": (256, 32, 128, 80, 32768),
    "attention_keys": (256, 32, 192, 96, 49152),
    "attention_queries": (256, 32, 168, 96, 49152),
    "foreach_scale": (512, 4, 24, 64, 0),
    "foreach_add": (512, 4, 32, 64, 0),
    "all_reduce": (256, 16384, 92, 112, 37664),
    "nll_loss": (32, 32, 12, 48, 256),
}
_PLAIN = (256, 4, 12, 32, 0)


@lru_cache(maxsize=4096)
def kernel_of(work: Work, gpu: Gpu, precision: str) -> Kernel:
    """Name and launch shape of the kernel that does this work on this GPU."""
    name = name_of(work, gpu, precision)
    if work.shape and work.kind in _MODULE:
        high, wide = _tile(work)
        groups = max(1, -(-work.shape[0] // high)) * max(1, -(-work.shape[1] // wide))
        accumulators = high * wide // 256 if gpu.wavefront == 64 else 0
        lds = 2 * 32 * (high + wide) * (4 if precision == "fp32" else 2)
        return Kernel(name, (groups * 256, 1, 1), (256, 1, 1), 64 + high // 2, accumulators, 96, lds, True)
    group, each, vgpr, sgpr, lds = _SHAPE.get(work.kind, _PLAIN)
    groups = max(1, min(-(-work.outputs // (group * each)), 2**21))
    return Kernel(name, (groups * group, 1, 1), (group, 1, 1), vgpr, 0, sgpr, lds, work.kind in _MODULE)
