"""``labkit workshop slides``: one HTML file of slides from a lesson's cells; no other file, no network, arrow keys, printable.

Which cells become slides follows from what they are: the lesson's head; each part's heading with its first paragraph and list;
what asks for a guess; short code that defines something; golden cells with what they print; figures; tables; sayings and
what became of them; exercises; quizzes. The rest is for reading. A cell's tag ``slide`` makes it one, ``no-slide`` leaves it out.
Figures are there when the lesson was executed (``--from``): a committed notebook holds only its golden outputs.
"""

from __future__ import annotations

import argparse
import ast
import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from labkit.course import execute, files, form, table
from labkit.errors import LabkitError
from labkit.learn import lessons
from labkit.workshop import slide_text

TEMPLATE = Path(__file__).with_suffix(".html")
_ASK = re.compile(r"\*\*(Guess|Predict)[^*]*\*\*")
_LEFT_OUT = ("Your progress", "The end of the team")


@dataclass(frozen=True)
class Slide:
    """One slide. kind: a word for its looks. above: the part that it belongs to. body: HTML. cell: from 1, where it comes from."""

    kind: str
    heading: str
    body: str
    cell: int
    above: str = ""


def main(options: argparse.Namespace) -> int:
    """Writes the slides of one lesson and says where."""
    lesson = table.find(options.lesson)
    source = lesson.path
    if options.executed:
        source = Path(options.executed) / lesson.path.name
        if not source.is_file():
            raise LabkitError(
                f"{options.executed} holds no executed {lesson.path.name}.",
                f"execute it: python3 -m labkit run {lesson.id} -o {options.executed}",
            )
    slides = of_notebook(form.parse(form.read(source), source.name))
    target = Path(options.output) if options.output else execute.BUILD / "slides" / f"{lesson.label}.html"
    if target.is_dir():
        target = target / f"{lesson.label}.html"
    files.write_text(target, page(f"{lesson.id} {lesson.title}", slides))
    figures = sum(slide.kind == "figure" for slide in slides)
    print(f"{len(slides)} slides, {figures} of them figures: {target}")
    if not options.executed:
        print(f"Without figures: they are there after 'labkit run {lesson.id} -o DIR' and --from DIR.")
    print(
        "Open it in a browser. Keys: right and left arrow, Home, End, f for the full screen. Printing gives a page each."
    )
    return 0


def page(title: str, slides: Sequence[Slide]) -> str:
    """The HTML file."""
    made = []
    for number, slide in enumerate(slides, 1):
        above = f'<p class="above">{html.escape(slide.above)}</p>' if slide.above else ""
        made.append(
            f'<section class="{slide.kind}" tabindex="-1" aria-label="Slide {number} of {len(slides)}">{above}'
            f"<h1>{slide_text.inline(slide.heading)}</h1>{slide.body}"
            f"<footer>{html.escape(title)} · cell {slide.cell}</footer></section>"
        )
    text = TEMPLATE.read_text(encoding="utf-8")
    return text.replace("{{title}}", html.escape(title)).replace("{{slides}}", "\n".join(made))


# ------------------------------------------------------------------------------------------------------ which cells


def of_notebook(notebook: Mapping[str, Any]) -> list[Slide]:
    """The slides of a notebook as parsed JSON, committed or executed; see the rule at the top of this module."""
    found: list[Slide] = []
    part, sub = "", ""
    cells = [cell for cell in notebook["cells"] if not form.is_injected(cell)]
    for number, cell in enumerate(cells, 1):
        tags, text = _tags(cell), "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            for piece in _pieces(text):
                if (new := _heading(piece, 1)) is not None or (new := _heading(piece, 2)) is not None:
                    part, sub = new, ""
                elif (new := _heading(piece, 3)) is not None:
                    sub = new
                if "no-slide" not in tags and not part.startswith(_LEFT_OUT):
                    found += _of_markdown(piece, part, sub, number, whole="slide" in tags)
        elif cell["cell_type"] == "code" and "no-slide" not in tags:
            if (
                (question := _question(text))
                and found
                and found[-1].kind == "ask"
                and found[-1].heading == (sub or part)
            ):
                found[-1] = replace(found[-1], body=found[-1].body + slide_text.body([question]))
            elif question:
                found.append(
                    Slide(
                        "ask",
                        sub or part,
                        slide_text.body([f"**Guess first.** {question}"]),
                        number,
                        part if sub else "",
                    )
                )
            found += _of_code(cell, text, tags, sub or part, part if sub else "", number)
    return found


def _question(text: str) -> str:
    """What ``labkit.predict("…")`` in a cell asks; '' where there is none."""
    try:
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    except SyntaxError:
        return ""
    for call in calls:
        if ast.unparse(call.func).endswith("predict") and call.args:
            first = call.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                return first.value
            if isinstance(first, ast.JoinedStr):  # a number that the run decides stands as …
                return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in first.values)
    return ""


