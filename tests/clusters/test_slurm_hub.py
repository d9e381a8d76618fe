"""JupyterHub's configuration for a Slurm cluster, in a real Slurm: a real hub, and each learner's server is a job."""

from __future__ import annotations

import contextlib
import getpass
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from labkit.workshop.hub import proxy
from tests.clusters.private_slurm import ROOT, Slurm, free_ports
from tests.workshop.hub.live_hub import Learner

FILE = ROOT / "notebooks" / "scripts" / "slurm_hub" / "jupyterhub_config.py"
PASSWORD = "only for this test"


def changed(text: str, changes: dict[str, str]) -> str:
    """The file as somebody has changed it for their cluster."""
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@dataclass
class Hub:
    """A hub with our configuration; ``url`` and ``said`` are what a Learner wants of one."""

    folder: Path
    slurm: Slurm
    url: str = ""
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        return self.folder / "hub.log"

    def configure(self, proxy_command: str) -> None:
        public, inner, proxy = free_ports(3)
        self.url = f"http://127.0.0.1:{public}"
        text = changed(
            FILE.read_text(encoding="utf-8"),
            {
                'COURSE = "/shared/rocm-labs"': f"COURSE = {str(ROOT)!r}",
                'ENVIRONMENT = f"{COURSE}/.venv"': f"ENVIRONMENT = {sys.prefix!r}",
                '"hub.cluster.example"': '"127.0.0.1"',
                # A node has eight cores, so the two learners are on different nodes.
                '"nprocs": "8", "memory": "32G"': '"nprocs": "5", "memory": "500M"',
                '"nprocs": "4", "memory": "8G"': '"nprocs": "2", "memory": "500M"',
                'hub_bind_url = "http://0.0.0.0:8081"': f'hub_bind_url = "http://127.0.0.1:{inner}"',
                "{HUB_ADDRESS}:8081": f"{{HUB_ADDRESS}}:{inner}",
                "http://:8000": self.url,
                "http://127.0.0.1:8001": f"http://127.0.0.1:{proxy}",
            },
        )
        # What a test cannot have: accounts on a cluster. All jobs run as this user, each learner with a home of their own.
        # Two slurmd on one machine are told apart by names that mean nothing to the network: MultiSlurmSpawner has a table for it.
        text += f"""
import os, traitlets
class OneAccount(batchspawner.MultiSlurmSpawner):
    @property
    def home(self):
        folder = os.path.join({str(self.folder / "homes")!r}, self.user.name)
        os.makedirs(folder, exist_ok=True)
        return folder
    @traitlets.default("req_homedir")
    def _home(self):
        return self.home
    def user_env(self, env):
        return {{**env, "USER": self.user.name, "HOME": self.home}}
c.JupyterHub.spawner_class = OneAccount
c.MultiSlurmSpawner.daemon_resolver = {{"one": "127.0.0.1", "two": "127.0.0.1"}}
c.BatchSpawnerBase.exec_prefix = ""
c.Spawner.args = ["--allow-root"]
c.Spawner.environment = {{"PYTHONPATH": os.environ.get("PYTHONPATH", "")}}
c.ConfigurableHTTPProxy.command = [{proxy_command!r}]
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = {PASSWORD!r}
c.Authenticator.allow_all = True
c.JupyterHub.db_url = "sqlite:///{self.folder}/hub.sqlite"
c.JupyterHub.cookie_secret_file = "{self.folder}/secret"
c.JupyterHub.log_level = "DEBUG"
"""
        (self.folder / "jupyterhub_config.py").write_text(text, encoding="utf-8")

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "jupyterhub", "--config", str(self.folder / "jupyterhub_config.py")],
                cwd=self.folder,
                env=self.slurm.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        assert settles(self.answers), self.said()

    def answers(self) -> bool:
        with contextlib.suppress(requests.RequestException):
            return requests.get(f"{self.url}/hub/api", timeout=5).status_code == 200
        return False

    def end(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)
            self.process = None

    def said(self) -> str:
        logs = sorted(self.folder.glob("homes/*/*.log"))
        texts = [self.log, *logs]
        return "\n".join(f"{path.name}: {path.read_text(errors='replace')[-3000:]}" for path in texts)


class Seat(Learner):
    """A learner with one kernel."""

    open: str = ""

    def prints(self, code: str) -> str:
        self.open = self.open or self.kernel()
        return self.run(self.open, code).strip()

    def start_by_api(self, **options: str) -> int:
        """Asks for a server past the form; the status of the answer."""
        address = f"{self.hub.url}/hub/api/users/{self.name}/server"
        headers = {"X-XSRFToken": self.cookie("/hub/"), "Referer": f"{self.hub.url}/hub/home"}
        return self.session.post(address, json=options, headers=headers, timeout=120).status_code


def missing() -> str | None:
    absent = [name for name in ("jupyterhub", "batchspawner") if importlib.util.find_spec(name) is None]
    return f"not installed: {', '.join(absent)}" if absent else None


