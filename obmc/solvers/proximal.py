"""The proximal step of a separable loss: argmin over |x| <= alpha of l(x) + rho/2 (x - v)^2, entry by entry."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from obmc.losses import Loss

Array = NDArray[np.float64]

# Newton's method alone goes on as long as its longest step falls by this factor from one turn to the next.
_FALL = 0.5
# What is left of an entry is of the order of a step's square on the scale of the loss only, however large others are:
# a tolerance is of at most this many scales, but no finer than the share of the largest entry that rounding allows.
_SCALES, FINEST = 10.0, 1e-5


def proximal_point(
    loss: Loss,
    centre: Array,
    rho: float,
    alpha: float | None,
    start: Array,
    least_curvature: float,
    tol: float = FINEST,
    max_iter: int = 60,
) -> Array:
    """Solve l'(x) + rho (x - v) = 0 entry by entry by Newton's method, cut to the box; safeguarded where it strays.

    The steps of all entries are watched together: as long as the longest falls to half from turn to turn they come to
    rest, and an entry at rest has the derivative 0 or is at the bound that it is pushed against. Once it does not fall,
    every entry is held in a bracket (``_bracketed``).

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
        Largest change of an entry, relative to the largest entry or to the loss's ``width``, at which Newton stops;
        what is left then is of the order of its square.
    """
    bound = np.inf if alpha is None else alpha
    x = np.clip(start, -bound, bound)
    size = np.empty_like(x)
    longest = math.inf
    for turn in range(max_iter):
        following, _ = _newton(loss, x, centre, rho)
        np.maximum(following, -bound, out=following)
        np.minimum(following, bound, out=following)
        change = _largest(np.subtract(following, x, out=size))
        if change <= tol * bound and change <= _allowed(tol, loss.width, _largest(following, size)):
            return following
        if not change <= _FALL * longest:
            return _bracketed(loss, centre, rho, bound, x, rho + min(0.0, least_curvature), tol, max_iter - turn)
        x, longest = following, change
    return x


def _newton(loss: Loss, x: Array, centre: Array, rho: float) -> tuple[Array, Array]:
    """Where Newton's step leads from x, and the derivative l'(x) + rho (x - v) at x."""
    gradient, curvature = loss.slopes(x)
    residual = np.subtract(x, centre)
    residual *= rho
    residual += gradient
    step = np.add(curvature, rho)
    np.divide(residual, step, out=step)
    return np.subtract(x, step, out=step), residual


def _allowed(tol: float, width: float, largest: float) -> float:
    """The step at which an entry counts as at rest, for a largest entry of this size."""
    return max(tol * min(largest, _SCALES * width), min(tol, FINEST) * largest)


def _largest(x: Array, out: Array | None = None) -> float:
    """max |x|, computed in ``out`` or over x itself."""
    return float(np.abs(x, out=x if out is None else out).max(initial=0.0))


def _bracketed(
    loss: Loss, centre: Array, rho: float, bound: float, x: Array, least_slope: float, tol: float, max_iter: int
) -> Array:
    """The same from ``x`` in the box, with every entry in a bracket that shrinks with every evaluation.

    The derivative g grows with slope at least s = rho + min(0, inf l'') > 0, so from any x in the box the solution lies
    towards x - g(x)/s and no further. A step that leaves the bracket goes to its end, which is the answer for an entry
    at the bound. Where that end was tried before, and where a step is not half as long as the last but one, the bracket
    is halved instead, which ends any cycle.
    """
    size = np.empty_like(x)
    last = last_but_one = np.full(loss.n, np.inf)
    low, high = x, x
    low_tried = high_tried = np.zeros(loss.n, dtype=bool)
    for turn in range(max_iter):
        newton, residual = _newton(loss, x, centre, rho)
        falls, rises = residual < 0.0, residual > 0.0
        if turn == 0:
            other = x - residual / least_slope
            low, high = np.minimum(x, other), np.maximum(x, other)
            np.maximum(low, -bound, out=low)
            np.minimum(high, bound, out=high)
            low_tried, high_tried = falls, rises
        else:
            np.copyto(low, x, where=falls)
            np.copyto(high, x, where=rises)
            low_tried |= falls
            high_tried |= rises
        following = np.maximum(newton, low)
        np.minimum(following, high, out=following)
        if turn > 0:  # the first step leaves an end that was tried, or stays where it is
            low_again, high_again = newton <= low, newton >= high
            low_again &= low_tried
            high_again &= high_tried
            back = np.logical_or(low_again, high_again, out=low_again)
            allowed = _allowed(tol, loss.width, _largest(following, size))
            back |= np.abs(following - x) > np.maximum(0.5 * last_but_one, allowed)
            if back.any():
                back &= following != x
                np.copyto(following, 0.5 * (low + high), where=back)
        last_but_one, last = last, np.abs(following - x)
        change = float(last.max(initial=0.0))
        x = following
        if change <= _allowed(tol, loss.width, _largest(x, size)):
            break
    return x
