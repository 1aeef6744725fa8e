"""Losses on the observed entries: f(x) = sum over k of l_k(x_k), x the values of X on Omega.

A loss knows nothing of constraints and solvers; it gives its value, its gradient and its curvature entry by entry, and
says what a solver may rely on (is it convex, and where; how flat and how steep). ``signs`` and ``labels`` may come from
the data or from a noised copy of them: a loss cannot tell, which is what lets a private solver be an ordinary one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from obmc.errors import check_number, check_numbers, check_signs
from obmc.links import Link

Array = NDArray[np.float64]


class Loss(Protocol):
    """A separable loss over the n observed entries."""

    @property
    def n(self) -> int:
        """The number of observed entries."""

    @property
    def scale(self) -> float:
        """f(0) of the noise-free loss: public, positive, the unit of the relative gap."""

    @property
    def width(self) -> float:
        """The scale of the link, in the unit of x: the slopes change little over a small part of it."""

    @property
    def infimum(self) -> float:
        """A lower bound of the sum over all x: 0, or -inf where noised labels or a tilt pull at it."""

    @property
    def max_curvature(self) -> float:
        """sup l'', the Lipschitz constant of the gradient, entry by entry."""

    def min_curvature(self, alpha: float | None) -> float:
        """A lower bound of inf l'' over |x| <= alpha (None: over all x). Negative where the loss is not convex."""

    def values(self, x: Array) -> Array:
        """l_k(x_k), shape (n,)."""

    def total(self, x: Array) -> float:
        """The sum over k of l_k(x_k)."""

    def gradient(self, x: Array) -> Array:
        """l_k'(x_k), shape (n,)."""

    def curvature(self, x: Array) -> Array:
        """l_k''(x_k), shape (n,)."""

    def slopes(self, x: Array) -> tuple[Array, Array]:
        """l_k'(x_k) and l_k''(x_k) together, for Newton's method: cheaper than one after the other."""

    def select(self, keep: NDArray[np.bool_] | NDArray[np.int64]) -> Loss:
        """The loss of a subset of the entries (a fold of a cross-validation)."""


def is_convex(loss: Loss, alpha: float | None) -> bool:
    """Whether the loss is convex on |x| <= alpha (None: everywhere)."""
    return loss.min_curvature(alpha) >= 0.0


