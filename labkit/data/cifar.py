"""CIFAR-10 as its author publishes it: the binary batches, the Python batches (pickles) and both archives.

A pickle is a program. Nothing here runs one: `read_python_batch` walks through the instructions itself, knows only
those that build plain values, and turns the few calls that a batch contains (NumPy's array, its element type, bytes)
into records. Any other instruction or name is refused.
"""

from __future__ import annotations

import io
import tarfile
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from labkit.errors import LabkitError

RECORD_BYTES = 1 + 3 * 32 * 32
_REMEDY = "Delete the file and fetch it again, or point LABKIT_DATA at a good copy."
_LARGEST_MEMBER_BYTES = 64 << 20  # a batch has 31 MB


def read_binary_batch(data: bytes, name: str = "the batch") -> tuple[np.ndarray, np.ndarray]:
    """A batch of the binary version: records of one label byte and 3,072 pixel bytes (red, green, blue planes).

    Returns uint8 [N, 3, 32, 32] and int64 [N]. Raises LabkitError if the size does not fit or a label is above 9.
    """
    if not data or len(data) % RECORD_BYTES:
        raise LabkitError(
            f"{name} has {len(data):,} bytes, which is no whole number of records of {RECORD_BYTES}.", _REMEDY
        )
    records = np.frombuffer(data, np.uint8).reshape(-1, RECORD_BYTES)
    return records[:, 1:].reshape(-1, 3, 32, 32).copy(), _labels(records[:, 0], name)


def read_python_batch(data: bytes, name: str = "the batch") -> tuple[np.ndarray, np.ndarray]:
    """A batch of the Python version, without unpickling: uint8 [N, 3, 32, 32] and int64 [N].

    Raises LabkitError for anything that is not a dictionary with such pictures and labels, or that asks for any
    name but NumPy's array.
    """
    try:
        batch = _Instructions(data).result()
        if not isinstance(batch, dict):
            raise _NotPlain("it is no dictionary")
        values = {key.decode("latin-1") if isinstance(key, bytes) else key: value for key, value in batch.items()}
        pixels, labels = values.get("data"), values.get("labels")
        if (
            not isinstance(pixels, _Array)
            or pixels.element not in ("u1", "|u1")
            or len(pixels.shape) != 2
            or pixels.shape[1] != 3072
            or pixels.fortran
            or len(pixels.data) != pixels.shape[0] * 3072
        ):
            raise _NotPlain("its 'data' is no array of bytes, [N, 3072]")
        if (
            not isinstance(labels, list)
            or len(labels) != pixels.shape[0]
            or not labels
            or not all(type(label) is int and 0 <= label <= 9 for label in labels)
        ):
            raise _NotPlain("its 'labels' are no list of one number from 0 to 9 for each picture")
    except _NotPlain as error:
        raise LabkitError(f"{name} is not a CIFAR-10 batch: {error}.", _REMEDY) from None
    images = np.frombuffer(pixels.data, np.uint8).reshape(-1, 3, 32, 32).copy()
    return images, np.array(labels, dtype=np.int64)


def archive_members(data: bytes, wanted: Collection[str], name: str = "the archive") -> dict[str, bytes]:
    """Files of a .tar.gz in memory, by their last name. Only `wanted` ones are read; paths in the archive lead nowhere.

    Raises LabkitError if the archive is damaged or a wanted file is absent, twice there, or far too large.
    """
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            for member in archive:
                last = member.name.rpartition("/")[2]
                if last not in wanted or not member.isreg():
                    continue
                if last in found or member.size > _LARGEST_MEMBER_BYTES:
                    raise LabkitError(f"{name} holds {last} twice or far too large.", _REMEDY)
                file = archive.extractfile(member)
                found[last] = file.read() if file else b""
                if len(found[last]) != member.size:
                    raise LabkitError(f"{name} is cut off within {last}.", _REMEDY)
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError, OverflowError) as error:
        raise LabkitError(f"{name} is damaged: {error}.", _REMEDY) from None
    missing = sorted(set(wanted) - set(found))
    if missing:
        raise LabkitError(f"{name} lacks {', '.join(missing)}.", _REMEDY)
    return found


