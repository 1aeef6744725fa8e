"""Tuning on noised labels: zeros on noise, structure where there is some, the same choice for the same labels."""

from __future__ import annotations

import numpy as np
import pytest

from obmc import tuning
from obmc.constraints import ConstraintSet
from obmc.datasets import synthetic
from obmc.links import Gaussian, Link, Logistic
from obmc.losses import Matching
from obmc.observations import Omega
from obmc.solvers import minimise
from obmc.tuning import (
    STANDARD_ERRORS,
    Candidate,
    Structure,
    by_rule,
    complete_structure,
    cross_validated,
    ridge_by_moments,
    ridge_unit,
    seeded_by,
)

LOGISTIC = Logistic()
SHAPE = (60, 50)
CSET = ConstraintSet.for_rank(SHAPE, 1, 3.0)
NULL = np.zeros(SHAPE)


def drawn(truth: np.ndarray, link: Link = LOGISTIC, ratio: float = 0.8, seed: int = 0) -> tuple[Matching, Omega]:
    rng = np.random.default_rng(seed)
    rows, cols = np.nonzero(rng.random(truth.shape) < ratio)
    bits = (rng.random(len(rows)) < link.probability(truth[rows, cols])).astype(float)
    return Matching(link, bits), Omega(rows.astype(np.int32), cols.astype(np.int32), truth.shape)


def rank_one(size: float = 2.5, seed: int = 1) -> np.ndarray:
    """Signs times signs, so that no row and no column is liked more than others on the whole."""
    rng = np.random.default_rng(seed)
    left, right = (np.where(rng.permutation(n) % 2, 1.0, -1.0) for n in SHAPE)
    return size * np.outer(left, right)


