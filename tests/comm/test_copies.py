"""Copies: what is counted, on which buffers and streams, and what is said where there is no link."""

from __future__ import annotations

import pytest
import torch

from labkit.comm import copies, peers, sizes
from labkit.comm.results import Results
from labkit.errors import LabkitError
from tests.comm.stand_ins import GpuTorch, Watch

SIZES = (4096, 65536)


def test_a_cpu_copies_memory_to_memory_and_says_so() -> None:
    (found,) = copies.measure_copies("cpu", sizes=SIZES, seconds=0.01, stopwatch=Watch(lambda: 1e-4))
    assert (found.src, found.dst, found.name, found.label) == ("cpu", "cpu", "local", "memory to memory")
    assert [p.bytes for p in found.points] == list(SIZES) and found.points[0].rate == pytest.approx(4096 / 1e-4)
    assert "nothing crosses a link" in found.notes[0] and "pinned memory is not applicable" in found.notes[0]
    assert found.local


def test_really_copied(monkeypatch) -> None:
    made: list[torch.Tensor] = []
    real = torch.empty

    def empty(*size, **options):
        made.append(real(*size, **options))
        return made[-1]

    monkeypatch.setattr(torch, "empty", empty)
    kept = {}

    class Watching(Watch):
        def lap(self, function, calls):
            target, source = made[0], made[1]
            source[:1024].fill_(7.0)
            target.zero_()
            lap = super().lap(function, calls)
            kept["copied"] = int((target == 7.0).sum())
            return lap

    copies.measure_copies("cpu", sizes=[4096], seconds=0.001, stopwatch=Watching())
    assert kept["copied"] == 1024 and len(made) == 2  # buffers are made once


def test_a_gpu_has_its_directions_pinned_and_both() -> None:
    gpu = GpuTorch()
    found = copies.measure_copies("cuda:0", sizes=SIZES, seconds=0.01, stopwatch=Watch(), torch=gpu)
    told = [(s.name, s.src, s.dst) for s in found]
    assert told == [
        ("pageable", "cpu", "cuda:0"),
        ("pageable", "cuda:0", "cpu"),
        ("pinned", "cpu", "cuda:0"),
        ("pinned", "cuda:0", "cpu"),
        ("both", "cpu", "cuda:0"),
        ("local", "cuda:0", "cuda:0"),
    ]
    both = found[4]
    assert [p.bytes for p in both.points] == [2 * n for n in SIZES] and "2n" in both.counted
    assert both.points[0].rate == pytest.approx(2 * 4096 / 1e-4)
    assert gpu.log.count("pinned") == 2
    assert gpu.log[2:8] == ["wait", "on stream of cuda:0", "wait", "on stream of cuda:0", "wait", "wait"]
    assert all("not yet verified on ROCm" in s.notes for s in found)
    assert any("not a link" in note for note in found[5].notes) and not any("not a link" in n for n in found[0].notes)


def test_without_pinned_memory_the_rest_is_measured() -> None:
    found = copies.measure_copies(
        "cuda:0", sizes=SIZES, seconds=0.01, stopwatch=Watch(), torch=GpuTorch(pinned=False, hip="")
    )
    assert [s.name for s in found] == ["pageable", "pageable", "local"]
    assert any("no pinned memory" in note for note in found[-1].notes)
    assert not any("not yet verified" in note for s in found for note in s.notes)


def test_sizes_that_do_not_fit_are_refused_in_a_sentence(monkeypatch) -> None:
    monkeypatch.setattr(sizes, "free_bytes", lambda device, torch=None: 1000)
    with pytest.raises(LabkitError, match="needs 8 KiB on cpu, where 1000 B are free"):
        copies.measure_copies("cpu", sizes=[4096], stopwatch=Watch())
    with pytest.raises(LabkitError, match="no free memory"):
        copies.measure_copies("cpu", stopwatch=Watch())
    with pytest.raises(LabkitError, match="at least 4 bytes"):
        copies.measure_copies("cpu", sizes=[3], stopwatch=Watch())


def test_default_sizes_reach_beyond_the_cache_or_say_that_they_do_not(monkeypatch) -> None:
    monkeypatch.setattr(sizes, "cpu_cache", lambda: sizes.Cache(2**20, "told"))
    assert sizes.largest_array("cpu", 2) == (2**26, "")
    monkeypatch.setattr(sizes, "free_bytes", lambda device, torch=None: 2**20)
    largest, note = sizes.largest_array("cpu", 2)
    assert largest == 2**17 and "memory is short" in note and "a cache may still hold" in note


