"""A real hub in a folder of its own, and learners who use it as a browser does: cookies, XSRF, the page's forms, kernels' websockets."""

from __future__ import annotations

import asyncio
import contextlib
import html
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import requests
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from labkit.comm.lifeline import die_with_parent
from labkit.importable import ROOT
from labkit.workshop.hub import proxy
from labkit.workshop.hub.accounts import reachable
from tests.apart import apart

TEACHER, PASSWORD = "teacher", "correct horse battery"
ROOTED = os.geteuid() == 0
# As root each learner has a user id of their own. Where this Python is in a folder that is closed to others (root's home), the hub
# gets a view of the file system in which that folder is open; nothing outside sees it.
_OPEN_PYTHON = """
set -e
python=$1 closed=$2 kept=$3; shift 3
mount --bind "$python" "$kept"
mount -t tmpfs -o mode=755 none "$closed"
mkdir -p "$python"
mount --bind "$kept" "$python"
exec "$@"
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _end_with_the_tests() -> None:
    """A hub whose test run is killed ends by itself, and ends its servers and its proxy: SIGTERM gives it the time."""
    die_with_parent(signal.SIGTERM)


class Hub:
    """``labkit workshop hub`` in a new folder; ``options`` are those of its command line."""

    def __init__(self, *options: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="hub"))  # short, and open: pytest's own folders are closed to others
        self.folder.chmod(0o711)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = self.folder.with_name(f"{self.folder.name}.log")
        self.options = ("--bind", "127.0.0.1", "--port", str(self.port), *options)
        if not ROOTED:
            self.options = (*self.options, "--trust-learners")
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def config(self) -> Path:
        return self.folder / "jupyterhub_config.py"

    def labkit(self, *arguments: str) -> list[str]:
        """The command line; where it must be, in a view of the file system in which Python is open to learners."""
        command = [sys.executable, "-m", "labkit", "workshop", "hub", "-o", str(self.folder), *arguments]
        python = Path(os.path.realpath(sys.executable)).parent.parent
        closed = reachable(Path(os.path.realpath(sys.executable))) if ROOTED else None
        if closed is None:
            return command
        kept = self.folder.with_name(f"{self.folder.name}.python")
        kept.mkdir(exist_ok=True)
        script = ["bash", "-c", _OPEN_PYTHON, "hub", str(python), str(closed), str(kept)]
        return ["unshare", "--mount", "--propagation", "private", *script, *command]

    def environment(self) -> dict[str, str]:
        # the environment is ready: set-up need not look
        tools = ROOT / "build" / "hub-proxy"  # installed once for all tests, where it is not on PATH
        path = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(proxy.ensure(tools)).parent)])
        return {
            **os.environ,
            "PATH": path,
            "HUB_OF_TEST": str(self.folder),  # by which its proxy is found
            "LABKIT_ENV": sys.prefix,
            "LABKIT_SETUP_DONE": sys.prefix,
            "PYTHONPATH": str(ROOT),
            "HIP_VISIBLE_DEVICES": "0,1,2,3",  # of the teacher's shell: must not reach a learner
            "CUDA_VISIBLE_DEVICES": "3",
        }

    def say(self, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Runs one command beside the hub."""
        return subprocess.run(
            self.labkit(*arguments), cwd=ROOT, env=self.environment(), input=text, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip

    def start(self, within_s: float = 120) -> None:
        """Starts it, the first time with the options and the teacher's password, and waits until its login page is there."""
        options = () if self.config.exists() else self.options
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.labkit(*options), cwd=ROOT, env=self.environment(), stdin=subprocess.PIPE, stdout=log, stderr=log,
                start_new_session=True, preexec_fn=_end_with_the_tests,
            )  # fmt: skip
        assert self.process.stdin is not None
        self.process.stdin.write(f"{PASSWORD}\n".encode())
        self.process.stdin.close()
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            assert self.process.poll() is None, self.said()
            with contextlib.suppress(requests.RequestException):
                if requests.get(f"{self.url}/hub/login", timeout=5).status_code == 200:
                    return
            time.sleep(0.3)
        raise AssertionError(f"the hub did not start:\n{self.said()}")

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    def kill(self) -> None:
        """The hub itself dies, with no time for anything; servers and proxy stay."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(30)

    def interrupt(self, within_s: float = 60) -> int:
        """Ctrl-C; the exit status."""
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(within_s)

    def processes(self) -> list[psutil.Process]:
        """Everything that belongs to this hub: it names its folder."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                words = [*process.cmdline(), *process.environ().values()]
                if process.pid != os.getpid() and any(str(self.folder) in word for word in words):
                    found.append(process)
        return found

    def remove(self) -> None:
        """Ends what is left and deletes the folder."""
        if self.process is not None and self.process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.interrupt(30)
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(self.folder.with_name(f"{self.folder.name}.python"), ignore_errors=True)
        self.log.unlink(missing_ok=True)


@contextlib.contextmanager
def running(*options: str) -> Iterator[Hub]:
    hub = Hub(*options)
    try:
        hub.start()
        yield hub
    finally:
        hub.remove()


