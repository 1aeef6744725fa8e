"""JSON in the forms in which tables of ratings are written, and what is no table."""

from __future__ import annotations

import json
from typing import Any

import pytest

from obmc import RatingsError
from obmc.datasets.ratings_file import read_ratings
from obmc.datasets.reader import json_text

TRUTH = {(f"u{u}", f"m{i}"): (u * i) % 5 + 1 for u in range(6) for i in range(5) if (u + i) % 4}
ROWS = [[user, item, rating] for (user, item), rating in TRUTH.items()]
NAMES = ["user", "item", "rating"]
RECORDS = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
COLUMNS: dict[str, list[Any]] = {name: [record[name] for record in RECORDS] for name in NAMES}
BY_USER: dict[str, dict[str, int]] = {}
for (who, what), given in TRUTH.items():
    BY_USER.setdefault(who, {})[what] = given

FORMS = {
    "a list of objects": json.dumps(RECORDS),
    "a list of lists with a head": json.dumps([NAMES, *ROWS]),
    "a list of lists": json.dumps(ROWS),
    "split, as pandas writes it": json.dumps({"columns": NAMES, "index": list(range(len(ROWS))), "data": ROWS}),
    "by columns, as lists": json.dumps(COLUMNS),
    "by columns, as pandas writes it": json.dumps(
        {n: {str(k): v for k, v in enumerate(c)} for n, c in COLUMNS.items()}
    ),
    "one list inside an object": json.dumps({"status": "ok", "ratings": RECORDS}),
    "objects by a key": json.dumps({f"row-{k}": record for k, record in enumerate(RECORDS)}),
    "by user and item": json.dumps(BY_USER),
    "objects inside objects": "\n".join(
        json.dumps({"user": {"id": user}, "item": {"id": item, "seen": True}, "rating": rating})
        for user, item, rating in ROWS
    ),
    "as MongoDB writes it": "\n".join(
        json.dumps(
            {
                "_id": {"$oid": f"5f{k:022x}"},
                "user": {"$oid": user},
                "item": item if k % 2 else {"$oid": item},
                "rating": {"$numberInt": str(rating)},
                "at": {"$date": {"$numberLong": str(1_600_000_000_000 + k)}},
            }
        )
        for k, (user, item, rating) in enumerate(ROWS)
    ),
    "objects inside some": json.dumps(
        [{"user": u, "item": i, "rating": r, "more": {"a": None} if k % 2 else 3} for k, (u, i, r) in enumerate(ROWS)]
    ),
    "Python literals by line": "\n".join(repr(record) for record in RECORDS),
    "lines with commas between brackets": "[\n" + ",\n".join(json.dumps(record) for record in RECORDS) + "\n]",
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_ratings(form: str) -> None:
    table = read_ratings(FORMS[form].encode())
    found = {(str(row.user), str(row.item)): row.rating for row in table.frame.itertuples()}
    assert found == TRUTH
    said = " ".join(table.notes)
    assert ("Python literals" in said) == (form == "Python literals by line")
    assert ("lists ratings by user and item" in said) == (form == "by user and item")


@pytest.mark.parametrize("cut", [len(FORMS["a list of objects"]) // 2, len(FORMS["a list of objects"]) - 1])
def test_a_list_that_breaks_off_is_read_up_to_there(cut: int) -> None:
    table = read_ratings(FORMS["a list of objects"][:cut].encode())
    assert 0 < table.n_ratings <= len(ROWS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": [1, 2], "b": {"c": 3}}', "JSON"),
        ("{}\n{}", "holds no rows"),
        ('[["u1", "m1", 4], {"user": "u1", "item": "m1", "rating": 4}]', "broken or no table"),
        ('{"user": "u1"\n{"item": \n{"rating": 3', "broken or no table"),
    ],
)
def test_what_is_no_table_gets_a_sentence(text: str, message: str) -> None:
    with pytest.raises(RatingsError, match=message) as caught:
        read_ratings(text.encode())
    assert "\n" not in str(caught.value)


def test_what_is_too_wide_is_refused_before_it_is_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    outside = json.dumps([{f"name{k}": 1} for k in range(20_001)])
    with pytest.raises(RatingsError, match="too many different names"):
        read_ratings(outside.encode())
    inside = json.dumps([{"more": {f"name{k}": 1}} for k in range(20_001)])
    with pytest.raises(RatingsError, match="too many different names"):
        read_ratings(inside.encode())
    monkeypatch.setattr(json_text, "MOST_CELLS", 3 * len(ROWS) - 1)
    with pytest.raises(RatingsError, match="too many different names"):
        read_ratings(FORMS["a list of objects"].encode())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'[1,"a",{"user":1}]', "begins like JSON but is broken or no table"),
        (b"[null]", "no table"),
        (b'["a", "b", 3]', "no table"),
        (b" [ ]\n", "an empty JSON list"),
    ],
)
def test_a_list_of_something_else_is_no_table(data: bytes, message: str) -> None:
    with pytest.raises(RatingsError, match=message):
        read_ratings(data)


