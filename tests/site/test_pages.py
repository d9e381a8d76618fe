"""The pages made from data: every row is there, escaped, and the controls agree with the rows."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from labkit.catalog.claims import claims as ledger
from labkit.catalog.findings import codes
from labkit.catalog.gfx import TARGETS
from labkit.catalog.peaks import PEAKS
from labkit.course import contributed, table
from labkit.site import pages
from labkit.site.pages import claims, failures, gpus, machines, markup, wheels
from tests.course.test_contributed import GPU, report

NAMES = ["gpus", "wheels", "failures", "claims", "machines"]
_VOID = {"br", "input", "col"}


class Reader(HTMLParser):
    """What the raw blocks of a document hold; complains of tags that do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.rows: list[dict[str, str]] = []
        self.selects: dict[tuple[str, str], list[str]] = {}
        self.section = self.select = ""
        self.labels = 0
        self.fields = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag not in _VOID:
            self.open.append(tag)
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "a":
            self.links.append(found["href"])
        if tag == "section":
            self.section = found["data-lk-name"]
        if tag == "tr" and "tbody" in self.open:
            self.rows.append({**found, "section": self.section})
        if tag == "select":
            self.select = found["data-lk-field"]
        if tag == "option" and found["value"]:
            self.selects.setdefault((self.section, self.select), []).append(found["value"])
        self.labels += tag == "label"
        self.fields += tag in ("input", "select") and "label" in self.open

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"


def read(document: str) -> Reader:
    reader = Reader()
    for block in re.findall(r"^```\{raw\} html\n(.*?)^```$", document, re.MULTILINE | re.DOTALL):
        assert "```" not in block, "the block would end too early"
        reader.feed(block)
    reader.close()
    assert not reader.open
    return reader


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("pages")
    names = pages.write(folder / "made", reports=contributed.REPORTS)
    assert names == NAMES
    return {name: (folder / "made" / f"{name}.md").read_text(encoding="utf-8") for name in names}


@pytest.mark.parametrize("name", NAMES)
def test_every_page_is_whole(name: str, written: dict[str, str]) -> None:
    reader = read(written[name])
    assert re.search(r"^# \w+$", written[name], re.MULTILINE)
    twice = [id for id, count in Counter(reader.ids).items() if count > 1]
    assert not twice
    assert reader.labels == reader.fields, "every field has a label of its own"
    anchors = set(reader.ids)
    for link in reader.links:
        if link.startswith("#"):
            assert link[1:] in anchors, link
        elif link.startswith("http"):
            assert re.fullmatch(r"https?://[\w.-]+\.\w+(/\S*)?", link), link
        else:
            assert re.fullmatch(r"(gpus\.html#gfx\w+|\.\./\d\d_\w+\.html)", link), link


@pytest.mark.parametrize("name", NAMES)
def test_every_option_has_rows_and_every_value_an_option(name: str, written: dict[str, str]) -> None:
    reader = read(written[name])
    for (section, field), options in reader.selects.items():
        rows = [row for row in reader.rows if row["section"] == section]
        values = {value for row in rows for value in row[f"data-lk-{field}"].split()}
        assert set(options) == values, (section, field)


def test_nothing_of_the_catalog_is_left_out(written: dict[str, str]) -> None:
    ids = {name: set(read(text).ids) for name, text in written.items()}
    assert set(TARGETS) <= ids["gpus"]
    assert set(codes()) <= ids["failures"] and len(codes()) == 96
    assert {f"claim-{id}" for id in ledger()} <= ids["claims"] and len(ledger()) == 93
    assert {f"{gfx}-{system}" for gfx in TARGETS for system in ("linux", "windows", "wsl")} <= ids["wheels"]
    assert all(peak.product in written["gpus"] for peak in PEAKS)
    for row in TARGETS.values():
        assert row.checked in written["gpus"]


