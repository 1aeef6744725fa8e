"""Error bounds: golden values, and that each bound is one."""

import math

import numpy as np
import pytest

import obmc
from obmc import bounds
from obmc.privacy.noise import laplace_variance, randomised_response_variance

LOGISTIC, GAUSSIAN = obmc.Logistic(), obmc.Gaussian()
EPSILONS = (0.5, 1.0, 2.0, 4.0, 10.0)
SHAPE = (100, 100)


class TestFlippedConstants:
    @pytest.mark.parametrize(
        ("link", "expected"),
        [
            (LOGISTIC, (106.43, 28.90, 9.77, 5.58, 5.087)),
            (GAUSSIAN, (69.19, 18.00, 5.37, 2.60, 2.28)),
        ],
        ids=["logistic", "gaussian"],
    )
    def test_golden_flatness(self, link, expected):
        found = [bounds.flipped_flatness(link, 1.0, epsilon) for epsilon in EPSILONS]
        assert found == pytest.approx(expected, abs=5.1e-3)

    def test_golden_product(self):
        found = [
            bounds.flipped_steepness(LOGISTIC, 1.0, eps) * bounds.flipped_flatness(LOGISTIC, 1.0, eps)
            for eps in EPSILONS
        ]
        assert found == pytest.approx((26.1, 13.4, 7.44, 5.38, 5.09), rel=4e-3)

    def test_golden_at_one(self):
        assert bounds.flipped_flatness(LOGISTIC, 1.0, 1.0) == pytest.approx(28.903, abs=5e-4)
        assert bounds.flipped_steepness(LOGISTIC, 1.0, 1.0) == pytest.approx(math.tanh(0.5))

    @pytest.mark.parametrize("link", [LOGISTIC, GAUSSIAN, obmc.Gaussian(0.4)], ids=str)
    @pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0, 4.0, 8.0])
    def test_suprema_against_a_fine_grid(self, link, epsilon):
        x = np.linspace(-1.0, 1.0, 200_001)
        p = 1.0 / (1.0 + math.exp(epsilon))
        c = p + (1 - 2 * p) * link.probability(x)
        slope = (1 - 2 * p) * link.density(x)
        assert bounds.flipped_steepness(link, 1.0, epsilon) == pytest.approx(np.max(slope / (c * (1 - c))), rel=1e-8)
        assert bounds.flipped_flatness(link, 1.0, epsilon) == pytest.approx(np.max(c * (1 - c) / slope**2), rel=1e-8)

    def test_gaussian_steepness_moves_from_the_middle_to_the_end(self):
        p = 1.0 / (1.0 + math.exp(2.0))
        at_zero = 4 * (1 - 2 * p) * GAUSSIAN.max_density
        assert bounds.flipped_steepness(GAUSSIAN, 1.0, 2.0) == pytest.approx(at_zero, rel=1e-12)
        assert bounds.flipped_steepness(GAUSSIAN, 1.0, 10.0) == pytest.approx(GAUSSIAN.steepness(1.0), rel=1e-3)

    @pytest.mark.parametrize("link", [LOGISTIC, GAUSSIAN], ids=["logistic", "gaussian"])
    def test_without_noise_they_are_the_link_s(self, link):
        assert bounds.flipped_steepness(link, 1.0, 60.0) == pytest.approx(link.steepness(1.0))
        assert bounds.flipped_flatness(link, 1.0, 60.0) == pytest.approx(link.flatness(1.0))

    def test_the_printed_bound_is_below_what_it_should_bound(self):
        printed = [bounds.paper_flipped_flatness(1.0, epsilon) for epsilon in EPSILONS]
        assert printed == pytest.approx((9.69, 3.70, 2.22, 1.90, 1.86), abs=6e-3)
        for epsilon, value in zip(EPSILONS, printed, strict=True):
            assert value < bounds.flipped_flatness(LOGISTIC, 1.0, epsilon)

    def test_extremes(self):
        assert bounds.flipped_flatness(GAUSSIAN, 60.0, 1.0) == math.inf
        assert math.isfinite(bounds.flipped_steepness(GAUSSIAN, 60.0, 1.0))
        assert math.isfinite(bounds.flipped_steepness(LOGISTIC, 1.0, 1e6))


class TestRate:
    def test_golden_factors(self):
        """The factor behind sqrt(r (d1 + d2) / n), and the rate itself at the paper's sizes."""
        for n, factor in ((1500, 1.493), (10_000, 1.088)):
            rate = bounds.standard_rate(SHAPE, n)
            assert rate == pytest.approx(math.sqrt(200 / n) * factor, rel=4e-4)

    def test_shape(self):
        clear = bounds.standard_shape(LOGISTIC, 1.0, SHAPE, 1500)
        flipped = bounds.standard_shape(LOGISTIC, 1.0, SHAPE, 1500, epsilon=1.0)
        assert flipped / clear == pytest.approx(13.357 / 5.086, rel=1e-3)
        assert bounds.standard_shape(LOGISTIC, 1.0, SHAPE, 1500, rank=4) == pytest.approx(2 * clear)
        assert bounds.standard_shape(LOGISTIC, 1.0, SHAPE, 6000) < clear / 2


