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
    tol: float = 1e-7,
    max_iter: int = 60,
) -> Array:
    """Solve l'(x) + rho (x - v) = 0 entry by entry by Newton's method, safeguarded by a bracket, and cut to the box.

    The derivative grows with slope at least s = rho + min(0, inf l'') > 0, so the root lies between v and
    v - l'(v)/s: a bracket that shrinks with every evaluation. A step that leaves it first goes to its end (which is the
    answer for an entry at the bound) and later halves it (which ends any cycle).

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
        Largest change of an entry at which Newton stops; what is left then is of the order of its square.
    """
    slope = rho + min(0.0, least_curvature)
    other = centre - loss.gradient(centre if alpha is None else np.clip(centre, -alpha, alpha)) / slope
    if alpha is not None:
        # The gradient is only used inside the box, where its monotonicity is known; the bracket is the box itself for
        # entries whose centre lies outside.
        outside = np.abs(centre) > alpha
        low = np.where(outside, -alpha, np.clip(np.minimum(centre, other), -alpha, alpha))
        high = np.where(outside, alpha, np.clip(np.maximum(centre, other), -alpha, alpha))
    else:
        low, high = np.minimum(centre, other), np.maximum(centre, other)
    x = np.clip(start, low, high)
    for step in range(max_iter):
        residual = loss.gradient(x) + rho * (x - centre)
        low = np.where(residual < 0.0, x, low)
        high = np.where(residual > 0.0, x, high)
        following = x - residual / (loss.curvature(x) + rho)
        if step < 3:
            following = np.clip(following, low, high)
        else:
            following = np.where((following < low) | (following > high), 0.5 * (low + high), following)
        change = float(np.abs(following - x).max(initial=0.0))
        x = following
        if change <= tol:
            break
    return x
