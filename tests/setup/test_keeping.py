"""Nobody is left with less than there was: what happens to an environment that works when something goes wrong."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit.errors import LabkitError
from labkit.machine.facts import Gpu, Machine
from labkit.setup import environment, install, prepare
from labkit.setup.environment import Environment
from labkit.setup.plan import TorchPlan
from labkit.setup.prepare import Inventory, Wish

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX links, signals or locales")
C_LOCALE = {"LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
DEAD = "http://127.0.0.1:9/rocm7.2"
CPU = Machine("linux", False, "x86_64", (3, 12), (), False, False)
RADEON = replace(CPU, gpus=(Gpu("gfx1100", "Radeon RX 7900 XTX", False, "kfd"),))
NEEDED = ("torch>=2.10,<2.16", "torchvision>=0.25,<0.31", "numpy")
FULL = Inventory((3, 12, 1), Path("/site"), True, {"torch": "2.14.1", "torchvision": "0.29.1", "numpy": "2"}, (), ())


def packages(clone: Any, picture_of: Any) -> Any:
    return picture_of(clone.site)


# -- a successor that cannot be had --------------------------------------------------------------------------------


def test_an_index_that_is_dead_changes_nothing(ready, picture_of):
    before = packages(ready, picture_of)
    for arguments in (("--torch", DEAD), ("--torch", DEAD, "--recreate")):
        result = ready.setup(*arguments, LABKIT_TORCH_INDEX="")
        assert result.returncode == 1 and f"{DEAD} could not be reached. Nothing was changed" in result.stderr
        assert "--torch cpu" in result.stderr and "PIP_INDEX_URL" not in result.stderr
        assert packages(ready, picture_of) == before
    ready_again = ready.setup()
    assert ready_again.stdout.splitlines() == [f"The environment is ready: {ready.env}"] or ready_again.returncode == 0


def test_an_index_without_a_torch_changes_nothing(ready, indexes, picture_of):
    before = packages(ready, picture_of)
    (indexes.folder / "barren" / "torch").mkdir(parents=True, exist_ok=True)
    result = ready.setup("--torch", indexes.url("barren"), LABKIT_TORCH_INDEX="")
    assert result.returncode == 1 and "has no torch for this system and Python. Nothing was changed" in result.stderr
    assert packages(ready, picture_of) == before


@pytest.mark.parametrize("problem", [LabkitError("pip failed."), KeyboardInterrupt(), OSError(28, "full")])
def test_a_successor_that_fails_gives_way_to_what_was_there(ready, picture_of, monkeypatch, problem):
    def fail(*_: Any) -> None:
        (ready.env / "lib").mkdir()
        (ready.env / "lib" / "half").write_text("", encoding="utf-8")
        raise problem

    before = packages(ready, picture_of)
    monkeypatch.setattr(prepare, "_create", fail)
    monkeypatch.setattr(prepare, "_asked", lambda *_: "")
    monkeypatch.setattr(prepare, "collect", lambda: CPU)
    wish = Wish("course", "https://x.example/rocm7.2")
    with pytest.raises(type(problem)):
        prepare.prepare(Environment(ready.env, ready.path), wish, disk_usage=lambda _: install.Usage(0, 0, 10**12))
    assert packages(ready, picture_of) == before and not ready.env.joinpath(environment.BEFORE).exists()
    assert environment.read_stamp(Environment(ready.env, ready.path))


def test_after_a_kill_in_the_middle_the_environment_before_is_back(ready):
    environment.set_aside(Environment(ready.env, ready.path))
    (ready.env / "lib").mkdir()  # what the successor had so far
    result = ready.setup()
    assert result.returncode == 0, result.stderr
    assert "the one before is back" in result.stdout and ready.versions()["torch"] == "2.14.1+cpu"
    assert "[1/" not in result.stdout  # nothing is installed for it


@posix
def test_a_successor_that_works_takes_the_place(ready, indexes):
    """In a bare C locale too, whatever letters the path has."""
    result = ready.setup("--torch", indexes.url("rocm7.2"), LABKIT_TORCH_INDEX="", **C_LOCALE)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "is kept until the new one works" in result.stdout
    assert ready.versions()["torch"] == "2.14.1+rocm7.2" and not list(ready.env.glob("labkit-before*"))
    assert ready.setup(LABKIT_TORCH_INDEX="").stdout.splitlines() == [f"The environment is ready: {ready.env}"]


def test_moving_aside_and_back_leaves_everything(tmp_path, picture_of):
    place = Environment(tmp_path / "env", tmp_path)
    environment.mark(place)
    for name in ("lib/a", "bin/python", environment.STAMP):
        path = place.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("old", encoding="utf-8")
    before = picture_of(place.path)
    environment.set_aside(place)
    assert not (place.path / "lib").exists() and place.made_by_labkit
    (place.path / "lib").mkdir()
    (place.path / "lib" / "b").write_text("new", encoding="utf-8")
    environment.put_back(place)
    assert picture_of(place.path) == before
    environment.set_aside(place)
    environment.let_go(place)
    assert [path.name for path in place.path.iterdir()] == [environment.MARKER]


# -- what is there is what is wanted -------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path) -> Environment:
    own = Environment(tmp_path / ".venv", tmp_path)
    environment.mark(own)
    (own.path / "bin").mkdir()
    return own


def record(machine: Machine, used: TorchPlan | None = None, **more: Any) -> dict[str, Any]:
    planned = prepare.plan(machine)
    essence = prepare._essence
    return {
        "choice": "auto",
        "index": None,
        "gfx": [],
        "planned": essence(planned),
        "used": essence(used or planned),
        **more,
    }


def test_the_fallback_is_not_installed_again_under_its_own_name(place):
    planned = prepare.plan(CPU)
    known = record(CPU, planned.fallback)
    work = prepare.decide(place, Wish("course", "cuda"), FULL, NEEDED, known, CPU)
    assert not work.installs and not work.remake and work.choice == "cuda"


def test_another_address_of_the_same_wheels_is_the_same(place):
    there = replace(FULL, versions={**FULL.versions, "torch": "2.14.1+cpu"})
    wish = Wish("course", "https://mirror.example/whl/cpu")
    assert not prepare.decide(place, wish, there, NEEDED, record(CPU), CPU).remake
    assert prepare.decide(
        place, Wish("course", "https://mirror.example/whl/rocm7.2"), there, NEEDED, record(CPU), CPU
    ).remake


def test_a_shared_home_does_not_ping_pong(place, monkeypatch):
    """Another system chose this torch: it stays here unless it is asked for."""
    elsewhere = record(CPU, here="other", made_on="node7 (Some Linux)")
    work = prepare.decide(place, Wish("course"), FULL, NEEDED, elsewhere, RADEON)
    assert (
        not work.remake
        and not work.installs
        and "node7 (Some Linux)" in work.notes[0]
        and "LABKIT_ENV" in work.notes[0]
    )
    assert prepare.decide(place, Wish("course", "auto"), FULL, NEEDED, elsewhere, RADEON).remake
    assert prepare.decide(place, Wish("course"), FULL, NEEDED, record(CPU, here=environment.here()[0]), RADEON).remake


def test_an_environment_of_another_system_is_not_replaced_unasked(place, monkeypatch):
    environment.write_stamp(place, {"schema": 2})
    monkeypatch.setattr(prepare, "look", lambda *_: None)
    assert prepare._there(place, Wish("course"), NEEDED) is None  # the same system: its Python is gone
    monkeypatch.setattr(environment, "here", lambda: ("another", "node7"))
    with pytest.raises(LabkitError, match="does not run on this one") as problem:
        prepare._there(place, Wish("course"), NEEDED)
    assert "LABKIT_ENV" in problem.value.remedy and "--recreate" in problem.value.remedy
    assert prepare._there(place, Wish("course", recreate=True), NEEDED) is None


def test_a_system_is_known_by_its_own_number_or_by_its_release(tmp_path):
    (tmp_path / "os-release").write_text('ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian 12"\n', encoding="utf-8")
    container = environment.here(tmp_path)
    assert "Debian 12" in container[1]
    (tmp_path / "machine-id").write_text("abc\n", encoding="utf-8")
    machine = environment.here(tmp_path)
    (tmp_path / "os-release").write_text('ID=debian\nVERSION_ID="13"\nPRETTY_NAME="Debian 13"\n', encoding="utf-8")
    assert environment.here(tmp_path)[0] == machine[0] != container[0]  # an upgrade is no other system


# -- our own probe -------------------------------------------------------------------------------------------------


def test_damaged_metadata_is_mended_and_nothing_else_touched(ready):
    (ready.site / "mine.py").write_text("", encoding="utf-8")
    damaged = [next(ready.site.glob(f"{package}-*.dist-info")) / "METADATA" for package in ("torch", "lessonware")]
    for path in damaged:
        path.write_bytes(bytes(range(128, 256)) * 9)
    os.utime(ready.site)
    result = ready.setup()
    assert result.returncode == 0, result.stdout + result.stderr
    assert "anew" not in result.stdout and (ready.site / "mine.py").exists()
    assert all(b"Name: " in path.read_bytes() for path in damaged)


@posix
def test_a_python_that_starts_and_does_not_answer_costs_nothing(ready, picture_of):
    (ready.site / "theirs.pth").write_bytes(b"\xff\xfe\xfa/caf\xe9\n")
    (ready.site / "sitecustomize.py").write_text("import os\nos._exit(3)\n", encoding="utf-8")
    before = packages(ready, picture_of)
    result = ready.setup()
    assert (
        result.returncode == 1
        and "theirs.pth is not readable text" in result.stderr
        and "Traceback" not in result.stderr
    )
    assert packages(ready, picture_of) == before
    (ready.site / "theirs.pth").unlink()
    again = ready.setup()
    assert again.returncode == 1 and "starts, but could not tell what it holds" in again.stderr
    assert "nothing was changed" in again.stderr and (ready.site / "torch").is_dir()


@posix
def test_a_bare_c_locale_and_letters_of_other_scripts(ready, picture_of):
    ready.setup()
    before = packages(ready, picture_of)
    result = ready.setup(**C_LOCALE)
    assert result.returncode == 0, result.stdout + result.stderr
    assert packages(ready, picture_of) == before
    (ready.env / environment.STAMP).unlink()  # looks at everything
    result = ready.setup(**C_LOCALE)
    assert result.returncode == 0 and "anew" not in result.stdout, result.stdout + result.stderr
    assert ready.setup().stdout.splitlines() == [f"The environment is ready: {ready.env}"]


# -- torch damaged in place ----------------------------------------------------------------------------------------


def test_a_torch_that_was_damaged_in_place_is_installed_again(ready):
    ready.setup()
    (ready.site / "torch" / "__init__.py").write_text("def broken(:\n", encoding="utf-8")
    result = ready.setup()
    assert result.returncode == 0, result.stdout + result.stderr
    assert (
        "It is installed again, once." in " ".join(result.stdout.split()) and "[repair] torch, again" in result.stdout
    )
    assert (
        ready.versions()["torch"] == "2.14.1+cpu" and "def tensor" in (ready.site / "torch" / "__init__.py").read_text()
    )


def test_a_torch_that_cannot_be_mended_is_told_of_every_time(ready):
    (ready.site / "torch" / "__init__.py").write_text("def broken(:\n", encoding="utf-8")
    for _ in range(2):
        result = ready.call("start", LABKIT_TORCH_INDEX="http://127.0.0.1:9/cpu")
        assert result.returncode == 1 and "PyTorch does not work: torch does not load: SyntaxError" in result.stderr
        assert "could not be installed again" in result.stderr and not (ready.env / environment.STAMP).exists()
        assert (ready.site / "torch" / "nn.py").exists()


# -- room ----------------------------------------------------------------------------------------------------------


def test_what_is_not_established_is_assumed_and_said():
    unknown = prepare.plan(RADEON)
    assert unknown.installed_bytes is None and install.is_assumed(unknown)
    assert install.bytes_needed(unknown, "course") >= 6_200_000_000 and "assumed" in install.size_in_words(unknown)
    own = prepare.plan(CPU, "https://own.example/simple")
    assert install.bytes_needed(own, "course") >= 6_200_000_000
    assert not install.is_assumed(prepare.plan(CPU))


def test_the_smaller_build_is_proposed_only_where_it_is_a_way_out(tmp_path):
    little = lambda path: install.Usage(0, 0, 1000)  # noqa: E731
    for chosen, proposed in (
        (prepare.plan(RADEON), True),
        (prepare.plan(CPU), False),
        (prepare.plan(CPU).fallback, False),
    ):
        with pytest.raises(LabkitError) as problem:
            install.check_room(tmp_path, 10**9, little, smaller=install.could_be_smaller(chosen))
        assert ("--torch cpu" in problem.value.remedy) == proposed


def test_without_room_for_two_what_is_there_stays_unless_it_is_to_be_made_anew(place):
    (place.path / "lib").write_bytes(b"x" * 3_000_000)
    work = prepare.decide(place, Wish("course"), None, NEEDED, {}, CPU)
    tight = lambda path: install.Usage(0, 0, 4_000_000)  # noqa: E731
    with pytest.raises(LabkitError, match="was not changed") as problem:
        prepare._room_beside(place, Wish("course"), work, 6_000_000, True, tight)
    assert "--recreate" in problem.value.remedy
    assert prepare._room_beside(place, Wish("course", recreate=True), work, 6_000_000, True, tight) == (
        4_000_000,
        False,
    )
    assert prepare._room_beside(place, Wish("course"), work, 1_000_000, True, tight) == (4_000_000, True)


def test_the_first_lines_say_how_much_and_how_long():
    fallback = prepare.plan(CPU).fallback
    assert "3.4 GB to download (at 50 Mbit/s 9 minutes)" in install.how_long(fallback, "course")
    assert "not established" in install.how_long(prepare.plan(RADEON), "course")
