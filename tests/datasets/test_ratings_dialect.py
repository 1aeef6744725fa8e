"""Separators, quotes and headers, and rows that do not fit."""

from __future__ import annotations

import pytest

from obmc import RatingsError
from obmc.datasets.ratings_file import read_ratings
from obmc.datasets.reader import records
from obmc.datasets.reader.records import Format, split

ROWS = [(f"u{k % 9}", f"m{k // 9}", k % 5 + 1) for k in range(45)]


def lines(form: str = "{u},{i},{x}", head: str = "user,item,rating") -> bytes:
    rows = [form.format(u=u, i=i, x=x, k=k) for k, (u, i, x) in enumerate(ROWS)]
    return "\n".join([head, *rows] if head else rows).encode()


@pytest.mark.parametrize(
    ("form", "head", "separator"),
    [
        ("{u}::{i}::{x}::978300{k}", "", "::"),
        ("{u}|{i}|{x}", "", "|"),
        ("{u} {i} {x}", "", " "),
        ("{u}\t {i}   {x} ", "", " "),
        ("{u}\x01{i}\x01{x}", "", "\x01"),
        ("{u};a,b{i};{x},5", "user;item;rating", ";"),
        ("{u};{i};{x},5;1,{x}", "", ";"),
        ("{u},Drama|War,{i},{x}", "user,genres,item,rating", ","),
        ("{u},{i},{x},2011-01-02 10:20:30", "", ","),
        ("{u},http://a.b/{i}?c=1;d:2,{x}", "user,item,rating", ","),
        ("{u};['a', 'b', {k}];{i};{x}", "userId;tags;itemId;stars", ";"),
        ("user {u},The Film {i},{x}", "", ","),
        ("{u}，{i}，{x}", "用户，电影，评分", "，"),
        ("{u}  The Film {i}  {x}", "", "  "),
    ],
)
def test_separators(form: str, head: str, separator: str) -> None:
    table = read_ratings(lines(form, head))
    assert table.dialect.separator == separator
    assert (table.n_users, table.n_items, table.n_ratings) == (9, 5, 45)


@pytest.mark.parametrize(
    ("form", "item"),
    [
        ('{u},"A, {i}",{x}', "A, m0"),
        ('{u}, "A, {i}", {x}', "A, m0"),
        ('"{u}","say ""{i}""","{x}"', 'say "m0"'),
        ('{u},12" {i},{x}', '12" m0'),
        ('"{u}","the \\"{i}\\", x","{x}"', 'the "m0", x'),
        ("'{u}','it is, {i}','{x}'", "it is, m0"),
        ('{u},"two\nlines {i}",{x}', "two\nlines m0"),
    ],
)
def test_quotes(form: str, item: str) -> None:
    table = read_ratings(lines(form))
    assert table.items[0] == item and table.n_ratings == 45 and table.notes == ()


def test_a_text_column_over_several_lines() -> None:
    table = read_ratings(lines('{u},{i},{x},"not bad,\n""{k}""\nreally"', "user,item,rating,comment"))
    assert table.n_ratings == 45 and table.n_rows_dropped == 0 and table.notes == ()


def test_stray_quotes_cost_no_other_row() -> None:
    data = lines().replace(b"u3,m2", b'u3,"m2').replace(b"u5,m4", b'"u5,m4')
    table = read_ratings(data)
    assert table.n_ratings == 45 and table.items == tuple(f"m{k}" for k in range(5))
    assert table.notes == ("Rows with a quotation mark without its partner, which was left out: 2.",)


@pytest.mark.parametrize(
    ("change", "dropped", "kept"),
    [
        ((b"u3,m2,2", b"u3,m2"), 1, 44),
        ((b"u3,m2,", b"u3,The m2, part,"), 1, 44),
        ((b"u3,m2", b",m2"), 1, 44),
        ((b"u3,m2", b"u3, "), 1, 44),
        ((b"u3,m2,", b"u3,m2,#REF!"), 1, 44),
        ((b"u0,m2", b"(45 rows)\nu0,m2"), 1, 45),
        ((b"u0,m2", b"user,item,rating\nu0,m2"), 1, 45),
        ((b"u0,m2", b"\n\n   \nu0,m2"), 0, 45),
        ((b"u0,m2", b",,\n,,,\nu0,m2"), 2, 45),
    ],
)
def test_rows_that_do_not_fit(change: tuple[bytes, bytes], dropped: int, kept: int) -> None:
    data = lines()
    assert change[0] in data
    table = read_ratings(data.replace(*change))
    assert (table.n_rows_dropped, table.n_ratings) == (dropped, kept)
    assert bool(table.notes) == bool(dropped)
    assert not dropped or any(f": {dropped}" in note for note in table.notes)


