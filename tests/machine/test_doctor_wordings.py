"""How people say it: faults that only words prove, in many wordings, and healthy machines that use the same words."""

# ruff: noqa: E501  (a wording stands whole)

from __future__ import annotations

from typing import Any

import pytest

from labkit.machine import doctor
from labkit.machine.evidence import from_case

Facts = dict[str, Any] | None

ROCM: Facts = {"version": "2.9.1+rocm7.2", "hip": "7.2.26015", "cuda_available": True, "kernel_ok": True}
HALO: Facts = {"version": "2.7.1+rocm6.4", "hip": "6.4.43484", "cuda_available": True, "gcn_arch_names": ["gfx1151"]}
MI250X: Facts = {
    "version": "2.13.0+rocm7.13",
    "hip": "7.13.26100",
    "cuda_available": True,
    "kernel_ok": True,
    "gcn_arch_names": ["gfx90a:sramecc+:xnack-"] * 8,
}

WORDS: tuple[tuple[str, Facts, str], ...] = (
    (
        "miopen-warmup",
        ROCM,
        "Every time I change the batch size from 64 to 128 it waits a long long time before the first batch begins to run. After that it trains at 301 images/sec.",
    ),
    (
        "miopen-warmup",
        ROCM,
        "Whisper on my 7900 XTX: the first transcription of each audio length takes about 40 seconds, transcribing the same file again takes 1.2 s.",
    ),
    (
        "miopen-warmup",
        ROCM,
        "epoch 1: 312.4 s\nepoch 2: 21.3 s\nepoch 3: 21.1 s\nwhy is the first epoch so slow on ROCm?",
    ),
    (
        "miopen-warmup",
        ROCM,
        "per generation 2433 ms with a text it has not seen, repeat of same text 92 ms. It seems to compile a kernel per shape.",
    ),
    (
        "miopen-warmup",
        ROCM,
        "VAE decode hangs for two minutes whenever I pick a new resolution in ComfyUI, the next image at this resolution is done in 3 seconds",
    ),
    (
        "perf-below-reference",
        ROCM,
        "After upgrading to rocm7.1.1 the 7900 XTX only does FP16: 48 TFLOPS in my matmul script; with 6.4 it was 101 TFLOPS.",
    ),
    (
        "perf-below-reference",
        ROCM,
        "aten::mm got 40% slower going from PyTorch 2.6 to 2.7 on gfx1100. 4096x4096 fp16 matmul: 61 TFLOPS before, 37 TFLOPS now.",
    ),
    (
        "perf-below-reference",
        ROCM,
        "Matrix 4096: 9060 XT 31.2 ms, old RX 6600 22.5 ms. GEMM on the new card is slower than on the old one, about 4.4 TFLOPS.",
    ),
    ("perf-below-reference", ROCM, "My W7900 reaches 55 TFLOP/s in bf16 GEMM where the data sheet promises 122."),
    (
        "numerics-suspect",
        ROCM,
        "Generated images are just black. The latents are all nan, with --no-half and in fp32 too.",
    ),
    (
        "numerics-suspect",
        ROCM,
        "loss is nan from the first step, I tried float32 and bf16 and float16, the result is the same for each. On CPU it trains fine.",
    ),
    ("numerics-suspect", ROCM, "x.sum() on the GPU returns 3.4028e+38, on the CPU 12.7"),
    (
        "numerics-suspect",
        ROCM,
        "output of the encoder on cuda contains NaN regardless of dtype, even with full precision; cpu is ok",
    ),
    (
        "hipblaslt-wrong-results",
        ROCM,
        "(a.cuda()@b.cuda()).cpu() vs a@b: max abs error 37.2. With TORCH_BLAS_PREFER_HIPBLASLT=0 the error is 1.1e-4.",
    ),
    (
        "hipblaslt-wrong-results",
        ROCM,
        "torch.matmul on gfx1201 silently gives 33 percent zeros; torch.allclose(gpu, cpu) is False. When I export TORCH_BLAS_PREFER_HIPBLASLT=0 it is True.",
    ),
    (
        "hipblaslt-wrong-results",
        ROCM,
        "nn.Linear with N=9530399 gives wrong output. torch.backends.cuda.preferred_blas_library('hipblas') makes it correct.",
    ),
    (
        "hipblaslt-wrong-results",
        ROCM,
        "mismatch between GPU and CPU: 1048576 of 4194304 elements differ. The mismatch goes away after setting TORCH_BLAS_PREFER_HIPBLASLT=0.",
    ),
    (
        "rccl-scratch-reclaim",
        MI250X,
        "small all_reduce latency went from 25 us to 180 us after moving the MI250X node to ROCm 7.13, all messages below 16 MB are affected",
    ),
    (
        "rccl-scratch-reclaim",
        MI250X,
        "DDP step time doubled on our 8 GCD node since the upgrade, RCCL collectives are 6x slower than on 6.4",
    ),
    ("rccl-scratch-reclaim", MI250X, "# Avg bus bandwidth : 9.1\nall_reduce_perf was at 78 before the update"),
    (
        "rccl-scratch-reclaim",
        MI250X,
        "reduce_scatter of FSDP dominates the profile now: 0.9 ms for 4 MB, it took 0.12 ms with ROCm 7.0 (torchrun --nproc_per_node 8)",
    ),
    (
        "numa-balancing",
        ROCM,
        "torchrun on 8x MI300X: busbw jumps between 120 and 300 GB/s.\n$ cat /proc/sys/kernel/numa_balancing\n1",
    ),
    (
        "numa-balancing",
        ROCM,
        "two half all_reduce calls take twice as long as a full one\nsysctl kernel.numa_balancing\nkernel.numa_balancing = 1",
    ),
    (
        "numa-balancing",
        ROCM,
        'NCCL WARN NUMA auto balancing enabled which can lead to variability in the RCCL performance! Disable by "sudo sysctl kernel.numa_balancing=0"',
    ),
    (
        "numa-balancing",
        ROCM,
        "DDP with 4 GPUs, step time varies from 0.21 to 0.6 s. NUMA balancing is on (numa_balancing shows 1).",
    ),
    (
        "env-not-exported",
        ROCM,
        "I put HSA_OVERRIDE_GFX_VERSION=10.3.0 in my .bashrc but in Jupyter os.environ.get('HSA_OVERRIDE_GFX_VERSION') is None",
    ),
    ("env-not-exported", ROCM, "$ MIOPEN_FIND_MODE=FAST\n$ python train.py\nstill searches for minutes"),
    (
        "env-not-exported",
        ROCM,
        "export HIP_VISIBLE_DEVICES=1 is in ~/.bashrc, but the systemd service of my app does not see it: KeyError: 'HIP_VISIBLE_DEVICES'",
    ),
    (
        "env-not-exported",
        ROCM,
        "echo $PYTORCH_HIP_ALLOC_CONF prints expandable_segments:True in my shell, but the process in PyCharm does not have it",
    ),
    (
        "import-hang",
        None,
        "import torch hangs forever on a node without amdgpu loaded, no traceback, 2.12.1+rocm7.2 imports cleanly",
    ),
    (
        "import-hang",
        None,
        'python -c "import torch" just sits there, I have to kill it. py-spy shows dlopen -> librocprofiler-sdk.so -> std::thread::join',
    ),
    ("import-hang", None, "After >>> import torch the prompt does not come back. Ctrl-C does nothing."),
    ("import-hang", None, "Importing torch deadlocks in a static initializer of libtorch_rocshmem.so"),
    (
        "nan-bf16-attention",
        HALO,
        "Gemma-3 fine-tuning on Strix Halo: NaN losses from the first step, dtype bfloat16, flash attention 2",
    ),
    (
        "nan-bf16-attention",
        HALO,
        "F.scaled_dot_product_attention(q.bfloat16(), ...) -> tensor([nan, nan, nan]) ; math backend is fine",
    ),
    ("nan-bf16-attention", HALO, 'step 1 loss nan\ntorch_dtype=torch.bfloat16, attn_implementation="sdpa"'),
    ("device-index-order", ROCM, "With HIP_VISIBLE_DEVICES=1 my tensor is created on GPU3 according to rocm-smi."),
    ("device-index-order", ROCM, "I train on cuda:0 but in rocm-smi it is GPU 2 that shows 100%"),
    (
        "device-index-order",
        ROCM,
        "torch's device numbers do not match those of amd-smi: cuda:1 is the card that amd-smi calls GPU 0",
    ),
    ("device-index-order", ROCM, "set ROCR_VISIBLE_DEVICES=2 and another GPU (number 5) heats up"),
    (
        "miopen-warmup",
        ROCM,
        "Each new image size costs me half a minute on the 6700 XT, later images of that size are instant.",
    ),
    ("miopen-warmup", ROCM, "first inference 58 s, second inference 0.4 s (resnet50, rocm 7.2)"),
    (
        "miopen-warmup",
        ROCM,
        "YOLO training: when the multi-scale augmentation switches to another resolution the step stalls, known resolutions are quick",
    ),
    (
        "perf-below-reference",
        ROCM,
        "GEMM 8192 bf16 on MI300X: 410 TFLOPS. The published figure is 1307, I would expect at least 700.",
    ),
    ("perf-below-reference", ROCM, "fp16 matmul dropped to 30 TFLOPS after the driver update, used to be 88"),
    ("numerics-suspect", ROCM, "Every tensor that comes back from the GPU is nan, also in fp32."),
    (
        "hipblaslt-wrong-results",
        ROCM,
        "With hipBLASLt the linear layer is off by 12.5, TORCH_BLAS_PREFER_HIPBLASLT=0 brings the difference down to 3e-5",
    ),
    (
        "rccl-scratch-reclaim",
        MI250X,
        "all_gather of 1 MB takes 300 us on the MI250X box, before the upgrade it was 45 us",
    ),
    ("numa-balancing", ROCM, "vLLM on 8x MI300X is uneven. /proc/sys/kernel/numa_balancing is 1"),
    (
        "env-not-exported",
        ROCM,
        "I added export HSA_OVERRIDE_GFX_VERSION=10.3.0 to ~/.zshrc, yet VS Code's kernel doesn't see it",
    ),
    ("import-hang", None, "When I import torch the terminal freezes, even Ctrl+C is ignored"),
    ("import-hang", None, "import torch never finishes inside the container"),
    ("nan-bf16-attention", HALO, "loss=nan in bf16 with flash attention on the 8060S, eager attention works"),
    ("device-index-order", ROCM, "I asked for cuda:2, rocm-smi shows GPU[0] at 100 %"),
)