def test_what_is_null_says_so(written: dict[str, str]) -> None:
    unknown = next(row for row in TARGETS.values() if row.wavefront_size is None)
    line = next(line for line in written["gpus"].splitlines() if f'id="{unknown.gfx}"' in line)
    assert '<span class="lk-label">wavefront</span> <span class="lk-quiet">not established</span>' in line
    assert markup.known(None) == markup.known("") == markup.yes_no(None) == markup.NOT_ESTABLISHED


def test_what_is_not_markup_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of each table with everything that HTML would take for its own."""
    nasty = "<script>alert(1)</script> \"'&amp; ``` {raw}"
    target = TARGETS["gfx1100"]
    monkeypatch.setattr(
        gpus,
        "TARGETS",
        {"gfx1100": dataclasses.replace(target, notes=nasty, products=(nasty,), linux=nasty, sources=(nasty,))},
    )
    code = next(iter(codes().values()))
    monkeypatch.setattr(
        failures, "codes", lambda: {"ok": dataclasses.replace(code, code="ok", meaning=nasty, theme=nasty)}
    )
    claim = next(iter(ledger().values()))
    monkeypatch.setattr(
        claims,
        "chosen",
        lambda: (dataclasses.replace(claim, says=nasty, command=nasty, right=nasty, why_no_probe=nasty),),
    )
    for document in (gpus.page(), failures.page(), claims.page("{}.html".format)):
        assert "<script" not in document and "&lt;script&gt;" in document and "&amp;amp;" in document
        read(document.replace("``` {raw}", "(fence)"))
    assert markup.text('a<b "c"') == "a&lt;b &quot;c&quot;"
    assert markup.link('x" onclick="y', "<i>") == '<a href="x&quot; onclick=&quot;y">&lt;i&gt;</a>'


def test_addresses_and_issues_become_links() -> None:
    assert markup.text("see https://a.org/b.") == 'see <a href="https://a.org/b">https://a.org/b</a>.'
    assert 'href="https://github.com/ROCm/TheRock/issues/1844"' in markup.text("reported: ROCm/TheRock#1844, twice")
    assert 'href="https://rocm.docs.amd.com/llms.txt"' in markup.text("rocm.docs.amd.com/llms.txt")
    assert "<a" not in markup.text("and/or, MI250/MI250X, wheels <=rocm7.2")


def test_a_table_refuses_rows_of_another_width() -> None:
    with pytest.raises(ValueError, match="2 cells"):
        markup.table("t", "T", ("a", "b"), [markup.Row(("1",))])


def test_families() -> None:
    assert [gpus.family(name) for name in ("RDNA3.5 (Strix Point)", "RDNA3 APU (Phoenix)", "GCN5.1 (Vega20)", "CDNA-next")] == [
        "RDNA 3.5", "RDNA 3", "GCN 5", "CDNA-next",
    ]  # fmt: skip


def test_the_plan_is_the_set_up_s_own(written: dict[str, str]) -> None:
    line = next(line for line in written["wheels"].splitlines() if 'id="gfx1100-windows"' in line)
    chosen = wheels.planned("gfx1100", "windows")
    assert chosen.build == "rocm" and all(markup.code(one) in line for one in chosen.requirements)
    assert 'data-lk-build="amd"' in line
    assert 'data-lk-build="cpu"' in next(
        line for line in written["wheels"].splitlines() if 'id="gfx90a-windows"' in line
    )


@pytest.mark.parametrize("code", [code for code in codes() if code != "ok"])
def test_the_doctor_s_own_words_stand_there(code: str, written: dict[str, str]) -> None:
    """Each code is shown on a simulated machine that is called simulated, with evidence and advice."""
    line = next(line for line in written["failures"].splitlines() if f'<tr role="row" id="{code}"' in line)
    assert '<span class="lk-label">simulated</span>' in line and '<span class="lk-label">because</span>' in line
    if codes()[code].severity != "info":
        assert '<span class="lk-label">what to do</span>' in line


def test_a_probe_s_observation_is_shown_where_there_is_one() -> None:
    with_probe = next(claim for claim in ledger().values() if claim.probe)
    row = {"saw": "fails", "evidence": "it <said> no", "agrees": True}
    page = claims.page("{}.html".format, {with_probe.id: row})
    line = next(line for line in page.splitlines() if f'id="claim-{with_probe.id}"' in line)
    assert (
        "where this site was built" in line
        and "it is not so. it &lt;said&gt; no" in line
        and 'data-lk-shown="yes here"' in line
    )
    assert "where this site was built" not in claims.page("{}.html".format)


# ---------------------------------------------------------------------------------------------------------- the machines


def put(folder: Path, name: str, content: Any) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def past(torch: dict[str, Any] | None = None) -> dict[str, Any]:
    """A report in order whose run was before today, whatever today is."""
    text = json.dumps(report(torch))
    return json.loads(text.replace("2026-12-01T", "2026-11-02T"))


def columns(page: str) -> list[str]:
    head = next(line for line in page.splitlines() if "<thead" in line)
    return re.findall(r'scope="col">([^<]*)<', head)


def test_without_reports_nothing_is_verified(tmp_path: Path) -> None:
    page = machines.page(tmp_path / "none", "{}.html".format)
    assert "nothing here is verified on ROCm" in page and "There is no report yet." in page
    names = columns(page)
    assert names[0] == "Lesson" and "RDNA 3.5" in names and "CDNA 3" in names
    assert page.count(">not yet verified<") == (len(names) - 1) * len(table.load().lessons)
    assert "lk-good" not in page


def test_a_report_of_an_amd_gpu_takes_its_family_s_place(tmp_path: Path) -> None:
    made = past()
    made["lessons"][1] |= {"status": "failed", "cells": 7, "error": {"kind": "timeout", "cell": 9}}
    del made["lessons"][-1]
    made["seconds"] -= 20
    put(tmp_path, "gpu.json", made)
    put(
        tmp_path,
        "cpu.json",
        past(
            {
                **GPU,
                **dict.fromkeys(("hip", "product", "gfx", "memory_bytes")),
                "version": "2.14.1",
                "build": "cpu",
                "device": "cpu",
            }
        ),
    )
    page = machines.page(tmp_path, "{}.html".format)
    names = columns(page)
    assert names[1] == "CPU, Linux x86_64, torch 2.14.1"
    assert "Radeon RX 7900 XTX (gfx1100), Linux x86_64, torch 2.14.1+rocm7.2" in names and "RDNA 3" not in names
    assert "nothing here is verified on ROCm" not in page and "RDNA 4" in names
    first, second, *_, last = [line for line in page.splitlines() if '<th role="rowheader" scope="row"><a href' in line]
    assert first.count("passed") == 2 and "an earlier text of the lesson" in first
    assert second.count("passed") == 1 and "timeout at cell 9" in second
    assert "not run" in last


def test_a_file_that_is_not_in_order_is_named_and_left_out(tmp_path: Path) -> None:
    wrong = past()
    wrong["lessons"][0]["seconds"] = 0.0
    put(tmp_path, "too-fast.json", wrong)
    put(tmp_path, "nonsense.json", "{")
    page = machines.page(tmp_path, "{}.html".format)
    assert "Left out" in page and "`nonsense.json`, `too-fast.json`" in page
    assert "7900 XTX" not in page and "nothing here is verified on ROCm" in page


def test_the_course_s_own_report_is_shown(written: dict[str, str]) -> None:
    assert columns(written["machines"])[1].startswith("CPU, ")
    assert "no benchmark" in written["machines"] and "labkit report make" in written["machines"]


def test_style_and_script_ask_nothing_of_anybody() -> None:
    for name in (*pages.SCRIPTS, *pages.STYLES):
        text = (pages.STATIC / name).read_text(encoding="utf-8")
        assert not re.search(r"https?:|@import|url\(|fetch|XMLHttp|import\s", text), name
    assert sorted(path.name for path in pages.STATIC.iterdir()) == sorted((*pages.SCRIPTS, *pages.STYLES))
