"""Nobody's input makes a reader raise anything but labkit's own error, hang, or grow beyond measure."""

from __future__ import annotations

import gzip
import random
import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.errors import LabkitError
from labkit.profile.facts import facts
from labkit.profile.readers import look, read_bytes
from tests.profile.readers.texts import MAKERS

pytestmark = pytest.mark.light

WORDS = sorted({w for make in MAKERS for w in make(1).text.replace("\n", ",").split(",")})


def survives(content: bytes) -> None:
    look.begins(content)
    try:
        found = facts(read_bytes(content))
    except LabkitError as error:
        assert error.problem
        assert error.__cause__ is None or isinstance(error.__cause__, (OSError, ValueError)), repr(error.__cause__)
        return
    assert found["kind"] and isinstance(found["kernels"], list)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400))
def test_bytes(content: bytes) -> None:
    survives(content)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=400))
def test_text(text: str) -> None:
    survives(text.encode("utf-8", errors="replace"))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from([*WORDS, "", "...", '"', "1e5", "-1", "0", "nan", "|", "9" * 30, "1.5"]), max_size=24),
        max_size=8,
    ),
    st.sampled_from(",;\t|"),
)
def test_the_words_of_tables_in_any_order(rows: list[list[str]], delimiter: str) -> None:
    survives("\n".join(delimiter.join(row) for row in rows).encode())


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(MAKERS), st.integers(0, 10**6), st.data())
def test_damaged_tables(make, seed: int, data) -> None:  # type: ignore[no-untyped-def]
    content = bytearray(make(seed).text.encode())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(content) - 1))
        what = data.draw(st.sampled_from(("drop", "replace", "double", "break")))
        if what == "drop":
            del content[at : at + data.draw(st.integers(1, 60))]
        elif what == "replace":
            content[at : at + 1] = data.draw(st.binary(max_size=6))
        elif what == "double":
            content[at:at] = content[max(0, at - 80) : at]
        else:
            content[at:at] = b"\n"
        if not content:
            return
    survives(bytes(content))


@pytest.mark.parametrize("make", MAKERS, ids=lambda m: m.__name__)
def test_packed_and_cut(make) -> None:  # type: ignore[no-untyped-def]
    packed = gzip.compress(make(1).text.encode())
    for cut in range(1, len(packed), max(1, len(packed) // 40)):
        with pytest.raises(LabkitError):
            read_bytes(packed[:cut])


HOSTILE = {
    "one line without an end": b'"Kind","Kernel_Name","Start_Timestamp"' + b',"x' * 300_000,
    "a quote that never closes":
        b'"Kind","Agent_Id","Kernel_Name","Start_Timestamp","End_Timestamp"\n' + b'"KERNEL_DISPATCH",1,"a\n' * 15_000,
    "headers only": b'"Kind","Agent_Id","Kernel_Name","Start_Timestamp","End_Timestamp"\n' * 10_000,
    "a header of fragments": b'"Kind","Agent_Id",\n' * 10_000,
    "commas": b"Dispatch_ID,Kernel_Name,GPU_ID\n" + b",,,,,,,,,,,,,,,,,,,\n" * 15_000,
    "pipes": b"|NAME|DOMAIN|CALLS|DURATION (nsec)|\n" + b"|||||||\n" * 60_000,
    "many columns": (",".join(f"C{i}" for i in range(30_000)) + ",Dispatch_ID,Kernel_Name,GPU_ID\n").encode() + b"1," * 30_000 + b"1,k,2\n",
    "dots": b"Name,Calls,TotalDurationNs\n" + b"...,...,...,...\n" * 15_000,
    "words without a table": b"Start_Timestamp, Kernel_Name: see above; \n" * 20_000,
    "escapes": b"Name,Calls,TotalDurationNs\n" + b"\x1b[" * 300_000,
    "control characters": b"Name,Calls,TotalDurationNs\n" + b"\x01\x02" * 300_000,
    "brackets": b"[" * 500_000,
    "braces": b'{"a":' * 100_000,
    "noise": random.Random(1).randbytes(1_000_000),
    "a line break in every place":
        b"\n".join(bytes([c]) for c in b'"Kind","Agent_Id","Kernel_Name","Start_Timestamp","End_Timestamp"\n' * 2000),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name: str) -> None:
    content = HOSTILE[name]
    tracemalloc.start()
    began = time.process_time()
    try:
        survives(content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60 * len(content) + (30 << 20)
    assert time.process_time() - began < 60  # a hang, not a speed


def test_a_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(gzip.compress(b"\x00" * (1 << 28), 9), 9)
    with pytest.raises(LabkitError):
        read_bytes(bomb)
    with pytest.raises(LabkitError):
        read_bytes(gzip.compress(b"\x00" * (128 << 20), 9))
