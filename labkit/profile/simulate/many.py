"""Profiles of a million events and more, by repetition of a short run: for benchmarks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import polars as pl

from labkit.errors import LabkitError
from labkit.profile.simulate import runs
from labkit.profile.simulate.writers import FORMS, files, rocprofv3_csv, rows, torch_trace, write
from labkit.profile.table import Profile

_GAP_NS = 20_000  # between two repetitions
_CHUNK = 400_000  # rows that are made at a time


def _period(events: pl.DataFrame) -> int:
    ends = events.select(pl.col("start_ns").min(), pl.col("end_ns").max()).row(0)
    return _GAP_NS + (0 if None in ends else ends[1] - ends[0])


def _shifted(frame: pl.DataFrame, times: range, period: int, correlations: int, dispatches: int) -> pl.DataFrame:
    """The frame once per number in ``times``, later by that many periods, with correlations and dispatches counted on."""
    turn = pl.DataFrame({"turn": pl.Series(list(times), dtype=pl.Int64)})
    together = turn.join(frame, how="cross")
    steps = {"start_ns": period, "end_ns": period, "correlation": correlations, "dispatch": dispatches}
    return together.with_columns(
        (pl.col(name) + pl.col("turn") * step).alias(name) for name, step in steps.items() if name in frame.columns
    ).drop("turn")


def _numbers(profile: Profile) -> tuple[int, int, int]:
    e = profile.events
    most = e.select(pl.col("correlation").max().fill_null(0)).item()
    return _period(e), most, int((e["kind"] == "dispatch").sum())


def repeat(profile: Profile, events: int) -> Profile:
    """The same run again and again until there are exactly so many events."""
    if events < 1 or not profile.events.height:
        raise LabkitError(f"{events} events cannot be made from {profile.events.height}.", "Ask for at least one.")
    times = -(-events // profile.events.height)
    table = _shifted(profile.events, range(times), *_numbers(profile)).head(events)
    return Profile(
        profile.kind,
        table,
        profile.tool,
        profile.version,
        profile.devices,
        simulated=profile.simulated,
        extras=profile.extras,
    )


def large(
    events: int,
    folder: str | Path,
    form: str = "rocprofv3-csv",
    *,
    model: str = "cnn",
    gpu: str = "Radeon RX 7900 XTX",
    seed: int = 0,
) -> tuple[Path, ...]:
    """Writes files of at least so many dispatches; for a torch trace, of at least so many events of any kind.

    rocprofv3-csv (its kernel trace only, with exactly so many rows) and torch-trace are written piece by piece, so ten million
    rows need no more memory than a few hundred thousand; the other forms are made whole. Raises LabkitError as ``write`` does.
    """
    base = runs.training(model, gpu, steps=10, seed=seed)
    where = Path(folder)
    if form not in ("rocprofv3-csv", "torch-trace"):
        if form not in FORMS:
            raise LabkitError(f"There is no form '{form}' to write.", f"Choose one of: {', '.join(FORMS)}.")
        base = runs.training(model, gpu, steps=10, seed=seed, operators=form.startswith("torch"))
        counted = base.events.height if form.startswith("torch") else base.dispatches.height
        return write(repeat(base, -(-events // counted) * base.events.height), where, form)
    try:
        where.mkdir(parents=True, exist_ok=True)
        path = where / ("simulated_kernel_trace.csv" if form == "rocprofv3-csv" else "simulated.pt.trace.json")
        with files.replacing(path) as temporary, temporary.open("wb") as out:
            (_csv if form == "rocprofv3-csv" else _trace)(base, events, out)
            out.flush()
            os.fsync(out.fileno())
        return path, files.note(where, rows.about(base))
    except OSError as error:
        raise LabkitError(f"{where} cannot be written: {error.strerror or error}.", "Choose another place.") from error


def _csv(base: Profile, events: int, out: BinaryIO) -> None:
    frame, numbers = rows.dispatches(base), _numbers(base)
    each = max(1, _CHUNK // frame.height)
    turn, left = 0, events
    while left > 0:
        part = _shifted(frame, range(turn, turn + each), *numbers).head(left)
        out.write(files.csv_text(rocprofv3_csv.kernel_trace(part, "new"), header=turn == 0))
        turn, left = turn + each, left - part.height


def _trace(base: Profile, events: int, out: BinaryIO) -> None:
    tables, (period, correlations, dispatches) = torch_trace.prepare(base, "hip"), _numbers(base)
    total = sum(table.height for table in tables.values())
    external = max(1, tables["operators"].height)
    times = -(-events // total)
    each = max(1, _CHUNK // total)
    out.write(torch_trace.header(base, "hip").encode("utf-8"))
    for first in range(0, times, each):
        turns = range(first, min(first + each, times))
        part = {}
        for name, table in tables.items():
            shifted = _shifted(table, turns, period, correlations, dispatches)
            if "external" in shifted.columns:
                turn = pl.int_range(pl.len(), dtype=pl.Int64) // max(1, table.height) + first
                counted = pl.when(pl.col("external") > 0).then(pl.col("external") + turn * external).otherwise(0)
                shifted = shifted.with_columns(counted.alias("external"))
            part[name] = shifted
        for series in torch_trace.lines(part, "hip"):
            text = series.str.join(",\n").item()
            if text:
                out.write(b",\n" + text.encode("utf-8"))
    out.write(torch_trace.tail().encode("utf-8"))
