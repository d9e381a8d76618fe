"""IDX, the format of MNIST and Fashion-MNIST: bytes in, array out.

Layout (as MNIST's authors published it): two zero bytes, one byte for the element type, one byte for the number of
dimensions, each dimension as a big-endian 32-bit number, then the elements, big-endian, last dimension fastest.
"""

from __future__ import annotations

import math
import zlib

import numpy as np

from labkit.errors import LabkitError

_ELEMENTS = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_REMEDY = "Delete the file and fetch it again, or point LABKIT_DATA at a good copy."
_GZIP = b"\x1f\x8b"
_LARGEST_BYTES = 1 << 30  # MNIST's largest file is 47 MB; anything beyond this is not what the lessons read


def read_idx(data: bytes, name: str = "the data") -> np.ndarray:
    """Reads one IDX file, plain or gzipped; nothing may be missing and nothing may follow.

    data: the bytes of the file.  name: what to call it in an error.
    Returns an array of the type and shape that the header states (native byte order, writable).
    Raises LabkitError for anything that is not exactly one IDX file.
    """
    if data[:2] == _GZIP:
        data = gunzip(data, name)
    if len(data) < 4:
        raise LabkitError(f"{name} is cut off: {len(data)} bytes hold no IDX header.", _REMEDY)
    if data[0] or data[1] or data[2] not in _ELEMENTS:
        raise LabkitError(f"{name} is not an IDX file: it starts with {data[:4].hex(' ')}.", _REMEDY)
    dimensions = data[3]
    start = 4 + 4 * dimensions
    if dimensions == 0 or len(data) < start:
        raise LabkitError(f"{name} has no complete IDX header: {dimensions} dimensions in {len(data)} bytes.", _REMEDY)
    shape = tuple(int.from_bytes(data[i : i + 4], "big") for i in range(4, start, 4))
    element = np.dtype(_ELEMENTS[data[2]])
    expected = math.prod(shape) * element.itemsize
    if dimensions > 32 or expected > _LARGEST_BYTES:
        raise LabkitError(f"{name} claims to hold an array of shape {shape}, which no data set here has.", _REMEDY)
    if len(data) - start != expected:
        raise LabkitError(
            f"{name} should hold {expected:,} bytes of data for shape {shape}, but holds {len(data) - start:,}.",
            _REMEDY,
        )
    return np.frombuffer(data, element, offset=start).reshape(shape).astype(element.newbyteorder("="))


def gunzip(data: bytes, name: str = "the data") -> bytes:
    """Unpacks exactly one gzip stream of at most 1 GiB. Raises LabkitError if it is damaged or more follows."""
    stream = zlib.decompressobj(wbits=31)
    try:
        unpacked = stream.decompress(data, _LARGEST_BYTES)
    except zlib.error as error:
        raise LabkitError(f"{name} is damaged: gzip says {error}.", _REMEDY) from None
    if not stream.eof:
        words = "unpacks to more than 1 GiB" if stream.unconsumed_tail else "is cut off: its gzip stream does not end"
        raise LabkitError(f"{name} {words}.", _REMEDY)
    if stream.unused_data:
        raise LabkitError(f"{name} has {len(stream.unused_data):,} bytes after the end of its gzip stream.", _REMEDY)
    return unpacked
