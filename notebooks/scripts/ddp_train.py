"""Lesson 02's training on one process or many: DistributedDataParallel, with a checkpoint from which it goes on exactly.

    python notebooks/scripts/ddp_train.py                                        # one process, no launcher
    torchrun --nproc-per-node 2 notebooks/scripts/ddp_train.py --checkpoint run.pt
    torchrun --nproc-per-node 2 --max-restarts 1 notebooks/scripts/ddp_train.py --checkpoint run.pt --die-at 20 --die-rank 1
    torchrun --nproc-per-node 8 notebooks/scripts/ddp_train.py --fsdp --data /data/pictures
    srun --ntasks 16 python ddp_train.py                # Slurm, with MASTER_ADDR and MASTER_PORT in the environment

Backend: nccl (on AMD this is RCCL; not yet verified on ROCm) if every local process finds a GPU, else gloo on the CPU; Windows has gloo.
The lines marked "DDP 1" to "DDP 10" and the function `join` are all that several processes add to a training on one.

A step uses one *global* batch, however many processes there are, and each process takes its part. Without --data the pictures
are made by this script: a stand-in, the same on every machine. The last line of the output is JSON, from rank 0. Copy the file where
you need it; it wants nothing but PyTorch (and Pillow, if --data is given).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel as DDP


def knob(default: Any, text: str, *choices: str) -> Any:
    """A field of `Options` that is a switch of the command line, too."""
    return field(default=default, metadata={"help": text, "choices": choices or None})


@dataclass(frozen=True)
class Options:
    """What one training is."""

    epochs: int = knob(2, "how often every picture is seen")
    pictures: int = knob(1_000, "training pictures to make, without --data")
    global_batch: int = knob(64, "pictures per step, of all processes together")
    width: int = knob(8, "channels of the first convolution, a multiple of 4")
    lr: float = knob(0.05, "learning rate")
    seed: int = knob(0, "where the made pictures, the weights and the order start")
    data: str = knob("", "a folder with one subfolder of pictures per class")
    batch_norm: str = knob("group", "see make_model; sync wants a GPU", "group", "plain", "sync")
    accumulate: int = knob(1, "backward passes per step; only the last one communicates")
    bucket_mb: float = knob(25.0, "size of DDP's gradient buckets")
    fsdp: bool = knob(False, "shard the parameters (FSDP2)")
    set_epoch: bool = knob(True, "a mistake, on purpose: the same order in every epoch")
    mean_of_means: bool = knob(False, "a mistake, on purpose: each process divides by its own count")
    double: bool = knob(False, "float64, to compare runs")
    checkpoint: str = knob("", "go on from this file if it is there, and write it")
    save_every: int = knob(10, "steps from checkpoint to checkpoint")
    stop_at: int = knob(-1, "leave after this step, as at a time limit")
    die_at: int = knob(-1, "kill --die-rank at this step, on the first start only")
    die_rank: int = knob(1, "who dies")
    device: str = knob("auto", "bound: each process sees only its own GPU", "auto", "cpu", "cuda", "bound")
    threads: int = knob(1, "CPU threads per process")
    timeout: float = knob(60.0, "seconds that a collective may take")


# The data -------------------------------------------------------------------------------------------------------------


def made_pictures(n: int, seed: int) -> tuple[Tensor, Tensor]:
    """A stand-in: uint8 [n, 3, 32, 32] in ten classes, each a pattern of its own, shifted, under noise; labels [n]."""
    patterns = torch.randint(0, 256, (10, 3, 4, 4), generator=torch.Generator().manual_seed(7))
    patterns = patterns.repeat_interleave(8, 2).repeat_interleave(8, 3)
    dice = torch.Generator().manual_seed(1_000 + seed)
    labels = torch.randint(0, 10, (n,), generator=dice)
    noise = torch.randint(0, 256, (n, 3, 32, 32), generator=dice)
    shifts = torch.randint(-4, 5, (n, 2), generator=dice).tolist()
    rows = [patterns[k].roll(tuple(shift), (1, 2)) for k, shift in zip(labels.tolist(), shifts, strict=True)]
    return ((torch.stack(rows) + noise) // 2).to(torch.uint8), labels


def folder_pictures(folder: Path) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor], int]:
    """(training pictures, labels), (test pictures, labels), classes, from one subfolder per class; each fifth is for the test."""
    try:
        from PIL import Image
    except ImportError:
        raise SystemExit("--data reads pictures with Pillow, which this Python has not: install pillow.") from None
    kinds = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp"}
    classes = sorted(p for p in folder.iterdir() if p.is_dir()) if folder.is_dir() else []
    files = [(p, k) for k, place in enumerate(classes) for p in sorted(place.iterdir()) if p.suffix.lower() in kinds]
    if len(classes) < 2 or len(files) < 10:
        raise SystemExit(f"{folder} needs a subfolder per class, at least two, and ten pictures in all.")
    images = torch.empty(len(files), 3, 32, 32, dtype=torch.uint8)
    for i, (path, _) in enumerate(files):
        with Image.open(path) as picture:
            flat = bytearray(picture.convert("RGB").resize((32, 32)).tobytes())
        images[i] = torch.frombuffer(flat, dtype=torch.uint8).view(32, 32, 3).permute(2, 0, 1)
    labels = torch.tensor([k for _, k in files])
    for_test = torch.arange(len(files)) % 5 == 4
    return (images[~for_test], labels[~for_test]), (images[for_test], labels[for_test]), len(classes)


class GlobalBatches:
    """The global batches of an epoch, the same on every rank. Nothing is padded: the last one has what is left.

    torch's DistributedSampler repeats pictures until every rank has equally many; then some count twice.
    """

    def __init__(self, n: int, size: int, seed: int) -> None:
        self.n, self.size, self.seed, self.epoch = n, size, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Another epoch, another order. Who forgets this shuffles once and then repeats that order."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[Tensor]:
        dice = torch.Generator().manual_seed(self.seed + self.epoch)
        return iter(torch.randperm(self.n, generator=dice).split(self.size))


# The model ------------------------------------------------------------------------------------------------------------


def make_model(width: int = 8, classes: int = 10, batch_norm: str = "group") -> nn.Sequential:
    """Lesson 02's network, [N, 3, 32, 32] to [N, classes]. Its batch norm sees only the pictures of its own process:

    "plain" keeps that (another result for each number of processes), "sync" asks all processes (torch's SyncBatchNorm, which
    wants a GPU), "group" normalises each picture by itself, so that nothing has to be asked.
    """
    layers: list[nn.Module] = []
    before = 3
    for now in (width, 2 * width, 4 * width):
        norm = nn.GroupNorm(4, now) if batch_norm == "group" else nn.BatchNorm2d(now)
        layers += [nn.Conv2d(before, now, 3, padding=1), norm, nn.ReLU(), nn.MaxPool2d(2)]
        before = now
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * before, classes))
    return nn.SyncBatchNorm.convert_sync_batchnorm(model) if batch_norm == "sync" else model


def shard(model: nn.Module, device: torch.device) -> nn.Module:
    """FSDP2: each rank keeps a part of every parameter, and the layers gather what they need when they need it."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    for layer in list(model.children()):
        if list(layer.parameters(recurse=False)):
            fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


