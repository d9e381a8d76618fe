"""What a learner chooses before their server starts, as JupyterHub shows it."""

from __future__ import annotations

import html

from labkit.workshop.hub.consent import ANSWERS
from labkit.workshop.hub.gpus import PRETENDED
from labkit.workshop.hub.leases import Table


def form(table: Table, answer: str, *, pretended: bool) -> str:
    """The fields of the form, as HTML.

    answer: of ``ANSWERS``, what the learner said the last time. pretended: the GPUs do not exist.
    """
    choices = "".join(
        f'<option value="{value}"{" selected" if value == answer else ""}>{html.escape(words)}</option>'
        for value, words in ANSWERS.items()
    )
    return f"""{_gpu(table, pretended)}
<label for="progress">May the teacher see which exercises I have passed?</label>
<select class="form-control" id="progress" name="progress">{choices}</select>
<p>Exercises, tries and days; nothing that you wrote. You can choose anew each time you start.</p>"""


def _gpu(table: Table, pretended: bool) -> str:
    if not table.gpus:
        return "<p>This machine has no GPU to lend: the lessons run on its CPU.</p>"
    free = table.free()
    places = f"{free} of {len(table.gpus) * table.share} places on GPUs are free now{PRETENDED if pretended else ''}."
    return f"""<label for="gpu">Run on</label>
<select class="form-control" id="gpu" name="gpu">
<option value="gpu"{" selected" if free else ""}>a GPU of my own</option>
<option value="cpu"{"" if free else " selected"}>CPU only</option></select>
<p>{places} The lessons work on a CPU too. Stop your server when you leave: the next one gets your GPU.</p>"""
