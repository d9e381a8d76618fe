"""The gauge on recorded outputs of amd-smi and on folders that look like the driver's: which GPU, which number, from where."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from labkit.comm import paper, topology
from labkit.jupyter import gauge
from labkit.jupyter.gauge import Gauge, Tool
from labkit.profile import sensors
from labkit.profile.sensors import Reading
from tests.apart import apart
from tests.profile.driver_files import device

linux = pytest.mark.skipif(os.name == "nt", reason="Windows has neither these folders nor links for everybody")


def card(root: Path, number: int, address: str, **files: str) -> None:
    """A card of the driver as sysfs shows it: the device's folder by its PCI address, and a link to it."""
    place = device(root / "sys" / "devices" / address, **{"mem_info_vram_total": str(16 << 30), **files})
    link = root / "sys" / "class" / "drm" / f"card{number}"
    link.mkdir(parents=True)
    (link / "device").symlink_to(place, target_is_directory=True)


VALUES = ("use_percent", "memory_used_bytes", "memory_total_bytes", "power_w", "temperature_c")
FULL = {
    "gpu_busy_percent": "37",
    "mem_info_vram_used": str(4 << 30),
    "hwmon__hwmon1__power1_average": "151000000",
    "hwmon__hwmon1__temp1_input": "61000",
}


def kfd(root: Path, *gpus: tuple[str, int]) -> None:
    """A KFD topology with a CPU and these GPUs, in ROCr's order: (PCI address, unique id)."""
    for number, (address, unique) in enumerate([("", 0), *gpus]):
        lines = ["simd_count 0", "cpu_cores_count 8"]
        if address:
            domain, bus, rest = address.split(":")
            device, function = rest.split(".")
            location = int(bus, 16) << 8 | int(device, 16) << 3 | int(function)
            lines = ["simd_count 64", "simd_per_cu 2", "gfx_target_version 110000", f"location_id {location}"]
            lines += [f"domain {int(domain, 16)}", f"unique_id {unique}"]
        node = root / "sys" / "class" / "kfd" / "kfd" / "topology" / "nodes" / str(number)
        node.mkdir(parents=True)
        (node / "properties").write_text("\n".join(lines) + "\n", encoding="ascii")


def tools(*readings: Reading) -> tuple[Tool, ...]:
    return (Tool(lambda: readings),)


def values(device: dict[str, Any]) -> list[Any]:
    return [device[name]["value"] for name in VALUES]


def never() -> Sequence[Reading]:
    raise AssertionError("the driver's files tell everything: no tool has to be started")


@linux
def test_the_drivers_files_are_enough(tmp_path: Path) -> None:
    card(tmp_path, 0, "0000:03:00.0", **FULL)
    found = Gauge(tmp_path, {}, (Tool(never),)).look()
    (device,) = found["devices"]
    assert (device["name"], device["kind"], found["note"]) == ("GPU 0", "gpu", "")
    assert values(device) == [37, 4 << 30, 16 << 30, 151, 61]
    assert {device[name]["source"] for name in device if name not in ("name", "kind")} == {"amdgpu driver"}


@linux
def test_what_the_driver_does_not_tell_amd_smi_tells_by_address(tmp_path: Path) -> None:
    card(tmp_path, 0, "0000:03:00.0", mem_info_vram_used="0")
    card(tmp_path, 1, "0000:c3:00.0", **FULL)
    other = Reading("amd-smi", 0, 90.0, 1, 2, 200.0, 70.0, "0000:c3:00.0")
    mine = Reading("amd-smi", 1, 12.0, 1, 2, 33.0, None, "0000:03:00.0")
    first, second = Gauge(tmp_path, {}, tools(other, mine)).look()["devices"]
    assert values(first) == [12, 0, 16 << 30, 33, None]
    assert [first[name]["source"] for name in ("use_percent", "memory_used_bytes", "temperature_c")] == [
        "amd-smi", "amdgpu driver", "not available",
    ]  # fmt: skip
    assert values(second) == [37, 4 << 30, 16 << 30, 151, 61]


