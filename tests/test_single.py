"""A single run is one of the draws of a sweep, and says so in the same numbers."""

from __future__ import annotations

import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from obmc.experiments import run as run_sweep
from obmc.experiments.mechanisms import MechanismSpec
from obmc.offers import OFFERS
from obmc.single import Setting, find_problem, run

SMALL = Setting(size=20, ratio=0.6, epsilon=4.0)


@pytest.mark.parametrize("key", OFFERS)
def test_a_run_is_the_first_draw_of_a_sweep(key):
    spec = OFFERS[key].spec("rigorous")
    setting = Setting(size=20, ratio=0.6, epsilon=4.0, mechanism=spec, seed=3)
    with ThreadPoolExecutor(1) as executor:
        rows = list(run_sweep(setting.sweep((spec,), (4.0,), 2), executor))
    first = next(row for row in rows if row["repetition"] == 0)
    assert run(setting).score == first["value"]


def test_a_run_and_its_setting_go_between_processes():
    found = pickle.loads(pickle.dumps(run(SMALL)))
    assert found.setting == SMALL
    np.testing.assert_array_equal(found.estimate, run(SMALL).estimate)


def test_clear_is_one_setting_for_all_mechanisms():
    others = {Setting(mechanism=OFFERS[key].spec("paper"), epsilon=eps).clear() for key in OFFERS for eps in (1.0, 2.0)}
    assert others == {Setting()}


def test_the_radius_multiplies_the_paper_s():
    for radius in (0.05, 0.5, 2.0):
        point = Setting(size=50, rank=4, alpha=2.0, radius=radius).point
        assert point.settings.tau == pytest.approx(radius * 2.0 * math.sqrt(4 * 50 * 50))


def test_the_guarantee_is_the_mechanism_s_and_a_simulation():
    guarantee = Setting(mechanism=MechanismSpec("InP"), epsilon=2.0).guarantee
    assert guarantee.epsilon == 2.0 and guarantee.simulated and guarantee.holds
    clear = Setting().guarantee
    assert clear.epsilon == math.inf and not clear.simulated


def test_a_problem_of_one_class_is_refused():
    refused = []
    for seed in range(40):
        setting = Setting(size=20, ratio=0.01, seed=seed)
        try:
            assert 0.0 < find_problem(setting).train.positive_share < 1.0
        except ValueError as error:
            refused.append(str(error))
    assert any("same sign" in text for text in refused)


@pytest.mark.data
def test_likes_are_not_among_the_rated_and_best_first():
    setting = Setting(data="rc")
    problem = find_problem(setting)
    found = run(setting)
    table = found.likes(4, problem, 10)
    assert list(table["probability"]) == sorted(table["probability"], reverse=True)
    assert (table["probability"] >= 0.5).all()
    assert problem.baseline == pytest.approx(max(np.mean(problem.test.signs == 1), np.mean(problem.test.signs == -1)))
