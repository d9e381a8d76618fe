"""JupyterHub's spawner for a course: each learner's own server, with a GPU that is lent to them alone."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, ClassVar

from jupyterhub.spawner import LocalProcessSpawner
from tornado import web
from tornado.ioloop import PeriodicCallback
from traitlets import Bool, Float, Int, List, TraitError, Unicode, default

from labkit.catalog.masks import HIDING
from labkit.course import files, lab
from labkit.errors import LabkitError
from labkit.importable import ROOT, python_path
from labkit.timing.words import size as words_of
from labkit.workshop.hub import limits as limiting
from labkit.workshop.hub import start_page
from labkit.workshop.hub.accounts import Account, Folder, as_learner, device_groups
from labkit.workshop.hub.consent import answers, store
from labkit.workshop.hub.gpus import PRETENDED
from labkit.workshop.hub.gpus import variables as gpu_variables
from labkit.workshop.hub.leases import Book, Lease, NoGpuFree
from labkit.workshop.hub.limits import Limits
from labkit.workshop.hub.servers import MARK, end_leftovers, runs, started_at, take_back

_WATCH_S = 4.0
_FOLDERS_S = 60.0


class CannotStart(web.HTTPError):
    """JupyterHub shows ``jupyterhub_message`` on the learner's page; of another exception it would show 'Unhandled error' there."""

    def __init__(self, message: str) -> None:
        super().__init__(409, message)
        self.jupyterhub_message = message


class Size(Int):
    """Bytes, written as everywhere at the hub: JupyterHub's own trait takes 4G, and neither 4g nor '4 GB'."""

    def validate(self, obj: Any, value: Any) -> int:
        try:
            return int(value) if isinstance(value, (int, float)) else limiting.size(str(value))
        except LabkitError as error:
            raise TraitError(error.problem) from None


