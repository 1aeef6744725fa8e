"""Link functions h: the probability that an entry with parameter x is observed as +1.

What losses, mechanisms, accounts and bounds need of a link they ask it for, and none of them asks which link it is.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
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
    """A link h: symmetric, h(-x) = 1 - h(x), with a smooth, positive and log-concave density h'.

    From these follow what everything else relies on: h is strictly log-concave, h' is largest at 0 and falls with |x|,
    and -log c of a flipped sign, c = p + (1 - 2p) h, is convex on a box if it is at the box's ends. What else differs
    between links, such as where a curvature is least, each of them answers itself, in closed form and on the whole box:
    accounts of privacy are built on it. A link derives from this class and gets what has a general form.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """What tables, keys and the command line call it."""

    @property
    def sigma(self) -> float:
        """The scale of the noise, in the unit of the matrix: 1 for a link without a free one."""
        return 1.0

    @property
    def is_canonical(self) -> bool:
        """Whether -log h(Y x) = A(x) - z x, A' = h, z = (1 + Y)/2, so that a sign enters through a linear term only.

        Among symmetric links that is so if log h(x) - log h(-x) = x, which is the logistic one, whatever it is called.
        """
        return False

    @abstractmethod
    def probability(self, x: ArrayLike) -> Array:
        """h(x)."""

    @abstractmethod
    def density(self, x: ArrayLike) -> Array:
        """h'(x)."""

    @abstractmethod
    def log_probability(self, x: ArrayLike) -> Array:
        """log h(x)."""

    @abstractmethod
    def quantile(self, probability: ArrayLike) -> Array:
        """The x with h(x) = ``probability``, in (0, 1)."""

    @abstractmethod
    def score(self, x: ArrayLike) -> Array:
        """h'(x) / h(x), the derivative of log h; falling."""

    @abstractmethod
    def curvature(self, x: ArrayLike) -> Array:
        """-(log h)''(x) > 0."""

    @abstractmethod
    def bend(self, x: Array, probability: Array) -> Array:
        """h''(x) / h'(x), given h(x); odd and falling."""

    def probability_and_density(self, x: ArrayLike) -> tuple[Array, Array]:
        """h(x) and h'(x), cheaper together where they share work; h' to the absolute accuracy of h."""
        return self.probability(x), self.density(x)

    def score_and_curvature(self, x: ArrayLike) -> tuple[Array, Array]:
        """(log h)'(x) and -(log h)''(x), cheaper together; the latter to the absolute accuracy of the former."""
        return self.score(x), self.curvature(x)

    @abstractmethod
    def potential(self, x: ArrayLike) -> Array:
        """A(x) with A' = h, A(-inf) = 0; convex. A(x) - z x is the matching loss of a label z."""

    def potential_sum(self, x: Array) -> float:
        """The sum of A over all entries of x."""
        return float(self.potential(x).sum())

    @property
    @abstractmethod
    def potential_at_zero(self) -> float:
        """A(0)."""

    @property
    @abstractmethod
    def max_density(self) -> float:
        """sup h' = h'(0), the Lipschitz constant of the matching loss's gradient."""

    @property
    @abstractmethod
    def max_curvature(self) -> float:
        """sup -(log h)'' over all x, the Lipschitz constant of the likelihood's gradient."""

    @abstractmethod
    def min_curvature(self, alpha: float) -> float:
        """inf -(log h)'' over |x| <= alpha."""

    @abstractmethod
    def log_curvature_ratio(self, alpha: float) -> float:
        """log R, R = sup over |x| <= alpha of (log h)''(x) / (log h)''(-x): 0 for the canonical link.

        What one sign can change of the curvature of the likelihood, for which objective perturbation has to pay.
        """

    @abstractmethod
    def steepness(self, alpha: float) -> float:
        """L = sup over |x| <= alpha of h' / (h (1 - h))."""

    @abstractmethod
    def flatness(self, alpha: float) -> float:
        """beta = sup over |x| <= alpha of h (1 - h) / h'^2."""


