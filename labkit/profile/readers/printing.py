"""A profile's facts for people: a few lines. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MOST = 8  # rows of a list
WIDEST = 90  # characters of a name

_LISTS = {
    "kernels": "Kernels", "apis": "Functions and markers", "copies": "Copies", "domains": "Domains", "operations": "Operations",
}  # fmt: skip


def as_text(facts: Mapping[str, Any]) -> str:
    """Tool and kind, how busy the GPUs were, and the largest entries of each list; what is unknown is left out."""
    simulated = " (simulated: no GPU made it)" if facts.get("simulated") else ""
    version = f", version {facts['version']}" if facts.get("version") else ""
    lines = [f"This is a profile: {facts['kind']}{version}{simulated}."]
    if facts.get("dispatches") is not None:
        on = f" on {facts['devices']} GPU{'s' if facts['devices'] != 1 else ''}" if facts.get("devices") else ""
        lines.append(f"{facts['dispatches']:,} kernel dispatches of {len(facts['kernels']):,} kernels{on}.")
    if facts.get("span_ns") and facts.get("busy_ns") is not None:
        share = facts["busy_ns"] / (facts["span_ns"] * (facts.get("devices") or 1))
        lines.append(f"From first to last: {duration(facts['span_ns'])}; a GPU was busy {share:.1%} of it.")
    for key, title in _LISTS.items():
        lines += _list(title, facts.get(key) or ())
    if facts.get("counters"):
        lines.append(f"Counters: {', '.join(facts['counters'][:MOST])}{_more(len(facts['counters']))}.")
    if facts.get("gpus"):
        lines.append(f"GPUs: {', '.join(facts['gpus'])}.")
    if facts.get("sysinfo"):
        known = [f"{k.replace('_', ' ')} {v}" for k, v in facts["sysinfo"].items() if v is not None]
        lines.append(f"Machine: {', '.join(known)}.")
    for key, words in (("samples", "samples"), ("allocations", "allocations")):
        if facts.get(key) is not None:
            lines.append(f"{facts[key]:,} {words}.")
    lines += [f"Odd: {sentence}" for sentence in facts.get("odd", ())]
    return "\n".join(lines)


def _more(count: int) -> str:
    return f" and {count - MOST:,} more" if count > MOST else ""


def _list(title: str, entries: Sequence[Mapping[str, Any]]) -> list[str]:
    if not entries:
        return []
    lines = [f"{title}, by total time:"]
    for entry in entries[:MOST]:
        name = str(entry["name"])
        name = name if len(name) <= WIDEST else f"{name[: WIDEST - 1]}…"
        total = "unknown" if entry["total_ns"] is None else duration(entry["total_ns"])
        lines.append(f"  {total:>10}  {entry['calls']:>9,} x  {name}")
    if len(entries) > MOST:
        lines.append(f"  and {len(entries) - MOST:,} more")
    return lines


def duration(ns: float) -> str:
    """Nanoseconds as people read them: 4.2 ms, 1.31 s."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:.3g} {unit}" if abs(ns) < 1000 * size else f"{ns / size:,.0f} {unit}"
    return f"{ns:.0f} ns"