# The state ------------------------------------------------------------------------------------------------------------


def full_state(model: nn.Module, optimizer: torch.optim.Optimizer, fsdp: bool) -> dict[str, Any]:
    """Weights and optimizer. With FSDP all ranks must call it, and rank 0 gets the whole."""
    if not fsdp:
        return {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict

    how = StateDictOptions(full_state_dict=True, cpu_offload=True)
    return dict(zip(("model", "optimizer"), get_state_dict(model, optimizer, options=how), strict=True))


def restore(model: nn.Module, optimizer: torch.optim.Optimizer, state: dict[str, Any], fsdp: bool) -> None:
    """The opposite of `full_state`; every rank has read the file."""
    if not fsdp:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        return
    from torch.distributed.checkpoint.state_dict import StateDictOptions, set_state_dict

    parts = {"model_state_dict": state["model"], "optim_state_dict": state["optimizer"]}
    set_state_dict(model, optimizer, **parts, options=StateDictOptions(full_state_dict=True))


def save(path: Path, state: dict[str, Any]) -> None:
    """First a file beside it, then renamed: whoever dies in between leaves the old checkpoint whole."""
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def load(path: Path, wanted: dict[str, Any]) -> dict[str, Any] | None:
    """The checkpoint, None where there is none. Leaves with a sentence if it is broken or of another training."""
    if not path.is_file():
        return None
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        other = {key: state["options"].get(key) for key, value in wanted.items() if state["options"].get(key) != value}
    except Exception as problem:  # torch.load has many ways to fail on a broken file
        raise SystemExit(f"{path} is no checkpoint of this script ({type(problem).__name__}): move it away.") from None
    if other:
        raise SystemExit(f"{path} belongs to another training ({other}): move it away, or use its options.")
    return state


def parameter_hash(model_state: dict[str, Any], names: Sequence[str]) -> str:
    """The first 16 digits of the SHA-256 over all parameters, bit by bit."""
    digest = hashlib.sha256()
    for name in names:
        digest.update(model_state[name].detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]


# Processes ------------------------------------------------------------------------------------------------------------


def choose_device(wanted: str = "auto") -> tuple[torch.device, str]:
    """This process's device and the backend that goes with it."""
    local_rank, local_world = (int(os.environ.get(k, d)) for k, d in (("LOCAL_RANK", "0"), ("LOCAL_WORLD_SIZE", "1")))
    seen = torch.cuda.device_count()
    if wanted == "bound":  # the launcher shows each process one GPU, its own (ROCR_VISIBLE_DEVICES)
        return torch.device("cuda", 0), "nccl"
    if wanted == "cpu" or (wanted == "auto" and seen < local_world):
        return torch.device("cpu"), "gloo"
    if seen < local_world:
        raise SystemExit(f"{local_world} processes here, but {seen} GPU(s): fewer processes, or --device cpu.")
    return torch.device("cuda", local_rank), "nccl" if dist.is_nccl_available() else "gloo"


def incarnation() -> int:
    """How often this training was started again: by torchrun, or by Slurm after a requeue."""
    return max(int(os.environ.get(name) or 0) for name in ("TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"))


def join(backend: str, seconds: float) -> None:
    """Makes the process group: of one process without a launcher, else as torchrun or srun says."""
    wait = timedelta(seconds=seconds)
    if "RANK" not in os.environ:
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1, timeout=wait)
        return
    store, rank, world = next(dist.rendezvous("env://", timeout=wait))
    # After a restart on one node torchrun's store still holds the addresses of the dead (pytorch issue 135712), hence a new
    # drawer. Nodes count their restarts each for itself: there, set TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 for torchrun.
    drawer = incarnation() if os.environ.get("GROUP_WORLD_SIZE", "1") == "1" else 0
    store = dist.PrefixStore(f"start {drawer}", store)
    dist.init_process_group(backend, store=store, rank=rank, world_size=world, timeout=wait)


