"""Lesson 03: what it claims is what its run shows."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from labkit.course import table
from tests.notebooks.outputs import shown

pytestmark = [pytest.mark.notebooks, pytest.mark.timeout(900)]

LESSON = table.find("03")


def _source() -> str:
    notebook = json.loads(LESSON.path.read_text(encoding="utf-8"))
    return "\n".join("".join(cell["source"]) for cell in notebook["cells"])


@pytest.fixture(scope="module")
def notebook(course_run: Any) -> dict[str, Any]:
    return course_run.notebook(LESSON.path.name)


@pytest.fixture(scope="module")
def text(notebook: dict[str, Any]) -> str:
    """Everything that the code cells printed or displayed."""
    return shown(notebook)


def test_the_guess_stands_beside_a_measurement_with_its_interval(text: str) -> None:
    found = re.search(
        r"You guessed a ratio of \*\*0\.7\*\*\. Measured on \S+: (\*\*[\d.]+\*\*\.|no difference shown; see below\.|"
        r"inconclusive; see below\.)\n\n- \*\*bfloat16\*\* (.+)",
        text,
    )
    assert found and len(re.findall(r"ratio of times [\d.]+, 95 % interval [\d.]+ to [\d.]+", found[2])) == 1
    assert found[1].startswith("**") == ("inconclusive" not in found[2] and "no difference shown" not in found[2])


def test_it_says_what_the_device_can_do_and_a_cpu_is_called_one(text: str) -> None:
    for dtype in ("bfloat16", "float16"):
        assert re.search(rf"\*\*{dtype}\*\* is \*(native|emulated|unknown)\* here: .+", text)
    assert ("This is a CPU. What it says about speed is true for this CPU only" in text) == ("Measured on cpu" in text)


def test_float16_loses_gradients_and_scaling_saves_them(text: str) -> None:
    lost, scaled, bfloat16 = map(
        int,
        re.search(  # type: ignore[union-attr]
            r"\*\*(\d+)%\*\* of these gradients become exactly 0 in float16\. Times 65,536: \*\*(\d+)%\*\*\. "
            r"In bfloat16, without any scaling: \*\*(\d+)%\*\*",
            text,
        ).groups(),
    )
    assert lost > 10 * max(1, scaled) / 2 and bfloat16 == 0


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
            r"^(float32|bfloat16|float16) +([\d.]+) +([\d.]+) +[\d.]+$",
            text.partition("Counted, not estimated")[2][:400],
            re.MULTILINE,
        )
    }
    assert set(kept) == {"float32", "bfloat16", "float16"}
    (wide, none), narrow = kept["float32"], kept["bfloat16"]
    assert narrow == kept["float16"] and none == 0 and narrow[1] > 0 and 0.48 < narrow[0] / wide < 0.55
    told = re.search(r"activations take \*\*(\d+)%\*\* less .+ shrinks by \*\*(\d+)%\*\*", text)
    assert (
        told
        and abs(int(told[1]) - 100 * (1 - narrow[0] / wide)) <= 2
        and abs(int(told[2]) - 100 * (1 - sum(narrow) / wide)) <= 2
    )


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


def test_no_line_of_code_is_wider_than_a_cell() -> None:
    notebook = json.loads(LESSON.path.read_text(encoding="utf-8"))
    lines = [
        line
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
        for line in "".join(cell["source"]).splitlines()
    ]
    assert [line for line in lines if len(line) > 95] == []


def test_one_seed_gets_no_verdict() -> None:
    """The cell that judges, with made-up accuracies of one seed and of two."""
    notebook = json.loads(LESSON.path.read_text(encoding="utf-8"))
    (code,) = ["".join(cell["source"]) for cell in notebook["cells"] if "Verdict from" in "".join(cell["source"])]
    for accuracies, expected in (
        ([90.0], "No verdict"),
        ([90.0, 91.0], "Verdict from 2 seeds: **no difference shown**"),
    ):
        shown: list[str] = []
        recipes = dict.fromkeys(("float32", "bfloat16"))
        exec(
            code,
            {
                "results": dict.fromkeys(recipes, accuracies),
                "recipes": recipes,
                "seeds": len(accuracies),
                "display": shown.append,
                "Markdown": str,
            },
        )
        assert expected in shown[0]


def test_accuracy_is_judged_against_the_seeds(text: str) -> None:
    found = re.search(
        r"float32 alone moves by ([\d.]+) points from seed to seed\. Verdict from 3 seeds: \*\*(.+?)\*\*", text
    )
    away = [abs(float(points)) for points in re.findall(r"(?:bfloat16|float16|GradScaler) ([+-]\d+\.\d)", text)]
    assert found and len(away) == 3
    assert (found[2] == "no difference shown") == (max(away) <= float(found[1]) + 0.05)


def test_folklore_is_run(text: str) -> None:
    assert text.count("FutureWarning: `torch.cuda.amp.") == 2
    assert "torch.cuda.is_bf16_supported():" in text and "torch.version.hip" in text
    assert re.search(r"gfx1030 .+emulated", text) and re.search(r"gfx942 .+native +native", text)


def test_it_claims_nothing_for_rocm_that_nobody_ran() -> None:
    source = _source()
    assert source.lower().count("not yet verified on rocm") >= 3
    assert "torchvision" not in source


def test_every_figure_about_data_names_a_stand_in(notebook: dict[str, Any], text: str) -> None:
    alts = [
        o["metadata"]["image/png"]["alt"]
        for cell in notebook["cells"]
        for o in cell.get("outputs", [])
        if "image/png" in o.get("data", {})
    ]
    assert len(alts) == 6 and all(alts)
    if "STAND-IN" in text:
        assert sum("stand-in" in alt for alt in alts) == 4  # the other two are the formats and the times
