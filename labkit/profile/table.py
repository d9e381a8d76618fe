"""A profile is a table: what every reader makes, and what every question is asked of.

One row is one thing that took time: a kernel dispatch, a copy, an API call, a marker, an operator. What a format does not
say is null; what it says and cannot be right is null too, with a sentence in ``odd``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

# dispatch: a kernel on a GPU            copy: a transfer or a fill that the GPU's engines carry out
# api: a HIP, HSA, CUDA or RCCL function on the host      marker: a range that the program named (roctx, record_function)
# operator: an ATen operator on the host, forward or backward        python: a Python function of a stack trace
# annotation: a marker as seen on the GPU's time line (not work)
# allocation: memory allocated or freed  other: whatever else the tool timed
KINDS = ("dispatch", "copy", "api", "marker", "operator", "python", "annotation", "allocation", "other")
Kind = pl.Enum(KINDS)

# Always there. device: the tool's own number of the GPU, null on the host. queue, stream: null where the tool has none.
# thread: the host thread, null on the device. correlation: joins a dispatch or copy to the call that launched it.
CORE: Mapping[str, Any] = {
    "kind": Kind,
    "device": pl.Int32,
    "queue": pl.Int64,
    "stream": pl.Int64,
    "thread": pl.Int64,
    "name": pl.Categorical,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "correlation": pl.Int64,
}

# There only where the format has them: ask with ``column in profile.events.columns``, or ``with_columns`` below.
# grid_*: work items, not groups (as rocprof counts). vgpr, accum_vgpr, sgpr: registers per work item / wavefront as printed.
# flops: floating-point operations of an operator, from its shapes. process: the host process, where a file holds several.
EXTRA: Mapping[str, Any] = {
    "grid_x": pl.Int64,
    "grid_y": pl.Int64,
    "grid_z": pl.Int64,
    "workgroup_x": pl.Int32,
    "workgroup_y": pl.Int32,
    "workgroup_z": pl.Int32,
    "lds_bytes": pl.Int64,
    "scratch_bytes": pl.Int64,
    "vgpr": pl.Int32,
    "accum_vgpr": pl.Int32,
    "sgpr": pl.Int32,
    "bytes": pl.Int64,
    "flops": pl.Float64,
    "dispatch": pl.Int64,
    "process": pl.Int64,
}


@dataclass(frozen=True)
class Entry:
    """A line of statistics that came without time stamps. total_ns: null (None) where the tool does not print it."""

    name: str
    calls: int
    total_ns: float | None = None


@dataclass(frozen=True)
class Device:
    """A GPU of the profile. index: as in the ``device`` column. gfx, name: as the tool prints them, None where it does not."""

    index: int
    gfx: str | None = None
    name: str | None = None
    compute_units: int | None = None
    wavefront_size: int | None = None


@dataclass(frozen=True)
class Profile:
    """What a profile says.

    kind: the format, by the names of ``labkit read`` (for example ``rocprofv3-kernel-trace``, ``torch-trace``).
    events: one row per event, columns CORE and those of EXTRA that the format has; in no particular order.
    tool, version: who wrote it, as far as it says so.
    devices: the GPUs that it names, worked or not.
    odd: sentences about what could not be right and was therefore not used.
    statistics: lists of Entry by their name (``kernels``, ``apis``, ``copies``, ``domains``, ``operations``) for tables that
        come without time stamps.
    counters: one row per dispatch and counter (``dispatch`` Int64, ``name`` String, ``counter`` String, ``value`` Float64), or None.
    simulated: true where the file says that no GPU made it.
    extras: what else the format has (``sysinfo``, ``gpus``, ``samples``, ``allocations``, ``allocated_bytes`` …).
    sources: the files' names.
    """

    kind: str
    events: pl.DataFrame
    tool: str
    version: str | None = None
    devices: tuple[Device, ...] = ()
    odd: tuple[str, ...] = ()
    statistics: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict)
    counters: pl.DataFrame | None = None
    simulated: bool = False
    extras: Mapping[str, Any] = field(default_factory=dict)
    sources: tuple[str, ...] = ()

    def of(self, *kinds: str) -> pl.DataFrame:
        """The events of these kinds that have both time stamps, with columns CORE and what else there is."""
        e = self.events
        return e.filter(e["kind"].is_in(list(kinds)) & e["start_ns"].is_not_null() & e["end_ns"].is_not_null())

    @property
    def dispatches(self) -> pl.DataFrame:
        """The timed kernel dispatches."""
        return self.of("dispatch")

    def __repr__(self) -> str:
        note = ", simulated" if self.simulated else ""
        return f"<Profile {self.kind}{note}: {self.events.height:,} events, {len(self.devices)} devices>"


def empty() -> pl.DataFrame:
    """A table of events without a row."""
    return pl.DataFrame(schema=dict(CORE))


def events(columns: Mapping[str, Any], *, kind: str | None = None) -> pl.DataFrame:
    """A table of events from columns (lists, arrays, Series); what is not given of CORE is null.

    kind: the kind of all rows, where ``columns`` has no ``kind``. Unknown column names raise ValueError.
    """
    unknown = sorted(set(columns) - set(CORE) - set(EXTRA))
    if unknown:
        raise ValueError(f"no such columns: {', '.join(unknown)}")
    frame = pl.DataFrame(dict(columns))
    if kind is not None:
        frame = frame.with_columns(pl.lit(kind, dtype=Kind).alias("kind"))
    return conform(frame)


def conform(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows with CORE's columns (null where missing) and types, then those of EXTRA that there are."""
    extra = [name for name in EXTRA if name in frame.columns]
    wanted = {**CORE, **{name: EXTRA[name] for name in extra}}
    return frame.select(
        pl.col(name).cast(dtype, strict=False) if name in frame.columns else pl.lit(None, dtype=dtype).alias(name)
        for name, dtype in wanted.items()
    )


def with_columns(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """The frame with these columns of EXTRA, null where the format has none."""
    return frame.with_columns(pl.lit(None, dtype=EXTRA[n]).alias(n) for n in names if n not in frame.columns)


def combine(profiles: Sequence[Profile]) -> Profile:
    """Several files of one run as one profile. The first with dispatches gives the kind.

    Raises ValueError for an empty list.
    """
    if not profiles:
        raise ValueError("nothing to combine")
    if len(profiles) == 1:
        return profiles[0]
    lead = next((p for p in profiles if p.events.height and (p.events["kind"] == "dispatch").any()), profiles[0])
    known: dict[int, Device] = {}
    for p in profiles:
        for d in p.devices:
            if d.index not in known or (known[d.index].gfx is None and d.gfx is not None):
                known[d.index] = d
    statistics: dict[str, tuple[Entry, ...]] = {}
    extras: dict[str, Any] = {}
    for p in profiles:
        for name, entries in p.statistics.items():
            statistics.setdefault(name, entries)
        for name, value in p.extras.items():
            extras.setdefault(name, value)
    counters = [p.counters for p in profiles if p.counters is not None]
    return Profile(
        kind=lead.kind,
        events=pl.concat([p.events for p in profiles], how="diagonal") if profiles else empty(),
        tool=lead.tool,
        version=next((p.version for p in (lead, *profiles) if p.version), None),
        devices=tuple(known[i] for i in sorted(known)),
        odd=tuple(dict.fromkeys(sentence for p in profiles for sentence in p.odd)),
        statistics=statistics,
        counters=pl.concat(counters, how="diagonal") if counters else None,
        simulated=any(p.simulated for p in profiles),
        extras=extras,
        sources=tuple(s for p in profiles for s in p.sources),
    )
