"""Occupancy by hand: register files, LDS and workgroups of targets whose numbers the documents give."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from labkit.catalog.gfx import TARGETS
from labkit.profile import questions as ask
from labkit.profile import read, simulate
from labkit.profile.questions.limits import silicon
from labkit.profile.readers import delimited


@pytest.mark.parametrize(
    ("gfx", "vgpr", "accum", "lds", "workgroup", "waves", "limited_by"),
    [
        ("gfx90a", 64, 0, 0, 256, 8, "nothing"),
        ("gfx90a", 65, 0, 0, 256, 7, "registers"),  # 72 of 512
        ("gfx942:sramecc+:xnack-", 128, 128, 0, 256, 2, "registers"),  # one file for both kinds
        ("gfx942", 256, 256, 0, 256, 1, "registers"),
        ("gfx908", 128, 128, 0, 256, 2, "registers"),  # two files of 256
        ("gfx942", 32, 0, 65_536, 256, 1, "lds"),
        ("gfx950", 32, 0, 65_536, 256, 2, "lds"),  # 160 KiB hold two
        ("gfx942", 32, 0, 32_768, 512, 4, "lds"),
        ("gfx942", 32, 0, 0, 1024, 8, "nothing"),
        ("gfx1100", 96, 0, 0, 256, 16, "nothing"),  # 1536 / 96
        ("gfx1100", 97, 0, 0, 256, 12, "registers"),  # granule 24: 120
        (
            "gfx1102",
            96,
            0,
            0,
            256,
            10,
            "registers",
        ),  # 1024 registers; 10 waves, of which 8 form whole workgroups: see below
        ("gfx1030", 128, 0, 0, 128, 8, "registers"),
        ("gfx1010", 64, 0, 0, 64, 16, "registers"),
        ("gfx906", 84, 0, 0, 64, 3, "registers"),
        ("gfx1201", 256, 0, 0, 32, 5, "registers"),
    ],
)
def test_by_hand(gfx: str, vgpr: int, accum: int, lds: int, workgroup: int, waves: float, limited_by: str) -> None:
    found = ask.occupancy(gfx, vgpr=vgpr, accum_vgpr=accum, lds_bytes=lds, workgroup=workgroup)
    chip = silicon(gfx)
    assert chip is not None and found.most == chip.waves
    per_group = -(-workgroup // chip.wave)
    whole = int(waves * chip.simds) // per_group * per_group / chip.simds  # only whole workgroups are resident
    assert (found.waves, found.limited_by) == (whole, limited_by), found.sentence
    assert found.share == whole / chip.waves


def test_an_odd_workgroup_leaves_slots_empty() -> None:
    found = ask.occupancy("gfx942", vgpr=32, workgroup=64 * 9)
    assert found.waves == 27 / 4 and found.limited_by == "workgroup"  # three groups of nine waves on 32 slots


def test_a_kernel_that_does_not_fit_is_said_not_to() -> None:
    found = ask.occupancy("gfx942", lds_bytes=100_000, workgroup=256)
    assert found.waves == 0 and "does not fit" in found.sentence


@pytest.mark.parametrize("gfx", [None, "", "gfx1250", "gfx9999", "sm_90", "gfx803x"])
def test_an_unknown_target_is_not_guessed(gfx: str | None) -> None:
    found = ask.occupancy(gfx, vgpr=64, workgroup=256)
    assert found.waves is None and found.share is None and "not established" in found.sentence


def test_every_target_of_the_catalog_is_known_or_said_not_to_be() -> None:
    known = {gfx for gfx in TARGETS if silicon(gfx)}
    assert {
        "gfx90a",
        "gfx942",
        "gfx950",
        "gfx1030",
        "gfx1100",
        "gfx1101",
        "gfx1102",
        "gfx1151",
        "gfx1200",
        "gfx1201",
    } <= known
    for gfx in known:
        chip = silicon(gfx)
        assert chip is not None and chip.wave == TARGETS[gfx].wavefront_size


def test_wave64_on_rdna_halves_the_file() -> None:
    assert ask.occupancy("gfx1100", vgpr=96, workgroup=64, wave=64).waves == 8  # 768 / 96
    assert ask.occupancy("gfx90a", vgpr=96, workgroup=64, wave=32).waves is None


def test_of_a_whole_profile() -> None:
    run = simulate.training("transformer", "Instinct MI300X", steps=2)
    found = ask.occupancies(run)
    assert (
        found["waves"].null_count() == 0 and found["waves"].max() <= 8 and found["total_ns"].is_sorted(descending=True)
    )
    assert found["count"].sum() == run.dispatches.height
    assert ask.occupancies(run, "gfx9999")["waves"].null_count() == found.height


def test_the_shapes_of_a_large_file_are_counted_per_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = simulate.training("cnn", "Instinct MI210", steps=3)
    simulate.write(run, tmp_path, "rocprofv3-csv")
    whole = ask.occupancies(read(tmp_path))
    monkeypatch.setattr(delimited, "LARGE", 1_000)
    large = read(tmp_path)
    assert "vgpr" not in large.events.columns
    found = ask.occupancies(large)
    assert found.height == whole.height and found["waves"].null_count() == 0
    keys = ["name", "vgpr", "accum_vgpr", "lds_bytes", "workgroup"]
    both = whole.join(found, on=keys, suffix="_large", nulls_equal=True)
    assert both.height == whole.height
    assert (
        both["waves"].equals(both["waves_large"].alias("waves"))
        and both["count"].to_list() == both["count_large"].to_list()
    )
    single = both.filter(pl.len().over("name") == 1)
    assert single.height and single["total_ns"].to_list() == single["total_ns_large"].to_list()
    assert both.filter(pl.len().over("name") > 1)["total_ns_large"].null_count() == both.height - single.height
