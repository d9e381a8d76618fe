"""Thirty learners come to one hub at the same time: real logins, real servers, a kernel each; the GPUs are pretended.

One of them then tries to read what is not theirs, one fills the memory, one fills the disk. The others must not notice.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from labkit.importable import ROOT
from labkit.workshop.hub.leases import Book
from tests.workshop.hub.crowd import Arrival, arrive, start
from tests.workshop.hub.live_hub import ROOTED, Hub, Learner, free_port

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the hub works on Linux only"),
    pytest.mark.timeout(1800),
]
needs_root = pytest.mark.skipif(not ROOTED, reason="without root all learners run as one user, which hub.md says")
COUNT, GPUS = 30, 8
WITHIN_S = 1500.0
LOOK = "import os; print(os.environ.get('ROCR_VISIBLE_DEVICES'), os.environ.get('HIP_VISIBLE_DEVICES'), os.getuid(), os.getcwd())"


class Class:
    """The hub, and who came."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.came: list[Arrival] = arrive(hub, COUNT, WITHIN_S)
        self.kernels: dict[str, str] = {}
        self.seen: dict[str, tuple[str, str, str, str]] = {}
        with ThreadPoolExecutor(2) as pool:  # as many as there are cores
            list(pool.map(self._first_cell, self.learners))

    @property
    def learners(self) -> list[Learner]:
        return [arrival.learner for arrival in self.came]

    def _first_cell(self, learner: Learner) -> None:
        if learner.name not in self.kernels and learner.ready():
            self.kernels[learner.name] = learner.kernel()
            said = learner.run(self.kernels[learner.name], LOOK).split()
            self.seen[learner.name] = (said[0], said[1], said[2], said[3])

    def run(self, learner: Learner, code: str, within_s: float = 300) -> str:
        return learner.run(self.kernels[learner.name], code, within_s).strip()

    def with_gpu(self) -> list[Learner]:
        return [arrival.learner for arrival in self.came if not arrival.refused]

    def without(self) -> list[Learner]:
        return [arrival.learner for arrival in self.came if arrival.refused]

    def servers(self) -> dict[str, int]:
        """Each learner's server: the process that was started for them, by the user in its environment."""
        found = {}
        for process in self.hub.processes():
            with contextlib.suppress(psutil.Error):
                if "jupyterhub.singleuser" in process.cmdline():
                    found[process.environ()["JUPYTERHUB_USER"]] = process.pid
        return found

    def answering(self) -> set[str]:
        """Whose server answers, and whose kernel still has what was put into it."""
        return {learner.name for learner in self.learners if learner.api("GET", "kernels").status_code == 200}


@pytest.fixture(scope="module")
def room() -> Iterator[Class]:
    hub = Hub("--bind", "0.0.0.0", "--pretend-gpus", str(GPUS), "--memory", "1G")
    try:
        written = hub.say(*hub.options, "--write")
        assert written.returncode == 0, written.stdout + written.stderr
        text = hub.config.read_text(encoding="utf-8")
        for old, new in (
            ('disk_limit = "5G"', 'disk_limit = "150M"'),
            ('file_limit = "2G"', 'file_limit = "60M"'),
            (
                r'hub_bind_url = "http://127.0.0.1:\d+"',
                f'hub_bind_url = "http://127.0.0.1:{free_port()}"',
            ),  # other tests have
            (
                r'api_url = "http://127.0.0.1:\d+"',
                f'api_url = "http://127.0.0.1:{free_port()}"',
            ),  # hubs at the same time
        ):
            text, count = re.subn(old, new, text)
            assert count == 1, old
        hub.config.write_text(text, encoding="utf-8")
        hub.start()
        yield Class(hub)
    finally:
        hub.remove()


def test_all_thirty_have_a_server_and_nobody_met_an_error(room: Class) -> None:
    assert [arrival.failed for arrival in room.came if arrival.failed] == []
    assert set(room.servers()) == room.answering() == {learner.name for learner in room.learners}
    assert len(room.seen) == COUNT
    said = room.hub.said()
    assert "Unhandled error" not in said
    assert len(re.findall(r"\] 5\d\d (GET|POST|PUT|DELETE) ", said)) == 0


