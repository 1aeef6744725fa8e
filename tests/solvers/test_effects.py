"""User and item effects with a low-rank part: the joint optimum against a general solver, and the certificates."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from obmc.constraints import ConstraintSet
from obmc.links import Gaussian, Link, Logistic
from obmc.losses import Matching
from obmc.observations import Omega
from obmc.solvers.admm import admm
from obmc.solvers.dispatch import minimise
from obmc.solvers.factored import factored
from obmc.solvers.problem import Problem

LOGISTIC = Logistic()


def problem(
    *,
    shape: tuple[int, int] = (9, 7),
    tau: float = 4.0,
    alpha: float | None = 1.0,
    ridge: float = 0.7,
    low_rank: bool = True,
    link: Link = LOGISTIC,
    seed: int = 0,
) -> Problem:
    """Noisy real labels, as after an unbiased randomised response, at three quarters of the entries."""
    rng = np.random.default_rng(seed)
    rows, cols = np.nonzero(rng.random(shape) < 0.75)
    bits = (rng.random(len(rows)) < 0.35 + 0.4 * (rows % 2)).astype(float)
    omega = Omega(rows.astype(np.int32), cols.astype(np.int32), shape)
    return Problem(
        Matching(link, 1.6 * (bits - 0.2)), omega, ConstraintSet(tau, alpha), effects=ridge, low_rank=low_rank
    )


def reference_optimum(asked: Problem) -> float:
    """The optimal value by CVXPY, for the logistic link."""
    d1, d2 = asked.omega.shape
    mu, b, c, low = cp.Variable(), cp.Variable((d1, 1)), cp.Variable((1, d2)), cp.Variable((d1, d2))
    total = mu + b @ np.ones((1, d2)) + np.ones((d1, 1)) @ c + low
    seen = total[asked.omega.rows, asked.omega.cols]
    assert isinstance(asked.loss, Matching)
    fit = cp.sum(cp.logistic(seen)) - asked.loss.labels @ seen
    penalty = 0.5 * asked.effects * (cp.sum_squares(b) + cp.sum_squares(c))
    limits = [cp.normNuc(low) <= asked.cset.tau] if asked.low_rank else [low == 0]
    if asked.cset.alpha is not None:
        limits.append(cp.abs(total) <= asked.cset.alpha)
    return float(cp.Problem(cp.Minimize(fit + penalty), limits).solve(solver="SCS", eps=1e-8, max_iters=50_000))


@pytest.mark.parametrize(
    ("low_rank", "alpha", "tau"), [(True, 1.0, 4.0), (True, 0.4, 1.5), (True, None, 2.0), (False, 0.5, 1.0)]
)
def test_admm_finds_the_joint_optimum_and_its_certificate_holds(
    low_rank: bool, alpha: float | None, tau: float
) -> None:
    asked = problem(low_rank=low_rank, alpha=alpha, tau=tau)
    optimum = reference_optimum(asked)
    done = admm(asked, 1e-6, 5000, None)
    error = (done.objective - optimum) / asked.loss.scale
    assert done.converged
    # The point is feasible, so it cannot be better than the optimum, and is worse by at most what is certified.
    assert -1e-6 <= error <= done.gap + 1e-6


def test_the_objective_is_that_of_the_reported_matrix_and_effects() -> None:
    asked = problem(alpha=0.5)
    done = admm(asked, 1e-5, 5000, None)
    assert done.effects is not None
    low = done.matrix - done.effects.dense()
    assert np.linalg.svd(low, compute_uv=False).sum() <= asked.cset.tau * (1 + 1e-9)
    assert np.abs(done.matrix).max() <= 0.5 + 1e-12
    fit = asked.loss.values(done.matrix[asked.omega.rows, asked.omega.cols]).sum()
    assert done.objective == pytest.approx(fit + 0.5 * 0.7 * done.effects.squares, rel=1e-12)


def test_effects_first_and_the_rest_second_is_worse_than_both_together() -> None:
    asked = problem(shape=(30, 20), tau=12.0, alpha=None, ridge=0.3)
    joint = admm(asked, 1e-5, 5000, None)
    first = admm(problem(shape=(30, 20), tau=12.0, alpha=None, ridge=0.3, low_rank=False), 1e-6, 5000, None)
    assert first.effects is not None
    fixed = first.effects.dense()
    low = cp.Variable((30, 20))
    seen = (fixed + low)[asked.omega.rows, asked.omega.cols]
    assert isinstance(asked.loss, Matching)
    second = cp.Problem(
        cp.Minimize(cp.sum(cp.logistic(seen)) - asked.loss.labels @ seen), [cp.normNuc(low) <= asked.cset.tau]
    ).solve(solver="SCS", eps=1e-6)
    two_steps = second + 0.5 * 0.3 * first.effects.squares
    assert two_steps - joint.objective > 2e-4 * asked.loss.scale


@pytest.mark.parametrize("link", [LOGISTIC, Gaussian(1.0)], ids=["logistic", "Gaussian"])
@pytest.mark.parametrize("low_rank", [True, False])
def test_both_solvers_agree_without_a_box(link: Link, low_rank: bool) -> None:
    asked = problem(shape=(40, 25), tau=10.0, alpha=None, ridge=1.5, low_rank=low_rank, link=link)
    dense, sparse = admm(asked, 1e-5, 5000, None), factored(asked, 1e-5, 2000, None)
    scale = asked.loss.scale
    assert dense.converged
    assert sparse.converged
    assert abs(dense.objective - sparse.objective) / scale <= 1e-5
    assert dense.effects is not None
    assert sparse.effects is not None
    # The effects are unique by their ridge; the level by the sum on Omega.
    np.testing.assert_allclose(dense.effects.rows, sparse.effects.rows, atol=0.05)
    np.testing.assert_allclose(dense.effects.cols, sparse.effects.cols, atol=0.05)


def test_a_box_that_does_not_bind_changes_nothing() -> None:
    free, boxed = admm(problem(alpha=None), 1e-6, 5000, None), admm(problem(alpha=50.0), 1e-6, 5000, None)
    assert boxed.objective == pytest.approx(free.objective, rel=1e-5)


def test_planted_effects_are_recovered() -> None:
    rng = np.random.default_rng(4)
    d1, d2 = 80, 60
    b, c = 0.8 * rng.standard_normal(d1), 0.8 * rng.standard_normal(d2)
    truth = 0.3 + b[:, None] + c[None, :]
    rows, cols = np.nonzero(rng.random((d1, d2)) < 0.9)
    bits = (rng.random(len(rows)) < LOGISTIC.probability(truth[rows, cols])).astype(float)
    omega = Omega(rows.astype(np.int32), cols.astype(np.int32), (d1, d2))
    done = minimise(
        Matching(LOGISTIC, bits), omega, LOGISTIC, ConstraintSet(1.0, 6.0), effects=1.0, low_rank=False, tol=1e-5
    )
    assert done.effects is not None
    assert np.corrcoef(done.effects.rows, b)[0, 1] > 0.9
    assert np.corrcoef(done.effects.cols, c)[0, 1] > 0.9
    error = np.sum((done.matrix - truth) ** 2) / np.sum(truth**2)
    assert error < 0.15


def test_a_larger_ridge_means_smaller_effects_and_in_the_end_the_level_alone() -> None:
    sizes = []
    for ridge in (0.1, 1.0, 10.0, 1e6):
        done = factored(problem(ridge=ridge, low_rank=False, alpha=None), 1e-8, 2000, None)
        assert done.effects is not None
        sizes.append(done.effects.squares)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 1e-6


def test_what_effects_do_not_go_with_is_refused_in_words() -> None:
    asked = problem()
    for given, words in (
        ({"solver": "spg", "effects": 1.0}, "effects go with"),
        ({"ridge": 1.0, "effects": 1.0}, "effects go with"),
        ({"low_rank": False}, "low_rank must be True"),
        ({"effects": 0.0}, "effects must be"),
    ):
        with pytest.raises(ValueError, match=words):
            minimise(asked.loss, asked.omega, LOGISTIC, asked.cset, **given)
