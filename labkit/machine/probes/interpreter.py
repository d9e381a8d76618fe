"""Asks an interpreter for its torch and its TensorFlow, and reads whatever came of it: facts, a crash, silence."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from labkit.machine.probes import tensorflow_probe, torch_probe
from labkit.machine.probes.commands import Answer

_PRINTED = 4000  # characters kept of what libraries print beside the answers


def command(python: str, probe: Any) -> list[str]:
    """The command line that runs a probe's text with an interpreter."""
    return [python, "-B", "-c", Path(probe.__file__).read_text(encoding="utf-8")]


def torch(python: str, run: Callable[[Sequence[str], float], Answer], timeout_s: float) -> dict[str, Any]:
    """``{"torch": entry, "packages": {…} or None}`` of an interpreter, as the snapshot keeps them; else also a ``problem``."""
    return read_torch(run(command(python, torch_probe), timeout_s), timeout_s)


def tensorflow(python: str, run: Callable[[Sequence[str], float], Answer], timeout_s: float) -> dict[str, Any] | None:
    """What an interpreter's TensorFlow says; None where there is none."""
    return read_tensorflow(run(command(python, tensorflow_probe), timeout_s), timeout_s)


def _messages(text: str, mark: str) -> tuple[dict[str, Any], list[Any], str]:
    """Everything that was said (later words win), the kernels' results, and the rest of the text."""
    said: dict[str, Any] = {}
    kernels = []
    rest = []
    for line in text.splitlines():
        if not line.startswith(mark):
            if line.strip():
                rest.append(line)
            continue
        try:
            message = json.loads(line[len(mark) :])
        except ValueError:
            continue  # cut off where the process ended
        if "kernel" in message:
            kernels.append(message["kernel"])
        said.update(message)
    return said, kernels, "\n".join(rest)[-_PRINTED:]


def read_torch(answer: Answer, timeout_s: float) -> dict[str, Any]:
    """The torch entry and the packages from what the probe printed and how it ended. A pure function."""
    said, kernels, printed = _messages(answer.text, torch_probe.MARK)
    packages = said.get("packages")
    entry: dict[str, Any] = dict(said.get("torch") or {})
    unfinished = not said.get("done")
    how = _ending(answer, timeout_s)
    if not said:
        return {"torch": {}, "packages": None, "problem": f"torch was not asked: the interpreter {how}"}
    if not entry:
        # Of a torch that cannot be imported the version's tag still tells the build; without a tag it would mislead.
        installed = (packages or {}).get("torch")
        error = said.get("error") or (f"{said.get('stage', 'it')} {how}" if unfinished else "torch said nothing")
        entry = {
            "version": installed if installed and "+" in installed else None, "hip": None, "cuda": None, "arch_list": None,
            "gcn_arch_names": [], "cuda_available": None, "kernel_result": None, "error": error,
        }  # fmt: skip
    else:
        results = {str(index): text for index, text in kernels}
        if unfinished and str(said.get("stage", "")).startswith("a kernel"):
            results[said["stage"].rpartition(":")[2]] = f"{said['stage']} {how}"
        bad = next((text for text in results.values() if text != "ok"), None)
        entry["kernel_result"] = bad or ("ok" if results else None)
        entry["kernel_results"] = results
    entry["python"] = said.get("python")
    entry["libraries"] = said.get("libraries") or []
    if printed:
        entry["printed"] = printed
    return {"torch": entry, "packages": packages}


def _ending(answer: Answer, timeout_s: float) -> str:
    if answer.status is None:
        return f"was stopped after {timeout_s:.3g} s ({answer.problem or 'no answer'})"
    if answer.status < 0:
        try:
            return f"was ended by the signal {signal.Signals(-answer.status).name}"
        except ValueError:
            return f"was ended by signal {-answer.status}"
    return f"ended with status {answer.status}"


def read_tensorflow(answer: Answer, timeout_s: float) -> dict[str, Any] | None:
    """The tensorflow entry: package, version, rocm, cuda, gpus, error; None where it is not installed. A pure function."""
    said, _, _ = _messages(answer.text, tensorflow_probe.MARK)
    if not said.get("package"):
        return None
    error = said.get("error")
    if not error and not said.get("done"):
        error = f"{said.get('stage', 'it')} {_ending(answer, timeout_s)}"
    return {
        "package": said["package"], "version": said.get("version"), "rocm": said.get("rocm"), "cuda": said.get("cuda"),
        "gpus": said.get("gpus"), "error": error,
    }  # fmt: skip
