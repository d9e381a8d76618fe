import os
import re
from html.parser import HTMLParser

import pytest

from labkit.cli import main
from labkit.errors import LabkitError
from labkit.profile import diagnose, simulate
from labkit.profile import read as profiles_read
from labkit.profile.table import Profile
from labkit.show.profiles import page


class Reader(HTMLParser):
    """Tags that are open and closed in order, and every element with its attributes."""

    VOID = ("meta", "img", "br")

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.words = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def read(path):
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    assert reader.open == []
    return reader


def test_one_file_that_asks_no_network(starved, healthy, tmp_path):
    path = page.write(healthy, diagnose(healthy), tmp_path / "page.html", before=starved)
    text = path.read_text(encoding="utf-8")
    found = read(path)
    images = [attributes for tag, attributes in found.seen if tag == "img"]
    assert len(images) == 5 and all(image["src"].startswith("data:image/png;base64,") for image in images)
    assert all(len(image["alt"]) > 20 for image in images)
    without = re.sub(r"data:image/png;base64,[A-Za-z0-9+/=]+", "", text)
    assert "http" not in without and "<script" not in without and "url(" not in without
    assert "prefers-color-scheme: dark" in text and "@media print" in text and 'lang="en"' in text
    assert diagnose(healthy).sentence in " ".join(found.words)
    assert text.count("SIMULATED") > 5
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_names_are_escaped_and_an_empty_profile_has_a_page(nothing, tmp_path):
    strange = Profile(nothing.kind, nothing.events, "<b>tool</b>", sources=('<script>"x"</script>', "\udcff.csv"))
    path = page.write(strange, diagnose(strange), tmp_path / "page.html")
    found = read(path)
    assert not {"b", "script", "img"} & {tag for tag, _ in found.seen}
    assert "SIMULATED" not in path.read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_leaves_nothing(nothing, tmp_path):
    with pytest.raises(LabkitError, match="cannot be written"):
        page.write(nothing, diagnose(nothing), tmp_path / "missing" / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_it(starved, healthy, tmp_path, capsys, monkeypatch):
    for name, profile in (("sick", starved), ("mended", healthy)):
        simulate.write(profile, tmp_path / name, form="rocprofv3-csv")
    out = tmp_path / "page.html"
    monkeypatch.setattr(
        "labkit.setup.enter", lambda *_: None
    )  # not in another environment: that would replace this process
    code = main(["profile", str(tmp_path / "mended"), "--before", str(tmp_path / "sick"), "--html", str(out)])
    assert code == 0 and "Written" in capsys.readouterr().out
    words = " ".join(read(out).words)
    assert "Before and after" in words and "What ran when" in words


def test_a_page_replaces_a_page_and_nothing_else(tmp_path):
    run = simulate.training("mlp", "Radeon RX 7600", steps=2)
    target = tmp_path / "page.html"
    page.write(run, diagnose(run), target)
    page.write(run, diagnose(run), target)
    assert target.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    recording = tmp_path / "kernel_trace.csv"
    recording.write_text("Kind,Kernel_Name", encoding="utf-8")
    with pytest.raises(LabkitError, match="is no HTML page"):
        page.write(run, diagnose(run), recording)
    assert recording.read_text(encoding="utf-8") == "Kind,Kernel_Name"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no special files on this system")
def test_a_device_is_not_replaced(tmp_path):
    run = simulate.training("mlp", "Radeon RX 7600", steps=2)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LabkitError, match="is no HTML page"):
        page.write(run, diagnose(run), tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


def test_counters_leave_no_picture_of_idle_time(tmp_path):
    simulate.write(simulate.training("mlp", "Instinct MI210", steps=2), tmp_path, "rocprof-compute-csv")
    counted = profiles_read(tmp_path)
    made = page.as_html(counted, diagnose(counted))
    assert "<h2>How far from the roof</h2>" in made and "<h2>Why the GPU was idle</h2>" not in made
