"""What a noise costs: exact epsilons, sensitivities and their inverses, in closed form wherever there is one.

The unit throughout is one rating's sign: neighbouring data sets have the same observed entries Omega, and one sign
flips. v = alpha / sigma, r(u) = phi(u) / Q(u), the hazard of the Gaussian law, and r'(u) = r(u) (r(u) - u).

References: Warner 1965 and Kairouz, Oh and Viswanath 2016 (randomised response); Balle and Wang 2018 (analytic
Gaussian mechanism); Chaudhuri, Monteleoni and Sarwate 2011 (output perturbation with a ridge).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import fft, special

from obmc.errors import check_choice, check_integer, check_number
from obmc.links import Link
from obmc.observations import Observations, as_generator
from obmc.privacy.noise import check_delta, check_epsilon, flip_probability

Array = NDArray[np.float64]

# A calibration computed in double precision is moved to the safe side by this relative amount.
_SAFETY = 1e-9


# Randomised response ----------------------------------------------------------------------------------------------


def rr_epsilon(p1: float, p2: float) -> float:
    """The exact epsilon of flipping +1 with probability p1 and -1 with probability p2, possibly infinite.

    eps(p1, p2) = max(|log((1 - p1) / p2)|, |log(p1 / (1 - p2))|), the smallest epsilon that satisfies all of
    1 - p1 <= e^eps p2,  p2 <= e^eps (1 - p1),  p1 <= e^eps (1 - p2),  1 - p2 <= e^eps p1. The paper's Theorem 1 keeps
    the first and the third only. Infinite when an output is possible under one sign alone.

    Parameters
    ----------
    p1, p2
        Probabilities in [0, 1].
    """
    first = check_number("p1", p1, low=0.0, high=1.0)
    second = check_number("p2", p2, low=0.0, high=1.0)
    return max(_log_ratio(1.0 - first, second), _log_ratio(first, 1.0 - second))


def _log_ratio(a: float, b: float) -> float:
    if a == b:
        return 0.0
    return abs(math.log(a) - math.log(b)) if a > 0.0 and b > 0.0 else math.inf


def paper_accepts(p1: float, p2: float, epsilon: float) -> bool:
    """Whether the paper's condition 1 - p2 e^eps <= p1 <= (1 - p2) e^eps (Theorem 1) holds: it is not sufficient."""
    growth = math.exp(check_epsilon("epsilon", epsilon))
    return 1.0 - p2 * growth <= p1 <= (1.0 - p2) * growth


def check_flip_probabilities(p1: float, p2: float, epsilon: float = math.inf) -> float:
    """Return the exact epsilon of the pair (p1, p2), or raise ``ValueError`` if it is infinite or above ``epsilon``."""
    exact = rr_epsilon(p1, p2)
    if math.isinf(exact):
        raise ValueError(
            f"p1 and p2 must leave both signs possible under both inputs, but no epsilon covers ({p1:g}, {p2:g})."
        )
    if exact > epsilon:
        raise ValueError(
            f"p1 and p2 must satisfy all four inequalities of epsilon = {epsilon:g}, "
            f"but ({p1:g}, {p2:g}) has an epsilon of {exact:.4f}."
        )
    return exact


def flipped_convexity_threshold(link: Link, alpha: float) -> float:
    """The smallest epsilon at which -log c, c = (1 - p) h + p (1 - h), is convex on [-alpha, alpha].

    -log c is convex at x where h'' <= 0 or h'^2 / h'' - h >= p / (1 - 2p) = 1 / (e^eps - 1), whose left side grows with
    x, since h' is log-concave: so eps = log(1 + h'' / (h'^2 - h h'')) at x = -alpha. Logistic: 2 alpha. Gaussian:
    log(1 + 1 / (phi(v)/v - Q(v))). Below it a solver finds a stationary point only, and no certificate can be claimed;
    privacy is not touched.
    """
    bound = check_number("alpha", alpha, low=0.0, open_low=True)
    if link.is_canonical:
        return 2.0 * bound
    # h'^2 - h h'' is h^2 times the curvature -(log h)'', which keeps its digits in the far tail.
    x = np.asarray(-bound)
    bend = float(link.bend(x, link.probability(x)))
    log_odds = math.log(bend / (float(link.curvature(x)) / float(link.score(x)))) - float(link.log_probability(x))
    return float(np.logaddexp(0.0, log_odds))


