"""``python3 -m labkit``: works on a bare Python, before anything is installed."""

import sys

if sys.version_info < (3, 10):  # noqa: UP036  (this file must parse on an old Python to say so)
    sys.exit(
        "labkit: this is Python %d.%d, and the course needs Python 3.10 to 3.14.\n"  # noqa: UP031  (an f-string would not parse)
        "  What to do: install a newer Python and run 'python3.12 -m labkit start' with it." % sys.version_info[:2]
    )

from labkit.cli import main

if __name__ == "__main__":
    sys.exit(main())
