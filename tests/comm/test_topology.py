"""Node facts from sysfs texts: on paper, damaged, and this machine's."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.comm import paper, topology
from labkit.errors import LabkitError

KFD = "sys/class/kfd/kfd/topology/nodes"


@pytest.mark.parametrize(
    ("name", "devices", "cards", "gfx", "numa"),
    [
        ("radeon", 1, 1, "gfx1100", 1),
        ("radeon-2", 2, 2, "gfx1100", 1),
        ("mi300x", 8, 8, "gfx942", 2),
        ("mi300x-cpx", 64, 8, "gfx942", 2),
        ("mi250x", 8, 8, "gfx90a", 4),
        ("mi300a", 4, 4, "gfx942", 4),
    ],
)
def test_nodes_on_paper(name: str, devices: int, cards: int, gfx: str, numa: int) -> None:
    node = topology.read(paper.files(name))
    assert [gpu.index for gpu in node.gpus] == list(range(devices))
    assert len({gpu.address for gpu in node.gpus}) == cards
    assert {gpu.gfx for gpu in node.gpus} == {gfx}
    assert len(node.numa) == numa
    cpus = [cpu for core in node.cores for cpu in core]
    assert sorted(cpus) == sorted(cpu for cpus in node.numa.values() for cpu in cpus)


def test_the_documented_order_of_mi250x() -> None:
    """LUMI-G's documentation: GPU 0 to 7 belong to the CPUs 49, 57, 17, 25, 1, 9, 33, 41."""
    node = topology.read(paper.files("mi250x"))
    for gpu, cpu in zip(node.gpus, (49, 57, 17, 25, 1, 9, 33, 41), strict=True):
        assert gpu.numa is not None
        assert cpu in node.numa[gpu.numa]


def test_partitions_of_a_card_share_its_address_and_its_numa_node() -> None:
    node = topology.read(paper.files("mi300x-cpx"))
    assert node.compute_partition == "CPX"
    assert [gpu.part for gpu in node.gpus[:9]] == [0, 1, 2, 3, 4, 5, 6, 7, 0]
    assert {gpu.numa for gpu in node.gpus[:32]} == {0}
    assert {gpu.compute_units for gpu in node.gpus} == {38}


def test_partitions_of_older_kernels_that_number_them_in_the_function() -> None:
    files = paper.files("mi300x")
    text = files[f"{KFD}/2/properties"]
    for node, part in ((2, 0), (3, 1)):
        files[f"{KFD}/{node}/properties"] = text.replace(f"location_id {0x1B << 8}", f"location_id {0x1B << 8 | part}")
    gpus = topology.read(files).gpus
    assert [(gpu.address, gpu.part, gpu.numa) for gpu in gpus[:2]] == [("0000:1b:00.0", 0, 0), ("0000:1b:00.0", 1, 0)]


def test_where_pci_says_nothing_the_nearest_kfd_link_says_it() -> None:
    files = {path: "-1\n" if path.endswith("numa_node") else text for path, text in paper.files("mi250x").items()}
    for gpu in range(4, 12):  # a longer way to the first NUMA node, and to the last
        for number, to in ((8, 0), (9, 3)):
            files[f"{KFD}/{gpu}/io_links/{number}/properties"] = f"type 2\nnode_from {gpu}\nnode_to {to}\nweight 72\n"
    gpus = topology.read(files).gpus
    assert [gpu.numa for gpu in gpus] == [3, 3, 1, 1, 0, 0, 2, 2]
    assert {gpu.numa_from for gpu in gpus} == {"KFD link"}


def test_where_nothing_says_it_it_is_not_known() -> None:
    files = {
        path: text for path, text in paper.files("mi250x").items() if "numa_node" not in path and "links" not in path
    }
    assert {(gpu.numa, gpu.numa_from) for gpu in topology.read(files).gpus} == {(None, "")}


def test_links_between_gpus() -> None:
    links = topology.read(paper.files("mi300x")).links
    assert len(links) == 8 * 7 // 2
    assert {link.kind for link in links} == {"xGMI"}


def test_cards_in_different_modes() -> None:
    files = paper.files("mi300x")
    files["sys/bus/pci/devices/0000:1b:00.0/current_compute_partition"] = "CPX\n"
    assert topology.read(files).compute_partition == "mixed"


def test_a_name_that_there_is_not() -> None:
    with pytest.raises(LabkitError, match="mi400"):
        paper.files("mi400")


@pytest.mark.parametrize("text", ["", "0", "0-3", "0-3,8,10-11", "5,7,9"])
def test_cpu_lists_there_and_back(text: str) -> None:
    assert topology.cpu_text(topology.cpu_list(text)) == text


def test_a_folder_like_sys_reads_as_its_texts(tmp_path: Path) -> None:
    texts = paper.files("mi300x-cpx")
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    assert topology.read(topology.collect(tmp_path)) == topology.read(texts)


def test_this_machine_and_an_empty_one(tmp_path: Path) -> None:
    assert topology.read(topology.collect(tmp_path)) == topology.Topology((), {}, ())
    topology.read(topology.collect())


paths = st.sampled_from([*paper.files("mi250x"), *paper.files("mi300x-cpx"), "", "x/properties"])
lines = st.sampled_from(
    ["simd_count 440\n", "location_id 49408\n", "node_to 3\n", "cpu_cores_count 4\n", "domain -1\n"]
)


@given(st.dictionaries(paths, st.text(max_size=40) | st.lists(lines).map("".join), max_size=12))
def test_any_text_gives_a_node(files: dict[str, str]) -> None:
    node = topology.read(files)
    assert all(gpu.numa is None or gpu.numa in node.numa for gpu in node.gpus)