# Objective perturbation with the likelihood -----------------------------------------------------------------------


def likelihood_sensitivity(link: Link, alpha: float) -> float:
    """Delta = sup over |x| <= alpha of |l'(+1, x) - l'(-1, x)| = L, the steepness: 1 or phi(v)/(sigma Phi(v) Q(v))."""
    return link.steepness(alpha)


def log_curvature_ratio(link: Link, alpha: float) -> float:
    """log R, R = sup over |x| <= alpha of l''(+1, x) / l''(-1, x): 0 (logistic) or log r'(v)/r'(-v) (Gaussian).

    This is the price of the Jacobian that the proof of the paper's Theorem 2 leaves out.
    """
    return link.log_curvature_ratio(alpha)


def paper_sensitivity(link: Link, alpha: float) -> float:
    """The paper's bound on Delta, so that b = it / eps: 1 (logistic), 2 h'(0) / h(-alpha) (Gaussian, and any other).

    Infinite where h(-alpha) is 0 in double precision.
    """
    bound = check_number("alpha", alpha, low=0.0, open_low=True)
    if link.is_canonical:
        return 1.0
    log_tail = float(link.log_probability(-bound))
    return 2.0 * link.max_density * math.exp(-log_tail) if log_tail > -700.0 else math.inf


def likelihood_epsilon(link: Link, alpha: float, scale: float) -> float:
    """Delta / b + log R: what the exact minimiser of the likelihood plus Laplace(b) terms is proven to satisfy."""
    b = check_number("scale", scale, low=0.0, open_low=True)
    return likelihood_sensitivity(link, alpha) / b + log_curvature_ratio(link, alpha)


def likelihood_epsilon_at_least(link: Link, alpha: float, scale: float) -> float:
    """A lower bound on the true epsilon of the same release, from the scalar problem on [-alpha, alpha].

    The minimiser x of l(y, x) + H x has the density l''(y, x) e^(-|l'(y, x)|/b) / (2b) inside, and as x -> alpha the
    log-ratio of the two signs' densities tends to log l''(-1, alpha) / l''(+1, alpha) - (s(-alpha) - s(alpha)) / b with
    the score s. At x = alpha itself it has an atom, whose log-ratio is log(2 - e^(-s(alpha)/b)) + s(-alpha)/b. A
    mechanism for matrices contains the scalar problem: observe the diagonal alone.
    """
    b = check_number("scale", scale, low=0.0, open_low=True)
    near, far = float(link.score(alpha)), float(link.score(-alpha))
    inside = _log_ratio_at_end(link, alpha) - (far - near) / b
    atom = math.log(2.0 - math.exp(-near / b)) + far / b
    return max(abs(inside), atom)


def _log_ratio_at_end(link: Link, alpha: float) -> float:
    """log l''(-1, alpha) / l''(+1, alpha), of either sign; infinite where l''(+1, alpha) is 0 in double precision."""
    least = float(link.curvature(alpha))
    return float(np.log(link.curvature(-alpha)) - np.log(least)) if least > 0.0 else math.inf


def likelihood_exact_scale(link: Link, alpha: float, epsilon: float) -> float:
    """b = Delta / (eps - log R): the scale with which the exact minimiser of the likelihood form is eps-DP.

    Raises ``ValueError`` for eps <= log R, where no scale suffices.
    """
    nominal = check_epsilon("epsilon", epsilon)
    floor = log_curvature_ratio(link, alpha)
    if nominal <= floor:
        raise ValueError(
            f"epsilon must be above log R = {floor:.4f} for exact_minimiser with this link and alpha, got {nominal:g}; "
            "use calibration='rigorous', which has no such limit."
        )
    return likelihood_sensitivity(link, alpha) / (nominal - floor)


