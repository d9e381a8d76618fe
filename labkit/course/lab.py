"""JupyterLab on the lessons: this environment's own, at the course's start page, without news and without asking for updates.

The reader's own Jupyter settings stay in force. What differs for the course is given on the command line and in more folders
of the repository (``labkit/jupyter``: settings and the room; ``.labkit``: the kernel), so nothing is written into the
reader's home for it. ``room`` is also what a hub or Binder puts into the environment of each learner's server.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from labkit.course import files
from labkit.errors import LabkitError
from labkit.importable import ROOT, become, others, python_path

FIRST_LESSON = "00_environment_check.ipynb"
FIRST_PORT = 8888
QUIET = (
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--Application.log_level=WARN",
)
"""No news, no question for updates, no chatter: what every JupyterLab of the course gets."""
# The log level leaves out the note of each kernel that it listens on TCP. jupyter_client puts this interpreter for "python".
_KERNEL = {
    "argv": ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=40"],
    "display_name": "Python 3 (ipykernel)",
    "language": "python",
    "metadata": {"debugger": True},
}


def start(port: int | None = None, browser: bool = True, *, root: Path = ROOT) -> int:
    """Runs JupyterLab until Ctrl-C; returns its exit status.

    ``port`` None takes the first free one from 8888. Access needs the token that JupyterLab makes for this run. Raises
    LabkitError where the lesson or JupyterLab is missing, or the wanted port is busy.
    """
    lesson = root / "notebooks" / FIRST_LESSON
    if not lesson.is_file():
        raise LabkitError(f"The first lesson is missing: {lesson}", "restore it: git checkout notebooks")
    if find_spec("jupyterlab") is None:
        raise LabkitError("JupyterLab is not installed in this environment.", "call: python3 -m labkit setup")
    kernels = kernels_folder(root)
    arguments = command(lesson, choose_port(port), browser, as_root=hasattr(os, "geteuid") and os.geteuid() == 0)
    environ = environment(os.environ, root, kernels)
    print("JupyterLab starts. Ctrl-C here ends it.", flush=True)
    return become(arguments, environ)


def command(lesson: Path, port: int, browser: bool, *, as_root: bool = False) -> list[str]:
    """The command line of JupyterLab."""
    return [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={lesson.parent}",
        "--LabApp.default_url=/lab",  # where the room puts the start page in front
        f"--ServerApp.port={port}",
        "--ServerApp.answer_yes=True",  # Ctrl-C ends it without a question
        *QUIET,
        *([] if browser else ["--no-browser"]),
        *(["--allow-root"] if as_root else []),  # in a container; the token still guards it
    ]


def room(environ: Mapping[str, str], root: Path = ROOT) -> dict[str, str]:
    """``environ`` with the three variables that put the course's room (``labkit.jupyter``) into a Jupyter server.

    PYTHONPATH: the server can import labkit. JUPYTER_CONFIG_PATH: it loads the server extension and the course's defaults for
    JupyterLab; what the reader set wins over them. JUPYTER_PATH: JupyterLab finds the front end. Nothing is written; ``root``
    may be read-only and shared.
    """
    jupyter = root / "labkit" / "jupyter"
    return {
        **environ,
        "PYTHONPATH": python_path(environ, root),
        "JUPYTER_CONFIG_PATH": os.pathsep.join(
            [*others(environ, "JUPYTER_CONFIG_PATH", jupyter / "etc"), str(jupyter / "etc")]
        ),
        "JUPYTER_PATH": os.pathsep.join([str(jupyter / "share"), *others(environ, "JUPYTER_PATH", jupyter / "share")]),
    }


def environment(environ: Mapping[str, str], root: Path, kernels: Path) -> dict[str, str]:
    """Environment variables for JupyterLab and its kernels: the room, and this environment's kernel."""
    made = room(environ, root)
    made["JUPYTER_PATH"] = os.pathsep.join([str(kernels), *others(made, "JUPYTER_PATH", kernels)])
    return {**made, "JUPYTER_PREFER_ENV_PATH": "1"}


def kernels_folder(root: Path) -> Path:
    """Writes the course's kernel into a folder for JUPYTER_PATH."""
    folder = root / ".labkit" / "jupyter"
    path, text = folder / "kernels" / "python3" / "kernel.json", json.dumps(_KERNEL, indent=1) + "\n"
    with contextlib.suppress(OSError, LabkitError):  # a repository that cannot be written: kernels then say a line more
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            files.write_text(path, text)
    return folder


def choose_port(wanted: int | None) -> int:
    """The wanted port, or the first free one from 8888; raises LabkitError where there is none."""
    if wanted is not None:
        if not is_free(wanted):
            raise LabkitError(f"Port {wanted} is in use.", "leave --port away to get a free one, or name another.")
        return wanted
    for port in range(FIRST_PORT, FIRST_PORT + 100):
        if is_free(port):
            return port
    raise LabkitError("No port from 8888 to 8987 is free.", "name one with --port.")


def is_free(port: int) -> bool:
    """Can a server listen there on this machine?"""
    if not 0 < port < 65536:
        raise LabkitError(f"{port} is not a port number.", "name one from 1024 to 65535.")
    return not taken("127.0.0.1", port)


def taken(host: str, port: int) -> str:
    """Why no server can listen at this address now; empty where one can."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        if os.name != "nt":  # on Windows this option would share a port that is in use
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            return error.strerror or str(error)
    return ""
