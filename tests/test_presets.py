"""Every preset is a chart whose points are among those of the shipped sweeps, so that it opens finished."""

from __future__ import annotations

import dataclasses

import pytest

from obmc.experiments.figures import find_figure
from obmc.plan import Plan
from obmc.presets import PRESETS, RATIO_PRESETS, Preset, find_preset

ALL = [*PRESETS.values(), *RATIO_PRESETS.values()]


@pytest.mark.parametrize("preset", ALL, ids=lambda preset: preset.key)
def test_every_point_is_one_of_the_shipped_sweeps(preset: Preset) -> None:
    shipped = {
        point.key: sweep.metrics for sweep in find_figure(preset.figure).parts.values() for point in sweep.points()
    }
    for sweep in preset.plan.sweeps:
        for point in sweep.points():
            assert set(sweep.metrics) <= set(shipped[point.key]), (point.spec.label, point.epsilon)


@pytest.mark.parametrize("preset", ALL, ids=lambda preset: preset.key)
def test_a_preset_is_recognised_whatever_its_measure(preset: Preset) -> None:
    plan = preset.plan
    assert find_preset(plan) is preset
    assert find_preset(dataclasses.replace(plan, metric="sign_accuracy")) is preset
    assert find_preset(dataclasses.replace(plan, repetitions=plan.repetitions + 1)) is None


def test_charts_without_a_choice_are_refused() -> None:
    plan = PRESETS["proven"].plan
    with pytest.raises(ValueError, match="Choose at least one mechanism"):
        dataclasses.replace(plan, curves=())
    with pytest.raises(ValueError, match="metric must be one of"):
        Plan(PRESETS["figure-3"].plan.setting, plan.curves, plan.epsilons, 3, "are")
