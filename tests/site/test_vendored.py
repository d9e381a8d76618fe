"""What lies in assets/ is what was published, all of it is listed, and each part has its licence."""

from __future__ import annotations

from labkit.site import vendored


def test_every_vendored_file_is_listed_with_its_sum() -> None:
    assert vendored.wrong(vendored.packages(), vendored.sums()) == []


def test_each_package_has_a_version_a_licence_and_its_notice() -> None:
    for row in vendored.packages():
        assert row["version"] and row["licence"] in ("Apache-2.0", "MIT", "BSD-3-Clause")
        where, word = str(row["licence_in"]), {"Apache-2.0": "Apache License", "MIT": "MIT license"}
        assert where in row["files"] and row["licence_note"], row["name"]  # type: ignore[operator]
        text = (vendored.ASSETS / where).read_text(encoding="utf-8")[:2000]
        assert word.get(str(row["licence"]), "Redistribution and use") in text, row["name"]


def test_a_change_a_loss_and_an_addition_are_named() -> None:
    rows: list[dict[str, object]] = [{"files": {"a/x.js": "1", "a/y.js": "2"}}]
    told = vendored.wrong(rows, {"a/x.js": "other", "a/z.js": "3"})
    assert told == ["a/z.js is not in the manifest", "a/y.js is missing", "a/x.js was changed"]
