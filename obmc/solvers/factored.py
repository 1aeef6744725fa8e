"""Factored SPG: the nuclear-norm problem for matrices that do not fit densely.

    minimise  sum over Omega of l(S_ij) + ridge/2 ||L||_F^2 + lam/2 (|b|^2 + |c|^2)
    subject to  S = mu + b 1' + 1 c' + L,  ||L||_* <= tau.

The box is not part of the iteration. So every iterate L = A B' is of low rank and the loss's gradient is sparse; a
projected gradient step needs the leading singular triplets of (low rank + sparse), found by a block iteration that
starts from the ones before. The values of S on Omega are kept as a vector: the line search and the Barzilai-Borwein
length cost O(n). The effects move with L in one gradient step, each in the unit in which its curvature is an entry's.
Memory: O(n) plus (d1 + d2) times the block. Birgin, Martinez and Raydan 2000; docs/mathematics.md, Solvers.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from obmc.losses import is_convex
from obmc.solvers.completion import Callback, Progress, stops
from obmc.solvers.level import UNBOUNDED
from obmc.solvers.lowrank import Descent, Model, Positions
from obmc.solvers.outcome import LIMIT
from obmc.solvers.parts import Effects
from obmc.solvers.problem import Problem
from obmc.solvers.spectral import Bound, spectral_norm_bound

Array = NDArray[np.float64]

# Not the certified one of the problem with a box, which this solver leaves to the end.
_WITHIN = "the gap is within the tolerance"


@dataclass(frozen=True, eq=False)
class FactoredOutcome:
    """L = left right' with effects, and what was reached. ``passes`` counts products and sweeps over the n entries."""

    left: Array
    right: Array
    effects: Effects | None
    objective: float
    gap: float
    converged: bool
    iterations: int
    seconds: float
    message: str
    decompositions: int
    passes: int


def factored(
    problem: Problem,
    tol: float,
    max_iter: int,
    callback: Callback | None,
    start: FactoredOutcome | None = None,
    certify: bool = True,
) -> FactoredOutcome:
    """Solve to a relative gap of ``tol`` on the problem without the box, or to small steps where no gap is claimed.

    Parameters as for ``obmc.solvers.admm.admm``; the box of ``problem.cset`` is ignored (the caller clips).
    ``start`` is the outcome of a similar problem with at most this radius (a path of radii goes from small to large).
    ``certify=False`` stops on the estimate of the gap from below, and claims none: for the many solves of a
    cross-validation.

    Raises
    ------
    RankTooLargeError
        Where the solution at this radius is of so high a rank that its factors would not fit.
    """
    began = time.perf_counter()
    pattern = Positions(problem.omega)
    model = Model(problem, pattern, pattern.arranged(problem.loss))
    convex = is_convex(problem.loss, None)
    started = () if start is None else (start.left, start.right, start.effects)
    descent = Descent(model, problem.cset.tau, *started)
    scale = model.loss.scale
    lower, promise, next_look, done, iteration = model.loss.infimum, math.inf, 3 if start is None else 2, False, 0
    message, note, excess, bounded = LIMIT, "", 0.0, True

    def look(force: bool) -> None:
        """Bring the level to its optimum and the lower bound up to date, if that can close the gap (or by force)."""
        nonlocal lower, promise, note, excess, bounded
        if certify:
            levelled, gradient, found = model.levelled(descent.point, descent.gradient)
            if not found:
                bounded = lower > -math.inf
                return
            descent.move_to(levelled, gradient)
        point, gradient = descent.point, descent.gradient
        fit, radius = model.bound_without_norm(point, gradient), problem.cset.tau if model.low_rank else 0.0
        estimate = descent.block.norm_estimate(point, model.ridge) if radius else 0.0
        # What the last bound found outside of the block is forgotten by and by, as the block turns towards it.
        promise = (point.objective - max(fit - radius * estimate * (1.0 + excess), lower)) / scale
        excess *= 0.5
        if not certify or not (force or promise <= tol):
            return
        norm = Bound(0.0)
        if radius:
            # A slack of the norm moves the bound by tau times it: a quarter of the tolerance is spent on it.
            slack = 0.25 * tol * scale / radius
            norm = spectral_norm_bound(pattern.matrix, point.left, point.right, model.ridge, slack)
            excess = max(norm.value / max(estimate, 1e-300) - 1.0, 0.0)
        if fit - radius * norm.value > lower:
            lower, note = fit - radius * norm.value, norm.note

    for iteration in range(1, max_iter + 1):
        moved = descent.step()
        gap = math.nan
        if convex and (iteration >= next_look or iteration == max_iter):
            # At a large radius all labels are fitted, and the loss's own lower bound is enough.
            if descent.point.objective - lower > tol * scale:
                look(iteration == max_iter)
            else:
                promise = 0.0
            gap = max(descent.point.objective - lower, 0.0) / scale if certify else math.nan
            done = gap <= tol if certify else promise <= tol
            # Far from the end few iterations are worth a look, near it every one.
            next_look = iteration + (1 if promise <= 3.0 * tol else 3)
        elif not convex:
            done = moved <= tol and not descent.block.is_short
        if not bounded:
            message = UNBOUNDED
            break
        if done:
            message = _WITHIN if convex else "the step is within the tolerance"
            break
        if stops(callback, Progress(iteration, max_iter, gap)):
            message = "stopped by the callback"
            break
    if convex and bounded and not done:
        look(True)
        done = certify and descent.point.objective - lower <= tol * scale
        message = _WITHIN if done and message == LIMIT else message
    point = descent.point
    return FactoredOutcome(
        left=point.left,
        right=point.right,
        effects=None if model.penalty is None else point.effects,
        objective=point.objective,
        gap=max(point.objective - lower, 0.0) / scale if convex and certify else math.nan,
        converged=done,
        iterations=iteration,
        seconds=time.perf_counter() - began,
        message=message + (note if convex else "; without the box this loss is not convex, so no gap is claimed"),
        decompositions=descent.block.decompositions,
        passes=pattern.passes,
    )
