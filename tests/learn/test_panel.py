"""The widgets of this room: what they show, that they can be pressed, and that nobody who does not look on gets them."""

from __future__ import annotations

import asyncio
from typing import Any

import ipywidgets as widgets
import pytest

from labkit.learn import check, exercises, forget, panel, quiz, records, session
from labkit.learn.quizzes import form
from labkit.learn.quizzes.kinds import AllOf, Number, OneOf, Option, Order, Question, Slip
from tests.apart import apart

ONE = OneOf(
    "p_one",
    "02",
    "Which <one>?",
    ("p",),
    options=(Option("a<b", "w1."), Option("right", "r.", True), Option("c", "w2.")),
)
ALL = AllOf(
    "p_all", "02", "Which?", ("p",), options=(Option("aa", "r1.", True), Option("bb", "w."), Option("cc", "r2.", True))
)
NUMBER = Number(
    "p_number", "02", "How long?", ("p",), value=3, unit="ms", slips=(Slip(1, "a."), Slip(2, "b.")), why="so."
)
ORDER = Order("p_order", "02", "Order?", ("p",), items=("one", "two", "three"), reasons=("r1.", "r2."))


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Somebody watches; what is displayed lands in a list."""
    import IPython.display

    found: list[Any] = []
    monkeypatch.setenv("LABKIT_LIVE", "1")
    monkeypatch.setattr(IPython.display, "display", lambda *objects, **_: found.extend(objects))
    for one in (ONE, ALL, NUMBER, ORDER):
        monkeypatch.setitem(exercises._all(), one.name, one)
    forget()
    records.start_anew()
    panel._shown.clear()
    return found


def wrong(*_: Any, **__: Any) -> int:
    return -1


def right(size: int, kernel: int, stride: int = 1, padding: int = 0) -> int:
    return (size + 2 * padding - kernel) // stride + 1


def button(box: Any, name: str) -> Any:
    todo = [box]
    while todo:
        one = todo.pop()
        if isinstance(one, widgets.Button) and one.description == name:
            return one
        todo.extend(getattr(one, "children", ()))
    raise AssertionError(f"no button {name}")


def said(box: Any) -> str:
    return " ".join(child.value for child in box.children if isinstance(child, widgets.HTML))


def test_a_todo_has_two_buttons_and_a_pass_has_none(shown: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    check("output_size", wrong)
    (box,) = shown
    button(box, "Hint").click()
    first = said(box)
    assert "HINT output_size" in first and 'role="status"' in first
    button(box, "Hint").click()
    assert said(box) != first
    button(box, "Solution").click()
    assert "def output_size" in said(box)
    assert len(capsys.readouterr().out.splitlines()) == 1, "buttons print nothing"
    check("output_size", right)
    assert shown == [box] and "output_size" not in panel._shown


def test_a_second_check_takes_the_first_ones_buttons_away(shown: list[Any]) -> None:
    before = len(widgets.widget._instances) if hasattr(widgets.widget, "_instances") else 0
    for _ in range(30):
        check("output_size", wrong)
    after = len(widgets.widget._instances) if hasattr(widgets.widget, "_instances") else 0
    assert len(shown) == 30 and list(panel._shown) == ["output_size"]
    assert after - before < 30, "widgets of cells that ran again are not kept"


def test_nobody_watching_means_no_widget(
    shown: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LABKIT_LIVE", "0")
    check("output_size", wrong)
    quiz("p_one")
    quiz("p_one", 1)
    assert not shown and "QUIZ p_one" in capsys.readouterr().out


def test_without_ipywidgets_everything_is_text(
    shown: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ipywidgets", None)
    check("output_size", wrong)
    quiz("p_one")
    assert not shown and "QUIZ p_one" in capsys.readouterr().out
    assert panel.strip_box(str, str) is None and panel.view_of(None) == {}


def test_an_error_behind_a_button_is_a_sentence(shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    check("output_size", wrong)

    def stops(_name: str) -> str:
        raise ValueError("<gone>")

    monkeypatch.setattr(session, "solution_text", stops)
    check("output_size", wrong)
    button(shown[-1], "Solution").click()
    assert "ValueError" in said(shown[-1]) and "&lt;gone&gt;" in said(shown[-1])


def answer(box: Any, one: Question, good: bool) -> None:
    """Sets the controls of a form."""
    if isinstance(one, OneOf):
        control = next(child for child in box.children if isinstance(child, widgets.RadioButtons))
        control.value = 2 if good else 1
    elif isinstance(one, AllOf):
        for child, option in zip(
            [c for c in box.children if isinstance(c, widgets.Checkbox)], one.options, strict=True
        ):
            child.value = option.right or not good
    elif isinstance(one, Number):
        next(child for child in box.children if isinstance(child, widgets.Text)).value = "0.003 s" if good else "1"
    elif isinstance(one, Order):
        chosen = [child for child in box.children if isinstance(child, widgets.Button) and child.icon == "check"]
        for child in chosen:
            child.click()
        for item in one.items if good else tuple(reversed(one.items)):
            button(box, item).click()


@pytest.mark.parametrize("one", [ONE, ALL, NUMBER, ORDER], ids=lambda one: one.name)
def test_a_form_judges_as_the_call_does(one: Question, shown: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert quiz(one.name) is None
    (box,) = shown
    assert capsys.readouterr().out == ""
    apart(button(box, "Check").click)
    assert "Nothing is chosen" in said(box) and one.name not in records.entries(), "which is no try"
    answer(box, one, good=False)
    apart(button(box, "Check").click)
    assert f"○ TODO {one.name}:" in said(box) and "Nothing is chosen" not in said(box)
    answer(box, one, good=True)
    apart(button(box, "Check").click)
    assert f"✔ PASS {one.name}" in said(box)
    assert records.entries()[one.name].passed and records.entries()[one.name].kind == "quiz"
    button(box, "Solution").click()
    assert capsys.readouterr().out == ""


def test_the_question_is_escaped(shown: list[Any]) -> None:
    quiz("p_one")
    assert "Which &lt;one&gt;?" in said(shown[0])


def test_an_error_while_judging_is_a_sentence(shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def stops(*_: Any) -> Any:
        raise ValueError("gone")

    quiz("p_one")
    monkeypatch.setattr(session, "answer_quiz", stops)
    answer(shown[0], ONE, good=True)
    button(shown[0], "Check").click()
    assert "could not be judged" in said(shown[0])


def test_showing_a_quiz_again_closes_the_form_before(shown: list[Any]) -> None:
    quiz("p_one")
    quiz("p_one")
    assert len(shown) == 2 and form._open["p_one"] is shown[1] and shown[0].comm is None


def test_an_item_pressed_again_is_taken_out(shown: list[Any]) -> None:
    quiz("p_order")
    (box,) = shown
    button(box, "two").click()
    button(box, "one").click()
    assert "two → one" in said(box)
    button(box, "1. two").click()
    assert "Your order: one<" in said(box) and button(box, "1. one") and button(box, "two")


def test_enter_in_the_field_judges(shown: list[Any]) -> None:
    quiz("p_number")
    (box,) = shown
    field = next(child for child in box.children if isinstance(child, widgets.Text))
    field.value = "3 ms"
    apart(lambda: field._handle_custom_msg({"event": "submit"}, []))
    assert "PASS p_number" in said(box)


def test_enter_waits_for_the_number_that_is_still_on_its_way(shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """In a kernel the message 'Enter was pressed' comes before the one with the field's text."""
    monkeypatch.setattr(form, "_SETTLE_S", 0.01)
    quiz("p_number")
    (box,) = shown
    field = next(child for child in box.children if isinstance(child, widgets.Text))
    assert not field.continuous_update, "a half-typed number never reaches the kernel"

    async def kernel() -> None:
        field._handle_custom_msg({"event": "submit"}, [])
        field.value = "3 ms"
        await asyncio.sleep(0.1)

    apart(lambda: asyncio.run(kernel()))
    assert "PASS p_number" in said(box)


