"""check, hint and solution as a learner meets them."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from labkit.errors import LabkitError
from labkit.learn import attempt, check, forget, hint, solution


@pytest.fixture(autouse=True)
def _fresh() -> None:
    forget()


def right_size(size: int, kernel: int, stride: int = 1, padding: int = 0) -> int:
    return (size + 2 * padding - kernel) // stride + 1


def short_size(size: int, kernel: int, stride: int = 1, padding: int = 0) -> int:
    return (size + 2 * padding - kernel) // stride


def test_a_right_answer_prints_one_line_and_is_true(capsys: pytest.CaptureFixture[str]) -> None:
    result = check("output_size", right_size)
    assert result and result.passed and result.key == ""
    assert capsys.readouterr().out == "PASS output_size\n"


@pytest.mark.parametrize("placeholder", [None, NotImplemented, ..., lambda *a: NotImplemented])
def test_a_placeholder_is_not_started(placeholder: object, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(4):
        result = check("output_size", placeholder)
        assert not result and result.key == "not_started"
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 and len(set(lines)) == 1, "waiting is no try: the hint stays as it is"
    assert lines[0].startswith("TODO output_size: not started")


def test_no_answer_at_all_is_not_started() -> None:
    assert check("output_size").key == "not_started"


def test_hints_grow_and_the_third_names_the_solution(capsys: pytest.CaptureFixture[str]) -> None:
    messages = [check("output_size", short_size).message for _ in range(3)]
    assert len(set(messages)) == 3
    assert "solution(" not in messages[0] and "solution(" not in messages[1]
    assert 'solution("output_size")' in messages[2]
    assert all("\n" not in message for message in messages)
    assert capsys.readouterr().out.splitlines() == messages


def test_a_pass_counts_the_tries_and_starts_anew() -> None:
    first = check("output_size", short_size).message
    assert check("output_size", right_size).message == "PASS output_size (after 2 tries)"
    assert check("output_size", short_size).message == first


def test_an_error_in_the_answer_becomes_one_sentence() -> None:
    def broken(size: int, kernel: int, stride: int = 1, padding: int = 0) -> float:
        return size / 0

    message = check("output_size", broken).message
    assert "ZeroDivisionError" in message and "`return size / 0`" in message and "\n" not in message


def test_an_exit_in_the_answer_does_not_end_python() -> None:
    def leaves(size: int, kernel: int, stride: int = 1, padding: int = 0) -> int:
        raise SystemExit(3)

    assert "SystemExit" in check("output_size", leaves).message


class Loud(Exception):
    def __str__(self) -> str:
        return "x" * 10_000_000


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def deep(*_: object) -> int:
    return deep(*_) + 1


def hungry(*_: object) -> list[int]:
    return [0] * 10**15


def loud(*_: object) -> int:
    raise Loud


def mute(*_: object) -> int:
    raise Mute


def long_line(*_: object) -> int:
    import linecache

    source = f"def long(): return 1 // 0, '{'x' * 100_000}'"
    linecache.cache["<answer long>"] = (len(source), None, [source], "<answer long>")
    space: dict[str, Any] = {}
    exec(compile(source, "<answer long>", "exec"), space)
    return int(space["long"]()[0])


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (deep, "RecursionError"),
        (hungry, "MemoryError"),
        (loud, "Loud"),
        (mute, "Mute"),
        (long_line, "ZeroDivisionError"),
        (lambda *_: 10**6000, "…"),
        (lambda *_: -(10**6000), "…"),
    ],
    ids=["recursion", "memory", "loud", "mute", "long line", "huge", "hugely negative"],
)
def test_whatever_breaks_is_one_line_of_bounded_length(
    answer: object, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(3):
        message = check("output_size", answer).message
        assert word in message and len(message) < 900 and "\n" not in message
    assert capsys.readouterr().out.count("\n") == 3


def test_values_of_any_kind_are_shown_short() -> None:
    from labkit.learn.exercise import Exercise, Hint
    from labkit.learn.judge import Verdict, sentence

    class Odd:
        def __format__(self, _: str) -> str:
            raise RuntimeError

        __repr__ = __str__ = lambda self: "y" * 10_000_000  # type: ignore[assignment]

    one = Exercise("x", "02", print, {"k": Hint("{got}, {got!r:>10}", "{got!s} {name}")}, ("a", "b"), (), ())
    for value in (Odd(), "z" * 10**7, list(range(10**6)), {"a": "b" * 10**6}, torch.zeros(10**6), b"q" * 10**6):
        for tries in (1, 2, 3):
            assert len(sentence(one, Verdict(False, "k", {"got": value}), tries)) <= 800
    exact = Exercise("x", "02", print, {"k": Hint("{a:.2f} {b} {c[0]}", "-")}, ("a", "b"), (), ())
    assert sentence(exact, Verdict(False, "k", {"a": 1 / 3, "b": (1, 2), "c": [7]}), 1) == "0.33 (1, 2) 7"


def test_verdicts_about_tensors_are_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    from labkit.learn import exercises
    from labkit.learn.exercise import Exercise, Hint, Wrong

    def probe(answer: object) -> None:
        raise Wrong("k", got=torch.ones(3))

    one = Exercise("tensors", "02", probe, {"k": Hint("{got}", "still {got}")}, ("a", "b"), (), ())
    monkeypatch.setitem(exercises._all(), "tensors", one)
    assert [check("tensors", 1).key for _ in range(3)] == ["k"] * 3


def test_a_flood_of_prints_is_not_kept() -> None:
    import tracemalloc

    def floods(size: int, kernel: int, stride: int = 1, padding: int = 0) -> int:
        for _ in range(200):
            print("x" * 100_000)
        return right_size(size, kernel, stride, padding)

    tracemalloc.start()
    try:
        assert check("output_size", floods)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000, "20 MB were printed for each call"
    finally:
        tracemalloc.stop()


def test_attempt_survives_an_exit() -> None:
    import sys

    stopped = attempt(lambda: sys.exit(3))
    assert "SystemExit" in str(stopped)


def test_a_check_that_cannot_save_says_so_once_and_works(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from labkit.learn import records

    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "file" / "progress.jsonl"))
    records.start_anew()
    assert check("output_size", right_size)
    first, second = capsys.readouterr().out.splitlines()
    assert first == "PASS output_size" and second.startswith("NOTE: your progress is not saved")
    assert not check("output_size", short_size)
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_waiting_is_no_try_in_the_record_either(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from labkit.learn import records

    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "progress.jsonl"))
    records.start_anew()
    check("output_size", None)
    assert records.entries() == {} and not (tmp_path / "progress.jsonl").exists()
    check("output_size", short_size)
    check("output_size", right_size)
    assert records.entries()["output_size"].tries == 2
    text = (tmp_path / "progress.jsonl").read_text(encoding="utf-8")
    assert "def " not in text and "size + 2" not in text, "no source text"


def test_only_the_lesson_at_hand_is_loaded() -> None:
    import subprocess
    import sys

    code = (
        "import sys\nfrom labkit.learn.exercises import find\nfind('verdict_1')\n"
        "print([n for n in sys.modules if n.startswith('labkit.learn.exercises.') and n.count('.') == 3])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True, timeout=60)
    assert found.stdout.strip() == "['labkit.learn.exercises.troubleshooting_lab']"


def test_an_interrupt_passes_through() -> None:
    def interrupted(size: int, kernel: int, stride: int = 1, padding: int = 0) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check("output_size", interrupted)


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        (42, "not_callable"),
        ("text", "not_callable"),
        (lambda: 3, "signature"),
        (lambda *a: None, "returned_none"),
        (lambda *a: "x", "not_a_number"),
        (lambda *a: torch.zeros(2), "not_a_number"),
        (object(), "not_callable"),
    ],
)
def test_odd_answers_get_a_hint_and_never_raise(answer: object, key: str) -> None:
    assert check("output_size", answer).key == key


NONSENSE = [3, "x", [], {}, object(), torch.ones(3), nn.Linear(2, 2), lambda *a, **k: object(), print, float("nan")]


@pytest.mark.parametrize("answer", NONSENSE, ids=[type(n).__name__ for n in NONSENSE])
def test_nonsense_never_raises_in_any_exercise(answer: object) -> None:
    from labkit.learn.exercises import everything

    for name in everything():
        extra = (torch.zeros(4, 3, 32, 32), torch.zeros(4, dtype=torch.long)) if name == "beat_target" else ()
        target = {"target": 0.9} if name == "beat_target" else {}
        result = check(name, answer, *extra, **target)
        assert not result, (name, answer)
        assert not re.search(r"\{\w+(:[^}\"]*)?\}", result.message), result.message


def test_random_states_are_left_alone() -> None:
    def uses_dice(images: torch.Tensor, pad: int = 4) -> torch.Tensor:
        torch.manual_seed(999)
        random.seed(5)
        return images + torch.rand(())

    torch.manual_seed(1)
    random.seed(1)
    before, before_python = torch.get_rng_state(), random.getstate()
    check("augment", uses_dice)
    assert torch.equal(torch.get_rng_state(), before) and random.getstate() == before_python
    expected = torch.rand(3)
    torch.manual_seed(1)
    assert torch.equal(torch.rand(3), expected)


def test_dtype_threads_and_gradient_mode_are_left_alone() -> None:
    def meddles(size: int, kernel: int, stride: int = 1, padding: int = 0) -> int:
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        return right_size(size, kernel, stride, padding)

    threads = torch.get_num_threads()
    try:
        assert check("output_size", meddles)
        assert torch.get_default_dtype() == torch.float32 and torch.is_grad_enabled()
        assert torch.get_num_threads() == threads
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)


def test_what_the_answer_prints_is_swallowed(capsys: pytest.CaptureFixture[str]) -> None:
    def talks(size: int, kernel: int, stride: int = 1, padding: int = 0) -> int:
        print("debug")
        return right_size(size, kernel, stride, padding)

    check("output_size", talks)
    assert capsys.readouterr().out == "PASS output_size\n"


def test_checks_are_deterministic() -> None:
    def late_flip(images: torch.Tensor, pad: int = 4) -> torch.Tensor:
        return torch.where(torch.rand(len(images), 1, 1, 1) < 0.9, images.flip(-1), images)

    keys = set()
    for seed in range(5):
        torch.manual_seed(seed)
        keys.add(check("augment", late_flip).key)
    assert len(keys) == 1


def test_a_result_shows_nothing_in_a_notebook() -> None:
    result = check("output_size", right_size)
    assert result._ipython_display_() is None
    assert repr(result) == "PASS" and repr(check("output_size", None)) == "TODO"


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(LabkitError, match="no exercise called 'output_sise'") as caught:
        check("output_sise", right_size)
    assert "output_size" in caught.value.remedy
    for function in (hint, solution):
        with pytest.raises(LabkitError):
            function("zzz")


def test_hint_gives_pushes_and_then_talks_about_the_last_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    hint("output_size")
    hint("output_size")
    first, second = capsys.readouterr().out.splitlines()
    assert first != second and "(1 of 2)" in first and "(2 of 2)" in second and "solution(" in second
    check("output_size", short_size)
    capsys.readouterr()
    hint("output_size")
    assert "add 1" in capsys.readouterr().out


def test_hint_talks_about_a_mistake_once_and_then_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    def crashes(images: torch.Tensor, pad: int = 4) -> torch.Tensor:
        raise ValueError("no idea")

    check("augment", crashes)
    capsys.readouterr()
    for _ in range(3):
        hint("augment")
    lines = capsys.readouterr().out.splitlines()
    assert "no idea" in lines[0] and "(1 of 3)" in lines[1] and "(2 of 3)" in lines[2]
    check("augment", lambda images, pad=4: images)  # another mistake: that comes first again
    capsys.readouterr()
    hint("augment")
    assert "Return the new one" in capsys.readouterr().out


def test_an_error_without_a_hint_of_its_own_leads_on_from_try_to_try() -> None:
    def crashes(images: torch.Tensor, pad: int = 4) -> torch.Tensor:
        raise ValueError("no idea")

    first, second, third = (check("augment", crashes).message for _ in range(3))
    assert "F.pad" not in first and "F.pad" in second and "top[:, None]" in third


def test_an_argument_changed_in_place_is_named_in_every_exercise() -> None:
    for name in ("channel_stats", "normalize", "augment", "evaluate", "fit"):

        def meddles(first, *rest, name=name):  # type: ignore[no-untyped-def]
            tensors = [a for a in (first, *rest) if isinstance(a, torch.Tensor)]
            tensors[0].zero_()
            return tensors[0]

        result = check(name, meddles)
        assert result.key == "in_place", (name, result.message)


def test_a_check_leaves_the_model_of_a_wrong_answer_as_it_is() -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.Flatten(), nn.Linear(8 * 28 * 28, 10)
    ).eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert check("small_cnn", lambda width=16: model).key == "same_model"
    assert not model.training and all(
        torch.equal(before[k], v) and v.dtype == before[k].dtype for k, v in model.state_dict().items()
    )


def test_a_forgotten_return_is_not_an_unstarted_exercise() -> None:
    extra = (torch.zeros(4, 3, 32, 32), torch.zeros(4, dtype=torch.long))
    assert check("beat_target", attempt(lambda: None), *extra, target=0.9).key == "returned_none"
    assert check("beat_target", attempt(lambda: NotImplemented), *extra, target=0.9).key == "not_started"
    assert check("output_size", None).key == "not_started"


def test_attempt_keeps_an_error_for_the_check() -> None:
    def stops(value: int) -> int:
        return value // 0

    def unfinished(value: int) -> int:
        raise NotImplementedError

    def interrupted(value: int) -> int:
        raise KeyboardInterrupt

    assert attempt(abs, -3) == 3
    stopped = attempt(stops, 3)
    assert "ZeroDivisionError" in str(stopped)
    message = check("beat_target", stopped, torch.zeros(4, 3, 2, 2), torch.zeros(4), target=0.9).message
    assert "ZeroDivisionError" in message and "`return value // 0`" in message
    assert attempt(unfinished, 3) is NotImplemented
    with pytest.raises(KeyboardInterrupt):
        attempt(interrupted, 3)


def test_solution_prints_the_source(capsys: pytest.CaptureFixture[str]) -> None:
    solution("evaluate")
    text = capsys.readouterr().out
    assert text.startswith("@torch.no_grad()\ndef evaluate(") and "def augment" not in text
    solution("read_curves")
    assert capsys.readouterr().out.startswith("read_curves = ")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_model_on_the_device_is_measured_there() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(12, 10)).cuda()
    before = torch.cuda.get_rng_state()
    result = check("beat_target", model, torch.zeros(20, 3, 2, 2), torch.zeros(20, dtype=torch.long), target=0.0)
    assert result and torch.equal(torch.cuda.get_rng_state(), before)
