"""The constraint set: projections that are projections, norms that never understate, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from obmc.constraints import ConstraintSet, NuclearProjector, nuclear_norm, simplex_threshold, spectral_norm

Array = NDArray[np.float64]
SHAPES = [(1, 1), (1, 12), (12, 1), (5, 5), (4, 9), (9, 4), (20, 30)]
KINDS = ["gaussian", "low rank", "zero", "spike", "graded", "constant", "box"]


def draw(shape: tuple[int, int], kind: str, seed: int) -> Array:
    """A matrix of unit size of one of several kinds."""
    rng = np.random.default_rng(seed)
    if kind == "low rank":
        return np.outer(rng.standard_normal(shape[0]), rng.standard_normal(shape[1]))
    if kind == "zero":
        return np.zeros(shape)
    if kind == "spike":
        matrix = np.zeros(shape)
        matrix[rng.integers(shape[0]), rng.integers(shape[1])] = 3.0
        return matrix
    if kind == "graded":
        return rng.standard_normal(shape) * 10.0 ** -np.arange(shape[0])[:, None]
    if kind == "constant":
        return np.ones(shape)
    if kind == "box":
        return rng.choice([-1.0, 1.0], shape)
    return rng.standard_normal(shape)


problems = st.builds(
    lambda shape, kind, seed, size, radius, alpha: (
        size * draw(shape, kind, seed),
        ConstraintSet(radius * math.sqrt(shape[0] * shape[1]), alpha),
        size * draw(shape, "gaussian", seed + 1),
    ),
    st.sampled_from(SHAPES),
    st.sampled_from(KINDS),
    st.integers(0, 10**6),
    st.sampled_from([1e-3, 1.0, 30.0]),
    st.sampled_from([1e-6, 0.05, 0.5, 1.0, 10.0]),
    st.sampled_from([None, 0.01, 0.3, 1.0, 50.0]),
)


def project(cset: ConstraintSet, matrix: Array, which: str) -> Array:
    if which == "ball":
        return cset.project_nuclear(matrix)
    return cset.clip(matrix) if which == "box" else cset.project(matrix, tol=1e-8)


@pytest.mark.parametrize("which", ["ball", "box", "both"])
@given(problem=problems)
@settings(deadline=None, max_examples=40)
def test_projections_are_feasible_idempotent_nonexpansive_and_optimal(which: str, problem: Any) -> None:
    matrix, cset, other = problem
    projected, moved = project(cset, matrix, which), project(cset, other, which)
    # The intersection is found by iteration: to a relative residual, times the distance for what depends on the normal.
    slack = 1e-12 if which != "both" else 1e-6
    size = np.linalg.norm(projected) + 1e-300
    if which != "box":
        assert np.linalg.svd(projected, compute_uv=False).sum() <= cset.tau * (1.0 + max(slack, 1e-12))
    if which != "ball" and cset.alpha is not None:
        assert np.abs(projected).max() <= cset.alpha
    again = project(cset, projected, which)
    assert np.linalg.norm(again - projected) <= slack * size
    room = slack * (size + np.linalg.norm(moved) + np.linalg.norm(matrix) + np.linalg.norm(other))
    assert np.linalg.norm(projected - moved) <= np.linalg.norm(matrix - other) + room
    # Variational inequality: <W - P(W), Y - P(W)> <= 0 for every Y of the set: 0, the other's image, and mixtures.
    residual = matrix - projected
    for point in (np.zeros_like(matrix), moved, 0.5 * (moved + projected)):
        value = float(np.vdot(residual, point - projected))
        assert value <= 10.0 * slack * (np.linalg.norm(residual) + size) * (np.linalg.norm(point) + size)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(12, 18), (18, 12), (1, 20), (20, 1)])
def test_the_intersection_is_what_dykstra_finds(shape: tuple[int, int], kind: str) -> None:
    matrix = 3.0 * draw(shape, kind, 5)
    cset = ConstraintSet(0.4 * math.sqrt(shape[0] * shape[1]), 0.5)
    x, ball, box = matrix, np.zeros(shape), np.zeros(shape)
    for _ in range(20_000):
        y = cset.project_nuclear(x + ball)
        ball = x + ball - y
        following = cset.clip(y + box)
        box = y + box - following
        change = float(np.abs(following - x).max())
        x = following
        if change < 1e-13:
            break
    assert cset.project(matrix) == pytest.approx(x, abs=1e-7)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), radius=st.floats(1e-9, 60.0), zeros=st.booleans())
@settings(deadline=None)
def test_the_simplex_threshold_meets_its_radius(seed: int, n: int, radius: float, zeros: bool) -> None:
    values = np.abs(np.random.default_rng(seed).standard_normal(n))
    if zeros:
        values[: n // 2] = 0.0
    theta = simplex_threshold(values, radius)
    assert theta >= 0.0
    kept = np.maximum(values - theta, 0.0).sum()
    assert kept == pytest.approx(min(radius, values.sum()), rel=1e-9, abs=1e-15)
    assert theta == simplex_threshold(values[::-1].copy(), radius)


@pytest.mark.parametrize("radius", [1e-17, 1e-300])
def test_a_radius_below_all_rounding_leaves_nothing_and_no_error(radius: float) -> None:
    assert simplex_threshold(np.array([1.0, 1.0, 0.5]), radius) == 1.0
    assert simplex_threshold(np.empty(0), radius) == 0.0
    assert np.abs(ConstraintSet(radius, None).project_nuclear(np.eye(4))).max() <= 1e-16
    assert np.abs(NuclearProjector(radius, (4, 4)).project(np.eye(4))).max() <= 1e-16


def test_without_a_box_nothing_is_clipped() -> None:
    matrix = 1e9 * draw((5, 6), "gaussian", 0)
    assert np.array_equal(ConstraintSet(1.0, None).clip(matrix), matrix)


@pytest.mark.parametrize("inside", [True, False])
def test_projecting_changes_no_input_and_shares_no_memory(inside: bool) -> None:
    matrix = draw((20, 30), "gaussian", 1)
    copy = matrix.copy()
    cset = ConstraintSet(1e6 if inside else 1.0, 100.0)
    for projected in (
        cset.project_nuclear(matrix),
        cset.project(matrix),
        NuclearProjector(cset.tau, (20, 30)).project(matrix),
    ):
        projected[0, 0] = 77.0
        assert np.array_equal(matrix, copy)


def sylvester(order: int) -> Array:
    """The Hadamard matrix of order 2^order: orthogonal rows of -1 and +1, whose norms are known exactly."""
    matrix = np.ones((1, 1))
    for _ in range(order):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


def test_norms_of_matrices_with_known_norms() -> None:
    for order in range(9):
        matrix, side = sylvester(order), 2**order
        for part, rows in ((matrix, side), (matrix[: max(side // 2, 1)], max(side // 2, 1))):
            for form in (part, part.T):
                assert math.sqrt(side) <= spectral_norm(form) <= math.sqrt(side) * (1.0 + 1e-12)
                assert rows * math.sqrt(side) <= nuclear_norm(form, exact=False) * (1.0 + 1e-15)
                assert nuclear_norm(form, exact=False) <= rows * math.sqrt(side) * (1.0 + 1e-12)
                assert nuclear_norm(form) == pytest.approx(rows * math.sqrt(side), rel=1e-13)
    for n in (10**4, 10**6):
        # Whole numbers: the sum of squares is exact, while the product's many additions round.
        vector = np.random.default_rng(n).integers(-(10**6), 10**6, (1, n)).astype(np.float64)
        true = math.sqrt(sum(int(value) ** 2 for value in vector[0]))
        for form in (vector, vector.T):
            assert true <= spectral_norm(form) <= true * (1.0 + 1e-9)
            assert true <= nuclear_norm(form, exact=False) <= true * (1.0 + 1e-9)


@given(
    shape=st.sampled_from([*SHAPES, (80, 60), (60, 120)]),
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 10**6),
    size=st.sampled_from([1e-170, 1e-20, 1.0, 1e100]),
)
@settings(deadline=None)
def test_norms_from_the_gram_matrix_never_understate(shape: tuple[int, int], kind: str, seed: int, size: float) -> None:
    matrix = size * draw(shape, kind, seed)
    values = np.linalg.svd(matrix, compute_uv=False)
    rounding = 1.0 - 4e-15  # of the singular values that it is compared with
    assert spectral_norm(matrix) >= values[0] * rounding
    assert nuclear_norm(matrix, exact=False) >= values.sum() * rounding
    assert nuclear_norm(matrix, exact=False) >= spectral_norm(matrix) * (1.0 - 1e-12)
    if size > 1e-100:
        assert spectral_norm(matrix) <= values[0] * (1.0 + 1e-12)
        assert nuclear_norm(matrix, exact=False) <= values.sum() + 1e-7 * len(values) * values[0]


@pytest.mark.parametrize("decay", [0.0, 0.01, 0.1, 1.0])
def test_the_rounded_up_nuclear_norm_holds_for_large_matrices_of_any_spectrum(decay: float) -> None:
    rng = np.random.default_rng(3)
    left, right = np.linalg.qr(rng.standard_normal((400, 300)))[0], np.linalg.qr(rng.standard_normal((500, 300)))[0]
    values = np.exp(-decay * np.arange(300.0))
    true = float(values.sum())
    assert true * (1.0 - 1e-13) <= nuclear_norm((left * values) @ right.T, exact=False) <= true + 300 * 4e-8


def low_rank_plus_noise(shape: tuple[int, int], rank: int, noise: float, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    signal = rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1]))
    return signal + noise * rng.standard_normal(shape)


@pytest.mark.parametrize("shape", [(1, 9), (9, 1), (30, 50), (50, 30), (160, 161)])
@pytest.mark.parametrize("radius", [1e-3, 0.1, 0.7, 2.0])
@pytest.mark.parametrize("kind", KINDS)
def test_small_matrices_are_projected_as_by_the_full_decomposition(shape: tuple, radius: float, kind: str) -> None:
    matrix = draw(shape, kind, 2)
    tau = radius * max(np.linalg.svd(matrix, compute_uv=False).sum(), 1e-3)
    projector = NuclearProjector(tau, shape)
    projected = projector.project(matrix)
    expected = ConstraintSet(tau, None).project_nuclear(matrix)
    # The Gram matrix keeps half of the digits of singular values near zero.
    assert projected == pytest.approx(expected, abs=3e-8 * max(np.abs(matrix).max(), 1e-300) * math.sqrt(max(shape)))
    values = np.linalg.svd(expected, compute_uv=False)
    assert projector.values.sum() == pytest.approx(values.sum(), rel=3e-8 * len(values), abs=1e-12)


@pytest.mark.parametrize("shape", [(300, 420), (420, 300)])
@pytest.mark.parametrize(("rank", "radius"), [(1, 0.5), (10, 0.3), (60, 0.5), (100, 0.9)])
def test_repeated_block_projections_reach_the_full_decomposition(shape: tuple, rank: int, radius: float) -> None:
    matrix = low_rank_plus_noise(shape, rank, 0.05, 4)
    expected = np.linalg.svd(matrix, compute_uv=False)
    tau = radius * float(expected[:rank].sum())
    exact = ConstraintSet(tau, None).project_nuclear(matrix)
    projector = NuclearProjector(tau, shape)
    for _ in range(6):
        projected = projector.project(matrix)
        assert projected.shape == shape
        assert nuclear_norm(projected) <= tau * (1.0 + 1e-12)  # inexact or not, never outside
    assert np.linalg.norm(projected - exact) <= 1e-6 * np.linalg.norm(exact)
    assert projector.decompositions >= 6


@pytest.mark.parametrize("shape", [(60, 90), (90, 60), (300, 420), (420, 300)])
def test_the_leading_value_is_estimated_from_below(shape: tuple[int, int]) -> None:
    matrix, other = (low_rank_plus_noise(shape, 8, 0.05, seed) for seed in (4, 5))
    projector = NuclearProjector(0.3 * nuclear_norm(matrix), shape, approximate=True)
    assert projector.leading_value(other) == spectral_norm(other)  # nothing to estimate from yet
    for _ in range(6):
        projector.project(matrix)
    true, elsewhere = (float(np.linalg.norm(form, 2)) for form in (matrix, other))
    # What is left of the matrix outside the ball has the same singular vectors and shares its leading ones.
    outside = matrix - projector.project(matrix)
    for form, largest in ((matrix, true), (outside, float(np.linalg.norm(outside, 2)))):
        assert largest * (1.0 - 1e-3) <= projector.leading_value(form) <= largest * (1.0 + 1e-12)
    assert 0.0 < projector.leading_value(other) < 0.9 * elsewhere  # a subspace that is not its own
    assert projector.leading_value(np.zeros(shape)) == 0.0


@pytest.mark.parametrize("noise", [0.0, 1e-13])
@pytest.mark.parametrize("shape", [(40, 90), (120, 100), (300, 320)])
def test_a_block_wider_than_the_rank_does_not_overstate_the_leading_value(shape: tuple[int, int], noise: float) -> None:
    matrix = low_rank_plus_noise(shape, 3, noise, 6)
    projector = NuclearProjector(0.5 * nuclear_norm(matrix), shape, approximate=True)
    for _ in range(4):
        outside = matrix - projector.project(matrix)
        for form in (matrix, outside):
            largest = float(np.linalg.norm(form, 2))
            assert largest * (1.0 - 1e-6) <= projector.leading_value(form) <= largest * (1.0 + 1e-12)


@pytest.mark.parametrize("shape", [(20, 30), (60, 50)])
def test_the_spectral_norm_of_many_equal_values_is_found(shape: tuple[int, int]) -> None:
    # The gradient at an optimum has as many equal leading singular values as the solution has rank.
    rng, side = np.random.default_rng(0), min(shape)
    for equal in (side // 2, side - 1, side) * 60:
        values = np.where(np.arange(side) < equal, 1.0, rng.random(side))
        left, right = (np.linalg.qr(rng.standard_normal((d, side)))[0] for d in shape)
        assert spectral_norm((left * values) @ right.T) == pytest.approx(1.0, rel=1e-13)


def test_a_block_follows_a_slowly_turning_matrix() -> None:
    shape, projector = (250, 300), NuclearProjector(60.0, (250, 300))
    first, second = (low_rank_plus_noise(shape, 5, 0.02, seed) for seed in (0, 1))
    for step in range(40):
        matrix = math.cos(0.04 * step) * first + math.sin(0.04 * step) * second
        projected = projector.project(matrix)
    exact = ConstraintSet(60.0, None).project_nuclear(matrix)
    assert np.linalg.norm(projected - exact) <= 1e-2 * np.linalg.norm(exact)


def test_a_block_finds_a_subspace_orthogonal_to_the_one_before() -> None:
    rng = np.random.default_rng(0)
    left, right = np.linalg.qr(rng.standard_normal((300, 80)))[0], np.linalg.qr(rng.standard_normal((300, 80)))[0]
    projector = NuclearProjector(40.0, (300, 300))
    projector.project(10.0 * left[:, :20] @ right[:, :20].T)
    matrix = 10.0 * left[:, 40:60] @ right[:, 40:60].T
    for _ in range(8):
        projected = projector.project(matrix)
    assert np.linalg.norm(projected - ConstraintSet(40.0, None).project_nuclear(matrix)) <= 1e-6


@pytest.mark.parametrize("shape", [(300, 200), (200, 300)])
def test_a_large_matrix_inside_the_ball_stays_as_it_is(shape: tuple[int, int]) -> None:
    matrix = low_rank_plus_noise(shape, 3, 0.5, 5)
    projector = NuclearProjector(1.01 * nuclear_norm(matrix), shape)
    for _ in range(2):
        assert projector.project(matrix) == pytest.approx(matrix, abs=1e-12)
    assert projector.values.sum() == pytest.approx(nuclear_norm(matrix), rel=1e-6)


def test_a_large_matrix_of_zeros_is_its_own_projection_and_spoils_nothing() -> None:
    projector = NuclearProjector(3.0, (200, 300))
    assert not projector.project(np.zeros((200, 300))).any()
    matrix = low_rank_plus_noise((200, 300), 2, 0.1, 6)
    expected = ConstraintSet(3.0, None).project_nuclear(matrix)
    for _ in range(4):
        projected = projector.project(matrix)
    assert projected == pytest.approx(expected, abs=1e-6)


def test_the_intersection_of_a_large_set_is_found_through_the_block() -> None:
    matrix = low_rank_plus_noise((180, 240), 4, 1.0, 7)
    cset = ConstraintSet(0.1 * nuclear_norm(matrix), 1.5)
    projected = cset.project(matrix, tol=1e-6)
    assert np.abs(projected).max() == 1.5
    assert nuclear_norm(projected) <= cset.tau * (1.0 + 1e-5)
    residual = matrix - projected
    rng = np.random.default_rng(8)
    for _ in range(5):
        point = cset.clip(cset.project_nuclear(projected + rng.standard_normal(matrix.shape)))
        point *= min(1.0, cset.tau / nuclear_norm(point))
        assert np.vdot(residual, point - projected) <= 1e-4 * np.linalg.norm(residual) * np.linalg.norm(projected)


def test_the_papers_radius() -> None:
    assert ConstraintSet.for_rank((100, 100)) == ConstraintSet(100.0, 1.0)
    assert ConstraintSet.for_rank((100, 100), alpha=None, multiple=0.25) == ConstraintSet(25.0, None)
    assert ConstraintSet.for_rank((943, 1682), rank=3, alpha=2.0).tau == pytest.approx(2.0 * math.sqrt(3 * 943 * 1682))
    # Every matrix of that rank within the box lies in the set: equality for a matrix of one sign pattern.
    assert nuclear_norm(np.full((8, 18), -0.7)) == pytest.approx(ConstraintSet.for_rank((8, 18), 1, 0.7).tau)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ConstraintSet(0.0), "^tau must be a finite number above 0, got 0.0"),
        (lambda: ConstraintSet(-1.0), "^tau must be a finite number above 0"),
        (lambda: ConstraintSet(math.nan), "^tau must be a finite number above 0"),
        (lambda: ConstraintSet(math.inf), "^tau must be a finite number above 0"),
        (lambda: ConstraintSet("1"), "^tau must be a number above 0"),
        (lambda: ConstraintSet(None), "^tau must be a number above 0"),
        (lambda: ConstraintSet(1.0, 0.0), "^alpha must be a finite number above 0"),
        (lambda: ConstraintSet(1.0, math.nan), "^alpha must be a finite number above 0"),
        (lambda: ConstraintSet(1.0, True), "^alpha must be a number above 0"),
        (lambda: ConstraintSet.for_rank((0, 3)), r"^shape\[0\] must be a whole number of at least 1"),
        (lambda: ConstraintSet.for_rank(5), "^shape must be a pair"),
        (lambda: ConstraintSet.for_rank((4, 3), rank=4), "^rank must be a whole number from 1 to 3, got 4"),
        (lambda: ConstraintSet.for_rank((4, 3), rank=0), "^rank must be a whole number from 1 to 3"),
        (lambda: ConstraintSet.for_rank((4, 3), rank=1.5), "^rank must be a whole number"),
        (lambda: ConstraintSet.for_rank((4, 3), alpha=-1.0), "^alpha must be a finite number above 0"),
        (lambda: ConstraintSet.for_rank((4, 3), alpha=0.0), "^alpha must be a finite number above 0"),
        (lambda: ConstraintSet.for_rank((4, 3), multiple=0.0), "^multiple must be a finite number above 0"),
        (lambda: ConstraintSet(1.0).project(np.array([[math.nan]])), "^matrix must hold finite numbers only"),
        (lambda: ConstraintSet(1.0).project_nuclear(np.array([[math.inf]])), "^matrix must hold finite numbers only"),
        (lambda: ConstraintSet(1.0).project(np.zeros(3)), "^matrix must be an array of 2 dimensions"),
        (lambda: ConstraintSet(1.0).project(np.zeros((2, 2)), tol=0.0), "^tol must be"),
        (lambda: ConstraintSet(1.0).project(np.zeros((2, 2)), max_iter=0), "^max_iter must be"),
    ],
)
def test_bad_input_is_named(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()


def test_a_constraint_set_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        ConstraintSet(1.0).tau = 2.0  # type: ignore[misc]
