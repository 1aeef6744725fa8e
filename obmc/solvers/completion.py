"""The result of a solve: the completed matrix, what was reached, and how it is asked for single entries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from obmc.errors import check_array, check_integer
from obmc.lazy import lazy_property
from obmc.links import Link
from obmc.observations import Omega
from obmc.solvers.parts import Effects

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Progress:
    """What a callback is told after an iteration. Returning False from it stops the solver.

    ``gap`` is the running estimate of the relative gap, nan where it was not evaluated or may not be told; the
    certified one is the result's.
    """

    iteration: int
    max_iter: int
    gap: float = math.nan


Callback = Callable[[Progress], bool | None]


def stops(callback: Callback | None, progress: Progress) -> bool:
    """Tell a callback, if there is one, and say whether it answered False; numpy's False is one too."""
    answer = None if callback is None else callback(progress)
    return isinstance(answer, bool | np.bool_) and not answer


class Estimate(Protocol):
    """A matrix that can be asked for entries without being formed."""

    @property
    def shape(self) -> tuple[int, int]:
        """(d1, d2)."""

    def dense(self) -> Array:
        """The whole matrix, shape (d1, d2)."""

    def at(self, rows: NDArray[Any], cols: NDArray[Any]) -> Array:
        """The entries at (rows[k], cols[k]), shape (n,)."""

    def row(self, row: int) -> Array:
        """One row, shape (d2,)."""

    def scores(self, row: int) -> Array:
        """What the entries of a row are ranked by: the entries, before a clip where there is one."""

    def singular_values(self) -> Array:
        """The singular values, largest first; those that a factored matrix is known to have."""

    @property
    def blocks(self) -> Iterator[Array]:
        """The matrix in consecutive blocks of whole rows."""


@dataclass(frozen=True, eq=False)
class DenseEstimate(Estimate):
    """A matrix held entry by entry."""

    matrix: Array

    @property
    def shape(self) -> tuple[int, int]:
        return (self.matrix.shape[0], self.matrix.shape[1])

    def dense(self) -> Array:
        return self.matrix

    def at(self, rows: NDArray[Any], cols: NDArray[Any]) -> Array:
        return self.matrix[rows, cols]

    def row(self, row: int) -> Array:
        return self.matrix[row]

    def scores(self, row: int) -> Array:
        return self.matrix[row]

    def singular_values(self) -> Array:
        return np.asarray(np.linalg.svd(self.matrix, compute_uv=False), dtype=np.float64)

    @property
    def blocks(self) -> Iterator[Array]:
        yield self.matrix


