"""The last thing that the fork server loads: from here on it takes interrupts as usual again.

While it loads torch they are held back (``processes.prepare``): a Ctrl-C in a terminal goes to every process there, and
would end the server with a traceback. One that came meanwhile is dropped; the process that asked for the server has it,
too. Not to be imported by anything else."""

from __future__ import annotations

import signal
import threading


def take_interrupts() -> None:
    """Drops an interrupt that waits, and lets later ones through to Python's own handler. For the main thread."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # so it was told to its parent, too, as by a shell for 'command &'
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    elif threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)


if signal.SIGINT in (signal.pthread_sigmask(signal.SIG_BLOCK, ()) if hasattr(signal, "pthread_sigmask") else ()):
    take_interrupts()
