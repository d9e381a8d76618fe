"""Prints a free TCP port of this machine that follows from a job's number: python free_port.py 4711

20000 to 29999: below the ports that Linux hands out to outgoing connections (32768 and up), so that only another server can
have it. Standard library only, and as plain as the Python 3.6 of some clusters wants it.
"""

import socket
import sys

FIRST, COUNT = 20_000, 10_000


def free_port(job: int, tries: int = 100) -> int:
    """The first free port from the job's own one upwards. Raises OSError if ``tries`` ports in a row are taken."""
    for step in range(tries):
        port = FIRST + (job + step) % COUNT
        with socket.socket() as probe:
            # as the rendezvous does; a closed one may linger
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port
    raise OSError(f"{tries} ports from {FIRST + job % COUNT} on are taken")


if __name__ == "__main__":
    print(free_port(int(sys.argv[1])))
