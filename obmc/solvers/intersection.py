"""The Euclidean projection on C, the intersection of the nuclear-norm ball and the box, warm-started.

    minimise 1/2 ||X - W||_F^2   subject to   |X_ij| <= alpha,  ||Z||_* <= tau,  X = Z,

by ADMM. A projector keeps Z and the dual from one call to the next: in a projected gradient method
the points change little, and a call then costs a few decompositions instead of hundreds.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from obmc.constraints import ConstraintSet, NuclearProjector
from obmc.solvers.balance import FAVOUR_BOXED, RELAXATION, balanced, relative_residuals

Array = NDArray[np.float64]


class IntersectionProjector:
    """Projections on one constraint set.

    Parameters
    ----------
    cset
        The set C.
    shape
        Shape of the matrices.

    Attributes
    ----------
    ball_part
        After a call: the part of W - P(W) that is normal to the ball, shape (d1, d2). The rest is normal to the box.
    decompositions
        Count so far.
    """

    def __init__(self, cset: ConstraintSet, shape: tuple[int, int]) -> None:
        self.cset = cset
        self.ball_part: Array = np.zeros(shape)
        self._ball = NuclearProjector(cset.tau, shape)
        self._z: Array = np.zeros(shape)
        self._rho = 0.0  # not yet chosen

    @property
    def decompositions(self) -> int:
        return self._ball.decompositions

    def project(self, matrix: Array, tol: float, max_iter: int = 10_000, stretch: float = 1.0) -> Array:
        """P_C(W) for W = ``matrix``, to relative primal and dual residuals of ``tol``; within the box exactly.

        ``stretch`` scales the dual of the call before: the ratio of the two step lengths in a projected gradient
        method, whose normal parts grow with the step.
        """
        cset, rho, z = self.cset, self._rho, self._z
        if cset.alpha is None:
            projected = self._ball.project(matrix)
            self.ball_part = matrix - projected
            return projected
        if rho == 0.0:
            # A point far outside the box has a dual of its own size, and a penalty of that ratio reaches it at once.
            distance = float(np.linalg.norm(matrix)) / (cset.alpha * math.sqrt(matrix.size))
            rho = distance if distance > 2.0 else 1.0
        dual = self.ball_part * (stretch / rho)
        x = z
        for iteration in range(1, max_iter + 1):
            x = cset.clip((matrix + rho * (z - dual)) / (1.0 + rho))
            target = RELAXATION * x + (1.0 - RELAXATION) * z + dual
            previous, z = z, self._ball.project(target)
            dual = target - z
            primal, moved = relative_residuals(x, z, previous, dual)
            # Far away points have a large dual, beside which every move of Z looks small: the move is measured at Z.
            if primal <= tol and moved * float(np.linalg.norm(dual)) <= tol * float(np.linalg.norm(z)):
                break
            if iteration % 5 == 0:
                rho, factor = balanced(rho, primal, moved, FAVOUR_BOXED)
                dual *= factor
        self._rho, self._z, self.ball_part = rho, z, rho * dual
        return x
