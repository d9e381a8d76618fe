"""The stack from notebook to GPU: what each simulated machine has of it."""

from __future__ import annotations

import pytest

from labkit.devices.simulate import simulated_card, torch_of
from labkit.devices.stack import layers
from labkit.errors import LabkitError
from labkit.machine import simulate


def states(name: str) -> list[str]:
    return [layer.state for layer in layers(simulate.snapshot(name))]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rx7900xtx", ["good"] * 7),
        ("mi300x_x8", ["good"] * 7),
        ("no_gpu", ["good", "good", "absent", "absent", "absent", "absent", "absent"]),
        ("user_not_in_render_group", ["good", "good", "good", "good", "bad", "good", "good"]),
        ("container_without_devices", ["good", "good", "good", "good", "bad", "good", "good"]),
        ("cpu_wheel_on_rx7900xtx", ["good", "bad", "absent", "absent", "good", "good", "good"]),
        ("wheel_without_target_rx6600", ["good", "bad", "good", "good", "good", "good", "good"]),
        ("windows_rx7900xtx", ["good", "good", "good", "good", "absent", "good", "good"]),
        ("wsl_rx7900xtx", ["good", "good", "good", "good", "absent", "good", "good"]),
    ],
)
def test_which_layer_is_missing_or_broken(name: str, expected: list[str]) -> None:
    assert states(name) == expected


def test_the_words_say_why() -> None:
    found = {layer.name: layer.here for layer in layers(simulate.snapshot("wheel_without_target_rx6600"))}
    assert "without kernels for this GPU" in found["PyTorch"]
    found = {layer.name: layer.here for layer in layers(simulate.snapshot("user_not_in_render_group"))}
    assert "closed to this user" in found["/dev/kfd and /dev/dri"]
    found = {layer.name: layer.here for layer in layers(simulate.snapshot("mi300x_x8"))}
    assert "8 render devices" in found["/dev/kfd and /dev/dri"] and found["GPU"].startswith("8 × ")


def test_a_machine_without_torch() -> None:
    found = {layer.name: (layer.here, layer.state) for layer in layers({**simulate.snapshot("rx7900xtx"), "torch": {}})}
    assert found["PyTorch"] == ("not here", "absent") and found["GPU"][1] == "good"


def test_an_empty_snapshot_has_seven_layers() -> None:
    assert len(layers({})) == 7


@pytest.mark.parametrize("name", simulate.names())
def test_every_simulated_machine_has_a_card_that_says_so(name: str) -> None:
    shown = simulated_card(name)
    assert shown.simulated and simulate.title(name) in str(shown) and "nothing here was run" in str(shown)
    facts = torch_of(simulate.snapshot(name))
    assert len(facts["devices"]) == len(simulate.snapshot(name)["torch"]["gcn_arch_names"])


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("rx6600", "cuda:0"),
        ("wheel_without_target_rx6600", "cpu"),
        ("cpu_wheel_on_rx7900xtx", "cpu"),
        ("no_gpu", "cpu"),
        ("container_without_devices", "cpu"),
        ("laptop_780m_rx7700s", "cuda:0"),
        ("strix_halo", "cuda:0"),
    ],
)
def test_the_device_that_a_simulated_machine_would_get(name: str, device: str) -> None:
    assert simulated_card(name).device == device


def test_a_machine_that_is_not_simulated() -> None:
    with pytest.raises(LabkitError):
        simulated_card("cray1")
