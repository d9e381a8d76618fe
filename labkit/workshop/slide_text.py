"""What stands on a slide, as HTML: Markdown, code and output, each cut to what can be read from the back of a room."""

from __future__ import annotations

import html
import io
import keyword
import re
import tokenize
from collections.abc import Sequence
from typing import Any

CODE_LINES = 16  # more do not fit a slide that is read from the back of a room
OUTPUT_LINES = 14
LEAD_WORDS = 60
LIST_ITEMS = 8


def blocks(text: str) -> list[str]:
    """Markdown cut at its empty lines; a fenced block and a list stay whole."""
    found: list[list[str]] = [[]]
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if not line.strip() and not fenced:
            found.append([])
        elif not fenced and re.match(r"#{1,6} ", line):
            found += [[line], []]
        else:
            if found[-1] and re.match(r"[-*] |\d+\. ", line) and not re.match(r"[-*] |\d+\. |\s", found[-1][0]):
                found.append([])
            found[-1].append(line)
    return ["\n".join(lines) for lines in found if lines]


def is_list(block: str) -> bool:
    """Does a block of Markdown begin with a list's mark?"""
    return re.match(r"([-*]|\d+\.) ", block) is not None


def fits(block: str) -> bool:
    """Is a list short enough for one slide?"""
    items = re.findall(r"^(?:[-*]|\d+\.) ", block, re.MULTILINE)
    return len(items) <= LIST_ITEMS and len(block.split()) <= 120


def shortened(block: str) -> str:
    """A paragraph, or its first sentences up to about ``LEAD_WORDS`` words."""
    if len(block.split()) <= LEAD_WORDS:
        return block
    kept: list[str] = []
    for sentence in re.split(r"(?<=[.!?])\s+", block):
        if kept and sum(len(one.split()) for one in [*kept, sentence]) > LEAD_WORDS:
            break
        kept.append(sentence)
    return " ".join(kept)


def body(blocks: Sequence[str]) -> str:
    """Blocks of Markdown as the middle of a slide; '' for none."""
    return (
        f'<div class="body">{_markdown(chr(10).join(f"{block}{chr(10)}" for block in blocks))}</div>' if blocks else ""
    )


def _markdown(text: str) -> str:
    """Markdown as HTML. A link into the course becomes its words: a single file leads nowhere else."""
    import mistune

    class Renderer(mistune.HTMLRenderer):
        def link(self, text: str, url: str, title: str | None = None) -> str:
            return super().link(text, url, title) if url.startswith(("http://", "https://")) else text

        def image(self, text: str, url: str, title: str | None = None) -> str:
            return html.escape(text)

        def heading(self, text: str, level: int, **attributes: Any) -> str:
            return f"<p><strong>{text}</strong></p>\n"

    return str(mistune.create_markdown(renderer=Renderer(), plugins=["table"])(text))


def inline(text: str) -> str:
    """A heading: what stands in backticks is code, asterisks go."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(re.sub(r"\*+", "", text), quote=False))


def out(text: str) -> str:
    """What was printed, cut to ``OUTPUT_LINES`` with how many lines are missing; '' for nothing."""
    lines = text.splitlines()
    if len(lines) > OUTPUT_LINES:
        lines = [*lines[: OUTPUT_LINES - 1], f"… {len(lines) - OUTPUT_LINES + 1} more lines"]
    return f'<pre class="out">{html.escape(chr(10).join(lines), quote=False)}</pre>' if lines else ""


def head_of(text: str) -> str:
    """The first lines of code that is too long for a slide."""
    return "\n".join([*text.splitlines()[: CODE_LINES - 1], "…"])


def code(text: str) -> str:
    """Python with its keywords, strings, comments and numbers marked; as it is where it cannot be read as Python."""
    marks: list[tuple[int, int, str]] = []
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    kinds = {tokenize.STRING: "s", tokenize.COMMENT: "c", tokenize.NUMBER: "n"}
    for name in ("FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END"):  # from Python 3.12 on
        kinds.setdefault(getattr(tokenize, name, -1), "s")
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            kind = "k" if token.type == tokenize.NAME and keyword.iskeyword(token.string) else kinds.get(token.type, "")
            if kind:
                first = starts[token.start[0] - 1] + token.start[1]
                marks.append((first, starts[token.end[0] - 1] + token.end[1], kind))
    except (tokenize.TokenError, SyntaxError, IndexError):
        marks = []
    made, at = [], 0
    for first, last, kind in marks:
        piece = html.escape(text[first:last], quote=False)
        made.append(f'{html.escape(text[at:first], quote=False)}<span class="{kind}">{piece}</span>')
        at = last
    return f"<pre><code>{''.join(made)}{html.escape(text[at:], quote=False)}</code></pre>"


def quiz(name: str) -> str:
    """The question and its answers to choose from, without which is right."""
    from labkit.learn.exercises import find_quiz
    from labkit.learn.quizzes.judge import quiz_text

    text = re.sub(r"^QUIZ \w+: ", "", quiz_text(find_quiz(name)))
    return f'<pre class="out">{html.escape(text, quote=False)}</pre>'
