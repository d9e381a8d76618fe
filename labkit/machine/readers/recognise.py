"""Which tool wrote this? The content decides, never the file name.

A recogniser says where its tool's first record stands; the earliest one gives the kind. Kinds are a table: one row more
is one reader more.
"""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.machine import intake
from labkit.machine.readers import (
    amd_smi,
    bandwidth,
    collect_env,
    dmesg,
    kfd,
    lspci,
    rccl,
    rccl_job,
    rccl_records,
    rocm_smi,
    rocminfo,
    transferbench,
)
from labkit.machine.readers.text import clean, embedded_json, holds_any, lines

LARGEST = 160 << 20  # bytes that are read at most, packed or not
LARGE = 4 << 20  # characters; no tool says more of a machine, so in longer texts the place is looked for first


@dataclass(frozen=True)
class Kind:
    """One kind of text: whether it is there at all, which line begins it, and its reader."""

    name: str
    is_there: Callable[[str], bool]
    begins: Callable[[str], bool]
    read: Callable[[str], dict[str, Any]]
    words: tuple[str, ...]  # of which every such text has one, for texts too large to be read whole


KINDS: tuple[Kind, ...] = (
    Kind("rocminfo", rocminfo.is_rocminfo, rocminfo.begins, rocminfo.read, rocminfo.WORDS),
    Kind("collect-env", collect_env.is_collect_env, collect_env.begins, collect_env.read, collect_env.WORDS),
    Kind("rocm-smi", rocm_smi.is_rocm_smi, rocm_smi.begins, rocm_smi.read, rocm_smi.WORDS),
    Kind("amd-smi", amd_smi.is_amd_smi, amd_smi.begins, amd_smi.read, amd_smi.WORDS),
    Kind("lspci", lspci.is_lspci, lspci.begins, lspci.read, lspci.WORDS),
    Kind("rccl-tests", rccl.is_rccl_tests, rccl.begins, rccl.read, rccl.WORDS),
    Kind("rccl-ras", rccl_job.is_ras, rccl_job.ras_begins, rccl_job.read_ras, rccl_job.RAS_WORDS),
    # a log around a results table belongs to the run that printed the table
    Kind(
        "rccl-log",
        lambda text: rccl_job.is_log(text) and not rccl.is_rccl_tests(text),
        rccl_job.log_begins,
        rccl_job.read_log,
        rccl_job.LOG_WORDS,
    ),
    Kind("rocm-bandwidth-test", bandwidth.is_bandwidth, bandwidth.begins, bandwidth.read, bandwidth.WORDS),
    Kind(
        "transferbench", transferbench.is_transferbench, transferbench.begins, transferbench.read, transferbench.WORDS
    ),
    Kind("dmesg", dmesg.is_dmesg, dmesg.begins, dmesg.read, ()),
)

# what a tool writes as JSON: words of which every such text has one, whether a value is the tool's, and the reader
JSON_KINDS: tuple[tuple[tuple[str, ...], Callable[[Any], bool], Callable[[str], dict[str, Any]]], ...] = (
    (('"card',), rocm_smi.is_card_json, rocm_smi.read),
    (('"gpu"',), amd_smi.is_gpu_json, amd_smi.read),
    (('"communicators"',), rccl_job.is_ras_json, rccl_job.read_ras_json),
    (('"busBw"', '"bus_bw"', '"average_bus_bandwidth"'), rccl_records.is_report, rccl_records.read_json),
)


def unknown(reason: str) -> dict[str, Any]:
    """The answer for what cannot be read."""
    return {"kind": "unknown", "reason": reason}


