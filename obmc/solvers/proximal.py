"""The proximal step of a separable loss: argmin over |x| <= alpha of l(x) + rho/2 (x - v)^2, entry by entry."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from obmc.losses import Loss

Array = NDArray[np.float64]


def proximal_point(
    loss: Loss,
    centre: Array,
    rho: float,
    alpha: float | None,
    start: Array,
    least_curvature: float,
    tol: float = 1e-5,
    max_iter: int = 60,
) -> Array:
    """Solve l'(x) + rho (x - v) = 0 entry by entry by Newton's method, safeguarded by a bracket, and cut to the box.

    The derivative g grows with slope at least s = rho + min(0, inf l'') > 0, so from any x in the box the solution lies
    towards x - g(x)/s and no further: a bracket that shrinks with every evaluation. A step that leaves it goes to its
    end, which is the answer for an entry at the bound; where that end was tried before it halves the bracket instead,
    which ends any cycle.

    Parameters
    ----------
    loss
        The loss; ``rho`` must exceed minus its least curvature.
    centre, start
        v and a first guess, shape (n,).
    rho
        Weight of the quadratic.
    alpha
        Half width of the box, or None.
    least_curvature
        inf l'' on the box.
    tol
        Largest change of an entry, relative to the largest entry, at which Newton stops; what is left then is of the
        order of its square.
    """
    least_slope = rho + min(0.0, least_curvature)
    bound = np.inf if alpha is None else alpha
    x = np.clip(start, -bound, bound)
    residual, step, size = np.empty_like(x), np.empty_like(x), np.empty_like(x)
    low, high = x, x
    low_tried = high_tried = np.zeros(loss.n, dtype=bool)
    for turn in range(max_iter):
        gradient, curvature = loss.slopes(x)
        np.subtract(x, centre, out=residual)
        residual *= rho
        residual += gradient
        falls, rises = residual < 0.0, residual > 0.0
        if turn == 0:
            np.divide(residual, least_slope, out=step)
            other = np.subtract(x, step, out=step)
            low, high = np.minimum(x, other), np.maximum(x, other)
            np.maximum(low, -bound, out=low)
            np.minimum(high, bound, out=high)
            low_tried, high_tried = falls, rises
        else:
            np.copyto(low, x, where=falls)
            np.copyto(high, x, where=rises)
            low_tried |= falls
            high_tried |= rises
        np.add(curvature, rho, out=step)
        np.divide(residual, step, out=step)
        newton = np.subtract(x, step, out=step)
        following = np.maximum(newton, low)
        np.minimum(following, high, out=following)
        if turn > 0:  # the first step leaves an end that was tried, or stays where it is
            low_again, high_again = newton <= low, newton >= high
            low_again &= low_tried
            high_again &= high_tried
            back = np.logical_or(low_again, high_again, out=low_again)
            if back.any():
                back &= following != x
                np.copyto(following, 0.5 * (low + high), where=back)
        np.subtract(following, x, out=size)
        change = float(np.abs(size, out=size).max(initial=0.0))
        x = following
        if change <= tol * float(np.abs(x, out=size).max(initial=0.0)):
            break
    return x
