"""The reader of pyproject.toml against a real TOML reader, and its parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.errors import LabkitError
from labkit.setup import requirements

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def test_it_reads_what_a_toml_reader_reads():
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    found = requirements.read(PYPROJECT)
    assert list(found.dependencies) == project["dependencies"]
    assert {name: list(items) for name, items in found.extras.items()} == project["optional-dependencies"]
    assert found.requires_python == project["requires-python"]
    assert found.of("course") == found.dependencies and found.of("site") == found.dependencies + found.extras["site"]


def test_an_extra_that_names_extras_stands_for_their_requirements():
    """pip would look for ``rocm-labs`` in its index, where it is somebody else's to register."""
    found = requirements.read(PYPROJECT)
    everything = found.of("test")
    assert not [one for one in everything if requirements.name(one) == found.project == "rocm-labs"]
    own = [one for one in found.extras["test"] if not one.startswith("rocm-labs[")]
    for one in (*found.dependencies, *found.extras["site"], *found.extras["hub"], *own):
        assert one in everything
    assert len(everything) == len(set(everything))


def test_brackets_and_hashes_inside_strings_and_comments(tmp_path):
    path = tmp_path / "pyproject.toml"
    path.write_text(
        '[project]\ndependencies = [\n  "torch[device-gfx1100]>=2",  # not ] the end\n  "a @ file:///x#y",\n]\n'
        '[project.optional-dependencies]\ntest = ["b"]\n[tool.x]\ndependencies = ["c"]\n',
        encoding="utf-8",
    )
    found = requirements.read(path)
    assert found.dependencies == ("torch[device-gfx1100]>=2", "a @ file:///x#y")
    assert found.extras == {"test": ("b",)}


def test_names():
    assert requirements.name("Torch[device-gfx1100]>=2") == "torch"
    assert requirements.name("rocm_bootstrap>=0.3") == "rocm-bootstrap"
    assert requirements.without_torch(("torch>=2", "torchvision", "torchmetrics", "numpy")) == ("torchmetrics", "numpy")


def test_a_missing_or_empty_file_is_a_sentence(tmp_path):
    with pytest.raises(LabkitError, match="cannot be read"):
        requirements.read(tmp_path / "pyproject.toml")
    (tmp_path / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    with pytest.raises(LabkitError, match="names no dependencies"):
        requirements.read(tmp_path / "pyproject.toml")
