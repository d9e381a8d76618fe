from __future__ import annotations

from labkit.workshop.pack.contents import Contents, WheelSet
from labkit.workshop.pack.scripts import start_here

WHEELS = WheelSet("linux", False, "x86_64", "3.11", "cpu", "cpu", (), "2.14.1+cpu", ())


def test_the_first_page_promises_no_network_only_where_the_packages_are_in_the_pack() -> None:
    whole = start_here(Contents("2026-11-30", "", (WHEELS,), (), True))
    assert "No network is needed." in whole and "first start needs a network" not in whole
    bare = start_here(Contents("2026-11-30", "", (), (), True))
    assert "No network is needed." not in bare and "first start needs a network" in bare
