"""Asking a snapshot: plain look-ups in a mapping, printed so that a person can read them.

A snapshot is what tools and files of a machine said (:mod:`labkit.machine.snapshot`). Nothing is judged here.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from labkit.errors import LabkitError

_NOTHING = "nothing"
_WIDTH = 92
_LINES = 24  # of a long text, before it is cut
# Not evidence: what a simulation says about itself, and the version of the shape.
_OWN = ("labkit_snapshot", "simulated", "simulated_name", "simulated_title", "symptom", "tools")
_OF_A_NODE = ("simd_count", "gfx_target_version", "vendor_id", "device_id", "drm_render_minor")


def topics(snapshot: Mapping[str, Any]) -> tuple[str, ...]:
    """What this snapshot can be asked: its keys, and the tools whose output it holds."""
    own = [str(name) for name in snapshot if name not in _OWN and not str(name).startswith("simulated")]
    tools = snapshot.get("tools")
    return (*own, *(str(name) for name in tools if name not in own)) if isinstance(tools, Mapping) else tuple(own)


def ask(snapshot: Mapping[str, Any], *asked: str) -> str:
    """What the snapshot holds on each topic, as text; 'torch.version' asks for one entry of a topic.

    Without a topic: the list of topics. Raises LabkitError for a topic that the snapshot does not have.
    """
    if not asked:
        return f"You can ask for: {', '.join(topics(snapshot))}"
    return "\n".join(_answer(name, _look_up(snapshot, name)) for name in asked)


def _look_up(snapshot: Mapping[str, Any], asked: str) -> Any:
    tools = snapshot.get("tools")
    found: Any = {**(tools if isinstance(tools, Mapping) else {}), **snapshot}
    for part in _parts(found, asked):
        if not isinstance(found, Mapping) or part not in found:
            raise LabkitError(f"The snapshot has no '{asked}'.", f"Ask for one of: {', '.join(topics(snapshot))}.")
        found = found[part]
    return found


def _parts(snapshot: Mapping[str, Any], asked: str) -> Sequence[str]:
    return [asked] if asked in snapshot else asked.split(".", 1)


def _answer(name: str, value: Any) -> str:
    if name == "devices" and isinstance(value, Mapping):
        text = "\n".join(_device(path, node) for path, node in value.items())
    elif name == "kfd" and isinstance(value, Mapping):
        text = "\n".join(f"node {node}: {_of_node(str(properties))}" for node, properties in value.items())
    else:
        text = _plain(value)
    if not text:
        text = _NOTHING
    lines = [part for line in text.splitlines() for part in _wrapped(line)]
    if len(lines) > _LINES:
        lines = [*lines[:_LINES], f"… {len(lines) - _LINES} more lines"]
    if len(lines) == 1:
        return f"{name}: {lines[0]}"
    return "\n".join([f"{name}:", *(f"    {line}" for line in lines)])


def _wrapped(line: str) -> list[str]:
    """A long line in parts; what follows is set in further than the line itself, so that it reads as one."""
    start = line[: len(line) - len(line.lstrip())] + "    "
    return textwrap.wrap(line, _WIDTH, subsequent_indent=start, break_long_words=False, break_on_hyphens=False) or [""]


def _plain(value: Any) -> str:
    if value is None or value == "":
        return ""
    if isinstance(value, Mapping):
        return "\n".join(f"{name} = {_plain(entry) or 'none'}" for name, entry in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        if any(isinstance(entry, Mapping) for entry in value):
            return "\n".join(", ".join(f"{k} {v}" for k, v in entry.items()) for entry in value)
        return ", ".join(_plain(entry) or "''" for entry in value)
    return str(value).replace("\t", "    ")


def _device(path: str, node: Any) -> str:
    if not isinstance(node, Mapping):
        return f"{path}: {node}"
    door = "this user may open it" if node.get("openable") else f"this user may not open it ({node.get('error')})"
    return f"{path}  {node.get('mode')} {node.get('owner')}:{node.get('group')}  {door}"


def _of_node(properties: str) -> str:
    found = dict(line.split(None, 1) for line in properties.splitlines() if len(line.split(None, 1)) == 2)
    return ", ".join(f"{name} {found[name]}" for name in _OF_A_NODE if name in found)
