"""Files and folders as contents: mapped instead of read, unpacked where they are packed, merged where they belong together."""

from __future__ import annotations

import contextlib
import io
import mmap
import re
import stat
import tarfile
import zlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from labkit.errors import LabkitError
from labkit.profile.readers import look, merging, recognise
from labkit.profile.readers.recognise import Source
from labkit.profile.table import Profile

LARGEST_UNPACKED = 8 << 30  # bytes; and never more than RATIO times the packed size
RATIO = 200  # real traces pack by 10 to 40; a file that grows far more is no profile
MOST_FILES = 2000
_ENDINGS = (".csv", ".json", ".gz", ".db", ".rpd", ".txt", ".pftrace", ".stats")
_MARK = "SIMULATED.txt"  # beside CSV files that labkit's simulator wrote: a CSV has no place for it
_PROCESS = re.compile(r"^(\d{1,10})_")


def read(source: str | Path | Iterable[str | Path]) -> Profile:
    """The profile in a file, a folder, or several of them."""
    if isinstance(source, (str, Path)):
        path = Path(source)
        return _folder(path) if path.is_dir() else _file(path)
    paths = [Path(entry) for entry in source]
    if not paths:
        raise LabkitError("No file was named.", "Name the files that the profiler wrote.")
    found = [_folder(path) if path.is_dir() else _file(path) for path in paths]
    return merging.merge(found, [_process(path) for path in paths])


def read_bytes(content: bytes, name: str = "") -> Profile:
    """The profile in these bytes; packed ones are unpacked."""
    if content[:2] == b"\x1f\x8b":
        content = unpack(content)
    if look.is_archive(content):
        return _archive(content)
    found = _guarded(Source(content, name))
    return replace(found, sources=found.sources or ((name,) if name else ()))


def _file(path: Path) -> Profile:
    try:
        mode = path.stat().st_mode
        if stat.S_ISBLK(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode):
            raise LabkitError(f"{path} is no file.", "Name the file that the profiler wrote.")
        if path.stat().st_size == 0:
            raise LabkitError(f"{path} is empty.", "Name the file that the profiler wrote.")
        with path.open("rb") as file, contextlib.ExitStack() as stack:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            stack.callback(_close, content)
            packed = content[:2] == b"\x1f\x8b"
            plain = unpack(content) if packed else content
            if look.is_archive(plain):
                return _archive(bytes(plain))
            found = _guarded(Source(plain, path.name, None if packed else path))
    except OSError as error:
        raise LabkitError(
            f"{path} cannot be read: {error.strerror or error}.", "Check the name and its permissions."
        ) from error
    marked = (
        found.simulated
        or (path.parent / _MARK).is_file()
        or any((d.name or "").startswith("simulated ") for d in found.devices)
    )
    return replace(found, sources=found.sources or (path.name,), simulated=marked)


def _close(content: mmap.mmap) -> None:
    with contextlib.suppress(BufferError):  # something still looks into it; it goes when that goes
        content.close()


def _guarded(source: Source) -> Profile:
    """A reader's own errors for contents that nobody thought of become one sentence."""
    try:
        return recognise.read(source)
    except LabkitError:
        raise
    except MemoryError:
        raise LabkitError(f"{source.name or 'The profile'} does not fit into memory.", "Record fewer steps.") from None
    except OSError:
        raise
    except Exception as error:
        raise LabkitError(
            f"{source.name or 'The content'} cannot be read as a profile ({type(error).__name__}: {str(error)[:200]}).",
            "Name the file that the profiler wrote, whole and as it was written.",
        ) from error


def unpack(content: bytes | mmap.mmap) -> bytes:
    """The content of a gzip file. Raises LabkitError where it is damaged, cut, or grows beyond all measure."""
    limit = min(LARGEST_UNPACKED, max(64 << 20, RATIO * len(content)))
    out = io.BytesIO()
    at, size = 0, len(content)
    try:
        while at < size:
            engine = zlib.decompressobj(wbits=31)
            while not engine.eof:
                block = content[at : at + (1 << 20)]
                if not block:
                    raise LabkitError("The gzip file is cut off.", "Copy it again, whole.")
                at += len(block)
                out.write(engine.decompress(block, limit + 1 - out.tell()))
                if out.tell() > limit or engine.unconsumed_tail:
                    raise LabkitError(f"Unpacked, it is larger than {limit >> 20} MB.", "Unpack it and name the file.")
            at -= len(engine.unused_data)
            if not bytes(content[at : at + 2]).startswith(b"\x1f\x8b"):
                break  # padding behind the end
    except zlib.error as error:
        raise LabkitError(f"The gzip file is damaged ({error}).", "Copy it again, whole.") from error
    return out.getvalue()


def _archive(content: bytes) -> Profile:
    """The files of one run in a tar archive, read in memory: nothing is written anywhere."""
    found: list[Profile] = []
    processes: list[int | None] = []
    simulated = False
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for count, member in enumerate(archive):
                path = Path(member.name)
                simulated |= path.name == _MARK
                if count > MOST_FILES:
                    raise LabkitError(f"The archive holds more than {MOST_FILES} files.", "Name that of one run.")
                file = archive.extractfile(member) if member.isfile() and path.suffix.lower() in _ENDINGS else None
                if file is None:
                    continue
                with contextlib.suppress(LabkitError):
                    found.append(replace(read_bytes(file.read()), sources=(member.name,)))
                    processes.append(_process(path))
    except (tarfile.TarError, EOFError, ValueError, OSError) as error:
        raise LabkitError(f"The archive is damaged or cut off ({error}).", "Copy it again, whole.") from error
    if not found:
        raise LabkitError("No profile was found in the archive.", "Name the folder that the profiler wrote into.")
    merged = merging.merge(found, processes)
    return replace(merged, simulated=merged.simulated or simulated)


def _process(path: Path) -> int | None:
    """The process that rocprofv3 writes into its files' names: 4711_kernel_trace.csv."""
    found = _PROCESS.match(path.name)
    return int(found.group(1)) if found else None


def _folder(folder: Path) -> Profile:
    """The files of one run. What is no profile is passed over; raises LabkitError where nothing is left."""
    found: list[Profile] = []
    processes: list[int | None] = []
    for path in in_folder(folder):
        try:
            profile = _file(path)
        except LabkitError:
            continue
        name = path.relative_to(folder).as_posix()
        found.append(replace(profile, sources=(name,)))
        processes.append(_process(path))
    if not found:
        raise LabkitError(
            f"No profile was found in the folder {folder}.", "Name the folder that the profiler wrote into."
        )
    return merging.merge(found, processes)


def in_folder(folder: Path) -> list[Path]:
    """The files of a folder that may be profiles, in order; raises LabkitError where there are too many."""
    files = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in _ENDINGS and path.is_file()]
    if len(files) > MOST_FILES:
        raise LabkitError(f"{folder} holds {len(files)} files.", "Name the folder of one run.")
    return files
