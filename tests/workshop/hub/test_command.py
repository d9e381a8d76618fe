"""The command line: what is written, what is refused, in one sentence and with nothing half done."""

from __future__ import annotations

import argparse
import ast
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from labkit import cli
from labkit.errors import LabkitError
from labkit.workshop.hub import accounts, auth, command, configuration, ports, proxy
from labkit.workshop.hub.configuration import Choices
from labkit.workshop.hub.leases import Book

Options = Callable[..., argparse.Namespace]


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Options:
    """Parsed command lines for a hub in tmp_path, with a proxy that is there and user ids of its own."""
    monkeypatch.setattr(proxy, "ensure", lambda folder: "configurable-http-proxy")
    monkeypatch.setattr(accounts, "BLOCKS", tmp_path / "blocks.json")
    monkeypatch.setattr(accounts.claim_uids, "__defaults__", (tmp_path / "blocks.json",))
    monkeypatch.setattr(command, "_LONGEST_PATH", 1000)  # pytest's folders are long
    monkeypatch.setattr(command, "check_reachable", lambda folder: None)  # they are closed to others, too
    folder = tmp_path / "hub"
    return lambda *arguments: cli._parser().parse_args(["workshop", "hub", "-o", str(folder), *arguments])


@pytest.fixture(params=[True, False], ids=["root", "a user"])
def who(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(command, "is_root", lambda: request.param)
    return bool(request.param)


def written(options: argparse.Namespace) -> dict[str, object]:
    assert command.main(options) == 0
    return command.read(Path(options.output) / "jupyterhub_config.py")


def test_the_configuration_can_be_read_and_says_what_was_chosen(options: Options, who: bool) -> None:
    more = () if who else ("--trust-learners",)
    config = written(options("--write", "--port", "8123", "--teacher", "tom", "--gpus", "0,2", "--share", "2", *more))
    assert config["JupyterHub"]["bind_url"] == "http://0.0.0.0:8123"
    assert config["JupyterHub"]["hub_bind_url"].startswith("http://127.0.0.1:")
    assert config["ConfigurableHTTPProxy"]["api_url"].startswith("http://127.0.0.1:")
    assert config["WorkshopAuthenticator"]["admin_users"] == {"tom"}
    assert (config["LeaseSpawner"]["gpus"], config["LeaseSpawner"]["share"]) == (["0", "2"], 2)
    assert config["LeaseSpawner"]["pretended"] is False
    assert ("first_uid" in config["LeaseSpawner"]) == who


def test_every_setting_has_its_reason_beside_it() -> None:
    """Each setting has a comment in its line, or above it in the same paragraph."""
    text = configuration.text(Choices(Path("/srv/hub"), first_uid=70000))
    ast.parse(text)
    bare, reason = [], False
    for line in text.split("get_config()")[1].splitlines():
        reason = line.startswith("#") or (reason and bool(line.strip()))
        if line.startswith("c.") and not reason and "#" not in line:
            bare.append(line)
    assert bare == []


def test_names_from_a_file_or_from_the_line(tmp_path: Path) -> None:
    list_ = tmp_path / "names.txt"
    list_.write_text("Ada\nben\n\nada\n")
    assert command._names(str(list_)) == ("ada", "ben") == command._names("ada,ben")
    assert command._names(None) == ()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--teacher", "Tom Smith"), "is no name"),
        (("--learners", "ada,x y,9"), "is no name"),
        (("--gpus", "0,0"), "twice"),
        (("--gpus", "first"), "is no GPU"),
        (("--gpus", "0", "--pretend-gpus", "2"), "exclude each other"),
        (("--pretend-gpus", "0"), "make no sense"),
        (("--share", "-1"), "cannot be shared"),
        (("--memory", "much"), "is no size"),
        (("--port", "70000"), "no port number"),
    ],
)
def test_a_wrong_wish_writes_nothing(options: Options, arguments: tuple[str, ...], word: str) -> None:
    given = options("--write", "--trust-learners", *arguments)
    with pytest.raises(LabkitError, match=word):
        command.main(given)
    assert not Path(given.output).exists()


def test_without_root_it_says_what_that_means(options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "is_root", lambda: False)
    with pytest.raises(LabkitError, match="each can read and change the others' files"):
        command.main(options("--write"))


def test_a_configuration_is_never_overwritten(options: Options) -> None:
    given = options("--write", "--trust-learners")
    written(given)
    before = (Path(given.output) / "jupyterhub_config.py").read_text()
    for again in (("--write",), ("--share", "3"), ("--port", "9000")):
        with pytest.raises(LabkitError, match="never overwritten"):
            command.main(options(*again))
    assert (Path(given.output) / "jupyterhub_config.py").read_text() == before


