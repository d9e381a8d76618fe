"""What cells printed names no folder of whoever executed them, and nothing else is changed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from labkit.site import private

KNOWN = {"/home/me/labs": "", "/home/me/labs/.venv": ".venv", "/home/me": "~", "C:\\Users\\Me": "~"}


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("of binary: /home/me/labs/.venv/bin/python\n", "of binary: .venv/bin/python\n"),
        ('File "/home/me/labs/notebooks/scripts/train.py"', 'File "notebooks/scripts/train.py"'),
        ("/home/me/data and /home/me/labs-old/x", "~/data and ~/labs-old/x"),
        ("of /home/runner/env/bin/python, /Users/a.b/x", "of ~/env/bin/python, ~/x"),
        (r"C:\Users\Me\x, D:\Users\other\y", r"~\x, ~\y"),
        (repr(r"C:\Users\Me\x"), r"'~\\x'"),
        ("/sys/home/me/x /usr/bin/python /root.txt", "/sys/home/me/x /usr/bin/python /root.txt"),
    ],
)
def test_folders_are_shortened(printed: str, shown: str) -> None:
    assert private.hide(printed, KNOWN) == shown


def test_all_parts_of_an_output_but_its_pictures() -> None:
    output = {
        "text": ["/home/me/a\n", "b\n"],
        "data": {"text/html": "<p>/home/me/c</p>", "image/png": "/home/me/AAA"},
        "n": 3,
    }
    assert private.hide(output, KNOWN) == {
        "text": ["~/a\n", "b\n"],
        "data": {"text/html": "<p>~/c</p>", "image/png": "/home/me/AAA"},
        "n": 3,
    }


def test_a_folder_without_a_name_and_the_system_s_python_are_not_folders_of_a_person(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert private.folders(Path("/home/me/labs"), home=Path("/")) == {"/home/me/labs": ""}
    assert private.folders(Path("/x/labs"), "/x/env", Path("/x/me")) == {"/x/labs": "", "/x/env": ".venv", "/x/me": "~"}
