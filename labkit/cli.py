"""The commands. Each is a few lines here: it parses, calls one function of another room, and returns an exit status.

Nothing is imported at module level that is not in the standard library: ``python3 -m labkit --help`` works on a bare
Python. A command that needs installed packages says so (``needs``), and ``labkit.setup`` makes the environment and
runs the same command line again inside it.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import io
import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from labkit.errors import LabkitError

ROOT = Path(__file__).resolve().parent.parent


def _parser() -> argparse.ArgumentParser:
    setup_options = argparse.ArgumentParser(add_help=False)
    group = setup_options.add_argument_group("set-up (done first, and only when something changed)")
    group.add_argument(
        "--torch",
        metavar="WHICH",
        help="auto, cpu, cuda, rocm7.2 or the URL of a package index (default: what was chosen before, at first auto)",
    )
    group.add_argument("--wheelhouse", metavar="DIR", help="install from this folder of wheels only, without a network")
    group.add_argument(
        "--dry-run", action="store_true", help="print the plan and the exact pip commands; change nothing"
    )
    group.add_argument("--recreate", action="store_true", help="delete the environment and make it anew")

    parser = argparse.ArgumentParser(
        prog="labkit",
        description="ROCm Labs: deep learning on AMD GPUs, in notebooks that are proved to run.",
        epilog=f"New here? '{'py' if os.name == 'nt' else 'python3'} -m labkit start' sets everything up and opens the first lesson.",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    def command(
        name: str, summary: str, *, needs: str = "", parents: Sequence[argparse.ArgumentParser] = ()
    ) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=summary, description=summary, parents=list(parents))
        sub.set_defaults(needs=needs)
        return sub

    start = command(
        "start",
        "Set everything up and open JupyterLab at the list of lessons.",
        needs="course",
        parents=[setup_options],
    )
    start.add_argument("--port", type=int, help="port for JupyterLab (default: the first free one from 8888)")
    start.add_argument("--no-browser", action="store_true", help="print the address instead of opening a browser")

    run = command(
        "run", "Set everything up and execute lessons without a browser.", needs="course", parents=[setup_options]
    )
    run.add_argument(
        "lessons", nargs="*", metavar="LESSON", help="numbers or names, for example 01 or mixed (default: all)"
    )
    run.add_argument("--profile", choices=("quick", "full"), default="quick", help="how long the lessons may take")
    run.add_argument(
        "-p",
        "--parameter",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help="set one parameter of the lessons, for example -p dataset fashion_mnist",
    )
    run.add_argument(
        "-o", "--output", metavar="DIR", help="where executed notebooks and report.json go (default: build/)"
    )

    run.add_argument(
        "--workers",
        type=int,
        default=1,
        metavar="N",
        help="how many lessons run side by side (default: 1; with more, their measurements disturb each other)",
    )

    test = command(
        "test",
        "Set everything up and run the whole test-suite, notebooks included.",
        needs="test",
        parents=[setup_options],
    )
    test.add_argument("--light", action="store_true", help="leave out the notebooks and the browser")
    test.add_argument("pytest_arguments", nargs="*", metavar="PYTEST_ARGUMENT", help="passed on to pytest (after --)")

    command("setup", "Set everything up and stop.", needs="course", parents=[setup_options])
    command("list", "List the lessons.", needs="")
    progress = command("progress", "Show which exercises and quizzes are passed. The record stays on this machine.")
    what = progress.add_mutually_exclusive_group()
    what.add_argument("--export", metavar="FILE", help="write it as JSON for a teacher, without personal data")
    what.add_argument("--forget", action="store_true", help="begin anew; the old record is renamed, not deleted")
    command("describe", "Show this machine's card: device, torch build, kernels, precision. Installs nothing.")

    fmt = command("format", "Check or restore the canonical form of the committed notebooks.", needs="course")
    how = fmt.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true", help="name every deviation and exit with 1 (default)")
    how.add_argument("--fix", action="store_true", help="rewrite the notebooks in canonical form")
    how.add_argument(
        "--golden", action="store_true", help="execute them, store the golden cells' outputs anew, and fix the form"
    )
    fmt.add_argument("notebooks", nargs="*", metavar="NOTEBOOK", help="files (default: all lessons)")

    read = command(
        "read",
        "Say what a tool's output means: rocminfo, rocm-smi, amd-smi, collect_env, lspci, dmesg, a KFD topology, or a profile.",
    )
    read.add_argument("file", metavar="FILE", help="a file, a folder, or - for standard input")
    read.add_argument("--json", action="store_true", help="print JSON")

    profile = command(
        "profile",
        "Say what a profile's GPU waits for, with the evidence: any file of ROCm's profilers or of torch.profiler.",
        needs="course",
    )
    profile.add_argument("files", nargs="+", metavar="FILE", help="the files of one run, or its folder")
    profile.add_argument("--before", action="append", metavar="FILE", help="an earlier run, to compare with")
    profile.add_argument(
        "--gpu", metavar="NAME", help="the GPU's product, for the roofline, where the profile lacks it"
    )
    profile.add_argument("--json", action="store_true", help="print JSON")
    profile.add_argument("--html", metavar="OUT", help="write the page with its pictures to this file")

    bench = command(
        "bench",
        "Measure this machine: copies, memory, matrix products, and what two processes tell each other, with intervals.",
        needs="course",
    )
    bench.add_argument(
        "what", nargs="*", metavar="PART", help="copy, memory, gemm, collectives (default: all that this machine can)"
    )
    bench.add_argument("--json", action="store_true", help="print JSON")
    bench.add_argument("-o", "--output", metavar="FILE", help="write the JSON to this file, whole or not at all")
    bench.add_argument(
        "--seconds", type=float, default=3.0, metavar="S", help="about how long each part measures (default: 3)"
    )
    bench.add_argument("--from", dest="earlier", metavar="FILE", help="measure nothing: show what -o wrote earlier")
    bench.add_argument(
        "--against", metavar="FILE", help="compare the collectives with this output of rccl-tests, size by size"
    )
    bench.add_argument("--figure", metavar="PNG", help="draw the collectives, with --against both, into this file")

    snapshot = command(
        "snapshot",
        "Collect what there is to know about this machine, for a bug report or a teacher. Reads only, sends nothing.",
    )
    snapshot.add_argument("-o", "--output", metavar="FILE", help="write it to this file (default: print it)")
    snapshot.add_argument(
        "--plain",
        action="store_true",
        help="keep host and user names, addresses and serial numbers (default: taken out)",
    )
    snapshot.add_argument("--python", metavar="PROGRAM", help="the Python whose torch is meant (default: the course's)")

    simulate = command(
        "simulate",
        "Write the snapshot of a machine that exists only on paper, healthy or with any fault; for teachers.",
    )
    simulate.add_argument("machine", nargs="?", metavar="MACHINE", help="which machine (--list names them)")
    simulate.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="CODE",
        help="a fault to put into it; may be given several times",
    )
    simulate.add_argument("-o", "--output", metavar="FILE", help="write it to this file (default: print it)")
    simulate.add_argument(
        "--list", action="store_true", help="list the machines, or with a machine the faults that it can have"
    )

    paper = command(
        "simulate-profile",
        "Write the profile of a training that no GPU ran, healthy or sick, in the form of ROCm's profilers or of PyTorch.",
        needs="course",
    )
    paper.add_argument("model", nargs="?", metavar="MODEL", help="which model (--list names them)")
    paper.add_argument("--gpu", metavar="NAME", default="Radeon RX 7900 XTX", help="a GPU of the catalog's peaks")
    paper.add_argument("--sickness", metavar="NAME", help="what is wrong with the run (default: nothing)")
    paper.add_argument("--severity", type=float, default=1.0, help="lost per step, in GPU step times (default: 1)")
    paper.add_argument("--form", metavar="NAME", default="rocprofv3-csv", help="which files (default: rocprofv3-csv)")
    paper.add_argument("--steps", type=int, default=10, help="training steps (default: 10)")
    paper.add_argument("--batch", type=int, help="pictures or texts per step (default: enough to keep the GPU busy)")
    paper.add_argument("--seed", type=int, default=0, help="fixes the jitter (default: 0)")
    paper.add_argument("-o", "--output", metavar="DIR", help="the folder for the files; made if missing")
    paper.add_argument("--list", action="store_true", help="list models, GPUs, sicknesses and forms")

    doctor = command(
        "doctor", "Say what is wrong with this machine (or one from a file), from evidence, and what mends it."
    )
    doctor.add_argument(
        "--from",
        dest="source",
        metavar="FILE",
        help="a snapshot, a case, or any text that somebody pasted; - for standard input",
    )
    doctor.add_argument("--symptom", metavar="TEXT", help="what you saw: an error message or a few words")
    doctor.add_argument("--python", metavar="PROGRAM", help="the Python whose torch is meant (default: the course's)")
    form = doctor.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--markdown", action="store_true", help="print Markdown, for an issue or a forum")

    claims = command(
        "claims",
        "What two widely read guides say about PyTorch on ROCm, and what is true; with --run as this machine shows it.",
    )
    claims.add_argument("ids", nargs="*", metavar="ID", help="1.1 to 1.56 and 2.1 to 2.37 (default: all)")
    claims.add_argument("--theme", metavar="T", help="only one theme, for example wheels or precision")
    claims.add_argument(
        "--run", action="store_true", help="run the probes; exit with 1 where one contradicts the ledger"
    )
    claims.add_argument("--json", action="store_true", help="print JSON")

    data = command(
        "data", "Say where each data set would come from, or fetch it for later use without a network.", needs="course"
    )
    data.add_argument("names", nargs="*", metavar="NAME", help="mnist, fashion_mnist, cifar10 (default: all)")
    data.add_argument("--fetch", action="store_true", help="download what is missing into labkit's cache")

    site = command(
        "site",
        "Set everything up, execute the lessons that changed, and build the static site of the course.",
        needs="site",
        parents=[setup_options],
    )
    site.add_argument("-o", "--output", metavar="DIR", help="the folder of the site (default: build/site)")
    site.add_argument(
        "--from", dest="executed", metavar="DIR", help="execute nothing: take what `labkit run -o DIR` left there"
    )

    report = command("report", "Make or check the file that says on which machine the lessons ran.")
    which = report.add_subparsers(dest="subcommand", metavar="WHAT", required=True)
    make = which.add_parser("make", help="execute the lessons and write the file for reports/", parents=[setup_options])
    make.set_defaults(needs="course")
    make.add_argument("-o", "--output", metavar="FILE", help="the file (default: named after the machine, in reports/)")
    make.add_argument(
        "--from", dest="executed", metavar="DIR", help="execute nothing: take what `labkit run -o DIR` left there"
    )
    make.add_argument(
        "--note", metavar="TEXT", help="a sentence that goes into the file, for example what else was running"
    )
    checked = which.add_parser("check", help="is a contributed file complete, plausible and without personal data?")
    checked.add_argument("files", nargs="*", metavar="FILE", help="the files (default: all in reports/)")

    from labkit.workshop import arguments as workshop

    workshop.add(
        command("workshop", "For teachers: a pack for a room without network, plans, notes, slides, a hub."),
        setup_options,
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit status (0 fine, 1 a problem that was told, 2 wrong usage)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):  # a console that lacks a character must not stop a command
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 2
    try:
        if options.needs:
            from labkit import setup
            from labkit.course import arguments as judging

            judging.check(options)
            if options.command in _QUESTIONS and not getattr(options, "fetch", False):
                _need_environment(_QUESTIONS[options.command])
            status = setup.enter(options.needs, options, arguments)
            if status is not None:  # it was done inside the environment, or was a dry run
                return status
        status = _COMMANDS[options.command](options)
        sys.stdout.flush()  # here a full disk still becomes a sentence
        return status
    except LabkitError as error:
        print(f"labkit: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nlabkit: stopped by you.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of this output has what it wanted and went away, as in `labkit list | head`
        _drop_output()
        return 0
    except OSError as error:
        if error.filename is not None or error.errno not in _CANNOT_WRITE:
            raise
        _drop_output()
        print(
            f"labkit: the output cannot be written: {error.strerror or error}.\n  What to do: free some space, or send it elsewhere.",
            file=sys.stderr,
        )
        return 1


# Windows says EINVAL where a pipe's reader went away
_CANNOT_WRITE = (errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EINVAL, getattr(errno, "EDQUOT", errno.ENOSPC))


def _drop_output() -> None:
    """What is still buffered goes nowhere, without a second complaint when Python ends."""
    with contextlib.suppress(OSError, ValueError, io.UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _start(options: argparse.Namespace) -> int:
    from labkit.course import lab

    return lab.start(port=options.port, browser=not options.no_browser)


def _run(options: argparse.Namespace) -> int:
    from labkit.course import execute

    return execute.run(
        options.lessons,
        profile=options.profile,
        parameters=dict(options.parameter),
        output=Path(options.output) if options.output else None,
        workers=options.workers,
    )


def _test(options: argparse.Namespace) -> int:
    from labkit.course import suite

    return suite.run(light=options.light, pytest_arguments=options.pytest_arguments)


def _setup(options: argparse.Namespace) -> int:
    print(f"The environment is ready: {sys.prefix}")
    return 0


def _list(options: argparse.Namespace) -> int:
    from labkit.course import table

    print(table.as_text(table.load()))
    return 0


def _describe(options: argparse.Namespace) -> int:
    from labkit import devices, setup
    from labkit.setup import environment

    with contextlib.suppress(LabkitError):
        place = environment.locate(ROOT, os.environ)
        if place.has_python and not environment.is_inside(place):
            return setup.run_inside(place, ["describe"])
    print(devices.describe())
    return 0


def _progress(options: argparse.Namespace) -> int:
    from labkit.learn import overview
    from labkit.learn.records import file, place

    if options.forget:
        path = place.chosen().path
        try:
            aside = file.move_aside(path) if path is not None else None
        except file.CannotSave as problem:
            raise LabkitError(
                f"The record cannot be renamed ({problem}).", "Close the notebooks that use it and try again."
            ) from problem
        print(f"Forgotten. The old record is {aside}." if aside else "There was nothing to forget.")
        return 0
    entries, note = overview.known()
    if options.export:
        if note:
            print(f"labkit: {note}", file=sys.stderr)
        if _write_json(overview.export(entries), options.export):
            print(
                f"Written: {options.export}. It holds exercises, tries and days; no names, no paths, nothing you wrote."
            )
        return 0
    print(overview.as_text(entries))
    if note:
        print(note)
    return 0


def _format(options: argparse.Namespace) -> int:
    from labkit.course import form

    return form.main([Path(name) for name in options.notebooks], fix=options.fix, golden=options.golden)


def _read(options: argparse.Namespace) -> int:
    from labkit.profile.readers import command

    return command.run(options.file, as_json=options.json, root=ROOT)


def _profile(options: argparse.Namespace) -> int:
    from labkit.profile import page

    draw = None
    if options.html:
        from labkit.show.profiles.page import write

        draw = write
    return page.run(options.files, options.before, gpu=options.gpu, as_json=options.json, html=options.html, draw=draw)


def _bench(options: argparse.Namespace) -> int:
    from labkit.comm import bench
    from labkit.show.comm import beside, tables

    return bench.run(
        options.what, text=tables.as_text, beside=beside.size_by_size, picture=beside.picture, seconds=options.seconds,
        as_json=options.json, output=options.output, against=options.against, figure=options.figure,
        earlier=options.earlier,
    )  # fmt: skip


def _interpreter(named: str | None) -> str:
    """The Python whose torch is asked: the one named, the course's environment if there is one, else this one."""
    if named:
        found = shutil.which(named)
        if found is None:
            raise LabkitError(f"{named} is no program.", "Give the path of a Python, for example .venv/bin/python.")
        return found
    from labkit.setup import environment

    with contextlib.suppress(LabkitError, OSError):
        here = environment.locate(ROOT, os.environ)
        if here.has_python:
            return str(here.python)
    return sys.executable


