"""Ratings of one's own: from a file of nearly any form to clean ratings, with all that was done to it said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from obmc.datasets.ratings_table import RatingsDialect, RatingsTable
from obmc.datasets.reader import wide
from obmc.datasets.reader.cleaning import DUPLICATES, Cleaned, Entries, clean
from obmc.datasets.reader.columns import find_roles, profile_columns
from obmc.datasets.reader.containers import load
from obmc.datasets.reader.dialect import find_format, find_header, take_sample
from obmc.datasets.reader.encoding import to_utf8
from obmc.datasets.reader.grid import Grid, TextGrid
from obmc.datasets.reader.json_text import looks_like_json, read_json
from obmc.datasets.reader.names import looks_like_names
from obmc.datasets.reader.records import Format, split
from obmc.datasets.reader.rewrite import as_plain_table
from obmc.errors import RatingsError, check_choice

# Fewer lines of words between blanks than this may be sentences.
PROSE_LINES = 5
# Ways of writing a separator where the character itself is hard to type.
WRITTEN = {r"\s+": " ", r"\t": "\t"}


@dataclass(frozen=True)
class RatingsPreview:
    """The first rows of a file before anything is said of their meaning, and how they were split."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    separator: str
    encoding: str
    header: bool
    notes: tuple[str, ...]


@dataclass
class _Opened:
    """A file as a table of text, before its columns have a meaning."""

    grid: Grid
    container: str
    encoding: str
    form: Format | None
    notes: list[str]


def read_ratings(
    source: Any,
    *,
    user: str | int | None = None,
    item: str | int | None = None,
    rating: str | int | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    layout: str | None = None,
    missing: Any = None,
    words: Mapping[str, float] | None = None,
    duplicates: str = "last",
    max_bytes: int | None = None,
) -> RatingsTable:
    """Read the ratings R_ij of users i for items j from a file, at most one for each pair (i, j).

    Everything that is left as None is found out from the file; what is guessed, dropped or changed is said in ``notes``
    of the result. Ids stay text, without the blanks around them. Rows without a user, an item or a finite rating are
    dropped.

    Parameters
    ----------
    source
        A path, bytes or a file object: text separated in any way, JSON, and these packed with gzip, bzip2, xz or zip.
    user, item, rating
        The columns, by name or 0-based position. In a wide table ``user`` (or ``item``) is the column that labels the
        rows.
    separator
        What stands between fields, such as ``","`` or ``"::"``; ``" "`` stands for any run of blanks.
    decimal
        ``"."`` or ``","``.
    encoding
        A text encoding such as ``"utf-8"`` or ``"cp1252"``.
    header
        Whether the file begins with the names of its columns.
    layout
        ``"long"``, one rating a row, or ``"wide"``, one user (or item) a row and one column for each item (or user).
    missing
        A number or text, or several, that stand for "not rated". Given, no such code is guessed: ``()`` keeps all.
    words
        Texts of the rating column and the numbers they stand for.
    duplicates
        What counts for a pair that occurs more than once: ``"last"`` or ``"first"`` row of the file, ``"mean"``, or
        ``"error"``.
    max_bytes
        The largest size accepted, unpacked; 2 GiB by default, and then packed files that unpack more than 100 times are
        refused too.

    Raises
    ------
    RatingsError
        One sentence that says what is wrong with the file or an argument, and the way out.
    """
    if decimal is not None:
        _choice("decimal", decimal, (".", ","))
    if layout is not None:
        _choice("layout", layout, ("long", "wide"))
    _choice("duplicates", duplicates, DUPLICATES)
    if words is not None and not isinstance(words, Mapping):
        raise RatingsError(f"words must map texts to numbers, such as {{'good': 1, 'bad': 0}}, got {words!r}.")
    opened = _open(source, separator, encoding, header, max_bytes)
    entries = _entries(opened, user, item, rating, decimal, words, layout)
    entries.notes[:0] = opened.notes
    cleaned = clean(entries, decimal=decimal, words=words, missing=missing, duplicates=duplicates)
    return RatingsTable(
        cleaned.rows,
        cleaned.cols,
        cleaned.ratings,
        cleaned.users,
        cleaned.items,
        cleaned.n_dropped,
        cleaned.notes,
        _dialect(opened, entries, cleaned),
    )


def preview_ratings(
    source: Any,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    max_bytes: int | None = None,
    n_rows: int = 20,
) -> RatingsPreview:
    """The columns of a file and its first ``n_rows`` rows, for choosing the columns where ``read_ratings`` cannot tell.

    Raises ``RatingsError`` for what is no table at all.
    """
    opened = _open(source, separator, encoding, header, max_bytes)
    return RatingsPreview(
        _column_names(opened.grid),
        tuple(tuple(cell.strip() for cell in row) for row in opened.grid.sample[:n_rows]),
        opened.form.separator if opened.form else "",
        opened.encoding,
        opened.grid.names is not None,
        tuple(opened.notes),
    )


def _dialect(opened: _Opened, entries: Entries, cleaned: Cleaned) -> RatingsDialect:
    form = opened.form
    return RatingsDialect(
        container=opened.container,
        encoding=opened.encoding,
        form="text" if form else "json",
        separator=form.separator if form else "",
        quote=form.quote if form else "",
        decimal=cleaned.decimal,
        header=entries.header,
        columns=_column_names(opened.grid),
        layout=entries.layout,
        user=entries.columns[0],
        item=entries.columns[1],
        rating=entries.columns[2],
        words=cleaned.words,
        missing=cleaned.missing,
    )


