"""Lesson 06: what it claims is what its run shows."""

from __future__ import annotations

import re
from typing import Any

import pytest

from labkit.course import table
from labkit.workshop import plans
from tests.notebooks.outputs import cells, numbers, words_of_figures

pytestmark = [pytest.mark.notebooks, pytest.mark.timeout(900)]

LESSON = table.find("06")


def curve(text: str, way: str) -> list[tuple[float, float, float]]:
    """(median, lowest, highest) in %, for 1, 5, 20 and 100 examples per class."""
    row = re.search(rf"^{re.escape(way)} +(\d+ % \(.+\))$", text, re.MULTILINE)
    assert row, way
    cells = re.findall(r"(\d+) % \((\d+) to (\d+)\)", row[1])
    return [(float(a), float(b), float(c)) for a, b, c in cells]


def test_its_parts_hold_what_belongs_to_them() -> None:
    parts = {part.title[:1]: part for part in plans.parts_of(LESSON) if part.title[:1].isdigit()}
    assert sorted(parts) == list("123456789") and not any(p.title.startswith("Ex") for p in plans.parts_of(LESSON))
    assert parts["4"].exercises == ("freeze_body", "keep_bn_still"), "and the text on batch norm between them"
    assert min(part.weight for part in parts.values()) > 0.5, "no part is a heading alone"


def test_the_network_has_learnt_its_first_task(text: str) -> None:
    assert numbers(r"pre-trained network: \*\*(\d+)%\*\* right", text)[0] > 60


def test_transfer_is_ahead_of_scratch_and_most_with_few_examples(text: str) -> None:
    tuned, scratch = curve(text, "fine-tuned, two rates"), curve(text, "from scratch")
    assert len(tuned) == len(scratch) == 4
    assert all(a[1] > b[2] for a, b in zip(tuned[:3], scratch[:3], strict=True)), "beyond the spread up to 20 per class"
    gains = [a[0] - b[0] for a, b in zip(tuned, scratch, strict=True)]
    assert gains[1] > 25 and gains[1] > gains[3] > -5
    assert scratch[3][0] > scratch[0][0] + 20, "scratch does learn where there are examples"


def test_the_frozen_body_is_far_above_scratch_with_five_examples(text: str) -> None:
    assert curve(text, "frozen body")[1][1] > curve(text, "from scratch")[1][2] + 20


def test_a_frozen_model_in_train_mode_forgets_without_a_changed_weight(text: str) -> None:
    moved, before, after = numbers(
        r"equal to the byte: \*\*True\*\*\. Running mean of the first layer moved by ([\d.]+)\. "
        r"Accuracy on the old task: (\d+)% before, \*\*(\d+)%\*\* after",
        text,
    )
    assert moved > 0.1 and before - after > 20


def test_one_high_rate_costs_what_the_body_knew(text: str) -> None:
    assert numbers(r"here: \*\*(\d+)\*\* points less than two rates", text)[0] >= 3


def test_the_old_head_knows_none_of_the_new_names(text: str) -> None:
    assert "The old head has **14** outputs. You need 6, and **0** of its names are among yours." in text


def test_the_safe_reader_refuses_a_program_and_it_does_not_run(text: str) -> None:
    assert "a program -> refused; it ran: False" in text and "cut off -> refused: damaged or another file: True" in text


def test_the_conditions_of_a_rate_matter(text: str) -> None:
    slow, fast, factor = numbers(r"machine: ([\d,]+) images per second .+ or ([\d,]+) .+\*\*([\d.]+) times\*\*", text)
    assert factor == pytest.approx(fast / slow, rel=0.05) and factor > 2


def test_the_card_has_every_row_that_a_comparison_needs(text: str) -> None:
    for row in ("images per second", "step", "model", "batch, resolution", "precision, layout", "data",
                "warm-up, measured", "machine"):  # fmt: skip
        assert re.search(rf"^{row}  +\S", text, re.MULTILINE), row
    assert re.search(r"^images per second +[\d,]+ \(quartiles [\d,]+ to [\d,]+\)", text, re.MULTILINE)


def test_stand_ins_are_called_so_and_never_imagenet(notebook: dict[str, Any], text: str) -> None:
    assert text.count("STAND-IN  This is not") == 2
    if "No weights on this machine" in text:
        assert "nothing below says anything about ImageNet" in text and "(random weights)" in text
    titles = [line for line in text.splitlines() if line.startswith("Stand-in pictures")]
    assert len(titles) >= 4 and not any("ImageNet" in line for line in titles)
    alts = words_of_figures(notebook)
    assert len(alts) >= 7 and all(alts)


def test_it_claims_nothing_for_rocm_and_imports_torchvision_late() -> None:
    sources = ["".join(cell["source"]) for cell in cells(LESSON)]
    assert any("not yet verified on ROCm" in source for source in sources)
    imports = [k for k, source in enumerate(sources) if re.search(r"^(from|import) torchvision", source, re.MULTILINE)]
    assert len(imports) == 1 and imports[0] > len(sources) / 2
    assert not any("torch.load(" in source for source in sources if "weights_only=True" not in source)


def test_the_exercises_stay_open_in_the_course_s_run(text: str) -> None:
    assert len(re.findall(r"^TODO \w+: not started", text, re.MULTILINE)) == 5
    assert "0 of 7 passed" in text
