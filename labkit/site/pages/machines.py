"""The page of machines: which lesson ran on which, from the contributed reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.catalog.gfx import TARGETS
from labkit.course import table
from labkit.course.contributed import check, fingerprint, name
from labkit.course.table import Lesson
from labkit.site.pages import markup
from labkit.site.pages.gpus import family, family_of
from labkit.site.pages.markup import Choice, Row

_INTRO = """\
Which lesson ran where. A *passed* cell comes from a report that somebody made with `python3 -m labkit report make` on that machine,
and that `python3 -m labkit report check` found in order. A family of AMD GPUs of which nobody sent a report says *not yet verified*.
**{rocm}** Times are those of one run on one machine, with whatever else it was doing: no benchmark.

"""

_CONTRIBUTE = """\
## Your machine

If you have an AMD GPU, three commands make a column here:

```
python3 -m labkit report make
python3 -m labkit report check
git checkout -b my-report && git add reports && git commit -m "A report of my machine"
```

The first is run in your clone of the course. It sets everything up, executes all lessons, and writes one small file into `reports/`.
The second checks it. Read the file, then commit it, push the branch to your fork, and open a pull request. The file holds the kind of
machine, versions, and what ran. It holds no name of a person or a computer, no path, no address and no serial number, and nothing is
sent by itself. A report in
which lessons failed is as welcome as one in which all passed.
"""

NOT_YET = "not yet verified"


@dataclass(frozen=True)
class Column:
    """One column of the matrix: a machine with its report, or a family of GPUs of which nobody sent one."""

    head: str  # plain words
    family: str
    report: Mapping[str, Any] | None = None


def page(reports: Path, lesson_address: Callable[[str], str]) -> str:
    """The document, Markdown for MyST; files that ``labkit report check`` refuses are named and left out."""
    checked = [check.file(path) for path in check.files(reports)] if reports.is_dir() else []
    good = sorted((one.report for one in checked if one.report is not None and not one.problems), key=name.title)
    refused = [one.path.name for one in checked if one.problems]
    columns = _columns(good)
    lessons = table.load().lessons
    today = {lesson.id: fingerprint.read(lesson.path) for lesson in lessons}
    matrix = markup.table(
        "matrix",
        "Lessons by machine",
        ("Lesson", *(column.head for column in columns)),
        [_row(lesson, columns, today[lesson.id], lesson_address) for lesson in lessons],
        filterable=False,
        wide=True,
    )
    rocm = any(column.report is not None and column.report["machine"]["torch"]["build"] == "rocm" for column in columns)
    parts = [
        markup.HEAD + "# Machines\n\n" + _INTRO.format(rocm=_rocm_words(rocm)) + matrix,
        "## The reports\n",
        _reports(good) if good else "There is no report yet.\n",
    ]
    if refused:
        listed = ", ".join(f"`{file}`" for file in refused)
        parts.append(f"Left out, because `python3 -m labkit report check` finds something wrong with it: {listed}.\n")
    return "\n".join([*parts, _CONTRIBUTE])


def _rocm_words(rocm: bool) -> str:
    if rocm:
        return "Of families of GPUs without a column of their own nothing is verified yet."
    return "No report from an AMD GPU has come yet: nothing here is verified on ROCm."


def _family(report: Mapping[str, Any]) -> str:
    """The family of the GPU that a report is about; '' for a CPU and for another maker's GPU."""
    return family_of(report["machine"]["torch"]["gfx"])


def _columns(reports: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Machines without an AMD GPU, then the families in the catalog's order, each with its reports or 'not yet'."""
    columns = [Column(_head(report), "", report) for report in reports if not _family(report)]
    for kind in dict.fromkeys(family(row.architecture) for row in TARGETS.values()):
        own = [report for report in reports if _family(report) == kind]
        columns += [Column(_head(report), kind, report) for report in own]
        if not own and re.search(r"\d", kind):  # one without a number is announced, and nobody can have it
            columns.append(Column(kind, kind))
    return columns


def _head(report: Mapping[str, Any]) -> str:
    machine = report["machine"]
    return f"{name.device(machine)}, {name.system(machine)}, torch {machine['torch']['version']}"


def _row(lesson: Lesson, columns: Sequence[Column], today: str | None, address: Callable[[str], str]) -> Row:
    head = markup.link(address(lesson.label), f"{lesson.id} {lesson.title}")
    return Row((head, *(_cell(column, lesson, today) for column in columns)))


def _cell(column: Column, lesson: Lesson, today: str | None) -> str:
    if column.report is None:
        return f'<span class="lk-quiet">{NOT_YET}</span>'
    row = next((row for row in column.report["lessons"] if row["id"] == lesson.id), None)
    if row is None:
        return '<span class="lk-quiet">not run</span>'
    if row["status"] == "failed":
        where = f" at cell {row['error']['cell']}" if row["error"] and row["error"]["cell"] else ""
        told = markup.badge("failed", "bad") + f" {markup.text(row['error']['kind'])}{where}"
    else:
        told = markup.badge("passed", "good") + f" in&nbsp;{row['seconds']:.0f}&nbsp;s"
    told += f'<br><span class="lk-quiet">{markup.text((row["executed"] or column.report["started"])[:10])}'
    if row["fingerprint"] and today and row["fingerprint"] != today:
        told += ", an earlier text of the lesson"
    if row["stand_in"]:
        told += ", stand-in data"
    return told + "</span>"


def _reports(reports: Sequence[Mapping[str, Any]]) -> str:
    kinds = markup.options(_family(report) or "no AMD GPU" for report in reports)
    return markup.table(
        "reports",
        "Contributed reports",
        ("Machine", "System", "torch", "Run", "Note"),
        [_report(report) for report in reports],
        (Choice("family", "Family", kinds),),
        widths=(24, 19, 17, 18, 22),
        filterable=len(reports) > 5,
    )


def _report(report: Mapping[str, Any]) -> Row:
    machine, torch = report["machine"], report["machine"]["torch"]
    memory = torch["memory_bytes"]
    processors = machine["processors"]
    ram = markup.number(machine["ram_gib"], "GiB") if machine["ram_gib"] else ""
    head = markup.text(name.device(machine)) + markup.labelled(
        (
            ("GPU memory", f"{memory / 2**30:.0f} GiB" if memory else ""),
            ("processor", markup.text(machine["processor"] or "") + (f", {processors} logical" if processors else "")),
            ("memory", ram),
        )
    )
    system = markup.text(name.system(machine)) + markup.labelled(
        (
            ("distribution", markup.text(machine["distribution"] or "")),
            ("kernel", markup.text(machine["kernel"] or "")),
            ("container", "yes" if machine["container"] else ""),
            ("amdgpu", markup.text(machine["driver"] or "")),
            ("ROCm beside torch", markup.text(machine["rocm"] or "")),
        )
    )
    build = markup.text(torch["version"]) + markup.labelled(
        (
            ("build", markup.text(" ".join(filter(None, (torch["build"], torch["hip"] or torch["cuda"]))))),
            ("Python", markup.text(machine["python"])),
            ("labkit", markup.text(report["labkit"])),
        )
    )
    passed = sum(row["status"] == "passed" for row in report["lessons"])
    side = f", {report['workers']} side by side" if report["workers"] > 1 else ""
    run = (
        f"{name.day(report)}, profile {markup.text(report['profile'])}: {passed} of {len(report['lessons'])} passed "
        f"in {report['seconds']:.0f} s{side}"
    )
    return Row(
        (head, system, build, run, markup.text(report["note"]) or "none"),
        values={"family": (_family(report) or "no AMD GPU",)},
    )
