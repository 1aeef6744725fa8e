"""What a dense solver hands back, before it becomes a ``Completion``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from obmc.solvers.parts import Effects

LIMIT = "the iteration limit was reached"
WITHIN = "the certified gap is within the tolerance"


@dataclass(frozen=True, eq=False)
class Outcome:
    """A feasible matrix with what was reached and what it took."""

    matrix: NDArray[np.float64]
    effects: Effects | None
    objective: float
    gap: float
    converged: bool
    iterations: int
    seconds: float
    message: str
    decompositions: int
