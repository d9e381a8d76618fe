from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from labkit.errors import LabkitError
from labkit.timing import compare
from labkit.timing.contrast import Contrast


def test_a_difference_is_called_with_its_size(clock: Any) -> None:
    c = compare({"first": clock.work(2e-3), "second": clock.work(2.1e-3)}, stopwatch=clock.stopwatch())
    (told,) = c.contrasts
    assert told.decision == "slower" and told.ratio == pytest.approx(1.05)
    assert "second takes 5.0 % more time than first" in c.verdict
    assert clock.now < 1.5


def test_equal_functions_show_no_difference(clock: Any) -> None:
    c = compare({"a": clock.work(2e-3), "b": clock.work(2e-3)}, stopwatch=clock.stopwatch())
    assert c.contrasts[0].decision == "no difference shown" and "no difference shown" in str(c)


def test_large_factors_are_told_as_factors(clock: Any) -> None:
    c = compare({"slow": clock.work(26e-3), "fast": clock.work(2e-3)}, stopwatch=clock.stopwatch())
    assert "fast is 13.0 times as fast as slow" in c.verdict and c.contrasts[0].speedup == pytest.approx(13)
    assert c.ratio("slow", "fast").ratio == pytest.approx(13) and c.ratio("slow", "fast").decision == "slower"


def test_drift_hits_all_functions_alike(clock: Any) -> None:
    random_waits = random.Random(1)

    def drifting(own: float) -> Callable[[], None]:
        def function() -> None:
            clock.now += own * (1 + clock.now)  # twice as slow after a second
            clock.used += own
            clock.now += 0.01 if random_waits.random() < 0.1 else 0

        return function

    c = compare({"a": drifting(2e-3), "b": drifting(2e-3), "c": drifting(3e-3)}, stopwatch=clock.stopwatch())
    assert c.contrasts[0].decision in ("no difference shown", "inconclusive")
    assert c.ratio("c").decision == "slower" and c.ratio("c").ratio == pytest.approx(1.5, rel=0.02)


def test_a_busy_neighbour_makes_it_inconclusive(clock: Any) -> None:
    waits = random.Random(2)
    stolen = (0.0035 * (waits.random() < 0.6) for _ in itertools.count())
    c = compare(
        {"a": clock.work(1e-3, stolen=stolen), "b": clock.work(1e-3, stolen=stolen)}, stopwatch=clock.stopwatch()
    )
    assert c.contrasts[0].decision == "inconclusive" and c.stolen > 0.3 and "other processes" in str(c)


def test_order_is_random_in_each_round_and_repeatable(clock: Any) -> None:
    def order(seed: int) -> list[str]:
        fresh = clock.fresh()
        seen: list[str] = []
        work = fresh.work(2e-3)

        def named(name: str) -> Callable[[], None]:
            def function() -> None:
                seen.append(name)
                work()

            return function

        c = compare({"a": named("a"), "b": named("b")}, seconds=0.4, seed=seed, stopwatch=fresh.stopwatch())
        return seen[-2 * c.pairs :]

    once = order(0)
    rounds = list(zip(once[::2], once[1::2], strict=True))
    assert {frozenset(r) for r in rounds} == {frozenset("ab")} and {("a", "b"), ("b", "a")} <= set(rounds)
    assert once == order(0) != order(1)


def test_long_functions_get_the_rounds_that_a_verdict_needs_within_three_times_the_budget(clock: Any) -> None:
    c = compare({"a": clock.work(0.1), "b": clock.work(0.13)}, seconds=1.0, stopwatch=clock.stopwatch())
    assert c.pairs == 9 and c.contrasts[0].decision == "slower"
    clock = clock.fresh()
    c = compare({"a": clock.work(2.0), "b": clock.work(4.0)}, seconds=1.0, stopwatch=clock.stopwatch())
    assert c.pairs == 1 and c.contrasts[0].decision == "inconclusive" and "too few" in c.verdict


