"""Between a hub and a learner's server, on clusters: brings the lessons, switches the course's room on, and becomes the server.

    python /shared/rocm-labs/notebooks/scripts/hub/learner.py jupyterhub-singleuser

The lessons come into ~/rocm-labs. What a learner has changed there is never written over. Used by the hubs for Slurm and
Kubernetes; `labkit workshop hub` does the same by itself.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from labkit.course import lab
from labkit.importable import ROOT
from labkit.workshop.hub import copies


def main(arguments: list[str]) -> int:
    if not arguments:
        print("learner.py: name the server to start behind it", file=sys.stderr)
        return 2
    lessons = Path.home() / "rocm-labs"
    for line in copies.bring(ROOT / "notebooks", lessons):
        print(f"learner.py: {line}", file=sys.stderr, flush=True)
    environ = lab.environment({**os.environ, "LABKIT_ENV": sys.prefix}, ROOT, lab.kernels_folder(ROOT))
    environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    os.chdir(lessons)
    os.execvpe(arguments[0], arguments, environ)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
