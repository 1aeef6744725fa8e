"""MovieLens 100K: 943 people, 1,682 films, 100,000 ratings from 1 to 5."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from obmc.datasets.registry import RatedItems, locate
from obmc.errors import check_integer
from obmc.observations import Observations

if TYPE_CHECKING:
    import pandas as pd

SHAPE = (943, 1682)
THRESHOLD = 3.5
TEST_SIZE = 20_000

# In the order of the 19 flags at the end of each line of u.item.
GENRES = (
    "unknown",
    "Action",
    "Adventure",
    "Animation",
    "Children's",
    "Comedy",
    "Crime",
    "Documentary",
    "Drama",
    "Fantasy",
    "Film-Noir",
    "Horror",
    "Musical",
    "Mystery",
    "Romance",
    "Sci-Fi",
    "Thriller",
    "War",
    "Western",
)


def movielens_100k(data_home: str | os.PathLike[str] | None = None, fold: int = 1) -> RatedItems:
    """Y_ij = +1 where person i's rating of film j is above 3.5, else -1; shape (943, 1682).

    The paper's threshold is the mean of all ratings, 3.52986, which is itself a number computed from the private data.
    Every threshold in (3, 4) gives the same signs on a scale of whole numbers, so the public constant 3.5 stands here
    and costs no privacy. Row i belongs to user i + 1 and column j to film j + 1 of the published files.

    Parameters
    ----------
    data_home
        The folder that holds ``ml-100k``; by default ``OBMC_DATA_HOME``, else the platform's user data folder.
    fold
        From 1 to 5: which of the published splits into 80,000 training and 20,000 test ratings; the paper's is 1
        (u1.base and u1.test). They are made from u.data, whose k-th 20,000 lines are the k-th test set, and sorted by
        person, then film, as the published ones are.

    Raises
    ------
    DataNotFoundError
        If the data are not on this machine, with how to get them.

    Source: paper, numerical experiments, real data; Harper and Konstan 2015.
    """
    # It is most of the time that ``import obmc`` would take.
    import pandas as pd

    part = check_integer("fold", fold, low=1, high=5)
    folder = locate("ml-100k", data_home)
    ratings = pd.read_csv(folder / "u.data", sep="\t", header=None, names=["user", "item", "rating", "timestamp"])
    in_test = np.zeros(len(ratings), dtype=bool)
    in_test[(part - 1) * TEST_SIZE : part * TEST_SIZE] = True
    return RatedItems(
        name="ml-100k",
        ratings=ratings,
        users=pd.DataFrame({"user": np.arange(1, SHAPE[0] + 1)}),
        items=_read_items(folder / "u.item"),
        threshold=THRESHOLD,
        train=_observations(ratings[~in_test]),
        test=_observations(ratings[in_test]),
    )


def _observations(ratings: pd.DataFrame) -> Observations:
    ordered = ratings.sort_values(["user", "item"])
    signs = np.where(ordered["rating"].to_numpy() > THRESHOLD, 1, -1)
    return Observations(ordered["user"].to_numpy() - 1, ordered["item"].to_numpy() - 1, signs, SHAPE)


def _read_items(path: os.PathLike[str]) -> pd.DataFrame:
    """Film number, title, release date and genres (joined by ``|``); the file is Latin-1."""
    import pandas as pd

    names = ["item", "title", "released", "video", "address", *GENRES]
    films = pd.read_csv(path, sep="|", header=None, names=names, encoding="latin-1", keep_default_na=False, quoting=3)
    flags = films[list(GENRES)].to_numpy(dtype=bool)
    genres = ["|".join(np.array(GENRES)[row]) for row in flags]
    return films[["item", "title", "released"]].assign(title=films["title"].str.strip(), genres=genres)
