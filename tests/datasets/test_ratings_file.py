"""What ``read_ratings`` is told and returns: its arguments, notes, dialect, duplicates, and the preview."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from obmc import RatingsError
from obmc.datasets.ratings_file import preview_ratings, read_ratings

ROWS = [(f"u{k % 7}", f"m{k // 7}", k % 5 + 1) for k in range(28)]


def file(head: str = "user,item,rating", rows: list[tuple[Any, ...]] = ROWS, separator: str = ",") -> bytes:
    lines = [head] if head else []
    return "\n".join(lines + [separator.join(map(str, row)) for row in rows]).encode()


def test_a_plain_file_has_no_notes_and_its_dialect() -> None:
    table = read_ratings(file("userId;movieId;rating;timestamp", [(*row, 1_200_000_000) for row in ROWS], ";"))
    assert table.notes == () and table.n_rows_dropped == 0
    said = table.dialect
    assert (said.container, said.encoding, said.form, said.separator) == ("plain", "utf-8", "text", ";")
    assert said.columns == ("userId", "movieId", "rating", "timestamp") and said.header and said.layout == "long"
    assert (said.user, said.item, said.rating) == ("userId", "movieId", "rating")


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview, io.BytesIO, lambda data: io.StringIO(data.decode())])
def test_sources(wrap: Any, tmp_path: Path) -> None:
    assert read_ratings(wrap(file())).n_ratings == 28
    path = tmp_path / "ratings.csv"
    path.write_bytes(file())
    assert read_ratings(path).n_ratings == read_ratings(str(path)).n_ratings == 28


def test_sources_that_are_none(tmp_path: Path) -> None:
    spent = io.BytesIO(file())
    spent.read()
    for source, message in (
        (tmp_path / "no.csv", "there is no"),
        (tmp_path, "is a folder"),
        ("https://example.org/ratings.csv", "download the file first"),
        (file().decode(), "taken as a path"),
        (spent, "seek"),
        (7, "must be a path, bytes or a file object"),
        (None, "must be a path, bytes or a file object"),
    ):
        with pytest.raises(RatingsError, match=message):
            read_ratings(source)


def test_columns_by_name_and_position() -> None:
    data = file("x,y,z", [(rating, user, item) for user, item, rating in ROWS])
    named = read_ratings(data, user="y", item=" Z", rating="X")
    placed = read_ratings(data, user=1, item=2, rating=0)
    assert named.notes == placed.notes == ()
    assert named.frame.equals(placed.frame)
    assert list(named.frame.itertuples(index=False, name=None)) == [(u, i, float(x)) for u, i, x in ROWS]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"user": "nobody"}, "user='nobody' is no column of the file; its columns are 'user', 'item', 'rating'"),
        ({"item": 3}, "item must be a position from 0 to 2"),
        ({"rating": True}, "rating must be a column name or a 0-based position"),
        ({"user": 0, "item": 0}, "three different columns"),
        ({"decimal": ".."}, "decimal must be one of"),
        ({"layout": "tall"}, "layout must be one of 'long', 'wide'"),
        ({"duplicates": "any"}, "duplicates must be one of"),
        ({"words": ["good"]}, "words must map texts to numbers"),
        ({"words": {"good": "5"}}, "words must map texts to finite numbers"),
        ({"missing": [None]}, "missing must hold numbers and texts"),
        ({"missing": 3.5j}, "missing must be a number, a text"),
        ({"encoding": "klingon"}, "encoding must name a known text encoding"),
        ({"encoding": 8}, "encoding must be a text"),
        ({"separator": ""}, "separator must be a text of at least one character"),
        ({"separator": ";"}, "separator=';' splits no line"),
        ({"header": "yes"}, "header must be True, False or None"),
        ({"max_bytes": 0}, "max_bytes must be a whole number"),
        ({"max_bytes": 100}, "above the limit"),
        ({"layout": "wide", "rating": "rating"}, "rating names no column of a wide table"),
        ({"layout": "wide", "user": "user", "item": "item"}, "one of them only"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as refused:
        read_ratings(file(), **arguments)
    assert message in str(refused.value) and str(refused.value).endswith(".")


def test_a_name_that_occurs_twice_needs_a_position() -> None:
    data = file("id,id,score")
    with pytest.raises(RatingsError, match="user='id' names 2 columns"):
        read_ratings(data, user="id", item=1)
    assert read_ratings(data, user=1, item=0).users[:2] == ("m0", "m1")


def test_the_header_can_be_given_or_denied() -> None:
    assert read_ratings(file(), header=False).n_rows_dropped == 1
    first_lost = read_ratings(file(""), header=True)
    assert first_lost.n_ratings == 27 and first_lost.dialect.columns == ("u0", "m0", "1")


def test_duplicates() -> None:
    data = file(rows=[*ROWS, ("u0", "m0", 4), ("u1", "m0", 2)])
    assert read_ratings(data, duplicates="first").ratings.tolist() == [float(x) for _, _, x in ROWS]
    last = read_ratings(data)
    assert dict(zip(last.frame["user"] + last.frame["item"], last.ratings, strict=True))["u0m0"] == 4
    mean = read_ratings(data, duplicates="mean")
    assert dict(zip(mean.frame["user"] + mean.frame["item"], mean.ratings, strict=True))["u0m0"] == 2.5
    for table in (last, mean):
        assert table.n_rows_dropped == 2
        assert "1 with another rating" in table.notes[0] and table.notes[0].endswith(": 2.")
    with pytest.raises(RatingsError, match="2 rows repeat a user and item"):
        read_ratings(data, duplicates="error")


def test_the_mean_of_duplicates_does_not_depend_on_their_order() -> None:
    values = [0.1, 0.2, 0.3, 1e15, -1e15]
    results = {
        float(
            read_ratings(
                file(rows=[("a", "x", value) for value in order] + [("b", "y", 1)]), duplicates="mean"
            ).ratings[0]
        )
        for order in (values, values[::-1], values[2:] + values[:2])
    }
    assert len(results) == 1


def test_missing_and_words_can_be_given() -> None:
    data = file(rows=[(u, i, "good" if x == 5 else "skipped" if x == 4 else x) for u, i, x in ROWS])
    table = read_ratings(data, words={"good": 10}, missing=[1, "skipped"])
    assert set(table.ratings) == {2.0, 3.0, 10.0}
    assert table.dialect.words == {"good": 10.0} and table.dialect.missing == (1.0,)
    assert any("as asked for: 6" in note for note in table.notes)
    assert any("no rating: 5" in note for note in table.notes)


def test_a_guessed_code_can_be_kept() -> None:
    data = file(rows=[(u, i, 99 if k % 6 == 0 else x) for k, (u, i, x) in enumerate(ROWS)])
    assert read_ratings(data).n_rows_dropped == 5 and read_ratings(data).dialect.missing == (99.0,)
    kept = read_ratings(data, missing=())
    assert kept.n_rows_dropped == 0 and kept.ratings.max() == 99


def test_a_small_table_and_a_single_user_are_said() -> None:
    assert "too small" in read_ratings(file(rows=ROWS[:3])).notes[0]
    assert (
        "one user" in read_ratings(file(rows=[("u", i, x) for i, x in zip("abcdef", range(6), strict=True)])).notes[0]
    )
    assert (
        "one item" in read_ratings(file(rows=[(u, "m", x) for u, x in zip("abcdef", range(6), strict=True)])).notes[0]
    )


def test_a_table_too_large_for_a_dense_matrix_is_said() -> None:
    rows = [(f"u{k}", f"m{(k * j) % 20_000}", k % 5) for k in range(20_000) for j in (1, 3)]
    notes = read_ratings(file(rows=rows)).notes
    assert any("20,000 users and 20,000 items are too many for a dense matrix (3 GB)" in note for note in notes)


def test_a_wide_table_can_be_asked_for_and_labelled() -> None:
    data = b"film,anna,ben\nA,1,2\nB,,4\n"
    table = read_ratings(data, layout="wide")
    assert table.users == ("anna", "ben") and table.items == ("A", "B") and table.dialect.item == "film"
    turned = read_ratings(data, layout="wide", user="film")
    assert turned.users == ("A", "B") and turned.dialect.user == "film"


def test_preview_needs_no_rating_column() -> None:
    data = file("customer,product,purchased_on", [(u, i, "2020-01-02") for u, i, _ in ROWS])
    with pytest.raises(RatingsError, match="no rating column"):
        read_ratings(data)
    preview = preview_ratings(data, n_rows=2)
    assert preview.columns == ("customer", "product", "purchased_on") and preview.header
    assert preview.rows == (("u0", "m0", "2020-01-02"), ("u1", "m0", "2020-01-02"))
    assert preview_ratings(file("")).columns == ("column 1", "column 2", "column 3")
