"""The values for Zero to JupyterHub and the image's recipe: every field is one that there is, and what has to agree agrees.

No cluster runs them here, and no container is built. What a pod starts, learner.py, is run for real with a stand-in for the server.
"""

from __future__ import annotations

import copy
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.clusters.hub_values_schema import VALUES

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks" / "scripts" / "kubernetes_hub"
LEARNER = ROOT / "notebooks" / "scripts" / "hub" / "learner.py"
DOCUMENT = yaml.safe_load((FOLDER / "values.yaml").read_text(encoding="utf-8"))
RECIPE = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
PAGE = (ROOT / "notebooks" / "pages" / "hub_kubernetes.md").read_text(encoding="utf-8")


def places(node: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to everything that has a name in the document."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if isinstance(node, dict):
            yield (*way, key)
        yield from places(value, (*way, key))


def parent(document: Any, way: tuple[Any, ...]) -> Any:
    for key in way[:-1]:
        document = document[key]
    return document


WAYS = list(places(DOCUMENT))


def test_the_file_holds_only_values_that_there_are() -> None:
    jsonschema.validate(DOCUMENT, VALUES)
    assert len(WAYS) > 80


@pytest.mark.parametrize("way", WAYS, ids=lambda way: ".".join(map(str, way)))
def test_each_name_misspelt_and_each_value_of_another_type_would_be_seen(way: tuple[Any, ...]) -> None:
    misspelt, retyped = copy.deepcopy(DOCUMENT), copy.deepcopy(DOCUMENT)
    place = parent(misspelt, way)
    place[f"{way[-1]}s"] = place.pop(way[-1])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(misspelt, VALUES)
    parent(retyped, way)[way[-1]] = None
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(retyped, VALUES)


def test_a_gpu_as_a_number_or_half_of_one_would_be_seen() -> None:
    """KubeSpawner hands the text on to Kubernetes; the resource is counted in whole devices."""
    for wrong in (1, "0", "0.5", "half"):
        document = copy.deepcopy(DOCUMENT)
        document["singleuser"]["profileList"][0]["kubespawner_override"]["extra_resource_limits"]["amd.com/gpu"] = wrong
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document, VALUES)


def test_one_profile_has_a_gpu_and_its_groups_and_one_has_neither() -> None:
    first, second = DOCUMENT["singleuser"]["profileList"]
    assert first["kubespawner_override"]["extra_resource_limits"] == {"amd.com/gpu": "1"}
    assert first["kubespawner_override"]["supplemental_gids"]
    assert "kubespawner_override" not in second
    assert [profile.get("default", False) for profile in (first, second)] == [True, False]


def test_a_hub_whose_address_is_public_wants_https() -> None:
    proxy = DOCUMENT["proxy"]
    assert proxy["service"]["type"] == "ClusterIP" or proxy["https"]["enabled"]


def test_every_network_policy_is_on_and_learners_do_not_reach_the_cluster() -> None:
    for part in (DOCUMENT["hub"], DOCUMENT["proxy"]["chp"], DOCUMENT["singleuser"]):
        assert part["networkPolicy"]["enabled"] is True
    assert DOCUMENT["singleuser"]["networkPolicy"]["egressAllowRules"]["privateIPs"] is False


def test_guarantees_are_within_limits_and_volumes_are_mounted() -> None:
    single = DOCUMENT["singleuser"]
    size = {unit: 1024**power for power, unit in enumerate("KMGT", 1)}

    def number(text: str) -> float:
        return float(text[:-1]) * size[text[-1]]

    override = single["profileList"][0]["kubespawner_override"]
    assert single["cpu"]["guarantee"] <= single["cpu"]["limit"]
    assert number(single["memory"]["guarantee"]) <= number(single["memory"]["limit"])
    assert number(override["mem_guarantee"]) <= number(override["mem_limit"])
    volumes = {volume["name"] for volume in single["storage"]["extraVolumes"]}
    assert {mount["name"] for mount in single["storage"]["extraVolumeMounts"]} == volumes


def test_image_and_values_agree() -> None:
    """The same command, user and home; and a server of the hub's own major version."""
    command = DOCUMENT["singleuser"]["cmd"]
    assert f"CMD {list(command)}".replace("'", '"') in RECIPE
    inside = Path(command[1]).relative_to("/opt/rocm-labs")
    assert ROOT / inside == LEARNER
    assert LEARNER.is_file()
    assert "COPY . /opt/rocm-labs" in RECIPE
    assert f"USER {DOCUMENT['singleuser']['uid']}" in RECIPE
    assert f"--uid {DOCUMENT['singleuser']['uid']} --gid {DOCUMENT['singleuser']['fsGid']}" in RECIPE
    assert f"WORKDIR {DOCUMENT['singleuser']['storage']['homeMountPath']}" in RECIPE
    assert re.search(r"^ARG JUPYTERHUB=>=5.3,<6$", RECIPE, re.MULTILINE)
    image = DOCUMENT["singleuser"]["image"]
    assert f"-t {image['name']}:{image['tag']} ." in RECIPE


def test_set_up_knows_what_the_recipe_asks_for() -> None:
    from labkit.catalog import wheels

    default = re.findall(r"^ARG TORCH=(\S+)$", RECIPE, re.MULTILINE)
    assert default
    assert default[0] in wheels.usable_rocm_indexes()


def test_the_page_says_what_was_not_run_and_names_what_is_there() -> None:
    assert "Not yet verified on Kubernetes" in PAGE
    assert "ROCm" in PAGE
    for name in re.findall(r"notebooks/scripts/[\w./]+\w", PAGE):
        assert (ROOT / name).exists(), name
    chart = re.findall(r"--version (\S+)", PAGE) + re.findall(r"--version (\S+)", (FOLDER / "values.yaml").read_text())
    assert set(chart) == {"4.4.0"}


@pytest.mark.skipif(sys.platform == "win32", reason="the pods are Linux")
def test_what_a_pod_starts_brings_the_lessons_once_and_becomes_the_server(tmp_path: Path) -> None:
    kept = tmp_path / "rocm-labs" / "01_mnist.ipynb"
    kept.parent.mkdir()
    kept.write_text("mine", encoding="utf-8")
    said = "import os; print(os.getpid(), os.getcwd()); import labkit; print(labkit.__file__); print(os.environ['JUPYTER_CONFIG_PATH'])"
    environ = {"HOME": str(tmp_path), "PATH": os.defpath}
    with subprocess.Popen(
        [sys.executable, str(LEARNER), "python", "-c", said], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, cwd="/",
    ) as process:  # fmt: skip
        output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    first, second, third = output.splitlines()
    assert first == f"{process.pid} {tmp_path / 'rocm-labs'}", "the same process: signals of the hub reach the server"
    assert second.startswith(str(ROOT))
    assert third == str(ROOT / "labkit" / "jupyter" / "etc")
    assert "brought 00_environment_check.ipynb" in errors
    assert kept.read_text(encoding="utf-8") == "mine"


def test_learner_without_a_server_says_so(tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, str(LEARNER)], env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert answer.returncode == 2
    assert "name the server" in answer.stderr
    assert not list(tmp_path.iterdir())
