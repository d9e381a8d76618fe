"""Machines that exist only on paper: snapshots with the shape of real ones, always marked ``"simulated": True``.

They let a lesson show what another computer would say, and let tests judge machines that nobody here has. Targets and
wheels come from the catalog, the texts have the formats of the tools; nothing here was recorded from hardware. Any fault
of the catalog can be injected: ``snapshot("rx7600", faults=("arch-not-in-wheel",))``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from labkit.catalog.findings import codes
from labkit.errors import LabkitError
from labkit.machine.simulate import texts
from labkit.machine.simulate.box import Box
from labkit.machine.simulate.faults import FAULTS
from labkit.machine.simulate.machines import BROKEN, HEALTHY


def names() -> tuple[str, ...]:
    """The simulated machines: healthy ones first, then a few that are broken from the start."""
    return (*HEALTHY, *BROKEN)


def healthy() -> tuple[str, ...]:
    """The machines to which faults are added."""
    return tuple(HEALTHY)


def title(name: str) -> str:
    """One line on a simulated machine, for a menu."""
    _known(name)
    return BROKEN[name][0] if name in BROKEN else HEALTHY[name][0]


def faults(name: str) -> tuple[str, ...]:
    """The finding codes that can be injected into this machine, in the catalog's order."""
    return tuple(code for code in codes() if code in FAULTS and FAULTS[code].fits(box(name)))


def box(name: str) -> Box:
    """The model of a machine; raises LabkitError for a name that is not in ``names()``."""
    _known(name)
    if name in BROKEN:
        _, base, fault = BROKEN[name]
        made = HEALTHY[base][1]()
        FAULTS[fault].inject(made)
        return made
    return HEALTHY[name][1]()


def snapshot(name: str, faults: Iterable[str] = ()) -> dict[str, Any]:
    """A fresh snapshot of a simulated machine with these faults.

    What a person would see (an error message) stands under ``symptom``. Raises LabkitError for a name that is not in
    ``names()``, or a fault that this machine cannot have.
    """
    made = box(name)
    wanted = tuple(dict.fromkeys(faults))
    for code in wanted:
        if code not in FAULTS:
            raise LabkitError(f"There is no fault '{code}'.", f"Choose one of: {', '.join(FAULTS)}.")
        if not FAULTS[code].fits(box(name)):
            raise LabkitError(
                f"{title(name)}: this machine cannot have '{code}'.",
                f"List what it can have: python3 -m labkit simulate {name} --list",
            )
    for code in sorted(wanted, key=list(FAULTS).index):
        FAULTS[code].inject(made)
    return {
        **texts.snapshot(made), "simulated": True, "simulated_name": name, "simulated_title": title(name),
        "simulated_faults": list(wanted),
    }  # fmt: skip


def _known(name: str) -> None:
    if name not in HEALTHY and name not in BROKEN:
        raise LabkitError(f"There is no simulated machine '{name}'.", f"Choose one of: {', '.join(names())}.")
