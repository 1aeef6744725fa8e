"""Objective perturbation (ObjP): a random linear term in the objective."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from obmc.constraints import ConstraintSet
from obmc.errors import check_choice
from obmc.links import Link
from obmc.losses import Likelihood, Loss, Matching
from obmc.mechanisms.base import LocalMechanism, NoisedView, SolverOptions, require_alpha
from obmc.observations import Observations
from obmc.privacy import accounting
from obmc.privacy.guarantee import Guarantee, Status, Verdict, number
from obmc.privacy.noise import Noise, SimulatedNoise, check_epsilon, geometric_variance, laplace_variance
from obmc.solvers import minimise
from obmc.solvers.completion import Completion

Array = NDArray[np.float64]

CALIBRATIONS = ("rigorous", "paper", "exact_minimiser", "displayed")
NOISES = ("laplace", "geometric")
# With "exact_minimiser" entries outside Omega must be a fixed function of those on it; this ridge makes them so. It is
# a millionth of the loss's curvature, far below what a solver resolves.
TIE_BREAK = 1e-6


@dataclass(frozen=True, kw_only=True)
class ObjectivePerturbation(LocalMechanism):
    """minimise f(X) + sum over Omega of H_ij X_ij with H_ij independent Laplace(b).

    Where the data enter the loss through a linear term only, l(x) = A(x) - z x, this is the loss of the noised label
    z - H: the Laplace mechanism on bits, before any solver (logistic likelihood, and the matching loss of both links).
    The Gaussian likelihood is not of this kind: its curvature depends on the sign, the solver sees it, and what can be
    proven holds for exact minimisers only.

    Parameters
    ----------
    epsilon
        Above 0.
    calibration
        "rigorous": noised labels with b = 1/eps, for the Gaussian link with the matching loss.
        "paper": the appendix's form; b = 1/eps (logistic), 2 h'(0) / (h(-alpha) eps) with the likelihood (Gaussian).
        "exact_minimiser": the Gaussian likelihood with b = Delta / (eps - log R), for epsilon above log R.
        "displayed": the formula in the paper's text, which halves the noise. For the audit only.
    noise
        "laplace" or "geometric" (two-sided geometric noise on the bit: the same epsilon, less variance; only where the
        data enter linearly). A release draws geometric noise always.

    Raises ``ValueError`` naming the argument that is out of its range.

    Source: paper, section 4.2 and appendix.
    """

    epsilon: float
    calibration: str = "rigorous"
    noise: str = "laplace"
    label: ClassVar[str] = "ObjP"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon("epsilon", self.epsilon))
        check_choice("calibration", self.calibration, CALIBRATIONS)
        check_choice("noise", self.noise, NOISES)

    @property
    def _halving(self) -> float:
        return 2.0 if self.calibration == "displayed" else 1.0

    def is_local(self, link: Link) -> bool:
        return self.is_linear(link)

    def is_linear(self, link: Link) -> bool:
        """Whether the data enter the loss through a linear term only, so that the noise acts on the labels."""
        return link.is_canonical or self.calibration == "rigorous"

    def scale(self, link: Link, cset: ConstraintSet) -> float:
        """b, the scale of the Laplace noise that multiplies X_ij in the objective.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        if self.is_linear(link):
            return 1.0 / (self.epsilon * self._halving)
        alpha = require_alpha(cset, _form(link))
        if self.calibration == "exact_minimiser":
            return accounting.likelihood_exact_scale(link, alpha, self.epsilon)
        scale = accounting.paper_sensitivity(link, alpha) / (self.epsilon * self._halving)
        if math.isinf(scale):
            raise ValueError(
                f"alpha must be smaller for calibration {self.calibration!r} with this link: its noise 2 h'(0) / "
                f"(h(-alpha) epsilon) is beyond all numbers at {alpha:g}; use calibration='rigorous'."
            )
        return scale

    def noise_variance(self, link: Link, cset: ConstraintSet) -> float:
        """The variance of H: 2 b^2 for Laplace noise, 2 q / (1 - q)^2 with q = e^(-1/b) for geometric noise."""
        scale = self.scale(link, cset)
        return geometric_variance(1.0 / scale) if self.noise == "geometric" else laplace_variance(scale)

    # What is guaranteed -------------------------------------------------------------------------------------------

    def guarantee(self, link: Link, cset: ConstraintSet, shape: tuple[int, int]) -> Guarantee:
        if self.is_linear(link):
            return self._linear_guarantee(link, cset)
        if self.noise == "geometric":
            raise ValueError(
                f"noise must be 'laplace' for the {link.name.capitalize()} likelihood: geometric noise needs a loss "
                "that is linear in the bit (calibration='rigorous', or the logistic link)."
            )
        return self._likelihood_guarantee(link, cset)

    def _linear_guarantee(self, link: Link, cset: ConstraintSet) -> Guarantee:
        displayed = self.calibration == "displayed"
        true = self.epsilon * self._halving
        verdict: Verdict = "holds"
        if link.is_canonical:
            claim, difference = _LOGISTIC_CLAIM, _LOGISTIC_DIFFERENCE
        else:
            claim, verdict = _GAUSSIAN_CLAIM, _paper_verdict(self.epsilon, link, cset)
            difference = (
                "Here the likelihood is replaced by the matching loss, into which the noised bit enters linearly: less "
                "noise, for any solver."
            )
        if displayed:
            claim, verdict, difference = _DISPLAYED_CLAIM, "false", _DISPLAYED_DIFFERENCE
        return Guarantee(
            mechanism=self.label,
            link=link.name,
            calibration=self.calibration,
            claimed=self.epsilon,
            epsilon=true,
            trust="local",
            status="violated" if displayed else "proven",
            conditions="any solver",
            group="bits",
            lower_bound=true if displayed else math.nan,
            why="The ratings enter the computation only through bits to which noise of "
            f"scale {number(1.0 / true)} was added, one by one, before anything was computed.",
            formula=r"The loss is $A(x) - zx$ with $A' = h$, so $f(X) + \sum H_{ij} X_{ij}$ depends on the data "
            rf"through $Z = z - H$ alone: the Laplace mechanism on $z \in \{{0, 1\}}$ with $b = {number(1.0 / true)}$, "
            r"$\varepsilon = 1/b$ exactly. Two-sided geometric noise has the same $\varepsilon$.",
            paper_claim=claim,
            paper_verdict=verdict,
            difference=difference,
            rigorous_change=self._rigorous_change(link, cset),
        )

    def _likelihood_guarantee(self, link: Link, cset: ConstraintSet) -> Guarantee:
        alpha = require_alpha(cset, _form(link))
        # No entry exceeds the nuclear norm.
        bound = min(alpha, cset.tau)
        scale = self.scale(link, cset)
        exact = self.calibration == "exact_minimiser"
        if exact:
            status: Status = "proven"
            # b was chosen so that the bound is the asked epsilon; the formula's rounding must not undo that.
            proven, lower, bound = self.epsilon, math.nan, alpha
        else:
            status = _status(self.epsilon, link, cset, self._halving)
            proven = accounting.likelihood_epsilon(link, bound, scale)
            lower = accounting.likelihood_epsilon_at_least(link, bound, scale)
        floor = number(accounting.log_curvature_ratio(link, bound))
        if exact:
            difference = f"The missing ratio of curvatures is worth log R = {floor} here and is paid for by more noise."
        else:
            difference = f"The proof leaves out a ratio of curvatures, worth up to log R = {floor} here"
            if bound < alpha:
                difference += f", where the radius lets no entry exceed {number(bound)}."
            else:
                below = accounting.paper_violated_below(link, alpha, self._halving)
                above = accounting.paper_proven_from(link, alpha, self._halving)
                limit = f"from {number(above)} on it is proven" if math.isfinite(above) else "it is proven nowhere"
                difference += (
                    f": below epsilon = {number(below)} the claim is violated, {limit}, in between nobody knows."
                )
            if self.calibration == "displayed":
                difference = f"{_DISPLAYED_DIFFERENCE} {difference}"
        return Guarantee(
            mechanism=self.label,
            link=link.name,
            calibration=self.calibration,
            claimed=self.epsilon,
            epsilon=proven,
            trust="central",
            status=status,
            conditions="exact minimiser",
            lower_bound=lower,
            why="Noise in the objective moves its minimiser at random. The curvature of this loss depends on the "
            "rating itself, which the noise does not hide and which has to be paid for separately.",
            formula=rf"$b = {number(scale)}$; the exact minimiser is $(\Delta/b + \log R)$-DP with "
            rf"$\Delta = \sup_{{|x| \leq {number(bound)}}} h'(x) / (h(x) h(-x)) = "
            rf"{number(accounting.likelihood_sensitivity(link, bound))}$ and "
            rf"$\log R = \log \sup_{{|x| \leq {number(bound)}}} (\log h)''(x) / (\log h)''(-x) = "
            rf"{floor}$.",
            paper_claim=_DISPLAYED_CLAIM if self.calibration == "displayed" else _GAUSSIAN_CLAIM,
            paper_verdict=_paper_verdict(self.epsilon, link, cset) if exact else _VERDICTS[status],
            difference=difference,
            rigorous_change=self._rigorous_change(link, cset),
        )

    def _rigorous_change(self, link: Link, cset: ConstraintSet) -> str:
        ours = f"noise of scale 1/epsilon = {number(1.0 / self.epsilon)}"
        if link.is_canonical:
            return (
                f"Nothing with this link: {ours} and the same likelihood in both, which is the Laplace mechanism on "
                "every bit before anything is computed."
            )
        if cset.alpha is None:
            # The paper's calibration has no finite noise to compare with.
            return ""
        theirs = accounting.paper_sensitivity(link, cset.alpha) / self.epsilon
        return (
            f"The paper's calibration adds noise of scale {number(theirs)} to the likelihood, whose curvature depends "
            f"on the rating; the rigorous one adds {ours} to the matching loss, whose curvature does not, so what it "
            "claims is proven, for any solver."
        )

    # The release --------------------------------------------------------------------------------------------------

    def _noised_labels(self, obs: Observations, link: Link, noise: Noise) -> Array:
        if not self.is_linear(link):
            raise ValueError(
                f"calibration {self.calibration!r} has no noised labels with the {link.name} link: its solver sees the "
                "signs; use calibration='rigorous'."
            )
        return noise.laplace_bits(obs.bits, self.epsilon * self._halving, geometric=self.noise == "geometric")

    def loss(self, view: NoisedView, link: Link) -> Loss:
        return Matching(link, view.labels)

    def _complete(
        self, obs: Observations, link: Link, cset: ConstraintSet, noise: Noise, options: SolverOptions
    ) -> Completion:
        if self.is_linear(link):
            return super()._complete(obs, link, cset, noise, options)
        # Not behind the wall: the solver sees the signs. The guarantee says so, and no release gets here.
        assert isinstance(noise, SimulatedNoise)
        tilt = noise.laplace(len(obs), self.scale(link, cset))
        private = options.without_facts()
        return minimise(
            Likelihood(link, obs.signs.astype(np.float64), tilt),
            obs.omega,
            link,
            cset,
            solver=private.solver,
            tol=private.tol,
            max_iter=private.max_iter,
            callback=private.callback,
            ridge=TIE_BREAK * link.max_density if self.calibration == "exact_minimiser" else 0.0,
        ).without_facts()


