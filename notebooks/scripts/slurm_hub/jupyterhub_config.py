"""JupyterHub for a Slurm cluster: each learner's server is a job of theirs, with the GPU that Slurm gives it.

    jupyterhub --config notebooks/scripts/slurm_hub/jupyterhub_config.py

Read notebooks/pages/hub_slurm.md first. Change what stands under 'Your cluster'. Needs JupyterHub, batchspawner and
configurable-http-proxy on the machine where the hub runs, and JupyterHub (the same major version) and batchspawner in ENVIRONMENT.
Not yet verified on ROCm.
"""

import sys

import batchspawner  # noqa: F401  (adds /hub/api/batchspawner, to which a job tells its port: without this line every start times out)

c = get_config()  # noqa: F821  (JupyterHub gives it)

# ---- Your cluster ----------------------------------------------------------------------------------------------------------------
COURSE = "/shared/rocm-labs"  # the clone, on a file system that every node sees; learners may read it, and not write
ENVIRONMENT = f"{COURSE}/.venv"  # made by `python3 -m labkit setup` and `pip install batchspawner`, at the same path on every node
HUB_ADDRESS = "hub.cluster.example"  # this machine, by the name or address under which the compute nodes reach it
PARTITION = "gpu"
PROFILES = {
    # what the learner picks: (what they read, what Slurm is asked for)
    "gpu": ("One GPU, 4 hours", {"gres": "gpu:1", "nprocs": "8", "memory": "32G", "runtime": "4:00:00"}),
    "cpu": ("CPU only, 4 hours", {"gres": "", "nprocs": "4", "memory": "8G", "runtime": "4:00:00"}),
}

# ---- Who may log in --------------------------------------------------------------------------------------------------------------
# A job runs under the learner's own account, so the accounts are the cluster's: PAM asks for the password that they have there.
c.JupyterHub.authenticator_class = "pam"
c.Authenticator.allow_all = False
c.LocalAuthenticator.allowed_groups = {"course"}
c.Authenticator.admin_users = set()

# ---- Addresses -------------------------------------------------------------------------------------------------------------------
# Browsers come to 8000, and nothing else has to be open to them. Put a certificate there (ssl_key, ssl_cert), or a web server before it.
c.JupyterHub.bind_url = "http://:8000"
# Jobs speak to the hub's API on 8081: open to the compute nodes, and to nobody else. The proxy's own API stays on this machine.
c.JupyterHub.hub_bind_url = "http://0.0.0.0:8081"
c.JupyterHub.hub_connect_url = f"http://{HUB_ADDRESS}:8081"
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:8001"
# The other way round, the proxy opens each learner's server on its node, at a port that batchspawner-singleuser picked there.

# ---- A server is a job -----------------------------------------------------------------------------------------------------------
c.JupyterHub.spawner_class = "batchspawner.SlurmSpawner"
c.Spawner.cmd = [f"{ENVIRONMENT}/bin/jupyterhub-singleuser"]
# learner.py brings the lessons into ~/rocm-labs, where what a learner has changed is never written over, and becomes what is named
# behind it: batchspawner.singleuser, which takes a port and tells it to the hub, and then becomes jupyterhub-singleuser.
python = f"{ENVIRONMENT}/bin/python"
c.BatchSpawnerBase.batchspawner_singleuser_cmd = (
    f"{python} {COURSE}/notebooks/scripts/hub/learner.py {python} -m batchspawner.singleuser"
)
# sbatch, squeue and scancel run as the learner. The page has the line that sudo needs; with "" they run as the hub's own user.
c.BatchSpawnerBase.exec_prefix = "sudo -E -u {username}"
c.Spawner.notebook_dir = "~/rocm-labs"
c.Spawner.default_url = "/lab"
c.Spawner.start_timeout = 600  # seconds in the queue before the hub gives up and cancels the job
c.Spawner.http_timeout = 120  # seconds from 'running' to an answer: the first import from a shared file system is slow

# Slurm 22.05 and newer do not hand --cpus-per-task on to srun: without this a learner has one core. `module load` would stand here, too.
c.BatchSpawnerBase.req_prologue = 'export PATH SRUN_CPUS_PER_TASK="${SLURM_CPUS_PER_TASK:-1}"'
# Slurm says which GPU by ROCR_VISIBLE_DEVICES. Where gres.conf does not call the GPUs AMD's (Flags=amd_gpu_env, AutoDetect=rsmi), it sets
# two more variables with the same numbers, and a job whose GPU is not number 0 finds none: they are taken away again, behind srun.
# --export=ALL: PATH, and what `module load` sets, reaches the server; without it srun hands on only what the hub set.
c.SlurmSpawner.req_srun = "srun --export=ALL env -u CUDA_VISIBLE_DEVICES -u GPU_DEVICE_ORDINAL"
c.SlurmSpawner.req_partition = PARTITION
c.Spawner.env_keep = ["SLURM_CONF"]  # for sbatch, where slurm.conf is not in its usual place


def choices(spawner):
    """The form before the start."""
    lines = (f'<option value="{name}">{text}</option>' for name, (text, _) in PROFILES.items())
    return f'<label for="profile">Server</label> <select name="profile" id="profile" class="form-control">{"".join(lines)}</select>'


def chosen(form):
    return {"profile": form.get("profile", ["gpu"])[0]}


def apply(spawner, options):
    """Only the name of a profile is taken from a request: batchspawner would write any other option into the script."""
    name = options.get("profile", "gpu")
    if name not in PROFILES:
        raise ValueError(f"There is no profile {name!r}: one of {', '.join(PROFILES)}.")
    spawner.user_options = {"profile": name}
    for field, value in PROFILES[name][1].items():
        setattr(spawner, f"req_{field}", value)


c.Spawner.options_form = choices
c.Spawner.options_from_form = chosen
c.Spawner.apply_user_options = apply

# ---- So that nobody keeps a GPU that they do not use --------------------------------------------------------------------------------
c.JupyterHub.load_roles = [
    {
        "name": "culler",
        "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
        "services": ["culler"],
    }
]
c.JupyterHub.services = [
    {
        "name": "culler",
        "command": [sys.executable, "-m", "jupyterhub_idle_culler", "--timeout=3600", "--cull-every=120"],
    }
]
c.JupyterHub.concurrent_spawn_limit = 10  # starts at a time; others are told to wait
c.JupyterHub.cleanup_servers = False  # a hub that is started anew finds the jobs that run, and they go on
