"""The child of the smoke test: ``python -m labkit.devices.child [DEVICE]``.

It imports torch, collects what torch says, runs the kernels, and prints each step as one marked line of JSON before and
after. Whatever kills it, the parent (``labkit.devices.smoke``) knows how far it came.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Sequence

from labkit.devices import facts as _facts
from labkit.devices.kernels import DTYPES, MARK, OPS, check_kernel
from labkit.machine.probes import torch_probe


def _say(**message: object) -> None:
    # One write, so that text which a library prints at the same time cannot land inside the line.
    sys.stdout.write(f"\n{MARK}{json.dumps(message)}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """The child: ``[DEVICE]`` is a device string, 'auto' (the best GPU, else the CPU) or 'none' (facts only)."""
    wanted = (list(sys.argv[1:] if arguments is None else arguments) or ["auto"])[0]
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash here is expected: leave no core file behind
    _say(step="import torch")
    try:
        import torch
    except BaseException as error:
        _say(import_error={"type": type(error).__name__, "text": str(error).strip()})
        return 0
    _say(step="look at the devices")
    facts = _facts.torch_facts(torch)
    _say(facts={**facts, "snapshot": torch_probe.describe(torch), "packages": torch_probe.packages()})
    if wanted == "none":
        _say(done=True)
        return 0
    device = _facts.best_device(facts) if wanted == "auto" else wanted
    _say(device=device)
    with contextlib.suppress(Exception):  # float32 here means float32, not TF32
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
    for dtype in DTYPES:
        for op in OPS:
            _say(step=f"{op} in {dtype}")
            _say(result=check_kernel(torch, device, op, dtype))
    _say(done=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
