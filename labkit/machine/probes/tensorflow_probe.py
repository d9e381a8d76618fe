"""Is TensorFlow there, and does it see a GPU? Started from its text with an interpreter; prints JSON lines.

Nothing is imported where TensorFlow is not installed.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

MARK = "@labkit-tensorflow@"


def say(**message: Any) -> None:
    sys.stdout.write("\n" + MARK + json.dumps(message) + "\n")
    sys.stdout.flush()


def version() -> str | None:
    """The installed version of any of its packages; None where there is none."""
    from importlib import metadata

    for name in ("tensorflow-rocm", "tensorflow", "tensorflow-cpu"):
        try:
            return name + " " + metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None


def main() -> None:
    sys.path[:] = [path for path in sys.path if path]
    installed = version()
    say(package=installed)
    if installed:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        say(stage="import tensorflow")
        try:
            import tensorflow as tf  # type: ignore[import-not-found,import-untyped,unused-ignore]

            say(
                version=str(tf.__version__),
                rocm=bool(tf.test.is_built_with_rocm()),
                cuda=bool(tf.test.is_built_with_cuda()),
            )
            say(stage="ask for the devices")
            say(gpus=[str(device.name) for device in tf.config.list_physical_devices("GPU")])
        except BaseException as error:
            say(error=f"{type(error).__name__}: {str(error).strip()[:2000]}")
    say(done=True)


if __name__ == "__main__":
    main()
