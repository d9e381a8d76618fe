from __future__ import annotations

import pytest

from labkit.timing import words


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (2.0, "2.00 s"),
        (0.0123, "12.3 ms"),
        (1.5e-5, "15.0 µs"),
        (7.2e-8, "72.0 ns"),
        (1e-12, "0.0010 ns"),
        (0.0, "0.0000 ns"),
        (431.0, "431 s"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert words.duration(seconds) == text


def test_no_bounds_are_no_number() -> None:
    assert words.digits(float("inf")) == "?" and words.digits(float("nan")) == "?"


def test_columns_line_up() -> None:
    assert words.columns(("a", "bb"), [("ccc", "d")]).splitlines() == ["a    bb", "ccc  d"]


def test_a_ratio_says_what_it_is() -> None:
    assert words.ratio(1.05, 0.53, 1.529) == "ratio of times 1.05, 95 % interval 0.530 to 1.53"


def test_sizes_and_rates_in_words() -> None:
    assert [words.size(n) for n in (12, 16384, 2.5 * 2**20, 2**30)] == ["12 B", "16 KiB", "2.5 MiB", "1 GiB"]
    assert words.gigabytes(1.234e10) == "12.3 GB/s"


def test_from_a_thousand_on_there_is_no_exponent() -> None:
    assert [words.size(n * 1024) for n in (999.6, 1010, 1023)] == ["1000 KiB", "1010 KiB", "1023 KiB"]
    assert [words.gigabytes(rate) for rate in (999.4e9, 5.3e12)] == ["999 GB/s", "5300 GB/s"]
