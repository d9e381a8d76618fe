"""A training run on paper: a healthy one, or one with a sickness that is played by the host, not written into the rows.

Severity of a sickness: what it costs per step, in GPU step times. 0.5 leaves the GPU idle for about a third of the run, 1
for half, 2 for two thirds (communication: busy, but with nothing else). The useful range is 0.5 to 4. Below 0.25 a run is
hardly sick any more, except with the loader: there what the host launches comes on top, so any severity starves the GPU.

loader         the host makes each batch between two steps, in (1 + severity) GPU step times (or in twice that many times
               what sending the batch takes, where that is more); marker ``load``.
launch-bound   the batch is so small (and, where that is not enough, the host so slow) that the host needs (1 + severity)
               times as long to launch a step as the GPU to carry it out.
synchronising  ``.item()`` after so many operators, spread over the step, that the waits cost severity GPU step times; where
               that would need more waits than operators, after every operator.
copies         a large batch comes from ordinary (pageable) memory on the compute stream, severity GPU step times long.
communication  the gradients' all-reduce follows the backward pass on its own stream and the optimiser waits for it,
               severity GPU step times long: a link that is too slow for the model.

A healthy run prepares batches in other processes (the host waits a moment for the next), copies them from pinned memory on
a stream of their own, sums gradients in buckets during the backward pass (where there are several GPUs), and looks at the
loss every tenth step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from labkit.errors import LabkitError
from labkit.profile.simulate import schedule
from labkit.profile.simulate.gpus import GPUS, Gpu
from labkit.profile.simulate.gpus import gpu as gpu_of
from labkit.profile.simulate.layers import Layer, Work
from labkit.profile.simulate.models import BYTES, MODELS, Network, network
from labkit.profile.simulate.names import kernel_of
from labkit.profile.simulate.schedule import Machine
from labkit.profile.table import Device, Profile, events

SICKNESSES = {
    "loader": "the GPU waits while the host prepares each batch",
    "launch-bound": "the kernels are shorter than it takes to launch them",
    "synchronising": "the host waits for a number from the GPU again and again, and the queue runs dry",
    "copies": "each batch is copied from pageable memory while the GPU waits",
    "communication": "the GPU waits for the gradients' all-reduce",
}
FETCH_NS = 40_000  # healthy: taking a batch that another process has prepared
STEP_NS = 60_000  # Python's own work per step: zero_grad, the loop, the schedule of the learning rate
REPORT_EVERY = 10  # healthy: steps between two looks at the loss
AHEAD = 1.6  # healthy: the batch is chosen so that the GPU needs this many times the host's time
BUCKET_BYTES = 25 << 20  # gradients that are summed together, as in DistributedDataParallel
OVERLAPPED = 0.4  # healthy: the all-reduces' share of the backward pass's time
LARGEST_SEVERITY = 1e6  # beyond that, times no longer fit into 64 bits
PROCESSES_APART = 100_000_000  # first correlation number of each further process
SLOWEST_HOST = 40.0  # launch-bound: the slowest host that is tried
MAIN, AUTOGRAD = 0, 1  # threads: offsets from the process's number

_COMPUTE, _INPUT, _COMMUNICATION = 0, 1, 2  # streams


@dataclass(frozen=True)
class Plan:
    """Everything that a run is made from."""

    network: Network
    gpu: Gpu
    sickness: str | None
    severity: float
    slowness: float
    besides: Mapping[str, float] = field(default_factory=dict)

    def of(self, sickness: str) -> float:
        """How severely the run has this sickness, as its own or beside it; 0 where it has not."""
        return self.severity if sickness == self.sickness else self.besides.get(sickness, 0.0)

    def ns(self, work: Work) -> float:
        """A kernel's time on the roofline."""
        return self.gpu.duration_ns(work, self.network.precision)

    @property
    def gpu_ns(self) -> float:
        """The GPU's time for a step without any wait."""
        works = (*self.network.forward, *self.network.backward, *self.network.optimiser)
        return sum(self.ns(work) + schedule.BETWEEN_NS for work in works)

    @property
    def backward_ns(self) -> float:
        """The GPU's time for the backward pass."""
        return sum(self.ns(work) + schedule.BETWEEN_NS for work in self.network.backward)

    @property
    def host_ns(self) -> float:
        """The host's time to launch a step, without any wait."""
        launches = len(self.network.forward) + len(self.network.backward) + len(self.network.optimiser)
        forward = len(self.network.forward) + len(self.network.optimiser)
        operators = forward * schedule.OPERATOR_NS + len(self.network.backward) * schedule.BACKWARD_OPERATOR_NS
        return launches * schedule.LAUNCH_NS + self.slowness * (operators + STEP_NS) + FETCH_NS


