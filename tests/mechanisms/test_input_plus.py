"""InP+: the guarantee of InP, a release made of the noised signs alone, and more accuracy for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from obmc import metrics
from obmc.constraints import ConstraintSet
from obmc.datasets import movielens_100k, synthetic
from obmc.links import Gaussian, Link, Logistic
from obmc.mechanisms import Clear, InputPerturbation, InputPerturbationPlus
from obmc.mechanisms.base import NoisedView
from obmc.observations import Observations

LOGISTIC = Logistic()
CSET = ConstraintSet.for_rank((100, 100))
LINKS = pytest.mark.parametrize("link", [LOGISTIC, Gaussian(1.0)], ids=["logistic", "Gaussian"])


def with_effects(shape: tuple[int, int] = (60, 50), seed: int = 0) -> tuple[np.ndarray, Observations]:
    """A matrix of user and item effects and its signs at seven of ten entries."""
    rng = np.random.default_rng(seed)
    truth = 0.3 + rng.standard_normal(shape[0])[:, None] + rng.standard_normal(shape[1])[None, :]
    rows, cols = np.nonzero(rng.random(shape) < 0.7)
    signs = np.where(rng.random(len(rows)) < LOGISTIC.probability(truth[rows, cols]), 1, -1)
    return truth, Observations(rows, cols, signs, shape)


@LINKS
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_guarantee_is_that_of_input_perturbation_but_for_the_name(link: Link, epsilon: float) -> None:
    plus = InputPerturbationPlus(epsilon=epsilon).guarantee(link, CSET, (100, 100))
    plain = InputPerturbation(epsilon=epsilon).guarantee(link, CSET, (100, 100))
    # As text, in which what is not a number equals itself.
    assert repr(plus) == repr(replace(plain, mechanism="InP+", rigorous_change=""))
    assert plus.epsilon == epsilon
    assert plus.trust == "local"


def test_the_noise_is_that_of_input_perturbation() -> None:
    _, obs = with_effects()
    plus = InputPerturbationPlus(epsilon=1.0).noised(obs, LOGISTIC, CSET, rng=7)
    plain = InputPerturbation(epsilon=1.0).noised(obs, LOGISTIC, CSET, rng=7)
    np.testing.assert_array_equal(plus.labels, plain.labels)
    assert set(np.unique(plus.labels)) == {0.0, 1.0}


class Fixed:
    """Noise that flips the entries it is told to."""

    simulated = True

    def __init__(self, flips: np.ndarray) -> None:
        self._flips = flips

    def flips(self, n: int, epsilon: float) -> np.ndarray:
        return self._flips


@LINKS
@pytest.mark.parametrize("tuning", ["cross-validation", "rule"])
def test_two_data_sets_with_the_same_noised_signs_give_the_same_release_bit_by_bit(link: Link, tuning: str) -> None:
    _, obs = with_effects()
    rng = np.random.default_rng(0)
    flips = rng.random(len(obs)) < 0.1
    changed = rng.random(len(obs)) < 0.5
    other = obs.with_signs(np.where(changed, -obs.signs, obs.signs))
    cset = ConstraintSet.for_rank(obs.shape, 1, 3.0)
    mechanism = InputPerturbationPlus(epsilon=2.0, tuning=tuning)
    # What is flipped for the other one makes up for what was changed.
    views = [
        mechanism._view(data, link, cset, Fixed(noise))  # type: ignore[arg-type]
        for data, noise in ((obs, flips), (other, flips ^ changed))
    ]
    np.testing.assert_array_equal(views[0].labels, views[1].labels)
    one, two = (mechanism.complete(view, link, cset, tol=1e-3) for view in views)
    assert one.matrix.tobytes() == two.matrix.tobytes()
    assert (one.tau, one.gap, one.iterations) == (two.tau, two.gap, two.iterations)
    assert one.matrix.any()


def test_the_structure_depends_on_nothing_but_the_view() -> None:
    _, obs = with_effects()
    mechanism = InputPerturbationPlus(epsilon=2.0)
    view = mechanism.noised(obs, LOGISTIC, CSET, rng=3)
    copy = NoisedView(view.omega, view.labels.copy(), view.guarantee)
    assert mechanism.structure(view, LOGISTIC, CSET) == mechanism.structure(copy, LOGISTIC, CSET)


def test_effects_are_worth_their_while_where_there_are_some() -> None:
    truth, obs = with_effects()
    cset = ConstraintSet.for_rank(obs.shape, 1, 3.0)
    plus = InputPerturbationPlus(epsilon=2.0).release(obs, LOGISTIC, cset, rng=1, tol=1e-3).completion
    plain = InputPerturbation(epsilon=2.0).release(obs, LOGISTIC, cset, rng=1, tol=1e-3).completion
    assert plus.effects is not None
    error = metrics.average_relative_error(plus, truth)
    assert error < 0.4
    assert error < 0.6 * metrics.average_relative_error(plain, truth)


def test_the_joint_problem_is_solved_to_its_certificate_within_ball_and_box() -> None:
    _, obs = with_effects()
    cset = ConstraintSet.for_rank(obs.shape, 1, 1.5)
    done = InputPerturbationPlus(epsilon=4.0).release(obs, LOGISTIC, cset, rng=1).completion
    assert done.converged
    assert 0.0 <= done.gap <= 1e-4
    assert done.largest_entry <= 1.5 + 1e-12
    assert done.tau <= cset.tau


def test_probabilities_are_those_of_the_entries() -> None:
    _, obs = with_effects()
    cset = ConstraintSet.for_rank(obs.shape, 1, 3.0)
    done = InputPerturbationPlus(epsilon=4.0, tuning="rule").release(obs, LOGISTIC, cset, rng=1, tol=1e-3).completion
    chance = done.probability(obs.rows[:50], obs.cols[:50])
    np.testing.assert_allclose(chance, 1.0 / (1.0 + np.exp(-done.matrix[obs.rows[:50], obs.cols[:50]])))


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_at_the_papers_setting_it_is_not_worse_than_zeros(epsilon: float) -> None:
    errors = []
    for seed in range(4):
        problem = synthetic(rng=seed)
        release = InputPerturbationPlus(epsilon=epsilon).release(problem.observations, LOGISTIC, CSET, rng=seed)
        errors.append(metrics.average_relative_error(release.completion, problem.truth))
    assert np.mean(errors) <= 1.05


def test_with_much_to_see_it_does_not_win_by_returning_zeros() -> None:
    errors, plain = [], []
    # One of the four has too weak a truth to be seen, and is left at zeros.
    for seed in range(4):
        problem = synthetic(ratio=0.8, rng=seed)
        for mechanism, kept in (
            (InputPerturbationPlus(epsilon=10.0), errors),
            (InputPerturbation(epsilon=10.0), plain),
        ):
            release = mechanism.release(problem.observations, LOGISTIC, CSET, rng=seed + 10)
            kept.append(metrics.average_relative_error(release.completion, problem.truth))
    assert np.mean(errors) < 0.85
    assert np.mean(errors) < np.mean(plain) - 0.3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"epsilon": 1.0, "tuning": "oracle"}, "tuning must be one of"),
        ({"epsilon": 1.0, "low_rank": "no"}, "low_rank must be one of"),
    ],
)
def test_settings_out_of_range_are_refused_in_words(options: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        InputPerturbationPlus(**options)


def test_a_callback_stops_the_cross_validation_and_the_solver() -> None:
    _, obs = with_effects()
    seen: list[tuple[int, int]] = []

    def stop(progress) -> bool:
        seen.append((progress.iteration, progress.max_iter))
        return False

    done = InputPerturbationPlus(epsilon=4.0).release(obs, LOGISTIC, CSET, rng=1, callback=stop).completion
    # One fold of the first candidate, of a number that nobody knows; after it zeros are all that is known.
    assert seen == [(1, 0)]
    assert not done.matrix.any()


def test_clear_with_effects_has_the_same_model_and_no_privacy() -> None:
    truth, obs = with_effects()
    cset = ConstraintSet.for_rank(obs.shape, 1, 3.0)
    release = Clear(effects=True).release(obs, LOGISTIC, cset, tol=1e-3)
    assert release.guarantee.trust == "none"
    assert release.completion.effects is not None
    assert metrics.average_relative_error(release.completion, truth) < 0.2


@pytest.mark.data
def test_on_films_it_beats_the_papers_estimator_with_and_without_a_low_rank_part() -> None:
    data = movielens_100k()
    cset = ConstraintSet(float(np.sqrt(943 * 1682)), 3.0)
    accuracy = {
        low_rank: metrics.sign_accuracy(
            InputPerturbationPlus(epsilon=4.0, low_rank=low_rank)
            .release(data.train, LOGISTIC, cset, rng=1, tol=3e-3)
            .completion,
            data.test,
        )
        for low_rank in (True, False)
    }
    assert accuracy[True] > 0.720
    assert accuracy[True] > accuracy[False] + 0.003
    assert accuracy[False] > 0.712