def test_a_path_too_long_for_sockets_is_refused(options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_LONGEST_PATH", 10)
    with pytest.raises(LabkitError, match="too long"):
        command.main(options("--write", "--trust-learners"))


@pytest.mark.parametrize("what", [("--status",), ("--forget", "ada"), ("--password", "ada"), ("--progress", "x.csv")])
def test_without_a_hub_it_says_so(options: Options, what: tuple[str, ...]) -> None:
    with pytest.raises(LabkitError, match="There is no hub in"):
        command.main(options(*what))


@pytest.mark.parametrize(
    ("slip", "word"),
    [("share = twice", "NameError"), ("disk_limit = 'much'", "is no size"), ("share = 'two'", "share")],
)
def test_a_teacher_s_slip_in_the_configuration_is_one_sentence(
    options: Options, slip: str, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "is_root", lambda: False)
    given = options("--write", "--trust-learners")
    written(given)
    config = Path(given.output) / "jupyterhub_config.py"
    config.write_text(config.read_text() + f"\nc.LeaseSpawner.{slip}\n")
    with pytest.raises(LabkitError, match=word):
        command.main(options())


def test_a_configuration_of_another_version_says_how_to_get_a_new_one(options: Options) -> None:
    given = options("--write", "--trust-learners")
    written(given)
    config = Path(given.output) / "jupyterhub_config.py"
    config.write_text(config.read_text() + "\nfrom labkit.workshop.hub.spawner import gone_since\n")
    with pytest.raises(LabkitError, match="does not fit this version") as told:
        command.main(options())
    assert "--write" in told.value.remedy


def test_a_hub_made_without_root_is_not_started_as_root(options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "is_root", lambda: False)
    written(options("--write", "--trust-learners"))
    monkeypatch.setattr(command, "is_root", lambda: True)
    with pytest.raises(LabkitError, match="made without root"):
        command.main(options())


def test_what_a_teacher_does_beside_a_running_hub_takes_no_gpu_from_whoever_waits_for_their_start(
    options: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "is_root", lambda: False)
    given = options("--trust-learners", "--pretend-gpus", "1", "--write")
    written(given)
    book = Book(accounts.Folder(Path(given.output)).leases)
    book.change(lambda table: table.on(["0"], 1).lend("ada"))  # no process yet: her server is being started
    monkeypatch.setattr(sys, "stdin", io.StringIO("chosen by the teacher\n"))
    assert command.main(options("--password", "ben")) == 0
    assert book.read().of("ada") is not None
    monkeypatch.setattr(ports, "check", lambda place, settings: None)
    monkeypatch.setattr(auth, "has_password", lambda path, name: True)
    monkeypatch.setattr(command, "become", lambda arguments, environ: 0)
    monkeypatch.chdir(tmp_path)  # the hub's start goes elsewhere
    before = os.umask(0o022)
    try:
        assert command.main(options()) == 0
    finally:
        os.umask(before)
    assert book.read().leases == () and book.read().gpus == ("0",), "at the hub's start nobody waits"


def test_what_learners_cannot_reach_stops_before_anything_is_written(
    options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(folder: Path) -> None:
        raise LabkitError("Learners cannot reach Python.", "move it.")

    monkeypatch.setattr(command, "is_root", lambda: True)
    monkeypatch.setattr(command, "check_reachable", closed)
    with pytest.raises(LabkitError, match="cannot reach"):
        command.main(options("--write"))
    assert not Path(options().output).exists()


def test_where_the_hub_lives(tmp_path: Path) -> None:
    assert command.default_folder({}, 0) == Path("/var/lib/labkit/hub")
    assert command.default_folder({"XDG_STATE_HOME": str(tmp_path)}, 1000) == tmp_path / "labkit" / "hub"


def test_the_proxy_is_found_installed_or_explained(tmp_path: Path) -> None:
    both = {"node": "/usr/bin/node", proxy.NAME: "/usr/bin/proxy"}
    assert proxy.ensure(tmp_path, both.get) == "/usr/bin/proxy"
    mine = tmp_path / "node_modules" / ".bin" / proxy.NAME
    mine.parent.mkdir(parents=True)
    mine.touch()
    assert proxy.ensure(tmp_path, {"node": "/usr/bin/node"}.get) == str(mine)
    with pytest.raises(LabkitError, match="needs node and npm") as error:
        proxy.ensure(tmp_path / "empty", {}.get)
    assert "apt-get install" in error.value.remedy
    with pytest.raises(LabkitError, match="npm could not install"):
        proxy.ensure(tmp_path / "empty", {"node": "/bin/false", "npm": "/bin/false"}.get)
