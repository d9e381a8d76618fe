"""The eight broken machines: simulated, each with a story of a kind that really happens.

The texts that torch and the tools print are those of public reports; machines and people are made up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.catalog.findings import codes
from labkit.learn.exercises.troubleshooting_lab.case import Case, Choice
from labkit.machine import simulate
from labkit.machine.simulate import texts
from labkit.machine.simulate.faults import FAULTS

_NO_GPU = "RuntimeError: No HIP GPUs are available"
_ASKED = ">>> import torch\n>>> torch.cuda.is_available()\n"


def fixed_cases() -> tuple[Case, ...]:
    """The eight machines of the course, from the plain to the sly."""
    return (
        _cpu_wheel(),
        _closed_door(),
        _missing_kernels(),
        _wrong_vendor(),
        _bare_container(),
        _no_modeset(),
        _old_override(),
        _wsl_bridge(),
    )


def _cause(code: str, why_not: str = "") -> Choice:
    """A cause of the doctor's list, in the doctor's words."""
    return Choice(code, codes()[code].meaning, why_not)


def _rented(code: str) -> dict[str, Any]:
    """Eight Instinct MI300X in a Docker container, with a fault: the cards of one simulated machine in another one's place."""
    box = simulate.box("docker_rx7900xtx")
    box.cards[:] = simulate.box("mi300x_x8").cards
    FAULTS[code].inject(box)
    return {**texts.snapshot(box), "simulated": True, "simulated_title": "Eight Instinct MI300X in a Docker container"}


def _targets(snapshot: Mapping[str, Any]) -> str:
    return ", ".join(snapshot["torch"]["arch_list"])


def _cpu_wheel() -> Case:
    said = "AssertionError: Torch not compiled with CUDA enabled"
    made = simulate.snapshot("laptop_780m_rx7700s", ["wrong-wheel-cpu"])
    version, door = made["torch"]["version"], "/dev/kfd"
    return Case(
        "verdict_1",
        "The student's laptop",
        "First week of term. The course's requirements.txt is installed, the games run well on the Radeon, and PyTorch "
        "says that there is no GPU. 'Do I have to buy an NVIDIA laptop?'",
        f'{_ASKED}False\n>>> torch.ones(2, device="cuda")\n{said}',
        f"Ask for torch: its version is {version}, and hip and cuda are both empty. Such a build knows no GPU at all.",
        (
            _cause("arch-not-in-wheel", "That is a matter of ROCm wheels, and this one is none: torch.hip is empty here, "
                   "and there is not one gfx target in it."),
            _cause("driver-not-loaded", f"The module amdgpu is '{made['modules']['amdgpu']}', and {door} is there. "
                   "Games would not run without it either."),
            _cause("kfd-permission", f"Look at the devices: {door} may be opened by this user, who is in the group render."),
            _cause("wrong-wheel-cpu"),
        ),
        (
            Choice("override", "export HSA_OVERRIDE_GFX_VERSION=11.0.0",
                   "The ROCm runtime reads that variable, and this build brings no ROCm runtime: nobody would read it. Where "
                   "one does, gfx1102 would pose as gfx1100, and wheels with kernels for gfx1102 exist."),
            Choice("rocm-wheel", "Uninstall torch and torchvision, then install both from a ROCm index, with --index-url."),
            Choice("sudo-pip", "sudo pip install --upgrade torch",
                   f"That puts a second torch beside the {version} of this venv, into the system's Python, and as root: pip "
                   "then works in folders that belong to the distribution. It would not even be a ROCm build."),
            Choice("usermod", "sudo usermod -aG render,video $USER",
                   f"The groups are {', '.join(made['groups'])} already. No group gives a CPU build a GPU."),
        ),
        made,
    )  # fmt: skip