class TestExplicit:
    @pytest.mark.parametrize(("ratio", "expected"), [(0.15, (5.25, 11.4, 15.8)), (0.8, (2.27, 4.9, 6.8))])
    def test_golden(self, ratio, expected):
        n = round(ratio * 10_000)
        noises = (0.0, randomised_response_variance(1.0), laplace_variance(1.0))
        found = [bounds.explicit_bound(LOGISTIC, 1.0, SHAPE, n, noise_variance=v) for v in noises]
        assert found == pytest.approx(expected, rel=1e-2)

    def test_vacuous_at_the_papers_size(self):
        assert bounds.trivial_bound(1.0) == 4.0
        assert bounds.explicit_bound(LOGISTIC, 1.0, SHAPE, 1500) > bounds.trivial_bound(1.0)
        assert bounds.explicit_bound(LOGISTIC, 1.0, SHAPE, 8000) < bounds.trivial_bound(1.0)

    @pytest.mark.parametrize("link", [LOGISTIC, GAUSSIAN], ids=["logistic", "gaussian"])
    def test_it_bounds_what_is_measured(self, link):
        cset = obmc.ConstraintSet.for_rank(SHAPE)
        problem = obmc.datasets.synthetic(SHAPE, ratio=0.8, link=link, rng=0)
        for mechanism, noise in (
            (obmc.Clear(), 0.0),
            (obmc.InputPerturbation(epsilon=4.0, estimator="unbiased"), randomised_response_variance(4.0)),
        ):
            done = mechanism.release(problem.observations, link, cset, rng=1, tol=1e-3).completion
            measured = bounds.in_sample_error(done.matrix, problem.truth, problem.observations)
            n = len(problem.observations)
            assert 0.0 < measured < bounds.explicit_bound(link, 1.0, SHAPE, n, noise_variance=noise)

    def test_no_curvature(self):
        assert bounds.explicit_bound(GAUSSIAN, 60.0, SHAPE, 100) == math.inf


class TestNoiseTerms:
    def test_output_noise_is_exact(self):
        mechanism = obmc.OutputPerturbation(epsilon=2.0, calibration="paper")
        std = mechanism.noise_std(LOGISTIC, obmc.ConstraintSet.for_rank(SHAPE, alpha=1.5), 1500)
        assert bounds.output_noise_term(1.5, 2.0) == pytest.approx(std**2) == pytest.approx(4.5)

    def test_objective_noise_bounds_the_inner_product(self):
        """The claim of the paper that this replaces, a bound of 2 alpha sum H, fails in nearly every draw."""
        rng = np.random.default_rng(0)
        n, tau = 1500, 100.0
        term = bounds.objective_noise_term(tau, 1.0, SHAPE, n)
        assert term == pytest.approx(2 * math.sqrt(2) * tau / n * 2 * math.sqrt(15))
        for _ in range(5):
            noise = np.zeros(SHAPE)
            noise.flat[rng.choice(10_000, n, replace=False)] = rng.laplace(size=n)
            spectral = np.linalg.norm(noise, 2)
            assert 2 * tau * spectral / n == pytest.approx(term, rel=0.4)

    def test_in_sample_error(self):
        obs = obmc.Observations([0, 1], [1, 0], [1, -1], (2, 2))
        truth = np.zeros((2, 2))
        assert bounds.in_sample_error(np.array([[9.0, 1.0], [3.0, 9.0]]), truth, obs) == 5.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.flipped_steepness(LOGISTIC, 0.0, 1.0), "alpha must be"),
        (lambda: bounds.flipped_flatness(LOGISTIC, 1.0, 0.0), "epsilon must be"),
        (lambda: bounds.standard_rate((0, 5), 10), r"shape\[0\] must be"),
        (lambda: bounds.standard_rate((5, 5), 0), "n must be"),
        (lambda: bounds.standard_rate((5, 5), 5, rank=0), "rank must be"),
        (lambda: bounds.explicit_bound(LOGISTIC, 1.0, SHAPE, 10, noise_variance=-1.0), "noise_variance must be"),
        (lambda: bounds.trivial_bound(-1.0), "alpha must be"),
        (lambda: bounds.objective_noise_term(1.0, 0.0, SHAPE, 5), "scale must be"),
        (
            lambda: bounds.in_sample_error(
                np.zeros((1, 2)), np.zeros((2, 2)), obmc.Observations([0], [0], [1], (2, 2))
            ),
            "estimate must have the observations' shape",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