HEALTHY = (
    "it trains fine: epoch 1: 22.0 s, epoch 2: 21.4 s, epoch 3: 21.2 s",
    "first epoch 12.1 s, second epoch 11.9 s, all good",
    "matmul 4096 fp16: 95 TFLOPS, as in the reference table, nothing to complain",
    "import torch takes 4 seconds and then works",
    "torch.allclose(gpu, cpu) is True with and without TORCH_BLAS_PREFER_HIPBLASLT=0",
    "kernel.numa_balancing = 0, all_reduce_perf at 310 GB/s",
    "I exported HSA_ENABLE_SDMA=0 and the program sees it",
    "loss goes down from 2.3 to 0.4, no nan",
    "cuda:0 is GPU 0 in rocm-smi, as expected",
    "all_reduce busbw 82 GB/s, same as before",
    "How do I change the resolution of my monitor? It is a new one and the first time I use it",
    "The first lesson takes minutes to read, then it is quick.",
    "bf16 training on the GPU runs well, loss 2.1 after step 1",
    "my accuracy differs from the book by 0.3 percent",
    "the GPU is slower than my friend's because it is a laptop chip",
    "step 1 0.21 s\nstep 2 0.20 s\nstep 3 0.22 s",
    "python hangs when I call dataloader with num_workers=8, import works",
    "amd-smi lists GPU 0 and GPU 1, torch lists cuda:0 and cuda:1, I use both",
    "I want a new resolution of 1024, and it works at once",
    "2 GPUs with DDP are 1.9 times as fast as one",
    "hangs in the dataloader; import torch works",
    "HIP_VISIBLE_DEVICES is not set, the GPU works, loss 0.3 at step 10",
    "the first image was slow to load from the disk, the next one was quick",
    "training is as fast as before, 88 TFLOPS in the matmul",
    "I will buy another GPU with more memory",
    "resnet50 trains at 310 images/s",
    "all_reduce 300 GB/s, was 298 GB/s last week",
    "NUMA balancing is off",
    "nan values in my CSV file were removed before training",
    "the sum of all elements is 3.4e5 on both",
    "I set HSA_ENABLE_SDMA=0 in the terminal with export and python gets it",
    "cuda:0 and cuda:1 are GPU 0 and GPU 1",
    "epoch 1: 10.4 s, the learning rate changes every epoch",
    "each epoch has a different length of sequences and takes 30 s, no slowdown",
)


def _codes(symptom: str, torch: Facts) -> list[str]:
    given = {"symptom": symptom, "torch": torch, "env": {"PATH": "/usr/bin"}}
    return [finding.code for finding in doctor.diagnose(from_case({"platform": "linux", "given": given})).findings]


@pytest.mark.parametrize(("code", "torch", "symptom"), WORDS)
def test_a_wording_is_understood(code: str, torch: Facts, symptom: str) -> None:
    found = [one for one in _codes(symptom, torch) if one != "ok"]
    assert found[:1] == [code]


@pytest.mark.parametrize("symptom", HEALTHY)
def test_the_same_words_on_a_healthy_machine_raise_no_alarm(symptom: str) -> None:
    asked = {code for code, _, _ in WORDS}
    for torch in (ROCM, HALO, MI250X):
        found = _codes(symptom, torch)
        assert found[0] == "ok" and not asked & set(found)