def _closed_door() -> Case:
    made = simulate.snapshot("rx7900xtx", ["kfd-permission"])
    kfd = made["devices"]["/dev/kfd"]
    return Case(
        "verdict_2",
        "The new workstation",
        "A fresh Ubuntu, a new Radeon RX 7900 XTX, and the environment of the old machine set up again, command by command. "
        "On the old machine everything worked.",
        f'{_ASKED}False\n>>> torch.ones(2, device="cuda")\n{_NO_GPU}',
        f"Compare two answers: /dev/kfd belongs to {kfd['owner']}:{kfd['group']} ({kfd['mode']}), and this user's groups "
        f"are: {', '.join(made['groups'])}.",
        (
            _cause("driver-not-loaded", f"The module amdgpu is '{made['modules']['amdgpu']}', and it made /dev/kfd: the file "
                   "is there. Look at who may open it."),
            _cause("gpu-hidden-by-env", "Ask for the environment: no variable is set that could hide a GPU."),
            _cause("kfd-permission"),
            _cause("wrong-wheel-cuda", f"torch says {made['torch']['version']} and HIP {made['torch']['hip']}: a ROCm build. "
                   "It may not reach the device, which is another matter."),
        ),
        (
            Choice("chmod-666", "sudo chmod 666 /dev/kfd /dev/dri/renderD128",
                   "It would open the GPU to every program of every user, and udev makes the file anew with "
                   f"{kfd['mode']} at the next start. The mode is right; what is missing is one membership."),
            Choice("reinstall-rocm", "Remove ROCm, and install the newest one with apt.",
                   f"The wheel brings its own ROCm (HIP {made['torch']['hip']}), and a newer one would meet the same closed file."),
            Choice("sudo-python", "sudo jupyter lab",
                   f"Root can open {kfd['mode']}, true. But root has another Python without this venv, every notebook then may "
                   "do anything to the machine, and the files that it writes belong to root."),
            Choice("usermod", "sudo usermod -aG render,video $USER   # then log out and in again"),
        ),
        made,
    )  # fmt: skip


def _missing_kernels() -> Case:
    said = "RuntimeError: HIP error: invalid device function"
    made = simulate.snapshot("rx6600", ["arch-not-in-wheel"])
    return Case(
        "verdict_3",
        "The second-hand card",
        "A Radeon RX 6600 from the small ads. is_available() says True and the name is right, so the model is sent to the GPU. "
        "The very first line that computes something stops.",
        f'{_ASKED}True\n>>> torch.cuda.get_device_name(0)\n\'AMD Radeon RX 6600\'\n>>> torch.ones(2, device="cuda") * 2\n{said}',
        f"Ask for torch: the card is {made['torch']['gcn_arch_names'][0]}. Is that name in arch_list?",
        (
            _cause("arch-not-in-wheel"),
            _cause("gpu-init-failed", f"The driver is '{made['modules']['amdgpu']}', the card stands in the topology (ask for "
                   "kfd), and torch reads its name. A card that failed to start would show none of that."),
            _cause("kfd-permission", "Every device may be opened by this user. A closed file would give 'No HIP GPUs', "
                   "and is_available() would say False."),
            _cause("wrong-wheel-cpu", f"torch says {made['torch']['version']}, HIP {made['torch']['hip']}: a ROCm build. It "
                   "sees the card; it cannot compute on it."),
        ),
        (
            Choice("amd-wheel", "Install AMD's own wheel with the extra for this chip: torch[device-gfx1032], from AMD's index."),
            Choice("override", "export HSA_OVERRIDE_GFX_VERSION=10.3.0",
                   "Then the card poses as gfx1030 and runs code that was made for another chip. It was a makeshift while no "
                   "wheel had kernels for gfx1032; one has them now, so there is no reason to risk wrong numbers."),
            Choice("same-index", "python -m pip install --force-reinstall --index-url https://download.pytorch.org/whl/rocm7.2 torch",
                   f"The same index gives the same list: {_targets(made)}. gfx1032 is not in it, however often it is installed."),
            Choice("system-rocm", "Install ROCm 7.2 on the system with apt, and restart.",
                   f"Kernels of torch come inside the wheel {made['torch']['version']}, compiled when it was built. What is "
                   "installed on the system adds none."),
        ),
        made,
    )  # fmt: skip


def _wrong_vendor() -> Case:
    said = "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver"
    made = simulate.snapshot("rx9070xt", ["wrong-wheel-cuda"])
    return Case(
        "verdict_4",
        "It worked on Friday",
        "A Radeon RX 9070 XT that trained all last week. On Monday a colleague's project was added with "
        "'pip install -r requirements.txt'. Since then nothing starts, and the message even says what to install.",
        f'{_ASKED}False\n>>> torch.ones(2, device="cuda")\n{said}',
        f"Ask for torch: cuda is {made['torch']['cuda']}, hip is empty, and arch_list holds {_targets(made)}. Whose chips are those?",
        (
            _cause("driver-not-loaded", f"The message speaks of NVIDIA's driver. AMD's is '{made['modules']['amdgpu']}', "
                   "and /dev/kfd is there and opens."),
            _cause("kfd-permission", "The groups and the devices are as on Friday: this user may open all of them."),
            _cause("wrong-wheel-cpu", f"Nearly: the wrong build it is. But a CPU build has no CUDA version, and this one "
                   f"says {made['torch']['cuda']}."),
            _cause("wrong-wheel-cuda"),
        ),
        (
            Choice("extra-index", "python -m pip install --upgrade --extra-index-url https://download.pytorch.org/whl/rocm7.2 torch",
                   f"With an *extra* index pip chooses between two, and takes the highest version: the default index has "
                   f"{made['torch']['version']} as a CUDA build, so you may get back exactly what you have."),
            Choice("nvidia-driver", "sudo apt install nvidia-driver-580",
                   "There is no NVIDIA GPU in this machine: lspci lists one display device, and it is AMD's. The message comes "
                   "from a build that knows no other maker."),
            Choice("reboot", "Restart the machine.",
                   "What pip put into the environment is still there afterwards. Nothing that is running is wrong here."),
            Choice("rocm-wheel-pinned", "Install torch and torchvision from a ROCm index with --index-url, then the project "
                   "under a constraints file that keeps torch where it is."),
        ),
        made,
    )  # fmt: skip


