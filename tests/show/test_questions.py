"""Asking a snapshot: look-ups that a person can read, for whole, empty and odd snapshots."""

from __future__ import annotations

import pytest

from labkit.errors import LabkitError
from labkit.machine import simulate
from labkit.show.questions import ask, topics


def test_plain_topics_read_as_sentences_would() -> None:
    made = simulate.snapshot("user_not_in_render_group")
    assert ask(made, "groups") == "groups: user"
    assert "/dev/kfd  crw-rw---- root:render  this user may not open it (Permission denied)" in ask(made, "devices")
    assert ask(made, "environment") == "environment: nothing"
    assert ask(made, "torch.cuda") == "torch.cuda: nothing"
    assert ask(made, "torch.version").startswith("torch.version: 2.")


def test_several_topics_come_in_the_order_asked() -> None:
    lines = ask(simulate.snapshot("rx6600"), "groups", "modules").splitlines()
    assert lines == ["groups: render, user, video", "modules: amdgpu = live"]


def test_the_topology_is_cut_to_what_tells_a_gpu() -> None:
    told = ask(simulate.snapshot("rx7600"), "kfd")
    assert "node 1: simd_count 64, gfx_target_version 110002" in told and "lds_size" not in told


def test_texts_of_tools_are_topics_too_and_are_cut_when_long() -> None:
    made = simulate.snapshot("mi300x_x8")
    assert "rocminfo" in topics(made)
    told = ask(made, "rocminfo").splitlines()
    assert len(told) < 30 and told[-1].strip().startswith("… ") and told[-1].endswith("more lines")


def test_long_lines_are_wrapped_and_set_in() -> None:
    told = ask(simulate.snapshot("rx7900xtx"), "torch").splitlines()
    assert max(map(len, told)) <= 100
    assert any(line.startswith(" " * 8) and "gfx1201" in line for line in told)


def test_nothing_that_the_simulation_knows_of_itself_is_a_topic() -> None:
    made = simulate.snapshot("wheel_without_target_rx6600")
    assert not [name for name in topics(made) if name.startswith("simulated") or name in ("symptom", "tools")]
    assert "arch-not-in-wheel" not in "".join(ask(made, name) for name in topics(made))


@pytest.mark.parametrize("asked", ["gpu", "torch.nothing", "groups.first", ""])
def test_a_topic_that_is_not_there_is_told_with_those_that_are(asked: str) -> None:
    with pytest.raises(LabkitError) as error:
        ask(simulate.snapshot("rx6600"), asked)
    assert "groups" in error.value.remedy


def test_without_a_topic_it_lists_them() -> None:
    assert "groups" in ask({"groups": []}) and "kernel" not in ask({"groups": []})


def test_odd_values_do_not_stop_it() -> None:
    odd = {
        "devices": {"/dev/kfd": None},
        "kfd": {"0": ""},
        "pci": [{"vendor": "1002"}],
        "torch": None,
        "groups": ["", None],
    }
    for name in topics(odd):
        assert ask(odd, name)
