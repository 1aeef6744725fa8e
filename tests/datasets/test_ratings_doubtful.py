"""Files that look like what they are not: small matrices and lists, late quotes, corners, totals, numbers for names."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from obmc.datasets.ratings_file import read_ratings

LINES = "\n".join(["user,item,rating", *(f"u{k % 9},m{k // 9},{k % 5 + 1}" for k in range(45))]) + "\n"
SMALL = ((5, 3, 0, 1), (4, 0, 0, 1), (1, 1, 0, 5), (1, 0, 0, 4), (0, 1, 5, 4))


@pytest.mark.parametrize("mark", ["0", "", "NaN", "99"])
@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_a_small_matrix_without_names_is_no_list(mark: str, separator: str) -> None:
    rows = [separator.join(str(rating) if rating else mark for rating in row) for row in SMALL]
    table = read_ratings("\n".join(rows).encode())
    assert (table.n_users, table.n_items, table.n_ratings) == (5, 4, 13)
    assert list(table.users) == list("12345") and "rows as users and 4 columns as items" in table.notes[0]
    assert table.ratings.sum() == sum(map(sum, SMALL))


@pytest.mark.parametrize(
    "names", ["12345", "01234", ["101", "102", "103", "104", "105"], ["ann", "bob", "cy", "di", "ed"]]
)
def test_what_names_the_rows_of_a_small_matrix_is_no_rating(names: list[str]) -> None:
    rows = [",".join([name, *map(str, row)]) for name, row in zip(names, SMALL, strict=True)]
    table = read_ratings("\n".join(rows).encode())
    assert list(table.users) == list(names) and (table.n_items, table.n_ratings) == (4, 13)


@pytest.mark.parametrize("start", [0, 1])
def test_a_short_list_without_names_is_no_matrix(start: int) -> None:
    rows = [(1, 1, 5, 0), (1, 3, 3, 1), (2, 1, 4, 0), (2, 2, 2, 1), (3, 2, 5, 1), (3, 3, 1, 0)]
    text = "\n".join(f"{user - 1 + start},{item - 1 + start},{rating},{other}" for user, item, rating, other in rows)
    table = read_ratings(text.encode())
    assert (table.n_users, table.n_items, table.n_ratings) == (3, 3, 6) and table.ratings.sum() == 20
    numbered = "\n".join(f"{k},{line}" for k, line in enumerate(text.splitlines()))
    assert read_ratings(numbered.encode()).n_ratings == 6


def test_ids_that_differ_in_writing_only_are_kept_apart_and_named() -> None:
    rows = [("1", 1), ("1.0", 2), ("2", 1), ("2.0", 3), ("3.5", 1), ("03", 1), ("\u00fcl", 4), ("u\u0308l", 2)]
    table = read_ratings(
        "\n".join(["user,item,rating", *(f"{user},m{k % 3},{r}" for k, (user, r) in enumerate(rows))]).encode()
    )
    assert table.n_users == 8 and table.n_ratings == 8
    assert [note for note in table.notes if "writing" in note] == [
        "Forms of user ids that differ in writing only, such as 5 and 5.0, kept apart: 3; if they mean the same, write "
        "them alike in the file."
    ]


# What comes late, or stands for nothing -------------------------------------------------------------------------------


def late(rows: int, change: Callable[[int, tuple[str, str, str]], str]) -> bytes:
    """``rows`` different ratings of 100 users, written plainly but where ``change`` gives another line."""
    found = []
    for k in range(rows):
        row = (f"u{k % 100}", f"m{k // 100}", str(k % 5 + 1))
        found.append(change(k, row) or ",".join(row))
    return "\n".join(["user,item,rating", *found]).encode()


@pytest.mark.parametrize("first", [10, 2200, 5900])
def test_quotes_may_begin_anywhere(first: int) -> None:
    plain = read_ratings(late(6000, lambda k, row: ""))
    quoted = read_ratings(late(6000, lambda k, row: ",".join(f'"{cell}"' for cell in row) if k >= first else ""))
    assert (quoted.n_users, quoted.n_items, quoted.notes) == (plain.n_users, plain.n_items, ())
    assert np.array_equal(np.sort(quoted.ratings), np.sort(plain.ratings))
    titled = read_ratings(late(6000, lambda k, row: f'{row[0]},"Zorro, The Gay Blade",{row[2]}' if k >= 5900 else ""))
    assert titled.n_ratings == 6000 and "Zorro, The Gay Blade" in titled.items


def test_two_stray_quotes_far_apart_take_no_rows_with_them() -> None:
    table = read_ratings(
        late(400, lambda k, row: {30: f'{row[0]},"{row[1]},{row[2]}', 80: f'{row[0]},{row[1]}",{row[2]}'}.get(k, ""))
    )
    assert table.n_ratings == 400 and any("quotation mark" in note for note in table.notes)


def test_decimal_commas_without_names() -> None:
    lines = "\n".join(f"{100 + k % 12},{500 + k % 7},{k % 5 + 1},{5 * (k % 2)}" for k in range(84))
    table = read_ratings(lines.encode())
    assert table.n_ratings == 84 and set(np.unique(table.ratings)) == {k / 2 for k in range(2, 12)}
    assert any("decimal comma" in note for note in table.notes)
    # The way out that the note names.
    assert set(np.unique(read_ratings(lines.encode(), header=False).ratings)) == {1.0, 2.0, 3.0, 4.0, 5.0}


@pytest.mark.parametrize(
    ("corner", "rows"),
    [
        ("user/movie", "user"),
        ("User x Movie", "user"),
        ("userId\\movieId", "user"),
        ("user_item", "user"),
        ("Nutzer vs Film", "user"),
        ("movie/user", "item"),
        ("Movies / Users", "item"),
        ("movie", "item"),
    ],
)
def test_the_corner_of_a_wide_table_names_the_rows_first(corner: str, rows: str) -> None:
    cells = "\n".join(f"r{k}," + ",".join(str((k * j) % 5 + 1) for j in range(1, 7)) for k in range(9))
    table = read_ratings(f"{corner},c1,c2,c3,c4,c5,c6\n{cells}".encode())
    assert (table.users if rows == "user" else table.items)[0] == "r0"


def test_columns_named_after_users_are_users() -> None:
    cells = "\n".join(f"r{k}," + ",".join(str((k * j) % 5 + 1) for j in range(1, 7)) for k in range(9))
    names = ",".join(f"User {k}" for k in range(1, 7))
    assert read_ratings(f",{names}\n{cells}".encode()).users[0] == "User 1"


def test_a_small_matrix_with_short_names() -> None:
    rows = [",".join([f"U{k + 1}", *map(str, row)]) for k, row in enumerate(SMALL)]
    table = read_ratings("\n".join([",D1,D2,D3,D4", *rows]).encode())
    assert set(table.items) == {"D1", "D2", "D3", "D4"} and (table.n_users, table.n_ratings) == (5, 13)


@pytest.mark.parametrize("name", ["Total", "Grand Total", "Gesamt", "Average rating", "итого"])
def test_a_line_of_totals_is_no_user(name: str) -> None:
    table = read_ratings((LINES + f"{name},45,3.1\n").encode())
    assert name not in table.users and table.n_ratings == 45 and table.n_rows_dropped == 1
    cells = "\n".join(f"u{k}," + ",".join(str((k * j) % 5 + 1) for j in range(1, 7)) for k in range(9))
    wide = read_ratings(f"user,a,b,c,d,e,f,{name}\n{cells}\n{name},3,3,3,3,3,3,3".encode())
    assert wide.n_users == 9 and wide.n_items == 6


@pytest.mark.parametrize(("first", "mark"), [("0,1,2", "a"), ("1,2,3", "a"), ("0,1,2", "7")])
def test_numbers_above_the_columns_are_no_row(first: str, mark: str) -> None:
    rows = [f"{mark}{k % 5},{mark}{k % 7},{k % 4 + 1}" for k in range(35)]
    table = read_ratings("\n".join([first, *rows]).encode())
    assert table.users == tuple(f"{mark}{k}" for k in range(5)) and table.n_ratings == 35 and table.dialect.header


def test_a_row_of_numbers_among_such_ids_is_a_row() -> None:
    rows = [f"{user},{item},{(user + item) % 5 + 1}" for user in range(6) for item in range(5)]
    table = read_ratings("\n".join(["0,1,2", *rows[2:]]).encode())
    assert table.n_ratings == 29 and "0" in table.users


@pytest.mark.parametrize("form", ['["{}", "{}", {}]', "('{}', '{}', {}),", "[{}, {}, {}],"])
def test_rows_written_as_lists(form: str) -> None:
    rows = [form.format(f"u{k % 9}", f"m{k % 7}", k % 5 + 1) for k in range(45)]
    table = read_ratings("\n".join(rows).encode())
    assert set(table.users) == {f"u{k}" for k in range(9)} and set(table.items) == {f"m{k}" for k in range(7)}


@pytest.mark.parametrize(
    "levels", ["movieId,{}\nuserId,,,,,", ",rating,rating,rating,rating,rating\nmovieId,{}\nuserId,,,,,"]
)
def test_a_table_that_pandas_pivoted(levels: str) -> None:
    rows = [f"u{k}," + ",".join(str((k * j) % 5 + 1) if (k + j) % 3 else "" for j in range(5)) for k in range(9)]
    table = read_ratings("\n".join([levels.format("m0,m1,m2,m3,m4"), *rows]).encode())
    assert table.n_users == 9 and set(table.items) == {f"m{k}" for k in range(5)} and table.n_ratings == 30


def test_a_first_user_without_ratings_names_no_axis() -> None:
    rows = [
        f"ann{k}," + ",".join(str((k * j) % 5 + 1) if k and (k + j) % 3 else "" for j in range(5)) for k in range(9)
    ]
    table = read_ratings("\n".join(["user,m0,m1,m2,m3,m4", *rows]).encode())
    assert table.n_users == 8 and table.n_items == 5


def test_a_pivot_table_of_a_spreadsheet() -> None:
    rows = [f"n{k}," + ",".join(str((k * j) % 5 + 1) if (k + j) % 3 else "" for j in range(5)) + ",9" for k in range(9)]
    head = ["Sum of rating,Column Labels,,,,,", "Row Labels,Alien,Brazil,Casino,Dune,Elf,Grand Total"]
    table = read_ratings("\n".join([*head, *rows, "Grand Total,20,21,22,23,24,110"]).encode())
    assert set(table.items) == {"Alien", "Brazil", "Casino", "Dune", "Elf"} and (table.n_users, table.n_ratings) == (
        9,
        30,
    )


def test_nul_characters_behind_the_text() -> None:
    assert read_ratings(LINES.encode() + b"\0" * 4096).n_ratings == 45


@pytest.mark.parametrize("names", ["", " (`user`, `item`, `rating`)"])
@pytest.mark.parametrize("each", [True, False])
def test_rows_of_sql_statements(names: str, each: bool) -> None:
    rows = [f"('u{k % 9}', 'It''s film (199{k % 7}), the', {k % 5 + 1})" for k in range(45)]
    head = f"INSERT INTO `ratings`{names} VALUES "
    text = "\n".join(f"{head}{row};" for row in rows) if each else head + ",\n".join(rows) + ";\n"
    dump = "-- a dump\nCREATE TABLE `ratings` (`user` varchar(9), `item` text, `rating` int);\n"
    table = read_ratings(((dump if names else "") + text).encode())
    assert table.n_users == 9 and set(table.items) == {f"It's film (199{k}), the" for k in range(7)}
    assert np.bincount(table.ratings.astype(int)).sum() == 45


def test_typographic_quotes_around_fields() -> None:
    rows = [f"u{k % 9},\u201cFilm {k % 7}, the\u201d,{k % 5 + 1}" for k in range(45)]
    table = read_ratings("\n".join(["user,title,rating", *rows]).encode())
    assert table.n_users == 9 and set(table.items) == {f"Film {k}, the" for k in range(7)}


@pytest.mark.parametrize(
    "names",
    [
        "lietotājs,filma,vērtējums",
        "vartotojas,filmas,įvertinimas",
        "kasutaja,film,hinne",
        "usuari,pel·lícula,valoració",
    ],
)
def test_names_in_further_languages(names: str) -> None:
    user, item, rating = names.split(",")
    rows = [f"{k % 5 + 1},m{k % 7},u{k % 9}" for k in range(63)]
    table = read_ratings("\n".join([f"{rating},{item},{user}", *rows]).encode())
    assert (table.dialect.user, table.dialect.item, table.dialect.rating) == (user, item, rating)


@pytest.mark.parametrize(
    "line", ["[" + "," * 100_000, "(" + "1," * 50_000, "('" + "''" * 50_000, "['" + "\\'," * 50_000]
)
@pytest.mark.parametrize("sql", [True, False])
def test_no_line_stalls_what_undoes_lists_and_statements(line: str, sql: bool) -> None:
    rows = [f"('u{k % 30}', 'm{k // 30}', {k % 5 + 1})" for k in range(600)]
    rows = [f"INSERT INTO t VALUES {row};" if sql else f"{row}," for row in rows]
    text = "\n".join([*rows, *[line] * 20, "INSERT" + " " * 50_000, " " * 50_000])
    assert read_ratings(text.encode()).n_ratings >= 600


@pytest.mark.parametrize("name", ["user/" * 20_000, "-" * 100_000, "User " + "1" * 100_000])
def test_long_names_do_not_stall_the_corner(name: str) -> None:
    cells = "\n".join(f"r{k}," + ",".join(str((k * j) % 5 + 1) for j in range(1, 7)) for k in range(9))
    assert read_ratings(f"{name},{','.join(f'{name}{k}' for k in range(5))},c6\n{cells}".encode()).n_ratings == 54


def test_a_name_lost_at_the_end_of_the_header_is_no_row() -> None:
    rows = [f"{700 + k % 5},{800 + k % 7},{k % 4 + 1}" for k in range(35)]
    table = read_ratings("\n".join(["userId,movieId,0", *rows]).encode())
    assert (table.n_users, table.n_items, table.n_ratings) == (5, 7, 35) and table.dialect.header


def test_a_list_under_short_names_is_no_matrix() -> None:
    rows = [f"{k % 5},{k % 7},{k % 4 + 1},{k % 2}" for k in range(35)]
    table = read_ratings("\n".join(["a,b,c,d", *rows]).encode())
    assert (table.n_users, table.n_items, table.n_ratings) == (5, 7, 35) and table.dialect.layout == "long"


def test_a_list_of_several_ratings_each_is_no_matrix() -> None:
    rows = [f"{k % 5},{k % 7},{k % 4 + 1},{k % 3 + 1}" for k in range(35)]
    table = read_ratings("\n".join(["user,item,rating,taste", *rows]).encode())
    assert (table.n_users, table.n_items, table.n_ratings) == (5, 7, 35) and table.dialect.rating == "rating"


# Two exports in one file, and merged cells ----------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 0, 1), (2, 1, 0), (0, 2, 1)])
def test_a_second_export_below_with_its_columns_in_another_order(order: tuple[int, int, int]) -> None:
    rows = [line.split(",") for line in LINES.split()]
    head, body = rows[0], rows[1:]
    second = [[row[k] for k in order] for row in [head, *body[20:]]]
    text = "\n".join(",".join(row) for row in [head, *body[:20], *second, head, *body[:2]])
    table, whole = read_ratings(text.encode()), read_ratings(LINES.encode())
    assert (
        table.frame.sort_values(["user", "item"])
        .reset_index(drop=True)
        .equals(whole.frame.sort_values(["user", "item"]).reset_index(drop=True))
    )
    assert "Rows below a header that has the columns in another order, read in that order: 25." in table.notes
    assert "Rows dropped because they repeat the header: 2." in table.notes


def test_items_that_are_called_like_columns_are_items() -> None:
    table = read_ratings((LINES + "u1,user,3\nu2,rating,4\nitem,m1,5\n").encode())
    assert table.n_ratings == 48 and {"user", "rating"} < set(table.items) and "item" in table.users


@pytest.mark.parametrize("role", ["user", "item"])
def test_merged_cells_are_filled_down(role: str) -> None:
    groups = [(f"g{k}", [(f"x{j}", (k * j) % 5 + 1) for j in range(4 + k)]) for k in range(6)]
    other = "item" if role == "user" else "user"
    lines = [f"{role},{other},rating"]
    for name, members in groups:
        lines += [f"{name if j == 0 else ''},{member},{rating}" for j, (member, rating) in enumerate(members)]
    table = read_ratings("\n".join(lines).encode())
    assert table.n_ratings == sum(len(members) for _, members in groups) == 39
    assert len(getattr(table, f"{role}s")) == 6
    first = table.frame[table.frame[role] == "g3"]
    assert list(first[other]) == [f"x{j}" for j in range(7)]
    assert f"taken for the {role} above them, as merged cells are exported: 33." in " ".join(table.notes)


@pytest.mark.parametrize("change", ["first", "few", "again"])
def test_blanks_that_are_no_merged_cells_are_dropped(change: str) -> None:
    rows = [[f"u{k // 4}" if k % 4 == 0 else "", f"m{k % 4}", str(k % 5 + 1)] for k in range(24)]
    if change == "first":
        rows[0][0] = ""
    elif change == "few":
        rows = [[f"u{k // 4}" if k % 4 else "", f"m{k % 4}", str(k % 5 + 1)] for k in range(24)]
    else:
        rows[8][0] = "u0"
    table = read_ratings("\n".join(",".join(row) for row in [["user", "item", "rating"], *rows]).encode())
    assert any(note.startswith("Rows dropped because they have no user") for note in table.notes)


@pytest.mark.parametrize(
    "text",
    [
        "user,item,rating\nAnn,m1,5\n,m1,4\n,m2,1\nBob,m1,2\n,m2,5\n,m1,1\n",
        "session,user,item,rating\ns1,Ann,m1,5\ns1,,m2,4\ns2,,m1,2\ns2,,m3,1\ns3,Bob,m1,4\ns3,,m2,3\n",
    ],
)
def test_ratings_without_a_name_are_not_given_to_whoever_stands_above(text: str) -> None:
    table = read_ratings(text.encode())
    assert table.n_ratings == 2 and table.users == ("Ann", "Bob")


def test_a_record_without_a_user_is_nobody_s() -> None:
    rows = [("Ann", "m1"), (None, "m2"), (None, "m3"), ("Bob", "m1"), (None, "m2"), (None, "m3")]
    records = [{"user": user, "item": item, "rating": k % 5 + 1} for k, (user, item) in enumerate(rows)]
    assert read_ratings(json.dumps(records).encode()).n_ratings == 2


def test_merged_cells_around_a_repeated_header_and_means() -> None:
    head = "user,item,rating\n"
    text = head + "Ann,m1,5\n,m2,4\n,Average,4.5\n" + head + ",m3,3\nBob,m1,2\n,m2,1\n,m3,4\n,Average,2.3\n,,\n"
    table = read_ratings(text.encode())
    assert table.users == ("Ann", "Bob") and table.items == ("m1", "m2", "m3") and table.n_ratings == 6


def test_a_second_header_may_have_other_capitals() -> None:
    rows = [line.split(",") for line in LINES.split()]
    lines = [",".join(row) for row in rows[:25]] + ["Item,User,Rating"] + [f"{i},{u},{r}" for u, i, r in rows[25:]]
    assert read_ratings("\n".join(lines).encode()).n_users == read_ratings(LINES.encode()).n_users
