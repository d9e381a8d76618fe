"""The table of lent GPUs: never one GPU to more learners than it is shared by, whatever happens in whatever order."""

from __future__ import annotations

import shutil
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from labkit.errors import LabkitError
from labkit.workshop.hub import leases
from labkit.workshop.hub.leases import Book, Lease, NoGpuFree, Table

NAMES = st.sampled_from([f"learner{n}" for n in range(8)])


class Room(RuleBasedStateMachine):
    """Learners come, go and crash, the hub is started anew, also with other GPUs; ``alive`` is what really runs."""

    @initialize(gpus=st.integers(0, 4), share=st.integers(1, 3))
    def begin(self, gpus: int, share: int) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.book = Book(self.folder / "leases.json")
        self.alive: dict[str, str] = {}
        self.dead: set[str] = set()
        self.most: dict[str, int] = {}
        self.book.change(lambda table: table.on([str(n) for n in range(gpus)], share))

    @rule(name=NAMES)
    def comes(self, name: str) -> None:
        table = self.book.read()
        had, free = table.of(name), table.free()
        try:
            lease = self.book.lend(name)
        except NoGpuFree as error:
            assert free == 0 and had is None
            assert "CPU only" in error.remedy
            assert self.book.read() == table
            return
        assert had is not None or free > 0
        if had is not None:
            assert lease == had
        self.alive[name] = lease.gpu
        self.dead.discard(name)
        self.book.change(lambda table: table.running(name, 100, 1.5))

    @rule(name=NAMES)
    def goes(self, name: str) -> None:
        self.book.change(lambda table: table.give_back(name))
        self.alive.pop(name, None)
        self.dead.discard(name)

    @rule(name=NAMES)
    def crashes(self, name: str) -> None:
        if self.alive.pop(name, None) is not None:
            self.dead.add(name)

    @rule(gpus=st.integers(0, 4), share=st.integers(1, 3))
    def hub_starts_anew(self, gpus: int, share: int) -> None:
        self.book = Book(self.folder / "leases.json")
        before = {gpu: self.book.read().users(gpu) for gpu in map(str, range(4))}
        self.book.change(
            lambda table: table.on([str(n) for n in range(gpus)], share).reclaim(
                lambda lease: lease.learner in self.alive
            )
        )
        self.dead.clear()
        self.most = {gpu: count for gpu, count in before.items() if count > share}  # servers that lived on

    @invariant()
    def nobody_gets_anothers_gpu(self) -> None:
        if not hasattr(self, "book"):
            return
        table = self.book.read()
        for gpu in {lease.gpu for lease in table.leases}:
            assert table.users(gpu) <= max(table.share, self.most.get(gpu, 0)), "one GPU was lent too often"

    @invariant()
    def whoever_lives_keeps_theirs(self) -> None:
        if not hasattr(self, "book"):
            return
        table = self.book.read()
        assert {lease.learner: lease.gpu for lease in table.leases if lease.learner in self.alive} == self.alive
        assert {lease.learner for lease in table.leases} == set(self.alive) | self.dead

    @invariant()
    def the_file_says_the_same(self) -> None:
        if hasattr(self, "book"):
            table = self.book.read()
            assert leases.parse(leases.dump(table)) == table

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)


TestRoom = Room.TestCase
TestRoom.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)


def test_of_several_gpus_the_one_with_fewest_users_is_lent() -> None:
    table = Table(("0", "1"), 2)
    for name in ("a", "b", "c", "d"):
        table = table.lend(name)
    assert [lease.gpu for lease in table.leases] == ["0", "1", "0", "1"]
    with pytest.raises(NoGpuFree, match="All 2 GPUs are lent"):
        table.lend("e")


def test_without_a_gpu_the_sentence_is_another() -> None:
    with pytest.raises(NoGpuFree, match="no GPU to lend"):
        Table().lend("a")


def test_a_lease_on_a_gpu_that_is_no_longer_lent_stays_until_its_server_ends() -> None:
    table = Table(("0", "1")).lend("a").lend("b").on(["1"], 1)
    assert [lease.gpu for lease in table.leases] == ["0", "1"] and table.free() == 0
    assert table.give_back("a").free() == 0 and table.give_back("b").free() == 1


def test_at_the_same_time_everybody_gets_another(tmp_path: Path) -> None:
    book = Book(tmp_path / "leases.json")
    book.change(lambda table: table.on([str(n) for n in range(6)], 1))
    errors: list[BaseException] = []

    def come(name: str) -> None:
        try:
            Book(tmp_path / "leases.json").lend(name)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=come, args=(f"n{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(error) for error in errors] == [NoGpuFree, NoGpuFree]
    assert sorted(lease.gpu for lease in book.read().leases) == list("012345")
    assert book.path.stat().st_mode & 0o077 == 0


@given(st.one_of(st.text(max_size=40), st.sampled_from(["{}", "[]", '{"labkit_leases": 2}', "null"])))
def test_a_damaged_table_is_one_sentence(text: str) -> None:
    with pytest.raises(LabkitError, match="cannot be read"):
        leases.parse(text)


def test_two_leases_of_one_learner_are_damage() -> None:
    text = leases.dump(Table(("0", "1"), 1, (Lease("0", "a", ""), Lease("1", "a", ""))))
    with pytest.raises(LabkitError, match="twice"):
        leases.parse(text)


@pytest.mark.parametrize(
    ("gpus", "share", "word"),
    [(("x",), 1, "no GPU"), (("0", "0"), 1, "twice"), (("0",), 0, "shared"), (("-1",), 1, "no GPU")],
)
def test_wrong_gpus_are_refused(gpus: tuple[str, ...], share: int, word: str) -> None:
    with pytest.raises(LabkitError, match=word):
        leases.check_gpus(gpus, share)
