"""The warm-started projection on ball and box: what it leaves for the next call, and what that saves."""

from __future__ import annotations

import numpy as np
import pytest

from obmc.constraints import ConstraintSet
from obmc.solvers.intersection import IntersectionProjector

CSET = ConstraintSet(20.0, 0.6)


def points(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    start, step = rng.standard_normal((40, 50)), rng.standard_normal((40, 50))
    return [start + 0.01 * k * step for k in range(count)]


def test_a_warm_call_agrees_with_a_cold_one_and_costs_less() -> None:
    warm = IntersectionProjector(CSET, (40, 50))
    cold_cost = 0
    for matrix in points(10):
        cold = IntersectionProjector(CSET, (40, 50))
        expected = cold.project(matrix, tol=1e-9)
        assert warm.project(matrix, tol=1e-9) == pytest.approx(expected, abs=1e-6)
        cold_cost += cold.decompositions
    assert warm.decompositions < 0.8 * cold_cost


def test_the_rest_splits_into_a_part_normal_to_the_ball_and_one_normal_to_the_box() -> None:
    projector = IntersectionProjector(CSET, (40, 50))
    for matrix in points(3):
        projected = projector.project(matrix, tol=1e-10)
        ball, box = projector.ball_part, matrix - projected - projector.ball_part
        # Normal to the ball at P: <N, P> = tau ||N||_2. Normal to the box: nothing inside, outward at the bound.
        assert np.vdot(ball, projected) == pytest.approx(20.0 * np.linalg.norm(ball, 2), rel=1e-6)
        inside = np.abs(projected) < 0.6
        assert np.abs(box[inside]).max() <= 1e-6
        assert np.all(box[~inside] * np.sign(projected[~inside]) >= -1e-6)


def test_a_stretched_dual_serves_a_longer_step() -> None:
    # Along a ray from a point of the set, the normal parts grow with the distance.
    base = CSET.project(points(1)[0])
    direction = points(1)[0] - base
    plain, stretched = IntersectionProjector(CSET, (40, 50)), IntersectionProjector(CSET, (40, 50))
    for projector in (plain, stretched):
        projector.project(base + direction, tol=1e-8)
    before = plain.decompositions
    first = plain.project(base + 4.0 * direction, tol=1e-8)
    second = stretched.project(base + 4.0 * direction, tol=1e-8, stretch=4.0)
    assert first == pytest.approx(base, abs=1e-5)
    assert second == pytest.approx(base, abs=1e-5)
    assert stretched.decompositions - before < plain.decompositions - before


def test_without_a_box_it_is_the_projection_on_the_ball() -> None:
    cset = ConstraintSet(20.0, None)
    matrix = points(1)[0]
    projector = IntersectionProjector(cset, (40, 50))
    assert projector.project(matrix, tol=1e-3) == pytest.approx(cset.project_nuclear(matrix), abs=1e-9)
    assert projector.decompositions == 1
    assert projector.ball_part == pytest.approx(matrix - cset.project_nuclear(matrix), abs=1e-9)


def test_the_iteration_limit_ends_it_within_the_box() -> None:
    projector = IntersectionProjector(CSET, (40, 50))
    projected = projector.project(100.0 * points(1)[0], tol=1e-12, max_iter=3)
    assert projector.decompositions == 3
    assert np.abs(projected).max() <= 0.6
