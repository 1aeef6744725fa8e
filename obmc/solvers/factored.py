"""Factored SPG: the nuclear-norm problem for matrices that do not fit densely.

    minimise  sum over Omega of l(S_ij) + ridge/2 ||L||_F^2 + lam/2 (|b|^2 + |c|^2)
    subject to  S = mu + b 1' + 1 c' + L,  ||L||_* <= tau.

The box is not part of the iteration. So every iterate L = A B' is of low rank and the loss's gradient is sparse; a
projected gradient step needs the leading singular triplets of (low rank + sparse), found by a block iteration that
starts from the ones before. The values of S on Omega are kept as a vector: the line search and the Barzilai-Borwein
length cost O(n). The effects move with L in one gradient step, each in the unit in which its curvature is an entry's.
Memory: O(n) plus (d1 + d2) times the block. Birgin, Martinez and Raydan 2000; theory section 2.
"""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from obmc.constraints import simplex_threshold
from obmc.losses import is_convex
from obmc.solvers.certificate import Problem
from obmc.solvers.completion import Callback, Progress
from obmc.solvers.parts import Effects
from obmc.solvers.spectral import Bound, spectral_norm_bound

Array = NDArray[np.float64]

MEMORY = 10
DECREASE = 1e-4
SHORTEST, LONGEST = 1e-3, 1e3  # of a step, in units of 1 / (largest curvature)
FIRST_BLOCK = 16
# The factors and their work space may take this many numbers; a solution that wants more is not of low rank.
LARGEST_FACTORS = 400_000_000


class RankTooLargeError(ValueError):
    """The solution is not of low rank at this radius; the message says what to change."""


@dataclass(frozen=True, eq=False)
class FactoredOutcome:
    """L = left right' with effects, and what was reached. ``passes`` counts products and sweeps over the n entries."""

    left: Array
    right: Array
    effects: Effects | None
    objective: float
    gap: float
    converged: bool
    iterations: int
    seconds: float
    message: str
    decompositions: int
    passes: int


