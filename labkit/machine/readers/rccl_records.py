"""Results of rccl-tests that a program was meant to read: ``-Z json`` and ``-Z csv`` of rccl-tests, ``-J`` of nccl-tests."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from labkit.machine.readers.labels import bare_lines
from labkit.machine.readers.text import embedded_json, finite

NAMES = (
    "all_reduce_bias|all_reduce|all_gather|reduce_scatter|broadcast|reduce|alltoallv|alltoall|all_to_all|scatter|gather"
    "|sendrecv|hypercube"
)
PROGRAM = re.compile(rf"(?<![\w-])({NAMES})_perf(?:_mpi)?\b")
_COLLECTIVES = {
    "allreduce": "all_reduce", "allgather": "all_gather", "reducescatter": "reduce_scatter", "broadcast": "broadcast", "reduce": "reduce",
    "alltoall": "alltoall", "alltoallv": "alltoallv", "scatter": "scatter", "gather": "gather", "sendrecv": "sendrecv",
}  # fmt: skip


def facts_of(
    problem: str | None,
    collective: str | None,
    ranks: int | None,
    rows: list[dict[str, Any]],
    average: float | None,
    *,
    gpu_names: Iterable[str] = (),
    hosts: Collection[str] = (),
) -> dict[str, Any]:
    """The facts of a run. ``checked``: True where a row counts wrong values, False where rows do not, None without rows."""
    return {
        "kind": "rccl-tests",
        "problem": problem,
        "collective": collective,
        "ranks": ranks,
        "rows": rows,
        "avg_busbw_gbps": average,
        "gpu_names": sorted(gpu_names),
        "hosts": len(hosts) or None,
        "checked": any(row["wrong"] is not None for row in rows) if rows else None,
    }


def is_report(found: object) -> bool:
    """Whether JSON is a result of rccl-tests (``-Z json``: a list of records) or of nccl-tests (``-J``: one object)."""
    if isinstance(found, list):
        return bool(found) and all(isinstance(row, dict) for row in found) and "busBw" in found[0]
    if isinstance(found, dict):
        return "busBw" in found or (
            isinstance(found.get("results"), list) and ("config" in found or "nccl_version" in found)
        )
    return False


def read_csv(text: str) -> dict[str, Any]:
    """Facts of a text that holds such CSV."""
    return _from_records(_csv_records(text))


def read_json(text: str) -> dict[str, Any]:
    """Facts of a text that holds such JSON; a text with one record a line too."""
    found = embedded_json(text)
    if isinstance(found, list):
        return _from_records(found)
    if isinstance(found, dict) and "busBw" in found:
        return _from_records(list(_json_lines(text)))
    return _from_object(found if isinstance(found, dict) else {})


def _json_lines(text: str) -> Iterable[dict[str, Any]]:
    for line in bare_lines(text):
        try:
            record = json.loads(line.strip().rstrip(","))
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and "busBw" in record:
            yield record


def _csv_records(text: str) -> Iterable[dict[str, Any]]:
    """Records of ``-Z csv``. Some releases forgot a column in the header, so the columns are counted from the end."""
    behind = ("size", "type", "redop", "inPlace", "time", "algBw", "busBw", "wrong")
    header: list[str] = []
    for line in bare_lines(text):
        cells = [cell.strip() for cell in next(csv.reader([line]), [])]
        if cells[:1] == ["numCycle"]:
            header = [cell.lower() for cell in cells]
        elif header and len(cells) >= len(behind) + 2 and cells[0].isdigit():
            record: dict[str, Any] = dict(zip(behind, cells[-len(behind) :], strict=True))
            record["name"] = cells[1]
            # with all four of nodes, ranks, ranks per node and GPUs per rank, the second is the ranks
            middle = cells[2 : -len(behind)]
            record["ranks"] = middle[1] if len(middle) == 4 else middle[0] if len(middle) == 1 else None
            yield record


def _from_records(records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    rows, ranks, names, bad = [], [], [], False
    for record in records:
        names.append(re.sub(r"[^a-z]", "", str(record.get("name") or "").lower()))
        if (rank := finite(record.get("ranks"))) is not None:
            ranks.append(int(rank))
        wrong = finite(record.get("wrong"))
        bad = bad or bool(wrong)
        if finite(record.get("inPlace")):
            continue
        row = _result(record.get("size"), record.get("time"), record.get("algBw"), record.get("busBw"), wrong)
        if row:
            rows.append(row)
    collective = next((_COLLECTIVES[name] for name in names if name in _COLLECTIVES), None)
    return facts_of("rccl-data-errors" if bad else None, collective, max(ranks, default=None), rows, None)


def _from_object(report: Mapping[str, Any]) -> dict[str, Any]:
    config = report.get("config")
    config = config if isinstance(config, Mapping) else {}
    devices = [
        device for device in _list(config.get("devices") or report.get("devices")) if isinstance(device, Mapping)
    ]
    each = int((finite(config.get("nthreads")) or 1) * (finite(config.get("ngpus")) or 1))
    ids = [int(rank) for device in devices if (rank := finite(device.get("rank"))) is not None]
    # one entry a process, with the first of its GPUs
    ranks = None if not ids else max(ids) + 1 if each == 1 else max(max(ids) + each, len(ids) * each)
    rows, bad = [], False
    for result in _list(report.get("results")):
        if not isinstance(result, Mapping):
            continue
        halves = [
            half if isinstance(half, Mapping) else {} for half in (result.get("out_of_place"), result.get("in_place"))
        ]
        bad = bad or any(finite(half.get("nwrong")) for half in halves)
        half = halves[0]
        time = half.get("time", half.get("cpu_time"))
        row = _result(result.get("size"), time, half.get("alg_bw"), half.get("bus_bw"), finite(half.get("nwrong")))
        if row:
            rows.append(row)
    bounds, average = report.get("out_of_bounds"), report.get("average_bus_bandwidth")
    bad = bad or (isinstance(bounds, Mapping) and bool(finite(bounds.get("count"))))
    found = PROGRAM.search(" ".join(map(str, _list(report.get("args")))))
    mean = finite(average.get("bandwidth")) if isinstance(average, Mapping) else finite(average)
    names = {str(device["device_info"]) for device in devices if device.get("device_info")}
    hosts = {str(device["hostname"]) for device in devices if device.get("hostname")}
    problem = "rccl-data-errors" if bad else None
    collective = found.group(1) if found else None
    return facts_of(problem, collective, ranks, rows, mean, gpu_names=names, hosts=hosts)


def _result(size: object, time: object, algbw: object, busbw: object, wrong: float | None) -> dict[str, Any] | None:
    values = [finite(value) for value in (size, time, algbw, busbw)]
    if any(value is None for value in values):
        return None
    return {
        "bytes": int(values[0] or 0),
        "time_us": values[1],
        "algbw_gbps": values[2],
        "busbw_gbps": values[3],
        "wrong": None if wrong is None else round(wrong),
    }


def _list(found: object) -> list[Any]:
    return found if isinstance(found, list) else []
