"""``complete`` and ``minimise``: which solver runs, the callback, what the result tells, and every refusal in words."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from solver_problems import LINKS, is_feasible, some_observations

import obmc
from obmc.constraints import ConstraintSet
from obmc.links import Gaussian, Logistic
from obmc.losses import FlippedLikelihood, Matching
from obmc.solvers import Completion, Progress, complete, dispatch, minimise
from obmc.solvers.completion import FactoredEstimate

OBS = some_observations((20, 30), 200)
CSET = ConstraintSet(10.0, 0.9)


def test_auto_is_admm_where_the_matrix_fits_and_the_result_says_so() -> None:
    done = complete(OBS, Logistic(), CSET)
    assert done.solver == "admm"
    assert np.array_equal(done.matrix, complete(OBS, Logistic(), CSET, solver="admm").matrix)
    assert (done.tau, done.alpha, done.link) == (10.0, 0.9, Logistic())
    assert done.converged is True
    assert done.gap <= 1e-4
    assert done.seconds > 0.0
    assert done.message == "the certified gap is within the tolerance"


def test_auto_is_factored_above_what_fits_and_dense_solvers_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "DENSE_LIMIT", 599)
    done = complete(OBS, Logistic(), CSET)
    assert done.solver == "factored"
    assert done.message.endswith("the bound 0.9 was imposed only at the end, by a clip")
    assert np.abs(done.predict(OBS.rows, OBS.cols)).max() <= 0.9
    for solver in ("admm", "spg"):
        with pytest.raises(ValueError, match=r"at most 599 entries.*20 x 30; use 'factored' or 'auto'"):
            complete(OBS, Logistic(), CSET, solver=solver)
    monkeypatch.setattr(dispatch, "DENSE_LIMIT", 600)
    assert complete(OBS, Logistic(), CSET).solver == "admm"


def test_the_objective_is_the_negative_log_likelihood_of_the_signs() -> None:
    for link in LINKS:
        done = complete(OBS, link, CSET)
        entries = done.predict(OBS.rows, OBS.cols)
        assert done.objective == pytest.approx(-np.sum(np.log(link.probability(OBS.signs * entries))))
        assert is_feasible(done.matrix, CSET)


@pytest.mark.parametrize("solver", ["admm", "spg"])
def test_the_callback_is_told_every_iteration_and_can_stop(solver: str) -> None:
    seen: list[Progress] = []

    def stop_at_four(progress: Progress) -> bool:
        seen.append(progress)
        return progress.iteration < 4

    done = complete(OBS, Logistic(), CSET, solver=solver, tol=1e-8, max_iter=50, callback=stop_at_four)
    assert [progress.iteration for progress in seen] == [1, 2, 3, 4]
    assert {progress.max_iter for progress in seen} == {50}
    assert all(math.isnan(progress.gap) or progress.gap >= 0.0 for progress in seen)
    assert done.iterations == 4
    assert done.converged is False
    assert done.message == "stopped by the callback"
    assert is_feasible(done.matrix, CSET)
    best = complete(OBS, Logistic(), CSET, tol=1e-8).objective
    assert (done.objective - best) / (len(OBS) * math.log(2.0)) <= done.gap


@pytest.mark.parametrize("solver", ["admm", "spg"])
def test_a_callback_that_does_not_say_false_changes_nothing(solver: str) -> None:
    plain = complete(OBS, Gaussian(1.0), CSET, solver=solver)
    for answer in (None, True, 0, ""):
        watched = complete(OBS, Gaussian(1.0), CSET, solver=solver, callback=lambda _, a=answer: a)
        assert np.array_equal(watched.matrix, plain.matrix)
        assert watched.iterations == plain.iterations


@pytest.mark.parametrize("solver", ["admm", "spg", "factored"])
def test_an_error_in_the_callback_comes_through(solver: str) -> None:
    def broken(progress: Progress) -> bool:
        raise KeyError(progress.iteration)

    with pytest.raises(KeyError):
        complete(OBS, Logistic(), CSET, solver=solver, tol=1e-8, callback=broken)


@pytest.mark.parametrize("solver", ["admm", "spg"])
def test_the_iteration_limit_is_kept_and_told(solver: str) -> None:
    done = complete(OBS, Logistic(), CSET, solver=solver, tol=1e-8, max_iter=3)
    assert done.iterations == 3
    assert done.converged is False
    assert done.message == "the iteration limit was reached"
    assert done.gap < 1.0


@pytest.mark.parametrize("solver", ["admm", "spg"])
def test_a_loss_that_is_not_convex_is_solved_without_a_gap(solver: str) -> None:
    loss = FlippedLikelihood(Logistic(), OBS.signs, 1.0 / (1.0 + math.e))
    done = minimise(loss, OBS.omega, Logistic(), CSET, solver=solver, tol=1e-5)
    assert math.isnan(done.gap)
    assert done.converged is True
    assert "no gap is claimed" in done.message


GOOD: dict[str, Any] = {"obs": OBS, "link": Logistic(), "cset": CSET}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("obs", None, r"^obs must be an Observations\(.*, got a NoneType"),
        ("obs", np.zeros((3, 3)), "^obs must be an Observations"),
        ("obs", OBS.omega, "^obs must be an Observations"),
        ("link", "logistic", r"^link must be Logistic\(\) or Gaussian\(sigma\), got a str"),
        ("link", Logistic, "^link must be Logistic"),
        ("link", None, "^link must be Logistic"),
        ("cset", 10.0, r"^cset must be a ConstraintSet\(tau, alpha\), got a float"),
        ("cset", (10.0, 1.0), "^cset must be a ConstraintSet"),
        ("solver", "newton", "^solver must be one of 'auto', 'admm', 'spg', 'factored', got 'newton'"),
        ("solver", None, "^solver must be one of"),
        ("solver", np.array(["admm", "spg"]), "^solver must be one of"),
        ("tol", 0.0, "^tol must be a finite number above 0 and below 1"),
        ("tol", 1.0, "^tol must be a finite number above 0 and below 1"),
        ("tol", -1e-4, "^tol must be"),
        ("tol", math.nan, "^tol must be a finite number"),
        ("tol", "1e-4", "^tol must be a number"),
        ("tol", None, "^tol must be a number"),
        ("max_iter", 0, "^max_iter must be a whole number of at least 1"),
        ("max_iter", 2.5, "^max_iter must be a whole number"),
        ("max_iter", math.inf, "^max_iter must be a whole number"),
        ("max_iter", True, "^max_iter must be a whole number"),
        ("callback", 5, "^callback must be a function of a Progress, or None"),
    ],
)
def test_bad_input_to_complete_is_named(name: str, value: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        complete(**{**GOOD, name: value})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"loss": Matching(Logistic(), OBS.bits[:-1])}, "^loss must have as many entries as omega, 200, got 199"),
        ({"link": 3}, "^link must be"),
        ({"cset": None}, "^cset must be"),
        ({"ridge": -1.0}, "^ridge must be a finite number of at least 0"),
        ({"ridge": math.nan}, "^ridge must be a finite number"),
        ({"effects": 0.0}, "^effects must be a finite number above 0"),
        ({"effects": math.inf}, "^effects must be a finite number"),
        ({"effects": 1.0, "solver": "spg"}, "^effects go with the solvers 'admm' and 'factored'"),
        ({"effects": 1.0, "ridge": 1.0}, "^effects go with"),
        ({"low_rank": False}, "^low_rank must be True where there are no effects"),
    ],
)
def test_bad_input_to_minimise_is_named(change: dict, words: str) -> None:
    good = {"loss": Matching(Logistic(), OBS.bits), "omega": OBS.omega, "link": Logistic(), "cset": CSET}
    with pytest.raises(ValueError, match=words):
        minimise(**{**good, **change})


@pytest.fixture(scope="module")
def done() -> Completion:
    return complete(OBS, Logistic(), CSET)


@pytest.fixture(scope="module")
def factored() -> Completion:
    return complete(OBS, Logistic(), CSET, solver="factored")


def test_entries_are_predicted_as_in_the_matrix(done: Completion, factored: Completion) -> None:
    for result in (done, factored):
        matrix = result.matrix
        assert matrix.shape == result.shape == (20, 30)
        assert result.predict([0, 19, 5], [29, 0, 5]) == pytest.approx(matrix[[0, 19, 5], [29, 0, 5]], abs=1e-12)
        assert result.predict(3, 4) == pytest.approx([matrix[3, 4]], abs=1e-12)
        assert result.predict([], []).shape == (0,)
        assert result.probability([2], [7]) == pytest.approx(1.0 / (1.0 + np.exp(-matrix[2, 7])))
        assert np.abs(matrix).max() <= 0.9 * (1.0 + 1e-12)


def test_the_best_columns_of_a_row_leave_out_what_is_known(done: Completion, factored: Completion) -> None:
    for result in (done, factored):
        row = result.matrix[6]
        assert np.diff(row[result.top_n(6, 30)]).max() <= 1e-12
        best = result.top_n(6, 3, exclude=result.top_n(6, 2))
        assert row[best].tolist() == pytest.approx(sorted(row, reverse=True)[2:5])
        assert len(result.top_n(6, 99)) == 30
        assert len(result.top_n(6, 99, exclude=[0, 0, 1])) == 28
        assert len(result.top_n(6, 0)) == 0


def test_entries_that_the_clip_made_equal_are_ranked_by_what_they_were(done: Completion) -> None:
    estimate = FactoredEstimate(np.array([[2.0]]), np.array([[0.4], [1.0], [3.0], [2.0]]), None, 1.0)
    result = dataclasses.replace(done, estimate=estimate)
    assert result.predict([0, 0, 0, 0], [0, 1, 2, 3]).tolist() == [0.8, 1.0, 1.0, 1.0]
    assert result.top_n(0, 4).tolist() == [2, 3, 1, 0]


def test_the_facts_are_those_of_the_matrix(done: Completion) -> None:
    values = np.linalg.svd(done.matrix, compute_uv=False)
    assert done.singular_values == pytest.approx(values)
    assert done.nuclear_norm == pytest.approx(10.0, rel=1e-9)
    assert done.rank() == np.count_nonzero(values > 0.01 * values[0])
    assert done.largest_entry == np.abs(done.matrix).max()
    assert done.share_at_bound == np.mean(np.abs(done.matrix) >= 0.99 * 0.9)
    free = complete(OBS, Logistic(), ConstraintSet(10.0, None))
    assert math.isnan(free.share_at_bound)


def test_without_facts_only_the_matrix_is_left(done: Completion) -> None:
    bare = done.without_facts()
    assert np.array_equal(bare.matrix, done.matrix)
    for fact in ("objective", "gap", "converged", "iterations", "seconds", "nuclear_norm", "largest_entry"):
        assert math.isnan(getattr(bare, fact)), fact
    assert math.isnan(bare.share_at_bound) and math.isnan(bare.rank())
    assert len(bare.singular_values) == 0
    assert bare.message == ""
    assert not math.isnan(done.objective)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c: c.predict([20], [0]), "^rows must hold whole numbers from 0 to 19"),
        (lambda c: c.predict([-1], [0]), "^rows must hold whole numbers from 0 to 19"),
        (lambda c: c.predict([0], [30]), "^cols must hold whole numbers from 0 to 29"),
        (lambda c: c.predict([0.5], [0]), "^rows must hold whole numbers"),
        (lambda c: c.predict(["0"], [0]), "^rows must hold whole numbers"),
        (lambda c: c.predict([[0]], [0]), "^rows must be a one-dimensional array"),
        (lambda c: c.predict([0, 1], [0]), "^rows and cols must be of equal length, got 2 and 1"),
        (lambda c: c.predict([0, 1], []), "^rows and cols must be of equal length"),
        (lambda c: c.predict(None, [0]), "^rows must be a one-dimensional array"),
        (lambda c: c.top_n(20, 3), "^row must hold whole numbers from 0 to 19"),
        (lambda c: c.top_n(0, -1), "^n must be a whole number of at least 0"),
        (lambda c: c.top_n(0, 2.5), "^n must be a whole number"),
        (lambda c: c.top_n(0, 2, exclude=[30]), "^exclude must hold whole numbers from 0 to 29"),
    ],
)
def test_bad_places_are_named(done: Completion, call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(done)


@pytest.mark.data
@pytest.mark.parametrize("link", LINKS, ids=str)
def test_movielens_reaches_its_accuracy_with_a_certificate(link: Any) -> None:
    data = obmc.datasets.movielens_100k()
    done = complete(data.train, link, ConstraintSet.for_rank(data.train.shape), tol=1e-3)
    assert done.converged
    assert done.gap <= 1e-3
    assert obmc.metrics.sign_accuracy(done, data.test) >= 0.722
    assert obmc.metrics.majority_accuracy(data.train, data.test) < 0.57
    assert done.largest_entry <= 1.0
    assert done.nuclear_norm <= done.tau * (1.0 + 1e-12)
