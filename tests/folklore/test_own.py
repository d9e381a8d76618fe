"""A claim of one's own: apart, bounded, and every failure is evidence instead of a crash."""

from __future__ import annotations

import os
import re
import time

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
        (answers_otherwise, "it returned bool, and no Observation"),
    ],
)
def test_a_probe_that_fails_is_broken_and_says_why(probe: object, evidence: str) -> None:
    done = own("It is so.", "true", probe)  # type: ignore[arg-type]
    assert (done.observation.saw, done.agrees, done.observation.evidence) == ("broken", None, evidence)


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
    with pytest.raises(LabkitError, match="plain values"):
        own("x", "true", says, object())
