"""The losses: values against definitions, derivatives against differences, and the curvature that solvers rely on."""

from __future__ import annotations

import math
import warnings
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import optimize

from obmc.links import Gaussian, Link, Logistic
from obmc.losses import FlippedLikelihood, Likelihood, Loss, Matching, is_convex, likelihood

LINKS = [Logistic(), Gaussian(1.0), Gaussian(0.3)]
SIGNS = np.array([1.0, -1.0])


def flip_of(epsilon: float) -> float:
    return 1.0 / (1.0 + math.exp(epsilon))


# Both signs at each of many places: some in the far tails, most where the functions bend.
_RNG = np.random.default_rng(0)
PLACES = np.repeat(np.concatenate([_RNG.uniform(-300.0, 300.0, 300), _RNG.normal(0.0, 8.0, 700), [0.0, -300, 300]]), 2)


def losses(link: Link, n: int = 2) -> dict[str, Loss]:
    """Every kind of loss on n entries, signs and labels alternating."""
    signs = np.resize(SIGNS, n)
    return {
        "likelihood": Likelihood(link, signs),
        "tilted": Likelihood(link, signs, np.resize([3.0, -0.7], n)),
        "matching": Matching(link, np.resize([-40.0, 52.5], n)),
        "bits": Matching(link, (1.0 + signs) / 2.0),
        "flipped at 0.1": FlippedLikelihood(link, signs, flip_of(0.1)),
        "flipped at 1": FlippedLikelihood(link, signs, flip_of(1.0)),
        "flipped at 20": FlippedLikelihood(link, signs, flip_of(20.0)),
        "never flipped": FlippedLikelihood(link, signs, 0.0),
    }


CASES = [pytest.param(link, name, id=f"{link}-{name}") for link in LINKS for name in losses(link)]


@pytest.mark.parametrize(("link", "name"), CASES)
def test_everything_is_finite_and_the_derivatives_match_differences(link: Link, name: str) -> None:
    loss = losses(link, len(PLACES))[name]
    step = 1e-5 * np.maximum(link.sigma, np.abs(PLACES))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values, gradient, curvature = loss.values(PLACES), loss.gradient(PLACES), loss.curvature(PLACES)
        paired = loss.slopes(PLACES)
    for part in (values, gradient, curvature, *paired):
        assert np.all(np.isfinite(part))
    first = (loss.values(PLACES + step) - loss.values(PLACES - step)) / (2.0 * step)
    second = (loss.gradient(PLACES + step) - loss.gradient(PLACES - step)) / (2.0 * step)
    # A difference quotient cannot be better than the digits of what it subtracts, nor than the bend over its step; the
    # narrowest bend is the flipped likelihood's far in the tail, where its two parts cross.
    lost = 4e-15 / step
    bend = step**2 * (1.0 + (PLACES / link.sigma) ** 4) / link.sigma**3
    assert np.all(np.abs(gradient - first) <= 1e-6 * np.abs(first) + lost * (1.0 + np.abs(values)) + bend)
    assert np.all(
        np.abs(curvature - second) <= 1e-5 * np.abs(second) + lost * (1.0 + np.abs(gradient)) + bend / link.sigma
    )
    unit = max(loss.max_curvature, float(np.abs(curvature).max()))
    assert paired[0] == pytest.approx(gradient, rel=1e-14, abs=1e-14)
    assert paired[1] == pytest.approx(curvature, rel=1e-9, abs=1e-14 * unit)


