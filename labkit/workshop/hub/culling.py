"""Runs jupyterhub-idle-culler, and ends with the hub that started it, also where that was killed.

Else the culler of a killed hub would ask for ever, beside that of the next hub.
"""

from __future__ import annotations

from labkit.comm.lifeline import die_with_parent


def main() -> None:
    """Takes the arguments of jupyterhub-idle-culler."""
    from jupyterhub_idle_culler import main as cull

    die_with_parent()
    cull()


if __name__ == "__main__":
    main()