def test_eight_have_a_gpu_and_the_others_were_told(room: Class) -> None:
    assert len(room.with_gpu()) == GPUS
    for arrival in room.came:
        if arrival.refused:
            assert f"All {GPUS} GPUs are lent" in arrival.refused
            assert "CPU only" in arrival.refused


def test_no_gpu_is_in_two_hands_and_all_see_what_the_table_says(room: Class) -> None:
    table = Book(room.hub.folder / "private" / "leases.json").read()
    lent = {lease.learner: lease.gpu for lease in table.leases}
    assert sorted(lent) == sorted(learner.name for learner in room.with_gpu())
    assert sorted(lent.values(), key=int) == [str(number) for number in range(GPUS)]
    for learner in room.learners:
        rocr, hip, _, _ = room.seen[learner.name]
        assert (rocr, hip) == ((lent[learner.name], "None") if learner.name in lent else ("-1", "-1"))


def test_each_works_in_a_folder_of_their_own(room: Class) -> None:
    folders = {name: seen[3] for name, seen in room.seen.items()}
    assert folders == {name: str(room.hub.folder / "homes" / name / "notebooks") for name in folders}
    if ROOTED:
        uids = {seen[2] for seen in room.seen.values()}
        assert len(uids) == COUNT
        assert "0" not in uids


def test_nothing_but_the_hubs_own_port_is_open_to_the_network(room: Class) -> None:
    open_, inside = set(), 0
    for process in room.hub.processes():
        with contextlib.suppress(psutil.Error):
            for connection in process.net_connections(kind="inet"):
                if connection.status == psutil.CONN_LISTEN or (connection.type == 2 and not connection.raddr):
                    if connection.laddr.ip in ("127.0.0.1", "::1"):
                        inside += 1
                    else:
                        open_.add((connection.laddr.ip, connection.laddr.port))
    assert inside >= COUNT, "each server has one, on this machine only"
    assert {port for _, port in open_} == {room.hub.port}, open_


def test_another_learners_server_answers_403_whatever_is_asked(room: Class) -> None:
    one, other = room.learners[0], room.learners[1]
    kernel = room.kernels[other.name]
    for method, path in (
        ("GET", "contents"),
        ("GET", "contents/00_environment_check.ipynb"),
        ("GET", "kernels"),
        ("POST", "kernels"),
        ("POST", "terminals"),
        ("DELETE", f"kernels/{kernel}"),
    ):
        address = f"{room.hub.url}/user/{other.name}/api/{path}"
        answer = one.session.request(method, address, headers={"X-XSRFToken": one.cookie("/hub/")}, timeout=60)
        assert answer.status_code == 403, (method, path)
    assert room.run(other, "print('still here')") == "still here"


@needs_root
def test_another_learners_files_processes_and_kernels_are_closed(room: Class) -> None:
    """From a kernel, which is what a learner has, and from a plain program with the same user id."""
    one, other = room.learners[2], room.learners[3]
    home, server = room.hub.folder / "homes" / other.name, room.servers()[other.name]
    runtime = psutil.Process(server).environ()["JUPYTER_RUNTIME_DIR"]
    tries = {
        "list the home": f"os.listdir({str(home)!r})",
        "read a lesson": f"open({str(home / 'notebooks' / '00_environment_check.ipynb')!r})",
        "read the log": f"open({str(home / 'server.log')!r})",
        "reach the kernels": f"os.listdir({runtime!r})",
        "read the server's environment": f"open('/proc/{server}/environ').read()",
        "end the server": f"os.kill({server}, 9)",
        "read the passwords": f"os.listdir({str(room.hub.folder / 'private')!r})",
        "list who is there": f"os.listdir({str(room.hub.folder / 'homes')!r})",
        "change the course": f"open({str(ROOT / 'notebooks' / '00_environment_check.ipynb')!r}, 'a')",
        "become root": "os.setuid(0)",
        "become the other": f"os.setuid({psutil.Process(server).uids().real})",
    }
    code = "import os\nfor name, what in TRIES.items():\n    try:\n        eval(what)\n        print('DONE', name)\n"
    code += "    except PermissionError:\n        print('closed')\n    except Exception as error:\n        print(name, repr(error))\n"
    said = room.run(one, f"TRIES = {json.dumps(tries)}\n{code}").splitlines()
    assert said == ["closed"] * len(tries)
    uid = int(room.seen[one.name][2])
    for command in (["ls", str(home)], ["cat", f"/proc/{server}/environ"], ["kill", str(server)]):
        done = subprocess.run(command, user=uid, group=uid, extra_groups=[], capture_output=True, check=False)
        assert done.returncode != 0, command
    assert other.api("GET", "kernels").status_code == 200


