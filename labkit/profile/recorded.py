"""The process in which ``record`` runs a script under torch.profiler: ``python -m labkit.profile.recorded OUT [--shapes] -- SCRIPT …``."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str]) -> int:
    """Runs the script as ``__main__`` under the profiler and writes the trace; returns the script's exit status."""
    at = list(arguments).index("--")
    target, shapes, (script, *rest) = Path(arguments[0]), "--shapes" in arguments[1:at], arguments[at + 1 :]
    import torch
    from torch.profiler import ProfilerActivity, profile

    from labkit.profile import kineto

    on_gpu = torch.cuda.is_available()
    sys.argv = [script, *rest]
    sys.path[0] = str(Path(script).resolve().parent)
    status = 0
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with kineto.quiet(), profile(activities=activities, record_shapes=shapes) as recorder:
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(bool(end.code))
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
        if on_gpu:
            torch.cuda.synchronize()
    if status == 0:
        draft = target.with_name(f"{target.stem}.{os.getpid()}.part.json")
        recorder.export_chrome_trace(str(draft))
        draft.replace(target)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
