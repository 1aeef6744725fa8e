"""The factored solver: its optimum and certificate for every loss, and the sizes and shapes that break such solvers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from solver_problems import LINKS, LOSSES, NAMES, Array, reference, some_loss, some_observations

from obmc.constraints import ConstraintSet
from obmc.links import Gaussian, Link, Logistic
from obmc.losses import FlippedLikelihood, Likelihood, Matching, likelihood
from obmc.observations import Observations
from obmc.solvers import Progress, complete, lowrank, minimise
from obmc.solvers.admm import admm
from obmc.solvers.factored import FactoredOutcome, factored
from obmc.solvers.lowrank import FIRST_BLOCK, Positions, RankTooLargeError
from obmc.solvers.problem import Problem

LOGISTIC = Logistic()


def matrix_of(outcome: FactoredOutcome) -> Array:
    low: Array = outcome.left @ outcome.right.T
    return low if outcome.effects is None else low + outcome.effects.dense()


def norm_of(outcome: FactoredOutcome) -> float:
    """||L||_* from the triangular factors."""
    core = np.linalg.qr(outcome.left)[1] @ np.linalg.qr(outcome.right)[1].T
    return float(np.linalg.svd(core, compute_uv=False).sum())


def check(problem: Problem, outcome: FactoredOutcome, tol: float) -> None:
    """Within the ball, converged, and the objective that of the factors."""
    assert outcome.converged, outcome.message
    assert 0.0 <= outcome.gap <= tol
    assert norm_of(outcome) <= problem.cset.tau * (1.0 + 1e-9)
    penalty = 0.0 if outcome.effects is None else 0.5 * (problem.effects or 0.0) * outcome.effects.squares
    rows, cols = problem.omega.rows, problem.omega.cols
    values = np.einsum("ij,ij->i", outcome.left[rows], outcome.right[cols])
    if outcome.effects is not None:
        values += outcome.effects.at(rows, cols)
    ridge = 0.5 * problem.ridge * float(np.sum((outcome.left.T @ outcome.left) * (outcome.right.T @ outcome.right)))
    expected = problem.loss.total(values) + penalty + ridge
    assert outcome.objective == pytest.approx(expected, rel=1e-9, abs=1e-9 * problem.loss.scale)


@pytest.mark.parametrize("tol", [1e-3, 1e-5])
@pytest.mark.parametrize("name", NAMES)
def test_the_known_optimum_is_found_and_the_gap_covers_the_truth(name: str, tol: float) -> None:
    case = reference(name, boxed=False)
    outcome = factored(case.problem, tol, 2000, None)
    check(case.problem, outcome, tol)
    assert -1e-9 <= case.error(outcome.objective) <= outcome.gap


@pytest.mark.parametrize("name", NAMES)
def test_stopped_early_the_gap_still_covers_the_truth(name: str) -> None:
    case = reference(name, boxed=False)
    for limit in (1, 2, 5, 12):
        outcome = factored(case.problem, 1e-9, limit, None)
        assert not outcome.converged
        assert outcome.iterations == limit
        assert outcome.message.startswith("the iteration limit was reached")
        assert -1e-9 <= case.error(outcome.objective) <= outcome.gap


@pytest.mark.parametrize("kind", [kind for kind in LOSSES if kind != "flipped"])
@pytest.mark.parametrize("link", [*LINKS, Gaussian(0.3)], ids=str)
@pytest.mark.parametrize(
    ("shape", "tau", "ridge", "effects", "low_rank"),
    [
        ((25, 40), 12.0, 0.0, None, True),
        ((40, 25), 60.0, 0.0, None, True),
        ((30, 30), 20.0, 0.2, None, True),
        ((25, 40), 8.0, 0.0, 3.0, True),
        ((40, 12), 30.0, 0.0, 20.0, False),
    ],
)
def test_every_loss_ends_where_admm_does(
    kind: str, link: Link, shape: tuple[int, int], tau: float, ridge: float, effects: float | None, low_rank: bool
) -> None:
    """The likelihood, tilted as by ObjP, of real labels as in GraP's and ObjP's rigorous form, noised as by InP+."""
    obs = some_observations(shape, int(0.4 * shape[0] * shape[1]), 1)
    loss = some_loss(kind, link, obs)
    if effects is not None and kind == "tilted":
        loss = Likelihood(link, obs.signs, 0.2 * np.random.default_rng(0).standard_normal(len(obs)))
    problem = Problem(loss, obs.omega, ConstraintSet(tau, None), ridge, effects, low_rank)
    outcome, best = factored(problem, 1e-4, 2000, None), admm(problem, 1e-6, 20_000, None)
    check(problem, outcome, 1e-4)
    assert best.converged
    error = (outcome.objective - best.objective) / loss.scale
    assert -1e-6 <= error <= outcome.gap + 1e-9


@pytest.mark.parametrize("effects", [None, 4.0])
@pytest.mark.parametrize("link", LINKS, ids=str)
def test_the_flipped_likelihood_ends_without_a_claim(link: Link, effects: float | None) -> None:
    """Without the box it is never convex, whatever epsilon is."""
    obs = some_observations((40, 30), 500, 2)
    for epsilon in (0.5, 4.0):
        loss = FlippedLikelihood(link, obs.signs, 1.0 / (1.0 + math.exp(epsilon)))
        problem = Problem(loss, obs.omega, ConstraintSet(15.0, None), effects=effects)
        outcome = factored(problem, 1e-4, 2000, None)
        assert outcome.converged
        assert math.isnan(outcome.gap)
        assert outcome.message.endswith("without the box this loss is not convex, so no gap is claimed")
        assert outcome.objective < loss.total(np.zeros(len(obs)))
        # As good a point as the dense solver's, if not the best one.
        dense = admm(problem, 1e-5, 300, None)
        assert outcome.objective <= dense.objective + 0.01 * loss.scale


# --- The block -------------------------------------------------------------------------------------------------------


def planted(shape: tuple[int, int], rank: int, n: int, size: float, seed: int = 0) -> Observations:
    """Signs of a matrix of this rank, noised by the logistic link."""
    rng = np.random.default_rng(seed)
    truth = size / math.sqrt(rank) * rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1]))
    rows, cols = np.divmod(rng.permutation(shape[0] * shape[1])[:n], shape[1])
    positive = rng.random(n) < LOGISTIC.probability(truth[rows, cols])
    return Observations(rows, cols, np.where(positive, 1, -1), shape)


def test_a_rank_that_wants_to_be_larger_than_the_block_gets_a_larger_block() -> None:
    obs = planted((120, 90), 20, 8000, 4.0)
    problem = Problem(likelihood(LOGISTIC, obs.signs), obs.omega, ConstraintSet(2500.0, None))
    outcome = factored(problem, 1e-4, 2000, None)
    check(problem, outcome, 1e-4)
    assert outcome.left.shape[1] > 3 * FIRST_BLOCK
    best = admm(problem, 1e-5, 5000, None)
    assert best.converged
    assert abs(outcome.objective - best.objective) <= 1.1e-4 * problem.loss.scale


def test_a_block_that_is_too_narrow_at_first_does_not_end_the_solve_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowrank, "FIRST_BLOCK", 1)
    for name in ("A", "D"):
        case = reference(name, boxed=False)
        outcome = factored(case.problem, 1e-4, 2000, None)
        check(case.problem, outcome, 1e-4)
        assert case.error(outcome.objective) <= outcome.gap


def test_a_rank_that_does_not_fit_in_memory_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowrank, "LARGEST_FACTORS", 3 * 30 * 300)
    obs = planted((150, 150), 20, 8000, 4.0)
    with pytest.raises(
        ValueError, match=r"tau = 5000 lets the solution have a rank that does not fit in memory at 150 x 150; choose a"
    ):
        complete(obs, LOGISTIC, ConstraintSet(5000.0, 1.0), solver="factored")
    with pytest.raises(RankTooLargeError):
        complete(obs, LOGISTIC, ConstraintSet(5000.0, None), solver="factored")
    assert complete(obs, LOGISTIC, ConstraintSet(100.0, None), solver="factored").converged


def test_products_by_blocks_and_by_entry_give_the_same_values(monkeypatch: pytest.MonkeyPatch) -> None:
    obs = some_observations((70, 50), 1500, 3)
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((70, 4)), rng.standard_normal((50, 4))
    found = []
    for ratio, chunk in ((0, 10), (0, 65_536), (100, 60), (100, 300_000)):
        monkeypatch.setattr(lowrank, "DENSE_RATIO", ratio)
        monkeypatch.setattr(lowrank, "CHUNK" if ratio == 0 else "DENSE_CHUNK", chunk)
        pattern = Positions(obs.omega)
        values = np.empty(len(obs))
        values[pattern.order] = pattern.values(left, right, None)
        found.append(values)
    for values in found:
        assert values == pytest.approx((left @ right.T)[obs.rows, obs.cols], abs=1e-12)


# --- Bad cases -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", LINKS, ids=str)
@pytest.mark.parametrize("effects", [None, 2.0])
def test_users_and_items_without_ratings_get_nothing_and_disturb_nobody(link: Link, effects: float | None) -> None:
    obs = some_observations((30, 25), 300, 4)
    spread = Observations(3 * obs.rows + 1, 2 * obs.cols, obs.signs, (95, 52))
    outcomes = []
    for seen in (obs, spread):
        problem = Problem(likelihood(link, seen.signs), seen.omega, ConstraintSet(15.0, None), effects=effects)
        outcomes.append(factored(problem, 1e-6, 2000, None))
        check(problem, outcomes[-1], 1e-6)
    assert outcomes[0].objective == pytest.approx(outcomes[1].objective, abs=2e-6 * 300 * math.log(2.0))
    wide = outcomes[1]
    empty_rows, empty_cols = np.setdiff1d(np.arange(95), spread.rows), np.setdiff1d(np.arange(52), spread.cols)
    assert np.abs(wide.left[empty_rows]).max(initial=0.0) <= 1e-9 * np.abs(wide.left).max()
    assert np.abs(wide.right[empty_cols]).max(initial=0.0) <= 1e-9 * np.abs(wide.right).max()
    if wide.effects is not None:
        assert np.all(wide.effects.rows[empty_rows] == 0.0) and np.all(wide.effects.cols[empty_cols] == 0.0)


@pytest.mark.parametrize("shape", [(1, 400), (400, 1)])
@pytest.mark.parametrize("link", LINKS, ids=str)
def test_one_user_has_the_solution_that_can_be_written_down(link: Link, shape: tuple[int, int]) -> None:
    """The nuclear norm of one row is its length, so all n entries have the size tau / sqrt(n)."""
    obs = some_observations(shape, 150, 5)
    for tau in (0.1, 5.0, 20.0):
        problem = Problem(likelihood(link, obs.signs), obs.omega, ConstraintSet(tau, None))
        outcome = factored(problem, 1e-6, 2000, None)
        check(problem, outcome, 1e-6)
        size = tau / math.sqrt(150)
        assert outcome.objective == pytest.approx(
            -150 * float(link.log_probability(np.array([size]))[0]), abs=1e-6 * problem.loss.scale
        )
        assert outcome.left.shape[1] == 1


def test_ten_users_and_a_million_items() -> None:
    """Items without a rating cost memory but change nothing: compare with the items that were rated."""
    rng = np.random.default_rng(0)
    flat = np.unique(rng.integers(0, 10_000_000, 5_000))
    rows, cols = np.divmod(flat, 1_000_000)
    signs = np.where(rng.random(len(flat)) < 0.5 + 0.3 * np.where(rows % 2 == 0, 1, -1), 1, -1)
    seen, places = np.unique(cols, return_inverse=True)
    narrow = Observations(rows, places, signs, (10, len(seen)))
    wide = Observations(rows, cols, signs, (10, 1_000_000))
    cset = ConstraintSet(40.0, 1.0)
    large = complete(wide, LOGISTIC, cset, solver="factored", tol=1e-3)
    small = complete(narrow, LOGISTIC, cset, solver="factored", tol=1e-3)
    for found in (large, small):
        assert found.converged and found.gap <= 1e-3
    assert abs(large.objective - small.objective) <= 1e-3 * len(flat) * math.log(2.0)
    assert large.predict([3, 3], [int(cols[0]), 999_999]).shape == (2,)
    assert len(large.top_n(4, 5)) == 5


@pytest.mark.parametrize("effects", [None, 2.0])
@pytest.mark.parametrize("link", LINKS, ids=str)
@pytest.mark.parametrize("tau", [1e-300, 1e-12, 1e-3])
def test_a_tiny_radius_leaves_nearly_zeros(link: Link, effects: float | None, tau: float) -> None:
    obs = some_observations((100, 100), 1500, 6)
    problem = Problem(likelihood(link, obs.signs), obs.omega, ConstraintSet(tau, None), effects=effects)
    outcome = factored(problem, 1e-4, 2000, None)
    check(problem, outcome, 1e-4)
    assert np.abs(outcome.left @ outcome.right.T).max() <= tau
    if effects is None:
        # To first order f(0) - tau ||G||_2.
        matrix = np.zeros((100, 100))
        matrix[obs.rows, obs.cols] = problem.loss.gradient(np.zeros(1500))
        first = problem.loss.scale - tau * np.linalg.norm(matrix, 2)
        assert outcome.objective == pytest.approx(first, rel=1e-12 + 1e-2 * tau**2)


@pytest.mark.parametrize("tau", [1e4, 1e8, 1e300])
@pytest.mark.parametrize("link", LINKS, ids=str)
def test_a_radius_so_large_that_the_ball_is_inactive(link: Link, tau: float) -> None:
    obs = some_observations((40, 50), 600, 7)
    # All signs are fitted: the loss ends near its infimum, which certifies it.
    problem = Problem(likelihood(link, obs.signs), obs.omega, ConstraintSet(tau, None))
    outcome = factored(problem, 1e-4, 2000, None)
    check(problem, outcome, 1e-4)
    assert outcome.objective <= 1e-4 * problem.loss.scale
    assert np.all(obs.signs * matrix_of(outcome)[obs.rows, obs.cols] > 0.0)


def test_a_ball_that_is_inactive_at_a_finite_optimum() -> None:
    """Labels that are chances are fitted exactly, x = h^-1(z), whatever the radius beyond that."""
    obs = some_observations((40, 50), 600, 7)
    chances = np.random.default_rng(0).uniform(0.2, 0.8, 600)
    for link in LINKS:
        problem = Problem(Matching(link, chances), obs.omega, ConstraintSet(1e4, None))
        outcome = factored(problem, 1e-7, 2000, None)
        check(problem, outcome, 1e-7)
        assert norm_of(outcome) < 1e3
        assert link.probability(matrix_of(outcome)[obs.rows, obs.cols]) == pytest.approx(chances, abs=1e-2)


def test_large_noised_labels_and_a_large_radius_still_end() -> None:
    """Labels far outside of [0, 1] pull entries to the bound of the ball, whose spikes the block must find."""
    obs = some_observations((30, 40), 400, 8)
    for link in LINKS:
        labels = obs.bits + np.random.default_rng(1).laplace(0.0, 50.0, 400)
        problem = Problem(Matching(link, labels), obs.omega, ConstraintSet(40.0, None))
        outcome = factored(problem, 1e-4, 3000, None)
        check(problem, outcome, 1e-4)
        assert outcome.objective < 0.0


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_a_gradient_of_zeros_is_an_optimum(link: Link) -> None:
    obs = some_observations((20, 20), 50, 9)
    for effects in (None, 1.0):
        problem = Problem(Matching(link, np.full(50, 0.5)), obs.omega, ConstraintSet(5.0, None), effects=effects)
        outcome = factored(problem, 1e-6, 100, None)
        check(problem, outcome, 1e-6)
        assert np.abs(matrix_of(outcome)).max() <= 1e-12


@pytest.mark.parametrize(("shape", "n"), [((1, 1), 1), ((2, 2), 1), ((2000, 3000), 1), ((3, 2), 6)])
@pytest.mark.parametrize("link", LINKS, ids=str)
def test_the_smallest_problems(link: Link, shape: tuple[int, int], n: int) -> None:
    obs = (
        some_observations(shape, n)
        if shape[0] * shape[1] < 100
        else Observations([1200], [77], [1], shape)  # one rating in a large matrix
    )
    for effects in (None, 1.0):
        problem = Problem(likelihood(link, obs.signs), obs.omega, ConstraintSet(1.5, None), effects=effects)
        check(problem, factored(problem, 1e-4, 500, None), 1e-4)


# --- What the outcome depends on -------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_the_order_of_the_entries_and_the_sides_of_the_matrix_do_not_matter(link: Link) -> None:
    obs = some_observations((40, 30), 400, 10)
    order = np.random.default_rng(0).permutation(400)
    mixed = Observations(obs.rows[order], obs.cols[order], obs.signs[order], (40, 30))
    turned = Observations(obs.cols, obs.rows, obs.signs, (30, 40))
    cset = ConstraintSet(15.0, None)
    plain, shuffled, transposed = (
        complete(seen, link, cset, solver="factored", tol=1e-6) for seen in (obs, mixed, turned)
    )
    again = complete(obs, link, cset, solver="factored", tol=1e-6)
    assert np.array_equal(plain.matrix, again.matrix)  # the same, bit for bit
    for values in (shuffled.matrix, transposed.matrix.T):
        assert values[obs.rows, obs.cols] == pytest.approx(plain.matrix[obs.rows, obs.cols], abs=0.02)
    assert plain.objective == pytest.approx(shuffled.objective, rel=1e-5)
    assert plain.objective == pytest.approx(transposed.objective, rel=1e-5)


def test_a_path_of_radii_from_small_to_large_costs_less_than_its_parts() -> None:
    obs = planted((200, 150), 3, 6000, 2.0)
    loss = likelihood(LOGISTIC, obs.signs)
    warm: FactoredOutcome | None = None
    costs = [0, 0]
    for tau in (30.0, 60.0, 90.0, 120.0):
        problem = Problem(loss, obs.omega, ConstraintSet(tau, None), effects=5.0)
        cold = factored(problem, 1e-4, 2000, None)
        warm = factored(problem, 1e-4, 2000, None, warm)
        for found in (cold, warm):
            check(problem, found, 1e-4)
        costs[0] += cold.iterations
        costs[1] += warm.iterations
        assert abs(cold.objective - warm.objective) <= 1e-4 * loss.scale
    assert costs[1] < costs[0]


def test_without_a_certificate_none_is_claimed_and_the_point_is_as_good() -> None:
    obs = some_observations((60, 80), 900, 11)
    for effects in (None, 3.0):
        problem = Problem(likelihood(LOGISTIC, obs.signs), obs.omega, ConstraintSet(30.0, None), effects=effects)
        quick, sure = factored(problem, 1e-3, 500, None, certify=False), factored(problem, 1e-6, 2000, None)
        assert quick.converged
        assert math.isnan(quick.gap)
        assert quick.passes < sure.passes
        assert 0.0 <= (quick.objective - sure.objective) / problem.loss.scale <= 3e-3


def test_the_callback_is_told_every_iteration_and_can_stop() -> None:
    obs = some_observations((60, 80), 900, 11)
    seen: list[Progress] = []

    def stop_at_four(progress: Progress) -> bool:
        seen.append(progress)
        return progress.iteration < 4

    done = complete(obs, LOGISTIC, ConstraintSet(30.0, None), "factored", tol=1e-9, max_iter=50, callback=stop_at_four)
    assert [progress.iteration for progress in seen] == [1, 2, 3, 4]
    assert {progress.max_iter for progress in seen} == {50}
    assert done.iterations == 4
    assert done.converged is False
    assert done.message == "stopped by the callback"
    best = complete(obs, LOGISTIC, ConstraintSet(30.0, None), tol=1e-8).objective
    assert (done.objective - best) / (900 * math.log(2.0)) <= done.gap


def test_what_was_not_imposed_is_said_and_the_entries_are_cut() -> None:
    obs = some_observations((60, 80), 900, 11)
    asked: dict[str, Any] = {"solver": "factored", "tol": 1e-4}
    loss = likelihood(LOGISTIC, obs.signs)
    free = minimise(loss, obs.omega, LOGISTIC, ConstraintSet(40.0, None), **asked)
    cut = minimise(loss, obs.omega, LOGISTIC, ConstraintSet(40.0, 0.3), **asked)
    assert "clip" not in free.message
    assert cut.message.endswith("; the bound 0.3 was imposed only at the end, by a clip")
    assert cut.solver == free.solver == "factored"
    assert cut.objective == free.objective  # that of the problem without the box
    assert free.largest_entry > 0.3
    assert np.array_equal(cut.matrix, np.clip(free.matrix, -0.3, 0.3))
