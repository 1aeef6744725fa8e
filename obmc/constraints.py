"""The constraint set C = { ||X||_* <= tau, max |X_ij| <= alpha } and the projections on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from obmc.errors import check_integer, check_number

Array = NDArray[np.float64]

# Up to this many rows (of the shorter side) a full eigendecomposition is as cheap as a block iteration.
_DENSE_SIDE = 160
_FIRST_BLOCK = 24


@dataclass(frozen=True)
class ConstraintSet:
    """C = { X : ||X||_* <= tau, max |X_ij| <= alpha }.

    Parameters
    ----------
    tau
        Radius of the nuclear-norm ball, above 0, in the unit of the matrix.
    alpha
        Bound of the infinity norm, above 0; None for the nuclear norm alone.

    Source: paper, equation (3) and section 3.1.
    """

    tau: float
    alpha: float | None = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", check_number("tau", self.tau, low=0.0, open_low=True))
        if self.alpha is not None:
            object.__setattr__(self, "alpha", check_number("alpha", self.alpha, low=0.0, open_low=True))

    @classmethod
    def for_rank(cls, shape: tuple[int, int], rank: int = 1, alpha: float = 1.0) -> ConstraintSet:
        """The paper's set: tau = alpha sqrt(rank d1 d2), which every matrix of that rank within the box satisfies."""
        rows = check_integer("shape[0]", shape[0], low=1)
        cols = check_integer("shape[1]", shape[1], low=1)
        order = check_integer("rank", rank, low=1, high=min(rows, cols))
        bound = check_number("alpha", alpha, low=0.0, open_low=True)
        return cls(tau=bound * math.sqrt(order * rows * cols), alpha=bound)

    def clip(self, x: Array) -> Array:
        """The projection on the box, entry by entry (the identity without one)."""
        return x if self.alpha is None else np.clip(x, -self.alpha, self.alpha)

    def project_nuclear(self, matrix: Array) -> Array:
        """The Euclidean projection on the nuclear-norm ball, by a full singular value decomposition."""
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        if values.sum() <= self.tau:
            return matrix.copy()
        kept = np.maximum(values - simplex_threshold(values, self.tau), 0.0)
        return (left * kept) @ right

    def project(self, matrix: Array, tol: float = 1e-10, max_iter: int = 10_000) -> Array:
        """The Euclidean projection on C, the intersection of ball and box, with relative residuals below ``tol``.

        Returns a matrix within the box and within the ball up to ``tol``. Source: theory section 2.
        """
        from obmc.solvers.intersection import IntersectionProjector

        return IntersectionProjector(self, matrix.shape).project(matrix, tol=tol, max_iter=max_iter)


def simplex_threshold(values: Array, radius: float) -> float:
    """The theta >= 0 with sum max(values - theta, 0) = radius; 0 where the sum is within the radius already.

    ``values`` are non-negative, in any order. Source: Duchi et al. 2008.
    """
    if values.sum() <= radius:
        return 0.0
    ordered = np.sort(values)[::-1]
    thresholds = (np.cumsum(ordered) - radius) / np.arange(1, len(ordered) + 1)
    last = int(np.flatnonzero(ordered > thresholds)[-1])
    return float(max(thresholds[last], 0.0))


def spectral_norm(matrix: Array) -> float:
    """||A||_2 from above: the largest eigenvalue of the smaller Gram matrix, with a margin for its rounding."""
    gram = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    largest = max(float(np.linalg.eigvalsh(gram)[-1]), 0.0)
    return math.sqrt(largest) * (1.0 + len(gram) * 4e-16)


def nuclear_norm(matrix: Array, exact: bool = True) -> float:
    """||A||_*; ``exact=False`` bounds it from above through the smaller Gram matrix, about five times cheaper.

    The eigenvalues of the Gram matrix carry an absolute error of a few roundings of the largest one, which is added to
    each before the root is taken: about 1e-5 relative at a thousand rows, never below the truth.
    """
    if exact:
        return float(np.linalg.svd(matrix, compute_uv=False).sum())
    gram = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    squares = np.linalg.eigvalsh(gram)
    rounding = 4.0 * np.finfo(np.float64).eps * max(float(squares[-1]), 0.0)
    return float(np.sqrt(np.maximum(squares, 0.0) + rounding).sum())


class NuclearProjector:
    """Projections on one nuclear-norm ball, one after the other on slowly changing matrices.

    Small matrices: the eigendecomposition of the smaller Gram matrix. Larger ones: a block subspace iteration started
    from the singular subspace of the call before, grown until it holds every singular value above the threshold. The
    block result is approximate; ``spectral_norm`` and ``nuclear_norm`` judge it from outside.

    Parameters
    ----------
    tau
        Radius of the ball.
    shape
        Shape of the matrices.

    Attributes ``values`` (the singular values of the last projection, those above 0) and ``decompositions`` (a count).
    """

    def __init__(self, tau: float, shape: tuple[int, int]) -> None:
        self.tau = tau
        self.transposed = shape[0] > shape[1]
        self.side = min(shape)
        self.values: Array = np.zeros(0)
        self.decompositions = 0
        self._dense = self.side <= _DENSE_SIDE
        self._basis: Array | None = None

    def project(self, matrix: Array) -> Array:
        """The projection of ``matrix``, shape (d1, d2)."""
        wide = matrix.T if self.transposed else matrix
        projected = None if self._dense else self._project_block(wide)
        if projected is None:
            projected = self._project_dense(wide)
        return np.ascontiguousarray(projected.T) if self.transposed else projected

    def _project_dense(self, wide: Array) -> Array:
        self.decompositions += 1
        squares, left = np.linalg.eigh(wide @ wide.T)
        values = np.sqrt(np.maximum(squares, 0.0))
        theta = simplex_threshold(values, self.tau)
        if theta == 0.0:
            self.values = values[::-1]
            return wide.copy()
        above = values > theta
        self.values = (values[above] - theta)[::-1]
        kept = left[:, above]
        return (kept * (1.0 - theta / values[above])) @ (kept.T @ wide)

    def _project_block(self, wide: Array) -> Array | None:
        """The projection by subspace iteration; None where the block would have to hold most of the spectrum."""
        rounds = 1
        if self._basis is None:
            # The start is a fixed, seeded random block: any start with a component in the subspace will do.
            self._basis = np.random.default_rng(0).standard_normal((self.side, _FIRST_BLOCK))
            rounds = 4
        basis = self._basis
        while True:
            self.decompositions += 1
            for _ in range(rounds):
                basis = np.linalg.qr(wide @ (basis.T @ wide).T)[0]
            small = basis.T @ wide
            squares, turn = np.linalg.eigh(small @ small.T)
            values = np.sqrt(np.maximum(squares[::-1], 0.0))
            turn = turn[:, ::-1]
            basis, small = basis @ turn, turn.T @ small
            theta = simplex_threshold(values, self.tau)
            rank = int(np.count_nonzero(values > theta))
            # The last values of the block lag behind; a few must lie below the threshold before the block is trusted.
            if theta > 0.0 and rank <= len(values) - 4:
                break
            width = int(1.5 * basis.shape[1]) + 8
            if width > self.side // 2:
                self._basis = None
                self._dense = True
                return None
            extra = np.random.default_rng(width).standard_normal((self.side, width - basis.shape[1]))
            basis = np.hstack([basis, extra])
            rounds = 3
        self._basis = basis[:, : max(rank + max(8, rank // 3), _FIRST_BLOCK)]
        self.values = values[:rank] - theta
        return (basis[:, :rank] * (1.0 - theta / values[:rank])) @ small[:rank]