def slurm() -> None:
    """Under srun without torchrun: Slurm's names become torchrun's."""
    if "RANK" not in os.environ and "SLURM_PROCID" in os.environ and "MASTER_ADDR" in os.environ:
        names = {"RANK": "SLURM_PROCID", "WORLD_SIZE": "SLURM_NTASKS", "LOCAL_RANK": "SLURM_LOCALID"}
        os.environ.update({ours: os.environ[theirs] for ours, theirs in names.items()})
        here = os.environ.get("SLURM_STEP_TASKS_PER_NODE", os.environ["SLURM_NTASKS"])  # like 8(x2), or 8,4
        os.environ["LOCAL_WORLD_SIZE"] = here.replace("(", ",").split(",")[0]


def begin(o: Options) -> torch.device:
    """Joins the other processes; gives this process's device, which its torch is set up for."""
    if not dist.is_available():
        raise SystemExit(
            "This build of torch has no torch.distributed. On Windows AMD's wheels have it since June 2026."
        )
    slurm()
    device, backend = choose_device(o.device)
    if o.batch_norm == "sync" and device.type == "cpu":
        raise SystemExit("torch's SyncBatchNorm works on GPUs only: --batch-norm group, or plain.")
    torch.set_num_threads(o.threads)
    if device.type == "cuda":
        torch.cuda.set_device(device)
        torch.backends.cudnn.deterministic = True  # MIOpen on AMD; bitwise equal runs were seen on CPUs only
    join(backend, o.timeout)
    return device


def die() -> None:
    """No farewell: SIGKILL, and on Windows TerminateProcess."""
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


# The training ---------------------------------------------------------------------------------------------------------


