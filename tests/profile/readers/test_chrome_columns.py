"""Traces by columns against the same traces parsed as JSON, with args and names of many forms; and the arithmetic of bytes."""

from __future__ import annotations

import importlib.util
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from labkit.profile.readers import chrome, chrome_args, json_profiles
from labkit.profile.readers.chrome_args import Reader, form_of
from labkit.profile.readers.chrome_bytes import Bytes
from labkit.profile.readers.chrome_columns import Args, Call
from labkit.profile.table import Profile

_spec = importlib.util.spec_from_file_location("chrome_writing", Path(__file__).with_name("chrome_writing.py"))
assert _spec is not None and _spec.loader is not None
writing = importlib.util.module_from_spec(_spec)
sys.modules["chrome_writing"] = writing
_spec.loader.exec_module(writing)
event, BASE = writing.event, writing.BASE

NAMES = [
    "k",
    "",
    "gemm",
    "é ü",
    'with "quotes" \\',
    "x" * 7,
    "x" * 8,
    "x" * 9,
    "x" * 16,
    "void f<" + "int, " * 40 + ">",
    "y" * 5000,
]


def odd_args(draw: random.Random, number: int) -> dict[str, Any]:
    """Args as Kineto writes them for a kernel, a call or an operator, and what it never wrote."""
    size = {"grid": [draw.randrange(1, 900), 1, 1], "block": [draw.choice([64, 256]), 1, 1]}
    forms: list[dict[str, Any]] = [
        {"External id": number, "device": 0, "stream": 7, "correlation": number, "kind": "Dispatch Kernel", **size},
        {"External id": number, "queued": 0, "device": 1, "context": 1, "stream": 7, "correlation": number}
        | {
            "registers per thread": 32,
            "shared memory": 512,
            "blocks per SM": 1.25,
            **size,
            "est. achieved occupancy %": 0,
        },
        {
            "External id": number,
            "kernel": draw.choice(NAMES),
            "cid": 211,
            "correlation": number,
            **size,
            "shared memory": 0,
        },
        {"kernel": draw.choice(NAMES), "correlation": number},
        {"External id": number, "Sequence number": number, "Concrete Inputs": ["", ""]}
        | {"Input Dims": [[draw.choice([4, 64]), 8], [8, 16]], "Ev Idx": number},
        {
            "device": 0,
            "stream": 7,
            "correlation": number,
            "bytes": draw.randrange(1 << 40),
            "memory bandwidth (GB/s)": draw.random(),
        },
        {"correlation": number},
    ]
    found = draw.choice(forms)
    odd = draw.random()
    if odd < 0.04:
        found = {**found, draw.choice(list(found)): draw.choice([None, -1, 1 << 70, 10**15, 10**16, 0, [1], {}])}
    elif odd < 0.08:
        items = list(found.items())
        draw.shuffle(items)
        found = dict(items)
    elif odd < 0.1:
        found = {
            **found,
            draw.choice(["device", "correlation", "bytes", "x"]): draw.choice(
                [5, None, {"correlation": 3}, "w" * 4200]
            ),
        }
    elif odd < 0.11:
        found = {}
    return found


