"""The checks: healthy machines are all good, each broken one has exactly its own fault, and no advice does harm."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.machine import facts, simulate
from labkit.machine.checks import Check, checks

BROKEN = {
    "container_without_devices": "devices",
    "user_not_in_render_group": "access",
    "cpu_wheel_on_rx7900xtx": "wheel",
    "wheel_without_target_rx6600": "target",
}
HEALTHY = [name for name in simulate.names() if name not in BROKEN]
NAMES = ["gpu", "driver", "devices", "access", "topology", "wheel", "target", "kernel"]


def states(snapshot: dict[str, Any]) -> dict[str, str]:
    return {check.name: check.state for check in checks(snapshot)}


def finding(snapshot: dict[str, Any], name: str) -> Check:
    return next(check for check in checks(snapshot) if check.name == name)


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_machine_is_all_good(name: str) -> None:
    found = states(simulate.snapshot(name))
    assert list(found) == NAMES
    assert set(found.values()) <= {"good", "not needed"} and "good" in found.values()


@pytest.mark.parametrize("name", HEALTHY)
def test_on_linux_with_a_gpu_every_check_is_made(name: str) -> None:
    snapshot = simulate.snapshot(name)
    machine = facts.machine(snapshot)
    if machine.gpus and machine.system == "linux" and not machine.wsl:
        assert set(states(snapshot).values()) == {"good"}


@pytest.mark.parametrize(("name", "fault"), list(BROKEN.items()))
def test_a_broken_machine_has_its_own_fault_and_no_other(name: str, fault: str) -> None:
    snapshot = simulate.snapshot(name)
    found = states(snapshot)
    assert [check for check, state in found.items() if state == "bad"] == [fault]
    assert found["kernel"] == "unknown"
    bad = finding(snapshot, fault)
    assert bad.seen and bad.meaning and bad.remedy
    assert f"'{fault}'" in finding(snapshot, "kernel").meaning


@pytest.mark.parametrize("name", simulate.names())
def test_no_remedy_does_harm(name: str) -> None:
    snapshot = simulate.snapshot(name)
    for variant in (
        snapshot,
        {**snapshot, "container": ["/.dockerenv"]},
        {**snapshot, "modules": {}},
        {**snapshot, "kfd": {}},
    ):
        for check in checks(variant):
            words = check.remedy
            assert "HSA_OVERRIDE" not in words and "chmod" not in words and "sudo pip" not in words
            if variant["container"]:
                assert "usermod" not in words and "modprobe" not in words


def test_a_container_is_told_its_flags_and_a_desktop_its_groups() -> None:
    outside = simulate.snapshot("user_not_in_render_group")
    assert "usermod -aG render " in finding(outside, "access").remedy
    inside = {**outside, "container": ["/.dockerenv"]}
    assert "--group-add render" in finding(inside, "access").remedy
    assert "--device=/dev/kfd" in finding(simulate.snapshot("container_without_devices"), "devices").remedy


def test_a_group_joined_since_the_login_only_needs_a_new_login() -> None:
    snapshot = {**simulate.snapshot("user_not_in_render_group"), "groups_on_file": ["render"]}
    remedy = finding(snapshot, "access").remedy
    assert "log out" in remedy and "usermod" not in remedy


def test_no_driver_explains_everything_after_it() -> None:
    snapshot = {
        **simulate.snapshot("rx6800"),
        "modules": {"amdgpu": None},
        "kfd": {},
        "devices": {},
        "torch": {**simulate.snapshot("rx6800")["torch"], "kernel_result": "No HIP GPUs are available"},
    }
    found = states(snapshot)
    assert found["driver"] == "bad" and list(found.values()).count("bad") == 1


def test_wsl_without_its_device_is_windows_business() -> None:
    snapshot = {**simulate.snapshot("wsl_rx7900xtx"), "devices": {}}
    assert finding(snapshot, "driver").state == "bad" and "Windows" in finding(snapshot, "driver").remedy


def test_a_kernel_that_fails_on_a_machine_that_looks_well_is_bad() -> None:
    snapshot = simulate.snapshot("rx7900xtx")
    snapshot["torch"]["kernel_result"] = "RuntimeError: HIP error: invalid device function"
    assert finding(snapshot, "kernel").state == "bad" and "invalid device function" in finding(snapshot, "kernel").seen


def test_what_a_simulated_kernel_gave_is_not_said_of_a_real_one() -> None:
    snapshot = simulate.snapshot("rx7900xtx")
    assert finding(snapshot, "kernel").seen.startswith("not run, simulated: ")
    failed = {**snapshot, "torch": {**snapshot["torch"], "kernel_result": "RuntimeError: HIP error"}}
    assert finding(failed, "kernel").seen == "not run, simulated: would have given RuntimeError: HIP error"
    real = finding({**snapshot, "simulated": False}, "kernel")
    assert (real.seen, real.meaning) == ("a real kernel gave the right numbers", "PyTorch computes on this GPU.")
    assert "simulated" not in finding({**failed, "simulated": False}, "kernel").seen


def test_without_a_look_at_torch_nothing_is_claimed_about_it() -> None:
    snapshot = simulate.snapshot("rx7900xtx")
    del snapshot["torch"]
    found = states(snapshot)
    assert (found["wheel"], found["target"], found["kernel"]) == ("unknown", "unknown", "unknown")
    assert finding(simulate.snapshot("rx7900xtx"), "kernel").state == "good"


def test_a_cuda_build_on_an_amd_machine_is_bad_and_fine_beside_an_nvidia_card() -> None:
    cuda = {"version": "2.14.1", "hip": None, "cuda": "13.0", "arch_list": ["sm_90"], "kernel_result": None}
    assert finding({**simulate.snapshot("rx7900xtx"), "torch": cuda}, "wheel").state == "bad"
    raphael = {"kfd": {"1": "simd_count 4\ngfx_target_version 100306"}}
    both = {**simulate.snapshot("rx7900xtx"), **raphael, "torch": cuda, "nvidia": ["/dev/nvidiactl"]}
    assert finding(both, "wheel").state == "good"


def test_a_gpu_that_no_wheel_serves_makes_a_cpu_build_right() -> None:
    old = {"kfd": {"1": "simd_count 144\ngfx_target_version 80003"}}
    snapshot = {**simulate.snapshot("rx7900xtx"), **old, "torch": simulate.snapshot("no_gpu")["torch"]}
    found = states(snapshot)
    assert found["gpu"] == "unknown" and found["wheel"] == "good" and "bad" not in found.values()


def test_the_checks_can_be_had_from_the_facts() -> None:
    snapshot = simulate.snapshot("rx6800")
    assert facts.checks(snapshot) == checks(snapshot)
