"""Every preset opens with all its points."""

from __future__ import annotations

import numpy as np
import pytest
from page_figures import drawn, numbers, traces

from obmc.experiments import figures, look_up
from obmc.experiments.outcomes import Outcome
from obmc.plan import metrics_for
from obmc.presets import PRESETS, RATIO_PRESETS
from obmc.summary import as_frame, summarise


@pytest.mark.parametrize("key", PRESETS)
def test_every_preset_of_the_trade_off_shows_all_its_points(open_page, runner, key):
    preset = PRESETS[key]
    kept(runner, preset)
    at = open_page(settle=False)
    at.selectbox(key="preset").set_value(preset.title).run()
    assert not at.exception and at.selectbox(key="preset").value == preset.title
    assert not any(button.key == "compute" for button in at.button)
    chart = traces(drawn(at)["trade-off"])
    metric = metrics_for(preset.data)[0]
    rows = as_frame(row for sweep in preset.plan.sweeps for row in rows_of(sweep, runner))
    expected = summarise(rows[rows["metric"] == metric])
    for curve in preset.plan.private:
        spec = curve.spec
        mine = expected[
            (expected["mechanism"] == spec.name)
            & (expected["calibration"] == spec.calibration)
            & (expected["options"] == spec.options_text)
        ].sort_values("epsilon")
        np.testing.assert_allclose(numbers(chart[curve.label]["x"]), preset.plan.epsilons)
        np.testing.assert_allclose(numbers(chart[curve.label]["y"]), mine["mean"])


@pytest.mark.parametrize("key", RATIO_PRESETS)
def test_every_preset_of_the_ratio_shows_all_its_points(open_page, runner, key):
    preset = RATIO_PRESETS[key]
    kept(runner, preset)
    at = open_page("observation_ratio.py", settle=False)
    at.selectbox(key="preset").set_value(preset.title).run()
    assert not at.exception and at.selectbox(key="preset").value == preset.title
    assert not any(button.key == "compute" for button in at.button)
    chart = traces(drawn(at)["observation-ratio"])
    for curve in preset.plan.private:
        np.testing.assert_allclose(numbers(chart[curve.label]["x"]), preset.plan.ratios)


def kept(runner, preset) -> None:
    """Stand-ins for the shipped results of a preset: a value of its own for every run."""
    shipped = [point for sweep in figures.find_figure(preset.figure).parts.values() for point in sweep.points()]
    metrics = preset.plan.metrics
    runner.store.keep(
        [
            (point, Outcome(dict.fromkeys(metrics, 0.2 + 0.6 * place / len(shipped)), 0.0, 0.0, 1.0, 1.0, 0.1))
            for place, point in enumerate(shipped)
        ]
    )


def rows_of(sweep, runner):
    return look_up(sweep, runner.store).rows
