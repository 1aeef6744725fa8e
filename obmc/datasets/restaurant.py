"""Restaurant and consumer data (RC): 138 people, 130 restaurants, 1,161 ratings in {0, 1, 2}."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import numpy as np

from obmc.datasets.registry import RatedItems, locate
from obmc.observations import Observations

THRESHOLD = 1.5
TRAINING_SHARE = 0.8


def restaurant(data_home: str | os.PathLike[str] | None = None, rng: int | np.random.Generator = 0) -> RatedItems:
    """Y_ij = +1 where person i rated restaurant j with 2, -1 for 0 and 1; shape (138, 130).

    Rows are in the order of the published userID, columns in that of placeID. The ratings are split at random, 80 % for
    training (929 of 1,161) and the rest for testing.

    Parameters
    ----------
    data_home
        The folder that holds ``rc``; by default ``OBMC_DATA_HOME``, else the platform's user data folder.
    rng
        Seed or generator of the split.

    Raises
    ------
    DataNotFoundError
        If the data are not on this machine, with how to get them.

    Source: paper, numerical experiments, real data; Medellín and Serna 2011.
    """
    # It is most of the time that ``import obmc`` would take.
    import pandas as pd

    folder = locate("rc", data_home)
    table = pd.read_csv(folder / "rating_final.csv", dtype={"userID": str}, encoding="utf-8-sig")
    ratings = table.rename(columns={"userID": "user", "placeID": "item"})[["user", "item", "rating"]]
    users, rows = np.unique(ratings["user"].to_numpy(dtype=str), return_inverse=True)
    places, cols = np.unique(ratings["item"].to_numpy(), return_inverse=True)
    signs = np.where(ratings["rating"].to_numpy() > THRESHOLD, 1, -1)
    train, test = Observations(rows, cols, signs, (len(users), len(places))).split(TRAINING_SHARE, rng)
    names = _read_names(folder / "geoplaces2.csv")
    return RatedItems(
        name="rc",
        ratings=ratings,
        users=pd.DataFrame({"user": users}),
        items=pd.DataFrame({"item": places, "title": [names.get(str(place), f"Place {place}") for place in places]}),
        threshold=THRESHOLD,
        train=train,
        test=test,
    )


def _read_names(path: Path) -> dict[str, str]:
    """The restaurants' names by placeID from the archive's table of places; none where that file is not at hand."""
    if not path.is_file():
        return {}
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    rows = csv.DictReader(io.StringIO(text, newline=""))
    return {row["placeID"]: row["name"] for row in rows if row.get("placeID") and row.get("name")}
