"""Downloading, against a server on this machine: checksums, mirrors, resuming, nothing half done."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from labkit.data import download
from labkit.errors import LabkitError

DATA = bytes(range(256)) * 3000
SUM = f"md5:{hashlib.md5(DATA, usedforsecurity=False).hexdigest()}"
LIMIT = 1 << 20


class Server(ThreadingHTTPServer):
    """Behaves as the first part of the path says: /good, /wrong, /cut, /cut_always, /missing, /norange, /endless."""

    requests: list[tuple[str, str | None]]
    sent_bytes: int


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        manner = self.path.split("/")[1]
        asked = self.headers.get("Range")
        self.server.requests.append((manner, asked))
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and manner != "norange" else 0
        if manner == "missing":
            self.send_error(404)
            return
        if start >= len(DATA):
            self.send_error(416)
            return
        body = b"x" * (len(DATA) - start) if manner == "wrong" else DATA[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(DATA) - 1}/{len(DATA)}")
        if manner != "endless":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        first_time = [request[0] for request in self.server.requests].count(manner) == 1
        if manner == "cut_always" or (manner == "cut" and first_time):
            body = body[: len(body) // 3] if manner == "cut" else b""
        try:
            for _ in range(64 if manner == "endless" else 1):
                self.wfile.write(body)
                self.server.sent_bytes += len(body)
        except ConnectionError:
            pass  # whoever asked has gone

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server = Server(("127.0.0.1", 0), _Handler)
    server.requests, server.sent_bytes = [], 0
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def _fetch(server: Server, target: Path, *manners: str, limit: int = LIMIT) -> tuple[list[str], list[str]]:
    said: list[str] = []
    urls = [f"http://127.0.0.1:{server.server_port}/{manner}/file.gz" for manner in manners]
    notes = download.fetch(urls, target, SUM, size_limit_bytes=limit, timeout_s=5, say=said.append)
    return notes, said


def test_one_good_mirror_is_enough_and_the_next_is_not_asked(server: Server, tmp_path: Path) -> None:
    notes, said = _fetch(server, tmp_path / "deep" / "file.gz", "good", "missing")
    assert (tmp_path / "deep" / "file.gz").read_bytes() == DATA
    assert notes == [] and len(said) == 1 and "Fetching file.gz from 127.0.0.1" in said[0]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["file.gz"]
    assert server.requests == [("good", None)]


def test_a_wrong_checksum_and_an_absent_file_lead_to_the_next_mirror(server: Server, tmp_path: Path) -> None:
    notes, _ = _fetch(server, tmp_path / "file.gz", "wrong", "missing", "good")
    assert (tmp_path / "file.gz").read_bytes() == DATA
    assert "wrong checksum" in notes[0] and "404" in notes[1]


def test_a_cut_connection_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    notes, said = _fetch(server, tmp_path / "file.gz", "cut")
    assert (tmp_path / "file.gz").read_bytes() == DATA and notes == []
    assert server.requests == [("cut", None), ("cut", f"bytes={len(DATA) // 3}-")]
    assert "from byte 256,000 on" in said[1]


def test_a_piece_from_an_earlier_day_is_used(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.gz.part").write_bytes(DATA[:1000])
    _fetch(server, tmp_path / "file.gz", "good")
    assert (tmp_path / "file.gz").read_bytes() == DATA and server.requests == [("good", "bytes=1000-")]


@pytest.mark.parametrize("old", [b"rubbish" * 100, b"x" * len(DATA), b"x" * (len(DATA) + 5), DATA])
def test_a_bad_piece_from_an_earlier_day_is_thrown_away(server: Server, tmp_path: Path, old: bytes) -> None:
    (tmp_path / "file.gz.part").write_bytes(old)
    _fetch(server, tmp_path / "file.gz", "good")
    assert (tmp_path / "file.gz").read_bytes() == DATA


def test_a_server_that_cannot_resume_starts_again(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.gz.part").write_bytes(DATA[:1000])
    _fetch(server, tmp_path / "file.gz", "norange")
    assert (tmp_path / "file.gz").read_bytes() == DATA


def test_when_all_fail_there_is_one_error_and_no_file(server: Server, tmp_path: Path) -> None:
    with pytest.raises(LabkitError, match=r"wrong checksum.*404") as caught:
        _fetch(server, tmp_path / "file.gz", "wrong", "missing", "cut_always")
    assert "LABKIT_DATA" in caught.value.remedy
    assert not (tmp_path / "file.gz").exists()


def test_a_file_without_an_end_is_not_accepted(server: Server, tmp_path: Path) -> None:
    with pytest.raises(LabkitError, match="more than"):
        _fetch(server, tmp_path / "file.gz", "endless")
    assert list(tmp_path.iterdir()) == []
    assert server.sent_bytes < 40 * len(DATA), "it should have hung up at once"


def test_an_old_file_stays_until_a_good_one_is_there(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.gz").write_bytes(b"old")
    with pytest.raises(LabkitError):
        _fetch(server, tmp_path / "file.gz", "wrong")
    assert (tmp_path / "file.gz").read_bytes() == b"old"
    _fetch(server, tmp_path / "file.gz", "good")
    assert (tmp_path / "file.gz").read_bytes() == DATA


def test_nobody_listening_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(LabkitError, match=r"file.gz could not be fetched: 127.0.0.1:9: .+"):
        download.fetch(
            ["http://127.0.0.1:9/file.gz"],
            tmp_path / "file.gz",
            SUM,
            size_limit_bytes=LIMIT,
            timeout_s=2,
            say=lambda _: None,
        )


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("a file", encoding="utf-8")
    with pytest.raises(LabkitError, match="cannot be made") as caught:
        download.fetch([], tmp_path / "plain" / "file.gz", SUM, size_limit_bytes=LIMIT)
    assert "LABKIT_CACHE" in caught.value.remedy
