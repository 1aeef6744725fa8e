"""The metrics against counts and formulas done by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from obmc import InputPerturbation, metrics
from obmc.constraints import ConstraintSet
from obmc.links import Gaussian, Link, Logistic
from obmc.observations import Observations


@dataclass
class Known:
    """A predictor whose matrix is known."""

    matrix: NDArray[np.float64]
    link: Link = field(default_factory=Logistic)

    def predict(self, rows: ArrayLike, cols: ArrayLike) -> NDArray[np.float64]:
        return self.matrix[np.asarray(rows), np.asarray(cols)]


TEST = Observations([0, 0, 1, 1], [0, 1, 0, 2], [1, -1, -1, 1], (2, 3))


def test_the_relative_error_is_one_for_zeros_and_nought_for_the_truth() -> None:
    truth = np.array([[1.0, -2.0], [0.5, 0.0]])
    assert metrics.average_relative_error(np.zeros((2, 2)), truth) == 1.0
    assert metrics.average_relative_error(truth, truth) == 0.0
    assert metrics.average_relative_error(Known(-truth), truth) == 4.0
    assert metrics.average_relative_error(np.array([[1.0, -2.0], [0.5, 3.0]]), truth) == pytest.approx(9.0 / 5.25)
    assert metrics.average_relative_error([[0.0, 0.0], [0.0, 0.0]], truth.tolist()) == 1.0


@pytest.mark.parametrize(
    ("estimate", "truth", "words"),
    [
        (np.zeros((2, 3)), np.ones((2, 2)), r"^estimate must have the shape of truth, \(2, 2\), got \(2, 3\)"),
        (np.ones((2, 2)), np.zeros((2, 2)), "^truth must not be all zeros"),
        (np.ones((2, 2)), np.full((2, 2), np.nan), "^truth must hold finite numbers only"),
        (np.full((2, 2), np.nan), np.ones((2, 2)), "^estimate must hold finite numbers only"),
        (np.ones(4), np.ones((2, 2)), "^estimate must be an array of 2 dimensions"),
        ("x", np.ones((2, 2)), "^estimate must be an array of 2 dimensions"),
        (np.ones((2, 2)), None, "^truth must be an array of 2 dimensions"),
    ],
)
def test_the_relative_error_names_what_is_wrong(estimate: Any, truth: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        metrics.average_relative_error(estimate, truth)


def test_sign_accuracy_counts_zero_as_plus_one() -> None:
    known = Known(np.array([[0.0, -1e-9, 9.0], [-0.0, 9.0, 0.3]]))
    # +1 and -1 right, -0.0 counts as +1 and is wrong, 0.3 right.
    assert metrics.sign_accuracy(known, TEST) == 0.75


def test_a_release_is_not_what_a_metric_takes_but_its_completion_is() -> None:
    train = Observations([0, 0, 1], [0, 1, 2], [1, -1, 1], (2, 3))
    cset = ConstraintSet.for_rank((2, 3))
    release = InputPerturbation(epsilon=2.0).release(train, Logistic(), cset, rng=np.random.default_rng(0))
    assert 0.0 <= metrics.sign_accuracy(release.completion, TEST) <= 1.0
    for metric in (metrics.sign_accuracy, metrics.auc, metrics.log_loss):
        with pytest.raises(
            ValueError, match=r"^done must be a completion or a baseline.* got a Release; .*\.completion\.$"
        ):
            metric(release, TEST)  # type: ignore[arg-type]


def test_rounding_around_zero_is_no_sign_and_no_order() -> None:
    train = Observations([0, 1], [2, 1], [1, -1], (2, 3))
    for known in (np.array([[-1e-22, 3e-17, 9.0], [-2e-25, 9.0, -1e-13]]), np.zeros((2, 3))):
        assert metrics.sign_accuracy(Known(known), TEST) == 0.5
        assert metrics.auc(Known(known), TEST) == 0.5
        assert metrics.accuracy_by_activity(Known(known), train, TEST)["accuracy"].mean() == 0.5


def test_the_majority_is_the_training_sets_and_ties_go_to_plus_one() -> None:
    assert metrics.majority_accuracy(Observations([0, 1], [0, 0], [-1, -1], (2, 3)), TEST) == 0.5
    test = Observations([0, 0, 1], [0, 1, 0], [1, 1, -1], (2, 3))
    assert metrics.majority_accuracy(Observations([0, 1, 1], [0, 0, 1], [-1, 1, -1], (2, 3)), test) == 1 / 3
    assert metrics.majority_accuracy(Observations([0, 1], [0, 0], [-1, 1], (2, 3)), test) == 2 / 3


@pytest.mark.parametrize("link", [Logistic(), Gaussian(0.5)])
def test_the_log_loss_is_the_mean_surprise(link: Link) -> None:
    matrix = np.array([[0.4, -0.1, 0.0], [0.2, 0.0, -0.7]])
    chances = [link.probability(0.4), 1 - link.probability(-0.1), 1 - link.probability(0.2), link.probability(-0.7)]
    assert metrics.log_loss(Known(matrix, link), TEST) == pytest.approx(-np.mean(np.log(chances)))
    assert metrics.log_loss(Known(np.zeros((2, 3)), link), TEST) == pytest.approx(math.log(2.0))


def test_the_area_under_the_curve_is_the_share_of_ordered_pairs() -> None:
    rng = np.random.default_rng(0)
    places = rng.permutation(400)[:300]
    test = Observations(*np.divmod(places, 20), rng.choice([-1, 1], 300), (20, 20))
    matrix = np.round(rng.standard_normal((20, 20)), 1)  # rounded: with ties
    entries = matrix[test.rows, test.cols]
    above, below = entries[test.signs > 0][:, None], entries[test.signs < 0][None, :]
    assert metrics.auc(Known(matrix), test) == pytest.approx(np.mean((above > below) + 0.5 * (above == below)))
    assert math.isnan(metrics.auc(Known(matrix), test.take(test.signs > 0)))
    assert metrics.auc(Known(test.to_dense().astype(float)), test) == 1.0


def test_reliability_compares_shares_with_probabilities_bin_by_bin() -> None:
    rng = np.random.default_rng(3)
    link, matrix = Logistic(), rng.uniform(-3.0, 3.0, (60, 60))
    signs = np.where(rng.random((60, 60)) < link.probability(matrix), 1, -1)
    test = Observations(*np.divmod(np.arange(3600), 60), signs.reshape(-1), (60, 60))
    table = metrics.reliability(Known(matrix), test, bins=10)
    assert table["count"].sum() == 3600
    assert np.all((table["low"] <= table["predicted"]) & (table["predicted"] <= table["high"]))
    assert np.all(np.abs(table["observed"] - table["predicted"]) <= 4.0 * table["standard_error"])
    first = (link.probability(matrix) >= 0.1) & (link.probability(matrix) < 0.2)
    row = table[np.isclose(table["low"], 0.1)].iloc[0]
    assert row["count"] == first.sum()
    assert row["observed"] == pytest.approx(np.mean(signs[first] > 0))
    sure = metrics.reliability(Known(np.full((2, 3), 800.0)), TEST, bins=4)
    assert sure["low"].tolist() == [0.75] and sure["count"].tolist() == [4]
    with pytest.raises(ValueError, match=r"^bins must be a whole number of at least 2"):
        metrics.reliability(Known(matrix), test, bins=1)


@pytest.mark.parametrize("groups", [1, 2, 5])
def test_accuracy_by_activity_tells_two_levels_apart(groups: int) -> None:
    # User 0 has one training rating and two held-out ones, user 1 has five and three.
    train = Observations([0, 1, 1, 1, 1, 1], [0, 0, 1, 2, 3, 4], np.ones(6), (2, 8))
    test = Observations([0, 0, 1, 1, 1], [5, 6, 5, 6, 7], [1, -1, 1, 1, 1], (2, 8))
    table = metrics.accuracy_by_activity(Known(np.ones((2, 8))), train, test, groups=groups)
    expected = [[1, 5, 5, 0.8]] if groups == 1 else [[1, 1, 2, 0.5], [5, 5, 3, 1.0]]
    assert table[["fewest", "most", "count", "accuracy"]].to_numpy().tolist() == expected


@pytest.mark.parametrize("by", ["user", "item"])
def test_accuracy_by_activity_groups_by_training_counts(by: str) -> None:
    rng = np.random.default_rng(2)
    places = rng.permutation(1600)
    share = (places // 40 + places % 40) / 80.0  # later rows and columns are observed more often
    train_places, test_places = places[rng.random(1600) < share][:700], None
    test_places = np.setdiff1d(places, train_places)
    train, test = (
        Observations(*np.divmod(part, 40), rng.choice([-1, 1], len(part)), (40, 40))
        for part in (train_places, test_places)
    )
    known = Known(rng.standard_normal((40, 40)))
    table = metrics.accuracy_by_activity(known, train, test, by=by, groups=4)
    seen = np.bincount(train.rows if by == "user" else train.cols, minlength=40)
    held = seen[test.rows if by == "user" else test.cols]
    right = np.where(known.predict(test.rows, test.cols) >= 0, 1, -1) == test.signs
    assert table["count"].sum() == len(test)
    assert np.all(table["most"].to_numpy()[:-1] < table["fewest"].to_numpy()[1:])
    for row in table.itertuples():
        inside = (held >= row.fewest) & (held <= row.most)
        assert row.count == inside.sum()
        assert row.accuracy == pytest.approx(right[inside].mean())
    assert (table["count"] @ table["accuracy"]) / len(test) == pytest.approx(metrics.sign_accuracy(known, test))
    with pytest.raises(ValueError, match=r"^by must be one of 'user', 'item'"):
        metrics.accuracy_by_activity(known, train, test, by="film")
    with pytest.raises(ValueError, match=r"^groups must be a whole number of at least 1"):
        metrics.accuracy_by_activity(known, train, test, groups=0)