def _choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    try:
        check_choice(name, value, allowed)
    except ValueError as error:
        raise RatingsError(str(error)) from error


def _open(
    source: Any, separator: str | None, encoding: str | None, header: bool | None, max_bytes: int | None
) -> _Opened:
    if separator is not None and (not isinstance(separator, str) or not separator or "\n" in separator):
        raise RatingsError(f"separator must be a text of at least one character, got {separator!r}.")
    if encoding is not None and not isinstance(encoding, str):
        raise RatingsError(f"encoding must be a text such as 'utf-8', got {encoding!r}.")
    if header is not None and not isinstance(header, bool):
        raise RatingsError(f"header must be True, False or None, got {header!r}.")
    content = load(source, max_bytes)
    if not content.data:
        raise RatingsError("The file is empty (0 bytes): export or download it again.")
    text = to_utf8(content.data, encoding, _names_in)
    notes = [*content.notes, *text.notes]
    data = text.data.lstrip(b"\n")
    if not data.strip():
        raise RatingsError("The file is empty: it holds blanks only.")
    if separator is None and looks_like_json(data):
        grid, json_notes = read_json(data)
        return _Opened(grid, content.container, text.encoding, None, notes + json_notes)
    if separator is None:
        data, plain_notes = as_plain_table(data)
        notes += plain_notes
    sample = take_sample(data)
    form = find_format(sample, WRITTEN.get(separator or "", separator))
    found = find_header(sample, form, header)
    notes += found.notes
    rows = split([form.joined(line) for line in sample.head[found.first_line :] + sample.further], form).rows
    rows = [form.restored(row) for row in rows if any(cell.strip() for cell in row)]
    return _Opened(TextGrid(_joined(data, form), form, found, rows), content.container, text.encoding, form, notes)


def _joined(data: bytes, form: Format) -> bytes:
    return data if form.delimiter == form.separator else form.joined(data.decode()).encode()


def _names_in(head: str) -> int:
    """How many column names the first lines of a text hold, whatever separates them."""
    best = 0
    for line in head.replace("\r", "\n").split("\n")[:5]:
        for mark in ",;\t|":
            best = max(best, looks_like_names([cell.strip().strip('"') for cell in line.split(mark)]))
    return best


def _column_names(grid: Grid) -> tuple[str, ...]:
    names = grid.names or []
    return tuple((names[k] if k < len(names) else "") or f"column {k + 1}" for k in range(grid.width))


def _entries(
    opened: _Opened,
    user: Any,
    item: Any,
    rating: Any,
    decimal: str | None,
    words: Mapping[str, float] | None,
    layout: str | None,
) -> Entries:
    grid = opened.grid
    if not grid.sample:
        raise RatingsError(
            f"The file holds names of columns ({', '.join(_column_names(grid)[:8])}) but no rows: export it again."
            if grid.names
            else "The file holds no rows: export it again."
        )
    profiles = profile_columns(grid.sample, grid.width, decimal)
    if layout != "long" and rating is None:
        plan = (
            wide.find_wide(grid, profiles, user=user, item=item, asked=layout == "wide")
            if layout or not (user is not None and item is not None)
            else None
        )
        if plan is not None:
            return _wide_entries(grid, plan)
    elif layout == "wide":
        raise RatingsError("rating names no column of a wide table, where every column is an item: leave it out.")
    roles = find_roles(grid.names, profiles, grid.sample, user=user, item=item, rating=rating)
    if rating is None and profiles[roles.rating].worded and _reads_like_prose(opened):
        raise RatingsError(
            "The file reads like text rather than a table of ratings: give a file with a user, an item and a rating in "
            "every row, or name the column of the ratings with rating=."
        )
    who, what, how = grid.columns([roles.user, roles.item, roles.rating])
    names = _column_names(grid)
    shown = (names[roles.user], names[roles.item], names[roles.rating])
    return Entries(
        who,
        what,
        how,
        shown,
        "long",
        grid.names is not None,
        grid.width,
        grid.skipped,
        roles.notes,
        by_record=opened.form is None,
    )


def _reads_like_prose(opened: _Opened) -> bool:
    """Whether words between blanks, without names above them, are too few or too uneven to be rows of a table."""
    if opened.form is None or opened.form.separator != " " or opened.grid.names is not None:
        return False
    rows = opened.grid.sample
    return len(rows) < PROSE_LINES or len({len(row) for row in rows}) > 1


def _wide_entries(grid: Grid, plan: wide.WidePlan) -> Entries:
    names = _column_names(grid)
    user, item, rating, unnamed = wide.read_wide(grid, plan)
    row_name = "" if plan.row_column is None else names[plan.row_column]
    shown = ("", row_name, "") if plan.rows_are_items else (row_name, "", "")
    return Entries(
        user,
        item,
        rating,
        shown,
        "wide",
        grid.names is not None,
        grid.width,
        grid.skipped,
        plan.notes,
        unnamed,
        filled=len(rating.codes) == len(user.texts) * len(item.texts),
    )
