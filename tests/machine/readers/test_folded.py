"""Wide tables that a terminal folded at its width, in the middle of cells and names."""

from __future__ import annotations

import pytest

from labkit.machine.readers.matrices import Matrix, unfolded
from tests.machine.readers.bandwidth_samples import BI, RBT, TB, UNI, both, matrix
from tests.machine.readers.pasting import folded, read

DEVICES = 10


WIDE: Matrix = [
    [None if at < 2 and to < 2 else round(20.123 + 8 * at + to, 3) for to in range(DEVICES)] for at in range(DEVICES)
]
PEERS: Matrix = [[round(20 + 3 * at + to / 2, 2) for to in range(DEVICES)] for at in range(DEVICES)]


def peers() -> str:
    names = [f"CPU {at:02d}" for at in range(2)] + [f"GPU {at:02d}" for at in range(8)]
    out = ["Unidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)"]
    out.append(" SRC+EXE\\DST " + "".join(f"{name:>10}" for name in names))
    out += [f"  {name}  -> " + "".join(f"{cell:10.2f}" for cell in row) for name, row in zip(names, PEERS, strict=True)]
    return "\n".join(out) + "\n"


@pytest.mark.parametrize("width", [*range(68, 112, 3), 160])
def test_a_folded_table_is_read_whole(width: int) -> None:
    wide = folded(
        "RocmBandwidthTest Version: 2.6.0\n\n" + matrix("Unidirectional copy peak bandwidth GB/s", WIDE), width
    )
    assert both(read(wide)) == (WIDE, None)
    facts = read(folded(peers(), width))
    assert both(facts) == (PEERS, None) and facts["devices"] == DEVICES


def test_what_is_not_folded_stays() -> None:
    for text in (RBT, TB, peers()):
        assert unfolded(text.split("\n"), lambda line: line.strip()[:1].isalpha(), 2) == text.split("\n")
    assert both(read(RBT)) == (UNI, BI)
