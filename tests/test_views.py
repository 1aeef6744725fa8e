"""Views: the same numbers whatever the order of the runs, words that state them, and what each series guarantees."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from export_views import SMALL, VIEWS, data_of
from pandas.testing import assert_frame_equal

from obmc import limits, summary
from obmc.links import LINKS, Gaussian
from obmc.offers import NOISE_NAMES, OFFERS
from obmc.plan import Plan, curves_of
from obmc.single import Setting
from obmc.views import COLUMNS, LOSS, CurveView, PinView, RunView

OF_ROWS = [kind for kind, view in VIEWS.items() if not isinstance(view, RunView)]


@pytest.mark.parametrize("kind", OF_ROWS)
def test_the_order_in_which_runs_finish_changes_no_digit(kind):
    view, rows = VIEWS[kind], data_of(kind)
    shuffled = rows.sample(frac=1.0, random_state=3)
    if isinstance(view, PinView):
        # Their rows are put in order when they are gathered.
        found = {name: shuffled.drop(columns="series") for name in view.plans}
        shuffled = view.gather({name: mine[rows.loc[mine.index, "series"] == name] for name, mine in found.items()})
    assert_frame_equal(view.table(shuffled), view.table(rows), check_exact=True)


def test_the_table_holds_the_means_of_the_rows_with_their_settings():
    view, rows = VIEWS["trade-off"], data_of("trade-off")
    table = view.table(rows)
    assert list(table.columns) == list(COLUMNS)
    for line in table[table["mechanism"] != summary.ZEROS].to_dict("records"):
        mine = rows[(rows["mechanism"] == line["mechanism"]) & (rows["options"] == line["options"])]
        mine = mine[(mine["epsilon"] == line["epsilon"]) & (mine["metric"] == "are")]
        assert line["mean"] == pytest.approx(mine["value"].mean(), rel=1e-14) and line["count"] == len(mine) == 3
        for name in ("delta", "ratio", "dataset", "link", "sigma", "alpha", "rank", "tau", "seed", "version"):
            assert set(mine[name]) == {line[name]}
    private = table[table["series"] == "OutP"]
    assert set(private["delta"]) == {1e-5} and set(table[table["series"] == "InP"]["delta"]) == {0.0}
    assert set(table["series"]) == {"InP", "OutP", "Clear", "Clear with effects", "All zeros"}


@pytest.mark.parametrize("kind", ["trade-off", "by ratio", "by epsilon", "heat map"])
def test_the_runs_behind_the_means_are_those_of_the_series_that_are_drawn(kind):
    view, rows = VIEWS[kind], data_of(kind)
    drawn, table = view.draws(rows), view.table(rows)
    assert set(drawn["series"]) == set(table["series"]) and "" not in set(drawn["series"])
    by = ["series", "epsilon", "ratio"]
    counted = drawn.groupby(by).size()
    assert counted.to_dict() == table.set_index(by)["count"].to_dict()


def test_losses_say_what_they_are():
    table = VIEWS["losses"].table(data_of("losses"))
    assert set(table["quantity"]) == {LOSS}
    np.testing.assert_array_equal(table[table["series"] == "Clear"]["mean"], 0.0)


@pytest.mark.parametrize("kind", list(VIEWS))
def test_pictures_and_their_words_state_numbers_of_the_table(kind):
    view, data = VIEWS[kind], data_of(kind)
    pictures = view.pictures(data)
    assert pictures and all(picture.alt and picture.title and picture.figure.data for picture in pictures)
    if isinstance(view, RunView):
        titles = ["Truth", "Observed signs", "Estimate", "Error", "Colour scale"]
        assert [picture.title for picture in pictures] == titles
        return
    first = view.table(data)["mean"].iloc[0 if kind != "heat map" else view.table(data)["mean"].argmin()]
    form = ".3f" if view.table(data)["metric"].iloc[0] == "are" else ".1%"
    assert format(first, form) in pictures[0].alt


def test_views_of_one_plan_show_the_same_numbers():
    ratio, epsilon, heat = (VIEWS[kind].table(data_of(kind)) for kind in ("by ratio", "by epsilon", "heat map"))
    inp = ratio[ratio["series"] == "InP"].set_index("ratio")["mean"]
    other = epsilon[epsilon["series"] == "epsilon = 4"].set_index("ratio")["mean"]
    np.testing.assert_array_equal(inp, other)
    outp = heat[heat["epsilon"] == 4.0].set_index("ratio")["mean"]
    np.testing.assert_array_equal(outp, ratio[ratio["series"] == "OutP"].set_index("ratio")["mean"])
    assert set(heat["series"]) == {"epsilon = 1", "epsilon = 4"}


def test_one_run_stands_beside_clear_and_zeros():
    view, data = VIEWS["one run"], data_of("one run")
    table = view.table(data).set_index("series")
    assert table.loc["OutP", "mean"] == data.run.score and table.loc["Clear", "mean"] == data.clear
    assert table.loc["All zeros", "mean"] == 1.0 and table.loc["OutP", "epsilon"] == 2.0
    (statement,) = view.statements()
    assert statement.guarantee is not None and statement.guarantee.scope == "entry"


def test_statements_are_those_of_the_plan_and_a_refusal_says_why():
    view = VIEWS["trade-off"]
    assert isinstance(view, CurveView)
    found = {(made.series, made.epsilon): made for made in view.statements()}
    assert set(found) == {
        *((name, epsilon) for name in ("InP", "OutP") for epsilon in (1.0, 4.0)),
        ("Clear with effects", math.inf),
    }
    assert found["OutP", 4.0].guarantee == view.plan.guarantee(view.plan.curves[1], 4.0)
    assert found["InP", 1.0].text == "InP at epsilon = 1: epsilon = 1 for the whole output"
    assert found["Clear with effects", math.inf].text == "Clear with effects: No privacy"
    differences = VIEWS["pins"].differences(data_of("pins"))
    assert list(differences["epsilon"]) == [1.0, 4.0] and "Mine" not in set(differences["pin"])


CURVES = curves_of([OFFERS["inp"]], ("rigorous",))
BY_EPSILON = Plan(SMALL, CURVES, (1.0,), 3, "are")
BY_RATIO = replace(BY_EPSILON, ratios=(0.4, 0.5))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CurveView(BY_EPSILON, "heat", curve=CURVES[0]), "needs a plan against the ratio"),
        (lambda: CurveView(BY_RATIO, "epsilon"), "curve one of its private curves"),
        (lambda: CurveView(BY_RATIO, epsilon=3.0), "epsilon must be one of the plan's"),
        (lambda: CurveView(BY_EPSILON, "pie"), "kind must be one of"),
        (lambda: PinView((), "are"), "pins must be at least one"),
        (lambda: replace(VIEWS["pins"], base="Other"), "base must be one of"),
        (lambda: replace(VIEWS["pins"], metric="speed"), "metric must be one of"),
    ],
)
def test_what_makes_no_view_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_without_rows_there_is_no_picture_and_an_empty_table():
    nothing = summary.as_frame(())
    for kind in ("trade-off", "by epsilon", "heat map"):
        assert VIEWS[kind].pictures(nothing) == [] and VIEWS[kind].table(nothing).empty
    view = VIEWS["pins"]
    empty = view.gather(dict.fromkeys(view.plans, nothing))
    assert view.pictures(empty) == [] and view.table(empty).empty and view.differences(empty).empty


def test_captions_name_data_seed_and_what_is_drawn():
    assert (
        "Seed 0" in VIEWS["trade-off"].caption() and "60% of 20 x 20 entries observed" in VIEWS["trade-off"].caption()
    )
    assert VIEWS["losses"].caption().startswith("Means of paired differences to Clear")
    films = CurveView(Plan(Setting(data="ml-100k"), CURVES, (1.0,), 3, "auc", (0.4,)), epsilon=1.0)
    assert films.across == "Share of training ratings kept" and films.caption().startswith("Means over draws")
    assert isinstance(VIEWS["one run"].table(data_of("one run")), pd.DataFrame)


def test_captions_name_the_noise_model_whichever_it_is(monkeypatch):
    monkeypatch.setitem(LINKS, "sech", lambda sigma: Gaussian(0.5))
    monkeypatch.setitem(NOISE_NAMES, "sech", "hyperbolic secant")
    monkeypatch.setattr(limits, "LINK", limits.Choice("noise model", tuple(LINKS)))
    for noise, said in (
        ("logistic", "logistic noise, "),
        ("gaussian", "Gaussian noise, sigma 0.3, "),
        ("sech", "hyperbolic secant noise, "),
    ):
        setting = Setting(noise=noise, sigma=0.3)
        assert f"Synthetic, {said}" in RunView(OFFERS["clear"], setting).caption()
        plan = Plan(setting, curves_of([OFFERS["inp"]], ("paper",)), (1.0, 2.0), 3, "are")
        assert f"Synthetic, {said}" in CurveView(plan).caption()
