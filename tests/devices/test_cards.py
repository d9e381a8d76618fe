"""The card of six machines that are not here, and of this one's failures: fed-in facts, no GPU."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

from labkit.devices import Card, KernelResult, SmokeTest, card
from labkit.devices.kernels import DTYPES, OPS
from labkit.devices.simulate import WHEELS, torch_on
from labkit.errors import LabkitError
from labkit.machine.facts import Gpu, Machine

GIB = 2**30


def machine(*gpus: Gpu, system: str = "linux", wsl: bool = False, nvidia: bool = False, apple: bool = False) -> Machine:
    return Machine(system, wsl, "arm64" if apple else "x86_64", (3, 12), gpus, nvidia, apple)


def gpu(gfx: str, name: str, integrated: bool = False) -> Gpu:
    return Gpu(gfx, name, integrated, "kfd")


def passed(device: str) -> SmokeTest:
    return SmokeTest(device, tuple(KernelResult(op, dtype, "ok", 0.0, 0.1) for dtype in DTYPES for op in OPS))


MI300X = machine(gpu("gfx942", "Instinct MI300X"))
RX6600 = machine(gpu("gfx1032", "Radeon RX 6600"))
TWO = machine(gpu("gfx1100", "Radeon RX 7900 XTX"), gpu("gfx1036", "Radeon Graphics", True))
NONE = machine()


def text(shown: Card) -> str:
    return " ".join(str(shown).split())


def test_mi300x() -> None:
    shown = card(torch_on(MI300X, "rocm7.2"), smoke=passed("cuda:0"), machine=MI300X)
    assert (
        shown.device == "cuda:0"
        and shown.build == "rocm"
        and shown.gfx == "gfx942"
        and shown.ready
        and not shown.advice
    )
    assert "gfx942 (CDNA3)" in text(shown) and "this torch lists gfx942" in text(shown)
    assert "native: float32, tf32, bfloat16, float16, fp8" in text(shown)
    assert "9 of 9 kernels" in text(shown) and "labkit.device() is 'cuda:0'" in text(shown)


def test_rx6600_with_a_wheel_that_lacks_its_target() -> None:
    failed = tuple(
        KernelResult(op, dtype, "error", None, 0.1, "HIP error: invalid device function")
        for dtype in DTYPES
        for op in OPS
    )
    test = SmokeTest(
        "cuda:0", failed, torch_on(RX6600, "rocm7.2"), "9 of 9 kernels fail on 'cuda:0'", "install another torch"
    )
    shown = card(test.facts, smoke=test, machine=RX6600)
    assert shown.device == "cpu" and shown.gfx == "gfx1032"
    assert "this torch has none for gfx1032" in text(shown) and "FAILED: 0 of 9" in text(shown)
    assert "labkit.device() is 'cpu' instead of 'cuda:0'" in text(shown) and "install another torch" in shown.advice[0]


def test_rx6600_with_amds_wheel_has_kernels_but_no_bfloat16() -> None:
    shown = card(torch_on(RX6600, "amd"), smoke=passed("cuda:0"), machine=RX6600)
    assert shown.device == "cuda:0" and "this torch lists gfx1032" in text(shown)
    assert "emulated (works, saves no time): bfloat16" in text(shown)
    assert "is_bf16_supported() says True, as it always does on ROCm" in text(shown)


def test_a_discrete_and_an_integrated_gpu() -> None:
    facts = torch_on(TWO, "rocm7.2")
    shown = card(facts, machine=TWO)
    assert shown.device == "cuda:0" and shown.gfx == "gfx1100"
    assert "also there cuda:1 · Radeon Graphics" in text(shown) and "smoke test not run" in text(shown)


@pytest.mark.parametrize("wheel", ["cpu", "cuda"])
def test_an_amd_gpu_with_a_build_that_cannot_drive_it(wheel: str) -> None:
    shown = card(torch_on(MI300X, wheel), smoke=passed("cpu"), machine=MI300X)
    assert shown.device == "cpu" and shown.ready
    assert f"this is a {wheel.upper()} build, which cannot drive an AMD GPU" in text(shown)
    assert any("chooses the build for it" in sentence for sentence in shown.advice)


def test_an_nvidia_gpu() -> None:
    facts = {
        **torch_on(NONE, "cuda"),
        "available": True,
        "devices": [
            {
                "index": 0,
                "name": "NVIDIA H200",
                "gfx": None,
                "capability": [9, 0],
                "memory_bytes": 139 * GIB,
                "integrated": False,
            }
        ],
    }
    shown = card(facts, smoke=passed("cuda:0"), machine=machine(nvidia=True))
    assert shown.gfx == "sm_90" and "compute capability 9.0 (NVIDIA)" in text(shown) and "139.0 GiB" in text(shown)
    assert "native: float32, tf32, float16, bfloat16, fp8" in text(shown)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (
            {"avx2": True, "avx512_bf16": False, "avx512_fp16": False},
            "emulated (works, saves no time): float16, bfloat16",
        ),
        (
            {"avx512_bf16": True, "avx512_fp16": False},
            "native: float32, bfloat16 · emulated (works, saves no time): float16",
        ),
        ({"amx_bf16": True, "amx_fp16": True}, "native: float32, float16, bfloat16"),
        ({}, "not known: float16, bfloat16"),
    ],
)
def test_a_cpu_says_what_its_flags_say(flags: dict[str, bool], words: str) -> None:
    facts = torch_on(NONE, "cpu")
    facts["cpu"]["flags"] = flags
    shown = card(facts, smoke=passed("cpu"), machine=NONE)
    assert words in text(shown) and shown.build == "cpu" and not shown.advice and "the system shows none" in text(shown)


def test_no_torch_at_all() -> None:
    shown = card(
        {},
        smoke=SmokeTest(None, problem="torch is not installed in this Python", remedy="run the set-up"),
        machine=MI300X,
    )
    assert shown.device is None and shown.build is None and not shown.ready
    assert "torch is not installed" in text(shown) and "What to do: run the set-up." in shown.advice[0]


def test_a_rocm_torch_that_sees_nothing() -> None:
    facts = {**torch_on(MI300X, "rocm7.2"), "available": False, "devices": []}
    shown = card(facts, machine=MI300X)
    assert "is_available() is False" in text(shown) and any(
        "/dev/kfd and groups" in sentence for sentence in shown.advice
    )


def test_an_apple_gpu() -> None:
    shown = card(torch_on(machine(system="macos", apple=True), "cpu"), machine=machine(system="macos", apple=True))
    assert (
        shown.device == "cpu"
        and "macOS" in text(shown)
        and any("LABKIT_DEVICE=mps" in sentence for sentence in shown.advice)
    )


def test_an_override_is_shown_and_one_that_cannot_be_obeyed_is_explained() -> None:
    facts = torch_on(MI300X, "rocm7.2", env={"LABKIT_DEVICE": "rocm"})
    shown = card(facts, machine=MI300X, override="rocm")
    assert "LABKIT_DEVICE=rocm" in text(shown) and "LABKIT_DEVICE cannot be obeyed" in text(shown) and not shown.ready
    assert card(facts, machine=MI300X, override="cpu").device == "cpu"


def test_a_gfx_override_is_a_warning() -> None:
    shown = card(torch_on(RX6600, "rocm7.2", env={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}), machine=RX6600)
    assert any("claim another target" in sentence and "unset it" in sentence for sentence in shown.advice)


def test_float32_that_fails_on_the_only_device_is_not_ready() -> None:
    failed = tuple(KernelResult(op, "float32", "wrong", 0.5, 0.1, "off") for op in OPS)
    test = SmokeTest("cpu", failed, problem="3 of 3 kernels give wrong numbers on 'cpu'", remedy="reinstall")
    shown = card(torch_on(NONE, "cpu"), smoke=test, machine=NONE)
    assert not shown.ready and "float32 kernels do not work" in text(shown)


def test_a_simulated_card_says_so() -> None:
    shown = card(torch_on(MI300X, "rocm7.2"), machine=MI300X, simulated="mi300x")
    assert (
        shown.simulated
        and "Simulated machine: mi300x" in str(shown)
        and "not run: this machine is simulated" in text(shown)
    )
    assert "Simulated machine" in shown._repr_html_() and "dashed" in shown._repr_html_()


class _Balance(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("wheel", WHEELS)
def test_html_is_balanced_and_escapes(wheel: str) -> None:
    nasty = machine(gpu("gfx1032", "<script>alert('x')</script> & Co"))
    shown = card(torch_on(nasty, wheel, env={"HIP_VISIBLE_DEVICES": "<b>0</b>"}), machine=nasty)
    html = shown._repr_html_()
    parser = _Balance()
    parser.feed(html)
    assert not parser.open and "script" not in parser.tags and "b" not in parser.tags
    assert "&lt;script&gt;" in html and "&amp; Co" in html
    assert "background:#" not in html and "color:#000" not in html  # page colours, so that a dark theme stays readable


def test_text_is_never_wider_than_a_terminal_of_120() -> None:
    for wheel in WHEELS:
        assert max(map(len, str(card(torch_on(TWO, wheel), machine=TWO)).splitlines())) <= 120


def test_a_wheel_that_is_not_simulated() -> None:
    with pytest.raises(LabkitError, match="no simulated wheel"):
        torch_on(NONE, "rocm99")
