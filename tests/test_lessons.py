"""The numbers of the lessons are those of theory, and each solution is computed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from obmc import lessons

EXPECTED = {
    "odds": {
        "odds_1": 2.8,
        "odds_4": 54.6,
        "odds_10": 22_027.0,
        "posterior_1": 0.7311,
        "posterior_4": 0.9820,
        "rare": 0.0267,
    },
    "game": {"flip": 0.2689, "ceiling": 0.7311, "low": 0.5090, "high": 0.9134},
    "bridge": {"bound": 5.99, "multiplier": 199.6, "theory": 200.0, "moved": 200.0},
    "one-entry": {"claimed": 1.0, "bound": 0.771, "exact": 1.0},
    "users": {
        "pure_median": 65.0,
        "exact_median": 56.53,
        "exact_most": 439.3,
        "sweep": 550.0,
        "rating_epsilon": 0.061,
    },
    "noises": {"flipped_1": 0.9207, "laplace_1": 2.0, "ratio_1": 2.172, "ratio_4": 6.577, "ratio_10": 440.5},
    "two-probabilities": {"accepted": 1.0, "times": 60.0, "true": 4.0943, "never": math.inf},
    "displayed": {"bound": 1.859, "exact": 2.0, "kept_exact": 1.0},
    "rare-events": {"theory": 2.0211, "few": 0.0, "false_below": 1.927, "proven_from": 2.207},
    "looks": {"laplace": 14.142, "gaussian": 11.797, "one": 1.4142, "worse": 3.1623},
    "bounds": {"explicit": 5.253, "explicit_inp": 11.37, "trivial": 4.0, "explicit_dense": 2.275, "beta_true": 28.90},
}


def test_every_exercise_has_its_numbers_checked():
    assert set(EXPECTED) == set(lessons.SOLUTIONS)


@pytest.mark.parametrize("key", list(EXPECTED))
def test_solutions(key):
    found = lessons.solve(key)
    for name, value in EXPECTED[key].items():
        assert found[name] == pytest.approx(value, rel=2e-3), name
    if "bound" in found:
        truth = found.get("theory", found.get("exact", math.inf))
        assert 0.0 < found["bound"] <= truth


def test_measured_errors_are_far_below_the_bound():
    found = {row.label: row for row in lessons.in_sample(draws=2)}
    assert list(found) == ["Clear", "InP", "ObjP"]
    assert [row.explicit for row in found.values()] == pytest.approx([5.25, 11.4, 15.8], rel=1e-2)
    for row in found.values():
        assert row.measured.draws == 2
        assert 0.1 < row.measured.value < 1.0 < row.trivial < row.explicit


class TestFormulas:
    def test_a_belief_grows_by_the_odds(self):
        for epsilon, prior in ((1.0, 0.5), (0.3, 0.1), (3.0, 0.9)):
            after = lessons.posterior(epsilon, prior)
            assert after / (1 - after) == pytest.approx(math.exp(epsilon) * prior / (1 - prior))
        epsilons, beliefs = lessons.posteriors(0.5)
        assert np.all(np.diff(beliefs) > 0)
        assert beliefs[0] == pytest.approx(lessons.posterior(float(epsilons[0]), 0.5))

    def test_flipping_is_always_less_noise_than_laplace(self):
        epsilons, flipped, laplace = lessons.variances()
        assert len(epsilons) == len(flipped) == len(laplace)
        assert np.all(flipped < laplace)

    def test_users(self):
        table = lessons.user_table(1.0)
        assert table["pure"] == [1.0, 20.0, 65.0, 106.0, 737.0]
        assert table["exact"][2] == pytest.approx(56.53, abs=5e-3)
        assert all(exact <= pure for exact, pure in zip(table["exact"], table["pure"], strict=True))

    def test_the_ledger_adds_up(self):
        ledger = lessons.ledger_of([1.0, 0.5])
        assert ledger.epsilon == 1.5
        assert ledger.user_epsilon(65) == pytest.approx(97.5)
        assert lessons.ledger_of([]).epsilon == 0.0

    def test_rates_are_in_parts_of_one_value(self):
        ratios, found = lessons.rates([math.inf, 1.0])
        at = int(np.argmin(np.abs(ratios - lessons.RATIO)))
        assert found[math.inf][at] == pytest.approx(1.0, rel=1e-2)
        assert found[1.0][at] == pytest.approx(2.63, rel=1e-2)
        assert np.all(np.diff(found[1.0]) < 0)

    def test_claims(self):
        found = lessons.claims()
        assert found["two_true"] == pytest.approx(4.0943, abs=1e-4)
        assert found["gaussian_false_below"] == pytest.approx(0.619, abs=1e-3)
        assert found["gaussian_proven_from"] == pytest.approx(1.206, abs=1e-3)
        assert found["bridge"] == 200.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lessons.solve("nothing"), "exercise must be one of"),
        (lambda: lessons.posterior(1.0, 1.0), "prior must be"),
        (lambda: lessons.in_sample(draws=0), "draws must be"),
        (lambda: lessons.in_sample(ratio=2.0), "ratio must be"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
