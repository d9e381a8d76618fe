"""Functions that other processes can find again: by their module's name, or by the file that they stand in."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from zlib import crc32

from labkit.errors import LabkitError

_PREFIX = "labkit_file_"


@dataclass(frozen=True)
class Place:
    """Where a function is: the module's name, its file (empty: the name is enough), and its name within."""

    module: str
    file: str
    name: str


def module_from(path: str | Path) -> ModuleType:
    """The module in the Python file ``path``, loaded once; its functions can be given to ``Team.run``.

    The module's name is made of the file's and does not clash with an installed one. What the file imports from its
    own folder is found. A file that changed is loaded anew. Raises LabkitError where there is no such file; what the
    file raises comes through."""
    file = Path(path).resolve()
    if not file.is_file():
        raise LabkitError(f"There is no file {path}.", "Give the path of a Python file.")
    return load(f"{_PREFIX}{file.stem}_{crc32(str(file).encode()):08x}", file)


def load(name: str, file: Path) -> ModuleType:
    """The module in ``file`` under this name, from memory where the file did not change since."""
    stamp = file.stat().st_mtime_ns
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__labkit_stamp__", None) == stamp:
        return known
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs: dataclasses look their module up
    folder = str(file.parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    module.__dict__["__labkit_stamp__"] = stamp
    return module


def place_of(function: Callable[..., Any]) -> Place:
    """Where another process finds ``function``. Raises LabkitError for one that no other process can find."""
    module = getattr(function, "__module__", "") or ""
    name = getattr(function, "__qualname__", "") or ""
    told = f"'{name or function!r}'"
    if "<lambda>" in name or "<locals>" in name or not name:
        raise LabkitError(
            f"{told} has no name at the top of a file, and another process can only be told a name.",
            "Define it with def, outside of any other function.",
        )
    holder = sys.modules.get(module)
    file = getattr(holder, "__file__", None) or ""
    if module == "__main__" and not Path(file).is_file():
        raise LabkitError(
            f"{told} lives in this notebook, and the other processes cannot see a notebook's cells.",
            "Write it into a file (%%writefile work.py) and pass labkit.comm.module_from('work.py')." + name + ".",
        )
    by_file = module == "__main__" or module.startswith(_PREFIX)
    place = Place(module, str(Path(file).resolve()) if by_file else "", name)
    if holder is None or _within(holder, name) is not function:
        raise LabkitError(
            f"{told} is not what the module '{module}' has under that name.",
            "Pass the function itself, not a wrapped or replaced one.",
        )
    return place


def find(place: Place) -> Callable[..., Any]:
    """The function at ``place``; what importing it raises comes through.

    A script that ran as ``__main__`` is loaded as ``__mp_main__`` (so that its ``if __name__ == "__main__"`` part
    stays out) and is known under both names, because what it sent may name either."""
    if not place.file:
        holder = importlib.import_module(place.module)
    elif place.module == "__main__":
        holder = load("__mp_main__", Path(place.file))
        sys.modules["__main__"] = holder
    else:
        holder = load(place.module, Path(place.file))
    found: Callable[..., Any] = _within(holder, place.name)
    return found


def _within(holder: Any, name: str) -> Any:
    for part in name.split("."):
        holder = getattr(holder, part, None)
    return holder