def odd_trace(seed: int, count: int) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    found = []
    now = BASE
    for number in range(1, count + 1):
        now += draw.randrange(1, 10 ** draw.choice([2, 5, 9]))
        cat = draw.choice(
            ["kernel", "gpu_memcpy", "cuda_runtime", "cpu_op", "cpu_op", "gpu_user_annotation", "python_function"]
        )
        name = draw.choice(["aten::mm", *NAMES]) if cat == "cpu_op" else draw.choice(NAMES)
        e = event(cat, name, now, draw.randrange(10 ** draw.choice([1, 4, 8, 12])), args=odd_args(draw, number))
        e |= {"pid": draw.choice([0, 1, 99_999_999, 123_456_789_012]), "tid": draw.choice([7, 10**12])}
        found.append(e)
    if seed % 2:
        found.append(event("cuda_runtime", "hipExtModuleLaunchKernel", now, 5, args={"correlation": count // 2}))
    return found


def same(one: Profile, two: Profile) -> None:
    frames = [p.events.with_columns(pl.col("name").cast(pl.String)) for p in (one, two)]
    keys = frames[0].columns
    assert set(frames[0].columns) == set(frames[1].columns)
    assert_frame_equal(*[f.select(keys).sort(keys, nulls_last=True) for f in frames])
    assert one.devices == two.devices and one.odd == two.odd


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("pieces", [(20_000, 1), (60_000, 4)])
def test_args_of_any_form_are_read_as_json_reads_them(
    seed: int, pieces: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = writing.kineto(odd_trace(seed, 900))
    plain = json_profiles.read(text)
    monkeypatch.setattr(chrome, "LARGE", 0)
    monkeypatch.setattr(chrome, "PIECE", pieces[0])
    monkeypatch.setattr(chrome, "TOGETHER", pieces[1])
    same(plain, json_profiles.read(text))


def taken(texts: list[bytes], into: Any = Args) -> tuple[Reader, Any]:
    """The args of these events, as they stand in a file, and the reader that took them."""
    content = b"\n" * 32 + b"\n".join(texts) + b"\n" * 5000
    ends = np.cumsum([len(t) + 1 for t in texts]) + 31
    reader = Reader(into)
    return reader, reader.take(Bytes(content), ends - np.array([len(t) for t in texts]), ends)


def by_form(coded: Any) -> int:
    """How many events went by a form."""
    return sum(len(rows) for rows, _, structs in coded.blocks if isinstance(structs, chrome_args._Known))


def test_numbers_before_and_behind_what_recurs_are_read_without_json() -> None:
    texts = [
        b'"External id": %d, "kernel": "k%d", "cid": 211, "correlation": %d, "grid": [%d, 1, 1], "shared memory": 0'
        % (i, i % 3, 10**i, i)
        for i in range(16)
    ]
    reader, coded = taken(texts, Call)
    assert by_form(coded) == 15, "a number of 16 digits goes by JSON"
    assert len(reader.known[0].structs) == 4
    assert coded.numbers("correlation").tolist() == [10**i for i in range(15)] + [10**15]


@pytest.mark.parametrize(
    "odd",
    [
        b'"External id": 1, "device": 3, "correlation": 5, "x": {"a": 1}, "device": 4',
        b'"External id": 1, "device": 3, "correlation": 5, "device": null',
        b'"External id": 1, "device": 3, "correlation": 12345678901234567',
        b'"External id": 1, "device": -3, "correlation": 5',
        b'"External id": 1, "device": 3, "correlation": 5 ',
        b'"External id": 1,"device": 3, "correlation": 5',
        b"",
    ],
)
def test_what_differs_from_its_form_is_parsed_as_json(odd: bytes) -> None:
    texts = [b'"External id": %d, "device": %d, "correlation": %d' % (i, i % 4, i * i) for i in range(40)]
    texts[20] = odd
    _, coded = taken(texts)
    assert by_form(coded) == (40 if odd.endswith(b" ") else 39)
    expected = json.loads(b"{" + odd + b"}")
    assert coded.numbers("device")[20] == (
        chrome_args.UNKNOWN if expected.get("device") is None else expected["device"]
    )
    assert coded.numbers("correlation")[21] == 441


@pytest.mark.parametrize(
    "odd", [b'"External id": 1, "device": 3, "correlation": 05', b'"External id": 1, "device": 3, "correlation": 5, ']
)
def test_args_that_are_no_json_are_refused(odd: bytes) -> None:
    texts = [b'"External id": %d, "device": %d, "correlation": %d' % (i, i % 4, i * i) for i in range(40)]
    with pytest.raises(ValueError):
        taken([*texts, odd])


@pytest.mark.parametrize("value", [b"4", b"null"])
def test_a_number_that_is_said_twice_counts_as_json_counts_it(value: bytes) -> None:
    texts = [b'"External id": %d, "device": 3, "correlation": %d, "kind": "k"' % (i, i) for i in range(40)]
    texts[20] += b', "device": ' + value
    _, coded = taken(texts)
    assert by_form(coded) == 39
    assert coded.numbers("device")[[19, 20]].tolist() == [3, 4 if value == b"4" else chrome_args.UNKNOWN]


def test_args_without_numbers_have_no_form() -> None:
    fields = {b"correlation": "correlation"}
    assert form_of(b"", fields) is None
    assert form_of(b'"a": "b"', fields) is None
    assert form_of(b'"correlation": 1, "correlation": 2', fields) is None


def places(texts: list[bytes]) -> tuple[Bytes, Any, Any]:
    content = b"-" * 32 + b"x".join(texts) + b"-" * 40
    ends = np.cumsum([len(t) + 1 for t in texts]) + 31
    return Bytes(content), ends - np.array([len(t) for t in texts]), ends


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(0, 10**16 - 1), min_size=1, max_size=20))
def test_numbers(numbers: list[int]) -> None:
    text, begin, end = places([b"%d" % n for n in numbers])
    width = text.digits_from(begin)
    assert width.tolist() == text.digits_before(end).tolist() == [len(str(n)) for n in numbers]
    value, good = text.whole(end, width)
    assert good.all() and value.tolist() == numbers
    text, begin, end = places([b"%d.%03d" % divmod(n, 1000) for n in numbers])
    value, good = text.thousandths(end, begin)
    assert good.all() and value.tolist() == numbers


@pytest.mark.parametrize("odd", [b"1.5", b"-1.500", b"1,500", b"1.50x", b".500", b"1e3.500", b"12345678901234.500"])
def test_no_number_of_this_form(odd: bytes) -> None:
    text, begin, end = places([odd])
    assert not text.thousandths(end, begin)[1].any()


@settings(max_examples=80, deadline=None)
@given(st.lists(st.binary(max_size=40) | st.sampled_from([b"a" * n for n in range(20)]), min_size=1, max_size=30))
def test_marks_tell_texts_apart(texts: list[bytes]) -> None:
    text, begin, end = places(texts)
    marks = text.marks(begin, end).tolist()
    assert len(set(zip(marks, texts, strict=True))) == len(set(marks)) == len(set(texts))
    for t in set(texts):
        found = text.is_text(begin, t)
        assert found.tolist() == [bytes(text.content[b : b + len(t)]) == t for b in begin.tolist()]
