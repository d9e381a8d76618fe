"""Local ranks and their GPUs and cores: disjoint, covering, near; the warnings; the wrapper as a real process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.comm import binding, paper, topology
from labkit.comm.binding import bind
from labkit.errors import LabkitError

ROOT = Path(__file__).resolve().parents[2]
WRAPPER = ROOT / "notebooks" / "scripts" / "slurm" / "bind.py"


def node(name: str) -> topology.Topology:
    return topology.read(paper.files(name))


@pytest.mark.parametrize("name", paper.NODES)
def test_the_cores_are_disjoint_cover_the_node_and_are_near(name: str) -> None:
    machine = node(name)
    places = bind(machine).places
    dealt = [cpu for place in places for cpu in place.cpus]
    assert len(places) == len(machine.gpus)
    assert len(dealt) == len(set(dealt))
    assert set(dealt) == {cpu for cpus in machine.numa.values() for cpu in cpus}
    for place in places:
        assert place.cpus
        assert place.near is True
        assert set(place.cpus) <= set(machine.numa[place.numa])
    for core in machine.cores:  # both threads of a core go to one rank
        assert len({place.local_rank for place in places if set(core) & set(place.cpus)}) == 1


def test_the_cores_of_mi250x_are_the_documented_ones() -> None:
    """LUMI-G's documentation binds GPU 0 to 7 to 49, 57, 17, 25, 1, 9, 33, 41: eight cores each, that share a cache."""
    first = [min(place.cpus) for place in bind(node("mi250x")).places]
    assert first == [48, 56, 16, 24, 0, 8, 32, 40]


def test_a_rank_that_sees_its_own_gpu_calls_it_0() -> None:
    masked, all_seen = bind(node("mi300x"), masked=True), bind(node("mi300x"))
    assert [place.environment(True) for place in masked.places] == [{"ROCR_VISIBLE_DEVICES": str(k)} for k in range(8)]
    assert {place.device for place in masked.places} == {0}
    assert [place.device for place in all_seen.places] == list(range(8))
    assert all_seen.places[3].environment(False) == {}
    assert any("invalid device ordinal" in warning for warning in masked.warnings)
    assert not all_seen.warnings


def test_fewer_ranks_take_the_first_gpus_and_all_cores_near_them() -> None:
    places = bind(node("mi300x"), 2).places
    assert [place.gpu for place in places] == [0, 1]
    assert topology.cpu_text(places[0].cpus) == "0-23,96-119"


@pytest.mark.parametrize("ranks", [0, -1, 9])
def test_numbers_of_ranks_that_cannot_be(ranks: int) -> None:
    with pytest.raises(LabkitError):
        bind(node("mi300x"), ranks)


def test_more_ranks_than_cores_share_them_and_it_is_said() -> None:
    found = bind(node("mi300x-cpx"), allowed=range(16))
    assert all(place.cpus for place in found.places)
    assert any("Too few cores" in warning for warning in found.warnings)
    assert found.places[63].near is False


def test_the_cores_that_slurm_left_to_this_process_are_all_that_is_dealt() -> None:
    found = bind(node("mi250x"), 8, allowed=range(0, 64, 2))
    assert sorted(cpu for place in found.places for cpu in place.cpus) == list(range(0, 64, 2))
    assert all(place.near for place in found.places)


