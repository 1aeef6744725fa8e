"""The constraint set C = { ||X||_* <= tau, max |X_ij| <= alpha } and the projections on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from obmc.errors import check_integer, check_number, check_numbers, check_shape

Array = NDArray[np.float64]

# Up to this many rows (of the shorter side) a full eigendecomposition is as cheap as a block iteration.
_DENSE_SIDE = 160
_FIRST_BLOCK = 40
# Squares below this may have lost digits or vanished: then norms are bounded through the largest entry.
_UNDERFLOW = 1e-280


@dataclass(frozen=True)
class ConstraintSet:
    """C = { X : ||X||_* <= tau, max |X_ij| <= alpha }.

    Parameters
    ----------
    tau
        Radius of the nuclear-norm ball, above 0, in the unit of the matrix.
    alpha
        Bound of the infinity norm, above 0; None for the nuclear norm alone.

    Raises ``ValueError`` naming the argument that is out of its range.

    Source: paper, equation (2) and section 3.2.
    """

    tau: float
    alpha: float | None = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", check_number("tau", self.tau, low=0.0, open_low=True))
        if self.alpha is not None:
            object.__setattr__(self, "alpha", check_number("alpha", self.alpha, low=0.0, open_low=True))

    @classmethod
    def for_rank(
        cls, shape: tuple[int, int], rank: int = 1, alpha: float | None = 1.0, multiple: float = 1.0
    ) -> ConstraintSet:
        """The paper's set: tau = alpha sqrt(rank d1 d2), which every matrix of that rank within the box satisfies.

        With ``multiple`` that many times this radius. Without a box, ``alpha=None``, the radius is that of alpha = 1.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        rows, cols = check_shape("shape", shape)
        order = check_integer("rank", rank, low=1, high=min(rows, cols))
        bound = 1.0 if alpha is None else check_number("alpha", alpha, low=0.0, open_low=True)
        times = check_number("multiple", multiple, low=0.0, open_low=True)
        return cls(tau=times * (bound * math.sqrt(order * rows * cols)), alpha=None if alpha is None else bound)

    def clip(self, x: Array) -> Array:
        """The projection on the box, entry by entry (the identity without one)."""
        return x if self.alpha is None else np.clip(x, -self.alpha, self.alpha)

    def project_nuclear(self, matrix: Array) -> Array:
        """The Euclidean projection on the nuclear-norm ball, by a full singular value decomposition.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        matrix = check_numbers("matrix", matrix, dimensions=2)
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        if values.sum() <= self.tau:
            return matrix
        kept = np.maximum(values - simplex_threshold(values, self.tau), 0.0)
        # Against the cancellation where the radius is far below the values.
        kept *= self.tau / max(float(kept.sum()), np.finfo(np.float64).tiny)
        return (left * kept) @ right

    def project(self, matrix: Array, tol: float = 1e-10, max_iter: int = 10_000) -> Array:
        """The Euclidean projection on C, the intersection of ball and box, with relative residuals below ``tol``.

        Returns a matrix within the box and within the ball up to ``tol``. ``ValueError`` for a matrix with entries that
        are not finite numbers and for a ``tol`` outside (0, 1). Source: docs/mathematics.md, Solvers.
        """
        matrix = check_numbers("matrix", matrix, dimensions=2)
        check_number("tol", tol, low=0.0, high=1.0, open_low=True, open_high=True)
        check_integer("max_iter", max_iter, low=1)
        from obmc.solvers.intersection import IntersectionProjector

        return IntersectionProjector(self, matrix.shape).project(matrix, tol=tol, max_iter=max_iter)


def simplex_threshold(values: Array, radius: float) -> float:
    """The theta >= 0 with sum max(values - theta, 0) = radius; 0 where the sum is within the radius already.

    ``values`` are non-negative, in any order. Source: Duchi et al. 2008.
    """
    return _threshold(np.sort(values)[::-1], radius)


def _threshold(ordered: Array, radius: float) -> float:
    """The same for values from the largest to the smallest."""
    sums = ordered.cumsum()
    if not len(sums) or sums[-1] <= radius:
        return 0.0
    thresholds = (sums - radius) / np.arange(1, len(ordered) + 1)
    # A radius below the rounding of the largest value leaves no value above its threshold: then everything goes to 0.
    above = (ordered > thresholds).nonzero()[0]
    return float(max(thresholds[above[-1]], 0.0)) if len(above) else float(ordered[0])


def spectral_norm(matrix: Array) -> float:
    """||A||_2 from above: the largest eigenvalue of the smaller Gram matrix, with a margin for its rounding."""
    largest = max(float(np.linalg.eigvalsh(_gram(matrix))[-1]), 0.0)
    if largest < _UNDERFLOW:
        return float(np.abs(matrix).max()) * math.sqrt(matrix.size)
    return math.sqrt(largest) * rounded_up(matrix.shape)


def nuclear_norm(matrix: Array, exact: bool = True) -> float:
    """||A||_*; ``exact=False`` bounds it from above through the smaller Gram matrix, about five times cheaper.

    The eigenvalues of the Gram matrix carry an absolute error of a few roundings of the largest one, which is added to
    each before the root is taken: about 1e-5 relative at a thousand rows, never below the truth.
    """
    if exact:
        return float(np.linalg.svd(matrix, compute_uv=False).sum())
    squares = np.linalg.eigvalsh(_gram(matrix))
    if squares[-1] < _UNDERFLOW:
        return float(np.abs(matrix).max()) * math.sqrt(matrix.size * len(squares))
    rounding = 4.0 * np.finfo(np.float64).eps * max(float(squares[-1]), 0.0)
    return float(np.sqrt(np.maximum(squares, 0.0) + rounding).sum()) * rounded_up(matrix.shape)


def rounded_up(shape: tuple[int, ...]) -> float:
    """A factor for the rounding of the sums in a Gram matrix, which grows with their length.

    The spectral norm of a matrix of this shape is at most so many times the root of the computed largest eigenvalue.
    """
    return 1.0 + sum(shape) * 4e-16


def _gram(matrix: Array) -> Array:
    """The smaller Gram matrix, whose eigenvalues are the squares of the singular values."""
    return matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix


def _orthonormal(block: Array) -> Array:
    """An orthonormal basis of the columns of a tall matrix, which is overwritten: Q of its QR decomposition.

    By LAPACK itself: for a narrow block what SciPy's and NumPy's functions do around it takes twice as long.
    """
    workspace = 64 * block.shape[1]  # at least the block size of LAPACK's algorithm times the width
    factors, scales, _, _ = lapack.dgeqrf(block, lwork=workspace, overwrite_a=True)
    basis: Array = lapack.dorgqr(factors, scales, lwork=workspace, overwrite_a=True)[0]
    return basis


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
    approximate
        Small matrices, too, may be projected by the block of the call before: about three times cheaper where few
        singular values lie above the threshold, and for iterations whose result is judged from outside.

    Attributes ``values`` (the singular values of the last projection, those above 0) and ``decompositions`` (a count).
    """

    def __init__(self, tau: float, shape: tuple[int, int], approximate: bool = False) -> None:
        self.tau = tau
        self.approximate = approximate
        self.transposed = shape[0] > shape[1]
        self.side = min(shape)
        self.values: Array = np.zeros(0)
        self.decompositions = 0
        self._small = self.side <= _DENSE_SIDE
        self._dense = self._small
        self._right: Array | None = None

    def project(self, matrix: Array) -> Array:
        """The projection of ``matrix``, shape (d1, d2)."""
        wide = matrix.T if self.transposed else matrix
        projected = None if self._dense else self._project_block(wide)
        if projected is None:
            projected = self._project_dense(wide)
        return np.ascontiguousarray(projected.T) if self.transposed else projected

    def leading_value(self, matrix: Array) -> float:
        """||A||_2 from below, by the right singular subspace of the last projection; exact where none is kept."""
        if self._right is None:
            return spectral_norm(matrix)
        # Columns beyond the rank of what was projected are rounding: as they are they need not be orthogonal.
        basis = _orthonormal(self._right.copy(order="F"))
        image = (matrix.T if self.transposed else matrix) @ basis
        return math.sqrt(max(float(np.linalg.eigvalsh(image.T @ image)[-1]), 0.0))

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
        if self._small and self.approximate:
            width = self._width(len(self.values))
            self._dense = width > self.side // 2
            self._right = None if self._dense else wide.T @ left[:, -width:]
        kept = left[:, above]
        return (kept * (1.0 - theta / values[above])) @ (kept.T @ wide)

    def _width(self, rank: int) -> int:
        """Of the block that follows a projection of this rank, with room for what the next one may need.

        A small matrix needs little: where its block turns out too narrow, the full decomposition is at hand.
        """
        return rank + max(6, rank // 4) if self._small else max(rank + max(8, rank // 2), _FIRST_BLOCK)

    def _project_block(self, wide: Array) -> Array | None:
        """The projection by subspace iteration; None where the block would have to hold most of the spectrum."""
        right, rounds = self._right, 1
        if right is None:
            # The start is a fixed, seeded random block: any start with a component in the subspace will do.
            right, rounds = np.random.default_rng(0).standard_normal((wide.shape[1], _FIRST_BLOCK)), 2
        while True:
            self.decompositions += 1
            for _ in range(rounds):
                left = _orthonormal(wide @ right)
                right = wide.T @ left
            squares, turn, failed = lapack.dsyevd(right.T @ right)
            if failed:
                raise np.linalg.LinAlgError("the singular values of a block did not converge")
            values, turn = np.sqrt(np.maximum(squares[::-1], 0.0)), turn[:, ::-1]
            theta = _threshold(values, self.tau)
            rank = int(np.count_nonzero(values > theta))
            # The last values of the block lag behind; a few must lie below the threshold before the block is trusted.
            if theta > 0.0 and rank <= len(values) - 4:
                break
            width = 2 * right.shape[1] + 8
            if self._small or width > self.side // 2:
                self._right = None
                self._dense = True
                return None
            extra = np.random.default_rng(width).standard_normal((wide.shape[1], width - right.shape[1]))
            right, rounds = np.hstack([right, extra]), 1
        right = right @ turn[:, : self._width(rank)]
        self._right = right
        self.values = values[:rank] - theta
        return ((left @ turn[:, :rank]) * (1.0 - theta / values[:rank])) @ right[:, :rank].T
