"""InP+: randomised response as in InP, and the best use of the noised signs that costs nothing more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from obmc.constraints import ConstraintSet
from obmc.errors import check_choice
from obmc.links import Link
from obmc.losses import Loss, Matching
from obmc.mechanisms.base import LocalMechanism, NoisedView, SolverOptions
from obmc.mechanisms.input import InputPerturbation
from obmc.observations import Observations
from obmc.privacy.guarantee import Guarantee
from obmc.privacy.noise import Noise
from obmc.solvers.completion import Completion, Progress, stops
from obmc.tuning import Structure, by_rule, complete_structure, cross_validated, seeded_by

Array = NDArray[np.float64]

TUNINGS = ("cross-validation", "rule")


@dataclass(frozen=True, kw_only=True)
class InputPerturbationPlus(LocalMechanism):
    """Noised signs as in InP; then M = mu + b_i + c_j + L_ij with as much structure as the noise leaves visible.

        minimise  sum over Omega of A(S_ij) - T_ij S_ij + lam/2 (|b|^2 + |c|^2)
        subject to  S = mu + b 1' + 1 c' + L,  ||L||_* <= tau',  |S_ij| <= alpha,

    with the unbiased labels T of InP. It is one jointly convex problem for both links and at every epsilon. Its
    low-rank part may be stretched, S = E + c L with c >= 1 and c tau' <= tau, to make up for what a ball that keeps the
    noise out takes from it. The radius tau', the stretch and the ridge lam, which grows with the variance of the noise,
    are chosen on the noised signs alone, so the guarantee is that of InP, word for word.

    Parameters
    ----------
    epsilon
        Above 0.
    low_rank
        False: the effects alone, L = 0, the baseline that shows what the low-rank part adds.
    tuning
        "cross-validation" on the noised signs, leaving zeros (no effects, no low-rank part) only for a gain above two
        standard errors; or "rule", in half the time: the ridge by the spread of row and column means, and the radius
        whose remaining gradient looks like noise alone.

    Raises ``ValueError`` naming the argument that is out of its range.

    Source: docs/inp-plus.md.
    """

    epsilon: float
    low_rank: bool = True
    tuning: str = "cross-validation"
    label: ClassVar[str] = "InP+"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", self._response.epsilon)
        check_choice("low_rank", self.low_rank, (True, False))
        check_choice("tuning", self.tuning, TUNINGS)

    @property
    def _response(self) -> InputPerturbation:
        """The mechanism that draws the noise: InP itself."""
        return InputPerturbation(epsilon=self.epsilon)

    @property
    def noise_variance(self) -> float:
        """Var(T | Y) = e^eps / (e^eps - 1)^2."""
        return self._response.noise_variance

    def guarantee(self, link: Link, cset: ConstraintSet, shape: tuple[int, int]) -> Guarantee:
        return replace(self._response.guarantee(link, cset, shape), mechanism=self.label, rigorous_change="")

    def _noised_labels(self, obs: Observations, link: Link, noise: Noise) -> Array:
        return self._response._noised_labels(obs, link, noise)

    def loss(self, view: NoisedView, link: Link) -> Loss:
        return self._matching(view, link)

    def _matching(self, view: NoisedView, link: Link) -> Matching:
        return Matching(link, self._response.unbiased_labels(view.labels))

    def structure(
        self, view: NoisedView, link: Link, cset: ConstraintSet, options: SolverOptions | None = None
    ) -> Structure:
        """The effects' ridge and the radius that the noised labels support, with all that was tried.

        The folds come from the noised labels themselves (a hash of them), so the choice is a function of the view.
        """
        rng = seeded_by(view.labels)
        loss, variance = self._matching(view, link), self.noise_variance
        if self.tuning == "rule":
            return by_rule(loss, view.omega, cset, variance, rng, low_rank=self.low_rank)
        told = None if options is None else options.callback
        step = None if told is None else lambda count: not stops(told, Progress(count, 0))
        return cross_validated(loss, view.omega, cset, variance, rng, low_rank=self.low_rank, step=step)

    def _solve(self, view: NoisedView, link: Link, cset: ConstraintSet, options: SolverOptions) -> Completion:
        return complete_structure(
            self._matching(view, link),
            view.omega,
            cset,
            self.structure(view, link, cset, options),
            solver=options.solver,
            tol=options.tol,
            max_iter=options.max_iter,
            callback=options.callback,
        )
