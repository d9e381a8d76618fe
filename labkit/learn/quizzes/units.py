"""Numbers with units, as people type them: ``3``, ``"3 ms"``, ``"0.003 s"``, ``"1.6 TB/s"``, ``"40 %"``, ``"1/6 FLOP/B"``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

_NUMBER = re.compile(r"\s*([+-]?(?:\d[\d_ ]*(?:[.,]\d[\d_]*)*|[.,]\d+)(?:[eE][+-]?\d+)?)\s*(.*?)\s*", re.DOTALL)
_FRACTION = re.compile(r"\s*([+-]?\d+)\s*/\s*(\d+)(?![\d.,_])\s*(.*?)\s*", re.DOTALL)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?([eE][+-]?\d+)?")

_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_SMALL = {"m": 1e-3, "µ": 1e-6, "u": 1e-6, "n": 1e-9}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}


def _table() -> dict[str, tuple[str, float]]:
    """Unit -> (what it measures, how many of the plain unit). Prefixes of the SI and of IEC 80000-13."""
    found: dict[str, tuple[str, float]] = {"%": ("a share", 0.01), "percent": ("a share", 0.01)}
    for name, seconds in (("min", 60.0), ("minutes", 60.0), ("h", 3600.0), ("hours", 3600.0)):
        found[name] = ("a time", seconds)
    for prefix, factor in {"": 1.0, **_SMALL}.items():
        found[f"{prefix}s"] = ("a time", factor)
    for word, seconds in (("second", 1.0), ("millisecond", 1e-3), ("microsecond", 1e-6), ("nanosecond", 1e-9)):
        found[word] = found[word + "s"] = ("a time", seconds)
    for prefix, factor in {**_DECIMAL, **_BINARY}.items():
        found[f"{prefix}B"] = ("an amount of memory", factor)
        found[f"{prefix}B/s"] = ("a rate of transfer", factor)
        found[f"{prefix}bit"] = ("an amount of memory", factor / 8)
    found |= {
        "byte": ("an amount of memory", 1.0),
        "bytes": ("an amount of memory", 1.0),
        "KB": ("an amount of memory", 1e3),
        "bits": ("an amount of memory", 0.125),
    }
    for prefix, factor in _DECIMAL.items():
        found[f"{prefix}FLOP"] = found[f"{prefix}FLOPs"] = ("an amount of arithmetic", factor)
        found[f"{prefix}FLOP/s"] = found[f"{prefix}FLOPS"] = ("a rate of arithmetic", factor)
        found[f"{prefix}Hz"] = ("a frequency", factor)
        found[f"{prefix}W"] = ("a power", factor)
        found[f"{prefix}FLOP/B"] = found[f"{prefix}FLOP/byte"] = ("an arithmetic intensity", factor)
    return found


UNITS = _table()


@dataclass(frozen=True)
class Quantity:
    """readings: the number, or both where '1,500' can be meant as 1.5 or as 1500. unit: as it was written, '' for none."""

    readings: tuple[float, ...]
    unit: str = ""


def read(value: Any) -> Quantity | None:
    """A number from whatever was handed over: Python's, NumPy's, torch's with one element, or text. None where it is none."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        return _from_text(value)
    try:
        number = float(value)
    except Exception:  # anything at all can be handed over, and anything can go wrong in its __float__
        return None
    return Quantity((number,)) if math.isfinite(number) else None


def _from_text(text: str) -> Quantity | None:
    if len(text) > 100:
        return None
    text = text.replace("−", "-").replace("μ", "µ").strip().lstrip("~≈=")
    fraction = _FRACTION.fullmatch(text)
    if fraction is not None and int(fraction.group(2)):
        return Quantity((int(fraction.group(1)) / int(fraction.group(2)),), fraction.group(3))
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    digits, unit = found.group(1).replace("_", "").replace(" ", ""), found.group(2).strip()
    forms = {digits.replace(",", "")} if _THOUSANDS.fullmatch(digits) else set()
    if digits.count(",") <= 1 and not ("," in digits and "." in digits):
        forms.add(digits.replace(",", "."))
    readings = []
    for form in sorted(forms):
        try:
            number = float(form)
        except ValueError:
            continue
        if math.isfinite(number):
            readings.append(number)
    return Quantity(tuple(readings), unit) if readings else None


def known(unit: str) -> tuple[str, float] | None:
    """(what it measures, factor to the plain unit), also for a unit in another spelling; None for no unit of the table."""
    text = unit.strip().rstrip(".").replace("μ", "µ")
    for form in (text, text.replace(" per ", "/").replace(" / ", "/"), text.lower()):
        if form in UNITS:
            return UNITS[form]
    near = [value for name, value in UNITS.items() if name.lower() == text.lower()]
    return near[0] if near and len(set(near)) == 1 else None


def factor(given: str, wanted: str) -> float | None:
    """How many of the wanted unit are one of the given; None where they do not measure the same thing."""
    if _plain(given) == _plain(wanted):
        return 1.0
    a, b = known(given), known(wanted)
    if a is None or b is None or a[0] != b[0]:
        return None
    return a[1] / b[1]


def kind(unit: str) -> str:
    """What a unit measures, in words: 'a time'; '' for one that is not in the table (images, steps …)."""
    found = known(unit)
    return found[0] if found else ""


def _plain(unit: str) -> str:
    """'Images / s' and 'image/s' are one: spaces and a plural s do not matter in units that the table does not have."""
    text = unit.strip().replace(" per ", "/").replace(" ", "")
    return text if text in UNITS else re.sub(r"s(?=/|$)", "", text.lower()) or text
