"""Wrong numbers, and right ones that come slowly."""

from __future__ import annotations

import re

from labkit.machine.evidence import Evidence, labkit_command
from labkit.machine.rules import Match, rule, seen, setting

_FLOAT = r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
_NAN = r"\bnan\b"


@rule("hipblaslt-wrong-results", explains=("numerics-suspect", "perf-below-reference"))
def hipblaslt_wrong_results(e: Evidence) -> Match | None:
    switched = e.quote(r"TORCH_BLAS_PREFER_HIPBLASLT=0|preferred_blas_library\(['\"](?:hip|cu)blas['\"]\)", "")
    differs = e.quote(
        r"\.sub\(|allclose|differ|mismatch|wrong|\.abs\(\)\.max|off by|disagree|deviat|max(?:imum)? (?:abs(?:olute)? )?(?:error|difference)",
        "",
    )
    values = [float(v) for v in re.findall(r"tensor\(([\d.]+(?:e[+-]?\d+)?)", e.said)]
    values += [
        float(v)
        for v in re.findall(rf"(?:error|difference|diff|differs?|off by|deviat\w+)\b[^\n\d]{{0,40}}{_FLOAT}", e.said)
    ]
    values += [float(v) for v in re.findall(rf"HIPBLASLT=0\W{{1,4}}(?:[a-z]+\W+){{0,4}}{_FLOAT}", e.said)]
    cured = len(values) >= 2 and max(values) > 50 * max(min(values), 1e-12)
    named = e.match(r"hipblaslt")
    if not (
        switched
        and differs
        and (
            cured
            or (e.match(r"\bTrue\b") and e.match(r"\bFalse\b"))
            or e.match(r"correct|agree|goes away|disappear|vanish|\bgone\b|fixe[sd]|cure[sd]|solve[sd]|helps")
        )
    ) and not (named and differs and cured):
        return None
    return Match(
        seen(
            differs,
            switched,
            f"differences seen: {', '.join(f'{value:g}' for value in values[:4])}" if values else None,
        ),
        (
            f"{setting(e, 'TORCH_BLAS_PREFER_HIPBLASLT', '0')}   # until a release in which GPU and CPU agree; then update",
        ),
        ('python -c "import torch; a=torch.randn(2048,2048); print((a.cuda()@a.cuda()).cpu().sub(a@a).abs().max())"',),
    )


@rule("nan-bf16-attention", explains=("numerics-suspect",))
def nan_bf16_attention(e: Evidence) -> Match | None:
    facts = e.torch_facts
    if "gfx1151" not in e.real_gfx or facts is None or facts.rocm is None or facts.rocm >= (7, 11):
        return None
    line = e.quote(_NAN, "")
    if not line or not e.match(r"\bbf16\b|bfloat16"):
        return None
    return Match(
        (e.quote(r"bf16|bfloat16|attn", "") or "", line, f"gfx1151 with ROCm {'.'.join(map(str, facts.rocm))}"),
        (
            "Use attn_implementation='eager', or the math path: with torch.nn.attention.sdpa_kernel(SDPBackend.MATH). Then a build for ROCm 7.11 or newer.",
        ),
        ("The loss of the first ten steps is finite.",),
        likely=not e.match(r"attn|attention|sdpa|flash"),
    )


@rule("numerics-suspect")
def numerics_suspect(e: Evidence) -> Match | None:
    nan = e.quote(_NAN, "")
    huge = e.quote(r"\b\d(?:\.\d+)?e\+?3[5-9]\b", "")
    with_float32 = e.match(r"(?:float32|fp32|full precision|--no-half|precision full)")
    if e.match(r"\bbf16\b") and e.match(r"CPU: ") and not huge:
        return None
    if not huge and not (
        nan
        and with_float32
        and e.match(
            r"all\W*nan|\ball (?:give|are|return|of)|same|also|too|still|every|alike|whatever|regardless|any dtype|both"
        )
    ):
        return None
    return Match(
        seen(nan, huge),
        (
            "Compare a small matmul and a small convolution on the GPU with the same on the CPU: "
            f"{labkit_command(e.is_windows)} describe does it and names the one that differs.",
            "Then try another build; with a processor's graphics beside the card, hide it: HIP_VISIBLE_DEVICES=0",
        ),
        (f"{labkit_command(e.is_windows)} describe   # every kernel 'ok'",),
        likely=True,
    )


@rule("sdpa-math-fallback", explains=("perf-below-reference",))
def sdpa_math_fallback(e: Evidence) -> Match | None:
    line = e.quote(
        r"(?:Flash|Mem) Efficient attention on Current AMD GPU is still experimental|No available kernel\. Aborting execution|not compiled with memory efficient attention",
        "",
    )
    if not line or (e.env or {}).get("TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL") == "1":
        return None
    how = (
        "$env:TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1 (TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1)"
        if e.is_windows
        else "export TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1"
    )
    return Match(
        (line,),
        (f"{how}   # before torch is imported; then check the numbers against the CPU",),
        ("The warning is gone, and one attention call on GPU and CPU agrees.",),
    )


@rule("perf-below-reference")
def perf_below_reference(e: Evidence) -> Match | None:
    if e.fails or e.match(r"Attempting to use hipBLASLt|out of memory|busbw") or e.content:
        return None
    rates = [float(v) for v in re.findall(r"(\d+(?:\.\d+)?) ?(?:TFLOPS?|TFLOP/s)", e.said)]
    line = e.quote(r"TFLOP|GFLOP|GEMM|matmul", "")
    compared = e.match(
        r"slower|below|instead of|expected|reference|should be|half of|regress|used to|was \d|than (?:with|before)|only \d"
    )
    others = e.match(
        rf"(?:table|others?|friend|review\w*|spec\w*|data ?sheet|brochure|AMD|vendor|web ?site|everyone|published|figures?)\b[^\n]{{0,40}}?\b(?:says?|reports?|gets?|has|have|lists?|reach\w*|is|are|promis\w+|claims?|states?|shows?|gives?|quotes?|advertis\w+)\W+(?:\w+ )?{_FLOAT}"
    )
    if others and rates:
        if min(rates) > 0.6 * float(others.group(1)):
            return None
        compared = compared or others
    pair = re.findall(r"(?:FP32|FP16|BF16|float32|float16)\W+(\d+(?:\.\d+)?)", e.said)
    values = rates or [float(v) for v in pair]
    if not line or not (compared or len(values) >= 2) or not values:
        return None
    if not compared and max(values) < 1.5 * min(values):
        return None
    return Match(
        seen(line, e.quote(r"rocm\d|slower|expected|instead", "")),
        (
            f"Try the other BLAS back end: {setting(e, 'TORCH_BLAS_PREFER_HIPBLASLT', '0')}; compare both in one run.",
            "Then TunableOp (PYTORCH_TUNABLEOP_ENABLED=1; its first run is slow), or another release.",
        ),
        (f"{labkit_command(e.is_windows)} describe, and the GEMM of lesson 03 before and after.",),
        likely=True,
    )
