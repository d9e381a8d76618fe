"""Small pieces that probes share: a fresh Python, a program's answer, a function in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection

from labkit.machine.probes.commands import Answer

SECONDS = 40.0  # for one program; the probe as a whole has its own limit


def python(*arguments: str, environment: Mapping[str, str] | None = None) -> Answer:
    """What this Python prints with these arguments, and its exit status; it inherits the probe's cleaned environment."""
    return _answer([sys.executable, *arguments], environment)


def tool(*command: str) -> Answer:
    """What a program prints on both streams, and its exit status."""
    return _answer(command, None)


def _answer(command: Sequence[str], environment: Mapping[str, str] | None) -> Answer:
    """Never raises. The program stays in the probe's own process group, so that ending the probe ends it too."""
    try:
        done = subprocess.run(
            list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS,
            env={**os.environ, **(environment or {})}, encoding="utf-8", errors="replace", check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Answer("", None, f"no answer within {SECONDS:g} s")
    except OSError as error:
        return Answer("", None, f"could not be started: {error}")
    return Answer(done.stdout, done.returncode)


def last_line(text: str) -> str:
    """The last line with something on it, cut to 300 characters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "(nothing)"


def apart(function: Callable[..., str], *arguments: object, environment: Mapping[str, str] | None = None) -> str:
    """The result of a function of module level in a process of its own, in which ``environment`` is set before it begins.

    For what a process decides only once, such as the settings of an allocator. Its error comes back as 'TypeName: text'.
    """
    method = "fork" if sys.platform == "linux" else "spawn"  # a fork has torch already
    context = multiprocessing.get_context(method)
    mine, other = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(other, function, arguments, dict(environment or {})))  # type: ignore[attr-defined]
    process.start()
    other.close()
    try:
        return str(mine.recv()) if mine.poll(SECONDS) else "no answer"
    except EOFError:
        return "it ended without an answer"
    finally:
        process.join(5)
        if process.is_alive():
            process.kill()


def _send(
    pipe: Connection, function: Callable[..., str], arguments: Sequence[object], environment: Mapping[str, str]
) -> None:
    os.environ.update(environment)
    try:
        pipe.send(function(*arguments))
    except Exception as error:
        pipe.send(f"{type(error).__name__}: {error}")
