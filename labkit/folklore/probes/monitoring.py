"""Monitoring and profiling: a module that is gone, and the options of programs."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from labkit.folklore import child
from labkit.folklore.observation import Observation
from labkit.folklore.registry import probe


@probe("1.47", needs="torch")
def bottleneck_module() -> Observation:
    """Runs the command on a script of one line."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        script.write_text("print('the script ran')\n", encoding="utf-8")
        answer = child.python("-m", "torch.utils.bottleneck", str(script))
    works = answer.status == 0 and "the script ran" in answer.text
    said = re.sub(r"^\S*python\S*: ", "", child.last_line(answer.text))
    return Observation("holds" if works else "fails", f"Exit status {answer.status}: {said}")


@probe("1.50", needs="tool:rocm-smi")
def rocm_smi_options() -> Observation:
    """Reads the program's own help."""
    answer = child.tool("rocm-smi", "--help")
    text = answer.text
    if "usage" not in text.lower():
        return Observation("broken", f"rocm-smi --help: {child.last_line(text)}")
    monitor = re.search(r"--monitor\b", text)
    short = re.search(r"^\s*-i\b.*$", text, re.MULTILINE)
    return Observation(
        "holds" if monitor else "fails",
        f"rocm-smi --help {'names' if monitor else 'does not name'} --monitor; -i is there as: "
        f"{' '.join(short.group().split()) if short else 'nothing'}",
    )


@probe("2.36", needs="amd-gpu tool:rocprofv3")
def rocprof_is_followed() -> Observation:
    """Looks which profilers are here, and what the old one says of itself."""
    old = shutil.which("rocprof")
    said = child.tool("rocprof", "--version").text if old else ""
    warned = next(
        (line.strip() for line in said.splitlines() if "deprecat" in line.lower() or "rocprofv3" in line.lower()), ""
    )
    return Observation(
        "deprecated" if warned or not old else "holds",
        f"rocprofv3 is here; rocprof {'is too' if old else 'is not'}. {('It says: ' + warned[:200]) if warned else ''}".strip(),
    )
