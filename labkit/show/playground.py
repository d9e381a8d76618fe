"""A playground for hyperparameters: turn, train for about a second, compare with the runs before."""

from __future__ import annotations

import base64
import html
import math
from typing import Any

from labkit.errors import LabkitError
from labkit.show import style
from labkit.show.charts import number
from labkit.show.controls import FRAME, bundle, guarded, told
from labkit.show.gallery import png
from labkit.show.picture import Picture, new_figure, table
from labkit.show.trials import TASKS, Settings, Trial, points, settings, train

_DRAWN = len(style.PALETTE)  # the last runs, each in a colour and a dash of its own
_DASHES_SVG = ("", "7 3", "2 2", "9 3 2 3", "5 2", "12 4")
_HEAD = ("run", "lr", "momentum", "batch", "width", "epochs", "loss", "test accuracy", "how it went")


class Playground:
    """Sliders for learning rate, batch size, momentum, width and epochs, a Train button, and the last runs side by side.

    In text form::

        play = show.Playground("digits")
        print(play.run(lr=1.0))      # a Trial: losses, accuracies, verdict
        print(play.table())          # all runs so far

    task: 'moons' or 'spirals' (600 made-up points of the plane) or 'digits' (1,397 real handwritten ones, 7x7). Other
    keywords change where the settings start (lr, batch_size, momentum, width, epochs, seed). Every run is made on the CPU and
    is the same for the same settings. Raises LabkitError for an unknown task or setting.
    """

    def __init__(self, task: str = "moons", **start: Any) -> None:
        if task not in TASKS:
            raise LabkitError(f"There is no task '{task}'.", f"Use {', '.join(TASKS)}.")
        self.task = task
        self.settings = settings(Settings(), start)
        self.trials: list[Trial] = []
        """Every run, in the order in which they were made."""
        self._latest = -1
        self._widget: Any = None
        self._panel: Any = None

    def run(self, **changes: Any) -> Trial:
        """Trains with the starting settings, some of them changed, and keeps the result.

        Settings that were run before are not trained again: the same settings give the same result.
        """
        return self._run(settings(self.settings, changes))

    def table(self) -> str:
        """All runs so far as aligned text."""
        if not self.trials:
            return f"{self._title}: no run yet"
        return f"{self._title}\n{table([_HEAD, *self._rows()], left=1)}"

    @property
    def picture(self) -> Picture:
        """Loss and test accuracy of the last runs; ``values`` is [(losses, accuracies)] of those drawn, oldest first."""
        shown, top = self._shown(), self._top()
        with style.look():
            figure = new_figure(7.6, 3.5)
            losses, accuracy = figure.subplots(1, 2)
            for k, (run, trial) in enumerate(shown):
                look: dict[str, Any] = {
                    "color": style.PALETTE[(run - 1) % _DRAWN],
                    "linestyle": style.DASHES[(run - 1) % _DRAWN],
                    "marker": style.MARKERS[(run - 1) % _DRAWN],
                    "markevery": (k, 5),
                    "label": f"{run}: {self._label(trial)}",
                }
                epochs = range(1, len(trial.losses) + 1)
                losses.plot(epochs, [min(v, top) for v in trial.losses], **look)
                accuracy.plot(epochs, [100 * a for a in trial.accuracies], **look)
            losses.set(title=f"Training on {self.task}", xlabel="epoch", ylabel="mean loss")
            losses.set_ylim(0, top * 1.02)
            accuracy.set(title="On points never seen", xlabel="epoch", ylabel="test accuracy in %", ylim=(0, 104))
            if shown:
                figure.legend(*losses.get_legend_handles_labels(), loc="outside lower center", ncols=2)
        told_ = f"{self._title}: " + (
            "; ".join(f"run {run}: {trial}" for run, trial in shown) if shown else "no run yet"
        )
        values = [(trial.losses, trial.accuracies) for _, trial in shown]
        return Picture(figure, self.table(), told_, values, (losses, accuracy))

    @property
    def widget(self) -> Any:
        """The ipywidgets box: the settings, the buttons, a line that says what happens, and the panel of runs."""
        if self._widget is None:
            self._widget = self._build()
        return self._widget

    def show(self) -> str:
        """The panel as HTML: curves of the last runs, what the last network answers where, the table."""
        if not self.trials:
            return (
                f'<div style="{FRAME}"><b>{html.escape(self._title)}</b><br>No run yet: choose and press Train.</div>'
            )
        plain = f"padding:1px 8px 1px 0;background:transparent;color:{style.INK};vertical-align:top;text-align:"
        looks = [f"{plain}right;white-space:nowrap"] * (len(_HEAD) - 1) + [
            f"{plain}left;white-space:normal;min-width:13em"
        ]

        def row(tag: str, cells: tuple[str, ...]) -> str:
            made = (
                f'<{tag} style="{look}">{html.escape(cell)}</{tag[:2]}>'
                for look, cell in zip(looks, cells, strict=True)
            )
            return f'<tr style="background:transparent">{"".join(made)}</tr>'

        head = row('th scope="col"', _HEAD)
        body = "".join(row("td", cells) for cells in self._rows(last=_DRAWN))
        return (
            f'<div style="{FRAME}"><b>{html.escape(self._title)}</b>'
            f'<div style="display:flex;flex-wrap:wrap;gap:10px;align-items:flex-start">{self._charts()}{self._map()}</div>'
            f'<div role="region" aria-label="All runs" tabindex="0" style="overflow-x:auto;width:0;min-width:100%">'
            f'<table style="border-collapse:collapse;font-size:12px;margin:4px 0 0">'
            f"<thead>{head}</thead><tbody>{body}</tbody></table></div></div>"
        )

    def __str__(self) -> str:
        return self.table()

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The sliders for a person with a kernel; for a page the panel of the runs, for everyone else their table."""
        return bundle(str(self), self.show(), lambda: self.widget)

    # -- inside ---------------------------------------------------------------------------------------------------

    @property
    def _title(self) -> str:
        what = "real handwritten digits, 7x7" if self.task == "digits" else f"two {self.task}, made-up points"
        return f"Playground: {what}"

    def _run(self, chosen: Settings) -> Trial:
        known = [k for k, t in enumerate(self.trials) if t.settings == chosen and not t.interrupted]
        if not known:
            self.trials.append(train(self.task, chosen))
        self._latest = known[0] if known else len(self.trials) - 1
        trial = self.trials[self._latest]
        if self._panel is not None:
            self._panel.value = self.show()
        return trial

    def _shown(self) -> list[tuple[int, Trial]]:
        """(number of the run, run) for those that are drawn, oldest first."""
        return list(enumerate(self.trials, 1))[-_DRAWN:]

    def _label(self, trial: Trial) -> str:
        """What is different from where the settings start."""
        names = {
            "lr": "lr",
            "batch_size": "batch",
            "momentum": "momentum",
            "width": "width",
            "epochs": "epochs",
            "seed": "seed",
        }
        other = [
            f"{short} {getattr(trial.settings, name):g}"
            for name, short in names.items()
            if getattr(trial.settings, name) != getattr(self.settings, name)
        ]
        return ", ".join(other) or "the starting settings"

    def _rows(self, last: int | None = None) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = []
        for run, trial in list(enumerate(self.trials, 1))[-(last or len(self.trials)) :]:
            s = trial.settings
            right = f"{trial.accuracies[-1]:.1%}" if trial.accuracies else "-"
            told_ = (
                f"{s.lr:g}",
                f"{s.momentum:g}",
                str(s.batch_size),
                str(s.width),
                str(s.epochs),
                trial.last_loss,
                right,
            )
            rows.append((str(run), *told_, trial.verdict))
        return rows

    def _top(self) -> float:
        """The end of the axis of losses: a run that diverged must not flatten the others."""
        chance = math.log(int(points(self.task)[1].max()) + 1)
        finite = [v for _, trial in self._shown() for v in trial.losses if math.isfinite(v)]
        return min(max(finite, default=chance) * 1.05, 1.6 * chance) or chance

    def _charts(self) -> str:
        """Loss and accuracy, written by hand: redrawn at each press of the button."""
        top, shown = self._top(), self._shown()
        latest = f"the last {len(shown)} runs. Last: {self.trials[-1]}"
        losses = [(run, [v / top for v in trial.losses]) for run, trial in shown]
        accuracies = [(run, list(trial.accuracies)) for run, trial in shown]
        return _chart("mean loss", number(top), losses, f"Loss of {latest}") + _chart(
            "accuracy on points never seen", "100%", accuracies, f"Accuracy of {latest}"
        )

    def _map(self) -> str:
        """What the last network answers for each point of the plane, with the points that it was trained on."""
        trial = self.trials[self._latest]
        if trial.map is None:
            return ""
        import numpy as np

        tints = np.array([[204, 226, 241], [249, 222, 203]], dtype=np.uint8)  # light blue and vermillion
        source = base64.b64encode(png(np.ascontiguousarray(tints[trial.map]))).decode("ascii")
        inputs, classes, _, _ = points(self.task)
        marks = []
        for (x, y), k in zip(inputs[:240].tolist(), classes[:240].tolist(), strict=True):
            right, down = 85 * (x + 1.6) / 1.6, 85 * (1.6 - y) / 1.6
            marks.append(
                f'<circle cx="{right:.0f}" cy="{down:.0f}" r="2" fill="{style.BLUE}"/>'
                if k == 0
                else f'<path d="M{right:.0f} {down - 3:.0f}l3 5h-6z" fill="{style.VERMILLION}"/>'
            )
        words = f"Where run {self._latest + 1} answers which class"
        return (
            f'<figure style="margin:0;font-size:11px"><svg role="img" aria-label="{words}" viewBox="0 0 170 170" width="170" '
            f'height="170"><image href="data:image/png;base64,{source}" width="170" height="170" '
            f'style="image-rendering:pixelated"/>{"".join(marks)}</svg><figcaption>{words}</figcaption></figure>'
        )

    def _build(self) -> Any:
        import ipywidgets as widgets

        wide = {"description_width": "96px"}
        room = {"style": wide, "layout": widgets.Layout(width="340px", max_width="calc(100% - 4px)")}
        start = self.settings
        lr = widgets.SelectionSlider(
            description="Learning rate",
            options=[(f"{v:g}", v) for v in _with(_rates(), start.lr)],
            value=start.lr,
            **room,
        )
        momentum = widgets.SelectionSlider(
            description="Momentum",
            options=[(f"{v:g}", v) for v in _with([0.0, 0.5, 0.8, 0.9, 0.95, 0.99], start.momentum)],
            value=start.momentum,
            **room,
        )
        batch = widgets.Dropdown(
            description="Batch size",
            options=_with([8, 16, 32, 64, 128, 256, 512], start.batch_size),
            value=start.batch_size,
            **room,
        )
        width = widgets.Dropdown(
            description="Width", options=_with([2, 4, 8, 16, 32, 64, 128, 256], start.width), value=start.width, **room
        )
        epochs = widgets.IntSlider(
            description="Epochs", min=1, max=max(40, start.epochs), value=start.epochs, continuous_update=False, **room
        )
        button = widgets.Button(description="Train", button_style="primary", tooltip="Train with these settings")
        forget = widgets.Button(description="Forget all runs", tooltip="Removes all runs from the panel")
        status = widgets.HTML(told(""))
        self._panel = widgets.HTML(self.show())

        def say(sentence: str) -> None:
            status.value = sentence

        def pressed(_: Any) -> None:
            button.disabled = True
            try:
                chosen = settings(
                    start,
                    {
                        "lr": lr.value,
                        "momentum": momentum.value,
                        "batch_size": batch.value,
                        "width": width.value,
                        "epochs": epochs.value,
                    },
                )
                before = len(self.trials)
                say(told("Training …"))
                trial = self._run(chosen)
                again = "Same settings, same result. " if len(self.trials) == before else ""
                say(told(f"{again}Run {self._latest + 1}: {trial}."))
            finally:
                button.disabled = False

        def cleared(_: Any) -> None:
            self.trials.clear()
            self._panel.value = self.show()
            say(told("All runs are forgotten."))

        button.on_click(guarded(pressed, say))
        forget.on_click(guarded(cleared, say))
        rows = widgets.HBox([lr, momentum, batch, width, epochs], layout=widgets.Layout(flex_flow="row wrap"))
        buttons = widgets.HBox([button, forget], layout=widgets.Layout(flex_flow="row wrap"))
        return widgets.VBox([rows, buttons, status, self._panel])


def _chart(title: str, end: str, series: list[tuple[int, list[float]]], words: str) -> str:
    """One chart: (number of the run, values as shares of the axis) as a line that ends in the run's number."""
    longest = max((len(values) for _, values in series), default=1)
    drawn = []
    for run, values in series:
        k = (run - 1) % _DRAWN
        xy = [
            (40 + 200 * epoch / longest, 170 - 145 * min(value, 1.02))
            for epoch, value in enumerate(values, 1)
            if math.isfinite(value)
        ]
        if xy:
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y in xy)
            drawn.append(
                f'<polyline points="{line}" fill="none" stroke="{style.PALETTE[k]}" stroke-width="2" '
                f'stroke-dasharray="{_DASHES_SVG[k]}"/><text x="{xy[-1][0] + 3:.1f}" y="{xy[-1][1] + 4:.1f}" '
                f'fill="{style.PALETTE[k]}" font-weight="bold">{run}</text>'
            )
    return (
        f'<svg role="img" aria-label="{html.escape(words)}" viewBox="0 0 262 192" fill="{style.INK}" '
        f'style="flex:1 1 240px;min-width:0;max-width:280px;font:12px sans-serif"><text x="40" y="14">{title}</text>'
        f'<path d="M40 22V170H245" fill="none" stroke="#777"/><text x="35" y="29" text-anchor="end">{end}</text>'
        f'<text x="35" y="173" text-anchor="end">0</text><text x="245" y="186" text-anchor="end">epoch {longest}</text>'
        f"{''.join(drawn)}</svg>"
    )


def _rates() -> list[float]:
    return [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0]


def _with(choices: list[Any], own: Any) -> list[Any]:
    """The choices, and the starting value where it is none of them."""
    return sorted({*choices, own})
