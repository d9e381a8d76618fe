"""Which chunk travels when: the schedule of a ring all-reduce, judged by letting the ring run."""

from __future__ import annotations

from collections import Counter
from typing import Any

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import one_number


def _schedule(answer: Any, ranks: int) -> list[list[int]]:
    """[step][rank] -> chunk, for all 2·(ranks - 1) steps."""
    table = []
    for step in range(2 * (ranks - 1)):
        row = []
        for rank in range(ranks):
            chunk = one_number(call(answer, rank, step, ranks), "not_a_number")
            if chunk != int(chunk) or not 0 <= chunk < ranks:
                raise Wrong("no_such_chunk", got=chunk, rank=rank, step=step, ranks=ranks, last=ranks - 1)
            row.append(int(chunk))
        table.append(row)
    return table


def _run(table: list[list[int]], ranks: int) -> tuple[list[list[Counter[int]]], list[list[Counter[int]]]]:
    """What each rank holds of each chunk after the first half and at the end: whose part, and how often."""
    held = [[Counter([rank]) for _ in range(ranks)] for rank in range(ranks)]
    half: list[list[Counter[int]]] = []
    for step, row in enumerate(table):
        sent = [Counter(held[rank][chunk]) for rank, chunk in enumerate(row)]  # all send at the same time
        for rank, chunk in enumerate(row):
            to = (rank + 1) % ranks
            held[to][chunk] = held[to][chunk] + sent[rank] if step < ranks - 1 else sent[rank]
        if step == ranks - 2:
            half = [[Counter(part) for part in mine] for mine in held]
    return half, held


def _probe_ring_chunk(answer: Any) -> None:
    for ranks in (4, 2, 3, 5):
        table = _schedule(answer, ranks)
        half, held = _run(table, ranks)
        full = Counter(range(ranks))
        if all(part == full for mine in held for part in mine):
            continue
        first = table[: ranks - 1]
        if ranks > 2 and all(len(set(row)) == 1 for row in first):
            raise Wrong("all_the_same", chunk=first[0][0])
        if ranks > 2 and all(row == first[0] for row in first):
            raise Wrong("stands_still", rank=1, chunk=first[0][1], ranks=ranks)
        whole = [sum(part == full for part in mine) for mine in half]
        if any(count < 1 for count in whole):
            got = max(len(part) for mine in half for part in mine)
            raise Wrong("not_summed", got=got, ranks=ranks)
        for rank, chunk in enumerate(table[ranks - 1]):
            if half[rank][chunk] != full:
                right = half[rank].index(full)
                raise Wrong("half_sent", rank=rank, step=ranks - 1, got=chunk, right=right, ranks=ranks)
        raise Wrong("not_everywhere", ranks=ranks)


ring_chunk = Exercise(
    name="ring_chunk",
    lesson="08",
    probe=_probe_ring_chunk,
    hints={
        "not_a_number": Hint(
            "give back the number of one chunk (this was: {kind}).",
            "end with `return` and a whole number, not a {kind}.",
        ),
        "no_such_chunk": Hint(
            "rank {rank} sends chunk {got} in step {step}; there are only the chunks 0 to {last}. A ring has no end.",
            "`% ranks` brings every number back to 0 … {last} (rank {rank}, step {step}: {got}).",
        ),
        "all_the_same": Hint(
            "all ranks send chunk {chunk} at once, so the same chunk goes round while the others wait.",
            "different ranks send different chunks: the answer must depend on `rank`, not only on `step` (now {chunk} for all).",
        ),
        "stands_still": Hint(
            "rank {rank} sends chunk {chunk} in every step. It should pass on what it has just received.",
            "in step 1 a rank passes on the chunk that its left neighbour sent in step 0: one lower than its own ({chunk}).",
        ),
        "not_summed": Hint(
            "with {ranks} ranks, after {ranks} - 1 steps a chunk holds the parts of {got} ranks at most. Which chunk has just "
            "come in from the left?",
            "the left neighbour, rank - 1, sent its own chunk first. So go *down* by one with each step ({got} of {ranks} now).",
        ),
        "half_sent": Hint(
            "the first half is right. Then, in step {step}, rank {rank} hands round chunk {got}, of which it has no full sum.",
            "rank {rank} has the full sum of chunk {right}, the one that came in last. With {ranks} ranks, step {step} sends that.",
        ),
        "not_everywhere": Hint(
            "with {ranks} ranks all sums are made, but not everyone gets each of them.",
            "in the second half too, each rank passes on what came in a step before ({ranks} ranks).",
        ),
    },
    push=(
        "Step 0: everyone sends the chunk with its own number. Step 1: everyone passes on what just came in. From whom?",
        "What comes in at step s is what rank - 1 sent. One subtraction and a `% ranks` do for both halves.",
    ),
    mistakes=(
        KnownMistake("always its own chunk", "def ring_chunk(rank, step, ranks):\n    return rank", "stands_still"),
        KnownMistake(
            "the same chunk for all", "def ring_chunk(rank, step, ranks):\n    return step % ranks", "all_the_same"
        ),
        KnownMistake(
            "the wrong way round", "def ring_chunk(rank, step, ranks):\n    return (rank + step) % ranks", "not_summed"
        ),
        KnownMistake("no modulo", "def ring_chunk(rank, step, ranks):\n    return rank - step", "no_such_chunk"),
        KnownMistake(
            "the second half starts anew",
            "def ring_chunk(rank, step, ranks):\n    return (rank - step % (ranks - 1)) % ranks",
            "half_sent",
        ),
        KnownMistake(
            "the second half in the other direction",
            """
def ring_chunk(rank, step, ranks):
    if step < ranks - 1:
        return (rank - step) % ranks
    return (rank + 1 + step - (ranks - 1)) % ranks
""",
            "not_everywhere",
        ),
    ),
    variants=(
        "def ring_chunk(rank, step, ranks):\n    return (rank + ranks - step % ranks) % ranks",
        """
def ring_chunk(rank, step, ranks):
    if step == 0:
        return rank
    return ring_chunk((rank - 1) % ranks, step - 1, ranks)
""",
        """
def ring_chunk(rank, step, ranks):
    first = step < ranks - 1
    return (rank + 1 - step if first else rank + 2 - (step - (ranks - 1))) % ranks
""",
    ),
)
