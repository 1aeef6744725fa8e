"""What people would use instead, written as well as it can be: each ends at a given objective, or says that it did not.

``davenport`` is the algorithm of Davenport, Plan, van den Berg and Wootters (2014) as their toolbox runs it: spectral
projected gradient steps with a memory of three, and the projection on ball and box by an alternating direction method
that takes a full SVD per round.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import cvxpy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize

from obmc.constraints import ConstraintSet, simplex_threshold
from obmc.observations import Observations
from obmc.solvers.problem import Problem

Array = NDArray[np.float64]


@dataclass
class Found:
    """An objective, how it was reached, and the CPU seconds that took."""

    objective: float
    seconds: float
    decompositions: int = 0
    iterations: int = 0
    matrix: Array | None = None


# --- Davenport et al. ------------------------------------------------------------------------------------------------

MEMORY, DECREASE = 3, 1e-4
SHORTEST, LONGEST = 1e-4, 1e9
FIRST_PENALTY, GROWTH = 0.998, 1.05
ROUNDS, FEWEST_ROUNDS = 1000, 11


class _SlowProjection:
    """The projection on the intersection, with the state that a repeated call with a finer tolerance starts from."""

    def __init__(self, cset: ConstraintSet) -> None:
        assert cset.alpha is not None
        self.tau, self.alpha = cset.tau, cset.alpha
        self.decompositions = 0

    def _on_ball(self, matrix: Array) -> Array:
        self.decompositions += 1
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        return (left * np.maximum(values - simplex_threshold(values, self.tau), 0.0)) @ right

    def __call__(self, target: Array, tol: float, state: tuple | None = None) -> tuple[Array, tuple | None]:
        if np.abs(target).max() <= self.alpha:
            self.decompositions += 1
            if np.linalg.svd(target, compute_uv=False).sum() <= self.tau:
                return target, None
        nothing = np.zeros(target.shape)
        inner, dual, penalty = state or (nothing, nothing, FIRST_PENALTY)
        for number in range(1, ROUNDS + 1):
            outer = np.clip((target + dual + penalty * inner) / (1.0 + penalty), -self.alpha, self.alpha)
            inner = self._on_ball(outer - dual / penalty)
            apart = float(np.linalg.norm(outer - inner)) / max(1.0, float(np.linalg.norm(outer)))
            outside = max(float(np.abs(inner).max()) - self.alpha, 0.0) / max(1.0, self.alpha)
            if number >= FEWEST_ROUNDS and apart < tol and outside < tol:
                break
            dual = dual - penalty * (outer - inner)
            penalty *= GROWTH
        return 0.5 * (outer + inner), (inner, dual, penalty)


def davenport(problem: Problem, targets: Sequence[float] = (), limit: int = 10_000) -> list[Found]:
    """SPG until no finer projection finds a descent any more.

    Returns what it had when it first was at each of the ``targets`` or below, as if it had been stopped there, and last
    what it ends with by itself, which also stands for a target that it does not come down to.
    """
    began = time.process_time()
    project = _SlowProjection(problem.cset)
    x, _ = project(np.zeros(problem.omega.shape), 1e-9)
    value, gradient = problem.objective(x), problem.gradient(x)
    project(x - gradient, 1e-9)
    recent = deque([value], maxlen=MEMORY)
    length, stretch, tol, state, iteration = 1.0, 1.0, 1e-8, None, 0
    waiting, passed = sorted(targets, reverse=True), dict[float, Found]()

    def here() -> Found:
        return Found(value, time.process_time() - began, project.decompositions, iteration, x)

    while iteration < limit:
        trial, state = project(x - max(length, 1.0) * gradient, tol, state)
        direction = trial - x
        slope = float(np.vdot(gradient, direction))
        if slope >= 0.0 or float(np.linalg.norm(direction)) < 1e-9 * max(float(np.linalg.norm(x)), 1.0):
            # First a finer projection, from where the last one stopped; then longer steps; then this is the end.
            if tol > 1.1e-10:
                tol *= 0.1
                continue
            stretch *= 10.0
            length *= 10.0
            if stretch >= 1e6:
                break
            continue
        state, share, ceiling = None, 1.0, max(recent)
        while True:
            following = x + share * direction
            reached = problem.objective(following)
            if reached < ceiling + DECREASE * share * slope or share < 1e-6:
                break
            bend = 2.0 * (reached - value - share * slope)
            guess = -slope * share**2 / bend if share > 0.1 and bend > 0.0 else 0.0
            share = guess if 0.1 <= guess <= 0.9 * share else 0.5 * share
        if reached >= ceiling + DECREASE * share * slope:
            break
        new_gradient = problem.gradient(following)
        step, bend = following - x, float(np.vdot(following - x, new_gradient - gradient))
        length = stretch * (min(max(float(np.vdot(step, step)) / bend, SHORTEST), LONGEST) if bend > 0.0 else LONGEST)
        x, value, gradient = following, reached, new_gradient
        recent.append(value)
        iteration += 1
        while waiting and value <= waiting[0]:
            passed[waiting.pop(0)] = here()
    end = here()
    return [*(passed.get(target, end) for target in targets), end]


# --- Convex programming ----------------------------------------------------------------------------------------------


def cvxpy_scs(obs: Observations, cset: ConstraintSet, eps: float) -> Found:
    """The logistic problem as CVXPY takes it, solved by SCS to its own tolerance ``eps``."""
    began = time.process_time()
    x = cvxpy.Variable(obs.shape)
    fit = cvxpy.sum(cvxpy.logistic(cvxpy.multiply(-obs.signs.astype(float), x[obs.rows, obs.cols])))
    limits = [cvxpy.normNuc(x) <= cset.tau] + ([] if cset.alpha is None else [cvxpy.abs(x) <= cset.alpha])
    program = cvxpy.Problem(cvxpy.Minimize(fit), limits)
    program.solve(solver=cvxpy.SCS, eps=eps, max_iters=20_000)
    return Found(float(program.value), time.process_time() - began, matrix=np.asarray(x.value))


# --- A factorised fit ------------------------------------------------------------------------------------------------


def factorised(
    problem: Problem, rank: int, weight: float, seed: int = 0, limit: int = 2000
) -> tuple[Found, Array, Array]:
    """Maximum likelihood over A B' of this rank, by L-BFGS:

        minimise  sum over Omega of l((A B')_ij) + weight/2 (||A||_F^2 + ||B||_F^2),

    whose penalty is weight ||X||_* at the best A and B (Srebro, Rennie and Jaakkola 2005). With the
    spectral norm of the gradient at the convex solution for ``weight`` its optimum is that solution: the path of
    weights that finds it is not charged.
    """
    began = time.process_time()
    (d1, d2), rows, cols = problem.omega.shape, problem.omega.rows, problem.omega.cols
    start = 0.1 * np.random.default_rng(seed).standard_normal((d1 + d2) * rank)
    pattern = sparse.csr_array(sparse.coo_array((np.arange(1, len(rows) + 1), (rows, cols)), shape=(d1, d2)))
    order = pattern.data - 1

    def parts(flat: Array) -> tuple[Array, Array]:
        return flat[: d1 * rank].reshape(d1, rank), flat[d1 * rank :].reshape(d2, rank)

    def both(flat: Array) -> tuple[float, Array]:
        left, right = parts(flat)
        values = np.einsum("ij,ij->i", left.take(rows, axis=0), right.take(cols, axis=0))
        slope = sparse.csr_array((problem.loss.gradient(values)[order], pattern.indices, pattern.indptr), (d1, d2))
        steps = weight * flat
        along = parts(steps)
        along[0][:] += slope @ right
        along[1][:] += slope.T @ left
        return problem.loss.total(values) + 0.5 * weight * float(flat @ flat), steps

    done = minimize(both, start, jac=True, method="L-BFGS-B", options={"maxiter": limit})
    left, right = parts(np.asarray(done.x))
    norm = 0.5 * float(done.x @ done.x)
    if norm > problem.cset.tau:  # into the ball, which is what the others are held to
        left = left * (problem.cset.tau / norm)
    objective = problem.loss.total(np.einsum("ij,ij->i", left[rows], right[cols]))
    return Found(objective, time.process_time() - began, iterations=int(done.nit)), left, right
