"""Which learner has which GPU: a table that outlives the hub. Pure functions on ``Table``; ``Book`` keeps one in a file.

One GPU is never lent to two learners unless the teacher shares it (``share`` above 1). A lease ends when the learner's server
ends. It stays while that server lives, also when the hub is started anew, and when the server is found dead it is taken back.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from labkit.course import files
from labkit.errors import LabkitError
from labkit.learn.records import file as records

VERSION = 1
_GPU = re.compile(r"\d{1,3}|GPU-[0-9A-Za-z-]{1,64}")


class NoGpuFree(LabkitError):
    """All GPUs are lent."""


@dataclass(frozen=True)
class Lease:
    """A GPU (its index or UUID, as ROCR_VISIBLE_DEVICES takes it) in the hands of a learner.

    ``since``: the minute, UTC. ``pid`` and ``started``: the learner's server and when its process began (a number is used
    again for other processes, that moment is not); 0 while it is being started.
    """

    gpu: str
    learner: str
    since: str
    pid: int = 0
    started: float = 0.0


@dataclass(frozen=True)
class Table:
    """The GPUs that may be lent, to how many learners each, and who has one."""

    gpus: tuple[str, ...] = ()
    share: int = 1
    leases: tuple[Lease, ...] = ()

    def of(self, learner: str) -> Lease | None:
        """The learner's lease, if there is one."""
        return next((lease for lease in self.leases if lease.learner == learner), None)

    def users(self, gpu: str) -> int:
        """How many learners have this GPU."""
        return sum(lease.gpu == gpu for lease in self.leases)

    def free(self) -> int:
        """How many more learners can get a GPU."""
        return sum(max(0, self.share - self.users(gpu)) for gpu in self.gpus)

    def lend(self, learner: str, since: str = "") -> Table:
        """The table once ``learner`` has a GPU: the one they have already, else the one with the fewest users.

        Raises:
            NoGpuFree: every GPU has ``share`` users.
        """
        if self.of(learner) is not None:
            return self
        open_ = [gpu for gpu in self.gpus if self.users(gpu) < self.share]
        if not open_:
            have = {0: "This machine has no GPU to lend", 1: "The only GPU is lent"}.get(
                len(self.gpus), f"All {len(self.gpus)} GPUs are lent"
            )
            raise NoGpuFree(
                f"{have}.", "choose 'CPU only' and begin at once, or wait until somebody stops and try again."
            )
        gpu = min(open_, key=self.users)  # of equals the first: min keeps the order
        return replace(self, leases=(*self.leases, Lease(gpu, learner, since)))

    def running(self, learner: str, pid: int, started: float) -> Table:
        """The table once the learner's server is this process."""
        return replace(
            self,
            leases=tuple(
                replace(lease, pid=pid, started=started) if lease.learner == learner else lease for lease in self.leases
            ),
        )

    def give_back(self, learner: str) -> Table:
        """The table without the learner's lease; the same where there is none."""
        return replace(self, leases=tuple(lease for lease in self.leases if lease.learner != learner))

    def reclaim(self, alive: Callable[[Lease], bool]) -> Table:
        """The table without the leases whose server is not alive."""
        return replace(self, leases=tuple(lease for lease in self.leases if alive(lease)))

    def on(self, gpus: Sequence[str], share: int) -> Table:
        """The table for these GPUs. A lease on one that is no longer lent stays until its server ends."""
        return replace(self, gpus=tuple(gpus), share=share)


def check_gpus(gpus: Sequence[str], share: int) -> None:
    """Raises LabkitError where a name is neither index nor UUID, stands twice, or ``share`` is below 1."""
    for gpu in gpus:
        if not _GPU.fullmatch(gpu):
            raise LabkitError(f"'{gpu}' is no GPU.", "give indices as in 0,1,2 or UUIDs as rocminfo prints them.")
    if len(set(gpus)) != len(gpus):
        raise LabkitError("A GPU is named twice.", "name each once; --share N lends each to N learners.")
    if share < 1:
        raise LabkitError(f"A GPU cannot be shared by {share} learners.", "give --share 1 or more.")


def parse(text: str) -> Table:
    """The table in a file's text. Raises LabkitError for anything that is not one."""
    try:
        raw = json.loads(text)
        if raw["labkit_leases"] != VERSION:
            raise ValueError(f"version {raw['labkit_leases']}")
        table = Table(
            tuple(map(str, raw["gpus"])), int(raw["share"]), tuple(_lease(row) for row in raw["leases"])
        )  # fmt: skip
        check_gpus(table.gpus, table.share)
        if len({lease.learner for lease in table.leases}) != len(table.leases):
            raise ValueError("a learner stands twice")
    except (ValueError, KeyError, TypeError, LabkitError) as error:
        raise LabkitError(
            f"The table of lent GPUs cannot be read: {error}.",
            "end all learners' servers, then delete leases.json; the hub makes a new one.",
        ) from None
    return table


def dump(table: Table) -> str:
    """The file's text."""
    return json.dumps({"labkit_leases": VERSION, **asdict(table)}, indent=1) + "\n"


def _lease(row: Any) -> Lease:
    return Lease(str(row["gpu"]), str(row["learner"]), str(row["since"]), int(row["pid"]), float(row["started"]))


class Book:
    """The table in a file. Each change is made under a lock and replaces the file whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Table:
        """The table as it is; an empty one where there is no file. Raises LabkitError for a damaged file."""
        try:
            return parse(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return Table()
        except (OSError, UnicodeDecodeError) as error:
            raise LabkitError(
                f"{self.path} cannot be read: {error}.", "give it back to whoever runs the hub."
            ) from None

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            with records.locked(self.path):
                yield
        except records.CannotSave as error:
            raise LabkitError(f"The table of lent GPUs is busy: {error}.", "is a second hub running here?") from None
        except OSError as error:
            raise LabkitError(
                f"{self.path} cannot be written: {error.strerror or error}.", "free some space."
            ) from None

    def change(self, how: Callable[[Table], Table]) -> Table:
        """Reads, changes, writes; gives back the new table. What ``how`` raises leaves the file as it was."""
        with self._alone():
            before = self.read()
            after = how(before)
            if after != before or not self.path.exists():
                files.write_text(self.path, dump(after))
                self.path.chmod(0o600)
            return after

    def lend(self, learner: str) -> Lease:
        """A GPU for the learner. Raises NoGpuFree."""
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M")
        lease = self.change(lambda table: table.lend(learner, now)).of(learner)
        assert lease is not None
        return lease
