"""Runs probes in processes of their own and sets what they saw against the verdicts."""

from __future__ import annotations

import contextlib
import os
import site
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from labkit.catalog.claims import Claim, chosen
from labkit.errors import LabkitError
from labkit.folklore.observation import Observation, Outcome
from labkit.folklore.probes.__main__ import LATE, SILENT, read
from labkit.machine.probes.commands import end, start

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60.0  # for one probe
_BEGIN = 60.0  # for a Python that imports torch on a busy machine

# What a probe keeps of the environment: how programs and libraries are found, which GPUs are meant, what the processor needs.
_KEPT = (
    "PATH", "PATHEXT", "SYSTEMROOT", "WINDIR", "COMSPEC", "SYSTEMDRIVE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "HIP_PATH",
    "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "HSA_ENABLE_DXG_DETECTION",
    "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE",
)  # fmt: skip


def run(
    ids: str | Iterable[str] = (),
    *,
    seconds: float = SECONDS,
    python: str = sys.executable,
    told: Callable[[Outcome], None] | None = None,
) -> tuple[Outcome, ...]:
    """The outcomes of these claims (none: of all), grouped by theme; ``told`` is called with each as it comes.

    Each probe has ``seconds``, then it is ended with all that it started. A claim without a probe is 'unmet' and its reason
    the evidence. LabkitError for an unknown id.
    """
    wanted = chosen([ids] if isinstance(ids, str) else ids)
    seen = {}
    probed = [claim for claim in wanted if claim.probe]
    for claim, what, took in _observed(probed, seconds, python):
        seen[claim.id] = Outcome(claim, what, took)
        if told:
            told(seen[claim.id])
    return tuple(
        seen.get(claim.id) or Outcome(claim, Observation("unmet", claim.why_no_probe), 0.0) for claim in wanted
    )


def environment(folder: str, given: Mapping[str, str]) -> dict[str, str]:
    """What a probe's process gets: what it needs to start, a temporary folder as its home, no pip settings, no network."""
    nowhere = "http://127.0.0.1:9"  # the port 'discard': a request that a probe should not make ends here
    names = {name.upper(): name for name in given}
    return {
        **{name: given[names[name]] for name in _KEPT if name in names},
        **dict.fromkeys(
            ("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME", "APPDATA", "LOCALAPPDATA"), folder
        ),
        **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), nowhere),
        "PIP_CONFIG_FILE": os.devnull,
        "PYTHONUSERBASE": site.getuserbase(),
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUTF8": "1",
        "OMP_NUM_THREADS": "1",
        "LC_ALL": "C",
    }


def _observed(claims: list[Claim], seconds: float, python: str) -> Iterator[tuple[Claim, Observation, float]]:
    """One process for several probes where it can fork, else one for each."""
    if sys.platform == "linux" and len(claims) > 1:
        yield from _asked(claims, ["--seconds", str(seconds)], _BEGIN + len(claims) * (seconds + 1), python)
    else:
        for claim in claims:
            yield from _asked([claim], ["--here"], seconds, python)


def _asked(
    claims: list[Claim], options: list[str], limit: float, python: str
) -> Iterator[tuple[Claim, Observation, float]]:
    left = {claim.id: claim for claim in claims}
    command = [python, "-m", "labkit.folklore.probes", *options, *left]
    started = time.monotonic()
    late = threading.Event()
    said = "nothing printed"
    with _temporary() as folder:
        process = start(command, environment(folder, os.environ), folder)

        def over() -> None:
            late.set()
            end(process)

        watch = threading.Timer(limit, over)
        watch.daemon = True
        watch.start()
        try:
            assert process.stdout is not None
            for raw in process.stdout:
                line = raw.decode("utf-8", errors="replace").rstrip()
                message = read(line)
                if message is None:
                    said = line or said
                elif claim := left.pop(message["id"], None):
                    took = message["seconds"] if len(claims) > 1 else time.monotonic() - started
                    yield claim, Observation(message["saw"], message["evidence"]), float(took)
        finally:
            watch.cancel()
            _stop(process)
    why = LATE.format(limit) if late.is_set() else SILENT.format(said)
    for claim in left.values():
        yield claim, Observation("broken", why), time.monotonic() - started


def _temporary() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="labkit-probes-", ignore_cleanup_errors=True)
    except OSError as error:
        raise LabkitError(
            f"Probes need a temporary folder, and none can be made: {error}.",
            "Make room on the disk, or name a folder that can be written to in TMPDIR (TEMP on Windows).",
        ) from None


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends what still runs: a batch first so that it ends its own probe, then everything with force."""
    if os.name == "posix":
        if process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(3)
        end(process)  # the group, of which something may be left when its first process is gone
    elif process.poll() is None:
        end(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(3)
    if process.stdout is not None:
        process.stdout.close()