def _labels(values: np.ndarray, name: str) -> np.ndarray:
    if values.max() > 9:
        raise LabkitError(f"{name} has label {int(values.max())}; CIFAR-10 has 0 to 9.", _REMEDY)
    return values.astype(np.int64)


class _NotPlain(Exception):
    """The pickle holds something that a batch of pictures does not."""


@dataclass
class _Array:
    """What a pickle says of a NumPy array; filled in when its state arrives."""

    shape: tuple[int, ...] = ()
    element: str = ""
    fortran: bool = False
    data: bytes = b""


@dataclass(frozen=True)
class _Element:
    code: str


@dataclass(frozen=True)
class _Name:
    """A name that a pickle asks for. It is never looked up."""

    module: str
    name: str


_MULTIARRAY = ("numpy.core.multiarray", "numpy._core.multiarray")
_NAMES = {
    **{_Name(module, "_reconstruct"): "array" for module in _MULTIARRAY},
    _Name("numpy", "ndarray"): "ndarray",
    _Name("numpy", "dtype"): "element",
    _Name("_codecs", "encode"): "encode",  # how protocol 2 of Python 3 writes bytes
    _Name("__builtin__", "bytes"): "bytes",
    _Name("builtins", "bytes"): "bytes",
}
_MARK = object()


