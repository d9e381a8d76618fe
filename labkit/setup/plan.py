"""Which build of PyTorch fits a machine: a pure function from facts to a plan.

The facts about wheels and targets stand in ``labkit.catalog``, with their sources. Nothing here reads the machine, asks
a network, or ever suggests to override the version of a GPU.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from labkit.catalog import wheels
from labkit.catalog.gfx import GfxTarget, target
from labkit.errors import LabkitError
from labkit.machine.facts import Gpu, Machine

WHERE_TO_LOOK = "AMD's list of GPUs: https://github.com/ROCm/TheRock/blob/main/SUPPORTED_GPUS.md"


@dataclass(frozen=True)
class TorchPlan:
    """One way to install torch and torchvision, with the reasons in sentences for people.

    ``index_url`` None means pip's own default index (or the mirror that pip is set to). ``requirements`` has torch
    first and torchvision second. Sizes are None where they are not established. ``fallback`` is what to do where the
    index cannot be reached.
    """

    build: str  # 'rocm', 'cuda', 'cpu' or 'default' (whatever the index has for this system)
    index_url: str | None
    requirements: tuple[str, ...]
    gfx: tuple[str, ...]
    reasons: tuple[str, ...]
    download_bytes: int | None
    installed_bytes: int | None
    fallback: TorchPlan | None = None

    def pip_index_arguments(self) -> list[str]:
        """pip's arguments for the index: never an extra index, which would let another index's torch win."""
        return [] if self.index_url is None else ["--index-url", self.index_url]


def plan(machine: Machine, torch: str = "auto", index: str | None = None) -> TorchPlan:
    """Chooses the build of PyTorch.

    ``torch`` is 'auto', 'cpu', 'cuda', the name of a ROCm index ('rocm7.2') or the URL of a package index; ``index`` is
    an index that the user set once for all (LABKIT_TORCH_INDEX). Raises LabkitError for a wish that cannot be met.
    """
    wish, index = torch.strip(), (index or "").strip() or None
    if wish.lower() == "auto":
        chosen = _automatic(machine)
        if index:
            chosen = _from_index(machine, chosen, index, f"LABKIT_TORCH_INDEX asks for {index}.")
    elif "://" in wish:
        chosen = _from_index(machine, _automatic(machine), wish, f"--torch asks for {wish}.")
    else:
        chosen = _named(machine, wish.lower())
        if index:
            chosen = replace(
                chosen,
                index_url=index,
                fallback=None,
                download_bytes=None,
                reasons=(*chosen.reasons, f"LABKIT_TORCH_INDEX asks for {index}."),
            )
    notes = _python_notes(machine, chosen)
    return replace(chosen, reasons=(*chosen.reasons, *notes)) if notes else chosen


# ---------------------------------------------------------------------------------------------------------------- auto


@dataclass(frozen=True)
class _Route:
    """What is possible for one GPU: PyTorch's own ROCm indexes, AMD's wheels, or neither, and why."""

    gpu: Gpu
    pytorch: tuple[str, ...]
    amd: bool
    reason: str

    @property
    def possible(self) -> bool:
        return bool(self.pytorch) or self.amd

    @property
    def gfx(self) -> str:
        return self.gpu.gfx or ""


def _automatic(machine: Machine) -> TorchPlan:
    if machine.system == "macos":
        return _mac(machine)
    if machine.system not in ("linux", "windows"):
        return _default(f"labkit does not know the system '{machine.system}': pip's default index decides.")
    discrete = [_route(machine, gpu) for gpu in machine.gpus if not gpu.integrated]
    integrated = [_route(machine, gpu) for gpu in machine.gpus if gpu.integrated]
    refused = tuple(route.reason for route in [*discrete, *integrated] if not route.possible)
    usable = [route for route in discrete if route.possible]
    if usable:
        notes = list(refused)
        if integrated:
            notes.append(f"The integrated GPU ({_names(integrated)}) is left aside: the discrete one decides.")
        if machine.nvidia:
            notes.append("There is an NVIDIA GPU too. This course is about AMD's; --torch cuda would choose the other.")
        return _add(_rocm(machine, usable), notes)
    if machine.nvidia:
        notes = list(refused)
        if any(route.possible for route in integrated):
            notes.append(f"The integrated AMD GPU ({_names(integrated)}) is left aside: the discrete one decides.")
        return _add(_nvidia(machine), notes)
    usable = [route for route in integrated if route.possible]
    if usable:
        return _add(_rocm(machine, usable), list(refused))
    if machine.gpus:
        return _add(_cpu(machine), [*refused, "So PyTorch will compute on the CPU. " + WHERE_TO_LOOK + "."], first=True)
    return _add(_cpu(machine), ["No GPU that PyTorch can use was found: the lessons run on the CPU."], first=True)


def _route(machine: Machine, gpu: Gpu) -> _Route:
    """What fits one GPU on this system. The order of the questions is the order of what can stop it."""
    label = gpu.label[:1].upper() + gpu.label[1:] if gpu.gfx is None else gpu.label
    row = target(gpu.gfx)

    def no(reason: str) -> _Route:
        return _Route(gpu, (), False, reason)

    if gpu.gfx is None:
        if machine.wsl:
            return no(
                f"{label} shows in WSL only as /dev/dxg, and its target could not be read from Windows. If you know "
                "it, for example gfx1100, set ROCM_BOOTSTRAP_FORCE_GFX_ARCH=gfx1100 and start again."
            )
        return no(f"The gfx target of {label} is not known.")
    if row is None:
        return no(f"{label} is not in labkit's table of targets: no wheels are known for it.")
    if machine.architecture != "x86_64":
        return no(f"ROCm wheels of PyTorch exist for x86_64 only; this processor is {machine.architecture}.")
    if gpu.gfx == "gfx1033":
        return no(f"{label}: {row.notes}. Wrong numbers teach nothing, so the CPU is used.")
    if machine.system == "windows":
        carried = wheels.amd_carries(gpu.gfx, "windows")
        if not carried:
            return no(f"There are no wheels for {label} on Windows.")
        return _Route(
            gpu, (), True, _amd_reason(row, label, carried, "PyTorch's own ROCm wheels exist for Linux only.")
        )
    carried = wheels.amd_carries(gpu.gfx, "linux")
    if machine.wsl:
        if row.wsl == "n/a" or not carried:
            return no(f"There are no wheels for {label} in WSL.")
        why = (
            "In WSL the GPU is reached through /dev/dxg, which the runtime inside PyTorch's own wheels does not know "
            "(ROCm/hip#3710)."
        )
        return _Route(gpu, (), True, _amd_reason(row, label, carried, why))
    listed = tuple(name for name in wheels.usable_rocm_indexes() if name in row.pytorch_indexes)
    if gpu.gfx == "gfx1151" and carried:
        why = "Crashes are reported for it with PyTorch's own wheels (pytorch/pytorch#173367)."
        return _Route(gpu, (), True, _amd_reason(row, label, carried, why))
    if listed:
        return _Route(gpu, listed, bool(carried), f"{label}: PyTorch's own ROCm wheels ({listed[0]}) have its kernels.")
    if carried:
        why = "No established index of PyTorch's own wheels has its kernels."
        return _Route(gpu, (), True, _amd_reason(row, label, carried, why))
    return no(f"No wheels are known for {label} on this system.")


def _amd_reason(row: GfxTarget, label: str, carried: str, why: str) -> str:
    how = (
        "AMD lists it for its ROCm 10 wheels"
        if carried == "listed"
        else "AMD's page for ROCm 10 does not list it, but others install it from AMD's index"
    )
    return f"{label}: {why} {how} (extra device-{row.gfx})."


def _rocm(machine: Machine, routes: list[_Route]) -> TorchPlan:
    """One build for all the given GPUs if there is one, otherwise for as many as agree with the first."""
    shared = [name for name in wheels.usable_rocm_indexes() if all(name in route.pytorch for route in routes)]
    left: list[_Route] = []
    if shared:
        chosen = _pytorch_rocm(shared[0], routes)
    elif all(route.amd for route in routes):
        chosen = _amd(routes)
    else:
        by_amd = [route for route in routes if route.amd]
        by_pytorch = [route for route in routes if wheels.PREFERRED_ROCM in route.pytorch]
        agreed = by_pytorch if routes[0] in by_pytorch and len(by_pytorch) >= len(by_amd) else by_amd
        left = [route for route in routes if route not in agreed]
        chosen = _pytorch_rocm(wheels.PREFERRED_ROCM, agreed) if agreed is by_pytorch else _amd(agreed)
    notes = []
    if len(routes) > 1:
        notes.append(
            f"{len(routes)} GPUs were found ({_names(routes)}): "
            + (f"no wheels carry all; {_names(left)} will not be used." if left else "one build serves all.")
        )
    absent = [
        route
        for route in routes
        if not machine.wsl and machine.system == "linux" and route.gpu.found_by in ("lspci", "pci")
    ]
    if absent:
        notes.append(
            f"{_names(absent)} was seen on the bus, but the kernel driver does not offer it: until it does, PyTorch "
            "computes on the CPU. Lesson 00 shows what to check."
        )
    forced = [route for route in routes if route.gpu.found_by.startswith("ROCM_BOOTSTRAP")]
    if forced:
        notes.append("The target was not read from this machine but given by ROCM_BOOTSTRAP_FORCE_GFX_ARCH.")
    for route in routes:
        if route.gfx == "gfx906" and chosen.index_url and "rocm" in chosen.index_url:
            notes.append(
                "Newer wheels were reported without working BLAS kernels for gfx906 (unslothai/unsloth#7354): the "
                "check after the installation will tell."
            )
            break
    return _add(chosen, notes)


def _pytorch_rocm(name: str, routes: list[_Route]) -> TorchPlan:
    size = wheels.SIZES["pytorch-rocm"]
    fallback = _amd(routes) if all(route.amd for route in routes) else None
    return TorchPlan(
        "rocm",
        wheels.PYTORCH_BASE + name,
        _range(),
        _targets(routes),
        _reasons(routes),
        size.download_bytes,
        size.installed_bytes,
        fallback,
    )


def _amd(routes: list[_Route]) -> TorchPlan:
    gfx = _targets(routes)
    extras = ",".join(f"device-{name}" for name in gfx)
    size = wheels.SIZES["amd" if len(gfx) == 1 else "amd-all"]
    reasons = _reasons(routes)
    if len(gfx) > 1:
        reasons = (
            *reasons,
            "The size for several targets is not established: the figure given is that of all targets.",
        )
    older = wheels.SIZES["default-other"]
    fallback = TorchPlan(
        "rocm",
        wheels.AMD_MULTI_ARCH_INDEX,
        _range(f"[{extras}]"),
        gfx,
        ("AMD's index for ROCm 10 cannot be reached: its multi-arch wheels for ROCm 7.14 have the same targets.",),
        older.download_bytes,
        older.installed_bytes,
    )
    requirements = (f"torch[{extras}]=={wheels.AMD_TORCH}", f"torchvision[{extras}]=={wheels.AMD_TORCHVISION}")
    return TorchPlan(
        "rocm", wheels.AMD_INDEX, requirements, gfx, reasons, size.download_bytes, size.installed_bytes, fallback
    )


def _nvidia(machine: Machine) -> TorchPlan:
    if machine.system == "linux" and machine.architecture == "x86_64":
        size = wheels.SIZES["default-linux"]
        return TorchPlan(
            "cuda",
            None,
            _range(),
            (),
            ("An NVIDIA GPU: pip's default index has the CUDA build for Linux.",),
            size.download_bytes,
            size.installed_bytes,
        )
    if machine.system == "windows":
        return _default(
            "An NVIDIA GPU, but pip's default index has a CPU build for Windows. For the CUDA build take the "
            "address that pytorch.org/get-started names for your driver, and give it with --torch."
        )
    return _default(f"An NVIDIA GPU with a processor of kind {machine.architecture}: pip's default index decides.")


def _mac(machine: Machine) -> TorchPlan:
    if machine.apple:
        return _default("Apple silicon: pip's default index has the build with Metal (the device is called mps).")
    return _default(
        "A Mac without Apple silicon: PyTorch stopped building for it after 2.2 and the course needs 2.10, so "
        "pip will probably find nothing. Use Linux, Windows, or Binder."
    )


def _cpu(machine: Machine) -> TorchPlan:
    if machine.system != "linux":
        return replace(_default("pip's default index has a CPU build for this system."), build="cpu")
    large = wheels.SIZES["default-linux"]
    fallback = TorchPlan(
        "default",
        None,
        _range(),
        (),
        (
            "The CPU index cannot be reached. pip's default index has a large CUDA build for Linux (about 3 GB to download, "
            "5.5 GB installed): it runs on the CPU just as well.",
        ),
        large.download_bytes,
        large.installed_bytes,
    )
    size = wheels.SIZES["pytorch-cpu"]
    return TorchPlan(
        "cpu",
        wheels.CPU_INDEX,
        _range(),
        (),
        ("PyTorch's CPU index has the small build.",),
        size.download_bytes,
        size.installed_bytes,
        fallback,
    )


def _default(reason: str) -> TorchPlan:
    size = wheels.SIZES["default-other"]
    return TorchPlan("default", None, _range(), (), (reason,), size.download_bytes, size.installed_bytes)


# -------------------------------------------------------------------------------------------------------------- wishes


def _named(machine: Machine, wish: str) -> TorchPlan:
    if wish == "cpu":
        return _add(_cpu(machine), ["--torch asks for the CPU build."], first=True)
    if wish == "cuda":
        if machine.system == "macos":
            raise LabkitError("There is no CUDA build of PyTorch for macOS.", "Leave --torch away, or use --torch cpu.")
        notes = [] if machine.nvidia else ["No NVIDIA GPU was found: a CUDA build computes on the CPU here."]
        return _add(_nvidia(machine), ["--torch asks for the CUDA build.", *notes], first=True)
    if re.fullmatch(r"rocm\d+(\.\d+)*", wish):
        return _named_rocm(machine, wish)
    raise LabkitError(
        f"'{wish}' is not a build of PyTorch that labkit knows.",
        "Use --torch auto, cpu, cuda, rocm7.2, or the URL of a package index.",
    )


def _named_rocm(machine: Machine, name: str) -> TorchPlan:
    if machine.system != "linux" or machine.architecture != "x86_64":
        raise LabkitError(
            f"PyTorch's own ROCm wheels ({name}) exist for Linux on x86_64 only.",
            "Leave --torch away: labkit then takes AMD's wheels where there are some.",
        )
    carried = [row.torch for row in wheels.TORCH_INDEXES if name in row.indexes]
    if carried and all(wheels.version(torch) < (2, 10) for torch in carried):
        raise LabkitError(
            f"The index {name} stops at torch {carried[-1]}; the course needs 2.10.",
            f"Use --torch {wheels.PREFERRED_ROCM}, or leave --torch away.",
        )
    notes = [f"--torch asks for {name}."]
    if name not in wheels.usable_rocm_indexes():
        notes.append(f"Whether {name} has a torch that the course accepts is not established.")
    gfx = tuple(dict.fromkeys(gpu.gfx for gpu in machine.gpus if gpu.gfx and not gpu.integrated)) or _known(machine)
    for missing in gfx:
        row = target(missing)
        if row is None or name not in row.pytorch_indexes:
            notes.append(
                f"No kernels for {missing} are known in it: they will fail, and the check after the installation says so."
            )
    if machine.wsl:
        notes.append("In WSL these wheels do not find the GPU: their runtime lacks /dev/dxg (ROCm/hip#3710).")
    size = wheels.SIZES["pytorch-rocm"]
    return TorchPlan(
        "rocm", wheels.PYTORCH_BASE + name, _range(), gfx, tuple(notes), size.download_bytes, size.installed_bytes
    )


def _from_index(machine: Machine, automatic: TorchPlan, url: str, reason: str) -> TorchPlan:
    """The user's index: what its address says about its wheels decides, otherwise it stands in for the chosen one."""
    kind = wheels.kind_of(url)
    gfx = automatic.gfx or _known(machine)
    if kind is None:
        build = "default" if automatic.build == "cpu" else automatic.build
        reasons = (
            reason,
            "Its address does not say what it holds: the requirements are those of the automatic choice.",
            *automatic.reasons,
        )
        return replace(
            automatic,
            build=build,
            index_url=url,
            reasons=reasons,
            fallback=None,
            download_bytes=None,
            installed_bytes=None,
        )
    if kind in ("amd", "amd-multi-arch"):
        carried = tuple(
            name for name in gfx if wheels.amd_carries(name, "windows" if machine.system == "windows" else "linux")
        )
        extras = ",".join(f"device-{name}" for name in carried) or "device-all"
        requirements = (
            _range(f"[{extras}]")
            if kind == "amd-multi-arch"
            else (f"torch[{extras}]=={wheels.AMD_TORCH}", f"torchvision[{extras}]=={wheels.AMD_TORCHVISION}")
        )
        size = wheels.SIZES["amd" if len(carried) == 1 else "amd-all"]
        notes = (
            ()
            if carried
            else (
                "No target is known, so the kernels of all targets are installed: about 10 GB to "
                "download, 19 GB installed.",
            )
        )
        return TorchPlan(
            "rocm", url, requirements, carried, (reason, *notes), size.download_bytes, size.installed_bytes
        )
    build = "rocm" if kind.startswith("rocm") else kind
    size = wheels.SIZES["pytorch-cpu" if build == "cpu" else "pytorch-rocm"]
    return TorchPlan(
        build, url, _range(), gfx if build == "rocm" else (), (reason,), size.download_bytes, size.installed_bytes
    )


