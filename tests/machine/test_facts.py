"""Facts from snapshots: targets, order, sources, and patience with anything."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from labkit.catalog.gfx import TARGETS
from labkit.machine import simulate
from labkit.machine.checks import checks
from labkit.machine.facts import Gpu, gfx_name, gpus, kfd_properties, lspci_names, machine


@pytest.mark.parametrize(
    ("version", "gfx"),
    [
        (90010, "gfx90a"),
        (90402, "gfx942"),
        (90500, "gfx950"),
        (90000, "gfx900"),
        (90006, "gfx906"),
        (100100, "gfx1010"),
        (100302, "gfx1032"),
        (110000, "gfx1100"),
        (110001, "gfx1101"),
        (110501, "gfx1151"),
        (120001, "gfx1201"),
        (90012, "gfx90c"),
        (0, None),
    ],
)
def test_the_drivers_number_is_a_target(version: int, gfx: str | None) -> None:
    assert gfx_name(version) == gfx


def test_every_target_of_the_catalog_survives_the_way_there_and_back() -> None:
    for gfx in TARGETS:
        digits = gfx[3:]
        version = int(digits[:-2]) * 10000 + int(digits[-2], 16) * 100 + int(digits[-1], 16)
        assert gfx_name(version) == gfx


def test_properties_are_numbers_and_the_rest_is_left_out() -> None:
    assert kfd_properties("simd_count 192\nname navi31\n\nunique_id 12345678901234567890\nbad\nneg -1\n") == {
        "simd_count": 192,
        "unique_id": 12345678901234567890,
    }


def test_lspci_gives_names_by_device_id() -> None:
    text = (
        "03:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [Radeon RX 7900 XTX] [1002:744c]\n"
        "03:00.1 Audio device [0403]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 HDMI [1002:ab30]\n"
        "0000:c1:00.0 Processing accelerators [1200]: Advanced Micro Devices, Inc. [AMD/ATI] Aqua Vanjaram [Instinct MI300X] [1002:74a1]\n"
        "00:02.0 VGA compatible controller [0300]: Intel Corporation UHD [8086:a780]\n"
    )
    assert lspci_names(text) == {"744c": "Navi 31 [Radeon RX 7900 XTX]", "74a1": "Aqua Vanjaram [Instinct MI300X]"}


def test_discrete_comes_before_integrated_whatever_the_driver_lists_first() -> None:
    snapshot = simulate.snapshot("laptop_780m_rx7700s")
    assert "gfx_target_version 110003" in snapshot["kfd"]["1"]
    assert [gpu.gfx for gpu in gpus(snapshot)] == ["gfx1102", "gfx1103"]


@pytest.mark.parametrize(("cores", "integrated"), [(8, True), (0, False)])
def test_a_target_outside_the_catalog_is_integrated_where_its_node_has_processor_cores(
    cores: int, integrated: bool
) -> None:
    snapshot = {"kfd": {"0": f"cpu_cores_count {cores}\nsimd_count 32\ngfx_target_version 90012"}}
    assert gpus(snapshot) == (Gpu("gfx90c", None, integrated, "kfd"),)


def test_mi300a_is_no_laptop_graphics_though_its_node_has_cores() -> None:
    snapshot = {"kfd": {"0": "cpu_cores_count 24\nsimd_count 912\ngfx_target_version 90402"}}
    assert gpus(snapshot)[0].integrated is False


def test_nodes_are_counted_in_numbers_not_letters() -> None:
    nodes = {
        str(number): f"simd_count 4\ngfx_target_version {version}" for number, version in ((10, 120001), (2, 110000))
    }
    assert [gpu.gfx for gpu in gpus({"kfd": nodes})] == ["gfx1100", "gfx1201"]


def test_an_mi250x_is_two_devices_and_eight_mi300x_are_eight() -> None:
    assert [gpu.gfx for gpu in gpus(simulate.snapshot("mi250x"))] == ["gfx90a"] * 2
    assert [gpu.gfx for gpu in gpus(simulate.snapshot("mi300x_x8"))] == ["gfx942"] * 8


def test_forced_targets_replace_what_is_there_and_say_so() -> None:
    snapshot = {**simulate.snapshot("no_gpu"), "environment": {"ROCM_BOOTSTRAP_FORCE_GFX_ARCH": "gfx942, gfx1151,"}}
    assert [(gpu.gfx, gpu.integrated, gpu.found_by) for gpu in gpus(snapshot)] == [
        ("gfx942", False, "ROCM_BOOTSTRAP_FORCE_GFX_ARCH"),
        ("gfx1151", True, "ROCM_BOOTSTRAP_FORCE_GFX_ARCH"),
    ]
    assert gpus({**simulate.snapshot("rx6800"), "environment": {"ROCM_BOOTSTRAP_DISABLE_DETECTION": "1"}}) == ()


def test_a_product_that_windows_names_only_by_number_is_found_by_number() -> None:
    row = {"name": "AMD Radeon(TM) Graphics", "device": "PCI\\VEN_1002&DEV_164E&SUBSYS_1"}
    assert gpus({"system": "Windows", "windows_adapters": [row]})[0].gfx == "gfx1036"
    stranger = {"name": "AMD Radeon RX 580", "device": "PCI\\VEN_1002&DEV_67DF"}
    assert gpus({"system": "Windows", "windows_adapters": [stranger]}) == (
        Gpu(None, "AMD Radeon RX 580", None, "Windows display adapters"),
    )


def test_adapters_of_others_are_no_amd_gpus_but_nvidia_is_noted() -> None:
    rows = [
        {"name": "NVIDIA GeForce RTX 4070", "device": "PCI\\VEN_10DE&DEV_2786"},
        {"name": "Intel(R) Arc(TM) A770", "device": "PCI\\VEN_8086"},
    ]
    found = machine({"system": "Windows", "architecture": "AMD64", "windows_adapters": rows})
    assert found.gpus == () and found.nvidia


@pytest.mark.parametrize(
    ("system", "architecture", "expected"),
    [
        ("Linux", "x86_64", ("linux", "x86_64", False)),
        ("Linux", "aarch64", ("linux", "arm64", False)),
        ("Windows", "AMD64", ("windows", "x86_64", False)),
        ("Windows", "ARM64", ("windows", "arm64", False)),
        ("Darwin", "arm64", ("macos", "arm64", True)),
        ("Darwin", "x86_64", ("macos", "x86_64", False)),
        ("FreeBSD", "amd64", ("other", "x86_64", False)),
    ],
)
def test_systems_and_processors(system: str, architecture: str, expected: tuple[str, str, bool]) -> None:
    found = machine({"system": system, "architecture": architecture, "python": {"version": "3.14.0rc1"}})
    assert (found.system, found.architecture, found.apple) == expected and found.python == (3, 14)


def test_windows_is_no_wsl_and_wsl_is_linux() -> None:
    assert machine(simulate.snapshot("wsl_rx7900xtx")).wsl
    assert not machine(simulate.snapshot("windows_rx7900xtx")).wsl
    assert not machine(simulate.snapshot("rx6800")).wsl


@pytest.mark.parametrize(
    ("name", "gfx", "label"),
    [
        ("Navi 31 [Radeon RX 7900 XT/7900 XTX]", "gfx1100", "Navi 31 (gfx1100)"),
        ("Aqua Vanjaram [Instinct MI300X]", "gfx942", "Instinct MI300X (gfx942)"),
        ("AMD Radeon RX 7900 XTX", "gfx1100", "AMD Radeon RX 7900 XTX (gfx1100)"),
        (None, "gfx1100", "gfx1100"),
        ("AMD Radeon RX 580", None, "AMD Radeon RX 580"),
        (None, None, "an AMD GPU of unknown target"),
    ],
)
def test_labels(name: str | None, gfx: str | None, label: str) -> None:
    assert Gpu(gfx, name, None, "test").label == label


_anything = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=30),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_keys = some.sampled_from(
    [
        "system",
        "kernel",
        "architecture",
        "python",
        "kfd",
        "devices",
        "groups",
        "lspci",
        "pci",
        "nvidia",
        "windows_adapters",
        "environment",
        "container",
        "torch",
        "modules",
    ]
)


@given(some.dictionaries(_keys, _anything), some.sampled_from(["Linux", "Windows", None]))
def test_anything_in_a_snapshot_from_elsewhere_is_survived(snapshot: dict[str, Any], system: str | None) -> None:
    snapshot = {"system": system, **snapshot}
    machine(snapshot)
    checks(snapshot)


@given(some.dictionaries(_keys.filter(lambda key: key not in ("system", "kfd")), _anything))
def test_anything_beside_a_real_gpu_is_survived(snapshot: dict[str, Any]) -> None:
    findings = checks({**simulate.snapshot("rx7900xtx"), **snapshot})
    assert len(findings) == 8 and findings[0].name == "gpu"


@given(
    some.dictionaries(some.sampled_from(["0", "1", "x"]), some.text(max_size=60)),
    some.lists(
        some.dictionaries(some.sampled_from(["name", "device", "vendor"]), some.none() | some.text(max_size=40)),
        max_size=3,
    ),
    some.text(max_size=200),
)
def test_any_text_in_a_snapshot_is_survived(kfd: dict[str, str], adapters: list[dict[str, Any]], lspci: str) -> None:
    for system in ("Linux", "Windows"):
        snapshot = {"system": system, "kfd": kfd, "windows_adapters": adapters, "lspci": lspci, "pci": adapters}
        machine(snapshot)
        checks(snapshot)


def test_amds_own_detection_knows_the_same_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    bootstrap = pytest.importorskip("rocm_bootstrap")
    from rocm_bootstrap.targets import lookup_target

    for gfx in TARGETS:
        assert gfx_name(lookup_target(gfx).gfx_target_version) == gfx
    monkeypatch.setenv("ROCM_BOOTSTRAP_FORCE_GFX_ARCH", "gfx942,gfx1151")
    monkeypatch.delenv("ROCM_BOOTSTRAP_DISABLE_DETECTION", raising=False)
    theirs = [gpu.target.name for gpu in bootstrap.detect_gpus()]
    ours = [gpu.gfx for gpu in gpus({"environment": {"ROCM_BOOTSTRAP_FORCE_GFX_ARCH": "gfx942,gfx1151"}})]
    assert theirs == ours == ["gfx942", "gfx1151"]
