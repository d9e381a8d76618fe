import math

import pytest
import torch

from labkit.errors import LabkitError
from labkit.show import trials
from labkit.show.trials import Settings, Trial, points, settings, train


def test_the_same_settings_give_the_same_numbers_and_another_seed_others():
    one, two = (train("moons", Settings(epochs=2)) for _ in range(2))
    assert one.losses == two.losses and one.accuracies == two.accuracies and (one.map == two.map).all()
    assert train("moons", Settings(epochs=2, seed=1)).losses != one.losses


def test_the_surroundings_stay_as_they_were():
    torch.set_num_threads(2)
    torch.manual_seed(3)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    with torch.no_grad():  # a caller's gradient mode must not stop the training, nor be changed by it
        assert train("moons", Settings(epochs=1)).losses
        assert not torch.is_grad_enabled()
    assert torch.equal(torch.get_rng_state(), before) and torch.get_num_threads() == threads


@pytest.mark.parametrize("task, least", [("moons", 0.9), ("spirals", 0.9), ("digits", 0.8)])
def test_the_starting_settings_learn_each_task(task, least):
    trial = train(task, Settings())
    assert trial.accuracies[-1] > least and not trial.diverged
    assert len(trial.losses) == 20 and (trial.map is None) == (task == "digits")


def test_too_high_a_rate_diverges_stops_early_and_says_so():
    trial = train("moons", Settings(lr=1e4, momentum=0.0))
    assert trial.diverged and len(trial.losses) < 20
    assert "diverged: the loss was no number any more in epoch" in str(trial)


def test_the_verdicts():
    def verdict(loss, accuracy, classes=2):
        return Trial(Settings(), (loss,), (accuracy,), 1.0, classes).verdict

    assert verdict(0.01, 0.99) == "learned it"
    assert verdict(0.5, 0.8) == "learned part of it"
    assert verdict(0.69, 0.5) == "learned next to nothing: guessing gives 50%"
    assert verdict(9.0, 0.5).startswith("diverged: the loss ended at 9.00, far above 0.693")
    assert verdict(math.nan, 0.1, 10).startswith("diverged")


def test_an_interruption_ends_in_a_trial_that_says_so(monkeypatch):
    def stop(epoch):
        if epoch == 2:
            raise KeyboardInterrupt

    threads = torch.get_num_threads()
    trial = train("moons", Settings(), stop)
    assert trial.interrupted and len(trial.losses) == len(trial.accuracies) == 2
    assert trial.verdict.endswith("interrupted after epoch 2") and torch.get_num_threads() == threads


@pytest.mark.parametrize(
    "wrong",
    [{"lr": 0}, {"lr": math.nan}, {"momentum": 1.0}, {"batch_size": 0}, {"width": 2.5}, {"epochs": -1}, {"colour": 3}],
)
def test_settings_that_make_no_sense_are_told(wrong):
    with pytest.raises(LabkitError):
        settings(Settings(), wrong)


def test_a_training_that_would_take_minutes_is_refused_and_so_is_an_unknown_task():
    with pytest.raises(LabkitError, match="too long"):
        train("digits", Settings(batch_size=1, epochs=40))
    with pytest.raises(LabkitError, match="no task"):
        points("imagenet")


def test_training_and_test_points_are_apart():
    for task in trials.TASKS:
        inputs, _, test, _ = points(task)
        seen = {tuple(row) for row in inputs.tolist()}
        assert not any(tuple(row) in seen for row in test.tolist()), task
