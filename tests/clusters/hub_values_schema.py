"""A JSON schema of just the values that our file for Zero to JupyterHub uses: an unknown or misspelt one is an error.

Names and types from the chart's own ``jupyterhub/values.schema.yaml`` (repository jupyterhub/zero-to-jupyterhub-k8s, as of commit
02dd73df01bd, read 2026-11-30; the newest release in its change log then is 4.4.0 of 2026-06-10, with JupyterHub 5.5.0). What that
leaves open is taken from the classes that get it: ``hub.config`` from JupyterHub and jupyterhub-firstuseauthenticator 1.1,
``kubespawner_override`` from jupyterhub-kubespawner 7.1.0, volumes from core/v1. Stricter than the chart where we know more.
"""

from __future__ import annotations

from typing import Any

from tests.clusters.kubernetes_schema import EMPTY_DIR, NAME, many, strict

TEXT = {"type": "string", "minLength": 1}
YES_NO = {"type": "boolean"}
COUNT = {"type": "integer", "minimum": 1}
SECONDS = {"type": "integer", "minimum": 1}
CORES = {"type": "number", "exclusiveMinimum": 0}
# JupyterHub's own way to write bytes, for its memory limits; Kubernetes' way, for disks
MEMORY = {"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?[KMGT]$"}
DISK = {"type": "string", "pattern": "^[0-9]+(Mi|Gi|Ti)$"}
LEARNER = {"type": "string", "pattern": "^[a-z][a-z0-9_-]{0,31}$"}
ON = strict(("enabled",), enabled=YES_NO)
POLICY = strict(
    ("enabled",),
    enabled=YES_NO,
    egressAllowRules=strict((), privateIPs=YES_NO, nonPrivateIPs=YES_NO),
)

OVERRIDE = strict(
    (),
    extra_resource_limits=strict(("amd.com/gpu",), **{"amd.com/gpu": {"type": "string", "pattern": "^[1-9][0-9]*$"}}),
    supplemental_gids=many({"type": "integer", "minimum": 1}),
    cpu_limit=CORES,
    cpu_guarantee=CORES,
    mem_limit=MEMORY,
    mem_guarantee=MEMORY,
)

VALUES: dict[str, Any] = strict(
    ("hub", "proxy", "singleuser", "cull", "prePuller", "scheduling"),
    hub=strict(
        ("config", "concurrentSpawnLimit", "activeServerLimit", "db", "networkPolicy"),
        config=strict(
            ("JupyterHub", "FirstUseAuthenticator", "Authenticator"),
            JupyterHub=strict(("authenticator_class",), authenticator_class={"const": "firstuse"}),
            FirstUseAuthenticator=strict(
                ("create_users", "dbm_path", "min_password_length"),
                create_users=YES_NO,
                dbm_path={"type": "string", "pattern": "^/srv/jupyterhub/"},  # where the hub's claim is mounted
                min_password_length={"type": "integer", "minimum": 8},
            ),
            Authenticator=strict(
                ("admin_users", "allowed_users"), admin_users=many(LEARNER), allowed_users=many(LEARNER)
            ),
        ),
        concurrentSpawnLimit=COUNT,
        activeServerLimit=COUNT,
        db=strict(("type", "pvc"), type={"enum": ["sqlite-pvc"]}, pvc=strict(("storage",), storage=DISK)),
        networkPolicy=POLICY,
    ),
    proxy=strict(
        ("service", "https", "chp"),
        service=strict(("type",), type={"enum": ["ClusterIP", "NodePort", "LoadBalancer"]}),
        https=strict(
            ("enabled",),
            enabled=YES_NO,
            type={"enum": ["letsencrypt", "manual", "offload", "secret"]},
            hosts=many(TEXT),
            letsencrypt=strict(("contactEmail",), contactEmail=TEXT),
        ),
        chp=strict(("networkPolicy",), networkPolicy=POLICY),
    ),
    singleuser=strict(
        ("image", "cmd", "cpu", "memory", "storage", "networkPolicy", "profileList", "allowPrivilegeEscalation"),
        image=strict(
            ("name", "tag"),
            name={"type": "string", "pattern": "^[a-z0-9./-]+$"},
            tag={"type": "string", "pattern": r"^[\w.-]+$"},
            pullPolicy={"enum": ["IfNotPresent", "Always", "Never"]},
        ),
        cmd=many(TEXT),
        defaultUrl={"type": "string", "pattern": "^/"},
        startTimeout=SECONDS,
        uid=COUNT,
        fsGid=COUNT,
        allowPrivilegeEscalation={"const": False},
        cpu=strict(("guarantee", "limit"), guarantee=CORES, limit=CORES),
        memory=strict(("guarantee", "limit"), guarantee=MEMORY, limit=MEMORY),
        storage=strict(
            ("type", "capacity", "homeMountPath", "dynamic", "extraVolumes", "extraVolumeMounts"),
            type={"const": "dynamic"},
            capacity=DISK,
            homeMountPath={"type": "string", "pattern": "^/"},
            dynamic=strict(
                (), storageAccessModes=many({"enum": ["ReadWriteOnce", "ReadWriteMany"]}), storageClass=NAME
            ),
            extraVolumes=many(EMPTY_DIR),
            extraVolumeMounts=many(
                strict(("name", "mountPath"), name=NAME, mountPath={"type": "string", "pattern": "^/"})
            ),
        ),
        networkPolicy=POLICY,
        profileList=many(
            strict(
                ("display_name", "slug", "description"),
                display_name=TEXT,
                slug=NAME,
                description=TEXT,
                default=YES_NO,
                kubespawner_override=OVERRIDE,
            )
        ),
    ),
    cull=strict(
        ("enabled", "timeout", "every", "maxAge"), enabled=YES_NO, timeout=SECONDS, every=SECONDS, maxAge=SECONDS
    ),
    prePuller=strict(("hook", "continuous"), hook=ON, continuous=ON),
    scheduling=strict(("userScheduler", "userPlaceholder"), userScheduler=ON, userPlaceholder=ON),
)
