"""Gradient perturbation (GraP): a fixed number of projected gradient steps, each on a noised gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from obmc.constraints import ConstraintSet
from obmc.errors import check_choice, check_integer, check_number
from obmc.links import Link
from obmc.mechanisms.base import Mechanism, SolverOptions, require_alpha
from obmc.observations import Observations, Omega
from obmc.privacy import accounting
from obmc.privacy.guarantee import Guarantee, number
from obmc.privacy.noise import Noise, check_delta, check_epsilon
from obmc.solvers.completion import Callback, Completion, Progress, stops
from obmc.solvers.dispatch import DENSE_LIMIT, SOLVERS
from obmc.solvers.iterates import DenseIterate, FactoredIterate, Iterate

Array = NDArray[np.float64]

CALIBRATIONS = ("rigorous", "paper")
# Barzilai-Borwein lengths come from noised gradients and are nearly random; they are kept within these multiples of
# 1/L, which are fixed beforehand.
SHORTEST, LONGEST = 0.01, 1.0
# The projections are this exact (relative residuals): finer ones cost several times as much and change the estimate by
# about one per cent of its error, far below the noise.
PROJECTION_TOL = 1e-2
# Steps of more than a million times the usual length lead nowhere but to overflow.
MOST_TIMES = 1e6


class FixedStep:
    """gamma, the same for every step and public."""

    def __init__(self, length: float) -> None:
        self._length = length

    def length(self, x: Array, gradient: Array) -> float:
        return self._length


class BarzilaiBorwein:
    """gamma_k = <s, s> / <s, y> with s = x_k - x_{k-1} and y the difference of two *noised* gradients on Omega."""

    def __init__(self, curvature: float) -> None:
        self._unit = 1.0 / curvature
        self._before: tuple[Array, Array] | None = None

    def length(self, x: Array, gradient: Array) -> float:
        before, self._before = self._before, (x, gradient)
        if before is None:
            return self._unit
        step, change = x - before[0], gradient - before[1]
        bend = float(step @ change)
        if bend <= 0.0:
            return LONGEST * self._unit
        return min(max(float(step @ step) / bend, SHORTEST * self._unit), LONGEST * self._unit)


Steps = FixedStep | BarzilaiBorwein


class OracleExhausted(RuntimeError):
    """A gradient oracle was asked more often than its budget allows."""


class GradientOracle:
    """Noisy gradients of the private loss, a counted number of them: all that the loop ever learns of the signs.

    Every question x is clipped to the box first, since the sensitivity holds there; the entries of the gradient are
    clamped and noised, and only then handed out. After the mechanism's number of iterations it refuses.

    Parameters
    ----------
    obs
        The private observations. They are kept out of reach of the loop, which gets ``omega`` and ``ask``.
    mechanism
        The settings: how many answers, which gradient, which clamp, which noise.
    link
        The link h.
    alpha
        Bound of the box, None for none.
    noise
        The source of the noise.
    """

    def __init__(
        self, obs: Observations, mechanism: GradientPerturbation, link: Link, alpha: float | None, noise: Noise
    ) -> None:
        self._bits = obs.bits
        self._signs = obs.signs.astype(np.float64)
        self._mechanism = mechanism
        self._link = link
        self._alpha = alpha
        self._noise = noise
        self.omega: Omega = obs.omega
        self.left = mechanism.iterations

    def ask(self, x: Array) -> Array:
        """A noisy gradient at the values x on Omega, shape (n,). Raises ``OracleExhausted`` after the last answer."""
        if self.left == 0:
            raise OracleExhausted(f"the oracle has given its {self._mechanism.iterations} answers and refuses another.")
        self.left -= 1
        point = x if self._alpha is None else np.clip(x, -self._alpha, self._alpha)
        mechanism = self._mechanism
        clip = mechanism.effective_clip(self._link)
        if clip is None and mechanism.uses_matching(self._link):
            # h(x) is public, so noise on the bit is noise on the gradient, and a release can stay on whole numbers.
            return self._link.probability(point) - mechanism.noised(self._bits, 1.0, 0.0, self._noise)
        exact = mechanism.clamped_gradient(point, self._signs, self._link)
        return mechanism.noised(exact, mechanism.sensitivity(self._link, self._alpha), 1.0, self._noise)


@dataclass(frozen=True, kw_only=True)
class GradientPerturbation(Mechanism):
    """X_{k+1} = P_C(X_k - gamma_k (clamp(grad f(X_k)) + H_k)), k = 1, ..., K, with H_k on every entry of Omega.

    One flip moves one entry of a clamped gradient by at most Delta1 (``accounting.clamp_sensitivity``), and K answers
    with Laplace(K Delta1 / eps) compose to eps. With ``delta`` the noise is Gaussian with standard deviation
    Delta1 sigma_1(eps, delta) sqrt(K), exact for K adaptively chosen answers.

    Parameters
    ----------
    epsilon
        Above 0, for all K answers together.
    iterations
        K, fixed beforehand.
    clip
        C, the clamp on every entry; None for none. It biases the estimate. The rigorous calibration drops a clamp that
        does not lower the sensitivity (C >= 1/2 with the matching loss).
    delta
        None for Laplace noise, else in (0, 1) for Gaussian noise.
    step
        Above 0: all step lengths, and the bounds of those that are not fixed, are multiplied by it.
    calibration
        "paper": the likelihood, Barzilai-Borwein lengths from noised gradients within fixed bounds, the last iterate.
        "rigorous": the matching loss (the likelihood for the logistic link), a fixed public step of at most 1/L (see
        ``step_length``), the mean of the iterates.
        Both start at zero, and neither has a line search or a stopping rule: those would look at the data.

    Raises ``ValueError`` naming the argument that is out of its range.

    Source: paper, section 4.3, Algorithm 3; Balle and Wang 2018.
    """

    epsilon: float
    iterations: int = 10
    clip: float | None = 0.5
    delta: float | None = None
    step: float = 1.0
    calibration: str = "rigorous"
    label: ClassVar[str] = "GraP"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon("epsilon", self.epsilon))
        object.__setattr__(self, "iterations", check_integer("iterations", self.iterations, low=1, high=10_000))
        if self.clip is not None:
            object.__setattr__(self, "clip", check_number("clip", self.clip, low=0.0, open_low=True))
        if self.delta is not None:
            object.__setattr__(self, "delta", check_delta("delta", self.delta))
        object.__setattr__(self, "step", check_number("step", self.step, low=0.0, high=MOST_TIMES, open_low=True))
        check_choice("calibration", self.calibration, CALIBRATIONS)

    def uses_matching(self, link: Link) -> bool:
        """Whether the gradient is h(x) - z, linear in the bit."""
        return link.is_canonical or self.calibration == "rigorous"

    def effective_clip(self, link: Link) -> float | None:
        """The clamp that is applied: the rigorous calibration drops one that would bias without lowering Delta1."""
        if self.clip is not None and self.calibration == "rigorous" and self.clip >= 0.5:
            return None
        return self.clip

    def sensitivity(self, link: Link, alpha: float | None) -> float:
        """Delta1: how far one entry of the clamped gradient moves when its sign flips."""
        loss = "matching" if self.uses_matching(link) else "likelihood"
        # With the matching loss the bound holds on the whole line, whatever alpha.
        bound = 1.0 if alpha is None else alpha
        return accounting.clamp_sensitivity(link, bound, self.effective_clip(link), loss)

    def clamped_gradient(self, x: Array, signs: Array, link: Link) -> Array:
        """The entries of grad f at the values x on Omega, clamped to [-C, C], before any noise, shape (n,)."""
        if self.uses_matching(link):
            exact = link.probability(x) - (1.0 + signs) / 2.0
        else:
            exact = -signs * link.score(signs * x)
        clip = self.effective_clip(link)
        return exact if clip is None else np.clip(exact, -clip, clip)

    @property
    def multiplier(self) -> float:
        """The noise multiplier of one Gaussian answer, sigma_1(eps, delta) sqrt(K); nan for Laplace noise."""
        if self.delta is None:
            return math.nan
        return accounting.gaussian_multiplier(self.epsilon, self.delta, self.iterations)

    def noise_std(self, link: Link, cset: ConstraintSet) -> float:
        """The standard deviation of the noise on one entry of one gradient."""
        sensitivity = self.sensitivity(link, cset.alpha)
        if self.delta is None:
            return math.sqrt(2.0) * self.iterations * sensitivity / self.epsilon
        return sensitivity * self.multiplier

    def step_length(self, link: Link, cset: ConstraintSet) -> float:
        """gamma = step min(1/L, alpha / s), the rigorous calibration's fixed one: s is the noise's standard deviation.

        A step of alpha / s is carried across half the box by its noise alone; a longer one would land far outside the
        constraints, to be projected back at many times the cost and no gain. Public: it depends on no rating.
        """
        longest = 1.0 / link.max_density
        usual = longest if cset.alpha is None else min(longest, cset.alpha / self.noise_std(link, cset))
        return self.step * usual

    def noised(self, values: Array, sensitivity: float, rounding: float, noise: Noise) -> Array:
        """One noisy answer: ``values`` plus the noise of one of K looks; ``rounding`` 0 says that they are bits."""
        if self.delta is not None:
            return noise.gaussian(values, sensitivity=sensitivity, multiplier=self.multiplier, rounding=rounding)
        # K times the rounded quotient may exceed epsilon; K times the number below it does not.
        share = math.nextafter(self.epsilon / self.iterations, 0.0)
        if rounding == 0.0:
            return noise.laplace_bits(values, share, geometric=False)
        return noise.laplace_gradient(values, sensitivity=sensitivity, epsilon=share)

    def guarantee(self, link: Link, cset: ConstraintSet, shape: tuple[int, int]) -> Guarantee:
        if not self.uses_matching(link):
            require_alpha(cset, f"gradient perturbation of the {link.name.capitalize()} likelihood")
        sensitivity = self.sensitivity(link, cset.alpha)
        laplace = self.delta is None
        law = (
            rf"Laplace$(K\Delta_1/\varepsilon) = {number(self.iterations * sensitivity / self.epsilon)}$: sequential "
            r"composition of $K$ answers"
            if laplace
            else rf"$\mathcal N(0, \Delta_1^2\sigma_1^2 K)$, standard deviation {number(self.noise_std(link, cset))}: "
            r"the analytic Gaussian mechanism, exact for $K$ adaptive answers"
        )
        return Guarantee(
            mechanism=self.label,
            link=link.name,
            calibration=self.calibration,
            claimed=self.epsilon,
            epsilon=self.epsilon,
            delta=0.0 if self.delta is None else self.delta,
            trust="central",
            status="proven",
            conditions="any solver",
            group="bits" if laplace else "gaussian bits",
            multiplier=math.nan if laplace else self.multiplier / math.sqrt(self.iterations),
            why=f"The ratings are looked at {self.iterations} times, each time through a gradient whose every entry is "
            "noised, and never otherwise: the number of steps and their start are fixed beforehand, their lengths come "
            "from noised or public numbers, and there is no line search and no stopping rule.",
            formula=rf"$\Delta_1 = \sup_{{|x| \leq \alpha}} \min(|g_+|, C) + \min(|g_-|, C) = {number(sensitivity)}$, "
            rf"$K = {self.iterations}$, {law}.",
            paper_claim="K steps on clamped gradients with Laplace noise of scale K Delta1 / epsilon are epsilon-DP.",
            paper_verdict="holds",
            difference="It holds under conditions that are not printed: nothing but the noised gradients may touch the "
            "ratings, and x has to lie in the box where a gradient is taken. Clamping at 0.5 does not lower the "
            "sensitivity for the logistic link, and biases the estimate; the rigorous calibration leaves it out.",
            rigorous_change=self._rigorous_change(link, cset),
        )

    def _rigorous_change(self, link: Link, cset: ConstraintSet) -> str:
        theirs, ours = (replace(self, calibration=name) for name in ("paper", "rigorous"))
        if not theirs.uses_matching(link) and cset.alpha is None:
            return ""
        if theirs.uses_matching(link):
            text = "Both take the same gradients."
        else:
            text = "The paper's calibration takes gradients of the likelihood, the rigorous one of the matching loss."
        clip = theirs.effective_clip(link)
        if clip != ours.effective_clip(link):
            text += f" The paper's clamps them at {number(clip or 0.0)}, the rigorous one does not."
        return (
            f"{text} The noise on an entry has standard deviation {number(theirs.noise_std(link, cset))} in the "
            f"paper's and {number(ours.noise_std(link, cset))} in the rigorous one. The paper's takes its step lengths "
            "from the noised gradients and ends with the last iterate; the rigorous one has one public length, "
            f"{number(ours.step_length(link, cset))}, and ends with the mean of the iterates. Both are proven."
        )

    def _complete(
        self, obs: Observations, link: Link, cset: ConstraintSet, noise: Noise, options: SolverOptions
    ) -> Completion:
        # The wall: the loop gets the oracle, never the observations.
        return self._descend(GradientOracle(obs, self, link, cset.alpha, noise), link, cset, options)

    def _descend(self, oracle: GradientOracle, link: Link, cset: ConstraintSet, options: SolverOptions) -> Completion:
        check_number("tol", options.tol, low=0.0, high=1.0, open_low=True, open_high=True)
        check_choice("solver", options.solver, SOLVERS)
        if self.calibration == "paper":
            curvature = link.max_density if self.uses_matching(link) else link.max_curvature
            steps: Steps = BarzilaiBorwein(curvature / self.step)
        else:
            steps = FixedStep(self.step_length(link, cset))
        fits = oracle.omega.shape[0] * oracle.omega.shape[1] <= DENSE_LIMIT
        if options.solver in ("admm", "spg") and not fits:
            raise ValueError(
                f"solver must be 'factored' or 'auto' for a matrix of {oracle.omega.shape[0]} x "
                f"{oracle.omega.shape[1]}: at most {DENSE_LIMIT:,} entries are held densely, got {options.solver!r}."
            )
        factored = options.solver == "factored" or not fits
        iterate: Iterate
        if factored:
            iterate = FactoredIterate(oracle.omega, cset)
        else:
            iterate = DenseIterate(oracle.omega, cset, max(options.tol, PROJECTION_TOL))
        descend(oracle, iterate, steps, self.iterations, options.callback)
        clipped = factored and cset.alpha is not None
        return Completion(
            estimate=iterate.mean() if self.calibration == "rigorous" else iterate.last(),
            link=link,
            tau=cset.tau,
            alpha=cset.alpha,
            objective=math.nan,
            gap=math.nan,
            converged=math.nan,
            iterations=math.nan,
            seconds=math.nan,
            solver="factored projected gradient" if factored else "projected gradient",
            message=f"the bound {cset.alpha:g} was imposed only at the end, by a clip" if clipped else "",
            tells_facts=False,
        )


def descend(oracle: GradientOracle, iterate: Iterate, steps: Steps, iterations: int, callback: Callback | None) -> None:
    """Move ``iterate`` by projected gradient steps on the oracle's answers, and by nothing else."""
    for count in range(1, iterations + 1):
        x = iterate.on_omega
        gradient = oracle.ask(x)
        iterate.step(gradient, steps.length(x, gradient))
        if stops(callback, Progress(count, iterations)):
            return
