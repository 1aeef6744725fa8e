"""Restaurant and consumer data: the published numbers, items by placeID, a split that a seed decides."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import obmc
from obmc.datasets import RatedItems, restaurant
from obmc.datasets.registry import find_data_home


@pytest.fixture(scope="module")
def places() -> RatedItems:
    return restaurant()


def _whole(data: RatedItems) -> np.ndarray:
    both = [np.column_stack([part.rows, part.cols, part.signs]) for part in (data.train, data.test)]
    whole = np.concatenate(both)
    return whole[np.lexsort((whole[:, 1], whole[:, 0]))]


@pytest.mark.data
def test_the_counts_are_the_published_ones(places: RatedItems) -> None:
    assert places.train.shape == places.test.shape == (138, 130)
    assert (len(places.train), len(places.test)) == (929, 232)
    assert list(places.ratings.columns) == ["user", "item", "rating"]
    assert places.ratings["rating"].value_counts().to_dict() == {0: 254, 1: 421, 2: 486}
    assert places.train.ratio == pytest.approx(0.052, abs=5e-4)  # the paper's Table 1 counts the training part


@pytest.mark.data
def test_a_2_is_positive_and_0_and_1_are_negative_at_the_right_person_and_place(places: RatedItems) -> None:
    users = {user: row for row, user in enumerate(places.users["user"])}
    items = {item: col for col, item in enumerate(places.items["item"])}
    expected = sorted(
        (users[user], items[item], 1 if rating == 2 else -1)
        for user, item, rating in places.ratings.itertuples(index=False)
    )
    np.testing.assert_array_equal(_whole(places), expected)


@pytest.mark.data
def test_rows_and_columns_are_in_the_order_of_their_ids(places: RatedItems) -> None:
    assert places.users["user"].is_monotonic_increasing
    assert places.users["user"].iloc[0] == "U1001"
    assert places.items["item"].is_monotonic_increasing
    assert places.items["item"].dtype.kind == "i"
    assert places.items["title"].iloc[0] == f"Place {places.items['item'].iloc[0]}"


@pytest.mark.data
def test_the_seed_decides_the_split_and_nothing_else(places: RatedItems) -> None:
    again, other = restaurant(rng=0), restaurant(rng=1)
    assert again.train.fingerprint() == places.train.fingerprint()
    assert other.train.fingerprint() != places.train.fingerprint()
    np.testing.assert_array_equal(_whole(other), _whole(places))


@pytest.mark.data
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_restaurants_have_names_where_the_table_of_places_is_there(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "rc").mkdir()
    shutil.copyfile(find_data_home() / "rc" / "rating_final.csv", tmp_path / "rc" / "rating_final.csv")
    table = 'placeID,latitude,name,address\n132560,22.7,"puesto de gorditas",?\n132561,23.7,"café ""ambar""",?\n'
    (tmp_path / "rc" / "geoplaces2.csv").write_bytes(table.encode(encoding))
    titles = restaurant(tmp_path).items.set_index("item")["title"]
    assert titles[132560] == "puesto de gorditas"
    assert titles[132561] == 'café "ambar"'
    assert titles[132564] == "Place 132564"


@pytest.mark.data
def test_a_table_of_places_that_is_something_else_changes_nothing(tmp_path: Path, places: RatedItems) -> None:
    (tmp_path / "rc").mkdir()
    shutil.copyfile(find_data_home() / "rc" / "rating_final.csv", tmp_path / "rc" / "rating_final.csv")
    (tmp_path / "rc" / "geoplaces2.csv").write_bytes(b"\x00\xff;;;\n1;2")
    assert list(restaurant(tmp_path).items["title"]) == list(places.items["title"])


def test_without_the_data_the_message_says_how_to_get_them(empty_data_home: Path) -> None:
    with pytest.raises(obmc.DataNotFoundError, match=r"Restaurant and consumer data is not in .*fetch-data rc"):
        restaurant()
