"""From coded texts to clean ratings: ids trimmed, ratings read, incomplete rows dropped, pairs made unique."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from obmc.datasets.reader.codes import given_codes, guess_codes
from obmc.datasets.reader.grid import Coded, Skipped
from obmc.datasets.reader.names import SUMMARY
from obmc.datasets.reader.values import INFINITE, MISSING, RATED, UNREADABLE, read_values
from obmc.errors import RatingsError

DUPLICATES = ("last", "first", "mean", "error")
# Lines of totals and means stand at the end.
LAST_LINES = 3
# With fewer ratings a share of a fifth for testing does not hold one.
FEWEST = 5
# Above this many entries a dense matrix of doubles takes more than 2 GB.
DENSE_ENTRIES = 2.7e8
# School marks in German, and the words around them that tell "Note" from the French one.
SCHOOL_MARKS = frozenset(("schulnote", "schulnoten", "zensur", "zensuren", "noten"))
RANKS = frozenset(("rank", "ranks", "ranking", "rang", "platz", "placement", "rango"))
GERMAN = frozenset(
    """benutzer nutzer nutzerin kunde kundin mitglied teilnehmer teilnehmerin schüler schülerin lehrer proband probandin
    leser leserin hörer person fach artikel produkt buch titel lied stück spiel rezept gericht ware kurs gegenstand
    """.split()  # noqa: SIM905
)
# How spreadsheets write long numbers.
SHORTENED = re.compile(r"\d(?:[.,]\d+)?E\+\d{2}")


@dataclass
class Entries:
    """User, item and rating of every row, still as text, with the names of their columns ("" for what has none).

    ``skipped`` says which rows did not fit the ``width`` of the file; ``unnamed_rows`` of a wide table had no label,
    and ``filled`` says that it has no empty cell. ``by_record``: of JSON, where every record stands for itself.
    """

    user: Coded
    item: Coded
    rating: Coded
    columns: tuple[str, str, str]
    layout: str
    header: bool
    width: int
    skipped: Skipped
    notes: list[str] = field(default_factory=list)
    unnamed_rows: int = 0
    filled: bool = False
    by_record: bool = False


@dataclass(frozen=True)
class Cleaned:
    """The ratings, what their rows and columns stand for, and how they were read."""

    rows: NDArray[np.int32]
    cols: NDArray[np.int32]
    ratings: NDArray[np.float64]
    users: tuple[str, ...]
    items: tuple[str, ...]
    n_dropped: int
    notes: tuple[str, ...]
    decimal: str
    words: Mapping[str, float]
    missing: tuple[float, ...]


def clean(
    entries: Entries, *, decimal: str | None, words: Mapping[str, float] | None, missing: Any, duplicates: str
) -> Cleaned:
    """The arguments are those of ``read_ratings``. Raises ``RatingsError`` if no rating is left."""
    return _Cleaning(entries).run(decimal, words, missing, duplicates)


class _Cleaning:
    """The steps in their order, with the notes and the count of dropped rows that they add to."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries
        self._notes = list(entries.notes)
        self._dropped = 0

    def run(self, decimal: str | None, words: Mapping[str, float] | None, missing: Any, duplicates: str) -> Cleaned:
        entries = self._entries = self._in_one_order()
        self._note_skipped()
        if entries.unnamed_rows:
            self._drop(entries.unnamed_rows, "Rows dropped because nothing names them")
        keep = self._without_repeated_header(np.ones(len(entries.rating.codes), dtype=bool))
        users, user_texts = _trimmed(entries.user)
        items, item_texts = _trimmed(entries.item)
        self._note_merged("user", entries.user, user_texts)
        self._note_merged("item", entries.item, item_texts)
        users = self._filled_down(keep, users, user_texts, items, item_texts, "user")
        items = self._filled_down(keep, items, item_texts, users, user_texts, "item")
        keep = self._without_ids(keep, (users, user_texts, "user"), (items, item_texts, "item"))
        keep = self._without_totals(keep, users, user_texts)
        values, keep, used_decimal, used_words, codes = self._values(keep, decimal, words, missing)
        if not keep.any():
            raise RatingsError(self._nothing_left())
        if not words:
            self._note_best_first(values[entries.rating.codes[keep]])
        rows, cols, ratings = users[keep], items[keep], values[entries.rating.codes[keep]]
        rows, cols, ratings = self._unique_pairs(rows, cols, ratings, len(item_texts), duplicates)
        rows, user_names = _compressed(rows, user_texts)
        cols, item_names = _compressed(cols, item_texts)
        self._note_size(len(ratings), len(user_names), len(item_names))
        return Cleaned(
            rows,
            cols,
            ratings,
            user_names,
            item_names,
            self._dropped,
            tuple(self._notes),
            used_decimal,
            used_words,
            tuple(codes),
        )

    def _drop(self, count: int, what: str) -> None:
        if count:
            self._dropped += count
            self._notes.append(f"{what}: {count:,}.")

    def _note_skipped(self) -> None:
        skipped, width = self._entries.skipped, self._entries.width
        self._drop(skipped.ragged, f"Rows dropped because they do not have the {width} fields of the others")
        self._drop(skipped.broken, "Records dropped because they are broken or cut off")
        if skipped.overlong_kept:
            self._notes.append(
                "Rows with more fields than the others, whose extra fields after the rating were left out: "
                f"{skipped.overlong_kept:,}."
            )
        if skipped.stray_quotes:
            self._notes.append(
                f"Rows with a quotation mark without its partner, which was left out: {skipped.stray_quotes:,}."
            )

    def _in_one_order(self) -> Entries:
        """Rows below a second header whose names stand in another order, as a second export has them, put in order."""
        entries = self._entries
        columns = (entries.user, entries.item, entries.rating)
        if not entries.header or entries.layout == "wide" or len({*entries.columns, ""}) < 4:
            return entries
        same = [_names_among(column, entries.columns) for column in columns]
        if not any(same[k][j] for k, j in permutations(range(3), 2)):
            return entries
        named = [[np.isin(column.codes, codes) for codes in found] for column, found in zip(columns, same, strict=True)]
        orders = list(permutations(range(3)))
        begins = np.full(len(entries.rating.codes), -1)
        for k, order in enumerate(orders):
            begins[named[0][order[0]] & named[1][order[1]] & named[2][order[2]]] = k
        if not (begins > 0).any():
            return entries
        # Each row has the order of the last header above it, the first rows that of the file's own.
        last = np.maximum.accumulate(np.where(begins >= 0, np.arange(len(begins)), -1))
        used = np.where(last >= 0, begins[last], 0)
        known: dict[str, int] = {}
        tables = [np.array([known.setdefault(text, len(known)) for text in column.texts]) for column in columns]
        found = np.stack([table[column.codes] for table, column in zip(tables, columns, strict=True)])
        places = np.array([[order.index(role) for role in range(3)] for order in orders])
        texts, ordered = list(known), []
        for role in range(3):
            present, codes = np.unique(found[places[used, role], np.arange(len(used))], return_inverse=True)
            ordered.append(Coded(codes.astype(np.int32), [texts[k] for k in present]))
        self._notes.append(
            f"Rows below a header that has the columns in another order, read in that order: "
            f"{int(((used > 0) & (begins < 0)).sum()):,}."
        )
        return replace(entries, user=ordered[0], item=ordered[1], rating=ordered[2])

    def _filled_down(
        self,
        keep: NDArray[np.bool_],
        codes: NDArray[np.int32],
        texts: list[str],
        others: NDArray[np.int32],
        other_texts: list[str],
        role: str,
    ) -> NDArray[np.int32]:
        """An id that is written once above blanks stands for them too: so a spreadsheet's merged cells are exported.

        Not where somebody would get a second rating for the same thing by it: those blanks are missing ids.
        """
        if self._entries.layout == "wide" or self._entries.by_record or "" not in texts:
            return codes
        total = np.isin(others, [k for k, text in enumerate(other_texts) if not text or SUMMARY.fullmatch(text)])
        rows = np.flatnonzero(keep & ~total)
        below = codes[rows]
        written = below != texts.index("")
        once = written.sum() == len(np.unique(below[written]))
        if len(rows) == 0 or not written[0] or not once or 2 * written.sum() > len(rows):
            return codes
        filled = codes.copy()
        filled[rows] = below[np.maximum.accumulate(np.where(written, np.arange(len(rows)), 0))]
        if pd.Series(filled[rows].astype(np.int64) * len(other_texts) + others[rows]).duplicated().any():
            return codes
        self._notes.append(
            f"Rows without {'a' if role == 'user' else 'an'} {role}, taken for the {role} above them, as merged cells "
            f"are exported: {int((~written).sum()):,}."
        )
        return filled

    def _without_repeated_header(self, keep: NDArray[np.bool_]) -> NDArray[np.bool_]:
        entries = self._entries
        if not entries.header or entries.layout == "wide":
            return keep
        columns = (entries.user, entries.item, entries.rating)
        same = [_names_among(column, (name,))[0] for column, name in zip(columns, entries.columns, strict=True)]
        if not all(same):
            return keep
        repeated = np.ones(len(keep), dtype=bool)
        for column, codes in zip(columns, same, strict=True):
            repeated &= np.isin(column.codes, codes)
        self._drop(int(repeated.sum()), "Rows dropped because they repeat the header")
        return keep & ~repeated

    def _without_totals(self, keep: NDArray[np.bool_], users: NDArray[np.int32], texts: list[str]) -> NDArray[np.bool_]:
        """A line of totals is among the last ones, with a word for a name that no other line has."""
        named = [k for k, text in enumerate(texts) if len(text) > 1 and SUMMARY.fullmatch(text)]
        if not named or self._entries.layout == "wide":
            return keep
        often = np.bincount(users[keep], minlength=len(texts))
        totals = keep & np.isin(users, [k for k in named if often[k] == 1])
        totals[:-LAST_LINES] = False
        self._drop(int(totals.sum()), "Rows of totals or means dropped")
        return keep & ~totals

    def _note_merged(self, role: str, column: Coded, texts: list[str]) -> None:
        merged = len({text for text in column.texts if text.strip()}) - sum(1 for text in texts if text)
        if merged > 0:
            self._notes.append(
                f"Forms of {role} ids that differ by blanks around them only, taken as the same: {merged:,}."
            )
        alike = len(texts) - len({_written_alike(text) for text in texts})
        if alike:
            self._notes.append(
                f"Forms of {role} ids that differ in writing only, such as 5 and 5.0, kept apart: {alike:,}; if they "
                "mean the same, write them alike in the file."
            )
        shortened = sum(SHORTENED.fullmatch(text) is not None for text in texts)
        if shortened > 0.05 * len(texts):
            self._notes.append(
                f"Ids of {role}s that a spreadsheet may have shortened, such as 9.78E+12, so that different ones are "
                f"now the same: {shortened:,}."
            )
        doubtful = [text for text in texts if text.casefold() in ("nan", "null", "none", "#n/a", "<na>")]
        if doubtful:
            self._notes.append(
                f"The {role} id {doubtful[0]!r} was kept as an id like any other; if it means 'missing', take those "
                "rows out of the file."
            )

    def _without_ids(
        self, keep: NDArray[np.bool_], *columns: tuple[NDArray[np.int32], list[str], str]
    ) -> NDArray[np.bool_]:
        for codes, texts, role in columns:
            blank = [k for k, text in enumerate(texts) if not text]
            if blank:
                without = keep & (codes == blank[0])
                self._drop(int(without.sum()), f"Rows dropped because they have no {role}")
                keep = keep & ~without
        return keep

    def _values(
        self, keep: NDArray[np.bool_], decimal: str | None, words: Mapping[str, float] | None, missing: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], str, Mapping[str, float], list[float]]:
        """The number of every rating text, and the rows that have one."""
        entries = self._entries
        coded = entries.rating
        counts = np.bincount(coded.codes[keep], minlength=len(coded.texts))
        numbers, texts = given_codes(missing) if missing is not None else ([], [])
        column = "the rating cells" if entries.layout == "wide" else f"the column {entries.columns[2]!r}"
        present = np.flatnonzero(counts)
        reading = read_values(
            ["" if (text := coded.texts[k]).strip() in texts else text for k in present],
            counts[present],
            decimal=decimal,
            words=words,
            column=column,
        )
        values = np.full(len(coded.texts), np.nan)
        kinds = np.full(len(coded.texts), MISSING, dtype=np.int8)
        values[present], kinds[present] = reading.values, reading.kinds
        self._notes += reading.notes
        self._dropped += int(counts[kinds == UNREADABLE].sum())
        if entries.layout == "long":
            self._drop(int(counts[kinds == MISSING].sum()), "Rows dropped because they have no rating")
        self._drop(int(counts[kinds == INFINITE].sum()), "Rows dropped because their rating is not finite")
        codes = self._codes(values, counts, kinds, numbers, missing is None)
        return values, keep & (kinds == RATED)[coded.codes], reading.decimal, reading.words, codes

    def _codes(
        self,
        values: NDArray[np.float64],
        counts: NDArray[np.int64],
        kinds: NDArray[np.int8],
        numbers: list[float],
        guess: bool,
    ) -> list[float]:
        rated = kinds == RATED
        levels, inverse = np.unique(values[rated], return_inverse=True)
        often = np.bincount(inverse, weights=counts[rated], minlength=len(levels)).astype(np.int64)
        codes = numbers
        if guess and len(levels):
            codes, notes = guess_codes(levels, often, filled=self._entries.filled)
            self._notes += notes
        coded = rated & np.isin(values, codes)
        count = int(counts[coded].sum())
        kinds[coded] = MISSING
        if self._entries.layout == "long":
            self._dropped += count
        if not guess and count:
            shown = ", ".join(f"{code:g}" for code in codes)
            self._notes.append(f"Ratings of {shown} dropped as 'not rated', as asked for: {count:,}.")
        return codes

    def _note_best_first(self, ratings: NDArray[np.float64]) -> None:
        names = [set(re.findall(r"[^\W\d_]+", name.casefold())) for name in self._entries.columns]
        german = names[2] & SCHOOL_MARKS or ("note" in names[2] and (names[0] | names[1]) & GERMAN)
        if german and float(ratings.min()) >= 1 and float(ratings.max()) <= 6:
            self._notes.append(
                f"{self._entries.columns[2]!r} may hold German school marks, of which 1 is the best, but larger "
                "numbers were taken as better: if it does, replace each mark by 7 minus the mark, or map "
                "them with words=."
            )
        elif names[2] & RANKS and float(ratings.min()) >= 0:
            self._notes.append(
                f"{self._entries.columns[2]!r} may hold ranks, of which the smallest is the best, but larger numbers "
                "were taken as better: if it does, change the sign of each rank, or map them with words=."
            )

    def _nothing_left(self) -> str:
        column = "" if self._entries.layout == "wide" else f" in {self._entries.columns[2]!r}"
        return (
            f"No row of the file has a user, an item and a finite rating{column}: name the columns with user=, item= "
            "and rating=."
        )

    def _unique_pairs(
        self,
        rows: NDArray[np.int32],
        cols: NDArray[np.int32],
        ratings: NDArray[np.float64],
        n_cols: int,
        duplicates: str,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        key = rows.astype(np.int64) * n_cols + cols
        ordered = np.sort(key)
        n_repeated = int((ordered[1:] == ordered[:-1]).sum())
        del ordered
        if n_repeated == 0:
            return rows, cols, ratings
        if duplicates == "error":
            raise RatingsError(
                f"{n_repeated:,} rows repeat a user and item that occurred before: choose duplicates='last', 'first' "
                "or 'mean'."
            )
        stay = ~pd.Series(key).duplicated(keep="first" if duplicates == "first" else "last").to_numpy()
        different = len(pd.DataFrame({"key": key, "rating": ratings}).drop_duplicates()) - (len(key) - n_repeated)
        kind = f"{different:,} with another rating" if different else "all with the same rating"
        counted = {
            "last": "the last row of the file counts",
            "first": "the first row of the file counts",
            "mean": "their mean counts",
        }
        self._drop(
            n_repeated,
            f"Duplicate rows dropped, in which a user and item occur again, {kind}; {counted[duplicates]} "
            "(change with duplicates=)",
        )
        kept = ratings[stay]
        if duplicates == "mean":
            kept = _means(key, ratings, stay)
        return rows[stay], cols[stay], kept

    def _note_size(self, n_ratings: int, n_users: int, n_items: int) -> None:
        """What the size of the table will mean for whoever goes on with it."""
        if n_ratings < FEWEST:
            self._notes.append(f"With {n_ratings} ratings the table is too small to keep a share for testing.")
        elif n_users == 1 or n_items == 1:
            one = "user" if n_users == 1 else "item"
            self._notes.append(f"All ratings are of one {one}, so there is nothing to learn from others.")
        if n_users * n_items > DENSE_ENTRIES:
            self._notes.append(
                f"{n_ratings:,} ratings of {n_users:,} users and {n_items:,} items are too many for a dense matrix "
                f"({8 * n_users * n_items / 1e9:,.0f} GB): use the factored solver, or take a sample of the users."
            )


def _names_among(column: Coded, names: tuple[str, ...]) -> list[list[int]]:
    """For each name the codes of the texts that are it."""
    texts = [_clean_id(text).strip('"').casefold() for text in column.texts]
    return [[k for k, text in enumerate(texts) if text == name.casefold()] for name in names]


def _trimmed(column: Coded) -> tuple[NDArray[np.int32], list[str]]:
    """The column with ids trimmed, so that ids that differ by blanks around them are one."""
    trimmed = [_clean_id(text) for text in column.texts]
    known: dict[str, int] = {}
    place = np.fromiter((known.setdefault(text, len(known)) for text in trimmed), dtype=np.int32, count=len(trimmed))
    return place[column.codes] if len(place) else column.codes, list(known)


def _clean_id(text: str) -> str:
    """Blanks around an id, invisible marks and the ="007" by which spreadsheets keep zeros do not belong to it."""
    text = text.strip().strip("\ufeff\u200b\u200e\u200f").strip()
    if len(text) > 3 and text.startswith('="') and text.endswith('"') and '"' not in text[2:-1]:
        return text[2:-1].strip()
    return text


def _compressed(codes: NDArray[np.int32], texts: list[str]) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Codes without gaps, in the order in which they first occur."""
    new, old = pd.factorize(codes)
    return new.astype(np.int32), tuple(texts[k] for k in old)


def _means(key: NDArray[np.int64], ratings: NDArray[np.float64], stay: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The mean rating of each pair, correctly rounded whatever the order of the rows."""
    repeated = pd.Series(key).duplicated(keep=False).to_numpy()
    groups: dict[int, list[float]] = {}
    for pair, rating in zip(key[repeated].tolist(), ratings[repeated].tolist(), strict=True):
        groups.setdefault(pair, []).append(rating)
    kept, pairs = ratings[stay], key[stay]
    for place in np.flatnonzero(repeated[stay]):
        group = groups[int(pairs[place])]
        kept[place] = math.fsum(group) / len(group)
    return kept


def _written_alike(text: str) -> str:
    """The same text for 5 and 5.0, and for a letter with an accent however it is encoded."""
    whole, point, zero = text.partition(".")
    if point and zero == "0" and whole.isdecimal():
        return whole
    return text if text.isascii() else unicodedata.normalize("NFC", text)
