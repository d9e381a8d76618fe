"""How set-up talks: plain short lines, sizes that people read, paths and commands that can be copied."""

from __future__ import annotations

import os
import re
import shlex
import sys
import textwrap
from collections.abc import Sequence


def say(text: str = "") -> None:
    """A line on standard output, at once; characters that the terminal cannot show are replaced."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, errors="replace").decode(encoding), flush=True)


def because(sentences: Sequence[str], indent: str = "    ") -> str:
    """Reasons, one after the other, wrapped for a terminal."""
    return "\n".join(
        textwrap.fill(
            sentence,
            110,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for sentence in sentences
    )


def size(count: int | float) -> str:
    """Bytes as people read them: 5.6 GB, 812 MB."""
    if count >= 0.95e9:
        return f"{count / 1e9:.1f} GB"
    return f"{max(count, 1e6) / 1e6:.0f} MB"


def labkit(*arguments: str, os_name: str = os.name) -> str:
    """How labkit is called on this system, as the README has it."""
    return " ".join(["py" if os_name == "nt" else "python3", "-m labkit", *arguments])


def command(arguments: Sequence[str], os_name: str = os.name) -> str:
    """A command line that can be copied into this system's shell; cmd.exe and PowerShell want double quotes."""
    if os_name != "nt":
        return shlex.join(arguments)
    return " ".join(f'"{argument}"' if re.search(r"[^\w\\/:.=+-]", argument) else argument for argument in arguments)
