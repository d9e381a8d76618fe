"""Collectives over size: busbw as measured here, and as a file of rccl-tests says, in one figure and one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.comm import formulas
from labkit.comm.results import Results, Series
from labkit.errors import LabkitError
from labkit.show import style
from labkit.show.charts import number
from labkit.show.picture import Picture, new_figure, table
from labkit.timing.words import duration, size


def collectives_curve(
    measured: Results | Series | Sequence[Series],
    against: Mapping[str, Any] | None = None,
    *,
    against_name: str = "rccl-tests",
    title: str = "",
) -> Picture:
    """busbw over size, both logarithmic, with intervals; sizes with wrong values carry a cross.

    measured: what ``measure_collectives`` gave. against: what ``labkit.machine.readers`` makes of an output of
    rccl-tests, drawn dashed and hollow; its busbw is the file's own. ``values``: {label: [(bytes, busbw in GB/s),
    …]}. Raises LabkitError where there is no collective, or ``against`` is no such output."""
    found = _series(measured)
    rows = _rows(against)
    head = title or "Collectives: busbw over size"
    values: dict[str, list[tuple[int, float]]] = {}
    with style.look():
        figure = new_figure(7.2, 4.4)
        axes = figure.add_subplot()
        for k, s in enumerate(found):
            label = f"{_label(s)}, measured here"
            values[label] = _drawn(axes, s, label, k)
        if against is not None:
            label = f"{_file_label(against)}, {against_name}"
            values[label] = [(int(row["bytes"]), float(row["busbw_gbps"])) for row in rows]
            across, up = zip(*((b, v) for b, v in values[label] if v > 0 and b > 0), strict=True)
            axes.plot(
                across, up, color=style.BLACK, linestyle=(0, (5, 2)), marker="o", markerfacecolor="none", label=label
            )
            bad = [(int(r["bytes"]), float(r["busbw_gbps"])) for r in rows if r.get("wrong")]
            _crosses(axes, bad)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: size(value))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xlabel("size")
        axes.set_ylabel("busbw, GB/s")
        axes.set_title(head)
        figure.legend(loc="outside lower center", ncols=2)
    return Picture(figure, _words(found, against, against_name, head), _alt(head, values), values, axes)


def collectives_table(
    measured: Results | Series | Sequence[Series],
    against: Mapping[str, Any] | None = None,
    *,
    against_name: str = "rccl-tests",
) -> str:
    """The same in words: one row for each size; algbw and busbw in GB/s (10^9 bytes)."""
    return _words(_series(measured), against, against_name, "")


def _series(measured: Results | Series | Sequence[Series]) -> tuple[Series, ...]:
    given = measured.of("collective") if isinstance(measured, Results) else measured
    found = (given,) if isinstance(given, Series) else tuple(given)
    if not found or any(s.kind != "collective" for s in found):
        raise LabkitError("There is no measured collective to show.", "Measure with labkit.comm.measure_collectives().")
    return found


def _rows(against: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    if against is None:
        return []
    rows = [row for row in against.get("rows") or () if row.get("busbw_gbps") is not None]
    if against.get("kind") != "rccl-tests" or not any(row["busbw_gbps"] > 0 for row in rows):
        raise LabkitError(
            f"This is no table of rccl-tests but '{against.get('kind', 'unknown')}'.",
            "Read a file of all_reduce_perf or its relatives: labkit.machine.readers.",
        )
    return rows


def _drawn(axes: Any, s: Series, label: str, k: int) -> list[tuple[int, float]]:
    factor = formulas.busbw_factor(s.name, s.ranks or 1) / 1e9
    across = [p.bytes for p in s.points]
    up = [p.rate * factor for p in s.points]
    reach = [
        [max(0.0, u - p.rate_interval[0] * factor) for u, p in zip(up, s.points, strict=True)],
        [max(0.0, p.rate_interval[1] * factor - u) for u, p in zip(up, s.points, strict=True)],
    ]
    axes.errorbar(
        across, up, yerr=reach, color=style.PALETTE[k % 6], linestyle=style.DASHES[k % 6], marker=style.MARKERS[k % 6],
        capsize=3, label=label, elinewidth=1.2, linewidth=1.6,
    )  # fmt: skip
    _crosses(axes, [(p.bytes, u) for p, u in zip(s.points, up, strict=True) if p.wrong])
    return list(zip(across, up, strict=True))


def _crosses(axes: Any, bad: Sequence[tuple[int, float]]) -> None:
    if bad:
        axes.plot(
            *zip(*bad, strict=True),
            "x",
            color=style.WRONG,
            markersize=11,
            markeredgewidth=2.5,
            linestyle="none",
            label="wrong values",
        )


def _label(s: Series) -> str:
    return f"{s.label}, {s.ranks} ranks"


def _file_label(against: Mapping[str, Any]) -> str:
    try:
        name = formulas.LABELS[formulas.name_of(str(against.get("collective") or ""))]
    except LabkitError:
        name = str(against.get("collective") or "collective not named")
    ranks = against.get("ranks")
    return f"{name}, {ranks} ranks" if ranks else name


def _words(found: Sequence[Series], against: Mapping[str, Any] | None, against_name: str, head: str) -> str:
    lines = [head] if head else []
    top = ("size", "time", "algbw", "busbw", "95 % interval", "wrong")
    for s in found:
        factor = formulas.busbw_factor(s.name, s.ranks or 1) / 1e9
        rows: list[tuple[str, ...]] = [top]
        for p in s.points:
            low, high = (end * factor for end in p.rate_interval)
            rows.append(
                (
                    size(p.bytes), duration(p.median_s), number(p.rate / 1e9), number(p.rate * factor),
                    f"{number(low)} to {number(high)}", "not checked" if p.wrong is None else str(p.wrong),
                )
            )  # fmt: skip
        lines += [f"{_label(s)}, measured here ({s.dtype}; {'; '.join(s.notes)}); GB/s", table(rows)]
    if against is not None:
        lines_of_file: list[tuple[str, ...]] = [top]
        for row in _rows(against):
            time_us, algbw = row.get("time_us"), row.get("algbw_gbps")
            lines_of_file.append(
                (
                    size(int(row["bytes"])), "not told" if time_us is None else duration(time_us / 1e6),
                    "not told" if algbw is None else number(algbw), number(row["busbw_gbps"]), "not told",
                    "not told" if row.get("wrong") is None else str(row["wrong"]),
                )
            )  # fmt: skip
        lines += [f"{_file_label(against)}, {against_name}: as the file says; GB/s", table(lines_of_file)]
    return "\n".join(lines)


def _alt(head: str, values: Mapping[str, Sequence[tuple[int, float]]]) -> str:
    told = []
    for label, line in values.items():
        best = max(line, key=lambda at: at[1])
        told.append(f"{label}: at most {number(best[1])} GB/s, at {size(best[0])}")
    return f"{head}. " + "; ".join(told)