@linux
def test_without_an_address_only_one_gpu_is_the_same_gpu(tmp_path: Path) -> None:
    card(tmp_path, 0, "0000:03:00.0", gpu_busy_percent="5")
    assert values(Gauge(tmp_path, {}, tools(Reading("amd-smi", 0, power_w=33.0))).look()["devices"][0])[3] == 33
    card(tmp_path, 1, "0000:04:00.0", gpu_busy_percent="5")
    two = Gauge(tmp_path, {}, tools(Reading("amd-smi", 0, power_w=33.0), Reading("amd-smi", 1, power_w=44.0)))
    assert [values(one)[3] for one in two.look()["devices"]] == [None, None]


@linux
@pytest.mark.parametrize(
    ("environ", "busy"),
    [
        ({}, [22, 11]),  # in ROCr's order, which is not the order of the cards here
        ({"ROCR_VISIBLE_DEVICES": "0"}, [22]),
        ({"ROCR_VISIBLE_DEVICES": "1,0"}, [11, 22]),
        ({"ROCR_VISIBLE_DEVICES": "GPU-00000000000000ab"}, [11]),
        ({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "0"}, [11]),
        ({"CUDA_VISIBLE_DEVICES": "1"}, [11]),
    ],
)
def test_only_what_this_servers_kernels_see_is_shown(tmp_path: Path, environ: dict[str, str], busy: list[int]) -> None:
    card(tmp_path, 0, "0000:03:00.0", **{**FULL, "gpu_busy_percent": "11"})
    card(tmp_path, 1, "0000:c3:00.0", **{**FULL, "gpu_busy_percent": "22"})
    kfd(tmp_path, ("0000:c3:00.0", 0xCD), ("0000:03:00.0", 0xAB))
    found = Gauge(tmp_path, environ, ()).look()
    assert [one["use_percent"]["value"] for one in found["devices"]] == busy
    assert [one["name"] for one in found["devices"]] == [f"GPU {k}" for k in range(len(busy))]
    assert found["note"] == ""


@linux
def test_hidden_gpus_and_unknown_ones_are_said(tmp_path: Path) -> None:
    card(tmp_path, 0, "0000:03:00.0", **FULL)
    kfd(tmp_path, ("0000:03:00.0", 0xAB))
    hidden = Gauge(tmp_path, {"ROCR_VISIBLE_DEVICES": ""}, ()).look()
    assert hidden["devices"][0]["kind"] == "cpu" and "hides every GPU" in hidden["note"]
    unknown = Gauge(tmp_path, {"ROCR_VISIBLE_DEVICES": "GPU-ffff"}, ()).look()
    assert len(unknown["devices"]) == 1 and "cannot tell from the others" in unknown["note"]


def test_without_a_topology_the_position_counts_and_is_said(tmp_path: Path) -> None:
    readings = [Reading("amd-smi", k, 10.0 * k) for k in range(3)]
    found = Gauge(tmp_path, {"ROCR_VISIBLE_DEVICES": "2"}, tools(*readings)).look()
    assert [one["use_percent"]["value"] for one in found["devices"]] == [20]
    assert "as amd-smi counts" in found["note"]
    assert Gauge(tmp_path, {}, tools(*readings)).look()["note"] == ""


def test_a_node_on_paper_of_eight(tmp_path: Path) -> None:
    """Simulated: the texts of a node with several GPUs; each learner's lease shows one of them."""
    texts = next(paper.files(name) for name in paper.NODES if len(topology.read(paper.files(name)).gpus) == 8)
    node = topology.read(texts)
    readings = [(Reading("amd-smi", k, float(k), address=gpu.address), {}) for k, gpu in enumerate(node.gpus)]
    for lease in range(8):
        shown, note = gauge.visible(readings[::-1], node, {}, {"ROCR_VISIBLE_DEVICES": str(lease)})
        assert [one.address for one, _ in shown] == [node.gpus[lease].address] and note == ""


