"""What the benchmarks compare with is right, too: each rival ends at the optimum, or it would be no comparison."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from solver_problems import reference, some_observations

from obmc.constraints import ConstraintSet
from obmc.links import Logistic
from obmc.losses import likelihood
from obmc.solvers.admm import admm
from obmc.solvers.factored import factored
from obmc.solvers.problem import Problem

EVIDENCE = Path(__file__).parents[2] / "benchmarks" / "evidence"


@pytest.fixture(scope="module")
def rivals() -> ModuleType:
    spec = importlib.util.spec_from_file_location("_rivals", EVIDENCE / "_rivals.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["_rivals"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_the_toolboxs_algorithm_ends_at_the_optimum_or_where_it_is_told_to(rivals: ModuleType) -> None:
    obs = some_observations((14, 11), 70)
    problem = Problem(likelihood(Logistic(), obs.signs), obs.omega, ConstraintSet(6.0, 0.7))
    best = admm(problem, 1e-9, 5000, None)
    target = best.objective + 1e-3 * problem.loss.scale
    part, whole = rivals.davenport(problem, [target])
    assert whole.objective == pytest.approx(best.objective, abs=1e-6)
    assert np.abs(whole.matrix).max() <= 0.7 + 1e-7
    assert np.linalg.svd(whole.matrix, compute_uv=False).sum() <= 6.0 + 1e-6
    assert best.objective - 1e-6 <= part.objective <= target
    assert 0 < part.decompositions < whole.decompositions


@pytest.mark.evidence
def test_it_takes_as_many_decompositions_as_the_toolbox(rivals: ModuleType) -> None:
    [found] = rivals.davenport(reference("A", boxed=True).problem)
    assert found.decompositions == pytest.approx(2783, rel=0.1)


def test_the_factorised_fit_ends_at_the_convex_optimum_with_its_penalty(rivals: ModuleType) -> None:
    obs = some_observations((40, 30), 500)
    problem = Problem(likelihood(Logistic(), obs.signs), obs.omega, ConstraintSet(20.0, None))
    best = factored(problem, 1e-6, 2000, None)
    gradient = np.zeros((40, 30))
    values = (best.left @ best.right.T)[obs.rows, obs.cols]
    gradient[obs.rows, obs.cols] = problem.loss.gradient(values)
    found, left, right = rivals.factorised(problem, best.left.shape[1], float(np.linalg.norm(gradient, 2)))
    assert found.objective == pytest.approx(best.objective, abs=5e-3 * problem.loss.scale)
    assert np.linalg.svd(left @ right.T, compute_uv=False).sum() <= 20.0 * (1.0 + 1e-9)


def test_convex_programming_ends_at_the_optimum(rivals: ModuleType) -> None:
    obs, cset = some_observations((7, 9), 40, 2), ConstraintSet(3.0, 0.35)
    best = admm(Problem(likelihood(Logistic(), obs.signs), obs.omega, cset), 1e-8, 5000, None)
    assert rivals.cvxpy_scs(obs, cset, 1e-6).objective == pytest.approx(best.objective, abs=1e-4)