@dataclass(frozen=True)
class Logistic(Link):
    """h(x) = 1 / (1 + e^-x).

    All functions are finite and accurate for x in [-300, 300] at least. Source: paper, section 3.2.
    """

    @property
    def name(self) -> str:
        return "logistic"

    @property
    def is_canonical(self) -> bool:
        """Yes: log h(x) - log h(-x) = x."""
        return True

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

    def quantile(self, probability: ArrayLike) -> Array:
        """log(p / (1 - p))."""
        return special.logit(np.asarray(probability, dtype=np.float64))

    def score(self, x: ArrayLike) -> Array:
        """h'(x) / h(x) = h(-x)."""
        return special.expit(-np.asarray(x, dtype=np.float64))

    def curvature(self, x: ArrayLike) -> Array:
        """-(log h)''(x) = h'(x)."""
        return self.density(x)

    def probability_and_density(self, x: ArrayLike) -> tuple[Array, Array]:
        """h and h' = h (1 - h)."""
        # What ``probability`` gives, to rounding and in half its time; below -700 it is held at h(-700) = 1e-304.
        probability = 1.0 / (1.0 + np.exp(np.minimum(-np.asarray(x, dtype=np.float64), 700.0)))
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

    @property
    def max_curvature(self) -> float:
        """The curvature is h'."""
        return 0.25

    def min_curvature(self, alpha: float) -> float:
        """h'(alpha).

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        return float(self.density(check_number("alpha", alpha, low=0.0, open_low=True)))

    def log_curvature_ratio(self, alpha: float) -> float:
        """0: the curvature h' is even.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        check_number("alpha", alpha, low=0.0, open_low=True)
        return 0.0

    def steepness(self, alpha: float) -> float:
        """L = 1 for every alpha, since h' = h (1 - h).

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        check_number("alpha", alpha, low=0.0, open_low=True)
        return 1.0

    def flatness(self, alpha: float) -> float:
        """beta = (1 + e^alpha)^2 / e^alpha, attained at |x| = alpha (the paper prints e^alpha).

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        bound = check_number("alpha", alpha, low=0.0, open_low=True)
        return 2.0 + math.exp(bound) + math.exp(-bound) if bound < 700.0 else math.inf


@dataclass(frozen=True)
class Gaussian(Link):
    """h(x) = Phi(x / sigma), the probit link: a Gaussian noise of standard deviation sigma before the sign.

    Parameters
    ----------
    sigma
        Standard deviation of the noise, above 0, in the unit of the matrix.

    All functions are finite and accurate for x / sigma in [-300, 300] at least. Source: paper, section 3.2.

    Raises ``ValueError`` naming the argument that is out of its range.
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

    def quantile(self, probability: ArrayLike) -> Array:
        """sigma Phi^-1(p)."""
        return self.sigma * special.ndtri(np.asarray(probability, dtype=np.float64))

    def score(self, x: ArrayLike) -> Array:
        """h'(x) / h(x) = r(-u) / sigma with u = x / sigma and the hazard r(u) = phi(u) / Q(u).

        By the scaled complementary error function, phi(u)/Phi(u) = sqrt(2/pi) / erfcx(-u / sqrt 2), which keeps all
        digits in the left tail; erfcx overflows to infinity far in the right tail, where the ratio is rightly 0.
        """
        return _hazard(-np.asarray(x, dtype=np.float64) / self.sigma) / self.sigma

    def curvature(self, x: ArrayLike) -> Array:
        """-(log h)''(x) = r'(-u) / sigma^2, u = x / sigma, r'(u) = r(u) (r(u) - u)."""
        return _hazard_and_slope(-np.asarray(x, dtype=np.float64) / self.sigma)[1] / self.sigma**2

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

    @property
    def potential_at_zero(self) -> float:
        return self.sigma * math.exp(-_LOG_SQRT_2PI)

    @property
    def max_density(self) -> float:
        return math.exp(-_LOG_SQRT_2PI) / self.sigma

    @property
    def max_curvature(self) -> float:
        """1 / sigma^2, not attained: r' < 1 grows to 1."""
        return 1.0 / self.sigma**2

    def min_curvature(self, alpha: float) -> float:
        """r'(-v) / sigma^2 at v = alpha / sigma: the hazard r is convex, so that the curvature falls with x.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        return float(self.curvature(check_number("alpha", alpha, low=0.0, open_low=True)))

    def log_curvature_ratio(self, alpha: float) -> float:
        """log r'(v) / r'(-v) at v = alpha / sigma; infinite where r'(-v) is 0 in double precision.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        bound = check_number("alpha", alpha, low=0.0, open_low=True)
        least = self.curvature(bound)
        return float(np.log(self.curvature(-bound)) - np.log(least)) if least > 0.0 else math.inf

    def steepness(self, alpha: float) -> float:
        """L = phi(v) / (sigma Phi(v) Q(v)) at v = alpha / sigma: h'/(h(1-h)) grows with |x|.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        bound = check_number("alpha", alpha, low=0.0, open_low=True)
        return float(self.score(bound) + self.score(-bound))

    def flatness(self, alpha: float) -> float:
        """beta = Phi(v) Q(v) sigma^2 / phi(v)^2 at v = alpha / sigma, which grows like e^(v^2/2).

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        bound = check_number("alpha", alpha, low=0.0, open_low=True)
        product = float(self.score(bound) * self.score(-bound))
        return 1.0 / product if product > 0.0 else math.inf


# By name: the link with noise of a scale sigma, which the logistic one ignores.
LINKS: Mapping[str, Callable[[float], Link]] = {"logistic": lambda sigma: Logistic(), "gaussian": Gaussian}


def has_sigma(name: str) -> bool:
    """Whether a scale sigma makes any difference to the link of this name."""
    return LINKS[name](1.0) != LINKS[name](2.0)


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
