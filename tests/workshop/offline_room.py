"""A learner's computer in a room without network: runs inside a network namespace of its own, uses a pack, tells what happened.

    unshare -n python -m tests.workshop.offline_room PACK HOST_PORT ANSWER.json

Standard library only, but for Chromium (the site is looked at). ANSWER.json holds one entry for each step.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from tests.browser.chromium import with_page

LESSONS = ("00", "01")
EXERCISE = """\
import runpy, torch
from labkit import check
solutions = runpy.run_path("notebooks/solutions/01_mnist.py")
check("linear_parameters", NotImplemented)
check("linear_parameters", solutions["linear_parameters"])
"""
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1


def raise_loopback() -> None:
    """What `ip link set lo up` does; JupyterLab talks to its kernels over it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        request = struct.pack("16sH14s", b"lo", 0, b"")
        flags = struct.unpack("16sH14s", fcntl.ioctl(probe, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(probe, _SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", flags | _IFF_UP, b""))


def refusal(host: str, port: int) -> str:
    """The name of the error with which a connection fails; 'connected' where it does not."""
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    return "connected"


def network(host_port: int) -> dict[str, Any]:
    """Which interfaces there are, and what becomes of attempts to reach something outside."""
    raise_loopback()
    try:
        name = socket.getaddrinfo("download.pytorch.org", 443)[0][4][0]
    except OSError:
        name = "unknown"
    return {
        "interfaces": [name for _, name in socket.if_nameindex()],
        "outside": [refusal("1.1.1.1", 443), refusal("192.0.2.1", 80)],
        "name": name,
        "the host's server": refusal("127.0.0.1", host_port),
    }


class Room:
    """The pack, and a user who has nothing but Python, a shell and a browser."""

    def __init__(self, pack: Path, home: Path) -> None:
        self.pack = pack
        self.environ = {
            "PATH": os.pathsep.join([str(Path(sys._base_executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]),  # type: ignore[attr-defined]
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "TMPDIR": str(home),
        }

    def call(self, script: str, *arguments: str, seconds: float = 900) -> dict[str, Any]:
        began = time.monotonic()
        answer = subprocess.run(
            ["sh", str(self.pack / script), *arguments], cwd="/", env=self.environ, capture_output=True, text=True,
            encoding="utf-8", errors="replace", timeout=seconds, check=False,
        )  # fmt: skip
        return {
            "status": answer.returncode,
            "text": answer.stdout + answer.stderr,
            "seconds": round(time.monotonic() - began, 1),
        }

    def started(self, port: int, seconds: float = 900) -> dict[str, Any]:
        """`start.sh` until JupyterLab shows lesson 00, then Ctrl-C."""
        began = time.monotonic()
        command = ["sh", str(self.pack / "start.sh"), "--no-browser", "--port", str(port)]
        log = Path(self.environ["HOME"]) / "start.log"
        with log.open("w", encoding="utf-8") as file:
            process = subprocess.Popen(
                command, cwd="/", env=self.environ, stdout=file, stderr=file, start_new_session=True
            )
        shown = ""
        try:
            while process.poll() is None and time.monotonic() - began < seconds and not shown:
                time.sleep(0.5)
                address = re.search(r"http://\S+token=\w+", log.read_text(encoding="utf-8", errors="replace"))
                if address is None:
                    continue
                with contextlib.suppress(OSError):
                    shown = urllib.request.urlopen(address.group(), timeout=10).read().decode("utf-8", "replace")
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        return {
            "page": "jupyter-config-data" in shown,
            "text": log.read_text(encoding="utf-8", errors="replace"),
            "seconds": round(time.monotonic() - began, 1),
        }

    def exercise(self) -> dict[str, Any]:
        course = self.pack / "course"
        answer = subprocess.run(
            [str(course / ".venv" / "bin" / "python"), "-c", EXERCISE], cwd=course, capture_output=True, text=True,
            env={**self.environ, "LABKIT_PROGRESS": "off"}, timeout=300, check=False,
        )  # fmt: skip
        return {"status": answer.returncode, "text": answer.stdout + answer.stderr}


def site(folder: Path) -> dict[str, Any]:
    """The site in a real browser, from its files: what it asked for, and what its console calls an error."""
    asked: list[str] = []
    complaints: list[str] = []
    found: dict[str, Any] = {"asked": asked, "complaints": complaints}

    def look(page: Any) -> None:
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.goto((folder / "index.html").as_uri())
        found["title"] = page.title()
        page.locator("a[href*='01_mnist']").first.click()
        page.wait_for_load_state("load")
        found.update(lesson=page.title(), text=page.inner_text("body"))

    with_page(look)
    return found


def main() -> None:
    pack, host_port, target = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    told: dict[str, Any] = {}

    def step(name: str, what: Any) -> None:
        told[name] = what
        target.write_text(json.dumps(told, indent=1), encoding="utf-8")

    with tempfile.TemporaryDirectory(dir=pack.parent) as home:
        room = Room(pack, Path(home))
        step("network", network(host_port))
        step("check before", room.call("check.sh", "--seat", "7", "--pack"))
        step("start", room.started(8899))
        output = str(pack / "course" / "build" / "room")
        step("run", room.call("start.sh", "run", *LESSONS, "-o", output))
        step("exercise", room.exercise())
        step("data", room.call("start.sh", "data"))
        step("check after", room.call("check.sh", "--seat", "7"))
        step("site", site(pack / "site"))
        step("network at the end", network(host_port))


if __name__ == "__main__":
    main()