def paper_violated_below(link: Link, alpha: float, halving: float = 1.0) -> float:
    """The nominal epsilon below which the likelihood form at the paper's scale provably breaks its promise.

    log R / (1 + (s(-alpha) - s(alpha)) / B), with the score s and B = 2 h'(0) / h(-alpha), where log R is attained as
    log l''(-1, alpha) / l''(+1, alpha), as for the Gaussian link; where that is negative, its size over
    1 - (s(-alpha) - s(alpha)) / B. With the noise divided by ``halving`` (2 for the displayed formula) B is divided by
    it. 0 for the logistic link in the appendix's form.
    """
    difference = float(link.score(-alpha) - link.score(alpha))
    ratio, share = _log_ratio_at_end(link, alpha), halving * difference / paper_sensitivity(link, alpha)
    # In absolute value ratio - eps share is above eps.
    return ratio / (1.0 + share) if ratio >= 0.0 else -ratio / (1.0 - share)


def paper_proven_from(link: Link, alpha: float, halving: float = 1.0) -> float:
    """The nominal epsilon from which on the likelihood form at the paper's scale is proven, infinite if none.

    log R / (1 - Delta / B): there Delta/b + log R <= eps. 0 for the logistic link in the appendix's form.
    """
    share = halving * likelihood_sensitivity(link, alpha) / paper_sensitivity(link, alpha)
    ratio = log_curvature_ratio(link, alpha)
    if ratio == 0.0:
        return 0.0 if share <= 1.0 else math.inf
    return ratio / (1.0 - share) if share < 1.0 else math.inf


# Gradient perturbation --------------------------------------------------------------------------------------------


def clamp_sensitivity(link: Link, alpha: float, clip: float | None, loss: str = "likelihood") -> float:
    """Delta1(C) = sup over |x| <= alpha of min(|g_+|, C) + min(|g_-|, C): how far one clamped gradient entry moves.

    Logistic likelihood, and the matching loss of any link (gradient h(x) - z): min(2C, 1).
    Else with the score s = h'/h: 2C for C <= s(0); in between, with s(-u) = C, the larger of C + s(u), which is the
    most for |x| >= u, and the steepness on |x| <= u (Gaussian: the same); Delta for C >= s(-alpha).

    Parameters
    ----------
    clip
        The bound C > 0, or None for no clamp.
    loss
        "likelihood" or "matching".
    """
    check_choice("loss", loss, ("likelihood", "matching"))
    bound = check_number("alpha", alpha, low=0.0, open_low=True)
    limit = math.inf if clip is None else check_number("clip", clip, low=0.0, open_low=True)
    if loss == "matching" or link.is_canonical:
        return min(2.0 * limit, 1.0)
    if limit <= float(link.score(0.0)):
        return 2.0 * limit
    if limit >= float(link.score(-bound)):
        return likelihood_sensitivity(link, bound)
    # Imported here: it takes longer than the rest of scipy that the package needs.
    from scipy import optimize

    meeting = optimize.brentq(lambda x: float(link.score(-x)) - limit, 0.0, bound, xtol=1e-14)
    # The root may be off by rounding; both neighbours bound the supremum, which is continuous there.
    return max((limit + float(link.score(meeting))) * (1.0 + _SAFETY), link.steepness(meeting))


# Gaussian noise ---------------------------------------------------------------------------------------------------


def gaussian_delta(epsilon: float, multiplier: float) -> float:
    """delta(eps) of Gaussian noise with std ``multiplier`` times the L2 sensitivity.

    delta = Phi(1/(2s) - eps s) - e^eps Phi(-1/(2s) - eps s), s the multiplier (Balle and Wang 2018, Theorem 8);
    exact, not a bound. eps >= 0.
    """
    eps = check_number("epsilon", epsilon, low=0.0)
    s = check_number("multiplier", multiplier, low=0.0, open_low=True)
    return float(_gaussian_delta(eps, s))


def _gaussian_delta(epsilon: float | Array, multiplier: float) -> Array:
    """The same for any eps, negative ones too."""
    upper = special.log_ndtr(0.5 / multiplier - epsilon * multiplier)
    lower = epsilon + special.log_ndtr(-0.5 / multiplier - epsilon * multiplier)
    return np.maximum(0.0, -np.exp(upper) * np.expm1(np.minimum(lower - upper, 0.0)))


def gaussian_multiplier(epsilon: float, delta: float, looks: int = 1) -> float:
    """The smallest noise multiplier with which ``looks`` answers together are (eps, delta)-DP: sigma_1 sqrt(looks).

    ``looks`` Gaussian answers about the same data, adaptively chosen, are exactly one answer with sqrt(looks) times
    the sensitivity. Rounded up by a relative 10^-9.
    """
    eps, tail = check_epsilon("epsilon", epsilon), check_delta("delta", delta)
    return _one_look_multiplier(eps, tail) * math.sqrt(check_integer("looks", looks, low=1))


