"""Number formats made visible: type a number and see which bits each format keeps of it."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable
from typing import Any

from labkit.errors import LabkitError
from labkit.show import style
from labkit.show.controls import FRAME, bundle, guarded, told
from labkit.show.encodings import FORMATS, Format, Stored, find, read_number, store
from labkit.show.picture import table

EXAMPLES: tuple[tuple[str, str], ...] = (
    ("0.1, which no binary format holds", "0.1"),
    ("1 + 1/256: one more bit than bfloat16 has", "1.00390625"),
    ("3e-8: a small gradient", "3e-8"),
    ("448, the largest E4M3 (OCP)", "448"),
    ("449: just beyond it", "449"),
    ("480: beyond it for good", "480"),
    ("65504, the largest float16", "65504"),
    ("65520: just too large for float16", "65520"),
    ("minus zero", "-0.0"),
    ("infinity", "inf"),
    ("not a number", "nan"),
)
_PARTS = (("sign", style.VIOLET), ("exponent", style.BLUE), ("fraction", style.BROWN))
_LOW, _HIGH = -150, 130  # powers of two that the number line shows


def number_formats(value: float | str = 0.1, *, formats: Iterable[str] | None = None) -> NumberFormats:
    """Shows what float32, bfloat16, float16 and the FP8 formats store of ``value``.

    value: a number, or text such as '1/3', '2**-9', 'inf', 'nan'. formats: torch names, to show fewer ('bfloat16', …).
    A person with a kernel gets a field to type other numbers into; ``str()`` is the same as a table.
    Raises LabkitError for text that is no number and for unknown formats.
    """
    return NumberFormats(value, formats)


class NumberFormats:
    """What ``number_formats`` returns. ``stored`` has one entry per format; ``text(x)`` and ``show(x)`` are any number's
    table and panel."""

    def __init__(self, value: float | str = 0.1, formats: Iterable[str] | None = None) -> None:
        self.formats: tuple[Format, ...] = FORMATS if formats is None else tuple(find(name) for name in formats)
        if not self.formats:
            raise LabkitError("There is no format to show.", "Leave formats out to see all.")
        self.value = read_number(value) if isinstance(value, str) else float(value)
        self._widget: Any = None

    @property
    def stored(self) -> tuple[Stored, ...]:
        """What each format keeps of ``value``."""
        return tuple(store(self.value, form) for form in self.formats)

    def text(self, value: float) -> str:
        """Everything about ``value`` in words and aligned columns: what is stored, then the formats themselves."""
        kept = [store(value, form) for form in self.formats]
        rows: list[tuple[str, ...]] = [("format", "sign exponent fraction", "stored", "what happened", "spacing there")]
        rows += [
            (s.format.name, " ".join(s.format.fields(s.pattern)), _shown(s.value), s.fate, _shown(s.spacing, 3))
            for s in kept
        ]
        spans: list[tuple[str, ...]] = [("format", "largest", "smallest normal", "smallest at all", "specials")]
        spans += [
            (f.name, *(_bound(v) for v in (f.largest, f.smallest_normal, f.smallest_subnormal)), _specials(f))
            for f in self.formats
        ]
        by = ", ".join(dict.fromkeys(s.by for s in kept))
        return (
            f"{_shown(value, 17)} as each format stores it (converted from float32 by {by})\n{table(rows, left=4)}\n\n"
            f"{table(spans, left=1)}"
        )

    def show(self, value: float) -> str:
        """The panel for ``value`` as HTML: a card per format with its bits, and where the number lies in its range."""
        kept = [store(value, form) for form in self.formats]
        by = ", ".join(dict.fromkeys(s.by for s in kept))
        legend = " &nbsp; ".join(f'<span style="{_bit_style(colour)}">{name}</span>' for name, colour in _PARTS)
        return (
            f'<div style="{FRAME}"><p style="margin:0 0 6px"><b>{html.escape(_shown(value, 17))}</b> as each format stores '
            f"it (converted from float32 by {by}). Bits: {legend}</p>"
            f'<div style="display:flex;flex-wrap:wrap;gap:8px">{"".join(map(_card, kept))}</div>'
            f"{_number_line(value, self.formats)}</div>"
        )

    @property
    def widget(self) -> Any:
        """The ipywidgets box: a field, a menu of telling numbers, a line for problems, and the panel."""
        if self._widget is None:
            import ipywidgets as widgets

            wide = {"description_width": "initial"}
            field = widgets.Text(
                value=f"{self.value!r}",
                description="Number to store",
                continuous_update=True,
                placeholder="0.1, 1e-5, 1/3, inf, nan",
                style=wide,
                layout=widgets.Layout(width="300px", max_width="calc(100% - 4px)"),
            )
            menu = widgets.Dropdown(
                options=[("choose …", ""), *EXAMPLES],
                description="Telling numbers",
                style=wide,
                layout=widgets.Layout(width="380px", max_width="calc(100% - 4px)"),
            )
            status, panel = widgets.HTML(told("")), widgets.HTML(self.show(self.value))

            def say(sentence: str) -> None:
                status.value = sentence

            def typed(change: dict[str, Any]) -> None:
                if not change["new"].strip():
                    say(told("Type a number."))
                    return
                self.value = read_number(change["new"])
                panel.value = self.show(self.value)
                say(told(""))

            def chosen(change: dict[str, Any]) -> None:
                if change["new"]:
                    field.value = change["new"]

            field.observe(guarded(typed, say), names="value")
            menu.observe(guarded(chosen, say), names="value")
            controls = widgets.HBox([field, menu], layout=widgets.Layout(flex_flow="row wrap"))
            self._widget = widgets.VBox([controls, status, panel])
        return self._widget

    def __str__(self) -> str:
        return self.text(self.value)

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The field for a person with a kernel, the panel of this number for a page without, the table for everyone else."""
        return bundle(str(self), self.show(self.value), lambda: self.widget)


