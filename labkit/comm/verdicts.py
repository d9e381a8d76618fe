"""What the figures of a bandwidth tool or of rccl-tests mean, and what they cannot mean.

Pure functions of what a reader found (:mod:`labkit.machine.readers`). Each verdict is one sentence with the number that it is about.
A figure is called low only against one that AMD itself published for the same GPUs; without one the verdict says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.catalog import links
from labkit.comm.link_verdicts import fastest_link, inside_one, matrices_of, names_of, on_matrices
from labkit.comm.verdict import Verdict

LOW = 0.9  # of a published figure: below it a result is called low
LARGE = 1 << 30  # bytes from which busbw tells of links and no longer of latency


def judge(facts: Mapping[str, Any], *, gpus: int | None = None, topology: str | None = None) -> tuple[Verdict, ...]:
    """Verdicts on the facts of one file, what is wrong before what is only to be noted; empty for other kinds and where nothing stands out.

    ``gpus``: how many the machine has; ``topology``: the product that is linked ('Instinct MI300X'), where the text does not name it.
    """
    found: list[Verdict] = []
    if facts.get("kind") in ("rccl-tests", "rccl-log", "rccl-ras"):
        found += _job(facts)
    if facts.get("kind") == "rccl-tests":
        found += _collective(facts, gpus, topology)
    elif facts.get("kind") in ("rocm-bandwidth-test", "transferbench"):
        found += on_matrices(facts)
    return tuple(sorted(found, key=lambda verdict: verdict.is_note))


def claimed(gbps: float, facts: Mapping[str, Any] | None = None) -> Verdict | None:
    """A verdict on a figure that somebody calls the peak of a link or of an all-reduce, if it is a copy inside one device.

    It is one when it stands on the diagonal of the matrix in ``facts``, or of the matrix that AMD published for the MI300A.
    """
    for matrix in matrices_of(facts or {}):
        for at, row in enumerate(matrix):
            cell = row[at] if at < len(row) else None
            if cell is not None and abs(cell - gbps) <= 0.001 * gbps:
                return inside_one(gbps, names_of(facts or {}, len(matrix))[at], fastest_link(matrix))
    for figures in links.matrices():
        if abs(figures.local_high_gbps - gbps) <= 0.0005 * gbps:
            sentence = (
                f"{gbps:g} GB/s is a copy inside one device: AMD's {figures.product} matrix has it on the diagonal. "
                f"Between two devices the same matrix has {figures.link_low_gbps:g} to {figures.link_high_gbps:g} GB/s."
            )
            return Verdict("local-memory-not-a-link", sentence, f"{gbps:g}", is_note=True)
    return None


def _job(facts: Mapping[str, Any]) -> list[Verdict]:
    """What went wrong with the job itself, and where to look first."""
    problem, ranks, here = facts.get("problem"), facts.get("ranks"), facts.get("ranks_present")
    if problem == "rccl-crash":
        say = "The run did not end well. The first error in its text is the one to look for; dmesg on that node has the kernel's side."
        return [Verdict("crash", say, problem)]
    if problem == "rccl-iommu":
        say = (
            "The kernel command line lacks iommu=pt: traffic between GPUs may hang. Add it and restart; "
            "inside a virtual machine it is not needed."
        )
        return [Verdict("iommu", say, "iommu=pt")]
    if problem == "rccl-missing-rank":
        some = f"{ranks - here} of {ranks} ranks" if ranks and here is not None else "Some ranks"
        verb = "does" if some.startswith("1 of") else "do"
        say = f"{some} {verb} not answer: look at the process and its node; the others wait for it."
        return [Verdict("missing-rank", say, some)]
    return []


def _collective(facts: Mapping[str, Any], gpus: int | None, topology: str | None) -> list[Verdict]:
    rows: Sequence[Mapping[str, Any]] = facts.get("rows") or ()
    found = []
    wrong = [row for row in rows if row.get("wrong")]
    if wrong or facts.get("problem") == "rccl-data-errors":
        where = f"{wrong[0]['wrong']} wrong values at {_bytes(wrong[0]['bytes'])}" if wrong else "values out of bounds"
        say = f"The data came out wrong ({where}): do not train over these links, and believe none of the rates."
        found.append(Verdict("data-errors", say, where))
    ranks = facts.get("ranks")
    if apart := facts.get("separate_runs"):
        say = (
            f"{apart} processes ran the test each for itself (every one is rank 0), so nothing was sent between them: "
            "the test was built without MPI. Build it with MPI=1 and start it with mpirun again."
        )
        found.append(Verdict("built-without-mpi", say, f"rank 0, {apart} times"))
    elif ranks == 1 and gpus != 1:
        have = f" of {gpus}" if gpus else ""
        say = (
            f"One GPU{have} took part, so nothing was sent to another: "
            f"-g {gpus or 'N'} uses {gpus or 'N'} GPUs, and without it the tool takes one."
        )
        found.append(Verdict("one-gpu-tested", say, "ranks 1"))
    elif gpus and ranks and ranks < gpus and (facts.get("hosts") or 1) == 1:
        found.append(Verdict("fewer-gpus-tested", f"{ranks} of {gpus} GPUs took part.", f"ranks {ranks}"))
    if rows and facts.get("checked") is False:
        say = "The results were not checked (N/A, as with -c 0): a fast wrong answer would look the same."
        found.append(Verdict("wrong-not-checked", say, "N/A", is_note=True))
    if rows:
        largest = max(rows, key=lambda row: row["bytes"])
        found += _average(facts, rows, largest)
        if ranks != 1:
            found += _against(facts, largest, topology)
    return found


def _average(facts: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], largest: Mapping[str, Any]) -> list[Verdict]:
    mean = facts.get("avg_busbw_gbps")
    if mean is None or largest["busbw_gbps"] <= 1.25 * mean:
        return []
    smallest = min(row["bytes"] for row in rows)
    span = f"mixes messages from {_bytes(smallest)} to {_bytes(largest['bytes'])}"
    if mean < min(row["busbw_gbps"] for row in rows):
        span = "is of messages too that this text does not show"
    say = (
        f"The average of {mean:g} GB/s {span}; small ones measure latency. "
        f"Say the largest: {largest['busbw_gbps']:g} GB/s busbw at {_bytes(largest['bytes'])}."
    )
    return [Verdict("latency-bound-average", say, f"{mean:g}", is_note=True)]


def _against(facts: Mapping[str, Any], largest: Mapping[str, Any], topology: str | None) -> list[Verdict]:
    """The largest message against what AMD published for the same collective, GPUs and number of them."""
    what, ranks, rate = facts.get("collective"), facts.get("ranks"), largest["busbw_gbps"]
    names = [topology] if topology else list(facts.get("gpu_names") or ())
    if what is None or ranks is None or len(names) != 1:
        return []
    rows = links.reference(what, names[0], ranks, facts.get("hosts") or 1)
    if not rows:
        say = f"No established figure for {what} over {ranks} GPUs of this kind ({names[0]}): compare with another run on the same nodes."
        return [Verdict("no-established-figure", say, f"{rate:g}", is_note=True)]
    if largest["bytes"] < LARGE:
        return []
    row = min(rows, key=lambda entry: abs(entry.bytes - largest["bytes"]))
    accepted = row.accept_busbw_gbps if row.bytes == largest["bytes"] else None
    if rate >= (accepted or LOW * row.busbw_gbps):
        return []
    limit = f", and calls healthy from {accepted:g}" if accepted else ""
    say = (
        f"{rate:g} GB/s busbw at {_bytes(largest['bytes'])} is {rate / row.busbw_gbps:.0%} of what AMD measured on {ranks} {row.product} "
        f"({row.busbw_gbps:g} GB/s at {_bytes(row.bytes)}{limit}): look at NUMA balancing, iommu=pt and the links."
    )
    return [Verdict("busbw-under-topology", say, f"{rate:g}")]


def _bytes(size: int) -> str:
    """A size as people say it: 8 GiB, 512 B."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << power:
            return (
                f"{size / (1 << power):g} {unit}" if size % (1 << power) == 0 else f"{size / (1 << power):.1f} {unit}"
            )
    return f"{size} B"
