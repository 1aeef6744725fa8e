"""The links against high-precision arithmetic, far into the tails."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from obmc.links import LINKS as NAMED
from obmc.links import Gaussian, Link, Logistic

LINKS = [Logistic(), Gaussian(1.0), Gaussian(0.1), Gaussian(30.0)]
POINTS = [0.0, 1e-12, 1e-3, 0.5, 1.0, 3.0, 7.0, 20.0, 37.0, 40.0, 49.9, 50.1, 120.0, 300.0]
FUNCTIONS = ("probability", "density", "log_probability", "score", "curvature", "potential")


def exact(link: Link) -> dict[str, Callable[[Any], Any]]:
    """The six functions from their definitions, for the arithmetic of the caller's precision."""
    if link.name == "logistic":

        def h(x: Any) -> Any:
            return 1 / (1 + mpmath.exp(-x))

        def slope(x: Any) -> Any:
            return h(x) * h(-x)

        def second(x: Any) -> Any:
            return slope(x) * (h(-x) - h(x))

        def potential(x: Any) -> Any:
            return mpmath.log(1 + mpmath.exp(x))

    else:
        sigma = mpmath.mpf(link.sigma)

        def h(x: Any) -> Any:
            return mpmath.erfc(-x / sigma / mpmath.sqrt(2)) / 2

        def slope(x: Any) -> Any:
            return mpmath.npdf(x / sigma) / sigma

        def second(x: Any) -> Any:
            return -x / sigma**2 * slope(x)

        def potential(x: Any) -> Any:
            return x * h(x) + sigma**2 * slope(x)

    return {
        "probability": h,
        "density": slope,
        "log_probability": lambda x: mpmath.log(h(x)) if x < 0 else mpmath.log1p(-h(-x)),
        "score": lambda x: slope(x) / h(x),
        "curvature": lambda x: (slope(x) / h(x)) ** 2 - second(x) / h(x),
        "potential": potential,
    }


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("link", LINKS, ids=str)
def test_every_function_has_its_digits_from_tail_to_tail(link: Link, name: str) -> None:
    right = exact(link)[name]
    for x in (sign * point for point in POINTS for sign in (-1.0, 1.0)):
        # x is in the unit of the link's scale, so that every sigma sees the same tails.
        at = x * link.sigma
        value = float(getattr(link, name)(at))
        with mpmath.workdps(300):
            true = right(mpmath.mpf(at))
        # What lies below the smallest double may be 0; the potential cancels where it vanishes.
        spared = 1e-300 if name != "potential" else 1e-16 * link.sigma
        assert abs(value - true) <= 3e-13 * abs(true) + spared, (x, value, float(true))


def test_the_golden_value_of_the_left_tail() -> None:
    assert float(Gaussian(1.0).log_probability(-40.0)) == pytest.approx(-804.6084420137538, rel=1e-15)
    assert float(Gaussian(0.5).log_probability(-20.0)) == pytest.approx(-804.6084420137538, rel=1e-15)


@pytest.mark.parametrize("link", [*LINKS, Gaussian(1e-6), Gaussian(1e6)], ids=str)
def test_everything_is_finite_without_a_warning_from_minus_300_to_300(link: Link) -> None:
    x = np.linspace(-300.0, 300.0, 6001)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in FUNCTIONS:
            assert np.all(np.isfinite(getattr(link, name)(x))), name


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_derivatives_match_central_differences(link: Link) -> None:
    x = np.random.default_rng(0).uniform(-300.0, 300.0, 2000)
    x[::2] /= 30.0
    at, step = x * link.sigma, 1e-5 * np.maximum(1.0, np.abs(x)) * link.sigma
    for function, derivative in (
        (link.log_probability, link.score),
        (link.score, lambda t: -link.curvature(t)),
        (link.potential, link.probability),
        (link.probability, link.density),
    ):
        difference = (function(at + step) - function(at - step)) / (2.0 * step)
        # The difference quotient loses the digits that the function's size and the step leave it.
        noise = 4e-15 * (np.abs(function(at)) + 1e-9) / step
        scale = np.abs(derivative(at)) + 1.0 / link.sigma
        assert np.all(np.abs(derivative(at) - difference) <= 1e-6 * scale + noise)


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_every_link_is_symmetric_with_a_log_concave_density(link: Link) -> None:
    x = np.linspace(-300.0, 300.0, 6001) * link.sigma
    assert np.abs(link.probability(x) + link.probability(-x) - 1.0).max() <= 4e-16
    assert np.allclose(link.density(x), link.density(-x), rtol=1e-12, atol=0.0)
    assert np.all(link.curvature(x[x < 30.0 * link.sigma]) > 0.0)
    assert np.all(np.diff(link.bend(x, link.probability(x))) <= 0.0)


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_the_paired_functions_are_the_single_ones(link: Link) -> None:
    x = np.linspace(-60.0, 60.0, 241) * link.sigma
    for pair, names in (
        (link.probability_and_density(x), ("probability", "density")),
        (link.score_and_curvature(x), ("score", "curvature")),
    ):
        for values, name in zip(pair, names, strict=True):
            single = getattr(link, name)(x)
            assert np.abs(values - single).max() <= 1e-15 * np.abs(single).max(), name
    for point in (0.5, np.float64(-2.0), -800.0, 800.0):
        probability, density = link.probability_and_density(point)
        assert probability == pytest.approx(float(link.probability(point)), rel=1e-14, abs=1e-300)
        assert density == pytest.approx(
            float(link.density(point)), rel=1e-14, abs=1e-300 + 1e-16 / getattr(link, "sigma", 1.0)
        )


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_the_bend_is_the_relative_slope_of_the_density(link: Link) -> None:
    x = np.linspace(-5.0, 5.0, 41) * link.sigma
    step = 1e-5 * link.sigma
    slope = (link.density(x + step) - link.density(x - step)) / (2 * step)
    assert link.bend(x, link.probability(x)) == pytest.approx(slope / link.density(x), rel=1e-6, abs=1e-6 / link.sigma)


