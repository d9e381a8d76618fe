"""Verification: names of devices and modules, what they answer, and what the programs beside PyTorch show."""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterable
from pathlib import Path
from unittest import mock

from labkit.catalog.masks import HIDING
from labkit.folklore import child
from labkit.folklore.observation import Observation
from labkit.folklore.registry import probe


@probe("1.20", needs="rocm-torch")
def cuda_names_on_amd() -> Observation:
    """Asks the three names, and what the wheel has kernels for."""
    import torch

    properties = torch.cuda.get_device_properties(0)
    name, total = torch.cuda.get_device_name(0), properties.total_memory
    own = properties.gcnArchName.split(":")[0]
    return Observation(
        "holds" if torch.cuda.is_available() and name and total > 0 else "fails",
        f"is_available() {torch.cuda.is_available()}, '{name}', {total / 2**30:.1f} GiB; HIP {torch.version.hip}, {own}, "
        f"kernels for it in this wheel: {own in torch.cuda.get_arch_list()}.",
    )


@probe("1.21", needs="torch")
def available_without_rocm() -> Observation:
    """Lets a stand-in say that there is one GPU, in a build that is not for ROCm, and asks again."""
    import torch

    count = mock.patch.object(torch._C, "_cuda_getDeviceCount", lambda: 1, create=True)
    not_rocm = mock.patch.object(torch.version, "hip", None)
    with count, not_rocm:
        says, hip = torch.cuda.is_available(), torch.version.hip
    return Observation(
        "partly" if says and hip is None else "holds",
        f"With a stand-in for one NVIDIA GPU and a build without ROCm: torch.cuda.is_available() {says}, torch.version.hip {hip}. "
        f"This machine as it is: {torch.cuda.is_available()}, {torch.version.hip}.",
    )


@probe("2.16", needs="torch")
def backends_hip() -> Observation:
    """Runs the line."""
    import torch

    others = [name for name in ("cuda", "cudnn", "miopen") if hasattr(torch.backends, name)]
    try:
        said = torch.backends.hip.is_available()  # type: ignore[attr-defined]
    except AttributeError as error:
        return Observation(
            "fails", f"AttributeError: {error}. There are: torch.backends.{', torch.backends.'.join(others)}."
        )
    return Observation(
        "holds" if isinstance(said, bool) else "partly", f"torch.backends.hip.is_available() answered {said!r}."
    )


def _to(device: str) -> str:
    import torch

    try:
        name = torch.device(device)
    except RuntimeError as error:
        said = re.sub("(cpu, cuda,).*?( device type)", lambda found: " ...".join(found.groups()), str(error))
        return f"{type(error).__name__}, not even a name: {said[:160]}"
    try:
        return f"works, on {torch.zeros(1).to(name).device}"
    except Exception as error:  # the text of a ROCm build is not established
        return f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"


@probe("2.22", needs="torch")
def hip_as_device() -> Observation:
    """Moves a tensor to 'hip', and to 'rocm' as some write."""
    answers = {name: _to(name) for name in ("hip", "rocm")}
    saw = "holds" if answers["hip"].startswith("works") else "fails"
    return Observation(saw, "; ".join(f"to('{name}'): {answer}" for name, answer in answers.items()) + ".")


def _opencl(claim: str) -> Observation:
    answer = _to("opencl")
    clinfo = child.tool("clinfo")
    platforms = re.search(r"Number of platforms\s+(\d+)", clinfo.text)
    beside = f"clinfo here: {platforms.group(1)} platforms" if platforms else "there is no clinfo here"
    saw = "holds" if answer.startswith("works") else "partly"
    return Observation(saw, f"A tensor of PyTorch on the device 'opencl': {answer}. So {claim}; {beside}.")


@probe("2.14", needs="torch")
def torch_and_opencl() -> Observation:
    """Asks PyTorch whether it can use what clinfo asks about."""
    return _opencl("what clinfo finds says nothing about PyTorch")


@probe("2.35", needs="torch")
def opencl_runtime_for_torch() -> Observation:
    """Asks PyTorch whether it can use what the package installs."""
    return _opencl("an OpenCL runtime mends OpenCL programs only")


