"""How well the claims were guessed, theme by theme, beside what one gets who always says the same."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from labkit.catalog.claims import THEMES, Claim, chosen
from labkit.show import style
from labkit.show.folklore import guess_of
from labkit.show.picture import Picture, new_figure, table


def base_rate(claims: Sequence[Claim]) -> tuple[str, float]:
    """The commonest verdict of these claims, and the share (0 to 1) that is right for whoever always says it."""
    word, count = Counter(claim.verdict for claim in claims).most_common(1)[0]
    return word, count / len(claims)


def wilson(right: int, guessed: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a share (0 to 1). Wilson, 'Probable inference', 1927; (0, 1) without any guess."""
    if not guessed:
        return 0.0, 1.0
    share, grown = right / guessed, 1 + z * z / guessed
    middle = share + z * z / (2 * guessed)
    half = z * math.sqrt(share * (1 - share) / guessed + z * z / (4 * guessed * guessed))
    return (middle - half) / grown, (middle + half) / grown


def score(guesses: Mapping[str, str], claims: Sequence[Claim] = ()) -> Picture:
    """Right guesses per theme. ``values`` is a dict: theme -> (right, guessed, claims). claims: default all of the ledger.

    LabkitError for a guess that is no verdict.
    """
    every = tuple(claims) or chosen()
    rows: dict[str, tuple[int, int, int]] = {}
    for theme in THEMES:
        mine = [claim for claim in every if claim.theme == theme]
        given = [claim for claim in mine if guess_of(guesses, claim)]
        if mine:
            rows[theme] = (sum(guess_of(guesses, c) == c.verdict for c in given), len(given), len(mine))
    words = _sentence(guesses, every)
    listed: list[tuple[str, ...]] = [("theme", "right", "guessed", "claims")]
    listed += [(THEMES[theme], *map(str, row)) for theme, row in rows.items()]
    return Picture(_drawn(rows), f"{table(listed)}\n{words}", f"Right guesses for each theme. {words}", rows)


def _sentence(guesses: Mapping[str, str], every: Sequence[Claim]) -> str:
    given = [claim for claim in every if guess_of(guesses, claim)]
    if not given:
        word, share = base_rate(every)
        return f"No guesses, so no score. Whoever says {word} to everything is right in {share:.0%} of the {len(every)} claims."
    right = sum(guess_of(guesses, claim) == claim.verdict for claim in given)
    word, share = base_rate(given)
    low, high = wilson(right, len(given))
    told = (
        f"{right} of {len(given)} guesses are right: {right / len(given):.0%} (95 % interval {low:.0%} to {high:.0%}). Whoever "
        f"says {word} to the same claims is right in {share:.0%}. "
    )
    if low > share:
        return told + "So you knew more than that."
    if high < share:
        return told + "So that rule would have served you better."
    return told + "The interval holds that rate, so this does not tell knowledge from luck."


def _drawn(rows: Mapping[str, tuple[int, int, int]]) -> object:
    with style.look():
        figure = new_figure(7.0, 0.34 * len(rows) + 1.0)
        axes = figure.add_subplot()
        places = list(range(len(rows)))
        axes.barh(
            places, [r[2] for r in rows.values()], color="none", edgecolor=style.INK, linewidth=0.8, label="claims"
        )
        axes.barh(places, [r[1] for r in rows.values()], color=style.FAINT, height=0.55, label="guessed")
        axes.barh(places, [r[0] for r in rows.values()], color=style.RIGHT, height=0.3, label="right")
        axes.set_yticks(places, [THEMES[theme] for theme in rows])
        axes.invert_yaxis()
        axes.set_xlabel("claims")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(False, axis="y")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
