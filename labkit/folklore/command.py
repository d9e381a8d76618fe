"""``labkit claims``: prints the ledger, and with ``--run`` what this machine shows of it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence

from labkit.catalog.claims import chosen
from labkit.folklore import ledger
from labkit.folklore.observation import Outcome


def main(ids: Sequence[str], *, theme: str | None, probes: bool, as_json: bool) -> int:
    """Prints the claims (ids may stand in one word with commas); returns 1 where a probe saw something else than the verdict says, else 0.

    LabkitError for an unknown id or theme.
    """
    wanted = chosen([part for word in ids for part in word.rstrip(",").split(",")], theme)
    outcomes = None
    if probes:
        from labkit.folklore.running import run

        count = sum(bool(claim.probe) for claim in wanted)

        def told(outcome: Outcome) -> None:
            nonlocal count
            count -= 1
            if sys.stderr.isatty():
                print(f"\r{count} probes to go   ", end="\n" if not count else "", file=sys.stderr, flush=True)

        outcomes = (
            {outcome.claim.id: outcome for outcome in run([claim.id for claim in wanted], told=told)} if wanted else {}
        )
    if as_json:
        print(json.dumps(ledger.as_json(wanted, outcomes), indent=1, ensure_ascii=False))
    else:
        print(ledger.as_text(wanted, outcomes, width=min(100, max(60, shutil.get_terminal_size((96, 24)).columns))))
    return 1 if any(outcome.agrees is False for outcome in (outcomes or {}).values()) else 0