@probe("2.17", needs="amd-gpu rocm-build")
def available_on_amd(device: Path = Path("/dev/kfd")) -> Observation:
    """Asks, then runs a kernel. Where the answer is False although the driver offers a GPU, that is what was seen."""
    import torch

    if not torch.cuda.is_available():
        if device.exists() and not os.access(device, os.R_OK | os.W_OK):
            return Observation("unmet", f"needs an account that may open {device}")
        if hiding := [name for name in HIDING if name in os.environ]:
            return Observation("unmet", f"needs a GPU that no variable can hide; set here: {', '.join(hiding)}")
        return Observation(
            "fails",
            f"The driver offers a GPU, PyTorch is built for HIP {torch.version.hip}, and is_available() is False.",
        )
    product = (torch.ones(3, 4, device="cuda") @ torch.ones(4, 5, device="cuda")).sum().item()
    return Observation(
        "holds" if product == 60 else "fails", f"is_available() is True; a product on the GPU gives {product}."
    )


_CLAIMED = "No compatible GFX target found"
_REAL = "not linked with support for"  # a text that is certainly there: shows that the search finds what exists


@probe("2.30", needs="torch")
def error_text(claimed: str = _CLAIMED) -> Observation:
    """Looks for the text in the libraries of the installed PyTorch that speak of devices, and in the list of known errors."""
    import torch

    from labkit.catalog import findings

    folder = Path(torch.__file__).parent
    names = re.compile(r"^(lib)?(c10|c10_cuda|c10_hip|torch_python|torch_hip|amdhip64)\.(so|dll|dylib)")
    files = [path for path in sorted((folder / "lib").iterdir()) if names.match(path.name)]
    sources = sorted((folder / "cuda").glob("*.py"))
    real = holding([*files, *sources], _REAL)
    there = holding([*files, *sources], claimed)
    known = [code.code for code in findings.codes().values() if claimed.lower() in code.meaning.lower()]
    saw = "holds" if there or known else "fails" if real else "broken"
    return Observation(
        saw,
        f"'{claimed}' stands in {len(there)} of {len(files) + len(sources)} files of torch {torch.__version__} "
        f"({', '.join(path.name for path in files)} and torch/cuda/*.py) and in {len(known)} of the findings that this course knows. "
        f"For comparison '{_REAL}' stands in {', '.join(path.name for path in real)}.",
    )


def holding(files: Iterable[Path], text: str) -> list[Path]:
    """The files that hold a text, without reading them whole into memory."""
    found = []
    for path in files:
        if path.stat().st_size:
            with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                if content.find(text.encode()) >= 0:
                    found.append(path)
    return found


def _gfx_names(text: str) -> list[str]:
    return sorted(set(re.findall(r"\bgfx(?!000\b)[0-9a-f]{3,4}\b", text)))


@probe("1.55", needs="amd-gpu tool:rocminfo")
def rocminfo_agents() -> Observation:
    """Runs rocminfo and counts the agents."""
    answer = child.tool("rocminfo")
    agents = len(re.findall(r"^Agent \d+", answer.text, re.MULTILINE))
    return Observation(
        "holds" if agents and "HSA" in answer.text else "fails",
        f"rocminfo lists {agents} agents of the HSA system: {', '.join(_gfx_names(answer.text))}.",
    )


@probe("2.13", needs="amd-gpu tool:rocminfo")
def rocminfo_shows_gpu() -> Observation:
    """Runs rocminfo and looks for a target."""
    answer = child.tool("rocminfo")
    names = _gfx_names(answer.text)
    return Observation(
        "holds" if names else "fails", f"rocminfo shows {', '.join(names) or child.last_line(answer.text)}."
    )


@probe("2.31", needs="amd-gpu tool:rocm_agent_enumerator")
def agent_enumerator() -> Observation:
    """Runs rocm_agent_enumerator with the override unset, as every probe runs."""
    answer = child.tool("rocm_agent_enumerator")
    names = _gfx_names(answer.text)
    return Observation(
        "holds" if names else "fails",
        f"rocm_agent_enumerator prints {', '.join(names) or child.last_line(answer.text)}.",
    )
