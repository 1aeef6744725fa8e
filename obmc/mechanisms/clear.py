"""No privacy: the estimator that all mechanisms are compared with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from obmc.constraints import ConstraintSet
from obmc.links import Link
from obmc.losses import likelihood
from obmc.mechanisms.base import Mechanism, SolverOptions
from obmc.observations import Observations
from obmc.privacy.guarantee import Guarantee
from obmc.privacy.noise import Noise
from obmc.solvers import minimise
from obmc.solvers.completion import Completion


@dataclass(frozen=True, kw_only=True)
class Clear(Mechanism):
    """The maximum likelihood completion without noise, ``obmc.complete`` in the form of a mechanism."""

    label: ClassVar[str] = "Clear"

    def guarantee(self, link: Link, cset: ConstraintSet, shape: tuple[int, int]) -> Guarantee:
        return Guarantee(
            mechanism=self.label,
            link=link.name,
            calibration="none",
            claimed=math.inf,
            epsilon=math.inf,
            trust="none",
            status="proven",
            conditions="none",
            why="The matrix is computed from the true signs and shown as it is.",
            formula=r"$\hat M(Y)$ is a deterministic function of $Y$: $\varepsilon = \infty$.",
        )

    def _complete(
        self, obs: Observations, link: Link, cset: ConstraintSet, noise: Noise, options: SolverOptions
    ) -> Completion:
        return minimise(
            likelihood(link, obs.signs),
            obs.omega,
            link,
            cset,
            solver=options.solver,
            tol=options.tol,
            max_iter=options.max_iter,
            callback=options.callback,
        )
