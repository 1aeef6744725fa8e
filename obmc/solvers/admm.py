"""ADMM for the whole problem: the default for matrices that fit densely.

    minimise  sum over Omega of l(X_ij) + ridge/2 ||X||_F^2   subject to  |X_ij| <= alpha,  ||Z||_* <= tau,  X = Z.

X carries the loss and the box (a scalar problem per entry), Z the ball (one projection of the singular values), U is
the scaled dual. At a fixed point -rho U is the part of the gradient that the ball holds, which gives the certificate
its split. Source: Boyd et al. 2011, sections 3.3 and 3.4; docs/mathematics.md, Solvers.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from obmc.losses import is_convex
from obmc.solvers.balance import FAVOUR_BOXED, FAVOUR_FREE, FAVOUR_LEAST, RELAXATION, balanced, relative_residuals
from obmc.solvers.certificate import Certificate
from obmc.solvers.completion import Callback, Progress, stops
from obmc.solvers.level import UNBOUNDED
from obmc.solvers.outcome import LIMIT, WITHIN, Outcome
from obmc.solvers.problem import Problem
from obmc.solvers.proximal import FINEST, proximal_point

Array = NDArray[np.float64]

# The penalty starts at this multiple of the loss's largest curvature.
START = 0.5
# Beyond this tolerance the nuclear norm is taken from a full decomposition instead of the (rounded up) Gram matrix.
EXACT_BELOW = 1e-5
# Without convexity the over-relaxed iteration can run in a small circle for ever. The plain one then comes to rest.
PLAIN_AFTER = 250
# Newton's method in the proximal step stops at a relative change whose square is a tenth of the tolerance: the square
# is the order of what is left, where an entry changes little on the scale of the link. No finer than FINEST, whose
# square is at the rounding of the singular values; and that for a loss that is not convex, which is judged by residuals
# alone.
NEWTON_SHARE = 0.3
# How often in a row of looks the price of feasibility may be most of the gap before it is learnt anew: it can have been
# taken where next to nothing was cut off.
PRICED_AGAIN = 4
# Below this share of Z the dual is rounding alone: the ball does not bind.
BINDS = 1e-9


def admm(problem: Problem, tol: float, max_iter: int, callback: Callback | None) -> Outcome:
    """Solve to a certified relative gap of ``tol``, or for a loss that is not convex on the box to small residuals.

    Parameters
    ----------
    problem
        Loss, positions, constraints and ridge.
    tol
        Relative gap at which to stop; without convexity, relative primal and dual residual.
    max_iter
        Largest number of iterations.
    callback
        Called after every iteration with a ``Progress``; returning False stops the solver.
    """
    began = time.perf_counter()
    loss, cset, ridge, places = problem.loss, problem.cset, problem.ridge, problem.omega.flat
    shape = problem.omega.shape
    least = loss.min_curvature(cset.alpha)
    convex = is_convex(loss, cset.alpha)
    part = problem.part()
    certificate = Certificate(problem, part, tol, exact=min(shape) <= 160 or tol < EXACT_BELOW)
    floor = 0.0 if convex else -1.5 * least
    rho = max(START * loss.max_curvature, floor)
    favour = FAVOUR_BOXED if cset.alpha is not None else FAVOUR_FREE
    z, u, values = np.zeros(shape), np.zeros(shape), np.zeros(loss.n)
    work, target = np.empty(shape), np.empty(shape)
    pace = _Pace(tol)
    newton = max(FINEST, NEWTON_SHARE * math.sqrt(tol)) if convex else FINEST
    done, message, iteration, dear = False, LIMIT, 0, 0
    for iteration in range(1, max_iter + 1):
        # X-step. A ridge is folded into the quadratic: rho/2 (x - v)^2 + ridge/2 x^2 = weight/2 (x - rho v/weight)^2.
        weight = rho + ridge
        x = np.subtract(z, u, out=work)
        if ridge:
            x *= rho / weight
        values = proximal_point(loss, x.reshape(-1)[places], weight, cset.alpha, values, least, newton)
        if cset.alpha is not None:
            np.clip(x, -cset.alpha, cset.alpha, out=x)
        x.reshape(-1)[places] = values
        # Z-step and dual step, in place: a matrix of ML-100K's size leaves the processor's cache.
        balancing = not convex or (iteration <= 200 and iteration % 5 == 0)
        relaxation = RELAXATION if convex or iteration <= PLAIN_AFTER else 1.0
        np.multiply(x, relaxation, out=target)
        target += u
        target -= (relaxation - 1.0) * z
        previous, z = z, part.step(target, rho)
        np.subtract(target, z, out=u)
        if balancing:
            primal, dual = relative_residuals(x, z, previous, u)
        gap = math.nan
        if convex and (pace.due(iteration) or iteration == max_iter):
            certificate.foresee(z, -rho * u, None if cset.alpha is None else np.abs(x) < cset.alpha)
            first = pace.last is None
            if first:
                certificate.price(z)
            gap = certificate.glance(z)
            if gap <= tol:
                certificate.certify()
                certificate.feasible(z)
                gap = certificate.gap
            pace.seen(iteration, gap)
            if certificate.price_share > 0.5 and not first:  # so early the price says little
                favour = max(0.5 * favour, FAVOUR_LEAST)
                dear += 1
                if dear % PRICED_AGAIN == 0:
                    certificate.price_again(z)
            done = gap <= tol
            if certificate.unbounded:
                message = UNBOUNDED
                break
        elif not convex:
            done = primal <= tol and (dual <= tol or _rests(z, previous, u, tol))
        if done:
            message = WITHIN if convex else "the residuals are within the tolerance"
            break
        if stops(callback, Progress(iteration, max_iter, gap)):
            message = "stopped by the callback"
            break
        if balancing and iteration <= 200 and iteration % 5 == 0:
            rho, factor = balanced(rho, primal, dual, favour, floor)
            u *= factor
    if not done:
        certificate.feasible(z)
        if convex:
            certificate.certify()
            if pace.last is None or pace.last[0] < iteration:
                certificate.lower_bound(z, -rho * u, None if cset.alpha is None else np.abs(x) < cset.alpha)
            # What is paid for at last can be better than was foreseen.
            done = certificate.gap <= tol
            message = WITHIN if done and message == LIMIT else message
    elif not convex:
        certificate.feasible(z)
    assert certificate.best is not None
    return Outcome(
        matrix=certificate.best.matrix,
        effects=certificate.best.effects,
        objective=certificate.objective,
        gap=certificate.gap if convex else math.nan,
        converged=done,
        iterations=iteration,
        seconds=time.perf_counter() - began,
        message=message if convex else message + "; the loss is not convex here, so no gap is claimed",
        decompositions=part.decompositions,
    )


def _rests(z: Array, previous: Array, dual: Array, tol: float) -> bool:
    """Whether Z rests where the ball does not bind: the dual is zero, so that the change is relative to Z itself."""
    size = float(np.linalg.norm(z))
    return float(np.linalg.norm(dual)) <= BINDS * size and float(np.linalg.norm(z - previous)) <= tol * size


class _Pace:
    """When to look at the certificate's forecast, which costs about as much as an iteration.

    The gap falls roughly geometrically; the pace of the last stretch foretells when the tolerance is reached.
    """

    def __init__(self, tol: float, first: int = 8) -> None:
        self.tol = tol
        self.next = first
        self.last: tuple[int, float] | None = None

    def due(self, iteration: int) -> bool:
        return iteration >= self.next

    def seen(self, iteration: int, gap: float) -> None:
        pause = 5
        if self.last is not None and 0.0 < gap < self.last[1]:
            per_iteration = math.log(self.last[1] / gap) / (iteration - self.last[0])
            pause = max(2, math.ceil(min(25.0, math.log(max(gap / self.tol, 1.0)) / per_iteration)))
        self.next, self.last = iteration + pause, (iteration, gap)