@pytest.mark.parametrize("link", LINKS, ids=str)
@pytest.mark.parametrize("x", [-300.0, -41.0, -7.5, -1.0, 0.0, 0.3, 4.0, 33.0, 300.0])
def test_values_are_the_definitions_in_high_precision(link: Link, x: float) -> None:
    p, at = flip_of(1.0), np.full(2, x)
    with mpmath.workdps(60):
        parts = [
            mpmath.log1p(mpmath.exp(-s * mpmath.mpf(x)))
            if link.name == "logistic"
            else -mpmath.log1p(-mpmath.erfc(s * mpmath.mpf(x) / mpmath.mpf(link.sigma) / mpmath.sqrt(2)) / 2)
            if s * x > 0
            else -mpmath.log(mpmath.erfc(-s * mpmath.mpf(x) / mpmath.mpf(link.sigma) / mpmath.sqrt(2)) / 2)
            for s in (1, -1)
        ]
        flipped = [float(-mpmath.log(p + (1 - 2 * mpmath.mpf(p)) * mpmath.exp(-part))) for part in parts]
        plain = [float(part) for part in parts]
    assert Likelihood(link, SIGNS).values(at) == pytest.approx(plain, rel=1e-12, abs=1e-300)
    tilted = Likelihood(link, SIGNS, np.array([3.0, -0.7])).values(at)
    assert tilted == pytest.approx([plain[0] + 3.0 * x, plain[1] - 0.7 * x], rel=1e-12, abs=1e-12 * (1.0 + abs(x)))
    assert FlippedLikelihood(link, SIGNS, p).values(at) == pytest.approx(flipped, rel=1e-12)


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_the_matching_loss_is_the_integral_of_h_minus_z(link: Link) -> None:
    # A(x) - A(0) by Simpson's rule on the gradient of label 0.
    x = np.linspace(0.0, 4.0 * link.sigma, 2001)
    loss = Matching(link, np.zeros(len(x)))
    step, h = x[1] - x[0], loss.gradient(x)
    integral = step / 3.0 * (h[0] + h[-1] + 4.0 * h[1:-1:2].sum() + 2.0 * h[2:-1:2].sum())
    assert loss.values(x)[-1] - loss.values(x)[0] == pytest.approx(integral, rel=1e-12)
    other = Matching(link, np.full(len(x), -2.5))
    assert other.values(x) - loss.values(x) == pytest.approx(2.5 * x, abs=1e-13)


def test_the_logistic_likelihood_is_the_matching_loss_of_the_bits() -> None:
    x = np.linspace(-30.0, 30.0, 301)
    signs = np.where(np.arange(301) % 2, 1.0, -1.0)
    cheap, plain = likelihood(Logistic(), signs), Likelihood(Logistic(), signs)
    assert isinstance(cheap, Matching)
    assert cheap.values(x) == pytest.approx(plain.values(x), rel=1e-12, abs=1e-13)
    assert cheap.gradient(x) == pytest.approx(plain.gradient(x), rel=1e-12, abs=1e-15)
    assert isinstance(likelihood(Gaussian(1.0), signs), Likelihood)


@pytest.mark.parametrize(("link", "name"), CASES)
def test_the_scale_is_the_noise_free_loss_at_zero(link: Link, name: str) -> None:
    loss = losses(link)[name]
    at_zero = link.potential_at_zero if isinstance(loss, Matching) else math.log(2.0)
    assert loss.scale == pytest.approx(2.0 * at_zero)
    if name in ("likelihood", "bits", "matching", "never flipped"):
        assert loss.values(np.zeros(2)).sum() == pytest.approx(loss.scale)


@pytest.mark.parametrize(("link", "name"), CASES)
@pytest.mark.parametrize("alpha", [0.01, 1.0, 5.0, None])
def test_the_curvature_lies_between_its_stated_bounds(link: Link, name: str, alpha: float | None) -> None:
    loss = losses(link)[name]
    limit = 300.0 if alpha is None else alpha
    x = np.linspace(-limit, limit, 20001)
    curvature = losses(link, 2 * len(x))[name].curvature(np.repeat(x, 2))
    least = loss.min_curvature(alpha)
    assert curvature.max() <= loss.max_curvature * (1.0 + 1e-12)
    assert curvature.min() >= least - 1e-7 * abs(least) - 1e-13 * loss.max_curvature
    if alpha is not None and alpha <= 1.0:
        assert curvature.min() == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("alpha", [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0])
def test_the_flipped_logistic_likelihood_is_convex_from_twice_alpha_on(alpha: float) -> None:
    for epsilon, convex in ((2.0 * alpha, True), (2.0 * alpha * (1 + 1e-9), True), (2.0 * alpha * (1 - 1e-6), False)):
        assert is_convex(FlippedLikelihood(Logistic(), SIGNS, flip_of(epsilon)), alpha) is convex, epsilon


@pytest.mark.parametrize(("v", "golden"), [(0.5, 1.261), (1.0, 2.565), (2.0, 5.466)])
@pytest.mark.parametrize("sigma", [1.0, 0.3])
def test_the_flipped_gaussian_likelihood_is_convex_from_its_threshold_on(v: float, golden: float, sigma: float) -> None:
    link = Gaussian(sigma)
    tail, density = float(Gaussian(1.0).probability(-v)), float(Gaussian(1.0).density(v))
    threshold = math.log1p(1.0 / (density / v - tail))
    assert threshold == pytest.approx(golden, abs=6e-4)

    def least(epsilon: float) -> float:
        return FlippedLikelihood(link, SIGNS, flip_of(epsilon)).min_curvature(v * sigma)

    assert optimize.brentq(least, threshold - 0.5, threshold + 0.5) == pytest.approx(threshold, abs=1e-9)


