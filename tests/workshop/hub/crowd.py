"""A class that comes to a hub at once: who got a server, who was told what, and when."""

from __future__ import annotations

import html
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.workshop.hub.live_hub import Hub, Learner


@dataclass(frozen=True)
class Arrival:
    """One learner. ``refused``: what they read when they asked for a GPU and got none; they then took 'CPU only'.

    ``logged_in_s``, ``told_s`` (nan without a refusal), ``ready_s``: seconds since the class came. ``failed``: why there is no
    server, else ''.
    """

    learner: Learner
    logged_in_s: float
    told_s: float
    ready_s: float
    refused: str
    failed: str


def arrive(hub: Hub, count: int, within_s: float) -> list[Arrival]:
    """``count`` learners type a name and a first password at the same time, ask for a GPU, and wait."""
    began = time.monotonic()
    learners = [Learner(hub, f"learner{number:02}", f"my password {number:02}") for number in range(count)]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda learner: _come(learner, began, within_s), learners))


def _come(learner: Learner, began: float, within_s: float) -> Arrival:
    def now() -> float:
        return time.monotonic() - began

    # The proxy closes idle connections after 5 s, and a request on such a one would be reset.
    learner.session.headers["Connection"] = "close"
    learner.login()
    logged_in_s, told_s = now(), float("nan")
    failed = refused = start(learner, "gpu", within_s)
    if refused:
        told_s = now()
        failed = start(learner, "cpu", within_s)
    return Arrival(learner, logged_in_s, told_s, now(), refused, failed)


def start(learner: Learner, gpu: str, within_s: float) -> str:
    """Asks for a server and follows the bar on the page, as a browser does, until it is there; '' or what the learner reads."""
    page = learner.ask(gpu).text
    refused = re.search(r'class="spawn-error-msg[^>]*>(.*?)</p>', page, re.DOTALL)
    if refused:
        return _words(refused.group(1))
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if learner.ready():
            learner.get(f"/user/{learner.name}/lab")  # the hub's door (OAuth), once
            return ""
        for event in _progress(learner, end - time.monotonic()):
            if event.get("failed"):
                return _words(str(event.get("html_message") or event.get("message")))
            if event.get("ready"):
                break
    return f"no server after {within_s:g} s"


def _progress(learner: Learner, within_s: float):  # type: ignore[no-untyped-def]
    """The events that the page shows while a server starts."""
    url = f"{learner.hub.url}/hub/api/users/{learner.name}/server/progress"
    headers = {"Referer": f"{learner.hub.url}/hub/home"}
    with learner.session.get(url, headers=headers, stream=True, timeout=(60, max(1.0, within_s))) as answer:
        if answer.status_code != 200:  # it is there already, or not yet asked for
            time.sleep(1)
            return
        for line in answer.iter_lines():
            if line.startswith(b"data:"):
                yield json.loads(line[5:])


def _words(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())
