"""The formats bit by bit against torch: every pattern, every tie between two neighbours, and both sides of each."""

import math
from itertools import pairwise

import pytest
import torch

from labkit.errors import LabkitError
from labkit.show import encodings
from labkit.show.encodings import FORMATS, as_float32, find, read_number, store

SMALL = [form for form in FORMATS if form.bits < 32]
WHOLE = {8: torch.uint8, 16: torch.int16}


def every(form):
    """The number that torch reads in each bit pattern."""
    patterns = torch.arange(1 << form.bits, dtype=torch.int32).to(WHOLE[form.bits])
    return patterns.view(getattr(torch, form.dtype)).float().tolist()


def same(one, other):
    return (math.isnan(one) and math.isnan(other)) or (
        one == other and math.copysign(1, one) == math.copysign(1, other)
    )


@pytest.mark.parametrize("form", SMALL, ids=lambda form: form.dtype)
def test_every_pattern_stands_for_what_torch_reads_in_it(form):
    for pattern, number in enumerate(every(form)):
        assert same(form.decode(pattern), number), hex(pattern)


@pytest.mark.parametrize("form", SMALL, ids=lambda form: form.dtype)
def test_every_number_tie_and_neighbour_of_a_tie_is_stored_as_torch_stores_it(form):
    numbers = sorted({number for number in every(form) if math.isfinite(number)})
    ties = torch.tensor([(a + b) / 2 for a, b in pairwise(numbers)], dtype=torch.float64).float()
    up, down = torch.tensor(math.inf), torch.tensor(-math.inf)
    asked = torch.cat(
        [torch.tensor(numbers), ties, ties.nextafter(up), ties.nextafter(down), torch.tensor([0.0, -0.0])]
    )
    stored = asked.to(getattr(torch, form.dtype)).view(WHOLE[form.bits]).to(torch.int32) & ((1 << form.bits) - 1)
    wrong = [(x, hex(bits)) for x, bits in zip(asked.tolist(), stored.tolist(), strict=True) if form.encode(x) != bits]
    assert not wrong


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.dtype)
def test_the_limits_are_those_that_torch_gives(form):
    info = torch.finfo(getattr(torch, form.dtype))
    assert (form.largest, form.smallest_normal, form.bits) == (info.max, info.smallest_normal, info.bits)
    # not info.eps: torch 2.14 says 0.125 for float8_e5m2fnuz, where 1.25 is the next number after 1
    one = torch.ones(1).to(getattr(torch, form.dtype)).view({**WHOLE, 32: torch.int32}[form.bits])
    following = (one + 1).view(getattr(torch, form.dtype)).float().item()
    assert form.spacing(1.0) == following - 1
    assert form.decode(form.encode(form.smallest_subnormal)) == form.smallest_subnormal
    assert form.decode(form.encode(form.smallest_subnormal * 0.5)) == 0  # a tie goes to the even neighbour


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.dtype)
@pytest.mark.parametrize("number", [1e39, -1e39, math.inf, -math.inf])
def test_too_large_a_number_becomes_infinity_or_nan_or_stays_the_largest(form, number):
    plain = form.decode(form.encode(number))
    assert plain == math.copysign(math.inf, number) if form.kind == "ieee" else math.isnan(plain)
    assert form.decode(form.encode(number, saturate=True)) == math.copysign(form.largest, number)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.dtype)
@pytest.mark.parametrize("number", [0.1, -1 / 3, 449.0, 480.0, 65520.0, 1e6, 3e-8, -0.0, math.inf, -math.inf, math.nan])
def test_what_is_shown_is_what_this_torch_stores(form, number):
    shown = store(number, form)
    real = float(torch.tensor([number]).to(getattr(torch, form.dtype)).float()[0])
    assert same(shown.value, real) and shown.by.startswith("torch ")
    assert form.decode(shown.pattern) == shown.value or math.isnan(shown.value)


def test_without_torch_the_definition_answers(monkeypatch):
    monkeypatch.setattr(encodings, "_ask_torch", lambda value, form: None)
    shown = store(1000.0, find("float8_e4m3fn"))
    assert math.isnan(shown.value) and shown.by == "labkit"
    assert "no infinity here: NaN (a conversion that saturates keeps 448)" in shown.fate


@pytest.mark.parametrize(
    "dtype, number, fate",
    [
        ("float32", 0.5, "stored exactly"),
        ("bfloat16", 1.00390625, "rounded, 0.39 % off"),
        ("float16", 3e-8, "rounded, 99 % off; subnormal: fewer bits of fraction count"),
        ("float16", 1e-9, "too small: 0"),
        ("float16", 65520.0, "too large: infinity"),
        ("float8_e5m2", math.inf, "infinity stays infinity"),
        ("float8_e4m3fnuz", -0.0, "minus zero does not exist here: 0"),
        ("float8_e4m3fnuz", math.inf, "infinity, and no infinity here: NaN (a conversion that saturates keeps 240)"),
        ("bfloat16", math.nan, "NaN stays NaN"),
    ],
)
def test_the_fate_of_a_number_in_words(dtype, number, fate):
    assert store(number, find(dtype)).fate == fate


def test_a_conversion_that_saturates_is_called_that():
    form = find("torch.float8_e4m3fn")
    kept = encodings.Stored(form, 1000.0, 0x7E, 448.0, "torch")
    assert kept.fate == "too large: the largest number is kept (it saturates); other conversions make it NaN"


def test_error_and_spacing():
    stored = store(449.0, find("bfloat16"))
    assert (stored.value, stored.error, stored.spacing) == (448.0, -1.0, 2.0)
    assert math.isnan(store(math.inf, find("float16")).error)
    assert find("float16").spacing(1e-7) == 2.0**-24
    assert as_float32(1e39) == math.inf and as_float32(0.1) == torch.tensor(0.1).item()


@pytest.mark.parametrize(
    "text, number",
    [
        ("0.1", 0.1),
        (" 1e-5 ", 1e-5),
        ("1/3", 1 / 3),
        ("2**-9", 2.0**-9),
        ("-2^3", -8.0),
        ("−0.5", -0.5),
        ("-inf", -math.inf),
        ("1e999", math.inf),
        ("2**99999", math.inf),
    ],
)
def test_what_people_type_is_read(text, number):
    assert read_number(text) == number


@pytest.mark.parametrize("text", ["", "abc", "1/0", "0,1", "1**2**3", "__import__('os')", "1/x"])
def test_what_is_no_number_is_told(text):
    with pytest.raises(LabkitError, match="is not a number"):
        read_number(text)


def test_a_decimal_comma_gets_its_own_remedy_and_an_unknown_format_the_list():
    with pytest.raises(LabkitError) as comma:
        read_number("0,1")
    assert "0.1" in comma.value.remedy
    with pytest.raises(LabkitError, match="float8_e8m0fnu"):
        find("float8_e8m0fnu")
