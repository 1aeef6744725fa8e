"""Means and intervals of rows, and the words for a chart."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from obmc.experiments.sweep import FIELDS
from obmc.summary import Mean, as_frame, chart_of, describe, differences, losses, summarise, with_zeros


def row(mechanism="InP", epsilon=1.0, value=0.5, metric="are", calibration="paper", options="{}", repetition=0):
    filled = dict.fromkeys(FIELDS, 0)
    return filled | {
        "mechanism": mechanism,
        "calibration": calibration,
        "options": options,
        "epsilon": epsilon,
        "metric": metric,
        "value": value,
        "repetition": repetition,
    }


def label(mechanism, calibration, options):
    return mechanism


def test_the_interval_is_student_s():
    table = summarise(as_frame(row(value=value) for value in (1.0, 2.0, 3.0)))
    (found,) = table.itertuples()
    # t at 97.5 % with 2 degrees of freedom is 4.302653; s = 1.
    assert found.mean == 2.0 and found.count == 3 and found.spread == pytest.approx(1.0)
    assert found.high - found.mean == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert found.mean - found.low == pytest.approx(found.high - found.mean)


def test_two_constants_differ_without_doubt_and_two_single_draws_without_an_interval():
    def of(seed, values):
        return as_frame(row(value=value, repetition=k) | {"seed": seed} for k, value in enumerate(values))

    (constant,) = differences(of(0, [0.5, 0.5]), of(1, [0.2, 0.2])).itertuples()
    assert (constant.difference, constant.paired) == (pytest.approx(0.3), False)
    assert constant.low == constant.high == constant.difference
    (single,) = differences(of(0, [0.5]), of(1, [0.2, 0.3])).itertuples()
    assert single.difference == pytest.approx(0.25) and math.isnan(single.low)


def test_losses_of_nothing_are_nothing():
    assert losses(as_frame([])).empty
    assert Mean.of([math.nan]).draws == 0


def test_one_draw_has_no_interval():
    (found,) = summarise(as_frame([row(value=2.0)])).itertuples()
    assert found.mean == 2.0 and math.isnan(found.low) and math.isnan(found.high)


def test_calibrations_and_options_are_kept_apart_and_nan_left_out():
    rows = [row(), row(calibration="rigorous"), row(options='{"a":1}'), row(value=math.nan)]
    assert list(summarise(as_frame(rows))["count"]) == [1, 1, 1]


def test_no_rows_make_an_empty_summary_and_chart():
    assert summarise(as_frame([])).empty
    chart = chart_of(as_frame([]), label)
    assert chart.curves.empty and chart.levels.empty and describe(chart, ".3f") == "No points yet."


def test_what_has_no_epsilon_becomes_a_line_and_zeros_score_one():
    rows = [row(epsilon=1.0), row(epsilon=2.0), row("Clear", math.inf, 0.3)]
    chart = chart_of(with_zeros(as_frame(rows)), label)
    assert list(chart.curves["epsilon"]) == [1.0, 2.0]
    assert dict(zip(chart.levels["series"], chart.levels["mean"], strict=True)) == {"Clear": 0.3, "All zeros": 1.0}
    accuracy = chart_of(as_frame([row(metric="sign_accuracy")]), label)
    assert accuracy.levels.empty


def test_the_words_state_the_ends_of_every_curve():
    rows = [row(epsilon=2.0, value=0.25), row(epsilon=0.5, value=0.75), row("Clear", math.inf, 0.2)]
    text = describe(chart_of(with_zeros(as_frame(rows)), label), ".2f")
    assert text == (
        "Means against epsilon. InP: 0.75 at epsilon 0.5, 0.25 at epsilon 2. Lines: Clear 0.20, All zeros 1.00."
    )


def test_intervals_cover_at_their_rate():
    rng = np.random.default_rng(1)
    rows = [row(options=str(k), value=value) for k in range(400) for value in rng.normal(size=5)]
    table = summarise(as_frame(rows))
    assert 0.925 <= ((table["low"] <= 0.0) & (table["high"] >= 0.0)).mean() <= 0.975


def test_losses_are_paired_by_draw_and_point_to_worse():
    clear = [row("Clear", math.inf, value, repetition=k) for k, value in enumerate((0.3, 0.5))]
    rows = [row(value=value, repetition=k) for k, value in enumerate((0.4, 0.9, 7.0))]
    lost = losses(as_frame(clear + rows))
    mine = lost[lost["mechanism"] == "InP"]
    # The third draw has no run of Clear.
    np.testing.assert_allclose(mine["value"], [0.1, 0.4])
    better = losses(as_frame([row("Clear", math.inf, 0.6, "auc"), row(value=0.7, metric="auc")]))
    np.testing.assert_allclose(better[better["mechanism"] == "InP"]["value"], [-0.1])
    common = losses(as_frame(clear[:1] + rows), common=True)
    np.testing.assert_allclose(common[common["mechanism"] == "InP"]["value"], [0.1, 0.6, 6.7])


def test_pairing_takes_away_what_draws_share():
    rng = np.random.default_rng(2)
    shared = rng.normal(size=20)
    mine = as_frame(row(value=shared[k] + rng.normal(0.5, 0.1), repetition=k) for k in range(20))
    other = as_frame(row("ObjP", value=shared[k] + rng.normal(0.0, 0.1), repetition=k) for k in range(20))
    (paired,) = differences(mine, other).itertuples()
    assert paired.paired and paired.draws == 20
    expected = Mean.of(mine["value"].to_numpy() - other["value"].to_numpy())
    assert paired.difference == pytest.approx(expected.value) and paired.high == pytest.approx(
        expected.value + expected.half
    )
    # With another seed the draws are others: Welch's interval, which is wider here.
    (apart,) = differences(mine, other.assign(seed=1)).itertuples()
    assert not apart.paired and apart.difference == pytest.approx(paired.difference)
    test = stats.ttest_ind(mine["value"], other["value"], equal_var=False).confidence_interval(0.95)
    assert (apart.low, apart.high) == pytest.approx((test.low, test.high))
    assert apart.high - apart.low > 3 * (paired.high - paired.low)


def test_a_line_is_the_reference_at_every_epsilon():
    mine = as_frame([row(epsilon=1.0, value=3.0), row(epsilon=2.0, value=2.0)])
    found = differences(mine, as_frame([row("Clear", math.inf, 1.0)]))
    assert list(found["epsilon"]) == [1.0, 2.0] and list(found["difference"]) == [2.0, 1.0]
    assert differences(mine[:1], mine[1:]).empty
