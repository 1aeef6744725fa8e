"""Clean ratings of one file, what was done to it, and the signs they become."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from obmc.errors import RatingsError, check_number
from obmc.lazy import lazy_property
from obmc.observations import Observations


@dataclass(frozen=True)
class RatingsDialect:
    """How a ratings file was understood.

    ``container`` ("plain", "gzip", "zip (name)"), ``encoding``, ``form`` ("text", "json"), ``separator`` and ``quote``
    ("" where they do not apply), ``decimal`` mark, ``header`` (has names), ``columns`` (their names, "column 1" and so
    on without a header), ``layout`` ("long", "wide"), ``user``, ``item`` and ``rating`` (the names of their columns, ""
    for what has none in a wide table), ``words`` (texts read as numbers), ``missing`` (numbers taken for "not rated").
    """

    container: str
    encoding: str
    form: str
    separator: str
    quote: str
    decimal: str
    header: bool
    columns: tuple[str, ...]
    layout: str
    user: str
    item: str
    rating: str
    words: Mapping[str, float] = field(default_factory=dict)
    missing: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class RatingsTable:
    """Ratings R_ij of users i for items j, each pair at most once.

    ``rows`` and ``cols`` are 0-based indices into ``users`` and ``items`` (texts, in the order in which they first
    occur), ``ratings`` finite numbers, all of length n. ``n_rows_dropped`` counts the rows of the file that gave no
    rating; ``notes`` says what was changed, dropped or guessed and how to change it, and is empty if the file was read
    as it stands; ``dialect`` says how it was understood.
    """

    rows: NDArray[np.int32]
    cols: NDArray[np.int32]
    ratings: NDArray[np.float64]
    users: tuple[str, ...]
    items: tuple[str, ...]
    n_rows_dropped: int
    notes: tuple[str, ...]
    dialect: RatingsDialect

    def __repr__(self) -> str:
        return f"RatingsTable(n_ratings={self.n_ratings}, n_users={self.n_users}, n_items={self.n_items})"

    def has_same_ratings(self, other: RatingsTable) -> bool:
        """Whether both hold the same ratings of the same users and items, however they were read."""
        return (
            (self.users, self.items) == (other.users, other.items)
            and np.array_equal(self.rows, other.rows)
            and np.array_equal(self.cols, other.cols)
            and np.array_equal(self.ratings, other.ratings)
        )

    @property
    def n_users(self) -> int:
        """d1, the number of different users."""
        return len(self.users)

    @property
    def n_items(self) -> int:
        """d2, the number of different items."""
        return len(self.items)

    @property
    def n_ratings(self) -> int:
        """n, the number of ratings."""
        return len(self.ratings)

    @lazy_property
    def frame(self) -> pd.DataFrame:
        """The ratings with the columns user and item (text) and rating (float), in the order of the file."""
        return pd.DataFrame(
            {
                "user": pd.Series(self.users, dtype="str").take(self.rows).reset_index(drop=True),
                "item": pd.Series(self.items, dtype="str").take(self.cols).reset_index(drop=True),
                "rating": self.ratings,
            }
        )

    @lazy_property
    def _levels(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The different ratings, ascending, and how often each occurs."""
        values, counts = np.unique(self.ratings, return_counts=True)
        return values, counts.astype(np.int64)

    @property
    def density(self) -> float:
        """The share of pairs that are rated."""
        return self.n_ratings / (self.n_users * self.n_items)

    @lazy_property
    def ratings_per_user(self) -> NDArray[np.int64]:
        """How many ratings each user has, in the order of ``users``."""
        return np.bincount(self.rows, minlength=self.n_users)

    def histogram(self, most: int = 40) -> pd.DataFrame:
        """How often each rating occurs, or in each of ``most`` equal intervals where there are more: low, high, count.

        It counts the ratings themselves: for the owner's eyes, never part of a release.
        """
        values, counts = self._levels
        if len(values) <= most:
            return pd.DataFrame({"low": values, "high": values, "count": counts})
        inside, edges = np.histogram(values, bins=most, weights=counts)
        return pd.DataFrame({"low": edges[:-1], "high": edges[1:], "count": inside.astype(np.int64)})

    @lazy_property
    def exact_mean(self) -> Fraction:
        """The mean of the ratings as they are written, in decimals, without rounding: no order of rows matters."""
        _, scale, total = self._exact
        return Fraction(total, scale * self.n_ratings)

    @property
    def mean(self) -> float:
        """The mean rating, correctly rounded."""
        return float(self.exact_mean)

    @lazy_property
    def _exact(self) -> tuple[list[int], int, int]:
        """Whole numbers a_l and a scale s with rating level l = a_l / s, and the sum of a over all ratings."""
        values, counts = self._levels
        parts = [Decimal(repr(value)).as_tuple() for value in values.tolist()]
        places = max([0, *(-int(part.exponent) for part in parts)])
        numerators = [
            (-1) ** part.sign * int("".join(map(str, part.digits))) * 10 ** (places + int(part.exponent))
            for part in parts
        ]
        total = sum(a * int(count) for a, count in zip(numerators, counts, strict=True))
        return numerators, 10**places, total

    def n_above(self, threshold: float | str = "mean") -> int:
        """How many ratings are strictly above the threshold ("mean" or a number)."""
        return int((self.ratings > self._cut(threshold)).sum())

    def n_equal(self, threshold: float | str = "mean") -> int:
        """How many ratings equal the threshold exactly; they become -1."""
        values, counts = self._levels
        if threshold != "mean":
            return int(counts[values == self._cut(threshold)].sum())
        numerators, _, total = self._exact
        return sum(int(c) for a, c in zip(numerators, counts, strict=True) if a * self.n_ratings == total)

    def _cut(self, threshold: Any) -> float:
        """A number such that a rating is above it exactly if it is above the threshold."""
        if isinstance(threshold, str):
            if threshold != "mean":
                raise RatingsError(f"threshold must be 'mean' or a finite number, got {threshold!r}.")
            numerators, _, total = self._exact
            below = sum(a * self.n_ratings <= total for a in numerators)
            return float(self._levels[0][below - 1])
        try:
            return check_number("threshold", threshold)
        except ValueError as error:
            raise RatingsError(str(error).replace("must be a", "must be 'mean' or a", 1)) from error

    def binarize(self, threshold: float | str = "mean", *, allow_one_class: bool = False) -> Observations:
        """The observations Y_ij = +1 where R_ij > threshold, and -1 elsewhere, equality included.

        Parameters
        ----------
        threshold
            A number on the scale of the ratings, or "mean", their exact mean. The mean is itself a statistic of the
            private data: a private release needs a number fixed beforehand, such as ``public_threshold``.
        allow_one_class
            Go on where all signs are equal. A private release sets it, since refusing would tell something of the data.

        Raises
        ------
        RatingsError
            If the threshold is neither, or leaves one class only.
        """
        signs = np.where(self.ratings > self._cut(threshold), 1, -1).astype(np.int8)
        positive = int((signs > 0).sum())
        if not allow_one_class and positive in (0, self.n_ratings):
            values = self._levels[0]
            if len(values) == 1:
                reason = f"all {self.n_ratings:,} ratings are equal ({values[0]:g})"
                way_out = "ratings of at least two kinds are needed"
            else:
                side = "above" if positive else "at or below"
                scale = f"{values[0]:g} to {values[-1]:g}"
                reason = f"all {self.n_ratings:,} ratings, {scale}, lie {side} the threshold {threshold}"
                way_out = "choose a threshold between them"
            raise RatingsError(f"The ratings fall into one class only: {reason}; {way_out}.")
        return Observations(self.rows, self.cols, signs, (self.n_users, self.n_items))

    @staticmethod
    def public_threshold(low: float, high: float) -> float:
        """The midpoint (low + high) / 2 of a scale that is declared, not observed: it tells nothing of the data.

        Raises ``RatingsError`` unless ``low`` and ``high`` are finite numbers with low < high.
        """
        try:
            bottom, top = check_number("low", low), check_number("high", high)
        except ValueError as error:
            raise RatingsError(str(error)) from error
        if not bottom < top:
            raise RatingsError(f"low must be below high, got {low!r} and {high!r}.")
        return bottom / 2 + top / 2
