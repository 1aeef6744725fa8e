"""Link functions h: the probability that an entry with parameter x is observed as +1.

Both links are symmetric, h(-x) = 1 - h(x), which the losses rely on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from obmc.errors import check_number

Array = NDArray[np.float64]
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# As far out as this, Phi has all its digits.
_NEAR = 6.0


@runtime_checkable
class Link(Protocol):
    """A symmetric link h with all that losses, mechanisms and bounds need of it."""

    @property
    def name(self) -> str: ...

    @property
    def sigma(self) -> float: ...

    def probability(self, x: ArrayLike) -> Array:
        """h(x)."""

    def density(self, x: ArrayLike) -> Array:
        """h'(x)."""

    def log_probability(self, x: ArrayLike) -> Array:
        """log h(x)."""

    def score(self, x: ArrayLike) -> Array:
        """h'(x) / h(x), the derivative of log h."""

    def curvature(self, x: ArrayLike) -> Array:
        """-(log h)''(x) > 0: both links are strictly log-concave."""

    def probability_and_density(self, x: ArrayLike) -> tuple[Array, Array]:
        """h(x) and h'(x), cheaper together; h' to the absolute accuracy of h."""

    def score_and_curvature(self, x: ArrayLike) -> tuple[Array, Array]:
        """(log h)'(x) and -(log h)''(x), cheaper together; the latter to the absolute accuracy of the former."""

    def bend(self, x: Array, probability: Array) -> Array:
        """h''(x) / h'(x), given h(x)."""

    def potential(self, x: ArrayLike) -> Array:
        """A(x) with A' = h; convex. A(x) - z x is the matching loss of a label z."""

    def potential_sum(self, x: Array) -> float:
        """The sum of A over all entries of x."""

    @property
    def potential_at_zero(self) -> float: ...

    @property
    def max_density(self) -> float:
        """sup h' = h'(0), the Lipschitz constant of the matching loss's gradient."""

    def steepness(self, alpha: float) -> float:
        """L = sup over |x| <= alpha of h' / (h (1 - h))."""

    def flatness(self, alpha: float) -> float:
        """beta = sup over |x| <= alpha of h (1 - h) / h'^2."""


@dataclass(frozen=True)
class Logistic:
    """h(x) = 1 / (1 + e^-x).

    All functions are finite and accurate for x in [-300, 300] at least. Source: paper, section 3.1.
    """

    @property
    def name(self) -> str:
        return "logistic"

    @property
    def sigma(self) -> float:
        """The logistic link has no free scale; 1 by convention."""
        return 1.0

    def probability(self, x: ArrayLike) -> Array:
        """h(x) = 1 / (1 + e^-x)."""
        return special.expit(np.asarray(x, dtype=np.float64))

    def density(self, x: ArrayLike) -> Array:
        """h'(x) = h(x) h(-x)."""
        values = np.asarray(x, dtype=np.float64)
        return special.expit(values) * special.expit(-values)

    def log_probability(self, x: ArrayLike) -> Array:
        """log h(x) = -log(1 + e^-x)."""
        return -np.logaddexp(0.0, -np.asarray(x, dtype=np.float64))

    def score(self, x: ArrayLike) -> Array:
        """h'(x) / h(x) = h(-x)."""
        return special.expit(-np.asarray(x, dtype=np.float64))

    def curvature(self, x: ArrayLike) -> Array:
        """-(log h)''(x) = h'(x)."""
        return self.density(x)

    def probability_and_density(self, x: ArrayLike) -> tuple[Array, Array]:
        """h and h' = h (1 - h)."""
        probability = self.probability(x)
        density = 1.0 - probability
        density *= probability
        return probability, density

    def score_and_curvature(self, x: ArrayLike) -> tuple[Array, Array]:
        """s = h(-x) and h' = s (1 - s)."""
        score = self.score(x)
        return score, score * (1.0 - score)

    def bend(self, x: Array, probability: Array) -> Array:
        """1 - 2 h(x)."""
        return 1.0 - 2.0 * probability

    def potential(self, x: ArrayLike) -> Array:
        """A(x) = log(1 + e^x)."""
        return np.logaddexp(0.0, np.asarray(x, dtype=np.float64))

    def potential_sum(self, x: Array) -> float:
        """By max(x, 0) + log(1 + e^-|x|), one logarithm for the product of 512 factors in [1, 2]."""
        total = 0.0
        for begin in range(0, len(x), 65_536):
            part = x[begin : begin + 65_536]
            factors = np.exp(-np.abs(part))
            factors += 1.0
            total += float(np.maximum(part, 0.0).sum())
            total += float(np.log(np.multiply.reduceat(factors, np.arange(0, len(part), 512))).sum())
        return total

    @property
    def potential_at_zero(self) -> float:
        return math.log(2.0)

    @property
    def max_density(self) -> float:
        return 0.25

    def steepness(self, alpha: float) -> float:
        """L = 1 for every alpha, since h' = h (1 - h)."""
        check_number("alpha", alpha, low=0.0, open_low=True)
        return 1.0

    def flatness(self, alpha: float) -> float:
        """beta = (1 + e^alpha)^2 / e^alpha, attained at |x| = alpha (the paper prints e^alpha)."""
        bound = check_number("alpha", alpha, low=0.0, open_low=True)
        return 2.0 + math.exp(bound) + math.exp(-bound) if bound < 700.0 else math.inf