@functools.lru_cache(maxsize=1024)
def _one_look_multiplier(eps: float, tail: float) -> float:
    low, high = 1e-3, 1.0
    while gaussian_delta(eps, high) > tail:
        high *= 2.0
    while gaussian_delta(eps, low) <= tail and low > 1e-12:
        low /= 2.0
    for _ in range(200):
        middle = math.sqrt(low * high)
        if gaussian_delta(eps, middle) > tail:
            low = middle
        else:
            high = middle
    return high * (1.0 + _SAFETY)


def gaussian_epsilon(delta: float, multiplier: float) -> float:
    """The smallest eps >= 0 with which Gaussian noise of this multiplier is (eps, delta)-DP."""
    tail = check_delta("delta", delta)
    s = check_number("multiplier", multiplier, low=0.0, open_low=True)
    return _smallest_epsilon(lambda eps: gaussian_delta(eps, s), tail, 1.0 / s)


def _smallest_epsilon(delta_of: Callable[[float], float], delta: float, scale: float) -> float:
    """The smallest eps >= 0 with delta_of(eps) <= delta, for a decreasing delta_of, from the safe side."""
    if delta_of(0.0) <= delta:
        return 0.0
    high = max(scale, 1e-6)
    while delta_of(high) > delta:
        high *= 2.0
    low = 0.0
    while high - low > 1e-12 * (1.0 + high):
        middle = 0.5 * (low + high)
        if delta_of(middle) > delta:
            low = middle
        else:
            high = middle
    return high


# Output perturbation ----------------------------------------------------------------------------------------------


def ridge_sensitivity(steepness: float, curvature: float, ridge: float, gap: float = 0.0) -> float:
    """S2, the L2 sensitivity of the minimiser of f(X) + mu/2 ||X||_F^2 over a convex set, plus the solver's part.

    From the two variational inequalities, mu ||d||^2 <= D |t| - kappa t^2 with t the change at the flipped entry:
    S2 = D / (2 sqrt(kappa mu)) for mu <= kappa, D / (kappa + mu) otherwise. A solution whose objective is within
    ``gap`` of the optimum is within sqrt(2 gap / mu) of the minimiser, twice for a pair of data sets.

    Parameters
    ----------
    steepness
        D, by how much the flip changes the entry's derivative: Delta (likelihood) or 1 (matching loss).
    curvature
        kappa = inf of the second derivative over [-alpha, alpha].
    ridge
        mu > 0.
    gap
        The absolute gap that was fixed in advance and reached, never the realised one: that depends on the data.
    """
    d = check_number("steepness", steepness, low=0.0, open_low=True)
    kappa = check_number("curvature", curvature, low=0.0, open_low=True)
    mu = check_number("ridge", ridge, low=0.0, open_low=True)
    slack = check_number("gap", gap, low=0.0)
    exact = d / (2.0 * math.sqrt(kappa * mu)) if mu <= kappa else d / (kappa + mu)
    return exact + 2.0 * math.sqrt(2.0 * slack / mu)


# One user with m ratings ------------------------------------------------------------------------------------------


def user_epsilon(epsilon: float, ratings: int) -> float:
    """m eps: pure group privacy of a user with m ratings, attained by randomised response and by Laplace bits."""
    return check_epsilon("epsilon", epsilon) * check_integer("ratings", ratings, low=1)


def rr_user_delta(epsilon: float, ratings: int, user_eps: float) -> float:
    """delta(user_eps) of m bits under randomised response at eps each, all m signs changed; exact.

    F ~ Binomial(m, p) of the bits are flipped, the privacy loss is (m - 2F) eps, and
    delta = sum over F of P(F) (1 - e^(user_eps - (m - 2F) eps))_+.

    The same value holds for two-sided geometric noise on the bits, whose privacy loss is that of randomised response,
    and is an upper bound for every mechanism that is eps-DP for each bit apart: a post-processing of it.
    """
    losses, log_weights = _rr_losses(check_epsilon("epsilon", epsilon), check_integer("ratings", ratings, low=1))
    return _hockey_stick(losses, np.exp(log_weights), check_number("user_eps", user_eps, low=0.0))


