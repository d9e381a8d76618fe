"""The pages beside the lessons: what they link exists, what they command works, what they say is the ledger's."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from labkit import cli
from labkit.catalog.claims import THEMES, claims
from labkit.course import table

pytestmark = pytest.mark.light

PAGES = Path(__file__).resolve().parents[1] / "notebooks" / "pages"
GUIDES = (PAGES / "guides.md").read_text(encoding="utf-8")
GLOSSARY = (PAGES / "glossary.md").read_text(encoding="utf-8")
# the systems that the guides name, each with the words of its row in the map
SYSTEMS = (
    "compatibility check before anything is installed", "getting PyTorch for ROCm", "consumer cards", "verification tools",
    "ResNet-50, transfer learning", "its first indicator: the rate", "its second: memory", "its third: stability", "RCCL test",
    "bandwidth test", "allocator settings", "misconceptions", "baselines and monitoring", "glossary",
    "checks of card, system and kernel", "installation with apt", "PyTorch: installation and verification",
    "TensorFlow: installation and verification", "MNIST", "gradient accumulation", "checkpointing", "mixed precision",
    "error 1", "error 2", "error 3", "exercise: CIFAR-10", "exercise: mixed precision", "exercise: rocprof",
)  # fmt: skip


def rows(text: str) -> list[list[str]]:
    """The cells of every row of every table, without headings."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [
        [cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines if "the guide's step" not in line
    ]


def headings(notebook: Path) -> set[str]:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return set(re.findall(r"^#+ (.+)$", text, re.MULTILINE))


def links(text: str) -> list[str]:
    return re.findall(r"\]\((?!https?:)([^)]+)\)", text)


