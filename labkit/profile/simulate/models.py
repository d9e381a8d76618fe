"""The models that can be simulated, layer by layer.

``mlp`` is the network of lesson 01, ``cnn`` that of lesson 02; ``resnet50`` has the shapes of the well-known network,
``transformer`` is a small one that reads text (six blocks of width 512, 256 tokens).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from labkit.errors import LabkitError
from labkit.profile.simulate import layers as of
from labkit.profile.simulate.layers import MATRIX_KINDS, Layer, Work

BYTES = {"fp32": 4, "fp16": 2, "bf16": 2}  # per number


@dataclass(frozen=True)
class Network:
    """A model at one batch size.

    layers: in the order of the forward pass, the loss last. optimiser: its work. input_bytes: one batch as the host sends
    it (lessons 01 and 02 keep their pictures as bytes). resident: the data set lies on the GPU, and a batch is gathered
    there (as those lessons do).
    """

    name: str
    batch: int
    precision: str
    layers: tuple[Layer, ...]
    optimiser: tuple[Work, ...]
    input_bytes: int
    resident: bool

    @property
    def parameters(self) -> int:
        """Numbers that training changes."""
        return sum(layer.parameters for layer in self.layers)

    @property
    def forward(self) -> tuple[Work, ...]:
        """The forward pass's work, in order."""
        return tuple(work for layer in self.layers for work in layer.forward)

    @property
    def backward(self) -> tuple[Work, ...]:
        """The backward pass's work, in order (last layer first)."""
        return tuple(work for layer in reversed(self.layers) for work in layer.backward)

    def matrix_flops(self, *, backward: bool = True) -> float:
        """FLOPs of the products that torch's counter counts, one step without the optimiser."""
        works = self.forward + (self.backward if backward else ())
        return sum(work.flops for work in works if work.kind in MATRIX_KINDS)


def _mlp(batch: int, size: int) -> tuple[list[Layer], int]:
    layers: list[Layer] = []
    widths = (784, 128, 64, 10)
    for i, (inputs, outputs) in enumerate(pairwise(widths)):
        layers.append(of.linear(f"linear{i + 1}", batch, inputs, outputs, size, first=i == 0))
        if i < 2:
            layers.append(of.relu(f"relu{i + 1}", batch * outputs, size))
    layers.append(of.cross_entropy("loss", batch, 10, size))
    return layers, batch * (784 + 8)


def _cnn(batch: int, size: int, width: int = 16) -> tuple[list[Layer], int]:
    layers: list[Layer] = []
    channels, side = 3, 32
    for i, outputs in enumerate((width, 2 * width, 4 * width)):
        layer, side = of.conv(f"conv{i + 1}", batch, channels, side, outputs, 3, size, bias=True, first=i == 0)
        layers += [layer, of.batch_norm(f"norm{i + 1}", batch, outputs, side, size)]
        layers.append(of.relu(f"relu{i + 1}", batch * outputs * side * side, size))
        pool, side = of.max_pool(f"pool{i + 1}", batch, outputs, side, size)
        layers.append(pool)
        channels = outputs
    layers.append(of.average_pool("average", batch, channels, side, 2, size))
    layers.append(of.linear("linear", batch, 4 * channels, 10, size))
    layers.append(of.cross_entropy("loss", batch, 10, size))
    return layers, batch * (3 * 32 * 32 + 8)