def _snapshot(options: argparse.Namespace) -> int:
    from labkit.machine import redact, snapshot

    found = snapshot.collect(python=_interpreter(options.python))
    if not options.plain:
        found = redact.redact(found)
    if not _write_json(found, options.output):
        return 0
    took = found["collected"]["seconds"]
    print(f"Written: {options.output} ({took} s, nothing was changed and nothing was sent).")
    if options.plain:
        print("--plain: it holds this machine's name, your user name, paths and serial numbers as they are.")
    else:
        print(
            "Names, home folders, addresses, serial numbers and UUIDs were replaced. Read it before you give it away."
        )
    return 0


def _simulate(options: argparse.Namespace) -> int:
    from labkit.machine import simulate

    if options.list or options.machine is None:
        if options.machine is None:
            lines = [f"{name:28} {simulate.title(name)}" for name in simulate.names()]
        else:
            from labkit.catalog.findings import codes

            table = codes()
            lines = [
                f"{code:32} {table[code].severity:9} {table[code].meaning}" for code in simulate.faults(options.machine)
            ]
        print("\n".join(lines))
        return 0
    found = simulate.snapshot(options.machine, options.fault)
    if _write_json(found, options.output):
        print(f"Written: {options.output}, a simulated machine ({found['simulated_title']}).")
    return 0


