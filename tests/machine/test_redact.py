"""Redaction: nothing personal survives, what a diagnosis needs does, and the file still makes sense."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.machine import doctor, evidence, redact, simulate

HOME = "/home/"  # no folder of anybody stands in this repository
SECRETS: dict[str, tuple[str, str]] = {
    # what is put into a text -> what must not be left of it
    "home": (HOME + "kowalska/.venv/lib/python3.12/site-packages", "kowalska"),
    "mac home": ("/Users/ola.nowak/lab", "ola.nowak"),
    "windows home": (r"C:\Users\Jane Roe\.venv\Lib\site-packages\torch", "Jane"),
    "wsl home": ("/mnt/c/Users/pmiller/Downloads", "pmiller"),
    "uuid": ("root=UUID=0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9 ro", "0a1b2c3d"),
    "gpu id": ("  Uuid:                    GPU-1f2e3d4c5b6a7988", "1f2e3d4c5b6a7988"),
    "smi serial": ("        ASIC_SERIAL: 0x8C1F2A3B4D5E6F70", "8C1F2A3B4D5E6F70"),
    "unique id": ("GPU[0]\t\t: Unique ID: 0x9f8e7d6c5b4a3921", "9f8e7d6c5b4a3921"),
    "kfd unique id": ("unique_id 11529215046068469761", "11529215046068469761"),
    "serial": ("Serial Number: PCB049206-0073", "PCB049206"),
    "mac": ("link/ether 3c:7c:3f:1a:2b:4d brd", "3c:7c:3f:1a:2b:4d"),
    "ip": ("connect to 192.168.17.42:29500", "192.168.17.42"),
    "public ip": ("inet 18.44.3.9/24", "18.44.3.9"),
    "high ip": ("timed out: 203.0.113.77", "203.0.113.77"),
    "ipv6": ("inet6 2a01:4f8:c17:b0f::2 scope", "2a01:4f8:c17:b0f::2"),
    "mail": ("ask jroe@example.org first", "jroe"),
    "host": ("Nov 30 06:40 gpu-tower7 kernel: amdgpu", "gpu-tower7"),
    "user": ("uid=1000(zofia) gid=1000(zofia)", "zofia"),
}  # fmt: skip
KEPT = (
    "amdgpu 0000:03:00.0: amdgpu: GPU reset begin!", "Runtime Version: 6.14.0.33", "driver 32.0.21025.1024",
    "gfx1100 gfx90a:sramecc+:xnack-",
    "Linux version 6.18.9-generic", "amdgpu/6.16.6-2238411.24.04, 6.8.0-90-generic, x86_64: installed", "torch 2.13.0+rocm7.2",
    "1002:744c", "version 10.1.0.3", "at::native::add", "127.0.0.1 and ::1", "06:40:28", "0::/", "address 0x7f2b50000000",
    "AMD:AMDGPU:gfx942", "PCI\\VEN_1002&DEV_744C&SUBSYS_0E3B1002&REV_C8", "6.14.0.33", "Uuid:  GPU-XX", "ASIC_SERIAL: N/A", "unique_id 0",
    "root", "render video", "crw-rw----",
)  # fmt: skip


def made(**texts: Any) -> dict[str, Any]:
    return {
        "labkit_snapshot": 1,
        "identity": {"host": "gpu-tower7.example", "user": "zofia", "home": HOME + "zofia"},
        "tools": texts,
    }


@pytest.mark.parametrize("what", SECRETS)
def test_what_is_personal_goes(what: str) -> None:
    text, secret = SECRETS[what]
    assert secret not in json.dumps(redact.redact(made(a=text)))


@pytest.mark.parametrize("text", KEPT)
def test_what_a_diagnosis_needs_stays(text: str) -> None:
    assert redact.redact(made(a=text))["tools"]["a"] == text


def test_the_same_value_gets_the_same_placeholder_everywhere() -> None:
    found = redact.redact(
        made(a=f"{HOME}anna/x and {HOME}bert/y", b="bert, then anna", c="10.0.7.1", d="addr 10.0.7.1")
    )["tools"]
    first, second = re.findall(r"<user-\d+>", found["a"])
    assert first != second and found["b"] == f"{second}, then {first}" and found["d"] == f"addr {found['c']}"


def test_values_of_telling_keys_and_paths_in_keys_go() -> None:
    found = redact.redact(
        {"gpus": [{"asic_serial": "0xAB12CD34EF", "name": "x"}], "caches": {HOME + "anna/.cache": {"writable": True}}}
    )
    assert "AB12" not in json.dumps(found) and "anna" not in json.dumps(found) and found["gpus"][0]["name"] == "x"


def test_identity_itself_is_not_kept_and_the_file_says_that_it_is_redacted() -> None:
    found = redact.redact(made())
    assert "identity" not in found and found["redacted"] is True


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.from_regex(r"[a-z][a-z]{3,8}[0-9]{1,3}", fullmatch=True).filter(lambda name: not name.startswith("gfx"))


@settings(max_examples=60, deadline=None)
@given(NAMES, NAMES, st.lists(st.sampled_from(sorted(SECRETS)), min_size=1, max_size=6), st.lists(st.sampled_from(KEPT), max_size=4),
       st.text(max_size=30))  # fmt: skip
def test_no_original_survives_in_any_mixture(
    user: str, host: str, secrets: list[str], kept: list[str], noise: str
) -> None:
    lines = (
        [SECRETS[name][0] for name in secrets]
        + list(kept)
        + [noise.replace("<", ""), f"{user}@{host}:~$ ls {HOME}{user}/{user}x"]
    )
    snapshot = {**made(a="\n".join(lines), b=[{"c": "\n".join(reversed(lines))}]),
                "identity": {"host": host, "user": user, "home": f"{HOME}{user}"}}  # fmt: skip
    once = redact.redact(snapshot)
    text = json.dumps(once)
    known = {"gpu-tower7", "zofia"}  # another machine's identity: only this one's is known
    for name in secrets:
        secret = SECRETS[name][1]
        assert secret in known or secret not in text, name
    assert not re.search(rf"(?<![a-z0-9]){re.escape(user)}(?![a-z0-9])", text) and f"@{host}" not in text
    assert json.loads(text) == once and redact.redact(once) == once


@settings(max_examples=80, deadline=None)
@given(ANYTHING)
def test_any_mapping_is_survived_and_a_second_time_changes_nothing(value: Any) -> None:
    once = redact.redact({"tools": value})
    assert redact.redact(once) == once


@pytest.mark.parametrize("name", ["rx7900xtx", "mi300x_x8", "windows_rx7900xtx", "podman_rx7900xtx"])
def test_a_redacted_machine_gets_the_same_diagnosis(name: str) -> None:
    for fault in simulate.faults(name):
        snapshot = simulate.snapshot(name, (fault,))
        codes = [
            [finding.code for finding in doctor.diagnose(evidence.from_snapshot(one)).findings]
            for one in (snapshot, redact.redact(snapshot))
        ]
        assert codes[0] == codes[1], fault


def test_a_gpu_that_is_chosen_by_its_uuid_stays_chosen() -> None:
    snapshot = simulate.snapshot("rx7900xtx", ("hip-no-device",))
    snapshot["environment"]["ROCR_VISIBLE_DEVICES"] = "GPU-1f2e3d4c5b6a7988"
    found = doctor.diagnose(evidence.from_snapshot(redact.redact(snapshot)))
    assert found.findings[0].code == "hip-no-device"
