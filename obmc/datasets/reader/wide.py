"""Wide tables: one row a user, one column an item, and a rating or nothing where they meet (or the other way round)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from obmc.datasets.reader.codes import HIGH_CODES
from obmc.datasets.reader.columns import Profile, label, position_of
from obmc.datasets.reader.grid import Coded, Encoder, Grid
from obmc.datasets.reader.names import (
    ITEM,
    RATING,
    SUMMARY,
    TIME,
    USER,
    Meaning,
    meaning,
    meanings,
    names_columns,
    names_rows,
)
from obmc.datasets.reader.words import NO_RATING
from obmc.errors import RatingsError


@dataclass
class WidePlan:
    """Which column names the row (None: rows are numbered), which hold ratings, and whether rows are items."""

    row_column: int | None
    rating_columns: list[int]
    rows_are_items: bool
    notes: list[str] = field(default_factory=list)


def find_wide(grid: Grid, profiles: list[Profile], *, user: Any, item: Any, asked: bool) -> WidePlan | None:
    """The plan of a wide table, or None if the table is a long one. ``asked`` says that the caller calls it wide.

    It is wide if at least three columns, and four in five of all but the first, hold ratings on one common scale, and
    no names speak of user, item and rating; without names, if all of them do and do not look like ids and ratings.
    """
    width, names = grid.width, grid.names
    if user is not None and item is not None:
        raise RatingsError(
            "In a wide table user or item names the column that labels the rows, so give one of them only."
        )
    told: list[Meaning | None] = meanings(names) if names else [None] * width
    if user is not None or item is not None:
        role, wanted = ("user", user) if user is not None else ("item", item)
        row_column: int | None = position_of(role, wanted, names, width)
    else:
        row_column = _label_column(grid, profiles, told)
    others = [k for k in range(width) if k != row_column]
    rated = _on_one_scale(others, profiles)
    if not asked and not _is_wide(grid, profiles, told, others, rated):
        return None
    if not rated:
        raise RatingsError(
            "The table has no columns of ratings on one scale, so it is no wide table: leave out layout='wide'."
        )
    rows_are_items = item is not None or (user is None and _rows_are_items(names, row_column, rated))
    return _plan(grid, profiles, row_column, rated, rows_are_items)


def _rows_are_items(names: list[str] | None, row_column: int | None, rated: list[int]) -> bool:
    """Do the names say so: that of the column which names the rows, else those of the others?"""
    if not names or row_column is None:
        return False
    corner = names_rows(names[row_column])
    return corner == ITEM or (corner != USER and names_columns([names[k] for k in rated]) == USER)


def _label_column(grid: Grid, profiles: list[Profile], told: list[Meaning | None]) -> int | None:
    """The column that names the rows: the first one, or the next that can if the first is the time of an entry."""
    if not profiles[0].is_time:
        return 0 if _labels_rows(profiles[0], grid) else None
    for k in range(1, min(grid.width, 4)):
        known, column = told[k], profiles[k]
        labels = column.different == column.filled or (known is not None and known.role in (USER, ITEM))
        if labels and column.rated_share < 0.8 and column.filled and not column.is_time:
            return k
    return None


def _is_wide(
    grid: Grid, profiles: list[Profile], told: list[Meaning | None], others: list[int], rated: list[int]
) -> bool:
    # A title may be "The Book" or "Top Score": a column of ratings with gaps is none of ids, whatever its name.
    gaps = {k for k in rated if _has_gaps(profiles[k])}
    roles = {found.role for k, found in enumerate(told) if found is not None and k not in gaps}
    most = max(3.0, 0.8 * (grid.width - 1))
    if len(rated) < most or {USER, ITEM, RATING} <= roles or (TIME in roles and len(rated) < 5):
        return False
    if RATING in roles and roles & {USER, ITEM} and len(rated) < 6:
        return False
    if grid.names is None:
        filled = sum(profiles[k].filled > 0 for k in others) - is_count_column(grid)
        many = grid.width >= 8 or (grid.width >= 5 and len(gaps) >= 2)
        return len(rated) >= filled and (many or _is_small_matrix(grid, profiles, others))
    # A list in which nobody rates twice teaches nothing; a matrix has a row for each.
    unnamed = told[0] is None and _tells_rows_apart(profiles, others)
    return unnamed or not _is_long(grid.names, profiles, rated)


def _is_small_matrix(grid: Grid, profiles: list[Profile], columns: list[int]) -> bool:
    """Are these columns, without names, ratings of up to 10 of several items, rather than user, item and rating?

    A list with ids as small as ratings is one of few users and items. It goes from user to user, and tells an item of a
    user once. Three columns are several beside one that gives every row a name of its own.
    """
    if len(columns) < (3 if _tells_rows_apart(profiles, columns) else 4) or any(
        profiles[k].reach > 10 for k in columns
    ):
        return False
    pairs = [(row[columns[0]].strip(), row[columns[1]].strip()) for row in grid.sample]
    try:
        users = [float(user) for user, _ in pairs]
    except ValueError:
        return True
    in_turn = all(before <= after for before, after in pairwise(users))
    return not (in_turn and len(set(users)) < len(users) and len(set(pairs)) == len(pairs))


def _tells_rows_apart(profiles: list[Profile], columns: list[int]) -> bool:
    """Does the first column, which is none of these, give every row a name of its own?"""
    first = profiles[0]
    return 0 not in columns and first.rated_share < 0.8 and first.different == first.filled > 2


def _plan(
    grid: Grid, profiles: list[Profile], row_column: int | None, rated: list[int], rows_are_items: bool
) -> WidePlan:
    names = grid.names
    plan = WidePlan(row_column, rated, rows_are_items)
    counts = is_count_column(grid)
    if counts:
        plan.rating_columns = [k for k in rated if k != 0]
        plan.row_column = row_column = None
        plan.notes.append("The first column counts the ratings of its row and was left out.")
    if names:
        plan.rating_columns = [k for k in rated if not SUMMARY.fullmatch(names[k].strip())]
    used = {row_column, *plan.rating_columns}
    left = [k for k in range(grid.width) if k not in used and profiles[k].filled]
    left = left[1:] if counts else left
    rows, columns = ("items", "users") if rows_are_items else ("users", "items")
    plan.notes.append(
        f"The table is wide and was read with rows as {rows} and {len(plan.rating_columns):,} columns as {columns} "
        "(change with layout='long', user= or item=)."
    )
    if row_column is None:
        plan.notes.append(f"No column names the rows, so the {rows} were numbered in the order of the file.")
    if left:
        shown = ", ".join(label(names, k) for k in left[:5])
        plan.notes.append(f"{len(left)} columns that hold no ratings of the common scale were left out: {shown}.")
    return plan


def _labels_rows(first: Profile, grid: Grid) -> bool:
    """Does the first column name the rows? It does if its values are all different, or are no ratings.

    In a table without names, different numbers as small as ratings name the rows only where they count them.
    """
    if first.filled == 0:
        return False
    if grid.names is None and first.rated_share >= 0.8 and first.reach <= 10:
        counted = [row[0].strip() for row in grid.sample]
        return any(counted == [str(k + start) for k in range(len(counted))] for start in (0, 1))
    if first.different == first.filled and (first.filled > 2 or first.rated_share < 0.8):
        return True
    if grid.names is not None and meaning(grid.names[0]) is not None:
        return True
    return first.rated_share < 0.8


def _has_gaps(column: Profile) -> bool:
    return column.blank > 0.1 * (column.blank + column.filled) or any(code in column.levels for code in HIGH_CODES)


def _on_one_scale(columns: list[int], profiles: list[Profile]) -> list[int]:
    """The columns that hold ratings between -10 and 10, or, if these are few, those between -100 and 100."""
    numbers = [k for k in columns if profiles[k].rated_share >= 0.9 and not profiles[k].is_time]
    empty = [k for k in columns if not profiles[k].filled]
    small = [k for k in numbers if profiles[k].reach <= 10]
    if len(small) < 3:
        in_hundred = [k for k in numbers if profiles[k].reach <= 100]
        small = in_hundred if len(in_hundred) >= 5 else small
    return sorted((*small, *empty))


def _is_long(names: list[str], profiles: list[Profile], rated: list[int]) -> bool:
    """Few columns of small whole numbers may be user, item, rating and something more: then blanks tell."""
    if len(rated) >= 5:
        return False
    blanks = sum(profiles[k].blank for k in rated)
    labels = sum(profiles[k].filled for k in rated)
    return blanks < 0.05 * (blanks + labels) and _ordinary_names(names)


def _ordinary_names(names: list[str]) -> bool:
    """Short names without a meaning (a, b, c or V1, V2) say nothing of items."""
    return all(len(name) <= 2 for name in names)


def read_wide(grid: Grid, plan: WidePlan) -> tuple[Coded, Coded, Coded, int]:
    """User, item and rating of every filled cell, and the number of rows without a name. Rows of sums are left out."""
    rows_coded, cells_coded = Encoder(), Encoder()
    places: list[NDArray[np.int32]] = []
    columns = plan.rating_columns
    number = unnamed = sums = 0
    for block in _small_blocks(grid.blocks(), len(columns)):
        if plan.row_column is None:
            labels = [str(number + k + 1) for k in range(len(block))]
        else:
            unnamed += sum(not row[plan.row_column].strip() for row in block)
            named = [row for row in block if row[plan.row_column].strip()]
            block = [row for row in named if not SUMMARY.fullmatch(row[plan.row_column].strip())]
            sums += len(named) - len(block)
            labels = [row[plan.row_column] for row in block]
        number += len(block)
        cells = np.empty((len(block), len(columns)), dtype=object)
        for k, row in enumerate(block):
            cells[k] = [row[column] for column in columns]
        codes, texts = pd.factorize(cells.ravel())
        rated = np.array([text.strip().casefold() not in NO_RATING for text in texts], dtype=bool)
        kept = np.flatnonzero(rated[codes])
        down, across = np.divmod(kept, len(columns))
        rows_coded.add(down, labels)
        cells_coded.add(codes[kept], texts)
        places.append(across.astype(np.int32))
    if sums:
        plan.notes.append(f"Rows of totals or means, left out: {sums}.")
    titles = [(grid.names[k] if grid.names else "") or f"column {k + 1}" for k in columns]
    by_column = Coded(np.concatenate(places) if places else np.empty(0, dtype=np.int32), titles)
    by_row = rows_coded.finish()
    user, item = (by_column, by_row) if plan.rows_are_items else (by_row, by_column)
    return user, item, cells_coded.finish(), unnamed


def _small_blocks(blocks: Iterator[list[list[str]]], width: int) -> Iterator[list[list[str]]]:
    """Blocks of at most about a million cells."""
    size = max(1, 10**6 // max(width, 1))
    for block in blocks:
        for start in range(0, len(block), size):
            yield block[start : start + size]


def is_count_column(grid: Grid) -> bool:
    """Does the first column count the ratings of its row, as in the Jester files?"""
    first = [row for row in grid.sample[:200] if row[0].strip()]
    others = range(1, grid.width)
    counts = [
        sum(bool(row[k].strip()) and row[k].strip() not in ("99", "99.0", "99.00") for k in others) for row in first
    ]
    return len(first) > 2 and all(row[0].strip() == str(count) for row, count in zip(first, counts, strict=True))
