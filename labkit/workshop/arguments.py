"""The command line of ``labkit workshop``; works on a bare Python. Each subcommand names the module whose ``main`` does it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

Parents = Sequence[argparse.ArgumentParser]


def add(parser: argparse.ArgumentParser, setup_options: argparse.ArgumentParser) -> None:
    """Adds the subcommands. ``setup_options``: the options of set-up, for those that need installed packages."""
    commands = parser.add_subparsers(dest="subcommand", metavar="WHAT", required=True)
    _pack(commands)
    _check(commands)
    _syllabus(commands)
    _notes(commands)
    _solutions(commands, [setup_options])
    _slides(commands, [setup_options])
    _progress(commands)
    _hub(commands, [setup_options])


def _sub(
    commands: Any, name: str, module: str, summary: str, *, needs: str = "", parents: Parents = ()
) -> argparse.ArgumentParser:
    sub: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary, parents=list(parents))
    sub.set_defaults(needs=needs, module=f"labkit.workshop.{module}")
    return sub


def _pack(commands: Any) -> None:
    pack = _sub(commands, "pack", "pack.command", "Everything for a room without network, in one folder.", needs="site")
    pack.set_defaults(verify=None)
    pack.add_argument("-o", "--output", metavar="DIR", help="the folder to make, or to go on with")
    pack.add_argument(
        "--for", dest="platforms", action="append", default=[], metavar="PLATFORM",
        help="linux, wsl, windows, macos, linux-arm64 or here; with a GPU linux:gfx1100, windows:gfx1201, linux:nvidia; "
        "may be given several times (default: here)",
    )  # fmt: skip
    pack.add_argument(
        "--python", dest="pythons", action="append", default=[], metavar="3.N",
        help="versions of Python on the learners' machines, as in 3.11,3.12 (default: the one that runs this)",
    )  # fmt: skip
    pack.add_argument(
        "--torch", dest="packed_torch", default="auto", metavar="WHICH",
        help="which PyTorch is packed, as for set-up: auto, cpu, cuda, rocm7.2 or a URL (default: auto, for each platform)",
    )  # fmt: skip
    pack.add_argument(
        "--without", action="append", default=[], choices=("wheels", "data", "site"), help="leave a part out"
    )
    pack.add_argument(
        "--from",
        dest="executed",
        metavar="DIR",
        help="for the site: take what `labkit run -o DIR` left, execute nothing",
    )
    pack.add_argument("--no-fetch", action="store_true", help="take only data sets that are on this machine")
    pack.add_argument(
        "--plan", dest="plan_only", action="store_true", help="say what and how much it would be, and stop"
    )
    pack.add_argument(
        "--verify", action=_Bare, metavar="DIR", help="make nothing: read every file of a pack and name damaged ones"
    )


class _Bare(argparse.Action):
    """An option with which a command needs no installed packages."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
        setattr(namespace, self.dest, values)
        namespace.needs = ""


def _check(commands: Any) -> None:
    check = _sub(commands, "check", "check", "Say in one line whether this machine is ready for the workshop.")
    check.add_argument("--seat", metavar="NAME", help="number or name of the seat, for the last line")
    check.add_argument(
        "--pack", nargs="?", const="", metavar="DIR",
        help="also read every file of this pack (default: the one that this copy of the course lies in)",
    )  # fmt: skip
    check.add_argument(
        "--collect",
        nargs="+",
        metavar="FILE",
        help="check nothing: a table of the last lines of many machines; - is input",
    )


def _syllabus(commands: Any) -> None:
    syllabus = _sub(
        commands, "syllabus", "syllabus", "The course in 90 minutes, half a day, one day or two days, as a timetable."
    )
    syllabus.add_argument("name", nargs="?", metavar="NAME", help="which plan (default: list them)")
    syllabus.add_argument("--start", default="09:00", metavar="TIME", help="when it begins (default: 09:00)")
    syllabus.add_argument("--markdown", action="store_true", help="print Markdown: one plan, or the page of all")


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
    slides = _sub(
        commands,
        "slides",
        "slides",
        "A lesson's cells as slides: one file, without network.",
        needs="course",
        parents=parents,
    )
    slides.add_argument("lesson", metavar="LESSON", help="number or name, for example 01")
    slides.add_argument("-o", "--output", metavar="FILE", help="the HTML file (default: in build/slides)")
    slides.add_argument(
        "--from",
        dest="executed",
        metavar="DIR",
        help="take the outputs and figures that `labkit run -o DIR` left there",
    )


def _progress(commands: Any) -> None:
    progress = _sub(commands, "progress", "progress", "One table of the progress files that learners handed in.")
    progress.add_argument(
        "files", nargs="+", metavar="FILE", help="what labkit progress --export wrote, or folders of it"
    )
    progress.add_argument("-o", "--output", metavar="FILE", help="also write one line for each file, as CSV")


def _hub(commands: Any, parents: Parents) -> None:
    hub = _sub(commands, "hub", "hub.command", "One GPU machine for many learners: write JupyterHub's configuration, start it.",
               needs="hub", parents=parents)  # fmt: skip
    hub.add_argument(
        "-o", "--output", metavar="DIR", help="the hub's folder (default: /var/lib/labkit/hub, without root your own)"
    )
    first = hub.add_argument_group("written into a new configuration (later: change it there)")
    first.add_argument("--bind", metavar="ADDRESS", help="where it can be reached (default: 0.0.0.0, everywhere)")
    first.add_argument("--port", type=int, help="the one open port (default: 8000)")
    first.add_argument("--teacher", metavar="NAME", help="your own name at the hub (default: teacher)")
    first.add_argument("--learners", metavar="NAMES", help="who may come: ada,ben or a file (default: everybody)")
    first.add_argument("--gpus", metavar="LIST", help="GPUs to lend, as 0,1,2; auto or none (default: auto)")
    first.add_argument("--pretend-gpus", type=int, metavar="N", help="lend N GPUs that do not exist, to try it out")
    first.add_argument("--share", type=int, metavar="N", help="learners for each GPU (default: 1)")
    first.add_argument("--memory", metavar="SIZE", help="of one learner (default: 4G)")
    first.add_argument("--trust-learners", action="store_true", help="start without root: nobody is protected")
    instead = hub.add_argument_group("instead of starting").add_mutually_exclusive_group()
    instead.add_argument("--write", action="store_true", help="write the configuration and stop")
    instead.add_argument("--status", action="store_true", help="who has which GPU")
    instead.add_argument("--progress", metavar="FILE", help="one table of the learners who agreed (CSV, or .json)")
    instead.add_argument("--password", metavar="NAME", help="set somebody's password")
    instead.add_argument("--forget", metavar="NAME", help="forget a password: the next one to log in chooses it")
