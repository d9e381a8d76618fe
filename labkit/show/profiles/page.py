"""The one-page answer as a page: one HTML file with the sentence, its evidence and the pictures. It asks no network."""

from __future__ import annotations

import base64
import html
from collections.abc import Callable
from pathlib import Path

from labkit.errors import LabkitError
from labkit.profile import page as text
from labkit.profile.diagnosis import Diagnosis, counted
from labkit.profile.diagnosis_evidence import Evidence
from labkit.profile.table import Profile
from labkit.show import style
from labkit.show.picture import Picture
from labkit.show.profiles.compare import compare
from labkit.show.profiles.gaps import gaps
from labkit.show.profiles.kernels import kernels
from labkit.show.profiles.roofline import roofline
from labkit.show.profiles.timeline import timeline

_STYLE = f"""
:root {{ color-scheme: light dark; --ground: #ffffff; --ink: {style.INK}; --quiet: #5a5a5a; --line: #d0d0d0; --mark: {style.BLUE}; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ground: #16181b; --ink: #e8e8e8; --quiet: #b0b0b0; --line: #4a4d52; --mark: #6fb8e8; }}
}}
* {{ box-sizing: border-box; }}
body {{ margin: 0 auto; padding: 1.2rem 1rem 3rem; max-width: 50rem; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }}
h1 {{ font-size: 1.45rem; line-height: 1.3; margin: .4rem 0 .8rem; }}
h2 {{ font-size: 1.1rem; margin: 2rem 0 .5rem; }}
p.from {{ color: var(--quiet); margin: 0; font-size: .9rem; }}
p.simulated {{ border: 2px solid var(--mark); padding: .4rem .8rem; font-weight: bold; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; width: 100%; }}
td, th {{ text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line); }}
td {{ overflow-wrap: break-word; }}
td.number {{ font-variant-numeric: tabular-nums; font-weight: bold; }}
td.rows {{ color: var(--quiet); font-size: .85rem; }}
figure {{ margin: 0; }}
figure img {{ display: block; width: 100%; max-width: 46rem; height: auto; background: {style.BACKGROUND}; border-radius: 4px; }}
pre {{ overflow-x: auto; font: .8rem/1.4 ui-monospace, monospace; border: 1px solid var(--line); padding: .6rem; overflow-wrap: normal; }}
summary {{ cursor: pointer; padding: .2rem 0; color: var(--quiet); }}
figure img {{ min-width: 28rem; }}  /* narrower still, it is scrolled */
@media print {{
  :root {{ --ground: #ffffff; --ink: #000000; --quiet: #444444; --line: #bbbbbb; --mark: {style.BLUE}; }}
  body {{ max-width: none; }} figure, table {{ break-inside: avoid; }} details > summary {{ display: none; }}
  figure img {{ width: 100% !important; }} h2 {{ break-after: avoid; }}
}}
"""


def write(
    profile: Profile, diagnosis: Diagnosis, path: str | Path, *, before: Profile | None = None, gpu: str | None = None
) -> Path:
    """Writes the page of a profile to ``path`` and gives it; the file appears whole or not at all.

    before: an earlier profile of the same program, to compare with. gpu: the product, for the roofline. Raises LabkitError
    where the file cannot be written.
    """
    target = Path(path)
    _may_be_replaced(target)
    made = as_html(profile, diagnosis, before=before, gpu=gpu)
    draft = target.with_name(target.name + ".part")
    try:
        draft.write_text(made, encoding="utf-8")
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise LabkitError(f"{target} cannot be written: {error.strerror or error}.", "Choose another place.") from error
    return target


def _may_be_replaced(target: Path) -> None:
    """Raises LabkitError where the page would take the place of something that is no page: a recording, a device."""
    try:
        if not target.exists() or target.is_dir():  # a folder is refused by the system itself
            return
        with_page = False
        if target.is_file():
            with target.open("rb") as file:
                head = file.read(64).lstrip().lower()
            with_page = not head or head.startswith((b"<!doctype html", b"<html"))
    except OSError as error:
        raise LabkitError(f"{target} cannot be written: {error.strerror or error}.", "Choose another place.") from error
    if not with_page:
        raise LabkitError(
            f"{target} exists and is no HTML page: it is left as it is.", "Choose another name for the page."
        )


