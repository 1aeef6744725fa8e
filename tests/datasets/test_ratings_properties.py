"""Properties of the reader: what is written is read, and nothing ends in anything but ratings or one clear sentence."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from obmc import RatingsError
from obmc.datasets.ratings_file import preview_ratings, read_ratings
from obmc.datasets.ratings_table import RatingsTable

FOLDER = Path(__file__).parent / "ratings_files"
FEW = int(os.environ.get("OBMC_EXAMPLES", "200"))
MANY = max(2000, FEW)
LONGEST_SECONDS = 5.0
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
HEADS = [("user", "item", "rating"), ("userId", "movieId", "stars"), ("Benutzer", "Film", "Bewertung")]

# Blanks and invisible marks around an id do not belong to it, and line ends inside it are normalised: not round trips.
LETTERS = st.characters(
    exclude_categories=("Cs", "Cc", "Cn"), exclude_characters="\ufeff\u200b\u200e\u200f\u2028\u2029"
)
MARKS = st.sampled_from(list(",;|\t\"':^~#%=@+-/\\{}[]() \n0123456789.★½"))
NAMES = (
    st.text(st.one_of(LETTERS, MARKS), min_size=1, max_size=12)
    .map(str.strip)
    .filter(lambda name: name != "" and not (name.startswith('="') and name.endswith('"')))
)
SCALES = st.sampled_from(
    [(1, 2, 3, 4, 5), (0.5, 1.0, 2.5, 4.0), (-9.95, -0.25, 3.5, 10.0), (1, -1), (0, 1, 2), (1, 10)]
)


@st.composite
def tables(draw: st.DrawFn, names: st.SearchStrategy[str] = NAMES) -> list[tuple[str, str, float]]:
    pairs = draw(st.lists(st.tuples(names, names), min_size=1, max_size=25, unique=True))
    scale = draw(SCALES)
    return [(user, item, draw(st.sampled_from(scale))) for user, item in pairs]


def content(table: RatingsTable) -> list[tuple[str, str, float]]:
    columns = (table.frame["user"], table.frame["item"], table.frame["rating"])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def packed(data: bytes, container: str) -> bytes:
    if container == "gzip":
        return gzip.compress(data)
    if container == "zip":
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("ratings.csv", data)
        return archive.getvalue()
    return data


@st.composite
def written(draw: st.DrawFn) -> tuple[list[tuple[str, str, float]], bytes]:
    """A table of ratings, and the file that holds it in one of the dialects that are told apart."""
    rows = draw(tables())
    separator = draw(st.sampled_from([",", ";", "\t", "|", "^", "~", "\x01"]))
    decimal = draw(st.sampled_from([".", ","]))
    quoting: Any = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    line_end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    # The writer quotes a line end only if it is its own.
    assume(line_end == "\n" or quoting == csv.QUOTE_ALL or not any("\n" in name for row in rows for name in row[:2]))
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, quoting=quoting, lineterminator=line_end)
    writer.writerow(draw(st.sampled_from(HEADS)))
    writer.writerows((user, item, str(rating).replace(".", decimal)) for user, item, rating in rows)
    encoded = text.getvalue().encode(draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"])))
    return rows, packed(encoded, draw(st.sampled_from(["plain", "gzip", "zip"])))


def comes_back(file: tuple[list[tuple[str, str, float]], bytes]) -> None:
    rows, data = file
    table = read_ratings(data)
    assert content(table) == rows
    assert table.n_rows_dropped == 0


@settings(max_examples=FEW, deadline=None, suppress_health_check=SLOW)
@given(file=written())
def test_any_table_in_any_dialect_comes_back(file: tuple[list[tuple[str, str, float]], bytes]) -> None:
    comes_back(file)


@pytest.mark.evidence
@settings(max_examples=MANY, deadline=None, suppress_health_check=SLOW)
@given(file=written())
def test_many_tables_in_any_dialect_come_back(file: tuple[list[tuple[str, str, float]], bytes]) -> None:
    comes_back(file)


PLAIN = st.text(st.sampled_from("abcdefghijkl0123456789-_ "), min_size=1, max_size=8).map(
    lambda name: "x" + name.strip()
)


@settings(max_examples=FEW // 3, deadline=None)
@given(rows=tables(PLAIN), separator=st.sampled_from(["::", "||", ",", ";", "\t"]), swap=st.booleans())
def test_no_header_with_the_columns_named(rows: list[tuple[str, str, float]], separator: str, swap: bool) -> None:
    order = (2, 1, 0) if swap else (0, 1, 2)
    data = "".join(separator.join(str(row[k]) for k in order) + "\n" for row in rows).encode()
    where = {"user": order.index(0), "item": order.index(1), "rating": order.index(2)}
    table = read_ratings(data, header=False, separator=separator, **where)
    assert content(table) == rows


@settings(max_examples=FEW // 3, deadline=None)
@given(
    rows=tables(
        st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1).filter(
            lambda name: (
                name == name.strip().strip("\ufeff\u200b\u200e\u200f").strip() != "" and not name.startswith('="')
            )
        )
    )
)
def test_json_lines_come_back(rows: list[tuple[str, str, float]]) -> None:
    lines = [json.dumps({"user": user, "item": item, "rating": rating}) for user, item, rating in rows]
    assert content(read_ratings("\n".join(lines).encode())) == rows


@settings(max_examples=FEW // 3, deadline=None)
@given(
    cells=st.lists(st.lists(st.sampled_from([None, 1, 2, 3, 4, 5]), min_size=6, max_size=6), min_size=5, max_size=12),
    empty=st.sampled_from(["", "NaN", "NA"]),
    separator=st.sampled_from([",", ";", "\t"]),
)
def test_wide_tables_come_back(cells: list[list[int | None]], empty: str, separator: str) -> None:
    expected = [
        (f"reader {r}", f"book {c}", float(x))
        for r, row in enumerate(cells)
        for c, x in enumerate(row)
        if x is not None
    ]
    if not expected:
        return
    lines = [["reader", *(f"book {c}" for c in range(6))]]
    lines += [[f"reader {r}", *(empty if x is None else str(x) for x in row)] for r, row in enumerate(cells)]
    table = read_ratings("\n".join(separator.join(line) for line in lines).encode(), layout="wide")
    assert content(table) == expected


SAMPLES = [path.read_bytes() for path in sorted(FOLDER.iterdir()) if path.suffix not in (".py",)]
BITS = st.sampled_from([
    b",", b";", b"\t", b'"', b"'", b"\n", b"\r", b"\0", b"::", b"{", b"}", b"[", b"]", b"\\", b"\xff", b"\xfe",
    b"\xe9", b"\xef\xbb\xbf", b"user", b"rating", b"nan", b"inf", b"1e999", b"99", b"-1", b"%", b"\x1f", b"#", b" ",
    b"1,234", b"|", b"PK\x03\x04", b"\x1f\x8b\x08", b"\xe2\x98\x85", b"sep=", b"%%MatrixMarket", b"3:\n",
])  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    data = bytearray(draw(st.sampled_from(SAMPLES)))
    for _ in range(draw(st.integers(1, 12))):
        at = draw(st.integers(0, len(data)))
        kind = draw(st.sampled_from(["insert", "delete", "replace", "copy", "cut"]))
        if kind == "insert":
            data[at:at] = draw(BITS)
        elif kind == "delete":
            del data[at : at + draw(st.integers(1, 40))]
        elif kind == "replace":
            data[at : at + 1] = draw(st.binary(min_size=1, max_size=2))
        elif kind == "copy":
            data[at:at] = data[draw(st.integers(0, len(data))) :][:200]
        elif len(data) > 10:
            del data[draw(st.integers(10, len(data))) :]
    return bytes(data)


ALPHABET = st.sampled_from(list(" ,;\t\n\"'0123456789.-abuser|:{}[]%★"))
ANYTHING = st.one_of(st.binary(max_size=400), st.text(ALPHABET, max_size=300).map(str.encode), mutated(), mutated())


def ends_well(data: bytes) -> None:
    started = time.process_time()
    for read in (read_ratings, preview_ratings):
        try:
            found = read(data)
        except RatingsError as error:
            message = str(error)
            assert message.endswith(".") and "\n" not in message and len(message) > 15
        else:
            if isinstance(found, RatingsTable):
                check_sound(found)
    assert time.process_time() - started < LONGEST_SECONDS


def check_sound(table: RatingsTable) -> None:
    assert table.n_ratings == len(table.frame) >= 1
    assert not table.frame.isna().any().any()
    assert all(name == name.strip() != "" for name in (*table.users, *table.items))
    assert len(set(table.users)) == table.n_users and len(set(table.items)) == table.n_items
    assert not table.frame.duplicated(["user", "item"]).any()
    assert table.n_rows_dropped == 0 or any(any(char.isdigit() for char in note) for note in table.notes)
    signs = table.binarize("mean", allow_one_class=True).signs
    assert int((signs > 0).sum()) == table.n_above("mean")


@settings(max_examples=FEW, deadline=None, suppress_health_check=SLOW)
@given(data=ANYTHING)
def test_any_bytes_end_in_ratings_or_one_sentence(data: bytes) -> None:
    ends_well(data)


@pytest.mark.evidence
@settings(max_examples=MANY, deadline=None, suppress_health_check=SLOW)
@given(data=ANYTHING)
def test_many_bytes_end_in_ratings_or_one_sentence(data: bytes) -> None:
    ends_well(data)
