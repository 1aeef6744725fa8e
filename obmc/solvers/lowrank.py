"""The factored variables: S = mu + b 1' + 1 c' + A B' on Omega, and a projected gradient step in them.

Products with a sparse gradient, the leading singular subspace of low rank + gradient, the objective with its effects,
and one step of the nonmonotone spectral projected gradient method: what ``factored`` is made of.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from obmc.constraints import simplex_threshold
from obmc.losses import Loss
from obmc.observations import Omega
from obmc.solvers.certificate import Problem
from obmc.solvers.parts import Effects

Array = NDArray[np.float64]

MEMORY = 10
DECREASE = 1e-4
SHORTEST, LONGEST = 1e-3, 1e3  # of a step, in units of 1 / (largest curvature)
FIRST_BLOCK = 16
# The factors and their work space may take this many numbers; a solution that wants more is not of low rank.
LARGEST_FACTORS = 400_000_000


class RankTooLargeError(ValueError):
    """The solution is not of low rank at this radius; the message says what to change."""


class Positions:
    """Omega sorted by row, as the index part of a sparse matrix whose data change from iteration to iteration."""

    def __init__(self, omega: Omega) -> None:
        rows, cols = omega.rows, omega.cols
        self.shape = omega.shape
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

    def effects(self, effects: Effects) -> Array:
        return effects.at(self.rows, self.cols)


@dataclass(frozen=True, eq=False)
class Point:
    """An iterate with the values of S on Omega and the objective."""

    left: Array
    right: Array
    effects: Effects
    values: Array
    objective: float

    def inner(self, other: Point) -> float:
        """<L, L'> of two iterates through their factors."""
        return float(np.sum((self.left.T @ other.left) * (self.right.T @ other.right)))


