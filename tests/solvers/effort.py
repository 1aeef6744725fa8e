"""What fixed problems cost, in counts that no other load of the machine changes; ``python tests/solvers/effort.py``
writes them to ``effort.json`` for the test to compare with.

Decompositions are the solver's own count. A pass is one look at all n entries: an evaluation of the loss or of a
derivative, or a product with the sparse gradient. Bytes are the largest amount allocated at one time beyond the data.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from solver_problems import Array, reference, some_observations

from obmc.constraints import ConstraintSet
from obmc.links import Logistic
from obmc.losses import Loss, Matching, likelihood
from obmc.observations import Observations
from obmc.solvers.admm import admm
from obmc.solvers.factored import factored
from obmc.solvers.problem import Problem
from obmc.solvers.spg import spg

STORED = Path(__file__).with_suffix(".json")


@dataclass
class Counter:
    """Evaluations of a loss, in units of all its entries."""

    entries: int = 0


class Counted:
    """A loss that counts at how many entries it is evaluated."""

    def __init__(self, loss: Loss, counter: Counter) -> None:
        self._loss, self._counter = loss, counter

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._loss, name)
        if name == "select":
            return lambda keep: Counted(found(keep), self._counter)
        if name in ("values", "total", "gradient", "curvature", "slopes"):

            def count(x: Array) -> Any:
                self._counter.entries += len(x)
                return found(x)

            return count
        return found


def noised(shape: tuple[int, int], n: int) -> tuple[Loss, Observations]:
    """Labels as after an unbiased randomised response at epsilon = 2."""
    rng = np.random.default_rng(0)
    rows, cols = np.divmod(np.unique(rng.integers(0, shape[0] * shape[1], n)), shape[1])
    pattern = np.sign(rng.standard_normal(shape[0]))[rows] * np.sign(rng.standard_normal(shape[1]))[cols]
    bits = rng.random(len(rows)) < 0.5 + 0.3 * pattern
    flip = 1.0 / (1.0 + np.exp(2.0))
    kept = bits ^ (rng.random(len(rows)) < flip)
    return Matching(Logistic(), (kept - flip) / (1.0 - 2.0 * flip)), Observations(rows, cols, 2 * kept - 1, shape)


def problems() -> dict[str, tuple[Callable[..., Any], Problem, float]]:
    """Solver, problem and tolerance by name."""
    found: dict[str, tuple[Callable[..., Any], Problem, float]] = {}
    for name in ("A", "G"):
        both, ball = reference(name, boxed=True).problem, reference(name, boxed=False).problem
        found[f"{name}, both norms, admm"] = admm, both, 1e-4
        found[f"{name}, both norms, spg"] = spg, both, 1e-4
        found[f"{name}, nuclear norm, admm"] = admm, ball, 1e-4
        found[f"{name}, nuclear norm, factored"] = factored, ball, 1e-4
    obs = some_observations((300, 400), 12_000)
    wide = Problem(likelihood(Logistic(), obs.signs), obs.omega, ConstraintSet(150.0, 1.0))
    found["300 x 400, both norms, admm"] = admm, wide, 1e-4
    loss, obs = noised((6_000, 5_000), 60_000)
    free = ConstraintSet(500.0, None)
    found["6000 x 5000, factored"] = factored, Problem(loss, obs.omega, free), 1e-3
    found["6000 x 5000 with effects, factored"] = factored, Problem(loss, obs.omega, free, effects=5.0), 1e-3
    return found


def measure(solve: Callable[..., Any], problem: Problem, tol: float) -> dict[str, float]:
    counter = Counter()
    counted = Problem(
        Counted(problem.loss, counter),
        problem.omega,
        problem.cset,
        problem.ridge,
        problem.effects,
        problem.low_rank,
    )
    problem.omega.flat  # part of the data, made once
    tracemalloc.start()
    outcome = solve(counted, tol, 2000, None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert outcome.converged
    products = getattr(outcome, "passes", 0)
    return {
        "decompositions": outcome.decompositions,
        "passes": round(products + counter.entries / problem.loss.n, 1),
        "megabytes": round(peak / 1e6, 2),
    }


if __name__ == "__main__":
    figures = {name: measure(*asked) for name, asked in problems().items()}
    STORED.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