class _Pattern:
    """Omega sorted by row, as the index part of a sparse matrix whose data change from iteration to iteration."""

    def __init__(self, problem: Problem) -> None:
        rows, cols = problem.omega.rows, problem.omega.cols
        self.shape = problem.omega.shape
        self.order = np.lexsort((cols, rows))
        self.rows, self.cols = rows[self.order], cols[self.order]
        self.row_counts = np.bincount(self.rows, minlength=self.shape[0])
        self.col_counts = np.bincount(self.cols, minlength=self.shape[1])
        starts = np.zeros(self.shape[0] + 1, dtype=np.int64)
        np.cumsum(self.row_counts, out=starts[1:])
        self._starts = starts
        self.matrix: sparse.csr_array = sparse.csr_array((np.zeros(len(rows)), self.cols, starts), shape=self.shape)
        self.passes = 0

    def set(self, data: Array) -> None:
        self.matrix.data = data

    def times(self, block: Array) -> Array:
        self.passes += 1
        return self.matrix @ block

    def transposed_times(self, block: Array) -> Array:
        self.passes += 1
        return self.matrix.T @ block

    def row_sums(self, data: Array) -> Array:
        return np.bincount(self.rows, weights=data, minlength=self.shape[0]).astype(np.float64, copy=False)

    def col_sums(self, data: Array) -> Array:
        return np.bincount(self.cols, weights=data, minlength=self.shape[1]).astype(np.float64, copy=False)

    def values(self, left: Array, right: Array) -> Array:
        """(left right') on Omega, in row order: by blocks of the product where Omega is dense, else row by row."""
        self.passes += 1
        out = np.zeros(len(self.rows))
        rank = left.shape[1]
        if rank == 0:
            return out
        if self.shape[0] * self.shape[1] < 30 * len(self.rows):
            height = max(1, 4_000_000 // self.shape[1])
            for first in range(0, self.shape[0], height):
                part = slice(self._starts[first], self._starts[min(first + height, self.shape[0])])
                block = left[first : first + height] @ right.T
                out[part] = block[self.rows[part] - first, self.cols[part]]
            return out
        step = max(1, 1_000_000 // rank)
        for begin in range(0, len(out), step):
            part = slice(begin, begin + step)
            out[part] = np.einsum("ij,ij->i", left[self.rows[part]], right[self.cols[part]])
        return out


@dataclass(frozen=True, eq=False)
class _Point:
    """An iterate with the values of S on Omega and the objective."""

    left: Array
    right: Array
    effects: Effects
    values: Array
    objective: float

    def inner(self, other: _Point) -> float:
        """<L, L'> of two iterates through their factors."""
        return float(np.sum((self.left.T @ other.left) * (self.right.T @ other.right)))


class _Block:
    """The leading singular subspace of low rank + sparse, kept and adapted from one step to the next."""

    def __init__(self, pattern: _Pattern, tau: float) -> None:
        self.pattern = pattern
        self.tau = tau
        self.side = pattern.shape[0]
        self.decompositions = 0
        width = min(FIRST_BLOCK, self.side)
        # A fixed, seeded start: any block with a component in the subspace will do.
        self.basis = np.linalg.qr(np.random.default_rng(0).standard_normal((self.side, width)))[0]
        self._rounds = 3

    def start_from(self, left: Array) -> None:
        """Put the column space of a known solution in front of the block."""
        if left.shape[1]:
            self.basis = np.linalg.qr(np.hstack([left, self.basis]))[0]

    def project(self, point: _Point, shrink: float, length: float) -> tuple[Array, Array]:
        """Factors of the projection of shrink L - length G on the ball; G is the pattern's present matrix."""
        pattern, basis, rounds = self.pattern, self.basis, self._rounds
        while True:
            self.decompositions += 1
            for _ in range(rounds):
                across = self._transposed(point, shrink, length, basis)
                basis = np.linalg.qr(shrink * (point.left @ (point.right.T @ across)) - length * pattern.times(across))[
                    0
                ]
            across = self._transposed(point, shrink, length, basis)
            squares, turn = np.linalg.eigh(across.T @ across)
            singular = np.sqrt(np.maximum(squares[::-1], 0.0))
            basis, across = basis @ turn[:, ::-1], across @ turn[:, ::-1]
            theta = simplex_threshold(singular, self.tau)
            rank = int(np.count_nonzero(singular > theta))
            full = len(singular) == min(pattern.shape)
            if full or (theta > 0.0 and rank <= len(singular) - 3):
                break
            basis, rounds = self._grow(basis), 2
        self._rounds = 1
        self.basis = basis[:, : min(max(rank + max(6, rank // 5), FIRST_BLOCK), basis.shape[1])]
        kept = singular[:rank]
        safe = np.where(kept > 0.0, kept, 1.0)
        return basis[:, :rank] * (np.maximum(kept - theta, 0.0) / safe), across[:, :rank]

    def _transposed(self, point: _Point, shrink: float, length: float, basis: Array) -> Array:
        return shrink * (point.right @ (point.left.T @ basis)) - length * self.pattern.transposed_times(basis)

    def norm_estimate(self, point: _Point, ridge: float) -> float:
        """||G + ridge L||_2 from below: the largest singular value within the present block."""
        across = self._transposed(point, ridge, -1.0, self.basis)
        return math.sqrt(max(float(np.linalg.eigvalsh(across.T @ across)[-1]), 0.0))

    def _grow(self, basis: Array) -> Array:
        width = min(int(1.5 * basis.shape[1]) + 8, min(self.pattern.shape))
        if 3 * width * sum(self.pattern.shape) > LARGEST_FACTORS:
            raise RankTooLargeError(
                f"tau = {self.tau:g} lets the solution have a rank above {basis.shape[1]}, which does not fit in "
                f"memory at {self.pattern.shape[0]} x {self.pattern.shape[1]}; choose a smaller tau (or rank)."
            )
        extra = np.random.default_rng(width).standard_normal((self.side, width - basis.shape[1]))
        return np.linalg.qr(np.hstack([basis, extra]))[0]


class _Model:
    """The objective and its gradient in the factored variables."""

    def __init__(self, problem: Problem, pattern: _Pattern) -> None:
        self.loss = problem.loss.select(pattern.order)
        self.pattern = pattern
        self.ridge = problem.ridge
        self.penalty = problem.effects
        self.low_rank = problem.low_rank
        unit = problem.loss.max_curvature
        weight = 0.0 if self.penalty is None else self.penalty / unit
        # In these units the curvature along every effect is at most that of a single entry.
        self.row_weights = np.maximum(pattern.row_counts + weight, 1e-12)
        self.col_weights = np.maximum(pattern.col_counts + weight, 1e-12)
        self.level_weight = float(self.loss.n)

    def point(self, left: Array, right: Array, effects: Effects) -> _Point:
        values = self.pattern.values(left, right)
        if self.penalty is not None:
            values += effects.at(self.pattern.rows, self.pattern.cols)
        objective = float(self.loss.values(values).sum())
        if self.penalty is not None:
            objective += 0.5 * self.penalty * effects.squares
        if self.ridge:
            objective += 0.5 * self.ridge * float(np.sum((left.T @ left) * (right.T @ right)))
        return _Point(left, right, effects, values, objective)

    def effects_gradient(self, point: _Point, gradient: Array) -> Effects:
        assert self.penalty is not None
        return Effects(
            float(gradient.sum()),
            self.pattern.row_sums(gradient) + self.penalty * point.effects.rows,
            self.pattern.col_sums(gradient) + self.penalty * point.effects.cols,
        )

    def effects_step(self, point: _Point, slope: Effects, length: float) -> Effects:
        return Effects(
            point.effects.level - length * slope.level / self.level_weight,
            point.effects.rows - length * slope.rows / self.row_weights,
            point.effects.cols - length * slope.cols / self.col_weights,
        )

    def squared_distance(self, new: _Point, old: _Point) -> float:
        """||new - old||^2 in the metric of the step."""
        total = max(new.inner(new) + old.inner(old) - 2.0 * new.inner(old), 0.0)
        if self.penalty is not None:
            rows, cols = new.effects.rows - old.effects.rows, new.effects.cols - old.effects.cols
            total += self.level_weight * (new.effects.level - old.effects.level) ** 2
            total += float(self.row_weights @ rows**2 + self.col_weights @ cols**2)
        return total

    def directional(self, gradient: Array, at: _Point, new: _Point, old: _Point) -> float:
        """<grad f(at), new - old>, where ``gradient`` is the loss's at ``at``."""
        total = float(gradient @ (new.values - old.values))
        if self.penalty is not None:
            total += self.penalty * float(at.effects.rows @ (new.effects.rows - old.effects.rows))
            total += self.penalty * float(at.effects.cols @ (new.effects.cols - old.effects.cols))
        if self.ridge:
            total += self.ridge * (at.inner(new) - at.inner(old))
        return total

    def bound_without_norm(self, point: _Point, gradient: Array) -> float:
        """f(P) - <G, P> - (|G 1|^2 + |G' 1|^2) / (2 lam), G the loss's gradient at P.

        Less tau times the norm of G + ridge L it is a lower bound of the optimum (theory section 2).
        """
        fit = float(self.loss.values(point.values).sum()) - float(gradient @ point.values)
        if self.ridge:
            fit -= 0.5 * self.ridge * point.inner(point)
        if self.penalty is not None:
            rows, cols = self.pattern.row_sums(gradient), self.pattern.col_sums(gradient)
            fit -= float(rows @ rows + cols @ cols) / (2.0 * self.penalty)
        return fit

    def levelled(self, point: _Point, gradient: Array) -> tuple[_Point, Array]:
        """The point with its level made optimal, and the gradient there, which sums to zero as the bound needs."""
        if self.penalty is None:
            return point, gradient
        shift = self._level_shift(point.values)
        effects = Effects(point.effects.level + shift, point.effects.rows, point.effects.cols)
        values = point.values + shift
        objective = float(self.loss.values(values).sum()) + 0.5 * self.penalty * effects.squares
        return _Point(point.left, point.right, effects, values, objective), self.loss.gradient(values)

    def _level_shift(self, values: Array) -> float:
        shift = 0.0
        for _ in range(50):
            slope = float(self.loss.gradient(values + shift).sum())
            curvature = max(float(self.loss.curvature(values + shift).sum()), 1e-300)
            step = min(max(slope / curvature, -1.0), 1.0)
            shift -= step
            if abs(step) < 1e-12:
                break
        return shift


def factored(
    problem: Problem, tol: float, max_iter: int, callback: Callback | None, start: FactoredOutcome | None = None
) -> FactoredOutcome:
    """Solve to a relative gap of ``tol`` on the problem without the box, or to small steps where no gap is claimed.

    Parameters as for ``obmc.solvers.admm.admm``; the box of ``problem.cset`` is ignored (the caller clips).
    ``start`` is the outcome of a similar problem with at most this radius (a path of radii goes from small to large).

    Raises
    ------
    RankTooLargeError
        Where the solution at this radius is of so high a rank that its factors would not fit.
    """
    began = time.perf_counter()
    pattern = _Pattern(problem)
    model = _Model(problem, pattern)
    block = _Block(pattern, problem.cset.tau)
    convex = is_convex(problem.loss, None)
    d1, d2 = pattern.shape
    unit = 1.0 / (problem.loss.max_curvature + problem.ridge)
    length = unit
    nothing = Effects(0.0, np.zeros(d1), np.zeros(d2))
    point = model.point(np.zeros((d1, 0)), np.zeros((d2, 0)), nothing)
    if start is not None:
        point = model.point(start.left, start.right, start.effects if start.effects is not None else nothing)
        block.start_from(start.left)
    gradient = model.loss.gradient(point.values)
    recent = deque([point.objective], maxlen=MEMORY)
    scale = model.loss.scale
    lower, promise, next_look, done, iteration = -math.inf, math.inf, 4, False, 0
    message, note = "the iteration limit was reached", ""

    def look(force: bool) -> None:
        """Bring the level to its optimum and the lower bound up to date, if that can close the gap (or by force)."""
        nonlocal point, gradient, lower, promise, note
        point, gradient = model.levelled(point, gradient)
        pattern.set(gradient)
        fit, radius = model.bound_without_norm(point, gradient), problem.cset.tau if model.low_rank else 0.0
        estimate = block.norm_estimate(point, model.ridge) if radius else 0.0
        promise = (point.objective - max(fit - radius * estimate, lower)) / scale
        if not force and promise > tol:
            return
        found = Bound(0.0)
        if radius:
            # A slack of the norm moves the bound by tau times it: a quarter of the tolerance is spent on it.
            slack = 0.25 * tol * scale / radius
            found = spectral_norm_bound(pattern.matrix, point.left, point.right, model.ridge, slack)
        if fit - radius * found.value > lower:
            lower, note = fit - radius * found.value, found.note

    for iteration in range(1, max_iter + 1):
        slope = None if model.penalty is None else model.effects_gradient(point, gradient)
        while True:
            pattern.set(gradient)
            left, right = point.left, point.right
            if model.low_rank:
                left, right = block.project(point, 1.0 - length * model.ridge, length)
            effects = point.effects if slope is None else model.effects_step(point, slope, length)
            new = model.point(left, right, effects)
            predicted = model.directional(gradient, point, new, point)
            if new.objective <= max(recent) + DECREASE * min(predicted, 0.0) or length <= SHORTEST * unit:
                break
            length = max(0.5 * length, SHORTEST * unit)
        new_gradient = model.loss.gradient(new.values)
        squared = model.squared_distance(new, point)
        bend = model.directional(new_gradient, new, new, point) - predicted
        moved = math.sqrt(squared) / max(math.sqrt(model.squared_distance(new, _origin(model))), 1e-300)
        length = unit * (min(max(squared / (bend * unit), SHORTEST), LONGEST) if bend > 0.0 else LONGEST)
        point, gradient = new, new_gradient
        recent.append(point.objective)
        gap = math.nan
        if convex and (iteration >= next_look or iteration == max_iter):
            look(iteration == max_iter)
            gap = max(point.objective - lower, 0.0) / scale
            done = gap <= tol
            # Far from the end few iterations are worth a look, near it every one.
            next_look = iteration + (1 if promise <= 3.0 * tol else 3)
        elif not convex:
            done = moved <= tol
        if done:
            message = "the gap is within the tolerance" if convex else "the step is within the tolerance"
            break
        if callback is not None and callback(Progress(iteration, max_iter, gap)) is False:
            message = "stopped by the callback"
            break
    if convex and not done:
        look(True)
    return FactoredOutcome(
        left=point.left,
        right=point.right,
        effects=None if model.penalty is None else point.effects,
        objective=point.objective,
        gap=max(point.objective - lower, 0.0) / scale if convex else math.nan,
        converged=done,
        iterations=iteration,
        seconds=time.perf_counter() - began,
        message=message + (note if convex else "; without the box this loss is not convex, so no gap is claimed"),
        decompositions=block.decompositions,
        passes=pattern.passes,
    )


def _origin(model: _Model) -> _Point:
    d1, d2 = model.pattern.shape
    return _Point(
        np.zeros((d1, 0)), np.zeros((d2, 0)), Effects(0.0, np.zeros(d1), np.zeros(d2)), np.zeros(model.loss.n), 0.0
    )
