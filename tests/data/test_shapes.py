"""CIFAR-10's stand-in: the same bytes everywhere, nothing given away by colour, hard enough and not too hard."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import nn

from labkit.data import shapes

SHA256 = "265055b479075c7c265699fd27c7b2e41798e338d86de4d13c2b4595797b975c"


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Two threads that wait for each other are slower than one when something else uses a core."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def drawn() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    return shapes.pictures()


def test_every_machine_draws_the_same_bytes(drawn: tuple[np.ndarray, ...]) -> None:
    assert shapes.checksum(*drawn) == SHA256
    assert shapes.checksum(*shapes.pictures(500, 100)) == shapes.checksum(*shapes.pictures(500, 100))
    assert shapes.checksum(*shapes.pictures(50, 10, seed=1)) != shapes.checksum(*shapes.pictures(50, 10, seed=2))


def test_shape_and_balance(drawn: tuple[np.ndarray, ...]) -> None:
    train, train_labels, test, test_labels = drawn
    assert train.shape == (10_000, 3, 32, 32) and test.shape == (2_000, 3, 32, 32) and train.dtype == np.uint8
    assert np.bincount(train_labels).tolist() == [1000] * 10 and np.bincount(test_labels).tolist() == [200] * 10
    assert len(shapes.CLASSES) == 10
    assert len(np.unique(np.concatenate([train, test]).reshape(12_000, -1), axis=0)) == 12_000, "a picture comes twice"


@pytest.mark.parametrize("count", [0, 1, 7, 10, 501])
def test_any_number_can_be_drawn(count: int) -> None:
    images, labels = shapes.draw(count, seed=3)
    assert images.shape == (count, 3, 32, 32) and labels.tolist() == [i % 10 for i in range(count)]


def test_colour_says_nothing_about_the_class(drawn: tuple[np.ndarray, ...]) -> None:
    """Mean and spread of each channel: the best that a nearest mean or a nearest neighbour makes of them is near chance."""

    def colours(images: np.ndarray) -> np.ndarray:
        pixels = images.reshape(len(images), 3, -1).astype(np.float32)
        return np.concatenate([pixels.mean(2), pixels.std(2)], axis=1)

    train, test = colours(drawn[0]), colours(drawn[2])
    nearest = ((test[:, None] - train[None, :3000]) ** 2).sum(2).argmin(1)
    assert (drawn[1][nearest] == drawn[3]).mean() < 0.2
    assert (drawn[1][nearest] == drawn[3]).mean() > 0.05


def test_every_shape_is_in_its_picture() -> None:
    """The distance functions: negative at one point of the shape at least, positive in the far corner; ten different ones."""
    axis = np.linspace(-1.6, 1.6, 64, dtype=np.float32)
    x, y = axis[None, :], axis[:, None]
    inside = [np.broadcast_to(distance(x, y) < 0, (64, 64)) for distance in shapes.DISTANCES]
    for filled in inside:
        assert 150 < filled.sum() < 1400 and not filled[[0, 0, -1, -1], [0, -1, 0, -1]].any()
    assert len({filled.tobytes() for filled in inside}) == 10
    star = inside[shapes.CLASSES.index("star")]
    np.testing.assert_array_equal(star, star[:, ::-1])


def _accuracy(model: nn.Module, drawn: tuple[np.ndarray, ...], epochs: int, rate: float, batch: int) -> float:
    """Test accuracy after one-cycle training by Adam; the last number of the run, nothing picked."""
    images, labels, test_images, test_labels = (torch.from_numpy(array) for array in drawn)
    images, test_images = ((part.float() - 128) / 64 for part in (images, test_images))
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=5e-4)
    steps = epochs * (len(images) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    for _ in range(epochs):
        for rows in torch.randperm(len(images))[: len(images) // batch * batch].view(-1, batch):
            loss = nn.functional.cross_entropy(model(images[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    model.eval()
    with torch.no_grad():
        right = [
            (model(part).argmax(1) == answers).float().mean().item()
            for part, answers in zip(test_images.split(500), test_labels.split(500), strict=True)
        ]
    return sum(right) / len(right)


@pytest.mark.usefixtures("one_thread")
def test_a_linear_model_and_an_mlp_stay_below_and_a_small_cnn_gets_above(drawn: tuple[np.ndarray, ...]) -> None:
    def block(inputs: int, outputs: int) -> list[nn.Module]:
        return [
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]

    torch.manual_seed(0)
    linear = nn.Sequential(nn.Flatten(), nn.Linear(3072, 10))
    mlp = nn.Sequential(
        nn.Flatten(), nn.Linear(3072, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)
    )
    cnn = nn.Sequential(*block(3, 16), *block(16, 32), *block(32, 64), nn.Flatten(), nn.Linear(1024, 10))
    results = {
        "linear": _accuracy(linear, drawn, epochs=3, rate=1e-3, batch=250),
        "MLP": _accuracy(mlp, drawn, epochs=8, rate=1e-3, batch=250),
        "small CNN": _accuracy(cnn.to(memory_format=torch.channels_last), drawn, epochs=3, rate=1e-2, batch=100),
    }
    print("CIFAR-10 stand-in, test accuracy: " + ", ".join(f"{name} {value:.1%}" for name, value in results.items()))
    assert results["linear"] < 0.60 and results["MLP"] < 0.75 and results["small CNN"] > 0.90
    assert results["linear"] > 0.12 and results["MLP"] > 0.35, "models that learn nothing would prove nothing"
