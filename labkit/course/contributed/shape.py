"""The form of a contributed file: its keys, their kinds, and the text of each; nothing else may stand in it.

Version 1 of ``rocm-labs-machine-report`` is one JSON object:

- ``schema``, ``version``, ``labkit`` (its version); ``made``: when the file was written; ``note``: a sentence of its maker, or '';
- ``profile``, ``started``, ``seconds`` (wall time of the run), ``workers`` (lessons side by side), as in report.json;
- ``machine``: ``system``, ``architecture``, ``distribution``, ``kernel`` (numbers only), ``wsl``, ``container``, ``processor``,
  ``processors`` (logical), ``ram_gib``, ``python``, ``torch`` {``version``, ``build``, ``hip``, ``cuda``, ``device``, ``product``,
  ``gfx``, ``memory_bytes``, ``threads``}, ``rocm`` (an installation beside torch's own), ``driver`` (amdgpu's version);
- ``lessons``: in the order of the course, each with ``id``, ``name``, ``status``, ``seconds``, ``cells``, ``cells_total``, ``executed``
  (when it began), ``stand_in``
  (see ``labkit.course.report``), ``error`` {``kind``, ``cell``} or null, and ``fingerprint`` of the lesson's text.

Times are UTC, as ``2026-11-30T12:00:00Z``. Null means: not known, or there is none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

SCHEMA = "rocm-labs-machine-report"
VERSION = 1
LARGEST_BYTES = 200_000
NOTE_LENGTH = 300
ANEW = "Make the file anew with 'labkit report make'."


@dataclass(frozen=True)
class Problem:
    """What is wrong with a file, and what to do: a sentence each."""

    what: str
    remedy: str = ANEW

    def __str__(self) -> str:
        return f"{self.what} {self.remedy}"


# A test of one value: None where it is right, else what it should be.
Test = Callable[[Any], str | None]

_VERSION = r"\d{1,4}(?:\.\d{1,10}){0,4}"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


def _text(pattern: str, meaning: str, *, null: bool = False) -> Test:
    def test(value: Any) -> str | None:
        if value is None and null:
            return None
        fits = (
            isinstance(value, str) and len(value) <= NOTE_LENGTH and re.fullmatch(pattern, value, re.ASCII) is not None
        )
        return None if fits else meaning + (" or null" if null else "")

    return test


def _one_of(*words: str) -> Test:
    return lambda value: None if isinstance(value, str) and value in words else f"one of {', '.join(words)}"


def _number(low: float, high: float, *, whole: bool = False, null: bool = False) -> Test:
    def test(value: Any) -> str | None:
        if value is None and null:
            return None
        kinds = (int,) if whole else (int, float)
        # compared and never converted: a whole number of 400 digits has no float
        fits = isinstance(value, kinds) and not isinstance(value, bool) and low <= value <= high
        return (
            None
            if fits
            else f"a {'whole ' if whole else ''}number from {low:g} to {high:g}" + (" or null" if null else "")
        )

    return test


def _flag(*, null: bool = False) -> Test:
    return lambda value: (
        None if isinstance(value, bool) or (null and value is None) else f"true or false{' or null' * null}"
    )


# No line ends, nothing that hides or turns round what stands beside it, no half of a character: pages show it as it is.
_ONE_LINE = r"[^\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]*"
note = _text(_ONE_LINE, f"one line of at most {NOTE_LENGTH} visible characters")

_NAME = r"[A-Za-z0-9][\w ()+@.,/®™\[\]-]{0,79}"
_FIELDS: Mapping[str, Test] = {
    "schema": _one_of(SCHEMA),
    "version": _number(VERSION, VERSION, whole=True),
    "labkit": _text(_VERSION + r"[\w.+-]{0,20}", "a version"),
    "made": _text(TIME, "a time such as 2026-11-30T12:00:00Z"),
    "note": note,
    "profile": _one_of("quick", "full"),
    "started": _text(TIME, "a time such as 2026-11-30T12:00:00Z"),
    "seconds": _number(0, 10**6),
    "workers": _number(1, 64, whole=True),
}
_MACHINE: Mapping[str, Test] = {
    "system": _one_of("Linux", "Windows", "Darwin"),
    "architecture": _one_of("x86_64", "AMD64", "arm64", "aarch64"),
    "distribution": _text(r"[a-z][a-z0-9._-]{0,30}(?: [0-9][0-9.]{0,12})?", "a name such as 'ubuntu 24.04'", null=True),
    "kernel": _text(_VERSION, "the numbers of a version", null=True),
    "wsl": _flag(),
    "container": _flag(),
    "processor": _text(_NAME, "the name of a processor", null=True),
    "processors": _number(1, 4096, whole=True, null=True),
    "ram_gib": _number(0.5, 65536, null=True),
    "python": _text(r"3\.\d{1,2}\.\d{1,3}(?:(?:a|b|rc)\d{1,2}|\+)?", "a version of Python 3"),
    "rocm": _text(_VERSION, "the numbers of a version", null=True),
    "driver": _text(_VERSION, "the numbers of a version", null=True),
}
_TORCH: Mapping[str, Test] = {
    "version": _text(
        r"\d{1,2}\.\d{1,3}\.\d{1,3}(?:a0|\.dev\d{8}|rc\d{1,2})?(?:\+[A-Za-z0-9.]{1,40})?", "a version of torch"
    ),
    "build": _one_of("rocm", "cuda", "cpu"),
    "hip": _text(_VERSION + r"(?:-[0-9a-f]{6,11})?", "a version of HIP", null=True),
    "cuda": _text(_VERSION, "a version of CUDA", null=True),
    "device": _text(r"(?:cpu|mps|cuda(?::\d{1,2})?)", "cpu, mps or cuda:0"),
    "product": _text(_NAME, "the name of a product", null=True),
    "gfx": _text(r"gfx[0-9a-f]{3,5}", "a target such as gfx1100", null=True),
    "memory_bytes": _number(2**26, 2**44, whole=True, null=True),
    "threads": _number(1, 4096, whole=True, null=True),
}
_LESSON: Mapping[str, Test] = {
    "id": _text(r"\d\d", "two digits"),
    "name": _text(r"[a-z0-9_]{1,40}", "the name of a lesson"),
    "status": _one_of("passed", "failed"),
    "seconds": _number(0, 10**6),
    "cells": _number(0, 10**4, whole=True),
    "cells_total": _number(0, 10**4, whole=True),
    "executed": _text(TIME, "a time such as 2026-11-30T12:00:00Z", null=True),
    "stand_in": _flag(null=True),
    "fingerprint": _text(r"[0-9a-f]{4}(?:-[0-9a-f]{4}){3}", "four groups of four digits", null=True),
}
_ERROR: Mapping[str, Test] = {
    "kind": _one_of(
        "cell", "timeout", "dead kernel", "pending", "no cell", "no time", "parameter", "notebook", "kernel", "stopped"
    ),
    "cell": _number(1, 10**4, whole=True, null=True),
}


def parse(text: str) -> tuple[Any, list[Problem]]:
    """The JSON in a text; with a problem instead of it where there is none."""
    if len(text) > LARGEST_BYTES:
        return None, [Problem(f"The file has {len(text)} characters; a report has a few thousand.")]
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant), []
    except RecursionError:
        return None, [Problem("The file is not JSON of this form: it is nested too deeply.")]
    except ValueError as error:
        told = re.sub(r"[^\x20-\x7e]", "?", str(error))[:120]
        return None, [Problem(f"The file is not JSON: {told}.")]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key stands there twice")
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def problems(data: Any) -> list[Problem]:
    """What is wrong with the form; empty where every key is there, known, and of its kind."""
    if not isinstance(data, dict):
        return [Problem("The file does not hold one JSON object.")]
    if data.get("schema") == "rocm-labs-report":
        return [
            Problem(
                "This is a run's report.json.",
                "Make the file for reports/ from it: 'labkit report make --from ITS_FOLDER'.",
            )
        ]
    if data.get("schema") != SCHEMA:
        return [Problem(f"The file is no machine report: its 'schema' is not {SCHEMA}.")]
    version = data.get("version")
    if version != VERSION or isinstance(version, bool):
        return [
            Problem(
                f"The file has another version of this form than {VERSION}.",
                "Update the course (git pull), or make it anew.",
            )
        ]
    found = _object(data, "", _FIELDS, ("machine", "lessons"))
    machine, lessons = data.get("machine"), data.get("lessons")
    if "machine" in data:
        found += _object(machine, "machine", _MACHINE, ("torch",))
    if isinstance(machine, dict) and "torch" in machine:
        found += _object(machine["torch"], "machine.torch", _TORCH)
    if "lessons" not in data:
        return found
    if not isinstance(lessons, list) or not 1 <= len(lessons) <= 99:
        return [*found, Problem("'lessons' is not a list of lessons.")]
    for at, lesson in enumerate(lessons):
        place = f"lessons[{at}]"
        found += _object(lesson, place, _LESSON, ("error",))
        if isinstance(lesson, dict) and lesson.get("error") is not None:
            found += _object(lesson["error"], f"{place}.error", _ERROR)
    return found


def _object(value: Any, place: str, fields: Mapping[str, Test], more: tuple[str, ...] = ()) -> list[Problem]:
    if not isinstance(value, dict):
        return [Problem(f"'{place}' is not a JSON object.")]
    lead = f"{place}." if place else ""
    found = [
        Problem(f"'{lead}{shown(key)}' is unknown.", "Take it out: only the keys of the form may stand in the file.")
        for key in value
        if key not in fields and key not in more
    ]
    for key in (*fields, *more):
        if key not in value:
            found.append(Problem(f"'{lead}{key}' is missing."))
        elif key in fields and (wanted := fields[key](value[key])) is not None:
            found.append(Problem(f"'{lead}{key}' is {shown(value[key])}, and should be {wanted}."))
    return found


def shown(value: Any) -> str:
    """A value in a message: short, on one line, and whatever it holds."""
    if isinstance(value, (dict, list)):
        return "a list or an object"
    text = json.dumps(value, ensure_ascii=True) if not isinstance(value, str) else value
    text = re.sub(r"[^\x20-\x7e]", "?", text)
    return text if len(text) <= 40 else f"{text[:37]}..."
