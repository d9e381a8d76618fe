"""The kernel that executes lessons: always this interpreter's own, whatever kernels the user has registered."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager

from labkit import threads
from labkit.importable import python_path


def environment(ipython_dir: Path) -> dict[str, str]:
    """The variables that a kernel gets: this process's own, with labkit importable and nobody's start-up files.

    Args:
        ipython_dir: an empty folder of ours for IPython, so that neither start-up files nor a history of the user's
            take part.
    """
    variables = dict(os.environ)
    variables.update(_thread_settings())
    variables["PYTHONPATH"] = python_path(variables)
    variables["IPYTHONDIR"] = str(ipython_dir)
    variables["PYTHONUTF8"] = "1"
    variables["LABKIT_PROGRESS"] = "off"  # a run is not a learner
    variables["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # figures land in the notebook
    variables["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # else a debugger that nobody uses warns on every start
    return variables


def _thread_settings() -> dict[str, str]:
    """What ``labkit.threads`` wants set before torch is imported; what the user set stays."""
    return {name: value for name, value in threads.environment().variables.items() if name not in os.environ}


def command() -> list[str]:
    """The command line of the kernel, for a kernel spec. The log level leaves out the note that it listens on TCP."""
    return [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=40"]


class CourseKernelManager(AsyncKernelManager):
    """Starts the kernel of ``command()``; no kernel spec on this computer is read."""

    @property
    def kernel_spec(self) -> KernelSpec:
        return KernelSpec(
            argv=command(), display_name="Python 3 (ipykernel)", language="python", env={}, metadata={"debugger": False}
        )

    async def _async_interrupt_kernel(self) -> None:
        """Interrupts a cell. Not while shutting down: jupyter_client would interrupt first, and an idle kernel then
        prints an error about it on the learner's terminal; what does not end when asked to is killed anyway."""
        if not self.shutting_down:
            await super()._async_interrupt_kernel()

    interrupt_kernel = _async_interrupt_kernel

    @property
    def process_id(self) -> int | None:
        """The process id of the running kernel, or None."""
        provisioner: Any = self.provisioner
        return getattr(provisioner, "pid", None) if provisioner is not None else None
