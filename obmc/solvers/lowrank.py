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
from obmc.solvers.level import best_shift
from obmc.solvers.parts import Effects
from obmc.solvers.problem import Problem

Array = NDArray[np.float64]

MEMORY = 10
DECREASE = 1e-4
SHORTEST, LONGEST, LONGER = 1e-3, 1e6, 10.0  # of a step: in units of 1 / (largest curvature), and of the one before
FIRST_BLOCK = 8
# Products by blocks pay where a row of blocks holds this many entries per observed one; sizes fit the second cache.
DENSE_RATIO, DENSE_CHUNK, CHUNK = 12, 300_000, 65_536
# The factors and their work space may take this many numbers; a solution that wants more is not of low rank.
LARGEST_FACTORS = 100_000_000


class RankTooLargeError(ValueError):
    """The solution is not of low rank at this radius; the message says what to change."""


class Positions:
    """Omega row by row, as the index part of a sparse matrix whose data change from iteration to iteration."""

    def __init__(self, omega: Omega) -> None:
        self.shape = omega.shape
        # Where the rows come in order, as in most files, the entries stay where they are and nothing is copied.
        falls = bool(np.any(omega.rows[1:] < omega.rows[:-1]))
        self.order: NDArray[np.int64] | slice = _by_row(omega) if falls else slice(None)
        self.rows, self.cols = omega.rows[self.order], omega.cols[self.order]
        self.row_counts = np.bincount(self.rows, minlength=self.shape[0])
        self.col_counts = np.bincount(self.cols, minlength=self.shape[1])
        self._starts = np.zeros(self.shape[0] + 1, dtype=np.int32)
        np.cumsum(self.row_counts, out=self._starts[1:])
        nothing = np.zeros(len(self.rows))
        # Both views of the matrix are made once: making one costs a check of all its indices.
        self.matrix: sparse.csr_array = sparse.csr_array((nothing, self.cols, self._starts), shape=self.shape)
        self._transposed: sparse.csc_array = self.matrix.T
        self._ones = np.ones(self.shape[0]), np.ones(self.shape[1])
        self.passes = 0

    def arranged(self, loss: Loss) -> Loss:
        """The loss with its entries in the order of the positions."""
        return loss if isinstance(self.order, slice) else loss.select(self.order)

    def set(self, data: Array) -> None:
        """Take the data of the present gradient G."""
        self.matrix.data = self._transposed.data = data

    def times(self, block: Array) -> Array:
        """G block."""
        self.passes += 1
        return self.matrix @ block

    def transposed_times(self, block: Array) -> Array:
        """G' block."""
        self.passes += 1
        return self._transposed @ block

    def sums(self) -> tuple[Array, Array]:
        """G 1 and G' 1."""
        self.passes += 2
        return self.matrix @ self._ones[1], self._transposed @ self._ones[0]

    def values(self, left: Array, right: Array, effects: Effects | None) -> Array:
        """left right' on Omega plus the effects: by blocks of the product where Omega is dense, else by entry."""
        self.passes += 1
        out = np.zeros(len(self.rows))
        rank = left.shape[1]
        dense = rank > 0 and self.shape[0] * self.shape[1] <= DENSE_RATIO * len(out)
        if dense:
            height = max(1, DENSE_CHUNK // self.shape[1])
            for first in range(0, self.shape[0], height):
                part = slice(self._starts[first], self._starts[min(first + height, self.shape[0])])
                block = left[first : first + height] @ right.T
                places = self.rows[part].astype(np.intp)
                places -= first
                places *= self.shape[1]
                places += self.cols[part]
                np.take(block.reshape(-1), places, out=out[part])
        step = max(1, CHUNK // max(rank, 1))
        by_entry = rank > 0 and not dense
        for begin in range(0, len(out) if by_entry or effects is not None else 0, step):
            part = slice(begin, begin + step)
            rows, cols = self.rows[part], self.cols[part]
            if by_entry:
                np.einsum("ij,ij->i", left.take(rows, axis=0), right.take(cols, axis=0), out=out[part])
            if effects is not None:
                out[part] += effects.at(rows, cols)
        return out


def _by_row(omega: Omega) -> NDArray[np.int64]:
    """An order of the entries in which rows do not fall: by counting, in time proportional to n."""
    numbers = sparse.coo_array((np.arange(len(omega)), (omega.rows, omega.cols)), shape=omega.shape)
    numbers.has_canonical_format = True  # no pair occurs twice, so there is nothing to add up
    return np.asarray(numbers.tocsr().data, dtype=np.int64)


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
    """The leading singular subspace of low rank + sparse, kept and adapted from one step to the next.

    ``basis`` spans it on the matrix's longer side, orthogonalised is the shorter one, where that is cheap. ``is_short``
    says that the last projection may have missed singular values above its threshold.
    """

    def __init__(self, pattern: Positions, tau: float) -> None:
        self.pattern = pattern
        self.tau = tau
        self.decompositions = 0
        self.is_short = True
        self.most = min(pattern.shape)
        self._wide = pattern.shape[1] > pattern.shape[0]
        self._width = min(FIRST_BLOCK, self.most)
        self.basis = self._random(self._width)
        self._rounds = 3

    def start_from(self, left: Array, right: Array) -> None:
        """Put the singular subspace of a known solution in front of the block."""
        self.basis = np.hstack([right if self._wide else left, self.basis])[:, : self.most]
        self._width = self.basis.shape[1]

    def natural_length(self, unit: float) -> float:
        """The step length that minus the leading singular pair u, v of the gradient asks for, the first one of a solve.

        Along u v' the curvature is at most that of an entry, 1/unit, times the sum of (u_i v_j)^2 over Omega: on sparse
        data far less than along a single entry. A shorter step from zeros would be of a high rank.
        """
        zeros = np.zeros((self.pattern.shape[0], 0)), np.zeros((self.pattern.shape[1], 0))
        _, near, far = self._turned(*zeros, 0.0, 1.0, self._rounds)
        self.basis, self._rounds = near, 1
        first = (far[:, :1], near[:, :1]) if self._wide else (near[:, :1], far[:, :1])
        along = self.pattern.values(*first, None)
        return unit / min(max(float(along @ along), 1.0 / LONGEST), 1.0)

    def project(self, point: Point, shrink: float, length: float) -> tuple[Array, Array]:
        """Factors of the projection of shrink L - length G on the ball; G is the pattern's present matrix.

        It is the projection within the block. Since the block holds L, up to the change of one step, that is a step of
        descent even where the block is too narrow; then the next one is wider.
        """
        if self._width > self.basis.shape[1]:
            self._grow()
        singular, near, far = self._turned(point.left, point.right, shrink, length, self._rounds)
        theta = simplex_threshold(singular, self.tau)
        rank = int(np.count_nonzero(singular > theta))
        # Some values below the threshold show that none above it was missed, and the more there are beyond them, the
        # faster the block turns into the leading subspace.
        wanted = max(rank + max(6, rank // 3), FIRST_BLOCK)
        self.is_short = (theta == 0.0 or rank > len(singular) - 3) and len(singular) < self.most
        if self.is_short:
            wanted = max(wanted, int(1.5 * len(singular)) + 8)
        self._width = min(wanted, self.most)
        self.basis = near[:, : self._width]
        # One round turns a block that is much wider than the rank far enough.
        self._rounds = 1 if 3 * rank <= self._width else 2
        kept = np.maximum(singular[:rank] - theta, 0.0)
        # Where the radius is far below the values, what is left of them has lost digits, and may lie outside the ball.
        kept *= min(1.0, self.tau / max(float(kept.sum()), 1e-300))
        near, far = near[:, :rank] * kept, far[:, :rank]
        return (far, near) if self._wide else (near, far)

    def project_whole(self, point: Point, shrink: float, length: float) -> tuple[Array, Array]:
        """The projection itself: the block grows until it holds every singular value above the threshold."""
        while True:
            factors = self.project(point, shrink, length)
            if not self.is_short and self._width <= self.basis.shape[1]:
                return factors

    def _turned(
        self, left: Array, right: Array, shrink: float, length: float, rounds: int
    ) -> tuple[Array, Array, Array]:
        """Singular values of shrink left right' - length G within the block turned towards its leading subspace.

        Returned with the vectors of the longer and of the shorter side.
        """
        self.decompositions += 1
        near = self.basis
        for _ in range(rounds):
            far = np.linalg.qr(self._times(left, right, shrink, length, near, not self._wide))[0]
            near = self._times(left, right, shrink, length, far, self._wide)
        squares, turn = np.linalg.eigh(near.T @ near)
        singular = np.sqrt(np.maximum(squares[::-1], 0.0))
        safe = np.where(singular > 0.0, singular, 1.0)
        return singular, near @ (turn[:, ::-1] / safe), far @ turn[:, ::-1]

    def norm_estimate(self, point: Point, ridge: float) -> float:
        """||G + ridge L||_2 from below: the largest singular value within the present block."""
        far = np.linalg.qr(self._times(point.left, point.right, ridge, -1.0, self.basis, not self._wide))[0]
        near = self._times(point.left, point.right, ridge, -1.0, far, self._wide)
        return math.sqrt(max(float(np.linalg.eigvalsh(near.T @ near)[-1]), 0.0))

    def _times(self, left: Array, right: Array, shrink: float, length: float, block: Array, transposed: bool) -> Array:
        """(shrink left right' - length G) block, or the transposed matrix times the block."""
        if transposed:
            left, right = right, left
        image = self.pattern.transposed_times(block) if transposed else self.pattern.times(block)
        image *= -length
        if left.shape[1] and shrink:
            image += left @ (shrink * (right.T @ block))
        return image

    def _grow(self) -> None:
        had = self.basis.shape[1]
        if 3 * self._width * sum(self.pattern.shape) > LARGEST_FACTORS:
            # Without the rank that was reached: it may come of private signs.
            raise RankTooLargeError(
                f"tau = {self.tau:g} lets the solution have a rank that does not fit in memory at "
                f"{self.pattern.shape[0]} x {self.pattern.shape[1]}; choose a smaller tau (or rank)."
            )
        self.basis = np.hstack([self.basis, self._random(self._width)[:, had:]])

    def _random(self, width: int) -> Array:
        # A fixed seed: any block with a component in the subspace will do, and a solve can be repeated.
        return np.random.default_rng(width).standard_normal((max(self.pattern.shape), width))


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
        values = self.pattern.values(left, right, None if self.penalty is None else effects)
        objective = self.loss.total(values)
        if self.penalty is not None:
            objective += 0.5 * self.penalty * effects.squares
        if self.ridge:
            objective += 0.5 * self.ridge * float(np.sum((left.T @ left) * (right.T @ right)))
        return Point(left, right, effects, values, objective)

    def effects_gradient(self, point: Point) -> Effects | None:
        """The gradient along the effects; the loss's is the pattern's present matrix."""
        if self.penalty is None:
            return None
        rows, cols = self.pattern.sums()
        return Effects(
            float(rows.sum()), rows + self.penalty * point.effects.rows, cols + self.penalty * point.effects.cols
        )

    def effects_step(self, point: Point, slope: Effects | None, length: float) -> Effects:
        if slope is None:
            return point.effects
        return Effects(
            point.effects.level - length * slope.level / self.level_weight,
            point.effects.rows - length * slope.rows / self.row_weights,
            point.effects.cols - length * slope.cols / self.col_weights,
        )

    def squared_distances(self, new: Point, old: Point) -> tuple[float, float]:
        """||new - old||^2 of the low-rank parts, and of the effects in the metric of their steps."""
        low_rank = max(new.inner(new) + old.inner(old) - 2.0 * new.inner(old), 0.0)
        if self.penalty is None:
            return low_rank, 0.0
        rows, cols = new.effects.rows - old.effects.rows, new.effects.cols - old.effects.cols
        level = self.level_weight * (new.effects.level - old.effects.level) ** 2
        return low_rank, level + float(self.row_weights @ rows**2 + self.col_weights @ cols**2)

    @staticmethod
    def along_effects(slope: Effects | None, new: Point, old: Point) -> float:
        """<slope, new - old> over the effects."""
        if slope is None:
            return 0.0
        level = slope.level * (new.effects.level - old.effects.level)
        rows, cols = new.effects.rows - old.effects.rows, new.effects.cols - old.effects.cols
        return level + float(slope.rows @ rows + slope.cols @ cols)

    def directional(self, gradient: Array, change: Array, at: Point, new: Point, old: Point) -> float:
        """<grad f(at), new - old>: ``gradient`` is the loss's at ``at``, ``change`` that of the values."""
        total = float(gradient @ change)
        if self.penalty is not None:
            total += self.penalty * float(at.effects.rows @ (new.effects.rows - old.effects.rows))
            total += self.penalty * float(at.effects.cols @ (new.effects.cols - old.effects.cols))
        if self.ridge:
            total += self.ridge * (at.inner(new) - at.inner(old))
        return total

    def bound_without_norm(self, point: Point, gradient: Array) -> float:
        """f(P) - <G, P> - (|G 1|^2 + |G' 1|^2) / (2 lam), G the loss's gradient at P, also the pattern's matrix.

        Less tau times the norm of G + ridge L it is a lower bound of the optimum (docs/mathematics.md, Solvers).
        """
        fit = self.loss.total(point.values) - float(gradient @ point.values)
        if self.ridge:
            fit -= 0.5 * self.ridge * point.inner(point)
        if self.penalty is not None:
            rows, cols = self.pattern.sums()
            fit -= float(rows @ rows + cols @ cols) / (2.0 * self.penalty)
        return fit

    def levelled(self, point: Point, gradient: Array) -> tuple[Point, Array, bool]:
        """The point with its level made optimal, the gradient there, which sums to zero, and whether there is one."""
        if self.penalty is None:
            return point, gradient, True
        shift, gradient, found = best_shift(self.loss, point.values)
        values = point.values + shift
        effects = Effects(point.effects.level + shift, point.effects.rows, point.effects.cols)
        objective = self.loss.total(values) + 0.5 * self.penalty * effects.squares
        return Point(point.left, point.right, effects, values, objective), gradient, found


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
            self.block.start_from(left, right)
            self.point = model.point(left, right, zero.effects if effects is None else effects)
        else:
            self.point = model.point(zero.left, zero.right, zero.effects)
        self._zero = zero
        self.unit = 1.0 / (model.loss.max_curvature + model.ridge)
        # The effects have a length of their own: on sparse data it may be a thousandth of the low-rank part's.
        self.length = self.effects_length = self.unit
        self.recent = deque([self.point.objective], maxlen=MEMORY)
        self.move_to(self.point, model.loss.gradient(self.point.values))
        if model.low_rank:
            self.length = self.block.natural_length(self.unit)

    def move_to(self, point: Point, gradient: Array) -> None:
        """Go on from another point."""
        self.point, self.gradient = point, gradient
        self.model.pattern.set(gradient)
        self.slope = self.model.effects_gradient(point)

    def step(self) -> float:
        """One projected gradient step with line search; returns the relative size of the move."""
        model, point, gradient, slope = self.model, self.point, self.gradient, self.slope
        while True:
            left, right = point.left, point.right
            if model.low_rank:
                left, right = self.block.project(point, 1.0 - self.length * model.ridge, self.length)
            effects = model.effects_step(point, slope, self.effects_length)
            new = model.point(left, right, effects)
            change = new.values - point.values
            predicted = model.directional(gradient, change, point, new, point)
            shortest = max(self.length, self.effects_length) <= SHORTEST * self.unit
            if new.objective <= max(self.recent) + DECREASE * min(predicted, 0.0) or shortest:
                break
            # The minimiser of the parabola through the two values and the slope.
            excess = new.objective - point.objective - predicted
            share = min(max(-0.5 * predicted / excess, 0.1), 0.5) if excess > 0.0 else 0.5
            self.length *= share
            self.effects_length *= share
        squares = model.squared_distances(new, point)
        size = max(math.sqrt(sum(model.squared_distances(new, self._zero))), 1e-300)
        new_gradient = model.loss.gradient(new.values)
        bend = model.directional(new_gradient, change, new, new, point) - predicted
        self.move_to(new, new_gradient)
        effects_bend = model.along_effects(self.slope, new, point) - model.along_effects(slope, new, point)
        self.length = self._next_length(self.length, squares[0], bend - effects_bend)
        self.effects_length = self._next_length(self.effects_length, squares[1], effects_bend)
        self.recent.append(new.objective)
        return math.sqrt(sum(squares)) / size

    def _next_length(self, length: float, squared: float, bend: float) -> float:
        """Barzilai and Borwein's, but not much longer than the last one: the two parts also bend each other."""
        if squared == 0.0:
            return length
        longest = min(LONGER * length, LONGEST * self.unit)
        return max(min(squared / bend, longest) if bend > 0.0 else longest, SHORTEST * self.unit)
