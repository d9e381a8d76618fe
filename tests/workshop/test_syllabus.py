"""Plans of courses: those of the repository can work, one that cannot is refused with a sentence, and the page is as printed."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from labkit import cli
from labkit.course import table
from labkit.errors import LabkitError
from labkit.workshop import plans, syllabus
from labkit.workshop.plans import Block, Syllabus

COURSE = table.load()
PLANS = {plan.name: plan for plan in plans.load()}
BY_ID = {lesson.id: lesson for lesson in COURSE.lessons}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_of_the_repository_can_work(name: str) -> None:
    assert plans.complaints(PLANS[name], COURSE, plans.measured()) == []


def test_there_is_a_plan_for_each_length_and_it_is_as_long_as_it_says() -> None:
    assert PLANS["90min"].minutes == 90
    assert PLANS["half-day"].minutes == PLANS["half-day-radeon"].minutes == 240
    assert all(420 <= PLANS[name].minutes <= 480 for name in ("day", "day-radeon", "day-cluster"))
    assert len(PLANS["two-days"].days) == 2


def test_the_page_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["workshop", "syllabus", "--markdown"]) == 0
    page = (table.NOTEBOOKS / "pages" / "syllabi.md").read_text(encoding="utf-8")
    assert page == capsys.readouterr().out, (
        "python3 -m labkit workshop syllabus --markdown > notebooks/pages/syllabi.md"
    )


def test_hours_follow_each_other_and_start_where_they_were_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["workshop", "syllabus", "90min", "--start", "23:15"]) == 0
    text = capsys.readouterr().out
    hours = re.findall(r"^(\d\d:\d\d)-(\d\d:\d\d)", text, re.MULTILINE)
    assert hours[0][0] == "23:15" and hours[-1][1] == "00:45"
    assert all(one[1] == other[0] for one, other in itertools.pairwise(hours))
    assert "Left out of 00: 4 What this would say on another machine; 5 Why is it called" in text
    assert "Not taught: 02 CIFAR-10: your turn" in text


def test_what_is_left_out_is_what_no_block_teaches() -> None:
    left = {lesson.id: [part.title for part in parts] for lesson, parts in syllabus.left_out(PLANS["half-day"])}
    assert left["01"] == ["Going further"], "two blocks of one lesson count together"
    assert left["02"][:2] == ["Exercise 7 · Augment on the device", "Exercise 8 · A learning rate that changes"]


def test_the_shares_of_a_lesson_s_parts_are_its_minutes() -> None:
    for lesson in COURSE.lessons:
        parts = plans.parts_of(lesson)
        shares = [plans.alone(Block(1, "", lesson=lesson, parts=(part.title,))) for part in parts]
        assert sum(shares) == pytest.approx(lesson.minutes)


def test_the_parts_hold_every_exercise_of_the_lesson() -> None:
    from labkit.learn.lessons import lesson

    for row in COURSE.lessons:
        names = [name for part in plans.parts_of(row) for name in part.exercises]
        assert names == [item.name for item in lesson(row.id).items if item.kind == "exercise"]


# ------------------------------------------------------------------------------------------------ plans that cannot work


def plan(*blocks: Block, instead: Mapping[str, str] | None = None) -> Syllabus:
    return Syllabus(
        "own", "Own", "us", "all", ((Block(10, "", "set-up"), *blocks, Block(40, "", "buffer")),), instead or {}
    )


def said(one: Syllabus, seconds: Mapping[str, float] | None = None) -> str:
    return " ".join(plans.complaints(one, COURSE, seconds or {}))


def lesson(id_: str, minutes: int = 100, parts: tuple[str, ...] = ()) -> Block:
    return Block(minutes, "", lesson=BY_ID[id_], parts=parts)


PAUSE = Block(10, "", "break")


def test_a_good_one_is_not_refused() -> None:
    assert said(plan(lesson("00", 50), PAUSE, lesson("01", 80), PAUSE, lesson("02", 80))) == ""


def test_a_lesson_without_what_it_needs_is_refused_unless_it_is_said_what_to_tell() -> None:
    alone = plan(lesson("00"), PAUSE, lesson("02"))
    assert "lesson 02 needs lesson 01, which does not come before it" in said(alone)
    assert said(replace(alone, instead={"01": "Five lines make a training step."})) == ""
    assert "needs lesson 01" in said(replace(alone, instead={"01": " "})), "nothing is said"
    late = plan(lesson("00"), PAUSE, lesson("02"), PAUSE, lesson("01"))
    assert "needs lesson 01" in said(late), "it comes after"
    assert "'instead' speaks of lesson 05" in said(plan(lesson("00"), instead={"05": "x"}))


def test_a_block_with_less_time_than_its_cells_is_refused() -> None:
    short = plan(lesson("00", 20))
    assert said(short, {"00": 399.0}) == ""
    assert "lesson 00 has 20 min, and its cells alone need about 20 min in a room (3 times the measured run)" in said(
        short, {"00": 401.0}
    )


def test_a_block_with_clearly_less_than_its_share_is_refused() -> None:
    assert said(plan(lesson("00", 16))) == ""
    assert "lesson 00 has 15 min for parts for which a learner alone sets aside 20 min; give it 16 min" in said(
        plan(lesson("00", 15))
    )
    assert said(plan(lesson("00", 15, ("1 ", "2 ")))) == "", "fewer parts fit"


def test_people_are_people() -> None:
    assert "people sit 130 min without a break" in said(plan(lesson("00", 60), lesson("01", 60)))
    no_buffer = Syllabus("own", "", "", "", ((Block(10, "", "set-up"), lesson("00", 90)),), {})
    assert "0 min of buffer are too few" in said(no_buffer)
    assert "it must begin with set-up" in said(replace(no_buffer, days=((lesson("00", 90),),)))
    long = plan(lesson("00"), PAUSE, lesson("01"), PAUSE, lesson("02", 100))
    assert "min without lunch" in said(replace(long, days=((*long.days[0], PAUSE, lesson("10")),)))


def test_a_part_that_the_lesson_does_not_have_is_refused() -> None:
    assert "Lesson 00 has no one part that begins with '12 '" in said(plan(lesson("00", 50, ("12 ",))))
    assert "no one part that begins with 'Exercise 1'" in said(
        plan(lesson("00"), PAUSE, lesson("01"), PAUSE, lesson("02", 50, ("Exercise 1",)))
    )


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('lesson = "00"', 'lesson = "09"', "there is no lesson 09"),
        ('do = "set-up"', 'do = "warm-up"', "'warm-up' is none of"),
        ("minutes = 10, ", "", "lacks something or has a wrong value: 'minutes'"),
        ("minutes = 10, ", "minutes = 'ten', ", "wrong value"),
        ('whom = "A meet-up', 'who = "A meet-up', "'whom'"),
        ("[[syllabus]]", "[[syllabus]", "cannot be read"),
        ("[[syllabus]]", "[[plan]]", "no \\[\\[syllabus\\]\\]"),
    ],
)
def test_a_damaged_file_is_a_sentence(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = tmp_path / "syllabi.toml"
    path.write_text(plans.SYLLABI.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(LabkitError, match=words):
        plans.load(path)


def test_a_plan_that_cannot_work_is_not_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "syllabi.toml"
    text = plans.SYLLABI.read_text(encoding="utf-8")
    path.write_text(
        text.replace('minutes = 50, what = "From bytes', 'minutes = 5, what = "From bytes'), encoding="utf-8"
    )
    monkeypatch.setattr(plans, "SYLLABI", path)
    assert cli.main(["workshop", "syllabus", "90min"]) == 1
    out, error = capsys.readouterr()
    assert out == "" and "90min: lesson 01 has 5 min" in error


@pytest.mark.parametrize("time", ["9 o'clock", "25:00", "10:60", ""])
def test_a_time_that_is_none_and_a_name_that_is_none(time: str) -> None:
    with pytest.raises(LabkitError, match="no time of day"):
        plans.clock(time)
    assert (plans.clock("9"), plans.clock("0930"), plans.clock("18:05")) == (540, 570, 1085)
    with pytest.raises(LabkitError, match="no plan 'week'"):
        plans.find("week", list(PLANS.values()))


def test_the_longest_measured_quick_run_counts(tmp_path: Path) -> None:
    def write(name: str, profile: str, seconds: float, status: str = "passed") -> None:
        row = {"id": "00", "seconds": seconds, "status": status}
        (tmp_path / name).write_text(json.dumps({"profile": profile, "lessons": [row]}), encoding="utf-8")

    write("a.json", "quick", 7.0)
    write("b.json", "quick", 11.0)
    write("c.json", "full", 900.0)
    write("d.json", "quick", 500.0, "failed")
    (tmp_path / "e.json").write_text("[]", encoding="utf-8")
    assert plans.measured(tmp_path) == {"00": 11.0}
    assert plans.measured(tmp_path / "none") == {}


@pytest.mark.parametrize("content", ["[" * 100_000, "", "[]", '{"cells": 7}', "\ufeff{}"], ids=range(5))
def test_a_damaged_notebook_is_a_sentence(tmp_path: Path, content: str) -> None:
    path = tmp_path / "01_mnist.ipynb"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(LabkitError, match=r"01_mnist\.ipynb is missing or damaged"):
        plans.parts_of(replace(BY_ID["01"], path=path))


@pytest.mark.parametrize(
    ("content", "said"), [("x=" + "[" * 100_000, "nested too deeply"), ('[[syllabus]]\nname="a"\ntitle="a"\nwhom="a"\naim="a"\n'
    'days=[[{do="set-up", what="x", minutes=inf}]]', "wrong value")], ids=["nested", "endless"])  # fmt: skip
def test_a_damaged_file_of_plans_is_a_sentence(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "syllabi.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(LabkitError, match=said):
        plans.load(path)
