"""The attacks that an audit makes: how one run of a mechanism is reduced to a number that tells two worlds apart.

Where the law of what a mechanism lets out is known the number is its log-likelihood ratio, which no other attack on the
same output beats; elsewhere it is what the flip of one sign moves most. What the pair's exact loss is, and where the
best guesser's boundary lies, is said where it is known.

Reference: docs/mathematics.md, Audits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from obmc.constraints import ConstraintSet
from obmc.links import Link
from obmc.mechanisms.base import LocalMechanism, Mechanism, SolverOptions, require_alpha
from obmc.mechanisms.clear import Clear
from obmc.mechanisms.gradient import GradientOracle, GradientPerturbation
from obmc.mechanisms.objective import ObjectivePerturbation
from obmc.mechanisms.output import OutputPerturbation
from obmc.observations import Observations
from obmc.privacy import accounting
from obmc.privacy.noise import Noise, SimulatedNoise, noise_from

Array = NDArray[np.float64]

CANDIDATES = 20
# Of the interval in which the minimiser for a single rating lies.
_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbouring data sets, as given and with the sign of ``entry`` flipped."""

    given: Observations
    flipped: Observations
    entry: tuple[int, int]

    def world(self, number_of_world: int) -> Observations:
        return self.flipped if number_of_world else self.given

    @property
    def signs(self) -> tuple[int, int]:
        """The sign of ``entry`` in the two worlds."""
        place = self.given.index_of(self.entry)
        return int(self.given.signs[place]), int(self.flipped.signs[place])


@dataclass(frozen=True, eq=False)
class Attack:
    """How one run is reduced to a number, ``score(world, noise)``; ``exact`` is the pair's true loss, or nan.

    ``is_ratio``: the score is the log-likelihood ratio of what is observed, world 1 against world 0.
    ``batch``: the scores of so many runs at once, where that is possible. ``boundary``: the score at which both worlds
    are equally likely, nan where that is not known; ``upper`` is the world that is likelier above it.
    """

    observed: str
    exact: float
    score: Callable[[int, Noise], float]
    is_ratio: bool = False
    batch: Callable[[int, Noise, int], Array] | None = None
    boundary: float = math.nan
    upper: int = 1

    def __post_init__(self) -> None:
        if self.is_ratio:
            object.__setattr__(self, "boundary", 0.0)


def attack_on(
    mechanism: Mechanism, pair: Pair, link: Link, cset: ConstraintSet, options: SolverOptions, statistic: str
) -> Attack:
    """The attack on ``mechanism`` that looks at ``statistic``, one of those that ``audit`` lists."""
    if isinstance(mechanism, Clear):
        return _attack_clear(mechanism, pair, link, cset, options)
    if isinstance(mechanism, OutputPerturbation):
        return _attack_output(mechanism, pair, link, cset, options, statistic)
    if isinstance(mechanism, LocalMechanism) and mechanism.is_local(link):
        exact = mechanism.guarantee(link, cset, pair.given.shape).epsilon
        if statistic == "transcript":
            return _attack_label(mechanism, pair, link, exact)
        return _attack_final(mechanism, pair, link, cset, options, exact)
    if isinstance(mechanism, GradientPerturbation) and statistic == "transcript":
        if mechanism.uses_matching(link) and mechanism.effective_clip(link) is None:
            return _attack_linear_gradient(mechanism, pair, link, cset)
        return _attack_gradient(mechanism, pair, link, cset, options)
    if isinstance(mechanism, ObjectivePerturbation) and pair.given.shape == (1, 1):
        return _attack_single_rating(mechanism, pair, link, cset)
    return _attack_final(mechanism, pair, link, cset, options, math.nan)


def _attack_label(mechanism: LocalMechanism, pair: Pair, link: Link, exact: float) -> Attack:
    """The noised label of the flipped entry: its likelihood ratio grows with it."""
    place = pair.given.index_of(pair.entry)

    def score(world: int, noise: Noise) -> float:
        return float(mechanism._noised_labels(pair.world(world), link, noise)[place])

    # Labels are noised symmetrically about 0 and 1.
    upper = 0 if pair.given.signs[place] > 0 else 1
    return Attack("the noised label of the flipped entry", exact, score, boundary=0.5, upper=upper)


def _attack_final(
    mechanism: Mechanism, pair: Pair, link: Link, cset: ConstraintSet, options: SolverOptions, exact: float
) -> Attack:
    row, col = np.array([pair.entry[0]]), np.array([pair.entry[1]])

    def score(world: int, noise: Noise) -> float:
        done = mechanism._complete(pair.world(world), link, cset, noise, options)
        return float(done.predict(row, col)[0])

    return Attack("the completed matrix at the flipped entry", exact, score)