@dataclass(frozen=True, eq=False)
class FactoredEstimate(Estimate):
    """clip(mu + b_i + c_j + left_i . right_j, -alpha, alpha), never formed unless asked for.

    ``left`` (d1, r), ``right`` (d2, r); ``effects`` or None; ``alpha`` or None for no clip.
    """

    left: Array
    right: Array
    effects: Effects | None
    alpha: float | None

    @property
    def shape(self) -> tuple[int, int]:
        return (self.left.shape[0], self.right.shape[0])

    def _finish(self, plain: Array, effects: Array | None) -> Array:
        return self._clipped(plain if effects is None else plain + effects)

    def _clipped(self, whole: Array) -> Array:
        return whole if self.alpha is None else np.clip(whole, -self.alpha, self.alpha)

    def dense(self) -> Array:
        return self._finish(self.left @ self.right.T, None if self.effects is None else self.effects.dense())

    def at(self, rows: NDArray[Any], cols: NDArray[Any]) -> Array:
        plain = np.empty(len(rows))
        step = max(1, 1_000_000 // max(self.left.shape[1], 1))
        for begin in range(0, len(rows), step):
            part = slice(begin, begin + step)
            plain[part] = np.einsum("ij,ij->i", self.left[rows[part]], self.right[cols[part]])
        return self._finish(plain, None if self.effects is None else self.effects.at(rows, cols))

    def row(self, row: int) -> Array:
        return self._clipped(self.scores(row))

    def scores(self, row: int) -> Array:
        plain: Array = self.right @ self.left[row]
        if self.effects is None:
            return plain
        return plain + (self.effects.level + self.effects.rows[row] + self.effects.cols)

    def singular_values(self) -> Array:
        """Of the matrix before the clip, from the triangular factors of both sides."""
        left, right = self.left, self.right
        if self.effects is not None:
            ones = np.ones((self.shape[0], 1)), np.ones((self.shape[1], 1))
            left = np.hstack([left, self.effects.level + self.effects.rows[:, None], ones[0]])
            right = np.hstack([right, ones[1], self.effects.cols[:, None]])
        core = np.linalg.qr(left)[1] @ np.linalg.qr(right)[1].T
        values = np.linalg.svd(core, compute_uv=False)
        return np.asarray(values[values > values[0] * 1e-12 if len(values) else slice(0)], dtype=np.float64)

    @property
    def blocks(self) -> Iterator[Array]:
        height = max(1, 4_000_000 // self.shape[1])
        for first in range(0, self.shape[0], height):
            rows = slice(first, first + height)
            effects = None
            if self.effects is not None:
                effects = self.effects.level + self.effects.rows[rows, None] + self.effects.cols
            yield self._finish(self.left[rows] @ self.right.T, effects)


@dataclass(frozen=True, eq=False)
class Completion:
    """The completed matrix and the facts of its computation.

    Attributes
    ----------
    estimate
        The matrix, dense or factored.
    link
        The link, which turns entries into probabilities.
    tau, alpha
        The radius and the bound that were imposed (``alpha`` None: no bound).
    objective
        The loss at the solution, summed over the observed entries.
    gap
        Certified relative gap: (objective - optimum) / f(0) is at most this; nan where none is claimed. Where the
        message says that the bound was imposed only at the end, by a clip, objective, gap and nuclear norm are those
        of the problem without the bound, that is of the matrix before the clip.
    converged
        True where the asked tolerance was reached (nan where that may not be told).
    iterations, seconds
        Of the solver, wall-clock seconds.
    solver, message
        Which algorithm ran, and in words how it ended and what it did not impose.
    effects
        The level and the user and item effects where the model has them (they are part of the matrix).
    tells_facts
        False where the facts would tell something private: they are nan then.
    """

    estimate: Estimate
    link: Link
    tau: float
    alpha: float | None
    objective: float
    gap: float
    converged: bool | float
    iterations: int | float
    seconds: float
    solver: str
    message: str
    effects: Effects | None = None
    tells_facts: bool = True

    @property
    def shape(self) -> tuple[int, int]:
        """(d1, d2)."""
        return self.estimate.shape

    @property
    def matrix(self) -> Array:
        """The completed matrix, shape (d1, d2). Formed on demand when it is held as factors."""
        return self.estimate.dense()

    def predict(self, rows: ArrayLike, cols: ArrayLike) -> Array:
        """The entries at (rows[k], cols[k]), shape (n,), without forming the matrix.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        left, right = _indices("rows", rows, self.shape[0]), _indices("cols", cols, self.shape[1])
        if len(left) != len(right):
            raise ValueError(f"rows and cols must be of equal length, got {len(left)} and {len(right)}.")
        return self.estimate.at(left, right)

    def probability(self, rows: ArrayLike, cols: ArrayLike) -> Array:
        """h of the entries: the estimated probability of a +1 at (rows[k], cols[k]), shape (n,)."""
        return self.link.probability(self.predict(rows, cols))

    def top_n(self, row: int, n: int, exclude: ArrayLike = ()) -> NDArray[np.int64]:
        """The ``n`` columns with the largest entries of one row, best first, without those in ``exclude``.

        Entries that a clip made equal are ranked by what they were before it; entries that are not known are left out.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        user = int(_indices("row", [row], self.shape[0])[0])
        scores = np.array(self.estimate.scores(user), dtype=np.float64)
        scores[_indices("exclude", exclude, self.shape[1])] = np.nan
        # Those that are left out come last.
        count = min(check_integer("n", n, low=0), int(np.count_nonzero(~np.isnan(scores))))
        return np.argsort(-scores, kind="stable")[:count]

    def favourites(self, n: int, omega: Omega) -> Iterator[NDArray[np.int64]]:
        """For every row in turn the ``n`` best columns, best first, of those that are not observed in it."""
        order = np.argsort(omega.rows, kind="stable")
        starts = np.searchsorted(omega.rows[order], np.arange(self.shape[0] + 1))
        for row in range(self.shape[0]):
            yield self.top_n(row, n, exclude=omega.cols[order[starts[row] : starts[row + 1]]])

    @lazy_property
    def _values(self) -> Array:
        return self.estimate.singular_values()

    @property
    def singular_values(self) -> Array:
        """The singular values, largest first (of a release: of nothing, shape (0,))."""
        return self._values if self.tells_facts else np.zeros(0)

    @property
    def nuclear_norm(self) -> float:
        """||X||_*, the sum of the singular values."""
        return float(self.singular_values.sum()) if self.tells_facts else math.nan

    def rank(self, relative: float = 1e-2) -> float:
        """The number of singular values above ``relative`` times the largest."""
        if not self.tells_facts:
            return math.nan
        values = self.singular_values
        return int(np.count_nonzero(values > relative * values[0])) if len(values) and values[0] > 0.0 else 0

    @property
    def largest_entry(self) -> float:
        """max |X_ij|."""
        if not self.tells_facts:
            return math.nan
        return max(float(np.abs(block).max()) for block in self.estimate.blocks)

    @property
    def share_at_bound(self) -> float:
        """The share of entries within one per cent of the bound alpha; nan without one.

        One per cent, since a matrix at the bound is scaled into the nuclear-norm ball by up to about the gap.
        """
        if not self.tells_facts or self.alpha is None:
            return math.nan
        limit = 0.99 * self.alpha
        count = sum(int(np.count_nonzero(np.abs(block) >= limit)) for block in self.estimate.blocks)
        return count / (self.shape[0] * self.shape[1])

    def without_facts(self, estimate: Estimate | None = None) -> Completion:
        """A copy (with another estimate) that carries the matrix alone: for releases whose solver saw the data."""
        return replace(
            self,
            estimate=self.estimate if estimate is None else estimate,
            objective=math.nan,
            gap=math.nan,
            converged=math.nan,
            iterations=math.nan,
            seconds=math.nan,
            message="",
            effects=None,
            tells_facts=False,
        )


def _indices(name: str, values: ArrayLike, size: int) -> NDArray[np.int64]:
    array = check_array(name, [values] if np.isscalar(values) else values)
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "iu" or int(array.min()) < 0 or int(array.max()) >= size:
        raise ValueError(f"{name} must hold whole numbers from 0 to {size - 1}.")
    return array.astype(np.int64)
