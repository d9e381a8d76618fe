"""Everything that is known about one machine, in one shape, wherever it came from: a snapshot, a case file, a simulation.

Rules read only this. What was not collected is None and means unknown, never 'no'.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from labkit.catalog import gfx as catalog
from labkit.errors import LabkitError
from labkit.machine import intake
from labkit.machine.facts import is_wsl, tidy
from labkit.machine.readers import amd_smi, collect_env, dmesg, kfd, lspci, rocm_smi, rocminfo
from labkit.machine.readers.text import clean

LARGEST_TEXT = 400_000  # characters of one text that rules look at
LARGEST_FILE = 64 << 20


def bounded(text: str) -> str:
    """A text that rules can search in a time that grows with its length and no faster.

    It keeps the beginning and the end of a long text, because errors stand at the end of a log, and of a long line;
    it shortens what no tool and no person writes: one character hundreds of times, words of a thousand letters, rows
    of empty lines.
    """
    if len(text) > LARGEST_TEXT:
        text = text[: LARGEST_TEXT // 4] + "\n" + text[-LARGEST_TEXT // 4 * 3 :]
    kept: list[str] = []
    empty = 0
    for line in text.split("\n"):
        if not line or line.isspace():
            empty += 1
            if empty <= _EMPTY_LINES:
                kept.append(line[:_RUN])
            continue
        empty = 0
        kept.append(_short_line(line) if len(line) > _RUN else line)
    return "\n".join(kept)


# the longest run of one character, the longest word, line, and row of empty lines
_RUN, _WORD, _LINE, _EMPTY_LINES = 100, 500, 2000, 10
_RUNS = re.compile(rf"(.)\1{{{_RUN},}}")
_WORDS = re.compile(rf"\S{{{_WORD + 1},}}")


def _short_line(line: str) -> str:
    """A long line without endless runs and words: its beginning and its end."""
    line = _RUNS.sub(lambda run: run.group(1) * _RUN, _cut(line, 4 * _LINE))
    line = _WORDS.sub(lambda word: _cut(word.group(), _WORD), line)
    return _cut(line, _LINE)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length // 2]} … {text[-length // 2 :]}"


@dataclass(frozen=True)
class Torch:
    """What the failing interpreter's torch says of itself. ``error`` is the text of a failed import."""

    version: str | None = None
    hip: str | None = None
    cuda: str | None = None
    arch_list: tuple[str, ...] | None = None
    gcn_arch_names: tuple[str, ...] = ()
    cuda_available: bool | None = None
    kernel_ok: bool | None = None
    error: str | None = None

    @property
    def build(self) -> str | None:
        """'rocm', 'cuda' or 'cpu'; None without a version."""
        if self.version is None and self.hip is None and self.cuda is None:
            return None
        version = self.version or ""
        if (self.hip and not self.hip.startswith("0.0.0")) or "+rocm" in version:
            return "rocm"
        if self.cuda or re.search(r"\+cu\d", version):
            return "cuda"
        return "cpu"

    @property
    def rocm(self) -> tuple[int, ...] | None:
        """Version of HIP or, failing that, of the wheel's tag: (7, 2)."""
        found = re.match(r"(\d+)\.(\d+)", self.hip or "") or re.search(r"\+rocm(\d+)\.(\d+)", self.version or "")
        return (int(found.group(1)), int(found.group(2))) if found and int(found.group(1)) else None


@dataclass(frozen=True)
class Node:
    """A device node. ``openable``: this process can open it for reading and writing."""

    exists: bool | None = None
    mode: str | None = None
    owner: str | None = None
    group: str | None = None
    openable: bool | None = None

    @property
    def root_only(self) -> bool:
        """Whether the mode lets nobody but root in."""
        digits = (self.mode or "")[-3:]
        if not re.fullmatch(r"[0-7]{3}", digits):
            return False
        closed_group = digits[1] not in "67"
        return digits[2] not in "67" and (closed_group or (self.group in ("root", "0")))


