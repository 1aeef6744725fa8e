"""The free level of a model with effects: the shift at which the loss's gradient sums to zero.

Without a box a lower bound of the optimum exists at such points only, since the level can go anywhere. Where the mean
of noised labels lies outside of the link's range there is none: the loss falls without end as the level grows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from obmc.losses import Loss

Array = NDArray[np.float64]

STEPS = 100
PRECISION = 1e-12
FARTHEST = 1e9
UNBOUNDED = "the loss falls without end as the level grows: only a bound alpha gives it a minimum (solver 'admm')"


def best_shift(loss: Loss, values: Array) -> tuple[float, Array, bool]:
    """The shift t at which the gradient of the loss at ``values`` + t sums to zero, that gradient, and if it was found.

    Newton's method for a convex loss, kept between the signs of the sum seen so far; on the flat side of a link, where
    Newton's steps know no measure, they are doubled one after the other.
    """
    shift, low, high, reach = 0.0, -math.inf, math.inf, 1.0
    gradient, curvature = loss.slopes(values)
    for _ in range(STEPS):
        total, bend = float(gradient.sum()), float(curvature.sum())
        if total > 0.0:
            high = shift
        else:
            low = shift
        step = -total / bend if bend > 0.0 else -math.copysign(math.inf, total)
        if total == 0.0 or abs(step) <= PRECISION * max(abs(shift), 1.0):
            return shift, gradient, True
        if abs(step) > reach:
            step = math.copysign(reach, step)
            reach *= 2.0
        if not low < shift + step < high:
            step = 0.5 * (low + high) - shift
        if abs(shift + step) > FARTHEST:
            break
        shift += step
        gradient, curvature = loss.slopes(values + shift)
    return shift, gradient, False
