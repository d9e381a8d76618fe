"""A Slurm for the tests of this folder, started once; and where one is impossible, the reason."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from tests.clusters.private_slurm import Slurm, missing


@pytest.fixture(scope="package")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    why = missing()
    if why:
        if os.environ.get("CI") and shutil.which("apt-get"):
            pytest.fail(f"NOT CHECKED: the Slurm files. {why}")
        pytest.skip(why)
    with Slurm(tmp_path_factory.mktemp("slurm")) as cluster:
        yield cluster
