"""Device use, memory, power and temperature while something runs, as a table of samples.

What tools call 'GPU utilisation' is the share of the time in which some kernel ran, however little of the chip it used. It shows a
GPU that waits; it does not show how well a busy one is used.
"""

from __future__ import annotations

import html
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

import polars as pl

from labkit.errors import LabkitError
from labkit.profile import sensors

COLUMNS = {
    "seconds": pl.Float64,
    "source": pl.String,
    "device": pl.Int32,
    "busy_percent": pl.Float64,
    "memory_bytes": pl.Int64,
    "memory_total_bytes": pl.Int64,
    "power_w": pl.Float64,
    "temperature_c": pl.Float64,
}
_KEPT = 100_000  # readings; a forgotten watch must not fill the memory


class Watch:
    """Samples the devices in a thread, from ``with watch() as w:`` or ``start()`` until the block ends or ``stop()``.

    ``samples`` is the table so far (COLUMNS; null where the source does not tell), ``str()`` a summary. Ask at any time.
    """

    def __init__(self, interval_s: float = 0.5, sensor: sensors.Sensor | None = None, source: str = "") -> None:
        if not 0.02 <= interval_s <= 3600:
            raise LabkitError(f"A sample every {interval_s:g} s is not possible.", "use 0.02 to 3600 seconds.")
        self.interval_s = interval_s
        self.source, self._sensor = (source or "given", sensor) if sensor is not None else sensors.find()
        self.problem = ""
        """Why sampling ended early, if it did."""
        self._rows: list[tuple[Any, ...]] = []
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._started = 0.0
        self._listeners: list[Callable[[Watch], None]] = []

    def __enter__(self) -> Watch:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> Watch:
        """Begins, or goes on. The thread ends with the program."""
        if self._thread is None or not self._thread.is_alive():
            self._over.clear()
            self._started = self._started or time.perf_counter()
            self._thread = threading.Thread(target=self._run, name="labkit-watch-devices", daemon=True)
            self._thread.start()
        return self

    def stop(self) -> Watch:
        """Takes a last sample and ends. Safe to call more than once."""
        if self._thread is not None:
            self._over.set()
            self._thread.join(15)
            self._thread = None
            if not self.problem:
                self._sample()
        return self

    def on_sample(self, listener: Callable[[Watch], None]) -> None:
        """Calls ``listener(watch)`` after each sample, from the watching thread."""
        self._listeners.append(listener)

    @property
    def samples(self) -> pl.DataFrame:
        """One row per sample and device; seconds count from the start."""
        return pl.DataFrame(list(self._rows), schema=COLUMNS, orient="row")

    def summary(self) -> pl.DataFrame:
        """One row per device: mean and largest busy share, largest memory, mean power, largest temperature."""
        busy, power = pl.col("busy_percent"), pl.col("power_w")
        return (
            self.samples.group_by("source", "device")
            .agg(
                pl.len().alias("samples"),
                busy.mean().alias("busy_percent_mean"),
                busy.max().alias("busy_percent_max"),
                pl.col("memory_bytes").max().alias("memory_bytes_max"),
                pl.col("memory_total_bytes").max(),
                power.mean().alias("power_w_mean"),
                pl.col("temperature_c").max().alias("temperature_c_max"),
            )
            .sort("device")
        )

    def __str__(self) -> str:
        rows = self.summary().to_dicts()
        told = [_told(row) for row in rows] or ["no sample yet"]
        return "\n".join([*told, *([self.problem] if self.problem else [])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _run(self) -> None:
        while True:
            if not self._sample():
                return
            if self._over.wait(self.interval_s):
                return

    def _sample(self) -> bool:
        try:
            found = self._sensor()
            now = time.perf_counter() - self._started
            for r in found:
                self._rows.append(
                    (
                        *(now, r.source, r.device, r.busy_percent, r.memory_bytes),
                        *(r.memory_total_bytes, r.power_w, r.temperature_c),
                    )
                )
            for listener in self._listeners:
                listener(self)
        except (
            Exception
        ) as error:  # a card that goes to sleep, a tool that is updated: the work that is watched goes on
            self.problem = f"The watch ended: {type(error).__name__}: {error}"
            return False
        if len(self._rows) >= _KEPT:
            self.problem = f"The watch ended after {len(self._rows):,} readings."
            return False
        return True


def watch(interval_s: float = 0.5) -> Watch:
    """A watch over this machine's GPUs, or over the CPU where there is none; use it as ``with watch() as w:``.

    Raises LabkitError for an interval under 0.02 s.
    """
    return Watch(interval_s)


def _told(row: dict[str, Any]) -> str:
    name = "CPU (no GPU to watch)" if row["source"] == "CPU" else f"GPU {row['device']} ({row['source']})"
    parts = []
    if row["busy_percent_mean"] is not None:
        parts.append(f"busy {row['busy_percent_mean']:.0f} % on average, {row['busy_percent_max']:.0f} % at most")
    if row["memory_bytes_max"] is not None:
        whose = " of this process" if row["source"] == "CPU" else ""
        total = row["memory_total_bytes"]
        of = f" of {total / 2**30:.1f}" if total else ""
        parts.append(f"memory{whose} {row['memory_bytes_max'] / 2**30:.2f}{of} GiB")
    if row["power_w_mean"] is not None:
        parts.append(f"{row['power_w_mean']:.0f} W on average")
    if row["temperature_c_max"] is not None:
        parts.append(f"{row['temperature_c_max']:.0f} °C at most")
    return f"{name}: {', '.join(parts) or 'nothing known'} ({row['samples']} samples)"
