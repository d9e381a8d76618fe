"""May this process open the device? Groups, modes, containers, confinement."""

from __future__ import annotations

import re

from labkit.machine.evidence import Evidence, Node
from labkit.machine.rules import NO_GPU, Match, rule, seen

_NOBODY = ("nobody", "nogroup", "65534")
_OPENS = "python -c \"open('/dev/kfd', 'r+b')\"   # no error"


def _problem(e: Evidence) -> str | None:
    return (e.rocminfo or {}).get("problem")


def _open_line(e: Evidence) -> str | None:
    return e.quote(
        r"Unable to open /dev/kfd read-write|/dev/kfd.*(?:Permission denied|not permitted|Invalid argument)",
        "rocminfo",
        "",
    )


def _describe(path: str, node: Node) -> str | None:
    if node.exists is None and node.mode is None:
        return None
    if node.exists is False:
        return f"{path} does not exist"
    return f"{path}: mode {node.mode}, {node.owner}:{node.group}, {'opens' if node.openable else 'does not open'} for this process"


@rule(
    "selinux-denied",
    explains=("kfd-permission", "kfd-node-mode", "rootless-container-groups", "kfd-open-refused", *NO_GPU),
)
def selinux_denied(e: Evidence) -> Match | None:
    line = e.quote(r"avc: +denied .*(?:kfd|renderD|hsa_device_t|dri_device_t)", "", "dmesg")
    node = e.node("/dev/kfd")
    # enforced, in a container, and shut although the groups are right
    confined = (
        e.quote(r"\bEnforcing\b|label[=:]disable", "")
        if e.is_container and node.openable is False and node.group in (e.groups or ()) and not node.root_only
        else None
    )
    if not line and not confined:
        return None
    return Match(
        seen(line or confined, e.quote(r"^\W*Enforcing$", "", "getenforce")),
        (
            "On the host: sudo setsebool -P container_use_devices=true",
            "Or for one container: --security-opt label=disable",
        ),
        ("sudo ausearch -m avc -ts recent   # no new line for kfd", _OPENS),
        likely=not line,
    )


@rule("snap-confined", explains=("kfd-permission", "kfd-open-refused", "libdrm-ids-warning", *NO_GPU))
def snap_confined(e: Evidence) -> Match | None:
    denied = e.quote(r"apparmor=\"?DENIED\"?.*(?:kfd|renderD|snap\.)", "", "dmesg")
    inside = next(
        (f"{name}={content}" for name, content in (e.env or {}).items() if name in ("SNAP", "SNAP_NAME")), None
    )
    path = e.quote(r"(?:^|[\s\"'=])/snap/\w", "")
    if not (denied and (inside or path or "snap." in denied)) and not (
        (inside or path)
        and (e.node("/dev/kfd").openable is False or _problem(e) in ("kfd-permission", "kfd-open-refused"))
    ):
        return None
    name = re.search(r"snap\.([\w-]+)", denied or "") or re.search(r"/snap/([\w-]+)", f"{inside} {path}")
    which = name.group(1) if name else "<name>"
    return Match(
        seen(denied, inside, path),
        (
            "Use a Python (or editor) that is not a snap package.",
            f"Or, with a current snapd, connect the interface: sudo snap connect {which}:opengl",
        ),
        (_OPENS,),
    )


@rule("docker-vm", explains=("kfd-missing-in-container", "driver-not-loaded", *NO_GPU))
def docker_vm(e: Evidence) -> Match | None:
    line = e.quote(r"error gathering device information.*/dev/(?:kfd|dri)", "")
    desktop = (
        e.quote(r"Docker Desktop|desktop-linux|docker-desktop|linuxkit", "", "os_release")
        or ("linuxkit" in (e.kernel or "") and f"kernel {e.kernel}")
        or None
    )
    host_has_it = e.node("/dev/kfd").exists and not e.is_container
    if not line and not (desktop and e.is_container and e.node("/dev/kfd").exists is False):
        return None
    if (
        not (desktop or host_has_it or e.is_windows or e.is_wsl or e.platform == "macos")
        and e.node("/dev/kfd").exists is False
    ):
        return None  # the host itself has no /dev/kfd: that is the driver's matter
    steps = (
        (
            "The Docker daemon runs in a virtual machine that has no GPU (docker context ls shows which). Use PyTorch without it: AMD's wheels natively on Windows, or inside WSL.",
        )
        if e.is_windows or e.is_wsl
        else (
            "docker context ls; docker context use default   # the daemon of this system in place of Docker Desktop's virtual machine",
            "Quit Docker Desktop, and start the system's own daemon: sudo systemctl start docker",
        )
    )
    return Match(
        seen(line, desktop),
        steps,
        ("docker run --rm --device=/dev/kfd --device=/dev/dri alpine ls -l /dev/kfd",),
        likely=not (desktop or host_has_it),
    )