@dataclass(frozen=True)
class Evidence:
    """One machine. Texts are the tools' own; the cached properties are what the readers make of them."""

    platform: str = "linux"  # 'linux', 'wsl', 'windows', 'macos' or 'container'
    simulated: bool = False
    symptom: str = ""
    asked: str = ""  # the part of the symptom that came beside the machine's facts; it may be about another machine
    texts: Mapping[str, str] = field(
        default_factory=dict
    )  # rocminfo, rocm_smi, amd_smi, lspci, dmesg, collect_env, cmdline, …
    torch: Torch | None = None
    env: Mapping[str, str] | None = None
    groups: tuple[str, ...] | None = None
    nodes: Mapping[str, Node] = field(default_factory=dict)
    topology: Mapping[str, str] | None = None  # path → properties text
    os_release: str | None = None
    kernel: str | None = None
    python: str | None = None
    packages: Mapping[str, str] | None = None
    container: bool | None = None
    modules: tuple[str, ...] | None = None
    groups_on_file: tuple[str, ...] = ()  # of this user in /etc/group; a running session may not have them yet
    adapters: tuple[str, ...] = ()  # Windows' display adapters, by name
    bus_is_empty: bool = False  # the bus was looked at, and no display device of any maker is on it

    # ---- quoting ------------------------------------------------------------------------------------------------------
    @cached_property
    def said(self) -> str:
        """What the person saw, cleaned of colours and quotes."""
        return clean(bounded(self.symptom))

    @cached_property
    def _cleaned(self) -> Mapping[str, str]:
        return {name: clean(bounded(text)) for name, text in self.texts.items()}

    def told(self, *names: str) -> str:
        """What the person saw and the named texts, one after the other."""
        return "\n".join([self.said, *(self._cleaned[name] for name in names if name in self._cleaned)])

    def quote(self, pattern: str, *names: str) -> str | None:
        """The first line that matches, in the symptom or in the named texts ('' names the symptom). None without one."""
        found = re.compile(pattern, re.I | re.M)
        for name in names or ("", *self.texts):
            text = self.said if name == "" else self._cleaned.get(name, "")
            first = found.search(text)  # over the whole text at once; only then line by line
            if first is None:
                continue
            for line in text[text.rfind("\n", 0, first.start()) + 1 :].split("\n"):
                if found.search(line):
                    return line.strip()[:300]
        return None

    def match(self, pattern: str) -> re.Match[str] | None:
        """The first match of a pattern in what the person saw, across lines."""
        return re.search(pattern, self.said, re.I | re.M)

    @cached_property
    def content(self) -> bool:
        """Whether the person says that all is as it should be; what only words would prove is then not asked."""
        well = self.match(
            r"(?:\bsame|\bjust|\bexactly|,) as (?:before|expected|in|it should)|nothing (?:to complain|wrong)|\ball(?: is)? (?:good|well)\b"
            r"|\bno (?:problems?|issues?|complaints?)\b"
        )
        return bool(well) and not self.match(r"\b(?:not|never|n't)\b[^.\n]{0,40}as (?:before|expected|it should)")

    # ---- readers -------------------------------------------------------------------------------------------------------
    @cached_property
    def rocminfo(self) -> Mapping[str, Any] | None:
        text = self._cleaned["rocminfo"] if "rocminfo" in self.texts else self.said  # or pasted among the rest
        return rocminfo.read(text) if rocminfo.is_rocminfo(text) else None

    @cached_property
    def smi_problem(self) -> str | None:
        for name in ("rocm_smi", ""):
            text = self.said if name == "" else self._cleaned.get(name, "")
            if rocm_smi.is_rocm_smi(text):
                problem: str | None = rocm_smi.read(text)["problem"]
                if problem:
                    return problem
        return None

    @cached_property
    def smi_gpus(self) -> Sequence[Mapping[str, Any]]:
        """GPUs that rocm-smi or amd-smi lists: both ask the driver, not the runtime."""
        for name, reader in (("rocm_smi", rocm_smi.read), ("amd_smi", amd_smi.read)):
            text = self.texts.get(name, "")[:LARGEST_TEXT]
            if text:  # JSON may stand in one long line, so the whole text is read
                found: Sequence[Mapping[str, Any]] = reader(clean(text))["gpus"]
                if found:
                    return found
        return ()

    @cached_property
    def bus(self) -> Sequence[Mapping[str, Any]] | None:
        """AMD display devices on the PCI bus; None when lspci was not given or shows nothing that it would show."""
        text = self._cleaned["lspci"] if "lspci" in self.texts else self.said
        if not lspci.is_lspci(text):
            return [] if self.bus_is_empty else None
        found: Sequence[Mapping[str, Any]] = lspci.read(text)["gpus"]
        return found

    @cached_property
    def bus_says_drivers(self) -> bool:
        """Whether lspci was asked for drivers (-k), so that a missing driver line means something."""
        return self.quote(r"Kernel (?:driver in use|modules):", "lspci", "") is not None

    @cached_property
    def kernel_log(self) -> Mapping[str, str]:
        """Codes that the kernel log shows, each with its first line. Kernel lines inside the symptom count too."""
        found: dict[str, str] = {}
        for name in ("dmesg", "rocminfo", ""):
            text = self.said if name == "" else clean(self.texts.get(name, "")[:LARGEST_FILE])
            for line in dmesg.suspicious(text):
                if (
                    name != "dmesg"
                    and not dmesg.is_kernel_line(line)
                    and not re.search(r"\b(?:amdgpu|kfd|AMD-Vi)\b", line)
                ):
                    continue
                for code in dmesg.findings_of(line):
                    found.setdefault(code, line.strip()[:300])
        return found

    @cached_property
    def report(self) -> Mapping[str, Any] | None:
        """collect_env's report."""
        if "collect_env" in self.texts:
            return collect_env.read(self._cleaned["collect_env"])
        return collect_env.read(self.said) if collect_env.is_collect_env(self.said) else None

    @cached_property
    def torch_facts(self) -> Torch | None:
        """torch's facts, from the interpreter or else from collect_env."""
        if self.torch is not None:
            return self.torch
        report = self.report
        if not report or report["torch"] is None:
            version = (self.packages or {}).get("torch")
            return Torch(version=version) if version else self._torch_in_words()
        names = tuple(found.group(1) for gpu in report["gpus"] if (found := re.search(r"\((gfx[0-9a-f]+[^)]*)\)", gpu)))
        hip = report["hip"] or (
            "0.0.0" if self.quote(r"ROCM used to build PyTorch: 0\.0\.0", "collect_env", "") else None
        )
        return Torch(report["torch"], hip, report["cuda"], None, names, report["gpu_available"])

    def _torch_in_words(self) -> Torch | None:
        """The torch that the person shows to be installed, by its local tag; a version that was only asked for is none."""
        shown = [
            found.group(1)
            for pattern in (
                rf"torch\.__version__[^\n]*\n\W*{_TAGGED}",
                rf"^\W*(?:Py)?Torch version:? +{_TAGGED}",
                rf"^torch +{_TAGGED}",
                rf"Successfully installed [^\n]*?\btorch-{_TAGGED}",
                rf"^ *\+ torch=={_TAGGED}",
                rf"^Name: torch\nVersion: {_TAGGED}",
            )
            for found in re.finditer(pattern, self.said, re.M | re.I)
        ]
        if not shown or not (
            self.bus or self.agents or self.real_gfx or self.match(r"\b(?:AMD|Radeon|ROCm|Instinct)\b")
        ):
            return None
        return Torch(version=shown[-1])

    # ---- GPUs ---------------------------------------------------------------------------------------------------------
    @cached_property
    def agents(self) -> Sequence[Mapping[str, Any]]:
        """GPU agents of rocminfo."""
        return [agent for agent in (self.rocminfo or {}).get("agents", ()) if agent["type"] == "gpu"]

    @cached_property
    def topology_gpus(self) -> Sequence[Mapping[str, Any]] | None:
        """GPU nodes of /sys/class/kfd; None when the tree was not collected."""
        if self.topology is None:
            return None
        found: Sequence[Mapping[str, Any]] = kfd.read(self.topology)["gpus"]
        return found

    @cached_property
    def override(self) -> tuple[int, ...] | None:
        """HSA_OVERRIDE_GFX_VERSION as numbers; a form for one node (…_0) counts as well."""
        for name, content in (self.env or {}).items():
            if re.fullmatch(r"HSA_OVERRIDE_GFX_VERSION(?:_\d+)?", name):
                found = re.fullmatch(r"\s*(\d+)\.(\d+)\.(\d+)\s*", content)
                if found:
                    return (int(found.group(1)), int(found.group(2)), int(found.group(3)))
        return None

    @cached_property
    def real_gfx(self) -> Sequence[str]:
        """Targets of the GPUs as the hardware says them, the discrete ones first.

        The kernel's topology, PCI ids and product names do not know the override variable; rocminfo and torch show it,
        so these two are believed only where it is not set.
        """
        found: list[str] = []
        for gpu in self.topology_gpus or ():
            found.append(gpu["gfx"])
        if not any(found):
            found = [self._named(agent["marketing_name"]) or "" for agent in self.agents]
            if self.override is None:
                found = [agent["gfx"] or name for agent, name in zip(self.agents, found, strict=True)]
        if not any(found) and self.bus:
            found = [self._on_bus(device) or "" for device in self.bus]
        if not any(found):
            found = [gpu["gfx"] or self._named(gpu["name"]) or "" for gpu in self.smi_gpus]
        if not any(found):
            found = [self._named(name) or "" for name in self.adapters]
        if not any(found) and self.override is None and self.torch:
            found = [name.split(":")[0] for name in self.torch.gcn_arch_names]
        if not any(found) and self.override is None and self.report:
            found = [name.group(1) for gpu in self.report["gpus"] if (name := re.search(r"\((gfx[0-9a-f]+)", gpu))]
        if not any(found):
            found = self._named_in_words()
        known = [name for name in found if name]
        return sorted(known, key=is_integrated)

    def _on_bus(self, device: Mapping[str, Any]) -> str | None:
        row = catalog.by_pci_id((device["pci_id"] or "").split(":")[-1]) or catalog.by_product(device["name"])
        return row.gfx if row else None

    @staticmethod
    def _named(name: str | None) -> str | None:
        row = catalog.by_product(name) if name else None
        return row.gfx if row else None

    def _named_in_words(self) -> list[str]:
        """Targets that the person names: 'RX 6800 XT', or a gfx number behind nothing that is a package or a variable."""
        products = re.findall(
            r"\b(?:RX|PRO|Radeon|Instinct) ?[A-Z]{0,3} ?\d{3,4}[A-Z]{0,2}(?: (?:XTX|XT|GRE))?|\bMI\d{3}[AX]?\b|\bRadeon VII\b",
            self.said,
        )
        found = [
            self._named(name if name.startswith(("Radeon", "Instinct")) else f"Radeon {name}") for name in products
        ]
        return list(dict.fromkeys(name for name in found if name))

    @cached_property
    def has_amd_gpu(self) -> bool:
        """Whether anything shows an AMD GPU, or the driver's door to one, in this machine."""
        shown = (
            self.bus,
            self.agents,
            self.topology_gpus,
            self.smi_gpus,
            self.torch.gcn_arch_names if self.torch else (),
        )
        return (
            any(shown)
            or bool(self.node("/dev/kfd").exists or self.node("/dev/dxg").exists)
            or any(re.search(r"\b(?:amd|radeon|ati)\b", name, re.I) for name in self.adapters)
        )

    def in_words_alone(self) -> Evidence:
        """What was typed beside the machine's facts, as if nothing were known of the machine."""
        own = self.platform if self.platform in ("windows", "wsl") else "linux"
        told = _platform_of(self.asked)
        return Evidence(platform=own if told == "linux" else told, symptom=self.asked)

    def without_words(self) -> Evidence:
        """The machine's facts without what was typed beside them."""
        return replace(self, symptom=self.symptom.removeprefix(self.asked).strip(), asked="")

    @cached_property
    def gpu_count(self) -> int | None:
        """How many AMD GPUs the machine has before any variable hides one; None when nothing tells."""
        counts = [len(self.topology_gpus or ()), len(self.smi_gpus), len(self.agents)]
        counts.append(sum(1 for node in self.render_nodes.values() if node.exists))
        if not any(counts):
            counts.append(len(self.bus or ()))
        return max(counts) or None

    @cached_property
    def primary_gfx(self) -> str | None:
        """The target that matters: the first discrete GPU's."""
        return self.real_gfx[0] if self.real_gfx else None

    def wheel_has(self, gfx: str) -> bool | None:
        """Whether torch's list of targets covers one; None when the list is not known."""
        facts = self.torch_facts
        if facts is None or facts.arch_list is None or facts.build != "rocm":
            return None
        names = {name.split(":")[0] for name in facts.arch_list}
        return gfx in names or any(gfx.startswith(prefix) for name, prefix in _GENERIC.items() if name in names)

    # ---- states that several rules ask for -----------------------------------------------------------------------------
    @property
    def is_wsl(self) -> bool:
        return self.platform == "wsl" or ("microsoft" in (self.kernel or "").lower() and not self.is_windows)

    @property
    def is_windows(self) -> bool:
        return self.platform == "windows"

    @property
    def is_container(self) -> bool:
        return self.platform == "container" or bool(self.container)

    @property
    def has_kfd(self) -> bool:
        """Whether this kind of system has the kernel's KFD at all."""
        return not (self.is_windows or self.is_wsl or self.platform == "macos")

    @cached_property
    def all_nodes(self) -> Mapping[str, Node]:
        """The device nodes: collected ones, and those of an ``ls -l`` that the person pasted."""
        return {**listed_nodes(self.said, self.groups), **self.nodes}

    def node(self, path: str) -> Node:
        return self.all_nodes.get(path, Node())

    @property
    def render_nodes(self) -> Mapping[str, Node]:
        return {path: node for path, node in self.all_nodes.items() if "/renderD" in path}

    @cached_property
    def sees_gpu(self) -> bool | None:
        """Whether torch says that it sees a device."""
        facts = self.torch_facts
        if facts is not None and facts.cuda_available is not None:
            return facts.cuda_available
        if self.match(
            r"No (?:HIP|CUDA) GPUs are available|torch\.cuda\.is_available\(\)\S*\s*\n\s*False|"
            r"is_available(?:\(\))? *(?:is|->|→|=|:)? *False"
        ):
            return False
        return None

    @cached_property
    def kernel_ran(self) -> bool:
        """Evidence that real work was done on the GPU: a kernel test, a printed device tensor, a falling loss."""
        facts = self.torch_facts
        if facts is not None and facts.kernel_ok is not None:
            return facts.kernel_ok
        return bool(self.match(r"device='cuda(?::\d+)?'\)|\bloss\W+\d+\.\d|\bstep \d+ loss \d|\bepoch \d+: [\d.]+ s"))

    @cached_property
    def fails(self) -> str | None:
        """The first line of an error of the GPU stack in what the person saw."""
        return self.quote(
            r"HIP error|hipError[A-Z]|HSA_STATUS_ERROR|RuntimeError|ImportError|OSError|AssertionError|core dumped|Segmentation fault|"
            r"Memory access fault|GPU Hang|rocBLAS error|MIOpen\(HIP\): Error|OutOfMemoryError|NoBinaryForGpu|hangs?\b|freez|crash",
            "",
        )


