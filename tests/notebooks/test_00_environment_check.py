"""What is special to lesson 00: its cells run without a notebook too, its menu answers, its words fit the machine."""

from __future__ import annotations

import html
import json
from typing import Any

import pytest

from labkit import devices
from labkit.course import table
from labkit.devices import KernelResult, SmokeTest
from labkit.devices.kernels import DTYPES, OPS
from labkit.machine import simulate

pytestmark = [pytest.mark.notebooks, pytest.mark.timeout(300)]

LESSON = table.find("00")


def code_cells() -> list[dict[str, Any]]:
    notebook = json.loads(LESSON.path.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(**replaced: Any) -> tuple[dict[str, Any], list[Any]]:
    """Executes the cells in this process; returns the names they leave and what they displayed."""
    pytest.importorskip("torch")
    pytest.importorskip("ipywidgets")
    shown: list[Any] = []
    names: dict[str, Any] = {"__name__": "__lesson__"}
    import IPython.display

    kept, IPython.display.display = IPython.display.display, shown.append
    try:
        for cell in code_cells():
            exec(compile("".join(cell["source"]), "<lesson 00>", "exec"), names)
            if "parameters" in cell["metadata"].get("tags", []):
                names.update(replaced)
    finally:
        IPython.display.display = kept
    return names, shown


@pytest.fixture(scope="module")
def executed() -> tuple[dict[str, Any], list[Any]]:
    return run(other_machine="mi300x_x8", other_fault="kfd-permission")


def test_the_parameters_choose_the_other_machine_and_its_fault(executed: tuple[dict[str, Any], list[Any]]) -> None:
    names, shown = executed
    assert names["menu"].value != "mi300x_x8" and names["fault_menu"].value == "", "the menu starts elsewhere, healthy"
    assert "Eight Instinct MI300X" in shown[0].data and "simulated" in shown[0].data
    assert "[kfd-permission]" in shown[0].data and "usermod -aG" in shown[0].data


def test_each_guess_may_be_left_out_and_is_shown_beside_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    names, _ = run()
    told = capsys.readouterr().out
    assert names["my_guess"] is None and told.count("Your guess: none") == 3
    assert "Of 4 builds 2 say True, 1 would run a kernel." in told, (
        "cpu and cuda see no GPU; only AMD's has its kernels"
    )


def test_a_question_stands_before_a_cell_without_a_stored_answer() -> None:
    cells = json.loads(LESSON.path.read_text(encoding="utf-8"))["cells"]
    asked = [
        at
        for at, cell in enumerate(cells)
        if cell["cell_type"] == "code" and "my_guess = None" in "".join(cell["source"])
    ]
    assert len(asked) == 3
    for at in asked:
        assert cells[at + 1]["cell_type"] == "code" and cells[at + 1]["outputs"] == []
        assert "Your guess" in "".join(cells[at + 1]["source"])


def test_on_a_simulated_machine_no_kernel_is_said_to_have_run(executed: tuple[dict[str, Any], list[Any]]) -> None:
    kernel = executed[0]["good"]["kernel"]
    assert kernel.seen == "not run, simulated: a real kernel would have given the right numbers"
    assert "labkit doctor" in executed[0]["bad"]["kernel"].remedy


def test_the_menus_answer_for_every_machine_and_fault(executed: tuple[dict[str, Any], list[Any]]) -> None:
    names, _ = executed
    seen = set()
    for name in simulate.names():
        names["menu"].value = name
        told = names["answer"].value
        assert names["fault_menu"].value == "", "another machine starts healthy"
        assert html.escape(simulate.title(name)) in told and "exists only on paper" in told
        seen.add(told)
        for fault in names["possible_faults"](name)[:: 1 if name == "rx7600" else 9]:
            names["fault_menu"].value = fault
            assert f"[{fault}]" in names["answer"].value, f"{name}, {fault}"
    assert len(seen) == len(simulate.names())


def test_a_fault_that_the_machine_cannot_have_is_left_out() -> None:
    names, shown = run(other_machine="no_gpu", other_fault="kfd-permission")
    assert names["fault_menu"].value == "" and "[kfd-permission]" not in shown[0].data


def test_the_doctor_speaks_of_this_machine_and_hears_a_symptom(
    executed: tuple[dict[str, Any], list[Any]],
) -> None:
    names, _ = executed
    codes = [finding.code for finding in names["heard"].findings]
    assert "wrong-device-string" in codes
    assert not names["here"].get("simulated")


def test_the_closing_words_fit_this_machine(executed: tuple[dict[str, Any], list[Any]]) -> None:
    names, shown = executed
    closing = shown[-1].data
    assert str(names["device"]) in closing
    assert ("not yet verified on ROCm" in closing) == (names["card"].build != "rocm")


def test_a_machine_with_a_fault_is_told_to_mend_it_first(monkeypatch: pytest.MonkeyPatch) -> None:
    made = simulate.snapshot("user_not_in_render_group")
    monkeypatch.setattr(devices, "snapshot", lambda: made)
    _, shown = run()
    assert "Mend this first: The process may not open /dev/kfd" in shown[-1].data and "usermod" in shown[-1].data


def test_kernels_that_fail_do_not_stop_the_lesson(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    real = devices.smoke_test()
    bad = tuple(
        KernelResult(op, dtype, "wrong" if dtype == "float16" else "ok", 0.5, 0.1, "off")
        for dtype in DTYPES
        for op in OPS
    )
    test = SmokeTest("cpu", bad, real.facts, "3 of 9 kernels give wrong numbers on 'cpu'", "update the driver")
    monkeypatch.setattr(devices, "_tested", {"auto": test, "cpu": test})
    _, shown = run()
    assert "This machine: 6 of 9 right" in capsys.readouterr().out
    assert "3 of 9 kernels give wrong numbers" in shown[-1].data and "update the driver" in shown[-1].data


def test_the_lesson_imports_nothing_slow_before_the_card() -> None:
    before = "".join("".join(cell["source"]) for cell in code_cells()[:2])
    assert "import torch" not in before and "torchvision" not in "".join(
        "".join(cell["source"]) for cell in code_cells()
    )
