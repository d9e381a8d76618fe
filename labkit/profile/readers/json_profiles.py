"""Profiles that are JSON: which one is it?

torch.profiler's Chrome traces, rocprofv3's results.json and rocprof v1's results.json, which is a Chrome trace as well.
"""

from __future__ import annotations

import re

from labkit.errors import LabkitError
from labkit.profile.readers import chrome, rocprofv3_json, v1_json
from labkit.profile.readers.json_array import Content
from labkit.profile.table import Profile

_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
_ROCPROFV3 = re.compile(rb'"rocprofiler-sdk-tool"\s*:')
_PLACES = 20  # where "traceEvents" is looked for before it is called something else


def read(content: Content, name: str = "") -> Profile:
    """The profile in this JSON. Raises LabkitError where it does not parse or is no profile."""
    start = re.match(rb"(?:\xef\xbb\xbf)?\s*([\[{])", content)
    if start is None:
        raise unknown()
    first = start.start(1)
    if content[first : first + 1] == b"[":
        try:
            found = chrome.read_list(content, start.end(), name)
        except chrome.OtherProfiler:
            found = v1_json.read(content, name)
        if found is None:
            raise unknown()
        return found
    if start.start(1):
        content = content[first:]
    if _ROCPROFV3.search(content[: 1 << 12]):
        return rocprofv3_json.read(content, name)
    for count, place in enumerate(_EVENTS.finditer(content)):
        try:
            found = chrome.read_object(content, place, name)
        except chrome.OtherProfiler:
            return v1_json.read(content, name)
        if found is not None:
            return found
        if count == _PLACES:
            break
    if _ROCPROFV3.search(content):
        return rocprofv3_json.read(content, name)
    raise unknown()


def unknown() -> LabkitError:
    """The error for JSON of another program."""
    return LabkitError(
        "This JSON is no profile that labkit reads.",
        "Name a torch.profiler trace, or the results.json of rocprofv3 or rocprof.",
    )