def as_html(profile: Profile, diagnosis: Diagnosis, *, before: Profile | None = None, gpu: str | None = None) -> str:
    """The page as text."""
    names = ", ".join(profile.sources[:3]) + (" and more" if len(profile.sources) > 3 else "") or "profile"
    tool = " ".join(part for part in (profile.tool, profile.version) if part)
    gpus = ", ".join(dict.fromkeys(d.name or d.gfx or f"device {d.index}" for d in profile.devices))
    parts = [
        f'<p class="from">{_safe(names)}: {_safe(profile.kind)}, written by {_safe(tool)}'
        f"{'; ' + _safe(gpus) if gpus else ''}</p>",
        '<p class="simulated">SIMULATED: no GPU made this profile.</p>' if profile.simulated else "",
        f"<h1>{_safe(diagnosis.sentence)}</h1>",
        _evidence(diagnosis),
        _list("What to do", diagnosis.advice),
        _list("What else stands out", diagnosis.observations),
    ]
    pictures: list[tuple[str, Callable[[], Picture]]] = [
        ("What ran when", lambda: timeline(profile)),
        ("Where the time goes", lambda: kernels(profile)),
        *([] if counted(profile) else [("Why the GPU was idle", lambda: gaps(profile))]),
        ("How far from the roof", lambda: roofline(profile, gpu)),
    ]
    if before is not None:
        earlier = before
        pictures.insert(0, ("Before and after", lambda: compare(earlier, profile)))
    parts += [_section(title, make()) for title, make in pictures]
    words = text.as_text(profile, diagnosis, before, gpu)
    parts.append(f'<h2>The same as text</h2><pre tabindex="0">{_safe(words)}</pre>')
    body = "\n".join(part for part in parts if part)
    title = ("SIMULATED: " if profile.simulated else "") + f"Profile of {names}"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_safe(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _safe(words: str) -> str:
    """For HTML; letters that UTF-8 cannot hold, which file names may contain, become question marks."""
    return html.escape(words.encode("utf-8", "replace").decode("utf-8"))


def _amount(item: Evidence) -> str:
    if item.unit.startswith("share"):
        return f"{100 * item.value:.1f}\N{NO-BREAK SPACE}%{item.unit.removeprefix('share')}"
    return f"{item.value:.3g}\N{NO-BREAK SPACE}{item.unit}"


def _evidence(found: Diagnosis) -> str:
    rows = "\n".join(
        f'<tr><td class="number">{_safe(_amount(item))}</td><td>{_safe(item.what)}</td><td class="rows">{_safe(item.rows)}</td></tr>'
        for item in found.evidence
    )
    head = '<tr><th scope="col">how much</th><th scope="col">of what</th><th scope="col">counted from</th></tr>'
    if not rows:
        return ""
    return f'<h2>Evidence</h2>\n<div class="wide" role="region" aria-label="Evidence" tabindex="0"><table>{head}\n{rows}</table></div>'


def _list(title: str, lines: tuple[str, ...]) -> str:
    if not lines:
        return ""
    items = "\n".join(f"<li>{_safe(line)}</li>" for line in lines)
    return f"<h2>{title}</h2>\n<ul>\n{items}\n</ul>"


def _section(title: str, picture: Picture) -> str:
    """A picture with its alternative text, and its numbers below it for those who want them; words where nothing is drawn."""
    if picture.values is None:
        return f"<h2>{title}</h2>\n<p>{_safe(picture.text.partition(chr(10))[2])}</p>"
    image = base64.b64encode(picture.png()).decode("ascii")
    return (
        f'<h2>{title}</h2>\n<div class="wide" role="region" aria-label="{title}" tabindex="0"><figure>'
        f'<img alt="{_safe(picture.alt)}" src="data:image/png;base64,{image}"></figure></div>\n'
        f'<details><summary>In numbers</summary><pre tabindex="0">{_safe(picture.text)}</pre></details>'
    )
