"""The free level: where the loss's gradient sums to zero, and the word where it does nowhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from solver_problems import LINKS, LOSSES, some_loss, some_observations

from obmc.constraints import ConstraintSet
from obmc.links import Gaussian, Link, Logistic
from obmc.losses import Likelihood, Matching
from obmc.solvers.factored import factored
from obmc.solvers.level import UNBOUNDED, best_shift
from obmc.solvers.problem import Problem

OBS = some_observations((20, 30), 300)
N = len(OBS)


@pytest.mark.parametrize("kind", [kind for kind in LOSSES if kind != "flipped"])
@pytest.mark.parametrize("link", [*LINKS, Gaussian(0.1)], ids=str)
@pytest.mark.parametrize("spread", [0.0, 1.0, 30.0])
def test_the_gradient_sums_to_zero_at_the_level(link: Link, kind: str, spread: float) -> None:
    loss = some_loss(kind, link, OBS)
    values = spread * np.random.default_rng(1).standard_normal(N)
    if kind == "tilted":  # a mean tilt beyond the slope of the likelihood would leave no level
        loss = Likelihood(link, OBS.signs, 0.1 * np.random.default_rng(2).standard_normal(N))
    shift, gradient, found = best_shift(loss, values)
    assert found
    assert gradient == pytest.approx(loss.gradient(values + shift), rel=1e-12, abs=1e-12)
    # What is left is a rounding of the level, seen through the curvature.
    assert abs(gradient.sum()) <= 1e-10 * N * max(1.0, loss.max_curvature) * max(1.0, abs(shift))


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_it_is_the_minimum_over_the_level(link: Link) -> None:
    loss = some_loss("noised", link, OBS)
    values = np.random.default_rng(3).standard_normal(N)
    shift, _, found = best_shift(loss, values)
    assert found
    least = loss.total(values + shift)
    for step in (1e-3, 0.1, 3.0):
        assert loss.total(values + shift + step) > least
        assert loss.total(values + shift - step) > least


@pytest.mark.parametrize("link", [*LINKS, Gaussian(0.05)], ids=str)
@pytest.mark.parametrize("start", [-1e4, -300.0, -20.0, 20.0, 300.0, 1e4])
def test_it_is_found_from_the_flat_sides_of_the_link(link: Link, start: float) -> None:
    """All values far out on one side: the curvature vanishes there, and Newton's own step knows no measure."""
    loss = Matching(link, np.where(np.arange(N) % 3 == 0, 0.9, 0.2))
    near, _, _ = best_shift(loss, np.zeros(N))
    far, gradient, found = best_shift(loss, np.full(N, start))
    assert found
    assert far + start == pytest.approx(near, abs=1e-9 * abs(start))
    assert abs(gradient.sum()) <= 1e-9 * N * abs(start) * loss.max_curvature


@pytest.mark.parametrize("link", LINKS, ids=str)
@pytest.mark.parametrize("mean", [-3.0, -0.1, 0.0, 1.0, 1.1, 40.0])
def test_labels_with_a_mean_beyond_the_link_have_no_level(link: Link, mean: float) -> None:
    noise = np.random.default_rng(0).laplace(0.0, 1.0, N)
    loss = Matching(link, mean + noise - noise.mean())
    shift, gradient, found = best_shift(loss, np.zeros(N))
    # At a mean of exactly 0 or 1 the sum of the gradient falls below every number, and may round to nothing.
    assert not found or mean in (0.0, 1.0)
    assert math.isfinite(shift) and np.all(np.isfinite(gradient))
    assert (shift > 0.0) == (mean >= 1.0)


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_the_solver_says_that_the_loss_falls_without_end(link: Link) -> None:
    for label in (1.2, -0.5):
        problem = Problem(Matching(link, np.full(N, label)), OBS.omega, ConstraintSet(3.0, None), effects=2.0)
        outcome = factored(problem, 1e-4, 300, None)
        assert outcome.message == UNBOUNDED
        assert not outcome.converged
        assert outcome.gap == math.inf
        assert outcome.iterations < 20
        assert math.isfinite(outcome.objective)


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_one_class_alone_ends_at_the_lower_bound_of_the_loss(link: Link) -> None:
    """No level is best, but the loss cannot fall below 0: the gap to that is what is certified."""
    for sign in (1.0, -1.0):
        loss = Likelihood(link, np.full(N, sign))
        outcome = factored(Problem(loss, OBS.omega, ConstraintSet(3.0, None), effects=2.0), 1e-4, 300, None)
        assert outcome.converged
        assert outcome.effects is not None
        assert sign * outcome.effects.level > 1.0
        assert 0.0 <= outcome.objective <= 1e-4 * loss.scale
        assert outcome.gap == pytest.approx(outcome.objective / loss.scale)


def test_a_tilt_that_outweighs_the_likelihood_has_no_minimum() -> None:
    loss = Likelihood(Logistic(), OBS.signs, np.full(N, 1.5))
    outcome = factored(Problem(loss, OBS.omega, ConstraintSet(3.0, None), effects=2.0), 1e-4, 300, None)
    assert outcome.message == UNBOUNDED
    # With a ball alone and no level everything is bounded again.
    assert factored(Problem(loss, OBS.omega, ConstraintSet(3.0, None)), 1e-4, 300, None).converged
