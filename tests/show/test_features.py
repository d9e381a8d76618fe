import pytest
import torch
from torch import nn

from labkit.errors import LabkitError
from labkit.show import feature_maps
from labkit.show.features import caught


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.relu = nn.ReLU(inplace=True)
        self.drop = nn.Dropout(0.5)
        self.unused = nn.Linear(3, 3)
        self.lstm = nn.LSTM(16, 5, batch_first=True)
        self.fail = False

    def forward(self, x):
        x = self.relu(self.relu(self.norm(self.conv(x))) - 0.1)
        if self.fail:
            raise RuntimeError("sizes do not fit\nat all")
        return self.lstm(self.drop(x).flatten(2))[0]


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net()


def hooks(model):
    return sum(len(module._forward_hooks) for module in model.modules())


def test_every_layer_that_was_used_is_caught_by_its_name_in_order_also_the_second_call(net):
    found = caught(net, torch.rand(1, 6, 6))
    assert list(found) == ["conv", "norm", "relu", "relu (call 2)", "drop", "lstm"]
    assert found["lstm"].shape == (1, 4, 5)


def test_the_outputs_are_what_the_layers_gave_not_what_an_inplace_relu_made_of_them(net):
    image = torch.rand(2, 1, 6, 6)
    found = caught(net, image)
    net.eval()
    with torch.no_grad():
        assert torch.allclose(found["conv"], net.conv(image))
        assert torch.allclose(found["norm"], net.norm(net.conv(image))) and (found["norm"] < 0).any()


def test_modes_buffers_and_hooks_are_left_as_they_were(net):
    net.train()
    net.drop.eval()  # a mixed state, as in fine-tuning
    mean = net.norm.running_mean.clone()
    feature_maps(net, torch.rand(1, 6, 6))
    assert net.training and net.conv.training and not net.drop.training
    assert torch.equal(net.norm.running_mean, mean)
    assert hooks(net) == 0 and net.conv.weight.grad is None


def test_the_random_state_is_untouched_even_by_a_layer_that_draws():
    class Noisy(nn.Module):
        def forward(self, x):
            return x + torch.rand_like(x)

    model = nn.Sequential(Noisy())
    image = torch.zeros(1, 3, 3)
    state = torch.get_rng_state()
    caught(model, image)
    assert torch.equal(torch.get_rng_state(), state)


def test_hooks_and_modes_are_put_back_when_the_model_fails(net):
    net.train()
    net.fail = True
    with pytest.raises(LabkitError, match=r"shape \[1, 1, 6, 6\]: sizes do not fit\n") as told:
        feature_maps(net, torch.rand(1, 6, 6))
    assert "same channels" in told.value.remedy
    assert hooks(net) == 0 and net.training and net.norm.training


def test_a_picture_of_the_wrong_channels_is_told(net):
    with pytest.raises(LabkitError, match="could not take a picture"):
        feature_maps(net, torch.rand(3, 6, 6))


@pytest.mark.parametrize("which", ["name", "module"])
def test_one_layer_can_be_asked_for(net, which):
    shown = feature_maps(net, torch.rand(1, 6, 6), "conv" if which == "name" else net.conv)
    assert list(shown.outputs) == ["conv"] and "layer conv: [1, 4, 4, 4] float32" in str(shown)


@pytest.mark.parametrize(
    "layer, words", [("conf", "no layer 'conf'"), (nn.ReLU(), "not part"), ("unused", "None of these")]
)
def test_a_layer_that_is_not_there_or_not_used_is_told(net, layer, words):
    with pytest.raises(LabkitError, match=words):
        feature_maps(net, torch.rand(1, 6, 6), layer)
    assert hooks(net) == 0


def test_the_menu_changes_the_viewer(net):
    shown = feature_maps(net, torch.rand(1, 6, 6))
    menu, _, place = shown.widget.children
    assert menu.value == "conv" and "layer conv" in place.children[0].children[2].value
    menu.value = "lstm"
    assert "layer lstm" in place.children[0].children[2].value
    with pytest.raises(LabkitError, match="no output"):
        shown.view("nothing")


def test_the_still_picture_shows_the_channels(net):
    shown = feature_maps(net, torch.rand(1, 6, 6))
    assert shown.picture.values.shape == (4, 4, 4)
    shown.picture.png()
