"""CIFAR-10's formats: the binary batches, the pickles (read, never run) and the archives."""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import tarfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.data.cifar import archive_members, read_binary_batch, read_python_batch
from labkit.errors import LabkitError

_RANDOM = np.random.default_rng(0)
PIXELS = _RANDOM.integers(0, 256, (7, 3072), dtype=np.uint8)
LABELS = [3, 0, 9, 1, 1, 8, 5]
BINARY = b"".join(bytes([label]) + row.tobytes() for label, row in zip(LABELS, PIXELS, strict=True))
BATCH = {
    b"batch_label": b"training batch 1 of 5",
    b"labels": LABELS,
    b"data": PIXELS,
    b"filenames": [b"a_s_%d.png" % i for i in range(7)],
}

# How Python 2 with protocol 2 wrote a batch (the form of the published files), spelled out: str as SHORT_BINSTRING,
# numpy.core.multiarray, and the pixels as BINSTRING.
PYTHON_2 = (
    b"\x80\x02}q\x01(U\x0bbatch_labelq\x02U\x15training batch 1 of 5q\x03U\x06labelsq\x04]q\x05("
    + b"".join(b"K" + bytes([label]) for label in LABELS)
    + b"eU\x04dataq\x06cnumpy.core.multiarray\n_reconstruct\nq\x07cnumpy\nndarray\nq\x08K\x00\x85U\x01b\x87Rq\x09"
    b"(K\x01K\x07M\x00\x0c\x86cnumpy\ndtype\nq\x0aU\x02u1K\x00K\x01\x87Rq\x0b(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff"
    b"K\x00tb\x89T"
    + (7 * 3072).to_bytes(4, "little")
    + PIXELS.tobytes()
    + b"tbU\x09filenamesq\x0c]q\x0d(U\x05a.pngq\x0eU\x05b.pngq\x0feu."
)


def test_the_binary_version() -> None:
    images, labels = read_binary_batch(BINARY)
    assert images.shape == (7, 3, 32, 32) and images.dtype == np.uint8 and labels.dtype == np.int64
    np.testing.assert_array_equal(images.reshape(7, -1), PIXELS)
    assert labels.tolist() == LABELS


@pytest.mark.parametrize(
    ("data", "words"), [(b"", "no whole number"), (BINARY[:-1], "no whole number"), (b"\x0a" + BINARY[1:], "label 10")]
)
def test_a_wrong_binary_batch_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(LabkitError, match=words):
        read_binary_batch(data)


@pytest.mark.parametrize(
    "data",
    [PYTHON_2, *(pickle.dumps(BATCH, protocol) for protocol in (2, 3, 4))],
    ids=["python2", "protocol2", "protocol3", "protocol4"],
)
def test_the_python_version_is_read_without_unpickling(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, None)
    images, labels = read_python_batch(data)
    np.testing.assert_array_equal(images.reshape(7, -1), PIXELS)
    assert images.shape == (7, 3, 32, 32) and labels.tolist() == LABELS


def test_the_spelled_out_pickle_is_what_python_reads_too() -> None:
    pickletools.dis(PYTHON_2, out=io.StringIO())  # well formed
    np.testing.assert_array_equal(pickle.loads(PYTHON_2, encoding="bytes")[b"data"], PIXELS)


class _Evil:
    def __init__(self, target: str) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return os.mkdir, (self.target,)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_a_malicious_pickle_is_refused_and_not_run(protocol: int, tmp_path: os.PathLike[str]) -> None:
    target = os.path.join(tmp_path, "made")  # noqa: PTH118
    for payload in (_Evil(target), {**BATCH, b"labels": _Evil(target)}, {**BATCH, b"extra": [_Evil(target)]}):
        with pytest.raises(LabkitError, match="not a CIFAR-10 batch") as caught:
            read_python_batch(pickle.dumps(payload, protocol))
        assert protocol not in (2, 3, 4) or "it was not run" in caught.value.problem
        assert not os.path.exists(target)  # noqa: PTH110
    pickle.loads(pickle.dumps(_Evil(target), protocol))
    assert os.path.exists(target), "the payload of this test does nothing: it proves nothing"  # noqa: PTH110


@pytest.mark.parametrize(
    "call",
    [
        b"cnumpy\nload\n(U\x01xtR.",
        b"cbuiltins\neval\n(U\x03absttR.",
        b"c__builtin__\nbytes\nK\x05\x85R.",
        b"cnumpy.core.multiarray\n_reconstruct\n.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
        b"\x82\x01.",
        b"P1\n.",
        b"Q.",
        b"cnumpy\ndtype\n(U\x02u1tR}U\x01aU\x01bsb.",
        b"}cnumpy\nndarray\nK\x01s.",
        b"(.",
        b"(K\x01.",
        b"K\x01K\x02.",
        b"h\x05.",
        b"}K\x01.",
        b"a.",
        b"u.",
        b"b.",
        b"R.",
        b"\x87.",
    ],
)
def test_other_programs_are_refused(call: bytes) -> None:
    for data in (call, b"\x80\x02" + call):
        with pytest.raises(LabkitError):
            read_python_batch(data)


@pytest.mark.parametrize(
    "batch",
    [
        {},
        {b"data": PIXELS},
        {**BATCH, b"labels": LABELS[:-1]},
        {**BATCH, b"labels": [*LABELS[:-1], 10]},
        {**BATCH, b"labels": [*LABELS[:-1], True]},
        {**BATCH, b"data": PIXELS[:, :-1]},
        {**BATCH, b"data": PIXELS.T.copy().T},
        {**BATCH, b"data": PIXELS.astype(np.int16)},
        {**BATCH, b"data": PIXELS.tobytes()},
        {**BATCH, b"labels": []},
        [1, 2],
    ],
)
def test_a_pickle_of_something_else_is_refused(batch: object) -> None:
    with pytest.raises(LabkitError, match="not a CIFAR-10 batch"):
        read_python_batch(pickle.dumps(batch, 2))


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_damaged_pickles_give_nothing_but_labkit_errors(data: st.DataObject) -> None:
    original = data.draw(st.sampled_from([PYTHON_2, pickle.dumps(BATCH, 4), data.draw(st.binary(max_size=60))]))
    changed = bytearray(original[: data.draw(st.integers(0, len(original)))])
    if changed:
        changed[data.draw(st.integers(0, min(len(changed), 300) - 1))] = data.draw(st.integers(0, 255))
    try:
        read_python_batch(bytes(changed))
    except LabkitError:
        pass


def _archive(*files: tuple[str, bytes], link: str = "") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        if link:
            info = tarfile.TarInfo(link)
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(info)
    return out.getvalue()


def test_an_archive_is_read_in_memory_wherever_its_paths_point() -> None:
    data = _archive(("../../etc/test_batch.bin", BINARY), ("/abs/readme.html", b"x" * 100))
    assert archive_members(data, ["test_batch.bin"]) == {"test_batch.bin": BINARY}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (_archive(("other.bin", BINARY)), "lacks test_batch.bin"),
        (_archive(link="a/test_batch.bin"), "lacks test_batch.bin"),
        (_archive(("a/test_batch.bin", BINARY), ("b/test_batch.bin", BINARY)), "twice"),
        (_archive(("test_batch.bin", BINARY))[:-200], "damaged"),
        (b"no archive", "damaged"),
        (b"", "damaged"),
    ],
)
def test_a_wrong_archive_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(LabkitError, match=words):
        archive_members(data, ["test_batch.bin"])
