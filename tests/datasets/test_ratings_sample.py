"""The sample file of the repository: invented people and films, made by ``sample`` below, and as good as it should be.

    python tests/datasets/test_ratings_sample.py > data/sample_ratings.csv

Each person has a taste and each film a side, so that most ratings follow from few numbers, as real ones do; popular
films and busy people have more ratings than others.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from obmc.datasets.ratings_file import read_ratings

FILE = Path(__file__).parents[2] / "data" / "sample_ratings.csv"
FIRST = ("Blue", "Silent", "Northern", "Golden", "Hidden", "Crooked", "Paper", "Velvet", "Iron", "Early")
SECOND = ("River", "Orchard", "Station", "Garden", "Letter", "Bridge")


def sample() -> str:
    """About 1,500 ratings from 1 to 5 of 100 people for 60 films; standard library only, so that it never changes."""
    rng = random.Random(20240229)
    films = [f"{first} {second}" for first in FIRST for second in SECOND]
    taste = [rng.choice((-1, 1)) * rng.uniform(0.6, 1.4) for _ in range(100)]
    mood = [rng.gauss(0, 0.3) for _ in range(100)]
    side = [rng.choice((-1, 1)) * rng.uniform(0.6, 1.4) for _ in films]
    quality = [rng.gauss(0, 0.4) for _ in films]
    known = [rng.uniform(0.08, 0.55) for _ in films]
    busy = [rng.uniform(0.4, 1.6) for _ in range(100)]
    rows = []
    for person in range(100):
        for k, film in enumerate(films):
            if rng.random() < 0.83 * known[k] * busy[person]:
                liking = 3 + mood[person] + quality[k] + 1.2 * taste[person] * side[k] + rng.gauss(0, 0.6)
                rows.append((f"person {person + 1:03d}", film, min(5, max(1, round(liking)))))
    rng.shuffle(rows)
    return "user,film,rating\n" + "".join(f"{user},{film},{rating}\n" for user, film, rating in rows)


def test_the_file_is_the_one_that_is_described() -> None:
    assert FILE.read_bytes() == sample().encode()


def test_the_file_is_read_as_it_stands() -> None:
    table = read_ratings(FILE)
    assert table.notes == () and table.n_rows_dropped == 0
    assert (table.n_users, table.n_items) == (100, 60) and 1400 <= table.n_ratings <= 1600
    assert set(table.ratings) == {1, 2, 3, 4, 5}


def test_the_file_is_worth_exploring() -> None:
    """Both signs occur often at the midpoint of the scale, everybody rates, and two numbers for each person and film
    tell most signs: the sign of the best matrix of rank two through the centred ratings.
    """
    table = read_ratings(FILE)
    observed = table.binarize(table.public_threshold(1, 5))
    assert 0.3 < observed.positive_share < 0.7
    assert np.bincount(table.rows).min() >= 3 and np.bincount(table.cols).min() >= 3
    dense = np.zeros(observed.shape)
    dense[table.rows, table.cols] = table.ratings - 3
    left, values, right = np.linalg.svd(dense, full_matrices=False)
    estimate = (left[:, :2] * values[:2]) @ right[:2]
    assert np.mean(np.sign(estimate[observed.rows, observed.cols]) == observed.signs) > 0.75


if __name__ == "__main__":
    print(sample(), end="")
