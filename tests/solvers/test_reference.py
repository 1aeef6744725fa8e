"""Against problems whose optimum is known from an independent solver, for both constraint sets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from solver_problems import NAMES, is_feasible, reference

from obmc.solvers.admm import admm
from obmc.solvers.spg import spg

CASES = [
    pytest.param(name, boxed, id=f"{name}-{'both' if boxed else 'nuclear'}")
    for name in NAMES
    for boxed in (False, True)
]


@pytest.mark.parametrize(("name", "boxed"), CASES)
def test_admm_finds_the_optimum_to_one_millionth(name: str, boxed: bool) -> None:
    case = reference(name, boxed)
    outcome = admm(case.problem, 1e-7, 5000, None)
    assert outcome.converged
    assert abs(case.error(outcome.objective)) <= 1e-6
    assert -1e-9 <= case.error(outcome.objective) <= outcome.gap <= 1e-7
    assert outcome.objective == pytest.approx(case.problem.objective(outcome.matrix), rel=1e-12)
    assert is_feasible(outcome.matrix, case.problem.cset)
    assert np.abs(outcome.matrix).max() == pytest.approx(case.largest, rel=2e-3)


@pytest.mark.parametrize("solve", [admm, spg])
@pytest.mark.parametrize(("name", "boxed"), CASES)
def test_at_the_default_tolerance_the_gap_covers_the_truth(name: str, boxed: bool, solve) -> None:  # type: ignore[no-untyped-def]
    case = reference(name, boxed)
    outcome = solve(case.problem, 1e-4, 5000, None)
    assert outcome.converged
    assert abs(case.error(outcome.objective)) <= 1e-4
    assert -1e-9 <= case.error(outcome.objective) <= outcome.gap <= 1e-4
    assert outcome.objective == pytest.approx(case.problem.objective(outcome.matrix), rel=1e-12)
    assert is_feasible(outcome.matrix, case.problem.cset)


@pytest.mark.parametrize("solve", [admm, spg])
@pytest.mark.parametrize(("name", "boxed"), CASES)
def test_a_solver_stopped_early_still_covers_the_truth(name: str, boxed: bool, solve) -> None:  # type: ignore[no-untyped-def]
    case = reference(name, boxed)
    last = math.inf
    for limit in (1, 2, 4, 9):
        outcome = solve(case.problem, 1e-7, limit, None)
        assert not outcome.converged
        assert -1e-9 <= case.error(outcome.objective) <= outcome.gap
        assert is_feasible(outcome.matrix, case.problem.cset)
        assert outcome.objective <= case.problem.loss.scale * 1.5 + 1.0
        last = min(last, outcome.gap)
    assert last < 0.3  # the certificate says something, long before the end
