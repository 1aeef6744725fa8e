"""The data of a run: what a data set's row says is what is read, for every row alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd
import pytest

import obmc
from obmc.datasets.registry import DATA_SETS, RatedItems
from obmc.experiments import draws, sweep
from obmc.experiments.draws import find_draw

READ: list[dict[str, int]] = []


def read_toy(data_home: object = None, rng: int = 0) -> RatedItems:
    """A reader with a random split: five ratings for training, one to test, other ones for another seed."""
    READ.append({"rng": rng})
    whole = obmc.Observations([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [1, -1, 1, 1, -1, 1], (3, 2))
    train, test = whole.split(5 / 6, rng)
    nobody = pd.DataFrame()
    return RatedItems("toy", nobody, nobody, nobody, 0.5, train, test)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    row = replace(DATA_SETS["rc"], name="toy", shape=(3, 2), reader=f"{__name__}:read_toy")
    monkeypatch.setitem(DATA_SETS, "toy", row)
    monkeypatch.setattr(sweep, "DATASETS", (*sweep.DATASETS, "toy"))
    READ.clear()
    draws._kept.cache_clear()
    yield "toy"
    draws._kept.cache_clear()


def test_a_further_data_set_is_read_by_its_own_reader_with_the_seed_of_the_draw(toy: str) -> None:
    made = sweep.Sweep(dataset=toy, mechanisms=["Clear"], repetitions=2, metrics=["sign_accuracy"])
    found = [find_draw(point.draw) for point in made.points()]
    assert made.shape == (3, 2)
    assert [draw.train.shape for draw in found] == [(3, 2), (3, 2)]
    assert [len(draw.train) for draw in found] == [5, 5]
    assert [read["rng"] for read in READ] == [point.data_seed for point in made.points()]
    assert len({read["rng"] for read in READ}) == 2


@pytest.mark.data
def test_the_whole_of_a_published_split_is_one_draw_with_one_solve() -> None:
    draws._kept.cache_clear()
    made = sweep.Sweep(dataset="ml-100k", mechanisms=["Clear"], repetitions=3, seed=5, metrics=["sign_accuracy"])
    first, *others = (find_draw(point.draw) for point in made.points())
    assert all(draw is first for draw in others)
    share = sweep.Sweep(dataset="ml-100k", mechanisms=["Clear"], repetitions=2, ratio=0.5, metrics=["sign_accuracy"])
    halves = [find_draw(point.draw).train for point in share.points()]
    assert len(halves[0]) == len(halves[1]) == 40_000
    assert not (halves[0].rows == halves[1].rows).all()
    at_random = sweep.Sweep(dataset="rc", mechanisms=["Clear"], repetitions=2, metrics=["sign_accuracy"])
    one, other = (find_draw(point.draw) for point in at_random.points())
    assert one is not other
