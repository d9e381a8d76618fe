"""``python3 -m labkit``: works on a bare Python, before anything is installed."""

import sys

if sys.version_info < (3, 10):  # noqa: UP036  (this file must parse on an old Python to say so)
    sys.exit(
        "labkit: this is Python %d.%d, and the course needs Python 3.10 to 3.14.\n"  # noqa: UP031  (an f-string would not parse)
        "  What to do: install a newer Python and run 'python3.12 -m labkit start' with it." % sys.version_info[:2]
    )
if not __package__:  # 'python3 labkit': Python then looks for the package inside the package
    sys.exit(
        "labkit: this folder is a Python package and is started by its name.\n"
        "  What to do: cd into the clone (the folder that holds labkit/) and run 'python3 -m labkit start' there."
    )

from labkit.cli import main

if __name__ == "__main__":
    sys.exit(main())