@rule("rootless-container-groups", explains=("kfd-permission", "kfd-node-mode", "render-node-mode", *NO_GPU))
def rootless_container_groups(e: Evidence) -> Match | None:
    nodes = {path: node for path, node in e.all_nodes.items() if path == "/dev/kfd" or "/renderD" in path}
    foreign = {
        path: node
        for path, node in nodes.items()
        if (node.group in _NOBODY or node.owner in _NOBODY) and node.openable is False
    }
    named = e.quote(r"member of (?:the )?['\"]?(?:nogroup|nobody)", "rocminfo", "")
    if not foreign and not named:
        return None
    if _problem(e) == "kfd-open-refused":
        return None  # EPERM and EINVAL are not about groups
    return Match(
        seen(*(_describe(path, node) for path, node in foreign.items()), named, _open_line(e)),
        (
            "podman: add --group-add keep-groups (with the crun runtime), so that the groups of the host's user reach the container",
            "rootless docker: map the render group in /etc/subgid and restart the daemon",
        ),
        (_OPENS,),
    )


@rule("kfd-missing-in-container", explains=("kfd-permission", "driver-not-loaded", "render-node-mode", *NO_GPU))
def kfd_missing_in_container(e: Evidence) -> Match | None:
    node = e.node("/dev/kfd")
    from_rocminfo = _problem(e) == "kfd-missing-in-container"
    if e.is_wsl or e.is_windows or not (e.is_container or from_rocminfo):
        return None
    if not (node.exists is False or (from_rocminfo and node.exists is None)):
        return None
    if (e.rocminfo or {}).get("driver") == "not-loaded":
        return None  # the kernel is the host's: there the driver is missing
    run = e.quote(r"\b(?:docker|podman|nerdctl) (?:container )?run\b|apptainer|singularity", "")
    slurm = bool(e.match(r"apptainer|singularity")) or any(
        name.startswith(("APPTAINER", "SINGULARITY")) for name in e.env or {}
    )
    return Match(
        seen(_describe("/dev/kfd", node), _open_line(e), run),
        (
            "Start the container with the devices: docker run --device=/dev/kfd --device=/dev/dri --group-add video --group-add render --ipc=host …",
            "Apptainer and Singularity: apptainer exec --rocm …  (it passes /dev/kfd and /dev/dri)"
            if slurm
            else "(Apptainer: --rocm; Kubernetes: AMD's device plugin, resource amd.com/gpu.)",
        ),
        ("ls -l /dev/kfd /dev/dri   # inside the container", _OPENS),
    )


@rule("kfd-open-refused", explains=("kfd-permission", *NO_GPU))
def kfd_open_refused(e: Evidence) -> Match | None:
    line = e.quote(
        r"Unable to open /dev/kfd read-write: (?!Permission denied|No such file|Cannot allocate)\S|/dev/kfd.*(?:Operation not permitted|Invalid argument)",
        "rocminfo",
        "",
    )
    if not e.has_kfd or (_problem(e) != "kfd-open-refused" and not line):
        return None
    return Match(
        seen(line, _describe("/dev/kfd", e.node("/dev/kfd"))),
        (
            "The node is there and the runtime of the container (or its cgroup) refuses it. Give it by the runtime, not by a bind mount: --device=/dev/kfd --device=/dev/dri",
            "Compare the driver's version on the host with what the image expects; on a rented machine ask the provider.",
        ),
        (_OPENS,),
    )


@rule("kfd-node-mode", explains=("kfd-permission", *NO_GPU))
def kfd_node_mode(e: Evidence) -> Match | None:
    node = e.node("/dev/kfd")
    if not e.has_kfd or not node.exists or node.openable is not False or not node.root_only or node.group in _NOBODY:
        return None
    return Match(
        seen(_describe("/dev/kfd", node), _open_line(e)),
        (
            ("On the host, a" if e.is_container else "A")
            + ' udev rule gives the node to the render group: echo \'SUBSYSTEM=="kfd", KERNEL=="kfd", GROUP="render", MODE="0660"\' | sudo tee /etc/udev/rules.d/70-kfd.rules',
            "sudo udevadm control --reload-rules && sudo udevadm trigger",
        ),
        ("ls -l /dev/kfd   # crw-rw---- root render", _OPENS),
    )


