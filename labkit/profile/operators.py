"""The table of operators of a torch.profiler run, as ``key_averages()`` counts it, without making a Python object of every event.

``key_averages()`` builds some sixty fields for each event first. Here the five that the table needs are taken from the profiler's own
results, and nesting is found by one walk over the events in the order of their starts.
"""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import polars as pl

from labkit.errors import LabkitError

# what torch leaves out of its table as well: its own book-keeping
_LEFT_OUT = frozenset(
    {
        "[memory]",
        "[OutOfMemory]",
        "profiler::_record_function_enter",
        "profiler::_record_function_enter_new",
        "profiler::_record_function_exit",
        "aten::is_leaf",
        "aten::output_nr",
        "aten::_version",
    }
)


def operators(profiler: Any) -> pl.DataFrame:
    """The operators of a finished ``torch.profiler.profile`` (or ``torch.autograd.profiler.profile``), the longest first.

    Columns: ``name``; ``calls``; ``cpu_total_ns`` and ``cpu_self_ns`` (without the operators called from it); ``device_total_ns`` and
    ``device_self_ns`` (what its kernels took on the GPU). An operator that does nothing but call one of the same name counts
    once, as in torch's own table. Kernels and copies have rows of their own, without CPU time.
    Raises LabkitError where the profiler has no results.
    """
    inner = getattr(profiler, "profiler", None) or profiler
    results = getattr(inner, "kineto_results", None)
    if results is None:
        raise LabkitError("This profiler has no results yet.", "Leave its `with` block, or call its stop(), first.")
    collecting = gc.isenabled()
    gc.disable()  # a hundred thousand objects at once, none of them garbage: looking through them costs more than the table
    try:
        return _counted(results.events(), bool(getattr(inner, "use_device", None)))
    finally:
        if collecting:
            gc.enable()


def _counted(found: Any, device_used: bool) -> pl.DataFrame:
    """The table of these events."""
    if not found:
        return _table([], [], [], [], [], [])
    event = type(found[0])
    if any(map(getattr(event, "is_hidden_event", lambda e: False), found)):
        found = [e for e in found if not e.is_hidden_event()]
    names = list(map(event.name, found))
    if not _LEFT_OUT.isdisjoint(names):
        kept = [name not in _LEFT_OUT for name in names]
        found = [e for e, keep in zip(found, kept, strict=True) if keep]
        names = [name for name, keep in zip(names, kept, strict=True) if keep]
    count = len(found)
    start = np.fromiter(map(event.start_ns, found), np.int64, count)
    length = np.fromiter(map(event.duration_ns, found), np.int64, count)
    thread = np.fromiter(map(event.start_thread_id, found), np.uint64, count)
    whole = np.fromiter(map(event.end_thread_id, found), np.uint64, count) == thread
    whole &= ~np.fromiter(map(event.is_async, found), bool, count)
    on_cpu = np.ones(count, dtype=bool)
    device = np.zeros(count, dtype=np.int64)
    if device_used:
        on_cpu = np.fromiter((str(kind) == "DeviceType.CPU" for kind in map(event.device_type, found)), bool, count)
        device, thread = _linked(event, found, on_cpu, whole, length, thread)
    if any(name.startswith("ProfilerStep#") for name in set(names)):
        names = ["ProfilerStep*" if name.startswith("ProfilerStep#") else name for name in names]
    inner_cpu, inner_device, total_device, dropped = _nested(names, start, length, thread, device, on_cpu & whole)
    total = np.where(on_cpu, length, 0)
    own = np.where(on_cpu & whole, length - inner_cpu, 0)
    own_device = np.where(on_cpu, total_device - inner_device, np.where(whole, length, 0))
    all_device = np.where(on_cpu, total_device, np.where(whole, length, 0))
    keep = np.flatnonzero(~dropped)
    return _table(names, keep, total, own, all_device, own_device)


