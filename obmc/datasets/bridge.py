"""The bridge instance: one rating that decides half of a completed matrix, which breaks output perturbation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from obmc.constraints import ConstraintSet
from obmc.errors import check_integer, check_number
from obmc.observations import Observations


@dataclass(frozen=True, eq=False)
class Bridge:
    """Observations, the ``entry`` whose sign decides, and the constraint set under which it does."""

    observations: Observations
    entry: tuple[int, int]
    constraints: ConstraintSet


def bridge(size: int = 20, alpha: float = 1.0) -> Bridge:
    """Two groups of users and two of items; each group of users rated its own items, all +1, and one rating y bridges.

    With tau = alpha d (rank 1, d = ``size``) the completed matrix is alpha [[J, y J], [y J, J]], J all ones, and it is
    the only one: each observed entry is at its best value of the box, and Hoelder's inequality between the nuclear and
    the spectral norm is tight, which fixes the rest. Reversing the one rating y moves d^2/2 entries by 2 alpha, so the
    exact privacy loss of output perturbation is d^2/2 times the nominal epsilon, for every strictly increasing link.

    Parameters
    ----------
    size
        d, the number of users and of items, even, from 2 to 2,000.
    alpha
        The bound of the box, above 0.

    Raises ``ValueError`` naming the argument that is out of its range.

    Source: docs/mathematics.md, Output perturbation.
    """
    d = check_integer("size", size, low=2, high=2_000)
    if d % 2:
        raise ValueError(f"size must be an even number, since the users and items form two equal groups, got {size!r}.")
    bound = check_number("alpha", alpha, low=0.0, open_low=True)
    half = d // 2
    group = np.arange(d) < half
    rows, cols = np.nonzero(group[:, None] == group[None, :])
    entry = (0, half)
    observations = Observations(
        np.append(rows, entry[0]), np.append(cols, entry[1]), np.ones(len(rows) + 1, dtype=np.int8), (d, d)
    )
    return Bridge(observations, entry, ConstraintSet(tau=bound * d, alpha=bound))
