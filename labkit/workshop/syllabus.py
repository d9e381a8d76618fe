"""``labkit workshop syllabus``: the plans of ``labkit.workshop.plans`` as timetables, for a terminal or in Markdown.

Nothing is shown while one of them cannot work. Standard library only.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping, Sequence

from labkit.course import table
from labkit.course.table import Course, Lesson
from labkit.errors import LabkitError
from labkit.workshop.plans import (
    Block,
    Part,
    Syllabus,
    alone,
    chosen,
    clock,
    complaints,
    find,
    load,
    measured,
    parts_of,
)


def main(options: argparse.Namespace) -> int:
    """Prints one timetable, the list of them, or with ``markdown`` the page of all."""
    course = table.load()
    found = load(course=course)
    seconds = measured()
    problems = [problem for one in found for problem in complaints(one, course, seconds)]
    if problems:
        raise LabkitError(" ".join(problems[:3]), "change notebooks/syllabi.toml; nothing was printed.")
    start = clock(options.start)
    if options.name:
        one = find(options.name, found)
        print(as_markdown(one, start) if options.markdown else as_text(one, start, seconds))
    elif options.markdown:
        print(page(found), end="")
    else:
        print(overview(found))
    return 0


def rows(day: Sequence[Block], start: int) -> list[tuple[str, Block]]:
    """Each block with its hours, as ``09:00-09:15``."""
    found = []
    for block in day:
        end = start + block.minutes
        found.append((f"{start // 60 % 24:02}:{start % 60:02}-{end // 60 % 24:02}:{end % 60:02}", block))
        start = end
    return found


def name_of(block: Block) -> str:
    """What a block is called in a timetable."""
    if block.lesson is None:
        return {"set-up": "Set-up", "talk": "Together"}.get(block.kind, block.kind.capitalize())
    return f"{block.lesson.id} {block.lesson.title}"


def names_of_parts(block: Block) -> str:
    """The parts that a block teaches, in words: '' for a whole lesson or none."""
    if block.lesson is None or not block.parts:
        return ""
    return "; ".join(_plain(part.title) for part in chosen(block))


def left_out(plan: Syllabus) -> list[tuple[Lesson, tuple[Part, ...]]]:
    """For each lesson that is taught only in parts: the parts with content that no block teaches."""
    taught: dict[str, set[str]] = {}
    lessons: dict[str, Lesson] = {}
    for block in plan.blocks():
        if block.lesson is not None:
            lessons[block.lesson.id] = block.lesson
            taught.setdefault(block.lesson.id, set()).update(part.title for part in chosen(block))
    found = []
    for id_, lesson in lessons.items():
        rest = tuple(part for part in parts_of(lesson) if part.title not in taught[id_] and not _frame(part))
        if rest:
            found.append((lesson, rest))
    return found


def not_taught(plan: Syllabus, course: Course) -> list[Lesson]:
    """The lessons of the course that the plan leaves out."""
    taught = {block.lesson.id for block in plan.blocks() if block.lesson is not None}
    return [lesson for lesson in course.lessons if lesson.id not in taught]


def _frame(part: Part) -> bool:
    return part.title in ("What you did", "Your progress", "What to do next", "The end of the team", "Your score")


def _plain(title: str) -> str:
    return title.replace("`", "").replace(" · ", " ")


def overview(found: Sequence[Syllabus]) -> str:
    """The list of plans for a terminal."""
    width = max(len(one.name) for one in found)
    lines = ["Plans of courses:", ""]
    for one in found:
        lines.append(f"  {one.name:<{width}}  {one.title} ({duration(one.minutes)})")
        lines += textwrap.wrap(one.whom, 96, initial_indent=" " * (width + 4), subsequent_indent=" " * (width + 4))
    return "\n".join([*lines, "", "Name one to see its timetable: labkit workshop syllabus 90min --start 18:30"])


def as_text(plan: Syllabus, start: int, seconds: Mapping[str, float]) -> str:
    """One timetable for a terminal, with what the cells took where they were measured."""
    course = table.load()
    lines = [f"{plan.title} ({duration(plan.minutes)})", "=" * len(plan.title), ""]
    lines += [*_wrap(f"For: {plan.whom}"), *_wrap(f"Aim: {plan.aim}")]
    for number, day in enumerate(plan.days, 1):
        lines += [
            "",
            f"Day {number}" if len(plan.days) > 1 else "",
            f"{'hours':<12} {'min':>4}  {'alone':>5}  {'cells':>6}",
        ]
        for hours, block in rows(day, start):
            took = seconds.get(block.lesson.id) if block.lesson else None
            cells = f"{took:.0f} s" if took is not None else ("?" if block.lesson else "")
            share = f"{alone(block):.0f}" if block.lesson else ""
            lines.append(f"{hours:<12} {block.minutes:>4}  {share:>5}  {cells:>6}  {name_of(block)}")
            for text in (names_of_parts(block), block.what):
                lines += _wrap(text, 33)
    lines += ["", *_wrap("alone: what a learner alone sets aside for the same parts (course.toml). cells: how long the whole "
                         "lesson's cells took in the slowest quick run of reports/; ? means not measured.")]  # fmt: skip
    late = "When late: the notes of each lesson say what to cut first (labkit workshop notes 01)."
    lines += ["", *[line for text in [*_left_lines(plan, course), late] for line in _wrap(text)]]
    return "\n".join(line.rstrip() for line in lines).strip()


def _left_lines(plan: Syllabus, course: Course) -> list[str]:
    lines = [f"Instead of lesson {lesson}, say: {text}" for lesson, text in plan.instead.items()]
    rests = left_out(plan)
    for lesson, rest in rests:
        lines.append(f"Left out of {lesson.id}: {'; '.join(_plain(part.title) for part in rest)}.")
    if rests:
        lines.append(
            "What is left out of a lesson is run, not read: select the first cell of the part that you teach, then "
            "Run > Run All Above Selected Cell."
        )
    rest_lessons = not_taught(plan, course)
    if rest_lessons:
        lines.append(f"Not taught: {', '.join(f'{one.id} {one.title}' for one in rest_lessons)}.")
    return lines


def _wrap(text: str, indent: int = 0) -> list[str]:
    room = " " * indent
    return textwrap.wrap(text, 110, initial_indent=room, subsequent_indent=room, break_on_hyphens=False) if text else []


def duration(minutes: int) -> str:
    """``1 h 30 min``."""
    hours, rest = divmod(minutes, 60)
    return " ".join([*([f"{hours} h"] if hours else []), *([f"{rest} min"] if rest or not hours else [])])


def as_markdown(plan: Syllabus, start: int) -> str:
    """One timetable in Markdown. Measured seconds are not in it: they change with each report that somebody sends."""
    lines = [f"## {plan.title}", "", f"`{plan.name}`, {duration(plan.minutes)}", ""]
    lines += [f"For: {plan.whom}", "", f"Aim: {plan.aim}", ""]
    for number, day in enumerate(plan.days, 1):
        if len(plan.days) > 1:
            lines += [f"### Day {number} of {plan.title[0].lower()}{plan.title[1:]}", ""]
        lines += ["| hours | min | alone | what |", "|---|---|---|---|"]
        for hours, block in rows(day, start):
            title = f"**{name_of(block)}**" if block.lesson else name_of(block)
            parts = f" ({names_of_parts(block)})" if block.parts else ""
            words = f"{title}{parts}: {block.what}" if block.what else f"{title}{parts}"
            share = f"{alone(block):.0f}" if block.lesson else ""
            lines.append(f"| {hours.replace('-', '–')} | {block.minutes} | {share} | {words} |")
        lines.append("")
    lines += [f"- {line}" for line in _left_lines(plan, table.load())]
    return "\n".join(lines).rstrip()


def page(found: Sequence[Syllabus]) -> str:
    """notebooks/pages/syllabi.md."""
    head = """# Plans of courses

<!-- Made by `python3 -m labkit workshop syllabus --markdown`, from notebooks/syllabi.toml; a test keeps it so. -->

Timetables for whoever teaches the course. Each is checked: no lesson comes without what it needs (or it says what to tell
instead), no block has less time than its cells need in a room, people get a break, and there is a buffer.

*alone* is what a learner alone sets aside for the same parts, out of the minutes in `course.toml`. A group with a teacher is
usually given less: you show what they would read. How long it really takes in your room we do not know: nobody has taught these plans
yet. Write down the hours on the first day, and change the plan.

- `python3 -m labkit workshop syllabus` lists them;
- `python3 -m labkit workshop syllabus day --start 08:30` prints one, with the measured run times of the cells beside it;
- `python3 -m labkit workshop notes 01` prints what to say in lesson 01, and what to cut when late.

A plan of your own is another `[[syllabus]]` in `notebooks/syllabi.toml`; the command says what is wrong with it.
"""
    return "\n\n".join([head.strip(), *(as_markdown(one, clock("09:00")) for one in found)]) + "\n"