def _rr_losses(epsilon: float, ratings: int) -> tuple[Array, Array]:
    flips = np.arange(ratings + 1, dtype=np.float64)
    p = flip_probability(epsilon)
    log_weights = (
        special.gammaln(ratings + 1.0)
        - special.gammaln(flips + 1.0)
        - special.gammaln(ratings - flips + 1.0)
        + flips * math.log(p)
        + (ratings - flips) * math.log1p(-p)
    )
    return (ratings - 2.0 * flips) * epsilon, log_weights


def _hockey_stick(losses: Array, weights: Array, epsilon: float) -> float:
    return float(np.sum(weights * np.maximum(0.0, -np.expm1(np.minimum(epsilon - losses, 0.0)))))


def rr_user_epsilon(epsilon: float, ratings: int, delta: float) -> float:
    """The exact eps at this delta for a user with m ratings, each a bit under randomised response at ``epsilon``."""
    return users_epsilon([(epsilon, ratings)], delta)


def users_epsilon(releases: list[tuple[float, int]], delta: float, multiplier: float = math.inf) -> float:
    """The eps at this delta of one user against several releases together.

    Each (epsilon, m) of ``releases`` is m bits under randomised response at epsilon; ``multiplier`` is the noise
    multiplier of all Gaussian answers about the user together (infinite: none). The privacy losses add up: one
    release alone is exact; several are convolved on a grid, every loss rounded up, so that the result is an upper
    bound. The grid has 2,000 steps for each release up to its largest loss m eps: where the result is far below that,
    it is too large by up to that step for every release, and where delta is below 1e-10 by the rounding of the
    convolution as well.
    """
    tail = check_delta("delta", delta)
    parts = [_rr_losses(check_epsilon("epsilon", e), check_integer("ratings", m, low=1)) for e, m in releases]
    if not parts:
        return 0.0 if math.isinf(multiplier) else gaussian_epsilon(tail, multiplier)
    if len(parts) == 1 and math.isinf(multiplier):
        losses, logs = parts[0]
        weights = np.exp(logs)
        return _smallest_epsilon(lambda eps: _hockey_stick(losses, weights, eps), tail, float(losses[0]))
    step = max(sum(float(losses[0]) for losses, _ in parts) * 1e-3, 1e-3) / (2.0 * len(parts))
    start, weights = 0, np.ones(1)
    lost = 0.0
    for losses, logs in parts:
        first, mass = _on_loss_grid(losses, np.exp(logs), step)
        # What is too improbable to matter is counted as a certain failure, which keeps the bound and the arrays short.
        start, weights, missing = _trim(start + first, _convolved(weights, mass), tail * 1e-9)
        lost += missing
    support = step * np.arange(start, start + len(weights), dtype=np.float64)
    if math.isinf(multiplier):
        return _smallest_epsilon(lambda eps: lost + _hockey_stick(support, weights, eps), tail, float(support[-1]) + 1)

    # Given the discrete losses' sum l, the Gaussian answers must cover eps - l, which may be negative.
    def delta_of(eps: float) -> float:
        return lost + float(np.sum(weights * _gaussian_delta(eps - support, multiplier)))

    return _smallest_epsilon(delta_of, tail, float(support[-1]) + 1.0)


def _on_loss_grid(losses: Array, weights: Array, step: float) -> tuple[int, Array]:
    cells = np.ceil(losses / step).astype(np.int64)
    first = int(cells.min())
    grid = np.zeros(int(cells.max()) - first + 1)
    np.add.at(grid, cells - first, weights)
    return first, grid


def _convolved(first: Array, second: Array) -> Array:
    """The convolution of two distributions, by the fast Fourier transform where that is worth it."""
    if min(len(first), len(second)) < 64:
        return np.convolve(first, second)
    length = len(first) + len(second) - 1
    padded = fft.next_fast_len(length, real=True)
    product = fft.irfft(fft.rfft(first, padded) * fft.rfft(second, padded), padded)[:length]
    # Rounding leaves values a little below zero, which are no probabilities.
    return np.maximum(np.asarray(product, dtype=np.float64), 0.0)


