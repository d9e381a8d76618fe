import sys

import pytest

from labkit.errors import LabkitError
from labkit.show import Playground, feature_maps, number_formats, predict, tensor
from labkit.show.controls import bundle, guarded, told


@pytest.mark.parametrize(
    "error, words",
    [
        (LabkitError("It is too large.", "Take 3."), "It is too large. Take 3."),
        (RuntimeError("mat1 and mat2\nmore"), "RuntimeError: mat1 and mat2"),
        (ValueError(), "ValueError"),
        (KeyboardInterrupt(), "Interrupted. Everything before it is kept."),
    ],
)
def test_an_exception_in_a_callback_becomes_a_sentence(error, words):
    said = []

    def fails(_):
        raise error

    guarded(fails, said.append)({"new": 1})
    (line,) = said
    assert words in line
    assert ("Problem:" in line) == (not isinstance(error, KeyboardInterrupt))


def test_what_is_said_is_escaped_and_spoken():
    line = told("<b>1 < 2</b>", bad=True)
    assert "<b>1" not in line and 'role="status"' in line and 'aria-live="polite"' in line


def widgets():
    import torch

    play = Playground(epochs=1)
    play.run()
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3))
    return [
        predict("How many?"),
        play,
        number_formats(0.1),
        tensor(torch.ones(2, 3, 4, 4)),
        feature_maps(model, torch.ones(1, 5, 5)),
    ]


@pytest.mark.parametrize("number", range(5))
def test_every_widget_is_words_and_a_still_page_where_nobody_watches_or_ipywidgets_is_missing(number, monkeypatch):
    shown = widgets()[number]
    monkeypatch.setenv("LABKIT_LIVE", "0")
    still = shown._repr_mimebundle_()
    assert set(still) == {"text/plain", "text/html"} and still["text/plain"] == str(shown) == repr(shown)
    monkeypatch.setenv("LABKIT_LIVE", "1")
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert shown._repr_mimebundle_() == still
    monkeypatch.undo()
    monkeypatch.setenv("LABKIT_LIVE", "1")
    assert "application/vnd.jupyter.widget-view+json" in shown._repr_mimebundle_()


@pytest.mark.parametrize("number", range(5))
def test_every_control_has_a_label_and_every_picture_its_words(number):
    shown = widgets()[number]

    def walk(widget):
        yield widget
        for child in getattr(widget, "children", ()):
            yield from walk(child)

    for widget in walk(shown.widget):
        kind = type(widget).__name__
        if kind == "HTML":
            for piece in ("<img ", "<svg "):
                for part in widget.value.split(piece)[1:]:
                    tag = part.split(">")[0]
                    assert "alt=" in tag or "aria-label=" in tag
        elif kind not in ("VBox", "HBox"):
            assert widget.description, kind


def test_the_bundle_does_not_make_the_widget_where_nobody_watches(monkeypatch):
    monkeypatch.setenv("LABKIT_LIVE", "0")

    def never():
        raise AssertionError("made")

    assert bundle("words", "<p>", never) == {"text/plain": "words", "text/html": "<p>"}
