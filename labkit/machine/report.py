"""A diagnosis for people: text for a terminal, HTML for a notebook, Markdown for an issue."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from html import escape

from labkit.machine.doctor import Diagnosis, Finding

_WORD = {"blocks": "BLOCKS", "degrades": "DEGRADES", "info": "NOTE"}
_WORD_OF = {"no-amd-gpu": "NO GPU WORK HERE"}  # it blocks the GPU and nothing else
_SIMULATED = "This machine is simulated: it exists only on paper."
_PROMISE = "The doctor changes nothing and sends nothing."


def _title(finding: Finding) -> str:
    word = "OK" if finding.code == "ok" else _WORD_OF.get(finding.code, _WORD[finding.severity])
    doubt = ", likely" if finding.confidence == "likely" and finding.code != "ok" else ""
    return f"{word}{doubt}: {finding.meaning}"


def _sections(finding: Finding) -> list[tuple[str, tuple[str, ...]]]:
    """The parts of one finding that have anything to say."""
    parts = [("Because", finding.evidence), ("What to do", finding.fix), ("Then check", finding.verify)]
    if finding.code != "ok" and finding.severity != "info" and finding.not_to_be_confused_with:
        parts.append(("Not to be confused with", (finding.not_to_be_confused_with,)))
    return [(name, lines) for name, lines in parts if lines]


def _closing(diagnosis: Diagnosis) -> list[str]:
    lines = []
    if diagnosis.checked:
        lines.append(f"Looked at: {', '.join(diagnosis.checked)}.")
    if diagnosis.unknown:
        lines.append(f"Not there to look at: {', '.join(diagnosis.unknown)}.")
    return [*lines, _PROMISE]


def as_text(diagnosis: Diagnosis, width: int = 100) -> str:
    """Plain text; commands are never wrapped, so that they can be copied."""
    lines = [_SIMULATED, ""] if diagnosis.simulated else []
    if diagnosis.note:
        lines += [*textwrap.wrap(diagnosis.note, width, break_on_hyphens=False), ""]
    for number, finding in enumerate(diagnosis.findings, 1):
        lines += textwrap.wrap(f"{number}. {_title(finding)}  [{finding.code}]", width, subsequent_indent="   ")
        for name, parts in _sections(finding):
            lines.append(f"   {name}:")
            lines += [f"     - {part}" for part in parts]
        if finding.sources and finding.severity != "info":
            lines.append(f"   Source: {finding.sources[0]}")
        lines.append("")
    for closing in _closing(diagnosis):
        lines += textwrap.wrap(closing, width)
    return "\n".join(lines)


def as_markdown(diagnosis: Diagnosis) -> str:
    """Markdown for an issue or a forum: evidence and commands stand in code spans, sentences do not."""
    lines = [f"**{_SIMULATED}**", ""] if diagnosis.simulated else []
    lines += [diagnosis.note, ""] if diagnosis.note else []
    for finding in diagnosis.findings:
        lines += [f"### {_title(finding)}", "", f"`{finding.code}`", ""]
        for name, parts in _sections(finding):
            lines += [f"**{name}**", ""]
            lines += [f"- {_markdown(name, part)}" for part in parts]
            lines.append("")
        if finding.sources and finding.severity != "info":
            lines += [f"Source: {finding.sources[0]}", ""]
    return "\n".join([*lines, *_closing(diagnosis), ""])


def _markdown(name: str, line: str) -> str:
    if name == "Not to be confused with":
        return line
    words, command = ("", line) if name == "Because" else command_in(line)
    code = f"`` {command.replace('``', '` `')} ``" if command else ""
    words = re.sub(r"([*`])", r"\\\1", words).replace("<", "&lt;")  # what Markdown would take for its own
    return " ".join(part for part in (words, code) if part)


# Words carry the severity; colour only repeats it. currentColor keeps the card readable on dark and light.
_EDGE = {"blocks": "#d55e00", "degrades": "#e69f00", "info": "#0072b2"}


# A line is a command when it begins like one and no prose hangs on it; what follows '#' is the shell's own remark.
_COMMAND = re.compile(
    r"(?:[A-Z_]+=\S+ +)*(?:(?:sudo|python3?|pip3?|docker|podman|apptainer|wsl|unset|export|echo|cat|ls|lspci|lsmod|modprobe"
    r"|mknod|usermod|apt|dmesg"
    r"|journalctl|rocminfo|rocm-smi|amd-smi|dkms|env|id|df|uname|getent|grep|git|rm|sysctl|conda|Remove-Item)\b|\$env:)(?! is\b| are\b)"
)
_PROSE = re.compile(r" \((?:[A-Z]|or )|\)[,.]? \w|\)$|[,;] (?:then|and|or) | against |; \w+: ")
_BOX = (
    "margin:.2em 0;padding:.3em .6em;border-radius:4px;background:rgba(127,127,127,.14);color:inherit;"
    "white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.35;font-family:monospace;font-size:.95em"
)


def command_in(step: str) -> tuple[str, str]:
    """(words, command) of a step: 'On the host: sudo …' has both, a bare command has no words, a sentence no command."""
    words, command = "", step
    if not _COMMAND.match(step):
        place = next((found.end() for found in re.finditer(r": ", step) if _COMMAND.match(step, found.end())), None)
        if place is None:
            return step, ""
        words, command = step[:place].rstrip(), step[place:]
    plain = re.sub(r"\"[^\"]*\"|'[^']*'|\$\([^)]*\)", "", command.split("   #")[0]).strip()
    return (step, "") if _PROSE.search(plain) else (words, command)


def _quoted(line: str) -> str:
    return f"<code style='white-space:pre-wrap;overflow-wrap:anywhere;color:inherit;background:transparent'>{escape(line)}</code>"


def _step(line: str) -> str:
    words, command = command_in(line)
    return escape(words) + (f"<pre style='{_BOX}'>{escape(command)}</pre>" if command else "")


_SHOWN: dict[str, Callable[[str], str]] = {"Because": _quoted, "Not to be confused with": escape}


def as_html(diagnosis: Diagnosis) -> str:
    """One card for each finding; a command stands in a box of its own, so that it can be copied whole."""
    cards = []
    if diagnosis.simulated:
        cards.append(f"<p><strong>{escape(_SIMULATED)}</strong></p>")
    if diagnosis.note:
        cards.append(f"<p>{escape(diagnosis.note)}</p>")
    for finding in diagnosis.findings:
        edge = "#009e73" if finding.code == "ok" else _EDGE[finding.severity]
        parts = []
        for name, lines in _sections(finding):
            show = _SHOWN.get(name, _step)
            items = "".join(f"<li style='margin:.15em 0'>{show(line)}</li>" for line in lines)
            parts.append(f"<div style='margin-top:.4em'>{escape(name)}:<ul style='margin:.1em 0'>{items}</ul></div>")
        source = ""
        if finding.sources and finding.severity != "info":
            first = finding.sources[0]
            shown = f"<a href='{escape(first)}'>{escape(first)}</a>" if first.startswith("https://") else escape(first)
            source = f"<div style='opacity:.75'>Source: {shown}</div>"
        cards.append(
            f"<div style='border-left:6px solid {edge};padding:.3em .8em;margin:.5em 0'><strong>{escape(_title(finding))}</strong> "
            f"<span style='opacity:.75'>[{escape(finding.code)}]</span>{''.join(parts)}{source}</div>"
        )
    closing = "<br>".join(escape(line) for line in _closing(diagnosis))
    return f"<div>{''.join(cards)}<p style='opacity:.75'>{closing}</p></div>"
