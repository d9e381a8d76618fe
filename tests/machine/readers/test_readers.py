"""Readers on short texts written for this purpose: each shows one thing that pastes do to a tool's output."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest

from labkit.machine.readers import recognise
from labkit.machine.readers.kfd import gfx_name
from labkit.machine.readers.text import clean, embedded_json, number, size, value
from tests.machine.readers.samples import AMD_SMI, COLLECT_ENV, LSPCI, ROCM_SMI_TABLE, ROCMINFO, SAMPLES


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_content_decides_the_kind(kind: str) -> None:
    assert recognise.read_text(SAMPLES[kind])["kind"] == kind


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize(
    "disturb",
    [
        lambda t: t.replace("\n", "\r\n"),
        lambda t: "".join(f"    {line}\n" for line in t.splitlines()),
        lambda t: "".join(f"> {line}\n" for line in t.splitlines()),
        lambda t: "".join(f"\x1b[37m{line}\x1b[0m\n" for line in t.splitlines()),
        lambda t: "".join(f"{line}   \n" for line in t.splitlines()),
        lambda t: "```\n" + t + "```\n",
        lambda t: "user@host:~$ some-tool | tee out.txt\n" + t,
        lambda t: "/usr/lib/python3/x.py:1: UserWarning: something else\n  warnings.warn(1)\n" + t,
    ],
    ids=["crlf", "indented", "quoted", "colours", "trailing-blanks", "markdown", "prompt", "warning-first"],
)
def test_what_pastes_do_changes_nothing(kind: str, disturb) -> None:  # type: ignore[no-untyped-def]
    assert recognise.read_text(disturb(SAMPLES[kind])) == recognise.read_text(SAMPLES[kind])


def test_rocminfo_agents_and_pools() -> None:
    facts = recognise.read_text(ROCMINFO)
    assert facts["driver"] == "loaded" and facts["problem"] is None
    cpu, gpu = facts["agents"]
    assert (cpu["type"], cpu["gfx"], cpu["global_memory_bytes"]) == ("cpu", None, 1048576 * 1024)
    assert gpu == {"type": "gpu", "gfx": "gfx1101", "name": "gfx1101", "marketing_name": "AMD Radeon RX 7800 XT",
                   "compute_units": 60, "global_memory_bytes": 16760832 * 1024}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ROCk module is NOT loaded, possibly no GPU devices\n", "driver-not-loaded"),
        ("ROCk module is loaded\nUnable to open /dev/kfd read-write: Permission denied\n", "kfd-permission"),
        (
            "ROCk module is loaded\nUnable to open /dev/kfd read-write: No such file or directory\n",
            "kfd-missing-in-container",
        ),
        (
            "ROCk module is loaded\nUnable to open /dev/kfd read-write: Cannot allocate memory\n",
            "kfd-unsupported-device",
        ),
        ("ROCk module is loaded\nUnable to open /dev/kfd read-write: Invalid argument\n", "kfd-open-refused"),
        ("hsa api call failure at: x.cc:1\nCall returned HSA_STATUS_ERROR_OUT_OF_RESOURCES\n", "hsa-init-failed"),
        (ROCMINFO.split("*******\nAgent 2")[0] + "*** Done ***\n", "no-gpu-agent"),
        (ROCMINFO.split("*******\nAgent 2")[0], None),
        ("ROCR: unsupported GPU\n", "wsl-gpu-unsupported"),
    ],
)
def test_rocminfo_problems(text: str, problem: str | None) -> None:
    assert recognise.read_text(text)["problem"] == problem


def test_a_cap_is_no_power_reading() -> None:
    first, second = recognise.read_text(ROCM_SMI_TABLE)["gpus"]
    assert first["power_w"] is None and second["power_w"] == 9.0
    assert (first["temperature_c"], first["use_percent"], first["vram_used_bytes"]) == (35.0, 3.0, None)


def test_amd_smi_sections_decide_the_meaning() -> None:
    first, second = recognise.read_text(AMD_SMI)["gpus"]
    assert first["temperature_c"] == 50.0 and first["vram_total_bytes"] == 16368 << 20 and first["power_w"] == 40.0
    assert second["power_w"] is None and second["name"] is None and second["vram_used_bytes"] is None


def test_collect_env_builds() -> None:
    assert recognise.read_text(COLLECT_ENV)["build"] == "rocm"
    without_hip = COLLECT_ENV.replace("7.2.26015-fc0010cf6a", "0.0.0").replace("+rocm7.2", "")
    assert (recognise.read_text(without_hip)["build"], recognise.read_text(without_hip)["hip"]) == ("cpu", None)
    facts = recognise.read_text(COLLECT_ENV)
    assert facts["gpus"] == ["AMD Radeon RX 7800 XT (gfx1101)"] and facts["python"] == "3.12.3"


def test_lspci_takes_display_devices_of_amd_only() -> None:
    assert recognise.read_text(LSPCI)["gpus"] == [
        {"name": "Navi 32 [Radeon RX 7700 XT / 7800 XT]", "pci_id": "1002:747e", "driver": "amdgpu"}
    ]


def test_machine_checks_of_the_cpu_are_no_gpu_trouble() -> None:
    assert recognise.read_text("[  1.0] mce: [Hardware Error]: Machine Check: 0 poison is consumed\n")["findings"] == []


def test_gfx_names_from_the_kernel() -> None:
    # ROCR's libhsakmt counts minor and step in hexadecimal digits
    assert [gfx_name(n) for n in (90010, 90402, 110001, 100306, 120001, 0, -1, 999999)] == [
        "gfx90a", "gfx942", "gfx1101", "gfx1036", "gfx1201", None, None, None,
    ]  # fmt: skip


def topology(nodes: dict[int, str]) -> dict[str, str]:
    return {f"topology/nodes/{n}/properties": text for n, text in nodes.items()}


def test_kfd_nodes_without_simds_are_cpus() -> None:
    files = topology(
        {
            0: "cpu_cores_count 16\nsimd_count 0\n",
            1: "simd_count 120\nsimd_per_cu 2\ngfx_target_version 110001\n",
            2: "",
        }
    )
    files["topology/nodes/1/io_links/0/properties"] = "simd_count 5\n"
    assert recognise.read_tree(files)["gpus"] == [{"node": 1, "gfx": "gfx1101", "compute_units": 60}]


def test_archives_are_read_in_memory_and_damage_is_said(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        content = b"simd_count 8\nsimd_per_cu 4\ngfx_target_version 90402\n"
        member = tarfile.TarInfo("../../nodes/3/properties")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    whole = packed.getvalue()
    assert recognise.read_bytes(whole)["gpus"] == [{"node": 3, "gfx": "gfx942", "compute_units": 2}]
    assert recognise.read_bytes(whole[: len(whole) // 2])["kind"] == "unknown"
    assert list(tmp_path.iterdir()) == []
    assert recognise.read_bytes(gzip.compress(LSPCI.encode()))["kind"] == "lspci"
    assert recognise.read_bytes(LSPCI.encode("utf-16"))["kind"] == "lspci"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "Dear all, the GPU agent 7 is on holiday.\n",
        "usage: amd-smi [-h] ...\n",
        '{"card0": {"a": "b"',
        "NVIDIA-SMI 550.1  Driver Version: 550.1\n",
    ],
)
def test_foreign_and_damaged_text_is_unknown_with_a_reason(text: str) -> None:
    facts = recognise.read_text(text)
    assert facts["kind"] == "unknown" and facts["reason"]


def test_values_and_sizes() -> None:
    assert [value(t) for t in ("N/A", "N/A (Secondary die)", "N/A mV", "None", "x")] == [None, None, None, None, "x"]
    assert (number("141.0W"), number("(300Mhz)"), number("N/A")) == (141.0, 300.0, None)
    assert (size("2 GB"), size("7", "MB"), size("7"), size("5 KB")) == (2 << 30, 7 << 20, None, 5 << 10)
    assert embedded_json('$ tool --json\nWARNING: x\n[{"a": 1}]\n') == [{"a": 1}]
    assert clean("a\r\nb\x1b[0m") == "a\nb"


def test_the_first_tool_gives_the_kind() -> None:
    assert recognise.read_text(LSPCI + ROCMINFO)["kind"] == "lspci"
    assert recognise.read_text(ROCMINFO + LSPCI)["kind"] == "rocminfo"


def test_json_of_both_smi_tools() -> None:
    rocm = {
        "card1": {
            "Card series": "0x744c",
            "VRAM Total Memory (B)": "1024",
            "Average Graphics Package Power (W)": "N/A (Secondary die)",
        }
    }
    gpu = recognise.read_text("WARNING: asleep\n" + json.dumps(rocm, indent=2))["gpus"][0]
    assert (gpu["index"], gpu["name"], gpu["vram_total_bytes"], gpu["power_w"]) == (1, None, 1024, None)
    amd = [
        {
            "gpu": 3,
            "asic": {"market_name": "X", "target_graphics_version": "gfx1200"},
            "vram": {"size": {"value": 2, "unit": "GB"}},
        }
    ]
    gpu = recognise.read_text(json.dumps(amd))["gpus"][0]
    assert (gpu["index"], gpu["gfx"], gpu["vram_total_bytes"]) == (3, "gfx1200", 2 << 30)
