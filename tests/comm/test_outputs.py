"""What ranks print, and what they do to their output."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

import pytest

from labkit.comm import team
from labkit.comm.outputs import new_text
from labkit.comm.rank_errors import RankError
from labkit.comm.team import Team


def test_text_from_a_place_on_and_the_last_bytes(tmp_path: Path) -> None:
    assert new_text(tmp_path, 0, 0) == ("", 0) and new_text(None, 0, 7) == ("", 7)
    (tmp_path / "rank-0.out").write_bytes("äb\r\nc".encode())
    assert new_text(tmp_path, 0, 0) == ("äb\nc", 6)
    assert new_text(tmp_path, 0, 5) == ("c", 6) and new_text(tmp_path, 0, 99) == ("", 6)
    assert new_text(tmp_path, 0, -1) == ("c", 6) and new_text(tmp_path, 0, -99) == ("äb\nc", 6)


@pytest.mark.skipif(os.name != "posix", reason="file descriptors")
def test_a_call_that_closes_its_output_does_not_silence_the_next(
    work: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    with Team(1) as ranks:
        ranks.run(work.closes_its_output, group=False)
        ranks.run(work.says, "hello", group=False)
    assert capfd.readouterr().out == "rank 0: hello\nrank 0: hello from a child\n"


def test_what_was_not_to_be_shown_is_not_shown_later_and_very_much_is_cut(
    work: ModuleType, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team, "_MOST_LINES", 3)
    with Team(1) as ranks:
        ranks.run(work.says, "secret", group=False, echo=False)
        ranks.run(work.says, "loud", 10, group=False)
    assert capfd.readouterr().out == "rank 0: (7 more lines before these)\n" + "rank 0: loud\n" * 3


def test_a_result_that_only_the_rank_can_make_is_said(work: ModuleType) -> None:
    with Team(1) as ranks:
        with pytest.raises(RankError, match="cannot be read here: ZeroDivisionError"):
            ranks.run(work.only_here, group=False)
        assert ranks.pids == ()


@pytest.mark.skipif(os.name != "posix", reason="process groups")
def test_what_a_rank_started_ends_with_the_team(work: ModuleType, gone: Callable[[Iterable[int]], list[int]]) -> None:
    with Team(2) as ranks:
        others = ranks.run(work.starts_another, group=False)
    assert gone(others) == []