def _attack_single_rating(mechanism: ObjectivePerturbation, pair: Pair, link: Link, cset: ConstraintSet) -> Attack:
    """The likelihood of one rating alone: its minimiser on [-alpha, alpha] is found for thousands of runs at once.

    The minimiser x of l(y, x) + H x is where the slope l'(y, x) = -y h'(yx)/h(yx), which grows with x, meets -H, or an
    end of the box. So its density is l''(y, x) e^(-|l'(y, x)|/b) / (2b) inside, and each end has the probability of a
    Laplace tail: the score is the logarithm of their ratio. A matrix with more ratings contains this problem: observe
    its diagonal.
    """
    reach = min(require_alpha(cset, f"objective perturbation of the {link.name.capitalize()} likelihood"), cset.tau)
    scale = mechanism.scale(link, cset)
    signs = [float(pair.world(world).signs[0]) for world in (0, 1)]

    def slope(sign: float, x: Array | float) -> Array:
        return -sign * link.score(sign * np.asarray(x))

    def log_law(sign: float, x: Array) -> Array:
        inside = np.log(link.curvature(sign * x)) - np.abs(slope(sign, x)) / scale - math.log(2.0 * scale)
        upper = _log_laplace_cdf(-float(slope(sign, reach)) / scale)
        lower = _log_laplace_cdf(float(slope(sign, -reach)) / scale)
        return np.where(x >= reach, upper, np.where(x <= -reach, lower, inside))

    def scores(world: int, noise: Noise, count: int) -> Array:
        assert isinstance(noise, SimulatedNoise)
        tilt = noise.laplace(count, scale)
        low, high = np.full(count, -reach), np.full(count, reach)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            rising = slope(signs[world], middle) + tilt > 0.0
            high = np.where(rising, middle, high)
            low = np.where(rising, low, middle)
        # Where the slope has one sign on the whole box, the end itself is the minimiser.
        x = np.where(slope(signs[world], reach) + tilt <= 0.0, reach, 0.5 * (low + high))
        x = np.where(slope(signs[world], -reach) + tilt >= 0.0, -reach, x)
        return log_law(signs[1], x) - log_law(signs[0], x)

    return Attack(
        "the completed entry",
        math.nan,
        lambda world, noise: float(scores(world, noise, 1)[0]),
        is_ratio=True,
        batch=scores,
    )


def _log_laplace_cdf(t: float) -> float:
    """log P(H <= t) for the Laplace law of scale 1."""
    return t - math.log(2.0) if t <= 0.0 else math.log1p(-0.5 * math.exp(-t))


def _attack_clear(mechanism: Clear, pair: Pair, link: Link, cset: ConstraintSet, options: SolverOptions) -> Attack:
    matrices = [mechanism._complete(pair.world(w), link, cset, noise_from(0), options).matrix for w in (0, 1)]
    direction = matrices[1] - matrices[0]
    values = [float(np.vdot(matrix, direction)) for matrix in matrices]
    exact = math.inf if np.any(direction) else 0.0
    return Attack("the completed matrix", exact, lambda world, noise: values[world])


def _attack_output(
    mechanism: OutputPerturbation,
    pair: Pair,
    link: Link,
    cset: ConstraintSet,
    options: SolverOptions,
    statistic: str,
) -> Attack:
    """Two solves in all; the noise is drawn for every run."""
    solutions = [mechanism.solution(pair.world(w), link, cset, options) for w in (0, 1)]
    n = len(pair.given)
    std = mechanism.noise_std(link, cset, n)
    if mechanism.entries is not None:
        rows, cols = np.array(mechanism.entries).T
        clean = [cset.clip(done.predict(rows, cols)) for done in solutions]
    else:
        clean = [cset.clip(done.matrix) for done in solutions]
    if mechanism.uses_ridge:
        distance = float(np.linalg.norm(clean[1] - clean[0]))
        exact = accounting.gaussian_epsilon(mechanism.used_delta, std / distance) if distance > 0.0 else 0.0
    else:
        exact = math.sqrt(2.0) * float(np.abs(clean[1] - clean[0]).sum()) / std
    if mechanism.entries is not None:
        return Attack(
            "the answers about the named entries",
            exact,
            lambda world, noise: _laplace_ratio(mechanism.answered(solutions[world], cset, noise), clean, std),
            is_ratio=True,
        )

    def released(world: int, noise: Noise) -> Array:
        return mechanism.postprocessed(mechanism.noised(clean[world], link, cset, n, noise), cset)

    if statistic == "final":
        moved = abs(float(clean[1][pair.entry] - clean[0][pair.entry]))
        known = math.sqrt(2.0) * moved / std
        if mechanism.uses_ridge:
            known = accounting.gaussian_epsilon(mechanism.used_delta, std / moved) if moved > 0.0 else 0.0
        if mechanism.postprocess is not None:
            known = math.nan
        return Attack(
            "the released matrix at the flipped entry",
            known,
            lambda world, noise: float(released(world, noise)[pair.entry]),
        )
    if mechanism.postprocess is not None:
        direction = mechanism.postprocessed(clean[1], cset) - mechanism.postprocessed(clean[0], cset)
        return Attack(
            "the released matrix, projected on the direction in which the flip moves it",
            math.nan,
            lambda world, noise: float(np.vdot(released(world, noise), direction)),
        )
    ratio = _gaussian_ratio if mechanism.uses_ridge else _laplace_ratio
    return Attack(
        "the released matrix", exact, lambda world, noise: ratio(released(world, noise), clean, std), is_ratio=True
    )


