"""The ring: real messages that make the sum, and a schedule that does not."""

from __future__ import annotations

from types import ModuleType

import pytest

from labkit.comm import formulas
from labkit.comm import ring as rings
from labkit.comm.team import Team
from labkit.errors import LabkitError


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_every_rank_ends_with_the_sum_and_the_log_is_the_whole_of_it(work: ModuleType, ranks: int) -> None:
    run = rings.ring(ranks)
    assert run.wrong == () and run.steps == 2 * (ranks - 1) and len(run.messages) == ranks * run.steps
    assert set(run.sums) == {(sum(10.0**r for r in range(ranks)),)}
    assert run.bytes_sent(0) == formulas.ring_bytes(8 * ranks, ranks)
    _replay(run)


def test_uneven_chunks_and_other_values(work: ModuleType) -> None:
    values = [[float(r * 10 + k) for k in range(7)] for r in range(3)]
    with Team(3) as team:
        run = rings.ring(team, values)
    assert run.wrong == ()
    assert [x for chunk in run.states[-1][2] for x in chunk] == [sum(row[k] for row in values) for k in range(7)]
    _replay(run)


def _replay(run: rings.RingRun) -> None:
    """The log alone, played in plain Python, gives every recorded state: the messages are what really went round."""
    state = [list(map(list, rank)) for rank in run.states[0]]
    for step in range(run.steps):
        before = [[list(c) for c in rank] for rank in state]
        came = [m for m in run.messages if m.step == step]
        assert sorted(m.dst for m in came) == list(range(run.ranks))
        for m in came:
            assert m.dst == (m.src + 1) % run.ranks and m.added == (step < run.ranks - 1) and m.at_s > 0
            assert list(m.values) == before[m.src][m.chunk], "what arrived is what the sender held"
            own = before[m.dst][m.chunk]
            state[m.dst][m.chunk] = [a + b for a, b in zip(own, m.values)] if m.added else list(m.values)  # noqa: B905
        assert tuple(tuple(map(tuple, rank)) for rank in state) == run.states[step + 1]


def test_a_schedule_of_the_reader_is_run_and_a_wrong_one_is_found(work: ModuleType) -> None:
    with Team(3) as team:
        assert rings.ring(team, schedule=lambda step, rank, ranks: (rank - step) % ranks).wrong == ()
        assert rings.ring(team, schedule=lambda step, rank, ranks: (rank + 1 - step) % ranks).wrong == ()
        run = rings.ring(team, schedule=lambda step, rank, ranks: rank)
    assert run.wrong and "do not hold the sum" in str(run)


def test_what_cannot_be_a_schedule_is_said_before_anything_runs() -> None:
    for words, schedule in (
        ("must have 4 steps for 3 ranks", [[0, 1, 2]]),
        ("Step 0: rank 0 cannot send chunk 3", [[3, 1, 2]] * 4),
        ("cannot send chunk None", lambda *_: None),
        ("cannot send chunk 0.5", lambda *_: 0.5),
    ):
        with pytest.raises(LabkitError, match=words):
            rings.ring(3, schedule=schedule)
    with pytest.raises(LabkitError, match="two processes or more"):
        rings.ring(1)
    with pytest.raises(LabkitError, match="3 rows of one length"):
        rings.ring(3, [[1.0, 2.0]] * 3)