def _bare_container() -> Case:
    made = _rented("kfd-missing-in-container")
    return Case(
        "verdict_5",
        "Eight rented GPUs, none found",
        "A server with eight Instinct MI300X, paid by the hour. The image is AMD's own with ROCm and PyTorch, started with "
        "'docker run -it rocm/pytorch'. The clock is running.",
        f"# rocminfo\n{made['tools']['rocminfo'].strip()}\n# python3\n>>> import torch; torch.cuda.device_count()\n0",
        "Ask for container and devices: we are inside one, and it was handed no device file. What is handed in is decided outside.",
        (
            _cause("driver-not-loaded", f"The kernel belongs to the host, and there amdgpu is '{made['modules']['amdgpu']}': "
                   "rocminfo says it too, in its first line."),
            _cause("gpu-hidden-by-env", "No variable that hides GPUs is set here. And it would leave /dev/kfd in its place."),
            _cause("kfd-missing-in-container"),
            _cause("kfd-permission", "'No such file' is not 'Permission denied'. And this user is root: there is no door to be "
                   "opened, because there is no door."),
        ),
        (
            Choice("install-driver", "apt install amdgpu-dkms   # inside the container",
                   f"A container has no kernel of its own to load a module into. The host's has amdgpu ('{made['modules']['amdgpu']}')."),
            Choice("mknod", "mknod /dev/kfd c 234 0 && chmod 666 /dev/kfd   # inside the container",
                   "A file made by hand is not the device: the container's runtime refuses every device that it was not told to "
                   "give. And 666 would open it to everybody."),
            Choice("start-with-devices", "Start the container anew: docker run --device=/dev/kfd --device=/dev/dri "
                   "--group-add video --group-add render --ipc=host -it rocm/pytorch"),
            Choice("usermod-inside", "usermod -aG render,video root   # inside the container",
                   f"The devices of this container: none. A group opens a file that is there. (And groups of a running container "
                   f"are set when it is started; {', '.join(made['groups'])} needs none.)"),
        ),
        made,
    )  # fmt: skip


def _no_modeset() -> Case:
    made = simulate.snapshot("rx6800", ["nomodeset"])
    return Case(
        "verdict_6",
        "The computer room",
        "Radeon RX 6800 at every desk. At this one the screen stayed black during the installation, so it was installed in "
        "'safe graphics' mode. Since then the picture is fine, if a little coarse. PyTorch finds nothing.",
        f"$ rocminfo\n{made['tools']['rocminfo'].strip()}\n{_ASKED}False",
        "Ask for cmdline: what was the kernel told when it started? One word in it keeps amdgpu out.",
        (
            _cause("kernel-too-old-for-gpu", f"This kernel is {made['kernel']}, years younger than the RX 6800."),
            _cause("kfd-permission", "There is no /dev/kfd that could be closed: ask for devices. And this user is in "
                   f"{', '.join(made['groups'])}."),
            _cause("nomodeset"),
            _cause("secure-boot", "Then the log would say that a key was rejected, and nothing here says so. But another answer "
                   "explains why amdgpu never started."),
        ),
        (
            Choice("install-dkms", "sudo apt install amdgpu-dkms",
                   f"The kernel {made['kernel']} has amdgpu (lspci names it as the module for this card). A second copy would "
                   "read the same command line, and stay out as well."),
            Choice("modprobe", "sudo modprobe amdgpu",
                   "amdgpu reads the same command line, finds the same word and declines. The word has to go first; then it "
                   "loads by itself."),
            Choice("remove-nomodeset", "Take nomodeset out of /etc/default/grub, then sudo update-grub, and restart."),
            Choice("usermod", "sudo usermod -aG render,video $USER",
                   f"The groups are {', '.join(made['groups'])} already. They open a file that does not exist here."),
        ),
        made,
    )  # fmt: skip