def train(o: Options, device: torch.device, network: nn.Module | None = None) -> dict[str, Any]:
    """Trains inside the process group that exists, and gives the report; `weights` in it are the trained parameters by name.

    With FSDP rank 0 alone gets the weights. network: another one than `make_model`'s.
    """
    torch.manual_seed(o.seed)
    classes = 10
    if o.data:
        (images, labels), (test_images, test_labels), classes = folder_pictures(Path(o.data))
    else:
        (images, labels), (test_images, test_labels) = made_pictures(o.pictures, o.seed), made_pictures(300, o.seed + 1)
    dtype = torch.float64 if o.double else torch.float32

    def batch_of(images: Tensor) -> Tensor:
        return images.to(device, dtype) / 64 - 2  # about -2 to 2

    plain = (network or make_model(o.width, classes, o.batch_norm)).to(device, dtype)
    names = [name for name, _ in plain.named_parameters()]
    whole_bytes = sum(p.numel() * p.element_size() for p in plain.parameters())
    rank, world = dist.get_rank(), dist.get_world_size()  # DDP 1
    ids = [device.index] if device.type == "cuda" else None  # DDP 2
    model = shard(plain, device) if o.fsdp else DDP(plain, device_ids=ids, bucket_cap_mb=o.bucket_mb)  # DDP 3
    optimizer = torch.optim.SGD(model.parameters(), lr=o.lr, momentum=0.9, nesterov=True)
    batches = GlobalBatches(len(images), o.global_batch, o.seed)
    dice = torch.Generator().manual_seed(o.seed)  # for the mirrors: drawn for the global batch, by every rank alike

    # DDP orders its buckets anew after the first backward pass, and with them the order of its sums, hence their last bits. So the
    # first pass is a blind one, here as after a restart: then both go on alike.
    model.eval()(batch_of(images[:2])).sum().backward()
    model.train()
    optimizer.zero_grad()

    step, first_epoch, position = 0, 0, 0
    path = Path(o.checkpoint)
    result = ("epochs", "pictures", "global_batch", "width", "lr", "seed", "data", "batch_norm", "double", "fsdp")
    wanted = {name: getattr(o, name) for name in result}
    found = load(path, wanted) if o.checkpoint else None
    if found:
        restore(plain, optimizer, found, o.fsdp)
        step, first_epoch, position = found["step"], found["epoch"], found["position"]
        dice.set_state(found["dice"])
    resumed_from = step if found else None

    def keep(epoch: int, position: int) -> None:
        state = full_state(plain, optimizer, o.fsdp)
        rest = {"step": step, "epoch": epoch, "position": position, "dice": dice.get_state(), "options": wanted}
        if rank == 0:  # DDP 4
            save(path, state | rest)

    def evaluate() -> tuple[float, float]:
        model.eval()
        total = torch.zeros(3, dtype=torch.float64, device=device)
        parts = -(-len(test_images) // (256 * world))  # as many on each rank: with FSDP each forward is a collective
        for part in torch.arange(len(test_images))[rank::world].tensor_split(parts):  # DDP 5
            with torch.no_grad():
                scores, y = plain(batch_of(test_images[part])), test_labels[part].to(device)
            hits = (scores.argmax(1) == y).sum()
            total += torch.stack([F.cross_entropy(scores, y, reduction="sum"), hits, torch.tensor(len(y)).to(device)])
        dist.all_reduce(total)  # DDP 6
        model.train()
        return (total[0] / total[2]).item(), (total[1] / total[2]).item()

    seconds: list[float] = []
    for epoch in range(first_epoch, o.epochs):
        if o.set_epoch:
            batches.set_epoch(epoch)  # DDP 7
        for number, everyone in enumerate(batches):
            if number < position:
                continue  # done before the checkpoint
            if step == o.stop_at:
                break
            if step == o.die_at and rank == o.die_rank and incarnation() == 0:
                die()
            began = time.perf_counter()
            mirrored = torch.rand(len(everyone), generator=dice) < 0.5
            mine, turned = everyone[rank::world], mirrored[rank::world]  # DDP 8
            optimizer.zero_grad()
            for k in range(o.accumulate):
                picks, turn = mine.tensor_split(o.accumulate)[k], turned.tensor_split(o.accumulate)[k]
                last = k == o.accumulate - 1
                if o.fsdp:
                    model.set_requires_gradient_sync(last)
                with nullcontext() if last or o.fsdp else model.no_sync():  # DDP 9
                    x, y = batch_of(images[picks]), labels[picks].to(device)
                    x = torch.where(turn.to(device).view(-1, 1, 1, 1), x.flip(-1), x)
                    loss = F.cross_entropy(model(x), y, reduction="sum")
                    # DDP averages over the processes. Dividing by a process's own count weights a picture in a small
                    # part more than one in a large part; dividing by the global count gives every picture the same.
                    counted = o.accumulate * max(len(picks), 1) if o.mean_of_means else len(everyone) / world  # DDP 10
                    (loss / counted).backward()
            optimizer.step()
            if device.type == "cuda":
                torch.cuda.synchronize()
            seconds.append(time.perf_counter() - began)
            step += 1
            if o.checkpoint and step % o.save_every == 0:
                keep(epoch, number + 1)
        if step == o.stop_at:
            break
        position = 0
        mean_loss, accuracy = evaluate()
        if rank == 0:
            print(f"epoch {epoch}: loss {mean_loss:.3f}, accuracy {accuracy:.1%} on test pictures", flush=True)

    local = sum((p.to_local() if o.fsdp else p).untyped_storage().nbytes() for p in plain.parameters())
    kept: list[Any] = [None] * world
    dist.all_gather_object(kept, (local, None if o.fsdp else parameter_hash(plain.state_dict(), names)))
    mean_loss, accuracy = evaluate()
    state = full_state(plain, optimizer, o.fsdp)["model"]
    weights = {name: state[name].detach().cpu().clone() for name in names if name in state}
    return {
        "world": world,
        "device": str(device.type),
        "backend": dist.get_backend(),
        "data": o.data or "made by this script (stand-in)",
        "steps": step,
        "loss": mean_loss,
        "accuracy": accuracy,
        "parameters": parameter_hash(weights, names) if weights else "",
        "same_on_all_ranks": None if o.fsdp else len({digest for _, digest in kept}) == 1,
        "step_s": statistics.median(seconds) if seconds else None,
        "restarts": incarnation(),
        "resumed_from": resumed_from,
        "parameter_bytes": whole_bytes,
        "parameter_bytes_per_rank": [own for own, _ in kept],
        "weights": weights,
    }


def parse(arguments: Sequence[str] | None = None) -> Options:
    """The command line; every field of `Options` has its switch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for knob in fields(Options):
        name, how = knob.name.replace("_", "-"), dict(knob.metadata, default=knob.default, dest=knob.name)
        if isinstance(knob.default, bool):
            del how["choices"]
            how["action"] = argparse.BooleanOptionalAction if knob.default else "store_true"
        else:
            how["type"] = type(knob.default)
        parser.add_argument("--" + name, **how)
    o = Options(**vars(parser.parse_args(arguments)))
    numbers = [k for k in fields(Options) if type(k.default) in (int, float) and k.default > 0 and k.name != "die_rank"]
    if min(getattr(o, knob.name) for knob in numbers) <= 0 or o.width % 4:
        parser.error("sizes, numbers and times must be positive, and --width a multiple of 4")
    if o.checkpoint and not Path(o.checkpoint).absolute().parent.is_dir():
        parser.error(f"the folder of --checkpoint {o.checkpoint} does not exist")
    return o


def leave(status: int) -> NoReturn:
    """Ends a process whose work is done, without what PyTorch 2.14 takes down at the end of Python.

    Now and then a thread of it still runs then, and the process aborts ('terminate called without an active exception', seen in
    about one of ten runs on a busy machine). torchrun takes that for a failure, and trains once more.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main(arguments: Sequence[str] | None = None) -> int:
    """Joins the other processes, trains, prints the report as one JSON line."""
    o = parse(arguments)
    device = begin(o)
    if dist.get_rank() == 0:
        print(f"{dist.get_world_size()} process(es), {device.type}, {dist.get_backend()}", file=sys.stderr, flush=True)
    try:
        report = train(o, device)
    finally:
        dist.destroy_process_group()
    report.pop("weights")
    if int(os.environ.get("RANK", "0")) == 0:
        print(json.dumps(report), flush=True)
    return 0


if __name__ == "__main__":
    leave(main())