class Block:
    """The leading singular subspace of low rank + sparse, kept and adapted from one step to the next."""

    def __init__(self, pattern: Positions, tau: float) -> None:
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

    def project(self, point: Point, shrink: float, length: float) -> tuple[Array, Array]:
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
            full = len(singular) >= min(pattern.shape)
            if full or (theta > 0.0 and rank <= len(singular) - 3):
                break
            basis, rounds = self._grow(basis), 2
        self._rounds = 1
        self.basis = basis[:, : min(max(rank + max(6, rank // 5), FIRST_BLOCK), basis.shape[1])]
        kept = singular[:rank]
        safe = np.where(kept > 0.0, kept, 1.0)
        return basis[:, :rank] * (np.maximum(kept - theta, 0.0) / safe), across[:, :rank]

    def _transposed(self, point: Point, shrink: float, length: float, basis: Array) -> Array:
        return shrink * (point.right @ (point.left.T @ basis)) - length * self.pattern.transposed_times(basis)

    def norm_estimate(self, point: Point, ridge: float) -> float:
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


class Model:
    """The objective and its gradient in the factored variables, the loss's entries in the order of the positions."""

    def __init__(self, problem: Problem, pattern: Positions, loss: Loss) -> None:
        self.loss = loss
        self.pattern = pattern
        self.ridge = problem.ridge
        self.penalty = problem.effects
        self.low_rank = problem.low_rank
        weight = 0.0 if self.penalty is None else self.penalty / loss.max_curvature
        # In these units the curvature along every effect is at most that of a single entry.
        self.row_weights = np.maximum(pattern.row_counts + weight, 1e-12)
        self.col_weights = np.maximum(pattern.col_counts + weight, 1e-12)
        self.level_weight = float(pattern.row_counts.sum())

    def point(self, left: Array, right: Array, effects: Effects) -> Point:
        values = self.pattern.values(left, right)
        if self.penalty is not None:
            values += self.pattern.effects(effects)
        objective = float(self.loss.values(values).sum())
        if self.penalty is not None:
            objective += 0.5 * self.penalty * effects.squares
        if self.ridge:
            objective += 0.5 * self.ridge * float(np.sum((left.T @ left) * (right.T @ right)))
        return Point(left, right, effects, values, objective)

    def effects_gradient(self, point: Point, gradient: Array) -> Effects:
        assert self.penalty is not None
        return Effects(
            float(gradient.sum()),
            self.pattern.row_sums(gradient) + self.penalty * point.effects.rows,
            self.pattern.col_sums(gradient) + self.penalty * point.effects.cols,
        )

    def effects_step(self, point: Point, slope: Effects, length: float) -> Effects:
        return Effects(
            point.effects.level - length * slope.level / self.level_weight,
            point.effects.rows - length * slope.rows / self.row_weights,
            point.effects.cols - length * slope.cols / self.col_weights,
        )

    def squared_distance(self, new: Point, old: Point) -> float:
        """||new - old||^2 in the metric of the step."""
        total = max(new.inner(new) + old.inner(old) - 2.0 * new.inner(old), 0.0)
        if self.penalty is not None:
            rows, cols = new.effects.rows - old.effects.rows, new.effects.cols - old.effects.cols
            total += self.level_weight * (new.effects.level - old.effects.level) ** 2
            total += float(self.row_weights @ rows**2 + self.col_weights @ cols**2)
        return total

    def directional(self, gradient: Array, at: Point, new: Point, old: Point) -> float:
        """<grad f(at), new - old>, where ``gradient`` is the loss's at ``at``."""
        total = float(gradient @ (new.values - old.values))
        if self.penalty is not None:
            total += self.penalty * float(at.effects.rows @ (new.effects.rows - old.effects.rows))
            total += self.penalty * float(at.effects.cols @ (new.effects.cols - old.effects.cols))
        if self.ridge:
            total += self.ridge * (at.inner(new) - at.inner(old))
        return total

    def bound_without_norm(self, point: Point, gradient: Array) -> float:
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

    def levelled(self, point: Point, gradient: Array) -> tuple[Point, Array]:
        """The point with its level made optimal, and the gradient there, which sums to zero as the bound needs."""
        if self.penalty is None:
            return point, gradient
        shift = self._level_shift(point.values)
        effects = Effects(point.effects.level + shift, point.effects.rows, point.effects.cols)
        values = point.values + shift
        objective = float(self.loss.values(values).sum()) + 0.5 * self.penalty * effects.squares
        return Point(point.left, point.right, effects, values, objective), self.loss.gradient(values)

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


def origin(shape: tuple[int, int], n: int) -> Point:
    """The matrix of zeros."""
    d1, d2 = shape
    return Point(np.zeros((d1, 0)), np.zeros((d2, 0)), Effects(0.0, np.zeros(d1), np.zeros(d2)), np.zeros(n), 0.0)


class Descent:
    """The iteration: a point, the loss's gradient there, and the next step's length.

    Parameters
    ----------
    model
        The objective.
    tau
        Radius of the ball.
    left, right, effects
        Where to start; None for zeros.
    """

    def __init__(
        self,
        model: Model,
        tau: float,
        left: Array | None = None,
        right: Array | None = None,
        effects: Effects | None = None,
    ) -> None:
        self.model = model
        self.block = Block(model.pattern, tau)
        zero = origin(model.pattern.shape, model.loss.n)
        if left is not None and right is not None:
            self.block.start_from(left)
            self.point = model.point(left, right, zero.effects if effects is None else effects)
        else:
            self.point = model.point(zero.left, zero.right, zero.effects)
        self._zero = zero
        self.unit = 1.0 / (model.loss.max_curvature + model.ridge)
        self.length = self.unit
        self.renew()

    def renew(self) -> None:
        """Take the objective and its gradient anew at the present point: after the loss has changed."""
        self.point = self.model.point(self.point.left, self.point.right, self.point.effects)
        self.move_to(self.point, self.model.loss.gradient(self.point.values))
        self.recent = deque([self.point.objective], maxlen=MEMORY)

    def move_to(self, point: Point, gradient: Array) -> None:
        """Go on from another point."""
        self.point, self.gradient = point, gradient

    def step(self) -> float:
        """One projected gradient step with line search; returns the relative size of the move."""
        model, point, gradient, unit = self.model, self.point, self.gradient, self.unit
        slope = None if model.penalty is None else model.effects_gradient(point, gradient)
        while True:
            left, right = point.left, point.right
            if model.low_rank:
                model.pattern.set(gradient)
                left, right = self.block.project(point, 1.0 - self.length * model.ridge, self.length)
            effects = point.effects if slope is None else model.effects_step(point, slope, self.length)
            new = model.point(left, right, effects)
            predicted = model.directional(gradient, point, new, point)
            if new.objective <= max(self.recent) + DECREASE * min(predicted, 0.0) or self.length <= SHORTEST * unit:
                break
            self.length = max(0.5 * self.length, SHORTEST * unit)
        new_gradient = model.loss.gradient(new.values)
        squared = model.squared_distance(new, point)
        bend = model.directional(new_gradient, new, new, point) - predicted
        size = max(math.sqrt(model.squared_distance(new, self._zero)), 1e-300)
        self.length = unit * (min(max(squared / (bend * unit), SHORTEST), LONGEST) if bend > 0.0 else LONGEST)
        self.move_to(new, new_gradient)
        self.recent.append(new.objective)
        return math.sqrt(squared) / size