def _old_override() -> Case:
    said = (
        "Memory access fault by GPU node-1 (Agent handle: 0x55d0c3a1e6f0) on address 0x7f2e54a00000. "
        "Reason: Page not present or supervisor privilege."
    )
    made = simulate.snapshot("rx7600", ["override-wrong-family"])
    made["torch"]["kernel_result"] = made["symptom"] = (
        said  # a wrong kernel may fail in several ways; this one is the sliest
    )
    set_to = made["environment"]["HSA_OVERRIDE_GFX_VERSION"]
    return Case(
        "verdict_7",
        "The upgrade that made it worse",
        "For two years an RX 6600 did its work here, with a line from a forum in ~/.bashrc. Now a newer Radeon RX 7600 is in its "
        "place, the environment is new as well, and every program dies in its first seconds. 'It goes back to the shop.'",
        f'{_ASKED}True\n>>> torch.ones(2, device="cuda") * 2\n{said}\nAborted (core dumped)',
        f"Two answers do not agree: lspci shows an RX 7600, and torch says {made['torch']['gcn_arch_names'][0]}. Ask for the "
        "environment: who tells torch such a thing?",
        (
            _cause("arch-not-in-wheel", f"An RX 7600 is gfx1102, and that is in the wheel's list: {_targets(made)}."),
            _cause("gpu-init-failed", f"The driver is '{made['modules']['amdgpu']}' and lists the card with its true version (ask "
                   "for kfd: gfx_target_version 110002). It started well."),
            _cause("memory-access-fault", "It is what you see, and not why. One line without any index of your own fails: look for "
                   "what makes the runtime load the wrong kernels."),
            _cause("override-wrong-family"),
        ),
        (
            Choice("new-value", "export HSA_OVERRIDE_GFX_VERSION=11.0.0",
                   f"A better lie is still a lie: the card is gfx1102, and the wheel has kernels for gfx1102. Nothing needs to be "
                   f"overridden, neither with {set_to} nor with 11.0.0."),
            Choice("return-card", "Send the card back: it is faulty.",
                   f"The driver lists it as 110002, and {set_to} in the environment explains the fault in full. Test it without "
                   "the variable first."),
            Choice("serialize", "export AMD_SERIALIZE_KERNEL=3",
                   "That makes an error appear at the line that caused it, for your own kernels. Here the wrong code would run "
                   "and fail in good order."),
            Choice("unset", "unset HSA_OVERRIDE_GFX_VERSION   # and delete the line from ~/.bashrc"),
        ),
        made,
    )  # fmt: skip


def _wsl_bridge() -> Case:
    made = simulate.snapshot("wsl_rx7900xtx", ["wsl-bridge-missing"])
    said = "\n".join(made["tools"]["rocminfo"].strip().splitlines()[:2])
    return Case(
        "verdict_8",
        "Windows outside, Linux inside",
        "A Radeon RX 7900 XTX in Windows, and Ubuntu in WSL for the course. Somebody ran 'sudo apt install "
        "rocminfo', to see more. A page that turned up in a search says that a variable helps with WSL.",
        f"$ rocminfo\n{said}\n{_ASKED}False",
        "Ask for devices, rocminfo and dpkg: this is WSL, and the door is /dev/dxg. It is there; what is missing is the library "
        "that speaks through it, and Ubuntu's own runtime cannot.",
        (
            _cause("arch-not-in-wheel", f"The card is gfx1100, and the wheel is made for {_targets(made)}."),
            _cause("driver-not-loaded", f"The kernel is {made['kernel']}: in WSL there is no amdgpu to load, on healthy machines "
                   "neither. The driver is on the other side, in Windows."),
            _cause("kfd-permission", "WSL has no /dev/kfd at all. Its door is /dev/dxg, and that may be opened by this user."),
            _cause("wsl-bridge-missing"),
        ),
        (
            Choice("match-bridge", "Install AMD's Windows driver for WSL, run 'wsl --shutdown', install librocdxg of the same "
                   "release inside WSL, and remove Ubuntu's libhsa-runtime64-1."),
            Choice("modprobe", "sudo modprobe amdgpu",
                   f"The kernel {made['kernel']} has no such module, and needs none: the GPU is driven by Windows."),
            Choice("override", "export HSA_OVERRIDE_GFX_VERSION=11.0.0",
                   "It changes the name of a GPU that was found, and none was. 11.0.0 is what gfx1100 is anyway, so it would change "
                   "nothing at all, and librocdxg.so would still be missing."),
            Choice("usermod", "sudo usermod -aG render,video $USER",
                   f"/dev/dxg has the mode {made['devices']['/dev/dxg']['mode']}: everybody may open it already."),
        ),
        made,
    )  # fmt: skip
