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
    low, high = np.full(loss.n, -bound), np.full(loss.n, bound)
    low_tried, high_tried = np.zeros(loss.n, dtype=bool), np.zeros(loss.n, dtype=bool)
    for step in range(max_iter):
        gradient, curvature = loss.slopes(x)
        residual = gradient + rho * (x - centre)
        if step == 0:
            other = x - residual / least_slope
            low, high = np.maximum(low, np.minimum(x, other)), np.minimum(high, np.maximum(x, other))
        else:
            low = np.where(residual < 0.0, x, low)
            high = np.where(residual > 0.0, x, high)
        low_tried |= residual < 0.0
        high_tried |= residual > 0.0
        newton = x - residual / (curvature + rho)
        following = np.clip(newton, low, high)
        back = ((newton <= low) & low_tried) | ((newton >= high) & high_tried)
        following = np.where(back & (following != x), 0.5 * (low + high), following)
        change = float(np.abs(following - x).max(initial=0.0))
        x = following
        if change <= tol * float(np.abs(x).max(initial=0.0)):
            break
    return x
