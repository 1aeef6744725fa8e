"""The paper's figures as sweeps: its settings, its repetitions, and quick versions that are part of the whole."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from obmc.experiments import FIELDS, RESULTS_VERSION, MemoryStore, Sweep, figures
from obmc.experiments.figures import (
    ORIGIN,
    PARTS,
    find_figure,
    origin_of,
    points_of,
    settings_of,
    shipped_rows,
    shipped_seconds,
    shipped_store,
    shipped_tables,
    table_1,
)
from obmc.experiments.machine import machine
from obmc.experiments.outcomes import Outcome
from obmc.experiments.runner import make_rows, run_points
from obmc.experiments.sweep import Point


def test_the_figures_are_those_of_the_paper() -> None:
    found = figures.figures()
    assert list(found) == ["1a", "1b", "2a", "2b", "3a", "3b", "4", "5", "small-epsilon"]
    settings = {
        name: (sweep.dataset, sweep.link, sweep.repetitions, sweep.alpha, sweep.rank, sweep.tau_multiple)
        for name, figure in found.items()
        for sweep in [figure.parts["paper"]]
    }
    assert settings == {
        "1a": ("synthetic", "gaussian", 40, (1.0,), (1,), (1.0,)),
        "1b": ("synthetic", "logistic", 40, (1.0,), (1,), (1.0,)),
        "2a": ("ml-100k", "gaussian", 10, (1.0,), (1,), (1.0,)),
        "2b": ("ml-100k", "logistic", 10, (1.0,), (1,), (1.0,)),
        "3a": ("rc", "gaussian", 10, (1.0,), (1,), (1.0,)),
        "3b": ("rc", "logistic", 10, (1.0,), (1,), (1.0,)),
        "4": ("synthetic", "gaussian", 10, (1.0,), (1,), (1.0,)),
        "5": ("synthetic", "logistic", 10, (1.0,), (1,), (1.0,)),
        "small-epsilon": ("synthetic", "logistic", 40, (1.0,), (1,), (1.0,)),
    }
    one = found["1a"].parts["paper"]
    assert (one.shape, one.ratio, one.sigma, one.metrics[0]) == ((100, 100), (0.15,), 1.0, "are")
    assert one.epsilons == tuple(map(float, range(1, 11)))
    assert found["2a"].parts["paper"].metrics[0] == "sign_accuracy"
    four = found["4"].parts["paper"]
    assert (four.ratio[0], four.ratio[-1]) == (0.2, 0.8)
    assert min(four.epsilons) < 1 and max(four.epsilons) > 5
    small = found["small-epsilon"].parts["paper"]
    assert (small.epsilons[0], small.epsilons[-1], small.ratio) == (0.1, 1.0, (0.15,))


def test_every_figure_has_the_four_mechanisms_at_both_calibrations_and_what_stands_beside_them() -> None:
    for figure in figures.figures().values():
        assert tuple(figure.parts) == PARTS
        specs = {
            (spec.name, spec.calibration, spec.options_text)
            for sweep in figure.parts.values()
            for spec in sweep.mechanisms
        }
        for name in ("InP", "ObjP", "GraP", "OutP"):
            assert {(name, "paper", "{}"), (name, "rigorous", "{}")} <= specs
        assert {("Clear", "", "{}"), ("Majority", "", "{}"), ("InP+", "", "{}")} <= specs
        assert ("OutP", "paper", '{"postprocess":"project"}') in specs
        assert all(sweep.repetitions >= 3 for sweep in figure.parts.values())


@pytest.mark.parametrize("name", ["1b", "2a", "5", "small-epsilon"])
def test_a_quick_figure_is_a_small_part_of_the_whole(name: str) -> None:
    whole = find_figure(name)
    quick = whole.quick()
    keys = {point.key for sweep in whole.parts.values() for point in sweep.points()}
    few = {point.key for sweep in quick.parts.values() for point in sweep.points()}
    assert few < keys
    assert len(few) < len(keys) / 15
    assert set(quick.parts) == ({"paper", "rigorous"} if name == "2a" else set(PARTS))


def test_quick_choices_leave_out_what_takes_minutes() -> None:
    assert figures.choices()["steps-ml-100k"].quick().parts == {}
    assert set(figures.choices()["rank-rc"].quick().parts) == {"logistic", "gaussian"}


def test_an_unknown_figure_is_named() -> None:
    with pytest.raises(ValueError, match="figure must be one of '1a', '1b'"):
        find_figure("6")


def test_shipped_tables_serve_rows_and_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "shipped_folder", lambda: tmp_path)
    sweep = find_figure("3a").parts["rigorous-gradient"]
    known = points_of(sweep)
    outcome = Outcome(dict.fromkeys(sweep.metrics, 0.5), 0.0, math.nan, math.nan, math.nan, 1.0)
    points = list(sweep.points())[:7]
    rows = [row for point in points for row in make_rows(point, outcome, sweep.metrics)]
    assert shipped_rows("3a").empty
    assert list(shipped_rows("3a").columns) == list(FIELDS)
    table = pd.DataFrame([{**origin_of(known[settings_of(row)]), **row} for row in rows])
    table.to_parquet(tmp_path / "figure-3a.parquet")
    assert len(shipped_rows("3a")) == 7 * 3
    found = shipped_store().find(list(sweep.points()))
    assert {point.key for point in found} == {point.key for point in points}
    assert all(entry.values == outcome.values for entry in found.values())


def test_the_mean_times_of_shipped_runs_are_those_of_the_rows() -> None:
    # A run of two tables counts once.
    rows = pd.concat([pd.read_parquet(path) for path in shipped_tables()]).drop_duplicates("key")
    mine = rows[(rows["dataset"] == "rc") & (rows["mechanism"] == "InP") & (rows["calibration"] == "paper")]
    assert shipped_seconds()[("rc", "InP", "paper", "{}")] == pytest.approx(mine["seconds"].mean())


def test_every_shipped_row_has_its_seeds_and_version_and_is_of_these_figures() -> None:
    assert shipped_tables()
    for path in shipped_tables():
        figure = find_figure(path.stem.removeprefix("figure-"))
        table = pd.read_parquet(path)
        assert list(table.columns) == [*ORIGIN, *FIELDS]
        assert set(table["version"]) == {RESULTS_VERSION}
        known = {settings: point for sweep in figure.parts.values() for settings, point in points_of(sweep).items()}
        rows = table.to_dict("records")
        for row in rows:
            assert {name: row[name] for name in ORIGIN} == origin_of(known[settings_of(row)])
        assert len({(row["key"], row["metric"]) for row in rows}) == len(rows)
        assert table["value"].notna().all()


def handful(tables: Sequence[Path], count: int, slow: float) -> list[tuple[str, Point, pd.DataFrame]]:
    """Table, point and rows of a seeded choice of shipped runs, none of which took over ``slow`` seconds."""
    rng = np.random.default_rng(20240611)
    chosen = []
    for path in tables:
        table = pd.read_parquet(path)
        known = {point.key: point for sweep in parts_of(path) for point in sweep.points()}
        keys = sorted(set(table[table["seconds"] <= slow]["key"]))
        for key in rng.choice(keys, size=min(count, len(keys)), replace=False):
            chosen.append((path.stem, known[key], table[table["key"] == key]))
    return chosen


def parts_of(path: Path) -> list[Sweep]:
    return list(find_figure(path.stem.removeprefix("figure-")).parts.values())


def check_again(table: str, point: Point, rows: pd.DataFrame) -> None:
    """Compute a shipped run again: the same bits on the machine that made it, the same numbers on any other."""
    metrics = rows["metric"].tolist()
    (outcome,) = run_points([point], metrics)
    assert isinstance(outcome, Outcome)
    shipped = dict(zip(metrics, rows["value"], strict=True))
    if machine() == json.loads((figures.shipped_folder() / "machine.json").read_text()).get(table):
        assert outcome.values == shipped, point.config()
        return
    for metric, value in shipped.items():
        if metric == "are":
            assert outcome.values[metric] == pytest.approx(value, rel=1e-3), point.config()
        else:
            assert outcome.values[metric] == pytest.approx(value, abs=1e-3), point.config()


def test_a_handful_of_shipped_runs_is_computed_again() -> None:
    synthetic = [path for path in shipped_tables() if parts_of(path)[0].dataset == "synthetic"]
    chosen = handful(synthetic, count=6, slow=1.0)
    assert len({point.spec.name for _, point, _ in chosen}) >= 4
    for table, point, rows in chosen:
        check_again(table, point, rows)


@pytest.mark.data
def test_a_handful_of_shipped_runs_on_real_data_is_computed_again() -> None:
    for path in shipped_tables():
        dataset = parts_of(path)[0].dataset
        if dataset != "synthetic":
            for table, point, rows in handful([path], count=4 if dataset == "rc" else 1, slow=4.0):
                check_again(table, point, rows)


@pytest.mark.evidence
@pytest.mark.data
def test_many_shipped_runs_are_computed_again() -> None:
    for table, point, rows in handful(shipped_tables(), count=60, slow=60.0):
        check_again(table, point, rows)


@pytest.mark.data
def test_table_1_is_that_of_the_paper() -> None:
    movies, places = table_1()
    assert (movies["users"], movies["items"], movies["scale"]) == (943, 1682, "1 2 3 4 5")
    assert round(movies["density"], 3) == movies["printed_density"] == 0.063
    assert (places["users"], places["items"], places["scale"]) == (138, 130, "0 1 2")
    # The printed density is that of the training part.
    assert round(places["training_density"], 3) == places["printed_density"] == 0.052
    assert round(places["density"], 3) == 0.065
    shipped = pd.read_parquet(figures.shipped_folder() / "table-1.parquet")
    pd.testing.assert_frame_equal(shipped, pd.DataFrame([movies, places]), check_dtype=False)


def test_runs_of_two_figures_that_are_the_same_are_computed_once() -> None:
    again = Sweep(mechanisms=[{"name": "InP", "calibration": "paper"}], epsilons=[3], repetitions=2, metrics=["are"])
    store = MemoryStore()
    outcome = Outcome({"are": 1.0}, 0.0, 0.0, 1.0, 1.0, 1.0)
    store.keep([(point, outcome) for point in find_figure("1b").parts["paper"].points()])
    assert len(store.find(list(again.points()))) == 2
