"""The lessons' scripts as modules, and teams of processes to run them in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from labkit.comm import Team, module_from
from labkit.course.table import NOTEBOOKS

SCRIPTS = NOTEBOOKS / "scripts"


@pytest.fixture(scope="session")
def scripts() -> Path:
    return SCRIPTS


@pytest.fixture(scope="session")
def ddp_train() -> ModuleType:
    return module_from(SCRIPTS / "ddp_train.py")


@pytest.fixture(scope="session")
def equality() -> ModuleType:
    return module_from(SCRIPTS / "equality.py")


@pytest.fixture(scope="session")
def hang() -> ModuleType:
    return module_from(SCRIPTS / "hang.py")


@pytest.fixture(scope="session")
def bench() -> ModuleType:
    return module_from(SCRIPTS / "collective_bench.py")


@pytest.fixture(scope="session")
def alone() -> Iterator[Team]:
    with Team(1, backend="gloo") as team:
        yield team


@pytest.fixture(scope="session")
def pair() -> Iterator[Team]:
    with Team(2, backend="gloo", settings={"TORCH_FR_BUFFER_SIZE": "200"}) as team:
        yield team


@pytest.fixture(scope="session")
def three() -> Iterator[Team]:
    with Team(3, backend="gloo", settings={"TORCH_FR_BUFFER_SIZE": "200"}) as team:
        yield team


@pytest.fixture
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
