"""Error bounds: what theory promises about an estimate, exactly where it is exact, and as a shape where it is a shape.

Three kinds, which belong on different axes:

- the *standard rate* of Davenport et al. 2014, with exact steepness and flatness but an unknown universal constant: it
  says how errors scale, not how large they are;
- the *explicit* bound on the in-sample error, without unknown constants but with the norm of the noise at its typical
  size, and the *trivial* one, 4 alpha^2, that holds for any two matrices of the box: at the size of the paper's
  experiments the former is above the latter, and empty;
- exact terms: output noise adds 8 alpha^2 / eps^2 to the mean squared error in expectation.

The paper's own statements differ; where they do not hold as printed, what is here replaces them (docs/mathematics.md,
Error bounds).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from obmc.errors import check_integer, check_number, check_shape
from obmc.links import Link
from obmc.observations import Observations
from obmc.privacy.noise import check_epsilon, flip_probability

Array = NDArray[np.float64]

_GRID = 513


# Steepness and flatness of flipped signs ------------------------------------------------------------------------------


def flipped_steepness(link: Link, alpha: float, epsilon: float) -> float:
    """L_c = sup over |x| <= alpha of c' / (c (1 - c)), c = p + q h, p = 1/(1 + e^eps), q = 1 - 2p.

    By c (1 - c) = p (1 - p) + q^2 h (1 - h). Canonical link: q = tanh(eps / 2). Else: the largest value on a
    grid, improved by a bounded search between its neighbours; at x = 0 for small epsilon, at x = alpha for large.

    Parameters
    ----------
    link
        The link h.
    alpha
        Bound of the box, above 0.
    epsilon
        Of randomised response, above 0.

    Raises ``ValueError`` naming the argument that is out of its range.
    """
    bound = check_number("alpha", alpha, low=0.0, open_low=True)
    p = flip_probability(epsilon)
    q = math.tanh(min(check_epsilon("epsilon", epsilon), 700.0) / 2.0)
    if link.is_canonical:
        return q

    def negative(x: float | Array) -> Array:
        h, slope = link.probability_and_density(x)
        return -q * slope / (p * (1.0 - p) + q * q * h * link.probability(-np.asarray(x)))

    grid = np.linspace(0.0, bound, _GRID)
    values = negative(grid)
    best = int(np.argmin(values))
    ends = grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)]
    found = optimize.minimize_scalar(negative, bounds=ends, method="bounded", options={"xatol": 1e-12})
    return -min(float(found.fun), float(values[best]))


def flipped_flatness(link: Link, alpha: float, epsilon: float) -> float:
    """beta_c = sup over |x| <= alpha of c (1 - c) / c'^2 = (p (1 - p) + q^2 h (1 - h)) / (q h')^2 at |x| = alpha.

    Arguments as for ``flipped_steepness``. Infinite where h'(alpha) is 0 in double precision.

    Raises ``ValueError`` naming the argument that is out of its range.
    """
    bound = check_number("alpha", alpha, low=0.0, open_low=True)
    p = flip_probability(epsilon)
    q = math.tanh(min(check_epsilon("epsilon", epsilon), 700.0) / 2.0)
    product = float(link.probability(bound) * link.probability(-bound))
    slope = (q * float(link.density(bound))) ** 2
    return (p * (1.0 - p) + q * q * product) / slope if slope > 0.0 else math.inf


def paper_flipped_flatness(alpha: float, epsilon: float) -> float:
    """1/(2 (1 - 2p)^2) + e^alpha / 2, which the paper prints as a bound on beta_c (logistic): it is not one.

    Raises ``ValueError`` naming the argument that is out of its range.
    """
    bound = check_number("alpha", alpha, low=0.0, high=700.0, open_low=True)
    q = math.tanh(min(check_epsilon("epsilon", epsilon), 700.0) / 2.0)
    return 0.5 / q**2 + 0.5 * math.exp(bound)


# The standard rate ----------------------------------------------------------------------------------------------------


def standard_rate(shape: tuple[int, int], n: int, rank: int = 1) -> float:
    """sqrt(r (d1 + d2) / n) sqrt(1 + (d1 + d2) log(d1 d2) / n): how the mean squared error scales.

    Parameters
    ----------
    shape
        (d1, d2).
    n
        Observed entries, at least 1.
    rank
        r, at least 1.

    Raises ``ValueError`` naming the argument that is out of its range.

    Source: Davenport, Plan, van den Berg and Wootters 2014, Theorem 1.
    """
    d1, d2 = check_shape("shape", shape)
    count, r = check_integer("n", n, low=1), check_integer("rank", rank, low=1)
    return math.sqrt(r * (d1 + d2) / count) * math.sqrt(1.0 + (d1 + d2) * math.log(d1 * d2) / count)


def standard_shape(
    link: Link, alpha: float, shape: tuple[int, int], n: int, rank: int = 1, epsilon: float = math.inf
) -> float:
    """alpha L beta times ``standard_rate``: the standard bound (1/(d1 d2)) ||X - M||_F^2 with its constant set to 1.

    L and beta are those of h, or of the flipped c where ``epsilon`` is finite. The universal constant of the bound is
    not known, so only ratios of such values mean anything. Arguments as for the functions that it is made of.

    Raises ``ValueError`` naming the argument that is out of its range.
    """
    bound = check_number("alpha", alpha, low=0.0, open_low=True)
    if math.isinf(epsilon):
        factor = link.steepness(bound) * link.flatness(bound)
    else:
        factor = flipped_steepness(link, bound, epsilon) * flipped_flatness(link, bound, epsilon)
    return bound * factor * standard_rate(shape, n, rank)


# Bounds in the unit of the error --------------------------------------------------------------------------------------


def trivial_bound(alpha: float) -> float:
    """4 alpha^2: no two matrices with entries in [-alpha, alpha] have a larger mean squared difference.

    Raises ``ValueError`` naming the argument that is out of its range.
    """
    return 4.0 * check_number("alpha", alpha, low=0.0, open_low=True) ** 2


def explicit_bound(
    link: Link, alpha: float, shape: tuple[int, int], n: int, rank: int = 1, noise_variance: float = 0.0
) -> float:
    """4 alpha s sqrt(r) (sqrt(d1) + sqrt(d2)) / (kappa sqrt(n)): what bounds the in-sample error, typically.

    For the minimiser of A(x) - T x, A' = h, over C with tau = alpha sqrt(r d1 d2) and labels T with mean h(M) and
    variance at most s^2 = 1/4 + ``noise_variance``: curvature kappa = inf h' = h'(alpha) gives (1/n) ||P(X - M)||_F^2
    <= 4 tau ||G||_2 / (kappa n), G = P(h(M) - T), and ||G||_2 is about s (sqrt(n/d1) + sqrt(n/d2)), which
    stands here in its place: in a draw it may be larger, with Laplace noise on few entries by a tenth and more.

    Parameters
    ----------
    link, alpha, shape, n, rank
        As above.
    noise_variance
        Of the noise on a label: 0 without privacy, ``randomised_response_variance`` or ``laplace_variance`` with it.

    Raises ``ValueError`` naming the argument that is out of its range.
    """
    bound = check_number("alpha", alpha, low=0.0, open_low=True)
    d1, d2 = check_shape("shape", shape)
    count, r = check_integer("n", n, low=1), check_integer("rank", rank, low=1)
    spread = math.sqrt(0.25 + check_number("noise_variance", noise_variance, low=0.0))
    kappa = float(link.density(bound))
    if kappa == 0.0:
        return math.inf
    return 4.0 * bound * spread * math.sqrt(r) * (math.sqrt(d1) + math.sqrt(d2)) / (kappa * math.sqrt(count))


def output_noise_term(alpha: float, epsilon: float) -> float:
    """8 alpha^2 / eps^2: what Laplace(2 alpha / eps) on every entry adds to the mean squared error, in expectation.

    Raises ``ValueError`` naming the argument that is out of its range.
    """
    return 8.0 * check_number("alpha", alpha, low=0.0, open_low=True) ** 2 / check_epsilon("epsilon", epsilon) ** 2


def objective_noise_term(tau: float, scale: float, shape: tuple[int, int], n: int) -> float:
    """(2 sqrt 2 tau b / n)(sqrt(n/d1) + sqrt(n/d2)): about the most that Laplace(b) noise in the objective is worth.

    By duality (1/n) <H, M - X> <= (2 tau / n) ||H||_2, and the spectral norm of n Laplace(b) entries, with variance
    2 b^2, is about sqrt(2) b (sqrt(n/d1) + sqrt(n/d2)). In the unit of the objective per observed entry.

    Raises ``ValueError`` naming the argument that is out of its range.
    """
    radius = check_number("tau", tau, low=0.0, open_low=True)
    b = check_number("scale", scale, low=0.0, open_low=True)
    d1, d2 = check_shape("shape", shape)
    count = check_integer("n", n, low=1)
    return 2.0 * math.sqrt(2.0) * radius * b / count * (math.sqrt(count / d1) + math.sqrt(count / d2))


def in_sample_error(estimate: Array, truth: Array, observations: Observations) -> float:
    """(1/n) ||P_Omega(X - M)||_F^2: the mean squared error on the observed entries, which ``explicit_bound`` is about.

    ``estimate`` and ``truth`` have the shape of ``observations``; ``ValueError`` otherwise.
    """
    for name, matrix in (("estimate", estimate), ("truth", truth)):
        if matrix.shape != observations.shape:
            raise ValueError(f"{name} must have the observations' shape {observations.shape}, got {matrix.shape}.")
    rows, cols = observations.rows, observations.cols
    return float(np.mean((estimate[rows, cols] - truth[rows, cols]) ** 2))