_TAGGED = r"['\"]?(\d+\.\d+\.\d+[\w.]*\+(?:rocm|cu\d|cpu)[\w.]*)"


def listed_nodes(text: str, groups: tuple[str, ...] | None) -> dict[str, Node]:
    """Nodes that an ``ls -l`` in a text shows. Who may open them follows from mode and groups; unknown without groups."""
    found: dict[str, Node] = {}
    folder = ""
    for line in text.split("\n"):
        if len(line) > 300:
            continue
        if heading := re.fullmatch(r"(/dev\S*):\s*", line):
            folder = heading.group(1) + "/"
        missing = re.search(r"cannot access '?(/dev/(?:kfd|dri\S*?|dxg))'?: No such file", line)
        if missing:
            found[missing.group(1)] = Node(exists=False, openable=False)
        row = re.match(r"(?:.{0,40}->\s*)?\s*(c[rwx-]{9}\S?)\s+\d+\s+(\S+)\s+(\S+)\s+\d+,\s*\d+\s.*?(\S+)$", line)
        if not row:
            continue
        path = row.group(4) if row.group(4).startswith("/") else folder + row.group(4)
        if not re.fullmatch(r"/dev/(?:kfd|dxg|dri/renderD\d+)", path):
            continue
        node = Node(True, _octal(row.group(1)), row.group(2), row.group(3))
        closed = node.root_only or (
            groups is not None and node.group not in groups and (node.mode or "")[-1:] not in ("6", "7")
        )
        found[path] = replace(node, openable=False) if closed else node
    return found


