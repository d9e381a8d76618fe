import subprocess
import sys
from typing import ClassVar

import pytest
import torch

from labkit.errors import LabkitError
from labkit.show import live
from labkit.show.charts import lines
from labkit.show.picture import array, same_length, table


def test_nothing_heavy_is_imported_before_the_first_figure():
    code = (
        "import sys, labkit.show as s; heavy = {'torch', 'matplotlib', 'ipywidgets', 'IPython'} & set(sys.modules); "
        "assert not heavy, heavy; s.lines({'a': ([0, 1], [2, 3])}).png(); assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_array_takes_every_dtype_and_keeps_whole_numbers():
    assert array(torch.tensor([1.5, -2.0], dtype=torch.bfloat16)).tolist() == [1.5, -2.0]
    assert array(torch.tensor([3], dtype=torch.uint8)).dtype == "uint8"
    assert array(torch.ones(2, requires_grad=True)).tolist() == [1, 1]
    assert array([1, 2]).tolist() == [1, 2]


def test_a_headless_run_gets_a_png_with_its_alternative_text(monkeypatch):
    monkeypatch.setenv("LABKIT_LIVE", "0")
    data, metadata = lines({"a": ([0, 1], [2, 3])}, title="T")._repr_mimebundle_()
    assert set(data) == {"image/png", "text/plain"}
    assert metadata["image/png"]["alt"].startswith("T. a: 2 points")
    assert metadata["image/png"]["width"] == round(7.2 * 96)


def test_a_person_gets_an_image_element_with_escaped_alternative_text(monkeypatch):
    monkeypatch.setenv("LABKIT_LIVE", "1")
    data, _ = lines({'a"<b>': ([0, 1], [2, 3])})._repr_mimebundle_()
    assert 'alt="Lines. a&quot;&lt;b&gt;: 2 points' in data["text/html"]
    assert "image/png;base64," in data["text/html"]


def test_nobody_watches_plain_python(monkeypatch):
    monkeypatch.delenv("LABKIT_LIVE", raising=False)
    assert live.watched() is False
    assert live.in_notebook() is False


def test_a_front_end_is_known_by_the_cell_that_it_names(monkeypatch):
    import IPython

    class Kernel:
        metadata: ClassVar[dict[str, str]] = {}

        def get_parent(self, channel):
            return {"metadata": self.metadata}

    class Shell:
        kernel = Kernel()

    monkeypatch.delenv("LABKIT_LIVE", raising=False)
    monkeypatch.setattr(IPython, "get_ipython", Shell)
    assert live.watched() is False  # papermill and nbval name no cell
    Kernel.metadata = {"cellId": "abc"}
    assert live.watched() is True
    monkeypatch.setenv("LABKIT_LIVE", "0")
    assert live.watched() is False


def test_a_saved_picture_is_a_png_and_leaves_no_draft(tmp_path):
    path = lines({"a": ([0, 1], [2, 3])}).save(tmp_path / "a picture.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [p.name for p in tmp_path.iterdir()] == ["a picture.png"]


def test_same_length_names_the_odd_one():
    assert same_length("x", a=[1], b=[2]) == 1
    with pytest.raises(LabkitError, match="a has 1, b has 2"):
        same_length("x", a=[1], b=[2, 3])


def test_table_aligns_words_left_and_numbers_right():
    assert table([("", "low"), ("first", "1.5"), ("b", "12.5")]) == "        low\nfirst   1.5\nb      12.5"
