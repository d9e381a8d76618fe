"""The three addresses of the room on a Jupyter server: lessons, gauge and reset. JSON, for those who are logged in.

GET  labkit/lessons          the list of ``labkit.jupyter.lessons.described``
GET  labkit/gauge            the reading of ``labkit.jupyter.gauge.Gauge``
POST labkit/reset            {"lesson": "01"}: puts the published lesson back; answers {"lesson", "file", "kept", "words"}, where ``kept``
                             is the learner's copy as the browser opens it, or null where there was nothing to keep

A foreseeable problem is {"message", "remedy"} with status 400, 404 (no such lesson) or 409 (it cannot be done now).
"""

from __future__ import annotations

import asyncio
import datetime
import json
from pathlib import Path
from typing import Any

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import url_path_join
from tornado import web

from labkit.course import table
from labkit.errors import LabkitError
from labkit.jupyter import lessons, pristine
from labkit.jupyter.gauge import Gauge
from labkit.jupyter.reset import reset


class _Handler(APIHandler):
    """auth_resource: what an authorizer is asked about; the lessons are files of the learner, as in Jupyter's own contents."""

    auth_resource = "contents"

    @property
    def root(self) -> Path:
        return Path(self.settings["labkit_root"])

    def fail(self, status: int, problem: LabkitError) -> None:
        self.set_status(status)
        self.finish(json.dumps({"message": problem.problem, "remedy": problem.remedy}))


class LessonsHandler(_Handler):
    """GET labkit/lessons; a table that cannot be read is 409."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        try:
            found = await asyncio.to_thread(lessons.listing, self.root)
        except LabkitError as problem:
            return self.fail(409, problem)
        await self.finish(json.dumps(found))


class GaugeHandler(_Handler):
    """GET labkit/gauge: this second's reading, never from a browser's cache."""

    auth_resource = "api"

    @web.authenticated
    @authorized
    async def get(self) -> None:
        self.set_header("Cache-Control", "no-store")
        await self.finish(json.dumps(await self.settings["labkit_gauge"].read()))

    def _log(self) -> None:
        """Asked every two seconds: no line in the log for each that went well."""
        if self.get_status() >= 400:
            super()._log()


class ResetHandler(_Handler):
    """POST labkit/reset, one after the other: two of one lesson would move each other's copies."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        try:
            body = json.loads(self.request.body)
        except (ValueError, RecursionError):
            body = None
        wanted = body.get("lesson") if isinstance(body, dict) else None
        if not isinstance(wanted, str):
            return self.fail(400, LabkitError("A reset needs the lesson's number.", 'send {"lesson": "01"}.'))
        async with self.settings["labkit_resets"]:  # one after the other
            try:
                found = await asyncio.to_thread(_reset, self.root, wanted)
            except LookupError as problem:
                return self.fail(404, LabkitError(str(problem.args[0])))
            except LabkitError as problem:
                return self.fail(409, problem)
            except OSError as error:
                why = f"Lesson {wanted} cannot be read: {error.strerror or type(error).__name__}."
                return self.fail(409, LabkitError(why, "see that its file is yours to read, then reset again."))
        await self.finish(json.dumps(found))


def _reset(root: Path, wanted: str) -> dict[str, Any]:
    course = table.load()
    lesson = next((one for one in course.lessons if one.id == wanted), None)
    if lesson is None:
        raise LookupError(f"There is no lesson {wanted!r}.")
    path = lessons.folder_of(root, course) / lesson.path.name
    found = pristine.find([path.name], path.parent)
    published = found.notebooks.get(path.name)
    if published is None:
        raise LabkitError(f"Lesson {lesson.id} cannot be reset. {found.why}", "your notebook is as it was.")
    answer = {"lesson": lesson.id, "file": path.relative_to(root).as_posix(), "kept": None}
    if path.is_file() and path.read_bytes() == published:
        return {**answer, "words": f"Lesson {lesson.id} is as it was published: there was nothing to reset."}
    kept = reset(path, published, datetime.datetime.now())
    if kept is None:
        return {**answer, "words": f"Lesson {lesson.id} was missing and is back."}
    words = f"Lesson {lesson.id} begins anew. Your copy is kept as {kept.name}."
    return {**answer, "kept": kept.relative_to(root).as_posix(), "words": words}


def add(server: Any) -> None:
    """Adds the addresses to a Jupyter server (a ServerApp)."""
    settings = server.web_app.settings
    settings["labkit_root"] = server.root_dir
    settings["labkit_gauge"] = Gauge()
    settings["labkit_resets"] = asyncio.Lock()
    base = url_path_join(settings["base_url"], "labkit")
    server.web_app.add_handlers(
        ".*$",
        [
            (url_path_join(base, "lessons"), LessonsHandler),
            (url_path_join(base, "gauge"), GaugeHandler),
            (url_path_join(base, "reset"), ResetHandler),
        ],
    )
