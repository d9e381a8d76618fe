"""The one-page answer as text: what costs the time, with its evidence, then the four questions in order."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from labkit.catalog.peaks import PEAKS, peak
from labkit.errors import LabkitError
from labkit.profile import questions as ask
from labkit.profile.diagnosis import Diagnosis, counted, diagnose
from labkit.profile.facts import facts
from labkit.profile.names import shorten
from labkit.profile.table import Profile
from labkit.profile.thresholds import LABELLED_NS
from labkit.timing.words import columns, duration

KERNELS = 8  # lines of the table of kernels
GAPS = 5


def run(
    files: Sequence[str],
    before: Sequence[str] | None = None,
    *,
    gpu: str | None = None,
    as_json: bool = False,
    html: str | None = None,
    draw: Callable[..., object] | None = None,
) -> int:
    """The command: prints the page of these files; with ``html`` ``draw(profile, diagnosis, path)`` writes it with
    its pictures. Gives 0.

    Raises LabkitError for what cannot be read or written.
    """
    if gpu is not None and peak(gpu) is None:
        near = difflib.get_close_matches(gpu, [row.product for row in PEAKS], 3, 0.3)
        raise LabkitError(
            f"The catalog has no peaks of '{gpu}'.",
            f"Leave --gpu out, or name one that it has, for example {', '.join(near or [PEAKS[0].product])}.",
        )
    p = _read(files)
    earlier = _read(before) if before else None
    found = diagnose(p)
    if html and draw:
        more: dict[str, Any] = {"before": earlier} if earlier is not None else {}
        draw(p, found, Path(html), **more, **({"gpu": gpu} if gpu else {}))
    if as_json:
        print(json.dumps(values(p, found, earlier, gpu), indent=1, ensure_ascii=False))
    elif html:
        print(f"{found.sentence}\nWritten: {html}")
    else:
        print(as_text(p, found, earlier, gpu), end="")
    return 0


def _read(files: Sequence[str]) -> Profile:
    from labkit.profile.readers import read, read_bytes

    if list(files) == ["-"]:
        return read_bytes(sys.stdin.buffer.read(), "standard input")
    return read(files[0] if len(files) == 1 else list(files))


def as_text(p: Profile, found: Diagnosis, before: Profile | None = None, gpu: str | None = None) -> str:
    """A profile's page: answer, evidence, where, how busy, why idle, how far from the roof; with ``before``, what
    changed.

    gpu: the product, for the roofline, where the profile does not name it.
    """
    parts = [_title(p), _answer(found)]
    if before is not None:
        parts.append(_changed(before, p))
    parts.append(_where(p))
    if not counted(p):  # kernels that were run one by one, again and again, say nothing of idle time
        parts += [_busy(p, found), _idle(p)]
    parts += [_host(p), _limits(p, gpu)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _ns(value: float | None) -> str:
    return "-" if value is None else duration(value / 1e9) if value else "0"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _title(p: Profile) -> str:
    more = len(p.sources) - 3
    names = ", ".join(p.sources[:3]) + (f" and {more} more" if more > 0 else "") or "profile"
    label = "SIMULATED: no GPU made this profile\n" if p.simulated else ""
    tool = " ".join(part for part in (p.tool, p.version) if part)
    gpus = ", ".join(dict.fromkeys(d.name or d.gfx or f"device {d.index}" for d in p.devices))
    lines = [names, f"{p.kind}, written by {tool}" + (f"; {gpus}" if gpus else "")]
    return label + "\n".join(lines)


def _answer(found: Diagnosis) -> str:
    lines = [f"==> {found.sentence}"]
    for item in found.evidence:
        number = (
            _share(item.value) if item.unit == "share" else _share(item.value) + " " + item.unit.removeprefix("share ")
        )
        if not item.unit.startswith("share"):
            number = f"{item.value:.3g} {item.unit}"
        lines.append(f"    {number:>14}  {item.what}  [{item.rows}]")
    lines += [f"  What to do: {line}" for line in found.advice]
    lines += [f"  Also: {line}" for line in found.observations]
    return "\n".join(lines)


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f"{title}\n{_indent(columns(head, rows))}" if rows else ""


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _where(p: Profile) -> str:
    ranked = ask.kernels(p)
    if ranked.height == 0:
        table = ask.operators(p).head(KERNELS)
        rows = [
            [r["name"], f"{r['count']:,}", _ns(r["self_ns"]), _ns(r["total_ns"])] for r in table.iter_rows(named=True)
        ]
        if not rows:
            return _calls(p)
        return _table("Where (operators on the CPU)", ("operator", "calls", "own time", "with what it calls"), rows)
    rows = [
        [r["short"], r["category"], f"{r['count']:,}", _ns(r["total_ns"]), _ns(r["mean_ns"]), _share(r["share"])]
        for r in ranked.head(KERNELS).iter_rows(named=True)
    ]
    more = ranked.height - len(rows)
    kinds = ask.categories(p)
    mix = ", ".join(f"{r['category']} {_share(r['share'])}" for r in kinds.iter_rows(named=True) if r["share"])
    text = _table("Where", ("kernel", "category", "calls", "total", "mean", "share"), rows)
    return text + (f"\n  … and {more} more kernels" if more > 0 else "") + (f"\n  {mix}" if mix else "")


def _calls(p: Profile) -> str:
    """What a profile without kernels and operators holds: calls, markers and copies by their time."""
    groups = {"apis": "calls", "copies": "copies", "operations": "operations", "domains": "domains"}
    found = facts(p)
    parts = []
    for key, title in groups.items():
        entries = found.get(key) or []
        rows = [[shorten(e["name"]), f"{e['calls']:,}", _ns(e["total_ns"])] for e in entries[:KERNELS]]
        more = f"\n  … and {len(entries) - KERNELS} more" if len(entries) > KERNELS else ""
        parts.append(_table(f"What it holds: {title}", ("name", "calls", "total"), rows) + more)
    return "\n\n".join(part for part in parts if part)


def _busy(p: Profile, found: Diagnosis) -> str:
    rows = [
        [
            "-" if d.device is None else str(d.device),
            f"{d.dispatches:,}",
            _ns(d.busy_ns),
            _ns(d.span_ns),
            _share(d.share),
        ]
        for d in ask.busy(p).devices
    ]
    text = _table("How busy (first to last kernel)", ("device", "kernels", "busy", "span", "share"), rows)
    if found.shares and text:
        parts = ", ".join(f"{name} {_share(share)}" for name, share in found.shares.items() if share >= 0.001)
        limits = ask.window(p)
        whole = limits is None or limits.whole
        text += f"\n  {'of all this time' if whole else 'of the window that the steps span'}: {parts}"
    s = ask.steps(p)
    if s.median_ns and text:
        what = "step" if s.found == "markers" else f"{s.period} kernels that return"
        text += f"\n  {what}: {_ns(s.median_ns)} (median of {s.count}, by {s.found})"
    return text


def _idle(p: Profile) -> str:
    rows = [
        [
            _ns(r["length_ns"]),
            r["host"] or "not recorded",
            "copying" if r["copying_ns"] * 2 > r["length_ns"] else "",
        ]
        for r in ask.gaps(p).filter(pl.col("length_ns") > LABELLED_NS).head(GAPS).iter_rows(named=True)
    ]
    return _table("Why idle: the longest gaps", ("length", "what the host was doing", ""), rows)


def _host(p: Profile) -> str:
    waits = ask.synchronisations(p)
    rows = [
        [
            r["name"],
            f"{r['calls']:,}",
            "-" if r["per_step"] is None else f"{r['per_step']:.3g}",
            _ns(r["idle_after_ns"]),
        ]
        for r in waits.iter_rows(named=True)
    ]
    parts = [_table("Calls in which the host waited", ("call", "calls", "per step", "idle time that followed"), rows)]
    rows = [
        [r["what"], _ns(r["total_ns"]), _ns(r["exposed_ns"]), _ns(r["overlapped_ns"])]
        for r in ask.overlap(p).iter_rows(named=True)
    ]
    parts.append(_table("Copies and communication", ("what", "total", "exposed", "beside kernels"), rows))
    return "\n\n".join(part for part in parts if part)


def _limits(p: Profile, gpu: str | None) -> str:
    roof = ask.roofline(p, gpu)
    rows = [
        [
            r["short"],
            "-" if r["tflops"] is None else f"{r['tflops']:.3g}",
            "-" if r["intensity"] is None else f"{r['intensity']:.3g}",
            _share(r["share"]),
            r["bound"] or "-",
        ]
        for r in roof.points.filter(pl.col("flops") > 0).head(KERNELS).iter_rows(named=True)
    ]
    text = _table("How far from the roof", ("kernel", "TFLOP/s", "FLOP/byte", "of the roof", "bound by"), rows)
    return f"{text}\n  {roof.note}" if text and roof.note else text


def _changed(before: Profile, after: Profile) -> str:
    found = ask.compare(before, after)
    lines = ["Before and after" + (" (per step)" if found.per_step else "")]
    if found.step_ratio is not None:
        old, new = _ns(found.before.step_ns), _ns(found.after.step_ns)
        lines.append(f"  step: {old} -> {new}, {found.step_ratio:.2f} times the time")
    if found.before.idle_share is not None and found.after.idle_share is not None:
        lines.append(f"  idle: {_share(found.before.idle_share)} -> {_share(found.after.idle_share)}")
    if found.kernels.height and not (found.kernels["status"] == "both").any():
        lines.append("  No kernel stands in both: these may not be two runs of the same program on the same GPU.")
    rows = [
        [
            r["short"],
            _ns(r["before_ns"]),
            _ns(r["after_ns"]),
            "-" if r["ratio"] is None else f"{r['ratio']:.2f}",
            r["status"],
        ]
        for r in found.kernels.head(KERNELS).iter_rows(named=True)
    ]
    if rows:
        lines.append(_indent(columns(("kernel", "before", "after", "ratio", ""), rows)))
    return "\n".join(lines)


def values(p: Profile, found: Diagnosis, before: Profile | None = None, gpu: str | None = None) -> dict[str, Any]:
    """The same as plain values: kind, simulated, diagnosis, kernels, categories, busy, steps, gaps (the longest),
    and so on."""
    s, busy, roof = ask.steps(p), ask.busy(p), ask.roofline(p, gpu)
    answer: dict[str, Any] = {
        "kind": p.kind,
        "tool": p.tool,
        "version": p.version,
        "simulated": p.simulated,
        "sources": list(p.sources),
        "diagnosis": found.as_json(),
        "kernels": ask.kernels(p).to_dicts(),
        "categories": ask.categories(p).to_dicts(),
        "busy": [
            {"device": d.device, "busy_ns": d.busy_ns, "span_ns": d.span_ns, "dispatches": d.dispatches}
            for d in busy.devices
        ],
        "losses": ask.losses(p).to_dicts(),
        "steps": {"found": s.found, "count": s.count, "median_ns": s.median_ns},
        "gaps": ask.gaps(p).head(100).to_dicts(),
        "synchronisations": ask.synchronisations(p).to_dicts(),
        "overlap": ask.overlap(p).to_dicts(),
        "operators": ask.operators(p).to_dicts(),
        "roofline": roof.points.to_dicts(),
        "odd": list(p.odd),
    }
    if before is not None:
        c = ask.compare(before, p)
        answer["compared"] = {"step_ratio": c.step_ratio, "per_step": c.per_step, "kernels": c.kernels.to_dicts()}
    return answer
