"""environment.yml, binder/ and .devcontainer/ say the same as pyproject.toml."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TORCH_FAMILY = {"torch", "torchvision"}  # labkit adds them, from the index that fits the machine
CONDA_FILES = ["environment.yml", "binder/environment.yml"]
CONTAINERS = [".devcontainer/devcontainer.json", ".devcontainer/rocm/devcontainer.json"]


def conda(name: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def pip_section(name: str) -> list[str]:
    return next(entry["pip"] for entry in conda(name)["dependencies"] if isinstance(entry, dict))


def plain(name: str) -> list[str]:
    return [entry for entry in conda(name)["dependencies"] if isinstance(entry, str)]


def container(name: str) -> dict[str, Any]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return json.loads("\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//")))


def same(requirements: list[str]) -> dict[str, str]:
    return {Requirement(one).name: str(Requirement(one)) for one in requirements}


@pytest.mark.parametrize("name", CONDA_FILES)
def test_the_pip_section_is_pyprojects_list_without_torch(name: str) -> None:
    wanted = same(PROJECT["dependencies"])
    assert wanted.keys() >= TORCH_FAMILY
    assert same(pip_section(name)) == {key: value for key, value in wanted.items() if key not in TORCH_FAMILY}


@pytest.mark.parametrize("name", CONDA_FILES)
def test_conda_itself_gives_only_python_and_pip(name: str) -> None:
    assert [re.match(r"[a-z]+", entry).group() for entry in plain(name)] == ["python", "pip"]  # type: ignore[union-attr]
    assert conda(name)["channels"] == ["conda-forge"]


def test_the_python_versions_agree() -> None:
    supported = SpecifierSet(PROJECT["requires-python"])
    assert SpecifierSet(plain("environment.yml")[0].removeprefix("python")) == supported
    one = plain("binder/environment.yml")[0].removeprefix("python=")
    assert supported.contains(one)
    for name in CONTAINERS:
        assert supported.contains(container(name)["image"].rpartition(":")[2])


def test_environment_yml_says_how_torch_comes_in() -> None:
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    assert 'LABKIT_ENV="$CONDA_PREFIX" python -m labkit start' in text


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_lists_no_packages_and_calls_labkit(name: str) -> None:
    described = container(name)
    assert described["postCreateCommand"] == "python3 -m labkit setup"
    assert "features" not in described and "pip install" not in json.dumps(described)
    interpreter = described["customizations"]["vscode"]["settings"]["python.defaultInterpreterPath"]
    assert interpreter.endswith("/.venv/bin/python")


def test_only_the_gpu_container_asks_for_devices() -> None:
    assert "runArgs" not in container(CONTAINERS[0])
    arguments = container(CONTAINERS[1])["runArgs"]
    assert {"--device=/dev/kfd", "--device=/dev/dri", "--group-add=video"} <= set(arguments)
    without = {key: value for key, value in container(CONTAINERS[1]).items() if key not in ("runArgs", "name")}
    assert without == {key: value for key, value in container(CONTAINERS[0]).items() if key != "name"}


@pytest.mark.skipif(os.name == "nt", reason="Binder runs on Linux")
def test_binders_scripts_use_its_own_environment_and_the_cpu_build(tmp_path: Path) -> None:
    prefix = tmp_path / "a prefix"
    (prefix / "bin").mkdir(parents=True)
    python = prefix / "bin" / "python"
    python.write_text('#!/bin/sh\necho "$LABKIT_ENV|$*" >> "$LABKIT_ENV/calls"\n', encoding="utf-8")
    python.chmod(0o755)
    environment = {"PATH": os.environ["PATH"], "NB_PYTHON_PREFIX": str(prefix)}
    subprocess.run(["bash", str(ROOT / "binder/postBuild")], env=environment, check=True, timeout=60)
    calls = (prefix / "calls").read_text(encoding="utf-8").splitlines()
    assert calls[0] == f"{prefix}|-m labkit setup --torch cpu"

    answer = subprocess.run(
        ["bash", str(ROOT / "binder/start"), "sh", "-c", 'echo "$LABKIT_ENV $1"', "sh", "two words"],
        env={"PATH": os.environ["PATH"], "CONDA_PREFIX": str(prefix)},
        check=True,
        timeout=60,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert answer.stdout == f"{prefix} two words\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such bit")
def test_binders_scripts_can_be_run() -> None:
    for name in ("postBuild", "start"):
        assert os.access(ROOT / "binder" / name, os.X_OK), name
