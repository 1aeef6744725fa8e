"""Reading a chart at one epsilon: points as they are, values between them, losses against Clear, and the sentences."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest

import obmc
from obmc.experiments.sweep import FIELDS
from obmc.offers import OFFERS
from obmc.plan import Plan, curves_of, key_of
from obmc.reading import calibration_changes, epsilon_for, needed, read
from obmc.single import Setting
from obmc.summary import Mean

PLAN = Plan(Setting(), curves_of([OFFERS[key] for key in ("inp", "objp", "outp")], ("rigorous",)), (1.0, 4.0), 3, "are")
INP, OBJP, OUTP = PLAN.private


def rows(plan: Plan, values: dict[tuple[str, float], list[float]]) -> pd.DataFrame:
    """Rows with these draws, by the curve's label (or Clear) and epsilon."""
    specs = {curve.label: key_of(curve.spec) for curve in plan.private} | {"Clear": ("Clear", "", "{}")}
    found = []
    for (label, epsilon), draws in values.items():
        mechanism, calibration, options = specs[label]
        for repetition, value in enumerate(draws):
            found.append(
                dict.fromkeys(FIELDS, 0)
                | {"mechanism": mechanism, "calibration": calibration, "options": options, "epsilon": epsilon}
                | {"metric": plan.metric, "value": value, "repetition": repetition, "ratio": 0.15}
            )
    return pd.DataFrame(found)


ROWS = rows(
    PLAN,
    {
        ("Clear", math.inf): [0.3, 0.4, 0.5],
        ("InP", 1.0): [0.8, 0.9, 1.0],
        ("InP", 4.0): [0.4, 0.5, 0.6],
        ("ObjP", 1.0): [0.3, 0.4, 0.5],
        ("ObjP", 4.0): [0.2, 0.3, 0.4],
        ("OutP", 4.0): [2.0, 2.1, 2.2],
    },
)


def test_a_point_of_the_chart_is_read_as_it_is_the_best_curve_first() -> None:
    first, second = read(ROWS, PLAN, 1.0)
    assert (first.curve.label, second.curve.label) == ("ObjP", "InP")
    assert second.value.value == pytest.approx(0.9) and second.between is None
    assert second.loss.value == pytest.approx(0.5) and second.loss.half == pytest.approx(0.0, abs=1e-12)
    assert second.guarantee.epsilon == 1.0
    assert second.sentence.startswith(
        "At epsilon = 1, InP has a mean average relative error of 0.900 ± 0.248, 0.500 ± 0.000 above no privacy; an "
        "adversary's odds about one rating's sign grow at most 2.8-fold ("
    )
    assert ", the same as without privacy;" in first.sentence


def test_between_two_points_each_draw_is_interpolated_in_the_logarithm() -> None:
    found = {reading.curve.label: reading for reading in read(ROWS, PLAN, 2.0)}
    assert set(found) == {"InP", "ObjP"}
    assert found["InP"].value.value == pytest.approx(0.7)
    assert found["InP"].between == (1.0, 4.0)
    assert ", read off the line between 1 and 4, InP" in found["InP"].sentence
    assert "0.050 ± 0.000 below no privacy" in found["ObjP"].sentence


def test_no_curve_is_read_beyond_its_points() -> None:
    assert read(ROWS, PLAN, 0.5) == []
    assert {reading.curve.label for reading in read(ROWS, PLAN, 4.0)} == {"InP", "ObjP", "OutP"}


def test_a_delta_is_said_and_what_is_not_known_is_not() -> None:
    (outp,) = (reading for reading in read(ROWS, PLAN, 4.0) if reading.curve is OUTP)
    assert ", plus a probability of 0.00001 (" in outp.sentence
    alone = [reading for reading in read(ROWS[ROWS["mechanism"] != "Clear"], PLAN, 4.0) if reading.curve is INP]
    assert "no privacy" not in alone[0].sentence
    assert math.isnan(alone[0].loss.value)


def test_where_nothing_or_next_to_nothing_is_promised() -> None:
    wide = replace(PLAN, curves=curves_of([OFFERS["outp"]], ("paper",)), epsilons=(20.0,))
    (found,) = read(rows(wide, {("OutP", 20.0): [0.5]}), wide, 20.0)
    assert "may grow more than a million-fold (epsilon = 20 for one entry fixed in advance)" in found.sentence
    nothing = obmc.Clear().guarantee(obmc.Logistic(), obmc.ConstraintSet.for_rank((9, 9)), (9, 9))
    assert (
        "no limit is proven on what the result reveals about one rating's sign over the whole"
        in replace(found, guarantee=nothing).sentence
    )


def test_accuracy_is_said_in_percent_and_points() -> None:
    plan = replace(PLAN, metric="sign_accuracy")
    found = rows(plan, {("Clear", math.inf): [0.7, 0.8], ("InP", 1.0): [0.6, 0.7], ("ObjP", 1.0): [0.7, 0.8]})
    best, inp = read(found, plan, 1.0)
    assert inp.sentence.startswith("At epsilon = 1, InP is right 65.0 % ± 63.5 of the time, 10.0 ± 0.0 points below no")
    assert ", the same as without privacy;" in best.sentence
    one = read(found[found["repetition"] == 0], plan, 1.0)[1]
    assert "is right 60.0 % of the time, 10.0 points below no privacy;" in one.sentence


def test_the_epsilon_that_a_wanted_value_needs() -> None:
    found = epsilon_for(ROWS, PLAN, INP, 0.7)
    assert 1.0 < found.epsilon < 4.0
    said = needed(found, INP, 0.7, "are")
    assert said.startswith(f"InP reaches 0.7 from epsilon = {found.epsilon:.2g} on")
    assert "% interval over draws: " in said
    never = epsilon_for(ROWS, PLAN, INP, 0.1)
    assert needed(never, INP, 0.1, "are") == "InP does not reach 0.1 up to epsilon = 4."
    at_once = epsilon_for(ROWS, PLAN, INP, 0.95)
    assert needed(at_once, INP, 0.95, "are").startswith("InP reaches 0.95 at the smallest epsilon of the chart already")
    single = epsilon_for(ROWS[ROWS["repetition"] == 0], PLAN, INP, 0.6)
    assert "interval" not in needed(single, INP, 0.6, "sign_accuracy")
    assert "60 %" in needed(single, INP, 0.6, "sign_accuracy")


def test_a_mechanism_that_refuses_is_left_out() -> None:
    single = replace(PLAN, setting=replace(Setting(), noise="gaussian", sigma=0.05, alpha=3.0))
    paper = replace(single, curves=curves_of([OFFERS["objp"]], ("paper",)))
    assert read(rows(paper, {(paper.private[0].label, 1.0): [0.5]}), paper, 1.0) == []
    assert calibration_changes(paper, 1.0) == {}
    assert "InP" in calibration_changes(PLAN, 1.0)


def test_a_mean_of_nothing() -> None:
    assert Mean.of([]).draws == 0 and math.isnan(Mean.of([math.inf]).value)