class LeaseSpawner(LocalProcessSpawner):
    """One server for each learner. What jupyterhub_config.py sets is described there."""

    folder = Unicode(help="The hub's folder.").tag(config=True)
    gpus = List(Unicode(), help="GPUs to lend: indices or UUIDs.").tag(config=True)
    share = Int(1, help="To how many learners a GPU is lent.").tag(config=True)
    pretended = Bool(False, help="The GPUs do not exist: for trying the hub out.").tag(config=True)
    trust_learners = Bool(False, help="Without root: all learners run as one user.").tag(config=True)
    first_uid = Int(0, help="Root: where the learners' user ids begin.").tag(config=True)
    starts_at_once = Int(2, help="How many servers start at the same time; the others wait their turn.").tag(
        config=True
    )
    mem_limit = Size(None, allow_none=True, help="Memory of a learner; 4G where it is not set.").tag(config=True)
    disk_limit = Size(5 * 2**30, help="What a learner's folder may take.").tag(config=True)
    file_limit = Size(2 * 2**30, help="How large one file may be.").tag(config=True)
    process_limit = Int(1000, help="Processes and threads of a learner; needs root.").tag(config=True)

    queue: ClassVar[list[str]] = []
    """Who waits to be started, in order: for all learners together."""
    _turns: ClassVar[asyncio.Semaphore | None] = None
    _watching: ClassVar[dict[str, LeaseSpawner]] = {}
    _watch: ClassVar[PeriodicCallback | None] = None
    _folders_next: ClassVar[float] = 0.0
    _group: ClassVar[tuple[Path | None] | None] = None

    control_groups = Bool(True, help="A control group for each learner, where systemd delegated one to the hub.").tag(
        config=True
    )

    pid: int
    started = Float(0.0, help="When the server's process began.")
    _preparing = ""
    _lending = False

    # ------------------------------------------------------------------------------------------------- who and where

    @property
    def separate(self) -> bool:
        """Has each learner a user id of their own? Only root can give it."""
        return os.geteuid() == 0

    @property
    def _first_uid(self) -> int | None:
        return self.first_uid if self.separate else None

    @property
    def place(self) -> Folder:
        return Folder(Path(self.folder))

    @property
    def account(self) -> Account:
        return self.place.account(self.user.name, self._first_uid)

    @property
    def book(self) -> Book:
        return Book(self.place.leases)

    @property
    def limits(self) -> Limits:
        memory, cpus = self.mem_limit or 4 * 2**30, float(self.cpu_limit or 0)
        return Limits(memory, self.file_limit, self.disk_limit, self.process_limit, cpus)

    def gpu_words(self, lease: Lease | None) -> str:
        if lease is None:
            return "CPU only"
        return f"GPU {lease.gpu}{PRETENDED if self.pretended else ''}"

    @property
    def group(self) -> Path | None:
        """The control group under which learners get theirs; None where there is none. Looked for once."""
        cls = LeaseSpawner
        if cls._group is None:
            found = limiting.delegated() if self.separate and self.control_groups else None
            cls._group = (found if found is not None and limiting.open_groups(found) else None,)
            for what, who in limiting.words(
                self.limits, separate=self.separate, groups=cls._group[0] is not None
            ).items():
                self.log.info("Limit, %s: %s", what, who)
        return cls._group[0]

    # ------------------------------------------------------------------------------------------------------ the page

    @default("options_form")
    def _page(self) -> Callable[[Any], str]:
        return lambda _: start_page.form(
            self.book.read(), answers(self.place).get(self.user.name, "no"), pretended=self.pretended
        )

    def options_from_form(self, formdata: dict[str, list[str]]) -> dict[str, str]:
        return {name: str(values[0]) for name, values in formdata.items() if name in ("gpu", "progress") and values}

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """What the learner reads while they wait."""
        last = ""
        while True:
            name = self.user.name
            if name in self.queue:
                before = self.queue.index(name)
                say = f"{before} {'is' if before == 1 else 'are'} before you. Servers start a few at a time."
                yield {"progress": 10, "message": say} if say != last else {"progress": 10}
            else:
                say = self._preparing or "Your server starts."
                yield {"progress": 50, "message": say} if say != last else {"progress": 60}
            last = say
            await asyncio.sleep(1)

    # ---------------------------------------------------------------------------------------------------- start, stop

    async def start(self) -> tuple[str, int]:
        """Waits for its turn, lends a GPU, brings the lessons and starts the server."""
        if not self.separate and not self.trust_learners:
            raise CannotStart(
                "The hub does not run as root, so learners are not protected from each other. The teacher starts it as root, "
                "or sets trust_learners."
            )
        cls = LeaseSpawner
        if cls._turns is None:
            cls._turns = asyncio.Semaphore(max(1, self.starts_at_once))
        consent = str(self.user_options.get("progress", answers(self.place).get(self.user.name, "no")))
        store(self.place, self.user.name, consent)
        name = self.user.name
        self._lending = True  # a question whether it runs must not take the GPU back while it is being started
        try:
            lease = self._lend()  # before the queue: nobody waits for their turn only to read that there is no GPU
            cls.queue.append(name)
            async with cls._turns:
                cls.queue.remove(name)
                if not self._start_pending:
                    raise CannotStart("That took too long. Try again.")  # JupyterHub has given this start up
                return await self._start_now(lease)
        except NoGpuFree as error:
            raise CannotStart(f"{error.problem} {error.remedy[0].upper()}{error.remedy[1:]}") from None
        except LabkitError as error:
            self._let_go()
            raise CannotStart(str(error)) from None
        except BaseException:
            self._let_go()
            raise
        finally:
            self._preparing = ""
            self._lending = False
            if name in cls.queue:
                cls.queue.remove(name)

    def _lend(self) -> Lease | None:
        """A GPU for this learner, if they want one. Raises NoGpuFree."""
        if self.user_options.get("gpu", "gpu" if self.gpus else "cpu") == "cpu":
            return None
        take_back(self.place, self._first_uid)
        return self.book.lend(self.user.name)

    async def _start_now(self, lease: Lease | None) -> tuple[str, int]:
        name = self.user.name
        self._preparing = f"Your lessons are copied into your folder. {self.gpu_words(lease)}."
        account = self.account
        said = await asyncio.to_thread(bring, account)
        for line in said.splitlines():
            self.log.info("%s: %s", name, line)
        used = await asyncio.to_thread(limiting.folder_bytes, account.home)
        if used > self.limits.folder:
            raise CannotStart(f"Your folder holds {words_of(used)}, more than the {words_of(self.limits.folder)} that are allowed. "
                              "Ask the teacher to delete something.")  # fmt: skip
        self.port = 0
        address, port = await super().start()
        self.started = started_at(self.pid)
        if lease is not None:
            self.book.change(lambda table: table.running(name, self.pid, self.started))
        self.log.info("%s: server %s on %s", name, self.pid, self.gpu_words(lease))
        await self._answers(port)
        return address, port

    async def _answers(self, port: int) -> None:
        """Waits until the server listens, so that the next learner's start does not take its processor away."""
        while self.proc is not None and self.proc.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            await asyncio.sleep(0.2)
        raise CannotStart(f"Your server ended at once. The reason stands in {self.account.home}/server.log.")

    async def poll(self) -> int | None:
        if self.proc is None and not runs(self.pid, self.started):
            self.pid = 0  # after the hub's restart a dead server is somebody else's child
        status: int | None = await super().poll()
        return status

    def clear_state(self) -> None:
        """The server has ended, whether it was told to or not: what it left running ends, and its GPU is free again."""
        super().clear_state()
        self.started = 0.0
        if not self._lending:
            self._let_go()

    def _let_go(self) -> None:
        self._watching.pop(self.user.name, None)
        try:
            end_leftovers(self.account)
            self.book.change(lambda table: table.give_back(self.user.name))
        except LabkitError as error:
            self.log.error("%s: %s", self.user.name, error)

    def get_state(self) -> dict[str, Any]:
        state: dict[str, Any] = super().get_state()
        return {**state, "started": self.started} if self.pid else state

    def load_state(self, state: dict[str, Any]) -> None:
        super().load_state(state)
        self.started = float(state.get("started", 0.0))

    # ------------------------------------------------------------------------------------------------ the environment

    def get_env(self) -> dict[str, str]:
        env: dict[str, str] = super().get_env()
        return {**env, **gpu_variables(self.book.read().of(self.user.name), pretended=self.pretended)}

    def user_env(self, env: dict[str, str]) -> dict[str, str]:
        account = self.account
        home = {
            "HOME": str(account.home),
            "USER": account.name,
            "LOGNAME": account.name,
            "SHELL": "/bin/bash",
            "TMPDIR": str(account.temporary),  # counts as theirs, and fills no /tmp
            "JUPYTER_RUNTIME_DIR": str(account.runtime),
            "LABKIT_PROGRESS": str(account.progress),
            MARK: str(account.home),
            "JUPYTER_CONFIG_PATH": str(jupyter_config(self.place)),
        }
        if self.cpu_limit:
            home["OMP_NUM_THREADS"] = str(max(1, round(self.cpu_limit)))
        env = {name: value for name, value in env.items() if name not in HIDING}
        env["PYTHONPATH"] = python_path({}, ROOT)
        return lab.environment({**env, **home}, ROOT, lab.kernels_folder(self.place.shared))

    def make_preexec_fn(self, name: str) -> Callable[[], None]:
        """What the new process does before it becomes the learner's server: limits, and another user id for ever."""
        account, limits = self.account, self.limits
        gpu = self.book.read().of(name) is not None
        groups = device_groups() if gpu and not self.pretended else []
        log, start, temporary = str(account.home / "server.log"), str(account.notebooks), str(account.temporary)
        group = None
        if self.group is not None:
            try:
                group = str(limiting.learner_group(self.group, name, limits) / "cgroup.procs")
            except OSError as error:
                self.log.warning("%s gets no control group: %s", name, error)

        def become() -> None:
            if group is not None:
                with open(group, "w") as stream:  # noqa: PTH123
                    stream.write(str(os.getpid()))
            os.umask(0o077)
            os.nice(5)  # the hub itself stays quick
            limiting.apply(limits, own_uid=account.uid is not None)
            if account.uid is not None:
                os.setgroups(groups)
                os.setgid(account.uid)
                os.setuid(account.uid)
            os.chdir(start)
            with contextlib.suppress(FileExistsError):
                os.mkdir(temporary)  # noqa: PTH102
            said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            os.dup2(said, 1)
            os.dup2(said, 2)

        return become

    # ------------------------------------------------------------------------------------------------------ the watch

    def start_polling(self) -> None:
        super().start_polling()
        self._watching[self.user.name] = self
        cls = LeaseSpawner
        if cls._watch is None:
            cls._watch = PeriodicCallback(cls._look, _WATCH_S * 1000)
            cls._watch.start()

    def stop_polling(self) -> None:
        super().stop_polling()
        self._watching.pop(self.user.name, None)

    @classmethod
    async def _look(cls) -> None:
        """One round of the watch: memory of every learner, and each minute the folders."""
        watched = list(cls._watching.values())
        if not watched:
            return
        everything = await asyncio.to_thread(limiting.processes)
        for spawner in watched:
            await spawner._look_at_memory(everything)
        if time.monotonic() >= cls._folders_next:
            cls._folders_next = time.monotonic() + _FOLDERS_S
            for spawner in watched:
                await spawner._look_at_folder()

    async def _look_at_memory(self, everything: list[limiting.Process]) -> None:
        own = limiting.belonging(everything, self.pid, self.account.uid)
        victim = limiting.to_end(own, self.pid, self.limits.memory) if self.pid else None
        if victim is None or not runs(victim.pid, victim.started):
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim.pid, signal.SIGKILL)
        used = sum(process.memory for process in own)
        await self._tell(f"Your programs together used {words_of(used)} of memory; {words_of(self.limits.memory)} are allowed. "
                         "The largest one was ended; its notebook begins anew.")  # fmt: skip

    async def _look_at_folder(self) -> None:
        used = await asyncio.to_thread(limiting.folder_bytes, self.account.home)
        if used > self.limits.folder:
            await self._tell(f"Your folder held {words_of(used)}; {words_of(self.limits.folder)} are allowed. Your server was stopped. "
                             "Ask the teacher to delete something.")  # fmt: skip
            await self.stop()
            await self.poll_and_notify()  # JupyterHub learns of it now, and not only when it looks by itself
        elif used > 0.8 * self.limits.folder:
            await self._tell(
                f"Your folder holds {words_of(used)}; at {words_of(self.limits.folder)} your server is stopped. Delete something."
            )

    async def _tell(self, sentence: str) -> None:
        """A file where the learner sees it, written as the learner."""
        self.log.warning("%s: %s", self.user.name, sentence)
        with contextlib.suppress(LabkitError):
            await asyncio.to_thread(
                as_learner, self.account, ["labkit.workshop.hub.tell", str(self.account.notebooks), sentence], root=ROOT
            )


def bring(account: Account) -> str:
    """Brings the lessons into the learner's folder, as the learner; what was done, a line for each file."""
    arguments = ["labkit.workshop.hub.copies", str(ROOT / "notebooks"), str(account.notebooks)]
    return as_learner(account, arguments, root=ROOT)


def jupyter_config(place: Folder) -> Path:
    """What JupyterLab gets for a shared machine: its debugger listens on a port without a password, so it is off."""
    folder = place.shared / "config"
    page = folder / "labconfig" / "page_config.json"
    if not page.exists():
        files.write_text(page, json.dumps({"disabledExtensions": {"@jupyterlab/debugger-extension": True}}) + "\n")
    return folder