@dataclass(frozen=True, eq=False)
class Matching:
    """The matching (canonical) loss l(x) = A(x) - z x with A' = h: convex for every real label z, l' = h(x) - z.

    With the canonical link and z = (1 + Y)/2 it is the negative log-likelihood. With noised, unbiased labels it is the
    loss of the unbiased estimator (logistic) and of the rigorous Gaussian calibrations. Its curvature h'(x) does not
    depend on z: the data enter through a linear term only.

    Parameters
    ----------
    link
        The link h.
    labels
        Real labels z, shape (n,).

    Source: docs/mathematics.md, Losses; Natarajan et al. 2013 for unbiased labels.
    """

    link: Link
    labels: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", check_numbers("labels", self.labels))

    @property
    def n(self) -> int:
        return len(self.labels)

    @property
    def scale(self) -> float:
        return self.n * self.link.potential_at_zero

    @property
    def width(self) -> float:
        return self.link.sigma

    @property
    def infimum(self) -> float:
        # A(x) >= max(x, 0) >= z x for z in [0, 1].
        return 0.0 if bool(np.all((self.labels >= 0.0) & (self.labels <= 1.0))) else -math.inf

    @property
    def max_curvature(self) -> float:
        return self.link.max_density

    def min_curvature(self, alpha: float | None) -> float:
        return 0.0 if alpha is None else float(self.link.density(alpha))

    def values(self, x: Array) -> Array:
        return self.link.potential(x) - self.labels * x

    def total(self, x: Array) -> float:
        return self.link.potential_sum(x) - float(self.labels @ x)

    def gradient(self, x: Array) -> Array:
        slope = self.link.probability(x)
        slope -= self.labels
        return slope

    def curvature(self, x: Array) -> Array:
        return self.link.density(x)

    def slopes(self, x: Array) -> tuple[Array, Array]:
        slope, density = self.link.probability_and_density(x)
        slope -= self.labels
        return slope, density

    def select(self, keep: NDArray[np.bool_] | NDArray[np.int64]) -> Matching:
        return Matching(self.link, self.labels[keep])


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The negative log-likelihood with a linear term: l(x) = -log h(Y x) + t x, Y in {-1, +1}.

    Convex, since h is log-concave. The linear term is the objective perturbation of the paper's appendix.

    Parameters
    ----------
    link
        The link h.
    signs
        Y, shape (n,), -1 or +1.
    tilt
        t, shape (n,); None for no linear term.

    Source: paper, section 3.2 and appendix (objective perturbation).
    """

    link: Link
    signs: Array
    tilt: Array | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "signs", check_signs("signs", self.signs).astype(np.float64))
        if self.tilt is not None:
            tilt = check_numbers("tilt", self.tilt)
            if len(tilt) != len(self.signs):
                raise ValueError(f"tilt must have the length of signs, {len(self.signs)}, got {len(tilt)}.")
            object.__setattr__(self, "tilt", tilt)

    @property
    def n(self) -> int:
        return len(self.signs)

    @property
    def scale(self) -> float:
        return self.n * math.log(2.0)

    @property
    def width(self) -> float:
        return self.link.sigma

    @property
    def infimum(self) -> float:
        return 0.0 if self.tilt is None else -math.inf

    @property
    def max_curvature(self) -> float:
        return self.link.max_curvature

    def min_curvature(self, alpha: float | None) -> float:
        return 0.0 if alpha is None else self.link.min_curvature(alpha)

    def values(self, x: Array) -> Array:
        plain = -self.link.log_probability(self.signs * x)
        return plain if self.tilt is None else plain + self.tilt * x

    def total(self, x: Array) -> float:
        return float(self.values(x).sum())

    def gradient(self, x: Array) -> Array:
        plain = -self.signs * self.link.score(self.signs * x)
        return plain if self.tilt is None else plain + self.tilt

    def curvature(self, x: Array) -> Array:
        return self.link.curvature(self.signs * x)

    def slopes(self, x: Array) -> tuple[Array, Array]:
        score, curvature = self.link.score_and_curvature(self.signs * x)
        plain = -self.signs * score
        return plain if self.tilt is None else plain + self.tilt, curvature

    def select(self, keep: NDArray[np.bool_] | NDArray[np.int64]) -> Likelihood:
        return Likelihood(self.link, self.signs[keep], None if self.tilt is None else self.tilt[keep])


# From this chance of a flip on, densities and probabilities far in the tails vanish beside it.
_SAFE_FLIP = 1e-30


@dataclass(frozen=True, eq=False)
class FlippedLikelihood:
    """The negative log-likelihood of bits that were flipped with probability p: l(x) = -log c(Y x), c = p + (1 - 2p) h.

    Convex on |x| <= alpha only for a large enough epsilon = log((1-p)/p) (logistic: 2 alpha), never on the whole line.

    Parameters
    ----------
    link
        The link h.
    signs
        The flipped signs, shape (n,).
    flip
        p in [0, 1/2).

    Source: paper, section 4.1; docs/mathematics.md, Losses, for where it is convex.
    """

    link: Link
    signs: Array
    flip: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "signs", check_signs("signs", self.signs).astype(np.float64))
        object.__setattr__(self, "flip", check_number("flip", self.flip, low=0.0, high=0.5, open_high=True))

    @property
    def n(self) -> int:
        return len(self.signs)

    @property
    def scale(self) -> float:
        return self.n * math.log(2.0)

    @property
    def width(self) -> float:
        return self.link.sigma

    @property
    def infimum(self) -> float:
        return 0.0

    @property
    def max_curvature(self) -> float:
        # -(log c)'' is at most (1 - 2p) h / c times -(log h)''.
        return self.link.max_curvature

    def min_curvature(self, alpha: float | None) -> float:
        # The curvature as a function of u = Y x is negative left of one point and positive right of it, and least near
        # the u with h(u) = p; a fine grid around that, cut to the box, finds its least value.
        if self.flip == 0.0:
            return Likelihood(self.link, self.signs[:1]).min_curvature(alpha)
        middle, reach = float(self.link.quantile(self.flip)), 40.0 * self.link.sigma
        limit = math.inf if alpha is None else alpha
        low, high = max(-limit, middle - reach), min(limit, reach)
        for _ in range(2):
            grid = np.linspace(low, high, 20001)
            curvature = self._curvature_of(grid)
            place = int(curvature.argmin())
            low, high = grid[max(place - 1, 0)], grid[min(place + 1, len(grid) - 1)]
        least = float(curvature[place])
        # At the threshold (logistic: epsilon = 2 alpha) the least curvature is 0; rounding must not make it negative.
        return least if abs(least) > 1e-14 * self.max_curvature else 0.0

    def _pieces(self, u: Array) -> tuple[Array, Array, Array]:
        """log c(u) with w = (1-2p) h/c and 1 - w = p/c, through logarithms so that p = 0 and far tails keep digits."""
        log_kept = math.log(1.0 - 2.0 * self.flip) + self.link.log_probability(u)
        log_flip = math.log(self.flip) if self.flip > 0.0 else -math.inf
        log_c = np.logaddexp(log_flip, log_kept)
        return log_c, np.exp(log_kept - log_c), np.exp(log_flip - log_c)

    def _curvature_of(self, u: Array) -> Array:
        # -(log c)'' = (c'/c)^2 - c''/c with c'/c = w score and c''/c = w h''/h = w (score^2 - curvature).
        _, kept, flipped = self._pieces(u)
        return kept * (self.link.curvature(u) - flipped * self.link.score(u) ** 2)

    def values(self, x: Array) -> Array:
        return -self._pieces(self.signs * x)[0]

    def total(self, x: Array) -> float:
        return float(self.values(x).sum())

    def gradient(self, x: Array) -> Array:
        u = self.signs * x
        return -self.signs * self._pieces(u)[1] * self.link.score(u)

    def curvature(self, x: Array) -> Array:
        return self._curvature_of(self.signs * x)

    def slopes(self, x: Array) -> tuple[Array, Array]:
        u = self.signs * x
        if self.flip >= _SAFE_FLIP:
            # c is at least p: nothing underflows, and no logarithm is needed.
            kept_share = 1.0 - 2.0 * self.flip
            probability, density = self.link.probability_and_density(u)
            chance = self.flip + kept_share * probability
            score = kept_share * density / chance
            bend = self.link.bend(u, probability)
            return -self.signs * score, score * (score - bend)
        _, kept, flipped = self._pieces(u)
        score, curvature = self.link.score_and_curvature(u)
        return -self.signs * kept * score, kept * (curvature - flipped * score**2)

    def select(self, keep: NDArray[np.bool_] | NDArray[np.int64]) -> FlippedLikelihood:
        return FlippedLikelihood(self.link, self.signs[keep], self.flip)


def likelihood(link: Link, signs: ArrayLike) -> Loss:
    """The negative log-likelihood of unprotected signs, in its cheapest form.

    For the canonical link the likelihood is the matching loss of the bits, whose evaluation needs one ``expit``.
    """
    values = check_signs("signs", signs).astype(np.float64)
    return Matching(link, (1.0 + values) / 2.0) if link.is_canonical else Likelihood(link, values)
