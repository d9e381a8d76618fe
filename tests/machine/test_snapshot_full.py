"""The full collection: everything at once, everything bounded, and a torch that is missing, broken or hangs."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from labkit.machine import doctor, evidence, facts, redact
from labkit.machine.probes import commands, interpreter, places, tools, torch_probe
from labkit.machine.probes.commands import Answer, ask, together
from labkit.machine.snapshot import Place, collect

POSIX = pytest.mark.skipif(os.name != "posix", reason="shell scripts stand for the tools")


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + textwrap.dedent(text), encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return True
    try:  # a zombie that nobody has waited for is gone as well
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


# ------------------------------------------------------------------------------------------------------------- commands


@POSIX
def test_a_command_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    hanging = program(tmp_path, "hang", f"echo first words; sleep 600 & echo $! >> {pids}; echo $$ >> {pids}; wait")
    start = time.monotonic()
    answer = ask([str(hanging)], 1.0)
    assert time.monotonic() - start < 30 and answer.status is None and "no answer" in str(answer.problem)
    assert answer.text == "first words\n"
    left = [int(line) for line in pids.read_text(encoding="utf-8").split()]
    deadline = time.monotonic() + 10
    while not all(map(is_gone, left)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(left) == 2 and all(map(is_gone, left))


@POSIX
def test_a_grandchild_that_holds_the_pipe_in_a_session_of_its_own_is_not_waited_for(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = f"import os, time\nif os.fork(): os._exit(0)\nos.setsid()\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)"
    start = time.monotonic()
    ask([sys.executable, "-c", code], 1.0)
    assert time.monotonic() - start < 30
    os.kill(int(pid.read_text(encoding="utf-8")), 9)


@POSIX
def test_endless_output_is_cut(tmp_path: Path) -> None:
    answer = ask([str(program(tmp_path, "yes", "exec yes abcdefg"))], 20.0, limit=10_000)
    assert len(answer.text) == 10_000 and "more than" in str(answer.problem)


def test_a_command_that_is_not_there_or_fails_is_an_answer(tmp_path: Path) -> None:
    assert "could not be started" in str(ask([str(tmp_path / "none")], 1.0).problem)
    failing = ask([sys.executable, "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"], 30.0)
    assert failing.status == 3 and failing.problem is None and "out" in failing.text and "err" in failing.text


def test_tasks_run_at_once_and_a_broken_one_takes_no_other_with_it() -> None:
    def fails() -> str:
        raise ValueError("no")

    start = time.monotonic()
    results, problems = together({"a": lambda: time.sleep(0.4) or "a", "b": lambda: time.sleep(0.4) or "b", "bad": fails,
                                  "slow": lambda: time.sleep(30) or "late"}, 2.0)  # fmt: skip
    assert results == {"a": "a", "b": "b"} and problems["bad"] == "ValueError: no" and "no answer" in problems["slow"]
    assert time.monotonic() - start < 15


# ------------------------------------------------------------------------------------------------------ the whole thing


def elsewhere(root: Path, **changes: Any) -> Place:
    return Place(root=root, system="Linux", environment={"HOME": str(root)}, **changes)


@POSIX
def test_where_every_tool_and_the_interpreter_hang_the_time_is_kept(tmp_path: Path) -> None:
    hang = str(program(tmp_path, "hang", "sleep 600"))
    start = time.monotonic()
    found = collect(place=elsewhere(tmp_path, find=lambda name: hang), python=hang, within_s=2.0)
    assert time.monotonic() - start < 12  # on a busy machine; alone it is little more than two seconds
    asked = {tool.name for tool in tools.TOOLS if "Linux" in tool.systems}
    assert {problem.split(":")[0].removeprefix("tool") for problem in found["problems"]} >= {"lspci"}
    assert all(any(name in problem for problem in found["problems"]) for name in asked)
    assert json.loads(json.dumps(found)) == found
    doctor.diagnose(evidence.from_snapshot(found))


def test_where_even_files_hang_there_is_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening /dev/kfd of a driver that hangs does not return."""
    from labkit.machine import snapshot

    real = snapshot._devices
    monkeypatch.setattr(snapshot, "_devices", lambda here: time.sleep(60) if here.root == tmp_path else real(here))
    start = time.monotonic()
    found = collect(place=elsewhere(tmp_path, find=lambda name: None), within_s=1.0)
    assert (
        time.monotonic() - start < 15 and found["devices"] == {} and "files: no answer within 1 s" in found["problems"]
    )
    doctor.diagnose(evidence.from_snapshot(found))