_GENERIC = {
    "gfx9-4-generic": "gfx94",
    "gfx9-generic": "gfx90",
    "gfx10-1-generic": "gfx101",
    "gfx10-3-generic": "gfx103",
    "gfx11-generic": "gfx11",
    "gfx12-generic": "gfx12",
}


def is_integrated(gfx: str) -> bool:
    """Whether a target is a processor's own graphics; targets outside the catalog (gfx90c, gfx902) are old APUs."""
    row = catalog.target(gfx)
    return row.integrated if row else gfx.split(":")[0] in ("gfx90c", "gfx902", "gfx909", "gfx801")


def _strings(entries: Any) -> tuple[str, ...] | None:
    """A list of texts, whatever a file holds in its place; None for what is no list."""
    if isinstance(entries, str):
        return (entries,)
    return tuple(str(entry) for entry in entries if entry is not None) if isinstance(entries, (list, tuple)) else None


def _string(content: Any) -> str | None:
    """A text; numbers become one, anything else is unknown."""
    if isinstance(content, str):
        return content
    return str(content) if isinstance(content, (int, float)) and not isinstance(content, bool) else None


def _yes(content: Any) -> bool | None:
    return content if isinstance(content, bool) else None


def _table(content: Any) -> Mapping[Any, Any]:
    return content if isinstance(content, Mapping) else {}