def commands(text: str) -> list[list[str]]:
    """What stands behind 'python3 -m labkit', in every piece of code of the page."""
    fenced = re.compile(r"^ *```[a-z]*\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
    pieces = [line for block in fenced.findall(text) for line in block.splitlines()]
    pieces += re.findall(r"`([^`\n]+)`", fenced.sub("", text))
    calls = [shlex.split(piece.strip()) for piece in pieces if "-m labkit " in piece]
    return [words[words.index("labkit") + 1 :] for words in calls]


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for link in links(page.read_text(encoding="utf-8")):
        file, _, _ = link.partition("#")
        assert not file or (PAGES / file).exists(), link


def test_every_section_that_the_map_names_is_in_its_lesson() -> None:
    named = re.findall(r"\]\(\.\./(\w+\.ipynb)\)((?: and| \*[^*]+\*,?)+)", GUIDES)
    found = [(file, title) for file, titles in named for title in re.findall(r"\*([^*]+)\*", titles)]
    assert len(found) >= 40
    missing = [(file, title) for file, title in found if title not in headings(PAGES.parent / file)]
    assert not missing, missing


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_every_labkit_command_is_one(page: Path) -> None:
    for words in commands(page.read_text(encoding="utf-8")):
        if len(words) == 1:  # a command that is only named
            assert words[0] in cli._COMMANDS, words
        elif words:
            cli._parser().parse_args(words)
        if words[:1] == ["claims"]:
            assert set(words[1:]) <= {*claims(), "--theme", *THEMES, "--run"}, words


def test_a_command_that_is_none_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(commands(GUIDES)) >= 20
    (words,) = commands("Run `python3 -m labkit claims --these`.")
    with pytest.raises(SystemExit):
        cli._parser().parse_args(words)


def test_each_system_of_the_guides_has_its_row_and_a_place() -> None:
    for system in SYSTEMS:
        found = [row for row in rows(GUIDES) if row[0].startswith(system)]
        assert found, system
        assert re.search(r"\]\(|`python3 -m labkit|below: \*", found[0][1]), found[0]


def test_every_claim_stands_in_the_map_in_its_guide_s_table() -> None:
    first, second = (
        GUIDES.split("## The Windows guide")[1].split("## Ubuntu installation")[0].split("## The Ubuntu guide")
    )
    for guide, text in (("1", first), ("2", second)):
        named = {number for row in rows(text) for number in re.findall(r"\d\.\d+", row[2])}
        assert named == {claim.id for claim in claims().values() if claim.guide == guide}


def test_whoever_has_windows_is_told_what_to_call_before_the_first_command() -> None:
    told = GUIDES.index("On Windows write `py` where `python3` stands")
    assert told < GUIDES.index("```\npython3 -m labkit")
    windows = next(row for row in rows(GUIDES) if row[0] == "verification tools")
    assert (
        "read rocminfo.txt" not in windows[1]
        and "hipInfo.exe" in windows[1]
        and "hipInfo.exe" in claims()["1.19"].right
    )


def test_each_lesson_leads_to_the_next_and_the_last_ends_the_course() -> None:
    lessons = table.load().lessons
    for lesson, following in zip(lessons, [*lessons[1:], None], strict=True):
        last = json.loads(lesson.path.read_text(encoding="utf-8"))["cells"][-1]
        (after,) = re.findall(r"^\*\*Next:\*\* (.+)$", "".join(last["source"]), re.MULTILINE)
        begin = (
            f"[{following.id} · {following.title}]({following.path.name})"
            if following
            else "nothing; this is the last lesson"
        )
        assert after.startswith(begin), lesson.id


def test_the_way_with_apt_is_the_ledger_s() -> None:
    part = GUIDES.split("## Ubuntu installation")[1].split("## Windows installation")[0]
    for number, words in {
        "2.9": ("gpg --dearmor", "/etc/apt/keyrings/rocm.gpg", "signed-by"),
        "2.10": ("https://repo.radeon.com/rocm/apt/<version> <codename> main", "repo.amd.com"),
        "2.11": ("amdrocm", "amdrocm-core-sdk"),
        "2.8": ("5.15 and 6.8", "6.18.4"),
    }.items():
        for word in words:
            assert word in part and word in claims()[number].right, (number, word)
    assert claims()["2.12"].command.removeprefix("usermod ") in part
    assert "not established" in part


# ------------------------------------------------------------------------------------------------- glossary

ENTRIES = dict(re.findall(r"^- \*\*([^*]+)\*\*: (.+)$", GLOSSARY, re.MULTILINE))


def test_the_glossary_is_in_order_and_short() -> None:
    words = list(ENTRIES)
    assert words == sorted(words, key=str.lower) and len(words) == GLOSSARY.count("\n- ") == len(
        {w.lower() for w in words}
    )
    assert not [word for word, text in ENTRIES.items() if len(text) > 260 or not text.endswith(".")]
    wanted = "ROCm|HIP|HSA|RCCL|MIOpen|gfx target|wavefront|CU|HBM|xGMI|Infinity Cache|algbw|busbw|arithmetic intensity|ridge point"
    assert set(wanted.split("|")) <= set(ENTRIES)


@pytest.mark.parametrize(
    ("word", "number", "expansion"),
    [
        ("RCCL", "1.52", "ROCm Communication Collectives Library"),
        ("HIP", "1.53", "Heterogeneous-Compute Interface for Portability"),
        ("HSA", "1.55", "Heterogeneous System Architecture"),
    ],
)
def test_a_name_stands_for_what_the_ledger_says(word: str, number: str, expansion: str) -> None:
    assert claims()[number].verdict == "TRUE" and expansion in claims()[number].says
    assert ENTRIES[word].startswith(f"{expansion} (claim {number})")


def test_what_the_ledger_calls_old_is_called_old() -> None:
    assert (
        claims()["1.1"].verdict == "OUTDATED" and "was short for" in ENTRIES["ROCm"] and "claim 1.1" in ENTRIES["ROCm"]
    )
    assert (
        claims()["1.54"].verdict == "MISLEADING"
        and "binaries cannot" in ENTRIES["HIP"]
        and "claim 1.54" in ENTRIES["HIP"]
    )


def test_every_claim_that_a_page_names_exists() -> None:
    for text in (GUIDES, GLOSSARY):
        named = re.findall(r"\d\.\d+", " ".join(re.findall(r"claims? (\d\.\d+(?:(?:, | and )\d\.\d+)*)", text)))
        assert named and set(named) <= set(claims())
