"""Lesson 03: what it claims is what its run shows."""

from __future__ import annotations

import re
from typing import Any

import pytest

from labkit.course import table
from tests.notebooks.outputs import cells, words_of_figures

pytestmark = [pytest.mark.notebooks, pytest.mark.timeout(900)]

LESSON = table.find("03")


def _source() -> str:
    return "\n".join("".join(cell["source"]) for cell in cells(LESSON))


def test_the_guess_stands_beside_a_measurement_with_its_interval(text: str) -> None:
    found = re.search(r"default guess was 0\.7 times; measured ([\d.]+) times \(([\d.]+) to ([\d.]+)\)", text)
    assert found and float(found[2]) <= float(found[1]) <= float(found[3])
    assert re.search(r"default guess was 5 %; measured [\d.]+ %", text)


def test_it_says_what_the_device_can_do_and_a_cpu_is_called_one(text: str) -> None:
    for dtype in ("bfloat16", "float16"):
        assert re.search(rf"^{dtype} +(native|emulated|unknown) +.+", text, re.MULTILINE)
    on_cpu = "this lesson runs on: cpu" in text
    assert ("This is a CPU. What it says about speed is true for this CPU" in text) == on_cpu
    if on_cpu:
        assert re.search(r"TF32 +not run .+no TF32 here: ", text)
    assert re.search(r"torch\.compile +not run .+use_compile is False", text)


def test_every_configuration_that_ran_has_speed_memory_and_accuracy(text: str) -> None:
    table = text.partition("Measured on")[2].partition("equal to the byte")[0]
    row = r" +[\d.]+ +[\d.]+ \([\d.]+ to [\d.]+\) +[\d.]+ +[\d.]+ \([\d.]+ to [\d.]+\) +(faster|slower|inconclusive|no difference)"
    for name in ("bfloat16", "float16", r"float16 \+ GradScaler", r"b?float16 \+ channels_last"):
        assert re.search(rf"^{name}{row}", table, re.MULTILINE), name
    assert re.search(r"^float32 +[\d.]+ +1 +[\d.]+ +.+the baseline", table, re.MULTILINE)
    for name in ("bfloat16", "float16"):
        peaks = [float(re.search(rf"^{which} +[\d.]+ .*?\)? +([\d.]+) +[\d.]+ \(", table, re.MULTILINE)[1])  # type: ignore[index]
                 for which in (name, "float32")]  # fmt: skip
        assert peaks[0] < peaks[1]


def test_the_verdict_repeats_the_table_and_calls_nothing_accurate_that_is_not(text: str) -> None:
    for name in ("bfloat16", "float16 + GradScaler"):
        plain = re.escape(name)
        said = re.search(
            rf"\*\*{plain}\*\* (is [\d.]+ to [\d.]+ times as fast as|takes [\d.e+]+ to [\d.e+]+ times as long as|took [\d.e+]+ to "
            r"[\d.e+]+ times) float32.+, and (is as accurate, as far as 3 seeds can tell|is less accurate: .+?|may be less accurate: .+?) "
            r"\(([+-][\d.]+) points on average, float32's own seeds lie ([\d.]+) apart\)",
            text,
        )
        assert said, name
        lost = -float(said[3]) - float(said[4])  # beyond float32's own spread
        assert abs(lost) <= 0.1 or said[2].startswith("is as accurate") == (lost <= 0)
        decision = re.search(
            rf"^{plain} .+(faster|slower|inconclusive|no difference)", text.partition("Measured on")[2], re.M
        )
        assert decision and (said[1][:2] == "is") == (decision[1] == "faster")
        assert (said[1][:5] == "takes") == (decision[1] == "slower")


def test_fp8_is_two_families_and_the_sentences_say_what_the_table_shows(text: str) -> None:
    assert "read as OCP:  [1.0, -0.5, 12.0]" in text and "read as FNUZ: [0.5, -0.25, 6.0]" in text
    rows = dict(re.findall(r"^(float8_\w+) +(.+)$", text, re.MULTILINE))
    assert len(rows) == 4
    kept = text.partition("stays at the largest number, without a word, in:")[2].partition("It becomes NaN in:")
    nan = kept[2].partition(".")[0]
    odd = text.partition("differs from the step in the bits for:")[2].partition("When in doubt")[0]
    for name, row in rows.items():
        cells = row.split()
        assert (cells[5] == cells[0]) == (name in re.split(r"[ ,.]+", kept[0]))
        assert (cells[5] == "nan") == (name in re.split(r"[ ,]+", nan))
        assert (cells[1] != cells[2]) == (f"`{name}`" in odd)


def test_the_sweep_over_sizes_says_from_where_it_pays(text: str) -> None:
    assert re.search(r"^bfloat16: (5|6) points, from [\d.e-]+ to", text.partition("Matrix products")[2], re.MULTILINE)
    said = text.partition("line at 1 = as fast")[2]
    for name in ("bfloat16", "float16"):
        assert re.search(
            rf"\*\*{name}\*\*: (faster than float32 from n = \*\*\d+\*\* on|not shown to be faster at n = \d+)", said
        )


def test_float16_loses_gradients_and_scaling_saves_them(text: str) -> None:
    lost, scaled, bfloat16 = map(
        int,
        re.search(  # type: ignore[union-attr]
            r"\*\*(\d+)%\*\* of these gradients become exactly 0 in float16\. Times 65,536: \*\*(\d+)%\*\*\. "
            r"In bfloat16, without any scaling: \*\*(\d+)%\*\*",
            text,
        ).groups(),
    )
    assert lost > scaled and bfloat16 == 0  # how many depends on the data and on how well the model knows them