RATED = {f"u{u}": {f"m{m}": (u + m) % 5 + 1 for m in range(6) if (u * m) % 3} for u in range(1, 9) if u % 3}
LISTED = {user: [{"item": item, "rating": rating} for item, rating in row.items()] for user, row in RATED.items()}


@pytest.mark.parametrize(
    "found",
    [
        [{"user": user, "ratings": rows} for user, rows in LISTED.items()],
        {"users": [{"user": user, "age": 30, "ratings": rows} for user, rows in LISTED.items()]},
        LISTED,
    ],
)
def test_a_list_of_ratings_for_each_user(found: Any) -> None:
    table = read_ratings(json.dumps(found).encode())
    rows = zip(table.frame["user"], table.frame["item"], table.frame["rating"], strict=True)
    assert list(rows) == [(user, item, rating) for user, row in RATED.items() for item, rating in row.items()]
    assert len(table.notes) == 1


def test_a_list_of_ratings_for_each_item() -> None:
    listed: dict[str, list[dict[str, Any]]] = {}
    for user, row in RATED.items():
        for item, rating in row.items():
            listed.setdefault(item, []).append({"user": user, "rating": rating})
    films = [{"item": item, "rating": 3.9, "ratings": rows} for item, rows in listed.items()]
    table = read_ratings(json.dumps(films).encode())
    found = set(zip(table.frame["user"], table.frame["item"], table.frame["rating"], strict=True))
    # The film's own mean is no user's rating.
    assert found == {(user, item, rating) for user, row in RATED.items() for item, rating in row.items()}
    assert len(table.notes) == 1


def test_what_users_wrote_beside_a_list_of_ratings_is_no_list_of_ratings() -> None:
    found = [{"user": user, "ratings": rows, "comments": [{"user": "z", "likes": 3}]} for user, rows in LISTED.items()]
    assert read_ratings(json.dumps(found).encode()).n_users == len(LISTED)


def test_names_in_python_literals_need_not_be_texts() -> None:
    pairs = [(u, i) for u in range(4) for i in range(3)]
    rows = [
        {"user": f"u{u}", 7: [{1: 2}], "item": f"m{i}", "more": {3: 4}, "rating": (u + i) % 5 + 1} for u, i in pairs
    ]
    table = read_ratings("\n".join(map(repr, rows)).encode())
    assert (table.n_users, table.n_items, table.n_ratings) == (4, 3, 12)


def test_an_empty_object_is_no_value() -> None:
    records = [
        {"user": {"$oid": f"u{u}"} if u else {}, "item": {"$oid": f"m{i}"}, "rating": {"$numberInt": "4"}}
        for u in range(4)
        for i in range(3)
    ]
    table = read_ratings(json.dumps(records).encode())
    assert (table.n_users, table.n_items, table.n_ratings) == (3, 3, 9)


def test_other_lists_inside_a_record_make_no_rows() -> None:
    records = [
        {"user": f"u{u}", "item": f"m{m}", "rating": (u + m) % 5 + 1, "genres": [{"id": 1}, {"id": 2}]}
        for u in range(5)
        for m in range(4)
    ]
    assert read_ratings(json.dumps(records).encode()).n_ratings == 20