def from_case(case: Mapping[str, Any]) -> Evidence:
    """Evidence from a case file: ``{"platform", "given": {…}}``. Unknown keys and values of a wrong kind are left aside."""
    given = _table(case.get("given"))
    facts = given.get("torch")
    torch = None
    if isinstance(facts, Mapping):
        version, hip, cuda, error = (_string(facts.get(name)) for name in ("version", "hip", "cuda", "error"))
        torch = Torch(
            version, hip, cuda, _strings(facts.get("arch_list")), _strings(facts.get("gcn_arch_names")) or (),
            _yes(facts.get("cuda_available")), _yes(facts.get("kernel_ok")), error,
        )  # fmt: skip
    nodes = {
        str(path): Node(
            exists=_yes(node.get("exists")),
            mode=_string(node.get("mode")),
            owner=_string(node.get("owner")),
            group=_string(node.get("group")),
            openable=_yes(node.get("readable")),
        )
        for path, node in _table(given.get("devices")).items()
        if isinstance(node, Mapping)
    }
    packages = _strings(given.get("pip_packages"))
    named = None
    if packages is not None:
        named = {
            name.strip().lower().replace("_", "-"): version
            for name, _, version in (package.partition("==") for package in packages)
        }
    texts = {
        name: text
        for name in ("rocminfo", "rocm_smi", "amd_smi", "lspci", "dmesg", "collect_env")
        if isinstance(text := given.get(name), str)
    }
    env = given.get("env")
    return Evidence(
        platform=_string(case.get("platform")) or "linux",
        symptom=_string(given.get("symptom")) or "\n".join(_strings(given.get("symptom")) or ()),
        texts=texts,
        torch=torch,
        env={str(k): _string(v) or "" for k, v in env.items()} if isinstance(env, Mapping) else None,
        groups=_strings(given.get("groups")),
        nodes=nodes,
        os_release=_string(given.get("os_release")),
        kernel=_string(given.get("kernel")),
        python=_string(given.get("python")),
        packages=named,
        container=_yes(given.get("container")),
    )