@POSIX
def test_the_limits_add_up_to_less_than_twenty_seconds() -> None:
    from labkit.machine import snapshot

    assert snapshot.WITHIN_S <= 18.5 and snapshot._TORCH_S < snapshot.WITHIN_S


@POSIX
def test_what_tools_print_is_kept_also_where_they_fail(tmp_path: Path) -> None:
    program(
        tmp_path,
        "rocminfo",
        "echo 'ROCk module is loaded'; echo 'Unable to open /dev/kfd read-write: Permission denied'; exit 1",
    )
    card = "sys/bus/pci/devices/0000_03_00.0"
    for name, text in {
        "sys/module/amdgpu/initstate": "live",
        f"{card}/class": "0x030000",
        f"{card}/vendor": "0x1002",
        f"{card}/device": "0x744c",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "sys/bus/pci/drivers/amdgpu").mkdir(parents=True)
    (tmp_path / card / "driver").symlink_to(tmp_path / "sys/bus/pci/drivers/amdgpu")
    place = elsewhere(tmp_path, find=lambda name: str(tmp_path / name) if name == "rocminfo" else None)
    found = collect(place=place)
    assert "Permission denied" in found["tools"]["rocminfo"]
    codes = [finding.code for finding in doctor.diagnose(evidence.from_snapshot(found)).findings]
    assert codes[0] == "kfd-permission"


def test_somebody_who_joined_the_group_today_is_told_to_log_in_again() -> None:
    closed = {"mode": "crw-rw----", "owner": "root", "group": "render", "openable": False, "error": "Permission denied"}
    snapshot = {"labkit_snapshot": 1, "system": "Linux", "modules": {"amdgpu": "live"}, "devices": {"/dev/kfd": closed},
                "groups": ["me"], "groups_on_file": ["render"]}  # fmt: skip
    first = doctor.diagnose(evidence.from_snapshot(snapshot)).findings[0]
    assert (
        first.code == "kfd-permission"
        and "log out and in again" in first.fix[0]
        and "usermod" not in " ".join(first.fix)
    )