def test_a_small_loss_kills_the_float16_gradient_unless_it_is_scaled(text: str) -> None:
    plain, scaled, bfloat16 = map(
        float,
        re.search(  # type: ignore[union-attr]
            r"\(left end\): \*\*([\d.]+) %\*\* and \*\*([\d.]+) %\*\*; bfloat16: \*\*([\d.]+) %\*\*", text
        ).groups(),
    )
    assert plain == 100 and scaled < 20 and bfloat16 < 10


def test_the_scaler_skips_steps_and_comes_down(text: str) -> None:
    skipped, factor = re.search(
        r"\*\*(\d+)\*\* of 120 steps were skipped; the factor ended at \*\*([\d,]+)\*\*", text
    ).groups()  # type: ignore[union-attr]
    assert 5 <= int(skipped) < 40 and int(factor.replace(",", "")) < 2**26


def test_half_the_bits_halve_the_activations_and_the_sentence_says_what_was_counted(text: str) -> None:
    kept = {
        name: (float(activations), float(copies))
        for name, activations, copies in re.findall(
            r"^(float32|bfloat16|float16) +([\d.]+) +([\d.]+) *$",
            text.partition("Kept for backward()")[2][:400],
            re.MULTILINE,
        )
    }
    assert set(kept) == {"float32", "bfloat16", "float16"}
    (wide, none), narrow = kept["float32"], kept["bfloat16"]
    assert narrow == kept["float16"] and none == 0 and narrow[1] > 0 and 0.48 < narrow[0] / wide < 0.56
    told = re.search(
        r"activations take \*\*(\d+)%\*\* less\. .+ shrinks by \*\*(-?\d+)%\*\*.+ step is \*\*(\d+)%\*\* (lower|higher)",
        text,
    )
    assert told and abs(int(told[1]) - 100 * (1 - narrow[0] / wide)) <= 2
    assert abs(int(told[2]) - 100 * (1 - sum(narrow) / wide)) <= 3
    if "this lesson runs on: cpu" in text:
        assert "equal to the byte: True" in text


def test_the_scaler_s_late_skips_are_explained(text: str) -> None:
    skipped, early, late, tries, grown = map(
        int,
        re.search(  # type: ignore[union-attr]
            r"\*\*(\d+)\*\* of 120 steps were skipped; .+ (\d+) skips came before the first rise\. "
            r"Of the (\d+) later ones, (\d+) undid a rise; (\d+) followed on another fall",
            text,
        ).groups(),
    )
    assert skipped == early + late and late == tries + grown and early >= 5 and tries >= 1
    assert "of our own making" in _source()


def test_the_table_of_gpus_marks_what_was_not_looked_up(text: str) -> None:
    assert (
        re.search(r"gfx906 .*native\*", text)
        and re.search(r"gfx942 +CDNA3 +Instinct MI300", text)
        and "but for *" in text
    )
    assert not re.search(r"gfx942 .*native\*", text)


def _rules() -> dict[str, Any]:
    """The functions of the cell that words the verdict."""
    (code,) = ["".join(cell["source"]) for cell in cells(LESSON) if "def accuracy_words" in "".join(cell["source"])]
    space: dict[str, Any] = {"mean": lambda numbers: sum(numbers) / len(numbers)}
    exec(code, space)
    return space


def test_one_seed_gets_no_verdict_on_accuracy_and_a_spread_decides() -> None:
    words = _rules()["accuracy_words"]
    assert "stays open" in words([90.0], [90.0])
    assert words([89.5, 90.5], [90.0, 91.0]).startswith("is as accurate, as far as 2 seeds can tell (-0.5 points")
    less = words([80.0, 81.0], [90.0, 91.0])
    assert less.startswith("is less accurate") and "(-10.0 points" in less
    assert words([80.0, 90.5], [90.0, 91.0]).startswith("may be less accurate: 2 seeds cannot tell")
    assert words([95.0, 96.0], [90.0, 91.0]).startswith("is as accurate")


def test_a_speed_is_claimed_only_where_it_was_decided() -> None:
    from types import SimpleNamespace

    words = _rules()["speed_words"]
    found = SimpleNamespace(low=0.48, high=0.52, decision="faster", reason="")
    assert words(found) == "is 1.9 to 2.1 times as fast as float32 here"
    found = SimpleNamespace(low=0.48, high=0.52, decision="inconclusive", reason="the spread is too wide")
    assert "as fast" not in words(found) and "inconclusive: the spread is too wide" in words(found)
    found = SimpleNamespace(low=9.6, high=12.0, decision="slower", reason="")
    assert words(found).startswith("takes 9.6 to 12 times as long")


def test_the_exercises_stay_open_in_the_course_s_run(text: str) -> None:
    assert len(re.findall(r"^TODO \w+: not started", text, re.MULTILINE)) == 7
    assert "0 of 9 passed" in text


def test_folklore_is_run(text: str) -> None:
    assert text.count("FutureWarning: `torch.cuda.amp.") == 2
    assert "torch.cuda.is_bf16_supported():" in text and "torch.version.hip" in text
    assert re.search(r"gfx1030 .+emulated", text) and re.search(r"gfx942 .+native +native", text)
    assert re.search(r"Matrix products: \*\*\w+\*\*\. Convolutions: \*\*\w+\*\*\.", text)


def test_it_claims_nothing_for_rocm_that_nobody_ran() -> None:
    source = _source()
    assert source.lower().count("not yet verified on rocm") >= 3
    assert "torchvision" not in source


def test_every_figure_about_data_names_a_stand_in(notebook: dict[str, Any], text: str) -> None:
    alts = words_of_figures(notebook)
    assert len(alts) == 8 and all(alts)
    if "STAND-IN" in text:
        assert sum("stand-in" in alt for alt in alts) == 4  # the others: two guesses, times, products