@rule("render-node-mode", explains=("kfd-permission", *NO_GPU))
def render_node_mode(e: Evidence) -> Match | None:
    closed = {
        path: node
        for path, node in e.render_nodes.items()
        if node.exists and node.openable is False and node.root_only and node.group not in _NOBODY
    }
    if not closed or e.node("/dev/kfd").openable is False:
        return None
    return Match(
        seen(
            *(_describe(path, node) for path, node in closed.items()),
            e.quote(r"^systemd \d+", ""),
            e.quote(r"^render:x:", ""),
        ),
        (
            "Repair the render group (it must be a system group: sudo groupmod -g <free number below 1000> render), or write a udev rule: "
            'echo \'SUBSYSTEM=="drm", KERNEL=="renderD*", GROUP="render", MODE="0660"\' | sudo tee /etc/udev/rules.d/70-render.rules',
            "sudo udevadm control --reload-rules && sudo udevadm trigger; then update systemd",
        ),
        ("ls -l /dev/dri   # renderD* belongs to root render, mode crw-rw----",),
    )


@rule("kfd-permission", explains=NO_GPU)
def kfd_permission(e: Evidence) -> Match | None:
    if not e.has_kfd:
        return None
    nodes = {
        path: node for path, node in e.all_nodes.items() if (path == "/dev/kfd" or "/renderD" in path) and node.exists
    }
    closed = {path: node for path, node in nodes.items() if node.openable is False}
    line = (
        _open_line(e)
        if _problem(e) == "kfd-permission" or e.quote(r"/dev/kfd.*Permission denied", "rocminfo", "")
        else None
    )
    outside = {
        path: node
        for path, node in closed.items()
        if node.group and e.groups is not None and node.group not in e.groups
    }
    if closed and e.groups is not None and not outside and not line:
        return None  # the groups are right: another reason keeps it shut
    if not closed and not line:
        return None
    if nodes.get("/dev/kfd", Node()).openable and not closed:
        return None  # the node opens, so an older message no longer holds
    group = (
        next((node.group for node in closed.values() if node.group not in (None, "root", "video")), None) or "render"
    )
    evidence = seen(
        line, *(_describe(path, node) for path, node in list(closed.items())[:2]),
        f"groups of this process: {', '.join(e.groups)}" if e.groups is not None else None,
    )  # fmt: skip
    return Match(
        evidence, _permission_steps(e, group), (_OPENS, "id -nG   # lists render"), likely=not closed and not line
    )


def _permission_steps(e: Evidence, group: str) -> tuple[str, ...]:
    if e.is_container:
        number = group if group.isdigit() else "$(getent group render | cut -d: -f3)"
        return (
            f"Start the container with the host's render group, by number, because names differ inside: --group-add {number}"
            " (next to --device=/dev/kfd --device=/dev/dri)",
            "Changing groups inside the container does nothing.",
        )
    if any(name.startswith("SLURM") for name in e.env or {}) or e.match(
        r"no sudo|without sudo|not in the sudoers|cluster|no (?:root|admin)|cannot change|JupyterHub|universit|\bHPC\b"
    ):
        return (
            "You cannot mend this yourself. Text for the administrator: 'On this node /dev/kfd and /dev/dri/renderD* belong to group "
            f"{group}, and the job's user is not in it. Please add GPU users to {group} (render), or set up the device cgroup of the scheduler.'",
        )
    if group in e.groups_on_file and group not in (e.groups or ()):
        return (
            f"You are in the group {group} already (/etc/group), but this session began before that: log out and in again, or restart.",
            "A new terminal is not enough; a desktop or tmux that runs on keeps the old groups.",
        )
    names = "render,video" if group == "render" else f"{group},render,video" if not group.isdigit() else "render,video"
    return (
        f"sudo usermod -aG {names} $USER",
        "Log out and in again (a new terminal is not enough), or restart the machine.",
    )


@rule("shm-too-small")
def shm_too_small(e: Evidence) -> Match | None:
    line = e.quote(
        r"insufficient shared memory|killed by signal: Bus error|unable to (?:open|allocate) shared memory|No space left on device.*?/dev/shm|/dev/shm.*No space left|"
        r"</?torch_\w+>?: No space left|unable to write to file </torch",
        "",
    )
    if not line:
        return None
    table = e.quote(r"/dev/shm", "")
    steps = (
        ("Start the container with --ipc=host (or --shm-size=8g).", "Until then num_workers=0 works.")
        if e.is_container or not e.quote(r"/dev/shm\s*$", "")
        else (
            "Enlarge it: sudo mount -o remount,size=8G /dev/shm; for a container start it with --ipc=host.",
            "Until then num_workers=0 works.",
        )
    )
    return Match(seen(line, table), steps, ("df -h /dev/shm",))
