"""Real package indexes for the tests of set-up: small wheels written by code, served from this machine.

The stand-in torch computes its matrix product and convolution in plain Python, so that the check of set-up runs on it
unchanged; what is tested is set-up, not torch.
"""

from __future__ import annotations

import base64
import hashlib
import http.server
import os
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

PYPROJECT = """\
[project]
name = "rocm-labs"
requires-python = ">=3.10,<3.15"
dependencies = [
    "torch>=2.10,<2.16",          # comment
    "torchvision>=0.25,<0.31",
    "greedy>=1",
    "lessonware>=1",
]

[project.optional-dependencies]
test = [
    "checker>=1",
]
"""

TORCH = """\
from . import backends, cuda, nn, version
__version__ = version.__version__
float32 = "float32"
HOW = {how!r}
if HOW == "import":
    raise OSError("libamdhip64.so.7: cannot open shared object file")
class Tensor:
    def __init__(self, values, device="cpu"):
        self.values, self.device = values, device
    def to(self, device):
        return Tensor(self.values, device)
    def cpu(self):
        return self.to("cpu")
    def tolist(self):
        return self.values
def tensor(values):
    return Tensor(values)
def kernel(device):
    import os
    if HOW == "abort" or (HOW == "abort on gpu" and device != "cpu"):
        os.abort()
    if HOW == "exit":
        os._exit(7)
def matmul(a, b):
    kernel(a.device)
    wrong = 1.0 if HOW == "wrong" else 0.0
    return Tensor([[sum(x * y for x, y in zip(row, column)) + wrong for column in zip(*b.values)] for row in a.values], a.device)
"""
NN = """\
class functional:
    @staticmethod
    def conv2d(images, weights):
        from . import Tensor
        image, weight = images.values[0][0], weights.values[0][0]
        size = len(image) - len(weight) + 1
        return Tensor([[[[sum(image[r + i][c + j] * weight[i][j] for i in range(3) for j in range(3)) for c in range(size)]
                         for r in range(size)]]], images.device)
"""
CUDA = """\
from types import SimpleNamespace
GFX = {gfx!r}
def is_available():
    return bool(GFX)
def device_count():
    return len(GFX)
def get_device_properties(index):
    return SimpleNamespace(name="Stand-in GPU", gcnArchName=GFX[index] + ":sramecc+:xnack-")
"""


def torch_files(version: str, how: str = "", gfx: Sequence[str] = ()) -> dict[str, str]:
    """A stand-in torch. ``how``: '', 'import', 'abort', 'abort on gpu', 'exit' or 'wrong'."""
    local = version.partition("+")[2]
    hip = "7.2.1" if local.startswith("rocm") else None
    cuda = None if hip or local == "cpu" else "13.0"
    return {
        "torch/__init__.py": TORCH.format(how=how),
        "torch/nn.py": NN,
        "torch/cuda.py": CUDA.format(gfx=tuple(gfx)),
        "torch/backends.py": "",
        "torch/version.py": f"__version__ = {version!r}\nhip = {hip!r}\ncuda = {cuda!r}\n",
    }


def write_wheel(
    folder: Path, name: str, version: str, files: Mapping[str, str] | None = None, requires: Sequence[str] = ()
) -> Path:
    """A pure wheel with a correct RECORD; gives its path."""
    files = dict(files if files is not None else {f"{name}/__init__.py": f"__version__ = {version!r}\n"})
    info = f"{name}-{version}.dist-info"
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(
        f"Requires-Dist: {item}\n" for item in requires
    )
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = []
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(text.encode())}")
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,"]) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name_inside, text in files.items():
            archive.writestr(name_inside, text)
    return path


def add(
    index: Path, name: str, version: str, files: Mapping[str, str] | None = None, requires: Sequence[str] = ()
) -> None:
    """Puts a wheel into a simple index that works over HTTP and as file://."""
    folder = index / name
    write_wheel(folder, name, version, files, requires)
    links = "".join(f'<a href="{wheel.name}">{wheel.name}</a>\n' for wheel in sorted(folder.glob("*.whl")))
    (folder / "index.html").write_text(f"<!DOCTYPE html><html><body>\n{links}</body></html>\n", encoding="utf-8")