def effects(seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal(SHAPE[0])[:, None] + rng.standard_normal(SHAPE[1])[None, :]


TUNED = [cross_validated, by_rule]


@pytest.mark.parametrize("tuned", TUNED)
@pytest.mark.parametrize("link", [LOGISTIC, Gaussian(1.0)], ids=["logistic", "Gaussian"])
def test_pure_noise_is_left_at_zeros(tuned, link: Link) -> None:
    found = []
    for seed in range(3):
        loss, omega = drawn(NULL, link, seed=seed)
        found.append(tuned(loss, omega, CSET, 0.0, np.random.default_rng(seed)).is_zero)
    # Two standard errors let an occasional draw through.
    assert sum(found) >= 2


@pytest.mark.parametrize("tuned", TUNED)
def test_a_strong_low_rank_part_is_found_at_a_sensible_radius(tuned) -> None:
    truth = rank_one()
    loss, omega = drawn(truth)
    chosen = tuned(loss, omega, CSET, 0.0, np.random.default_rng(0)).chosen
    # ||truth||_* = 2.5 sqrt(60 50) = 137; shrinkage leaves less, and a radius of 10 would be no use.
    assert 40.0 < chosen.radius * chosen.stretch <= CSET.tau
    assert chosen.ridge is None
    done = complete_structure(loss, omega, CSET, tuned(loss, omega, CSET, 0.0, np.random.default_rng(0)))
    assert done.tau == chosen.radius * chosen.stretch
    assert np.sum((done.matrix - truth) ** 2) / np.sum(truth**2) < (0.4 if tuned is by_rule else 0.15)


def test_a_stretched_low_rank_part_solves_the_problem_of_a_flatter_link() -> None:
    loss, omega = drawn(rank_one())
    radius, factor = 20.0, 3.0
    structure = Structure(Candidate(None, radius, stretch=factor))
    done = complete_structure(loss, omega, CSET, structure, tol=1e-6)
    # The matching loss of a Gaussian link with sigma is that of sigma = 1 at x / sigma, times sigma.
    bits = loss.labels
    flat = Matching(Gaussian(factor), bits)
    steep = complete_structure(Matching(Gaussian(1.0), bits), omega, CSET, structure, tol=1e-6)
    ball = ConstraintSet(factor * radius, CSET.alpha)
    direct = minimise(flat, omega, Gaussian(factor), ball, tol=1e-6)
    np.testing.assert_allclose(steep.matrix, direct.matrix, atol=0.02)
    assert np.abs(steep.matrix).max() > 0.5
    assert done.tau == factor * radius
    assert np.linalg.svd(done.matrix, compute_uv=False).sum() <= done.tau * (1.0 + 1e-9)


@pytest.mark.parametrize("solver", ["admm", "factored"])
def test_stretching_leaves_effects_as_they_are_and_keeps_to_the_box(solver: str) -> None:
    loss, omega = drawn(rank_one(1.5) + effects())
    plain, stretched = (
        complete_structure(loss, omega, CSET, Structure(Candidate(1.0, 20.0, stretch=factor)), solver=solver, tol=1e-4)
        for factor in (1.0, 4.0)
    )
    assert plain.effects is not None
    fixed = plain.effects.dense()
    expected = np.clip(fixed + 4.0 * (plain.matrix - fixed), -3.0, 3.0)
    inside = np.abs(plain.matrix) < 2.999
    np.testing.assert_allclose(stretched.matrix[inside], expected[inside], atol=1e-9)
    assert np.abs(stretched.matrix).max() <= 3.0
    assert stretched.gap == plain.gap
    assert "stretched 4 times" in stretched.message


def test_labels_too_noisy_for_any_low_rank_part_in_the_box_are_left_at_zeros_whatever_they_are() -> None:
    # A strong signal, but of labels that are said to be very noisy: nothing in the box could be seen through that.
    loss, omega = drawn(rank_one())
    assert not cross_validated(loss, omega, CSET, 0.0, np.random.default_rng(0)).is_zero
    narrow = ConstraintSet.for_rank(SHAPE, 1, 0.1)
    assert cross_validated(loss, omega, narrow, 4.0, np.random.default_rng(0)).is_zero


def test_of_what_beats_zeros_little_is_taken_where_little_is_seen() -> None:
    loss, omega = drawn(rank_one(0.9))
    structure = cross_validated(loss, omega, CSET, 0.0, np.random.default_rng(0))
    chosen = structure.chosen
    assert chosen.gain > STANDARD_ERRORS * chosen.standard_error
    for other in structure.tried:
        if other.gain > STANDARD_ERRORS * other.standard_error:
            assert other.gain - other.standard_error <= chosen.gain - chosen.standard_error + 1e-12
    assert all(tried.radius * tried.stretch <= CSET.tau * (1.0 + 1e-12) for tried in structure.tried)


@pytest.mark.parametrize("tuned", TUNED)
def test_effects_are_found_where_there_are_effects_alone(tuned) -> None:
    loss, omega = drawn(effects())
    structure = tuned(loss, omega, CSET, 0.0, np.random.default_rng(0))
    assert structure.chosen.ridge is not None
    # Prior variance 1: the best ridge is about one unit.
    assert 0.3 < structure.chosen.ridge / ridge_unit(LOGISTIC, 0.0) < 3.0
    assert structure.chosen.radius * structure.chosen.stretch <= 0.1 * CSET.tau


def test_the_ridge_by_moments_is_about_that_of_the_planted_variance() -> None:
    found, planted = [], []
    for seed in range(6):
        truth = 0.4 * effects(seed)
        ridge = ridge_by_moments(*drawn(truth, seed=seed), 0.0)
        assert ridge is not None
        found.append(ridge_unit(LOGISTIC, 0.0) / ridge)
        planted.append(0.5 * (truth.mean(axis=1).var() + truth.mean(axis=0).var()))
    # From below: the link is flatter away from 0.
    assert 0.6 < np.mean(found) / np.mean(planted) < 1.05


def test_where_rows_and_columns_do_not_differ_the_ridge_leaves_the_level_or_nothing() -> None:
    assert ridge_by_moments(*drawn(NULL), 0.0) is None
    level = ridge_by_moments(*drawn(NULL + 0.7), 0.0)
    assert level is not None
    assert level > 100.0
    ones = Matching(LOGISTIC, np.ones(20)), Omega(np.arange(20, dtype=np.int32), np.zeros(20, dtype=np.int32), (20, 2))
    assert ridge_by_moments(*ones, 0.0) == level


def test_a_noisier_label_asks_for_a_larger_ridge() -> None:
    assert ridge_unit(LOGISTIC, 0.0) == pytest.approx(1.0)
    assert ridge_unit(LOGISTIC, 2.0) == pytest.approx(9.0)


def test_cross_validation_leaves_the_simpler_structure_only_for_two_standard_errors() -> None:
    loss, omega = drawn(rank_one(1.2) + effects())
    structure = cross_validated(loss, omega, CSET, 0.0, np.random.default_rng(0))
    assert structure.tried[0].ridge is None
    assert structure.tried[0].radius == 0.0
    assert structure.chosen in structure.tried
    assert structure.chosen.gain > STANDARD_ERRORS * structure.chosen.standard_error
    assert structure.chosen.ridge is not None
    assert structure.chosen.radius > 0.0
    # Held-out losses of one candidate, as they are on average: below zeros' by what is said.
    assert structure.tried[0].loss - structure.chosen.loss == pytest.approx(structure.chosen.gain)


def test_effects_alone_tries_no_radius() -> None:
    loss, omega = drawn(rank_one() + effects())
    for tuned in TUNED:
        structure = tuned(loss, omega, CSET, 0.0, np.random.default_rng(0), low_rank=False)
        assert structure.chosen.radius == 0.0
        assert all(candidate.radius == 0.0 for candidate in structure.tried)
        assert complete_structure(loss, omega, CSET, structure, tol=1e-2).tau == 0.0


def test_the_search_can_be_stopped_and_keeps_what_is_known() -> None:
    loss, omega = drawn(effects())
    seen: list[int] = []
    structure = cross_validated(
        loss, omega, CSET, 0.0, np.random.default_rng(0), step=lambda count: seen.append(count) or count < 25
    )
    assert seen[-1] == 25
    assert len(structure.tried) == 3


def test_very_large_data_are_judged_on_one_fold(monkeypatch) -> None:
    monkeypatch.setattr(tuning, "VERY_LARGE", 1_000)
    loss, omega = drawn(effects())
    seen: list[int] = []
    structure = cross_validated(loss, omega, CSET, 0.0, np.random.default_rng(0), step=lambda count: seen.append(count))
    # One solve for every candidate that is not zeros.
    assert len(seen) == len({(one.ridge, one.radius) for one in structure.tried}) - 1
    assert structure.chosen.ridge is not None
    zeros = structure.tried[0]
    assert zeros.loss == pytest.approx(LOGISTIC.potential_at_zero, rel=1e-12)
    assert structure.chosen.gain > 2.0 * structure.chosen.standard_error > 0.0


def test_equal_labels_give_equal_folds_and_others_others() -> None:
    labels = np.array([0.0, 1.0, 1.0])
    assert seeded_by(labels).integers(1 << 60) == seeded_by(labels.copy()).integers(1 << 60)
    assert seeded_by(labels).integers(1 << 60) != seeded_by(1.0 - labels).integers(1 << 60)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_hardly_any_data_give_zeros_and_no_error(n: int) -> None:
    omega = Omega(np.arange(n, dtype=np.int32), np.zeros(n, dtype=np.int32), (5, 4))
    loss = Matching(LOGISTIC, np.arange(n, dtype=float) % 2)
    for tuned in TUNED:
        structure = tuned(loss, omega, ConstraintSet(2.0, 1.0), 0.0, np.random.default_rng(0))
        done = complete_structure(loss, omega, ConstraintSet(2.0, 1.0), structure)
        assert done.shape == (5, 4)
        assert np.all(np.isfinite(done.matrix))


def test_zeros_are_completed_without_a_solver() -> None:
    problem = synthetic(shape=(30, 30), rng=0)
    loss = Matching(LOGISTIC, problem.observations.bits)
    structure = cross_validated(loss, problem.observations.omega, CSET, 50.0, np.random.default_rng(0))
    assert structure.is_zero
    done = complete_structure(loss, problem.observations.omega, CSET, structure)
    assert not done.matrix.any()
    assert done.gap == 0.0
    assert done.solver == "none"
    assert "zeros" in done.message
