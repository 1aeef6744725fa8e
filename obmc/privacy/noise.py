"""Noise: seeded for simulations, exact and from the operating system for releases.

A *simulation* draws from a seeded ``numpy.random.Generator`` with the continuous laws of the paper. Whoever knows the
seed can take its noise away, and floating-point Laplace noise identifies the bit by itself, so a simulation protects
nobody.

A *release* (``rng=obmc.SECURE``) draws on integers only, from the operating system's randomness, without a seed. Every
decision compares whole random words with the binary expansion of the probability asked for:

- randomised response compares 64 random bits with k = ceil(2^64 / (1 + e^eps)), so that the realised
  epsilon, log((2^64 - k) / k), is at most the one asked for;
- the other laws use the first 16 bits of the expansion and draw further words as long as the comparison is undecided.
  The expansions are floors of decimal intervals that enclose the real number, so the sampled law *is* the law asked
  for.

References: Mironov 2012 (why floating-point noise fails); Canonne, Kamath and Steinke 2020 (discrete Gaussian, and
Bernoulli variables with probability e^-gamma); Karney 2016 (a Gaussian from a whole and a fractional part).
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from obmc.errors import check_integer, check_number
from obmc.observations import as_generator

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

GRID_BITS = 20
"""Real values are rounded toward zero on the grid 2^-20 before integer noise is added."""

# Below the least, 1 - 2p of randomised response has no digits left.
MIN_EPSILON, MAX_EPSILON = 1e-9, 1e6
_WORD_BITS = 16
_RR_BITS = 64
_SMALLEST_RATE = Fraction(1, 2**51)
_SMOOTHING = 16


class Secure:
    """The request for a real release: operating-system randomness and exact samplers, never a seed.

    There is one instance, ``obmc.SECURE``; pass it as ``rng``.
    """

    _instance: Secure | None = None

    def __new__(cls) -> Secure:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "obmc.SECURE"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Secure, ())


SECURE = Secure()

Randomness = int | np.random.Generator | Secure


def check_epsilon(name: str, value: Any) -> float:
    """Return ``value`` as a privacy parameter in [10^-9, 10^6], or raise ``ValueError`` naming ``name``."""
    epsilon = check_number(name, value, low=0.0, high=MAX_EPSILON, open_low=True)
    if epsilon < MIN_EPSILON:
        raise ValueError(
            f"{name} must be at least {MIN_EPSILON:g}: below that no estimate has a digit left, got {value!r}."
        )
    return epsilon


def check_delta(name: str, value: Any) -> float:
    """Return ``value`` as a delta in (0, 1), or raise ``ValueError`` naming ``name``."""
    return check_number(name, value, low=0.0, high=1.0, open_low=True, open_high=True)


# Closed forms -----------------------------------------------------------------------------------------------------


def flip_probability(epsilon: float) -> float:
    """p = 1 / (1 + e^eps), the probability with which randomised response reverses a sign.

    Raises ``ValueError`` naming the argument that is out of its range.
    """
    return 1.0 / (1.0 + math.exp(min(check_epsilon("epsilon", epsilon), 700.0)))


def randomised_response_variance(epsilon: float) -> float:
    """Var(T | Y) = e^eps / (e^eps - 1)^2 of the unbiased label T = ((1 + Ybar)/2 - p) / (1 - 2p).

    Written as 1 / (4 sinh(eps/2)^2), which does not cancel for small epsilon.
    """
    return 0.25 / math.sinh(min(check_epsilon("epsilon", epsilon), 600.0) / 2.0) ** 2


def laplace_variance(scale: float) -> float:
    """2 b^2 for the Laplace law with scale b (density e^(-|x|/b) / (2 b))."""
    return 2.0 * check_number("scale", scale, low=0.0, open_low=True) ** 2


def geometric_variance(epsilon: float) -> float:
    """2 q / (1 - q)^2 with q = e^-eps, of the two-sided geometric law P(k) proportional to q^|k|.

    It is twice the variance of randomised response and below Laplace's 2 / eps^2.
    """
    return 2.0 * randomised_response_variance(epsilon)


# Grids ------------------------------------------------------------------------------------------------------------


def truncate_to_grid(values: ArrayLike) -> Integers:
    """The integers sgn(x) floor(|x| 2^20): values rounded toward zero on the grid 2^-20, in units of the grid."""
    scaled = np.asarray(values, dtype=np.float64) * float(2**GRID_BITS)
    return np.trunc(scaled).astype(np.int64)


def entry_grid_sensitivity(alpha: float) -> int:
    """2 floor(alpha 2^20): how far one entry of [-alpha, alpha] moves on the grid, whatever the data do."""
    bound = check_number("alpha", alpha, low=0.0, open_low=True)
    steps = math.floor(Fraction(bound) * 2**GRID_BITS)
    if steps < 1:
        raise ValueError(f"alpha must be at least 2^-{GRID_BITS} for a release, got {alpha!r}.")
    return 2 * steps


def gradient_grid_sensitivity(sensitivity: float) -> int:
    """Delta1 2^20 + 1, rounded up: how far one clamped gradient entry moves on the grid when its sign flips."""
    exact = Fraction(check_number("sensitivity", sensitivity, low=0.0, open_low=True))
    return math.ceil(exact * 2**GRID_BITS) + 1


# Random words -----------------------------------------------------------------------------------------------------


class BitSource(Protocol):
    """Uniform random words."""

    def words(self, size: int, bits: int) -> NDArray[Any]:
        """``size`` independent uniform unsigned integers of 16 or 64 bits."""


class OperatingSystem:
    """Random words from the operating system, without a buffer: a forked worker would inherit a buffer's contents."""

    def words(self, size: int, bits: int) -> NDArray[Any]:
        return np.frombuffer(os.urandom(size * bits // 8), dtype=f"<u{bits // 8}")


class Expansion:
    """The binary digits of a real number p in (0, 1), as many as asked for.

    ``bounds(digits)`` returns an interval that encloses p, of a relative width of about 10^-digits. ``floor`` narrows
    it until both ends agree on the digits asked for, which an irrational p always reaches.
    """

    def __init__(self, bounds: Callable[[int], tuple[Decimal, Decimal]]) -> None:
        self._bounds = bounds
        self._words: dict[int, int] = {}

    def floor(self, bits: int) -> int:
        """floor(p 2^bits), exactly."""
        digits = 60
        while True:
            low, high = (_floor(end, bits) for end in self._bounds(digits))
            if low == high:
                return low
            digits *= 2

    def word(self, level: int) -> int:
        """The digits of p from 16 level + 1 to 16 (level + 1), as a number below 2^16."""
        if level not in self._words:
            self._words[level] = self.floor(_WORD_BITS * (level + 1)) % 2**_WORD_BITS
        return self._words[level]


def _floor(value: Decimal, bits: int) -> int:
    # A tiny value such as e^-1000000 is known to vanish without the huge denominator that the quotient would have.
    return 0 if value.adjusted() + 1 < -bits else math.floor(Fraction(value) * 2**bits)


def _exponential_bounds(exponent: Fraction, digits: int) -> tuple[Decimal, Decimal, Context]:
    """Decimal bounds of e^exponent for a rational exponent, and the context that they were computed in."""
    # The division is off by at most exponent 10^-prec, which the exponential turns into a relative error of that size.
    prec = digits + 12 + len(str(math.ceil(abs(exponent))))
    context = Context(prec=prec, Emax=MAX_EMAX, Emin=MIN_EMIN)
    ratio = context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    value = context.exp(ratio)
    margin = context.multiply(value, Decimal(10) ** -(digits + 5))
    return context.subtract(value, margin), context.add(value, margin), context


@functools.lru_cache(maxsize=4096)
def logistic_expansion(exponent: Fraction) -> Expansion:
    """The digits of 1 / (1 + e^x) for a rational x > 0 (irrational by Lindemann's theorem)."""

    def bounds(digits: int) -> tuple[Decimal, Decimal]:
        low, high, context = _exponential_bounds(exponent, digits)
        margin = Decimal(10) ** -(digits + 4)
        below = context.divide(Decimal(1), context.add(high, Decimal(1)))
        above = context.divide(Decimal(1), context.add(low, Decimal(1)))
        return (
            context.multiply(below, context.subtract(Decimal(1), margin)),
            context.multiply(above, context.add(Decimal(1), margin)),
        )

    return Expansion(bounds)


@functools.lru_cache(maxsize=4096)
def exponential_expansion(exponent: Fraction) -> Expansion:
    """The digits of e^-x for a rational x > 0."""

    def bounds(digits: int) -> tuple[Decimal, Decimal]:
        low, high, _ = _exponential_bounds(-exponent, digits)
        return low, high

    return Expansion(bounds)


# Exact samplers on integers ---------------------------------------------------------------------------------------


def bernoulli(size: int, probability: Expansion, source: BitSource) -> Mask:
    """``size`` independent Bernoulli(p) variables: a uniform number in [0, 1), revealed word by word, is below p."""
    result = np.zeros(size, dtype=bool)
    undecided = np.arange(size)
    level = 0
    while len(undecided):
        threshold = probability.word(level)
        words = source.words(len(undecided), _WORD_BITS)
        result[undecided] = words < threshold
        undecided = undecided[words == threshold]
        level += 1
    return result


def flip_threshold(epsilon: float) -> int:
    """k = ceil(2^64 / (1 + e^eps)), verified: (2^64 - k) <= e^eps k in 60-digit decimal arithmetic.

    A sign is reversed when 64 random bits are below k, so the realised epsilon is log((2^64 - k) / k) <= eps.
    Computed in double precision, k comes out too small for some epsilons, and the realised epsilon too large.
    """
    exponent = Fraction(check_epsilon("epsilon", epsilon))
    if exponent > 64:
        return 1  # k = 1 realises log(2^64 - 1) = 44.36, the largest that 64 bits can
    low, high, _ = _exponential_bounds(exponent, 60)
    k = math.ceil(2**_RR_BITS / (1 + Fraction(high)))
    while 2**_RR_BITS - k > Fraction(low) * k:
        k += 1
    return k


def exact_flips(size: int, epsilon: float, source: BitSource) -> Mask:
    """``size`` independent flips of randomised response, with a realised epsilon of at most ``epsilon``."""
    return source.words(size, _RR_BITS) < np.uint64(flip_threshold(epsilon))


def exact_geometric(size: int, rate: Fraction, source: BitSource) -> Integers:
    """``size`` geometric variables, P(G = g) = (1 - q) q^g for g >= 0, q = e^-rate.

    The binary digits of G are independent, digit i being 1 with probability 1 / (1 + e^(2^i rate)), and G >= 2^J has
    probability e^(-2^J rate). So J digits are drawn, and 2^J is added as often as that event happens: the law has no
    memory. J only decides the cost.
    """
    if rate < _SMALLEST_RATE:
        raise ValueError(
            "epsilon is too small for the exact sampler: the noise would have a scale of "
            f"{float(1 / rate):.1e} steps of its grid, and at most {float(1 / _SMALLEST_RATE):.1e} is possible."
        )
    digits = 0
    while rate * 2**digits < 16:
        digits += 1
    values = np.zeros(size, dtype=np.int64)
    for i in range(digits):
        values += bernoulli(size, logistic_expansion(rate * 2**i), source).astype(np.int64) << i
    more = np.arange(size)
    overflow = exponential_expansion(rate * 2**digits)
    while len(more):
        more = more[bernoulli(len(more), overflow, source)]
        values[more] += 2**digits
    return values


def exact_discrete_laplace(size: int, rate: Fraction, source: BitSource) -> Integers:
    """``size`` two-sided geometric variables, P(X = x) = (1 - q)/(1 + q) q^|x|, q = e^-rate: a difference of two."""
    return exact_geometric(size, rate, source) - exact_geometric(size, rate, source)


def exact_discrete_gaussian(size: int, sigma: int, source: BitSource) -> Integers:
    """``size`` discrete Gaussian variables, P(X = x) proportional to e^(-x^2 / (2 sigma^2)), sigma a whole number.

    With |X| = k sigma + j, 0 <= j < sigma and u = j / sigma, the weight factors as e^(-k^2/2) e^(-k u) e^(-u^2/2).
    So k is drawn from its own law, j uniformly, and the pair is kept with probability e^(-k u) e^(-u^2/2); a sign is
    drawn, and minus zero is drawn again. All comparisons are between whole numbers.
    """
    deviation = check_integer("sigma", sigma, low=1, high=2**55)
    values = np.zeros(size, dtype=np.int64)
    pending = np.arange(size)
    while len(pending):
        count = len(pending)
        whole = _half_normal_integers(count, source)
        part = _below(count, deviation, source)
        keep = _exponential_square(part, deviation, source)
        owner = np.repeat(np.arange(count), whole)
        lost = ~_exponential_ratio(part[owner], deviation, source)
        keep[owner[lost]] = False
        negative = source.words(count, _WORD_BITS) % 2 == 1
        keep &= ~(negative & (whole == 0) & (part == 0))
        magnitude = whole * deviation + part.astype(np.int64)
        signed = np.where(negative, -magnitude, magnitude)
        values[pending[keep]] = signed[keep]
        pending = pending[~keep]
    return values


def _half_normal_integers(size: int, source: BitSource) -> Integers:
    """k >= 0 with probability proportional to e^(-k^2/2): geometric with rate 1/2, kept with e^(-k (k - 1)/2)."""
    values = np.zeros(size, dtype=np.int64)
    pending = np.arange(size)
    while len(pending):
        candidates = exact_geometric(len(pending), Fraction(1, 2), source)
        keep = np.ones(len(pending), dtype=bool)
        for k in np.unique(candidates[candidates > 1]):
            where = np.flatnonzero(candidates == k)
            keep[where] = bernoulli(len(where), exponential_expansion(Fraction(int(k) * (int(k) - 1), 2)), source)
        values[pending[keep]] = candidates[keep]
        pending = pending[~keep]
    return values


def _below(size: int, bound: int, source: BitSource) -> NDArray[np.uint64]:
    """Uniform integers in {0, ..., bound - 1}: as many random bits as needed, drawn again when too large."""
    mask = np.uint64((1 << (bound - 1).bit_length()) - 1)
    values = source.words(size, 64) & mask
    while True:
        again = np.flatnonzero(values >= np.uint64(bound))
        if not len(again):
            return values
        values[again] = source.words(len(again), 64) & mask


def _exponential_trials(size: int, trial: Callable[[NDArray[np.intp]], Mask], source: BitSource) -> Mask:
    """Bernoulli(e^-gamma) from a supply of Bernoulli(gamma), 0 <= gamma <= 1.

    For K = 1, 2, ... draw Bernoulli(gamma / K) until the first failure; the number of that trial is odd with
    probability 1 - gamma + gamma^2/2 - ... = e^-gamma (Canonne, Kamath and Steinke 2020, Algorithm 1).
    """
    result = np.zeros(size, dtype=bool)
    active = np.arange(size)
    number = 1
    while len(active):
        success = trial(active)
        if number > 1:
            success &= _below(len(active), number, source) == 0
        result[active[~success]] = number % 2 == 1
        active = active[success]
        number += 1
    return result


def _exponential_ratio(part: NDArray[np.uint64], whole: int, source: BitSource) -> Mask:
    """Bernoulli(e^-u), u = part / whole."""
    return _exponential_trials(len(part), lambda i: _below(len(i), whole, source) < part[i], source)


def _exponential_square(part: NDArray[np.uint64], whole: int, source: BitSource) -> Mask:
    """Bernoulli(e^(-u^2/2)), u = part / whole: the trial is two independent Bernoulli(u) and one fair bit."""

    def trial(i: NDArray[np.intp]) -> Mask:
        first = _below(len(i), whole, source) < part[i]
        second = _below(len(i), whole, source) < part[i]
        return first & second & (source.words(len(i), _WORD_BITS) % 2 == 0)

    return _exponential_trials(len(part), trial, source)


# The two kinds of noise -------------------------------------------------------------------------------------------


class Noise(Protocol):
    """What a mechanism may ask of its randomness. The same calls serve simulations and releases."""

    @property
    def simulated(self) -> bool:
        """True for a seeded simulation, which protects nobody."""

    def flips(self, size: int, epsilon: float) -> Mask:
        """Which of ``size`` signs randomised response reverses, each with probability 1 / (1 + e^eps)."""

    def laplace_bits(self, bits: ArrayLike, epsilon: float, *, geometric: bool) -> Array:
        """Bits plus independent noise of scale 1/eps: Laplace, or two-sided geometric with q = e^-eps."""

    def laplace_entries(self, values: ArrayLike, *, alpha: float, epsilon: float, count: int) -> Array:
        """Entries clipped to [-alpha, alpha] plus Laplace(2 alpha count / eps)."""

    def laplace_gradient(self, values: ArrayLike, *, sensitivity: float, epsilon: float) -> Array:
        """Gradient entries, of which one flip moves one by at most ``sensitivity``, plus Laplace(sensitivity / eps)."""

    def gaussian(self, values: ArrayLike, *, sensitivity: float, multiplier: float, rounding: float) -> Array:
        """Values of L2 sensitivity ``sensitivity`` plus Gaussian noise of std ``multiplier`` times it.

        ``rounding``: by how much truncation to the grid can add to the L2 sensitivity, in units of the grid
        (0 for whole numbers, 1 for one moving value, sqrt(N) for N of them). Simulations do not round.
        """


@dataclass(frozen=True)
class LaplaceField:
    """A Laplace variable for every pair (i, j), the same whenever it is asked for: noise of a matrix never formed.

    A counter-based generator: the pair and the key go through the finaliser of SplitMix64 (Steele, Lea and Flood 2014),
    and the uniform number that results through the inverse of the distribution function. For simulations only.
    """

    key: int
    scale: float

    def at(self, rows: NDArray[Any], cols: NDArray[Any]) -> Array:
        """The noise at the pairs (rows[k], cols[k]), shape (n,)."""
        pairs = np.asarray(rows).astype(np.uint64) << np.uint64(32) | np.asarray(cols).astype(np.uint64)
        state = self._mixed(self._mixed(pairs * np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(self.key))
        uniform = ((state >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53 - 0.5
        return -self.scale * np.sign(uniform) * np.log1p(-2.0 * np.abs(uniform))

    @staticmethod
    def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return state ^ (state >> np.uint64(31))


class SimulatedNoise:
    """Noise from a seeded generator, with the continuous laws of the paper: repeatable, and private to nobody."""

    simulated = True

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def flips(self, size: int, epsilon: float) -> Mask:
        return self._generator.random(size) < flip_probability(epsilon)

    def laplace_bits(self, bits: ArrayLike, epsilon: float, *, geometric: bool) -> Array:
        labels = np.asarray(bits, dtype=np.float64)
        if not geometric:
            return labels + self.laplace(labels.size, 1.0 / epsilon).reshape(labels.shape)
        success = -math.expm1(-epsilon)
        first = self._generator.geometric(success, labels.shape)
        return labels + (first - self._generator.geometric(success, labels.shape))

    def laplace(self, size: int, scale: float) -> Array:
        """Laplace noise by itself, for the forms of objective perturbation that are never released."""
        return self._generator.laplace(0.0, scale, size)

    def laplace_field(self, scale: float) -> LaplaceField:
        """Laplace noise for every entry of a matrix that is too large to hold."""
        return LaplaceField(int(self._generator.integers(2**63)), scale)

    def laplace_entries(self, values: ArrayLike, *, alpha: float, epsilon: float, count: int) -> Array:
        clipped = np.clip(np.asarray(values, dtype=np.float64), -alpha, alpha)
        return clipped + self.laplace(clipped.size, 2.0 * alpha * count / epsilon).reshape(clipped.shape)

    def laplace_gradient(self, values: ArrayLike, *, sensitivity: float, epsilon: float) -> Array:
        exact = np.asarray(values, dtype=np.float64)
        return exact + self.laplace(exact.size, sensitivity / epsilon).reshape(exact.shape)

    def gaussian(self, values: ArrayLike, *, sensitivity: float, multiplier: float, rounding: float) -> Array:
        exact = np.asarray(values, dtype=np.float64)
        return exact + self._generator.normal(0.0, sensitivity * multiplier, exact.shape)


class ExactNoise:
    """Noise for a release: exact laws on integers, from the operating system's randomness.

    ``source`` is replaced in tests only.
    """

    simulated = False

    def __init__(self, source: BitSource | None = None) -> None:
        self._source = source if source is not None else OperatingSystem()

    def flips(self, size: int, epsilon: float) -> Mask:
        return exact_flips(size, epsilon, self._source)

    def laplace_bits(self, bits: ArrayLike, epsilon: float, *, geometric: bool) -> Array:
        """Always two-sided geometric: on the integer bit it has the same epsilon and less variance than Laplace."""
        labels = np.asarray(bits, dtype=np.int64)
        noise = exact_discrete_laplace(labels.size, Fraction(epsilon), self._source)
        return (labels + noise.reshape(labels.shape)).astype(np.float64)

    def laplace_entries(self, values: ArrayLike, *, alpha: float, epsilon: float, count: int) -> Array:
        clipped = np.clip(np.asarray(values, dtype=np.float64), -alpha, alpha)
        return self._on_grid(clipped, Fraction(epsilon) / (entry_grid_sensitivity(alpha) * count))

    def laplace_gradient(self, values: ArrayLike, *, sensitivity: float, epsilon: float) -> Array:
        exact = np.asarray(values, dtype=np.float64)
        return self._on_grid(exact, Fraction(epsilon) / gradient_grid_sensitivity(sensitivity))

    def gaussian(self, values: ArrayLike, *, sensitivity: float, multiplier: float, rounding: float) -> Array:
        """Discrete Gaussian noise on the grid 2^-20.

        Given N(x, s^2 - 16) in units of the grid, a discrete Gaussian of variance 16 around it has, within a factor
        1 +- 10^-130, the law of a discrete Gaussian of variance s^2 around x. So the discrete mechanism is a
        post-processing of a continuous one whose variance is smaller by 16, and the continuous one's (eps, delta)
        holds. The factor is far below the relative 10^-9 by which the multiplier is rounded up.
        """
        exact = np.asarray(values, dtype=np.float64)
        steps = Fraction(sensitivity) * 2**GRID_BITS + Fraction(rounding)
        sigma = math.isqrt(math.ceil((steps * Fraction(multiplier)) ** 2) + _SMOOTHING) + 1
        noise = exact_discrete_gaussian(exact.size, sigma, self._source).reshape(exact.shape)
        return (truncate_to_grid(exact) + noise) / float(2**GRID_BITS)

    def _on_grid(self, values: Array, rate: Fraction) -> Array:
        noise = exact_discrete_laplace(values.size, rate, self._source).reshape(values.shape)
        return (truncate_to_grid(values) + noise) / float(2**GRID_BITS)


def noise_from(rng: Randomness) -> Noise:
    """The noise that ``rng`` asks for: ``obmc.SECURE`` a release, a seed or a ``Generator`` a simulation.

    Raises ``ValueError`` for anything else.
    """
    if isinstance(rng, Secure):
        return ExactNoise()
    if not isinstance(rng, np.random.Generator) and (isinstance(rng, bool) or not isinstance(rng, int | np.integer)):
        raise ValueError(
            f"rng must be obmc.SECURE for a release, or a seed or numpy Generator for a simulation, got {rng!r}."
        )
    return SimulatedNoise(as_generator(rng))
