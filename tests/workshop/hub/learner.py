"""A learner as a hub sees one: a browser's cookies, a login, a server, a kernel that runs code. Over HTTP, without a browser."""

from __future__ import annotations

import json
import re
import time
import uuid
from pathlib import Path
from typing import Any

import requests
import websocket


class Refused(Exception):
    """The hub or the server said no."""


class Learner:
    """``base``: the hub's address, http://127.0.0.1:PORT."""

    def __init__(self, base: str, name: str, password: str) -> None:
        self.base, self.name, self.password = base, name, password
        self.session = requests.Session()
        self.kernel = ""

    def server(self, path: str = "", *, of: str = "") -> str:
        """The address of a path on one's own server, or on that of somebody else."""
        return f"{self.base}/user/{of or self.name}/{path}"

    def log_in(self) -> None:
        """Types name and password. Raises Refused."""
        page = self.session.get(f"{self.base}/hub/login", timeout=60)
        fields = {"username": self.name, "password": self.password, "_xsrf": _xsrf(page.text)}
        answer = self.session.post(f"{self.base}/hub/login", data=fields, timeout=60)
        if answer.status_code != 200 or answer.url.split("?")[0].endswith("/hub/login"):
            raise Refused(f"login of {self.name}: {answer.status_code} {_words(answer.text)}")

    def ask_for_a_server(self, **choices: str) -> int:
        """Sends the form of /hub/spawn; the status of the answer. Does not wait for the server."""
        page = self.session.get(f"{self.base}/hub/spawn", timeout=60)
        fields = {**choices, "_xsrf": _xsrf(page.text)}
        return self.session.post(f"{self.base}/hub/spawn", data=fields, timeout=120).status_code

    def is_ready(self) -> bool:
        """Does one's own server answer? The first visit passes the hub's door (OAuth), as in a browser."""
        answer = self.session.get(self.server("api/status"), timeout=60)
        if answer.status_code == 403:
            self.session.get(self.server("lab"), timeout=60)
            answer = self.session.get(self.server("api/status"), timeout=60)
        return answer.status_code == 200

    def wait(self, seconds: float = 240) -> None:
        """Until the server answers. Raises Refused with what the hub says."""
        deadline = time.monotonic() + seconds
        while not self.is_ready():
            if time.monotonic() > deadline:
                page = self.session.get(f"{self.base}/hub/spawn-pending/{self.name}", timeout=60)
                raise Refused(f"no server of {self.name}: {page.status_code} {_words(page.text)}")
            time.sleep(0.5)

    def api(self, method: str, path: str, *, of: str = "", **rest: Any) -> requests.Response:
        """A request to a server's API."""
        return self._request(method, self.server(f"api/{path}", of=of), f"/user/{of or self.name}/", **rest)

    def hub_api(self, method: str, path: str, **rest: Any) -> requests.Response:
        """A request to the hub's API, with one's own cookies."""
        return self._request(method, f"{self.base}/hub/api/{path}", "/hub/", **rest)

    def start_kernel(self) -> None:
        """Starts a kernel in the folder of the notebooks. Raises Refused."""
        answer = self.api("POST", "kernels", json={"name": "python3"})
        if answer.status_code != 201:
            raise Refused(f"kernel of {self.name}: {answer.status_code} {answer.text[:300]}")
        self.kernel = answer.json()["id"]

    def run(self, code: str, seconds: float = 120, *, of: str = "") -> str:
        """What ``code`` prints in one's kernel (``of``: in somebody else's server), errors included.

        Raises Refused where the connection is turned down, TimeoutError after ``seconds``.
        """
        if not self.kernel:
            self.start_kernel()
        address = self.server(f"api/kernels/{self.kernel}/channels", of=of).replace("http", "ws", 1)
        cookies = "; ".join(f"{c.name}={c.value}" for c in self.session.cookies if _fits(c.path, of or self.name))
        try:
            channel = websocket.create_connection(address, cookie=cookies, origin=self.base, timeout=10)
        except websocket.WebSocketBadStatusException as error:
            raise Refused(str(error)) from None
        header = {
            "msg_id": uuid.uuid4().hex,
            "msg_type": "execute_request",
            "username": "",
            "session": "",
            "version": "5.3",
        }
        content = {"code": code, "silent": False, "store_history": False, "user_expressions": {}, "allow_stdin": False}
        message = {
            "header": header,
            "parent_header": {},
            "metadata": {},
            "content": content,
            "channel": "shell",
            "buffers": [],
        }
        said, deadline = [], time.monotonic() + seconds
        try:
            channel.send(json.dumps(message))
            while time.monotonic() < deadline:
                try:
                    got = json.loads(channel.recv())
                except websocket.WebSocketTimeoutException:
                    continue
                if got["parent_header"].get("msg_id") != header["msg_id"]:
                    if got["msg_type"] == "status" and got["content"]["execution_state"] in ("restarting", "dead"):
                        return "".join(said) + "the kernel ended"
                    continue
                if got["msg_type"] == "stream":
                    said.append(got["content"]["text"])
                elif got["msg_type"] == "error":
                    said.append(f"{got['content']['ename']}: {got['content']['evalue']}")
                elif got["msg_type"] == "status" and got["content"]["execution_state"] == "idle":
                    return "".join(said)
        finally:
            channel.close()
        raise TimeoutError(f"{self.name}: no end of {code!r} after {seconds:g} s; said {said}")

    def stop(self) -> int:
        """Asks the hub to end one's server; the status of the answer."""
        return self.hub_api("DELETE", f"users/{self.name}/server").status_code

    def _request(self, method: str, address: str, path: str, **rest: Any) -> requests.Response:
        token = next((c.value for c in self.session.cookies if c.name == "_xsrf" and c.path == path), None)
        headers = {"X-XSRFToken": token or "", "Referer": address}
        return self.session.request(method, address, headers=headers, timeout=120, **rest)


def _fits(path: str, name: str) -> bool:
    return path == "/" or path.startswith(f"/user/{name}/")


def _xsrf(page: str) -> str:
    found = re.search(r'name="_xsrf"\s+value="([^"]+)"|"?xsrf_token"?\s*:\s*"([^"]+)"', page)
    return (found.group(1) or found.group(2)) if found else ""


def _words(page: str) -> str:
    return " ".join(re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL).split())[-400:]


def wait_for_hub(base: str, log: Path, seconds: float = 90) -> None:
    """Until the hub answers. Raises RuntimeError with the end of its log."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if requests.get(f"{base}/hub/api", timeout=5).status_code == 200:
                return
        except requests.RequestException:
            pass
        if time.monotonic() > deadline:
            raise RuntimeError(f"the hub did not start:\n{log.read_text(encoding='utf-8', errors='replace')[-3000:]}")
        time.sleep(0.2)
