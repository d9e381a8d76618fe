"""What a probe saw, in five words, which verdict each of them stands for, and whether a claim's own is that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from labkit.catalog.claims import Claim

# what was seen -> what that means
SEEN: Mapping[str, str] = {
    "holds": "it is so",
    "fails": "it is not so",
    "deprecated": "it works, or did, and something newer has taken its place",
    "partly": "something in it is so, and something that a reader takes from it is not",
    "open": "it comes out one way or the other with conditions that the claim does not name",
}
NOT_SEEN: Mapping[str, str] = {
    "unmet": "this machine lacks what the probe needs",
    "broken": "the probe itself came to no end",
}
# verdict -> what its probe has to see
EXPECTED: Mapping[str, str] = {
    "TRUE": "holds",
    "WRONG": "fails",
    "OUTDATED": "deprecated",
    "MISLEADING": "partly",
    "UNVERIFIABLE": "open",
}


@dataclass(frozen=True)
class Observation:
    """``saw`` is a word of SEEN (or of NOT_SEEN), ``evidence`` what was seen, quoted, for a person to read.

    Raises ValueError for another word, or without evidence.
    """

    saw: str
    evidence: str

    def __post_init__(self) -> None:
        if self.saw not in SEEN and self.saw not in NOT_SEEN:
            raise ValueError(f"'{self.saw}' is none of {', '.join([*SEEN, *NOT_SEEN])}")
        if not self.evidence.strip():
            raise ValueError("an observation without evidence")

    @property
    def holds(self) -> bool | None:
        """True where the claim was seen to hold, False where not, None for everything between and for what was not seen."""
        return {"holds": True, "fails": False}.get(self.saw)


def agrees(verdict: str, saw: str) -> bool | None:
    """Whether what was seen fits a verdict; None where nothing was seen. KeyError for a verdict that does not exist."""
    expected = EXPECTED[verdict]
    return None if saw in NOT_SEEN else saw == expected


@dataclass(frozen=True)
class Outcome:
    """What a claim's probe saw, and how long it took."""

    claim: Claim
    observation: Observation
    seconds: float

    @property
    def agrees(self) -> bool | None:
        """Whether the verdict says the same; None where nothing was seen."""
        return agrees(self.claim.verdict, self.observation.saw)
