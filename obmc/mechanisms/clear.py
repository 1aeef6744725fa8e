"""No privacy: the estimator that all mechanisms are compared with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from obmc.constraints import ConstraintSet
from obmc.errors import check_choice
from obmc.links import Link
from obmc.losses import Matching, likelihood
from obmc.mechanisms.base import Mechanism, SolverOptions
from obmc.observations import Observations
from obmc.privacy.guarantee import Guarantee
from obmc.privacy.noise import Noise
from obmc.solvers import minimise
from obmc.solvers.completion import Completion
from obmc.tuning import complete_structure, cross_validated, seeded_by


@dataclass(frozen=True, kw_only=True)
class Clear(Mechanism):
    """The maximum likelihood completion without noise, ``obmc.complete`` in the form of a mechanism.

    Parameters
    ----------
    effects
        False: the paper's estimator. True: the unprotected counterpart of InP+, with user and item effects, a radius
        and a ridge chosen by cross-validation on the true signs, and the same loss.

    Raises ``ValueError`` naming the argument that is out of its range.

    Source: paper, section 5 (Clear); docs/inp-plus.md for the effects.
    """

    effects: bool = False
    label: ClassVar[str] = "Clear"

    def __post_init__(self) -> None:
        check_choice("effects", self.effects, (False, True))

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
        if self.effects:
            loss = Matching(link, obs.bits)
            rng = seeded_by(obs.bits)
            return complete_structure(
                loss,
                obs.omega,
                cset,
                cross_validated(loss, obs.omega, cset, 0.0, rng),
                solver=options.solver,
                tol=options.tol,
                max_iter=options.max_iter,
                callback=options.callback,
            )
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
