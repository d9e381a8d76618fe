"""Cards of machines that are not here: every machine with every fault that it can have."""

from __future__ import annotations

import pytest

from labkit.devices.simulate import simulated_card
from labkit.errors import LabkitError
from labkit.machine import simulate


@pytest.mark.parametrize("name", simulate.names())
def test_every_fault_of_a_machine_has_a_card(name: str) -> None:
    for fault in simulate.faults(name):
        card = simulated_card(name, [fault])
        assert card.simulated and fault in card.title
        assert str(card) and card._repr_html_()


def test_a_torch_that_does_not_start_stands_on_the_card() -> None:
    card = simulated_card("rx7600", ["torch-missing"])
    assert card.device is None and not card.ready
    assert "torch is not installed" in str(card)


def test_a_wheel_without_kernels_stands_on_the_card() -> None:
    assert "this torch has none for gfx1032" in str(simulated_card("rx6600", ["arch-not-in-wheel"]))
    assert "this torch has none" not in str(simulated_card("rx6600"))


def test_a_fault_that_a_machine_cannot_have_is_refused() -> None:
    with pytest.raises(LabkitError):
        simulated_card("rx7600", ["wsl-bridge-missing"])
