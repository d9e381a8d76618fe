import pytest

from labkit.errors import LabkitError
from labkit.show import Playground, playground
from labkit.show.trials import Settings, Trial, train


@pytest.fixture
def quick(monkeypatch):
    """How often a training was really made; each takes one epoch."""
    made = []

    def kept(task, chosen):
        made.append(chosen)
        trial = train(task, Settings(chosen.lr, chosen.batch_size, chosen.momentum, chosen.width, 1))
        return Trial(chosen, trial.losses, trial.accuracies, trial.seconds, trial.classes, False, trial.map)

    monkeypatch.setattr(playground, "train", kept)
    return made


def parts(play):
    rows, buttons, status, panel = play.widget.children
    return (*rows.children, *buttons.children, status, panel)


def test_in_text_form_a_run_returns_a_trial_and_the_table_lists_all(quick):
    play = Playground("moons")
    assert str(play) == "Playground: two moons, made-up points: no run yet"
    trial = play.run(lr=0.01)
    assert trial.settings.lr == 0.01 and trial.settings.batch_size == 32
    play.run(lr=1e6)
    lines = play.table().splitlines()
    assert lines[1].split()[:3] == ["run", "lr", "momentum"] and len(lines) == 4
    assert "diverged" in lines[3]


def test_the_same_settings_are_not_trained_twice(quick):
    play = Playground()
    first = play.run(lr=0.01)
    play.run(lr=0.1)
    assert play.run(lr=0.01) is first and len(quick) == 2 and len(play.trials) == 2
    assert "Where run 1 answers" in play.show()


def test_the_button_trains_with_what_the_controls_say_and_many_clicks_cost_one_training(quick):
    play = Playground("spirals")
    lr, momentum, batch, width, epochs, button, forget, status, panel = parts(play)
    lr.value, momentum.value, batch.value, width.value, epochs.value = 0.3, 0.5, 64, 8, 7
    for _ in range(5):
        button.click()
    assert quick == [Settings(0.3, 64, 0.5, 8, 7)] and len(play.trials) == 1
    assert "Same settings, same result" in status.value and not button.disabled
    assert "<svg" in panel.value and "Where run 1 answers which class" in panel.value
    forget.click()
    assert play.trials == [] and "No run yet" in panel.value


def test_a_failure_in_the_training_is_said_and_the_button_comes_back(monkeypatch):
    play = Playground()
    *_, button, _, status, _ = parts(play)

    def fails(*_):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(playground, "train", fails)
    button.click()
    assert "Problem:" in status.value and "RuntimeError: out of luck" in status.value and not button.disabled


def test_an_interrupted_training_is_kept_and_may_be_made_again(monkeypatch):
    def interrupted(task, chosen):
        return Trial(chosen, (0.5,), (0.7,), 0.1, 2, interrupted=True)

    monkeypatch.setattr(playground, "train", interrupted)
    play = Playground()
    *_, button, _, status, panel = parts(play)
    button.click()
    assert "interrupted after epoch 1" in status.value and "interrupted after epoch 1" in panel.value
    button.click()
    assert len(play.trials) == 2


def test_an_interruption_outside_the_training_ends_in_words_too(monkeypatch):
    play = Playground()
    *_, button, _, status, _ = parts(play)

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(playground, "train", stop)
    button.click()
    assert "Interrupted" in status.value and not button.disabled


def test_only_the_last_runs_are_drawn_each_with_its_number(quick):
    play = Playground()
    for k in range(1, 9):
        play.run(lr=k / 100)
    picture = play.picture
    assert len(picture.values) == 6 and len(picture.axes[0].get_lines()) == 6
    assert len({(line.get_color(), str(line.get_marker())) for line in picture.axes[0].get_lines()}) == 6
    assert ">8</text>" in play.show() and ">2</text>" not in play.show()
    picture.png()
    assert len(play.table().splitlines()) == 10


def test_a_run_that_diverged_does_not_flatten_the_others(quick):
    play = Playground()
    play.run()
    top = play.picture.axes[0].get_ylim()[1]
    play.run(lr=300.0)
    assert play.picture.axes[0].get_ylim()[1] <= max(top, 1.7 * 0.6931)
    assert "NaN" not in play.show() and "nan," not in play.show()


def test_a_starting_setting_of_one_s_own_is_among_the_choices_and_nonsense_is_told():
    play = Playground("digits", lr=0.07, batch_size=50, epochs=60)
    lr, _, batch, _, epochs, *_ = parts(play)
    assert (lr.value, batch.value, epochs.value) == (0.07, 50, 60)
    with pytest.raises(LabkitError, match="no task"):
        Playground("cifar")
    with pytest.raises(LabkitError, match="no setting"):
        play.run(learning_rate=1)