def test_caches_are_read_from_sysfs(tmp_path) -> None:
    for cpu, shared in ((0, "0-1"), (1, "0-1"), (2, "2-3")):
        for index, (level, kind, size) in enumerate(
            [(1, "Data", "32K"), (1, "Instruction", "32K"), (3, "Unified", "16M")]
        ):
            folder = tmp_path / f"cpu{cpu}" / "cache" / f"index{index}"
            folder.mkdir(parents=True)
            for name, text in (("level", level), ("type", kind), ("size", size), ("shared_cpu_list", shared)):
                (folder / name).write_text(f"{text}\n")
    assert sizes._from_sysfs(tmp_path) == 2 * 16 * 2**20
    assert sizes._from_sysfs(tmp_path / "nowhere") == 0


@pytest.mark.parametrize(
    ("low", "high", "points", "expected"), [(16384, 2**20, 4, (2**14, 2**16, 2**18, 2**20)), (100, 128, 5, (128,))]
)
def test_sweeps_are_powers_of_two_with_both_ends(low, high, points, expected) -> None:
    assert sizes.sweep(low, high, points) == expected


def test_one_gpu_has_no_peers() -> None:
    assert peers.measure_peers(torch=GpuTorch(1)) == ()
    assert peers.measure_peers(torch=GpuTorch(0)) == ()


def test_peers_are_measured_each_with_each_and_both_ways() -> None:
    gpus = GpuTorch(3, peers=False)
    asked: list[str] = []

    def watch_for(name: str) -> Watch:
        asked.append(name)
        return Watch(lambda: 1e-3)

    found = peers.measure_peers(sizes=(4096, 8192, 2**40), seconds=0.01, watch_for=watch_for, torch=gpus)
    assert len(found) == 9 + 3
    assert asked[:4] == ["cuda:0", "cuda:0", "cuda:0", "cuda:1"]  # events on the source's stream
    assert [s.name for s in found].count("local") == 3 and [s.name for s in found].count("peer-both") == 3
    assert [p.bytes for p in found[1].points] == [4096, 8192]  # what does not fit is left out
    assert found[-1].points[-1].bytes == 16384
    assert "through the host's memory" in found[1].notes[0] and "local memory" in found[0].notes[0]
    table = peers.matrix(Results(found))
    assert table.devices == ("cuda:0", "cuda:1", "cuda:2")
    assert table.gbps[0][1] == pytest.approx(8192 / 1e-3 / 1e9)  # and not the 16384 of both directions
    assert table.intervals[0][1] is not None and "8 KiB" in table.note


def test_no_size_fits_between_gpus() -> None:
    with pytest.raises(LabkitError, match="no size fits"):
        peers.measure_peers(sizes=(2**30,), torch=GpuTorch(2))


def test_the_fastest_way_stands_in_the_matrix() -> None:
    ticks = iter(range(10**6))
    found = copies.measure_copies(
        "cuda:0", sizes=SIZES, seconds=0.01, stopwatch=Watch(lambda: 1e-4 / (1 + next(ticks) // 40)), torch=GpuTorch()
    )
    table = peers.matrix(Results(found))
    assert table.devices == ("cpu", "cuda:0") and table.gbps[0][0] is None
    fastest = max(s.largest.rate for s in found if (s.src, s.dst, s.name != "both") == ("cpu", "cuda:0", True))
    assert table.gbps[0][1] == pytest.approx(fastest / 1e9)
    with pytest.raises(LabkitError, match="no copies"):
        peers.matrix(Results(()))


def test_a_reader_s_matrix_of_any_shape() -> None:
    table = peers.matrix_of({"kind": "transferbench", "unidirectional_gbps": [[1.0, None], [2.5]]})
    assert table.gbps == ((1.0, None), (2.5, None)) and table.devices == ("device 0", "device 1")
    assert "transferbench" in table.note
    wide = peers.matrix_of({"unidirectional_gbps": [[1, 2, 3]]})
    assert wide.gbps[2] == (None, None, None)
    both = {"kind": "x", "unidirectional_gbps": None, "bidirectional_gbps": [[1]]}
    assert "both directions" in peers.matrix_of(both, both=True).note
    with pytest.raises(LabkitError, match="no unidirectional matrix"):
        peers.matrix_of(both)