class Learner:
    """Somebody with a browser."""

    def __init__(self, hub: Hub, name: str, password: str = "my first password") -> None:
        self.hub, self.name, self.password = hub, name, password
        self.session = requests.Session()

    def get(self, path: str, **more: Any) -> requests.Response:
        return self.session.get(f"{self.hub.url}{path}", timeout=60, **more)

    def post(self, path: str, data: dict[str, str]) -> requests.Response:
        """Sends a form as the page has it: with the XSRF token that the page carries."""
        page = self.get(path).text
        found = re.search(r'name="_xsrf" value="([^"]+)"', page) or re.search(r"_xsrf=([^\"'&]+)", page)
        token = found.group(1) if found else self.cookie("/hub/")
        return self.session.post(
            f"{self.hub.url}{path}", params={"_xsrf": token}, data={**data, "_xsrf": token}, timeout=60
        )

    def cookie(self, path: str, name: str = "_xsrf") -> str:
        return next(
            (str(cookie.value) for cookie in self.session.cookies if cookie.name == name and cookie.path == path), ""
        )

    def login(self) -> requests.Response:
        return self.post("/hub/login", {"username": self.name, "password": self.password})

    @property
    def inside(self) -> bool:
        return self.get("/hub/home").url.endswith("/hub/home")

    def ask(self, gpu: str = "gpu", progress: str = "no") -> requests.Response:
        """Sends the page on which a server is started."""
        return self.post(f"/hub/spawn/{self.name}", {"gpu": gpu, "progress": progress})

    def ready(self) -> bool:
        answer = self.get(f"/hub/api/users/{self.name}", headers={"Referer": f"{self.hub.url}/hub/home"})
        return bool((answer.json().get("servers") or {}).get("", {}).get("ready")) if answer.ok else False

    def wait(self, within_s: float = 150) -> str:
        """Until the server runs or cannot be started; '' or the sentence on the page."""
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            if self.ready():
                self.get(f"/user/{self.name}/lab")  # logs in at the server, as opening it does
                return ""
            page = self.get(f"/hub/spawn-pending/{self.name}").text
            failed = re.search(r'<p class="spawn-error[^>]*>(.*?)</p>', page, re.DOTALL) or re.search(
                r"(Spawn failed.*?)Would you like", page, re.DOTALL
            )
            if failed:
                return html.unescape(re.sub(r"(<[^>]+>|\s)+", " ", failed.group(1))).strip()
            time.sleep(0.5)
        raise AssertionError(f"{self.name} has no server after {within_s} s:\n{self.hub.said()[-3000:]}")

    def spawn(self, gpu: str = "gpu", progress: str = "no") -> str:
        self.ask(gpu, progress)
        return self.wait()

    def api(self, method: str, path: str, **more: Any) -> requests.Response:
        """A request to the learner's own server."""
        base = f"/user/{self.name}/"
        return self.session.request(
            method, f"{self.hub.url}{base}api/{path}", headers={"X-XSRFToken": self.cookie(base)}, timeout=60, **more
        )

    def kernel(self) -> str:
        answer = self.api("POST", "kernels", json={"name": "python3"})
        assert answer.status_code == 201, f"{answer.status_code} {answer.text[:500]}"
        return str(answer.json()["id"])

    def run(self, kernel: str, code: str, within_s: float = 300) -> str:
        """What a kernel prints, over its websocket; '!raised NAME: TEXT' where it raises."""
        return apart(lambda: asyncio.run(self._run(kernel, code, within_s)))

    async def _run(self, kernel: str, code: str, within_s: float) -> str:
        url = f"{self.hub.url.replace('http', 'ws')}/user/{self.name}/api/kernels/{kernel}/channels"
        request = requests.Request("GET", url.replace("ws", "http", 1), cookies=self.session.cookies)
        cookies = self.session.prepare_request(request).headers.get("Cookie", "")
        socket_ = await websocket_connect(HTTPRequest(url, headers={"Cookie": cookies, "Origin": self.hub.url}))
        identity = uuid.uuid4().hex
        await socket_.write_message(json.dumps({
            "header": {"msg_id": identity, "msg_type": "execute_request", "username": self.name, "session": uuid.uuid4().hex,
                       "date": "", "version": "5.3"},
            "parent_header": {}, "metadata": {}, "channel": "shell", "buffers": [],
            "content": {"code": code, "silent": False, "store_history": False, "user_expressions": {}, "allow_stdin": False},
        }))  # fmt: skip
        said = ""
        try:
            while True:
                text = await asyncio.wait_for(socket_.read_message(), within_s)
                assert text is not None, f"the connection was cut after {said!r}"
                message = json.loads(text)
                if message.get("parent_header", {}).get("msg_id") != identity:
                    continue
                content = message["content"]
                if message["msg_type"] == "stream":
                    said += content["text"]
                elif message["msg_type"] == "error":
                    said += f"!raised {content['ename']}: {content['evalue']}"
                elif message["msg_type"] == "status" and content["execution_state"] == "idle":
                    return said
        finally:
            socket_.close()

    def cells(self, notebook: str) -> Sequence[str]:
        """The code cells of the learner's own copy."""
        content = self.api("GET", f"contents/{notebook}").json()["content"]
        return [cell["source"] for cell in content["cells"] if cell["cell_type"] == "code" and cell["source"].strip()]
