"""What the devices are doing now, for a gauge that many people look at: cached, bounded in time, honest about what nobody tells.

Sources, the cheapest first: the amdgpu driver's files (microseconds, so that thirty learners' servers on one node disturb no
measurement); amd-smi for what they lack and where there are none; nvidia-smi; psutil for the processor and the memory of the
machine where no GPU is seen. A value that no source tells is "not available", never 0. Not yet verified on ROCm: no machine with an
AMD GPU has been read.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from labkit.comm import binding, topology
from labkit.machine.probes.commands import ask
from labkit.machine.readers import kfd
from labkit.machine.readers.text import embedded_json
from labkit.profile import sensors
from labkit.profile.sensors import Reading

KEEP_S = 1.0  # a reading is shared by everybody who asks within this time
WAIT_S = 4.0  # nobody waits longer; a tool that hangs goes on hanging in a thread of its own
TOOL_S = 8.0  # after which a tool is ended
_TOOL_WAIT_S = 2.0  # how long a reading waits for a tool; what comes later is shown next time
# A tool rests this many times as long as it ran, so that the gauge does not use up the machine that it shows.
_TOOL_SHARE = 10
_STALE_S = 30.0  # an answer of a tool that is older is not shown
_VALUES = {
    "use_percent": "busy_percent",
    "memory_used_bytes": "memory_bytes",
    "memory_total_bytes": "memory_total_bytes",
    "power_w": "power_w",
    "temperature_c": "temperature_c",
}


class Tool:
    """A slow command that is asked in a thread; what it said last is at hand."""

    def __init__(self, ask_it: Callable[[], Sequence[Reading]], clock: Callable[[], float] = time.monotonic) -> None:
        self._ask, self._clock = ask_it, clock
        self._thread: threading.Thread | None = None
        self._last: tuple[Reading, ...] = ()
        self._told = self._next = float("-inf")

    def readings(self, wait_s: float = _TOOL_WAIT_S) -> tuple[Reading, ...]:
        """The last answer, asked for anew where it is time; empty where there is none or it is too old."""
        if self._thread is None and self._clock() >= self._next:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()
        if self._thread is not None and self._clock() - self._told > _STALE_S:  # nothing to show yet: worth a wait
            self._thread.join(wait_s)
        return self._last if self._clock() - self._told <= _STALE_S else ()

    def _work(self) -> None:
        began = self._clock()
        try:
            found = tuple(self._ask())
        except Exception:  # whatever a tool printed: the gauge goes on without it
            found = ()
        ended = self._clock()
        if found:
            self._last, self._told = found, ended
        self._next = ended + (max(KEEP_S, _TOOL_SHARE * (ended - began)) if found else _STALE_S)
        self._thread = None


class Gauge:
    """The readings of this machine, as ``GET labkit/gauge`` answers them.

    root: where ``sys`` is. environ: whose ROCR_VISIBLE_DEVICES (and HIP_ or CUDA_VISIBLE_DEVICES) hold. tools: instead of amd-smi and
    nvidia-smi.
    """

    def __init__(
        self,
        root: Path = Path("/"),
        environ: Mapping[str, str] | None = None,
        tools: Sequence[Tool] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._root, self._clock = root, clock
        self._environ = dict(os.environ if environ is None else environ)
        self._tools = (Tool(_amd_smi), Tool(_nvidia_smi)) if tools is None else tuple(tools)
        self._processor = sensors.Processor()  # its share is counted from here on
        self._node: tuple[topology.Topology, dict[str, int]] | None = None
        self._busy: concurrent.futures.Future[dict[str, Any]] | None = None
        self._last: dict[str, Any] = {}
        self._at = float("-inf")

    async def read(self) -> dict[str, Any]:
        """The reading of this second; never raises, never takes longer than WAIT_S. One measurement at a time, shared by all who ask."""
        if self._busy is None and self._clock() - self._at < KEEP_S:
            return self._last
        if self._busy is None:
            self._busy = _in_thread(self.look)
        busy = self._busy
        try:
            found = await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(busy)), WAIT_S)
        except asyncio.TimeoutError:
            return {"devices": [], "note": "The devices of this machine do not answer. The gauge goes on asking."}
        except Exception as error:
            found = {"devices": [], "note": f"The devices of this machine could not be read ({type(error).__name__})."}
        if self._busy is busy:
            self._busy, self._last, self._at = None, found, self._clock()
        return found

    def look(self) -> dict[str, Any]:
        """Reads the sensors now; takes as long as they do."""
        node, ids = self._topology()
        driver = sensors.driver(self._root / "sys" / "class" / "drm")
        tool: tuple[Reading, ...] = ()
        if not driver or any(getattr(one, field) is None for one in driver for field in _VALUES.values()):
            able = self._tools[:1] if driver else self._tools  # only amd-smi can add something to the driver's files
            tool = next((told for one in able if (told := one.readings())), ())
        merged = filled(driver, tool) if driver else [(one, {}) for one in tool]
        shown, note = visible(merged, node, ids, self._environ)
        devices = [_gpu(number, one, extra) for number, (one, extra) in enumerate(shown)]
        return {"devices": devices or [processor(self._processor.read()[0].busy_percent)], "note": note}

    def _topology(self) -> tuple[topology.Topology, dict[str, int]]:
        if self._node is None:
            texts = topology.collect(self._root)
            node = topology.read(texts)
            place = "sys/class/kfd/kfd/topology/nodes/{}/properties"
            ids = {
                f"gpu-{kfd.properties(texts.get(place.format(gpu.node), '')).get('unique_id', 0):016x}": gpu.index
                for gpu in node.gpus
            }
            self._node = node, ids
        return self._node


Filled = tuple[Reading, Mapping[str, str]]
"""A reading, and for each field that came from elsewhere the name of that source."""


def filled(driver: Sequence[Reading], tool: Sequence[Reading]) -> list[Filled]:
    """The driver's readings with what only the tool tells, by PCI address; by position where one GPU is all that both know."""
    others = {one.address: one for one in tool if one.address}
    found: list[Filled] = []
    for one in driver:
        other = others.get(one.address)
        if other is None and len(driver) == len(tool) == 1 and not tool[0].address:
            other = tool[0]
        lacking = [
            field
            for field in _VALUES.values()
            if getattr(one, field) is None and getattr(other, field, None) is not None
        ]
        found.append(
            (
                replace(one, **{field: getattr(other, field) for field in lacking}),
                {field: other.source for field in lacking if other},
            )
        )
    return found