def _simulate_profile(options: argparse.Namespace) -> int:
    from labkit.profile import simulate

    if options.list or options.model is None:
        print(simulate.catalogue())
        return 0
    if not options.output:
        raise LabkitError("There is no folder to write to.", "Give one with -o, for example -o build/simulated.")
    run = simulate.training(
        options.model, options.gpu, options.sickness, steps=options.steps, seed=options.seed, severity=options.severity,
        batch=options.batch,
    )  # fmt: skip
    for path in simulate.write(run, options.output, options.form):
        print(path)
    print("Simulated: no GPU made these files.")
    return 0


def _write_json(value: object, output: str | None) -> bool:
    """Prints JSON, or writes it to a file, whole or not at all; says whether there is a file."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    if output is None:
        print(text)
        return False
    path = Path(output)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text + "\n", encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise LabkitError(f"{path} cannot be written: {error.strerror or error}.", "Choose another place.") from error
    return True


def _doctor(options: argparse.Namespace) -> int:
    from labkit.machine import doctor, evidence, report

    known = (
        evidence.load(options.source, options.symptom or "")
        if options.source
        else evidence.here(options.symptom or "", python=_interpreter(options.python))
    )
    diagnosis = doctor.diagnose(known)
    if options.json:
        print(json.dumps(diagnosis.as_json(), indent=1))
    else:
        print(report.as_markdown(diagnosis) if options.markdown else report.as_text(diagnosis))
    return 1 if any(finding.severity == "blocks" for finding in diagnosis.findings) else 0


def _claims(options: argparse.Namespace) -> int:
    from labkit import setup
    from labkit.folklore import command
    from labkit.setup import environment

    if options.run:
        with contextlib.suppress(LabkitError):  # the environment's torch is the one that is asked, where there is one
            place = environment.locate(ROOT, os.environ)
            if place.has_python and not environment.is_inside(place):
                more = [*(["--theme", options.theme] if options.theme else []), *(["--json"] if options.json else [])]
                return setup.run_inside(place, ["claims", *options.ids, "--run", *more])
    return command.main(options.ids, theme=options.theme, probes=options.run, as_json=options.json)


# A question installs nothing; what its answer needs installed packages for.
_QUESTIONS = {
    "bench": "This machine is measured",
    "data": "The data sets are read",
    "profile": "Profiles are read",
    "simulate-profile": "Profiles are made",
}


def _need_environment(what: str) -> None:
    """Raises LabkitError where there is no environment yet, in which ``what`` could be done."""
    from labkit.setup import environment, words

    if not environment.locate(ROOT, os.environ).has_python:
        also = f"; so does {words.labkit('data --fetch')}" if what == _QUESTIONS["data"] else ""
        raise LabkitError(
            f"{what} with packages that are not installed yet.",
            f"{words.labkit('setup')} installs them and says how much that is{also}.",
        )


def _data(options: argparse.Namespace) -> int:
    from labkit import data

    return data.main(options.names, fetch=options.fetch)


def _site(options: argparse.Namespace) -> int:
    from labkit.site import command

    return command.main(options)


def _report(options: argparse.Namespace) -> int:
    from labkit.course import contributed

    return contributed.main(options)


def _workshop(options: argparse.Namespace) -> int:
    from importlib import import_module

    return int(import_module(options.module).main(options))


_COMMANDS = {
    "start": _start,
    "run": _run,
    "test": _test,
    "setup": _setup,
    "list": _list,
    "progress": _progress,
    "describe": _describe,
    "format": _format,
    "data": _data,
    "read": _read,
    "claims": _claims,
    "profile": _profile,
    "bench": _bench,
    "doctor": _doctor,
    "snapshot": _snapshot,
    "simulate": _simulate,
    "simulate-profile": _simulate_profile,
    "site": _site,
    "report": _report,
    "workshop": _workshop,
}
