"""The course's room in JupyterLab: a start page with progress, a device gauge, and a reset that keeps the learner's copy.

Two halves, and nothing to build or to install:

- a server extension, this package (``handlers.py`` holds its three addresses), switched on by ``etc/jupyter_server_config.d``;
- a front end in plain JavaScript, ``share/labextensions/rocm-labs``, which JupyterLab finds through JUPYTER_PATH.

``labkit.course.lab.room(environ)`` gives the three variables (PYTHONPATH, JUPYTER_CONFIG_PATH, JUPYTER_PATH) that switch both on;
``labkit start``, Binder and the hub use it. Three more are read by the server extension, and need not be set:

- ``LABKIT_LESSONS``: a folder with the lessons as they were published, which a reset puts back. Without it: the clone's own
  notebooks where the learner works on a copy of them, else what git holds as HEAD. A hub sets it to its shared folder.
- ``LABKIT_NOTEBOOKS``: the learner's folder with the lessons, from the server's root folder. Without it: the root folder
  itself or its folder ``notebooks``, whichever holds lessons.
- ``LABKIT_PROGRESS``: the learner's progress file, as everywhere in labkit; the server and its kernels must agree on it.

"""

from __future__ import annotations

from typing import Any


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    return [{"module": "labkit.jupyter"}]


def _load_jupyter_server_extension(server: Any) -> None:
    """Called by Jupyter Server when it starts."""
    from labkit.jupyter import handlers

    handlers.add(server)
