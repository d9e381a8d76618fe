"""Where packages come from: pip's own settings, a source that must be the only one, and whether an index answers.

pip's settings (environment variables, pip.conf, mirrors, proxies, certificates) stand for everything that comes from
pip's default index. torch is different: it must come from one place. ``--index-url`` alone does not ensure that, for
pip still adds the extra indexes and folders of its settings and takes the highest version of them all. So for torch's
own index pip runs without these settings, and with all others (proxy, certificate, time-outs, constraints, cache).
"""

from __future__ import annotations

import ast
import os
import re
import socket
import subprocess
import threading
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from labkit.errors import LabkitError

# Settings that add places to look in, and settings that put packages somewhere else than into the environment.
_PLACES = ("index-url", "extra-index-url", "find-links", "no-index", "pypi-url")
_ELSEWHERE = ("target", "prefix", "root", "user", "dry-run", "report", "quiet", "log", "progress-bar")
CONNECT_SECONDS = 6.0


@dataclass(frozen=True)
class PipSettings:
    """The settings that ``pip install`` would use; names as in pip.conf, without the section."""

    values: Mapping[str, str]

    @property
    def index_url(self) -> str | None:
        return self.values.get("index-url")

    @property
    def no_index(self) -> bool:
        return self.values.get("no-index", "").lower() in ("1", "true", "yes", "on")

    @property
    def adds_places(self) -> tuple[str, ...]:
        """What would let a package come from somewhere else than the index on the command line."""
        return tuple(name for name in ("extra-index-url", "find-links") if self.values.get(name))


def pip_settings(python: Path | str, environ: Mapping[str, str]) -> PipSettings:
    """Asks pip itself (half a second); no settings where it cannot answer."""
    try:
        answer = subprocess.run(
            [str(python), "-m", "pip", "config", "list"],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=60,
            env=dict(environ),
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return PipSettings({})
    return PipSettings(parse_pip_config(answer.stdout))


def parse_pip_config(text: str) -> dict[str, str]:
    """Lines such as ``global.index-url='https://...'``; install's own section wins over global, the environment over both."""
    found: dict[int, dict[str, str]] = {0: {}, 1: {}, 2: {}}
    for line in text.splitlines():
        match = re.match(r"^(global|install|:env:)\.([\w-]+)=(.*)$", line)
        if not match:
            continue
        try:
            value = str(ast.literal_eval(match.group(3)))
        except (SyntaxError, ValueError):
            value = match.group(3)
        if value:  # pip ignores empty values
            found[("global", "install", ":env:").index(match.group(1))][match.group(2).replace("_", "-")] = value
    return found[0] | found[1] | found[2]


def pip_environment(environ: Mapping[str, str], settings: PipSettings, *, only: bool, own: bool) -> dict[str, str]:
    """The environment variables for a pip call.

    ``only``: the places on the command line are the only ones. ``own``: the environment is labkit's, so settings that
    would put packages elsewhere (``--user``, ``--target``) do not count.
    """
    result = dict(environ)
    result.update(PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1", PYTHONUNBUFFERED="1", PYTHONIOENCODING="utf-8")
    dropped = (*(_PLACES if only else ()), *(_ELSEWHERE if own else ()))
    if not any(name in settings.values for name in dropped):
        return result
    for name in [key for key in result if key.startswith("PIP_") and _setting(key) in dropped]:
        del result[name]
    for name, value in settings.values.items():
        if name not in dropped and name != "config-file":
            result[f"PIP_{name.upper().replace('-', '_')}"] = " ".join(value.split()) if "\n" in value else value
    result["PIP_CONFIG_FILE"] = os.devnull  # what counts of the files is in the variables now
    return result


def _setting(variable: str) -> str:
    return variable.removeprefix("PIP_").lower().replace("_", "-")


def place_arguments(index_url: str | None) -> tuple[str, ...]:
    """pip's arguments for torch's index: never an extra index. A local folder of wheels without an index works too."""
    if index_url is None:
        return ()
    folder = local_folder(index_url)
    if folder is not None and not (folder / "torch").is_dir() and any(folder.glob("*.whl")):
        return ("--no-index", "--find-links", str(folder))
    return ("--index-url", folder.as_uri() if folder is not None else index_url)


def local_folder(url: str) -> Path | None:
    """The folder that a file: URL or a plain path names, if it is there."""
    if url.startswith("file:"):
        path = Path(urllib.request.url2pathname(urlsplit(url).path))
    elif "://" in url:
        return None
    else:
        path = Path(url).expanduser()
    return path.absolute() if path.is_dir() else None


def check_wishes(torch: str | None, index: str | None, wheelhouse: str | None) -> None:
    """Raises LabkitError for a wish that can be nothing: an empty build, an address that is none, a folder that is no folder."""
    builds = "auto, cpu, cuda, rocm7.2, or the URL of a package index"
    if torch is not None and not torch.strip():
        raise LabkitError("--torch is empty.", f"Give {builds}, or leave --torch away.")
    for option, address in (("--torch", torch), ("LABKIT_TORCH_INDEX", index)):
        if address is None or (option == "--torch" and "://" not in address and not address.startswith("file:")):
            continue
        scheme = address.split(":", 1)[0].lower() if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", address) else ""
        if scheme in ("http", "https"):
            if not urlsplit(address).hostname:
                raise LabkitError(
                    f"{option} names {address}, which has no host.", "Give a whole address: https://host/path."
                )
        elif scheme not in ("", "file"):
            raise LabkitError(
                f"{option} names {address}: pip reads package indexes by https, http and file only, not by {scheme}.",
                "Give an address that begins with https://, or a folder.",
            )
        elif local_folder(address) is None:
            what = "which is not there" if scheme else "which is neither an address nor a folder"
            raise LabkitError(
                f"{option} names {address}, {what}.",
                "Give the address of a package index (https://...), or a folder that exists."
                + (
                    f" A build is chosen with --torch {address}."
                    if re.fullmatch(r"cpu|cuda|rocm[\d.]+", address)
                    else ""
                ),
            )
    if wheelhouse is not None:
        folder = Path(wheelhouse).expanduser().absolute()
        if not wheelhouse.strip() or not folder.is_dir():
            what = "is a file, not a folder" if wheelhouse.strip() and folder.exists() else "does not exist"
            raise LabkitError(
                f"The folder of wheels {folder if wheelhouse.strip() else '(--wheelhouse is empty)'} {what}.",
                "Name the folder that holds the .whl files.",
            )


def reachable(
    url: str,
    settings: PipSettings,
    *,
    ask_pip: Callable[[str], bool],
    seconds: float = CONNECT_SECONDS,
    proxies: Callable[[], Mapping[str, str]] = urllib.request.getproxies,
) -> bool:
    """Is it worth asking this index? Answers within about ``seconds`` where the network is simply not there.

    Only a direct connection is tried here. Where a proxy or a mirror is set, pip knows the way and this does not: pip
    itself is asked (``ask_pip``), briefly.
    """
    if not url.startswith(("http://", "https://")):
        return local_folder(url) is not None
    if settings.values.get("proxy") or settings.index_url or proxies():
        return ask_pip(url)
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return _connects(parts.hostname or "", port, seconds)


def _connects(host: str, port: int, seconds: float) -> bool:
    """In a thread of its own, because the time limit of a socket does not bound the look-up of its name."""
    result: list[bool] = []

    def attempt() -> None:
        try:
            socket.create_connection((host, port), timeout=seconds).close()
            result.append(True)
        except OSError:
            result.append(False)

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(seconds)
    return bool(result and result[0])
