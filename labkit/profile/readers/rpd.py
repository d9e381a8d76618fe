"""RPD databases (rocmProfileData): operations of the GPUs, API calls, and what joins them.

Kernels are the operations of type KernelExecution, named by their description; all others (copies, fills) are copies.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from labkit.profile.readers.sqlite import Database
from labkit.profile.readers.times import usable
from labkit.profile.table import Device, Profile, empty, events

_OPS = {
    "id": "id",
    "device": "gpuId",
    "queue": "queueId",
    "start_ns": "start",
    "end_ns": "end",
    "description": "description_id",
    "type": "opType_id",
}
_API = {
    "id": "id",
    "process": "pid",
    "thread": "tid",
    "start_ns": "start",
    "end_ns": "end",
    "name": "apiName_id",
    "args": "args_id",
}
_KERNEL = {
    "api": "api_ptr_id",
    "stream": "stream",
    "grid_x": "gridX",
    "grid_y": "gridY",
    "grid_z": "gridZ",
    "workgroup_x": "workgroupX",
    "workgroup_y": "workgroupY",
    "workgroup_z": "workgroupZ",
    "lds_bytes": "groupSegmentSize",
    "scratch_bytes": "privateSegmentSize",
}
_COPY = {"api": "api_ptr_id", "bytes": "size", "copy_stream": "stream"}
_MARKERS = ("UserMarker", "roctxRangePush", "roctxRangePushA", "roctxRangeStart", "roctxMark", "roctxMarkA")
_IN_ITEMS = ("hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel")


def is_there(database: Database) -> bool:
    """Whether this is such a database."""
    return "rocpd_op" in database.tables


def read(database: Database, name: str = "") -> Profile:
    """The profile in this database."""
    strings = database.named("rocpd_string", "id", "string")
    frames = [empty()]
    ops = database.take("rocpd_op", _OPS)
    api = database.take("rocpd_api", _API) if "rocpd_api" in database.tables else pl.DataFrame()
    if api.height:
        frames.append(_calls(api, strings))
    if ops.height:
        frames.append(_operations(database, ops, api, strings))
    frame, odd = usable(pl.concat(frames, how="diagonal"))
    used = frame.filter(frame["kind"].is_in(["dispatch", "copy"]))["device"].drop_nulls().unique().sort().to_list()
    metadata = database.named("rocpd_metadata", "tag", "value")
    return Profile(
        kind="rpd",
        events=frame,
        tool="rpd",
        version=metadata.get("schema_version"),
        devices=tuple(Device(index) for index in used),
        odd=(*database.odd, *odd),
        simulated="simulated" in metadata,
        sources=(name,) if name else (),
    )


def _text(numbers: pl.Series, strings: dict[Any, str]) -> pl.Series:
    if not strings:
        return pl.Series([None], dtype=pl.String).new_from_index(0, len(numbers))
    return numbers.replace_strict(list(strings), list(strings.values()), default=None, return_dtype=pl.String)


def _calls(api: pl.DataFrame, strings: dict[Any, str]) -> pl.DataFrame:
    names = _text(api["name"], strings).alias("name")
    marker = names.is_in(list(_MARKERS)).fill_null(False)
    if "args" in api.columns and marker.any():
        args = _text(api["args"], strings)
        names = pl.select(
            pl.when(marker & (args.str.len_bytes() > 0)).then(args).otherwise(names).alias("name")
        ).to_series()
    own = names.str.contains("::", literal=True).fill_null(False)
    kind = pl.select(
        pl.when(marker).then(pl.lit("marker")).when(own).then(pl.lit("other")).otherwise(pl.lit("api")).alias("kind")
    ).to_series()
    shared: dict[str, Any] = {c: api[c] for c in ("process", "thread", "start_ns", "end_ns") if c in api.columns}
    return events({**shared, "name": names, "kind": kind, "correlation": api["id"]})


def _operations(database: Database, ops: pl.DataFrame, api: pl.DataFrame, strings: dict[Any, str]) -> pl.DataFrame:
    types = _text(ops["type"], strings) if "type" in ops.columns else pl.Series([""]).new_from_index(0, ops.height)
    described = _text(ops["description"], strings) if "description" in ops.columns else types
    kernel = (types == "KernelExecution").fill_null(False)
    frame = ops.drop("type", "description", strict=False).with_columns(
        pl.when(kernel | (described.str.len_bytes() > 0)).then(described).otherwise(types).alias("name"),
        pl.when(kernel).then(pl.lit("dispatch")).otherwise(pl.lit("copy")).alias("kind"),
    )
    if "rocpd_api_ops" in database.tables:
        joined = database.take("rocpd_api_ops", {"op": "op_id", "correlation": "api_id"}).unique("op", keep="first")
        frame = frame.join(joined, left_on="id", right_on="op", how="left")
        if "rocpd_kernelapi" in database.tables:
            found = _launched(database.take("rocpd_kernelapi", _KERNEL), api, strings)
            frame = frame.join(found.unique("api", keep="first"), left_on="correlation", right_on="api", how="left")
        if "rocpd_copyapi" in database.tables:
            found = _streams(database.take("rocpd_copyapi", _COPY), "copy_stream")
            frame = frame.join(found.unique("api", keep="first"), left_on="correlation", right_on="api", how="left")
            if "copy_stream" in frame.columns:
                stream = pl.coalesce("stream", "copy_stream") if "stream" in frame.columns else pl.col("copy_stream")
                frame = frame.with_columns(stream.alias("stream")).drop("copy_stream")
    return events(frame.drop("id").to_dict())


def _streams(found: pl.DataFrame, column: str) -> pl.DataFrame:
    """Streams are addresses in hexadecimal text."""
    if column in found.columns and found[column].dtype == pl.String:
        digits = found[column].str.strip_prefix("0x")
        found = found.with_columns(digits.str.to_integer(base=16, strict=False, dtype=pl.Int64).alias(column))
    return found


def _launched(found: pl.DataFrame, api: pl.DataFrame, strings: dict[Any, str]) -> pl.DataFrame:
    """Launches with their grid in work items: it stands there in groups, except for the functions that take items."""
    found = _streams(found, "stream")
    if api.height and {"grid_x", "workgroup_x"} <= set(found.columns):
        names = _text(api["name"], strings)
        items = api.filter(names.is_in(list(_IN_ITEMS)).fill_null(False))["id"]
        found = found.with_columns(
            pl.when(pl.col("api").is_in(items.implode()))
            .then(pl.col(f"grid_{axis}"))
            .otherwise(pl.col(f"grid_{axis}") * pl.col(f"workgroup_{axis}"))
            .alias(f"grid_{axis}")
            for axis in "xyz"
            if {f"grid_{axis}", f"workgroup_{axis}"} <= set(found.columns)
        )
    return found