def _linked(event: Any, found: Any, on_cpu: Any, whole: Any, length: Any, thread: Any) -> tuple[Any, Any]:
    """Device time that each operator launched itself, and threads, with a runtime call on that of the operator that made it."""
    ids = list(map(event.correlation_id, found))
    links = list(map(event.linked_correlation_id, found))
    owner = {
        number: i
        for i, (number, link) in enumerate(zip(ids, links, strict=True))
        if link == 0 and on_cpu[i] and whole[i]
    }
    device = np.zeros(len(ids), dtype=np.int64)
    thread = thread.copy()
    for i, link in enumerate(links):
        if link > 0 and (at := owner.get(link)) is not None:
            if on_cpu[i]:
                thread[i] = thread[at]
            else:
                device[at] += length[i]
    return device, thread


def _nested(
    names: list[str], start: Any, length: Any, thread: Any, device: Any, counted: Any
) -> tuple[Any, Any, Any, Any]:
    """For each event: its children's CPU and device time, its own device time with theirs, and whether its parent stands for it.

    An event lies in another when it starts before that ends and does not end after it, on one thread.
    """
    rows = np.flatnonzero(counted)
    stop = start + length
    order = rows[np.lexsort((-stop[rows], start[rows], thread[rows]))].tolist()
    starts, stops, threads = start.tolist(), stop.tolist(), thread.tolist()
    parent = [-1] * len(names)
    children = [0] * len(names)
    stack: list[int] = []
    current = None
    for i in order:
        if threads[i] != current:
            stack, current = [], threads[i]
        begin, end = starts[i], stops[i]
        while stack:
            top = stack[-1]
            if begin >= stops[top] or end > stops[top]:
                stack.pop()
            else:
                parent[i] = top
                children[top] += 1
                break
        stack.append(i)
    dropped = np.zeros(len(names), dtype=bool)
    for i in order:
        p = parent[i]
        if p >= 0 and children[p] == 1 and names[p] == names[i]:
            dropped[i] = True
    stands = list(range(len(names)))
    for i in np.flatnonzero(dropped).tolist() if dropped.any() else ():
        stands[i] = parent[i]
    if dropped.any():  # a chain of the same name is its first event, with the last one's children and kernels
        for i in order:
            p = parent[i]
            if dropped[i]:
                stands[i] = stands[p]
                device[stands[i]] = device[i]
            elif p >= 0:
                parent[i] = stands[p]
    up = np.array(parent, dtype=np.int64)
    kept = np.flatnonzero((up >= 0) & ~dropped)
    inner = np.zeros(len(names), dtype=np.int64)
    np.add.at(inner, up[kept], length[kept])
    total_device = device.copy()
    inner_device = np.zeros(len(names), dtype=np.int64)
    if device.any():
        for i in reversed(order):
            if parent[i] >= 0 and not dropped[i]:
                total_device[parent[i]] += total_device[i]
                inner_device[parent[i]] += total_device[i]
    return inner, inner_device, total_device, dropped


def _table(names: list[str], keep: Any, total: Any, own: Any, device: Any, own_device: Any) -> pl.DataFrame:
    columns = {"cpu_total_ns": total, "cpu_self_ns": own, "device_total_ns": device, "device_self_ns": own_device}
    if not len(names):
        return pl.DataFrame(schema={"name": pl.String, "calls": pl.Int64, **dict.fromkeys(columns, pl.Int64)})
    table: dict[str, int] = {}
    codes = np.array([table.setdefault(name, len(table)) for name in names])[keep]
    answer = {"name": pl.Series(list(table), dtype=pl.String), "calls": np.bincount(codes, minlength=len(table))}
    for column, values in columns.items():
        summed = np.zeros(len(table), dtype=np.int64)
        np.add.at(summed, codes, values[keep])
        answer[column] = summed
    return pl.DataFrame(answer).filter(pl.col("calls") > 0).sort("cpu_total_ns", "name", descending=[True, False])
