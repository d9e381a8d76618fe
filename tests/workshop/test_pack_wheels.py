"""The wheels of a pack, from small real indexes on this machine's disk: which come from where, for which system, and how it goes on."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit import cli
from labkit.errors import LabkitError
from labkit.machine.facts import Gpu, Machine
from labkit.setup import install
from labkit.workshop.pack import command, contents, sums, wheels
from labkit.workshop.pack.command import Around, Wish
from labkit.workshop.pack.contents import DataSet
from labkit.workshop.pack.wanted import wanted
from tests.setup import conftest as small

HERE = Machine("linux", False, "x86_64", (sys.version_info[0], sys.version_info[1]), (), False, False)
DATA = (DataSet("mnist", "MNIST", True, "a licence", ""),)
PYPROJECT = """\
[project]
name = "rocm-labs"
requires-python = ">=3.10,<3.15"
dependencies = [
    "torch>=2.10,<2.16",
    "torchvision>=0.25,<0.31",
    "lessonware>=1",
    "greedy>=1",
]
"""


def tagged(index: Path, name: str, tag: str) -> None:
    """A wheel for one system in the index, with version 1.0."""
    folder = index / name
    made = small.write_wheel(folder, name, "1.0")
    made.rename(folder / f"{name}-1.0-{tag}.whl")
    links = "".join(f'<a href="{path.name}">{path.name}</a>\n' for path in sorted(folder.glob("*.whl")))
    (folder / "index.html").write_text(f"<!DOCTYPE html><html><body>\n{links}</body></html>\n", encoding="utf-8")


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``default`` has a higher torch than ``cpu``, and packages that only one system needs."""
    folder = tmp_path_factory.mktemp("indexes")
    default = folder / "default"
    small.add_torch(default, "2.14.9", "0.29.9")
    small.add_torch(folder / "cpu", "2.14.1+cpu", "0.29.1+cpu")
    needs = ["console; sys_platform == 'win32'", "terminal; sys_platform != 'win32'", "older; python_version < '3.11'"]
    needs += ["newer; python_version >= '3.13'"]
    small.add(default, "lessonware", "1.0", requires=needs)
    small.add(default, "greedy", "1.5", requires=["torch>=2"])
    small.add(default, "greedy", "2.0", requires=["torch>=2.14.5"])  # would bring the higher torch
    for name in ("console", "terminal", "older"):
        for tag in ("py3-none-win_amd64", "py3-none-manylinux_2_17_x86_64"):
            tagged(default, name, tag)
    small.add(default, "newer", "1.0", requires=["lessonware\nRequires-Python: >=3.13"])
    return folder


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A small course."""
    root = tmp_path / "clone"
    for name in ("labkit/__init__.py", "notebooks/00.ipynb", "tests/test_x.py", "README.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{name}\n", encoding="utf-8")
    (root / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    return root


def site(output: Path, executed: Path | None) -> Path:
    output.mkdir(exist_ok=True)
    (output / "index.html").write_text("<title>site</title>\n", encoding="utf-8")
    return output


def data(target: Path, fetch: bool) -> tuple[DataSet, ...]:
    (target / "mnist").mkdir(parents=True, exist_ok=True)
    (target / "mnist" / "pictures").write_text("0123\n", encoding="utf-8")
    return DATA


@pytest.fixture
def around(clone: Path, indexes: Path, tmp_path: Path) -> Around:
    environ = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "LABKIT_"))},
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": (indexes / "default").as_uri(),
        "PIP_CACHE_DIR": str(tmp_path / "cache"),
    }
    return Around(root=clone, environ=environ, machine=lambda: HERE, site=site, data=data)


def names(folder: Path) -> set[str]:
    return {path.name.split("-")[0] for path in (folder / "wheels").glob("*.whl")}


@pytest.fixture
def wish(tmp_path: Path, indexes: Path) -> Wish:
    return Wish(tmp_path / "Stick für 7" / "pack", index=(indexes / "cpu").as_uri())


def test_torch_comes_from_its_index_alone_and_the_rest_keeps_it(wish: Wish, around: Around, capsys: Any) -> None:
    table = command.make(wish, around)
    (only,) = table.wheels
    assert only.torch == "2.14.1+cpu" and only.build == "cpu" and only.index == "cpu"
    assert names(wish.output) == {"torch", "torchvision", "lessonware", "greedy", "terminal"} | (
        {"older"} if sys.version_info < (3, 11) else {"newer"} if sys.version_info >= (3, 13) else set()
    )
    assert [path.name for path in (wish.output / "wheels").glob("greedy-*")] == ["greedy-1.5-py3-none-any.whl"]
    assert contents.read(wish.output) == table
    assert not sums.problems(wish.output)
    assert {path.name for path in wish.output.iterdir()} == {
        "START_HERE.txt", "start.sh", "start.bat", "check.sh", "check.bat",
        "course", "lessons", "wheels", "site", "pack.json", "SHA256SUMS",
    }  # fmt: skip
    assert (wish.output / "course" / "data" / "mnist" / "pictures").is_file()
    assert not (wish.output / "course" / "tests").exists()
    assert "To download" in capsys.readouterr().out


def test_another_system_gets_what_its_markers_ask_for_and_shared_wheels_stand_once(wish: Wish, around: Around) -> None:
    table = command.make(replace(wish, platforms=["here", "windows"]), around)
    here, windows = table.wheels
    assert {"console"} <= {name.split("-")[0] for name, _ in windows.files}
    assert not {"terminal"} & {name.split("-")[0] for name, _ in windows.files}
    assert "console-1.0-py3-none-win_amd64.whl" in dict(windows.files)
    assert "console" not in {name.split("-")[0] for name, _ in here.files}
    shared = set(here.files) & set(windows.files)
    assert ("lessonware-1.0-py3-none-any.whl" in dict(shared)) and len(
        list((wish.output / "wheels").glob("lessonware-*"))
    ) == 1
    assert table.pythons == (".".join(map(str, HERE.python)),)


def test_another_python_gets_what_its_markers_ask_for(wish: Wish, around: Around) -> None:
    table = command.make(replace(wish, platforms=["linux"], pythons=["3.10", "3.13"]), around)
    old, new = table.wheels
    assert "older" in {name.split("-")[0] for name, _ in old.files}
    assert "older" not in {name.split("-")[0] for name, _ in new.files}
    assert [table.wheels.index(item) for item in table.wheels if "newer-1.0-py3-none-any.whl" in dict(item.files)] == [
        1
    ]


def test_what_is_finished_is_not_downloaded_again(wish: Wish, around: Around, monkeypatch: Any) -> None:
    first = command.make(wish, around)

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("pip was started")

    monkeypatch.setattr(install, "run_pip", never)
    (around.root / "README.md").write_text("changed\n", encoding="utf-8")
    again = command.make(wish, around)
    assert again.wheels == first.wheels
    assert (wish.output / "course" / "README.md").read_text(encoding="utf-8") == "changed\n"
    assert not sums.problems(wish.output)
    (wish.output / "wheels" / first.wheels[0].files[0][0]).write_bytes(b"half")
    with pytest.raises(AssertionError, match="pip was started"):
        command.make(wish, around)


def test_an_interrupted_pack_goes_on(wish: Wish, around: Around, indexes: Path, tmp_path: Path, capsys: Any) -> None:
    partly = tmp_path / "partly"
    shutil.copytree(indexes / "default", partly)
    (partly / "terminal").rename(tmp_path / "terminal")
    broken = replace(around, environ={**around.environ, "PIP_INDEX_URL": partly.as_uri()})
    with pytest.raises(LabkitError, match=r"For linux x86_64, Python .*terminal"):
        command.make(wish, broken)
    with pytest.raises(LabkitError, match="no finished pack"):
        contents.read(wish.output)
    assert list((wish.output / ".making").rglob("torch-2.14.1+cpu*.whl"))
    (tmp_path / "terminal").rename(partly / "terminal")
    said: list[str] = []
    run = install.run_pip

    def listened(*arguments: Any, **named: Any) -> install.Outcome:
        outcome = run(*arguments, **named)
        said.append(outcome.text)
        return outcome

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(install, "run_pip", listened)
        command.make(wish, broken)
    assert any("already downloaded" in text and "torch-2.14.1+cpu" in text for text in said)
    assert not (wish.output / ".making").exists() and not sums.problems(wish.output)


def test_an_index_that_does_not_answer_leads_to_the_fallback(around: Around, indexes: Path, tmp_path: Path) -> None:
    (item,) = wanted([], [], HERE)
    later = item.plan.fallback
    assert later is not None and later.index_url is None
    unreachable = replace(item, plan=replace(item.plan, index_url="http://127.0.0.1:9/cpu"))
    place = wheels.Workplace(tmp_path / "making", tmp_path / "wheels", around.environ, ("torch>=2.10", "lessonware>=1"))
    found = wheels.collect(unreachable, place)
    assert found.torch == "2.14.9" and found.index == "default" and found.build == "default"
    assert wheels.is_there(found, place.wheels)
    hopeless = replace(unreachable, plan=replace(unreachable.plan, fallback=None))
    with pytest.raises(LabkitError, match=r"http://127.0.0.1:9/cpu could not be reached"):
        wheels.collect(hopeless, place)


def test_what_pip_could_not_use_later_is_no_pack(wish: Wish, around: Around, monkeypatch: Any) -> None:
    """The proof without a network: a set from which a wheel was lost is refused."""
    run = install.run_pip

    def losing(python: Any, arguments: Any, **named: Any) -> install.Outcome:
        if "--dry-run" in arguments:
            folder = Path(arguments[arguments.index("--find-links") + 1])
            for path in folder.glob("terminal-*"):
                path.unlink()
        return run(python, arguments, **named)

    monkeypatch.setattr(install, "run_pip", losing)
    with pytest.raises(LabkitError, match="terminal"):
        command.make(wish, around)


def test_no_room_is_said_before_anything_is_written(wish: Wish, around: Around) -> None:
    full = replace(around, disk_usage=lambda _: install.Usage(10, 9, 1))
    with pytest.raises(LabkitError, match="Not enough room"):
        command.make(wish, full)
    assert not wish.output.exists()


def test_sizes_are_told_and_nothing_is_done(wish: Wish, around: Around, capsys: Any) -> None:
    command.make(replace(wish, plan_only=True, index=None, platforms=["linux:nvidia", "windows:gfx1201"]), around)
    said = " ".join(capsys.readouterr().out.split())
    assert "about 3.0 GB" in said and "about 2.1 GB" in said and "5.9 GB" in said
    assert not wish.output.exists()


@pytest.mark.parametrize("where", ["the clone", "a folder of it", "something else", "a file"])
def test_a_folder_that_is_no_place_for_a_pack(where: str, clone: Path, tmp_path: Path) -> None:
    folder = {"the clone": clone, "a folder of it": clone / "notebooks" / "p", "a file": clone / "README.md"}.get(where)
    if folder is None:
        folder = tmp_path / "photos"
        folder.mkdir()
        (folder / "cat.png").write_bytes(b"")
    with pytest.raises(LabkitError):
        command.check_output(folder, clone if where != "a file" else tmp_path / "other")


@pytest.mark.parametrize("content", ['{"pack": {"pack_format": 4}}', "[]", "[" * 100_000, "\x00"], ids=range(4))
def test_another_program_s_pack_json_does_not_make_a_folder_ours(around: Around, tmp_path: Path, content: str) -> None:
    own = tmp_path / "own"
    for name in ("course/thesis.txt", "lessons/mine.ipynb", "wheels/car.jpg"):
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).write_text("years", encoding="utf-8")
    (own / "pack.json").write_text(content, encoding="utf-8")
    with pytest.raises(LabkitError, match="something else in it"):
        command.make(Wish(own, without=("wheels",)), around)
    assert (own / "course/thesis.txt").is_file() and (own / "lessons/mine.ipynb").is_file()
    assert (own / "wheels/car.jpg").is_file()


@pytest.mark.parametrize("name", ["00.ipynb", "00.mine-2026-11-30-1200.ipynb"])
def test_a_pack_in_which_somebody_worked_is_not_made_anew(around: Around, tmp_path: Path, name: str) -> None:
    wish = Wish(tmp_path / "pack", without=("wheels",))
    command.make(wish, around)
    command.make(wish, around)  # untouched: made anew
    (wish.output / "course/notebooks" / name).write_text("work", encoding="utf-8")
    with pytest.raises(LabkitError, match=f"course/notebooks/{name} is not as it was published"):
        command.make(wish, around)
    assert (wish.output / "course/notebooks" / name).read_text(encoding="utf-8") == "work"


def test_two_at_once_do_not_make_one_pack(around: Around, tmp_path: Path) -> None:
    output = tmp_path / "pack"
    output.mkdir()
    with command._alone(output):
        (output / command.MAKING).mkdir()
        with pytest.raises(LabkitError, match="Another call makes a pack"):
            command.make(Wish(output, without=("wheels",)), around)
    command.make(Wish(output, without=("wheels",)), around)
    assert sums.problems(output) == [] and not (output / sums.LOCK).exists()


def test_a_disk_that_fills_up_midway_is_a_sentence_and_the_next_call_goes_on(around: Around, tmp_path: Path) -> None:
    def full(output: Path, executed: Path | None) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device", "x")

    wish = Wish(tmp_path / "pack", without=("wheels",))
    with pytest.raises(LabkitError, match="cannot be written: No space left on device"):
        command.make(wish, replace(around, site=full))
    command.make(wish, around)
    assert sums.problems(wish.output) == []


def test_a_folder_in_build_is_one(clone: Path) -> None:
    command.check_output(clone / "build" / "pack", clone)


def test_a_personal_folder_in_the_pack_is_named(wish: Wish, around: Around, capsys: Any) -> None:
    (around.root / "README.md").write_text("see /home/me/secret\n", encoding="utf-8")
    told = replace(around, environ={**around.environ, "HOME": "/home/me"})
    command.make(wish, told)
    assert "course/README.md names the folder /home/me" in capsys.readouterr().out


# -- which machines ----------------------------------------------------------------------------------------------------


def test_the_same_wheels_for_several_targets_are_one_set() -> None:
    found = wanted(["linux:gfx1100", "linux:gfx90a", "linux"], ["3.11, 3.12"], HERE)
    assert [item.python for item in found] == ["3.11", "3.12", "3.11", "3.12"]
    rocm = found[0]
    assert rocm.plan.index_url is not None and rocm.plan.index_url.endswith("rocm7.2")
    assert rocm.plan.gfx == ("gfx1100", "gfx90a")
    assert found[2].plan.build == "cpu"


def test_every_system_gets_the_build_that_set_up_would_choose() -> None:
    found = {
        item.words: item for item in wanted(["windows:gfx1201", "wsl:gfx1100", "macos", "windows"], ["3.12"], HERE)
    }
    assert "torch[device-gfx1201]" in found["windows x86_64, Python 3.12, gfx1201"].plan.requirements[0]
    assert "torch[device-gfx1100]" in found["wsl x86_64, Python 3.12, gfx1100"].plan.requirements[0]
    assert found["macos arm64, Python 3.12"].plan.index_url is None
    assert all(item.foreign for item in found.values())


@pytest.mark.parametrize(
    ("platforms", "pythons"), [(["beos"], []), (["linux:rx7900"], []), ([], ["3.9"]), ([], ["3.15"]), ([], ["three"])]
)
def test_a_wish_that_is_none_is_refused(platforms: list[str], pythons: list[str]) -> None:
    with pytest.raises(LabkitError):
        wanted(platforms, pythons, HERE)


def test_here_is_this_machine_and_not_foreign() -> None:
    gpu = Gpu("gfx1100", None, False, "test")
    (item,) = wanted([], [], replace(HERE, gpus=(gpu,)))
    assert not item.foreign and item.plan.build == "rocm"
    (other,) = wanted([], ["3.14" if HERE.python != (3, 14) else "3.13"], HERE)
    assert other.foreign


def test_a_path_beside_the_clone_may_be_written_with_dots(tmp_path: Path, monkeypatch: Any) -> None:
    """As the teacher's page has it: -o ../rocm-labs-pack, called in the clone."""
    monkeypatch.chdir(command.ROOT)
    found: list[Wish] = []
    monkeypatch.setattr(command, "make", found.append)
    options = cli._parser().parse_args(["workshop", "pack", "-o", "../rocm-labs-pack", "--plan"])
    assert command.main(options) == 0
    assert found[0].output == command.ROOT.parent / "rocm-labs-pack" and found[0].plan_only
    command.check_output(found[0].output, command.ROOT)
