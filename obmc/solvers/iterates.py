"""Iterates of a projected gradient method whose gradients come from outside: dense, or factored for large matrices.

Both start at zero, know the positions of Omega and the constraint set, and take steps X <- P(X - length G) with G given
on Omega. They see gradients only, so a method built on them has no other access to what the gradients come from.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from obmc.constraints import ConstraintSet, nuclear_norm
from obmc.observations import Omega
from obmc.solvers.completion import DenseEstimate, Estimate, FactoredEstimate
from obmc.solvers.intersection import IntersectionProjector
from obmc.solvers.lowrank import Block, Point, Positions, origin

Array = NDArray[np.float64]


class Iterate(Protocol):
    """A matrix X that moves."""

    @property
    def on_omega(self) -> Array:
        """The values of X on Omega, shape (n,), in the order of Omega."""

    def step(self, gradient: Array, length: float) -> None:
        """X <- P(X - length G), G given on Omega, shape (n,)."""

    def last(self) -> Estimate:
        """X, within the constraints."""

    def mean(self) -> Estimate:
        """The mean of all X after a step (of which there was one at least), within the constraints."""


class DenseIterate:
    """X held entry by entry; P is the projection on ball and box, with relative residuals below ``tol``."""

    def __init__(self, omega: Omega, cset: ConstraintSet, tol: float) -> None:
        self._places = omega.flat
        self._cset = cset
        self._tol = tol
        self._matrix: Array = np.zeros(omega.shape)
        self._total: Array = np.zeros(omega.shape)
        self._steps = 0

    @property
    def on_omega(self) -> Array:
        return self._matrix.reshape(-1)[self._places]

    def step(self, gradient: Array, length: float) -> None:
        moved = self._matrix.copy()
        moved.reshape(-1)[self._places] -= length * gradient
        # A noised gradient has little in common with the one before, and so have the duals: no warm start.
        self._matrix = IntersectionProjector(self._cset, moved.shape).project(moved, tol=self._tol)
        self._total += self._matrix
        self._steps += 1

    def last(self) -> Estimate:
        return self._within(self._matrix)

    def mean(self) -> Estimate:
        return self._within(self._total / self._steps)

    def _within(self, matrix: Array) -> Estimate:
        """Scaled into the ball by what the projection left."""
        norm = nuclear_norm(matrix)
        return DenseEstimate(self._cset.clip(matrix * min(1.0, self._cset.tau / norm) if norm > 0.0 else matrix))


class FactoredIterate:
    """X = A B'; P is the projection on the ball, and the box is imposed at the end by a clip."""

    def __init__(self, omega: Omega, cset: ConstraintSet) -> None:
        self._positions = Positions(omega)
        self._cset = cset
        self._point: Point = origin(omega.shape, len(omega))
        self._history: list[tuple[Array, Array]] = []

    @property
    def on_omega(self) -> Array:
        values = np.empty(len(self._point.values))
        values[self._positions.order] = self._point.values
        return values

    def step(self, gradient: Array, length: float) -> None:
        self._positions.set(gradient[self._positions.order])
        # A noised gradient has little in common with the one before: the block starts anew, with the present X in it.
        block = Block(self._positions, self._cset.tau)
        block.start_from(self._point.left, self._point.right)
        left, right = block.project_whole(self._point, 1.0, length)
        self._point = Point(left, right, self._point.effects, self._positions.values(left, right, None), 0.0)
        self._history.append((left, right))

    def last(self) -> Estimate:
        return FactoredEstimate(self._point.left, self._point.right, None, self._cset.alpha)

    def mean(self) -> Estimate:
        lefts, rights = zip(*self._history, strict=True)
        return FactoredEstimate(np.hstack(lefts) / len(lefts), np.hstack(rights), None, self._cset.alpha)
