"""Problems at the edge of what there is: tiny, huge, flat, one-sided, saturated. Each ends, and with a certificate."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from solver_problems import LINKS, is_feasible, some_observations

import obmc
from obmc.constraints import ConstraintSet
from obmc.datasets import synthetic
from obmc.links import Gaussian, Link, Logistic
from obmc.losses import Likelihood, Loss, Matching, likelihood
from obmc.mechanisms.base import SolverOptions
from obmc.observations import Observations, Omega
from obmc.solvers.admm import admm
from obmc.solvers.completion import Progress
from obmc.solvers.dispatch import minimise
from obmc.solvers.level import UNBOUNDED
from obmc.solvers.outcome import Outcome
from obmc.solvers.problem import Problem
from obmc.solvers.spg import spg


@pytest.fixture(autouse=True)
def warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def solved(loss: Loss, omega: Omega, cset: ConstraintSet, solve=admm, limit: int = 3000) -> Outcome:  # type: ignore[no-untyped-def]
    outcome: Outcome = solve(Problem(loss, omega, cset), 1e-4, limit, None)
    assert outcome.converged, outcome.message
    assert outcome.gap <= 1e-4
    assert is_feasible(outcome.matrix, cset)
    assert np.all(np.isfinite(outcome.matrix)) and math.isfinite(outcome.objective)
    return outcome


@pytest.mark.parametrize("solve", [admm, spg])
@pytest.mark.parametrize("link", LINKS, ids=str)
@pytest.mark.parametrize("alpha", [1.0, None])
@pytest.mark.parametrize(("shape", "n"), [((1, 1), 1), ((1, 50), 30), ((50, 1), 30), ((2, 2), 3), ((30, 40), 1)])
def test_the_smallest_and_thinnest_problems(solve, link: Link, alpha: float | None, shape: tuple, n: int) -> None:  # type: ignore[no-untyped-def]
    obs = some_observations(shape, n)
    outcome = solved(
        likelihood(link, obs.signs), obs.omega, ConstraintSet(math.sqrt(shape[0] * shape[1]), alpha), solve
    )
    if n == 1:
        # One observation alone: the entry goes to the bound, or towards one spike of size tau, until the loss is flat.
        entry = outcome.matrix[obs.rows[0], obs.cols[0]] * obs.signs[0]
        largest = 1.0 if alpha else math.sqrt(shape[0] * shape[1])
        assert min(0.98 * largest, 3.0) <= entry <= largest * (1.0 + 1e-9)


@pytest.mark.parametrize("solve", [admm, spg])
@pytest.mark.parametrize("link", LINKS, ids=str)
def test_one_class_alone_fills_the_matrix_with_its_sign(solve, link: Link) -> None:  # type: ignore[no-untyped-def]
    obs = some_observations((30, 40), 700)
    for sign in (1.0, -1.0):
        outcome = solved(likelihood(link, np.full(700, sign)), obs.omega, ConstraintSet.for_rank((30, 40)), solve)
        assert np.all(sign * outcome.matrix[obs.rows, obs.cols] > 0.98)


@pytest.mark.parametrize("solve", [admm, spg])
@pytest.mark.parametrize("link", LINKS, ids=str)
@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 10.0])
def test_bounds_of_every_size(solve, link: Link, alpha: float) -> None:  # type: ignore[no-untyped-def]
    obs = some_observations((30, 40), 400)
    outcome = solved(likelihood(link, obs.signs), obs.omega, ConstraintSet.for_rank((30, 40), 1, alpha), solve)
    assert outcome.objective <= 400 * math.log(2.0)


@pytest.mark.parametrize("link", LINKS, ids=str)
@pytest.mark.parametrize(
    ("tau", "alpha"), [(1e-6, 1.0), (1e-6, None), (1e3, None), (1e5, 1.0), (1e300, 1.0), (1e5, None)]
)
def test_radii_of_every_size(link: Link, tau: float, alpha: float | None) -> None:
    obs = some_observations((30, 40), 400)
    outcome = solved(likelihood(link, obs.signs), obs.omega, ConstraintSet(tau, alpha))
    if tau >= 1e5 and alpha is not None:  # the ball does not bind: every observed entry goes to its bound
        assert obs.signs * outcome.matrix[obs.rows, obs.cols] == pytest.approx(np.ones(400), abs=2e-3)
    if tau < 1e-3:
        assert outcome.objective == pytest.approx(400 * math.log(2.0), rel=1e-6)


@pytest.mark.parametrize("solve", [admm, spg])
@pytest.mark.parametrize("link", LINKS, ids=str)
@pytest.mark.parametrize("alpha", [1.0, None])
@pytest.mark.parametrize("epsilon", [0.1, 0.01])
def test_labels_as_large_as_laplace_noise_makes_them(solve, link: Link, alpha: float | None, epsilon: float) -> None:  # type: ignore[no-untyped-def]
    obs = some_observations((30, 40), 400)
    labels = obs.bits + np.random.default_rng(1).laplace(0.0, 1.0 / epsilon, 400)
    assert np.abs(labels).max() > 5.0 / epsilon
    outcome = solved(Matching(link, labels), obs.omega, ConstraintSet(34.0, alpha), solve)
    assert outcome.objective < 0.0  # noised labels make the loss negative; the gap's unit is public and stays positive


@pytest.mark.parametrize("solve", [admm, spg])
@pytest.mark.parametrize("sigma", [0.05, 0.01])
@pytest.mark.parametrize("alpha", [1.0, None])
def test_a_saturating_gaussian_ends_with_a_certificate(solve, sigma: float, alpha: float | None) -> None:  # type: ignore[no-untyped-def]
    problem = synthetic(shape=(40, 30), ratio=0.4, link=Gaussian(sigma), rng=0)
    obs, link = problem.observations, Gaussian(sigma)
    for loss in (Likelihood(link, obs.signs), Matching(link, obs.bits)):
        outcome = solved(loss, obs.omega, ConstraintSet(math.sqrt(1200), alpha), solve)
        assert 0.0 <= outcome.objective <= 1e-3 * loss.scale
        assert np.mean(np.sign(outcome.matrix[obs.rows, obs.cols]) == obs.signs) > 0.99


def test_the_smallest_sigmas_there_are_still_end() -> None:
    obs = some_observations((30, 40), 400)
    for sigma in (1e-3, 1e-6):
        solved(Likelihood(Gaussian(sigma), obs.signs), obs.omega, ConstraintSet(34.6, 1.0))


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_a_matrix_seen_in_full_and_one_with_empty_rows(link: Link) -> None:
    full = some_observations((20, 20), 400)
    solved(likelihood(link, full.signs), full.omega, ConstraintSet.for_rank((20, 20)))
    corner = Observations([0, 0, 1], [0, 1, 0], [1, -1, 1], (60, 70))
    outcome = solved(likelihood(link, corner.signs), corner.omega, ConstraintSet(3.0, 1.0))
    assert np.abs(outcome.matrix[2:, 2:]).max() < 1e-3  # nothing is known there, and the ball pulls it to zero


def test_a_wide_range_of_rows_seen_often_and_once() -> None:
    rng = np.random.default_rng(0)
    share = 0.9 ** np.arange(60)
    seen = rng.random((60, 80)) < share[:, None]
    seen[np.arange(60), rng.integers(0, 80, 60)] = True
    rows, cols = np.nonzero(seen)
    obs = Observations(rows, cols, rng.choice([-1, 1], len(rows)), (60, 80))
    for link in (Logistic(), Gaussian(0.5)):
        solved(likelihood(link, obs.signs), obs.omega, ConstraintSet.for_rank((60, 80)))


@pytest.mark.parametrize("shape", [(100, 120), (120, 100), (300, 320)])
def test_a_few_observed_rows_are_solved_as_soon_as_many(shape: tuple[int, int]) -> None:
    # The iterates have fewer singular values than a block has columns.
    rng = np.random.default_rng(0)
    rows, cols = np.repeat(rng.permutation(shape[0])[:4], 40), np.tile(rng.permutation(shape[1])[:40], 4)
    omega = Omega(rows, cols, shape)
    for share in (0.05, 0.25):
        cset = ConstraintSet(share * math.sqrt(shape[0] * shape[1]))
        found = solved(likelihood(Logistic(), rng.choice([-1.0, 1.0], 160)), omega, cset)
        assert found.iterations <= 60


# Scales that do not go together ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "multiple", "limit"), [(20, 100, 120), (100, 10, 250)])
def test_entries_far_larger_than_the_scale_of_the_link(size: int, multiple: int, limit: int) -> None:
    link = Gaussian(0.18)
    signs = synthetic(shape=(size, size), rank=1, alpha=1.0, ratio=0.15, link=link, rng=0).observations
    constraints = ConstraintSet.for_rank((size, size), 1, None, multiple=multiple)
    done = obmc.ObjectivePerturbation(epsilon=1.0).release(signs, link, constraints, rng=0, tol=1e-2).completion
    assert np.abs(done.matrix).max() > 100.0 * link.sigma
    assert done.converged and done.iterations < limit


def test_a_price_of_feasibility_that_was_learnt_at_next_to_nothing_is_learnt_again() -> None:
    link = Gaussian(0.02)
    signs = Observations([0, 0, 0, 1, 1, 1], [20, 31, 39, 3, 7, 26], [1, -1, -1, 1, 1, 1], (3, 40))
    constraints = ConstraintSet(1.0954e-8, 0.001)
    done = minimise(likelihood(link, signs.signs), signs.omega, link, constraints, effects=10.0, tol=1e-4)
    assert done.converged and done.gap <= 1e-4 and done.iterations < 1000


def test_effects_that_leave_the_box_by_little_in_a_tiny_ball() -> None:
    link, rng = Logistic(), np.random.default_rng(2)
    signs = synthetic(shape=(30, 30), rank=1, alpha=1.0, ratio=0.5, link=link, rng=1).observations
    labels = (2.2 * signs.signs * rng.choice([1, -1], p=[0.7, 0.3], size=len(signs)) + 1.6) / 2.0
    done = minimise(Matching(link, labels), signs.omega, link, ConstraintSet(0.01, 0.5), effects=0.5)
    assert done.converged and done.iterations < 500
    assert np.abs(done.matrix).max() <= 0.5 * (1.0 + 1e-12)


@pytest.mark.parametrize("solver", ["admm", "spg"])
@pytest.mark.parametrize("alpha", [None, 1.0])
def test_where_all_signs_are_fitted_the_infimum_is_bound_enough(solver: str, alpha: float | None) -> None:
    link = Gaussian(0.05)
    signs = synthetic(shape=(30, 30), rank=1, alpha=1.0, ratio=0.3, link=link, rng=1).observations
    done = obmc.complete(signs, link, ConstraintSet(1e4, alpha), solver=solver)
    assert done.converged and done.iterations < 60
    assert done.gap == pytest.approx(done.objective / likelihood(link, signs.signs).scale, rel=1e-9)


def test_signs_that_are_all_the_same_have_an_infimum_though_no_minimum() -> None:
    rows, cols = np.indices((6, 7)).reshape(2, -1)
    signs, link = Observations(rows, cols, np.ones(42), (6, 7)), Gaussian(1.0)
    done = minimise(likelihood(link, signs.signs), signs.omega, link, ConstraintSet(1.0, None), effects=10.0)
    assert done.converged and done.gap <= 1e-4


def test_a_loss_that_falls_without_end_is_named() -> None:
    link = Logistic()
    omega = Observations([0, 0, 0, 1, 1, 1, 2], [0, 1, 2, 0, 1, 2, 0], np.ones(7), (3, 4)).omega
    done = minimise(Matching(link, np.full(7, 1.58)), omega, link, ConstraintSet(1.0, None), effects=10.0)
    assert not done.converged and done.message == UNBOUNDED and done.gap == math.inf and done.iterations < 20


@pytest.mark.parametrize("tau", [1e12, 1e15, 1e308])
def test_a_ball_far_beyond_the_box_does_not_count(tau: float) -> None:
    link = Logistic()
    signs = synthetic(shape=(20, 20), rank=1, alpha=1.0, ratio=0.3, link=link, rng=1).observations
    mechanism = obmc.ObjectivePerturbation(epsilon=1.0)
    done = mechanism.release(signs, link, ConstraintSet(tau, 1.0), rng=0).completion
    # The nuclear norm of a matrix in the box is at most sqrt(20) times its Frobenius norm of at most 20.
    inner = mechanism.release(signs, link, ConstraintSet(20.0 * math.sqrt(400.0), 1.0), rng=0).completion
    assert done.converged and done.iterations < 50
    assert done.objective == pytest.approx(inner.objective, abs=2e-4 * likelihood(link, signs.signs).scale)


def test_bounds_at_the_end_of_the_range_of_numbers() -> None:
    link = Logistic()
    signs = synthetic(shape=(20, 20), rank=1, alpha=1.0, ratio=0.3, link=link, rng=1).observations
    assert obmc.complete(signs, link, ConstraintSet(1e308, 1e308)).converged


@pytest.mark.parametrize(
    ("solver", "effects"), [("admm", None), ("admm", 2.0), ("spg", None), ("factored", None), ("factored", 2.0)]
)
def test_a_solve_has_converged_wherever_it_stops_if_its_gap_says_so(solver: str, effects: float | None) -> None:
    link = Logistic()
    signs = synthetic(shape=(20, 20), rank=1, alpha=1.0, ratio=0.3, link=link, rng=1).observations
    for limit in range(1, 40):
        cset, loss = ConstraintSet(20.0, 1.0), likelihood(link, signs.signs)
        done = minimise(loss, signs.omega, link, cset, effects=effects, solver=solver, tol=1e-3, max_iter=limit)
        assert done.converged == (done.gap <= 1e-3) and done.iterations <= limit
        assert ("limit" in done.message) == (not done.converged)


@pytest.mark.parametrize("solver", ["admm", "spg", "factored"])
@pytest.mark.parametrize("answer", [False, np.False_])
def test_any_false_of_a_callback_stops(solver: str, answer: bool) -> None:
    link = Logistic()
    signs = synthetic(shape=(20, 20), rank=1, alpha=1.0, ratio=0.3, link=link, rng=1).observations
    done = obmc.complete(signs, link, ConstraintSet(20.0, 1.0), solver=solver, callback=lambda progress: answer)
    assert done.iterations == 1 and done.message.startswith("stopped by the callback")


def test_any_false_of_a_callback_stops_the_search_for_the_structure() -> None:
    told = []
    rows, cols = np.indices((20, 20)).reshape(2, -1)
    # Half of the users like everything, so that there are effects to be searched for.
    signs, cset = Observations(rows, cols, np.where(rows < 10, 1.0, -1.0), (20, 20)), ConstraintSet(20.0, 1.0)

    def callback(progress: Progress) -> np.bool_:
        told.append(progress.iteration)
        return np.False_

    mechanism = obmc.InputPerturbationPlus(epsilon=4.0)
    view = mechanism.noised(signs, Logistic(), cset, rng=0)
    mechanism.structure(view, Logistic(), cset, SolverOptions(callback=callback))
    assert len(told) == 1