@lru_cache(maxsize=256)
def batch_for(model: str, gpu: str, precision: str) -> int:
    """The smallest power of two for which the GPU, not the host, sets the pace (``AHEAD``)."""
    where = gpu_of(gpu)
    for power in range(24):
        plan = Plan(network(model, 2**power, precision), where, None, 0.0, 1.0)
        if plan.gpu_ns >= AHEAD * plan.host_ns:
            return 2**power
    return 2**23


def _tiny(model: str, gpu: Gpu, precision: str, severity: float) -> tuple[int, float]:
    """Batch and slowness of a launch-bound run: the largest batch for which the host is slow enough."""
    for slowness in (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0, SLOWEST_HOST):
        for power in range(12, -1, -1):
            plan = Plan(network(model, 2**power, precision), gpu, None, 0.0, slowness)
            if plan.host_ns >= (1 + severity) * plan.gpu_ns:
                return 2**power, slowness
    return 1, SLOWEST_HOST


def _default_precision(model: str, gpu: Gpu) -> str:
    if model in ("mlp", "cnn"):
        return "fp32"
    return "bf16" if gpu.peak.bf16_matrix_dense_tflops else "fp16"


def training(
    model: str = "cnn",
    gpu: str = "Radeon RX 7900 XTX",
    sickness: str | None = None,
    *,
    steps: int = 10,
    seed: int = 0,
    severity: float = 1.0,
    batch: int | None = None,
    precision: str | None = None,
    devices: int = 1,
    besides: Mapping[str, float] | None = None,
    operators: bool = True,
) -> Profile:
    """Simulates a recorded training and gives its profile (``simulated`` is true).

    model: of MODELS. gpu: a product of GPUS. sickness: of SICKNESSES, or None. severity: see this module. batch: pictures or
    texts per step (default: one that keeps the GPU busy; the sickness 'launch-bound' chooses a small one). precision: fp32,
    fp16 or bf16. devices: GPUs that train together, each with its own host process; their all-reduces are not made to wait
    for one another. besides: further sicknesses (not 'launch-bound') and their severities, for a run with several troubles;
    below 0.15 they stay small. operators: rows for ATen's operators, too, as torch.profiler has. The same arguments give the same rows.

    Raises LabkitError for a name that does not exist or a number that makes no sense.
    """
    if sickness is not None and sickness not in SICKNESSES:
        raise LabkitError(f"There is no sickness '{sickness}'.", f"Choose one of: {', '.join(SICKNESSES)}, or none.")
    if steps < 1 or not 0 < severity < LARGEST_SEVERITY or devices < 1 or (batch is not None and batch < 1):
        raise LabkitError(
            f"A run of {steps} steps, severity {severity:g}, on {devices} GPUs"
            + (f", with batches of {batch}," if batch is not None else "")
            + " makes no sense.",
            f"Give positive numbers, and a severity below {LARGEST_SEVERITY:g}.",
        )
    for other, much in (besides or {}).items():
        if other not in SICKNESSES or other in (sickness, "launch-bound") or not 0 < much < LARGEST_SEVERITY:
            raise LabkitError(f"A run cannot have '{other}' besides.", "Name another sickness and a severity above 0.")
    first = gpu_of(gpu)
    if model not in MODELS:
        network(model, 1)  # says which there are
    chosen = precision or _default_precision(model, first)
    first.tflops(chosen, matrix=True)
    slowness = 1.0
    if sickness == "launch-bound" and batch is None:
        batch, slowness = _tiny(model, first, chosen, severity)
    net = network(model, batch or batch_for(model, gpu, chosen), chosen)
    columns: dict[str, list[object]] = {}
    for i in range(devices):
        plan = Plan(net, replace(first, index=1 + i), sickness, severity, slowness, besides or {})
        machine = Machine(device=1 + i, process=4_000 + 10 * i, seed=seed, now=5_400_000_000_000.0, slowness=slowness)
        machine.correlation = i * PROCESSES_APART  # several processes in one file must not share their numbers
        _run(machine, plan, steps, several=devices > 1)
        for name, values in machine.rows.items():
            columns.setdefault(name, []).extend(values)
    table = events(columns)
    if not operators:
        table = table.filter(table["kind"] != "operator")
    peak = first.peak
    card = tuple(Device(1 + i, first.gfx, first.name, peak.compute_units, first.wavefront) for i in range(devices))
    notes = {
        "simulation": {
            "note": "simulated: no GPU made these rows",
            "model": model,
            "gpu": peak.product,
            "batch": net.batch,
            "precision": chosen,
            "steps": steps,
            "seed": seed,
            "devices": devices,
        }
    }
    return Profile("simulated", table, tool="labkit simulator", devices=card, simulated=True, extras=notes)


