"""Collecting: from a folder that looks like a machine, with everything missing, and bounded."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from labkit.machine import facts
from labkit.machine.probes.commands import TEXT_LIMIT, Answer
from labkit.machine.snapshot import Place, collect

LSPCI = """00:02.0 VGA compatible controller [0300]: Intel Corporation UHD Graphics [8086:a780]
\tKernel driver in use: i915
03:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [Radeon RX 7900 XT/7900 XTX] [1002:744c] (rev c8)
\tKernel driver in use: amdgpu
03:00.1 Audio device [0403]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 HDMI/DP Audio [1002:ab30]
"""


def nothing(program: str) -> str | None:
    return None


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def tree(root: Path) -> Place:
    """A Linux machine with one RX 7900 XTX, whose device files can be opened. (No colons: Windows forbids them in names.)"""
    write(
        root,
        {
            "etc/os-release": 'PRETTY_NAME="Ubuntu 24.04.3 LTS"\n',
            "proc/version": "Linux version 6.14",
            "etc/group": "root:x:0:\nvideo:x:44:someone\nrender:x:992:someone\n",
            "sys/module/amdgpu/initstate": "live\n",
            "sys/class/kfd/kfd/topology/nodes/0/properties": "cpu_cores_count 16\nsimd_count 0\ngfx_target_version 0\n",
            "sys/class/kfd/kfd/topology/nodes/1/properties": "cpu_cores_count 0\nsimd_count 192\n"
            "gfx_target_version 110000\nvendor_id 4098\ndevice_id 29772\n",
            "sys/bus/pci/devices/0000_03_00.0/class": "0x030000\n",
            "sys/bus/pci/devices/0000_03_00.0/vendor": "0x1002\n",
            "sys/bus/pci/devices/0000_03_00.0/device": "0x744c\n",
            "sys/bus/pci/devices/0000_00_1f.0/class": "0x060100\n",
            "dev/kfd": "",
            "dev/dri/card0": "",
            "dev/dri/renderD128": "",
            "dev/dri/by-path/x": "",
        },
    )
    return Place(root=root, system="Linux", environment={"HIP_VISIBLE_DEVICES": "0", "SECRET": "x"}, find=nothing)


def test_a_machine_is_read_from_its_files(tmp_path: Path) -> None:
    found = collect(place=tree(tmp_path))
    assert found["simulated"] is False and found["system"] == "Linux"
    assert sorted(found["kfd"]) == ["0", "1"] and "simd_count 192" in found["kfd"]["1"]
    assert list(found["devices"]) == ["/dev/kfd", "/dev/dri/card0", "/dev/dri/renderD128"]
    assert all(device["openable"] and device["error"] is None for device in found["devices"].values())
    assert found["modules"] == {"amdgpu": "live"}
    assert [row["device"] for row in found["pci"]] == ["744c"]
    assert found["group_ids"] == {"render": "992", "video": "44"}
    assert json.loads(json.dumps(found)) == found


def test_only_variables_of_the_list_are_kept(tmp_path: Path) -> None:
    assert collect(place=tree(tmp_path))["environment"] == {"HIP_VISIBLE_DEVICES": "0"}


def test_the_facts_of_that_machine(tmp_path: Path) -> None:
    machine = facts.machine(collect(place=tree(tmp_path)))
    assert [(gpu.gfx, gpu.found_by, gpu.integrated) for gpu in machine.gpus] == [("gfx1100", "kfd", False)]
    assert machine.python == sys.version_info[:2]


def test_an_empty_folder_is_a_machine_with_nothing(tmp_path: Path) -> None:
    found = collect(place=Place(root=tmp_path, system="Linux", environment={}, find=nothing))
    assert found["kfd"] == {} and found["devices"] == {} and found["pci"] == [] and found["lspci"] is None
    assert facts.machine(found).gpus == ()


def test_a_device_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    place = tree(tmp_path)
    (tmp_path / "dev/kfd").unlink()
    (tmp_path / "dev/kfd").mkdir()  # even root cannot open a folder for writing
    device = collect(place=place)["devices"]["/dev/kfd"]
    assert device["openable"] is False and device["error"]


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may open everything")
def test_permissions_count(tmp_path: Path) -> None:
    place = tree(tmp_path)
    for name in ("kfd", "dri/renderD128"):
        (tmp_path / "dev" / name).chmod(0)
    found = collect(place=place)["devices"]
    assert not found["/dev/kfd"]["openable"] and not found["/dev/dri/renderD128"]["openable"]


def test_collecting_changes_nothing(tmp_path: Path) -> None:
    place = tree(tmp_path)
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in tmp_path.rglob("*")}
    environment = dict(os.environ)
    collect(place=place)
    assert before == {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in tmp_path.rglob("*")}
    assert environment == dict(os.environ)


def test_lspci_is_asked_with_a_limit_and_only_displays_are_kept(tmp_path: Path) -> None:
    asked: list[tuple[Sequence[str], float]] = []

    def run(command: Sequence[str], timeout_s: float) -> Answer:
        asked.append((command, timeout_s))
        return Answer(LSPCI)

    place = Place(
        root=tmp_path,
        system="Linux",
        environment={},
        run=run,
        find=lambda program: "/usr/bin/lspci" if program == "lspci" else None,
    )
    found = collect(place=place)
    assert asked == [(["/usr/bin/lspci", "-nnk"], 5.0)]
    assert "744c" in found["lspci"] and "8086" in found["lspci"] and "Audio" not in found["lspci"]
    assert [(gpu.gfx, gpu.label) for gpu in facts.gpus(found)] == [("gfx1100", "Navi 31 (gfx1100)")]


@pytest.mark.parametrize(
    "answer",
    [Answer("", None, "could not be started: gone"), Answer("half of it", None, "no answer within 5 s"), Answer("", 1)],
)
def test_a_failing_command_is_a_line_in_problems(tmp_path: Path, answer: Answer) -> None:
    place = Place(
        root=tmp_path,
        system="Linux",
        environment={},
        run=lambda command, timeout_s: answer,
        find=lambda program: program if program == "lspci" else None,
    )
    found = collect(place=place)
    assert found["lspci"] is None and len(found["problems"]) == 1 and found["problems"][0].startswith("lspci: ")


def test_quick_starts_no_command_where_files_answer(tmp_path: Path) -> None:
    def run(command: Sequence[str], timeout_s: float) -> Answer:
        raise AssertionError(f"started {command}")

    place = tree(tmp_path)
    quick = collect(
        quick=True, place=Place(root=place.root, system="Linux", environment={}, run=run, find=lambda program: program)
    )
    assert facts.machine(quick).gpus[0].gfx == "gfx1100"


def test_numbers_on_the_bus_stand_in_where_lspci_is_missing(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "sys/bus/pci/devices/0000_03_00.0/class": "0x038000",
            "sys/bus/pci/devices/0000_03_00.0/vendor": "0x1002",
            "sys/bus/pci/devices/0000_03_00.0/device": "0x73ff",
        },
    )
    found = collect(place=Place(root=tmp_path, system="Linux", environment={}, find=nothing))
    assert [(gpu.gfx, gpu.found_by) for gpu in facts.gpus(found)] == [("gfx1032", "pci")]


def test_the_cards_folder_stands_in_where_the_bus_is_hidden(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "sys/class/drm/card0/device/vendor": "0x1002",
            "sys/class/drm/card0/device/device": "0x7550",
            "sys/class/drm/card0-DP-1/status": "connected",
        },
    )
    found = collect(place=Place(root=tmp_path, system="Linux", environment={}, find=nothing))
    assert [gpu.gfx for gpu in facts.gpus(found)] == ["gfx1201"]


def test_wsl_asks_windows_for_its_adapters(tmp_path: Path) -> None:
    write(tmp_path, {"dev/dxg": "", "proc/version": "Linux version 6.6.87.2-microsoft-standard-WSL2"})

    def run(command: Sequence[str], timeout_s: float) -> Answer:
        assert command[0] == "powershell.exe" and timeout_s <= 15
        return Answer('{"Name":"AMD Radeon RX 7900 XTX","PNPDeviceID":"PCI\\\\VEN_1002&DEV_744C"}\r\n')

    place = Place(
        root=tmp_path,
        system="Linux",
        environment={},
        run=run,
        find=lambda program: program if program == "powershell.exe" else None,
    )
    machine = facts.machine(collect(place=place))
    assert machine.wsl and [gpu.gfx for gpu in machine.gpus] == ["gfx1100"]


@pytest.mark.parametrize("answer", ["", "not json", "[]", "null", "7", '[{"Name": null}]'])
def test_any_answer_of_windows_is_survived(tmp_path: Path, answer: str) -> None:
    write(tmp_path, {"dev/dxg": "", "proc/version": "microsoft"})
    place = Place(
        root=tmp_path,
        system="Linux",
        environment={},
        run=lambda command, timeout_s: Answer(answer),
        find=lambda program: program,
    )
    found = collect(quick=True, place=place)
    assert all(gpu.gfx is None for gpu in facts.gpus(found))


def test_wsl_without_an_answer_still_shows_that_there_is_a_gpu(tmp_path: Path) -> None:
    write(tmp_path, {"dev/dxg": "", "proc/version": "microsoft"})
    found = collect(place=Place(root=tmp_path, system="Linux", environment={}, find=nothing))
    assert [(gpu.gfx, gpu.found_by) for gpu in facts.gpus(found)] == [(None, "/dev/dxg")]
    assert "PowerShell" in found["problems"][0]


def test_windows_is_asked_where_the_registry_says_nothing(tmp_path: Path) -> None:
    text = (
        '[{"Name":"AMD Radeon RX 9070 XT","PNPDeviceID":"PCI\\\\VEN_1002&DEV_7550","DriverVersion":"32.0.21025.1024"}]'
    )
    place = Place(
        root=tmp_path,
        system="Windows",
        environment={},
        find=lambda program: program if program == "powershell" else None,
        run=lambda command, timeout_s: Answer(text),
    )
    if sys.platform == "win32":
        pytest.skip("the registry answers")
    machine = facts.machine(collect(place=place))
    assert machine.system == "windows" and [gpu.gfx for gpu in machine.gpus] == ["gfx1201"]


@pytest.mark.parametrize(
    ("sign", "seen"),
    [
        ("proc/driver/nvidia/version", True),
        ("dev/nvidiactl", True),
        ("usr/lib/wsl/lib/nvidia-smi", True),
        ("usr/bin/nvidia-smi", False),
    ],
)
def test_signs_of_an_nvidia_driver(tmp_path: Path, sign: str, seen: bool) -> None:
    write(tmp_path, {sign: ""})
    assert (
        facts.machine(collect(place=Place(root=tmp_path, system="Linux", environment={}, find=nothing))).nvidia is seen
    )


def test_signs_of_a_container(tmp_path: Path) -> None:
    write(tmp_path, {".dockerenv": "", "proc/1/cgroup": "0::/docker/abc"})
    found = collect(place=Place(root=tmp_path, system="Linux", environment={"container": "podman"}, find=nothing))
    assert found["container"] == ["/.dockerenv", "container=podman", "/proc/1/cgroup"] and facts.in_container(found)


def test_a_huge_file_is_cut(tmp_path: Path) -> None:
    write(tmp_path, {"etc/os-release": "x" * (TEXT_LIMIT * 2)})
    found = collect(place=Place(root=tmp_path, system="Linux", environment={}, find=nothing))
    assert len(found["os_release"]) == TEXT_LIMIT


def test_this_machine() -> None:
    found = collect(quick=True)
    assert json.loads(json.dumps(found)) == found
    facts.machine(found)
