"""MovieLens 100K: the published numbers, the published splits, and signs that cost no privacy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import obmc
from obmc.datasets import RatedItems, movielens_100k
from obmc.datasets.movielens import GENRES
from obmc.datasets.registry import find_data_home


@pytest.fixture(scope="module")
def movies() -> RatedItems:
    return movielens_100k()


def _triples(observations: obmc.Observations) -> np.ndarray:
    return np.column_stack([observations.rows, observations.cols, observations.signs])


@pytest.mark.data
def test_the_counts_are_the_published_ones(movies: RatedItems) -> None:
    assert movies.train.shape == movies.test.shape == (943, 1682)
    assert (len(movies.train), len(movies.test)) == (80_000, 20_000)
    assert list(movies.ratings.columns) == ["user", "item", "rating", "timestamp"]
    assert len(movies.ratings) == 100_000
    assert round(movies.ratings["rating"].mean(), 5) == 3.52986
    assert (movies.train.ratio + movies.test.ratio) == pytest.approx(0.063, abs=5e-4)  # the paper's Table 1
    assert max(movies.test.positive_share, 1 - movies.test.positive_share) == pytest.approx(0.562, abs=5e-4)


@pytest.mark.data
@pytest.mark.parametrize("part", ["base", "test"])
def test_fold_1_is_the_published_split_in_its_order(movies: RatedItems, part: str) -> None:
    published = np.loadtxt(find_data_home() / "ml-100k" / f"u1.{part}", dtype=int)
    observations = movies.train if part == "base" else movies.test
    signs = np.where(published[:, 2] > 3.52986, 1, -1)
    np.testing.assert_array_equal(_triples(observations), np.column_stack([published[:, :2] - 1, signs]))


@pytest.mark.data
def test_the_five_folds_partition_the_ratings(movies: RatedItems) -> None:
    folds = [movielens_100k(fold=fold) for fold in range(1, 6)]
    tested = np.concatenate([_triples(fold.test) for fold in folds])
    assert len(np.unique(tested[:, 0] * 1682 + tested[:, 1])) == 100_000
    for fold in folds:
        both = np.concatenate([_triples(fold.train), _triples(fold.test)])
        assert len(np.unique(both[:, 0] * 1682 + both[:, 1])) == 100_000
    assert movies.test.fingerprint() == folds[0].test.fingerprint()
    assert len({fold.test.fingerprint() for fold in folds}) == 5


@pytest.mark.data
def test_the_public_threshold_gives_the_signs_of_the_mean(movies: RatedItems) -> None:
    ratings = movies.ratings["rating"].to_numpy()
    assert movies.threshold == 3.5
    np.testing.assert_array_equal(ratings > movies.threshold, ratings > ratings.mean())


@pytest.mark.data
def test_films_have_titles_with_their_accents_and_genres(movies: RatedItems) -> None:
    films = movies.items.set_index("item")
    assert list(films.index) == list(range(1, 1683))
    assert films.loc[1, "title"] == "Toy Story (1995)"
    assert films.loc[1, "genres"] == "Animation|Children's|Comedy"
    assert films.loc[1, "released"] == "01-Jan-1995"
    assert "Misérables, Les (1995)" in set(films["title"])
    assert films.loc[267, "title"] == "unknown"
    assert (films["genres"].str.split("|").explode().isin(GENRES)).all()
    assert (films["title"].str.strip() == films["title"]).all()
    assert list(movies.users["user"]) == list(range(1, 944))


@pytest.mark.data
@pytest.mark.parametrize("fold", [0, 6, 1.5, "1", True])
def test_a_fold_that_does_not_exist_is_named(fold: object) -> None:
    with pytest.raises(ValueError, match="fold must be a whole number from 1 to 5"):
        movielens_100k(fold=fold)


def test_without_the_data_the_message_says_how_to_get_them(empty_data_home: Path) -> None:
    with pytest.raises(obmc.DataNotFoundError, match=r"MovieLens 100K is not in .*fetch-data ml-100k"):
        movielens_100k()
    with pytest.raises(obmc.DataNotFoundError, match="elsewhere"):
        movielens_100k(empty_data_home / "elsewhere")
