import base64
import io
import re

import numpy as np
import pytest
import torch

from labkit.errors import LabkitError
from labkit.show import Gallery
from labkit.show.gallery import png


@pytest.fixture
def gallery():
    pictures = torch.arange(3, dtype=torch.uint8).view(3, 1, 1, 1).expand(3, 1, 4, 4) * 100
    return Gallery(
        pictures, torch.tensor([0, 1, 1]), torch.tensor([[0.8, 0.2], [0.3, 0.7], [0.9, 0.1]]), ("cat", "dog <b>")
    )


def test_the_words_give_the_verdict_and_the_probabilities(gallery):
    assert gallery.text(1) == "picture 1: the model says dog <b>, right (dog <b> 70.0%, cat 30.0%)"
    assert gallery.text(2) == "picture 2: the model says cat, wrong, it is dog <b> (cat 90.0%, dog <b> 10.0%)"


def test_the_panel_holds_the_very_picture_and_bars_of_the_right_length(gallery):
    import matplotlib.image

    panel = gallery.show(2)
    data = base64.b64decode(re.search(r"base64,([^\"]+)", panel)[1])
    drawn = matplotlib.image.imread(io.BytesIO(data))
    assert drawn.shape[:2] == (4, 4) and np.allclose(drawn[..., :3] * 255, 200)
    assert re.findall(r"width:([\d.]+)%", panel) == ["90.0", "10.0"]
    assert "<b>" not in panel.replace("&lt;b&gt;", "")
    assert 'alt="picture 2"' in panel


def test_moving_the_slider_changes_the_panel(gallery):
    slider, panel = gallery.widget.children
    assert "picture 0:" in panel.value
    slider.value = 2
    assert "picture 2:" in panel.value and "wrong" in panel.value
    assert (slider.min, slider.max) == (0, 2)


def test_a_page_without_a_kernel_keeps_the_first_panel(gallery, monkeypatch):
    monkeypatch.setenv("LABKIT_LIVE", "0")
    bundle = gallery._repr_mimebundle_()
    assert bundle["text/plain"] == gallery.text(0)
    assert "picture 0:" in bundle["text/html"] and "Run this cell" in bundle["text/html"]
    assert set(bundle) == {"text/plain", "text/html"}


def test_a_person_gets_the_slider(gallery, monkeypatch):
    monkeypatch.setenv("LABKIT_LIVE", "1")
    bundle = gallery._repr_mimebundle_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == gallery.widget.model_id
    assert bundle["text/plain"] == gallery.text(0)


def test_the_png_is_read_back_exactly():
    import matplotlib.image

    picture = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    back = matplotlib.image.imread(io.BytesIO(png(picture)))
    assert (np.rint(back * 255).astype(np.uint8)[..., :3] == picture).all()


def test_lists_that_do_not_fit_are_told():
    with pytest.raises(LabkitError, match="truth has 1"):
        Gallery(torch.zeros(2, 1, 4, 4), [0], np.eye(2), ("a", "b"))
    with pytest.raises(LabkitError, match="no picture"):
        Gallery(torch.zeros(0, 1, 4, 4), [], np.zeros((0, 2)), ("a", "b"))


def test_probabilities_that_are_no_numbers_are_called_that():
    broken = Gallery(np.zeros((1, 1, 2, 2), np.uint8), [0], np.full((1, 2), np.nan), ["a", "b"])
    assert "no number" in broken.text(0) and "nan" not in broken.text(0) + broken.show(0).split("base64")[0]
