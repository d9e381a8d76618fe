"""Passwords: stored, replaced, forgotten; and who gets none stored."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest

from labkit.errors import LabkitError
from labkit.workshop.hub import auth
from tests.apart import apart


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> auth.WorkshopAuthenticator:
    monkeypatch.setattr(auth, "_WRONG_S", 0.0)
    return auth.WorkshopAuthenticator(
        dbm_path=str(tmp_path / "passwords"), admin_users={"teacher"}, allowed_users={"ada"}, allow_all=False,
        min_password_length=8,
    )  # fmt: skip


def knock(door: auth.WorkshopAuthenticator, name: str, password: str) -> tuple[str | None, str]:
    handler = SimpleNamespace(custom_login_error="")
    work = door.authenticate(handler, {"username": name, "password": password})
    found = apart(lambda: asyncio.run(work))
    return found, handler.custom_login_error


def test_the_first_password_counts(door: auth.WorkshopAuthenticator) -> None:
    assert knock(door, "Ada", "eight letters") == ("ada", "")
    assert knock(door, "ada", "other letters")[0] is None
    assert knock(door, "ada", "eight letters") == ("ada", "")


@pytest.mark.parametrize(
    ("name", "password", "word"),
    [
        ("eve", "eight letters", "not on the teacher's list"),
        ("teacher", "eight letters", "where the hub was started"),
        ("ada", "short", "too short"),
        ("ada", "ü" * 40, "too long"),
        ("../ada", "eight letters", "beginning with a letter"),
        ("a.b", "eight letters", "beginning with a letter"),
    ],
)
def test_nothing_is_stored_for_who_may_not_come_in(
    door: auth.WorkshopAuthenticator, name: str, password: str, word: str
) -> None:
    found, sentence = knock(door, name, password)
    assert found is None and word in sentence
    assert not auth.has_password(Path(door.dbm_path), name)


def test_the_teacher_comes_in_with_the_password_that_was_set(door: auth.WorkshopAuthenticator) -> None:
    path = Path(door.dbm_path)
    auth.set_password(path, "teacher", "chalk and board", 8)
    assert knock(door, "teacher", "chalk and board") == ("teacher", "")
    assert knock(door, "teacher", "something else")[0] is None


def test_a_forgotten_password_is_chosen_anew(door: auth.WorkshopAuthenticator) -> None:
    path = Path(door.dbm_path)
    knock(door, "ada", "eight letters")
    assert auth.forget_password(path, "ada") and not auth.forget_password(path, "ada")
    assert knock(door, "ada", "another one") == ("ada", "")


def test_passwords_are_hashed_and_private(door: auth.WorkshopAuthenticator) -> None:
    knock(door, "ada", "eight letters")
    files = list(Path(door.dbm_path).parent.glob("passwords*"))
    assert files and all(file.stat().st_mode & 0o077 == 0 for file in files)
    assert not any(b"eight letters" in file.read_bytes() for file in files)


@pytest.mark.parametrize(("password", "word"), [("short", "fewer than 8"), ("x" * 73, "more than 72")])
def test_a_password_that_cannot_be_set(tmp_path: Path, password: str, word: str) -> None:
    with pytest.raises(LabkitError, match=word):
        auth.set_password(tmp_path / "passwords", "ada", password, 8)
