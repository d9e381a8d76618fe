"""The ledger of claims: whole, in the guides' order, in our own words, and every claim has a place."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from labkit.catalog import claims as ledger
from labkit.errors import LabkitError

pytestmark = pytest.mark.light

ROWS = list(ledger.claims().values())
NUMBERS = [f"1.{number}" for number in range(1, 57)] + [f"2.{number}" for number in range(1, 38)]
SENTENCE = re.compile(r"^\S.*\.$", re.DOTALL)


def test_all_93_claims_stand_there_in_order() -> None:
    assert [claim.id for claim in ROWS] == NUMBERS


@pytest.mark.parametrize("claim", ROWS, ids=lambda claim: claim.id)
def test_a_claim_is_whole(claim: ledger.Claim) -> None:
    assert claim.guide == claim.id.split(".")[0]
    assert SENTENCE.match(claim.says) and SENTENCE.match(claim.right)
    assert claim.sources and all(len(source) > 8 for source in claim.sources)
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", claim.checked)
    assert bool(claim.probe) != bool(claim.why_no_probe), "either a probe, or one sentence why there is none"
    assert not claim.why_no_probe or (SENTENCE.match(claim.why_no_probe) and len(claim.why_no_probe) > 30)
    assert not claim.probe or claim.probe.split(".")[0] in ledger.THEMES
    assert claim.lessons, "every claim is treated by a lesson"
    assert all(re.fullmatch(r"\d\d", lesson) for lesson in claim.lessons)
    assert not re.search(r"[\u4e00-\u9fff]", claim.says + claim.right + claim.command), "in English"
    assert claim.says != claim.right


def test_themes_and_verdicts_are_all_used() -> None:
    assert {claim.theme for claim in ROWS} == set(ledger.THEMES)
    assert {claim.verdict for claim in ROWS} == set(ledger.VERDICTS)


def test_no_two_claims_say_the_same() -> None:
    assert len({claim.says for claim in ROWS}) == len(ROWS)


def test_chosen_by_id_theme_and_both() -> None:
    assert [claim.id for claim in ledger.chosen(["2.22", "1.30"])] == ["2.22", "1.30"]  # verification before bandwidth
    assert {claim.theme for claim in ledger.chosen(theme="memory")} == {"memory"}
    assert ledger.chosen(["1.30"], theme="memory") == ()
    assert len(ledger.chosen()) == len(ROWS)


@pytest.mark.parametrize(("ids", "theme"), [(["3.1"], None), (["1.57"], None), ([], "weather")])
def test_an_unknown_id_or_theme_is_told(ids: list[str], theme: str | None) -> None:
    with pytest.raises(LabkitError) as told:
        ledger.chosen(ids, theme)
    assert told.value.remedy


@pytest.mark.parametrize(
    "spoil", [{"verdict": "MAYBE"}, {"theme": "weather"}, {"guide": "3"}, {"extra": 1}, {"id": "1.2"}]
)
def test_a_spoilt_table_is_noticed(spoil: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = json.loads((Path(ledger.__file__).parent / "claims.json").read_text(encoding="utf-8"))
    rows[0].update(spoil)
    (tmp_path / "claims.json").write_text(json.dumps(rows), encoding="utf-8")
    monkeypatch.setattr(ledger, "__file__", str(tmp_path / "claims.py"))
    with pytest.raises(ValueError, match=r"claims\.json"):
        ledger.claims.__wrapped__()


def test_commands_are_carried_as_facts() -> None:
    """What stands in the guides letter for letter is what a scan of the course can look for."""
    table = ledger.claims()
    assert table["2.16"].command == "torch.backends.hip.is_available()" and table["2.16"].verdict == "WRONG"
    assert table["1.20"].verdict == "TRUE" and "is_available" in table["1.20"].command


# Words of a lesson's folklore box or of the cell behind it, by which one sees that it treats the claim. Lesson 11 goes through
# the whole ledger.
TREATED = {
    ("1.18", "00"): "11.0.0",
    ("1.20", "00"): "torch.cuda.is_available()",
    ("1.21", "00"): "ROCm support",
    ("1.22", "02"): "torch.utils.data.dataloader",
    ("1.23", "06"): "torch.hub.load",
    ("1.25", "06"): "load the weights and train",
    ("1.26", "06"): "800 images per second",
    ("1.30", "07"): "2144",
    ("1.30", "08"): "2144",
    ("1.31", "08"): "pip install rccl-tests",
    ("1.32", "08"): "all_reduce_perf -b 8 -e 1G -f 2",
    ("1.33", "08"): "8 GB in under 10 ms",
    ("1.34", "07"): "50 GB/s in both directions",
    ("1.34", "08"): "50 GB/s in both directions",
    ("1.35", "08"): "above 90 %",
    ("1.36", "07"): "memory bandwidth is the key",
    ("1.37", "07"): "MI300A",
    ("1.38", "07"): "rocm-bandwidth-test --bidirectional",
    ("1.39", "05"): "PYTORCH_HIP_ALLOC_CONF",
    ("1.39", "07"): "PYTORCH_HIP_ALLOC_CONF",
    ("1.40", "05"): "max_split_size_mb",
    ("1.40", "07"): "garbage_collection_threshold:0.6,max_split_size_mb:128",
    ("1.41", "07"): "15 to 20 %",
    ("1.42", "07"): "fragmentation by 30 %",
    ("1.44", "00"): "HSA_OVERRIDE_GFX_VERSION",
    ("1.47", "04"): "torch.utils.bottleneck",
    ("1.56", "08"): "clusters on Windows",
    ("2.14", "00"): "clinfo",
    ("2.16", "00"): "torch.backends.hip",
    ("2.17", "00"): "torch.cuda.is_available()",
    ("2.18", "00"): "pip install tensorflow-rocm",
    ("2.20", "02"): "Normalize((0.5,), (0.5,))",
    ("2.22", "00"): "'hip'",
    ("2.24", "01"): "running_loss += loss.item()",
    ("2.25", "05"): "accumulation_steps",
    ("2.26", "05"): "checkpoint(block, x)",
    ("2.27", "03"): "from torch.cuda.amp import GradScaler, autocast",
    ("2.28", "03"): "always use `GradScaler`",
    ("2.29", "03"): "scaler.scale(loss).backward()",
    ("2.32", "00"): "10.3.0",
    ("2.35", "00"): "rocm-opencl-runtime",
    ("2.36", "04"): "use `rocprof`",
    ("2.37", "02"): "CIFAR-10",
    ("2.37", "03"): "autocast",
}


def test_a_lesson_that_a_claim_names_treats_it() -> None:
    named = {(claim.id, lesson) for claim in ROWS for lesson in claim.lessons if lesson != "11"}
    assert named == set(TREATED)
    for (number, lesson), words in TREATED.items():
        (path,) = (Path(__file__).parents[2] / "notebooks").glob(f"{lesson}_*.ipynb")
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells)
        assert words in text, f"lesson {lesson} does not treat claim {number} any more: '{words}' is not in it"
