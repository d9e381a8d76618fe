"""Probes of tables, programs and indexes: another subject (wheels for Windows, an option that exists), another answer."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from labkit.catalog import gfx, links, peaks, wheels
from labkit.catalog.claims import THEMES as ALL_THEMES
from labkit.folklore import child
from labkit.folklore.observation import Observation
from labkit.folklore.probes import (
    bandwidth,
    misconceptions,
    monitoring,
    multi_gpu,
    ubuntu,
    variables,
    windows,
)
from labkit.folklore.probes import wheels as wheel_probes
from labkit.machine.probes.commands import Answer
from tests.folklore.turning import Patch, Turned, says

THEMES = set(ALL_THEMES) - {"verification", "training", "memory", "precision"}
turned = Turned()


def targets(patch: Patch, **changes: Any) -> None:
    patch.setattr(gfx, "TARGETS", {name: replace(row, **changes) for name, row in gfx.TARGETS.items()})


def channel(patch: Patch, name: str, **changes: Any) -> None:
    patch.setitem(wheels.CHANNELS, name, replace(wheels.CHANNELS[name], **changes))


def of_version(patch: Patch, torch_version: str, *indexes: str) -> None:
    rows = [replace(row, indexes=indexes) if row.torch == torch_version else row for row in wheels.TORCH_INDEXES]
    patch.setattr(wheels, "TORCH_INDEXES", tuple(rows))


# windows, ubuntu


@turned("1.3", "holds")
def no_index_with_windows(patch: Patch) -> Observation:
    channel(patch, "amd", systems=("linux",))
    channel(patch, "amd-multi-arch", systems=("linux",))
    return windows.windows_wheels_exist()


@turned("1.7", "holds")
def instinct_under_windows(patch: Patch) -> Observation:
    targets(patch, amd_windows=True)
    return windows.instinct_on_windows()


@turned("1.10", "holds")
def import_fails_without_a_compiler(patch: Patch) -> Observation:
    fails, works = Answer("ImportError: no compiler", 1), Answer("found: ['git'] product: 60.0", 0)
    patch.setattr(child, "python", lambda *arguments, environment=None: fails if environment else works)
    return windows.torch_without_compiler()


@turned("2.6", "holds")
def lspci_with_one_card(patch: Patch) -> Observation:
    line = (
        "03:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] Navi 21 [Radeon RX 6800] (rev c1)\n"
    )
    return ubuntu.lspci_names_a_family(line)


@turned("2.34", "holds")
def a_quoted_star_that_leaves_nothing(patch: Patch) -> Observation:
    says(patch, "purge rocm-*", which="tool")
    patch.setattr(ubuntu, "_PACKAGES", ("rocm-core", "rocm-hip-sdk"))
    patch.setattr("shutil.which", lambda name: name)
    return ubuntu.star_in_the_shell()


@turned("2.9", "holds")
def apt_key_without_a_warning(patch: Patch) -> Observation:
    says(patch, "/etc/apt/trusted.gpg", which="tool")
    patch.setattr("shutil.which", lambda name: name)
    return ubuntu.apt_key_is_deprecated()


# wheels


@turned("1.9", "holds")
def old_pythons(patch: Patch) -> Observation:
    channel(patch, "pytorch-rocm", pythons=(8, 11))
    return wheel_probes.python_versions(requires=">=3.8")


@turned("1.15", "holds")
def windows_wheels_at_pytorch(patch: Patch) -> Observation:
    channel(patch, "pytorch-rocm", systems=("linux", "windows"))
    return wheel_probes.windows_from_pytorch_index()


@turned("1.16", "holds")
def rocm61_has_the_newest(patch: Patch) -> Observation:
    newest = [row.torch for row in wheels.TORCH_INDEXES if row.established][-1]
    of_version(patch, newest, "rocm6.1")
    return wheel_probes.last_torch_of_rocm61()


@turned("1.48", "holds")
def rocm60_in_use(patch: Patch) -> Observation:
    patch.setattr(wheels, "usable_rocm_indexes", lambda: ("rocm6.1", "rocm6.0"))
    return wheel_probes.indexes_in_use()


@turned("2.15", "holds")
def nothing_newer_elsewhere(patch: Patch) -> Observation:
    return wheel_probes.extra_index_chooses(elsewhere="1.13.0")


@turned("2.33", "holds")
def only_rocm_54(patch: Patch) -> Observation:
    of_version(patch, "2.0", "rocm5.4.2")
    return wheel_probes.rocm_of_torch_20()


# variables


@turned("1.18", "holds")
def a_card_that_no_wheel_knows(patch: Patch) -> Observation:
    row = replace(gfx.TARGETS["gfx1032"], pytorch_indexes=(), amd_extra=False)
    patch.setattr(gfx, "by_product", lambda name: row)
    return variables.override_for_7900xtx("Radeon RX 6600", "10.3.0")


@turned("2.32", "holds")
def the_same_for_the_other_card(patch: Patch) -> Observation:
    row = replace(gfx.TARGETS["gfx1031"], pytorch_indexes=(), amd_extra=False)
    patch.setattr(gfx, "by_product", lambda name: row)
    return variables.override_for_6800("Radeon RX 6700 XT", "10.3.0")


@turned("1.44", "holds")
def no_wheel_for_any(patch: Patch) -> Observation:
    targets(patch, pytorch_indexes=(), amd_extra=False)
    return variables.override_as_solution()


@turned("1.39", "holds")
def only_the_hip_name_is_read(patch: Patch) -> Observation:
    patch.setattr(child, "apart", lambda function, environment: environment.get("PYTORCH_HIP_ALLOC_CONF", ""))
    return variables.allocator_names_and_order()


@turned("1.40", "fails")
def a_value_out_of_range(patch: Patch) -> Observation:
    return variables.allocator_keys("garbage_collection_threshold:0.6,max_split_size_mb:2")


# monitoring, misconceptions


@turned("1.47", "holds")
def a_module_that_runs_the_script(patch: Patch) -> Observation:
    says(patch, "the script ran\n", 0)
    return monitoring.bottleneck_module()


@turned("1.50", "holds")
def a_program_with_the_option(patch: Patch) -> Observation:
    says(patch, "usage: rocm-smi [--monitor]\n  --monitor  refresh\n  -i SECONDS\n", which="tool")
    return monitoring.rocm_smi_options()


@turned("2.36", "holds")
def a_rocprof_without_a_word(patch: Patch) -> Observation:
    says(patch, "ROCm version 6.0\n", which="tool")
    patch.setattr("shutil.which", lambda name: name)
    return monitoring.rocprof_is_followed()


@turned("1.2", "holds")
def no_consumer_target_in_any_wheel(patch: Patch) -> Observation:
    targets(patch, pytorch_indexes=(), amd_extra=False)
    return misconceptions.consumer_targets_in_wheels()


@turned("1.4", "holds")
def all_share_memory(patch: Patch) -> Observation:
    targets(patch, integrated=True)
    return misconceptions.who_shares_memory()


@turned("1.43", "holds")
def all_in_the_wheels_of_60(patch: Patch) -> Observation:
    targets(patch, pytorch_indexes=("rocm6.0",))
    return misconceptions.consumer_targets_in_rocm60()


@turned("1.54", "holds")
def a_translator_with_nothing_to_do(patch: Patch) -> Observation:
    from torch.utils.hipify import hipify_python

    patch.setattr(hipify_python, "RE_PYTORCH_PREPROCESSOR", re.compile("nothing of this kind"))
    return misconceptions.source_is_translated()


@turned("2.1", "holds")
def no_index_for_rocm(patch: Patch) -> Observation:
    patch.setattr(wheels, "TORCH_INDEXES", tuple(replace(row, indexes=()) for row in wheels.TORCH_INDEXES))
    return misconceptions.torch_knows_rocm()


# several GPUs, bandwidth


@turned("1.32", "holds")
def one_rank_that_sends(patch: Patch) -> Observation:
    patch.setattr(multi_gpu, "busbw_factor", lambda collective, ranks: 1.0)
    return multi_gpu.one_gpu_moves_nothing()


@turned("1.33", "holds")
def a_second_is_enough(patch: Patch) -> Observation:
    return multi_gpu.eight_gigabytes_in_ten_ms(seconds=1.0)


@turned("1.35", "holds")
def large_batches_only(patch: Patch) -> Observation:
    return multi_gpu.efficiency_needs_conditions(batches=(512, 4096))


@turned("1.30", "holds")
def a_figure_that_links_can_carry(patch: Patch) -> Observation:
    return bandwidth.peak_against_links(figure_gbs=316.6)


@turned("1.34", "holds")
def a_figure_below_both(patch: Patch) -> Observation:
    return bandwidth.two_cards_on_pcie(figure_gbs=20.0)


@turned("1.36", "holds")
def a_roof_that_only_slopes(patch: Patch) -> Observation:
    rows = tuple(replace(row, ridge_fp32_flop_per_byte=1e6, ridge_fp16_flop_per_byte=1e6) for row in peaks.PEAKS)
    patch.setattr(peaks, "PEAKS", rows)
    return bandwidth.both_sides_of_the_ridge()


@turned("1.37", "holds")
def a_picture_without_a_step(patch: Patch) -> Observation:
    return bandwidth.diagonal_is_memory(replace(links.matrices()[0], link_high_gbps=180.0, local_low_gbps=190.0))


@turned("1.38", "holds")
def an_option_of_one_letter(patch: Patch) -> Observation:
    return bandwidth.short_options_only("-A")


@turned("1.41", "holds")
def options_that_speed_up(patch: Patch) -> Observation:
    patch.setattr(child, "python", lambda *a, environment: Answer("130.0" if environment else "100.0"))
    return bandwidth.copy_with_allocator_options()


@pytest.mark.parametrize("claim", sorted(turned))
def test_another_subject_another_answer(claim: str, monkeypatch: Patch) -> None:
    turned.looks_different(claim, monkeypatch)


def test_every_probe_of_these_themes_that_runs_on_a_cpu_is_turned_round() -> None:
    turned.has_all_of(THEMES)
