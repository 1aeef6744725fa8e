"""A chart's plan asks for the right runs, and the rows that are there are found once and for all."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

from obmc.experiments import MemoryStore, run
from obmc.known_rows import DERIVED, KnownRows, expected_seconds
from obmc.offers import OFFERS
from obmc.plan import Plan, curves_of
from obmc.reading import epsilon_for, needed, read
from obmc.single import Setting

CURVES = curves_of([OFFERS["inp"], OFFERS["clear-effects"]], ("rigorous",))
PLAN = Plan(Setting(size=20, ratio=0.6), CURVES, (1.0, 4.0), 3, "sign_accuracy")


def test_curves_are_named_by_calibration_only_where_there_are_several() -> None:
    both = curves_of([OFFERS["inp"], OFFERS["inp+"]], ("rigorous", "paper"))
    assert [curve.label for curve in both] == ["InP, rigorous", "InP, paper", "InP+"]
    assert [curve.label for curve in CURVES] == ["InP", "Clear with effects"]


def test_a_plan_measures_what_comes_at_no_cost_and_clear_once_where_all_draws_are_one() -> None:
    assert PLAN.metrics == ("are", "sign_accuracy")
    assert dataclasses.replace(PLAN, metric="auc").metrics == ("are", "sign_accuracy", "auc", "log_loss")
    assert PLAN.runs == 3 * 3 + 2 * 3
    films = dataclasses.replace(PLAN, setting=Setting(data="ml-100k"))
    assert films.one_reference and films.sweeps[0].repetitions == 1 and films.sweeps[1].repetitions == 3
    shares = dataclasses.replace(films, ratios=(0.2, 0.4))
    assert not shares.one_reference and shares.sweeps[0].repetitions == 3 and shares.sweeps[0].ratio == (0.2, 0.4)


def test_known_rows_are_those_of_the_store_and_the_rest_is_missing() -> None:
    store = MemoryStore()
    known = KnownRows(store)
    rows, missing = known.find(PLAN)
    assert rows.empty and len(missing) == PLAN.runs
    assert expected_seconds(missing, 2) == pytest.approx(expected_seconds(missing, 1) / 2)
    assert expected_seconds(missing, 1) > 0.001
    with ThreadPoolExecutor(1) as executor:
        computed = list(run(PLAN.sweeps[0], executor, store))
        rows, missing = known.find(PLAN)
        assert len(rows) == len(computed) and {point.spec.name for point in missing} == {"InP"}
        list(run(PLAN.sweeps[1], executor, store))
    rows, missing = known.find(PLAN)
    assert not missing and len(rows) == 2 * PLAN.runs
    # Complete: found again without the store.
    store.find = None  # type: ignore[assignment,method-assign]
    again, _ = known.find(PLAN)
    assert again is rows

    mine = PLAN.rows_of_metric(rows)
    (reading,) = read(mine, PLAN, 1.0)
    inp = mine[(mine["mechanism"] == "InP") & (mine["epsilon"] == 1.0)]["value"]
    clear = mine[(mine["mechanism"] == "Clear") & (mine["options"] == "{}")]["value"]
    assert reading.value.value == pytest.approx(inp.mean()) and reading.value.draws == 3
    assert reading.loss.value == pytest.approx(clear.mean() - inp.mean())
    assert f"InP is right {100 * inp.mean():.1f} %" in reading.sentence
    assert "odds about one rating's sign grow at most 2.8-fold (epsilon = 1 for the whole output)" in reading.sentence
    assert read(mine, PLAN, 9.0) == []
    curve = PLAN.curves[0]
    assert needed(epsilon_for(mine, PLAN, curve, 1.01), curve, 1.01, "sign_accuracy").startswith(
        "InP does not reach 101 %"
    )
    assert "at the smallest epsilon of the chart already, 1" in needed(
        epsilon_for(mine, PLAN, curve, 0.0), curve, 0.0, "sign_accuracy"
    )


def test_only_what_was_missing_is_asked_for_again_and_the_rows_keep_the_order_of_the_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, asked = MemoryStore(), []
    whole = MemoryStore()
    with ThreadPoolExecutor(1) as executor:
        for sweep in PLAN.sweeps:
            list(run(sweep, executor, whole))
    known = KnownRows(store)
    _, missing = known.find(PLAN)
    find = store.find
    monkeypatch.setattr(store, "find", lambda points: asked.append(len(points)) or find(points))
    # They become known from the last to the first.
    done = whole.find(missing)
    for count, point in enumerate(reversed(missing), start=1):
        store.keep([(point, done[point])])
        rows, left = known.find(PLAN)
        assert len(left) == len(missing) - count and len(rows) == 2 * count
    assert asked == list(range(len(missing), 0, -1))
    straight, _ = KnownRows(whole).find(PLAN)
    pd.testing.assert_frame_equal(rows, straight)


def test_of_many_plans_with_missing_runs_the_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obmc.known_rows.OPEN", PLAN.runs)
    known = KnownRows(MemoryStore())
    plans = [dataclasses.replace(PLAN, setting=Setting(size=20, ratio=0.6, seed=seed)) for seed in range(3)]
    first = [known.find(plan)[1] for plan in plans]
    # Of the last plan the same runs, of the first others like them.
    assert known.find(plans[2])[1] == first[2]
    again = known.find(plans[0])[1]
    assert again != first[0] and [p.key for p in again] == [p.key for p in first[0]]


def test_the_odds_name_delta_where_there_is_one() -> None:
    plan = dataclasses.replace(PLAN, curves=curves_of([OFFERS["outp"]], ("rigorous",)), metric="are", repetitions=1)
    with ThreadPoolExecutor(1) as executor:
        rows = pd.DataFrame([row for part in plan.sweeps for row in run(part, executor)])
    (reading,) = read(plan.rows_of_metric(rows), plan, 1.0)
    assert reading.guarantee.delta == 1e-5
    assert "no conclusion is more than 2.8 times as likely under one sign of a rating" in reading.sentence
    assert "plus a probability of 0.00001 (epsilon = 1, delta" in reading.sentence


def test_what_is_made_of_rows_is_made_once_while_there_are_no_more_of_them() -> None:
    known, plan = KnownRows(None), PLAN
    made: list[int] = []

    def make() -> int:
        made.append(len(made))
        return made[-1]

    assert [known.derived(plan, 5, "chart", make) for _ in range(3)] == [0, 0, 0]
    assert known.derived(plan, 6, "chart", make) == 1
    assert known.derived(dataclasses.replace(plan, repetitions=plan.repetitions + 1), 5, "chart", make) == 2
    assert known.derived(plan, 5, "reading", make) == 3
    for number in range(DERIVED):
        known.derived(plan, 5, number, make)
    # The oldest are forgotten, and made again.
    assert known.derived(plan, 5, "chart", make) == len(made) - 1
