"""The page of failures: every finding code of the doctor, with what a simulated machine shows of it."""

from __future__ import annotations

from functools import cache

from labkit.catalog.findings import SEVERITIES, Code, codes
from labkit.machine import doctor, evidence, simulate
from labkit.machine.report import command_in
from labkit.site.pages import markup
from labkit.site.pages.markup import Choice, Row

_INTRO = """\
The closed list of what `python3 -m labkit doctor` can find, {count} codes. *Blocks* means that the GPU cannot be used until it
is mended, *degrades* that it is slow, wrong or at risk, *info* that there is nothing to do. Each row can be linked to by its
code, for example <a href="#kfd-permission"><code>#kfd-permission</code></a>; a narrowed view has an address of its own, too.

*How the doctor sees it* is its own answer about a machine that exists only on paper and has this fault: the evidence that it
quotes, what it advises, and how to see that it is mended. The texts have the form of the tools; nothing there was recorded
from hardware, and the advice is not yet verified on ROCm. On your machine the evidence is your machine's own.
"""

_KIND = {"blocks": "bad", "degrades": "warn", "info": "plain"}


def page() -> str:
    """The document, Markdown for MyST."""
    rows = list(codes().values())
    found = markup.table(
        "failures",
        "Failures that the doctor knows",
        ("Code", "What it means", "How the doctor sees it", "Source"),
        [_row(row) for row in sorted(rows, key=lambda row: SEVERITIES.index(row.severity))],
        (
            Choice("severity", "Severity", markup.options(SEVERITIES)),
            Choice("theme", "Theme", markup.options(sorted(row.theme for row in rows))),
            Choice("system", "Simulated on", markup.options(("Linux", "Windows", "WSL", "container"))),
        ),
        widths=(18, 29, 37, 16),
    )
    return f"{markup.HEAD}# Failures\n\n{_INTRO.format(count=len(rows))}\n{found}"


def _row(row: Code) -> Row:
    machines = _machines(row.code)
    meaning = markup.text(row.meaning) + markup.labelled(
        (
            ("not to be confused with", _with_links(row.not_to_be_confused_with)),
            ("theme", markup.text(row.theme)),
        )
    )
    return Row(
        (
            f"{markup.code(row.code)}<br>{markup.badge(row.severity, _KIND[row.severity])}",
            meaning,
            _seen(row.code, machines),
            markup.sources(row.sources, row.checked),
        ),
        row.code,
        {"severity": (row.severity,), "theme": (row.theme,), "system": _systems(machines)},
    )


def _with_links(words: str) -> str:
    """The words with each other code as a link to its row."""
    shown = markup.text(words)
    for code in sorted(codes(), key=len, reverse=True):
        if len(code) > 2 and code in words:
            shown = _once(shown, code)
    return shown


def _once(shown: str, code: str) -> str:
    before, found, after = shown.partition(code)
    in_a_link = before.count("<a ") > before.count("</a>")
    in_a_word = before.endswith("-") or after.startswith("-")
    if not found or in_a_link or in_a_word:
        return shown
    return f'{before}<a href="#{code}">{markup.code(code)}</a>{after}'


def _machines(code: str) -> tuple[str, ...]:
    """The simulated machines that can have this fault."""
    return tuple(name for name, faults in _faults().items() if code in faults)


@cache
def _faults() -> dict[str, tuple[str, ...]]:
    """What each simulated machine can have: looked for once, not for every code."""
    return {name: simulate.faults(name) for name in simulate.healthy()}


def _systems(machines: tuple[str, ...]) -> tuple[str, ...]:
    words = {"windows": "Windows", "wsl": "WSL", "docker": "container", "podman": "container"}
    return tuple(dict.fromkeys(words.get(name.split("_")[0], "Linux") for name in machines))


def _seen(code: str, machines: tuple[str, ...]) -> str:
    if not machines:
        return "Named where nothing else is found."
    name = machines[0]
    diagnosis = doctor.diagnose(evidence.from_snapshot(simulate.snapshot(name, (code,))))
    finding = next((one for one in diagnosis.findings if one.code == code), None)
    if finding is None:
        return markup.NOT_ESTABLISHED
    doubt = " (likely: inferred, not seen)" if finding.confidence == "likely" else ""
    told = [
        f'<p class="lk-part"><span class="lk-label">simulated</span> {markup.text(simulate.title(name))}{doubt}</p>'
    ]
    told.append(_lines("because", [markup.code(line) for line in finding.evidence]))
    steps = _lines("what to do", [_step(line) for line in finding.fix])
    steps += _lines("then check", [_step(line) for line in finding.verify])
    return "".join(told) + markup.details("What the doctor advises", steps)


def _lines(label: str, entries: list[str]) -> str:
    if not entries:
        return ""
    return f'<div class="lk-part"><span class="lk-label">{label}</span> {markup.items(entries)}</div>'


def _step(line: str) -> str:
    words, command = command_in(line)
    return markup.text(words) + (f" {markup.code(command)}" if command else "")
