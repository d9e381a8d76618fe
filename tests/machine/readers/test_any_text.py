"""Readers against text that nobody foresaw: they never raise, never hang, and what a paste does is undone."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.machine.readers import recognise
from tests.machine.readers.samples import SAMPLES

ALL = "\n".join(SAMPLES.values())
PIECES = st.lists(st.sampled_from(ALL.splitlines()), max_size=40).map("\n".join)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=400), PIECES, st.binary(max_size=300).map(lambda b: b.decode("latin-1"))))
def test_no_text_raises(text: str) -> None:
    facts = recognise.read_text(text)
    assert isinstance(facts["kind"], str)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400))
def test_no_bytes_raise(content: bytes) -> None:
    assert isinstance(recognise.read_bytes(content)["kind"], str)


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(sorted(SAMPLES)), st.data())
def test_truncation_at_any_byte_is_read_as_far_as_it_goes(kind: str, data: st.DataObject) -> None:
    text = SAMPLES[kind]
    cut = data.draw(st.integers(0, len(text)))
    assert recognise.read_text(text[:cut])["kind"] in (kind, "unknown")


@settings(max_examples=60, deadline=None)
@given(PIECES)
def test_disturbances_are_undone(text: str) -> None:
    plain = recognise.read_text(text)
    assert recognise.read_text(text.replace("\n", "\r\n")) == plain
    assert recognise.read_text("\n".join(f"\x1b[1m{line}\x1b[0m" for line in text.split("\n"))) == plain


def test_large_noise_costs_time_in_proportion() -> None:
    """Twenty times the noise may cost about twenty times the time: no pattern explodes."""

    def cost(copies: int) -> float:
        noise = ("x" * 3000 + " : " * 300 + "|" * 500 + "\n") * copies + "0 " * (2000 * copies)
        start = time.perf_counter()
        assert recognise.read_text(noise)["kind"] == "unknown"
        return time.perf_counter() - start

    cost(5)
    small, large = min(cost(20) for _ in range(3)), min(cost(400) for _ in range(2))
    assert large < small * 20 * 6
