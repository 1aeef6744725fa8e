"""Binarisation: the exact mean, ties, one class, public thresholds; and what the table says of itself."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obmc import Observations, RatingsError
from obmc.datasets.ratings_file import read_ratings
from obmc.datasets.ratings_table import RatingsTable


def table_of(ratings: list[float | str], order: list[int] | None = None) -> RatingsTable:
    rows = [f"u{k // 3},m{k % 3},{rating}" for k, rating in enumerate(ratings)]
    rows = rows if order is None else [rows[k] for k in order]
    return read_ratings("\n".join(["user,item,rating", *rows]).encode(), missing=())


def positive(table: RatingsTable, threshold: float | str = "mean") -> set[tuple[str, str]]:
    signs = table.binarize(threshold)
    return {
        (table.users[r], table.items[c]) for r, c, s in zip(signs.rows, signs.cols, signs.signs, strict=True) if s > 0
    }


def test_rows_and_columns_point_at_users_and_items() -> None:
    table = read_ratings(b"user,item,rating\nb,y,4\na,x,1\nb,x,5\na,y,2\n")
    assert table.users == ("b", "a") and table.items == ("y", "x")
    observed = table.binarize(3)
    assert isinstance(observed, Observations) and observed.shape == (2, 2)
    assert list(zip(observed.rows, observed.cols, observed.signs, strict=True)) == [
        (0, 0, 1),
        (1, 1, -1),
        (0, 1, 1),
        (1, 0, -1),
    ]
    assert table.frame.values.tolist() == [["b", "y", 4.0], ["a", "x", 1.0], ["b", "x", 5.0], ["a", "y", 2.0]]
    assert list(table.frame.columns) == ["user", "item", "rating"]
    assert repr(table) == "RatingsTable(n_ratings=4, n_users=2, n_items=2)"


def test_equal_to_the_mean_is_minus_one() -> None:
    table = table_of([1, 3, 5, 3, 3, 3])
    assert table.mean == 3.0 and table.exact_mean == 3
    assert table.n_equal("mean") == 4 and table.n_above("mean") == 1
    assert positive(table) == {("u0", "m2")}


@pytest.mark.parametrize(
    "ratings", [[0.1, 0.2, 0.3], [0.7, 0.1, 0.4], [3.3, 3.3, 3.3, 3.1, 3.5], [1e20, 1.0, -1e20, 1.0, 3.0]]
)
def test_the_mean_is_that_of_the_decimals(ratings: list[float]) -> None:
    """In doubles 0.1 + 0.2 + 0.3 is more than 3 * 0.2, and 0.2 would fall on either side of the mean."""
    table = table_of(ratings)
    exact = sum(Fraction(repr(rating)) for rating in ratings) / len(ratings)
    assert table.exact_mean == exact
    assert table.n_equal("mean") == sum(Fraction(repr(rating)) == exact for rating in ratings)
    assert table.n_above("mean") == sum(Fraction(repr(rating)) > exact for rating in ratings)


@settings(max_examples=60, deadline=None)
@given(
    ratings=st.lists(st.decimals(-10, 10, places=2).map(str), min_size=2, max_size=30),
    seed=st.integers(0, 2**32),
)
def test_the_order_of_rows_does_not_matter(ratings: list[str], seed: int) -> None:
    order = random.Random(seed).sample(range(len(ratings)), len(ratings))
    one, other = table_of(list(ratings)), table_of(list(ratings), order)
    assert one.exact_mean == other.exact_mean == sum(map(Fraction, ratings)) / len(ratings)
    if len(set(one.ratings)) > 1:
        assert positive(one) == positive(other)


def test_extreme_ratings_have_an_exact_mean() -> None:
    table = table_of(["1e300", "-1e300", "1e-300", "-1e-300"])
    assert table.exact_mean == 0 and table.n_above("mean") == 2


@pytest.mark.parametrize(("threshold", "number"), [(2, 3), (2.5, 3), (3, 2), (4.999, 1), (np.float64(3.0), 2)])
def test_a_fixed_threshold_is_strict(threshold: float, number: int) -> None:
    table = table_of([1, 2, 3, 4, 5])
    assert table.n_above(threshold) == number == int((table.binarize(threshold).signs > 0).sum())
    assert table.n_equal(threshold) == (threshold in (2, 3))


@pytest.mark.parametrize("threshold", [5, 0, 0.999])
def test_one_class_is_refused_and_allowed_on_request(threshold: float) -> None:
    table = table_of([1, 2, 3, 4, 5])
    with pytest.raises(RatingsError, match=f"one class only: .* threshold {threshold}; choose a threshold between"):
        table.binarize(threshold)
    assert abs(int(table.binarize(threshold, allow_one_class=True).signs.sum())) == 5


def test_equal_ratings_are_one_class() -> None:
    table = table_of([5, 5, 5])
    with pytest.raises(RatingsError, match=r"all 3 ratings are equal \(5\)"):
        table.binarize("mean")
    assert set(table.binarize("mean", allow_one_class=True).signs) == {-1}


@pytest.mark.parametrize("threshold", ["median", True, None, float("nan"), float("inf"), [3]])
def test_a_threshold_that_is_none_is_refused(threshold: object) -> None:
    with pytest.raises(RatingsError, match="threshold must be 'mean' or a"):
        table_of([1, 5]).binarize(threshold)  # type: ignore[arg-type]


def test_public_threshold_is_the_midpoint_of_a_declared_scale() -> None:
    assert RatingsTable.public_threshold(1, 5) == 3.0
    assert RatingsTable.public_threshold(-10, 10) == 0.0
    assert table_of([4, 5]).public_threshold(0.5, 5) == 2.75


@pytest.mark.parametrize(("low", "high"), [(5, 1), (1, 1), (float("nan"), 5), (1, float("inf")), ("1", 5)])
def test_a_scale_that_is_none_is_refused(low: float, high: float) -> None:
    with pytest.raises(RatingsError, match=r"(low|high) must be"):
        RatingsTable.public_threshold(low, high)
