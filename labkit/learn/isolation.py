"""Running a probe so that nobody notices: random states, printed text and warnings stay as they were."""

from __future__ import annotations

import contextlib
import io
import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from labkit.learn import stage


class _Nowhere(io.TextIOBase):
    """Takes any text and keeps none: a loop that prints must not fill the memory either."""

    encoding = "utf-8"

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        return len(text)


@contextmanager
def no_exit() -> Iterator[None]:
    """Inside, a notebook's ``exit`` and ``quit`` raise SystemExit, as in plain Python, instead of ending the kernel."""
    shell = stage.shell()
    if shell is None:
        yield
        return

    def refuse() -> None:
        raise SystemExit

    shell.ask_exit = refuse
    try:
        yield
    finally:
        shell.__dict__.pop("ask_exit", None)


@contextmanager
def untouched(seed: int = 0) -> Iterator[None]:
    """Seed the random generators inside, give them back outside as they were; swallow what the code inside prints.

    Covers Python's, NumPy's (where it is loaded) and torch's generators on the CPU and on every device that is in use,
    the gradient mode, the default dtype and the number of threads. So a check never changes a training result.
    """
    import torch

    numpy = sys.modules.get("numpy")
    on_device = torch.cuda.is_available() and torch.cuda.is_initialized()
    python_state = random.getstate()
    numpy_state = numpy.random.get_state() if numpy is not None else None
    cpu_state = torch.default_generator.get_state()
    device_states = torch.cuda.get_rng_state_all() if on_device else []
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    try:
        random.seed(seed)
        if numpy is not None:
            numpy.random.seed(seed)
        # Not torch.manual_seed: before the device is in use that would leave a seed waiting for it.
        torch.default_generator.manual_seed(seed)
        if on_device:
            torch.cuda.manual_seed_all(seed)
        torch.set_num_threads(1)  # probes are tiny: a second thread would only be waited for
        with (
            torch.enable_grad(),
            warnings.catch_warnings(),
            contextlib.redirect_stdout(_Nowhere()),
            contextlib.redirect_stderr(_Nowhere()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(python_state)
        if numpy is not None:
            numpy.random.set_state(numpy_state)
        torch.default_generator.set_state(cpu_state)
        if on_device:
            torch.cuda.set_rng_state_all(device_states)
        torch.set_default_dtype(dtype)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
