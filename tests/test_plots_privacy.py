"""Figures about privacy: what they draw is what they were given, and in no theme's colours."""

from __future__ import annotations

import math

import numpy as np
import pytest

import obmc
from obmc import plots_privacy
from obmc.checks import PRESETS
from obmc.plots_privacy import Curve, Rung
from obmc.privacy.audit import privacy_region


@pytest.fixture(scope="module")
def audit():
    data = obmc.datasets.synthetic((20, 20), ratio=0.3, rng=0).observations
    cset = obmc.ConstraintSet.for_rank((20, 20))
    return obmc.audit(obmc.ObjectivePerturbation(epsilon=1.0), data, obmc.Logistic(), cset, runs=400)


class TestWorlds:
    def test_shares_of_continuous_scores_add_up(self, audit):
        figure = plots_privacy.worlds(audit.scores, ("one", "two"), "statistic", audit.event)
        assert [trace.name for trace in figure.data] == ["one", "two"]
        for trace in figure.data:
            assert len(trace.x) == plots_privacy.BINS
            assert sum(trace.y) == pytest.approx(1.0)
        assert figure.layout.shapes[0].x0 == audit.event.threshold
        assert figure.data[0].marker.pattern.shape != figure.data[1].marker.pattern.shape

    def test_few_values_are_bars_of_their_own(self):
        scores = np.array([0.0, 1.0, 1.0, 1.0]), np.array([0.0, 0.0, 0.0, 1.0])
        figure = plots_privacy.worlds(scores, ("one", "two"), "statistic")
        assert list(figure.data[0].x) == [0.0, 1.0]
        assert list(figure.data[0].y) == [0.25, 0.75]
        assert list(figure.data[1].y) == [0.75, 0.25]
        assert not figure.layout.shapes

    @pytest.mark.parametrize("scores", [np.zeros(0), np.array([2.0])])
    def test_before_there_is_much(self, scores):
        figure = plots_privacy.worlds((scores, scores), ("one", "two"), "statistic")
        assert len(figure.data[0].x) == len(scores)


class TestRoc:
    def test_region_band_curve_and_bound(self, audit):
        region, band, curve, event = plots_privacy.roc(audit).data
        np.testing.assert_allclose(region.x, privacy_region(1.0)[0])
        np.testing.assert_allclose(curve.x, audit.roc()[0])
        half = len(band.x) // 2
        np.testing.assert_allclose(band.y[:half], np.clip(audit.roc()[1] + audit.roc_margin, 0, 1))
        assert (event.x[1], event.y[1]) == audit.operating_point()[1]

    def test_its_numbers_are_those_of_the_curve_and_its_band(self, audit):
        false, true = audit.roc()
        table = plots_privacy.roc_numbers(audit)
        for row in table.itertuples():
            assert row.hits == max(true[false <= row.false_alarms])
            within = [
                hits for alarms, hits in zip(false, true, strict=True) if alarms <= row.false_alarms + audit.roc_margin
            ]
            assert row.high == min(max(within) + audit.roc_margin, 1.0)
            assert 0.0 <= row.low <= row.hits <= row.high <= 1.0
        assert (table["hits"].iloc[0], table["hits"].iloc[-1]) == (max(true[false <= 0.0]), 1.0)

    def test_without_a_promise_there_is_no_region(self):
        data = obmc.datasets.synthetic((20, 20), ratio=0.3, rng=0).observations
        cset = obmc.ConstraintSet.for_rank((20, 20))
        found = obmc.audit(obmc.Clear(), data, obmc.Logistic(), cset, runs=40, tol=1e-3)
        assert plots_privacy.roc(found).data[0].name.endswith("band")


class TestLadder:
    def test_values_and_gaps(self):
        figure = plots_privacy.ladder(
            [Rung("a", 1.0, 200.0, 5.0), Rung("b", 1.0, math.nan, math.nan), Rung("c", math.inf, math.inf, 6.0)]
        )
        nominal, exact, audited = figure.data
        assert list(nominal.y) == ["a", "b", "c"]
        assert list(audited.x) == [5.0, None, 6.0]
        assert exact.x[0] == 200.0 and exact.x[1] is None
        # Infinite is drawn inside the axis and said to be so.
        assert nominal.x[2] < 10 ** figure.layout.xaxis.range[1]
        assert nominal.customdata[2] == "inf"
        assert len({trace.marker.symbol for trace in figure.data}) == 3

    def test_a_bound_that_is_0_is_drawn_at_the_edge(self):
        figure = plots_privacy.ladder([Rung("a", 1.0, 2.0, 0.0, at_least=True)])
        assert math.log10(figure.data[2].x[0]) == pytest.approx(figure.layout.xaxis.range[0])
        assert figure.data[1].customdata[0] == "at least 2"


def test_change_has_the_scale_of_the_range():
    matrix = np.zeros((3, 4))
    matrix[1, 2] = 1.5
    figure = plots_privacy.change(matrix, 1.0, (1, 2))
    assert (figure.data[0].zmin, figure.data[0].zmax) == (0.0, 2.0)
    assert figure.data[0].z[1][2] == 1.5
    frame = figure.layout.shapes[0]
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (1.5, 2.5, 0.5, 1.5)


def test_lines_and_bars():
    x = np.linspace(1, 2, 20)
    figure = plots_privacy.lines([Curve("InP", x, x**2)], ("a", "b"), log=(True, True), percent=True, marker=(1, 1))
    assert [trace.name for trace in figure.data] == ["InP", "here"]
    assert figure.layout.yaxis.type == "log" and figure.layout.yaxis.tickformat == ".0%"
    figure = plots_privacy.bars(["x", "y"], [("one", [1.0, 2.0]), ("two", [3.0, 4.0])], "value")
    assert list(figure.data[1].text) == ["3", "4"]
    assert figure.data[0].marker.pattern.shape != figure.data[1].marker.pattern.shape


def test_no_figure_has_a_background(audit):
    made = [
        plots_privacy.worlds(audit.scores, ("a", "b"), "s"),
        plots_privacy.roc(audit),
        plots_privacy.ladder([Rung(preset.short, 1.0, 1.0, 1.0) for preset in PRESETS.values()]),
        plots_privacy.change(np.eye(3), 1.0, (0, 0)),
        plots_privacy.lines([Curve("InP", np.ones(3), np.ones(3))], ("a", "b")),
        plots_privacy.bars(["a"], [("b", [1.0])], "c"),
    ]
    for figure in made:
        assert figure.layout.paper_bgcolor == figure.layout.plot_bgcolor == "rgba(0, 0, 0, 0)"
        assert figure.layout.height > 0