@pytest.fixture(scope="module")
def hub(slurm: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    why = missing()
    if why:
        if os.environ.get("CI"):
            pytest.fail(f"NOT CHECKED: the hub for Slurm. {why}")
        pytest.skip(why)
    hub = Hub(tmp_path_factory.mktemp("slurm_hub"), slurm)
    hub.configure(proxy.ensure(ROOT / "build" / "hub-proxy"))
    hub.start()
    yield hub
    hub.end()
    slurm.ask("scancel", "--user", getpass.getuser())


@pytest.fixture(scope="module")
def learners(hub: Hub) -> dict[str, Seat]:
    """Two with a GPU each, on the two nodes; ada has a lesson of an earlier day."""
    kept = hub.folder / "homes" / "ada" / "rocm-labs" / "00_environment_check.ipynb"
    kept.parent.mkdir(parents=True)
    kept.write_text("hers", encoding="utf-8")
    found = {name: Seat(hub, name, PASSWORD) for name in ("ada", "grace")}
    for learner in found.values():
        learner.login()
        learner.post(f"/hub/spawn/{learner.name}", {"profile": "gpu"})
    for learner in found.values():
        assert learner.wait(240) == "", hub.said()
    return found


def jobs(slurm: Slurm) -> list[int]:
    answer = slurm.ask("squeue", "-h", "-n", "spawner-jupyterhub", "-o", "%i")
    return [int(word) for word in answer.stdout.split()]


def settles(ready: object, seconds: float = 60) -> bool:
    assert callable(ready)
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.3)
    return True


def variable(learner: Seat, name: str) -> str:
    return learner.prints(f"import os; print(os.environ.get({name!r}, 'not set'))")


def test_each_server_is_a_job_and_its_kernel_runs_in_it(hub: Hub, learners: dict[str, Seat]) -> None:
    found = {int(variable(learner, "SLURM_JOB_ID")) for learner in learners.values()}
    assert found == set(jobs(hub.slurm))
    assert len(found) == 2


def test_each_sees_one_gpu_by_one_variable_and_never_the_same(hub: Hub, learners: dict[str, Seat]) -> None:
    """Node two does not say that its GPUs are AMD's: Slurm sets three variables there, of which two are taken away."""
    seen = set()
    for learner in learners.values():
        gpu, node = variable(learner, "ROCR_VISIBLE_DEVICES"), variable(learner, "SLURMD_NODENAME")
        assert re.fullmatch(r"\d", gpu)
        seen.add((node, gpu))
        for name in ("CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"):
            assert variable(learner, name) == "not set"
    assert len(seen) == 2
    assert {node for node, _ in seen} == {"one", "two"}, "the second node has to be tried, too"


def test_the_server_has_the_cores_that_the_job_asked_for(hub: Hub, learners: dict[str, Seat]) -> None:
    for learner in learners.values():
        assert variable(learner, "SLURM_CPUS_PER_TASK") == "5"
        step = hub.slurm.ask("scontrol", "show", "step", f"{variable(learner, 'SLURM_JOB_ID')}.0").stdout
        assert re.search(r"\bCPUs=5\b", step), step


def test_lessons_are_brought_and_what_was_there_is_kept(hub: Hub, learners: dict[str, Seat]) -> None:
    for learner in learners.values():
        names = {item["name"] for item in learner.api("GET", "contents").json()["content"]}
        assert {"00_environment_check.ipynb", "01_mnist.ipynb"} <= names
    assert (hub.folder / "homes/ada/rocm-labs/00_environment_check.ipynb").read_text(encoding="utf-8") == "hers"
    assert learners["grace"].prints("import labkit; print(labkit.__file__)").startswith(str(ROOT))


def test_another_learners_server_is_closed(learners: dict[str, Seat]) -> None:
    ada, grace = learners["ada"], learners["grace"]
    assert ada.get("/user/grace/api/contents").status_code == 403
    assert grace.get("/user/grace/api/contents").status_code == 200


def test_a_hub_that_is_started_anew_finds_the_jobs_that_run(hub: Hub, learners: dict[str, Seat]) -> None:
    before, grace = set(jobs(hub.slurm)), learners["grace"]
    grace.prints("x = 41")
    hub.end()
    hub.start()
    assert set(jobs(hub.slurm)) == before
    assert grace.wait() == ""
    assert grace.prints("print(x + 1)") == "42"


def test_only_a_profiles_name_is_taken_from_a_request(hub: Hub, learners: dict[str, Seat]) -> None:
    mary, evil = Seat(hub, "mary", PASSWORD), hub.folder / "evil"
    mary.login()
    mary.get("/hub/home")
    assert mary.start_by_api(profile="all of it") == 400
    assert mary.start_by_api(profile="cpu", prologue=f"touch {evil}", nprocs="8", gres="gpu:4") in (201, 202)
    assert mary.wait(240) == ""
    assert not evil.exists()
    assert variable(mary, "SLURM_CPUS_PER_TASK") == "2"
    assert variable(mary, "ROCR_VISIBLE_DEVICES") == "not set"


def test_a_server_that_is_stopped_is_a_job_that_has_ended(hub: Hub, learners: dict[str, Seat]) -> None:
    job = int(variable(learners["ada"], "SLURM_JOB_ID"))
    ada = learners["ada"]
    headers = {"X-XSRFToken": ada.cookie("/hub/"), "Referer": f"{hub.url}/hub/home"}
    answer = ada.session.delete(f"{hub.url}/hub/api/users/ada/server", headers=headers, timeout=120)
    assert answer.status_code in (202, 204)
    assert settles(lambda: job not in jobs(hub.slurm))
