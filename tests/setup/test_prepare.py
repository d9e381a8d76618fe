"""What set-up decides from what is there and what is wanted; nothing is installed here."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from labkit import setup
from labkit.errors import LabkitError
from labkit.machine.facts import Gpu, Machine
from labkit.setup import environment, install, prepare
from labkit.setup.environment import Environment
from labkit.setup.prepare import Inventory, Wish

NOTHING = Machine("linux", False, "x86_64", (3, 12), (), False, False)
RADEON = replace(NOTHING, gpus=(Gpu("gfx1100", "Radeon RX 7900 XTX", False, "kfd"),))
NEEDED = ("torch>=2.10,<2.16", "torchvision>=0.25,<0.31", "numpy")
FULL = Inventory(
    (3, 12, 1), Path("/site"), True, {"torch": "2.14.1+cpu", "torchvision": "0.29.1+cpu", "numpy": "2"}, (), ()
)


@pytest.fixture
def place(tmp_path):
    own = Environment(tmp_path / ".venv", tmp_path)
    environment.mark(own)
    (own.path / "bin").mkdir()
    return own


def record_of(machine: Machine, choice: str = "auto", index: str | None = None) -> dict:
    return {
        "choice": choice,
        "index": index,
        "gfx": [],
        "version": "2.14.1+cpu",
        "planned": prepare._essence(prepare.plan(machine, choice, index)),
        "used": prepare._essence(prepare.plan(machine, choice, index)),
    }


def decide(place, inventory=FULL, machine=NOTHING, record=None, **wish):
    return prepare.decide(
        place, Wish("course", **wish), inventory, NEEDED, record_of(NOTHING) if record is None else record, machine
    )


def test_nothing_missing_nothing_done(place):
    work = decide(place)
    assert not work.installs and not work.remake


def test_a_new_environment_gets_everything(place):
    work = decide(place, None)
    assert (
        work.family == ("torch", "torchvision") and work.rest and work.torch is not None and work.torch.build == "cpu"
    )
    assert work.remake  # there is a half-made one


def test_a_gpu_that_was_added_changes_the_build(place):
    work = decide(place, machine=RADEON)
    assert work.torch is not None and work.torch.build == "rocm" and "now the ROCm build from" in work.remake


def test_a_gpu_that_is_away_does_not_take_its_build_along(place):
    """A home folder shared between a login node without a GPU and nodes with one."""
    work = decide(place, record=record_of(RADEON))
    assert not work.installs and not work.remake and "stays" in work.notes[0]
    assert decide(place, record=record_of(RADEON), choice="cpu").remake  # asked for, it is changed


def test_a_choice_made_once_holds(place):
    record = record_of(NOTHING, "rocm7.2")
    assert decide(place, record=record).choice == "rocm7.2" and not decide(place, record=record).installs
    assert decide(place, record=record, choice="auto").remake or decide(place, record=record, choice="auto").notes
    index = record_of(NOTHING, index="https://mirror.example/cpu")
    assert (
        decide(place, record=index).index == "https://mirror.example/cpu" and not decide(place, record=index).installs
    )


def test_a_missing_torchvision_comes_from_where_torch_came_from(place):
    inventory = replace(FULL, versions={"torch": "2.14.1", "numpy": "2"}, missing=("torchvision>=0.25,<0.31",))
    record = record_of(NOTHING)
    assert decide(place, inventory, record=record).torch.index_url == record["planned"]["index_url"]
    record["used"]["index_url"] = None  # the fallback had been taken
    work = decide(place, inventory, record=record)
    assert work.family == ("torchvision",) and work.torch.index_url is None and not work.rest


def test_without_a_record_torch_is_not_trusted(place):
    assert decide(place, record={}).family == ("torch", "torchvision")


def test_what_cannot_be_judged_is_left_to_pip(place):
    assert decide(place, replace(FULL, missing=None)).rest
    assert decide(place, replace(FULL, half=(Path("/site/numpy-2.dist-info"),))).rest


def test_somebody_elses_torch_is_kept_even_when_it_is_old(tmp_path):
    place = Environment(tmp_path / "env", tmp_path, chosen=True)
    (place.path / "bin").mkdir(parents=True)
    old = replace(FULL, versions={**FULL.versions, "torch": "2.9.0a0+git1"}, missing=("torch>=2.10,<2.16",))
    work = decide(place, old, machine=RADEON, record={})
    assert not work.installs and not work.remake and "The lessons were made for torch>=2.10" in work.notes[0]
    lacking = replace(FULL, versions={"torch": "2.12.0+rocm7.2", "numpy": "2"})
    assert decide(place, lacking, record={}).torch.index_url == "https://download.pytorch.org/whl/rocm7.2"


def test_pythons_outside_the_range():
    for fine in ((3, 10), (3, 14)):
        prepare.check_python(fine)
    with pytest.raises(LabkitError, match="too old") as old:
        prepare.check_python((3, 9), lambda name: name == "python3.12")
    assert old.value.remedy.endswith("python3.12 -m labkit start")
    with pytest.raises(LabkitError, match=r"Python 3\.15, newer"):
        prepare.check_python((3, 15), lambda name: None)


@pytest.mark.parametrize(
    ("release", "package"),
    [
        ("ID=ubuntu\nID_LIKE=debian\n", "python3.12-venv"),
        ("ID=debian\n", "sudo apt install python3-venv"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "sudo dnf install python3.12"),
        ('ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', "zypper install python312"),
        ("ID=arch\n", "pacman"),
        ("", "python.org"),
    ],
)
def test_a_missing_venv_module_names_the_package(release, package):
    with pytest.raises(LabkitError, match="no venv module"):
        prepare.check_venv(lambda name: None if name == "ensurepip" else object(), release)
    assert package in prepare.venv_package(release, (3, 12))


def test_rocm_bootstrap_has_the_last_word(place, monkeypatch):
    calls = []
    work = decide(place, None)
    monkeypatch.setattr(prepare, "_run", lambda *args, **kwargs: '["gfx1036", "gfx1100"]')
    monkeypatch.setattr(prepare, "say", lambda text: None)
    needed = (*NEEDED, "rocm-bootstrap>=0.3,<1")
    found = prepare._ask_authority(place, Wish("course"), work, needed, lambda arguments, only: calls.append(arguments))
    assert "rocm-bootstrap>=0.3,<1" in calls[0] and "--no-deps" in calls[0]
    assert found.torch.build == "rocm" and found.torch.gfx == ("gfx1100",)  # the discrete one decides
    monkeypatch.setattr(prepare, "_run", lambda *args, **kwargs: None)  # it could not be had
    assert prepare._ask_authority(place, Wish("course"), work, needed, lambda arguments, only: None) is work


def test_no_room_on_the_disk_stops_before_anything_is_made(tmp_path, monkeypatch):
    root = Path(__file__).resolve().parents[2]
    place = Environment(tmp_path / "env", root, chosen=True)
    monkeypatch.setattr(prepare, "collect", lambda: NOTHING)
    monkeypatch.setattr(prepare, "say", lambda text: None)
    with pytest.raises(LabkitError, match="Not enough room"):
        prepare.prepare(place, Wish("course", "cpu"), disk_usage=lambda path: install.Usage(0, 0, 10**8))
    assert place.is_new


def test_a_link_into_another_python_counts_as_no_environment(place, monkeypatch):
    python = environment.interpreter(place.path, os.name)
    python.parent.mkdir(exist_ok=True)
    python.symlink_to(sys.executable) if os.name != "nt" else python.write_text("", encoding="utf-8")
    assert prepare.look(place, ()) is None  # no pyvenv.cfg: it is the Python that the link leads to


# -- the stamp ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def stamped(place, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = [\n "numpy",\n]\n', encoding="utf-8")
    python = environment.interpreter(place.path, os.name)
    python.parent.mkdir(exist_ok=True)
    python.write_text("", encoding="utf-8")
    site = tmp_path / "site"
    (site / "torch").mkdir(parents=True)
    stamp = {
        "schema": setup.SCHEMA,
        "path": str(place.path),
        "python": list(sys.version_info[:3]),
        "choice": "auto",
        "index": None,
        "requirements": {"course": ["numpy"]},
        "hardware": ["other", environment.hardware_fingerprint()],
        "watched": environment.watched(site),
    }
    environment.write_stamp(place, stamp)
    return SimpleNamespace(place=place, stamp=stamp, site=site, root=tmp_path)


def is_ready(stamped, needs="course", choice=None, environ=(), inside=False):
    return setup.is_ready(stamped.place, needs, choice, dict(environ), inside=inside)


def test_a_stamp_that_fits(stamped):
    assert is_ready(stamped) and is_ready(stamped, inside=True) and is_ready(stamped, choice="auto")


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 0},
        {"path": "/elsewhere"},
        {"requirements": {"course": ["numpy>=2"]}},
        {"hardware": ["other"]},
        {"watched": {}},
        {"watched": {"/nowhere": 5}},
    ],
)
def test_a_stamp_that_does_not_fit_any_more(stamped, change):
    environment.write_stamp(stamped.place, {**stamped.stamp, **change})
    assert not is_ready(stamped)


def test_other_wishes_than_the_stamp_has(stamped):
    assert not is_ready(stamped, needs="test")
    assert not is_ready(stamped, choice="rocm7.2")
    assert not is_ready(stamped, environ={"LABKIT_TORCH_INDEX": "https://x.example"}.items())
    environment.write_stamp(stamped.place, {**stamped.stamp, "python": [3, 1]})
    assert is_ready(stamped) and not is_ready(stamped, inside=True)  # inside, the version is known


def test_a_package_installed_by_hand_is_noticed(stamped):
    (stamped.site / "new.py").write_text("", encoding="utf-8")
    os.utime(stamped.site, ns=(7, 7))
    assert not is_ready(stamped)


def test_an_interpreter_that_is_gone(stamped):
    environment.interpreter(stamped.place.path, os.name).unlink()
    assert not is_ready(stamped)


def test_a_wish_that_the_torch_already_fulfils_is_remembered(stamped):
    environment.write_json(stamped.place.path / prepare.RECORD, record_of(NOTHING))
    work = decide(stamped.place, choice="cpu")
    assert not work.installs and not work.remake
    needed = prepare.requirements.read(stamped.root / "pyproject.toml")
    prepare._remember(
        stamped.place, Wish("course", "cpu"), work, replace(FULL, site=stamped.site), needed, prepare.Verdict(True), {}
    )
    assert prepare.read_record(stamped.place)["choice"] == "cpu"
    assert is_ready(stamped) and is_ready(stamped, choice="cpu") and not is_ready(stamped, choice="auto")