def test_files_of_the_kernel_and_of_the_distribution_are_read(tmp_path: Path) -> None:
    texts = {
        "proc/cmdline": "BOOT_IMAGE=/vmlinuz root=/dev/sda2 ro nomodeset\n", "proc/sys/kernel/numa_balancing": "1\n",
        "proc/meminfo": "MemTotal:       65536 kB\nMemFree: 1 kB\n", "proc/self/uid_map": "0 1000 1\n",
        "etc/modprobe.d/gpu.conf": "# a comment on amdgpu\nblacklist amdgpu\n", "opt/rocm-7.2.0/.info/version": "7.2.0-43\n",
        "usr/lib/gcc/x86_64-linux-gnu/13/x": "", "usr/include/c++/12/x": "",
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = collect(place=elsewhere(tmp_path, find=lambda name: None))
    assert "nomodeset" in found["cmdline"] and "numa_balancing = 1" in found["tools"]["sysctl"]
    assert found["tools"]["modprobe"] == "/etc/modprobe.d/gpu.conf:blacklist amdgpu"
    assert found["rocm"] == [{"path": "/opt/rocm-7.2.0", "version": "7.2.0-43", "link": None}]
    assert found["uid_map"] == "0 1000 1" and "13" in found["tools"]["gcc"] and found["caches"]["miopen_db"]["writable"]


def test_the_environment_is_kept_without_secrets_and_without_the_scheduler_s_values(tmp_path: Path) -> None:
    environment = {"MIOPEN_FIND_MODE": "2", "HIP_API_KEY": "s3cret", "AWS_TOKEN": "x", "SLURM_JOB_ID": "4711", "SLURM_JOB_USER": "jroe",
                   "LD_LIBRARY_PATH": "/opt/rocm/lib", "HSA_OVERRIDE_GFX_VERSION_1": "10.3.0"}  # fmt: skip
    found = collect(
        quick=True, place=Place(root=tmp_path, system="Linux", environment=environment, find=lambda name: None)
    )["environment"]
    assert found == {"MIOPEN_FIND_MODE": "2", "SLURM_JOB_ID": "(set)", "LD_LIBRARY_PATH": "/opt/rocm/lib",
                     "HSA_OVERRIDE_GFX_VERSION_1": "10.3.0"}  # fmt: skip


def test_the_kernel_log_is_reduced_to_what_is_about_gpus() -> None:
    noise = [f"[  {at}.0] usb 1-{at}: SerialNumber: 00{at}" for at in range(900)]
    lines = [f"[  {at}.5] amdgpu 0000:03:00.0: amdgpu: line {at}" for at in range(900)]
    kept = tools.kernel_lines("\n".join(noise + lines))
    assert "SerialNumber" not in kept and "line 0" in kept and "line 899" in kept and len(kept.splitlines()) == 401


def test_the_journal_stands_in_where_the_log_is_closed(tmp_path: Path) -> None:
    def run(command: Sequence[str], timeout_s: float) -> Answer:
        if command[0] == "dmesg":
            return Answer("dmesg: read kernel buffer failed: Operation not permitted", 1)
        return Answer("[    3.0] host kernel: amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init")

    found = collect(
        place=elsewhere(tmp_path, run=run, find=lambda name: name if name in ("dmesg", "journalctl") else None)
    )
    assert "Fatal error" in found["tools"]["dmesg"] and "journal" not in found["tools"]


@dataclass(frozen=True)
class Watched:
    """One full collection on this machine, under watch."""

    snapshot: dict[str, Any]
    connections: str
    written: list[Path]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a socket was opened")

    folder, home = tmp_path_factory.mktemp("watch"), tmp_path_factory.mktemp("home")
    marker = folder / "connected"
    (folder / "sitecustomize.py").write_text(
        "import sys\ndef watch(event, args):\n    if event in ('socket.connect', 'socket.sendto', 'socket.getaddrinfo'):\n"
        f"        open({str(marker)!r}, 'a').write(event + repr(args))\nsys.addaudithook(watch)\n", encoding="utf-8")  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        patch.setenv("HOME", str(home))
        patch.setattr(socket, "socket", refuse)
        patch.setattr(socket, "create_connection", refuse)
        found = collect()
        redact.redact(found)
    connections = marker.read_text(encoding="utf-8") if marker.exists() else ""
    return Watched(found, connections, list(home.rglob("*")))


def test_nothing_is_sent(watched: Watched) -> None:
    assert watched.connections == ""


def test_collecting_writes_nothing_into_the_home_folder(watched: Watched) -> None:
    assert watched.written == []


def test_this_machine_in_full(watched: Watched) -> None:
    found = watched.snapshot
    assert json.loads(json.dumps(found)) == found and found["collected"]["seconds"] < 60
    facts.machine(found)
    doctor.diagnose(evidence.from_snapshot(found))
    assert len(json.dumps(found)) < commands.TEXT_LIMIT * 40


# ------------------------------------------------------------------------------------------------------------------ torch


def fake_environment(folder: Path, torch: str) -> Path:
    """An interpreter whose torch is this text: a script that starts this Python with a folder of its own."""
    packages = folder / "packages"
    (packages / "torch").mkdir(parents=True)
    (packages / "torch" / "__init__.py").write_text(textwrap.dedent(torch), encoding="utf-8")
    info = packages / "torch-2.13.0+rocm7.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0+rocm7.2\n", encoding="utf-8")
    return program(folder, "python", f'PYTHONPATH={packages} exec {sys.executable} -S "$@"')


