"""What a learner meets first in a pack: start scripts for each system, and START_HERE.txt. Plain texts."""

from __future__ import annotations

from pathlib import Path

from labkit.workshop.pack.contents import Contents

# {module}: what runs in course/; {arguments}: given before the learner's own
_SHELL = """\
#!/bin/sh
# {what}
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd) || exit 1
for python in python3 {names}; do
  if command -v "$python" >/dev/null 2>&1 && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    cd -- "$here/course" || exit 1
    exec "$python" -m {module}{arguments} "$@"
  fi
done
echo "No Python from 3.10 on was found. This folder has packages for Python {pythons}: install one of these." >&2
exit 1
"""
_BATCH = """\
@echo off
rem {what}
cd /d "%~dp0course" || exit /b 1
set PYTHONUTF8=1
where py >nul 2>nul
if %errorlevel% equ 0 (py -3 -m {module}{arguments} %*) else (python -m {module}{arguments} %*)
set code=%errorlevel%
if %code% neq 0 pause
exit /b %code%
"""
_MINORS = range(14, 9, -1)
_SCRIPTS = {
    "start": (
        "Sets the course up from this folder, without a network, and opens it.",
        "labkit.workshop.pack.use",
        "",
    ),
    "check": (
        "Says whether this computer is ready for the workshop; changes nothing.",
        "labkit.workshop.pack.use",  # with the same Python as the start
        " workshop check",
    ),
}


def write(folder: Path, contents: Contents) -> None:
    """Writes the scripts and START_HERE.txt into the pack."""
    pythons = ", ".join(contents.pythons) or "3.10 to 3.14"
    for name, (what, module, arguments) in _SCRIPTS.items():
        names = " ".join(f"python3.{minor}" for minor in _MINORS)
        script = _SHELL.format(what=what, module=module, arguments=arguments, names=names, pythons=pythons)
        path = folder / f"{name}.sh"
        path.write_bytes(script.encode("ascii"))
        path.chmod(0o755)
        batch = _BATCH.format(what=what, module=module, arguments=arguments)
        (folder / f"{name}.bat").write_bytes(batch.replace("\n", "\r\n").encode("ascii"))
    (folder / "START_HERE.txt").write_bytes(start_here(contents).replace("\n", "\r\n").encode("utf-8"))


def start_here(contents: Contents) -> str:
    """The page that a learner reads first."""
    wheels = "\n".join(f"    {item.words}" for item in contents.wheels) or "    none: set-up needs a network"
    data = "\n".join(
        f"    {item.title}: {item.licence if item.present else 'not in this pack. ' + item.note}"
        for item in contents.data
    )
    site = (
        "\nTo read only: open site/index.html in a browser. It is the whole course, with its results.\n"
        if contents.site
        else ""
    )
    network = (
        "No network is needed."
        if contents.wheels
        else "The first start needs a network: this pack holds no packages. After that, none."
    )
    version = f" (version {contents.commit})" if contents.commit else ""
    return f"""\
ROCm Labs: the course in one folder, made on {contents.made}{version}
{network}

1. Copy this whole folder to the disk of your computer.
   From the stick itself it does not work: work is saved here, and sticks are slow.

2. Open a terminal (Windows: the Command Prompt) in the copied folder.

3. Is this computer ready? Give the number or name of your seat:
       Linux, macOS:   sh check.sh --seat 12
       Windows:        check.bat --seat 12
   Its last line begins with READY or NOT READY. Send that line to your teacher.

4. Start:
       Linux, macOS:   sh start.sh
       Windows:        start.bat
   The first time it installs everything into course/.venv; that takes some minutes and several GB.
   Then JupyterLab opens in your browser, at the list of lessons. The same command starts it again later.
   Ctrl-C in the terminal ends it.
{site}
If something is wrong with the folder, this reads every file and names damaged ones:
       Linux, macOS:   sh check.sh --pack
       Windows:        check.bat --pack

What is in it
  Packages for:
{wheels}
  Data sets:
{data}
"""
