"""Rating texts and what they are worth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from obmc import RatingsError
from obmc.datasets.ratings_file import read_ratings
from obmc.datasets.reader.codes import guess_codes
from obmc.datasets.reader.values import DATE_LIKE, Reading, read_values


def read(texts: list[str], counts: list[int] | None = None, **arguments: Any) -> Reading:
    often = np.array(counts or [10] * len(texts), dtype=np.int64)
    return read_values(texts, often, **{"decimal": None, "words": None, "column": "'rating'", **arguments})


@pytest.mark.parametrize(
    ("texts", "values", "noted"),
    [
        (["1", " 2 ", "3.5", "+4", "-5", ".5", "5.", "1e1"], [1, 2, 3.5, 4, -5, 0.5, 5, 10], False),
        (["3,5", "4,0", "2"], [3.5, 4, 2], False),
        (["3,50", "4,25"], [3.5, 4.25], False),
        (["−2", "–1", "４", "٣"], [-2, -1, 4, 3], False),
        (["1,234", "12,345", "999"], [1234, 12345, 999], True),
        (["1,234.5", "12"], [1234.5, 12], True),
        (["1,23,456", "12,34,567.5", "999"], [123456, 1234567.5, 999], True),
        (["3,025", "1,400", "2,000"], [3025, 1400, 2000], True),
        (["0,025", "1,400", "2,000"], [0.025, 1.4, 2], True),
        (["1.2k", "950", "3K", "1.1k"], [1200, 950, 3000, 1100], True),
        (["1,2 k", "2M", "7"], [1200, 2_000_000, 7], True),
        (["1,5 Mio.", "2 Tsd.", "7"], [1_500_000, 2000, 7], True),
        (["5 m", "3 m"], [5, 3], True),
        (["80%", "0.8", "1", "0"], [0.8, 0.8, 1, 0], True),
        (["80%", "0"], [80, 0], True),
        (["80%", "4/5"], [80, 80], True),
        (["4/5", "3"], [4, 3], True),
        (["\u200e4", "5\u200f", "\u202a3\u202c"], [4, 5, 3], False),
        (["1.234,5", "12,5", "3"], [1234.5, 12.5, 3], True),
        (["1.401", "430", "31"], [1401, 430, 31], True),
        (["1.401", "12.345.678", "2.345.678", "3"], [1401, 12345678, 2345678, 3], True),
        (["1.234.567", "2.345.678"], [1234567, 2345678], True),
        (["1 234", "12 345,5", "7"], [1234, 12345.5, 7], True),
        (["1'234", "999"], [1234, 999], True),
        (["3,125", "4,250", "5"], [3.125, 4.25, 5], True),
        (["3.125", "4.250", "5"], [3.125, 4.25, 5], False),
        (["80%", "20 %", "7.5％"], [80, 20, 7.5], True),
        (["4/5", "3.5/5", "5 / 5"], [4, 3.5, 5], True),
        (["4/5", "8/10"], [8, 8], True),
        (["4 out of 5 stars", "1.0 out of 5 stars"], [4, 1], True),
        (["★★★☆☆", "★☆☆☆☆", "★★½"], [3, 1, 2.5], True),
        (["⭐⭐", "⭐️⭐️⭐️"], [2, 3], True),
        (["☆☆☆", "☆"], [3, 1], True),
        (["*", "**", "***"], [1, 2, 3], True),
        (["4 stars", "1 star", "3 Sterne", "5点", "2分"], [4, 1, 3, 5, 2], True),
        (["4½", "½", "3"], [4.5, 0.5, 3], False),
        (["1 - bad", "2 - fair", "3 - good"], [1, 2, 3], True),
        (["'4'", '"5"', '="3"', "'2"], [4, 5, 3, 2], False),
        (["like", "Dislike", "LIKE "], [1, -1, 1], True),
        (["👍", "👎🏽", "👍🏻"], [1, -1, 1], True),
        (["yes", "no"], [1, -1], True),
        (["+", "-"], [1, -1], True),
        (["True", "FALSE"], [1, 0], True),
        (["positive", "neutral", "negative"], [1, 0, -1], True),
        (["Strongly agree", "agree", "Neutral", "disagree", "strongly disagree"], [5, 4, 3, 2, 1], True),
        (["poor", "fair", "good", "very good", "excellent"], [1, 2, 3, 4, 5], True),
        (["hated it", "it was ok", "loved it"], [1, 3, 5], True),
        (["😡", "😐", "😀", "🙂", "🙁"], [1, 3, 5, 4, 2], True),
        (["A+", "A", "B-", "F"], [4.3, 4, 2.7, 0], True),
        (["one", "three", "five"], [1, 3, 5], True),
        (["sehr gut", "gut", "mittel", "schlecht", "sehr schlecht"], [5, 4, 3, 2, 1], True),
        (["нравится", "не нравится"], [1, -1], True),
        (["好评", "差评"], [1, -1], True),
    ],
)
def test_texts(texts: list[str], values: list[float], noted: bool) -> None:
    reading = read(texts)
    assert reading.values.tolist() == values
    assert bool(reading.notes) == noted


@pytest.mark.parametrize("text", ["", " ", "NA", "n/a", "NaN", "null", "None", "-", ".", "?", "not rated", "\\N"])
def test_what_means_no_rating(text: str) -> None:
    reading = read([text, "4", "5"])
    assert math.isnan(reading.values[0]) and reading.notes == [] and reading.kinds[0] == 1


@pytest.mark.parametrize("text", ["inf", "-Infinity", "∞", "1e999", "-1e999"])
def test_what_is_not_finite(text: str) -> None:
    reading = read([text, "4"])
    assert math.isnan(reading.values[0]) and reading.kinds[0] == 2


def test_a_mark_that_is_given_is_obeyed() -> None:
    assert read(["3,500", "4"], decimal=",").values.tolist() == [3.5, 4]
    assert read(["3,500", "4"], decimal=".").values.tolist() == [3500, 4]
    assert read(["1.234", "4,5"], decimal=",").values.tolist() == [1234, 4.5]


def test_words_that_are_given_come_first() -> None:
    reading = read(["good", "Bad", "3"], words={"good": 9, "bad": 0.5})
    assert reading.values.tolist() == [9, 0.5, 3]


def test_a_few_unreadable_rows_are_dropped_with_examples() -> None:
    reading = read(["4/5", "3/5", "04-May", "lost"], [50, 50, 3, 1])
    assert np.isnan(reading.values[2:]).all()
    assert "'04-May', 'lost': 4 (some look like dates made by a spreadsheet)" in reading.notes[-1]


DATES = ("04. Mai", "4. Mai.", "4 mai", "01. Mrz", "3. Okt 24", "04 déc.", "1 août", "3-janv", "02 ene", "5 de mayo")
DATES += ("4-mag", "1. Februar 2023", "3. Dez", "4 luglio", "May-04", "Sept 5", "4 May", "3/feb", "05-01-2023")


@pytest.mark.parametrize("text", DATES)
def test_what_a_spreadsheet_made_a_date_is_no_rating(text: str) -> None:
    reading = read(["4,5", "3,5", "4,0", text], [9, 9, 9, 2])
    assert math.isnan(reading.values[3]) and "look like dates" in reading.notes[-1]


@pytest.mark.parametrize("text", ["4 marks", "4 out of 5", "3 Sterne", "5 mars bars", "1 star"])
def test_what_begins_as_a_month_does_is_no_date(text: str) -> None:
    assert DATE_LIKE.fullmatch(text) is None


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["80%", "4"], "'80%' and 4, so they are on two scales"),
        (["80%", "4 stars"], "on two scales"),
        (["4/5", "8/10", "3"], "several scales, such as '4/5' and 3"),
        (["5m", "300"], "'5m' in 'rating' may mean millions, minutes"),
    ],
)
def test_numbers_that_do_not_compare_are_refused(texts: list[str], message: str) -> None:
    with pytest.raises(RatingsError) as refused:
        read(texts)
    assert message in str(refused.value)


def test_a_unit_that_only_some_ratings_have_is_not_left_out() -> None:
    reading = read(["4 h", "3 h", "250", "30"], [2, 2, 9, 9])
    assert np.isnan(reading.values[:2]).all() and "'4 h', '3 h': 4" in reading.notes[-1]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["zib", "zab", "zob"], "words={'zib': 1, ...}"),
        (["2011-01-02", "2011-02-03"], "they look like dates"),
        (["04-May", "03-May"], "they look like dates"),
    ],
)
def test_mostly_unreadable_ratings_are_refused(texts: list[str], message: str) -> None:
    with pytest.raises(RatingsError) as refused:
        read(texts)
    assert "not numbers" in str(refused.value) and message in str(refused.value)


def codes(often: dict[float, int], filled: bool = False) -> tuple[list[float], bool]:
    values = np.array(sorted(often))
    found, notes = guess_codes(values, np.array([often[v] for v in values]), filled=filled)
    assert len(notes) >= len({min(code, 2e4) for code in found})
    # Days are told in one note.
    return sorted(found), len(notes) > len({min(code, 2e4) for code in found})


FIVE = {1.0: 20, 2.0: 30, 3.0: 40, 4.0: 30, 5.0: 20}
JESTER = {-9.5: 9, -3.25: 9, 0.5: 9, 8.0: 9}


@pytest.mark.parametrize(
    ("often", "filled", "found", "other_note"),
    [
        (FIVE, False, [], False),
        (FIVE | {-1.0: 25}, False, [-1], False),
        (FIVE | {99.0: 5}, False, [99], False),
        (FIVE | {99.0: 5, -1.0: 3}, False, [-1, 99], False),
        (FIVE | {0.0: 90}, False, [0], False),
        (FIVE | {0.0: 55}, False, [], True),
        (FIVE | {0.0: 40}, False, [], False),
        (FIVE | {0.0: 45}, True, [0], False),
        (FIVE | {55.0: 1}, False, [], True),
        (JESTER, False, [], False),
        (JESTER | {99.0: 30}, False, [99], False),
        (JESTER | {-99.0: 30}, False, [-99], False),
        (FIVE | {98.0: 5, 99.0: 9}, False, [98, 99], False),
        (FIVE | {0.0: 15}, True, [], True),
        ({-1.0: 50, 1.0: 50}, False, [], False),
        ({-1.0: 20, 0.0: 170, 1.0: 20}, True, [0], False),
        ({-1.0: 20, 0.0: 170, 1.0: 20}, False, [], True),
        ({-1.0: 170, 0.0: 20, 1.0: 20}, True, [-1], False),
        ({0.0: 170, 1.0: 40, 2.0: 40}, True, [0], False),
        ({0.0: 170, 20.0: 9, 40.0: 9, 60.0: 9, 80.0: 9, 100.0: 9}, True, [0], False),
        ({-1.0: 50, 0.0: 20, 1.0: 50}, False, [], False),
        ({0.0: 300, 1.0: 30}, False, [], False),
        ({0.0: 300, 1.0: 30, 2.0: 30}, False, [], False),
        ({7.0: 3, 99.0: 4, 1234.0: 1}, False, [], False),
        ({5.0: 10}, False, [], False),
        (FIVE | {9.0: 30}, True, [9], False),
        (FIVE | {8.0: 9, 9.0: 30}, True, [8, 9], False),
        (FIVE | {88.0: 9, 99.0: 30}, True, [88, 99], False),
        (FIVE | {9.0: 30}, False, [], True),
        (FIVE | {6.0: 90}, True, [], True),
        (FIVE | {6.0: 40}, True, [], False),
        (FIVE | {7.0: 40}, True, [], False),
        ({0.0: 20, 1.0: 20, 2.0: 30, 9.0: 3}, True, [], True),
        ({0.0: 30, 1.0: 9, 5.0: 20, 8.0: 40, 10.0: 30}, False, [], True),
        (FIVE | {45004.0: 2, 45035.0: 1}, False, [45004, 45035], False),
        (FIVE | {45004.5: 1}, False, [], True),
        ({45004.0: 20, 45035.0: 10}, False, [], True),
        ({45004.0: 20, 46035.0: 10}, False, [], False),
        ({50.0: 4, 900.0: 9, 45004.0: 1}, False, [], False),
    ],
)
def test_codes(often: dict[float, int], filled: bool, found: list[float], other_note: bool) -> None:
    assert codes(often, filled) == (found, other_note)


def test_ratings_that_are_mostly_days_are_refused() -> None:
    with pytest.raises(RatingsError, match="60 of 90 ratings are day numbers such as 45004"):
        codes({3.5: 15, 4.0: 15, 45004.0: 60})


@pytest.mark.parametrize(
    "text", [b"It was a dark night.\nNobody came.\n", b"This is good\nThat was bad\nWine is great\n"]
)
def test_sentences_are_no_words_of_a_scale(text: bytes) -> None:
    with pytest.raises(RatingsError, match="reads like text"):
        read_ratings(text)


def test_words_between_blanks_are_read_where_they_are_rows_of_a_table() -> None:
    lines = [f"u{u} m{m} {'good' if (u + m) % 2 else 'bad'}" for u in range(4) for m in range(3)]
    table = read_ratings("\n".join(lines).encode())
    assert (table.n_users, table.n_items, table.n_ratings) == (4, 3, 12)
