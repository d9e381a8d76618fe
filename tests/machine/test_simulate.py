"""Simulated machines: always labelled, shaped like collected ones, and their texts are what the readers read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labkit.catalog.findings import codes
from labkit.cli import main
from labkit.errors import LabkitError
from labkit.machine import evidence, simulate
from labkit.machine.facts import machine
from labkit.machine.readers import recognise
from labkit.machine.snapshot import collect

EXPECTED = {
    "rx6600": ["gfx1032"], "rx6800": ["gfx1030"], "rx7600": ["gfx1102"], "rx7900xtx": ["gfx1100"], "rx9070xt": ["gfx1201"],
    "laptop_780m_rx7700s": ["gfx1102", "gfx1103"], "strix_halo": ["gfx1151"], "mi300x_x8": ["gfx942"] * 8, "mi250x": ["gfx90a"] * 2,
    "wsl_rx7900xtx": ["gfx1100"], "windows_rx7900xtx": ["gfx1100"], "windows_rx6800": ["gfx1030"], "docker_rx7900xtx": ["gfx1100"],
    "podman_rx7900xtx": ["gfx1100"], "no_gpu": [], "container_without_devices": ["gfx1100"], "user_not_in_render_group": ["gfx1100"],
    "cpu_wheel_on_rx7900xtx": ["gfx1100"], "wheel_without_target_rx6600": ["gfx1032"],
}  # fmt: skip


def test_the_list() -> None:
    assert set(simulate.names()) == set(EXPECTED) and simulate.names()[: len(simulate.healthy())] == simulate.healthy()


@pytest.mark.parametrize("name", simulate.names())
def test_every_one_is_labelled_and_has_the_shape_of_a_collected_one(name: str) -> None:
    snapshot = simulate.snapshot(name)
    assert snapshot["simulated"] is True and snapshot["simulated_title"] == simulate.title(name)
    assert set(collect(quick=True)) <= set(snapshot)
    full = {"cmdline", "tools", "packages", "torch"}
    assert set(snapshot) - set(collect(quick=True)) == full | {
        "simulated_name",
        "simulated_title",
        "simulated_faults",
        "symptom",
    }
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


def test_names_that_do_not_exist_or_do_not_fit_are_answered_with_those_that_do() -> None:
    with pytest.raises(LabkitError) as caught:
        simulate.snapshot("rtx4090")
    assert "rx7900xtx" in caught.value.remedy
    with pytest.raises(LabkitError, match="no fault 'cosmic-rays'"):
        simulate.snapshot("rx6800", ("cosmic-rays",))
    with pytest.raises(LabkitError, match="cannot have 'wsl-bridge-missing'"):
        simulate.snapshot("rx6800", ("wsl-bridge-missing",))


@pytest.mark.parametrize("name", [name for name in simulate.healthy() if name != "no_gpu"])
def test_the_texts_are_read_by_the_readers_and_say_what_the_machine_is(name: str) -> None:
    snapshot = simulate.snapshot(name)
    wanted = sorted(EXPECTED[name])
    tools = snapshot["tools"]
    report = recognise.read_text(tools["collect_env"])
    assert (
        report["kind"] == "collect-env"
        and report["build"] == "rocm"
        and report["torch"] == snapshot["torch"]["version"]
    )
    assert len(report["gpus"]) == len(snapshot["torch"]["gcn_arch_names"])
    if snapshot["system"] == "Windows":
        return
    rocminfo = recognise.read_text(tools["rocminfo"])
    assert rocminfo["kind"] == "rocminfo" and rocminfo["problem"] is None
    assert sorted(agent["gfx"] for agent in rocminfo["agents"] if agent["type"] == "gpu") == wanted
    assert all(agent["compute_units"] and agent["global_memory_bytes"] for agent in rocminfo["agents"])
    if "WSL" in snapshot["kernel"]:
        return
    for tool, kind in (("rocm_smi", "rocm-smi"), ("amd_smi", "amd-smi")):
        read = recognise.read_text(tools[tool])
        assert read["kind"] == kind and sorted(gpu["gfx"] for gpu in read["gpus"]) == wanted
        assert all(gpu["vram_total_bytes"] for gpu in read["gpus"])
    lspci = recognise.read_text(snapshot["lspci"])
    assert lspci["kind"] == "lspci" and {gpu["driver"] for gpu in lspci["gpus"]} == {"amdgpu"}
    topology = recognise.read_tree({f"nodes/{number}/properties": text for number, text in snapshot["kfd"].items()})
    assert sorted(gpu["gfx"] for gpu in topology["gpus"]) == wanted
    if "dmesg" in tools:
        assert recognise.read_text(tools["dmesg"]) == {"kind": "dmesg", "findings": []}


def test_what_a_person_would_see_stands_in_the_symptom() -> None:
    assert simulate.snapshot("rx7600")["symptom"] == ""
    assert "OutOfMemoryError" in simulate.snapshot("rx7600", ("oom-real",))["symptom"]
    known = evidence.from_snapshot(simulate.snapshot("rx7600", ("oom-real",)), "my own words")
    assert "my own words" in known.said and "OutOfMemoryError" in known.said


@pytest.mark.parametrize("name", simulate.names())
def test_faults_are_findings_of_the_catalog(name: str) -> None:
    assert set(simulate.faults(name)) <= set(codes())


def test_the_command_writes_what_the_doctor_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "broken.json"
    assert (
        main(["simulate", "rx7600", "--fault", "arch-not-in-wheel", "--fault", "alloc-conf-conflict", "-o", str(file)])
        == 0
    )
    assert "simulated" in capsys.readouterr().out
    assert main(["doctor", "--from", str(file)]) == 1
    told = capsys.readouterr().out
    assert "simulated" in told.splitlines()[0] and told.index("[arch-not-in-wheel]") < told.index(
        "[alloc-conf-conflict]"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["broken.json"]


def test_the_command_lists_machines_and_faults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--list"]) == 0
    assert set(simulate.names()) == {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    assert main(["simulate", "no_gpu", "--list"]) == 0 and capsys.readouterr().out.strip() == ""
    assert main(["simulate", "mi250x", "--list"]) == 0
    assert set(simulate.faults("mi250x")) == {line.split()[0] for line in capsys.readouterr().out.splitlines()}


def test_the_command_prints_json_and_names_its_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "rx9070xt"]) == 0
    assert json.loads(capsys.readouterr().out)["simulated"] is True
    assert main(["simulate", "rx9070xt", "--fault", "nothing"]) == 1 and "no fault" in capsys.readouterr().err
    assert main(["simulate", "rx9070xt", "-o", str(tmp_path / "none" / "x.json")]) == 1
    assert "cannot be written" in capsys.readouterr().err