def _resnet50(batch: int, size: int, image: int = 224) -> tuple[list[Layer], int]:
    layers: list[Layer] = []

    def block_of(
        name: str,
        channels: int,
        side: int,
        outputs: int,
        kernel: int,
        stride: int = 1,
        *,
        bend: bool = True,
        first: bool = False,
    ) -> int:
        layer, out = of.conv(name, batch, channels, side, outputs, kernel, size, stride=stride, first=first)
        layers.extend((layer, of.batch_norm(f"{name}.norm", batch, outputs, out, size)))
        if bend:
            layers.append(of.relu(f"{name}.relu", batch * outputs * out * out, size))
        return out

    side = block_of("stem", 3, image, 64, 7, 2, first=True)
    pool, side = of.max_pool("stem.pool", batch, 64, side, size, overlap=3)
    layers.append(pool)
    channels = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 * 2**stage
        for i in range(blocks):
            name = f"stage{stage + 1}.{i + 1}"
            stride = 2 if stage > 0 and i == 0 else 1
            block_of(f"{name}.a", channels, side, width, 1)
            inner = block_of(f"{name}.b", width, side, width, 3, stride)
            block_of(f"{name}.c", width, inner, 4 * width, 1, bend=False)
            if i == 0:
                block_of(f"{name}.side", channels, side, 4 * width, 1, stride, bend=False)
            channels, side = 4 * width, inner
            n = batch * channels * side * side
            layers.extend((of.add(f"{name}.add", n, size), of.relu(f"{name}.relu", n, size)))
    layers.append(of.average_pool("average", batch, channels, side, 1, size))
    layers.append(of.linear("linear", batch, channels, 1000, size))
    layers.append(of.cross_entropy("loss", batch, 1000, size))
    return layers, batch * (3 * image * image * 4 + 8)


def _transformer(
    batch: int, size: int, blocks: int = 6, width: int = 512, heads: int = 8, tokens: int = 256, words: int = 8192
) -> tuple[list[Layer], int]:
    rows = batch * tokens
    layers = [of.embedding("embedding", rows, words, width, size)]
    for i in range(blocks):
        name = f"block{i + 1}"
        layers += [
            of.layer_norm(f"{name}.norm1", rows, width, size),
            of.linear(f"{name}.qkv", rows, width, 3 * width, size),
            of.attention(f"{name}.attention", batch, heads, tokens, width // heads, size),
            of.linear(f"{name}.out", rows, width, width, size),
            of.add(f"{name}.add1", rows * width, size),
            of.layer_norm(f"{name}.norm2", rows, width, size),
            of.linear(f"{name}.up", rows, width, 4 * width, size),
            of.gelu(f"{name}.gelu", rows * 4 * width, size),
            of.linear(f"{name}.down", rows, 4 * width, width, size),
            of.add(f"{name}.add2", rows * width, size),
        ]
    layers += [
        of.layer_norm("norm", rows, width, size),
        of.linear("head", rows, width, words, size),
        of.cross_entropy("loss", rows, words, size),
    ]
    return layers, rows * 2 * 8


_BUILD: dict[str, Callable[[int, int], tuple[list[Layer], int]]] = {
    "mlp": _mlp,
    "cnn": _cnn,
    "resnet50": _resnet50,
    "transformer": _transformer,
}
MODELS = {
    "mlp": "lesson 01's network: three linear layers, 784-128-64-10",
    "cnn": "lesson 02's network: three convolutions, 16-32-64 channels, pictures of 32 x 32",
    "resnet50": "ResNet-50's shapes, pictures of 224 x 224",
    "transformer": "a small language model: six blocks of width 512, 8 heads, 256 tokens",
}
_RESIDENT = ("mlp", "cnn")


def network(model: str, batch: int, precision: str = "fp32") -> Network:
    """A model's work at a batch size. Raises LabkitError for a name, size or precision that does not exist."""
    if model not in _BUILD:
        raise LabkitError(f"There is no model '{model}' to simulate.", f"Choose one of: {', '.join(MODELS)}.")
    if precision not in BYTES:
        raise LabkitError(f"There is no precision '{precision}'.", f"Choose one of: {', '.join(BYTES)}.")
    if batch < 1:
        raise LabkitError(f"A batch of {batch} holds nothing.", "Give a batch of 1 or more.")
    layers, input_bytes = _BUILD[model](batch, BYTES[precision])
    parameters, tensors = sum(layer.parameters for layer in layers), sum(layer.tensors for layer in layers)
    return Network(model, batch, precision, tuple(layers), of.sgd(parameters, tensors), input_bytes, model in _RESIDENT)
