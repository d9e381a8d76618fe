"""What probes saw is looked at once, and again where labkit or PyTorch changed. No probe runs here: a fake counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labkit.site import freshness, observed

INSTALLED = {"torch": "2.14.1", "machine": "Linux x86_64"}


class Fake:
    """Stands for all probes."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> list[dict[str, Any]]:
        self.calls += 1
        return [{"id": "1.1", "saw": "holds", "evidence": f"in {Path.home()}/x", "agrees": True}]


def test_probes_run_once_and_again_for_another_pytorch_or_a_damaged_cache(tmp_path: Path) -> None:
    fake, cache = Fake(), tmp_path / "kept" / "claims.json"
    rows, when = observed.up_to_date(cache, look_now=fake, installed=INSTALLED)
    assert rows["1.1"]["saw"] == "holds" and when.endswith("UTC with torch 2.14.1 on a Linux x86_64 machine")
    assert str(Path.home()) not in str(rows)
    assert observed.up_to_date(cache, look_now=fake, installed=INSTALLED) == (rows, when) and fake.calls == 1
    observed.up_to_date(cache, look_now=fake, installed={**INSTALLED, "torch": "2.15"})
    assert fake.calls == 2
    cache.write_text("[]", encoding="utf-8")
    observed.up_to_date(cache, look_now=fake, installed=INSTALLED)
    assert fake.calls == 3


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("labkit/folklore/probes/one.py", True),
        ("labkit/catalog/claims.json", True),
        ("labkit/learn/exercises/first/quizzes.py", False),
        ("labkit/site/page.py", False),
        ("notebooks/00_first.ipynb", False),
    ],
)
def test_only_what_a_probe_can_reach_makes_it_run_again(tmp_path: Path, file: str, counts: bool) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text("one", encoding="utf-8")
    before = freshness.key_of_labkit(INSTALLED, tmp_path)
    path.write_text("two", encoding="utf-8")
    assert (freshness.key_of_labkit(INSTALLED, tmp_path) != before) is counts
