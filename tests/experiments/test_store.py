"""The results store: what is kept is found again, by several processes at once, and every fault has its sentence."""

from __future__ import annotations

import math
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from obmc.experiments import FIELDS, RESULTS_VERSION, LayeredStore, MemoryStore, Store, StoreError, Sweep
from obmc.experiments import sweep as sweep_module
from obmc.experiments.outcomes import Outcome
from obmc.experiments.store import FixedStore, default_path
from obmc.experiments.sweep import Point

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "results.sqlite3"


def points(count: int = 3, **settings: object) -> list[Point]:
    epsilons = [float(number) for number in range(1, count + 1)]
    return list(Sweep(**{"mechanisms": ["InP"], "epsilons": epsilons, **settings}).points())


def outcome(value: float, metric: str = "are") -> Outcome:
    return Outcome({metric: value}, 1e-5, math.nan, 1.0, 17.0, 0.25)


def same(first: Outcome, second: Outcome) -> bool:
    return repr(first) == repr(second)


def test_what_is_kept_is_found_again_bit_by_bit(path: Path) -> None:
    runs = points()
    values = [0.1 + 0.2, math.nan, math.inf]
    store = Store(path)
    store.keep([(point, outcome(value)) for point, value in zip(runs, values, strict=True)])
    found = Store(path).find(points(5))
    assert sorted(point.epsilon for point in found) == [1.0, 2.0, 3.0]
    by = {point.epsilon: found[point] for point in found}
    assert all(same(by[float(k + 1)], outcome(value)) for k, value in enumerate(values))


def test_measures_of_one_run_add_up(path: Path) -> None:
    (run,) = points(1)
    store = Store(path)
    store.keep([(run, outcome(1.0, "are"))])
    store.keep([(run, outcome(0.5, "auc"))])
    assert store.find([run])[run].values == {"are": 1.0, "auc": 0.5}
    assert store.info().values == 2


def test_many_keys_are_looked_up_at_once(path: Path) -> None:
    runs = points(40, alpha=[float(bound) for bound in range(1, 41)])
    store = Store(path)
    store.keep([(run, outcome(run.epsilon)) for run in runs])
    found = store.find(runs)
    assert len(found) == 1600
    assert all(found[run].values["are"] == run.epsilon for run in runs)


def test_rows_come_out_as_they_were(path: Path) -> None:
    store = Store(path)
    runs = points(
        2, alpha=[None, 2.0], link="gaussian", sigma=0.3, mechanisms=[{"name": "InP", "calibration": "paper"}]
    )
    store.keep([(run, outcome(0.5)) for run in runs])
    rows = list(store.rows())
    assert all(tuple(row) == FIELDS for row in rows)
    assert len(rows) == 4
    (row,) = [row for row in rows if row["epsilon"] == 2.0 and row["alpha"] == math.inf]
    assert (row["link"], row["sigma"], row["calibration"], row["value"]) == ("gaussian", 0.3, "paper", 0.5)
    assert math.isnan(row["gap"])
    assert isinstance(row["rank"], int)


def test_info_and_prune(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(path)
    store.keep([(run, outcome(1.0)) for run in points(3)])
    monkeypatch.setattr(sweep_module, "RESULTS_VERSION", RESULTS_VERSION - 1)
    store.keep([(run, outcome(1.0)) for run in points(2, mechanisms=["ObjP"])])
    monkeypatch.undo()
    info = store.info()
    assert info.runs == {("synthetic", "InP", "rigorous"): 3}
    assert info.versions == {RESULTS_VERSION - 1: 2, RESULTS_VERSION: 3}
    assert info.bytes > 0
    assert info.seconds == pytest.approx(5 * 0.25)
    assert abs(info.newest - time.time()) < 60
    assert store.prune() == 2
    assert store.prune() == 0
    assert store.prune(older_than=1.0) == 0
    assert store.info().versions == {RESULTS_VERSION: 3}
    assert store.prune(everything=True) == 3
    assert (store.info().runs, store.info().values) == ({}, 0)


WRITER = """
import sys
from obmc.experiments import Store, Sweep
from obmc.experiments.outcomes import Outcome
store = Store(sys.argv[1])
for point in Sweep(mechanisms=["InP"], epsilons=list(range(1, 101)), seed=int(sys.argv[2])).points():
    store.keep([(point, Outcome({"are": float(sys.argv[2])}, 0.0, 0.0, 1.0, 1.0, 1.0))])
"""


def test_several_processes_write_at_once(path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(seed)], cwd=ROOT) for seed in range(3)]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0, 0]
    store = Store(path)
    for seed in range(3):
        found = store.find(points(100, seed=seed))
        assert len(found) == 100
        assert {outcome.values["are"] for outcome in found.values()} == {float(seed)}


# Faults ---------------------------------------------------------------------------------------------------------------


