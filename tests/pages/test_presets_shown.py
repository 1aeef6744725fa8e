"""Every preset opens with all its points that are shipped, and names the mechanisms of the others."""

from __future__ import annotations

import numpy as np
import pytest
from page_figures import drawn, numbers, traces

from obmc.experiments import look_up
from obmc.experiments.figures import shipped_store
from obmc.plan import metrics_for
from obmc.presets import PRESETS, RATIO_PRESETS
from obmc.summary import as_frame, summarise

# Before any test puts its own in their place.
SHIPPED = shipped_store()


@pytest.mark.parametrize("key", PRESETS)
def test_every_preset_of_the_trade_off_shows_all_its_points(open_page, runner, key):
    preset = PRESETS[key]
    missing = kept(runner, preset)
    at = open_page(settle=False)
    at.selectbox(key="preset").set_value(preset.title).run()
    assert not at.exception and at.selectbox(key="preset").value == preset.title
    assert says_what_is_missing(at, missing)
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
        if curve.label not in missing:
            np.testing.assert_allclose(numbers(chart[curve.label]["x"]), preset.plan.epsilons)
            np.testing.assert_allclose(numbers(chart[curve.label]["y"]), mine["mean"])


@pytest.mark.parametrize("key", RATIO_PRESETS)
def test_every_preset_of_the_ratio_shows_all_its_points(open_page, runner, key):
    preset = RATIO_PRESETS[key]
    missing = kept(runner, preset)
    at = open_page("observation_ratio.py", settle=False)
    at.selectbox(key="preset").set_value(preset.title).run()
    assert not at.exception and at.selectbox(key="preset").value == preset.title
    assert says_what_is_missing(at, missing)
    chart = traces(drawn(at)["observation-ratio"])
    for curve in preset.plan.private:
        np.testing.assert_allclose(numbers(chart[curve.label]["x"]), preset.plan.ratios)


def kept(runner, preset) -> list[str]:
    """Keep the shipped results of a preset; the mechanisms that have not all of theirs."""
    points = [point for sweep in preset.plan.sweeps for point in sweep.points()]
    found = SHIPPED.find(points)
    runner.store.keep(list(found.items()))
    return preset.plan.names_of(point for point in points if point not in found)


def says_what_is_missing(at, missing) -> bool:
    # Where the data are not on this machine, the page offers to get them in place of computing.
    said = [place.value for place in [*at.caption, *at.info] if "runs behind this chart are there" in place.value]
    offered = any(button.key == "compute" for button in at.button)
    if not missing:
        return not said and not offered
    named = bool(said) and f"Not complete: {', '.join(missing)}." in said[0]
    return named and (offered or "the data have to be on this machine" in said[0])


def rows_of(sweep, runner):
    return look_up(sweep, runner.store).rows
