"""Links and caches: consistent with themselves and with the other tables; every row with its source."""

from __future__ import annotations

import pytest

from labkit.catalog import links
from labkit.catalog.gfx import by_product


def test_a_pcie_rate_follows_from_its_line_code() -> None:
    share = {"8b/10b": 8 / 10, "128b/130b": 128 / 130}
    assert [row.generation for row in links.pcie()] == [1, 2, 3, 4, 5, 6]
    for row in links.pcie():
        if row.x16_gbs_each_way is None:
            assert row.note and row.gbs(16) is None
        else:
            assert row.x16_gbs_each_way == pytest.approx(row.gt_per_s * share[row.encoding] * 16 / 8, rel=1e-4)
            assert row.gbs(8) == pytest.approx(row.x16_gbs_each_way / 2)


def test_every_row_names_its_source_and_a_null_its_reason() -> None:
    for row in (*links.pcie(), *links.fabrics(), *links.caches(), *links.measured(), *links.matrices()):
        assert row.source and row.checked == "2026-11-30"
    for fabric in links.fabrics():
        assert fabric.note or fabric.gbs_each_way is not None


def test_products_are_those_of_the_table_of_targets() -> None:
    for row in (*links.fabrics(), *links.caches()):
        found = by_product(row.product)
        assert found is None or found.gfx == row.gfx, row.product


def test_busbw_of_an_all_reduce_is_algbw_times_its_factor() -> None:
    for row in links.measured():
        assert row.algbw_gbps == pytest.approx(row.bytes / row.time_us / 1e3, rel=1e-3)
        assert row.busbw_gbps == pytest.approx(row.algbw_gbps * 2 * (row.ranks - 1) / row.ranks, rel=1e-3)


@pytest.mark.parametrize(
    ("asked", "mib"),
    [
        ("AMD Instinct MI300X", 256),
        ("AMD Radeon RX 7900 XTX", 96),
        ("Radeon RX 7900 XT", 80),
        ("Radeon RX 7900 GRE", 64),
        ("AMD Instinct MI250X / MI250", 0),
        ("Radeon RX 6800", 128),
        ("Radeon RX 7900", None),
        ("GeForce", None),
        ("", None),
    ],
)
def test_a_cache_by_the_product_s_name(asked: str, mib: int | None) -> None:
    found = links.cache(asked)
    assert (found.infinity_cache_mib if found else None) == mib
    assert found is None or found.bytes == found.infinity_cache_mib * 1024 * 1024


def test_the_links_of_a_product() -> None:
    mi300x = links.fabric("AMD Instinct MI300X OAM")
    assert mi300x is not None and (mi300x.links, mi300x.gbs_each_way, mi300x.usable_gbs_each_way) == (7, 64.0, 48.0)
    assert links.fabric("AMD Radeon RX 7900 XTX") is None


def test_a_reference_is_for_the_same_gpus_only() -> None:
    rows = links.reference("all_reduce", "AMD Instinct MI300X", 8)
    assert [row.bytes for row in rows] == [8 << 30, 1 << 30]
    assert links.reference("all_reduce", "AMD Instinct MI300X", 4) == ()
    assert links.reference("all_gather", "AMD Instinct MI300X", 8) == ()
    assert links.reference("all_reduce", "AMD Instinct MI300X", 8, hosts=2) == ()