_LOGISTIC_CLAIM = "Laplace noise of scale 1/epsilon in the objective makes the completed matrix epsilon-DP."
_LOGISTIC_DIFFERENCE = (
    "The proof does not hold as printed, since it takes an exact minimiser without constraints for granted; but the "
    "loss is linear in the bit, which gives the same number for any solver, and without a trusted server."
)
_GAUSSIAN_CLAIM = (
    "Laplace noise of scale 2 h'(0) / (h(-alpha) epsilon) in the objective makes the completed matrix epsilon-DP."
)
_DISPLAYED_CLAIM = "the objective as displayed in its text, with the noise inside the braces, gives epsilon-DP."
_DISPLAYED_DIFFERENCE = "The factor 1/2 before the braces halves the noise, which doubles what it reveals."


_VERDICTS: dict[Status, Verdict] = {"proven": "holds", "violated": "false", "open": "open"}


def _form(link: Link) -> str:
    return f"objective perturbation of the {link.name.capitalize()} likelihood"


def _status(epsilon: float, link: Link, cset: ConstraintSet, halving: float = 1.0) -> Status:
    """Of the paper's claim at this epsilon, for a set with a box."""
    assert cset.alpha is not None
    if cset.tau < cset.alpha:
        scale = accounting.paper_sensitivity(link, cset.alpha) / (epsilon * halving)
        if math.isinf(scale):
            return "open"
        if accounting.likelihood_epsilon_at_least(link, cset.tau, scale) > epsilon:
            return "violated"
        return "proven" if accounting.likelihood_epsilon(link, cset.tau, scale) <= epsilon else "open"
    if epsilon < accounting.paper_violated_below(link, cset.alpha, halving):
        return "violated"
    return "proven" if epsilon >= accounting.paper_proven_from(link, cset.alpha, halving) else "open"


def _paper_verdict(epsilon: float, link: Link, cset: ConstraintSet) -> Verdict:
    """Whether the paper's own calibration would hold at this epsilon; without a bound alpha it has none."""
    if cset.alpha is None:
        return "none"
    return _VERDICTS[_status(epsilon, link, cset)]
