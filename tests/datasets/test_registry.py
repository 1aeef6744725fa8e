"""The table of data sets: its digests, the search for the data home, and the page that tells people of it."""

from __future__ import annotations

import hashlib
from importlib import import_module
from pathlib import Path

import pytest

import obmc
from obmc.datasets import DATA_SETS, is_available, load
from obmc.datasets.registry import DataSet, find_data_home, find_data_set, locate, rating_triples_sha256

ROWS = list(DATA_SETS.values())
README = Path(__file__).parents[2] / "data" / "README.md"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_page_on_the_data_says_what_the_table_says(row: DataSet) -> None:
    page = " ".join(README.read_text(encoding="utf-8").split())
    facts = [row.name, row.title, row.summary, row.page, row.address, row.licence, row.citation]
    facts += [row.archive_sha256] if row.archive_sha256 else []
    facts += [text for file in row.files for text in (file.name, file.digest) if text]
    assert [fact for fact in facts if fact not in page] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_can_be_fetched_and_read(row: DataSet) -> None:
    assert row.address.startswith("https://")
    assert any(file.needed for file in row.files)
    module, _, function = row.reader.partition(":")
    assert callable(getattr(import_module(module), function))


def test_the_data_home_is_the_argument_then_the_variable_then_the_users_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OBMC_DATA_HOME", str(tmp_path / "variable"))
    assert find_data_home(tmp_path / "argument") == tmp_path / "argument"
    assert find_data_home() == tmp_path / "variable"
    monkeypatch.setenv("OBMC_DATA_HOME", "")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_data_home().name == "obmc"
    assert tmp_path in find_data_home().parents
    monkeypatch.setenv("OBMC_DATA_HOME", "~/ratings")
    assert find_data_home() == tmp_path / "ratings"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_data_that_are_not_there_are_said_to_be_missing_and_how_to_get_them(
    row: DataSet, empty_data_home: Path
) -> None:
    assert not is_available(row.name)
    with pytest.raises(obmc.DataNotFoundError) as caught:
        load(row.name)
    message = str(caught.value)
    assert str(empty_data_home / row.name) in message
    assert f"python -m obmc fetch-data {row.name}" in message
    assert "\n" not in message


def test_an_unknown_name_is_a_value_error_that_lists_the_names() -> None:
    with pytest.raises(ValueError, match="name must be one of 'ml-100k', 'rc', got 'netflix'"):
        find_data_set("netflix")


def test_a_changed_file_is_not_taken_for_the_data_set(empty_data_home: Path) -> None:
    folder = empty_data_home / "ml-100k"
    folder.mkdir()
    (folder / "u.data").write_text("1\t1\t5\t881250949\n")
    (folder / "u.item").write_text("1|Toy Story (1995)\n")
    with pytest.raises(obmc.DataNotFoundError, match=r"u\.data differs from the published file"):
        locate("ml-100k")


def test_the_digest_of_ratings_ignores_order_columns_and_line_ends_but_no_rating() -> None:
    expected = hashlib.sha256(b"U1,10,2\nU1,9,0\nU2,9,1").hexdigest()
    plain = b"userID,placeID,rating\nU2,9,1\nU1,9,0\nU1,10,2\n"
    wide = "\ufeffplaceID,food,rating,userID\r\n9,1,0,U1\r\n10,0,2,U1\r\n9,2,1,U2\r\n".encode()
    assert rating_triples_sha256(plain) == expected
    assert rating_triples_sha256(wide) == expected
    assert rating_triples_sha256(plain.replace(b"U1,9,0", b"U1,9,1")) != expected
    assert rating_triples_sha256(plain + b"U3,9,1\n") != expected


@pytest.mark.parametrize(
    "content", [b"", b"a,b\n1,2\n", b"\xff\x00\xfe" * 50, b'"' + b"x" * 200_000, b"userID,placeID\n1\n"]
)
def test_what_is_no_table_of_ratings_has_the_digest_of_nothing(content: bytes) -> None:
    assert rating_triples_sha256(content) == hashlib.sha256(b"").hexdigest()


@pytest.mark.data
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_published_copies_are_recognised_and_loaded(row: DataSet) -> None:
    assert row.fault(locate(row.name)) is None
    assert load(row.name).name == row.name
