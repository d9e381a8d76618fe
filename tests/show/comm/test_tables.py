"""Bandwidth in words: rates with intervals, fits as sentences, each note once, local memory never called a link."""

from __future__ import annotations

from dataclasses import replace

from labkit.comm.curve import fit
from labkit.comm.results import Results, Series, point
from labkit.show.comm import tables

SIZES = [2**k for k in range(12, 26)]


def series(seconds, **changes) -> Series:
    points = tuple(point(n, [seconds(n) * f for f in (0.98, 1.0, 1.02)], work=n) for n in SIZES)
    start = Series(
        "copy", "host to device, pinned", "cpu", "cuda:0", "float32", points, name="pinned", notes=("a note",)
    )
    return replace(start, **changes)


LINE = series(lambda n: 1.2e-5 + n / 2.5e10)
CACHE = series(lambda n: 1e-7 + n / (4e10 if n < 2**20 else 1e10), label="memory to memory", dst="cpu", name="local")


def test_the_page_has_every_part() -> None:
    products = Series(
        "gemm",
        "float32 n × n product",
        "cpu",
        "cpu",
        "float32",
        (point(768, [1e-3], work=2e9, size=1000),),
        unit="FLOP/s",
    )
    wrong = replace(
        LINE,
        kind="collective",
        label="all_reduce",
        ranks=2,
        points=(*LINE.points[:-1], replace(LINE.points[-1], wrong=3)),
    )
    card = {"title": "This machine", "device": "cpu", "build": "cpu", "rows": [["CPU", "Some CPU"]]}
    text = tables.as_text(
        Results(
            (LINE, CACHE, products, wrong),
            card,
            "2026-11-30T10:00:00Z",
            "2.14.1",
            threads=2,
            notes=("said at the end",),
        )
    )
    assert "2026-11-30T10:00:00Z on Some CPU" in text and "torch 2.14.1, 2 CPU threads" in text
    assert "24.8 GB/s (24.3 to 25.3)" in text  # the largest size
    assert "2,000 (timed once)" in text and "GFLOP/s, n =  1000" in text
    assert "all_reduce, 2 ranks" in text and "3 WRONG elements" in text
    assert "latency 12.0 µs" in text and "large sizes approach 25 GB/s" in text and "knee of 293 KiB" in text
    assert "One line does not fit" in text and "cache" in text
    assert "In brackets, the diagonal: local memory, not a link." in text
    assert text.endswith("note: said at the end")


def test_a_note_stands_once_with_whom_it_is_about() -> None:
    other = replace(CACHE, notes=("a note", "only here"))
    text = tables.as_text(Results((LINE, other)))
    assert text.count("a note") == 1 and "  note: a note" in text
    assert "  note on memory to memory: only here" in text


def test_a_fit_in_words_invents_nothing() -> None:
    assert tables.fit_in_words(fit(CACHE.points)) == fit(CACHE.points).note
    flat = series(lambda n: 1e-9 + n / 1e10)
    told = tables.fit_in_words(fit(flat.points))
    assert "latency at most" in told and "knee" not in told and "too short to be seen" in told
    level = series(lambda n: 3e-3)
    assert "approach" not in tables.fit_in_words(fit(level.points))


def test_a_series_of_few_sizes_or_of_products_has_no_line() -> None:
    assert tables.fitted(replace(LINE, points=LINE.points[:3])) is None
    assert tables.fitted(replace(LINE, unit="FLOP/s")) is None
    assert tables.fitted(LINE) is not None


def test_every_point_has_its_row() -> None:
    text = tables.points_table(LINE)
    assert text.count("GB/s") == len(SIZES) and "4 KiB" in text and "32 MiB" in text


def test_an_empty_result_is_still_a_page() -> None:
    assert "not told" in tables.as_text(Results(()))


def test_one_time_is_not_given_an_interval() -> None:
    once, twice = (replace(LINE, points=(point(2**20, times, work=2**20),)) for times in ([1e-3], [1e-3, 1.1e-3]))
    assert "1.05 GB/s (timed once)" in tables.as_text(Results((once,)))
    assert "timed once" in tables.points_table(once) and "timed once" not in tables.as_text(Results((twice,)))