FORMS = [  # the forms in which amd-smi answers: a list, below gpu_data (later), and text (where --json is not understood)
    '[{"gpu": 0, "usage": {"gfx_activity": {"value": 88, "unit": "%"}, "umc_activity": "N/A"}, '
    '"power": {"socket_power": {"value": 214, "unit": "W"}}, "temperature": {"edge": "N/A", "hotspot": {"value": 55, "unit": "C"}}, '
    '"mem_usage": {"total_vram": {"value": 196592, "unit": "MB"}, "used_vram": {"value": 1024, "unit": "MB"}}}]',
    '{"gpu_data": [{"gpu": 0, "usage": {"gfx_activity": {"value": 88, "unit": "%"}}, '
    '"power": {"socket_power": {"value": 214, "unit": "W"}}, "temperature": {"edge": "N/A", "hotspot": {"value": 55, "unit": "C"}}, '
    '"mem_usage": {"total_vram": {"value": 196592, "unit": "MB"}, "used_vram": {"value": 1024, "unit": "MB"}}}]}',
    "GPU: 0\n    USAGE:\n        GFX_ACTIVITY: 88 %\n    POWER:\n        SOCKET_POWER: 214 W\n    TEMPERATURE:\n        EDGE: N/A\n"
    "        HOTSPOT: 55 °C\n    MEM_USAGE:\n        TOTAL_VRAM: 196592 MB\n        USED_VRAM: 1024 MB\n",
]
_TEXTS = json.loads((Path(__file__).parents[1] / "machine" / "readers" / "pastes.json").read_text(encoding="utf-8"))
PASTES = [
    one for one in _TEXTS if one["id"].startswith("amd-smi") and "gpus" in one["expect"] and one["text"][0] != ">"
]


@pytest.mark.parametrize("paste", PASTES, ids=lambda one: one["id"])
def test_whatever_people_pasted_of_amd_smi_becomes_a_gauge(tmp_path: Path, paste: dict[str, Any]) -> None:
    """The texts of the readers' tests; what one does not tell is not available, with no number in its place."""
    expected = paste["expect"]["gpus"]
    found = Gauge(tmp_path, {}, (Tool(lambda: sensors.amd_smi(paste["text"])),)).look()["devices"]
    if not expected:
        assert [one["kind"] for one in found] == ["cpu"]
        return
    names = ("use_percent", "vram_used_bytes", "vram_total_bytes", "power_w", "temperature_c")
    assert [values(one) for one in found] == [[gpu[name] for name in names] for gpu in expected]
    for one in found:
        for name in ("use_percent", "power_w", "temperature_c"):
            assert one[name]["source"] == ("not available" if one[name]["value"] is None else "amd-smi")


