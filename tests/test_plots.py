"""Figures say what the tables say, and mechanisms are told apart in every way and on every background."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from helpers import contrast
from plotly.colors import sample_colorscale

from obmc import plots, plots_privacy
from obmc.offers import OFFERS
from obmc.plots_privacy import Curve

LIGHT, DARK = "#ffffff", "#000000"


@pytest.mark.parametrize("label", plots.STYLES)
@pytest.mark.parametrize("background", [LIGHT, DARK])
def test_every_colour_stands_out_from_light_and_dark(label, background):
    assert contrast(plots.STYLES[label].colour, background) >= 3.0


def test_text_on_axes_can_be_read_on_light_and_dark():
    figure = plots.curves(summary(), x="epsilon", titles=("Epsilon", "Error"))
    for colour in (figure.layout.xaxis.tickfont.color, figure.layout.yaxis.title.font.color):
        assert contrast(colour, LIGHT) >= 4.5 and contrast(colour, DARK) >= 4.5


def test_both_ends_of_the_scale_stand_out_from_what_is_not_observed():
    for place in (0, -1):
        assert contrast(plots.DIVERGING[place][1], plots.UNOBSERVED) >= 3.0


def test_every_mechanism_offered_has_a_look_of_its_own():
    looks = [plots.STYLES[offer.label] for offer in OFFERS.values()]
    for one, other in itertools.combinations(looks, 2):
        assert one.colour != other.colour
        assert (one.dash, one.marker) != (other.dash, other.marker)


def test_unknown_mechanisms_get_further_looks():
    looks = {plots.style_of("mine", order) for order in range(3)}
    assert len(looks) == 3 and not looks & set(plots.STYLES.values())


# Matrices


def test_block_means_of_a_small_matrix_is_the_matrix():
    matrix = np.arange(6.0).reshape(2, 3)
    assert plots.block_means(matrix, 3) is matrix


def test_block_means_leave_out_what_is_missing():
    matrix = np.array([[1.0, np.nan, 5.0], [3.0, np.nan, 7.0], [np.nan, np.nan, 9.0]])
    np.testing.assert_allclose(plots.block_means(matrix, 2), [[2.0, 6.0], [np.nan, 9.0]])


def test_block_means_of_full_blocks_keep_the_mean():
    matrix = np.random.default_rng(0).normal(size=(943, 1682))
    small = plots.block_means(matrix)
    assert max(small.shape) <= plots.MAX_CELLS
    steps = tuple(-(-n // plots.MAX_CELLS) for n in matrix.shape)
    np.testing.assert_allclose(small[0, 0], matrix[: steps[0], : steps[1]].mean())
    np.testing.assert_allclose(
        small[-1, -1], matrix[steps[0] * (small.shape[0] - 1) :, steps[1] * (small.shape[1] - 1) :].mean()
    )


def test_a_picture_holds_the_matrix_on_the_asked_scale():
    matrix = np.array([[0.5, np.nan], [-3.0, 1.0]])
    figure = plots.picture(matrix, 2.0)
    (heat,) = figure.data
    np.testing.assert_allclose(heat.z, matrix)
    assert (heat.zmin, heat.zmax) == (-2.0, 2.0)
    # Row 0 is at the top, and the whole matrix is in view.
    assert figure.layout.yaxis.range == (1.5, -0.5) and figure.layout.xaxis.range == (-0.5, 1.5)


def test_a_picture_of_blocks_counts_rows_and_columns_of_the_matrix():
    figure = plots.picture(np.zeros((480, 720)), 1.0)
    (heat,) = figure.data
    assert heat.z.shape == (240, 240)
    assert (heat.y0, heat.dy) == (0.5, 2) and (heat.x0, heat.dx) == (1.0, 3)
    assert heat.x0 + (heat.z.shape[1] - 1) * heat.dx + 1 == 719


def test_the_colour_key_has_the_scale_of_the_pictures():
    key = plots.colour_key(0.5).data[0]
    assert (key.zmin, key.zmax) == (-0.5, 0.5)
    assert key.colorscale == plots.picture(np.zeros((2, 2)), 0.5).data[0].colorscale


def test_matrix_numbers_are_those_of_the_matrix():
    table = plots.matrix_numbers({"one": np.array([[1.0, np.nan], [-3.0, 2.0]])}, 2.0)
    row = table.iloc[0]
    assert (row["picture"], row["entries"], row["smallest"], row["mean"], row["largest"]) == ("one", 3, -3.0, 0.0, 2.0)
    assert row["beyond"] == pytest.approx(1 / 3)


# Curves


def summary() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "series": ["InP", "InP", "mine", "mine"],
            "epsilon": [4.0, 1.0, 1.0, 4.0],
            "mean": [0.7, 0.6, 0.5, 0.55],
            "low": [0.68, 0.58, 0.4, 0.5],
            "high": [0.72, 0.62, 0.6, 0.6],
            "count": [5, 5, 2, 5],
        }
    )


def test_curves_draw_means_and_intervals_in_order():
    figure = plots.curves(summary(), x="epsilon", titles=("Epsilon", "Accuracy"), percent=True)
    traces = {trace.name: trace for trace in figure.data}
    np.testing.assert_allclose(traces["InP"].x, [1.0, 4.0])
    np.testing.assert_allclose(traces["InP"].y, [0.6, 0.7])
    np.testing.assert_allclose(traces["InP, 95 % interval"].y, [0.62, 0.72, 0.68, 0.58])
    assert traces["InP"].line.color == plots.STYLES["InP"].colour
    assert figure.layout.xaxis.type == "log" and figure.layout.yaxis.tickformat == ".3~p"
    assert list(figure.layout.xaxis.tickvals) == [1.0, 4.0]


def test_the_interval_of_two_draws_is_not_drawn():
    figure = plots.curves(summary(), x="epsilon", titles=("Epsilon", "Accuracy"))
    traces = {trace.name: trace for trace in figure.data}
    np.testing.assert_allclose(traces["mine, 95 % interval"].x, [4.0, 4.0])


def test_levels_cross_the_whole_chart():
    levels = [plots.Level("Clear", 0.72, 0.71, 0.73), plots.Level("Majority class", 0.56, 0.56, 0.56)]
    figure = plots.curves(summary(), x="epsilon", titles=("Epsilon", "Accuracy"), levels=levels)
    traces = {trace.name: trace for trace in figure.data}
    assert list(traces["Clear"].x) == [1.0, 4.0] and list(traces["Clear"].y) == [0.72, 0.72]
    assert "Clear, 95 % interval" in traces and "Majority class, 95 % interval" not in traces


def test_a_chart_without_points_has_its_levels():
    figure = plots.curves(
        summary().iloc[:0], x="epsilon", titles=("Epsilon", "Error"), levels=[plots.Level("Clear", 1.9, 1.9, 1.9)]
    )
    assert [trace.name for trace in figure.data] == ["Clear"]
    assert figure.data[0].x[0] < figure.data[0].x[1]


def test_a_series_has_its_own_look_whatever_its_mechanism():
    table = summary().replace({"series": {"InP": "OutP projected", "mine": "OutP"}})
    figure = plots.curves(table, x="epsilon", titles=("Epsilon", "Error"), log=(False, True))
    colours = {trace.name: trace.line.color for trace in figure.data}
    assert colours["OutP projected"] == plots.STYLES["OutP projected"].colour != colours["OutP"]
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("linear", "log")


def test_figures_keep_their_looks_when_new_points_come():
    few = plots.curves(summary().iloc[:1], x="epsilon", titles=("Epsilon", "Error"))
    all_ = plots.curves(summary(), x="epsilon", titles=("Epsilon", "Error"))
    assert few.layout.uirevision == all_.layout.uirevision is not None


def test_the_numbers_of_a_figure_are_those_that_it_draws():
    x = np.array([1.0, 2.0, 4.0])
    drawn = plots_privacy.lines(
        [Curve("one", x, x + 1.0), Curve("other", x[:2], -x[:2])], ("Epsilon", "y"), marker=(2.0, 3.0)
    )
    table = plots.numbers_of(drawn, "Epsilon")
    assert list(table.columns) == ["Epsilon", "one", "other"]
    np.testing.assert_array_equal(table["Epsilon"], x)
    np.testing.assert_array_equal(table["one"], x + 1.0)
    np.testing.assert_array_equal(table["other"], [-1.0, -2.0, np.nan])
    groups = plots_privacy.bars(["b", "a"], [("first", [1.0, 2.0]), ("second", [3.0, 4.0])], "y")
    table = plots.numbers_of(groups, "Group")
    assert table.to_dict("list") == {"Group": ["b", "a"], "first": [1.0, 2.0], "second": [3.0, 4.0]}


def test_the_numbers_of_a_matrix_are_its_entries():
    table = plots.numbers_of_matrix(np.array([[1.0, np.nan, 3.0], [4.0, 5.0, 6.0]]))
    assert list(table.columns) == ["Row", "0", "1", "2"] and list(table["Row"]) == [0, 1]
    assert table.loc[1, "2"] == 6.0 and np.isnan(table.loc[0, "1"])


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(1.0, 90.0, [1, 2, 5, 10, 20, 50, 100]), (1.8, 2.2, [1.8, 1.9, 2, 2.1, 2.2])],
)
def test_a_logarithmic_axis_has_numbers_however_near_together_the_values_are(low, high, expected):
    table = summary().assign(mean=low, low=low, high=high)
    axis = plots.curves(table, x="epsilon", titles=("Epsilon", "Error"), log=(True, True)).layout.yaxis
    assert [tick for tick in axis.tickvals if low <= tick <= 1.2 * high] == expected
    assert [float(text) for text in axis.ticktext] == pytest.approx(axis.tickvals)


def test_the_numbers_on_a_heat_map_stand_out_from_its_colours():
    means = np.linspace(1.0, 3.0, 40)
    table = pd.DataFrame({"epsilon": np.arange(40) + 1.0, "ratio": 0.5, "mean": means, "low": means, "high": means})
    heat, numbers = plots.heat_map(table.assign(count=3), title="Error").data
    assert list(numbers.text) == [f"{mean:.2f}" for mean in means] and list(numbers.x) == list(heat.x)
    grounds = sample_colorscale("Cividis", np.linspace(0.0, 1.0, 40).tolist())
    for ground, colour in zip(grounds, numbers.textfont.color, strict=True):
        as_hex = "#" + "".join(f"{round(float(part)):02x}" for part in ground[4:-1].split(","))
        assert contrast(as_hex, colour) >= 4.5
