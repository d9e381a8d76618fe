"""How JupyterLab is started: arguments, settings, ports. A browser test runs it for real."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

import pytest

from labkit.course import lab
from labkit.errors import LabkitError


def test_it_opens_the_start_page_of_this_course(tmp_path):
    command = lab.command(tmp_path / "Lab Übung" / "notebooks" / lab.FIRST_LESSON, 8890, browser=False)
    assert command[1:3] == ["-m", "jupyterlab"]
    assert f"--ServerApp.root_dir={tmp_path / 'Lab Übung' / 'notebooks'}" in command
    assert "--LabApp.default_url=/lab" in command
    assert "--no-browser" in command and "--ServerApp.port=8890" in command
    assert not [argument for argument in command if "token" in argument or "password" in argument]  # the guard stays on
    assert "--allow-root" not in command


def test_kernels_can_import_labkit_and_the_readers_settings_are_kept(tmp_path):
    kernels = lab.kernels_folder(tmp_path)
    environ = lab.environment(
        {"PYTHONPATH": "/mine", "JUPYTER_CONFIG_PATH": "/config", "HOME": "/h"}, tmp_path, kernels
    )
    room = tmp_path / "labkit" / "jupyter"
    assert environ["PYTHONPATH"].split(os.pathsep) == [str(tmp_path), "/mine"]
    assert environ["JUPYTER_CONFIG_PATH"].split(os.pathsep) == ["/config", str(room / "etc")]
    assert environ["HOME"] == "/h"
    assert tmp_path in kernels.parents and lab.kernels_folder(tmp_path) == kernels


def test_the_room_is_in_the_clone_and_asks_for_no_news():
    environ = lab.room({})
    etc, share = Path(environ["JUPYTER_CONFIG_PATH"]), Path(environ["JUPYTER_PATH"])
    overrides = json.loads((etc / "labconfig" / "default_setting_overrides.json").read_text(encoding="utf-8"))
    assert overrides["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"
    server = json.loads((etc / "jupyter_server_config.d" / "rocm_labs.json").read_text(encoding="utf-8"))
    assert server["ServerApp"]["jpserver_extensions"] == {"labkit.jupyter": True}
    assert (share / "labextensions" / "rocm-labs" / "package.json").is_file()
    assert lab.room(environ) == environ, "once more changes nothing"


def test_the_kernel_that_jupyterlab_finds_is_this_environments_and_quiet(tmp_path, monkeypatch):
    manager = pytest.importorskip("jupyter_client.manager")
    other = tmp_path / "other" / "kernels" / "python3"
    other.mkdir(parents=True)
    (other / "kernel.json").write_text(
        json.dumps({"argv": ["elsewhere"], "display_name": "x", "language": "python"}), encoding="utf-8"
    )
    kernels, share = lab.kernels_folder(tmp_path), tmp_path / "labkit" / "jupyter" / "share"
    environ = lab.environment({"JUPYTER_PATH": str(tmp_path / "other")}, tmp_path, kernels)
    assert environ["JUPYTER_PATH"].split(os.pathsep) == [str(kernels), str(share), str(tmp_path / "other")]
    again = lab.environment(environ, tmp_path, kernels)["JUPYTER_PATH"].split(os.pathsep)
    assert sorted(again) == sorted(environ["JUPYTER_PATH"].split(os.pathsep)), "once more adds nothing"
    monkeypatch.setenv("JUPYTER_PATH", environ["JUPYTER_PATH"])
    made = manager.KernelManager(kernel_name="python3").format_kernel_cmd()
    assert made[:3] == [sys.executable, "-m", "ipykernel_launcher"] and "--log-level=40" in made


def test_a_busy_port_is_passed_over_or_named():
    with socket.create_server(("127.0.0.1", 0)) as server:
        busy = server.getsockname()[1]
        with pytest.raises(LabkitError, match=f"Port {busy} is in use"):
            lab.choose_port(busy)
    assert lab.choose_port(busy) == busy
    assert lab.is_free(lab.choose_port(None))
    with pytest.raises(LabkitError, match="is not a port number"):
        lab.choose_port(70000)


def test_a_busy_first_port_gives_the_next(monkeypatch):
    monkeypatch.setattr(lab, "is_free", lambda port: port >= lab.FIRST_PORT + 2)
    assert lab.choose_port(None) == lab.FIRST_PORT + 2
    monkeypatch.setattr(lab, "is_free", lambda port: False)
    with pytest.raises(LabkitError, match="No port"):
        lab.choose_port(None)


def test_a_missing_lesson_is_a_sentence(tmp_path: Path):
    with pytest.raises(LabkitError, match="first lesson is missing"):
        lab.start(root=tmp_path)