def _trim(start: int, weights: Array, mass: float) -> tuple[int, Array, float]:
    """Drop tails: the upper one's mass is returned as lost, the lower one is moved up to the first kept cell."""
    weights = np.maximum(weights, 0.0)
    upper = np.cumsum(weights[::-1])[::-1]
    last = int(np.searchsorted(-upper, -mass, side="right"))
    lost = float(upper[last]) if last < len(weights) else 0.0
    kept = weights[: max(last, 1)].copy()
    lower = np.cumsum(kept)
    skip = min(int(np.searchsorted(lower, mass)), len(kept) - 1)
    kept[skip] += float(lower[skip - 1]) if skip else 0.0
    return start + skip, kept[skip:], lost


def laplace_user_epsilon(epsilon: float, ratings: int, delta: float) -> float:
    """The eps at this delta for a user with m ratings, each a bit plus Laplace(1 / epsilon) noise: an upper bound.

    One bit's privacy loss is +eps with probability 1/2, -eps with e^-eps / 2, and has the density e^(l/2 - eps/2) / 4
    in between. It is put on a grid so that the mass and its mean of e^-l are kept (each cell's mass shared between
    the cell's ends), which bounds delta from above at every eps, and convolved m times by the fast Fourier transform,
    whose error of about 10^-14 limits delta to 10^-10 and above.
    """
    eps, count = check_epsilon("epsilon", epsilon), check_integer("ratings", ratings, low=1)
    tail = check_number("delta", delta, low=1e-10, high=1.0, open_high=True)
    cells = max(16, min(200, 2**18 // count))
    step = eps / cells
    edges = step * np.arange(-cells, cells + 1, dtype=np.float64)
    low, high = edges[:-1], edges[1:]
    mass = 0.5 * (np.exp(high / 2 - eps / 2) - np.exp(low / 2 - eps / 2))
    mirrored = 0.5 * (np.exp(-low / 2 - eps / 2) - np.exp(-high / 2 - eps / 2))
    to_low = np.clip((mirrored - mass * np.exp(-high)) / (np.exp(-low) - np.exp(-high)), 0.0, mass)
    weights = np.zeros(2 * cells + 1)
    weights[:-1] += to_low
    weights[1:] += mass - to_low
    weights[-1] += 0.5
    weights[0] += 0.5 * math.exp(-eps)
    size = 2 * cells * count + 1
    total = np.maximum(np.fft.irfft(np.fft.rfft(weights, 2 * size) ** count, 2 * size)[:size], 0.0)
    losses = step * np.arange(-cells * count, cells * count + 1, dtype=np.float64)
    return _smallest_epsilon(lambda value: _hockey_stick(losses, total, value), tail, eps * count)


def rating_epsilon(user_eps: float, ratings: int, delta: float | None = None) -> float:
    """The entry-level epsilon with which a user with m ratings is protected at ``user_eps`` (and ``delta``).

    Without delta user_eps / m; with it the largest epsilon of randomised response whose exact m-fold value is at most
    ``user_eps``, which is larger.
    """
    wanted, count = check_epsilon("user_eps", user_eps), check_integer("ratings", ratings, low=1)
    if delta is None:
        return wanted / count
    tail = check_delta("delta", delta)
    low, high = wanted / count, wanted
    for _ in range(60):
        middle = 0.5 * (low + high)
        if rr_user_delta(middle, count, wanted) <= tail:
            low = middle
        else:
            high = middle
    return low


def ratings_per_user(observations: Observations) -> NDArray[np.int64]:
    """How many ratings each user (row) has, 0 included: public, since who rated what is."""
    return np.bincount(observations.rows, minlength=observations.shape[0])


def cap_ratings(observations: Observations, cap: int, rng: int | np.random.Generator) -> Observations:
    """Keep at most ``cap`` ratings per user, chosen at random from who-rated-what alone, the order unchanged.

    The choice never looks at a sign, so it is free of privacy cost, and bounds what any one user can lose.
    """
    limit = check_integer("cap", cap, low=1)
    n = len(observations)
    order = as_generator(rng).permutation(n)
    shuffled = order[np.argsort(observations.rows[order], kind="stable")]
    counts = ratings_per_user(observations)
    starts = np.cumsum(counts) - counts
    place = np.arange(n) - starts[observations.rows[shuffled]]
    keep = np.zeros(n, dtype=bool)
    keep[shuffled[place < limit]] = True
    return observations.take(keep)
