import re

import pytest

from labkit.errors import LabkitError
from labkit.show import number_formats


def test_the_table_has_the_bits_the_value_and_the_limits_of_each_format():
    text = str(number_formats("1/3"))
    assert "0 01111101 0101011\n" not in text and "0 01111101 0101011 " in text  # bfloat16 of 1/3
    for limit in ("65504", "448", "240", "57344", "3.403e+38"):
        assert limit in text
    assert text.splitlines()[0].startswith("0.3333333333333333 as each format stores it (converted from float32 by ")


def test_the_panel_names_every_bit_field_in_words_and_says_where_fp8_is_native():
    panel = number_formats(1.0, formats=["float8_e4m3fn", "float8_e4m3fnuz"]).show(1.0)
    assert re.findall(r'aria-label="(sign[^"]+)"', panel) == [
        "sign 0, exponent 0111, fraction 000",
        "sign 0, exponent 1000, fraction 000",
    ]
    assert "native on gfx942" in panel and "native on gfx950" in panel
    assert panel.count(">exponent 4<") == 2


@pytest.mark.parametrize("number", [0.0, float("inf"), float("nan"), 1e-320, -1e308])
def test_any_number_has_a_panel_and_a_table(number):
    shown = number_formats(number)
    assert "<svg" in shown.show(number) and "bfloat16" in shown.text(number)


def test_typing_changes_the_panel_and_nonsense_is_said_and_keeps_it():
    shown = number_formats(0.1)
    controls, status, panel = shown.widget.children
    field, menu = controls.children
    field.value = "65520"
    assert "<b>65520.0</b>" in panel.value and "too large: infinity" in panel.value and shown.value == 65520
    field.value = "0,1"
    assert "Problem:" in status.value and "is not a number" in status.value and 'role="status"' in status.value
    assert "<b>65520.0</b>" in panel.value
    field.value = "nan"
    assert "Problem:" not in status.value and "NaN stays NaN" in panel.value
    menu.value = "448"
    assert field.value == "448" and shown.value == 448
    field.value = ""
    assert "Type a number" in status.value and shown.value == 448


def test_a_page_without_a_kernel_has_the_panel_and_a_person_the_field(monkeypatch):
    shown = number_formats(0.1)
    monkeypatch.setenv("LABKIT_LIVE", "0")
    assert set(shown._repr_mimebundle_()) == {"text/plain", "text/html"}
    monkeypatch.setenv("LABKIT_LIVE", "1")
    assert "application/vnd.jupyter.widget-view+json" in shown._repr_mimebundle_()


def test_nonsense_in_a_cell_is_a_foreseeable_error():
    with pytest.raises(LabkitError):
        number_formats("one half")
    with pytest.raises(LabkitError):
        number_formats(1.0, formats=[])
