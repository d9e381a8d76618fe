"""Reads results back, and says in a sentence what is wrong with a text that holds none."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from labkit.comm.results import FORM, KINDS, VERSION, Point, Results, Series
from labkit.errors import LabkitError

_MADE_BY = "Results are what 'python3 -m labkit bench -o FILE' writes; 'python3 -m labkit read FILE' knows other tools' output."
_AGAIN = "Measure again: python3 -m labkit bench -o FILE."


class _Odd(Exception):
    """Where in the file something is not as it was written."""


def results_from(text: str, name: str = "The text") -> Results:
    """The results that ``Results.to_json`` wrote. Raises LabkitError for anything else: no JSON, cut short, JSON of
    another kind, a newer version, or a value that cannot be."""
    try:
        found = json.loads(text)
    except ValueError as error:
        if text.lstrip()[:1] == "{" and f'"{FORM}"' in text[:400]:
            raise LabkitError(f"{name} is cut short: its JSON ends too early.", _AGAIN) from error
        raise LabkitError(f"{name} holds no results of labkit bench: it is not JSON.", _MADE_BY) from error
    except RecursionError as error:
        raise LabkitError(f"{name} holds no results of labkit bench: it is nested too deeply.", _MADE_BY) from error
    if not isinstance(found, dict) or found.get("form") != FORM:
        raise LabkitError(f"{name} is JSON, but holds no results of labkit bench.", _MADE_BY)
    version = found.get("version")
    if version != VERSION:
        raise LabkitError(
            f"{name} is of version {version!r} of the form; this labkit reads version {VERSION}.",
            "Read it with the labkit that wrote it, or measure again.",
        )
    try:
        return Results(
            tuple(_series(s, f"series {k}") for k, s in enumerate(_list(found, "series"), 1)),
            _mapping(found, "card"),
            _text(found, "made"),
            _text(found, "torch"),
            {str(k): str(v) for k, v in _mapping(found, "versions").items()},
            _whole(found, "threads"),
            tuple(map(str, _list(found, "notes"))),
        )
    except _Odd as odd:
        raise LabkitError(f"{name} is damaged: {odd}.", _AGAIN) from odd


def _series(found: Any, where: str) -> Series:
    if not isinstance(found, dict):
        raise _Odd(f"{where} is not an object")
    kind = _text(found, "kind", where)
    if kind not in KINDS:
        raise _Odd(f"{where} is of the unknown kind '{kind}'")
    points = tuple(_point(p, f"{where}, point {k}") for k, p in enumerate(_list(found, "points", where), 1))
    if not points:
        raise _Odd(f"{where} has no points")
    words = {key: _text(found, key, where) for key in ("label", "src", "dst", "dtype", "name", "unit", "counted")}
    return Series(
        kind=kind,
        points=points,
        ranks=_whole(found, "ranks", where),
        notes=tuple(map(str, _list(found, "notes", where))),
        **words,
    )


def _point(found: Any, where: str) -> Point:
    if not isinstance(found, dict):
        raise _Odd(f"{where} is not an object")
    size, repetitions = _whole(found, "bytes", where), _whole(found, "repetitions", where)
    if size is None or repetitions is None:
        raise _Odd(f"{where} lacks its bytes or repetitions")
    middle, low, high = (_positive(found, key, where) for key in ("median_s", "low_s", "high_s"))
    if not low <= middle <= high:
        raise _Odd(f"{where} has a median outside of its interval")
    work = None if found.get("work") is None else _positive(found, "work", where)
    samples = _list(found, "samples", where)
    if not all(_is_positive(value) for value in samples):
        raise _Odd(f"{where} has a sample that is no time")
    return Point(
        size,
        middle,
        low,
        high,
        repetitions,
        work,
        _whole(found, "size", where),
        _whole(found, "wrong", where),
        tuple(map(float, samples)),
    )


def _list(found: Mapping[str, Any], key: str, where: str = "the file") -> list[Any]:
    value = found.get(key)
    if not isinstance(value, list):
        raise _Odd(f"'{key}' of {where} is missing or not a list")
    return value


def _mapping(found: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = found.get(key)
    if not isinstance(value, dict):
        raise _Odd(f"'{key}' of the file is missing or not an object")
    return value


def _text(found: Mapping[str, Any], key: str, where: str = "the file") -> str:
    value = found.get(key)
    if not isinstance(value, str):
        raise _Odd(f"'{key}' of {where} is missing or not a text")
    return value


def _whole(found: Mapping[str, Any], key: str, where: str = "the file") -> int | None:
    value = found.get(key)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise _Odd(f"'{key}' of {where} is not a whole number")
    return value


def _is_positive(value: Any) -> bool:
    return (
        isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e300 and math.isfinite(value)
    )


def _positive(found: Mapping[str, Any], key: str, where: str) -> float:
    value = found.get(key)
    if not _is_positive(value):
        raise _Odd(f"'{key}' of {where} is not a positive number")
    return float(value)  # type: ignore[arg-type]
