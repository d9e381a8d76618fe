"""The machines that exist only on paper. Targets come from the catalog; unit counts, clocks and memory sizes are the products'."""

from __future__ import annotations

from collections.abc import Callable

from labkit.machine.simulate.box import Box, Card, Node, Torch, amd_wheel, cpu_wheel, pytorch_wheel

_WSL = "6.6.87.2-microsoft-standard-WSL2"


def _rx6600() -> Card:
    return Card("gfx1032", "Radeon RX 6600", "Navi 23 [Radeon RX 6600/6600 XT/6600M]", "73ff", 28, 2491, 8)


def _rx6800() -> Card:
    return Card("gfx1030", "Radeon RX 6800", "Navi 21 [Radeon RX 6800/6800 XT / 6900 XT]", "73bf", 60, 2105, 16)


def _rx7600(name: str = "Radeon RX 7600", clock: int = 2655) -> Card:
    chip = "Navi 33 [Radeon RX 7600/7600 XT/7600M XT/7600S/7700S / PRO W7600]"
    return Card("gfx1102", name, chip, "7480", 32, clock, 8)


def _xtx() -> Card:
    chip = "Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]"
    return Card("gfx1100", "Radeon RX 7900 XTX", chip, "744c", 96, 2498, 24)


def _rx9070xt() -> Card:
    return Card("gfx1201", "Radeon RX 9070 XT", "Navi 48 [Radeon RX 9070/9070 XT/9070 GRE]", "7550", 64, 2970, 16)


def _phoenix() -> Card:
    chip = "Phoenix1 [Radeon 740M / 760M / 780M Graphics]"
    return Card("gfx1103", "Radeon 780M", chip, "15bf", 12, 2700, 4, slot="c4:00.0")


def _strix_halo() -> Card:
    chip = "Strix Halo [Radeon Graphics / Radeon 8050S Graphics / Radeon 8060S Graphics]"
    return Card(
        "gfx1151", "Radeon 8060S Graphics", chip, "1586", 40, 2900, 64, slot="c5:00.0", kind="Display controller [0380]"
    )


def _mi300x(number: int) -> Card:
    return Card("gfx942", "Instinct MI300X", "Aqua Vanjaram [Instinct MI300X]", "74a1", 304, 2100, 192,
                slot=f"{number + 1:02x}:00.0", kind="Processing accelerators [1200]", xcc=8)  # fmt: skip


def _mi250x(number: int) -> Card:
    return Card("gfx90a", "Instinct MI250X", "Aldebaran/MI200 [Instinct MI250X]", "7408", 110, 1700, 64,
                slot=f"{number + 1:02x}:00.0", kind="Display controller [0380]")  # fmt: skip


def _laptop() -> Box:
    return Box(
        [_phoenix(), _rx7600("Radeon RX 7700S", 2200)],
        pytorch_wheel(),
        environment={"HIP_VISIBLE_DEVICES": "1"},
        ram_gib=32,
    )


def _docker() -> Box:
    return Box([_xtx()], pytorch_wheel(), place="container", container=["/.dockerenv"], groups=["992", "root", "video"],
               kfd=Node("992"), render=Node("992"))  # fmt: skip


def _podman() -> Box:
    """A rootless container whose runtime keeps the groups of the host's user: to it, foreign owners are 'nobody'."""
    return Box([_xtx()], pytorch_wheel(), place="container", container=["/run/.containerenv", "container=podman"],
               groups=["nogroup", "root"], kfd=Node("nogroup", "nobody"), render=Node("nogroup", "nobody"))  # fmt: skip


def _wsl() -> Box:
    return Box([_xtx()], amd_wheel("gfx1100"), place="wsl", kernel=_WSL, groups=["user"], module=None)


def _windows(card: Card) -> Box:
    return Box([card], amd_wheel(card.gfx), place="windows", kernel="11", os_name="Microsoft Windows 11 Pro (10.0.26200 64 Bit)",
               groups=[], module=None)  # fmt: skip


def _no_gpu(torch: Torch) -> Box:
    return Box([], torch, groups=["user"], module=None, kfd=None, render=None)


# name -> (title, how to make it). Every one of these is healthy.
HEALTHY: dict[str, tuple[str, Callable[[], Box]]] = {
    "rx6600": ("Radeon RX 6600, Linux, AMD's wheels", lambda: Box([_rx6600()], amd_wheel("gfx1032"))),
    "rx6800": ("Radeon RX 6800, Linux", lambda: Box([_rx6800()], pytorch_wheel())),
    "rx7600": ("Radeon RX 7600, Linux", lambda: Box([_rx7600()], pytorch_wheel())),
    "rx7900xtx": ("Radeon RX 7900 XTX, Linux", lambda: Box([_xtx()], pytorch_wheel())),
    "rx9070xt": ("Radeon RX 9070 XT, Linux", lambda: Box([_rx9070xt()], pytorch_wheel())),
    "laptop_780m_rx7700s": ("Laptop: Radeon 780M in the processor beside a Radeon RX 7700S, Linux", _laptop),
    "strix_halo": (
        "Ryzen AI Max+ 395 with Radeon 8060S, Linux, AMD's wheels",
        lambda: Box([_strix_halo()], amd_wheel("gfx1151"), ram_gib=128),
    ),
    "mi300x_x8": (
        "Eight Instinct MI300X, Linux",
        lambda: Box([_mi300x(number) for number in range(8)], pytorch_wheel(), ram_gib=2048),
    ),
    "mi250x": (
        "One Instinct MI250X, which shows as two devices, Linux",
        lambda: Box([_mi250x(number) for number in range(2)], pytorch_wheel(), ram_gib=512),
    ),
    "wsl_rx7900xtx": ("Radeon RX 7900 XTX in WSL, AMD's wheels", _wsl),
    "windows_rx7900xtx": ("Radeon RX 7900 XTX, Windows, AMD's wheels", lambda: _windows(_xtx())),
    "windows_rx6800": ("Radeon RX 6800, Windows, AMD's wheels", lambda: _windows(_rx6800())),
    "docker_rx7900xtx": ("Radeon RX 7900 XTX in a Docker container", _docker),
    "podman_rx7900xtx": ("Radeon RX 7900 XTX in a rootless podman container", _podman),
    "no_gpu": ("No GPU, Linux, CPU build", lambda: _no_gpu(cpu_wheel())),
}

# Broken ones with a name of their own: name -> (title, machine, fault).
BROKEN: dict[str, tuple[str, str, str]] = {
    "container_without_devices": (
        "Container that was started without the GPU's devices, Radeon RX 7900 XTX", "docker_rx7900xtx", "kfd-missing-in-container"),
    "user_not_in_render_group": ("User outside the group render, Radeon RX 7900 XTX", "rx7900xtx", "kfd-permission"),
    "cpu_wheel_on_rx7900xtx": ("CPU build of PyTorch, Radeon RX 7900 XTX", "rx7900xtx", "wrong-wheel-cpu"),
    "wheel_without_target_rx6600": ("Radeon RX 6600 with a wheel that has no kernels for it", "rx6600", "arch-not-in-wheel"),
}  # fmt: skip
