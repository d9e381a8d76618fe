"""Memory: STREAM's counting, the arrays that each measure touches, and the roof that follows."""

from __future__ import annotations

import pytest
import torch

from labkit.comm import streams
from labkit.errors import LabkitError
from tests.comm.stand_ins import GpuTorch, Watch


def test_bytes_are_counted_by_stream_s_convention() -> None:
    found = streams.measure_memory("cpu", sizes=[4096], seconds=0.01, stopwatch=Watch(lambda: 1e-3))
    assert {s.name: s.points[0].work for s in found} == {"read": 4096, "write": 4096, "copy": 8192, "triad": 12288}
    assert all(s.points[0].rate == pytest.approx(s.points[0].work / 1e-3) for s in found)
    assert all("STREAM" in s.counted for s in found)
    assert [streams.ALLOCATE in s.notes for s in found] == [False, True, True, True]


def test_what_write_allocate_adds() -> None:
    told = {name: streams.with_write_allocate(name) for name in streams.ARRAYS}
    assert told == {"read": 1, "write": 2, "copy": 1.5, "triad": pytest.approx(4 / 3)}


def test_each_kernel_does_what_it_is_called() -> None:
    a, b, c = (torch.full((8,), float(k)) for k in (1, 2, 3))
    assert float(streams._kernel("read", [a], torch)()) == 8.0
    streams._kernel("triad", [a, b, c], torch)()
    assert a.tolist() == [2.0 + 2 * 3.0] * 8
    streams._kernel("copy", [a, b], torch)()
    assert a.tolist() == [2.0] * 8
    streams._kernel("write", [a], torch)()
    assert a.tolist() == [3.0] * 8


def test_sizes_share_the_arrays_and_only_their_beginnings_are_touched(monkeypatch) -> None:
    held: list[torch.Tensor] = []
    real = torch.full

    def full(*args, **options):
        held.append(real(*args, **options))
        return held[-1]

    class Small(Watch):
        """Remembers how many elements the first size wrote."""

        def lap(self, function, calls):
            if self.laps == 0:
                held[0].zero_()
                super().lap(function, calls)
                self.written = int((held[0] != 0).sum())
            return super().lap(function, calls)

    monkeypatch.setattr(torch, "full", full)
    watch = Small()
    streams.measure_memory("cpu", names=["write"], sizes=[16, 64], seconds=0.001, stopwatch=watch)
    assert len(held) == 1 and held[0].numel() == 16 and watch.written == 4
    held.clear()
    small = streams.measure_memory("cpu", names=["triad"], sizes=[64], seconds=0.001, stopwatch=Watch())
    assert len(held) == 3 and small[0].points[0].bytes == 192


def test_the_roof_is_the_triad_beyond_the_caches() -> None:
    times = iter([1e-6] * 10_000)
    found = streams.measure_memory("cpu", sizes=[4096, 65536], seconds=0.001, stopwatch=Watch(lambda: next(times)))
    assert streams.memory_roof(found).bytes == 3 * 65536
    with pytest.raises(LabkitError, match="No triad"):
        streams.memory_roof(found[:2])


def test_on_a_gpu_there_is_no_write_allocate_and_the_cache_is_the_l2() -> None:
    found = streams.measure_memory("cuda:0", sizes=[4096], seconds=0.001, stopwatch=Watch(), torch=GpuTorch())
    assert not any(streams.ALLOCATE in s.notes for s in found)
    assert any("L2 6 MiB" in note for note in found[0].notes)


@pytest.mark.parametrize("wrong", [{"names": ["scale"]}, {"names": []}, {"sizes": []}, {"sizes": [2]}])
def test_what_cannot_be_measured_is_said(wrong) -> None:
    with pytest.raises(LabkitError):
        streams.measure_memory("cpu", stopwatch=Watch(), **wrong)


def test_too_much_for_the_memory_is_refused() -> None:
    with pytest.raises(LabkitError, match=r"needs .* on cpu, where .* are free"):
        streams.measure_memory("cpu", sizes=[2**50], stopwatch=Watch())
