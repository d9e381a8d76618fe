"""The IDX reader: what is right is read, and anything else is one clear LabkitError."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.data.idx import gunzip, read_idx
from labkit.errors import LabkitError

_CODES = {"u1": 0x08, "i1": 0x09, "i2": 0x0B, "i4": 0x0C, "f4": 0x0D, "f8": 0x0E}


def _idx(array: np.ndarray) -> bytes:
    code = _CODES[array.dtype.str[1:]]
    header = bytes([0, 0, code, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.mark.parametrize("kind", list(_CODES))
@pytest.mark.parametrize("packed", [False, True])
def test_every_element_type_is_read_back(kind: str, packed: bool) -> None:
    array = np.arange(2 * 3 * 5).reshape(2, 3, 5).astype(kind)
    data = gzip.compress(_idx(array)) if packed else _idx(array)
    result = read_idx(data)
    assert result.dtype == array.dtype and result.dtype.isnative and result.flags.writeable
    np.testing.assert_array_equal(result, array)


GOOD = _idx(np.arange(12, dtype=np.uint8).reshape(3, 2, 2))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "cut off"),
        (b"\0\0\x08", "cut off"),
        (b"PNG\r" + GOOD[4:], "not an IDX file"),
        (b"\0\0\x07\x03" + GOOD[4:], "not an IDX file"),
        (b"\0\0\x08\x00", "no complete IDX header"),
        (GOOD[:10], "no complete IDX header"),
        (GOOD[:-1], "should hold 12 bytes"),
        (GOOD + b"\0", "should hold 12 bytes"),
        (b"\0\0\x08\x03" + b"\xff" * 12, "claims to hold"),
        (gzip.compress(GOOD)[:-3], "does not end"),
        (gzip.compress(GOOD)[:20], "does not end"),
        (gzip.compress(GOOD) + b"more", "after the end"),
        (gzip.compress(GOOD) * 2, "after the end"),
        (gzip.compress(GOOD)[:-8] + bytes(8), "damaged"),
        (gzip.compress(b"hello"), "not an IDX file"),
    ],
)
def test_what_is_wrong_is_said(data: bytes, words: str) -> None:
    with pytest.raises(LabkitError, match=words) as caught:
        read_idx(data, "train-images")
    assert caught.value.problem.startswith("train-images") and caught.value.remedy


@given(st.binary(max_size=200))
@settings(max_examples=150, deadline=None)
def test_bytes_of_any_kind_give_an_array_or_a_labkit_error(data: bytes) -> None:
    for candidate in (data, b"\0\0\x08\x01" + data, b"\x1f\x8b\x08" + data, gzip.compress(data)):
        try:
            assert isinstance(read_idx(candidate), np.ndarray)
        except LabkitError as error:
            assert error.problem


@given(st.integers(0, len(gzip.compress(GOOD, mtime=0)) - 1), st.integers(1, 255))
@settings(max_examples=150, deadline=None)
def test_one_changed_byte_never_gives_other_pictures(at: int, change: int) -> None:
    packed = bytearray(gzip.compress(GOOD, mtime=0))
    packed[at] ^= change
    try:
        np.testing.assert_array_equal(
            read_idx(bytes(packed)), read_idx(GOOD)
        )  # a byte that carries nothing, such as the time
    except LabkitError:
        pass


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labkit.data.idx._LARGEST_BYTES", 1000)
    assert len(gunzip(gzip.compress(bytes(1000)))) == 1000
    with pytest.raises(LabkitError, match="more than"):
        gunzip(gzip.compress(bytes(5000)))
