"""The choice of a build: every target on every system against a table, then the cases that a table does not show."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from labkit.catalog.gfx import TARGETS
from labkit.errors import LabkitError
from labkit.machine.facts import Gpu, Machine
from labkit.setup.plan import TorchPlan, plan

TABLE = Path(__file__).with_name("plan_table.md")
CPU = "https://download.pytorch.org/whl/cpu"
ROCM72 = "https://download.pytorch.org/whl/rocm7.2"
AMD = "https://stable.repo.amd.com/rocm/whl-next/"
MULTI_ARCH = "https://repo.amd.com/rocm/whl-multi-arch/"
RANGES = ("torch>=2.10,<2.15", "torchvision>=0.25,<0.30")
PYTHONS = [(3, minor) for minor in range(10, 15)]


def rows() -> dict[str, dict[str, str]]:
    """The cells of the table by target and system."""
    lines = [
        [cell.strip() for cell in line.strip("|\n ").split("|")]
        for line in TABLE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| gfx")
    ]
    return {cells[0]: dict(zip(("linux", "windows", "wsl"), cells[1:4], strict=True)) for cells in lines}


def gpu(gfx: str | None, integrated: bool | None = None, name: str | None = None, found_by: str = "kfd") -> Gpu:
    known = TARGETS.get(gfx or "")
    return Gpu(gfx, name, known.integrated if known and integrated is None else integrated, found_by)


def computer(*gpus: Gpu, system: str = "linux", **changes: object) -> Machine:
    wsl = system == "wsl"
    base = Machine(
        "linux" if wsl else system,
        wsl,
        "x86_64",
        (3, 12),
        tuple(sorted(gpus, key=lambda one: bool(one.integrated))),
        False,
        False,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def words(chosen: TorchPlan) -> str:
    return " ".join(chosen.reasons)


def expected(word: str, gfx: str, system: str) -> tuple[str, str | None, tuple[str, ...]]:
    if word == "rocm7.2":
        return "rocm", ROCM72, RANGES
    if word == "amd":
        extra = f"[device-{gfx}]"
        return "rocm", AMD, (f"torch{extra}==2.13.0+rocm10.0.0", f"torchvision{extra}==0.28.0+rocm10.0.0")
    assert word == "cpu", word
    return "cpu", None if system == "windows" else CPU, RANGES


def test_the_table_has_every_target_once() -> None:
    assert list(rows()) == list(TARGETS)


@pytest.mark.parametrize("python", PYTHONS, ids=lambda version: f"{version[0]}.{version[1]}")
@pytest.mark.parametrize("system", ["linux", "windows", "wsl"])
@pytest.mark.parametrize("gfx", list(TARGETS))
def test_every_target_on_every_system(gfx: str, system: str, python: tuple[int, int]) -> None:
    found_by = {"linux": "kfd", "windows": "Windows display adapters", "wsl": "Windows display adapters"}[system]
    chosen = plan(computer(gpu(gfx, found_by=found_by), system=system, python=python))
    assert (chosen.build, chosen.index_url, chosen.requirements) == expected(rows()[gfx][system], gfx, system)
    assert chosen.gfx == ((gfx,) if chosen.build == "rocm" else ())
    assert gfx in words(chosen)
    if chosen.build == "cpu":
        assert "CPU" in words(chosen) and "SUPPORTED_GPUS" in words(chosen)


@pytest.mark.parametrize("gfx", list(TARGETS))
def test_no_plan_ever_speaks_of_an_override(gfx: str) -> None:
    for system in ("linux", "windows", "wsl"):
        chosen: TorchPlan | None = plan(computer(gpu(gfx), system=system))
        while chosen:
            assert "OVERRIDE" not in words(chosen).upper()
            assert "--extra-index-url" not in chosen.pip_index_arguments()
            chosen = chosen.fallback


def test_pip_gets_one_index_or_its_own() -> None:
    assert plan(computer(gpu("gfx1100"))).pip_index_arguments() == ["--index-url", ROCM72]
    assert plan(computer(system="windows")).pip_index_arguments() == []


# ------------------------------------------------------------------------------------------------------- without a GPU


def test_nothing_on_linux_is_the_cpu_index_with_the_default_index_behind_it() -> None:
    chosen = plan(computer())
    assert (chosen.build, chosen.index_url, chosen.requirements) == ("cpu", CPU, RANGES)
    assert chosen.fallback is not None
    assert (chosen.fallback.build, chosen.fallback.index_url) == ("default", None)
    assert "large CUDA build" in words(chosen.fallback)
    assert chosen.fallback.download_bytes == 3_000_000_000
    assert (
        chosen.installed_bytes
        and chosen.fallback.installed_bytes
        and chosen.installed_bytes < chosen.fallback.installed_bytes
    )


@pytest.mark.parametrize("architecture", ["x86_64", "arm64"])
def test_nothing_on_windows_is_pips_default_index(architecture: str) -> None:
    chosen = plan(computer(system="windows", architecture=architecture))
    assert (chosen.build, chosen.index_url, chosen.fallback) == ("cpu", None, None)


def test_apple_is_pips_default_index() -> None:
    chosen = plan(computer(system="macos", architecture="arm64", apple=True))
    assert (chosen.build, chosen.index_url) == ("default", None)
    assert "mps" in words(chosen)


def test_a_mac_without_apple_silicon_is_told_that_there_is_nothing() -> None:
    chosen = plan(computer(gpu("gfx1010"), system="macos"))
    assert chosen.index_url is None and "stopped" in words(chosen)


def test_nvidia_is_pips_default_index_on_linux() -> None:
    chosen = plan(computer(nvidia=True))
    assert (chosen.build, chosen.index_url, chosen.requirements) == ("cuda", None, RANGES)


def test_nvidia_on_windows_is_told_that_the_default_index_has_a_cpu_build() -> None:
    chosen = plan(computer(system="windows", nvidia=True))
    assert (chosen.build, chosen.index_url) == ("default", None)
    assert "CPU build for Windows" in words(chosen)


def test_nvidia_in_wsl_is_pips_default_index() -> None:
    assert plan(computer(system="wsl", nvidia=True)).build == "cuda"


# ------------------------------------------------------------------------------------------------------- several GPUs


def test_a_discrete_card_decides_before_an_integrated_one_and_it_is_said() -> None:
    chosen = plan(computer(gpu("gfx1036"), gpu("gfx1100")))
    assert chosen.gfx == ("gfx1100",) and chosen.index_url == ROCM72
    assert "gfx1036" in words(chosen) and "left aside" in words(chosen)


def test_an_integrated_gpu_is_used_where_the_discrete_one_cannot_be() -> None:
    chosen = plan(computer(gpu("gfx803", integrated=False, name="Radeon RX 580"), gpu("gfx1103")))
    assert chosen.gfx == ("gfx1103",) and chosen.index_url == AMD
    assert "Radeon RX 580" in words(chosen)


def test_equal_cards_need_one_extra() -> None:
    chosen = plan(computer(gpu("gfx1032"), gpu("gfx1032")))
    assert chosen.requirements[0] == "torch[device-gfx1032]==2.13.0+rocm10.0.0"
    assert "2 GPUs" in words(chosen)


def test_different_cards_in_pytorchs_wheels_need_nothing_more() -> None:
    chosen = plan(computer(gpu("gfx1100"), gpu("gfx906")))
    assert chosen.index_url == ROCM72 and chosen.gfx == ("gfx1100", "gfx906")


def test_different_cards_get_all_extras_where_only_amd_has_both() -> None:
    chosen = plan(computer(gpu("gfx1100"), gpu("gfx1032")))
    assert chosen.index_url == AMD
    assert chosen.requirements == (
        "torch[device-gfx1100,device-gfx1032]==2.13.0+rocm10.0.0",
        "torchvision[device-gfx1100,device-gfx1032]==0.28.0+rocm10.0.0",
    )
    assert chosen.installed_bytes == 19_000_000_000


@pytest.mark.parametrize(("first", "second", "index"), [("gfx906", "gfx1032", ROCM72), ("gfx1032", "gfx906", AMD)])
def test_cards_that_no_index_serves_together_follow_the_first(first: str, second: str, index: str) -> None:
    chosen = plan(computer(gpu(first), gpu(second)))
    assert chosen.index_url == index and chosen.gfx == (first,)
    assert "no wheels carry all" in words(chosen) and second in words(chosen)


def test_nvidia_goes_before_an_integrated_amd_gpu_and_after_a_discrete_one() -> None:
    behind = plan(computer(gpu("gfx1036"), nvidia=True))
    assert behind.build == "cuda" and "left aside" in words(behind)
    before = plan(computer(gpu("gfx1201"), nvidia=True))
    assert before.build == "rocm" and "--torch cuda" in words(before)


# ------------------------------------------------------------------------------------------------- what is not known


@pytest.mark.parametrize("system", ["linux", "windows", "wsl"])
def test_an_unknown_target_computes_on_the_cpu_and_says_where_to_look(system: str) -> None:
    chosen = plan(computer(gpu("gfx803", name="Radeon RX 580"), system=system))
    assert chosen.build == "cpu"
    assert "Radeon RX 580" in words(chosen) and "SUPPORTED_GPUS" in words(chosen)


def test_a_card_without_a_readable_target_in_wsl_says_how_to_name_it() -> None:
    chosen = plan(computer(gpu(None, found_by="/dev/dxg"), system="wsl"))
    assert chosen.build == "cpu" and "ROCM_BOOTSTRAP_FORCE_GFX_ARCH" in words(chosen)


def test_arm64_has_no_rocm_wheels() -> None:
    chosen = plan(computer(gpu("gfx1100"), architecture="arm64"))
    assert chosen.build == "cpu" and "x86_64 only" in words(chosen)


def test_a_card_without_its_driver_gets_its_build_and_a_warning() -> None:
    chosen = plan(computer(gpu("gfx1100", found_by="lspci")))
    assert chosen.index_url == ROCM72 and "driver does not offer it" in words(chosen)
    assert "driver does not offer it" not in words(plan(computer(gpu("gfx1100"))))


@pytest.mark.parametrize(("python", "told"), [((3, 9), True), ((3, 10), False), ((3, 14), False), ((3, 15), True)])
def test_a_python_without_wheels_is_told(python: tuple[int, int], told: bool) -> None:
    assert ("3.10 to 3.14" in words(plan(computer(python=python)))) is told


def test_amd_and_python_310_is_uncertain_and_said_so() -> None:
    assert "3.11 to 3.14" in words(plan(computer(gpu("gfx1032"), python=(3, 10))))
    assert "3.11 to 3.14" not in words(plan(computer(gpu("gfx1100"), python=(3, 10))))


def test_where_an_index_fails_another_for_the_same_gpu_stands_behind_it() -> None:
    first = plan(computer(gpu("gfx1100")))
    assert first.fallback and first.fallback.index_url == AMD and first.fallback.gfx == ("gfx1100",)
    assert first.fallback.fallback and first.fallback.fallback.index_url == MULTI_ARCH
    assert first.fallback.fallback.requirements[0] == "torch[device-gfx1100]>=2.10,<2.15"
    assert plan(computer(gpu("gfx906"))).fallback is None


# ------------------------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize("machine", [computer(gpu("gfx1100")), computer(nvidia=True), computer()])
def test_torch_cpu_is_the_cpu_index(machine: Machine) -> None:
    chosen = plan(machine, "cpu")
    assert (chosen.build, chosen.index_url) == ("cpu", CPU)


def test_torch_cuda_is_pips_default_index() -> None:
    assert plan(computer(nvidia=True), "cuda").index_url is None
    chosen = plan(computer(gpu("gfx1100")), "cuda")
    assert chosen.build == "cuda" and "No NVIDIA GPU" in words(chosen)
    with pytest.raises(LabkitError):
        plan(computer(system="macos"), "cuda")


def test_a_named_rocm_index_is_taken_and_lacking_kernels_are_named() -> None:
    chosen = plan(computer(gpu("gfx1100")), "rocm7.1")
    assert (chosen.build, chosen.index_url, chosen.requirements) == (
        "rocm",
        "https://download.pytorch.org/whl/rocm7.1",
        RANGES,
    )
    assert "No kernels" not in words(chosen)
    assert "No kernels for gfx1032" in words(plan(computer(gpu("gfx1032")), "rocm7.2"))
    assert "not established" in words(plan(computer(gpu("gfx1100")), "rocm7.14"))


@pytest.mark.parametrize(
    "machine", [computer(system="windows"), computer(system="macos"), computer(architecture="arm64")]
)
def test_pytorchs_rocm_wheels_are_refused_where_there_are_none(machine: Machine) -> None:
    with pytest.raises(LabkitError, match="Linux on x86_64"):
        plan(machine, "rocm7.2")


@pytest.mark.parametrize("wish", ["rocm5.4.2", "rocm6.4"])
def test_an_index_that_stops_before_the_courses_torch_is_refused(wish: str) -> None:
    with pytest.raises(LabkitError, match=r"2\.10"):
        plan(computer(gpu("gfx1100")), wish)


@pytest.mark.parametrize("wish", ["gpu", "hip", "rocm", "7.2", ""])
def test_a_word_that_means_nothing_is_refused_with_the_words_that_do(wish: str) -> None:
    with pytest.raises(LabkitError) as caught:
        plan(computer(), wish)
    assert "rocm7.2" in caught.value.remedy


@pytest.mark.parametrize("given", ["option", "environment"])
@pytest.mark.parametrize(
    ("url", "build", "torch"),
    [
        ("https://mirror.example/whl/rocm7.2", "rocm", "torch>=2.10,<2.15"),
        ("https://mirror.example/whl/cpu/", "cpu", "torch>=2.10,<2.15"),
        ("https://download.pytorch.org/whl/cu130", "cuda", "torch>=2.10,<2.15"),
        ("https://mirror.example/rocm/whl-next/", "rocm", "torch[device-gfx1100]==2.13.0+rocm10.0.0"),
        ("https://rocm.nightlies.amd.com/whl-multi-arch/", "rocm", "torch[device-gfx1100]>=2.10,<2.15"),
        ("http://127.0.0.1:8000/simple/", "rocm", "torch>=2.10,<2.15"),
    ],
)
def test_an_index_of_ones_own(given: str, url: str, build: str, torch: str) -> None:
    machine = computer(gpu("gfx1100"))
    chosen = plan(machine, url) if given == "option" else plan(machine, index=url)
    assert (chosen.build, chosen.index_url, chosen.requirements[0], chosen.fallback) == (build, url, torch, None)
    assert url in words(chosen)


def test_amds_index_without_a_known_target_takes_the_kernels_of_all() -> None:
    chosen = plan(computer(), AMD)
    assert chosen.requirements[0] == "torch[device-all]==2.13.0+rocm10.0.0" and "10 GB" in words(chosen)


def test_an_unknown_index_on_a_machine_without_a_gpu_promises_no_build() -> None:
    assert plan(computer(), index="http://127.0.0.1:8000/simple/").build == "default"


def test_an_index_from_the_environment_serves_a_named_build_too() -> None:
    chosen = plan(computer(), "cpu", "http://127.0.0.1:8000/simple/")
    assert (chosen.build, chosen.index_url) == ("cpu", "http://127.0.0.1:8000/simple/")


def test_an_index_on_the_command_line_wins_over_the_environment() -> None:
    assert (
        plan(computer(), "https://a.example/simple", "https://b.example/simple").index_url == "https://a.example/simple"
    )


def test_every_requirement_has_torch_first_and_torchvision_second() -> None:
    for machine in (computer(), computer(gpu("gfx1100")), computer(gpu("gfx1032")), computer(nvidia=True)):
        chosen: TorchPlan | None = plan(machine)
        while chosen:
            assert [re.match(r"[a-z]+", requirement).group() for requirement in chosen.requirements] == [  # type: ignore[union-attr]
                "torch",
                "torchvision",
            ]
            chosen = chosen.fallback
