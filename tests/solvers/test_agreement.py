"""Solver against solver, against convex programming, and against a slow method that shares no code with either."""

from __future__ import annotations

import math

import cvxpy
import numpy as np
import pytest
from solver_problems import LINKS, is_feasible, slow_optimum, some_loss, some_observations

from obmc.constraints import ConstraintSet
from obmc.datasets import synthetic
from obmc.links import Gaussian, Link, Logistic
from obmc.losses import FlippedLikelihood, Likelihood, Matching
from obmc.mechanisms import InputPerturbation
from obmc.observations import Observations
from obmc.solvers import minimise
from obmc.solvers.admm import PLAIN_AFTER, admm
from obmc.solvers.problem import Problem
from obmc.solvers.spg import spg


@pytest.mark.parametrize("kind", ["likelihood", "tilted", "noised", "flipped"])
@pytest.mark.parametrize("link", [Logistic(), Gaussian(1.0), Gaussian(0.3)], ids=str)
@pytest.mark.parametrize("alpha", [1.0, None])
def test_admm_and_spg_end_at_the_same_objective(link: Link, kind: str, alpha: float | None) -> None:
    obs = some_observations((25, 35), 300, 1)
    loss = some_loss(kind, link, obs)
    if loss.min_curvature(alpha) < 0.0:
        loss = Likelihood(link, obs.signs)
    for share in (0.15, 1.0):
        problem = Problem(loss, obs.omega, ConstraintSet(share * math.sqrt(25 * 35), alpha))
        first, second = admm(problem, 1e-6, 5000, None), spg(problem, 1e-6, 5000, None)
        assert first.converged and second.converged
        assert abs(first.objective - second.objective) <= 1e-6 * loss.scale
        # A separate solution only where the loss is flat: where it was observed the two agree.
        values = [outcome.matrix.reshape(-1)[obs.omega.flat] for outcome in (first, second)]
        assert np.abs(values[0] - values[1]).max() <= 0.05


def with_cvxpy(signs: np.ndarray, rows: np.ndarray, cols: np.ndarray, shape: tuple, cset: ConstraintSet) -> float:
    x = cvxpy.Variable(shape)
    fit = cvxpy.sum(cvxpy.logistic(cvxpy.multiply(-signs.astype(float), x[rows, cols])))
    bounds = [cvxpy.normNuc(x) <= cset.tau] + ([] if cset.alpha is None else [cvxpy.abs(x) <= cset.alpha])
    program = cvxpy.Problem(cvxpy.Minimize(fit), bounds)
    program.solve(solver=cvxpy.CLARABEL)
    assert program.status == cvxpy.OPTIMAL
    return float(program.value)


@pytest.mark.parametrize(("tau", "alpha"), [(3.0, None), (3.0, 0.35), (6.0, 1.0), (100.0, 1.0)])
def test_convex_programming_finds_the_same_logistic_optimum(tau: float, alpha: float | None) -> None:
    obs = some_observations((7, 9), 40, 2)
    cset = ConstraintSet(tau, alpha)
    optimum = with_cvxpy(obs.signs, obs.rows, obs.cols, (7, 9), cset)
    for solver in ("admm", "spg"):
        done = minimise(Likelihood(Logistic(), obs.signs), obs.omega, Logistic(), cset, solver=solver, tol=1e-8)
        assert done.objective == pytest.approx(optimum, abs=2e-6)