# --------------------------------------------------------------------------------------------------------------- words


def _python_notes(machine: Machine, chosen: TorchPlan) -> tuple[str, ...]:
    major, minor = machine.python
    first, last = wheels.CHANNELS["default"].pythons
    if (major, minor) < (3, first) or (major, minor) > (3, last):
        return (f"Wheels of PyTorch exist for Python 3.{first} to 3.{last}; this is Python {major}.{minor}.",)
    if minor == 10 and any("device-" in requirement for requirement in chosen.requirements):
        return (
            "AMD's pages for some releases name Python 3.11 to 3.14 only: if pip finds no torch, take one of those.",
        )
    return ()


def _range(extras: str = "") -> tuple[str, str]:
    return (f"torch{extras}{wheels.TORCH_RANGE}", f"torchvision{extras}{wheels.TORCHVISION_RANGE}")


def _known(machine: Machine) -> tuple[str, ...]:
    return tuple(dict.fromkeys(gpu.gfx for gpu in machine.gpus if gpu.gfx))


def _targets(routes: list[_Route]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(route.gfx for route in routes))


def _reasons(routes: list[_Route]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(route.reason for route in routes))


def _names(routes: list[_Route]) -> str:
    return ", ".join(dict.fromkeys(route.gpu.label for route in routes))


def _add(chosen: TorchPlan, notes: list[str], first: bool = False) -> TorchPlan:
    return replace(chosen, reasons=(*notes, *chosen.reasons) if first else (*chosen.reasons, *notes))
