"""The command line of ``labkit workshop``; works on a bare Python. Each subcommand names the module whose ``main`` does it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

Parents = Sequence[argparse.ArgumentParser]


def add(parser: argparse.ArgumentParser, setup_options: argparse.ArgumentParser) -> None:
    """Adds the subcommands. ``setup_options``: the options of set-up, for those that need installed packages."""
    commands = parser.add_subparsers(dest="subcommand", metavar="WHAT", required=True)
    _pack(commands, [setup_options])
    _check(commands)
    _syllabus(commands)
    _notes(commands)
    _solutions(commands, [setup_options])
    _slides(commands, [setup_options])
    _hub(commands, [setup_options])


def _sub(
    commands: Any, name: str, module: str, summary: str, *, needs: str = "", parents: Parents = ()
) -> argparse.ArgumentParser:
    sub: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary, parents=list(parents))
    sub.set_defaults(needs=needs, module=f"labkit.workshop.{module}")
    return sub


def _pack(commands: Any, parents: Parents) -> None:
    pack = _sub(
        commands, "pack", "pack.command", "Everything for a room without network, in one folder.",
        needs="site", parents=parents,
    )  # fmt: skip
    pack.add_argument("-o", "--output", metavar="DIR", required=True, help="the folder to make")


def _check(commands: Any) -> None:
    _sub(commands, "check", "check", "Say in one line whether this machine is ready for the workshop.")


def _syllabus(commands: Any) -> None:
    _sub(commands, "syllabus", "syllabus", "The course in 90 minutes, half a day, one day or two days, as a table.")


def _notes(commands: Any) -> None:
    notes = _sub(commands, "notes", "notes", "A lesson's notes for whoever teaches it.")
    notes.add_argument("lessons", nargs="*", metavar="LESSON", help="numbers or names (default: list them)")
    notes.add_argument(
        "--check", action="store_true", help="name what the notes lack: exercises, known mistakes, quizzes, headings"
    )


def _solutions(commands: Any, parents: Parents) -> None:
    solutions = _sub(
        commands, "solutions", "solutions", "Lessons with their solutions, for the teacher; and withhold or release them.",
        needs="course", parents=parents,
    )  # fmt: skip
    solutions.add_argument("lessons", nargs="*", metavar="LESSON", help="numbers or names (default: all)")
    solutions.add_argument("-o", "--output", metavar="DIR", help="write the lessons with solutions filled in, executed")
    solutions.add_argument("--plain", action="store_true", help="with -o: do not execute them")
    solutions.add_argument("--let", choices=("on", "tried", "off"), help="set the switch, for the lessons named or all")
    solutions.add_argument("--file", metavar="FILE", help="with --let: the file that LABKIT_SOLUTIONS names")


def _slides(commands: Any, parents: Parents) -> None:
    _sub(commands, "slides", "slides", "A lesson's cells as slides.", needs="course", parents=parents)


def _hub(commands: Any, parents: Parents) -> None:
    _sub(commands, "hub", "hub.command", "One GPU machine for many learners: write JupyterHub's configuration, start it.",
         needs="hub", parents=parents)  # fmt: skip