def _run(machine: Machine, plan: Plan, steps: int, *, several: bool) -> None:
    main = machine.process + MAIN
    shares = several or plan.of("communication") > 0
    waits = _waits(plan)
    for step in range(steps):
        begun = machine.now
        ready = _batch(machine, plan)
        machine.host(STEP_NS * machine.slowness)
        item = _Items(machine, plan, waits)
        for work in plan.network.forward:
            _operator(machine, plan, work, main, after=ready)
            item.maybe()
        reduced = _backward(machine, plan, item, shares=shares)
        for work in plan.network.optimiser:
            _operator(machine, plan, work, main, after=reduced)
            item.maybe()
        if (step + 1) % REPORT_EVERY == 0 or (step == 0 and steps < REPORT_EVERY):
            _item(machine)
        machine.marker(f"step {step}", begun, thread=main)
    machine.synchronise(thread=main)


def _batch(machine: Machine, plan: Plan) -> float:
    """The next batch; gives when it is on the GPU."""
    main, begun = machine.process + MAIN, machine.now
    size = plan.network.input_bytes
    # making a batch costs a host at least twice what sending it costs the bus
    made_ns = (1 + plan.severity) * max(plan.gpu_ns, 2 * size / schedule.PINNED_GBS)
    machine.host(made_ns if plan.sickness == "loader" else FETCH_NS + plan.of("loader") * plan.gpu_ns)
    machine.marker("load", begun, thread=main)
    if plan.of("copies"):
        wanted = plan.of("copies") * plan.gpu_ns * schedule.PAGEABLE_GBS
        least = size if plan.sickness == "copies" else 0
        return machine.copy(max(least, int(wanted)), thread=main, stream=_COMPUTE)
    if plan.network.resident and plan.sickness != "loader":
        numbers = max(1, size // 4)
        gather = Work("gather", "aten::index_select", float(numbers), 2 * size, numbers)
        return _operator(machine, plan, gather, main)
    return machine.copy(size, thread=main, stream=_INPUT, pinned=True)


def _operator(
    machine: Machine, plan: Plan, work: Work, thread: int, *, after: float = 0.0, stream: int = _COMPUTE
) -> float:
    """An operator on the host and its kernel; gives the kernel's end."""
    begun = machine.now
    backward = thread != machine.process + MAIN
    machine.host((schedule.BACKWARD_OPERATOR_NS if backward else schedule.OPERATOR_NS) * machine.slowness)
    kernel = kernel_of(work, plan.gpu, plan.network.precision)
    end = machine.launch(
        kernel, plan.ns(work), thread=thread, stream=stream, after=after, flops=work.flops, nbytes=work.bytes
    )
    machine.host(500)
    machine.marker(work.operator, begun, thread=thread, operator=True, flops=work.flops)
    return end


def _backward(machine: Machine, plan: Plan, item: _Items, *, shares: bool) -> float:
    """The backward pass on autograd's thread; gives when the gradients are summed (0: there is nothing to sum)."""
    main, thread = machine.process + MAIN, machine.process + AUTOGRAD
    exposed = plan.of("communication") > 0
    gradients = plan.network.parameters * BYTES[plan.network.precision]
    waiting, reduced = 0, 0.0
    for layer in reversed(plan.network.layers):
        end = 0.0
        for work in layer.backward:
            end = _operator(machine, plan, work, thread)
            item.maybe()
        waiting += layer.parameters * BYTES[plan.network.precision]
        if shares and not exposed and waiting >= BUCKET_BYTES:
            reduced = _all_reduce(machine, plan, waiting, gradients, after=end)
            waiting = 0
    if shares and waiting:
        begun = machine.now
        last = machine.free[_COMPUTE]
        while exposed and waiting > BUCKET_BYTES:
            reduced = _all_reduce(machine, plan, BUCKET_BYTES, gradients, after=last)
            waiting -= BUCKET_BYTES
        reduced = _all_reduce(machine, plan, waiting, gradients, after=last)
        machine.marker("nccl:all_reduce", begun, thread=main)
    return reduced


def _all_reduce(machine: Machine, plan: Plan, nbytes: int, gradients: int, *, after: float) -> float:
    total = plan.of("communication") * plan.gpu_ns or OVERLAPPED * plan.backward_ns
    machine.host(schedule.OPERATOR_NS * machine.slowness)
    work = Work("all_reduce", "nccl:all_reduce", 0.0, 2 * nbytes, max(1, nbytes // BYTES[plan.network.precision]))
    kernel = kernel_of(work, plan.gpu, plan.network.precision)
    ns = max(total * nbytes / gradients, 12_000.0)
    return machine.launch(kernel, ns, thread=machine.process + MAIN, stream=_COMMUNICATION, after=after)


def _item(machine: Machine) -> None:
    """``tensor.item()``: four bytes to the host, which waits for all that was launched before."""
    main, begun = machine.process + MAIN, machine.now
    machine.host(schedule.OPERATOR_NS / 2)
    machine.copy(4, thread=main, stream=_COMPUTE, to_host=True)
    machine.marker("aten::_local_scalar_dense", begun, thread=main, operator=True)


# What one wait costs the GPU: the small copy, the host's waking, and the next operator with its launch.
WAIT_COSTS_NS = (
    schedule.COPY_MINIMUM_NS + schedule.WAKE_NS + schedule.OPERATOR_NS + schedule.LAUNCH_NS + schedule.ARRIVAL_NS
)


def _waits(plan: Plan) -> float:
    """Waits per operator of a synchronising run (0: none)."""
    net = plan.network
    operators = len(net.forward) + len(net.backward) + len(net.optimiser)
    return min(1.0, plan.of("synchronising") * plan.gpu_ns / WAIT_COSTS_NS / operators)


@dataclass
class _Items:
    """Calls ``.item()`` after every so-manieth operator."""

    machine: Machine
    plan: Plan
    per_operator: float
    due: float = 0.0

    def maybe(self) -> None:
        """After an operator."""
        self.due += self.per_operator
        if self.due >= 1.0:
            self.due -= 1.0
            _item(self.machine)


__all__ = ["GPUS", "MODELS", "SICKNESSES", "Layer", "Plan", "batch_for", "training"]