def test_check_waits_for_a_number_that_comes_late_behind_one_that_was_judged(
    shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen in a browser: the press of Check overtakes the second number, and the first would be judged again."""
    monkeypatch.setattr(form, "_SETTLE_S", 0.01)
    quiz("p_number")
    (box,) = shown
    field = next(child for child in box.children if isinstance(child, widgets.Text))
    row = next(child for child in box.children if isinstance(child, widgets.HBox))
    told = []

    async def kernel() -> None:
        field.value = "30"
        row.children[0].click()
        await asyncio.sleep(0.05)
        told.append(said(box))
        row.children[0].click()
        row.children[0].click()  # pressed twice: judged once
        await asyncio.sleep(0.1)
        field.value = "3 ms"
        await asyncio.sleep(0.1)

    apart(lambda: asyncio.run(kernel()))
    assert "TODO p_number" in told[0]
    assert "PASS p_number (after 2 tries)" in said(box)


def test_code_between_backticks_is_set_as_code_and_never_shows_them(shown: list[Any]) -> None:
    tick = OneOf("p_tick", "02", "Who calls `a<b`?", ("p",), options=(Option("`f()`", "w."), Option("b", "r.", True)))
    question, radio, *_ = form.build(tick).children
    assert ">a&lt;b</code>" in question.value and "`" not in question.value
    assert [label for label, _ in radio.options] == ["f()", "b"]
    ticked = AllOf("p_ticks", "02", "Which?", ("p",), options=(Option("`f()` stops", "r.", True), Option("b", "w.")))
    assert [box.description for box in form.build(ticked).children if isinstance(box, widgets.Checkbox)] == [
        "f() stops",
        "b",
    ]
    assert "`" not in panel.status("`backward` adds.") and "`x`" in panel.status("`x`", code=True)
    assert panel.marked("one ` alone <b>") == "one ` alone &lt;b&gt;"
