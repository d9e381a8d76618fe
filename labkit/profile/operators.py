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
    codes, labels = _numbered(names)
    inner_cpu, inner_device, total_device, dropped = _nested(codes, start, length, thread, device, on_cpu & whole)
    total = np.where(on_cpu, length, 0)
    own = np.where(on_cpu & whole, length - inner_cpu, 0)
    own_device = np.where(on_cpu, total_device - inner_device, np.where(whole, length, 0))
    all_device = np.where(on_cpu, total_device, np.where(whole, length, 0))
    keep = ~dropped
    return _table(codes[keep], labels, total[keep], own[keep], all_device[keep], own_device[keep])


def _numbered(names: list[str]) -> tuple[Any, list[str]]:
    """Names as numbers, and what each number stands for. Steps, which are numbered, count as one name."""
    table: dict[str, int] = dict.fromkeys(names, 0)
    labels: dict[str, int] = {}
    for name in table:
        label = "ProfilerStep*" if name.startswith("ProfilerStep#") else name
        table[name] = labels.setdefault(label, len(labels))
    return np.fromiter(map(table.__getitem__, names), np.int64, len(names)), list(labels)


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


def _nested(codes: Any, start: Any, length: Any, thread: Any, device: Any, counted: Any) -> tuple[Any, Any, Any, Any]:
    """For each event: its children's CPU and device time, its own device time with theirs, and whether its parent stands for it.

    codes: the names as numbers. An event lies in another when it starts before that ends and does not end after it, on one thread.
    """
    rows = np.flatnonzero(counted)
    stop = start + length
    order = rows[np.lexsort((-stop[rows], start[rows], thread[rows]))]
    found = _levels(start[order], stop[order], thread[order])
    up = np.full(len(codes), -1, dtype=np.int64)
    if found is None:
        _walk(order.tolist(), start.tolist(), stop.tolist(), thread.tolist(), up)
    else:
        held = found >= 0
        up[order[held]] = order[found[held]]
    children = np.bincount(up[up >= 0], minlength=len(codes))
    dropped = (up >= 0) & (children[up] == 1) & (codes[up] == codes)
    if dropped.any():  # a chain of the same name is its first event, with the last one's children and kernels
        stands = np.arange(len(codes))
        for i in order[dropped[order]].tolist():
            stands[i] = stands[up[i]]
            device[stands[i]] = device[i]
        up = np.where(up >= 0, stands[up], -1)
    kept = np.flatnonzero((up >= 0) & ~dropped)
    inner = np.zeros(len(codes), dtype=np.int64)
    np.add.at(inner, up[kept], length[kept])
    total_device = device.copy()
    inner_device = np.zeros(len(codes), dtype=np.int64)
    if device.any():
        above, total, within = up.tolist(), total_device.tolist(), inner_device.tolist()
        for i in order[~dropped[order]][::-1].tolist():
            if above[i] >= 0:
                total[above[i]] += total[i]
                within[above[i]] += total[i]
        total_device, inner_device = np.array(total, dtype=np.int64), np.array(within, dtype=np.int64)
    return inner, inner_device, total_device, dropped


def _levels(start: Any, stop: Any, thread: Any) -> Any:
    """The place of the event around each, -1 for the outermost; None where events overlap without one lying in the other.

    Sorted by thread, start and falling end. The events open at a start lie one in the other, so an event lies in the last one
    before it that is one level higher.
    """
    if not len(start) or (stop <= start).any():
        return None if len(start) else np.empty(0, dtype=np.int64)
    depth = np.empty(len(start), dtype=np.int64)
    cuts = np.flatnonzero(thread[1:] != thread[:-1]) + 1
    for first, last in zip([0, *cuts.tolist()], [*cuts.tolist(), len(start)], strict=True):
        ended = np.searchsorted(np.sort(stop[first:last]), start[first:last], side="right")
        depth[first:last] = np.arange(last - first) - ended
    found = np.full(len(start), -1, dtype=np.int64)
    outer = np.flatnonzero(depth == 0)
    for level in range(1, int(depth.max()) + 1):
        rows = np.flatnonzero(depth == level)
        found[rows] = outer[np.searchsorted(outer, rows) - 1]
        outer = rows
    held = found >= 0
    return found if (stop[held] <= stop[found[held]]).all() else None


def _walk(order: list[int], starts: list[int], stops: list[int], threads: list[int], up: Any) -> None:
    """The same event by event, for events of any kind; fills ``up``."""
    stack: list[int] = []
    current = None
    for i in order:
        if threads[i] != current:
            stack, current = [], threads[i]
        while stack:
            top = stack[-1]
            if starts[i] >= stops[top] or stops[i] > stops[top]:
                stack.pop()
            else:
                up[i] = top
                break
        stack.append(i)


def _table(codes: Any, labels: list[str], total: Any, own: Any, device: Any, own_device: Any) -> pl.DataFrame:
    columns = {"cpu_total_ns": total, "cpu_self_ns": own, "device_total_ns": device, "device_self_ns": own_device}
    if not len(codes):
        return pl.DataFrame(schema={"name": pl.String, "calls": pl.Int64, **dict.fromkeys(columns, pl.Int64)})
    answer: dict[str, Any] = {
        "name": pl.Series(labels, dtype=pl.String),
        "calls": np.bincount(codes, minlength=len(labels)),
    }
    for column, values in columns.items():
        answer[column] = np.zeros(len(labels), dtype=np.int64)
        np.add.at(answer[column], codes, values)
    return pl.DataFrame(answer).filter(pl.col("calls") > 0).sort("cpu_total_ns", "name", descending=[True, False])
