"""What is known of a sweep before it is computed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from experiment_doubles import Quick

from obmc.datasets import synthetic
from obmc.experiments import MemoryStore, Store, Sweep, look_up, run

SMALL = {"shape": (30, 20), "ratio": 0.4, "tol": 1e-3}


def test_known_rows_are_those_of_the_store_and_the_rest_is_missing() -> None:
    store = MemoryStore()
    few = Sweep(mechanisms=["Clear", "InP"], epsilons=[1], **SMALL)
    with ThreadPoolExecutor(1) as executor:
        rows = list(run(few, executor, store))
    many = Sweep(mechanisms=["Clear", "InP", Quick(epsilon=1.0)], epsilons=[1, 2], **SMALL)
    known = look_up(many, store)
    assert known.rows == rows
    assert [(point.spec.name, point.epsilon) for point in known.missing] == [
        ("InP", 2.0),
        ("Quick", 1.0),
        ("Quick", 2.0),
    ]
    # Another metric has to be measured first.
    assert len(look_up(Sweep(mechanisms=["Clear"], metrics=["auc"], **SMALL), store).missing) == 1
    assert look_up(few, None).rows == []


def test_nothing_is_known_of_data_in_memory_or_of_a_store_that_cannot_be_read(tmp_path: Path) -> None:
    private = Sweep(dataset=synthetic(shape=(20, 10), ratio=0.5), mechanisms=["Clear"])
    assert len(look_up(private, MemoryStore()).missing) == 1
    (tmp_path / "results").write_bytes(b"nonsense " * 1000)
    assert len(look_up(Sweep(mechanisms=["Clear"]), Store(tmp_path / "results")).missing) == 1


def test_the_expected_time_comes_from_runs_of_the_same_kind(tmp_path: Path) -> None:
    store = Store(tmp_path / "results.sqlite3")
    with ThreadPoolExecutor(1) as executor:
        rows = list(run(Sweep(mechanisms=["Clear"], repetitions=3, **SMALL), executor, store))
    mean = sum(row["seconds"] for row in rows) / 3
    means = store.mean_seconds()
    assert means == {("synthetic 30 x 20", "Clear", "", "{}"): pytest.approx(mean)}
    more = look_up(Sweep(mechanisms=["Clear"], repetitions=13, **SMALL), store)
    assert more.expected_seconds(2, means) == pytest.approx(10 * mean / 2)
    # Without such runs: by mechanism and size.
    small = look_up(Sweep(mechanisms=["InP"], epsilons=[1]), None).expected_seconds(1)
    large = look_up(Sweep(mechanisms=["InP"], epsilons=[1], dataset="ml-100k"), None).expected_seconds(1)
    assert 0.01 < small < 0.2
    assert 20 * small < large < 200 * small
