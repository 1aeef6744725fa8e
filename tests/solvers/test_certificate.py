"""The certificate: whatever the solver did so far, the gap is at least the true one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from solver_problems import LINKS, LOSSES, is_feasible, some_loss, some_observations

from obmc.constraints import ConstraintSet
from obmc.links import Link, Logistic
from obmc.losses import FlippedLikelihood, Matching, is_convex
from obmc.solvers.admm import admm
from obmc.solvers.certificate import Certificate
from obmc.solvers.problem import Problem
from obmc.solvers.spg import spg

SHAPES = [(8, 8), (4, 30), (30, 4), (1, 12), (12, 15)]


def problems(kind: str, link: Link) -> list[Problem]:
    """Wide, tall and square, both norms or one, with and without a ridge, tight and loose."""
    found = []
    for seed, shape in enumerate(SHAPES):
        obs = some_observations(shape, max(2, int(0.4 * shape[0] * shape[1])), seed)
        loss = some_loss(kind, link, obs, seed)
        for alpha, ridge, share in (
            (1.0, 0.0, 1.0),
            (None, 0.0, 0.3),
            (0.5, 0.1, 0.2),
            (0.9, 0.0, 3.0),
            (None, 0.3, 1.0),
        ):
            if is_convex(loss, alpha):
                cset = ConstraintSet(share * math.sqrt(shape[0] * shape[1]), alpha)
                found.append(Problem(loss, obs.omega, cset, ridge))
    return found


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("link", LINKS, ids=str)
def test_the_gap_is_never_below_the_truth_at_any_iteration(link: Link, kind: str) -> None:
    for problem in problems(kind, link):
        best = admm(problem, 1e-9, 3000, None)
        assert best.converged
        scale, rounding = problem.loss.scale, 1e-11
        for solve in (admm, spg):
            for limit in (1, 3, 8, 20):
                outcome = solve(problem, 1e-9, limit, None)
                # f* lies within 1e-9 below the best value, which is the error of this very comparison.
                assert (outcome.objective - best.objective) / scale <= outcome.gap + rounding
                assert outcome.objective >= best.objective - (1e-9 + rounding) * scale
                assert is_feasible(outcome.matrix, problem.cset, 1e-9)
                assert outcome.objective == pytest.approx(problem.objective(outcome.matrix), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("link", LINKS, ids=str)
def test_any_point_and_any_split_bound_the_optimum_from_below(link: Link, kind: str) -> None:
    rng = np.random.default_rng(0)
    obs = some_observations((9, 14), 50, 3)
    problem = Problem(some_loss(kind, link, obs), obs.omega, ConstraintSet(5.0, 0.8))
    best = admm(problem, 1e-9, 3000, None)
    for size in (1e-3, 0.1, 1.0, 10.0):
        point, split = size * rng.standard_normal((9, 14)), size * rng.standard_normal((9, 14))
        for inside in (None, rng.random((9, 14)) < 0.5, np.abs(point) < 0.8):
            certificate = Certificate(problem, problem.part(), 1e-6)
            certificate.lower_bound(point, split, inside)
            assert -math.inf < certificate.bound <= best.objective + 1e-9 * problem.loss.scale
            certificate.feasible(point)
            assert certificate.best is not None
            assert is_feasible(certificate.best.matrix, problem.cset, 1e-12)
            assert certificate.gap >= (certificate.objective - best.objective) / problem.loss.scale - 1e-9


def test_the_best_of_all_points_and_bounds_is_kept() -> None:
    obs = some_observations((9, 14), 50, 3)
    problem = Problem(some_loss("likelihood", Logistic(), obs), obs.omega, ConstraintSet(5.0, 0.8))
    certificate = Certificate(problem, problem.part(), 1e-6)
    certificate.feasible(np.zeros((9, 14)))
    certificate.lower_bound(np.zeros((9, 14)), np.zeros((9, 14)))
    objective, bound = certificate.objective, certificate.bound
    assert objective == pytest.approx(problem.loss.scale)
    certificate.feasible(-5.0 * obs.to_dense())
    certificate.lower_bound(-5.0 * obs.to_dense(), 100.0 * np.ones((9, 14)))
    assert (certificate.objective, certificate.bound) == (objective, bound)


@pytest.mark.parametrize("effects", [None, 2.0])
@pytest.mark.parametrize("alpha", [0.8, None])
def test_the_bound_foreseen_last_counts_once_it_is_certified(alpha: float | None, effects: float | None) -> None:
    obs, rng = some_observations((24, 30), 250, 3), np.random.default_rng(0)
    problem = Problem(some_loss("likelihood", Logistic(), obs), obs.omega, ConstraintSet(8.0, alpha), effects=effects)
    best = admm(problem, 1e-9, 3000, None)
    part = problem.part()
    certificate, certain = Certificate(problem, part, 1e-6), Certificate(problem, part, 1e-6)
    optimum = part.step(best.matrix - 4.0 * problem.gradient(best.matrix), 0.25)
    for size in (0.0, 0.3, 0.1):
        point = optimum + size * rng.standard_normal((24, 30))
        inside = None if alpha is None else np.abs(point) < alpha
        certificate.foresee(point, problem.gradient(optimum), inside)
        certificate.price(point)
    assert (certificate.bound, certificate.best) == (-math.inf, None)
    certificate.feasible(optimum)
    assert certificate.gap == certificate.objective / problem.loss.scale  # the infimum of a likelihood is 0
    foreseen = certificate.glance(optimum)
    certificate.certify()
    certain.lower_bound(point, problem.gradient(optimum), inside)
    assert certificate.bound == certain.bound <= best.objective + 1e-9 * problem.loss.scale
    assert foreseen <= certificate.gap * (1.0 + 1e-12)
    # What was paid for is forgotten as a forecast.
    assert certificate.glance(optimum) == pytest.approx(certificate.gap)


@pytest.mark.parametrize("link", LINKS, ids=str)
@pytest.mark.parametrize("alpha", [1.0, None])
@pytest.mark.parametrize("solve", [admm, spg])
def test_no_gap_is_claimed_where_the_loss_is_not_convex(link: Link, alpha: float | None, solve) -> None:  # type: ignore[no-untyped-def]
    obs = some_observations((15, 20), 120, 4)
    loss = FlippedLikelihood(link, obs.signs, 1.0 / (1.0 + math.e))
    problem = Problem(loss, obs.omega, ConstraintSet(8.0, alpha))
    outcome = solve(problem, 1e-6, 2000, None)
    assert math.isnan(outcome.gap)
    assert "not convex" in outcome.message
    assert outcome.converged
    assert is_feasible(outcome.matrix, problem.cset)
    # A stationary point: no small feasible step towards other matrices of the set lowers f at first order.
    gradient, rng = problem.gradient(outcome.matrix), np.random.default_rng(0)
    for _ in range(20):
        other = problem.cset.clip(problem.cset.project_nuclear(outcome.matrix - 10.0 * rng.random() * gradient))
        other *= min(1.0, 8.0 / np.linalg.svd(other, compute_uv=False).sum())
        assert np.vdot(gradient, other - outcome.matrix) >= -1e-3 * np.linalg.norm(gradient) * np.linalg.norm(other)


def test_a_flipped_likelihood_far_below_its_dip_gets_no_false_certificate() -> None:
    obs = some_observations((6, 8), 30, 5)
    loss = FlippedLikelihood(Logistic(), obs.signs, 1.0 / (1.0 + math.exp(60.0)))
    for alpha, claimed in ((29.0, True), (31.0, False), (100.0, False), (None, False)):
        outcome = admm(Problem(loss, obs.omega, ConstraintSet(50.0, alpha)), 1e-4, 500, None)
        assert math.isfinite(outcome.gap) is claimed


def test_a_rounded_up_norm_costs_little_and_never_the_certificate() -> None:
    # Above 160 rows the projection comes from a block, and at this tolerance the nuclear norm from the Gram matrix.
    obs = some_observations((170, 200), 9000, 6)
    problem = Problem(Matching(Logistic(), obs.bits), obs.omega, ConstraintSet(60.0, 0.5))
    rough, fine = admm(problem, 1e-3, 500, None), admm(problem, 1e-6, 2000, None)
    assert rough.converged and fine.converged
    assert 0.0 <= (rough.objective - fine.objective) / problem.loss.scale <= rough.gap
    assert is_feasible(rough.matrix, problem.cset, 1e-12)
