"""What a network makes of a picture on its way: the output of each layer, caught with forward hooks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from labkit.errors import LabkitError
from labkit.show.controls import bundle, guarded, told
from labkit.show.maps import TensorView
from labkit.show.picture import Picture

if TYPE_CHECKING:
    from torch import Tensor, nn


def feature_maps(model: nn.Module, image: Any, layer: str | nn.Module | None = None) -> FeatureMaps:
    """Sends ``image`` through ``model`` once and shows what its layers put out.

    image: [C, H, W] or [N, C, H, W], on any device. layer: a name from ``model.named_modules()`` or the module itself;
    without it all innermost layers can be chosen from a menu. The model computes as in ``eval()`` and without gradients; its
    modes, its random state and its buffers are left as they were, and the hooks are removed even if it fails.
    Raises LabkitError for an unknown layer, one that was not used, and a picture that the model cannot take.
    """
    return FeatureMaps(caught(model, image, layer))


def caught(model: nn.Module, image: Any, layer: str | nn.Module | None = None) -> dict[str, Tensor]:
    """{layer's name: its output on the CPU}, in the order of the calls; a second call of one layer is 'name (call 2)'."""
    import torch

    wanted = _wanted(model, layer)
    found: dict[str, Tensor] = {}

    def catch(name: str) -> Any:
        def hook(_module: Any, _inputs: Any, output: Any) -> None:
            first = _first_tensor(output)
            if first is not None:
                call = 1 + sum(known == name or known.startswith(f"{name} (call ") for known in found)
                found[name if call == 1 else f"{name} (call {call})"] = first.detach().to("cpu", copy=True)

        return hook

    batch = _batch(model, image)
    handles: list[Any] = []
    try:
        for name, module in wanted.items():
            handles.append(module.register_forward_hook(catch(name)))
        with _undisturbed(model, batch), torch.no_grad():
            try:
                model(batch)
            except Exception as error:
                reason = str(error).strip().splitlines()
                raise LabkitError(
                    f"The model could not take a picture of the shape {list(batch.shape)}: {reason[0] if reason else repr(error)}",
                    "Pass it what the training passes: the same channels, size and dtype.",
                ) from error
    finally:
        for handle in handles:
            handle.remove()
    if not found:
        raise LabkitError("None of these layers was used on the way.", "Choose a layer that the model's forward calls.")
    return found


class FeatureMaps:
    """What ``feature_maps`` returns. ``outputs`` maps each layer's name to its output; ``view(name)`` shows one of them."""

    def __init__(self, outputs: dict[str, Any]) -> None:
        self.outputs = outputs
        self._views: dict[str, TensorView] = {}
        self._widget: Any = None

    def view(self, layer: str | None = None) -> TensorView:
        """The viewer of one layer's output; without a name, of the first one that has maps."""
        name = layer if layer is not None else self._first()
        if name not in self.outputs:
            raise LabkitError(f"There is no output of a layer '{name}'.", f"Use one of {', '.join(self.outputs)}.")
        if name not in self._views:
            self._views[name] = TensorView(self.outputs[name], f"layer {name}" if name else "the model")
        return self._views[name]

    @property
    def picture(self) -> Picture:
        """The still grid of the first layer that has maps."""
        return self.view().picture

    def __str__(self) -> str:
        return "\n".join(str(self.view(name)) for name in self.outputs)

    __repr__ = __str__

    @property
    def widget(self) -> Any:
        """The ipywidgets box: a menu of layers (if there are several) above the viewer of the chosen one."""
        if self._widget is None:
            import ipywidgets as widgets

            menu = widgets.Dropdown(
                description="Layer",
                options=[(f"{name} {list(out.shape)}", name) for name, out in self.outputs.items()],
                value=self._first(),
                style={"description_width": "initial"},
                layout=widgets.Layout(width="380px", max_width="calc(100% - 4px)"),
            )
            status = widgets.HTML(told(""))
            place = widgets.VBox([self.view().widget])

            def say(sentence: str) -> None:
                status.value = sentence

            def chosen(change: dict[str, Any]) -> None:
                place.children = [self.view(change["new"]).widget]

            menu.observe(guarded(chosen, say), names="value")
            self._widget = widgets.VBox([*([menu] if len(self.outputs) > 1 else []), status, place])
        return self._widget

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The menu for a person with a kernel, the still grid for a page without, the words for everyone else."""
        return bundle(str(self), self.view().still(), lambda: self.widget)

    def _first(self) -> str:
        return next((name for name, out in self.outputs.items() if out.ndim >= 3), next(iter(self.outputs)))


def _wanted(model: nn.Module, layer: str | nn.Module | None) -> dict[str, nn.Module]:
    named = dict(model.named_modules())
    if layer is None:
        return {name: module for name, module in named.items() if not list(module.children())}
    if isinstance(layer, str):
        if layer in named:
            return {layer: named[layer]}
        close = [name for name in named if name]
        raise LabkitError(f"The model has no layer '{layer}'.", f"It has {', '.join(close[:20])}.")
    for name, module in named.items():
        if module is layer:
            return {name: module}
    raise LabkitError("This layer is not part of the model.", "Pass a name from model.named_modules().")


def _batch(model: nn.Module, image: Any) -> Tensor:
    """[N, C, H, W] where the model's weights are, and of their dtype if both are floats."""
    import torch

    picture = torch.as_tensor(image)
    if picture.ndim == 3:
        picture = picture[None]
    weight = next((p for p in model.parameters()), None)
    if weight is None:
        return picture
    floats = picture.is_floating_point() and weight.is_floating_point()
    return picture.to(device=weight.device, dtype=weight.dtype if floats else picture.dtype)


@contextmanager
def _undisturbed(model: nn.Module, batch: Tensor) -> Iterator[None]:
    """A block in eval mode whose random numbers and modes leave no trace in the model."""
    import torch

    modes = [(module, module.training) for module in model.modules()]
    devices = [batch.device] if batch.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        model.eval()
        try:
            yield
        finally:
            for module, training in modes:
                module.training = training


def _first_tensor(output: Any) -> Tensor | None:
    """The output, or the first tensor in the tuple, list or mapping that it is."""
    import torch

    if isinstance(output, torch.Tensor):
        return output
    if isinstance(output, dict):
        output = list(output.values())
    if isinstance(output, (tuple, list)):
        return next((found for part in output if (found := _first_tensor(part)) is not None), None)
    return None