def add_torch(index: Path, torch: str, torchvision: str, **how: Any) -> None:
    add(index, "torch", torch, torch_files(torch, **how))
    add(index, "torchvision", torchvision, requires=[f"torch=={torch.partition('+')[0]}"])


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder; notes what was asked for, and can hold back chosen files until they are let go."""

    server: Indexes

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.server.hold and self.server.hold in self.path:
            self.server.held.set()
            self.server.let_go.wait(60)
        super().do_GET()


class Indexes(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
        self.folder = folder
        self.asked: list[str] = []
        self.hold = ""
        self.held, self.let_go = threading.Event(), threading.Event()

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{name}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a killed pip breaks its connection


@pytest.fixture(scope="session")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexes]:
    """``default`` has a higher, CUDA-like torch and everything else; ``cpu`` and ``rocm7.2`` have torch and torchvision."""
    folder = tmp_path_factory.mktemp("indexes")
    add_torch(folder / "default", "2.14.9", "0.29.9")
    for name in ("lessonware", "checker"):
        add(folder / "default", name, "1.0")
    add(folder / "default", "greedy", "1.5", requires=["torch>=2", "torchvision"])
    add(folder / "default", "greedy", "2.0", requires=["torch>=2.14.5", "torchvision"])  # would bring the higher torch
    add_torch(folder / "cpu", "2.14.1+cpu", "0.29.1+cpu")
    add_torch(folder / "rocm7.2", "2.14.1+rocm7.2", "0.29.1+rocm7.2", gfx=["gfx1100"])
    add_torch(folder / "broken" / "cpu", "2.14.1+cpu", "0.29.1+cpu", how="import")
    add_torch(folder / "broken" / "rocm7.2", "2.14.1+rocm7.2", "0.29.1+rocm7.2", how="import")
    server = Indexes(folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.let_go.set()
    server.shutdown()
    server.server_close()


@dataclass
class Clone:
    """A copy of the repository's set-up with a small pyproject.toml, and how to call it."""

    path: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def env(self) -> Path:
        return self.path / ".venv"

    @property
    def site(self) -> Path:
        return (
            next((self.env / "lib").glob("python3*")) / "site-packages"
            if os.name != "nt"
            else self.env / "Lib" / "site-packages"
        )

    @property
    def python(self) -> Path:
        return self.env / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    def command(self, *arguments: str) -> list[str]:
        return [getattr(sys, "_base_executable", sys.executable), "-m", "labkit", *arguments]

    def call(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            cwd=self.path,
            env={**self.environ, **environ},
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=240,
            check=False,
        )

    def setup(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return self.call("setup", *arguments, **environ)

    def versions(self) -> dict[str, str]:
        """What is installed, from the names of the metadata folders."""
        return dict(folder.name.removesuffix(".dist-info").split("-", 1) for folder in self.site.glob("*.dist-info"))

    @property
    def log(self) -> str:
        return (self.env / "labkit-setup.log").read_text(encoding="utf-8")


def copy_repository(path: Path) -> None:
    ignore = shutil.ignore_patterns("__pycache__", "*.gz", "data", "show", "learn", "devices", "timing")
    shutil.copytree(REPOSITORY / "labkit", path / "labkit", ignore=ignore)
    (path / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")


def clean_environ(home: Path, indexes: Indexes) -> dict[str, str]:
    """This process's environment without anything that concerns pip, Python or labkit; only local indexes."""
    prefixes = (
        "PIP_",
        "LABKIT_",
        "PYTHON",
        "ROCM_",
        "VIRTUAL_ENV",
        "XDG_",
        "http_",
        "https_",
        "HTTP_",
        "HTTPS_",
        "ALL_PROXY",
        "COV_",
    )
    environ = {key: value for key, value in os.environ.items() if not key.startswith(prefixes)}
    environ.update(
        HOME=str(home),
        PIP_CONFIG_FILE=os.devnull,
        PIP_INDEX_URL=indexes.url("default"),
        PIP_RETRIES="0",
        PIP_TIMEOUT="10",
        PIP_CACHE_DIR=str(home / "pip"),
        PYTHONDONTWRITEBYTECODE="1",
        PYTHONUTF8="1",
        NO_PROXY="127.0.0.1",
        no_proxy="127.0.0.1",
        ROCM_BOOTSTRAP_DISABLE_DETECTION="1",
    )
    return environ


@pytest.fixture
def new_clone(tmp_path: Path, indexes: Indexes) -> Clone:
    """A fresh clone in a path with a space and letters of other scripts; torch comes from the CPU index."""
    path = tmp_path / "new" / "Lab Übung 実験"
    copy_repository(path)
    return Clone(path, {**clean_environ(tmp_path, indexes), "LABKIT_TORCH_INDEX": indexes.url("cpu")})


@dataclass
class Made:
    clone: Clone
    result: subprocess.CompletedProcess[str]
    asked: list[str]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, indexes: Indexes) -> Made:
    """One real set-up, shared; tests that change something take a copy. pip's settings name an extra index on purpose."""
    home = tmp_path_factory.mktemp("made")
    path = home / "Lab Übung 実験"
    copy_repository(path)
    clone = Clone(
        path,
        {
            **clean_environ(home, indexes),
            "LABKIT_TORCH_INDEX": indexes.url("cpu"),
            "PIP_EXTRA_INDEX_URL": indexes.url("default"),
        },
    )
    before = len(indexes.asked)
    result = clone.setup()
    return Made(clone, result, indexes.asked[before:])


@pytest.fixture
def ready(made: Made, tmp_path: Path) -> Clone:
    """A copy of the finished set-up."""
    assert made.result.returncode == 0, made.result.stdout + made.result.stderr
    path = tmp_path / "Lab Übung 実験"
    shutil.copytree(made.clone.path, path, symlinks=True)
    return Clone(path, {key: value for key, value in made.clone.environ.items() if key != "PIP_EXTRA_INDEX_URL"})


@pytest.fixture
def bare(ready: Clone) -> Clone:
    """An environment that was made and has nothing but pip yet: a set-up that was stopped early."""
    for name in ("labkit-stamp.json", "labkit-torch.json", "labkit-constraints.txt"):
        (ready.env / name).unlink()
    for entry in ready.site.iterdir():
        if not entry.name.startswith(("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence")):
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    return ready


def picture(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file with its size and time of change: two equal pictures, nothing was changed."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_size, path.lstat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if not path.is_dir()
    }


@pytest.fixture
def picture_of() -> Callable[[Path], dict[str, tuple[int, int]]]:
    return picture


@pytest.fixture
def wheel() -> Callable[..., Path]:
    return write_wheel


@pytest.fixture
def stand_in_torch(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """Writes a stand-in torch into a folder and gives environment variables with which Python finds it."""

    def write(version: str, **how: Any) -> dict[str, str]:
        for name, text in torch_files(version, **how).items():
            path = tmp_path / "packages" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return {**os.environ, "PYTHONPATH": str(tmp_path / "packages"), "PYTHONDONTWRITEBYTECODE": "1"}

    return write


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def eventually() -> Callable[..., bool]:
    return wait_until
