from itertools import combinations

import pytest

from labkit.show import style

# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB: what the three kinds of colour-blind people see.
SIGHT = {
    "protanopia": [(0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)],
    "deuteranopia": [(0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)],
    "tritanopia": [(1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)],
}


def linear(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


def lab(rgb):
    """CIE L*a*b* of linear sRGB (D65)."""
    x, y, z = (
        sum(k * min(1, max(0, c)) for k, c in zip(row, rgb, strict=True))
        for row in ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    )
    f = [t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x / 0.9505, y, z / 1.089)]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def seen(colour, sight):
    rgb = linear(colour)
    return lab(
        rgb if sight == "normal" else [sum(k * c for k, c in zip(row, rgb, strict=True)) for row in SIGHT[sight]]
    )


def distance(first, second, sight):
    return sum((a - b) ** 2 for a, b in zip(seen(first, sight), seen(second, sight), strict=True)) ** 0.5


@pytest.mark.parametrize("sight", ["normal", *SIGHT])
def test_palette_is_told_apart_by_everyone(sight):
    close = {(a, b): distance(a, b, sight) for a, b in combinations(style.PALETTE, 2)}
    assert min(close.values()) > 25, min(close, key=close.get)
    assert distance(style.RIGHT, style.WRONG, sight) > 40


def test_red_and_green_would_have_failed():
    assert distance("#D62728", "#2CA02C", "deuteranopia") < distance(style.RIGHT, style.WRONG, "deuteranopia")


@pytest.mark.parametrize("colour", style.PALETTE)
def test_every_colour_stands_out_from_the_background(colour):
    assert style.contrast(colour, style.BACKGROUND) >= 3


def test_text_is_readable_and_contrast_is_wcag():
    assert style.contrast(style.INK, style.BACKGROUND) >= 7
    assert style.contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert style.contrast("#FFFFFF", "#FFFFFF") == pytest.approx(1)


def test_look_leaves_matplotlib_as_it_was():
    import matplotlib

    before = dict(matplotlib.rcParams)
    with style.look():
        assert matplotlib.rcParams["axes.facecolor"] == style.BACKGROUND
    assert dict(matplotlib.rcParams) == before


def test_one_typeface_with_chinese_characters_stands_behind_matplotlibs_own_where_one_is_installed(monkeypatch):
    from types import SimpleNamespace

    from matplotlib import font_manager

    style.families.cache_clear()
    installed = [SimpleNamespace(name=name) for name in ("DejaVu Sans", "Microsoft YaHei", "Noto Sans CJK SC")]
    try:
        monkeypatch.setattr(font_manager, "fontManager", SimpleNamespace(ttflist=installed))
        assert style.families() == ("DejaVu Sans", "Noto Sans CJK SC")
        style.families.cache_clear()
        monkeypatch.setattr(font_manager, "fontManager", SimpleNamespace(ttflist=installed[:1]))
        assert style.families() == ("DejaVu Sans",)
    finally:
        style.families.cache_clear()
