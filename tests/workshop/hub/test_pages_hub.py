"""The pages on hubs for clusters, and Slurm's configuration without a Slurm: what they name is there, and what has to agree agrees.

tests/clusters/test_slurm_hub.py runs that configuration for real; tests/clusters/test_kubernetes_hub.py checks the chart's values.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from typing import Any

import pytest

from labkit.importable import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="hubs are for Linux")
PAGES = {
    name: (ROOT / "notebooks" / "pages" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("hub_slurm", "hub_kubernetes")
}
CONFIG = ROOT / "notebooks" / "scripts" / "slurm_hub" / "jupyterhub_config.py"
SLURM = PAGES["hub_slurm"]


def commands(text: str) -> list[str]:
    return [line for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL) for line in block.strip().splitlines()]


@pytest.fixture(scope="module")
def config() -> Any:
    """What the file sets, as JupyterHub reads it."""
    if importlib.util.find_spec("batchspawner") is None:
        pytest.skip("not installed: batchspawner")
    from traitlets.config import PyFileConfigLoader

    return PyFileConfigLoader(CONFIG.name, str(CONFIG.parent)).load_config()


@pytest.mark.parametrize("name", PAGES)
def test_bash_can_read_the_commands_and_files_that_they_name_are_there(name: str) -> None:
    if not shutil.which("bash"):
        pytest.skip("no bash here")
    lines = commands(PAGES[name])
    assert len(lines) >= 4
    answer = subprocess.run(
        ["bash", "-n"], input="\n".join(lines), capture_output=True, text=True, timeout=30, check=False
    )
    assert answer.returncode == 0, answer.stderr
    for path in set(re.findall(r"notebooks/scripts/[\w./]+\w", PAGES[name])):
        assert (ROOT / path).exists(), path


def test_every_setting_of_the_slurm_hub_is_one_that_there_is(config: Any) -> None:
    """JupyterHub takes a misspelt setting without a word."""
    import batchspawner
    from jupyterhub.app import JupyterHub
    from jupyterhub.auth import Authenticator, LocalAuthenticator
    from jupyterhub.proxy import ConfigurableHTTPProxy
    from jupyterhub.spawner import Spawner

    known = {
        "JupyterHub": JupyterHub, "Authenticator": Authenticator, "LocalAuthenticator": LocalAuthenticator,
        "ConfigurableHTTPProxy": ConfigurableHTTPProxy, "Spawner": Spawner, "SlurmSpawner": batchspawner.SlurmSpawner,
        "BatchSpawnerBase": batchspawner.batchspawner.BatchSpawnerBase,
    }  # fmt: skip
    assert set(config) <= set(known)
    unknown = [
        f"{part}.{name}"
        for part in config
        for name in config[part]
        if name not in known[part].class_trait_names(config=True)
    ]
    assert unknown == []
    assert "batchspawner" in config.JupyterHub.spawner_class


def test_a_profiles_fields_are_requests_that_the_spawner_has() -> None:
    if importlib.util.find_spec("batchspawner") is None:
        pytest.skip("not installed: batchspawner")
    import batchspawner

    source = CONFIG.read_text(encoding="utf-8")
    fields = set(re.findall(r'"(\w+)": "', source[source.index("PROFILES") : source.index("# ---- Who may log in")]))
    assert {"gres", "nprocs", "memory", "runtime"} <= fields
    for field in fields:
        assert (
            batchspawner.SlurmSpawner.class_trait_names()
            and f"req_{field}" in batchspawner.SlurmSpawner.class_trait_names()
        )


def test_the_form_offers_the_profiles_and_takes_nothing_else(config: Any) -> None:
    form = config.Spawner.options_form(None)
    assert re.findall(r'value="(\w+)"', form) == ["gpu", "cpu"]
    assert config.Spawner.options_from_form({"profile": ["cpu"], "prologue": ["rm"]}) == {"profile": "cpu"}
    assert config.Spawner.options_from_form({}) == {"profile": "gpu"}


def test_options_of_ones_own_do_not_reach_the_script(config: Any) -> None:
    class Stub:
        user_options: dict[str, str] = {}  # noqa: RUF012
        req_gres = req_nprocs = req_memory = req_runtime = ""

    spawner = Stub()
    config.Spawner.apply_user_options(
        spawner, {"profile": "cpu", "prologue": "touch evil", "cmd": "x", "gres": "gpu:8"}
    )
    assert spawner.user_options == {"profile": "cpu"}
    assert (spawner.req_gres, spawner.req_nprocs) == ("", "4")
    assert not hasattr(spawner, "req_prologue")
    config.Spawner.apply_user_options(spawner, {})
    assert spawner.req_gres == "gpu:1"
    with pytest.raises(ValueError, match="no profile"):
        config.Spawner.apply_user_options(spawner, {"profile": "everything"})


def test_no_port_but_the_browsers_and_the_hubs_is_open(config: Any) -> None:
    assert config.ConfigurableHTTPProxy.api_url.startswith("http://127.0.0.1:")
    ports = {
        int(text)
        for text in re.findall(r"\b8\d{3}\b", f"{config.JupyterHub.bind_url} {config.JupyterHub.hub_bind_url}")
    }
    assert ports == {8000, 8081}
    for port in ports:
        assert f"port {port}" in SLURM


def test_the_page_tries_what_the_profile_asks_for() -> None:
    """The numbers of the page's sbatch are those of the profile with a GPU."""
    source = CONFIG.read_text(encoding="utf-8")
    asked = dict(re.findall(r'"(\w+)": "([^"]+)"', next(line for line in source.splitlines() if '"gpu": (' in line)))
    command = next(line for line in commands(SLURM) if line.startswith("sbatch"))
    options = dict(re.findall(r"--([\w-]+)=(\S+)", command))
    assert (options["gres"], options["cpus-per-task"], options["mem"], options["time"]) == (
        asked["gres"], asked["nprocs"], asked["memory"], asked["runtime"],
    )  # fmt: skip


LINES = (
    "import batchspawner", "SRUN_CPUS_PER_TASK", "srun --export=ALL", "env -u CUDA_VISIBLE_DEVICES -u GPU_DEVICE_ORDINAL",
    "apply_user_options", "cleanup_servers = False",
)  # fmt: skip


@pytest.mark.parametrize("what", LINES)
def test_what_the_page_says_is_in_the_file_is_in_the_file(what: str) -> None:
    assert f"| `{what}` |" in SLURM
    assert re.sub(r"^srun ", "", what) in CONFIG.read_text(encoding="utf-8")


def test_both_pages_say_what_was_not_verified() -> None:
    assert "**Not yet verified on ROCm.**" in SLURM
    assert "Not yet verified on ROCm" in CONFIG.read_text(encoding="utf-8")
    assert "**Not yet verified on Kubernetes or ROCm.**" in PAGES["hub_kubernetes"]
