"""JSON schemas of just the fields that the Kubernetes files use: an unknown or misspelt field is an error.

Written from the references of the APIs (read 2026-11-30): Kubernetes batch/v1 Job and core/v1 Pod, JobSet jobset.x-k8s.io/v1alpha2,
Kubeflow training operator kubeflow.org/v1 PyTorchJob; AMD's device plugin for the resource amd.com/gpu.
"""

from __future__ import annotations

from typing import Any

NAME = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"}
COUNT = {"type": "integer", "minimum": 1}
BYTES = {"type": "string", "pattern": "^[0-9]+(Mi|Gi|Ti)$"}
WORDS = {"type": "array", "items": {"type": "string"}, "minItems": 1}


def strict(required: tuple[str, ...], **fields: Any) -> dict[str, Any]:
    """An object with these fields and no other."""
    return {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}


def many(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item, "minItems": 1}


LIMITS = strict(("amd.com/gpu", "memory"), **{"amd.com/gpu": COUNT, "cpu": {"type": "string"}, "memory": BYTES})
CONTAINER = strict(
    ("name", "image", "command", "resources", "volumeMounts"),
    name=NAME,
    image={"type": "string", "pattern": r"^[a-z0-9./-]+:[\w.-]+$"},
    command=WORDS,
    args=WORDS,
    workingDir={"type": "string", "pattern": "^/"},
    env=many(strict(("name", "value"), name={"type": "string"}, value={"type": "string"})),
    ports=many(strict(("containerPort",), containerPort={"type": "integer", "minimum": 1, "maximum": 65535})),
    resources=strict(("limits",), limits=LIMITS),
    volumeMounts=many(strict(("name", "mountPath"), name=NAME, mountPath={"type": "string", "pattern": "^/"})),
)
EMPTY_DIR = strict(
    ("name", "emptyDir"),
    name=NAME,
    emptyDir=strict(("medium", "sizeLimit"), medium={"const": "Memory"}, sizeLimit=BYTES),
)
CLAIM = strict(
    ("name", "persistentVolumeClaim"), name=NAME, persistentVolumeClaim=strict(("claimName",), claimName=NAME)
)
POD = {
    "containers": {**many(CONTAINER), "maxItems": 1},
    "volumes": many({"oneOf": [EMPTY_DIR, CLAIM]}),
    "securityContext": strict(("supplementalGroups",), supplementalGroups=many({"type": "integer", "minimum": 1})),
}

JOBSET = strict(
    ("apiVersion", "kind", "metadata", "spec"),
    apiVersion={"const": "jobset.x-k8s.io/v1alpha2"},
    kind={"const": "JobSet"},
    metadata=strict(("name",), name=NAME),
    spec=strict(
        ("network", "replicatedJobs"),
        network=strict(("enableDNSHostnames", "subdomain"), enableDNSHostnames={"const": True}, subdomain=NAME),
        failurePolicy=strict(("maxRestarts",), maxRestarts={"type": "integer", "minimum": 0}),
        replicatedJobs=many(
            strict(
                ("name", "replicas", "template"),
                name=NAME,
                replicas=COUNT,
                template=strict(
                    ("spec",),
                    spec=strict(
                        ("completionMode", "parallelism", "completions", "backoffLimit", "template"),
                        completionMode={"const": "Indexed"},
                        parallelism=COUNT,
                        completions=COUNT,
                        backoffLimit={"type": "integer", "minimum": 0},
                        template=strict(
                            ("spec",),
                            spec=strict(
                                ("restartPolicy", "containers", "volumes"),
                                restartPolicy={"enum": ["Never", "OnFailure"]},  # a Job takes no other
                                **POD,
                            ),
                        ),
                    ),
                ),
            )
        ),
    ),
)

PYTORCHJOB = strict(
    ("apiVersion", "kind", "metadata", "spec"),
    apiVersion={"const": "kubeflow.org/v1"},
    kind={"const": "PyTorchJob"},
    metadata=strict(("name",), name=NAME),
    spec=strict(
        ("pytorchReplicaSpecs",),
        nprocPerNode={"type": "string", "pattern": "^(auto|cpu|gpu|[0-9]+)$"},
        elasticPolicy=strict(
            ("rdzvBackend",), rdzvBackend={"const": "c10d"}, minReplicas=COUNT, maxReplicas=COUNT, maxRestarts=COUNT
        ),
        runPolicy=strict((), cleanPodPolicy={"enum": ["None", "Running", "All"]}),
        pytorchReplicaSpecs=strict(
            ("Worker",),
            Worker=strict(
                ("replicas", "restartPolicy", "template"),
                replicas=COUNT,
                restartPolicy={"enum": ["Always", "OnFailure", "Never", "ExitCode"]},
                template=strict(("spec",), spec=strict(("containers", "volumes"), **POD)),
            ),
        ),
    ),
)
