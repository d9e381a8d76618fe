"""However a table was pasted, it says the same: read(noise(x)) gives the facts of read(x)."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.errors import LabkitError
from labkit.profile.facts import facts
from labkit.profile.readers import read_bytes
from tests.profile.readers import noise
from tests.profile.readers.texts import MAKERS, Text

pytestmark = pytest.mark.light


def told(content: str | bytes, text: Text) -> dict[str, Any]:
    """Of the facts, those that the text must give."""
    found = facts(read_bytes(content if isinstance(content, bytes) else content.encode()))
    return {key: found.get(key) for key in text.expect}


@pytest.mark.parametrize("make", MAKERS, ids=lambda m: m.__name__)
def test_clean(make: Callable[[int], Text]) -> None:
    for seed in range(5):
        text = make(seed)
        assert told(text.text, text) == text.expect


@pytest.mark.parametrize("noisy", noise.SIMPLE, ids=lambda n: n.__name__)
@pytest.mark.parametrize("make", MAKERS, ids=lambda m: m.__name__)
def test_as_pages_and_terminals_give_it(make: Callable[[int], Text], noisy: Callable[[str], str]) -> None:
    text = make(7)
    assert told(noisy(text.text), text) == text.expect


@pytest.mark.parametrize(
    "noisy", [*noise.TABLES, noise.page, *map(noise.terminal, (80, 100, 132))], ids=lambda n: n.__name__
)
@pytest.mark.parametrize("make", MAKERS, ids=lambda m: m.__name__)
def test_as_other_programs_write_it(make: Callable[[int], Text], noisy: Callable[[str], str]) -> None:
    text = make(3)
    if not text.is_csv or (text.counters and noisy in (noise.upper_header, noise.lower_header)):
        return
    if noisy is noise.other_order and text.expect["kind"] == "rocprof-v1" and "AverageNs" in text.text:
        return  # five columns, all in quotes: that is hipprof's mark
    assert told(noisy(text.text), text) == text.expect


@pytest.mark.parametrize("make", MAKERS, ids=lambda m: m.__name__)
def test_other_encodings_and_packed(make: Callable[[int], Text]) -> None:
    text = make(5)
    for content in (
        text.text.encode("utf-16"),
        text.text.encode("utf-16-le"),
        b"\xef\xbb\xbf" + text.text.encode(),
        gzip.compress(text.text.encode()),
        gzip.compress(text.text[:100].encode()) + gzip.compress(text.text[100:].encode()),
    ):
        assert told(content, text) == text.expect


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(MAKERS),
    st.integers(0, 10**6),
    st.lists(
        st.sampled_from(
            [n for n in noise.SIMPLE if n not in (noise.numbered, noise.header_twice, noise.no_last_newline)]
        ),
        max_size=3,
        unique=True,
    ),
)
def test_several_at_once(make: Callable[[int], Text], seed: int, noises: list[Callable[[str], str]]) -> None:
    text = make(seed)
    pasted = text.text
    for noisy in sorted(noises, key=noise.SIMPLE.index, reverse=True):
        pasted = noisy(pasted)
    assert told(pasted, text) == text.expect


@pytest.mark.parametrize("make", MAKERS, ids=lambda m: m.__name__)
def test_the_order_of_rows_does_not_matter(make: Callable[[int], Text]) -> None:
    text = make(11)
    if text.is_csv and text.name != "agents":
        head, *lines = text.text.rstrip("\n").split("\n")
        random.Random(1).shuffle(lines)
        assert told("\n".join([head, *lines]) + "\n", text) == text.expect


HEADLESS = {
    "kernel_trace", "kernel_trace_old", "counters", "api_trace", "markers", "memory_copies", "allocations", "scratch",
    "v1_statistics", "kernel_stats",
    "api_stats", "domain_stats", "copy_stats",
}  # fmt: skip


@pytest.mark.parametrize("make", [m for m in MAKERS if m.__name__ in HEADLESS], ids=lambda m: m.__name__)
def test_without_its_first_line(make: Callable[[int], Text]) -> None:
    text = make(2)
    assert told(text.text.split("\n", 1)[1], text) == text.expect


@pytest.mark.parametrize("make", MAKERS, ids=lambda m: m.__name__)
def test_cut_anywhere(make: Callable[[int], Text]) -> None:
    """What is there is read: never a name that is not there, never more calls, never a negative time."""
    text = make(4)
    kind = text.expect["kind"]
    start = text.text.index("STDDEV      |\n") + 14 if kind.endswith("summary") else text.text.index("\n") + 1
    whole = {
        e["name"]: e["calls"] for key in ("kernels", "apis", "copies", "domains") for e in text.expect.get(key) or []
    }
    for cut in range(start, len(text.text), 23):
        found = facts(read_bytes(text.text[:cut].encode()))
        assert found["kind"] == kind or "stats" in kind or "summary" in kind
        for key in ("kernels", "apis", "copies"):
            for entry in found.get(key) or []:
                assert entry["calls"] <= whole[entry["name"]] and (entry["total_ns"] or 0) >= 0


@pytest.mark.parametrize("make", MAKERS, ids=lambda m: m.__name__)
def test_a_header_alone_is_a_table_without_rows(make: Callable[[int], Text]) -> None:
    text = make(1)
    if text.is_csv:
        found = facts(read_bytes((text.text.split("\n", 1)[0] + "\n").encode()))
        assert found["kind"].startswith("roc") and found["dispatches"] is None and found["kernels"] == []


@pytest.mark.parametrize(
    "text",
    [
        "name,age,city\nAnna,31,Bonn\nBert,29,Ulm\n",
        "date,open,high,low,close\n2024-01-01,1,2,3,4\n",
        "Name,Calls\nfirst,3\n",
        "start,end,name\n1,2,x\n",
        "id,function,domain name\n1,sales,example.org\n",
        "Kernel size,Stride,Padding\n3,1,1\n",
        "# Notes\nThe kernel_name column, the Start_Timestamp column and so on: see the manual.\n",
        "usage: rocprofv3 [-h] [--kernel-trace] [--stats]\n  --kernel-trace   for Collecting Kernel Dispatch Traces\n",
        "",
        " \n\n",
        "...\n",
    ],
)
def test_other_texts_are_no_profiles(text: str) -> None:
    with pytest.raises(LabkitError):
        read_bytes(text.encode())
