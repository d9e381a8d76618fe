"""The doctor never falls over: mangled cases, damaged files, noise."""

from __future__ import annotations

import copy
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit import cli
from labkit.errors import LabkitError
from labkit.machine import doctor, evidence
from labkit.machine.evidence import from_case
from labkit.machine.rules import RULES
from tests.machine.case_files import load

CASES = load()
WRONG = st.sampled_from([None, 0, 1.5, True, "", "x", [], [None], [1, "a"], {}, {"x": None}, "\x00\x1b[", "GPU[0] : "])


def _places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(node, dict):
        for key, inner in node.items():
            found += _places(inner, (*path, key))
    return found


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(CASES), st.data())
def test_no_mangled_case_raises(case: dict[str, Any], data: st.DataObject) -> None:
    mangled = copy.deepcopy({"platform": case["platform"], "given": case["given"]})
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(_places(mangled) or [("given",)]))
        node: Any = mangled
        for key in place[:-1]:
            node = node[key] if isinstance(node, dict) and key in node else None
        if not isinstance(node, dict):
            continue
        what = data.draw(st.sampled_from(["drop", "wrong", "cut"]))
        if what == "drop":
            node.pop(place[-1], None)
        elif what == "cut" and isinstance(node.get(place[-1]), str):
            node[place[-1]] = node[place[-1]][: data.draw(st.integers(0, 200))]
        else:
            node[place[-1]] = copy.deepcopy(data.draw(WRONG))
    found = doctor.diagnose(from_case(mangled))
    assert found.findings
    json.dumps(found.as_json())


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=500))
def test_no_symptom_raises(text: str) -> None:
    for platform in ("linux", "wsl", "windows", "container", "macos", "?"):
        assert doctor.diagnose(from_case({"platform": platform, "given": {"symptom": text}})).findings


@pytest.mark.parametrize(
    "content",
    [b"", b"   \n", b"{", b'{"given": [', b'{"id": "1", "giv', b"{}", b'{"given": 3}', b"[" * 100_000, b"{" * 5000,
     bytes(range(256)) * 40, b"\x1f\x8b\x08\x00broken"],
    ids=["empty", "blank", "brace", "cut", "cut-key", "no-kind", "wrong-kind", "deep-list", "deep-object", "binary", "gzip"],
)  # fmt: skip
def test_a_damaged_file_gets_one_sentence(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "case.json"
    path.write_bytes(content)
    try:
        known = evidence.load(path)
    except LabkitError as error:
        assert "\n" not in error.problem and error.remedy
        assert cli.main(["doctor", "--from", str(path)]) == 1
        printed = capsys.readouterr()
        assert "Traceback" not in printed.out + printed.err
    else:
        assert doctor.diagnose(known).findings  # text of no known kind counts as what somebody saw


def test_a_missing_file_gets_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(LabkitError):
        evidence.load(tmp_path / "nowhere.json")


def test_noise_costs_the_doctor_no_more_than_a_bounded_text() -> None:
    """A log of 20 MB is looked at by its beginning and its end, so it costs about what 1 MB costs."""

    def cost(copies: int) -> float:
        noise = "2025-11-04 10:00:00 INFO step done, GPU fine, nothing to see : | [ok] loading of data\n" * copies
        start = time.perf_counter()
        diagnosis = doctor.diagnose(from_case({"platform": "linux", "given": {"symptom": noise + "NameError: x\n"}}))
        assert diagnosis.findings[0].code == "ok"
        return time.perf_counter() - start

    cost(100)
    assert cost(240_000) < 6 * cost(12_000) + 1.0


def test_an_error_at_the_end_of_a_long_log_is_seen() -> None:
    log = (
        "step done\n" * 200_000
        + "ImportError: libamdhip64.so.5: cannot open shared object file: No such file or directory\n"
    )
    found = doctor.diagnose(from_case({"platform": "linux", "given": {"symptom": log}}))
    assert found.findings[0].code == "hip-library-mismatch"


_LETTERS = "".join(chr(65 + (7 * n * n + 3 * n) % 26) + chr(97 + (11 * n) % 26) for n in range(60))
_AWKWARD = {
    "letters": "A", "brackets": "[", "blanks": " ", "slashes": "/", "digits": "1", "dots": ".", "colons": ":", "dashes": "-",
    "rocm": "rocm", "base64": _LETTERS, "empty lines": "\n", "blank lines": " \n", "numbers": "1.5 s ", "import": "import torch ",
    "first": "first ", "truth": "True ", "times": "first 3 s then 2 ms ", "paths": "/opt/rocm/lib", "variables": "HSA_X=1 ",
    "torch": "torch 2.1 ", "error": "HIP error: ", "libraries": "librocblas.so.1: ", "GiB": "12 GiB free; ", "nan": "nan bf16 ",
}  # fmt: skip


@pytest.mark.parametrize("name", _AWKWARD)
def test_every_rule_takes_a_time_in_proportion_to_the_symptom(name: str) -> None:
    """One line without end, of the kinds that make a pattern try again from every place: ten times longer, not 100 times dearer."""

    def cost(length: int) -> float:
        text = (_AWKWARD[name] * length)[:length]
        known = [from_case({"platform": system, "given": {"symptom": text}}) for system in ("linux", "windows")]
        start = time.perf_counter()
        for one in known:
            for rule in RULES:
                rule.test(one)
        return time.perf_counter() - start

    cost(1000)
    small = min(cost(10_000) for _ in range(2))
    assert cost(100_000) < 25 * max(small, 0.02)


def test_a_long_line_keeps_its_beginning_and_its_end() -> None:
    line = "x y " * 30_000 + "RuntimeError: HIP error: invalid device function"
    assert evidence.bounded("first " + line).startswith("first ")
    assert len(evidence.bounded(line)) < 3000
    found = doctor.diagnose(from_case({"platform": "linux", "given": {"symptom": line}}))
    assert found.findings[0].code == "arch-not-in-wheel"


def test_an_ordinary_text_is_searched_as_it_stands() -> None:
    text = "GPU[0] : " + "=" * 90 + "\n\n\n  a line\twith tabs  \n"
    assert evidence.bounded(text) == text
