"""The inverse question: known answers, monotone fits against a brute force, intervals that cover, refusals in words."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from obmc.experiments import Sweep, run
from obmc.experiments.inverse import non_increasing, smallest_epsilon
from obmc.experiments.sweep import FIELDS

SETTING = {"dataset": "ml-100k", "link": "logistic", "sigma": 1.0, "alpha": 1.0, "rank": 1, "tau": 10.0, "ratio": 1.0}


def rows(
    values: dict[float, list[float]], clear: list[float], metric: str = "sign_accuracy", mechanism: str = "InP+"
) -> pd.DataFrame:
    """Rows of a sweep with these values at each epsilon, draw by draw, and those of Clear."""
    table = []
    for epsilon, name, series in (
        *((epsilon, mechanism, series) for epsilon, series in values.items()),
        (math.inf, "Clear", clear),
    ):
        for repetition, value in enumerate(series):
            row = dict.fromkeys(FIELDS, 0)
            row.update(SETTING, mechanism=name, calibration="", options="{}", epsilon=epsilon, metric=metric)
            row.update(repetition=repetition, value=value)
            table.append(row)
    return pd.DataFrame(table)


def test_between_two_epsilons_the_answer_is_linear_in_their_logarithm() -> None:
    table = rows({1.0: [0.60, 0.62], 4.0: [0.70, 0.72]}, [0.72, 0.74])
    answer = smallest_epsilon(table, "InP+", 0.07)
    # Distances 0.12 and 0.02 on every draw: halfway, so the geometric mean, and nothing varies between draws.
    assert answer.epsilon == pytest.approx(2.0)
    assert (answer.low, answer.high) == (pytest.approx(2.0), pytest.approx(2.0))
    assert not answer.at_most
    assert answer.draws == 2
    assert answer.curve["distance"].to_list() == pytest.approx([0.12, 0.02])


def test_where_lower_is_better_the_distance_is_upwards() -> None:
    table = rows({1.0: [1.5], 2.0: [1.1]}, [1.0], metric="are")
    answer = smallest_epsilon(table, "InP+", 0.3)
    assert answer.epsilon == pytest.approx(math.sqrt(2.0))
    # One draw has no interval.
    assert math.isnan(answer.low)


def test_ends_are_said_to_be_ends() -> None:
    table = rows({1.0: [0.6, 0.6], 2.0: [0.7, 0.7]}, [0.72, 0.72])
    never = smallest_epsilon(table, "InP+", 0.01)
    assert never.epsilon == never.high == math.inf
    always = smallest_epsilon(table, "InP+", 0.2)
    assert always.at_most
    assert always.epsilon == 1.0


def test_pairs_keep_what_draws_share_out_of_the_interval() -> None:
    rng = np.random.default_rng(3)
    shared = 0.05 * rng.standard_normal(12)
    noise = 0.001 * rng.standard_normal((3, 12))
    base = {1.0: 0.60, 2.0: 0.68, 4.0: 0.72}
    values = {epsilon: list(mean + shared + noise[k]) for k, (epsilon, mean) in enumerate(base.items())}
    answer = smallest_epsilon(rows(values, list(0.73 + shared)), "InP+", 0.03)
    truth = math.exp(math.log(2.0) + 0.5 * math.log(2.0))
    assert answer.low <= truth <= answer.high
    # Unpaired, means of 12 draws with deviation 0.05 would move the answer by more than the whole grid.
    assert answer.high / answer.low < 1.1


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(8)
    hits = 0
    for _ in range(60):
        values = {eps: list(0.72 - 0.1 / eps + 0.01 * rng.standard_normal(15)) for eps in (0.5, 1.0, 2.0, 4.0, 8.0)}
        answer = smallest_epsilon(rows(values, [0.72] * 15), "InP+", 0.05, resamples=300, rng=rng)
        hits += answer.low <= 2.0 <= answer.high
    assert hits >= 51


def test_the_monotone_fit_is_the_nearest_one() -> None:
    assert non_increasing(np.array([1.0, 3.0, 2.0, 0.0])).tolist() == [2.0, 2.0, 2.0, 0.0]
    rng = np.random.default_rng(0)
    values = rng.standard_normal(6)
    fitted = non_increasing(values)
    assert np.all(np.diff(fitted) <= 0.0)
    for _ in range(500):
        other = np.sort(fitted + 0.3 * rng.standard_normal(6))[::-1]
        assert np.sum((other - values) ** 2) >= np.sum((fitted - values) ** 2) - 1e-12


def test_a_draw_without_its_reference_is_left_out() -> None:
    table = rows({1.0: [0.60, 0.10], 4.0: [0.72, 0.10]}, [0.72])
    assert smallest_epsilon(table, "InP+", 0.06).draws == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mechanism": "ObjP"}, "rows must hold runs of ObjP"),
        ({"within": -0.1}, "within must be"),
        ({"resamples": 10}, "resamples must be"),
        ({"reference": "Majority"}, "rows must hold runs of Majority"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_words(change: dict, words: str) -> None:
    given = {"mechanism": "InP+", "within": 0.1, **change}
    with pytest.raises(ValueError, match=words):
        smallest_epsilon(rows({1.0: [0.6]}, [0.7]), **given)


def test_rows_of_several_settings_are_refused() -> None:
    table = rows({1.0: [0.6], 2.0: [0.7]}, [0.7])
    table.loc[0, "alpha"] = 2.0
    with pytest.raises(ValueError, match="rows must be of one alpha"):
        smallest_epsilon(table, "InP+", 0.1)


def test_from_a_sweep() -> None:
    sweep = Sweep(
        dataset="synthetic",
        mechanisms=["Clear", "InP"],
        epsilons=[0.5, 8.0],
        shape=(20, 20),
        ratio=0.5,
        repetitions=3,
        tol=1e-2,
    )

    class Here:
        """Runs at once, in this process."""

        def submit(self, function, *arguments):
            from concurrent.futures import Future

            done: Future = Future()
            done.set_result(function(*arguments))
            return done

    answer = smallest_epsilon(run(sweep, Here()), "InP", 0.5)  # type: ignore[arg-type]
    assert 0.5 < answer.epsilon < 8.0
    assert answer.low <= answer.epsilon <= answer.high