def _shown(value: float, digits: int = 9) -> str:
    """A number with as many significant digits; NaN and the infinities by name."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    return repr(value) if digits >= 17 else f"{value:.{digits}g}"


def _bound(value: float) -> str:
    """An end of a range: whole numbers in full, as they are known ('65504')."""
    return f"{value:.0f}" if 1 <= value < 1e6 else f"{value:.4g}"


def _specials(form: Format) -> str:
    if form.kind == "ieee":
        return "infinities, NaN, -0"
    return "no infinity; NaN, -0" if form.kind == "fn" else "no infinity; one NaN, no -0"


def _computed_by(form: Format) -> str:
    """For the FP8 formats: which GPU targets compute in this very encoding, from the catalog."""
    from labkit.catalog.gfx import TARGETS
    from labkit.catalog.precision import dtype_support

    if form.bits != 8:
        return ""
    support = {gfx: dtype_support(gfx)["fp8"] for gfx in TARGETS}
    names = [gfx for gfx, fp8 in support.items() if fp8.native and form.dtype in re.findall(r"\w+", fp8.reason)]
    return f"native on {', '.join(names)}" if names else ""


def _bit_style(colour: str) -> str:
    return f"background:{colour};color:#FFFFFF;padding:0 3px;border-radius:2px;font-family:monospace;font-size:12px"


def _card(stored: Stored) -> str:
    form = stored.format
    fields = form.fields(stored.pattern)
    cells = "".join(
        f'<span style="display:inline-block;margin-right:4px;vertical-align:top"><span style="{_bit_style(colour)}">'
        f'{digits}</span><br><span style="font-size:10px">{name}{f" {len(digits)}" if name != "sign" else ""}</span></span>'
        for digits, (name, colour) in zip(fields, _PARTS, strict=True)
    )
    bits = f'<div role="img" aria-label="{_spoken(fields)}" style="margin:3px 0">{cells}</div>'
    off = "" if math.isnan(stored.error) else f", error {_shown(stored.error, 3)}"
    spacing = "" if math.isnan(stored.spacing) else f"spacing here {_shown(stored.spacing, 3)} · "
    by = _computed_by(form)
    small = "font-size:12px;margin-top:2px"
    return (
        f'<div style="border:1px solid #999;border-radius:6px;padding:5px 9px;flex:1 1 250px;min-width:0">'
        f"<b>{html.escape(form.name)}</b> <span style='font-size:11px'>torch.{form.dtype}</span>{bits}"
        f"<div>stored: <b>{_shown(stored.value)}</b>{off}</div><div>{html.escape(stored.fate)}</div>"
        f'<div style="{small}">{spacing}largest {_bound(form.largest)} · smallest normal '
        f"{_bound(form.smallest_normal)}, smallest at all {_bound(form.smallest_subnormal)} · {_specials(form)}"
        f"{f' · {by}' if by else ''}</div></div>"
    )


def _spoken(fields: tuple[str, str, str]) -> str:
    return f"sign {fields[0]}, exponent {fields[1]}, fraction {fields[2]}"


def _number_line(value: float, formats: tuple[Format, ...]) -> str:
    """A bar per format from its smallest to its largest number on an axis of powers of two, and where the value lies."""
    left, width, row = 112, 350, 19
    height = row * len(formats) + 50

    def x(power: float) -> float:
        return left + width * (min(max(power, _LOW), _HIGH) - _LOW) / (_HIGH - _LOW)

    drawn = []
    for k, form in enumerate(formats):
        y = 8 + row * k
        low, normal, high = (math.log2(v) for v in (form.smallest_subnormal, form.smallest_normal, form.largest))
        drawn.append(
            f'<text x="{left - 8}" y="{y + 11}" text-anchor="end" fill="{style.INK}">{html.escape(form.name)}</text>'
            f'<rect x="{x(low):.1f}" y="{y}" width="{x(normal) - x(low):.1f}" height="12" fill="none" stroke="{style.BLUE}" '
            f'stroke-dasharray="3 2"/><rect x="{x(normal):.1f}" y="{y}" width="{x(high) - x(normal):.1f}" height="12" '
            f'fill="{style.BLUE}"/>'
        )
    marker, at = "", "0, an infinity or NaN has no place on this line"
    foot = 8 + row * len(formats)
    if math.isfinite(value) and value:
        power = math.log2(abs(value)) if abs(value) > 1e-320 else -1064.0
        at = f"the number's size: 2 to the power {power:.1f}"
        marker = f'<line x1="{x(power):.1f}" x2="{x(power):.1f}" y1="2" y2="{foot}" stroke="{style.VERMILLION}" stroke-width="3"/>'
    ticks = "".join(
        f'<text x="{x(p):.1f}" y="{foot + 12}" text-anchor="middle" fill="{style.INK}">2<tspan dy="-4" font-size="9">{p}</tspan></text>'
        for p in (-149, -100, -50, 0, 50, 100)
    )
    return (
        f'<svg role="img" aria-label="Range of each format; {html.escape(at)}" viewBox="0 0 480 {height}" '
        f'style="width:100%;max-width:560px;margin-top:8px;font:11px sans-serif">{"".join(drawn)}{marker}{ticks}'
        f'<text x="4" y="{foot + 26}" fill="{style.INK}">solid: full precision · dashed: subnormal, losing bits</text>'
        f'<text x="4" y="{foot + 40}" fill="{style.INK}">orange line: {html.escape(at)}</text></svg>'
    )
