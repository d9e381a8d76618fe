"""The Kubernetes files: every field is one that there is, and what has to agree agrees. No cluster runs them here."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.clusters.kubernetes_schema import JOBSET, PYTORCHJOB

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks" / "scripts" / "kubernetes"
SCHEMAS = {"jobset.yaml": JOBSET, "pytorchjob.yaml": PYTORCHJOB}


def document(name: str) -> Any:
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))


def pod(name: str) -> Any:
    spec = document(name)["spec"]
    if name == "jobset.yaml":
        return spec["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    return spec["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]


def option(arguments: list[str], name: str) -> str:
    return next(text.split("=", 1)[1] for text in arguments if text.startswith(f"--{name}="))


def test_every_file_has_a_schema() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(SCHEMAS)


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_file_holds_only_fields_that_there_are(name: str) -> None:
    jsonschema.validate(document(name), SCHEMAS[name])


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_misspelt_field_or_half_a_gpu_would_be_seen(name: str) -> None:
    wrong = copy.deepcopy(document(name))
    wrong["spec"]["replicas"] = 2
    with pytest.raises(jsonschema.ValidationError, match="replicas"):
        jsonschema.validate(wrong, SCHEMAS[name])
    text = (FOLDER / name).read_text(encoding="utf-8")
    for old, new in (("amd.com/gpu: 8", "amd.com/gpu: 0.5"), ("amd.com/gpu", "amd.com/gpus"), ("emptyDir", "emptydir")):
        assert old in text
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(yaml.safe_load(text.replace(old, new)), SCHEMAS[name])


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_mount_has_its_volume_and_the_checkpoint_lies_on_one_that_stays(name: str) -> None:
    container, volumes = pod(name)["containers"][0], {volume["name"]: volume for volume in pod(name)["volumes"]}
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    assert set(mounts.values()) == set(volumes)
    assert "emptyDir" in volumes[mounts["/dev/shm"]]
    folder = str(Path(option(container["args"], "checkpoint")).parent.as_posix())
    assert "persistentVolumeClaim" in volumes[mounts[folder]]


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_script_is_there(name: str) -> None:
    scripts = [text for text in pod(name)["containers"][0]["args"] if text.endswith(".py")]
    assert len(scripts) == 1
    assert (ROOT / scripts[0]).is_file()


def test_the_numbers_of_the_jobset_agree() -> None:
    jobs = document("jobset.yaml")["spec"]["replicatedJobs"]
    job, container = jobs[0]["template"]["spec"], pod("jobset.yaml")["containers"][0]
    arguments = container["args"]
    assert int(option(arguments, "nnodes")) == job["parallelism"] == job["completions"]
    assert int(option(arguments, "nproc-per-node")) == container["resources"]["limits"]["amd.com/gpu"]
    # <jobset>-<job>-<job number>-<pod number>.<subdomain>, as JobSet's reference has it
    whole = document("jobset.yaml")
    host, port = option(arguments, "rdzv-endpoint").split(":")
    assert host == f"{whole['metadata']['name']}-{jobs[0]['name']}-0-0.{whole['spec']['network']['subdomain']}"
    assert [{"containerPort": int(port)}] == container["ports"]
    assert int(port) < 32768  # not one that the kernel hands out


def test_the_numbers_of_the_pytorchjob_agree() -> None:
    spec, container = document("pytorchjob.yaml")["spec"], pod("pytorchjob.yaml")["containers"][0]
    assert container["name"] == "pytorch"
    assert int(spec["nprocPerNode"]) == container["resources"]["limits"]["amd.com/gpu"]
    elastic, workers = spec["elasticPolicy"], spec["pytorchReplicaSpecs"]["Worker"]["replicas"]
    assert elastic["minReplicas"] == elastic["maxReplicas"] == workers


def test_torchrun_understands_the_arguments_of_the_jobset() -> None:
    run = pytest.importorskip("torch.distributed.run")
    arguments = pod("jobset.yaml")["containers"][0]["args"]
    found = run.parse_args(arguments)
    assert (found.nnodes, found.nproc_per_node, found.training_script) == ("2", "8", "notebooks/scripts/ddp_train.py")
