"""What a solver is given: a loss, where it is observed, and the set that the matrix has to lie in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from obmc.constraints import ConstraintSet
from obmc.losses import Loss
from obmc.observations import Omega
from obmc.solvers.parts import BallPart, EffectsPart, Part

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """f(X) = sum over Omega of l(X_ij) + ridge/2 ||X||_F^2 over C, or over C with user and item effects.

    With ``effects`` = lam the matrix is S = mu + b 1' + 1 c' + L, ||L||_* <= tau, |S_ij| <= alpha, and
    lam/2 (|b|^2 + |c|^2) is added to f; ``low_rank=False`` leaves the effects alone, L = 0.
    """

    loss: Loss
    omega: Omega
    cset: ConstraintSet
    ridge: float = 0.0
    effects: float | None = None
    low_rank: bool = True

    def part(self) -> Part:
        """The structured side of the splitting."""
        if self.effects is None:
            return BallPart(self.cset, self.omega.shape)
        return EffectsPart(self.cset, self.omega.shape, self.effects, self.low_rank)

    def objective(self, matrix: Array) -> float:
        """f(X)."""
        fit = self.loss.total(matrix.reshape(-1)[self.omega.flat])
        return fit + 0.5 * self.ridge * float(np.vdot(matrix, matrix)) if self.ridge else fit

    def gradient(self, matrix: Array) -> Array:
        """grad f(X), shape (d1, d2)."""
        full = np.zeros(matrix.shape)
        if self.ridge:
            full += self.ridge * matrix
        full.reshape(-1)[self.omega.flat] += self.loss.gradient(matrix.reshape(-1)[self.omega.flat])
        return full