def _tags(cell: Mapping[str, Any]) -> list[str]:
    return list(cell.get("metadata", {}).get("tags", ()))


def _pieces(text: str) -> list[str]:
    """A Markdown cell cut before each of its headings."""
    found: list[list[str]] = [[]]
    fenced = False
    for line in text.splitlines():
        fenced = fenced != line.startswith("```")
        if not fenced and re.match(r"#{1,3} ", line):
            found.append([])
        found[-1].append(line)
    return [piece for lines in found if (piece := "\n".join(lines).strip())]


def _heading(piece: str, level: int) -> str | None:
    first = piece.splitlines()[0]
    return first[level + 1 :].strip() if first.startswith("#" * level + " ") else None


def _of_markdown(piece: str, part: str, sub: str, cell: int, *, whole: bool) -> Iterator[Slide]:
    title, above = sub or part, part if sub else ""
    blocks = slide_text.blocks(piece)
    if (heading := _heading(piece, 1)) is not None:
        lists = [block for block in blocks[1:] if slide_text.is_list(block)]
        yield Slide("title", heading, slide_text.body(lists[:1] or blocks[1:2]), cell)
        return
    headed = piece.startswith("#")
    if headed:
        blocks = blocks[1:]
    if whole:
        yield Slide("part", title, slide_text.body(blocks), cell, above)
        return
    rest = list(blocks)
    if headed:
        lead = [block for block in blocks if not _ASK.match(block) and not block.startswith((">", "|", "```"))]
        taken = []
        if lead and not slide_text.is_list(lead[0]):
            taken.append(slide_text.shortened(lead[0]))
            rest.remove(lead[0])
            after = rest[0] if rest else ""
            if (
                lead[0].rstrip().endswith(":")
                and after.startswith("```")
                and len(after.splitlines()) <= slide_text.CODE_LINES
            ):
                taken.append(rest.pop(0))
        points = next((block for block in lead if slide_text.is_list(block) and slide_text.fits(block)), "")
        if points:
            taken.append(points)
            rest.remove(points)
        if taken:  # else what follows speaks for itself
            kind = "exercise" if part.startswith("Exercise") and not sub else "part"
            yield Slide(kind, title, slide_text.body(taken), cell, above)
    before = ""
    for block in rest:
        if _ASK.match(block):
            yield Slide("ask", title, slide_text.body([block]), cell, above)
        elif block.startswith(">"):
            yield Slide("claim", title, slide_text.body([block]), cell, above)
        elif block.startswith("|") or (slide_text.is_list(block) and slide_text.fits(block)):
            intro = [slide_text.shortened(before)] if before.rstrip().endswith(":") else []
            yield Slide("part", title, slide_text.body([*intro, block]), cell, above)
        before = block


def _of_code(
    cell: Mapping[str, Any], text: str, tags: Sequence[str], title: str, above: str, number: int
) -> Iterator[Slide]:
    exercise = any(tag.startswith("exercise:") for tag in tags)
    lines = len(text.splitlines())
    outputs = cell.get("outputs", ())
    quiz = lessons.QUIZ.search(text)
    if quiz:
        yield Slide("quiz", f"Quiz: {quiz[1]}", slide_text.quiz(quiz[1]), number, title)
        return
    printed = _printed(outputs)
    shown = lines <= slide_text.CODE_LINES and "parameters" not in tags
    if exercise:
        yield Slide("exercise", title, slide_text.code(text if shown else slide_text.head_of(text)), number, above)
    elif "golden" in tags or "slide" in tags:
        code = slide_text.code(text) if shown else ""
        if code or printed:
            yield Slide("code", title, code + slide_text.out(printed), number, above)
    elif shown and re.search(r"^(def|class) ", text, re.MULTILINE):
        yield Slide("code", title, slide_text.code(text), number, above)
    for output in outputs:
        yield from _of_output(output, title, above, number)


def _of_output(output: Mapping[str, Any], title: str, above: str, number: int) -> Iterator[Slide]:
    data = output.get("data", {})
    if "image/png" in data:
        words = output.get("metadata", {}).get("image/png", {}).get("alt") or "".join(data.get("text/plain", ""))
        encoded = "".join(data["image/png"]).replace("\n", "")
        body = f'<figure><img alt="{html.escape(words, quote=True)}" src="data:image/png;base64,{encoded}"></figure>'
        yield Slide("figure", title, body, number, above)
    elif "text/markdown" in data:
        yield Slide("part", title, slide_text.body(slide_text.blocks("".join(data["text/markdown"]))), number, above)


def _printed(outputs: Sequence[Mapping[str, Any]]) -> str:
    """What a cell printed, and its last value as text."""
    said = []
    for output in outputs:
        if output.get("output_type") == "stream" and output.get("name") != "stderr":
            said.append("".join(output["text"]))
        elif "image/png" not in output.get("data", {}) and "text/plain" in output.get("data", {}):
            said.append("".join(output["data"]["text/plain"]) + "\n")
    return "".join(said).rstrip()