def visible(
    readings: Sequence[Filled], node: topology.Topology, ids: Mapping[str, int], environ: Mapping[str, str]
) -> tuple[list[Filled], str]:
    """The readings of the GPUs that this server's kernels see, in the order in which torch counts them; and a sentence, mostly "".

    ids: index of a GPU by its UUID, as "gpu-0123456789abcdef". Where no PCI address ties a reading to ROCr's numbering, the position in
    the list is taken for the number, and the sentence says so.
    """
    if not readings:
        return [], ""
    masks = {name: environ[name] for name in binding.MASKS if name in environ}
    for name, mask in masks.items():
        masks[name] = ",".join(str(ids.get(part.strip().lower(), part)) for part in mask.split(","))
    unread = [name for name, mask in masks.items() if "GPU-" in mask.upper()]
    if unread:
        note = f"{unread[0]} names a GPU that this gauge cannot tell from the others: all of them are shown."
        return list(readings), note
    by_address = {one.address: (one, extra) for one, extra in readings if one.address}
    if any(gpu.address in by_address for gpu in node.gpus):
        addresses = dict.fromkeys(gpu.address for gpu in binding.visible(node, masks))  # partitions of a card share one
        shown = [by_address[address] for address in addresses if address in by_address]
        note = ""
    else:
        plain = topology.Topology(
            tuple(topology.Gpu(k, k, None, "", 0, None, None, "") for k in range(len(readings))), {}, ()
        )
        shown = [readings[gpu.index] for gpu in binding.visible(plain, masks)]
        note = (
            f"GPUs are counted here as {readings[0][0].source} counts them, which may differ from ROCr."
            if masks
            else ""
        )
    if not shown:
        return [], f"{' and '.join(masks)} hides every GPU of this machine from your kernels."
    return shown, note


def processor(use_percent: float | None) -> dict[str, Any]:
    """The CPU, all cores together, and the memory of the machine."""
    import psutil

    memory = psutil.virtual_memory()
    values = {
        "use_percent": use_percent,
        "memory_used_bytes": memory.total - memory.available,
        "memory_total_bytes": memory.total,
    }
    return {"name": "CPU", "kind": "cpu", **{name: _value(values.get(name), "psutil") for name in _VALUES}}


def _gpu(number: int, reading: Reading, extra: Mapping[str, str]) -> dict[str, Any]:
    values = {
        name: _value(getattr(reading, field), extra.get(field, reading.source)) for name, field in _VALUES.items()
    }
    return {"name": f"GPU {number}", "kind": "gpu", **values}


def _value(amount: float | None, source: str) -> dict[str, Any]:
    return {"value": amount, "source": "not available" if amount is None else source}


def _amd_smi() -> tuple[Reading, ...]:
    found = sensors.amd_smi(ask(sensors.AMD_SMI, TOOL_S).text)
    return addressed(found, ask(("amd-smi", "list", "--json"), TOOL_S).text) if found else ()


def addressed(readings: Sequence[Reading], listed: str) -> tuple[Reading, ...]:
    """The readings with the PCI addresses of ``amd-smi list --json``, by amd-smi's own number."""
    entries = embedded_json(listed)
    rows = [row for row in entries if isinstance(row, dict)] if isinstance(entries, list) else []
    addresses = {row.get("gpu"): str(row.get("bdf", "")).lower() for row in rows}
    return tuple(replace(one, address=addresses.get(one.device, "")) for one in readings)


def _nvidia_smi() -> tuple[Reading, ...]:
    return sensors.nvidia_smi(ask(sensors.NVIDIA_SMI, TOOL_S).text)


def _in_thread(work: Callable[[], dict[str, Any]]) -> concurrent.futures.Future[dict[str, Any]]:
    """Runs it in a thread that does not keep the server from ending."""
    future: concurrent.futures.Future[dict[str, Any]] = concurrent.futures.Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future
