"""How busy each GPU was: the union of its kernels, never the sum of their durations."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.profile import intervals
from labkit.profile.questions.selection import devices_of, on_device, timed
from labkit.profile.table import Profile


@dataclass(frozen=True)
class DeviceBusy:
    """One GPU. device: its number, None where the profile has none. busy_ns: union of its dispatches; start_ns and
    end_ns: of its first and last dispatch; dispatches: how many; summed_ns: durations added up (streams count
    twice)."""

    device: int | None
    busy_ns: int
    start_ns: int
    end_ns: int
    dispatches: int
    summed_ns: int

    @property
    def span_ns(self) -> int:
        return self.end_ns - self.start_ns

    @property
    def share(self) -> float:
        """Busy time over the time from its first to its last dispatch (0 to 1); 0.0 for a span of nothing."""
        return self.busy_ns / self.span_ns if self.span_ns else 0.0


@dataclass(frozen=True)
class Busy:
    """All GPUs with work. busy_ns: summed over devices. span_ns: first start to last end over all devices."""

    devices: tuple[DeviceBusy, ...]
    span_ns: int | None

    @property
    def busy_ns(self) -> int:
        return sum(d.busy_ns for d in self.devices)

    @property
    def share(self) -> float | None:
        """Mean share of the whole span that the devices with work were busy; None without a span."""
        return self.busy_ns / (self.span_ns * len(self.devices)) if self.span_ns else None


def busy(p: Profile) -> Busy:
    """The busy time of each device as the union of its dispatches' intervals (copies and markers do not count)."""
    frame = timed(p, ("dispatch",), ("device", "start_ns", "end_ns"))
    if frame.height == 0:
        return Busy((), None)
    devices = devices_of(frame)
    found = []
    for device in devices:
        part = frame if len(devices) == 1 else on_device(frame, device)
        start, end = part["start_ns"].to_numpy(), part["end_ns"].to_numpy()
        found.append(
            DeviceBusy(
                device=device,
                busy_ns=intervals.union_length(start, end),
                start_ns=int(start.min()),
                end_ns=int(end.max()),
                dispatches=start.size,
                summed_ns=intervals.summed_length(start, end),
            )
        )
    return Busy(tuple(found), max(d.end_ns for d in found) - min(d.start_ns for d in found))