def test_extra_fields_after_the_rating_are_left_out() -> None:
    data = lines("{u},{i},{x},good", "user,item,rating,comment").replace(b"u3,m2,2,good", b"u3,m2,2,good, but")
    data = data.replace(b",good\nu5", b",good, or not\nu5")
    table = read_ratings(data)
    assert table.n_ratings == 45 and table.n_rows_dropped == 0 and "extra fields" in table.notes[0]


def test_an_id_that_looks_like_a_command_is_an_id() -> None:
    table = read_ratings(
        lines().replace(b"u3,m2", b"@RELATION,m2").replace(b"u4,m2", b"#4,m2").replace(b"u5,m2", b"sep=,m2")
    )
    assert {"@RELATION", "#4", "sep="} <= set(table.users) and table.n_ratings == 45 and table.notes == ()


def test_titles_before_the_header_and_a_second_header_line() -> None:
    table = read_ratings(b"Export of 1.2.2024\n\nAll ratings, complete\n" + lines())
    assert table.n_ratings == 45 and table.notes == ("Lines skipped before the header: 2.",)
    table = read_ratings(lines().replace(b"rating\n", b"rating\n----,----,------\n", 1))
    assert table.n_ratings == 45 and table.n_rows_dropped == 1


def test_numbered_items_of_a_wide_table_are_a_header() -> None:
    cells = "\n".join(
        f"u{k}," + ",".join(str((k * j) % 5 + 1) if (k + j) % 3 else "" for j in range(6)) for k in range(9)
    )
    table = read_ratings(f"user,1,2,3,4,5,6\n{cells}".encode())
    assert set(table.items) == set("123456") and table.n_users == 9


def test_lines_of_many_megabytes_are_refused() -> None:
    with pytest.raises(RatingsError, match="line of more than 16 MB"):
        read_ratings(b"user,item,rating\n" + b"a" * 2**24 + b",b,1\n")


@pytest.mark.parametrize(
    "line",
    [
        b"-" * 20_000 + b"x",
        b"a" + b" " * 20_000 + b"b",
        b"u,m," + b"1" * 100_000,
        b"u,m," + b"4 of " * 20_000,
        b"u,m," + b"1." * 50_000,
        b'u,"m,' * 2_000,
        b"1 " + b"1:1 " * 20_000 + b"x",
    ],
    ids=["dashes", "blanks", "digits", "of", "points", "quotes", "pairs"],
)
def test_long_runs_of_one_sign_do_not_stall_the_reader(line: bytes) -> None:
    table = read_ratings(lines() + b"\n" + line * 20 + b"\n" + (line + b"\n") * 20)
    assert table.n_ratings == 45 and table.n_rows_dropped > 0


def test_a_line_of_very_many_fields() -> None:
    head = ",".join(["user", *(f"film {k}" for k in range(20_000))])
    cells = "\n".join(f"u{k}," + ",".join(str((k + j) % 5 + 1) for j in range(20_000)) for k in range(3))
    assert read_ratings(f"{head}\n{cells}\n".encode()).n_ratings == 60_000


def test_rows_across_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quoted field that goes on in the next piece of the file is one field."""
    data = lines('{u},{i},{x},"not bad,\n{k}"', "user,item,rating,comment")
    whole = read_ratings(data)
    pieces = records.pieces
    monkeypatch.setattr("obmc.datasets.reader.grid.pieces", lambda data, start: pieces(data, start, 40))
    cut = read_ratings(data)
    assert cut.frame.equals(whole.frame) and cut.notes == whole.notes == ()
    plain = lines().replace(b"u3,m2", b'u3,"m2')
    assert read_ratings(plain).n_ratings == 45


def test_split_waits_for_the_end_of_an_open_field() -> None:
    form = Format(",", '"')
    fields = split(['a,"b', "c"], form, width=2, last=False)
    assert fields.rows == [] and fields.rest == ['a,"b', "c"]
    assert split([*fields.rest, 'd"'], form, width=2).rows == [["a", "b\nc\nd"]]
    closed = split(fields.rest, form, width=2)
    assert closed.rows == [["a", "b"], ["c"]] and closed.stray == 1
