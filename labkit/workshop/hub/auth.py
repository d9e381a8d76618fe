"""Passwords at first use: jupyterhub-firstuseauthenticator, with what a room full of strangers needs besides.

Ours: the teacher's name is nobody's to take; a name that is not on the list gets no password stored; names are good names for
folders; wrong passwords for one name are answered slowly, one after the other; bcrypt's limit of 72 bytes becomes a sentence.
"""

from __future__ import annotations

import asyncio
import dbm
from collections import defaultdict
from pathlib import Path
from typing import Any

import bcrypt
from firstuseauthenticator import FirstUseAuthenticator

from labkit.errors import LabkitError
from labkit.workshop.hub.accounts import NAMES, is_name

MOST_BYTES = 72  # bcrypt reads no further, and its version 5 refuses to
_WRONG_S = 1.0


class WorkshopAuthenticator(FirstUseAuthenticator):
    """See the module."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._one_at_a_time: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def validate_username(self, name: str) -> bool:
        return is_name(name) and bool(super().validate_username(name))

    async def authenticate(self, handler: Any, data: dict[str, str]) -> str | None:
        name, password = self.normalize_username(data["username"]), data["password"]
        if not self.validate_username(name):
            handler.custom_login_error = f"A name has {NAMES}."
            return None
        if len(password.encode("utf-8")) > MOST_BYTES:
            handler.custom_login_error = f"That password is too long: {MOST_BYTES} bytes at most."
            return None
        admin = name in self.admin_users
        if not (admin or self.allow_all or name in self.allowed_users) or name in self.blocked_users:
            handler.custom_login_error = "That name is not on the teacher's list."
            return None
        if admin and not has_password(Path(self.dbm_path), name):
            handler.custom_login_error = "The teacher's password is set where the hub was started."
            return None
        async with self._one_at_a_time[name]:
            found: str | None = await super().authenticate(handler, data)
            if found is None:
                await asyncio.sleep(_WRONG_S)
        return found


def has_password(path: Path, name: str) -> bool:
    """Was a password stored for this name?"""
    with dbm.open(str(path), "c", 0o600) as passwords:
        return name.encode("utf-8") in passwords


def set_password(path: Path, name: str, password: str, least: int) -> None:
    """Stores a password in place of the old one. Raises LabkitError where it is too short or too long."""
    if len(password) < least:
        raise LabkitError(f"The password has fewer than {least} characters.", "choose a longer one.")
    if len(password.encode("utf-8")) > MOST_BYTES:
        raise LabkitError(f"The password has more than {MOST_BYTES} bytes.", "choose a shorter one.")
    with dbm.open(str(path), "c", 0o600) as passwords:
        passwords[name.encode("utf-8")] = bcrypt.hashpw(password.encode("utf-8"), bcrypt.gensalt())


def forget_password(path: Path, name: str) -> bool:
    """Deletes a name's password: the next one who logs in under it sets it anew. False: there was none."""
    with dbm.open(str(path), "c", 0o600) as passwords:
        key = name.encode("utf-8")
        if key not in passwords:
            return False
        del passwords[key]
        return True
