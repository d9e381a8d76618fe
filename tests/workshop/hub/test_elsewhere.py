"""On other systems the hub says that it is for Linux, before it asks for anything that only Linux has."""

from __future__ import annotations

import sys

import pytest

from labkit import cli
from labkit.errors import LabkitError
from labkit.workshop.hub import command

pytestmark = pytest.mark.light


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_elsewhere_than_on_linux_it_says_so(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = cli._parser().parse_args(["workshop", "hub", "--write"])
    monkeypatch.setattr(sys, "platform", system)
    with pytest.raises(LabkitError, match="Linux only"):
        command.main(options)
