"""A claim of one's own: apart, bounded, and every failure is evidence instead of a crash."""

from __future__ import annotations

import os
import re
import time
import tracemalloc

import pytest

from labkit.errors import LabkitError
from labkit.folklore.observation import Observation
from labkit.folklore.own import own


def says(word: str) -> Observation:
    return Observation(word, f"asked for {word}")


def process() -> Observation:
    import os

    os.environ["LABKIT_OWN"] = "there"
    return Observation("holds", f"process {os.getpid()} ends here")


def sleeps() -> Observation:
    import time

    time.sleep(60)
    return Observation("holds", "awake")


def stops() -> Observation:
    raise AttributeError("there is no hip")


def ends() -> Observation:
    import os

    print("the last words", flush=True)
    os._exit(3)


def answers_otherwise() -> Observation:
    return True  # type: ignore[return-value]


def leaves() -> Observation:
    import sys

    sys.exit(2)


def needs_what_is_outside() -> Observation:
    return says("holds")


def counts() -> Observation:
    return Observation("holds", 3)  # type: ignore[arg-type]


def tells_much() -> Observation:
    return Observation("holds", "y" * 100_000)


def prints_much() -> Observation:
    for _ in range(40):
        print("x" * 65_536)
    return Observation("holds", "after much")


def prints_for_ever() -> Observation:
    while True:
        print("x" * 65_536)


def prints() -> Observation:
    print("labkit-probe: no JSON")
    return Observation("holds", "after a line")


@pytest.mark.parametrize(
    ("verdict", "word", "fits"),
    [("true", "holds", True), ("WRONG", "holds", False), ("wrong", "fails", True), ("outdated", "deprecated", True)],
)
def test_it_is_set_against_the_verdict(verdict: str, word: str, fits: bool) -> None:
    done = own("It is so.", verdict, says, word)
    assert (done.agrees, done.observation.evidence) == (fits, f"asked for {word}")


def test_it_runs_in_another_process_and_leaves_nothing() -> None:
    seen = own("It is so.", "true", process).observation
    assert (
        seen.saw == "holds"
        and str(os.getpid()) not in re.findall(r"\d+", seen.evidence)
        and "LABKIT_OWN" not in os.environ
    )


@pytest.mark.parametrize(
    ("probe", "evidence"),
    [
        (stops, "AttributeError: there is no hip"),
        (ends, "it ended without a word: the last words"),
        (answers_otherwise, "it returned bool, and no Observation; end it with return Observation(word, evidence)"),
        (leaves, "SystemExit: 2"),
        (
            needs_what_is_outside,
            "NameError: name 'says' is not defined. A probe runs alone: import and define inside it what it uses",
        ),
    ],
)
def test_a_probe_that_fails_is_broken_and_says_why(probe: object, evidence: str) -> None:
    done = own("It is so.", "true", probe)  # type: ignore[arg-type]
    assert (done.observation.saw, done.agrees, done.observation.evidence) == ("broken", None, evidence)


def test_its_evidence_is_short_whatever_it_is() -> None:
    assert own("It is so.", "true", counts).observation == Observation("holds", "3")
    long = own("It is so.", "true", tells_much).observation.evidence
    assert long.endswith("y ... (100,000 characters)") and len(long) < 600


def test_much_output_hides_no_answer_and_is_not_kept() -> None:
    """2.6 MB are printed before the answer; what prints without end is cut off by its time, and no memory grows."""
    assert own("It is so.", "true", prints_much).observation == Observation("holds", "after much")
    tracemalloc.start()
    try:
        done = own("It is so.", "true", prints_for_ever, seconds=2)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "longer than 2 s" in done.observation.evidence and most < 8_000_000


def test_one_that_takes_long_is_ended() -> None:
    begin = time.monotonic()
    done = own("It is so.", "true", sleeps, seconds=1.5)
    assert done.observation.saw == "broken" and "longer than 1.5 s" in done.observation.evidence
    assert time.monotonic() - begin < 30


def test_what_cannot_be_run_is_said_at_once() -> None:
    with pytest.raises(LabkitError, match="no verdict 'maybe'"):
        own("x", "maybe", says, "holds")
    with pytest.raises(LabkitError, match="text of this probe"):
        own("x", "true", lambda: Observation("holds", "x"))
    with pytest.raises(LabkitError, match="without brackets"):
        own("x", "true", says("holds"))  # type: ignore[arg-type]
    with pytest.raises(LabkitError, match="plain values"):
        own("x", "true", says, object())
