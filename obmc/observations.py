"""The data of the problem: which entries of the matrix are observed, and with which sign."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from obmc.errors import check_array, check_integer, check_number, check_shape, check_signs
from obmc.lazy import lazy_property


def as_generator(rng: int | np.random.Generator) -> np.random.Generator:
    """Return a ``Generator``: the one given, or a new one from a non-negative integer seed.

    Raises ``ValueError`` for anything else, ``None`` included: a run that cannot be repeated is not allowed here.
    """
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0:
        raise ValueError(f"rng must be a numpy Generator or a whole number of at least 0, got {rng!r}.")
    return np.random.default_rng(int(rng))


@dataclass(frozen=True, eq=False)
class Omega:
    """The observed positions without their signs: who rated what, which the privacy model treats as public.

    Solvers get an ``Omega`` and a loss. That they never get an ``Observations`` is the wall between private signs and
    everything that runs on a noised copy of them.
    """

    rows: NDArray[np.int32]
    cols: NDArray[np.int32]
    shape: tuple[int, int]

    def __len__(self) -> int:
        return len(self.rows)

    @lazy_property
    def flat(self) -> NDArray[np.int64]:
        """Positions in the flattened (row by row) matrix, shape (n,)."""
        return self.rows.astype(np.int64) * self.shape[1] + self.cols

    def take(self, keep: NDArray[Any]) -> Omega:
        """The positions selected by a boolean mask or an index array."""
        return Omega(self.rows[keep], self.cols[keep], self.shape)


@dataclass(frozen=True, eq=False, init=False)
class Observations:
    """One-bit observations Y_ij in {-1, +1} for (i, j) in Omega, a subset of [d1] x [d2].

    Parameters
    ----------
    rows, cols
        0-based integer arrays of length n >= 1; (rows[k], cols[k]) is the k-th observed entry. No pair twice.
    signs
        Array of length n with values -1 and +1 only; one class alone is allowed.
    shape
        (d1, d2), the size of the matrix: rows are users, columns are items.

    Raises
    ------
    ValueError
        Naming the argument: wrong lengths, an index out of range, a sign other than +-1, a pair twice, no entry.

    Source: paper, section 3.2.
    """

    rows: NDArray[np.int32]
    cols: NDArray[np.int32]
    signs: NDArray[np.int8]
    shape: tuple[int, int]

    def __init__(self, rows: ArrayLike, cols: ArrayLike, signs: ArrayLike, shape: tuple[int, int]) -> None:
        size = check_shape("shape", shape, high=int(np.iinfo(np.int32).max))
        row_array = _index_array("rows", rows, size[0])
        col_array = _index_array("cols", cols, size[1])
        sign_array = check_array("signs", signs)
        if not len(row_array) == len(col_array) == len(sign_array):
            raise ValueError(
                "rows, cols and signs must be of equal length, "
                f"got {len(row_array)}, {len(col_array)} and {len(sign_array)}."
            )
        if len(row_array) == 0:
            raise ValueError("rows, cols and signs must hold at least one observed entry, got none.")
        check_signs("signs", sign_array)
        flat = row_array.astype(np.int64) * size[1] + col_array
        ordered = np.sort(flat)
        repeated = np.flatnonzero(ordered[1:] == ordered[:-1])
        if len(repeated):
            first = divmod(int(ordered[repeated[0]]), size[1])
            raise ValueError(
                f"rows and cols must name every entry once, but {first} occurs more than once "
                f"({len(repeated)} repetitions in all)."
            )
        for name, array in (("rows", row_array), ("cols", col_array), ("signs", sign_array.astype(np.int8))):
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "shape", size)

    def __len__(self) -> int:
        return len(self.signs)

    def __repr__(self) -> str:
        return f"Observations(n={len(self)}, shape={self.shape}, positive={self.positive_share:.3f})"

    @property
    def omega(self) -> Omega:
        """The observed positions alone."""
        return Omega(self.rows, self.cols, self.shape)

    @property
    def bits(self) -> NDArray[np.float64]:
        """The labels z = (1 + Y) / 2 in {0, 1}, shape (n,)."""
        return (self.signs > 0).astype(np.float64)

    @property
    def positive_share(self) -> float:
        """The share of +1 among the observed entries."""
        return float(np.mean(self.signs > 0))

    @property
    def ratio(self) -> float:
        """The observation ratio n / (d1 d2)."""
        return len(self) / (self.shape[0] * self.shape[1])

    def with_signs(self, signs: ArrayLike) -> Observations:
        """The same entries with other signs, shape (n,)."""
        return Observations(self.rows, self.cols, signs, self.shape)

    def index_of(self, entry: tuple[int, int]) -> int:
        """Position k with (rows[k], cols[k]) = entry; ``ValueError`` if it is not observed."""
        if not isinstance(entry, tuple | list) or len(entry) != 2:
            raise ValueError(f"entry must be a pair (row, column) of an observed entry, got {entry!r}.")
        row = check_integer("entry[0]", entry[0], low=0, high=self.shape[0] - 1)
        col = check_integer("entry[1]", entry[1], low=0, high=self.shape[1] - 1)
        found = np.flatnonzero((self.rows == row) & (self.cols == col))
        if len(found) == 0:
            raise ValueError(f"entry must be an observed entry, but ({row}, {col}) is not observed.")
        return int(found[0])

    def flip(self, entry: tuple[int, int]) -> Observations:
        """The neighbouring data set: the sign of one observed entry reversed (theory: the unit of privacy)."""
        signs = self.signs.copy()
        signs[self.index_of(entry)] *= -1
        return self.with_signs(signs)

    def take(self, keep: NDArray[Any]) -> Observations:
        """The observations selected by a boolean mask or an index array over the n entries, the shape unchanged."""
        return Observations(self.rows[keep], self.cols[keep], self.signs[keep], self.shape)

    def split(self, share: float, rng: int | np.random.Generator) -> tuple[Observations, Observations]:
        """Split at random into (first, second), ``round(share * n)`` entries in the first; order is kept in both.

        ``share`` is in (0, 1) and must leave at least one entry on each side, else ``ValueError``.
        """
        part = check_number("share", share, low=0.0, high=1.0, open_low=True, open_high=True)
        size = round(part * len(self))
        if size in (0, len(self)):
            raise ValueError(
                f"share must leave at least one of the {len(self)} observations on each side, got {share!r}."
            )
        first = np.zeros(len(self), dtype=bool)
        first[as_generator(rng).permutation(len(self))[:size]] = True
        return self.take(first), self.take(~first)

    def to_dense(self) -> NDArray[np.int8]:
        """The matrix of signs, shape (d1, d2), 0 where nothing is observed. For pictures of small problems."""
        dense = np.zeros(self.shape, dtype=np.int8)
        dense[self.rows, self.cols] = self.signs
        return dense

    def fingerprint(self) -> str:
        """A SHA-256 of the content, by which public and synthetic data are told apart. Never call it on an upload."""
        digest = hashlib.sha256(repr(self.shape).encode())
        for array in (self.rows, self.cols, self.signs):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def _index_array(name: str, values: ArrayLike, size: int) -> NDArray[np.int32]:
    array = check_array(name, values)
    if len(array) and array.dtype.kind not in "iu":
        raise ValueError(f"{name} must hold whole numbers from 0 to {size - 1}, got values of type {array.dtype}.")
    if len(array) and (int(array.min()) < 0 or int(array.max()) >= size):
        raise ValueError(f"{name} must lie from 0 to {size - 1}, got values from {array.min()} to {array.max()}.")
    return array.astype(np.int32)
