"""The text of jupyterhub_config.py: complete, short, each setting with the reason why."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from labkit.course import lab
from labkit.importable import ROOT
from labkit.workshop.hub.accounts import PASSWORD_LENGTH


@dataclass(frozen=True)
class Choices:
    """What a teacher chooses on the command line. first_uid: None without root."""

    folder: Path
    bind: str = "0.0.0.0"
    port: int = 8000
    hub_port: int = 8081
    proxy_port: int = 8001
    proxy: str = "configurable-http-proxy"
    teacher: str = "teacher"
    learners: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    pretended: bool = False
    share: int = 1
    memory: str = "4G"
    first_uid: int | None = None
    trust_learners: bool = False


def text(choices: Choices) -> str:
    """The configuration as Python source."""
    c = choices
    people = (
        f"c.WorkshopAuthenticator.allowed_users = {set(c.learners)!r}\nc.WorkshopAuthenticator.allow_all = False"
        if c.learners
        else "c.WorkshopAuthenticator.allowed_users = set()\nc.WorkshopAuthenticator.allow_all = True"
    )
    uids = (
        f"# User ids {c.first_uid} to {c.first_uid + 999} are this hub's. Do not change it later: files belong to them.\n"
        f"c.LeaseSpawner.first_uid = {c.first_uid}"
        if c.first_uid is not None
        else "# Not root: all learners run as one user and can read and change each other's files. True: that is all right here.\n"
        f"c.LeaseSpawner.trust_learners = {c.trust_learners}"
    )
    pretended = (
        "# PRETENDED: these GPUs do not exist. For trying the hub out; every page says so."
        if c.pretended
        else "# Not yet verified on ROCm hardware."
    )
    quiet = ",\n    ".join(f'"{option}"' for option in lab.QUIET)
    return f'''"""JupyterHub for ROCm Labs, written by `labkit workshop hub`. Change what you like: it is never overwritten.

