"""One table of bounds: what is checked, what is parsed, what a slider stops at."""

from __future__ import annotations

import pytest

from obmc import limits
from obmc.experiments.figures import EPSILONS, RATIO_EPSILONS, RATIOS, SMALL_EPSILONS
from obmc.offers import CALIBRATIONS, OFFERS, find_offer
from obmc.single import Setting

RANGES = [bound for bound in vars(limits).values() if isinstance(bound, limits.Range)]


@pytest.mark.parametrize("bound", RANGES, ids=lambda bound: bound.name)
def test_a_range_takes_its_ends_and_default_and_nothing_beyond(bound):
    for value in (bound.low, bound.default, bound.high):
        assert bound.check(value) == value and bound.parse(f"{value!r}") == value
    for value in (bound.low - bound.step, bound.high + bound.step, float("nan"), float("inf"), "x", None, True):
        with pytest.raises(ValueError, match=bound.name):
            bound.check(value)
    for text in ("", "banana", "nan", "1e999", "--1"):
        with pytest.raises(ValueError, match=bound.name):
            bound.parse(text)


def test_the_smallest_matrix_holds_the_largest_rank():
    assert limits.RANK.high <= limits.SIZE.low
    assert Setting(rank=20, size=20).point.draw.rank == 20


def test_the_grid_of_epsilon_spans_its_range():
    assert (limits.EPSILON_GRID[0], limits.EPSILON_GRID[-1]) == (limits.EPSILON.low, limits.EPSILON.high)
    assert limits.EPSILON.default in limits.EPSILON_GRID
    assert list(limits.EPSILON_GRID) == sorted(limits.EPSILON_GRID)


@pytest.mark.parametrize(("value", "stop"), [(0.1, 0.1), (3.3, 3.0), (3.6, 4.0), (20.0, 20.0), (17.0, 15.0)])
def test_the_nearest_stop_is_nearest_in_ratio(value, stop):
    assert limits.nearest_epsilon(value) == stop


@pytest.mark.parametrize("points", [2, 3, 8, 20])
@pytest.mark.parametrize(("low", "high"), [(0.1, 20.0), (0.5, 10.0), (1.0, 2.0), (4.0, 4.0)])
def test_epsilons_between_keep_both_ends(low, high, points):
    found = limits.epsilons_between(low, high, points)
    assert found[0] == low and found[-1] == high and len(set(found)) == len(found) <= points
    assert set(found) <= set(limits.CURVE_GRID)


def test_the_grid_of_curves_has_the_papers_points_and_its_range():
    assert (limits.CURVE_GRID[0], limits.CURVE_GRID[-1]) == (limits.EPSILON.low, limits.EPSILON.high)
    assert list(limits.CURVE_GRID) == sorted(set(limits.CURVE_GRID))
    assert limits.epsilons_between(1.0, 10.0, int(limits.POINTS.default)) == EPSILONS
    assert limits.ratios_between(0.2, 0.8) == RATIOS
    assert set(RATIO_EPSILONS) | set(SMALL_EPSILONS) <= set(limits.CURVE_GRID)


@pytest.mark.parametrize("key", OFFERS)
@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_every_offer_makes_a_mechanism(key, calibration):
    offer = find_offer(key)
    spec = offer.spec(calibration)
    assert spec.is_private == offer.private
    made = spec.build(2.0)
    assert made.label == spec.name


def test_unknown_names_are_refused_with_the_choice():
    with pytest.raises(ValueError, match="mechanism must be one of 'clear'"):
        find_offer("nothing")
    with pytest.raises(ValueError, match="calibration must be one of 'rigorous', 'paper'"):
        find_offer("inp").spec("loose")
    with pytest.raises(ValueError, match="data must be one of 'synthetic'"):
        Setting(data="nothing")
    with pytest.raises(ValueError, match=r"epsilon must be a finite number of at least 0\.1 and at most 20"):
        Setting(epsilon=0.0)