def fault(store: Store, method: str = "find") -> str:
    run = points(1)[0]
    with pytest.raises(StoreError) as caught:
        store.find([run]) if method == "find" else store.keep([(run, outcome(1.0))])
    message = str(caught.value)
    assert str(store.path) in message
    assert "\n" not in message
    return message


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to be looked at " * 100, b"\x00" * 4096])
def test_a_file_that_is_no_store(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    assert "is damaged or is no results store: move it away" in fault(Store(path))
    assert path.read_bytes() == content


def test_a_damaged_store(path: Path) -> None:
    store = Store(path)
    store.keep([(run, outcome(1.0)) for run in points(200)])
    store.close()
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    assert "damaged" in fault(Store(path))


@pytest.mark.parametrize("layout", [0, 1])
def test_a_database_of_another_program_is_refused_and_left_as_it_is(path: Path, layout: int) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE runs (run_uuid TEXT, name TEXT)")
    connection.execute("INSERT INTO runs VALUES ('a', 'b')")
    connection.execute(f"PRAGMA user_version = {layout}")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    for ask in (lambda store: store.find(points(1)), lambda store: store.info(), lambda store: store.prune(True)):
        with pytest.raises(StoreError, match="a database of another program, and nothing in it was changed"):
            ask(Store(path))
    assert path.read_bytes() == before


def test_a_store_of_a_newer_program(path: Path) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert "made by a newer version" in fault(Store(path))


def test_a_locked_store(path: Path) -> None:
    store = Store(path, patience=0.05)
    store.keep([(points(1)[0], outcome(1.0))])
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert "is locked by another program" in fault(store, "keep")
    # Readers are not kept waiting by a writer.
    assert len(store.find(points(1))) == 1
    other.execute("ROLLBACK")
    other.close()
    store.keep([(points(1)[0], outcome(2.0))])


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    message = fault(Store(tmp_path / "file" / "results.sqlite3"))
    assert "cannot be made" in message
    assert "OBMC_RESULTS" in message


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "fixed"
    folder.mkdir(mode=0o555)
    assert "cannot be written" in fault(Store(folder / "results.sqlite3"))


def test_a_path_that_is_a_folder(tmp_path: Path) -> None:
    assert "cannot be written" in fault(Store(tmp_path))


def test_a_read_only_store(path: Path) -> None:
    Store(path).keep([(points(1)[0], outcome(1.0))])
    store = Store(path)
    store.find([])
    with store._opened() as connection:
        connection.execute("PRAGMA query_only = ON")
    assert "cannot be written: change its permissions" in fault(store, "keep")


def test_a_store_without_room(path: Path) -> None:
    store = Store(path)
    store.keep([(points(1)[0], outcome(1.0))])
    with store._opened() as connection:
        connection.execute(f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0]}")
    with pytest.raises(StoreError, match="has no room left: free space on its disk"):
        store.keep([(run, outcome(1.0)) for run in points(200)])
    # What was kept before is still there, and nothing of what was not.
    assert len(Store(path).find(points(200))) == 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 300 kB, where one may be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    made = mount and subprocess.run([mount, "-t", "tmpfs", "-o", "size=300k", "tmpfs", folder], capture_output=True)
    if not made or made.returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk(small_disk: Path) -> None:
    store = Store(small_disk / "results.sqlite3")
    kept = 0
    with pytest.raises(StoreError, match=r"no room left|may be full") as caught:
        for seed in range(200):
            store.keep([(run, outcome(1.0)) for run in points(20, seed=seed)])
            kept += 1
    assert str(store.path) in str(caught.value)
    assert kept > 2
    found = Store(store.path).find([run for seed in range(kept) for run in points(20, seed=seed)])
    assert len(found) == 20 * kept


def test_the_usual_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBMC_RESULTS", "~/here.sqlite3")
    assert default_path() == Path.home() / "here.sqlite3"
    monkeypatch.delenv("OBMC_RESULTS")
    assert default_path().name == "results.sqlite3"


# Other stores ---------------------------------------------------------------------------------------------------------


def test_a_store_in_memory_forgets_the_oldest() -> None:
    store = MemoryStore(size=2)
    runs = points(3)
    for run in runs:
        store.keep([(run, outcome(run.epsilon))])
    assert {run.epsilon for run in store.find(runs)} == {2.0, 3.0}


def test_shipped_results_are_found_by_their_keys(tmp_path: Path, path: Path) -> None:
    runs = points(3)
    store = Store(path)
    store.keep([(run, outcome(run.epsilon)) for run in runs])
    table = pd.DataFrame(list(store.rows()))
    table.insert(0, "key", [run.key for run in runs])
    old = table.assign(version=RESULTS_VERSION - 1, key=[f"old {key}" for key in table["key"]])
    pd.concat([table, old]).to_parquet(tmp_path / "figure.parquet")
    fixed = FixedStore([tmp_path / "figure.parquet"])
    found = fixed.find(points(5))
    assert {run.epsilon: found[run].values["are"] for run in found} == {1.0: 1.0, 2.0: 2.0, 3.0: 3.0}
    assert all(same(found[run], outcome(run.epsilon)) for run in found)
    with pytest.raises(StoreError, match="cannot be read"):
        FixedStore([tmp_path / "none.parquet"]).find(runs)


def test_layers_are_looked_up_in_order_and_written_to_the_first(path: Path) -> None:
    runs = points(3)
    first, second = MemoryStore(), MemoryStore()
    first.keep([(runs[0], outcome(1.0, "are"))])
    second.keep([(runs[0], outcome(0.5, "auc")), (runs[1], outcome(2.0))])
    layers = LayeredStore(first, second)
    found = layers.find(runs)
    assert found[runs[0]].values == {"are": 1.0, "auc": 0.5}
    assert len(found) == 2
    layers.keep([(runs[2], outcome(3.0))])
    assert len(first.find(runs)) == 2
    assert len(second.find(runs)) == 2
    # A layer that cannot be used hides no other.
    path.parent.mkdir()
    path.write_bytes(b"nonsense" * 1000)
    assert len(LayeredStore(Store(path), second).find(runs)) == 2
    with pytest.raises(StoreError, match="damaged"):
        LayeredStore(Store(path), second).keep([(runs[2], outcome(3.0))])