def test_one_program_that_wants_more_memory_than_is_allowed_is_told(room: Class) -> None:
    """RLIMIT_DATA: the kernel itself lives on."""
    learner = room.learners[4]
    assert "MemoryError" in room.run(learner, "x = bytearray(3 << 30)")
    assert room.run(learner, "print(6 * 7)") == "42"


def test_several_programs_that_fill_the_memory_together_are_ended_and_nobody_elses(room: Class) -> None:
    learner, before = room.learners[5], room.servers()
    hungry = "import time; x = bytearray(b'x') * (500 << 20); time.sleep(600)"
    code = f"import subprocess, sys\nten = [subprocess.Popen([sys.executable, '-c', {hungry!r}]) for _ in range(4)]\n"
    code += "import time\nend = time.time() + 90\n"
    code += "while all(one.poll() is None for one in ten) and time.time() < end:\n    time.sleep(0.5)\n"
    code += "print([one.poll() for one in ten])"
    assert "-9" in room.run(learner, code)
    note = room.hub.folder / "homes" / learner.name / "notebooks" / "ABOUT_YOUR_LIMITS.txt"
    assert _comes(note.exists)
    assert "of memory" in note.read_text(encoding="utf-8")
    room.run(learner, "for one in ten: one.kill()")
    assert room.servers() == before, "no server ended, not even that of the one who did it"
    assert len(room.answering()) == COUNT


def test_who_fills_the_disk_is_stopped_and_their_gpu_is_free_again_and_nobody_else_notices(room: Class) -> None:
    learner = room.with_gpu()[-1]
    others = {name: pid for name, pid in room.servers().items() if name != learner.name}
    too_large = "open('large', 'wb').write(b'x' * (80 << 20))"
    assert re.search("OSError|File too large", room.run(learner, too_large))
    room.run(learner, "import os\nfor k in range(4):\n    open(f'part{k}', 'wb').write(os.urandom(50 << 20))")
    assert _comes(lambda: learner.name not in room.servers(), 150)
    note = room.hub.folder / "homes" / learner.name / "notebooks" / "ABOUT_YOUR_LIMITS.txt"
    assert "Your server was stopped" in note.read_text(encoding="utf-8")
    assert _comes(lambda: learner.name not in {lease.learner for lease in _table(room).leases})
    assert room.servers() == others
    assert _comes(lambda: not learner.ready(), 10), "JupyterHub looks every 15 s by itself"
    assert "Your folder holds" in start(learner, "cpu", 120), "a full folder starts no server"
    waiting = room.without()[0]
    assert _table(room).free() == 1
    _stop(waiting)
    assert start(waiting, "gpu", 120) == "", "the GPU goes to whoever asks next"


def _table(room: Class):  # type: ignore[no-untyped-def]
    return Book(room.hub.folder / "private" / "leases.json").read()


def _stop(learner: Learner) -> None:
    headers = {"X-XSRFToken": learner.cookie("/hub/"), "Referer": f"{learner.hub.url}/hub/home"}
    answer = learner.session.delete(
        f"{learner.hub.url}/hub/api/users/{learner.name}/server", headers=headers, timeout=60
    )
    assert answer.status_code in (202, 204), answer.text
    assert _comes(lambda: not learner.ready())


def _comes(ready: object, within_s: float = 60) -> bool:
    assert callable(ready)
    end = time.monotonic() + within_s
    while not ready():
        if time.monotonic() > end:
            return False
        time.sleep(0.5)
    return True