def test_another_baseline_may_be_named(clock: Any) -> None:
    c = compare({"a": clock.work(2e-3), "b": clock.work(4e-3)}, baseline="b", stopwatch=clock.stopwatch())
    assert (
        c.baseline == "b"
        and [contrast.name for contrast in c.contrasts] == ["a"]
        and c.contrasts[0].decision == "faster"
    )


def test_it_reads_well_draws_and_turns_into_json(clock: Any) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    c = compare(
        {"one": clock.work(2e-3), "<two>": clock.work(3e-3), "three": clock.work(2e-3)}, stopwatch=clock.stopwatch()
    )
    assert "1 (baseline)" in str(c) and f"{c.pairs} rounds" in str(c) and c.conditions.machine in str(c)
    assert "&lt;two&gt;" in c._repr_html_() and "<two>" not in c._repr_html_()
    told = json.loads(c.to_json())
    assert [m["name"] for m in told["measurements"]] == ["one", "<two>", "three"] and told["contrasts"][0][
        "ratio"
    ] == pytest.approx(1.5)
    ax = c.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["<two>", "three"]
    matplotlib.pyplot.close("all")
    assert (
        compare({"a": clock.work(2e-3), "b": clock.work(90e-3)}, stopwatch=clock.stopwatch()).plot().get_xscale()
        == "log"
    )
    matplotlib.pyplot.close("all")


def test_misuse_is_told_in_a_sentence(clock: Any) -> None:
    with pytest.raises(LabkitError, match="at least two"):
        compare({"only": lambda: None})
    with pytest.raises(LabkitError, match="not among"):
        compare({"a": lambda: None, "b": lambda: None}, baseline="c")
    with pytest.raises(LabkitError, match="positive"):
        compare({"a": lambda: None, "b": lambda: None}, seconds=0)
    c = compare({"a": clock.work(2e-3), "b": clock.work(2e-3)}, stopwatch=clock.stopwatch())
    with pytest.raises(LabkitError, match="Nothing called 'c'"):
        c.ratio("c")


@pytest.mark.parametrize(
    ("decision", "ratio", "words"),
    [
        ("faster", 0.95, "takes 5.0 % less time than"),
        ("faster", 0.1, "10.0 times as fast as"),
        ("slower", 1.03, "takes 3.0 % more time than"),
        ("slower", 4.0, "takes 4.00 times as long as"),
        (
            "no difference shown",
            1.0,
            "a against b (ratio of times 1.00, 95 % interval 0.990 to 1.01): no difference shown; why",
        ),
        ("inconclusive", 1.4, "a against b (ratio of times 1.40, 95 % interval 1.39 to 1.41): inconclusive; why"),
    ],
)
def test_the_sentences(decision: str, ratio: float, words: str) -> None:
    told = str(Contrast("a", "b", ratio, 0.99 * ratio, 1.01 * ratio, 50, decision, "why"))  # type: ignore[arg-type]
    assert words in told


def test_a_ratio_and_its_interval_point_one_way_in_everything_that_is_shown(clock: Any) -> None:
    """A speed-up may be named in words, but no interval of it stands beside the interval of the ratio."""
    c = compare({"slow": clock.work(26e-3), "fast": clock.work(2e-3)}, stopwatch=clock.stopwatch())
    for shown in (str(c), c._repr_html_()):
        assert "ratio of times 0.0769, 95 % interval 0.0769 to 0.0769" in shown and "13.0 to 13.0" not in shown
        assert "median of the rounds" in shown and "ratio of the two medians" in shown


def test_a_name_of_several_words_reads_as_english(clock: Any) -> None:
    import matplotlib.pyplot as plt

    c = compare({"places of their own": clock.work(2e-3), "one block": clock.work(2e-3)}, stopwatch=clock.stopwatch())
    axes = c.plot()
    for text in (str(c), c._repr_html_(), axes.get_xlabel()):
        assert "that of places of their own" in text and "own's" not in text
    plt.close(axes.figure)
