"""``labkit workshop pack``: everything for a room without network, in one folder."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from labkit.course.files import write_text
from labkit.errors import LabkitError
from labkit.importable import ROOT
from labkit.machine.facts import Machine
from labkit.setup import environment, install, prepare, requirements, words
from labkit.workshop.pack import contents, course, scripts, sums, wheels
from labkit.workshop.pack.contents import Contents, DataSet, WheelSet
from labkit.workshop.pack.wanted import Wanted, wanted

MAKING = ".making"  # holds what is unfinished; a folder with it goes on where it stopped
OTHER_BYTES = 400_000_000  # data sets, site and course, at most: CIFAR-10 takes 180 MB, the site tens of MB
say = words.say


@dataclass(frozen=True)
class Wish:
    """What the command line asks for. ``without`` names parts that are left out: wheels, data, site."""

    output: Path
    platforms: Sequence[str] = ()
    pythons: Sequence[str] = ()
    torch: str = "auto"
    index: str | None = None
    without: Sequence[str] = ()
    executed: Path | None = None  # for the site: what `labkit run -o` left there
    fetch: bool = True
    plan_only: bool = False


def _site(output: Path, executed: Path | None) -> Path:
    from labkit.site import command

    return command.build(output, executed)


def _data(target: Path, fetch: bool) -> tuple[DataSet, ...]:
    from labkit.workshop.pack import datasets

    return datasets.collect(target, fetch)


@dataclass(frozen=True)
class Around:
    """What a pack is made from; tests put something smaller in its place."""

    root: Path = ROOT
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    machine: Callable[[], Machine] = prepare.collect
    site: Callable[[Path, Path | None], Path] = _site
    data: Callable[[Path, bool], tuple[DataSet, ...]] = _data
    disk_usage: install.DiskUsage = shutil.disk_usage


def main(options: argparse.Namespace) -> int:
    """Makes a pack, or verifies one; returns the exit status. Raises LabkitError."""
    if options.verify:
        return verify(Path(options.verify))
    if not options.output:
        raise LabkitError("There is no folder to make the pack in.", "Give one: workshop pack -o DIR.")
    make(
        Wish(
            Path(options.output).expanduser().resolve(),
            options.platforms,
            options.pythons,
            options.packed_torch,
            os.environ.get("LABKIT_TORCH_INDEX", "").strip() or None,
            options.without,
            Path(options.executed) if options.executed else None,
            not options.no_fetch,
            options.plan_only,
        )
    )
    return 0


def verify(folder: Path) -> int:
    """Reads every file of a pack and names the damaged ones; 0 where it is whole."""
    found = sums.problems(folder, say)
    for sentence in found:
        say(sentence)
    say(
        f"The pack is whole: all checksums agree ({folder})."
        if not found
        else "Copy the pack, or these files, once more."
    )
    return 1 if found else 0


def make(wish: Wish, around: Around | None = None) -> Contents:
    """Makes the pack, or goes on with one that was interrupted. Raises LabkitError with what stands in the way."""
    around = around or Around()
    check_output(wish.output, around.root)
    dependencies = requirements.read(around.root / "pyproject.toml").of("course")
    here = around.machine()
    asked = wanted(wish.platforms, wish.pythons, here, wish.torch, wish.index) if "wheels" not in wish.without else []
    announce(wish, asked, dependencies, around)
    if wish.plan_only:
        return Contents("", "", (), (), False)
    making = wish.output / MAKING
    try:
        making.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabkitError(f"{making} cannot be made ({error.strerror}).", "Choose another folder with -o.") from error
    try:
        with _alone(wish.output):
            return _make(wish, asked, dependencies, around, making)
    except OSError as error:
        raise LabkitError(
            f"The pack cannot be written: {error.strerror or error} ({wish.output}).",
            "See that the disk has room and is yours to write to, then call it again: it goes on where it stopped.",
        ) from error


@contextlib.contextmanager
def _alone(output: Path) -> Iterator[None]:
    """Holds the folder for one process; raises LabkitError where another makes a pack there."""
    lock = output / sums.LOCK
    with lock.open("a", encoding="utf-8") as file:
        if not environment.try_lock(file):
            raise LabkitError(f"Another call makes a pack in {output} just now.", "Wait until it has ended.")
        yield
    with contextlib.suppress(OSError):
        lock.unlink()


def _make(wish: Wish, asked: Sequence[Wanted], dependencies: tuple[str, ...], around: Around, making: Path) -> Contents:
    done = _wheels(wish, asked, dependencies, around, making)
    say("The course, as git knows it, without its tests ...")
    course.copy(around.root, wish.output / contents.COURSE)
    course.publish(wish.output / contents.COURSE, wish.output / contents.LESSONS)
    data: tuple[DataSet, ...] = ()
    if "data" not in wish.without:
        say("Data sets ...")
        data = around.data(wish.output / contents.COURSE / "data", wish.fetch)
        for item in data:
            say(f"  {item.title}: {item.licence if item.present else 'not in the pack. ' + item.note}")
    if "site" not in wish.without:
        say("The site: lessons that changed are executed first ..." if wish.executed is None else "The site ...")
        around.site(wish.output / contents.SITE, wish.executed)
    else:
        shutil.rmtree(wish.output / contents.SITE, ignore_errors=True)
    table = Contents(_today(), course.commit(around.root), done, data, "site" not in wish.without)
    _finish(wish.output, table, around)
    return table


def announce(wish: Wish, asked: Sequence[Wanted], dependencies: Sequence[str], around: Around) -> None:
    """What the pack will hold, how much is to download, and whether there is room."""
    say(f"A pack for a room without network: {wish.output}")
    there = [item for item in _known(wish.output) if wheels.is_there(item, wish.output / contents.WHEELS)]
    keys = {item.asked for item in there}
    open_ = [item for item in asked if wheels.asked(item, dependencies) not in keys]
    total, lines = wheels.sizes(open_)
    for item in asked:
        if item not in open_:
            say(f"  {item.words}: its wheels are there already")
    for line in lines:
        say(words.because([line], "  "))
    if open_:
        unknown = sum(item.plan.download_bytes is None for item in open_)
        more = f", and {unknown} PyTorch whose size is not established" if unknown else ""
        say(words.because([f"To download: up to {words.size(total)}{more}."], "  "))
    try:
        free = install.check_room(wish.output, wheels.room(open_) + OTHER_BYTES, around.disk_usage)
    except LabkitError as error:  # set-up's remedy is about its environment
        raise LabkitError(error.problem, "Free some space, or choose a folder on another disk with -o.") from None
    say(f"  Free on that disk: {words.size(free)}")


def check_output(folder: Path, root: Path) -> None:
    """Raises LabkitError for a folder that holds something else, or that lies where the pack would copy itself."""
    if folder == root or (root in folder.parents and folder.relative_to(root).parts[0] not in ("build", ".venv")):
        raise LabkitError(
            f"{folder} lies inside the course itself.", "Choose a folder outside of the clone, or one in build/."
        )
    if folder.exists() and not folder.is_dir():
        raise LabkitError(f"{folder} is a file.", "Choose another folder with -o.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MAKING).is_dir() and not contents.is_pack(folder):
        raise LabkitError(f"{folder} has something else in it.", "Choose a new or an empty folder with -o.")
    worked = _worked_in(folder)
    if worked:
        raise LabkitError(
            f"Somebody worked in {folder}: {worked} is not as it was published, and a new pack would replace it.",
            "Make the pack in another folder, or move that notebook away first.",
        )


def _worked_in(folder: Path) -> str:
    """A notebook of a finished pack that differs from the published one, or that was added; "" where there is none."""
    if (folder / MAKING).is_dir():  # unfinished: nobody works in it, and its parts may be of two versions
        return ""
    for path in sorted((folder / contents.COURSE / "notebooks").glob("*.ipynb")):
        published = folder / contents.LESSONS / path.name
        try:
            if path.read_bytes() != published.read_bytes():
                return path.relative_to(folder).as_posix()
        except OSError:
            return path.relative_to(folder).as_posix()
    return ""


def _known(output: Path) -> tuple[WheelSet, ...]:
    """The sets of wheels that an earlier call completed, of this pack or of an unfinished one."""
    found: list[WheelSet] = []
    for folder in (output / MAKING, output):
        if (folder / contents.FILE).is_file():
            try:
                found += contents.read(folder).wheels
            except LabkitError:
                continue
    return tuple(found)


def _wheels(
    wish: Wish, asked: Sequence[Wanted], dependencies: tuple[str, ...], around: Around, making: Path
) -> tuple[WheelSet, ...]:
    folder = wish.output / contents.WHEELS
    place = wheels.Workplace(making, folder, around.environ, dependencies, around.disk_usage)
    known = {item.asked: item for item in _known(wish.output) if wheels.is_there(item, folder)}
    done: list[WheelSet] = []
    for number, item in enumerate(asked, 1):
        found = known.get(wheels.asked(item, dependencies))
        if found is None:
            say(f"Wheels for {item.words}")
            found = wheels.collect(item, place, f"[{number}/{len(asked)}] " if len(asked) > 1 else "")
            kept = [*known.values(), *done, found]
            write_text(making / contents.FILE, Contents(_today(), "", tuple(kept), (), False).as_json())
        done.append(found)
    needed = {name for item in done for name, _ in item.files}
    for path in folder.glob("*") if folder.is_dir() else ():
        if path.name not in needed:
            path.unlink()
    return tuple(done)


def _finish(output: Path, table: Contents, around: Around) -> None:
    scripts.write(output, table)
    shutil.rmtree(output / MAKING)
    write_text(output / contents.FILE, table.as_json())
    named = personal(output, around.environ, around.root)
    for sentence in named:
        say(f"  Attention: {sentence}")
    say("Checksums ...")
    count = sums.write(output)
    size = install.folder_bytes(output)
    say(f"Finished: {output}, {count} files, {words.size(size)}. START_HERE.txt in it is what learners read first.")
    say(
        f"After copying it to a stick: {words.labkit('workshop', 'pack', '--verify', 'DIR')} reads every file of the copy."
    )


def personal(output: Path, environ: Mapping[str, str], root: Path = ROOT) -> list[str]:
    """Sentences about text files of the pack that name a folder of whoever makes it."""
    homes = {str(Path.home()), environ.get("HOME", ""), str(root), sys.prefix, str(output)}
    names = [f"{name}{end}".encode() for name in homes if len(name) > 3 for end in ("/", "\\")]
    found = []
    for path in sums.files(output):
        if path.suffix in (".whl", ".gz", ".bin", ".png", ".woff2") or path.parent.name == contents.WHEELS:
            continue
        content = path.read_bytes()
        hit = next((name for name in names if name in content), None)
        if hit is not None:
            found.append(f"{path.relative_to(output).as_posix()} names the folder {hit.decode()}.")
    return found


def _today() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%d")
