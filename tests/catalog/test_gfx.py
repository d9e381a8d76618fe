"""The table of targets: whole, well formed, and found by the names that systems really give to GPUs."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from labkit.catalog.gfx import TARGETS, by_pci_id, by_product, target


def test_every_row_has_products_sources_and_a_day() -> None:
    assert len(TARGETS) == 27
    for gfx, row in TARGETS.items():
        assert row.gfx == gfx and re.fullmatch(r"gfx\d{1,2}[0-9a-f]{2}", gfx)
        assert row.products and row.sources and re.fullmatch(r"20\d\d-\d\d-\d\d", row.checked)
        assert row.wavefront_size in (32, 64, None)
        assert all(re.fullmatch(r"rocm\d+(\.\d+)+", name) for name in row.pytorch_indexes)


def test_wavefronts_are_64_wide_on_gfx9_and_32_on_rdna() -> None:
    assert {row.wavefront_size for gfx, row in TARGETS.items() if gfx.startswith("gfx9")} == {64}
    assert {row.wavefront_size for row in TARGETS.values() if row.architecture.startswith("RDNA")} == {32}


def test_the_targets_that_are_part_of_a_processor() -> None:
    assert {gfx for gfx, row in TARGETS.items() if row.integrated} == {
        "gfx1033",
        "gfx1035",
        "gfx1036",
        "gfx1103",
        "gfx1150",
        "gfx1151",
        "gfx1152",
        "gfx1153",
    }


def test_pci_ids_and_models_belong_to_one_target_each() -> None:
    for attribute in ("pci_ids", "models", "chips"):
        everything = [value for row in TARGETS.values() for value in getattr(row, attribute)]
        assert len(everything) == len(set(everything)), attribute


@pytest.mark.parametrize(
    ("name", "gfx"),
    [
        ("gfx90a", "gfx90a"),
        ("gfx90a:sramecc+:xnack-", "gfx90a"),
        (" GFX1100 ", "gfx1100"),
        ("gfx803", None),
        ("", None),
        (None, None),
    ],
)
def test_target(name: str | None, gfx: str | None) -> None:
    row = target(name)
    assert (row.gfx if row else None) == gfx


@pytest.mark.parametrize(
    ("name", "gfx"),
    [
        # Windows' display adapters
        ("AMD Radeon RX 7900 XTX", "gfx1100"),
        ("AMD Radeon RX 6800 XT", "gfx1030"),
        ("AMD Radeon RX 9070 XT", "gfx1201"),
        ("AMD Radeon(TM) 780M Graphics", "gfx1103"),
        ("AMD Radeon(TM) 8060S Graphics", "gfx1151"),
        ("AMD Radeon 8060S", "gfx1151"),
        ("AMD Radeon™ RX 7600S", "gfx1102"),
        ("AMD Radeon RX 7600M XT", "gfx1102"),
        ("AMD Radeon RX 9060", "gfx1200"),
        ("AMD Radeon AI PRO R9700", "gfx1201"),
        ("AMD Radeon PRO W7900", "gfx1100"),
        ("AMD Radeon VII", "gfx906"),
        ("AMD Radeon RX Vega 64", "gfx900"),
        ("Radeon RX 5500 XT", "gfx1012"),
        ("Radeon RX 5700 XT", "gfx1010"),
        # neighbours in name that are different silicon
        ("Radeon RX 6600 XT", "gfx1032"),
        ("AMD Radeon RX 6800S", "gfx1032"),
        ("AMD Radeon RX 6800M", "gfx1031"),
        ("AMD Radeon RX 7700S", "gfx1102"),
        ("AMD Radeon RX 7700 XT", "gfx1101"),
        ("AMD Radeon RX 7600 XT", "gfx1102"),
        ("AMD Radeon Pro 5600M", "gfx1011"),
        # lspci
        ("Navi 48 [Radeon RX 9070/9070 XT/9070 GRE]", "gfx1201"),
        ("Navi 23 [Radeon RX 6650 XT / 6700S / 6800S]", "gfx1032"),
        ("Navi 22", "gfx1031"),
        ("Navi 33 [Radeon Graphics]", "gfx1102"),
        ("Strix [Radeon 880M / 890M]", "gfx1150"),
        ("Strix Halo [Radeon Graphics / Radeon 8050S Graphics / Radeon 8060S Graphics]", "gfx1151"),
        ("Aqua Vanjaram [Instinct MI300X VF]", "gfx942"),
        ("Raphael [Radeon 610M]", "gfx1036"),
        ("Navi 12 [Radeon Pro 5600M/V520/BC-160]", "gfx1011"),
        # processors with graphics
        ("AMD Ryzen 9 6900HX with Radeon 680M", "gfx1035"),
        ("AMD RYZEN AI MAX+ PRO 395 w/ Radeon 8060S", "gfx1151"),
        ("AMD Ryzen AI 9 HX 370 w/ Radeon 890M", "gfx1150"),
        # not known, not certain, not AMD
        ("AMD Radeon RX 7600 GRE", None),
        ("AMD Radeon RX 7700", None),
        ("AMD Radeon RX 580 2048SP", None),
        ("AMD Radeon 840M", None),
        ("AMD Radeon(TM) Graphics", None),
        ("AMD Radeon(TM) Vega 10 Graphics", None),
        ("AMD Radeon(TM) 610M", None),
        ("AMD Ryzen 7 5700G with Radeon Graphics", None),
        ("AMD Ryzen 7 5700X", None),
        ("Radeon RX 6800 / Radeon RX 7900 XT", None),
        ("Cypress PRO [Radeon HD 6800 Series]", None),
        ("Thames [Radeon HD 7500M/7600M Series]", None),
        ("Ellesmere [Radeon Pro WX 5100 / Barco MXRT-6700]", None),
        ("NVIDIA Quadro RTX 5700", None),
        ("Intel(R) UHD Graphics 630", None),
        ("Microsoft Basic Display Adapter", None),
        ("", None),
        (None, None),
    ],
)
def test_names_that_systems_give(name: str | None, gfx: str | None) -> None:
    row = by_product(name)
    assert (row.gfx if row else None) == gfx


def test_every_product_of_the_table_finds_its_own_row() -> None:
    astray = {
        product: row.gfx
        for row in TARGETS.values()
        for product in row.products
        if (found := by_product(product)) is not None and found is not row
    }
    assert astray == {}
    lost = {product for row in TARGETS.values() for product in row.products if by_product(product) is None}
    assert lost <= {"Steam Deck (Van Gogh)", "Raphael desktop graphics (Ryzen 7000, 9000)"}


def test_pci_ids() -> None:
    assert by_pci_id("744c") is by_pci_id("0x744C") is TARGETS["gfx1100"]
    assert by_pci_id("0000") is None and by_pci_id("") is None


def test_the_catalog_is_read_only_when_it_is_asked() -> None:
    code = (
        "import sys, labkit.catalog.gfx as gfx, labkit.catalog.peaks as peaks, labkit.setup.plan, labkit.machine.simulate;"
        "assert not gfx._read.cache_info().currsize and not peaks._read.cache_info().currsize;"
        "assert not {'torch', 'numpy', 'matplotlib'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
