"""The paper's algorithm: nonmonotone spectral projected gradient (Birgin, Martinez and Raydan 2000).

    X_{k+1} = X_k + lambda ( P_C(X_k - s_k grad f(X_k)) - X_k ),

with the Barzilai-Borwein length s_k = <dX, dX> / <dX, dG> of the step before and lambda halved until f is below the
largest of the last ten values by a fixed share of the predicted decrease. The projection on C is the expensive part; it
is warm-started from step to step and made as exact as the step needs.
"""

from __future__ import annotations

import math
import time
from collections import deque

import numpy as np
from numpy.typing import NDArray

from obmc.losses import is_convex
from obmc.solvers.certificate import Certificate
from obmc.solvers.completion import Callback, Progress, stops
from obmc.solvers.intersection import IntersectionProjector
from obmc.solvers.outcome import LIMIT, WITHIN, Outcome
from obmc.solvers.problem import Problem

Array = NDArray[np.float64]

MEMORY = 10
DECREASE = 1e-4
SHORTEST, LONGEST = 1e-3, 1e3  # in units of 1 / (largest curvature)


def spg(problem: Problem, tol: float, max_iter: int, callback: Callback | None) -> Outcome:
    """Solve to a certified relative gap of ``tol``; for a loss that is not convex on the box, to a step below ``tol``.

    Parameters as for ``obmc.solvers.admm.admm``.
    """
    began = time.perf_counter()
    loss, cset = problem.loss, problem.cset
    convex = is_convex(loss, cset.alpha)
    part = problem.part()
    certificate = Certificate(problem, part, tol)
    projector = IntersectionProjector(cset, problem.omega.shape)
    x: Array = np.zeros(problem.omega.shape)
    value, gradient = problem.objective(x), problem.gradient(x)
    recent = deque([value], maxlen=MEMORY)
    unit = 1.0 / (loss.max_curvature + problem.ridge)
    length = unit
    before, precision = length, 1e-3
    done, message, iteration = False, LIMIT, 0
    for iteration in range(1, max_iter + 1):
        projected = projector.project(x - length * gradient, tol=precision, stretch=length / before)
        before = length
        direction = projected - x
        slope = float(np.vdot(gradient, direction))
        moved = float(np.linalg.norm(direction)) / max(float(np.linalg.norm(projected)), 1e-300)
        gap = math.nan
        if convex:
            inside = None if cset.alpha is None else np.abs(projected) < cset.alpha
            certificate.lower_bound(x, -projector.ball_part / length, inside)
            gap = certificate.glance(x)
            if gap <= tol:
                certificate.feasible(x)
                gap = certificate.gap
        done = gap <= tol if convex else moved <= tol
        if done:
            message = WITHIN if convex else "the step is within the tolerance"
            break
        # The inexact projection may stop short of descent or of the gap; then the next ones are made more exact.
        precision = max(min(precision, 0.1 * moved, 0.1 * precision if slope >= 0.0 else precision), 1e-13)
        if slope < 0.0:
            share, ceiling = 1.0, max(recent)
            following = x + direction
            while True:
                trial = problem.objective(following)
                if trial <= ceiling + DECREASE * share * slope or share < 1e-12:
                    break
                share *= 0.5
                following = x + share * direction
            step = following - x
            new_gradient = problem.gradient(following)
            curvature = float(np.vdot(step, new_gradient - gradient))
            squared = float(np.vdot(step, step))
            length = unit * (min(max(squared / (curvature * unit), SHORTEST), LONGEST) if curvature > 0.0 else LONGEST)
            x, value, gradient = following, trial, new_gradient
            recent.append(value)
        elif precision <= 1e-13:
            message = "no descent is left at the projection's precision"
            break
        else:
            # X lies outside the ball by the error of its own projection; the way back in need not descend.
            x = projected
            value, gradient = problem.objective(x), problem.gradient(x)
            recent.append(value)
        if stops(callback, Progress(iteration, max_iter, gap)):
            message = "stopped by the callback"
            break
    if not done or not convex:
        certificate.feasible(x)
        done = certificate.gap <= tol if convex else done
        message = WITHIN if convex and done and message == LIMIT else message
    assert certificate.best is not None
    return Outcome(
        matrix=certificate.best.matrix,
        effects=None,
        objective=certificate.objective,
        gap=certificate.gap if convex else math.nan,
        converged=done,
        iterations=iteration,
        seconds=time.perf_counter() - began,
        message=message if convex else message + "; the loss is not convex here, so no gap is claimed",
        decompositions=projector.decompositions,
    )