def from_snapshot(snapshot: Mapping[str, Any], symptom: str = "") -> Evidence:
    """Evidence from a snapshot of this or another machine, or a simulated one (:mod:`labkit.machine.snapshot`).

    Values of a wrong kind are left aside: a file that somebody sends can hold anything.
    """
    snapshot = tidy(snapshot)
    torch = _torch_of(snapshot.get("torch"))
    saw = [symptom, str(snapshot.get("symptom") or "")]
    if torch is not None:
        facts = snapshot["torch"]
        saw += [str(facts.get(name) or "") for name in ("error", "printed")]
        saw += [] if facts.get("kernel_result") in (None, "ok") else [str(facts["kernel_result"])]
    tools = {str(name): text for name, text in (snapshot.get("tools") or {}).items() if isinstance(text, str)}
    texts = {**tools, **{name: snapshot[name] for name in ("lspci", "cmdline") if snapshot.get(name)}}
    if "lspci" not in texts and (listed := _as_lspci(snapshot)):
        texts["lspci"] = listed
    system = snapshot.get("system")
    windows, linux = system == "Windows", system == "Linux"
    wsl = not windows and (is_wsl(snapshot) or "/dev/dxg" in (snapshot.get("devices") or {}))
    container = bool(snapshot.get("container"))
    platform = (
        "windows"
        if windows
        else "wsl"
        if wsl
        else "macos"
        if system == "Darwin"
        else "container"
        if container
        else "linux"
    )
    kfd_texts = {f"nodes/{number}/properties": str(text) for number, text in (snapshot.get("kfd") or {}).items()}
    listed_adapters = snapshot.get("windows_adapters")
    adapters = tuple(str(row.get("name") or "") for row in listed_adapters or () if isinstance(row, Mapping))
    packages = snapshot.get("packages")
    return Evidence(
        platform=platform,
        simulated=bool(snapshot.get("simulated")),
        symptom="\n".join(text for text in saw if text).strip(),
        asked=symptom.strip(),
        texts=texts,
        torch=torch,
        env={str(name): str(content) for name, content in (snapshot.get("environment") or {}).items()},
        groups=None if windows else tuple(str(name) for name in snapshot.get("groups") or ()),
        groups_on_file=tuple(str(name) for name in snapshot.get("groups_on_file") or ()),
        nodes=_nodes(snapshot),
        topology=kfd_texts or None,
        os_release=_pretty_name(snapshot.get("os_release")),
        kernel=snapshot.get("kernel"),
        python=_python_of(snapshot),
        packages={str(name): str(version) for name, version in packages.items()} if packages is not None else None,
        container=container,
        modules=tuple(name for name, state in (snapshot.get("modules") or {}).items() if state)
        if linux and "modules" in snapshot
        else None,
        adapters=adapters,
        bus_is_empty=(linux and not wsl and snapshot.get("pci") == [] and not snapshot.get("lspci"))
        or (
            windows
            and bool(adapters)
            and not any(re.search(r"\b(?:amd|radeon|ati)\b", name, re.I) for name in adapters)
        ),
    )


