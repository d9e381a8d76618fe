"""What the figures of a bandwidth tool or of rccl-tests mean, and what they cannot mean.

Pure functions of what a reader found (:mod:`labkit.machine.readers`). Each verdict is one sentence with the number that it is about.
A figure is called low only against one that AMD itself published for the same GPUs; without one the verdict says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.catalog import links

Matrix = list[list["float | None"]]

MUCH = 0.6  # of the fastest pair of the same kind: below it a link is called slow
ONE_WAY = 0.75  # of the other direction: below it a link is called uneven
LOW = 0.9  # of a published figure: below it a result is called low
LARGE = 1 << 30  # bytes from which busbw tells of links and no longer of latency


@dataclass(frozen=True)
class Verdict:
    """``code`` for programs, ``sentence`` for people, ``quote``: the figure as the text has it."""

    code: str
    sentence: str
    quote: str


def judge(facts: Mapping[str, Any], *, gpus: int | None = None, topology: str | None = None) -> tuple[Verdict, ...]:
    """Verdicts on the facts of one file, gravest first; empty for other kinds and where nothing stands out.

    ``gpus``: how many the machine has; ``topology``: the product that is linked ('Instinct MI300X'), where the text does not name it.
    """
    if facts.get("kind") == "rccl-tests":
        return tuple(_collective(facts, gpus, topology))
    if facts.get("kind") in ("rocm-bandwidth-test", "transferbench"):
        return tuple(_matrices(facts))
    return ()


def claimed(gbps: float, facts: Mapping[str, Any] | None = None) -> Verdict | None:
    """A verdict on a figure that somebody calls the peak of a link or of an all-reduce, if it is a copy inside one device.

    It is one when it stands on the diagonal of the matrix in ``facts``, or of the matrix that AMD published for the MI300A.
    """
    for matrix in _both(facts or {}):
        for at, row in enumerate(matrix):
            cell = row[at] if at < len(row) else None
            if cell is not None and abs(cell - gbps) <= 0.001 * gbps:
                return _local(gbps, _names(facts or {}, len(matrix))[at], _fastest_link(matrix))
    for figures in links.matrices():
        if abs(figures.local_high_gbps - gbps) <= 0.0005 * gbps:
            sentence = (
                f"{gbps:g} GB/s is a copy inside one device: AMD's {figures.product} matrix has it on the diagonal. "
                f"Between two devices the same matrix has {figures.link_low_gbps:g} to {figures.link_high_gbps:g} GB/s."
            )
            return Verdict("local-memory-not-a-link", sentence, f"{gbps:g}")
    return None


def _local(gbps: float, name: str, link: float | None) -> Verdict:
    other = "" if link is None else f" Between two devices this table has at most {link:g} GB/s."
    sentence = f"{gbps:g} GB/s is a copy inside {name}: its local memory, not a link.{other}"
    return Verdict("local-memory-not-a-link", sentence, f"{gbps:g}")


def _collective(facts: Mapping[str, Any], gpus: int | None, topology: str | None) -> list[Verdict]:
    rows: Sequence[Mapping[str, Any]] = facts.get("rows") or ()
    found = []
    wrong = [row for row in rows if row.get("wrong")]
    if wrong or facts.get("problem") == "rccl-data-errors":
        where = f"{wrong[0]['wrong']} wrong values at {_bytes(wrong[0]['bytes'])}" if wrong else "values out of bounds"
        say = f"The data came out wrong ({where}): do not train over these links, and believe none of the rates."
        found.append(Verdict("data-errors", say, where))
    ranks = facts.get("ranks")
    if ranks == 1 and gpus != 1:
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
        found.append(Verdict("wrong-not-checked", say, "N/A"))
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
    return [Verdict("latency-bound-average", say, f"{mean:g}")]


def _against(facts: Mapping[str, Any], largest: Mapping[str, Any], topology: str | None) -> list[Verdict]:
    """The largest message against what AMD published for the same collective, GPUs and number of them."""
    what, ranks, rate = facts.get("collective"), facts.get("ranks"), largest["busbw_gbps"]
    names = [topology] if topology else list(facts.get("gpu_names") or ())
    if what is None or ranks is None or len(names) != 1:
        return []
    rows = links.reference(what, names[0], ranks, facts.get("hosts") or 1)
    if not rows:
        say = f"No established figure for {what} over {ranks} GPUs of this kind ({names[0]}): compare with another run of the same node."
        return [Verdict("no-established-figure", say, f"{rate:g}")]
    if largest["bytes"] < LARGE:
        return []
    row = min(rows, key=lambda entry: abs(entry.bytes - largest["bytes"]))
    if rate >= LOW * row.busbw_gbps:
        return []
    say = (
        f"{rate:g} GB/s busbw at {_bytes(largest['bytes'])} is {rate / row.busbw_gbps:.0%} of what AMD measured on {ranks} {row.product} "
        f"({row.busbw_gbps:g} GB/s at {_bytes(row.bytes)}): look at NUMA balancing, iommu=pt and the links."
    )
    return [Verdict("busbw-under-topology", say, f"{rate:g}")]


def _both(facts: Mapping[str, Any]) -> list[Matrix]:
    return [facts[key] for key in ("unidirectional_gbps", "bidirectional_gbps") if facts.get(key)]


def _names(facts: Mapping[str, Any], devices: int) -> list[str]:
    """What to call the devices: as the tool does ('GPU 03'), or 'device 3 (name)'."""
    given = list(facts.get("names") or ())[:devices]
    given += [None] * (devices - len(given))
    if facts.get("kind") == "transferbench":
        return [name or f"device {at}" for at, name in enumerate(given)]
    return [f"device {at}" for at in range(devices)]


def _fastest_link(matrix: Sequence[Sequence[float | None]]) -> float | None:
    cells = [cell for at, row in enumerate(matrix) for to, cell in enumerate(row) if at != to and cell is not None]
    return max(cells, default=None)


def _matrices(facts: Mapping[str, Any]) -> list[Verdict]:
    found: list[Verdict] = []
    for matrix in _both(facts):
        names = _names(facts, len(matrix))
        diagonal = {at: cell for at, row in enumerate(matrix) if (cell := row[at]) is not None}
        top = max(diagonal, key=lambda at: diagonal[at], default=None)
        link = _fastest_link(matrix)
        if top is not None and (link is None or diagonal[top] > link):
            found.append(_local(diagonal[top], names[top], link))
    uni = facts.get("unidirectional_gbps")
    if uni:
        found += _links(uni, _names(facts, len(uni)), _gpus(facts, uni))
    one = uni or facts.get("bidirectional_gbps")
    if one:
        found += _missing(one, _gpus(facts, one))
    return found


def _gpus(facts: Mapping[str, Any], matrix: Sequence[Sequence[float | None]]) -> list[int]:
    """The devices that are GPUs. Where no name tells, those that copy within themselves; where none does, all."""
    names = list(facts.get("names") or ())
    if names and facts.get("kind") == "transferbench":
        return [at for at, name in enumerate(names) if str(name).startswith("GPU") and at < len(matrix)]
    local = [at for at, row in enumerate(matrix) if row[at] is not None]
    return local or list(range(len(matrix)))


def _links(matrix: Sequence[Sequence[float | None]], names: Sequence[str], gpus: Sequence[int]) -> list[Verdict]:
    """One way of a link slower than the other, and pairs far slower than the fastest."""
    found = []
    uneven = []
    for at in range(len(matrix)):
        for to in range(at + 1, len(matrix)):
            there, back = matrix[at][to], matrix[to][at]
            # between a CPU and a GPU the two ways use different engines: only a large difference is worth a word
            limit = ONE_WAY if at in gpus and to in gpus else 0.5
            if there and back and min(there, back) < limit * max(there, back):
                uneven.append((min(there, back) / max(there, back), at, to))
    if uneven:
        _, at, to = min(uneven)
        there, back = matrix[at][to] or 0.0, matrix[to][at] or 0.0
        more = f" ({len(uneven) - 1} more pairs like it.)" if len(uneven) > 1 else ""
        say = (
            f"{names[at]} to {names[to]} runs at {there:g} GB/s, the way back at {back:g}: "
            f"look at that link's width and its host's slot.{more}"
        )
        found.append(Verdict("asymmetric-link", say, f"{there:g} / {back:g}"))
    pairs = {(at, to): matrix[at][to] for at in gpus for to in gpus if at != to and matrix[at][to]}
    rates = {pair: rate for pair, rate in pairs.items() if rate}
    if rates:
        best, worst = max(rates, key=lambda pair: rates[pair]), min(rates, key=lambda pair: rates[pair])
        slow = [pair for pair, rate in rates.items() if rate < MUCH * rates[best]]
        if slow:
            say = (
                f"{len(slow)} of {len(rates)} ways between GPUs are under {MUCH:.0%} of the fastest: "
                f"{names[worst[0]]} to {names[worst[1]]} has {rates[worst]:g} GB/s, "
                f"{names[best[0]]} to {names[best[1]]} {rates[best]:g}. "
                "The slow ones have fewer links or cross the sockets; the topology (amd-smi topology) tells which."
            )
            found.append(Verdict("uneven-links", say, f"{rates[worst]:g} / {rates[best]:g}"))
    return found


def _missing(matrix: Sequence[Sequence[float | None]], gpus: Sequence[int]) -> list[Verdict]:
    pairs = [(at, to) for at in gpus for to in gpus if at != to]
    lost = [pair for pair in pairs if matrix[pair[0]][pair[1]] is None]
    if not lost:
        return []
    say = (
        f"{len(lost)} of {len(pairs)} ways between GPUs have no figure: "
        "these devices cannot reach each other directly, or the text was cut."
    )
    return [Verdict("missing-cells", say, "N/A")]


def _bytes(size: int) -> str:
    """A size as people say it: 8 GiB, 512 B."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << power:
            return (
                f"{size / (1 << power):g} {unit}" if size % (1 << power) == 0 else f"{size / (1 << power):.1f} {unit}"
            )
    return f"{size} B"
