"""Every preset is a chart whose points are among those of the figures, and what of them is shipped."""

from __future__ import annotations

import dataclasses

import pytest

from obmc.experiments.figures import find_figure, shipped_store
from obmc.plan import Plan
from obmc.presets import PRESETS, RATIO_PRESETS, Preset, find_preset
from obmc.privacy.guarantee import number

ALL = [*PRESETS.values(), *RATIO_PRESETS.values()]


@pytest.mark.parametrize("preset", ALL, ids=lambda preset: preset.key)
def test_every_point_is_one_of_a_figure(preset: Preset) -> None:
    known = {
        point.key: sweep.metrics for sweep in find_figure(preset.figure).parts.values() for point in sweep.points()
    }
    for sweep in preset.plan.sweeps:
        for point in sweep.points():
            assert set(sweep.metrics) <= set(known[point.key]), (point.spec.label, point.epsilon)


@pytest.mark.parametrize("preset", ALL, ids=lambda preset: preset.key)
def test_a_preset_is_recognised_whatever_its_measure(preset: Preset) -> None:
    plan = preset.plan
    assert find_preset(plan) is preset
    assert find_preset(dataclasses.replace(plan, metric="sign_accuracy")) is preset
    assert find_preset(dataclasses.replace(plan, repetitions=plan.repetitions + 1)) is None


@pytest.mark.parametrize("preset", ALL, ids=lambda preset: preset.key)
def test_a_preset_opens_on_finished_runs_save_for_what_takes_longest(preset: Preset) -> None:
    plan = preset.plan
    points = [point for sweep in plan.sweeps for point in sweep.points()]
    found = shipped_store().find(points)
    # The rigorous GraP takes minutes a run on ML-100K.
    unfinished = {"GraP"} if preset.key == "beyond" else set()
    assert set(plan.names_of(point for point in points if point not in found)) <= unfinished
    assert set(plan.names_of(points)) - set(plan.names_of(found)) <= unfinished


@pytest.mark.parametrize("preset", ALL, ids=lambda preset: preset.key)
def test_what_is_said_of_a_preset_names_the_delta_of_its_guarantees(preset: Preset) -> None:
    plan = preset.plan
    for curve in plan.private:
        delta = plan.guarantee(curve, 1.0).delta
        if delta > 0.0:
            said = preset.about.replace(" has a", "").replace("delta of", "delta =")
            assert curve.offer.label in said and f"delta = {number(delta)}" in said
    assert "odds" not in preset.about


def test_charts_without_a_choice_are_refused() -> None:
    plan = PRESETS["proven"].plan
    with pytest.raises(ValueError, match="Choose at least one mechanism"):
        dataclasses.replace(plan, curves=())
    with pytest.raises(ValueError, match="metric must be one of"):
        Plan(PRESETS["figure-3"].plan.setting, plan.curves, plan.epsilons, 3, "are")
