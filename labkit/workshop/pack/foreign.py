"""pip's download for another system than this one.

``pip download --platform`` chooses wheels for another system but still evaluates environment markers, such as
``colorama; sys_platform == "win32"``, for the Python that runs it (pip's documentation of --platform says so): what only
the other system needs would be missing, and what only this one needs would be asked for in vain. This script tells pip's
marker evaluation about the other system and then runs pip, unchanged otherwise. It is run as a file, so it imports the standard
library and pip only::

    python foreign.py '{"sys_platform": "win32", ...}' download --platform win_amd64 ...
"""

from __future__ import annotations

import json
import runpy
import sys
from typing import Any


def main() -> None:
    """Takes the markers as JSON, then pip's arguments; ends as pip ends."""
    from pip._vendor.packaging import markers

    values: dict[str, Any] = json.loads(sys.argv[1])
    own = markers.default_environment

    def other() -> Any:
        return {**own(), **values}

    markers.default_environment = other  # Marker.evaluate looks it up in the module on every call
    if not markers.Marker(f"sys_platform == '{values['sys_platform']}'").evaluate():
        sys.exit("ERROR: this pip cannot be told about another system")
    sys.argv = ["pip", *sys.argv[2:]]
    runpy.run_module("pip", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
