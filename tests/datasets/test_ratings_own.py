"""Exports of one person's ratings, tables of school marks and reviews in words: what the header and the rest tell."""

from __future__ import annotations

import pytest

from obmc import RatingsError
from obmc.datasets.ratings_file import read_ratings

GOODREADS = "Book Id,Title,Author,My Rating,Average Rating,Publisher\n" + "".join(
    f"{5000 + k},T {k},Author {k % 7},{k % 5 + 1},4.0{k % 9},Press {k % 4}\n" for k in range(60)
)
MARKS = "".join(f"u{u};s{s};{(u + 2 * s) % 5 + 1}\n" for u in range(9) for s in range(6))


def test_an_export_of_ones_own_ratings_has_no_user() -> None:
    with pytest.raises(RatingsError, match=r"no column for the user, and 'My Rating' is one person's.* user="):
        read_ratings(GOODREADS.encode())
    with pytest.raises(RatingsError, match="no column for the user, and no 'Book Id' occurs twice"):
        read_ratings(GOODREADS.replace("My Rating", "Rating").encode())


def test_a_user_that_is_named_settles_it() -> None:
    assert read_ratings(GOODREADS.encode(), user="Author").n_users == 7
    assert read_ratings(GOODREADS.replace("Author,", "Reader,").encode()).n_users == 7


@pytest.mark.parametrize("header", ["Schüler;Fach;Schulnote", "Nutzer;Artikel;Note", "user;item;Zensur"])
def test_german_school_marks_are_pointed_out(header: str) -> None:
    table = read_ratings(f"{header}\n{MARKS}".encode())
    assert table.n_ratings == 54 and any("of which 1 is the best" in note for note in table.notes)


@pytest.mark.parametrize("header", ["user;item;rank", "Nutzer;Lied;Rang", "user;item;item rank"])
def test_ranks_are_pointed_out(header: str) -> None:
    table = read_ratings(f"{header}\n{MARKS}".encode())
    assert table.n_ratings == 54
    assert [note for note in table.notes if "may hold ranks, of which the smallest is the best" in note]
    turned = read_ratings(f"{header}\n{MARKS}".encode(), words={str(mark): 6 - mark for mark in range(1, 6)})
    assert (turned.ratings == 6 - table.ratings).all() and not any("ranks" in note for note in turned.notes)


@pytest.mark.parametrize("header", ["utilisateur;titre;note", "Nutzer;Film;Bewertung", "user;item;rating"])
def test_other_ratings_from_1_to_5_are_not(header: str) -> None:
    assert read_ratings(f"{header}\n{MARKS}".encode()).notes == ()


def test_marks_beyond_6_are_no_german_school_marks() -> None:
    assert read_ratings(f"Nutzer;Artikel;Note\n{MARKS}u0;s9;9\nu1;s9;8\nu2;s9;7\n".encode()).notes == ()


def test_a_review_in_words_of_a_scale_is_a_rating() -> None:
    words = ("Recommended", "Not Recommended")
    lines = [f"p{u},g{g},{words[(u * g) % 2]}\n" for u in range(6) for g in range(5)]
    table = read_ratings(("steamid,app_name,review\n" + "".join(lines)).encode())
    assert sorted(set(table.ratings)) == [-1, 1] and table.n_above(0) == 24
    assert table.notes[0] == "'review', whose words are those of a scale, was taken as the rating."


def test_a_review_in_prose_is_none() -> None:
    lines = [f"p{u},g{g},What a game {u} {g}\n" for u in range(6) for g in range(5)]
    with pytest.raises(RatingsError, match="no rating column"):
        read_ratings(("steamid,app_name,review\n" + "".join(lines)).encode())


def test_survey_codes_in_a_table_without_empty_cells() -> None:
    rows = [
        ",".join([f"u{u}", *(str(9 if (u * i) % 4 == 1 else (u + i) % 5 + 1) for i in range(8))]) for u in range(12)
    ]
    table = read_ratings(("user," + ",".join(f"m{i}" for i in range(8)) + "\n" + "\n".join(rows)).encode())
    assert table.dialect.missing == (9.0,) and sorted(set(table.ratings)) == [1, 2, 3, 4, 5]
    assert any(note.startswith("Ratings of 9 dropped: ") for note in table.notes)


@pytest.mark.parametrize("forms", [("{}", "{}0%"), ("{}/5", "{}/10", "{}")])
@pytest.mark.parametrize("header", ["user;item;rating\n", ""])
def test_numbers_that_do_not_compare_are_named_with_and_without_a_header(forms: tuple[str, ...], header: str) -> None:
    lines = [f"u{u};m{i};{forms[(u + i) % len(forms)].format((u * i) % 5 + 1)}\n" for u in range(12) for i in range(8)]
    with pytest.raises(RatingsError, match=r"scales.* write all of them in the same way"):
        read_ratings((header + "".join(lines)).encode())


def test_dates_in_a_wide_table_are_dropped_and_counted() -> None:
    rows = [
        ";".join([f"u{u}", *(f"0{i % 5 + 1}. Mai" if (u + i) % 4 == 0 else f"{(u + i) % 5},5" for i in range(8))])
        for u in range(12)
    ]
    table = read_ratings(("user;" + ";".join(f"m{i}" for i in range(8)) + "\n" + "\n".join(rows)).encode())
    assert (table.n_ratings, table.n_rows_dropped) == (72, 24)
    assert any(": 24 (some look like dates made by a spreadsheet)" in note for note in table.notes)


def test_days_in_a_wide_table_do_not_cost_the_column() -> None:
    rows = [",".join([f"u{u}", *(f"{(u + i) % 5 + 1}.5" for i in range(6))]) for u in range(12)]
    rows[3] = rows[3].replace("4.5", "45004", 1)
    table = read_ratings(("user," + ",".join(f"m{i}" for i in range(6)) + "\n" + "\n".join(rows)).encode())
    assert table.n_items == 6 and table.n_ratings == 71 and float(table.ratings.max()) == 5.5