def _laplace_ratio(values: Array, means: list[Array], std: float) -> float:
    """log p_1(values) - log p_0(values) for independent Laplace noise of this standard deviation."""
    return math.sqrt(2.0) / std * float(np.abs(values - means[0]).sum() - np.abs(values - means[1]).sum())


def _gaussian_ratio(values: Array, means: list[Array], std: float) -> float:
    """The same for Gaussian noise."""
    return float(np.sum((values - means[0]) ** 2) - np.sum((values - means[1]) ** 2)) / (2.0 * std**2)


class _RecordingOracle(GradientOracle):
    """A gradient oracle that notes its question and its answer at one entry: what the transcript says of it."""

    def __init__(self, place: int, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self._place = place
        self.asked: list[float] = []
        self.answered: list[float] = []

    def ask(self, x: Array) -> Array:
        answer = super().ask(x)
        self.asked.append(float(x[self._place]))
        self.answered.append(float(answer[self._place]))
        return answer


def _attack_gradient(
    mechanism: GradientPerturbation, pair: Pair, link: Link, cset: ConstraintSet, options: SolverOptions
) -> Attack:
    """All K noised gradients: given the questions, which are public, only the flipped entry's answers tell anything."""
    place = pair.given.index_of(pair.entry)
    sign = float(pair.given.signs[place])
    std = mechanism.noise_std(link, cset)
    ratio = _laplace_ratio if mechanism.delta is None else _gaussian_ratio

    def score(world: int, noise: Noise) -> float:
        oracle = _RecordingOracle(place, pair.world(world), mechanism, link, cset.alpha, noise)
        mechanism._descend(oracle, link, cset, options)
        asked = cset.clip(np.array(oracle.asked))
        means = [mechanism.clamped_gradient(asked, np.full(len(asked), y), link) for y in (sign, -sign)]
        return ratio(np.array(oracle.answered), means, std)

    return Attack("all noised gradients at the flipped entry", math.nan, score, is_ratio=True)


def _attack_linear_gradient(mechanism: GradientPerturbation, pair: Pair, link: Link, cset: ConstraintSet) -> Attack:
    """The same for gradients h(x) - z without a clamp: the K noised labels z are all that they tell, whatever x is.

    So the steps need not be made. The noise is that of the steps.
    """
    place = pair.given.index_of(pair.entry)
    means = [pair.world(world).bits[place : place + 1] for world in (0, 1)]
    std = mechanism.noise_std(link, cset)
    ratio = _laplace_ratio if mechanism.delta is None else _gaussian_ratio

    def score(world: int, noise: Noise) -> float:
        bits = pair.world(world).bits
        labels = [mechanism.noised(bits, 1.0, 0.0, noise)[place] for _ in range(mechanism.iterations)]
        return ratio(np.array(labels), means, std)

    return Attack("all noised gradients at the flipped entry", math.nan, score, is_ratio=True)


def choose_entry(
    mechanism: Mechanism,
    obs: Observations,
    link: Link,
    cset: ConstraintSet,
    entry: tuple[int, int] | None,
    generator: np.random.Generator,
    options: SolverOptions,
    needs_estimate: bool,
) -> tuple[int, int]:
    """The entry to flip: ``entry`` itself, or of ``CANDIDATES`` random ones that which moves the estimate most."""
    if entry is not None:
        place = obs.index_of(entry)
        return int(obs.rows[place]), int(obs.cols[place])
    places = generator.choice(len(obs), size=min(CANDIDATES, len(obs)), replace=False)
    candidates = [(int(obs.rows[k]), int(obs.cols[k])) for k in places]
    if not needs_estimate:
        return candidates[0]

    def estimate(data: Observations) -> Array:
        if isinstance(mechanism, OutputPerturbation):
            return mechanism.solution(data, link, cset, options).matrix
        clear = mechanism if isinstance(mechanism, Clear) else Clear()
        return clear._complete(data, link, cset, noise_from(0), options).matrix

    before = estimate(obs)
    changes = [float(np.linalg.norm(estimate(obs.flip(candidate)) - before)) for candidate in candidates]
    return candidates[int(np.argmax(changes))]
