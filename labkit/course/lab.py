"""JupyterLab on the lessons: this environment's own, at lesson 00, without news and without asking for updates.

The reader's own Jupyter settings stay in force. What differs for the course is given on the command line and in two more
folders of the repository (settings, and the course's kernel), so nothing is written into the reader's home for it.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from labkit.errors import LabkitError
from labkit.importable import python_path

ROOT = Path(__file__).resolve().parent.parent.parent
FIRST_LESSON = "00_environment_check.ipynb"
FIRST_PORT = 8888
_SETTINGS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}
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
    settings = settings_folder(root)
    arguments = command(lesson, choose_port(port), browser, as_root=hasattr(os, "geteuid") and os.geteuid() == 0)
    environ = environment(os.environ, root, settings)
    print("JupyterLab starts. Ctrl-C here ends it.", flush=True)
    if os.name != "nt":
        os.execve(arguments[0], arguments, environ)  # signals then reach JupyterLab itself
    with subprocess.Popen(arguments, env=environ) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:  # JupyterLab got it too and ends its kernels
                continue


def command(lesson: Path, port: int, browser: bool, *, as_root: bool = False) -> list[str]:
    """The command line of JupyterLab."""
    return [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={lesson.parent}",
        f"--LabApp.default_url=/lab/tree/{lesson.name}",
        f"--ServerApp.port={port}",
        "--ServerApp.answer_yes=True",  # Ctrl-C ends it without a question
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--Application.log_level=WARN",
        *([] if browser else ["--no-browser"]),
        *(["--allow-root"] if as_root else []),  # in a container; the token still guards it
    ]


def environment(environ: Mapping[str, str], root: Path, settings: Path) -> dict[str, str]:
    """Environment variables for JupyterLab and its kernels: labkit can be imported, this environment's kernel is used."""
    folders = [entry for entry in environ.get("JUPYTER_CONFIG_PATH", "").split(os.pathsep) if entry]
    data = [entry for entry in environ.get("JUPYTER_PATH", "").split(os.pathsep) if entry and entry != str(settings)]
    return {
        **environ,
        "PYTHONPATH": python_path(environ, root),
        "JUPYTER_CONFIG_PATH": os.pathsep.join([*folders, str(settings)]),
        "JUPYTER_PATH": os.pathsep.join([str(settings), *data]),
        "JUPYTER_PREFER_ENV_PATH": "1",
    }


def settings_folder(root: Path) -> Path:
    """Writes the course's defaults for JupyterLab and its kernel; what the reader sets in JupyterLab itself wins over them."""
    folder = root / ".labkit" / "jupyter"
    for name, content in (
        ("labconfig/default_setting_overrides.json", _SETTINGS),
        ("kernels/python3/kernel.json", _KERNEL),
    ):
        path, text = folder / name, json.dumps(content, indent=1) + "\n"
        try:
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                temporary = path.with_suffix(f".{os.getpid()}.tmp")
                temporary.write_text(text, encoding="utf-8")
                temporary.replace(path)
        except OSError:
            pass  # a repository that cannot be written: JupyterLab then asks once about its news, and kernels say more
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
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if os.name != "nt":  # on Windows this option would share a port that is in use
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
