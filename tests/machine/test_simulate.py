"""Simulated machines: always labelled, shaped like collected ones, and what their names say."""

from __future__ import annotations

import json

import pytest

from labkit.errors import LabkitError
from labkit.machine import simulate
from labkit.machine.facts import machine
from labkit.machine.snapshot import collect

EXPECTED = {
    "rx6600": ["gfx1032"], "rx6800": ["gfx1030"], "rx7600": ["gfx1102"], "rx7900xtx": ["gfx1100"], "rx9070xt": ["gfx1201"],
    "laptop_780m_rx7700s": ["gfx1102", "gfx1103"], "strix_halo": ["gfx1151"], "mi300x_x8": ["gfx942"] * 8, "mi250x": ["gfx90a"] * 2,
    "wsl_rx7900xtx": ["gfx1100"], "windows_rx7900xtx": ["gfx1100"], "no_gpu": [], "container_without_devices": ["gfx1100"],
    "user_not_in_render_group": ["gfx1100"], "cpu_wheel_on_rx7900xtx": ["gfx1100"], "wheel_without_target_rx6600": ["gfx1032"],
}


def test_the_list() -> None:
    assert list(simulate.names()) == list(EXPECTED) or set(simulate.names()) == set(EXPECTED)


@pytest.mark.parametrize("name", simulate.names())
def test_every_one_is_labelled_and_has_the_shape_of_a_collected_one(name: str) -> None:
    snapshot = simulate.snapshot(name)
    assert snapshot["simulated"] is True and snapshot["simulated_title"] == simulate.title(name)
    assert set(collect(quick=True)) <= set(snapshot)
    assert set(snapshot) - set(collect(quick=True)) == {"simulated_name", "simulated_title", "torch"}
    assert json.loads(json.dumps(snapshot)) == snapshot


@pytest.mark.parametrize(("name", "targets"), list(EXPECTED.items()))
def test_every_one_has_the_gpus_of_its_name(name: str, targets: list[str]) -> None:
    assert [gpu.gfx for gpu in machine(simulate.snapshot(name)).gpus] == targets


def test_each_call_gives_a_fresh_one() -> None:
    first = simulate.snapshot("rx6800")
    first["devices"].clear()
    first["torch"]["hip"] = None
    second = simulate.snapshot("rx6800")
    assert second["devices"] and second["torch"]["hip"]


def test_a_name_that_does_not_exist_is_answered_with_those_that_do() -> None:
    with pytest.raises(LabkitError) as caught:
        simulate.snapshot("rtx4090")
    assert "rx7900xtx" in caught.value.remedy
