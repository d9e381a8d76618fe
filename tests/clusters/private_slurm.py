"""A real Slurm of one's own: munged, slurmctld and two slurmd on this machine, in one folder, on free ports, as this user.

Needs Debian's slurmctld, slurmd, slurm-client and munge, and no root. Every daemon runs under labkit's lifeline: it ends with
the test run, however that ends, and takes the steps it started along.
"""

from __future__ import annotations

import getpass
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from labkit.comm import lifeline

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "squeue", "scancel")
NODES = ("one", "two")
_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random")  # stand-ins for GPUs
_LIMIT_S = "600"


def missing() -> str | None:
    """Why there can be no Slurm here, or None."""
    if sys.platform != "linux":
        return "Slurm runs on Linux"
    absent = [name for name in PROGRAMS if not shutil.which(name, path=_PATH)]
    return f"not installed: {', '.join(absent)} ('bash .ci/run' brings them)" if absent else None


def free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()


@dataclass
class Slurm:
    """The cluster in ``folder``; use it with ``with``."""

    folder: Path
    daemons: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("SLURM", "TORCHELASTIC"))}
        return {**kept, "PATH": _PATH, "SLURM_CONF": str(self.folder / "slurm.conf"), "PYTHON": sys.executable}

    def __enter__(self) -> Slurm:
        try:
            self._configure()
            self._start()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def ask(self, *command: str, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs a command that knows this Slurm."""
        return subprocess.run(
            [shutil.which(command[0], path=_PATH) or command[0], *command[1:]],
            cwd=cwd,
            env={**self.environment, **variables},
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=60,
            check=False,
        )

    def submit(self, *arguments: str, **variables: str) -> int:
        """sbatch; gives the job's number."""
        answer = self.ask("sbatch", "--parsable", *arguments, **variables)
        assert answer.returncode == 0, answer.stderr
        return int(answer.stdout.strip().split(";")[0])

    def state(self, job: int) -> str:
        """RUNNING, PENDING, COMPLETED, FAILED and so on."""
        found = re.search(r"JobState=(\w+)", self.ask("scontrol", "show", "job", str(job)).stdout)
        return found.group(1) if found else "UNKNOWN"

    def wait(self, job: int, seconds: float = 120) -> str:
        """The state in which the job ended."""
        deadline = time.monotonic() + seconds
        while (state := self.state(job)) in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED"):
            if time.monotonic() > deadline:
                return f"still {state}"
            time.sleep(0.2)
        return state

    def end(self) -> None:
        """Ends every daemon and every step that is left."""
        for daemon in reversed(self.daemons):
            if daemon.stdin:
                daemon.stdin.close()
        for daemon in self.daemons:
            daemon.wait(30)
        self.daemons.clear()

    def logs(self) -> str:
        """The last lines of every daemon."""
        texts = sorted((self.folder / "log").glob("*"))
        return "\n".join(f"{path.name}: {path.read_text(errors='replace')[-1500:]}" for path in texts)

    def _configure(self) -> None:
        here, user, host = self.folder, getpass.getuser(), socket.gethostname().split(".")[0]
        for name in ("log", "state", "munge", *(f"spool-{node}" for node in NODES)):
            (here / name).mkdir()
        key = here / "munge" / "key"
        key.touch(0o600)
        key.write_bytes(secrets.token_bytes(128))
        control, *ports = free_ports(1 + len(NODES))
        nodes = [
            f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=8 RealMemory=1000 Gres=gpu:{len(DEVICES)}"
            for node, port in zip(NODES, ports, strict=True)
        ]
        settings = f"""\
ClusterName=private
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={here}/munge/socket,cred_expire=5
SlurmctldPort={control}
SlurmctldPidFile={here}/slurmctld.pid
SlurmdPidFile={here}/slurmd-%n.pid
SlurmdSpoolDir={here}/spool-%n
StateSaveLocation={here}/state
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,sched_min_interval=200000,bf_interval=1
GresTypes=gpu
ReturnToService=2
KillWait=2
"""
        rest = ["PartitionName=gpu Nodes=ALL Default=YES State=UP MaxTime=600", ""]
        (here / "slurm.conf").write_text(settings + "\n".join(nodes + rest), encoding="utf-8")
        # Slurm wants a device per GPU, and numbers them by it. Node one says that they are AMD's, node two says nothing.
        gpus = [
            f"NodeName={node} Name=gpu {flags}File={device}"
            for node, flags in zip(NODES, ("Flags=amd_gpu_env ", ""), strict=True)
            for device in DEVICES
        ]
        (here / "gres.conf").write_text("\n".join([*gpus, ""]), encoding="utf-8")
        # No control groups are touched. Slurm has a word for that since 24.05; before, the v1 plugin that nobody uses is it.
        version = re.search(r"(\d+)\.\d+", self.ask("slurmd", "-V").stdout)
        plugin = "disabled" if version and int(version.group(1)) >= 24 else "cgroup/v1"
        (here / "cgroup.conf").write_text(f"CgroupPlugin={plugin}\n", encoding="utf-8")

    def _start(self) -> None:
        here = self.folder
        conf = str(here / "slurm.conf")
        munge = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        self._daemon("munged", "--foreground", "--force", *(f"--{k}={here}/munge/{v}" for k, v in munge.items()))
        self._until(lambda: (here / "munge" / "socket").exists(), "munged")
        self._daemon("slurmctld", "-D", "-f", conf)
        for node in NODES:
            self._daemon("slurmd", "-D", "-N", node, "-f", conf, log=f"slurmd-{node}")
        self._until(
            lambda: self.ask("sinfo", "-h", "-t", "idle", "-o", "%D").stdout.strip() == str(len(NODES)), "Slurm"
        )

    def _daemon(self, *command: str, log: str = "") -> None:
        program = shutil.which(command[0], path=_PATH) or command[0]
        with (self.folder / "log" / (log or command[0])).open("wb") as output:
            self.daemons.append(
                subprocess.Popen(
                    [sys.executable, str(Path(lifeline.__file__)), _LIMIT_S, program, *command[1:]],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=self.environment,
                )
            )

    def _until(self, ready: object, what: str, seconds: float = 30) -> None:
        assert callable(ready)
        deadline = time.monotonic() + seconds
        while not ready():
            ended = [daemon.args for daemon in self.daemons if daemon.poll() is not None]
            if ended or time.monotonic() > deadline:
                raise RuntimeError(f"{what} did not start ({ended}):\n{self.logs()}")
            time.sleep(0.1)