@pytest.mark.parametrize(
    ("tau", "alpha", "ridge"), [(2.0, None, 0.0), (4.0, 0.9, 0.0), (8.0, 0.9, 0.05), (50.0, 0.7, 0.0), (3.0, None, 0.3)]
)
@pytest.mark.parametrize("link", [Gaussian(1.0), Gaussian(0.4)], ids=str)
def test_a_slow_method_finds_the_same_gaussian_optimum(
    link: Link, tau: float, alpha: float | None, ridge: float
) -> None:
    obs = some_observations((6, 8), 30, 3)
    cset = ConstraintSet(tau, alpha)
    for loss in (Likelihood(link, obs.signs), Matching(link, obs.bits + 0.5)):
        problem = Problem(loss, obs.omega, cset, ridge)
        slow = slow_optimum(loss, obs.omega, cset, ridge)
        assert is_feasible(slow, cset, 1e-7)
        outcome = admm(problem, 1e-9, 5000, None)
        assert outcome.converged
        assert outcome.objective == pytest.approx(problem.objective(slow), abs=1e-6 * loss.scale)
        if ridge:
            assert outcome.matrix == pytest.approx(slow, abs=2e-3)  # strongly convex: one solution


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_a_ridge_solution_is_found_to_one_part_in_a_hundred_million(link: Link) -> None:
    obs = some_observations((100, 100), 1500, 4)
    for ridge in (1e-3, 0.05, 1.0, 30.0):
        for loss in (Matching(link, obs.bits), Likelihood(link, obs.signs)):
            outcome = admm(Problem(loss, obs.omega, ConstraintSet(100.0, 1.0), ridge), 1e-8, 500, None)
            assert outcome.converged
            assert outcome.gap <= 1e-8


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_both_solvers_find_as_good_a_point_where_the_loss_is_not_convex(link: Link) -> None:
    obs = some_observations((20, 30), 250, 5)
    loss = FlippedLikelihood(link, obs.signs, 1.0 / (1.0 + math.e))
    problem = Problem(loss, obs.omega, ConstraintSet(math.sqrt(600), 1.0))
    values = [solve(problem, 1e-6, 3000, None).objective for solve in (admm, spg)]
    assert values[0] == pytest.approx(values[1], abs=1e-5 * loss.scale)
    assert values[0] < problem.objective(np.zeros((20, 30)))


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_where_the_over_relaxed_iteration_runs_in_a_circle_the_plain_one_comes_to_rest(seed: int) -> None:
    """Without convexity these three go round for ever, at an objective above that where they rest."""
    link, cset = Gaussian(0.5), ConstraintSet.for_rank((20, 20))
    obs = synthetic((20, 20), ratio=0.6, link=link, rng=seed).observations
    mechanism = InputPerturbation(epsilon=0.1, calibration="paper")
    view = mechanism.noised(obs, link, cset, rng=seed)
    problem = Problem(mechanism.loss(view, link), obs.omega, cset)
    circling, resting = (admm(problem, 1e-4, limit, None) for limit in (PLAIN_AFTER, 400))
    assert not circling.converged
    assert resting.converged
    assert PLAIN_AFTER < resting.iterations < PLAIN_AFTER + 60
    assert resting.objective < circling.objective


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_without_convexity_a_ball_that_does_not_bind_ends_the_solve_as_well(link: Link) -> None:
    """Then the dual is zero, and what is relative to it would never be small."""
    obs = some_observations((20, 30), 250, 5)
    loss = FlippedLikelihood(link, obs.signs, 1.0 / (1.0 + math.e))
    outcome = admm(Problem(loss, obs.omega, ConstraintSet(1e4, 1.0)), 1e-6, 200, None)
    assert outcome.converged
    assert outcome.objective == pytest.approx(loss.total(obs.signs), rel=1e-6)  # every entry at its end of the box


@pytest.mark.parametrize("solver", ["admm", "spg"])
@pytest.mark.parametrize("link", LINKS, ids=str)
def test_symmetries_of_the_problem_are_those_of_the_solution(link: Link, solver: str) -> None:
    obs, cset = some_observations((14, 20), 120, 6), ConstraintSet(9.0, 0.8)

    def solve(signs: np.ndarray, rows: np.ndarray, cols: np.ndarray, shape: tuple) -> np.ndarray:
        obs = Observations(rows, cols, signs, shape)
        return minimise(Likelihood(link, obs.signs), obs.omega, link, cset, solver=solver, tol=1e-8).matrix

    matrix = solve(obs.signs, obs.rows, obs.cols, (14, 20))
    assert np.array_equal(solve(obs.signs, obs.rows, obs.cols, (14, 20)), matrix)  # the same, bit for bit
    order = np.random.default_rng(0).permutation(120)
    assert solve(-obs.signs, obs.rows, obs.cols, (14, 20)) == pytest.approx(-matrix, abs=2e-3)
    assert solve(obs.signs, obs.cols, obs.rows, (20, 14)) == pytest.approx(matrix.T, abs=2e-3)
    assert solve(obs.signs[order], obs.rows[order], obs.cols[order], (14, 20)) == pytest.approx(matrix, abs=2e-3)


def test_a_scaled_problem_has_the_scaled_solution() -> None:
    obs = some_observations((14, 20), 120, 7)
    found = []
    for unit in (1e-4, 1.0, 1e4):
        link, cset = Gaussian(unit), ConstraintSet(9.0 * unit, 0.8 * unit)
        outcome = admm(Problem(Likelihood(link, obs.signs), obs.omega, cset), 1e-7, 2000, None)
        assert outcome.converged
        found.append(outcome.matrix / unit)
    assert found[0] == pytest.approx(found[1], abs=2e-3)
    assert found[2] == pytest.approx(found[1], abs=2e-3)