HEALTHY = """
    class version: hip = "7.2.0"; cuda = None
    __version__ = "2.13.0+rocm7.2"
    class Card: name = "AMD Radeon RX 7900 XTX"; gcnArchName = "gfx1100"; multi_processor_count = 48; total_memory = 24 << 30
    class Number:
        def __init__(self, value): self.value = value
        def item(self): return self.value
        def __mul__(self, other): return Number(self.value * other)
    class Many(Number):
        def mul(self, factor): return Many(self.value * factor)
        def sum(self): return Number(self.value)
        def __matmul__(self, other): return Many(32768.0)
    def arange(n, device): return Many(28.0)
    def ones(*shape, device): {kernel}
    class cuda:
        is_available = staticmethod(lambda: True)
        device_count = staticmethod(lambda: 1)
        get_arch_list = staticmethod(lambda: ["gfx1100"])
        get_device_properties = staticmethod(lambda index: Card)
"""


def asked(folder: Path, torch: str, timeout_s: float = 60.0) -> dict[str, Any]:
    return interpreter.torch(str(fake_environment(folder, torch)), ask, timeout_s)


@POSIX
def test_a_torch_that_works(tmp_path: Path) -> None:
    found = asked(tmp_path, HEALTHY.format(kernel="return Many(1.0)"))
    entry = found["torch"]
    assert (entry["version"], entry["hip"], entry["gcn_arch_names"], entry["kernel_result"]) == (
        "2.13.0+rocm7.2",
        "7.2.0",
        ["gfx1100"],
        "ok",
    )
    assert entry["devices"][0]["compute_units"] == 48 and entry["devices"][0]["memory_bytes"] == 24 << 30
    assert found["packages"]["torch"] == "2.13.0+rocm7.2"


@POSIX
@pytest.mark.parametrize(("kernel", "said"), [
    ("raise RuntimeError('HIP error: invalid device function')", "RuntimeError: HIP error: invalid device function"),
    ("return Many(1.0) if not setattr(Many, '__matmul__', lambda a, b: Many(7.0)) else 0", "wrong numbers"),
    ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "was ended by the signal SIGSEGV"),
])  # fmt: skip
def test_a_kernel_that_fails_is_wrong_or_crashes(tmp_path: Path, kernel: str, said: str) -> None:
    assert said in asked(tmp_path, HEALTHY.format(kernel=kernel))["torch"]["kernel_result"]


@POSIX
def test_a_kernel_that_hangs(tmp_path: Path) -> None:
    entry = asked(tmp_path, HEALTHY.format(kernel="import time; time.sleep(600)"), 3.0)["torch"]
    assert entry["kernel_result"] is None or "was stopped after 3 s" in entry["kernel_result"] or entry.get("error")


@POSIX
@pytest.mark.parametrize(("torch", "said", "code"), [
    ("raise ImportError('libtorch_hip.so: file too short')", "ImportError: libtorch_hip.so: file too short", "torch-missing"),
    ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "import torch was ended by the signal SIGSEGV", "torch-missing"),
    ("import os; os._exit(7)", "import torch ended with status 7", "torch-missing"),
    ("raise ImportError('libamdhip64.so.6: cannot open shared object file: No such file or directory')", "libamdhip64.so.6",
     "hip-library-mismatch"),
    ("x = (", "SyntaxError", "torch-missing"),
    ("raise SystemExit(0)", "SystemExit", "torch-missing"),
    ("raise ModuleNotFoundError(\"No module named 'torch'\")", "No module named 'torch'", "torch-missing"),
])  # fmt: skip
def test_a_torch_that_does_not_start_is_evidence(tmp_path: Path, torch: str, said: str, code: str) -> None:
    found = asked(tmp_path, torch)
    assert said in found["torch"]["error"] and found["torch"]["cuda_available"] is None
    card = {"address": "0000:03:00.0", "class": "0x030000", "vendor": "1002", "device": "744c", "driver": "amdgpu"}
    machine = {"labkit_snapshot": 1, "system": "Linux", "kernel": "6.18.0", "pci": [card], "modules": {"amdgpu": "live"},
               "devices": {"/dev/kfd": {"mode": "crw-rw----", "group": "render", "openable": True}}, "groups": ["render"]}  # fmt: skip
    diagnosis = doctor.diagnose(evidence.from_snapshot({**machine, **found}))
    assert diagnosis.findings[0].code == code, [finding.code for finding in diagnosis.findings]
    assert any(said in line for line in diagnosis.findings[0].evidence)