class _Instructions:
    """The instructions of one pickle, protocol 2 to 4, as far as plain values and arrays need them."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def take(self, count: int) -> bytes:
        piece = self.data[self.at : self.at + count]
        if len(piece) != count:
            raise _NotPlain("it is cut off")
        self.at += count
        return piece

    def number(self, size: int, signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "little", signed=signed)

    def line(self) -> str:
        end = self.data.find(b"\n", self.at, self.at + 200)
        if end < 0:
            raise _NotPlain("it is cut off")
        return self.take(end + 1 - self.at)[:-1].decode("latin-1")

    def text(self, size: int) -> str:
        return self.take(size).decode("utf-8", "replace")

    def pop(self) -> Any:
        if not self.stack or self.stack[-1] is _MARK:
            raise _NotPlain("its instructions do not fit together")
        return self.stack.pop()

    def pop_to_mark(self) -> list[Any]:
        for start in range(len(self.stack) - 1, -1, -1):
            if self.stack[start] is _MARK:
                items = self.stack[start + 1 :]
                del self.stack[start:]
                return items
        raise _NotPlain("its instructions do not fit together")

    def top(self, kind: type) -> Any:
        if not self.stack or not isinstance(self.stack[-1], kind):
            raise _NotPlain("its instructions do not fit together")
        return self.stack[-1]

    def remember(self, key: int) -> None:
        self.memo[key] = self.top(object)

    def recall(self, key: int) -> Any:
        if key not in self.memo:
            raise _NotPlain("its instructions do not fit together")
        return self.memo[key]

    def set_items(self, items: list[Any]) -> None:
        target = self.top(dict)
        for key, value in _pairs(items):
            target[key] = value

    def result(self) -> Any:
        while True:
            code = self.take(1)
            if code == b".":
                value = self.pop()
                if self.stack or self.at != len(self.data):
                    raise _NotPlain("something follows its end")
                return value
            self.step(code)

    def step(self, code: bytes) -> None:
        push = self.stack.append
        if code == b"K":
            push(self.number(1))
        elif code == b"q":
            self.remember(self.number(1))
        elif code == b"r":
            self.remember(self.number(4))
        elif code == b"\x94":
            self.remember(len(self.memo))
        elif code in (b"U", b"C"):
            push(self.take(self.number(1)))
        elif code in (b"T", b"B"):
            push(self.take(self.number(4)))
        elif code == b"X":
            push(self.text(self.number(4)))
        elif code == b"\x8c":
            push(self.text(self.number(1)))
        elif code == b"M":
            push(self.number(2))
        elif code == b"J":
            push(self.number(4, signed=True))
        elif code == b"\x80":
            version = self.number(1)
            if not 2 <= version <= 4:
                raise _NotPlain(f"it is a pickle of protocol {version}; 2 to 4 are read")
        elif code == b"\x95":
            self.number(8)  # a frame: only its length
        elif code == b"(":
            push(_MARK)
        elif code in _CONSTANTS:
            push(_CONSTANTS[code])
        elif code == b"}":
            push({})
        elif code == b"]":
            push([])
        elif code == b"a":
            value = self.pop()
            self.top(list).append(value)
        elif code == b"e":
            values = self.pop_to_mark()
            self.top(list).extend(values)
        elif code == b"s":
            value, key = self.pop(), self.pop()
            self.set_items([key, value])
        elif code == b"u":
            self.set_items(self.pop_to_mark())
        elif code == b"t":
            push(tuple(self.pop_to_mark()))
        elif code in (b"\x85", b"\x86", b"\x87"):
            push(tuple([self.pop() for _ in range(code[0] - 0x84)][::-1]))
        elif code == b"h":
            push(self.recall(self.number(1)))
        elif code == b"j":
            push(self.recall(self.number(4)))
        elif code == b"c":
            push(self.known(_Name(self.line(), self.line())))
        elif code == b"\x93":
            name, module = self.pop(), self.pop()
            push(self.known(_Name(str(module), str(name))))
        elif code == b"R":
            arguments, called = self.pop(), self.pop()
            push(_record(called, arguments))
        elif code == b"b":
            state = self.pop()
            self.stack.append(_filled(self.pop(), state))
        else:
            raise _NotPlain(f"it holds the instruction {code!r}, which plain pictures do not need")

    @staticmethod
    def known(name: _Name) -> _Name:
        if name not in _NAMES:
            raise _NotPlain(f"it asks for {name.module}.{name.name}, which pictures do not need; it was not run")
        return name


_CONSTANTS: dict[bytes, Any] = {b"N": None, b"\x88": True, b"\x89": False, b")": ()}


def _pairs(items: list[Any]) -> Iterator[tuple[Any, Any]]:
    if len(items) % 2 or not all(isinstance(key, (str, bytes)) for key in items[::2]):
        raise _NotPlain("its dictionary has keys that are no names")
    return zip(items[::2], items[1::2], strict=True)


def _record(called: Any, arguments: Any) -> Any:
    """What a call would have made, as a plain record."""
    what = _NAMES.get(called) if isinstance(called, _Name) else None
    if not isinstance(arguments, tuple):
        what = None
    if what == "array":
        return _Array()
    if what == "element" and arguments and isinstance(arguments[0], (str, bytes)):
        code = arguments[0]
        return _Element(code.decode("latin-1") if isinstance(code, bytes) else code)
    if what == "encode" and len(arguments) == 2 and isinstance(arguments[0], str):
        try:
            return arguments[0].encode("latin-1")
        except UnicodeEncodeError:
            pass
    if what == "bytes" and arguments == ():
        return b""
    raise _NotPlain("it makes a call that plain pictures do not need; it was not run")


def _filled(target: Any, state: Any) -> Any:
    """An array with its state: (version, shape, element, fortran order, bytes)."""
    if isinstance(target, _Element) and isinstance(state, tuple):
        return target  # byte order and the like, which one-byte elements do not have
    if isinstance(target, _Array) and isinstance(state, tuple) and len(state) == 5:
        _, shape, element, fortran, data = state
        if (
            isinstance(shape, tuple)
            and all(type(n) is int for n in shape)
            and isinstance(element, _Element)
            and isinstance(fortran, bool)
            and isinstance(data, bytes)
        ):
            target.shape, target.element, target.fortran, target.data = shape, element.code, fortran, data
            return target
    raise _NotPlain("it sets a state that plain pictures do not have")
