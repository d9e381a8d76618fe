"""Collectives and bandwidth as a few lines of text: the table, the matrix, what is not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_TITLES = {
    "rccl-tests": "the output of rccl-tests",
    "rccl-log": "a log of RCCL or NCCL",
    "rccl-ras": "a status report of a running RCCL or NCCL job",
    "rocm-bandwidth-test": "the output of rocm-bandwidth-test",
    "transferbench": "the output of TransferBench",
}
KINDS = tuple(_TITLES)
WIDEST = 16  # devices up to which a matrix is drawn
LONGEST = 40  # rows of a table that are shown


def as_text(facts: Mapping[str, Any]) -> str:
    """The facts of these kinds for people; unknown values are left out."""
    kind = facts["kind"]
    out = [f"This is {_TITLES[kind]}."]
    if facts.get("problem"):
        out.append(f"It names a problem: {facts['problem']}.")
    if kind == "rccl-ras":
        out.append(f"Ranks expected: {_said(facts['ranks'])}; answered: {_said(facts['ranks_present'])}.")
    elif kind == "rccl-log":
        out.append(f"Ranks: {_said(facts['ranks'])}")
    elif kind == "rccl-tests":
        out += _collective(facts)
    else:
        out += _bandwidth(facts)
    return "\n".join(out)


def _said(content: object) -> str:
    return "not said" if content is None else str(content)


def _collective(facts: Mapping[str, Any]) -> list[str]:
    names = ", ".join(facts.get("gpu_names") or ())
    ranks = f"{facts['ranks']} ranks" if facts["ranks"] is not None else "ranks not said"
    out = [f"Collective: {_said(facts['collective'])}; {ranks}{f'; {names}' if names else ''}."]
    rows = facts["rows"]
    if not rows:
        return [*out, "No row of results in it."]
    out.append(f"{'bytes':>14}  {'time us':>10}  {'algbw':>8}  {'busbw GB/s':>10}  wrong")
    for row in rows[:LONGEST]:
        wrong = "not checked" if row["wrong"] is None else row["wrong"]
        out.append(
            f"{row['bytes']:>14}  {row['time_us']:>10.2f}  {row['algbw_gbps']:>8.2f}  {row['busbw_gbps']:>10.2f}  {wrong}"
        )
    if len(rows) > LONGEST:
        out.append(f"... and {len(rows) - LONGEST} more rows")
    if facts["avg_busbw_gbps"] is not None:
        out.append(f"Average that it prints: {facts['avg_busbw_gbps']:g} GB/s busbw.")
    return out


def _bandwidth(facts: Mapping[str, Any]) -> list[str]:
    out = [f"Devices: {_said(facts['devices'])}."]
    if facts.get("names") and facts["kind"] == "rocm-bandwidth-test":
        out += [f"  {at}: {name}" for at, name in enumerate(facts["names"][:WIDEST]) if name]
    tables = (
        ("unidirectional_gbps", "One way, GB/s (row to column)"),
        ("bidirectional_gbps", "Both ways together, GB/s"),
        ("all_to_all_gbps", "All to all at once, GB/s (row to column)"),
    )
    for key, title in tables:
        if facts.get(key):
            named = facts.get("names") if facts["kind"] == "transferbench" and key != "all_to_all_gbps" else None
            out += ["", f"{title}:", *_matrix(facts[key], named)]
    transfers = facts.get("transfers") or ()
    if transfers:
        out += ["", "Single transfers, GB/s:"]
    for one in transfers[:LONGEST]:
        rate = " ".join(
            f"{name} {one[key]:g}"
            for key, name in (("avg_gbps", "average"), ("peak_gbps", "peak"))
            if one[key] is not None
        )
        out.append(
            f"  {one['src']} -> {one['dst']}  {'size not said' if one['bytes'] is None else str(one['bytes']) + ' B'}  {rate}"
        )
    if len(transfers) > LONGEST:
        out.append(f"  ... and {len(transfers) - LONGEST} more")
    if not transfers and not any(facts.get(key) for key, _ in tables):
        out.append("No measurement in it.")
    return out


def _matrix(matrix: Sequence[Sequence[float | None]], names: Sequence[str] | None) -> list[str]:
    if len(matrix) > WIDEST:
        return [f"  {len(matrix)} x {len(matrix)} devices: too wide for a page; --json prints it."]
    labels = [names[at] if names and at < len(names) else str(at) for at in range(len(matrix))]
    out = [f"{'':>8}" + "".join(f"{label:>10}" for label in labels)]
    for label, row in zip(labels, matrix, strict=True):
        out.append(f"{label:>8}" + "".join(f"{'-' if cell is None else format(cell, '.2f'):>10}" for cell in row))
    return out