@pytest.mark.parametrize("text", FORMS)
@pytest.mark.skipif(os.name == "nt", reason="the stand-in for amd-smi is a shell script")
def test_amd_smi_as_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A faked amd-smi that prints a recorded answer; its list ties it to a PCI address."""
    (tmp_path / "metric.txt").write_text(text, encoding="utf-8")
    (tmp_path / "list.txt").write_text('[{"gpu": 0, "bdf": "0000:C1:00.0", "uuid": "x"}]', encoding="utf-8")
    program = tmp_path / "amd-smi"
    program.write_text(f'#!/bin/sh\ncat "{tmp_path}/$1.txt"\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    (reading,) = gauge._amd_smi()
    assert reading == Reading("amd-smi", 0, 88.0, 1 << 30, 196592 << 20, 214.0, 55.0, "0000:c1:00.0")
    (device,) = Gauge(tmp_path, {}).look()["devices"]
    assert values(device) == [88, 1 << 30, 196592 << 20, 214, 55]


def test_what_amd_smi_list_says_may_be_anything() -> None:
    one = Reading("amd-smi", 0)
    for text in (
        "",
        "[]",
        "{",
        '{"gpu": 0}',
        "[3]",
        '[{"gpu": 1, "bdf": "0000:c1:00.0"}]',
        "Traceback (most recent call last):",
    ):
        assert gauge.addressed([one], text)[0].address == "", text


def test_without_a_gpu_it_is_the_processor_and_never_a_made_up_zero(tmp_path: Path) -> None:
    made = Gauge(tmp_path, {}, ())
    first = made.look()["devices"][0]
    assert (first["name"], first["kind"]) == ("CPU", "cpu")
    assert first["use_percent"] == {"value": None, "source": "not available"}, "over no time there is no share"
    until = time.monotonic() + 2 * sensors.LEAST_S
    while time.monotonic() < until:
        pass
    use, used, total, power, heat = values(made.look()["devices"][0])
    assert 0 < use <= 100 and 0 < used < total and power is None and heat is None


def test_a_tool_rests_ten_times_as_long_as_it_ran() -> None:
    now, asked = [0.0], []

    def slow() -> Sequence[Reading]:
        asked.append(now[0])
        now[0] += 0.7
        return (Reading("amd-smi", 0, float(len(asked))),)

    tool = Tool(slow, lambda: now[0])
    assert tool.readings()[0].busy_percent == 1
    for _ in range(20):
        now[0] += 1
        tool.readings()
        for thread in threading.enumerate():
            if thread.daemon and thread is not threading.current_thread() and "_work" in repr(thread.name):
                thread.join()
    assert 3 <= len(asked) <= 4, "and in between the last answer is shown"


def test_a_tool_that_prints_nothing_or_breaks_is_left_alone_for_a_while() -> None:
    now, asked = [0.0], []

    def dead() -> Sequence[Reading]:
        asked.append(1)
        raise ValueError("what is this?")

    tool = Tool(dead, lambda: now[0])
    for _ in range(20):
        now[0] += 1
        assert tool.readings() == ()
    assert len(asked) == 1
    now[0] += 31
    tool.readings()
    assert len(asked) == 2


def test_thirty_viewers_are_one_measurement(tmp_path: Path) -> None:
    made, looks = Gauge(tmp_path, {}, ()), []
    look = made.look

    def counted() -> dict[str, Any]:
        looks.append(1)
        time.sleep(0.1)
        return look()

    made.look = counted  # type: ignore[method-assign]

    async def everybody() -> list[Any]:
        first = await asyncio.gather(*(made.read() for _ in range(30)))
        return [*first, await made.read()]

    found = apart(lambda: asyncio.run(everybody()))
    assert len(looks) == 1 and len(found) == 31 and all(one == found[0] for one in found)


def test_devices_that_hang_block_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gauge, "WAIT_S", 0.2)
    made, go_on, looks = Gauge(tmp_path, {}, ()), threading.Event(), []

    def hangs() -> dict[str, Any]:
        looks.append(1)
        go_on.wait(60)
        return {"devices": [], "note": "awake"}

    made.look = hangs  # type: ignore[method-assign]

    async def ask() -> list[str]:
        told = [(await made.read())["note"] for _ in range(3)]
        go_on.set()
        monkeypatch.setattr(gauge, "WAIT_S", 60)
        return [*told, (await made.read())["note"]]

    told = apart(lambda: asyncio.run(ask()))
    assert ["do not answer" in words for words in told] == [True, True, True, False] and told[-1] == "awake"
    assert len(looks) == 1, "nothing new is begun while the old one hangs"


def test_a_broken_sensor_is_a_sentence(tmp_path: Path) -> None:
    made = Gauge(tmp_path, {}, ())

    def broken() -> dict[str, Any]:
        raise OSError("x")

    made.look = broken  # type: ignore[method-assign]
    found = apart(lambda: asyncio.run(made.read()))
    assert found["devices"] == [] and "OSError" in found["note"]
    json.dumps(found)
