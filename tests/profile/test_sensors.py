"""Reading the sensors: from a folder that looks like the driver's, from the tools' texts, and from the CPU."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from labkit.profile import sensors
from tests.profile.driver_files import device


def card(root: Path, name: str, **files: str) -> None:
    device(root / name / "device", **files)


def test_the_drivers_files(tmp_path: Path) -> None:
    card(
        tmp_path,
        "card1",
        gpu_busy_percent="37",
        mem_info_vram_used="1073741824",
        hwmon__hwmon4__power1_average="151000000",
        hwmon__hwmon4__temp1_input="61000",
    )
    card(tmp_path, "card0", hwmon__hwmon2__power1_input="9500000", gpu_busy_percent="not now")
    card(tmp_path, "card2", vendor="0x10de")
    card(tmp_path, "card1-DP-1")
    assert sensors.driver(tmp_path) == (
        sensors.Reading("amdgpu driver", 0, None, None, 17163091968, 9.5, None),
        sensors.Reading("amdgpu driver", 1, 37.0, 2**30, 17163091968, 151.0, 61.0),
    )


def test_no_such_folder_is_no_card(tmp_path: Path) -> None:
    assert sensors.driver(tmp_path / "none") == ()


def test_ten_cards_are_counted_in_order(tmp_path: Path) -> None:
    for number in (0, 2, 10, 1):
        card(tmp_path, f"card{number}", gpu_busy_percent=str(number))
    assert [reading.busy_percent for reading in sensors.driver(tmp_path)] == [0, 1, 2, 10]


def test_amd_smi() -> None:
    text = """[{"gpu": 0, "usage": {"gfx_activity": {"value": 88, "unit": "%"}},
      "power": {"socket_power": {"value": 214, "unit": "W"}}, "temperature": {"edge": {"value": 55, "unit": "C"}},
      "mem_usage": {"total_vram": {"value": 24560, "unit": "MB"}, "used_vram": {"value": 1024, "unit": "MB"}}}]"""
    (reading,) = sensors.amd_smi(text)
    assert (reading.device, reading.busy_percent, reading.power_w, reading.temperature_c) == (0, 88.0, 214.0, 55.0)
    assert reading.memory_bytes == 2**30


def test_nvidia_smi() -> None:
    text = "0, 97, 1024, 81559, 312.55, 47\n1, [N/A], 3, 81559, [Not Supported], 30\nnonsense\n"
    assert sensors.nvidia_smi(text) == (
        sensors.Reading("nvidia-smi", 0, 97.0, 2**30, 81559 * 2**20, 312.55, 47.0),
        sensors.Reading("nvidia-smi", 1, None, 3 * 2**20, 81559 * 2**20, None, 30.0),
    )
    assert sensors.nvidia_smi("NVIDIA-SMI has failed because it couldn't communicate with the driver.") == ()


def test_the_cpu_is_called_the_cpu() -> None:
    (reading,) = sensors.Processor().read()
    assert reading.source == "CPU" and reading.memory_bytes and reading.memory_bytes > 2**20
    assert reading.power_w is None and reading.temperature_c is None, "unknown is None"


def test_a_share_over_no_time_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """psutil answers 0.0 then, which would pull down the average of a short watch."""
    clock, times = iter([0.0, 0.01, 0.5, 0.51, 1.0]), iter([(10.0, 100.0), (13.0, 104.0), (13.0, 104.0)])
    monkeypatch.setattr(sensors.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(sensors.Processor, "_times", lambda self: next(times))
    cpu = sensors.Processor()
    assert [cpu.read()[0].busy_percent for _ in range(4)] == [None, 75.0, None, None], (
        "nor over a clock that stood still"
    )


def test_another_thread_reads_the_share_since_the_last_reading_too() -> None:
    """psutil.cpu_percent would say 0 there the first time."""
    cpu = sensors.Processor()
    until = time.monotonic() + 2 * sensors.LEAST_S
    while time.monotonic() < until:
        pass  # one core is busy
    found: list[sensors.Reading] = []
    thread = threading.Thread(target=lambda: found.extend(cpu.read()))
    thread.start()
    thread.join()
    assert found[0].busy_percent is not None and 0 < found[0].busy_percent <= 100


@pytest.mark.skipif(os.name == "nt", reason="Windows has neither these folders nor links for everybody")
def test_where_a_card_is_and_the_junction_where_there_is_no_edge(tmp_path: Path) -> None:
    place = device(tmp_path / "0000:c2:00.0", hwmon__hwmon1__temp2_input="70000")
    (tmp_path / "drm" / "card0").mkdir(parents=True)
    (tmp_path / "drm" / "card0" / "device").symlink_to(place, target_is_directory=True)
    (reading,) = sensors.driver(tmp_path / "drm")
    assert (reading.address, reading.temperature_c) == ("0000:c2:00.0", 70.0)


def test_without_a_gpu_and_its_tools_the_cpu_is_watched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sensors, "driver", lambda root=tmp_path: ())
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert sensors.find()[0] == "CPU"
    monkeypatch.setattr("shutil.which", lambda name: name if name == "amd-smi" else None)
    monkeypatch.setattr(sensors, "_ask_amd_smi", lambda: ())
    assert sensors.find()[0] == "CPU", "a tool that finds no GPU is no source"
    monkeypatch.setattr(sensors, "_ask_amd_smi", lambda: (sensors.Reading("amd-smi", 0),))
    assert sensors.find()[0] == "amd-smi"
