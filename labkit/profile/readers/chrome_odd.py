"""What is unusual in a Chrome trace: numbers as text, times that no double can hold, events with unexpected fields."""

from __future__ import annotations

import re
from typing import Any

import msgspec

UNKNOWN = -(1 << 63)  # stands for a time that is not known, until it becomes null
_DECIMAL = re.compile(r"([+-]?)(\d{1,18})(?:\.(\d*))?")
_LARGEST = (1 << 63) - 1


def exact_ns(microseconds: Any) -> int:
    """Nanoseconds of a time in microseconds (number, text, or the JSON that stands for it); UNKNOWN where it is none.

    A half is rounded to the even nanosecond, as everywhere.
    """
    if microseconds is None or isinstance(microseconds, bool) or microseconds == "":
        return UNKNOWN
    text = (
        bytes(microseconds).decode("utf-8", "replace")
        if isinstance(microseconds, (bytes, msgspec.Raw))
        else str(microseconds)
    )
    found = _DECIMAL.fullmatch(text.strip().strip('"').strip())
    if found:
        sign, before, after = found.groups()
        digits = (after or "").ljust(3, "0")
        value = int(before) * 1000 + int(digits[:3])
        rest = digits[3:].rstrip("0")
        if rest and (rest > "5" or (rest == "5" and value % 2)):
            value += 1
        return UNKNOWN if value > _LARGEST else -value if sign == "-" else value
    try:
        value = round(float(text) * 1000)
    except (ValueError, OverflowError):
        return UNKNOWN
    return value if -_LARGEST <= value <= _LARGEST else UNKNOWN


def whole(value: Any) -> int | None:
    """A number of a device, stream, process or thread: as a number, or in a text such as 'GPU 0' or 'stream 7'; else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**62 else None
    if isinstance(value, int):
        return value if abs(value) < 1 << 62 else None
    if isinstance(value, str):
        found = re.fullmatch(r"\D{0,40}(\d{1,18})\D{0,10}", value)
        return int(found[1]) if found else None
    return None


def _word(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None or isinstance(value, (dict, list)) else str(value)


def _microseconds(value: Any) -> float:
    ns = exact_ns(value)
    return float("nan") if ns == UNKNOWN else ns / 1000


def plain_event(event: dict[str, Any], into: Any, args_into: Any) -> Any:
    """An event of any form as one of the type ``into`` (chrome.LateEvent), with ``args`` of the type ``args_into``."""
    args = event.get("args")
    if isinstance(args, dict):
        given: dict[str, Any] = {}
        for field in msgspec.structs.fields(args_into):
            value = args.get(field.encode_name)
            if value is None:
                continue
            number = field.name in ("device", "stream", "correlation", "bytes", "registers", "shared")
            given[field.name] = whole(value) if number else msgspec.Raw(msgspec.json.encode(value))
        args = args_into(**given)
    else:
        args = None
    return into(
        ph=_word(event.get("ph")),
        cat=_word(event.get("cat")),
        name=_word(event.get("name")),
        pid=_identity(event.get("pid")),
        tid=_identity(event.get("tid")),
        ts=msgspec.Raw(str(event.get("ts", "")).encode()),
        dur=_microseconds(event.get("dur")),
        args=args,
    )


def _identity(value: Any) -> int | str:
    number = whole(value)
    return number if number is not None else _word(value)