def test_the_gaussian_score_is_one_function_near_and_far() -> None:
    link = Gaussian(1.0)
    x = np.linspace(-5.9, 5.9, 60)
    assert link.score(x) == pytest.approx(link.score(np.append(x, 40.0))[:-1], rel=3e-15)
    assert link.curvature(x) == pytest.approx(link.curvature(np.append(x, 40.0))[:-1], rel=1e-12)


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_the_constants_are_the_functions_at_zero(link: Link) -> None:
    assert link.max_density == pytest.approx(float(link.density(0.0)), rel=1e-15)
    assert link.max_density >= float(link.density(np.linspace(-5.0, 5.0, 1001)).max())
    assert link.potential_at_zero == pytest.approx(float(link.potential(0.0)), rel=1e-15)


@pytest.mark.parametrize("link", LINKS, ids=str)
@pytest.mark.parametrize("alpha", [0.1, 1.0, 4.0])
def test_steepness_and_flatness_are_the_suprema_on_the_box(link: Link, alpha: float) -> None:
    bound = alpha * link.sigma
    x = np.linspace(-bound, bound, 4001)
    slope, spread = link.density(x), link.probability(x) * link.probability(-x)
    assert link.steepness(bound) == pytest.approx(float((slope / spread).max()), rel=1e-9)
    assert link.flatness(bound) == pytest.approx(float((spread / slope**2).max()), rel=1e-9)


@pytest.mark.parametrize("link", LINKS, ids=str)
@pytest.mark.parametrize("alpha", [0.1, 1.0, 4.0])
def test_the_answers_about_the_curvature_are_those_of_a_fine_grid(link: Link, alpha: float) -> None:
    bound = alpha * link.sigma
    curvature = link.curvature(np.linspace(-bound, bound, 4001))
    assert link.min_curvature(bound) == pytest.approx(float(curvature.min()), rel=1e-12)
    assert link.log_curvature_ratio(bound) == pytest.approx(float(np.log(curvature / curvature[::-1]).max()), abs=1e-12)
    everywhere = float(link.curvature(np.linspace(-300.0, 300.0, 60_001) * link.sigma).max())
    assert everywhere <= link.max_curvature <= 1.001 * everywhere


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_the_quantile_is_the_inverse(link: Link) -> None:
    x = np.linspace(-20.0, 5.0, 26) * link.sigma
    assert link.quantile(link.probability(x)) == pytest.approx(x, rel=1e-11, abs=1e-12 * link.sigma)


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_canonical_means_that_the_likelihood_is_linear_in_the_sign(link: Link) -> None:
    x = np.linspace(-3.0, 3.0, 61) * link.sigma
    odds = link.log_probability(x) - link.log_probability(-x)
    assert link.is_canonical == bool(np.allclose(odds, x, rtol=1e-12, atol=1e-12))


def test_links_by_name() -> None:
    assert {name: make(2.0) for name, make in NAMED.items()} == {"logistic": Logistic(), "gaussian": Gaussian(2.0)}
    for name, make in NAMED.items():
        assert make(0.5).name == name


def test_the_papers_flatness_is_not_the_true_one() -> None:
    assert Logistic().flatness(1.0) == pytest.approx((1.0 + math.e) ** 2 / math.e)
    assert Logistic().steepness(1e6) == 1.0


def test_a_bound_beyond_all_doubles_is_infinitely_flat_and_no_error() -> None:
    for link, alpha in itertools.product((Logistic(), Gaussian(1.0), Gaussian(1e-6)), (1e3, 1e9)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert link.flatness(alpha) == math.inf
            assert link.steepness(alpha) >= 1.0
            assert link.log_curvature_ratio(alpha) == (0.0 if link.is_canonical else math.inf)


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan, math.inf, 1e-7, 1e7, "1", None, True])
def test_a_sigma_out_of_range_is_refused(sigma: Any) -> None:
    with pytest.raises(ValueError, match=r"^sigma must be a .*number of at least 1e-06 and at most 1e\+06"):
        Gaussian(sigma)


@pytest.mark.parametrize("alpha", [0.0, -1.0, math.nan, math.inf, None])
def test_a_bound_out_of_range_is_refused(alpha: Any) -> None:
    for link in (Logistic(), Gaussian(1.0)):
        for function in (link.steepness, link.flatness, link.min_curvature, link.log_curvature_ratio):
            with pytest.raises(ValueError, match=r"^alpha must be a .*number above 0"):
                function(alpha)


def test_links_are_equal_by_value_and_keyed_by_it() -> None:
    assert Logistic() == Logistic()
    assert Gaussian(2.0) == Gaussian(2)
    assert Gaussian(2.0) != Gaussian(1.0)
    assert len({Logistic(), Logistic(), Gaussian(2.0), Gaussian(2)}) == 2
    assert isinstance(Logistic(), Link)
    assert not isinstance("logistic", Link)
