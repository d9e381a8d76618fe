"""rocprof v1's results.json: Chrome events whose ``args`` hold the times that count (BeginNs, EndNs), as text.

``ts`` and ``dur`` are microseconds without their fraction and are not used. What a row is, the name of its process tells
('CPU HIP API', 'COPY', 'GPU2').
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from labkit.profile.readers.chrome_odd import whole
from labkit.profile.readers.json_array import Content, broken
from labkit.profile.table import Device, Profile, events

ROWS = {
    "device": "dev-id",
    "queue": "queue-id",
    "stream": "stream-id",
    "process": "pid",
    "thread": "tid",
    "correlation": "Index",
}
_HIPPROF = {"dev-id": "devId", "Index": "index", "pid": "procId"}


def kind_of(process: str, name: str, on_gpu: bool, category: str = "") -> str:
    """Kind of a row, from its category (hipprof's), or the name of its process in the trace; without one from where it ran."""
    if category.upper() in ("HIPOPS", "HIPCOPY"):
        return "dispatch" if category.upper() == "HIPOPS" else "copy"
    word = process.upper()
    if word.startswith("GPU"):
        return "dispatch"
    if "COPY" in word:
        return "copy"
    if "MARKER" in word or "ROCTX" in word:
        return "marker"
    if "API" in word:
        return "api"
    if on_gpu:
        return "copy" if re.match(r"Copy(Host|Device)", name) else "dispatch"
    return "api"


def tidy(frame_columns: dict[str, list[Any]], kinds: list[str], source: str, *, simulated: bool = False) -> Profile:
    """The profile of these rows; times that cannot be right become null."""
    odd = []
    wrong = 0
    for i, (begin, end) in enumerate(zip(frame_columns["start_ns"], frame_columns["end_ns"], strict=True)):
        if begin is None or end is None or begin <= 0 or end < begin:
            frame_columns["start_ns"][i] = frame_columns["end_ns"][i] = None
            wrong += 1
    if wrong:
        odd.append(f"{wrong} of {len(kinds)} rows have times that cannot be right; these are not used.")
    gpu = [kind in ("dispatch", "copy") for kind in kinds]
    frame_columns["thread"] = [None if g else t for g, t in zip(gpu, frame_columns["thread"], strict=True)]
    frame = events({**frame_columns, "kind": kinds})
    used = frame.filter(frame["kind"] == "dispatch")["device"].drop_nulls().unique().sort().to_list()
    return Profile(
        kind="rocprof-v1",
        events=frame,
        tool="rocprof",
        devices=tuple(Device(index) for index in used),
        odd=tuple(odd),
        simulated=simulated,
        sources=(source,) if source else (),
    )


def read(content: Content, name: str = "") -> Profile:
    """The profile in this JSON. Raises LabkitError where it does not parse."""
    try:
        root = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError) as error:
        raise broken(str(error)) from None
    found = root.get("traceEvents") if isinstance(root, dict) else root
    rows = [e for e in found if isinstance(e, dict)] if isinstance(found, list) else []
    processes: dict[int | None, str] = {}
    for e in rows:
        if e.get("ph") == "M" and e.get("name") == "process_name" and isinstance(e.get("args"), dict):
            processes[whole(e.get("pid"))] = str(e["args"].get("name", ""))
    columns: dict[str, list[Any]] = {column: [] for column in ("name", "start_ns", "end_ns", *ROWS)}
    kinds: list[str] = []
    for e in rows:
        args = e.get("args")
        if e.get("ph") != "X" or not isinstance(args, dict):
            continue
        label = str(args.get("Name") or e.get("name") or "")
        columns["name"].append(label)
        columns["start_ns"].append(whole(args.get("BeginNs")))
        columns["end_ns"].append(whole(args.get("EndNs")))
        for column, key in ROWS.items():
            columns[column].append(whole(args.get(key, args.get(_HIPPROF.get(key, "")))))
        process = processes.get(whole(e.get("pid")), "")
        kinds.append(kind_of(process, label, args.get("dev-id") is not None, str(e.get("cat", ""))))
        if kinds[-1] in ("api", "marker"):
            columns["device"][-1] = None
    about = root.get("otherData") if isinstance(root, dict) else None
    return tidy(columns, kinds, name, simulated=isinstance(about, dict) and bool(about.get("simulated")))