@POSIX
def test_an_import_that_never_returns_is_named_as_likely(tmp_path: Path) -> None:
    found = asked(tmp_path, "import time; time.sleep(600)", 4.0)
    if "torch" not in found["torch"].get("error", "") or "stopped" not in found["torch"]["error"]:
        pytest.skip("this machine was too busy to reach the import")
    first = doctor.diagnose(evidence.from_snapshot({"labkit_snapshot": 1, "system": "Linux", **found})).findings[0]
    assert first.code == "import-hang" and first.confidence == "likely"


@pytest.mark.parametrize("answer", [
    Answer("", None, "could not be started: no such file"), Answer("Segmentation fault", -11), Answer("\x00\xff", 1),
    Answer(f"\n{torch_probe.MARK}{{cut", 0), Answer(f"\n{torch_probe.MARK}{json.dumps({'stage': 'list the packages'})}\n", -9),
])  # fmt: skip
def test_an_interpreter_that_says_nothing_useful_is_survived(answer: Answer) -> None:
    found = interpreter.read_torch(answer, 5.0)
    doctor.diagnose(evidence.from_snapshot({"labkit_snapshot": 1, "system": "Linux", **found}))
    assert found["torch"].get("kernel_result") is None


def test_what_lies_in_the_current_folder_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise SystemError('a file of the user')", encoding="utf-8")
    line = interpreter.command(sys.executable, torch_probe)
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=120, check=False)
    assert "a file of the user" not in done.stdout


@POSIX
def test_tensorflow_is_asked_only_where_it_is(tmp_path: Path) -> None:
    if importlib.util.find_spec("tensorflow") is None:
        assert interpreter.tensorflow(sys.executable, ask, 60.0) is None
    said = interpreter.read_tensorflow(Answer('\n@labkit-tensorflow@{"package": "tensorflow-rocm 2.18.1"}\n'
                                              '\n@labkit-tensorflow@{"stage": "import tensorflow"}\n', -11), 5.0)  # fmt: skip
    assert said and said["package"] == "tensorflow-rocm 2.18.1" and "SIGSEGV" in said["error"]
    assert interpreter.read_tensorflow(Answer('\n@labkit-tensorflow@{"package": null}\n'), 5.0) is None


def test_file_systems_are_found_by_the_longest_mount_point() -> None:
    mounts = "/dev/sda / ext4 rw 0 0\nserver:/h /home nfs4 rw 0 0\ntmpfs /home/me/.cache tmpfs rw 0 0\nx /my\\040disk xfs rw 0 0"
    assert [places.file_system(path, mounts) for path in ("/etc", "/home/me", "/home/me/.cache/miopen", "/homeless", "/my disk/a")] == [
        "ext4", "nfs4", "tmpfs", "ext4", "xfs"]  # fmt: skip


def test_a_quick_snapshot_stays_quick_and_small() -> None:
    found = collect(quick=True)
    assert "torch" not in found and "tools" not in found and json.loads(json.dumps(found)) == found


def test_memory_that_programs_may_still_take(tmp_path: Path) -> None:
    told = tmp_path / "meminfo"
    told.write_text("MemTotal:       16000 kB\nMemFree:    1000 kB\nMemAvailable:    8000 kB\n")
    assert places.ram_available_bytes(told) == 8000 * 1024
    told.write_text("MemTotal:       16000 kB\n")
    assert places.ram_available_bytes(told) is None
