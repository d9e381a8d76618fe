"""Fetching one file: several mirrors, a checksum, resumed where it was cut, never half a file under its final name."""

from __future__ import annotations

import hashlib
import http.client
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from labkit.errors import LabkitError

_CHUNK_BYTES = 1 << 18


def say(sentence: str) -> None:
    """Tells a person what is going on, on stderr."""
    print(sentence, file=sys.stderr, flush=True)


def fetch(
    urls: Sequence[str],
    target: Path,
    checksum: str,
    *,
    size_limit_bytes: int,
    timeout_s: float = 8.0,
    say: Callable[[str], None] = say,
) -> list[str]:
    """Downloads target from the first of urls that gives a file with this checksum.

    checksum:          'md5:...' or 'sha256:...'; the beginning of a sum where only that is published.
    size_limit_bytes:  more than this is not accepted from any mirror.
    timeout_s:         for connecting, and for each wait for data.
    An interrupted download lies beside target as NAME.part, and the next call goes on where it stopped.
    Returns sentences about mirrors that failed. Raises LabkitError if all did, or if target cannot be written.
    """
    part = target.with_name(target.name + ".part")
    failures: list[str] = []
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabkitError(f"The folder {target.parent} cannot be made: {error.strerror}.", _WHERE) from None
    for url in urls:
        host = urlsplit(url).netloc
        for attempt in range(4):
            had = part.stat().st_size if part.exists() else 0
            say(f"Fetching {target.name} from {host}" + (f", from byte {had:,} on" if had else ""))
            problem = _transfer(url, part, size_limit_bytes, timeout_s)
            if problem is None and digest(part, checksum).startswith(checksum):
                part.replace(target)
                return failures
            has = part.stat().st_size if part.exists() else 0
            if problem is None:
                part.unlink()
                if had and not attempt:
                    continue  # the piece from an earlier day was no good: once more, from the start
                failures.append(f"{host} gave a file with the wrong checksum.")
                break
            if has <= had or attempt == 3:  # cut off with something gained: go on from there, three times at most
                failures.append(f"{host}: {problem}.")
                break
    raise LabkitError(
        f"{target.name} could not be fetched: {' '.join(failures)}",
        "Check the network and its proxy settings, or name a folder that has the files in LABKIT_DATA.",
    )


_WHERE = "Name a folder that you can write to in LABKIT_CACHE."


def _transfer(url: str, part: Path, size_limit_bytes: int, timeout_s: float) -> str | None:
    """Appends what url gives to part. Returns None when complete, else what went wrong."""
    had = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "labkit", **({"Range": f"bytes={had}-"} if had else {})}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=timeout_s) as response:
            resumed = response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {had}-")
            had = had if resumed else 0
            length = response.headers.get("Content-Length")
            total = had
            with _opened(part, append=resumed) as file:
                while chunk := response.read(_CHUNK_BYTES):
                    total += len(chunk)
                    if total > size_limit_bytes:
                        break
                    try:
                        file.write(chunk)
                    except OSError as error:
                        raise LabkitError(f"{part} cannot be written: {error.strerror}.", _WHERE) from None
            if total > size_limit_bytes:
                part.unlink()
                return f"more than {size_limit_bytes:,} bytes"
            if length is not None and length.isdigit() and total < had + int(length):
                return f"the connection broke after {total:,} bytes"
    except urllib.error.HTTPError as error:
        if error.code == 416 and had:  # nothing beyond what is here: complete, or of no use
            return None
        return f"answered {error.code} {error.reason}"
    except http.client.IncompleteRead:
        return "the connection broke"
    except (OSError, http.client.HTTPException, ValueError) as error:
        return str(getattr(error, "reason", None) or error or type(error).__name__)
    return None


def _opened(part: Path, append: bool) -> IO[bytes]:
    try:
        return part.open("ab" if append else "wb")
    except OSError as error:
        raise LabkitError(f"{part} cannot be written: {error.strerror}.", _WHERE) from None


def digest(path: Path, like: str) -> str:
    """The checksum of a file, in the form of `like` ('md5:...' or 'sha256:...')."""
    return digest_of(path.read_bytes(), like)


def digest_of(data: bytes, like: str) -> str:
    """The checksum of bytes, in the form of `like` ('md5:...' or 'sha256:...')."""
    kind = like.partition(":")[0]
    return f"{kind}:{hashlib.new(kind, data, usedforsecurity=False).hexdigest()}"
