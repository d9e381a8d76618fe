"""A test run is no learner: nothing here writes to the progress of whoever runs it. And it hears Ctrl-C, as a learner's terminal does."""

from __future__ import annotations

import os
import signal

os.environ["LABKIT_PROGRESS"] = "off"

# A job in the background of a script begins by ignoring interrupts, and every process that it starts inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