@dataclass(frozen=True)
class Gaussian:
    """h(x) = Phi(x / sigma), the probit link: a Gaussian noise of standard deviation sigma before the sign.

    Parameters
    ----------
    sigma
        Standard deviation of the noise, above 0, in the unit of the matrix.

    All functions are finite and accurate for x / sigma in [-300, 300] at least. Source: paper, section 3.1.
    """

    sigma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", check_number("sigma", self.sigma, low=1e-6, high=1e6))

    @property
    def name(self) -> str:
        return "gaussian"

    def probability(self, x: ArrayLike) -> Array:
        """h(x) = Phi(x / sigma)."""
        return special.ndtr(np.asarray(x, dtype=np.float64) / self.sigma)

    def density(self, x: ArrayLike) -> Array:
        """h'(x) = phi(x / sigma) / sigma."""
        scaled = np.asarray(x, dtype=np.float64) / self.sigma
        return np.exp(-0.5 * scaled * scaled - _LOG_SQRT_2PI) / self.sigma

    def log_probability(self, x: ArrayLike) -> Array:
        """log h(x), by ``log_ndtr``: -804.6084420137538 at x / sigma = -40."""
        return special.log_ndtr(np.asarray(x, dtype=np.float64) / self.sigma)

    def score(self, x: ArrayLike) -> Array:
        """h'(x) / h(x) = r(-u) / sigma with u = x / sigma and the hazard r(u) = phi(u) / Q(u).

        By the scaled complementary error function, phi(u)/Phi(u) = sqrt(2/pi) / erfcx(-u / sqrt 2), which keeps all
        digits in the left tail; erfcx overflows to infinity far in the right tail, where the ratio is rightly 0.
        """
        return _hazard(-np.asarray(x, dtype=np.float64) / self.sigma) / self.sigma

    def curvature(self, x: ArrayLike) -> Array:
        """-(log h)''(x) = r'(-u) / sigma^2, u = x / sigma, r'(u) = r(u) (r(u) - u)."""
        return _hazard_and_slope(-np.asarray(x, dtype=np.float64) / self.sigma)[1] / self.sigma**2

    def probability_and_density(self, x: ArrayLike) -> tuple[Array, Array]:
        """h and h'."""
        return self.probability(x), self.density(x)

    def score_and_curvature(self, x: ArrayLike) -> tuple[Array, Array]:
        """r(-u) / sigma and r'(-u) / sigma^2 from one evaluation of the hazard, u = x / sigma."""
        hazard, slope = _hazard_and_slope(-np.asarray(x, dtype=np.float64) / self.sigma)
        return hazard / self.sigma, slope / self.sigma**2

    def bend(self, x: Array, probability: Array) -> Array:
        """-x / sigma^2."""
        return -x / self.sigma**2

    def potential(self, x: ArrayLike) -> Array:
        """A(x) = x Phi(x / sigma) + sigma phi(x / sigma)."""
        values = np.asarray(x, dtype=np.float64)
        return values * self.probability(values) + self.sigma**2 * self.density(values)

    def potential_sum(self, x: Array) -> float:
        """The sum of A over all entries of x."""
        return float(self.potential(x).sum())

    @property
    def potential_at_zero(self) -> float:
        return self.sigma * math.exp(-_LOG_SQRT_2PI)

    @property
    def max_density(self) -> float:
        return math.exp(-_LOG_SQRT_2PI) / self.sigma

    def steepness(self, alpha: float) -> float:
        """L = phi(v) / (sigma Phi(v) Q(v)) at v = alpha / sigma: h'/(h(1-h)) grows with |x|."""
        bound = check_number("alpha", alpha, low=0.0, open_low=True)
        return float(self.score(bound) + self.score(-bound))

    def flatness(self, alpha: float) -> float:
        """beta = Phi(v) Q(v) sigma^2 / phi(v)^2 at v = alpha / sigma; in logarithms, since it grows like e^(v^2/2)."""
        bound = check_number("alpha", alpha, low=0.0, open_low=True)
        product = float(self.score(bound) * self.score(-bound))
        return 1.0 / product if product > 0.0 else math.inf


def _hazard(u: Array) -> Array:
    if u.size and abs(u).max() < _NEAR:
        # Half as long as by the scaled error function.
        return np.asarray(np.exp(-0.5 * u * u - _LOG_SQRT_2PI) / special.ndtr(-u))
    with np.errstate(over="ignore"):
        return math.sqrt(2.0 / math.pi) / special.erfcx(u / math.sqrt(2.0))


def _hazard_and_slope(u: Array) -> tuple[Array, Array]:
    """r(u) and r'(u) = r(u) (r(u) - u), in (0, 1); for large u the difference cancels and its series serves."""
    ratio = _hazard(u)
    slope = np.asarray(ratio * (ratio - u))
    large = u > 50.0
    if np.any(large):
        inverse = 1.0 / np.where(large, u, 100.0) ** 2
        series = 1.0 + inverse * (-1.0 + inverse * (6.0 + inverse * (-50.0 + inverse * 518.0)))
        slope = np.where(large, series, slope)
    return ratio, slope