def _torch_of(facts: Any) -> Torch | None:
    """torch's facts in a snapshot; None where nothing was found out."""
    if not isinstance(facts, Mapping) or not facts:
        return None

    def text(name: str) -> str | None:
        return str(facts[name]) if facts.get(name) is not None else None

    def names(name: str) -> tuple[str, ...] | None:
        return tuple(str(entry) for entry in facts[name]) if isinstance(facts.get(name), (list, tuple)) else None

    result = facts.get("kernel_result")
    available = facts.get("cuda_available")
    return Torch(
        text("version"), text("hip"), text("cuda"), names("arch_list"), names("gcn_arch_names") or (),
        available if isinstance(available, bool) else None, None if result is None else result == "ok", text("error"),
    )  # fmt: skip


def _python_of(snapshot: Mapping[str, Any]) -> str | None:
    """The version of the interpreter that torch was asked in, else of the one that collected."""
    facts = snapshot.get("torch") or {}
    version = facts.get("python") or (snapshot.get("python") or {}).get("version")
    return str(version) if version else None


def _nodes(snapshot: Mapping[str, Any]) -> dict[str, Node]:
    """The device nodes; on Linux a missing /dev/kfd is a fact as well."""
    nodes = {}
    for path, node in (snapshot.get("devices") or {}).items():
        if not isinstance(node, Mapping):
            continue
        nodes[path] = Node(True, _octal(node.get("mode")), node.get("owner"), node.get("group"), node.get("openable"))
    if snapshot.get("system") == "Linux" and "devices" in snapshot:
        nodes.setdefault("/dev/kfd", Node(exists=False, openable=False))
    return nodes


def _octal(mode: str | None) -> str | None:
    """'crw-rw----' as '0660'; octal digits stay."""
    if mode is None or not re.fullmatch(r"[a-z-][rwxsStT-]{9}\W?", mode):
        return mode
    bits = [
        sum(weight for letter, weight in zip(mode[at : at + 3], (4, 2, 1), strict=True) if letter != "-")
        for at in (1, 4, 7)
    ]
    return "0" + "".join(str(bit) for bit in bits)


