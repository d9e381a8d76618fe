"""Lesson 05: what it claims is what its run shows."""

from __future__ import annotations

import re
from typing import Any

import pytest

from labkit.course import table
from tests.notebooks.outputs import cells, numbers, until, words_of_figures

pytestmark = [pytest.mark.notebooks, pytest.mark.timeout(900)]

LESSON = table.find("05")


def test_it_says_how_memory_is_counted_here(text: str) -> None:
    assert ("a **simulation** of one" in text) == ("runs on **cpu**" in text)


def test_the_prediction_agrees_with_the_count_to_the_byte(text: str) -> None:
    told, counted = numbers(r"Predicted \*\*([\d,]+)\*\* bytes, counted \*\*([\d,]+)\*\*", text)
    assert told == counted > 1e6 and "Every part equal to the byte: **True**" in text


def test_memory_grows_with_the_batch(text: str) -> None:
    off, twice, peak = numbers(
        r"differ by \*\*([\d.]+)%\*\* at most\. Twice the batch: \*\*([\d.]+) times\*\* .+ is \*\*([\d.]+) times\*\*",
        text,
    )
    assert twice == pytest.approx(2, abs=0.02) and peak >= 1
    if "runs on **cpu**" in text:
        assert off == 0 and peak < 1.5


def test_the_peak_is_at_the_turn_and_the_first_step_leaves_the_state(text: str) -> None:
    found = re.search(r"is in use during \*\*(\w+)\*\*\.", text)
    assert found and found[1] in ("forward", "backward")
    left = re.search(r"step of all leaves \*\*([\d.]+) (\w+)\*\* behind, a later one ([\d.]+) B", text)
    assert left and float(left[1]) > 0 and left[3] == "0"


def test_foreach_needs_room_for_all_parameters(text: str) -> None:
    foreach, loop, fused = numbers(
        r"`foreach` needs \*\*([\d.]+) times\*\* the weights while it runs, the loop ([\d.]+), the fused kernel ([\d.]+)\.",
        text,
    )
    assert foreach >= 0.9 > 0.5 > loop >= fused
    if "runs on **cpu**" in text:  # there foreach is not what one had before
        less = numbers(
            r"fused=True +([\d.]+) times the weights less during step\(\) than the loop, the default here", text
        )
        assert less[0] == pytest.approx(loop - fused, abs=0.11), "both were rounded"
        assert "foreach=False or fused=True" not in text


def test_the_copied_snippet_is_wrong_and_weights_mend_it(text: str) -> None:
    wrong, right = numbers(
        r"mean of means is \*\*([\d.]+)%\*\* off; weighted by examples it is off by \*\*([\d.e-]+)\*\*", text
    )
    assert wrong > 1 and right < 1e-4
    assert "4 per step: 2 steps\nso 2 micro-batches taught nothing" in text


def test_portions_save_memory_and_batch_norm_is_not_exact_in_them(text: str) -> None:
    batch, group = numbers(r"batch norm \*\*([\d.]+)%\*\* apart, group norm ([\d.e-]+) of its length", text)
    assert batch >= 1 and group < 1e-3
    assert numbers(r"accumulated +peak (\d+)% lower", text)[0] > 50


def test_checkpointing_trades_time_for_memory(text: str) -> None:
    before, after = numbers(r"peak falls from ([\d.]+) to \*\*([\d.]+) MiB\*\*", text)
    assert after < 0.7 * before and "are the same as with none: True" in text
    ratio, low, high = numbers(
        r"takes \*\*([\d.]+) times\*\* as long \(95 % interval ([\d.]+) to ([\d.]+)\); (?:so this run shows|still, this)",
        text,
    )
    assert low <= ratio <= high
    if "runs on **cpu**" in text:
        assert "to the last bit, on cpu: True" in text
    assert "use_reentrant=False:   the output has a gradient: True" in text


def test_fragmentation_is_made_and_empty_cache_does_not_mend_it(text: str) -> None:
    assert "Given back: **0 B** of" in text
    for answer in ("shapes_change, fixed; 55 MiB more: out of memory", "shapes_change, expandable; 55 MiB more: fits",
                   "pieces_between, fixed; 70 MiB more: out of memory",
                   "pieces_between, expandable; 70 MiB more: out of memory"):  # fmt: skip
        assert answer in text


def test_everything_simulated_is_called_so(notebook: dict[str, Any], text: str) -> None:
    maps = [line for line in text.splitlines() if line.startswith(("Segments and blocks", "Four states"))]
    assert len(maps) == 2 and maps[1].endswith("(simulation)")
    assert maps[0].endswith("(simulation)") == ("runs on **cpu**" in text)
    alts = words_of_figures(notebook)
    assert len(alts) >= 9 and all(alts)


def test_the_line_and_the_search_agree(text: str) -> None:
    line, found = numbers(r"straight line said \*\*(\d+)\*\*, the search found \*\*(\d+)\*\*", text)
    assert found % 8 == 0 and abs(line - found) <= max(8, 0.15 * found)


def test_real_messages_are_read_and_their_source_is_named(text: str) -> None:
    for source in ("ROCm/TheRock#1054", "pytorch/pytorch#138002", "ROCm/TheRock#2396"):
        assert source in text
    assert "expandable_segments:True before Python starts" in text and "another process" in text


def test_it_claims_nothing_for_rocm_that_nobody_ran() -> None:
    source = "\n".join("".join(cell["source"]) for cell in cells(LESSON))
    assert "not yet verified on ROCm" in source and "torchvision" not in source


def test_the_exercises_stay_open_in_the_course_s_run(text: str) -> None:
    assert len(re.findall(r"^TODO \w+: not started", text, re.MULTILINE)) == 6
    assert "0 of 8 passed" in text


@pytest.mark.parametrize(
    "wrong", [{"profile": "fast"}, {"channels": 6}, {"batch_size": 2}, {"blocks": 0}, {"budget_mib": 0}, {"width": -1}]
)
def test_a_parameter_that_cannot_be_is_named_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match=next(iter(wrong))):
        until(LESSON, "labkit.device()", **wrong)


def test_the_cells_about_fragments_can_run_twice() -> None:
    marked = ("def take(name, mib)", "for k in range(6):\n    take(", "def totals():")
    found = [code for c in cells(LESSON) if any(mark in (code := "".join(c["source"])) for mark in marked)]
    names = until(LESSON, "MIB = 2**20")
    exec(compile(found[0], "<lesson 05>", "exec"), names)
    told = []
    for code in found[1:] * 3:
        exec(compile(code, "<lesson 05>", "exec"), names)
        told.append(sum(segment.allocated for segment in names["held"]()))
    assert len(found) == 3 and told[:2] == told[2:4] == told[4:]
