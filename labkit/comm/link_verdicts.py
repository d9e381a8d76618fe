"""What the matrices of a bandwidth tool say of links: local memory, slow, uneven and missing ways, narrow slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.catalog import links
from labkit.comm.verdict import Verdict
from labkit.machine.readers.matrices import Matrix

MUCH = 0.6  # of the fastest pair of the same kind: below it a link is called slow
ONE_WAY = 0.75  # of the other direction: below it a link is called uneven
FEW = 1 / 3  # of all ways: where more are slow, that is how the GPUs are joined, and no fault


def inside_one(gbps: float, name: str, link: float | None) -> Verdict:
    """The verdict on a copy inside one device; ``link``: the fastest figure between two, GB/s."""
    other = "" if link is None else f" Between two devices this table has at most {link:g} GB/s."
    sentence = f"{gbps:g} GB/s is a copy inside {name}: its local memory, not a link.{other}"
    return Verdict("local-memory-not-a-link", sentence, f"{gbps:g}", is_note=True)


def matrices_of(facts: Mapping[str, Any]) -> list[Matrix]:
    """The matrices of peer-to-peer copies that the facts have."""
    return [facts[key] for key in ("unidirectional_gbps", "bidirectional_gbps") if facts.get(key)]


def names_of(facts: Mapping[str, Any], devices: int) -> list[str]:
    """What to call the devices: as TransferBench does ('GPU 03'), else 'device 3', for names of models do not tell them apart."""
    given = list(facts.get("names") or ()) if facts.get("kind") == "transferbench" else []
    return [*given[:devices], *(f"device {at}" for at in range(len(given), devices))]


def fastest_link(matrix: Sequence[Sequence[float | None]]) -> float | None:
    """The largest figure off the diagonal, GB/s; None without one."""
    cells = [cell for at, row in enumerate(matrix) for to, cell in enumerate(row) if at != to and cell is not None]
    return max(cells, default=None)


def on_matrices(facts: Mapping[str, Any]) -> list[Verdict]:
    """Verdicts on the facts of a bandwidth tool."""
    found: list[Verdict] = []
    for matrix in matrices_of(facts):
        names = names_of(facts, len(matrix))
        diagonal = {at: cell for at, row in enumerate(matrix) if (cell := row[at]) is not None}
        top = max(diagonal, key=lambda at: diagonal[at], default=None)
        link = fastest_link(matrix)
        if top is not None and (link is None or diagonal[top] > link):
            found.append(inside_one(diagonal[top], names[top], link))
    uni = facts.get("unidirectional_gbps")
    one = uni or facts.get("bidirectional_gbps") or []
    names, gpus = names_of(facts, len(one)), _gpus(facts, one)
    if uni:
        found += _links(uni, names, gpus)
    elif across := facts.get("all_to_all_gbps"):
        found += _links(across, [f"GPU {at:02d}" for at in range(len(across))], range(len(across)))
    found += _hosts(facts, one, names, gpus, ways=1 if uni else 2)
    found += _missing(one, gpus)
    return found


def _hosts(
    facts: Mapping[str, Any], matrix: Matrix, names: Sequence[str], gpus: Sequence[int], *, ways: int
) -> list[Verdict]:
    """GPUs whose link to the processors is far slower than another's, or than any slot made for a card."""
    hosts = [at for at in range(len(matrix)) if at not in gpus]
    rates: dict[int, float] = {}
    for gpu in gpus:
        cells = [cell for host in hosts for cell in (matrix[host][gpu], matrix[gpu][host]) if cell]
        if cells:
            rates[gpu] = max(cells) / ways
    if not rates:
        return []
    worst, best = min(rates, key=lambda gpu: rates[gpu]), max(rates, key=lambda gpu: rates[gpu])
    narrow = links.pcie_gbs(3, 4)
    if narrow and rates[worst] < narrow:
        say = (
            f"{names[worst]} exchanges {rates[worst]:.3g} GB/s with the host, less than four lanes of PCIe 3.0 carry ({narrow:.1f}): "
            "look at its slot, at risers, and at LnkSta in lspci -vv."
        )
        return [Verdict("narrow-host-link", say, f"{rates[worst]:.3g}")]
    models = list(facts.get("names") or ()) if facts.get("kind") == "rocm-bandwidth-test" else []
    same = not models or models[worst] == models[best]
    if rates[worst] >= MUCH * rates[best] or not same:
        return []  # another model may have another link
    say = (
        f"{names[worst]} exchanges {rates[worst]:.3g} GB/s with the host, {names[best]} {rates[best]:.3g}: "
        "its slot has fewer lanes or runs at a lower speed; LnkSta in lspci -vv tells which."
    )
    return [Verdict("uneven-host-links", say, f"{rates[worst]:.3g} / {rates[best]:.3g}")]


def _gpus(facts: Mapping[str, Any], matrix: Sequence[Sequence[float | None]]) -> list[int]:
    """The devices that are GPUs.

    Where no list tells: those that copy within themselves; where none does, those behind the first ones between which nothing is
    measured, for the tool lists processors first and measures nothing between them.
    """
    names = list(facts.get("names") or ())
    if names and facts.get("kind") == "transferbench":
        return [at for at, name in enumerate(names) if str(name).startswith("GPU") and at < len(matrix)]
    if facts.get("gpus") and len(names) == len(matrix) and None not in names:
        return [at for at in facts["gpus"] if at < len(matrix)]
    local = [at for at, row in enumerate(matrix) if row[at] is not None]
    hosts = 0
    while hosts < len(matrix) and not any(matrix[at][hosts] or matrix[hosts][at] for at in range(hosts)):
        hosts += 1
    return local or list(range(hosts, len(matrix)))


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
    rates = {(at, to): rate for at in gpus for to in gpus if at != to and (rate := matrix[at][to])}
    if rates:
        best, worst = max(rates, key=lambda pair: rates[pair]), min(rates, key=lambda pair: rates[pair])
        slow = [pair for pair, rate in rates.items() if rate < MUCH * rates[best]]
        is_note = len(slow) > FEW * len(rates)
        if slow:
            say = (
                f"{len(slow)} of {len(rates)} ways between GPUs are under {MUCH:.0%} of the fastest: "
                f"{names[worst[0]]} to {names[worst[1]]} has {rates[worst]:g} GB/s, "
                f"{names[best[0]]} to {names[best[1]]} {rates[best]:g}. "
                + (
                    "So many point to how the GPUs are joined (fewer links, other sockets), not to a fault: see amd-smi topology."
                    if is_note
                    else "A link is down or narrower there, or it crosses the sockets; the topology (amd-smi topology) tells which."
                )
            )
            found.append(Verdict("uneven-links", say, f"{rates[worst]:g} / {rates[best]:g}", is_note=is_note))
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
