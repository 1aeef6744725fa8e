"""Certified gaps: how far a feasible matrix can be from the optimum, whatever the solver did.

For any feasible F, any P at which f is convex between P and C, and any split G1 + G2 = grad f(P),

    f(F) - f* <= f(F) - [ f(P) - <grad f(P), P> - tau ||G1||_2 - alpha ||G2||_1 ],

since <grad f(P), X> >= -tau ||G1||_2 - alpha ||G2||_1 on C. The bracket is a lower bound of f*. The norms are bounded
from above (``obmc.constraints``), so that the gap can only be overstated. Source: theory section 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from obmc.constraints import ConstraintSet, nuclear_norm, spectral_norm
from obmc.losses import Loss
from obmc.observations import Omega

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """f(X) = sum over Omega of l(X_ij) + ridge/2 ||X||_F^2 over C."""

    loss: Loss
    omega: Omega
    cset: ConstraintSet
    ridge: float = 0.0

    def objective(self, matrix: Array) -> float:
        """f(X)."""
        fit = float(self.loss.values(matrix.reshape(-1)[self.omega.flat]).sum())
        return fit + 0.5 * self.ridge * float(np.vdot(matrix, matrix)) if self.ridge else fit

    def gradient(self, matrix: Array) -> Array:
        """grad f(X), shape (d1, d2)."""
        full = self.ridge * matrix if self.ridge else np.zeros(matrix.shape)
        full.reshape(-1)[self.omega.flat] += self.loss.gradient(matrix.reshape(-1)[self.omega.flat])
        return full


@dataclass
class Certificate:
    """The best feasible matrix and the best lower bound seen so far."""

    problem: Problem
    exact: bool = True
    best: Array | None = None
    objective: float = math.inf
    bound: float = -math.inf

    @property
    def gap(self) -> float:
        """(f(best) - lower bound) / f(0)."""
        return max(self.objective - self.bound, 0.0) / self.problem.loss.scale

    def glance(self, matrix: Array) -> float:
        """The gap that ``feasible(matrix)`` would give if the cut to the box kept it within the ball: no decomposition.

        Not certified, but close: it tells when the real check is worth its price.
        """
        value = self.problem.objective(self.problem.cset.clip(matrix))
        return max(value - self.bound, 0.0) / self.problem.loss.scale

    def feasible(self, matrix: Array) -> None:
        """Offer a matrix: cut to the box, scaled into the ball, kept if it is the best so far."""
        cset = self.problem.cset
        point = cset.clip(matrix)
        norm = nuclear_norm(point, exact=self.exact)
        if norm > cset.tau:
            point = point * (cset.tau / norm)
        value = self.problem.objective(point)
        if value < self.objective:
            self.best, self.objective = point, value

    def lower_bound(self, point: Array, ball_part: Array | None) -> None:
        """Offer a lower bound from P = ``point`` with G1 = ``ball_part`` (None: all of the gradient)."""
        cset = self.problem.cset
        gradient = self.problem.gradient(point)
        value = self.problem.objective(point) - float(np.vdot(gradient, point))
        if ball_part is None or cset.alpha is None:
            value -= cset.tau * spectral_norm(gradient)
        else:
            value -= cset.tau * spectral_norm(ball_part)
            value -= cset.alpha * float(np.abs(gradient - ball_part).sum())
        self.bound = max(self.bound, value)