def read_text(text: str) -> dict[str, Any]:
    """Facts of any text of a known kind, else ``{"kind": "unknown", "reason": …}``. Never raises."""
    if len(text) > LARGE:
        return _read_large(text)
    text = clean(text)
    start = text.lstrip()[:2]
    if not start:
        return unknown("the text is empty")
    begins_as_json = start[0] in "{[" and (start[1:] in '"{[' or start[1:].isspace())
    possible = [(is_its, read) for words, is_its, read in JSON_KINDS if holds_any(text, words)]
    found = embedded_json(text) if possible or begins_as_json else None
    for is_its, read in possible:
        if is_its(found):
            return read(text)
    if begins_as_json and found is None:
        return unknown("it begins like JSON and does not parse: cut off, or with parts left out")
    present = [kind for kind in KINDS if kind.is_there(text)]
    if not present:
        return unknown("no record of a tool that labkit reads was found in this text")
    if len(present) > 1:
        for line in lines(text):
            first = next((kind for kind in present if kind.begins(line)), None)
            if first is not None:
                return first.read(text)
    return present[0].read(text)


def _read_large(text: str) -> dict[str, Any]:
    """A long log or noise: each reader gets the part that begins where one of its words first stands."""
    if re.match(r"\s*[\[{]\s*[\"\[{]", text):
        return unknown("JSON of this size is no report of a machine")
    present: list[tuple[int, Kind, str]] = []
    for kind in KINDS:
        if kind.words:
            first = min((at for word in kind.words if (at := text.find(word)) >= 0), default=-1)
            if first < 0:
                continue
            start = text.rfind("\n", 0, first) + 1
            part = clean(text[start : start + LARGE])
        else:
            start, part = 0, clean("\n".join([text[: LARGE // 8], *dmesg.suspicious(text)]))
        if not kind.is_there(part):
            continue
        offset = next((i for i, line in enumerate(lines(part)) if kind.begins(line)), 0)
        present.append((start + offset, kind, part))
    if not present:
        return unknown("no record of a tool that labkit reads was found in this text")
    _, kind, part = min(present, key=lambda entry: entry[0])
    return kind.read(part)


def read_bytes(content: bytes) -> dict[str, Any]:
    """Facts of a file's content: text, gzip or a tar archive. Damaged archives are unknown."""
    if content[:2] == b"\x1f\x8b":
        try:
            content = _unzip(content)
        except (OSError, EOFError, zlib.error) as error:
            return unknown(f"the gzip file is damaged or cut off ({error})")
        except _TooLargeError:
            return unknown(f"unpacked, it is larger than {LARGEST >> 20} MB")
    if content[257:262] == b"ustar":
        try:
            return read_tree(_untar(content))
        except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
            return unknown(f"the archive is damaged or cut off ({error})")
        except _TooLargeError:
            return unknown("the archive holds more than a topology would")
    if content[:16] == b"SQLite format 3\x00":
        return unknown("it is an SQLite database that no profiler wrote")
    text = intake.decode(content)
    if text is None:
        return unknown("it is not text")
    return read_text(text)


def read_tree(files: Mapping[str, str]) -> dict[str, Any]:
    """Facts of a folder or archive, given as path → text."""
    if not kfd.has_nodes(files):
        return unknown("no nodes/<number>/properties in it, so it is no KFD topology")
    return kfd.read(files)


def read_path(path: Path) -> dict[str, Any]:
    """Facts of a file or a folder; '-' is standard input.

    Raises LabkitError when it cannot be read.
    """
    if path.is_dir():
        files: dict[str, str] = {}
        for found in sorted(path.rglob("properties")):
            if found.is_file() and found.stat().st_size < 1 << 20:
                files[found.relative_to(path.parent).as_posix()] = found.read_text(encoding="utf-8", errors="replace")
            if len(files) > 20000:
                break
        return read_tree(files)
    return read_bytes(intake.read(path, LARGEST))


class _TooLargeError(Exception):
    pass


def _unzip(content: bytes) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        unpacked = file.read(LARGEST + 1)
    if len(unpacked) > LARGEST:
        raise _TooLargeError
    return unpacked


def _untar(content: bytes) -> dict[str, str]:
    """The properties files of an archive, in memory: nothing is ever extracted to the disk."""
    files: dict[str, str] = {}
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
        for member in archive:
            if not member.isfile() or not member.name.endswith("properties"):
                continue
            if member.size > 1 << 20 or len(files) > 50000:
                raise _TooLargeError
            file = archive.extractfile(member)
            files[member.name] = file.read().decode("utf-8", errors="replace") if file else ""
    return files