Start it:  python3 -m labkit workshop hub -o {c.folder}
The page notebooks/pages/hub.md explains it, also what is not protected.
"""

import sys
from pathlib import Path

sys.path.insert(0, {str(ROOT)!r})  # where labkit is

from labkit.workshop.hub.accounts import Folder
from labkit.workshop.hub.auth import WorkshopAuthenticator
from labkit.workshop.hub.spawner import LeaseSpawner

c = get_config()  # noqa: F821  JupyterHub gives it
place = Folder(Path({str(c.folder)!r}))

# ---- What the room reaches -----------------------------------------------------------------------------------------------
# The only open port. 127.0.0.1 instead of 0.0.0.0 opens it for this machine alone (then a reverse proxy or ssh -L leads to it).
c.JupyterHub.bind_url = "http://{c.bind}:{c.port}"
# Without TLS everyone in the network can read passwords. With a certificate: https:// above, and these two.
# c.JupyterHub.ssl_key = "/etc/letsencrypt/live/YOUR.NAME/privkey.pem"
# c.JupyterHub.ssl_cert = "/etc/letsencrypt/live/YOUR.NAME/fullchain.pem"
# With names of their own (*.hub.example.org) learners' pages cannot touch each other in a browser; needs DNS and a certificate.
# c.JupyterHub.subdomain_host = "https://hub.example.org"

# ---- What only this machine reaches --------------------------------------------------------------------------------------
# The hub's and the proxy's own doors; both want a token that only the hub, the proxy and the servers have. Change only if in use.
c.JupyterHub.hub_bind_url = "http://127.0.0.1:{c.hub_port}"
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{c.proxy_port}"
c.ConfigurableHTTPProxy.command = [{c.proxy!r}]
c.Spawner.ip = "127.0.0.1"  # learners' servers; they want the hub's login too

# ---- What is kept --------------------------------------------------------------------------------------------------------
# All of it is private to whoever runs the hub, and is your backup (hub.md): logins, who has which GPU, passwords (bcrypt).
c.JupyterHub.db_url = f"sqlite:///{{place.private / 'jupyterhub.sqlite'}}"
c.JupyterHub.cookie_secret_file = str(place.private / "cookie_secret")
c.ConfigurableHTTPProxy.pid_file = str(place.private / "proxy.pid")
# True: Ctrl-C ends the learners' servers too. False for both: they go on, and the next start finds them (to change a setting).
c.JupyterHub.cleanup_servers = True
c.JupyterHub.cleanup_proxy = True

# ---- Who may come in -----------------------------------------------------------------------------------------------------
# The first password that is typed for a name counts from then on. The teacher's is set where the hub is started.
c.JupyterHub.authenticator_class = WorkshopAuthenticator
c.WorkshopAuthenticator.admin_users = {{{c.teacher!r}}}
# Names that may log in. allow_all = True: anybody who reaches the page, under any name that is not taken.
{people}
c.WorkshopAuthenticator.dbm_path = str(place.passwords)
c.WorkshopAuthenticator.min_password_length = {PASSWORD_LENGTH}
# What the login page says; a line of HTML.
c.JupyterHub.template_vars = {{
    "announcement_login": "First time here? The password that you type now becomes yours: {PASSWORD_LENGTH} characters or more. "
    "Forgotten? Ask the teacher.",
    {'"announcement": "The GPUs here are PRETENDED: they do not exist.",' if c.pretended else '# "announcement": "on every page",'}
}}
# An admin sees and stops servers, adds and deletes people. True here would also open learners' notebooks to the teacher.
c.JupyterHub.admin_access = False

# ---- GPUs ----------------------------------------------------------------------------------------------------------------
c.JupyterHub.spawner_class = LeaseSpawner
{pretended}
c.LeaseSpawner.gpus = {list(c.gpus)!r}  # indices or UUIDs, as ROCR_VISIBLE_DEVICES takes them
c.LeaseSpawner.share = {c.share}  # learners per GPU; above 1 they share its memory, and one can take it all
c.LeaseSpawner.pretended = {c.pretended}

# ---- Each learner's server -----------------------------------------------------------------------------------------------
{uids}
c.LeaseSpawner.folder = str(place.path)
c.Spawner.cmd = [sys.executable, "-m", "jupyterhub.singleuser"]
c.Spawner.notebook_dir = str(place.path / "homes" / "{{username}}" / "notebooks")
c.Spawner.default_url = "/lab"  # where the course puts its start page in front
c.Spawner.args = [
    "--KernelManager.transport=ipc",  # kernels talk through private files; at a port every local user could read along
    {quiet},
]
# Of the shell that starts the hub, learners' servers get only this. Add LD_LIBRARY_PATH if your ROCm needs it.
c.Spawner.env_keep = ["PATH", "LANG", "LC_ALL"]

# ---- Limits of one learner (which of them need root: hub.md) ---------------------------------------------------------------
c.Spawner.mem_limit = {c.memory!r}  # times the learners in the room it should fit into the machine's memory
c.Spawner.cpu_limit = {_cpus()}  # cores; enforced only with cgroup v2, else a request that PyTorch follows
c.LeaseSpawner.disk_limit = "5G"  # the learner's folder
c.LeaseSpawner.file_limit = "2G"  # one file
c.LeaseSpawner.process_limit = 1000  # processes and threads together; root only
# cgroup v2 enforces memory, cores and processes, where the hub was started with: systemd-run --scope -p Delegate=yes ...
c.LeaseSpawner.control_groups = True

# ---- Thirty people at once -----------------------------------------------------------------------------------------------
# Servers start a few at a time and in order; a learner sees how many are before them. More helps only with many cores.
c.LeaseSpawner.starts_at_once = {_starts()}
c.JupyterHub.concurrent_spawn_limit = 0  # JupyterHub's own way is to turn people away (429); ours is to let them wait
c.Spawner.start_timeout = 900  # seconds, the waiting included
c.Spawner.http_timeout = 120
c.Spawner.poll_interval = 15  # how soon a server that died is noticed, and its GPU free again
c.JupyterHub.allow_named_servers = False  # one server, and so one GPU, for each
c.JupyterHub.shutdown_on_logout = False

# ---- Ending what nobody uses ---------------------------------------------------------------------------------------------
# timeout: seconds without a sign of life (a running cell that prints nothing is none); max-age: after that a server ends anyway.
c.JupyterHub.load_roles = [
    {{
        "name": "idle-culler",
        "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
        "services": ["idle-culler"],
    }}
]
c.JupyterHub.services = [
    {{
        "name": "idle-culler",
        "command": [
            *(sys.executable, "-m", "labkit.workshop.hub.culling"),
            *("--timeout=3600", "--max-age=43200", "--cull-every=300"),
        ],
        "environment": {{"PYTHONPATH": {str(ROOT)!r}, "LABKIT_HUB": str(place.path)}},
    }}
]
'''


def _cpus() -> int:
    """Half the cores, at least one and at most eight: a learner who computes alone may be quick."""
    return min(8, max(1, (os.cpu_count() or 1) // 2))


def _starts() -> int:
    """A server's start keeps about one core busy."""
    return max(2, (os.cpu_count() or 1) // 2)
