"""The devices while something runs: a few lines that move for whoever watches, and a still picture of the samples."""

from __future__ import annotations

import html
from types import TracebackType
from typing import Any

from labkit.profile.watching import Watch
from labkit.show import style
from labkit.show.live import in_notebook, watched
from labkit.show.picture import Picture, array, new_figure

_GIB = 2**30
_PANELS = (
    ("busy_percent", "busy, %", 1.0),
    ("memory_bytes", "memory, GiB", 1 / _GIB),
    ("power_w", "power, W", 1.0),
    ("temperature_c", "temperature, °C", 1.0),
)


class LiveWatch:
    """``with LiveWatch() as w:`` shows busy share, memory, power and temperature while the block runs.

    A person watching sees the latest values; elsewhere nothing moves. ``w.watch`` holds the samples, ``w.picture`` the still picture,
    which is shown at the end (``show=False`` leaves that to you).
    """

    def __init__(self, watch: Watch | None = None, *, show: bool = True, live: bool | None = None) -> None:
        self.watch = Watch() if watch is None else watch
        self._show = show
        self._live = (watched() if live is None else live) and show
        self._view: Any = None

    def __enter__(self) -> LiveWatch:
        if self._live:
            self._view = _view(latest(self.watch))
        if self._view is not None:
            self.watch.on_sample(self._update)
        self.watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.watch.stop()
        if self._view is not None:
            self._view.close()
        if self._show and in_notebook():
            from IPython.display import display

            display(self.picture)
        elif self._show:
            print(self.picture)

    @property
    def picture(self) -> Picture:
        """The samples over time; ``values`` is the table."""
        return samples(self.watch)

    def _update(self, watch: Watch) -> None:
        self._view.value = latest(watch)


def _view(content: str) -> Any:
    """A shown HTML widget; None without ipywidgets: then nothing moves."""
    try:
        import ipywidgets
        from IPython.display import display
    except ImportError:
        return None
    view = ipywidgets.HTML(content)
    display(view)
    return view


def latest(watch: Watch) -> str:
    """The newest sample of each device as HTML: a meter with words beside it, for eyes and for screen readers."""
    table = watch.samples
    rows = []
    for row in table.group_by("device", maintain_order=True).last().to_dicts() if table.height else []:
        name = "CPU (no GPU to watch)" if row["source"] == "CPU" else f"GPU {row['device']}"
        busy = row["busy_percent"]
        told = [] if busy is None else [f"{busy:.0f} % busy"]
        for column, unit, factor in (
            ("memory_bytes", "GiB", 1 / _GIB),
            ("power_w", "W", 1),
            ("temperature_c", "°C", 1),
        ):
            if row[column] is not None:
                value = row[column] * factor
                told.append(f"{value:.2f} {unit}" if unit == "GiB" else f"{value:.0f} {unit}")
        words = html.escape(f"{name}: {', '.join(told) or 'nothing known'}")
        meter = "" if busy is None else f'<meter min="0" max="100" value="{busy:.0f}" aria-label="{words}"></meter> '
        rows.append(f"<div>{meter}{words}</div>")
    return "".join(rows) or "<div>no sample yet</div>"


def samples(watch: Watch) -> Picture:
    """What was sampled, one panel for each quantity that the source tells. Text: the watch's summary."""
    import polars as pl

    table = watch.samples
    panels = [panel for panel in _PANELS if table.height and table[panel[0]].is_not_null().any()]
    with style.look():
        figure = new_figure(7.2, 0.9 + 1.25 * max(len(panels), 1))
        axes = figure.subplots(max(len(panels), 1), 1, sharex=True, squeeze=False)[:, 0]
        for axis, (column, label, factor) in zip(axes, panels, strict=False):
            for k, (device,) in enumerate(table.select("device").unique().sort("device").iter_rows()):
                part = table.filter(pl.col("device") == device)
                name = "CPU" if part["source"][0] == "CPU" else f"GPU {device}"
                axis.plot(
                    array(part["seconds"].to_list()),
                    [None if value is None else value * factor for value in part[column].to_list()],
                    color=style.PALETTE[k % len(style.PALETTE)],
                    linestyle=style.DASHES[k % len(style.DASHES)],
                    label=name,
                )
            axis.set_ylabel(label, rotation=0, ha="right", va="center")
            known = [100.0] if column == "busy_percent" else table[column].drop_nulls().to_list()
            largest = max(known) * factor
            axis.set_ylim(0, largest * 1.1 or 1)
        if panels:
            axes[-1].set_xlabel("seconds")
            if table["device"].n_unique() > 1:
                axes[0].legend()
        else:
            axes[0].text(0.5, 0.5, "no sample yet", ha="center", transform=axes[0].transAxes)
            axes[0].set_axis_off()
        axes[0].set_title("This machine while it worked" if panels else "Nothing sampled")
    return Picture(figure, str(watch), f"Curves over time. {watch}", table)
