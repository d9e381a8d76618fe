"""The FLOPs of the models' layers against torch's own counter on real modules of the same shapes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from labkit.errors import LabkitError
from labkit.profile.simulate import layers
from labkit.profile.simulate.models import MODELS, Network, network

torch = pytest.importorskip("torch")
flop_counter = pytest.importorskip("torch.utils.flop_counter")
nn = torch.nn


def counted(model: nn.Module, x: torch.Tensor, loss: Callable[[torch.Tensor], torch.Tensor]) -> tuple[int, int]:
    """FLOPs of the forward pass, and of both passes, as torch counts them; on the meta device nothing is computed."""
    with flop_counter.FlopCounterMode(display=False) as forward:
        out = model(x)
    with flop_counter.FlopCounterMode(display=False) as both:
        loss(model(x)).backward()
    assert out is not None
    return forward.get_total_flops(), both.get_total_flops()


def compare(net: Network, model: nn.Module, x: torch.Tensor) -> None:
    forward, both = counted(model, x, lambda out: out.float().square().mean())
    assert net.matrix_flops(backward=False) == forward
    assert net.matrix_flops() == both
    assert net.parameters == sum(p.numel() for p in model.parameters())


def test_mlp_is_lesson_01() -> None:
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)
    ).to("meta")
    compare(network("mlp", 64), model, torch.zeros(64, 1, 28, 28, device="meta"))


def test_cnn_is_lesson_02() -> None:
    parts: list[nn.Module] = []
    channels = 3
    for out in (16, 32, 64):
        parts += [nn.Conv2d(channels, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(), nn.MaxPool2d(2)]
        channels = out
    model = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(256, 10)).to("meta")
    compare(network("cnn", 32), model, torch.zeros(32, 3, 32, 32, device="meta"))


class Bottleneck(nn.Module):
    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        conv = lambda i, o, k, s=1: nn.Sequential(  # noqa: E731
            nn.Conv2d(i, o, k, stride=s, padding=k // 2, bias=False), nn.BatchNorm2d(o)
        )
        self.body = nn.Sequential(
            conv(channels, width, 1), nn.ReLU(), conv(width, width, 3, stride), nn.ReLU(), conv(width, 4 * width, 1)
        )
        plain = stride == 1 and channels == 4 * width
        self.side = nn.Identity() if plain else conv(channels, 4 * width, 1, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(x) + self.side(x))


def test_resnet50() -> None:
    parts: list[nn.Module] = [nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    parts.append(nn.MaxPool2d(3, stride=2, padding=1))
    channels = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for i in range(blocks):
            parts.append(Bottleneck(channels, 64 * 2**stage, 2 if stage and i == 0 else 1))
            channels = 256 * 2**stage
    model = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000)).to("meta")
    net = network("resnet50", 2)
    compare(net, model, torch.zeros(2, 3, 224, 224, device="meta"))
    assert net.parameters == 25_557_032  # the figure that torchvision prints for this network


def test_transformer() -> None:
    """Its linear layers by torch's counter; its attention by the counter's own formulas for the flash kernels."""
    batch, tokens, width, heads, words = 2, 256, 512, 8, 8192
    net = network("transformer", batch, "bf16")
    rows = batch * tokens
    parts = [nn.Linear(i, o) for _ in range(6) for i, o in ((512, 1536), (512, 512), (512, 2048), (2048, 512))]
    with flop_counter.FlopCounterMode(display=False) as both:
        for part in (*parts, nn.Linear(width, words)):
            part.to("meta")(
                torch.zeros(rows, part.in_features, device="meta", requires_grad=True)
            ).square().mean().backward()
    shape = (batch, heads, tokens, width // heads)
    attention = flop_counter.sdpa_flop_count(shape, shape, shape)
    backward = flop_counter.sdpa_backward_flop_count(shape, shape, shape, shape)
    assert net.matrix_flops() == both.get_total_flops() + 6 * (attention + backward)


def test_bytes_by_hand() -> None:
    layer = layers.linear("l", 10, 20, 30, 4)
    assert layer.forward[0].bytes == 4 * (10 * 20 + 20 * 30 + 10 * 30)
    conv, side = layers.conv("c", 2, 3, 8, 5, 3, 2, stride=2)
    assert side == 4 and conv.forward[0].bytes == 2 * (2 * 3 * 64 + 5 * 3 * 9 + 2 * 5 * 16)
    assert layers.relu("r", 100, 4).forward[0].bytes == 800 and layers.relu("r", 100, 4).backward[0].bytes == 1200
    attention = layers.attention("a", 1, 2, 16, 8, 2)
    assert attention.forward[0].bytes == 2 * 4 * 2 * 16 * 8  # queries, keys, values, result
    assert attention.forward[0].flops == 2 * 2 * 2 * 16 * 16 * 8


def test_work_grows_with_the_batch() -> None:
    for model in MODELS:
        one, two = network(model, 4), network(model, 8)
        assert two.matrix_flops() == 2 * one.matrix_flops() and two.parameters == one.parameters
        assert two.input_bytes == 2 * one.input_bytes


def test_the_optimiser_moves_every_weight() -> None:
    net = network("resnet50", 1)
    moved = sum(work.bytes for work in net.optimiser)
    # momentum read and written, gradient read; momentum read and weights read and written
    assert moved == pytest.approx(8 * 4 * net.parameters, rel=0.01)


@pytest.mark.parametrize(("model", "batch", "precision"), [("gpt9", 1, "fp32"), ("mlp", 0, "fp32"), ("mlp", 1, "fp8")])
def test_what_does_not_exist(model: str, batch: int, precision: str) -> None:
    with pytest.raises(LabkitError):
        network(model, batch, precision)
