"""Every combination of data set, noise model, calibration, mechanism and measure draws its points or offers them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from page_figures import drawn, numbers, traces

from obmc.experiments import MEASURES
from obmc.experiments.jobs import JobRunner
from obmc.experiments.outcomes import Outcome
from obmc.offers import CALIBRATIONS, OFFERS
from obmc.plan import Plan, curves_of, metrics_for
from obmc.single import Setting
from pages.parts import controls

OFFERED = [offer for offer in OFFERS.values() if offer.key != "clear"]
EPSILONS = (1.0, 10.0)
ADDRESS = {"points": "2", "draws": "3"}
PAIRS = list(product(controls.DATA.titles, controls.NOISE.titles))


def keep(runner: JobRunner, plan: Plan, labels: set[str]) -> tuple[dict[tuple[str, float], float], int]:
    """Stand-ins for the results of these curves: the value of each at each epsilon, and how many runs they are."""
    values: dict[tuple[str, float], float] = {}
    kept = []
    for sweep in plan.sweeps:
        for point in sweep.points():
            label = plan.label(point.spec.name, point.spec.calibration, point.spec.options_text)
            if label in labels:
                value = values.setdefault((label, point.epsilon), 0.3 + 0.01 * len(values))
                kept.append((point, Outcome(dict.fromkeys(plan.metrics, value), 0.0, 0.0, 1.0, 1.0, 0.1)))
    runner.store.keep(kept)
    return values, len(kept)


@pytest.mark.data
@pytest.mark.parametrize(("data", "noise"), PAIRS)
def test_every_mechanism_is_drawn_where_it_has_points_and_offered_where_it_has_none(open_page, runner, data, noise):
    at = open_page(settle=False, data=data, noise=noise, **ADDRESS)
    at.select_slider(key="range").set_value((EPSILONS[0], EPSILONS[-1]))
    at.pills(key="mechs").set_value([offer.label for offer in OFFERED])
    for place, (calibration, metric) in enumerate(product(CALIBRATIONS, metrics_for(data))):
        case = f"{data}, {noise}, {calibration}, {metric}"
        # With a seed of its own each time, so that nothing is there before.
        setting = Setting(data=data, noise=noise, seed=place)
        plan = Plan(setting, curves_of(OFFERED, (calibration,)), EPSILONS, 3, metric)
        # Other curves have points each time, and every curve is once with and once without.
        values, count = keep(runner, plan, {curve.label for curve in plan.private[place % 2 :: 2]})
        at.number_input(key="seed").set_value(place)
        at.radio(key="cal").set_value(controls.CALIBRATION.titles[calibration])
        at.selectbox(key="metric").set_value(MEASURES[metric].label).run()
        assert not at.exception and not at.error, case
        shown = traces(drawn(at)["trade-off"])
        for curve in plan.private:
            expected = [value for (label, _), value in values.items() if label == curve.label]
            if expected:
                np.testing.assert_allclose(numbers(shown[curve.label]["x"]), EPSILONS, err_msg=case)
                np.testing.assert_allclose(numbers(shown[curve.label]["y"]), expected, err_msg=case)
            else:
                assert curve.label not in shown, case
        there = [caption.value for caption in at.caption if "runs behind this chart are there" in caption.value]
        assert there and there[0].startswith(f"{count:,} of the {plan.runs:,} runs"), case
