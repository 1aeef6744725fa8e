"""Auditing: an attack on a mechanism that proves, with a stated confidence, how much it reveals at least.

Fix two data sets that differ in one sign, run the mechanism N times on each, and reduce each run to a number. The first
quarter of the runs chooses an event and which of the two worlds it speaks for; on the rest its two probabilities are
bounded by Clopper and Pearson's intervals. If the mechanism is (eps, delta)-DP, then P(event | one) <= e^eps
P(event | other) + delta, so

    eps >= log( (P_low(event | one) - delta) / P_up(event | other) )

with the stated confidence, whatever the attack. An audit can refute a claim and never confirm one.

References: Jagielski, Ullman and Oprea 2020; docs/mathematics.md, Audits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import special

from obmc.constraints import ConstraintSet
from obmc.errors import check_choice, check_integer, check_number
from obmc.links import Link
from obmc.mechanisms.base import LocalMechanism, Mechanism, SolverOptions, require_alpha
from obmc.mechanisms.clear import Clear
from obmc.mechanisms.gradient import GradientOracle, GradientPerturbation
from obmc.mechanisms.objective import ObjectivePerturbation
from obmc.mechanisms.output import OutputPerturbation
from obmc.observations import Observations, as_generator
from obmc.privacy import accounting
from obmc.privacy.guarantee import number
from obmc.privacy.noise import Noise, SimulatedNoise
from obmc.solvers import complete
from obmc.solvers.completion import Callback, Progress

Array = NDArray[np.float64]

STATISTICS = ("transcript", "final")
CANDIDATES = 20
SELECTION = 0.25
# Intervals this wide keep a rare event that happened to look good on the first quarter of the runs from winning.
SELECTION_ERROR = 1e-8
# Among events whose cautious bounds differ by less than this the smallest is taken: it is farther from the other world.
SLACK = 0.02
# Of the interval in which the minimiser for a single rating lies.
_HALVINGS = 40
# Runs of a world that are scored at once, where that is possible.
BATCH = 10_000


@dataclass(frozen=True)
class Event:
    """``statistic >= threshold`` (``above``) or ``< threshold``, taken as a sign of world ``speaks_for`` (0 or 1)."""

    threshold: float
    above: bool
    speaks_for: int

    def happens(self, scores: Array) -> NDArray[np.bool_]:
        """Where the event happens, shape of ``scores``."""
        inside = scores >= self.threshold
        return inside if self.above else ~inside


@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit found.

    Attributes
    ----------
    lower_bound
        The true epsilon is at least this, with ``confidence`` (0 where nothing was shown).
    confidence
        Of the statement, after the correction for ``comparisons``.
    exact
        The exact privacy loss for this pair of data sets: nan if unknown. Of everything that the mechanism lets out,
        or of the one entry where that is all the attacker looks at and each entry has noise of its own.
    ceiling
        The largest lower bound that so many runs can show.
    claimed, proven, delta
        What was asked of the mechanism, what its guarantee proves for its scope, and the delta of both.
    at_least
        A lower bound on the true epsilon that is proven without an attack; nan where none is known.
    entry, runs, statistic, observed
        The flipped entry, the runs per world, which statistic, and in words what the attacker looked at.
    scores
        The statistic of all runs in the two worlds, shape (runs,) each: world 0 has the data as given, world 1 the
        flipped sign.
    event
        The event that was chosen on the first quarter of the runs.
    true_hits, false_hits, evaluated
        How often it happened on the rest in the world it speaks for, in the other one, and out of how many.
    """

    mechanism: str
    lower_bound: float
    confidence: float
    exact: float
    ceiling: float
    claimed: float
    proven: float
    at_least: float
    delta: float
    entry: tuple[int, int]
    runs: int
    statistic: str
    observed: str
    comparisons: int
    scores: tuple[Array, Array]
    event: Event
    true_hits: int
    false_hits: int
    evaluated: int

    @property
    def refutes(self) -> bool:
        """Whether the claimed epsilon is refuted."""
        return self.lower_bound > self.claimed

    @property
    def verdict(self) -> str:
        """What the audit says, in a sentence or two."""
        found = (
            f"From {self.observed} an attacker shows with {100 * self.confidence:g} % confidence that epsilon is at "
            f"least {number(self.lower_bound)}"
        )
        if math.isinf(self.claimed):
            return f"{found}; nothing was promised, and so many runs cannot show more than {number(self.ceiling)}."
        if self.refutes:
            return f"{found}, more than the {number(self.claimed)} that was asked for."
        return (
            f"{found}, which does not contradict the {number(self.claimed)} that was asked for. "
            "An audit can refute a claim and never confirm one."
        )

    def evaluation_scores(self) -> tuple[Array, Array]:
        """The statistic of the runs that judge, shape (evaluated,) for each world: all but the first quarter."""
        return self.scores[0][-self.evaluated :], self.scores[1][-self.evaluated :]

    def roc(self) -> tuple[Array, Array]:
        """False and true positive rates of all thresholds on the runs that judge, from (0, 0) to (1, 1)."""
        zero, one = self.evaluation_scores()
        thresholds = np.unique(np.concatenate([zero, one]))[::-1]
        rates = [_share(values, thresholds, upward=True) for values in (zero, one)]
        false, true = (np.concatenate([[0.0], rate, [1.0]]) for rate in rates)
        # World 1 may be the one with the smaller scores; the curve is drawn above the diagonal.
        return (false, true) if float(np.trapezoid(true, false)) >= 0.5 else (true, false)

    @property
    def roc_margin(self) -> float:
        """d = sqrt(log(4 / (1 - confidence)) / (2 n)): with ``confidence`` no rate of the curve is farther off.

        The Dvoretzky-Kiefer-Wolfowitz inequality for the n judging runs of either world, half of the error for each,
        so that it holds at all thresholds at once: the true curve lies between (false + d, true - d) and
        (false - d, true + d).
        """
        return math.sqrt(math.log(4.0 / (1.0 - self.confidence)) / (2.0 * self.evaluated))

    def operating_point(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The chosen event's (false, true) positive rates, as counted and as bounded: at most and at least these.

        The lower bound is log((true_at_least - delta) / false_at_most) of the second pair.
        """
        counted = (self.false_hits / self.evaluated, self.true_hits / self.evaluated)
        return counted, _rates(self.true_hits, self.false_hits, self.evaluated, self._error)

    @property
    def _error(self) -> float:
        return (1.0 - self.confidence) / self.comparisons / 2.0


def privacy_region(epsilon: float, delta: float = 0.0) -> tuple[Array, Array]:
    """The corners of the region of (false, true) positive rates that (eps, delta)-DP leaves to any attack.

    All (f, t) with t <= e^eps f + delta and 1 - f <= e^eps (1 - t) + delta, and the same with f and t exchanged: a
    polygon with the corners (0, 0), (0, delta), (f*, 1 - f*), (1 - delta, 1), (1, 1) and their mirror images,
    f* = (1 - delta) / (1 + e^eps).

    Parameters
    ----------
    epsilon
        At least 0, possibly infinite.
    delta
        In [0, 1].

    Source: Kairouz, Oh and Viswanath 2015, Theorem 2.1.
    """
    if not epsilon >= 0.0:
        raise ValueError(f"epsilon must be a number of at least 0, got {epsilon!r}.")
    tail = check_number("delta", delta, low=0.0, high=1.0)
    corner = (1.0 - tail) / (1.0 + math.exp(min(epsilon, 700.0)))
    false = [0.0, 0.0, corner, 1.0 - tail, 1.0, 1.0, 1.0 - corner, tail, 0.0]
    true = [0.0, tail, 1.0 - corner, 1.0, 1.0, 1.0 - tail, corner, 0.0, 0.0]
    return np.array(false), np.array(true)


def success_ceiling(epsilon: float, delta: float = 0.0) -> float:
    """(e^eps + delta) / (1 + e^eps): how often anybody can tell, at best, which of two equally likely worlds it is."""
    if not epsilon >= 0.0:
        raise ValueError(f"epsilon must be a number of at least 0, got {epsilon!r}.")
    tail = check_number("delta", delta, low=0.0, high=1.0)
    small = math.exp(-epsilon)
    return (1.0 + tail * small) / (1.0 + small)


@dataclass(eq=False)
class AuditRun:
    """An audit under way: made by ``begin_audit``, run piece by piece by ``advance``, judged by ``result``.

    It can be pickled between two pieces, and how it is cut into pieces changes no number. There is no verdict before
    the last run: whoever looked at one again and again, and stopped when it pleased, would void its confidence.
    """

    mechanism: Mechanism
    pair: Pair
    link: Link
    cset: ConstraintSet
    runs: int
    statistic: str
    confidence: float
    comparisons: int
    options: SolverOptions
    generator: np.random.Generator
    done: int = 0
    _scores: Array = field(default_factory=lambda: np.empty((2, 0)))

    @property
    def is_done(self) -> bool:
        """Whether all runs are there."""
        return self.done == self.runs

    @property
    def scores(self) -> tuple[Array, Array]:
        """The statistic of the runs so far in the two worlds, shape (done,) each."""
        return self._scores[0, : self.done], self._scores[1, : self.done]

    def advance(self, seconds: float = math.inf, callback: Callback | None = None) -> AuditRun:
        """Run until all is done or about so many seconds of computing are used; returns itself.

        The two solves that some attacks begin with come on top, and a busy machine makes no piece smaller.

        ``callback`` is called now and then with the number of runs done; returning False raises ``InterruptedError``.
        """
        attack = _attack(self.mechanism, self.pair, self.link, self.cset, self.options, self.statistic)
        noise = SimulatedNoise(self.generator)
        end = time.thread_time() + seconds
        if self._scores.shape[1] == 0:
            self._scores = np.empty((2, self.runs))
        told = max(1, self.runs // 50)
        while not self.is_done:
            before = self.done
            count = min(BATCH, self.runs - before) if attack.batch is not None else 1
            # The worlds take turns, so that a run of the one and of the other never share noise.
            for world in (0, 1):
                if attack.batch is not None:
                    self._scores[world, before : before + count] = attack.batch(world, noise, count)
                else:
                    self._scores[world, before] = attack.score(world, noise)
            self.done += count
            told_now = callback is not None and self.done // told > before // told
            if told_now and callback is not None and callback(Progress(self.done, self.runs)) is False:
                raise InterruptedError("the audit was stopped.")
            if time.thread_time() >= end:
                break
        return self

    def guesses(self) -> NDArray[np.bool_] | None:
        """Which runs the best guesser takes for world 1, shape (2, done); None where no best guess is known.

        On equally likely worlds nobody is right more often than by taking the likelier one.
        """
        attack = _attack(self.mechanism, self.pair, self.link, self.cset, self.options, self.statistic)
        if math.isnan(attack.boundary):
            return None
        above = self._scores[:, : self.done] > attack.boundary
        return above if attack.upper == 1 else ~above

    def result(self) -> Audit:
        """What the audit found. Raises ``ValueError`` before the last run."""
        if not self.is_done:
            raise ValueError(f"advance must have done all {self.runs} runs before there is a result, not {self.done}.")
        attack = _attack(self.mechanism, self.pair, self.link, self.cset, self.options, self.statistic)
        statement = self.mechanism.guarantee(self.link, self.cset, self.pair.given.shape)
        scores = self.scores
        error = (1.0 - self.confidence) / self.comparisons / 2.0
        first = round(SELECTION * self.runs)
        evaluated = self.runs - first
        event = _choose_event(
            (scores[0][:first], scores[1][:first]), evaluated, statement.delta, error, attack.is_ratio
        )
        hits = [int(event.happens(values[first:]).sum()) for values in scores]
        true_hits, false_hits = hits[event.speaks_for], hits[1 - event.speaks_for]
        bound = _bound(np.array([true_hits]), np.array([false_hits]), evaluated, statement.delta, error)
        return Audit(
            mechanism=self.mechanism.label,
            lower_bound=float(bound[0]),
            confidence=self.confidence,
            exact=attack.exact,
            ceiling=float(_bound(np.array([evaluated]), np.array([0]), evaluated, statement.delta, error)[0]),
            claimed=statement.claimed,
            proven=statement.epsilon,
            at_least=statement.lower_bound,
            delta=statement.delta,
            entry=self.pair.entry,
            runs=self.runs,
            statistic=self.statistic,
            observed=attack.observed,
            comparisons=self.comparisons,
            scores=scores,
            event=event,
            true_hits=true_hits,
            false_hits=false_hits,
            evaluated=evaluated,
        )


def audit(
    mechanism: Mechanism,
    obs: Observations,
    link: Link,
    cset: ConstraintSet,
    runs: int = 2000,
    rng: int | np.random.Generator = 0,
    entry: tuple[int, int] | None = None,
    statistic: str = "transcript",
    *,
    confidence: float = 0.95,
    comparisons: int = 1,
    tol: float = 1e-6,
    callback: Callback | None = None,
) -> Audit:
    """Attack a mechanism on one pair of neighbouring data sets and bound its epsilon from below.

    Parameters
    ----------
    mechanism
        What is attacked.
    obs, link, cset
        One data set and the settings; the other data set has one sign flipped.
    runs
        N per world, at least 40. The bound cannot exceed about log(N / 5).
    rng
        Seed or generator. Audits are simulations.
    entry
        The observed (row, column) whose sign is flipped; None: of 20 random observed entries the one whose flip changes
        the estimate most in L2 norm (any of them where the statistic does not depend on the estimate).
    statistic
        "transcript": what the mechanism lets out, reduced to a likelihood ratio (the noised bit; the noised gradients;
        the noised matrix). "final": the completed matrix at the flipped entry, with a solve for every run.
    confidence
        In (0, 1).
    comparisons
        How many audits will be looked at together; the statement holds for all of them at once (Bonferroni).
    tol
        For the solves.
    callback
        Called now and then with the number of runs done; returning False raises ``InterruptedError``.

    Raises
    ------
    ValueError
        Naming the argument that is out of range.
    """
    return (
        begin_audit(
            mechanism,
            obs,
            link,
            cset,
            runs,
            rng,
            entry,
            statistic,
            confidence=confidence,
            comparisons=comparisons,
            tol=tol,
        )
        .advance(callback=callback)
        .result()
    )


def begin_audit(
    mechanism: Mechanism,
    obs: Observations,
    link: Link,
    cset: ConstraintSet,
    runs: int = 2000,
    rng: int | np.random.Generator = 0,
    entry: tuple[int, int] | None = None,
    statistic: str = "transcript",
    *,
    confidence: float = 0.95,
    comparisons: int = 1,
    tol: float = 1e-6,
) -> AuditRun:
    """An audit that is to be run piece by piece; arguments and errors as for ``audit``. The entry is chosen here."""
    count = check_integer("runs", runs, low=40, high=10_000_000)
    level = check_number("confidence", confidence, low=0.0, high=1.0, open_low=True, open_high=True)
    tried = check_integer("comparisons", comparisons, low=1)
    check_choice("statistic", statistic, STATISTICS)
    options = SolverOptions(tol=check_number("tol", tol, low=0.0, high=1.0, open_low=True, open_high=True))
    generator = as_generator(rng)
    # Refuses what the mechanism cannot do before anything is computed.
    mechanism.guarantee(link, cset, obs.shape)
    for_entry, for_noise = generator.spawn(2)
    needs_estimate = statistic == "final" or isinstance(mechanism, OutputPerturbation | Clear)
    flipped = _choose_entry(mechanism, obs, link, cset, entry, for_entry, options, needs_estimate)
    return AuditRun(
        mechanism=mechanism,
        pair=Pair(obs, obs.flip(flipped), flipped),
        link=link,
        cset=cset,
        runs=count,
        statistic=statistic,
        confidence=level,
        comparisons=tried,
        options=options,
        generator=for_noise,
    )


# The statistics of two binomials ----------------------------------------------------------------------------------


def _rates(true_hits: int, false_hits: int, n: int, error: float) -> tuple[float, float]:
    """Clopper and Pearson's upper bound of the false and lower bound of the true positive rate."""
    up = 1.0 if false_hits == n else float(special.betaincinv(false_hits + 1, n - false_hits, 1.0 - error))
    low = 0.0 if true_hits == 0 else float(special.betaincinv(true_hits, n - true_hits + 1, error))
    return up, low


def _bound(true_hits: NDArray, false_hits: NDArray, n: int, delta: float, error: float) -> Array:
    """log((P_low - delta) / P_up), at least 0; each probability's bound fails with probability ``error``."""
    low = special.betaincinv(true_hits, n - true_hits + 1, error)
    up = special.betaincinv(false_hits + 1, n - false_hits, 1.0 - error)
    low, up = np.where(true_hits == 0, 0.0, low), np.where(false_hits == n, 1.0, up)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.maximum(np.where(low > delta, np.log((low - delta) / up), 0.0), 0.0)


def _choose_event(scores: tuple[Array, Array], n: int, delta: float, error: float, is_ratio: bool) -> Event:
    """The event whose bound is expected to be largest on the ``n`` runs of the rest.

    Where the score is the log-likelihood ratio S of the two worlds, the probability of an event in the other world is
    that of its own world weighted by e^-S, so that even rare events are judged well. Elsewhere it is counted, and the
    intervals are widened: thousands of events compete, and some look good by luck.
    """
    seen = np.unique(np.concatenate(scores))
    # Half way between two values that were seen: where the worlds hardly overlap, both keep their distance.
    thresholds = (seen[1:] + seen[:-1]) / 2.0
    best, chosen = -1.0, Event(math.inf, True, 1)
    if len(thresholds) == 0:
        return chosen
    for world in (0, 1):
        for upward in (True, False):
            if is_ratio and upward != (world == 1):
                continue
            own = n * _share(scores[world], thresholds, upward)
            if is_ratio:
                weights = np.exp(np.minimum(-scores[1] if upward else scores[0], 700.0))
                other = np.minimum(n * _share(scores[world], thresholds, upward, weights), n)
                bounds = _bound(own, other, n, delta, error)
            else:
                other = n * _share(scores[1 - world], thresholds, upward)
                bounds = _bound(own, other, n, delta, SELECTION_ERROR)
            highest = float(bounds.max())
            if highest > best:
                close = np.flatnonzero(bounds >= highest - SLACK)
                smallest = close[-1] if upward else close[0]
                best, chosen = highest, Event(float(thresholds[smallest]), upward, world)
    return chosen


def _share(values: Array, thresholds: Array, upward: bool, weights: Array | None = None) -> Array:
    """The (weighted) mean of ``values >= threshold``, or of ``< threshold``, for every threshold."""
    order = np.argsort(values)
    mass = np.ones(len(values)) if weights is None else weights[order]
    below = np.concatenate([[0.0], np.cumsum(mass)])[np.searchsorted(values[order], thresholds, side="left")]
    return (float(mass.sum()) - below if upward else below) / len(values)


# The attacks ------------------------------------------------------------------------------------------------------


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


def _attack(
    mechanism: Mechanism, pair: Pair, link: Link, cset: ConstraintSet, options: SolverOptions, statistic: str
) -> Attack:
    if isinstance(mechanism, Clear):
        return _attack_clear(pair, link, cset, options)
    if isinstance(mechanism, OutputPerturbation):
        return _attack_output(mechanism, pair, link, cset, options, statistic)
    sees_signs = isinstance(mechanism, ObjectivePerturbation) and not mechanism.is_linear(link)
    if isinstance(mechanism, LocalMechanism) and not sees_signs:
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


def _attack_clear(pair: Pair, link: Link, cset: ConstraintSet, options: SolverOptions) -> Attack:
    matrices = [complete(pair.world(w), link, cset, tol=options.tol).matrix for w in (0, 1)]
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
        exact = accounting.gaussian_epsilon(mechanism.failure, std / distance) if distance > 0.0 else 0.0
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
            known = accounting.gaussian_epsilon(mechanism.failure, std / moved) if moved > 0.0 else 0.0
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


def _choose_entry(
    mechanism: Mechanism,
    obs: Observations,
    link: Link,
    cset: ConstraintSet,
    entry: tuple[int, int] | None,
    generator: np.random.Generator,
    options: SolverOptions,
    needs_estimate: bool,
) -> tuple[int, int]:
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
        return complete(data, link, cset, tol=options.tol).matrix

    before = estimate(obs)
    changes = [float(np.linalg.norm(estimate(obs.flip(candidate)) - before)) for candidate in candidates]
    return candidates[int(np.argmax(changes))]