def _pretty_name(os_release: str | None) -> str | None:
    found = re.search(r'^PRETTY_NAME="?(.*?)"?$', os_release or "", re.M)
    return found.group(1) if found else os_release


def _as_lspci(snapshot: Mapping[str, Any]) -> str | None:
    """The bus as /sys shows it, in lspci's form, where the program is missing. Names come from the catalog by id."""
    rows = []
    for device in snapshot.get("pci") or ():
        if not isinstance(device, Mapping):
            continue
        kind = "Processing accelerators" if str(device.get("class", "")).startswith("0x12") else "Display controller"
        row = catalog.by_pci_id(device.get("device") or "") if device.get("vendor") == "1002" else None
        vendor = "Advanced Micro Devices, Inc. [AMD/ATI]" if device.get("vendor") == "1002" else "Vendor"
        name = (row.products[0] if row else "Device") + f" [{device.get('vendor')}:{device.get('device')}]"
        address = device.get("address", "")
        if not re.fullmatch(r"(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", address):
            address = "00:00.0"
        rows.append(f"{address} {kind}: {vendor} {name}")
        rows.append(
            f"\tKernel driver in use: {device['driver']}" if device.get("driver") else "\tKernel modules: unknown"
        )
    return "\n".join(rows) or None


def here(symptom: str = "", python: str | None = None) -> Evidence:
    """Evidence about this machine, collected now. Reads only. ``python``: the interpreter whose torch is meant."""
    from labkit.machine import snapshot

    return from_snapshot(snapshot.collect(python=python), symptom)


def labkit_command(windows: bool = sys.platform == "win32") -> str:
    """How labkit is started in a terminal of a system."""
    return "py -m labkit" if windows else "python3 -m labkit"


def snapshot_command(windows: bool = sys.platform == "win32") -> str:
    """The command that writes a snapshot, without the file's name."""
    return f"{labkit_command(windows)} snapshot -o"


def _platform_of(text: str) -> str:
    """The system that a paste comes from, by its prompts and paths; 'linux' where nothing says otherwise."""
    if re.search(r"microsoft-standard-WSL|WSL_DISTRO_NAME|/mnt/c/|/dev/dxg|WSL environment detected", text):
        return "wsl"
    if re.search(r"^(?:\(\S+\) )?PS [A-Z]:|^PS>|^[A-Z]:\\|\b[A-Z]:\\Users\\|win_amd64|WinError", text, re.M):
        return "windows"
    return "linux"


def load(named: Path | str, symptom: str = "") -> Evidence:
    """Evidence from a file or '-' (standard input): a snapshot, a case, or any text, which then counts as what somebody saw.

    Raises LabkitError for a file that cannot be read or that is JSON of another kind.
    """
    where = "standard input" if str(named) == "-" else str(named)
    content = intake.read(named, LARGEST_FILE + 1)
    text = intake.decode(content[:LARGEST_FILE])
    if text is None or not text.strip():
        raise LabkitError(
            f"There is no text in {where}.",
            f"Give a snapshot ({snapshot_command()} FILE) or a text file with what was printed.",
        )
    if text.lstrip()[:1] != "{":
        text = bounded(text)
        return Evidence(platform=_platform_of(text), symptom=f"{symptom}\n{text}".strip())
    if len(content) > LARGEST_FILE:
        raise LabkitError(
            f"{where} holds JSON of more than {LARGEST_FILE >> 20} MB, which no snapshot is.", "Make the snapshot anew."
        )
    try:
        found = json.loads(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise LabkitError(
            f"{where} is not whole: its JSON does not parse ({error or 'too large'}).",
            "Make the file again, and send it as a file, not as a paste.",
        ) from error
    if "given" in found and isinstance(found["given"], dict):
        known = from_case(found)
        return replace(known, symptom=f"{symptom}\n{known.symptom}".strip()) if symptom else known
    if "labkit_snapshot" in found:
        return from_snapshot(found, symptom)
    raise LabkitError(
        f"{where} is JSON, but neither a snapshot nor a case.",
        f"A snapshot is made by: {snapshot_command()} FILE",
    )
