"""What the probes of the claims saw where the site is built: looked at once, and kept until labkit, its claims or PyTorch change."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from labkit.course import files
from labkit.site import executed, freshness, private

CACHE = executed.CACHE / "claims.json"
Rows = list[dict[str, Any]]


def look() -> Rows:
    """Runs every probe, each in a process of its own; rows as ``labkit claims --run --json`` prints them."""
    from labkit.catalog.claims import chosen
    from labkit.folklore import ledger, running

    print("Running the probes of the claims, a minute or two.", flush=True)
    return ledger.as_json(chosen(), {outcome.claim.id: outcome for outcome in running.run()})


def up_to_date(
    cache: Path = CACHE, *, look_now: Callable[[], Rows] = look, installed: Mapping[str, str] | None = None
) -> tuple[dict[str, dict[str, Any]], str]:
    """What was seen, by a claim's id, and one sentence on when and with what; probes run only where something changed.

    Args:
        cache: the file that this function keeps.
        look_now: runs the probes.
        installed: versions of what results depend on (default: ``freshness.versions``).

    Raises:
        LabkitError: the cache cannot be written.
    """
    installed = freshness.versions() if installed is None else installed
    key = freshness.key_of_labkit(installed)
    try:
        record = json.loads(cache.read_text(encoding="utf-8"))
        if record["key"] == key:
            return {row["id"]: row for row in record["rows"]}, str(record["when"])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # whatever is wrong with it, looking again mends it
    rows = private.hide(look_now(), private.folders())
    now = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    when = f"on {now} with torch {installed.get('torch')} on a {installed.get('machine')} machine"
    files.write_text(cache, json.dumps({"key": key, "when": when, "rows": rows}, indent=1) + "\n")
    return {row["id"]: row for row in rows}, when
