"""Whether a report that has the right form can be true: times, durations, cells, builds, targets and memory agree."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from labkit.catalog import gfx, peaks
from labkit.course import table
from labkit.course.contributed.shape import ANEW, Problem
from labkit.errors import LabkitError

PROJECT_BEGAN = datetime(2026, 11, 1, tzinfo=timezone.utc)  # no lesson existed before
CLOCKS_DIFFER = timedelta(minutes=15)
FASTEST_LESSON_S = 0.5  # a kernel alone takes longer to start
LONGEST_S: Mapping[str, float] = {"quick": 3600, "full": 8 * 3600}  # above every limit that a lesson has
_GIB = 2**30


def problems(report: Mapping[str, Any], now: datetime | None = None) -> list[Problem]:
    """What cannot be so; ``report`` has the form that ``shape`` asks for, ``now`` has a time zone."""
    now = datetime.now(timezone.utc) if now is None else now
    lessons = report["lessons"]
    return [
        *_times(report, now),
        *_durations(report),
        *(problem for lesson in lessons for problem in _lesson(lesson, report["profile"])),
        *_known_lessons(lessons),
        *_build(report["machine"]),
        *_device(report["machine"]),
    ]


def time_of(text: str) -> datetime | None:
    """A time of the report; None for a day or an hour that does not exist."""
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    except ValueError:
        return None


def _times(report: Mapping[str, Any], now: datetime) -> list[Problem]:
    found: list[Problem] = []
    places = {"made": report["made"], "started": report["started"]}
    places |= {f"'executed' of lesson {row['id']}": row["executed"] for row in report["lessons"] if row["executed"]}
    times = {place: time_of(text) for place, text in places.items()}
    clock = "Set the clock of the machine right, and make the file anew."
    for place, time in times.items():
        if time is None:
            found.append(Problem(f"{place} is no time that exists."))
        elif time > now + CLOCKS_DIFFER:
            found.append(Problem(f"{place} is in the future.", clock))
        elif time < PROJECT_BEGAN:
            found.append(Problem(f"{place} is before the first lesson existed.", clock))
    made, started = times["made"], times["started"]
    if found or made is None or started is None:
        return found
    ended = started + timedelta(seconds=report["seconds"])
    if made + timedelta(seconds=2) < ended:
        found.append(Problem("The file was made before its run had ended."))
    for place, time in times.items():
        # torch is asked for its facts between the start of the run and its first lesson
        first, last = started - timedelta(seconds=2), ended + timedelta(seconds=180)
        if place.startswith("'executed'") and time is not None and not first <= time <= last:
            found.append(Problem(f"{place} is not within the run."))
    return found


def _durations(report: Mapping[str, Any]) -> list[Problem]:
    lessons, workers, seconds = report["lessons"], report["workers"], report["seconds"]
    total = sum(row["seconds"] for row in lessons)
    longest = max(row["seconds"] for row in lessons)
    found = []
    if total > seconds * workers * 1.02 + 5:
        found.append(
            Problem(
                f"The lessons took {total:.0f} s in all, more than {seconds:.0f} s of {workers} side by side can hold."
            )
        )
    if longest > seconds + 5:
        found.append(Problem("A lesson took longer than the whole run."))
    if seconds > total * 1.1 + 30 + 5 * len(lessons):
        found.append(Problem(f"The run took {seconds:.0f} s, its lessons only {total:.0f} s together."))
    if workers == 1:
        begun = [(time_of(row["executed"]), row) for row in lessons if row["executed"]]
        for (first, row), (second, after) in itertools.pairwise(begun):
            if first and second and second + timedelta(seconds=3) < first + timedelta(seconds=row["seconds"]):
                found.append(
                    Problem(f"Lesson {after['id']} began before lesson {row['id']} had ended, with one worker.")
                )
    return found


def _lesson(row: Mapping[str, Any], profile: str) -> list[Problem]:
    name, found = f"Lesson {row['id']}", []
    if row["cells"] > row["cells_total"]:
        found.append(Problem(f"{name} completed more cells than it has."))
    if row["seconds"] > LONGEST_S[profile]:
        found.append(Problem(f"{name} took longer than any limit of the profile '{profile}' allows."))
    if row["status"] == "failed":
        if row["error"] is None:
            found.append(Problem(f"{name} failed without a kind of error."))
        return found
    if row["error"] is not None:
        found.append(Problem(f"{name} passed and names an error."))
    if row["cells_total"] == 0 or row["cells"] < row["cells_total"]:
        found.append(Problem(f"{name} passed with {row['cells']} of {row['cells_total']} cells."))
    if row["seconds"] < FASTEST_LESSON_S:
        found.append(Problem(f"{name} passed in {row['seconds']:g} s: no kernel starts so fast, so it did not run."))
    if row["executed"] is None or row["fingerprint"] is None:
        found.append(Problem(f"{name} passed, and when or which text of it is not said."))
    return found


def _known_lessons(lessons: Sequence[Mapping[str, Any]]) -> list[Problem]:
    try:
        known = [(lesson.id, lesson.name) for lesson in table.load().lessons]
    except LabkitError as error:
        return [Problem(f"The lessons of this course could not be read: {error.problem}", error.remedy)]
    given = [(row["id"], row["name"]) for row in lessons]
    found = [
        Problem(f"There is no lesson {id}_{name} in this course.", f"Update the course (git pull). {ANEW}")
        for id, name in given
        if (id, name) not in known
    ]
    if len(set(given)) < len(given):
        found.append(Problem("A lesson stands there twice."))
    elif not found and [known.index(row) for row in given] != sorted(known.index(row) for row in given):
        found.append(Problem("The lessons are not in the order of the course."))
    return found


def _build(machine: Mapping[str, Any]) -> list[Problem]:
    torch, found = machine["torch"], []
    build = torch["build"]
    for kind in ("hip", "cuda"):
        if (torch[kind] is not None) is not (build == {"hip": "rocm", "cuda": "cuda"}[kind]):
            which = "names no" if torch[kind] is None else "names a"
            found.append(Problem(f"torch is called a {build} build and {which} version of {kind.upper()}."))
    local = re.search(r"\+(rocm|cu|cpu)", torch["version"])
    if local and {"rocm": "rocm", "cu": "cuda", "cpu": "cpu"}[local[1]] != build:
        found.append(Problem(f"torch {torch['version']} is called a {build} build."))
    if int(torch["version"].split(".")[0]) < 2:
        found.append(Problem(f"The lessons need torch 2.10 or later, and this is {torch['version']}."))
    if machine["wsl"] and machine["system"] != "Linux":
        found.append(Problem("WSL is Linux, and the system is called another."))
    return found


def _device(machine: Mapping[str, Any]) -> list[Problem]:
    torch, found = machine["torch"], []
    if not torch["device"].startswith("cuda"):
        if any(torch[key] is not None for key in ("product", "gfx", "memory_bytes")):
            found.append(Problem(f"The device is {torch['device']}, and a GPU's product, target or memory is named."))
        return found
    if torch["build"] == "cpu":
        found.append(Problem("A CPU build of torch computed on a GPU."))
    if torch["product"] is None or torch["memory_bytes"] is None:
        found.append(Problem("A GPU computed, and its product or its memory is not named."))
    if torch["build"] != "rocm":
        return [*found, Problem("A GPU that is not AMD's has a gfx target.")] if torch["gfx"] else found
    row = gfx.target(torch["gfx"])
    if row is None:
        add = "If it is a new one, add it to labkit/catalog/gfx.json first."
        return [*found, Problem(f"The gfx target {torch['gfx']} is not in the catalog.", add)]
    product = str(torch["product"] or "")
    named = gfx.by_product(product)
    if named is not None and named.gfx != row.gfx:
        found.append(
            Problem(
                f"{product} is {named.gfx}, and the file says {row.gfx}.",
                "If HSA_OVERRIDE_GFX_VERSION is set, unset it, and make the file anew.",
            )
        )
    elif torch["memory_bytes"] is not None:
        found += _memory(machine, product, row.gfx, row.integrated, torch["memory_bytes"] / _GIB)
    return found


def _memory(machine: Mapping[str, Any], product: str, target: str, integrated: bool, gib: float) -> list[Problem]:
    """A card has what its product has, less a little that is kept back; an Instinct can be in parts."""
    if integrated:
        ram = machine["ram_gib"]
        if ram is not None and gib > ram * 1.1 + 1:
            return [Problem(f"The GPU has {gib:.0f} GiB of memory, more than its machine.")]
        return []
    row = peaks.peak(product) or peaks.peak(re.sub(r"\bAMD\b|\bOAM\b|\bHF\b", "", product).strip())
    sizes = [row.vram_gib] if row is not None else [each.vram_gib for each in peaks.peaks_for(target)]
    known = [size for size in sizes if size is not None]
    if not known:
        return []
    parts = (1, 2, 4, 8) if "instinct" in product.lower() or row is None else (1,)
    if any(0.85 <= gib * part / size <= 1.05 for size in known for part in parts):
        return []
    if row is None:  # another product of the target: no smaller than any, no larger than any by far
        return [] if min(known) / 4 <= gib <= max(known) * 2.1 else [_odd(gib, f"a GPU of {target}")]
    return [_odd(gib, row.product)]


def _odd(gib: float, what: str) -> Problem:
    return Problem(
        f"{gib:.1f} GiB is not the memory of {what}.",
        "If the product is a new one, its row belongs into labkit/catalog/peaks.json.",
    )