def test_the_least_curvature_at_alpha_and_epsilon_one() -> None:
    assert FlippedLikelihood(Logistic(), SIGNS, flip_of(1.0)).min_curvature(1.0) == pytest.approx(-0.053, abs=5e-4)
    assert FlippedLikelihood(Gaussian(1.0), SIGNS, flip_of(1.0)).min_curvature(1.0) == pytest.approx(-0.220, abs=5e-4)


@pytest.mark.parametrize("link", LINKS, ids=str)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0, 45.0, 60.0, 100.0, 500.0])
def test_the_flipped_likelihood_is_never_convex_on_the_whole_line(link: Link, epsilon: float) -> None:
    loss = FlippedLikelihood(link, SIGNS, flip_of(epsilon))
    assert not is_convex(loss, None)
    assert not is_convex(loss, 2.0 * epsilon * link.sigma + 1.0)
    # Found in its dip, however far out: there the curvature is about -1/4 of the squared score.
    found = optimize.minimize_scalar(
        lambda u: float(loss.curvature(np.full(2, u))[0]), bounds=(-1.2 * epsilon - 40.0, 0.0), method="bounded"
    )
    assert loss.min_curvature(None) <= found.fun * (1.0 - 1e-6) + 1e-15


@pytest.mark.parametrize(("link", "name"), CASES)
def test_all_but_flipped_losses_are_convex_everywhere(link: Link, name: str) -> None:
    loss = losses(link)[name]
    assert is_convex(loss, None) is not name.startswith("flipped")
    if name in ("likelihood", "matching"):
        assert loss.min_curvature(1.0) > 0.0


@pytest.mark.parametrize(("link", "name"), CASES)
def test_the_infimum_lies_below_every_value_and_is_finite_where_no_label_pulls(link: Link, name: str) -> None:
    loss = losses(link, len(PLACES))[name]
    assert loss.infimum == (-math.inf if name in ("tilted", "matching") else 0.0)
    assert loss.infimum <= loss.total(PLACES)
    if loss.infimum == 0.0:
        assert loss.values(PLACES).min() >= -1e-12  # up to rounding


@pytest.mark.parametrize("label", [0.0, 0.5, 1.0, -1e-9, 1.0 + 1e-9])
def test_labels_beyond_a_probability_leave_no_lower_bound(label: float) -> None:
    assert Matching(Logistic(), [0.5, label]).infimum == (0.0 if 0.0 <= label <= 1.0 else -math.inf)


@pytest.mark.parametrize(("link", "name"), CASES)
def test_a_selection_is_the_loss_of_its_entries(link: Link, name: str) -> None:
    loss = losses(link)[name]
    x = np.array([0.3, -0.4])
    for keep in (np.array([False, True]), np.array([1])):
        part = loss.select(keep)
        assert part.n == 1
        assert part.values(x[keep]) == pytest.approx(loss.values(x)[keep])
        assert part.gradient(x[keep]) == pytest.approx(loss.gradient(x)[keep])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Matching(Logistic(), [0.0, math.nan]), "labels must hold finite numbers only"),
        (lambda: Matching(Logistic(), [math.inf]), "labels must hold finite numbers only"),
        (lambda: Matching(Logistic(), ["a"]), "labels must hold finite numbers only"),
        (lambda: Matching(Logistic(), [[0.0]]), "labels must be a one-dimensional array"),
        (lambda: Likelihood(Logistic(), [1, 0]), r"signs must contain only -1 and \+1"),
        (lambda: Likelihood(Logistic(), [1, math.nan]), "signs must contain only"),
        (lambda: Likelihood(Logistic(), [True, True]), "signs must contain only"),
        (lambda: Likelihood(Logistic(), ["+1"]), "signs must contain only"),
        (lambda: Likelihood(Logistic(), [1, -1], [0.0]), "tilt must have the length of signs, 2, got 1"),
        (lambda: Likelihood(Logistic(), [1], [math.inf]), "tilt must hold finite numbers only"),
        (lambda: FlippedLikelihood(Logistic(), [2], 0.1), "signs must contain only"),
        (lambda: FlippedLikelihood(Logistic(), [1], 0.5), "flip must be a finite number of at least 0 and below 0.5"),
        (lambda: FlippedLikelihood(Logistic(), [1], -0.1), "flip must be"),
        (lambda: FlippedLikelihood(Logistic(), [1], math.nan), "flip must be"),
        (lambda: FlippedLikelihood(Logistic(), [1], "0.1"), "flip must be a number"),
    ],
)
def test_bad_input_is_named(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()