@pytest.mark.parametrize(
    ("environment", "gpus"),
    [
        ({}, [0, 1, 2, 3, 4, 5, 6, 7]),
        ({"ROCR_VISIBLE_DEVICES": "4,5"}, [4, 5]),
        ({"HIP_VISIBLE_DEVICES": "7,0"}, [7, 0]),
        ({"CUDA_VISIBLE_DEVICES": "3"}, [3]),
        ({"HIP_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "3"}, [1]),
        ({"ROCR_VISIBLE_DEVICES": "4,5,6", "HIP_VISIBLE_DEVICES": "1"}, [5]),
        ({"ROCR_VISIBLE_DEVICES": "4,5", "HIP_VISIBLE_DEVICES": "0,1,2"}, [4, 5]),
        ({"ROCR_VISIBLE_DEVICES": "2,3", "CUDA_VISIBLE_DEVICES": "2,3"}, []),
        ({"ROCR_VISIBLE_DEVICES": "2,x,3"}, [2]),
        ({"ROCR_VISIBLE_DEVICES": ""}, []),
        ({"ROCR_VISIBLE_DEVICES": "GPU-0123456789abcdef"}, [0, 1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_what_the_variables_leave(environment: dict[str, str], gpus: list[int]) -> None:
    assert [gpu.index for gpu in binding.visible(node("mi300x"), environment)] == gpus


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"ROCR_VISIBLE_DEVICES": "4,5", "HIP_VISIBLE_DEVICES": "0"}, "are both set: the second counts within"),
        ({"ROCR_VISIBLE_DEVICES": "4,5", "CUDA_VISIBLE_DEVICES": "0"}, "ROCR_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES"),
        ({"HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "1"}, "goes by the first"),
        ({"CUDA_VISIBLE_DEVICES": "0"}, "hides AMD GPUs too"),
        ({"ROCR_VISIBLE_DEVICES": "2,3", "CUDA_VISIBLE_DEVICES": "2,3"}, "leave none of this node's GPUs"),
        ({"ROCR_VISIBLE_DEVICES": "GPU-0123456789abcdef"}, "by UUID"),
        ({"ROCR_VISIBLE_DEVICES": "4,5"}, "GPU 4 of this node is 'cuda:0'"),
    ],
)
def test_variables_that_deserve_a_warning(environment: dict[str, str], words: str) -> None:
    warnings = bind(node("mi300x"), environment=environment).warnings
    assert any(words in warning for warning in warnings), warnings


def test_partitions_are_named() -> None:
    assert any("64 devices are 8 cards" in warning for warning in bind(node("mi300x-cpx")).warnings)


def test_without_a_gpu_there_are_cores_only() -> None:
    machine = topology.Topology((), {0: (0, 1, 2, 3)}, ((0,), (1,), (2,), (3,)))
    found = bind(machine, 2, masked=True)
    assert [place.cpus for place in found.places] == [(0, 1), (2, 3)]
    assert [place.environment(True) for place in found.places] == [{}, {}]
    assert found.warnings == ("No AMD GPU is known here: only cores are given.",)


def test_unknown_numa_nodes_are_said_to_be_unknown() -> None:
    files = {
        path: text for path, text in paper.files("mi300x").items() if "numa_node" not in path and "links" not in path
    }
    found = bind(topology.read(files))
    assert {place.near for place in found.places} == {None}
    assert any("Nothing says on which NUMA node" in warning for warning in found.warnings)


@given(st.sampled_from(sorted(paper.NODES)), st.integers(1, 4), st.sets(st.integers(0, 191), min_size=1))
def test_whatever_is_allowed_every_rank_has_cores_and_only_allowed_ones(
    name: str, ranks: int, allowed: set[int]
) -> None:
    machine = node(name)
    known = {cpu for core in machine.cores for cpu in core}
    places = bind(machine, min(ranks, len(machine.gpus)), allowed=allowed).places
    for place in places:
        assert set(place.cpus) <= allowed
        assert bool(place.cpus) == bool(allowed & known)


def test_the_command_as_table_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert binding.main(["--paper", "mi250x"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Simulated: 4 Instinct MI250X")
    assert "4           4    0000:d1:00.0  cuda:4  0     yes   0-7,64-71" in said
    assert binding.main(["--paper", "mi300x", "--ranks", "2", "--json", "--masked"]) == 0
    assert [place["device"] for place in json.loads(capsys.readouterr().out)["places"]] == [0, 0]
    assert binding.main(["--paper", "mi300x", "--ranks", "20"]) == 1
    assert "8 GPUs" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="os.sched_setaffinity is Linux's")
def test_the_wrapper_becomes_the_script_with_its_cores() -> None:
    code = "import os; print(os.getpid(), *sorted(os.sched_getaffinity(0)))"

    usable = sorted(os.sched_getaffinity(0))
    ranks = min(2, len(usable))
    taken: set[int] = set()
    for rank in range(ranks):
        environment = {**os.environ, "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(ranks)}
        child = subprocess.Popen(
            [sys.executable, str(WRAPPER), "-c", code], env=environment, stdout=subprocess.PIPE, text=True
        )
        out, _ = child.communicate(timeout=60)
        number, *cpus = map(int, out.split())
        assert number == child.pid
        assert cpus
        assert set(cpus) <= set(usable)
        assert not taken & set(cpus)
        taken |= set(cpus)


def test_the_wrapper_without_a_script_says_so() -> None:
    answer = subprocess.run([sys.executable, str(WRAPPER)], capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 2
    assert "name the script" in answer.stderr
