"""Lesson 11's decks of claims: to guess, to compare with the ledger and with what this machine saw, and the score."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any

from labkit.catalog.claims import THEMES, VERDICTS, Claim, chosen
from labkit.errors import LabkitError
from labkit.folklore.observation import SEEN, Outcome
from labkit.show import style
from labkit.show.controls import FRAME, bundle, guarded, told

_WIDTH = 92
_CODE = "font-family:monospace;font-size:12px;overflow-wrap:anywhere"
_CARD = "margin:0 0 8px 0;padding:2px 0 4px 10px;border-left:4px solid {}"


def verdict_of(guess: str) -> str:
    """A guess in the ledger's spelling ('wrong' becomes 'WRONG', blanks become '').

    LabkitError for a word that is no verdict.
    """
    word = str(guess).strip().upper()
    if word and word not in VERDICTS:
        raise LabkitError(f"'{guess}' is no verdict.", f"Use one of: {', '.join(VERDICTS).lower()}.")
    return word


def guess_of(guesses: Mapping[str, str], claim: Claim) -> str:
    """The verdict that was guessed for a claim; '' where none was. LabkitError as ``verdict_of``."""
    return verdict_of(guesses.get(claim.id, ""))


@dataclass(frozen=True, repr=False)
class Deck:
    """The claims of one theme, each with buttons for a guess; ``guesses`` is the learner's own dict, id -> verdict.

    ``str()`` is the same without buttons. What stands in the dict is shown, and what is chosen is written there.
    """

    title: str
    claims: tuple[Claim, ...]
    guesses: MutableMapping[str, str]

    def __str__(self) -> str:
        lines = [f"{self.title}: {len(self.claims)} claims"]
        for claim in self.claims:
            guess = guess_of(self.guesses, claim).lower()
            lines += _wrapped(f"{claim.id:<6}", claim.says + (f" Your guess: {guess}." if guess else ""))
            lines += [f"          {claim.command}"] if claim.command else []
        return "\n".join(lines)

    __repr__ = __str__

    def _still(self) -> str:
        rows = "".join(
            f"<div style='{_CARD.format(style.FAINT)}'>{_says(claim)}{self._guessed(claim)}</div>"
            for claim in self.claims
        )
        return f"<div style='{FRAME}'><b>{escape(self.title)}</b>: {len(self.claims)} claims{rows}</div>"

    def _guessed(self, claim: Claim) -> str:
        guess = guess_of(self.guesses, claim).lower()
        return f"<br>Your guess: <b>{guess}</b>" if guess else ""

    def widget(self) -> Any:
        """The ipywidgets box: each claim with a button for each verdict, and a line that says what was chosen and is open.

        Buttons and no menus: in a notebook JupyterLab takes the arrow keys that a menu needs, and leaves Tab, Space and Enter.
        The chosen button pressed again withdraws the guess.
        """
        import ipywidgets as widgets

        line = widgets.HTML(told(self._left()))

        def say(text: str) -> None:
            line.value = text

        narrow = widgets.Layout(width="auto", margin="0 4px 4px 0")
        wrapped = widgets.Layout(flex_flow="row wrap", margin="0 0 4px 10px", max_width="calc(100% - 14px)")

        def choice(claim: Claim) -> Any:
            """Single toggles: the page itself turns one off again, so the keyboard stays on it."""
            guess = guess_of(self.guesses, claim)
            row = {
                name: widgets.ToggleButton(
                    value=name == guess, description=name.lower(), tooltip=f"{claim.id}: {meaning}", layout=narrow
                )
                for name, meaning in VERDICTS.items()
            }

            def picked(name: str, change: dict[str, Any]) -> None:
                if change["new"]:
                    self.guesses[claim.id] = name  # first, so that the others go off without taking it back
                    for other, button in row.items():
                        button.value = other == name
                    say(told(f"{claim.id}: {name.lower()}. {self._left()}"))
                elif guess_of(self.guesses, claim) == name:
                    del self.guesses[claim.id]
                    say(told(f"{claim.id}: withdrawn. {self._left()}"))

            for name, button in row.items():
                button.observe(guarded(partial(picked, name), say), names="value")
            return widgets.HBox(tuple(row.values()), layout=wrapped)

        rows: list[Any] = [widgets.HTML(f"<div style='{FRAME}'><b>{escape(self.title)}</b></div>")]
        for claim in self.claims:
            rows += [widgets.HTML(f"<div style='{FRAME};padding:2px 12px'>{_says(claim)}</div>"), choice(claim)]
        return widgets.VBox([*rows, line])

    def _left(self) -> str:
        done = sum(bool(guess_of(self.guesses, claim)) for claim in self.claims)
        return f"{done} of {len(self.claims)} guessed." + ("" if done else " Guess before you run the next cell.")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(str(self), self._still(), self.widget)


def deck(theme: str, guesses: MutableMapping[str, str]) -> Deck:
    """The claims of a theme, to guess at. LabkitError for a theme or a guess that does not exist."""
    made = Deck(THEMES.get(theme, ""), chosen(theme=theme), guesses)
    for claim in made.claims:
        guess_of(guesses, claim)
    return made


@dataclass(frozen=True, repr=False)
class Answers:
    """Claims with their verdicts, the guesses, what this machine saw, and what is right with its source and day."""

    claims: tuple[Claim, ...]
    guesses: Mapping[str, str]
    seen: Mapping[str, Outcome]

    def __str__(self) -> str:
        lines: list[str] = []
        for claim in self.claims:
            lines += _wrapped(f"{claim.id:<6}", f"{claim.verdict}{self._compared(claim)} ({claim.says})")
            lines += _wrapped(" " * 6, f"Right: {claim.right}") if claim.right else []
            lines += _wrapped(" " * 6, self._machine(claim))
            lines += _wrapped(" " * 6, f"Source, {claim.checked}: {'; '.join(claim.sources)}")
        return "\n".join([*lines, *self._end()])

    __repr__ = __str__

    def _end(self) -> list[str]:
        if any(claim.id == "own" for claim in self.claims):
            return []
        given = [claim for claim in self.claims if guess_of(self.guesses, claim)]
        right = sum(guess_of(self.guesses, claim) == claim.verdict for claim in given)
        return [f"You guessed {len(given)} of {len(self.claims)}, {right} as the ledger has it."]

    def _compared(self, claim: Claim) -> str:
        guess = guess_of(self.guesses, claim)
        return "" if not guess else ", as you said" if guess == claim.verdict else f"; you said {guess}"

    def _machine(self, claim: Claim) -> str:
        outcome = self.seen.get(claim.id)
        if not claim.probe:
            return f"No probe: {claim.why_no_probe}"
        if outcome is None:
            return 'Not run in this profile: profile = "full" runs it.'
        what = outcome.observation
        if outcome.agrees is None:
            return f"Not shown on this machine: {what.evidence}"
        fits = "as the verdict says" if outcome.agrees else "NOT AS THE VERDICT SAYS"
        return f"This machine, {fits}: {SEEN[what.saw]}. {what.evidence}"

    def _repr_html_(self) -> str:
        cards = "".join(self._card(claim) for claim in self.claims)
        return f"<div style='{FRAME}'>{cards}{' '.join(self._end())}</div>"

    def _card(self, claim: Claim) -> str:
        guess = guess_of(self.guesses, claim)
        edge = style.FAINT if not guess else style.RIGHT if guess == claim.verdict else style.WRONG
        parts = [f"<b>{claim.verdict}</b>{escape(self._compared(claim))}. {_says(claim)}"]
        parts += [escape(claim.right)] if claim.right else []
        parts += [f"<i>{escape(self._machine(claim))}</i>"]
        parts += [f"<small>Source: {escape('; '.join(claim.sources))} ({claim.checked})</small>"]
        return f"<div style='{_CARD.format(edge)};overflow-wrap:anywhere'>{'<br>'.join(parts)}</div>"


def answers(theme: str, guesses: Mapping[str, str], seen: Mapping[str, Outcome]) -> Answers:
    """What is right of a theme's claims. seen: outcomes by id; a claim that has a probe and is not there was not run."""
    return Answers(chosen(theme=theme), guesses, seen)


def shown(*outcomes: Outcome) -> Answers:
    """Outcomes of probes, the ledger's or one's own, each with its verdict and evidence."""
    return Answers(tuple(one.claim for one in outcomes), {}, {one.claim.id: one for one in outcomes})


def _says(claim: Claim) -> str:
    code = f"<br><code style='{_CODE}'>{escape(claim.command)}</code>" if claim.command else ""
    return f"{escape(claim.id)}: {escape(claim.says)}{code}"


def _wrapped(first: str, text: str) -> Sequence[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=first, subsequent_indent=" " * 6, break_long_words=False, break_on_hyphens=False
    )
