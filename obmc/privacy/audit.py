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
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from obmc.constraints import ConstraintSet
from obmc.errors import check_choice, check_integer, check_number
from obmc.links import Link
from obmc.mechanisms.base import Mechanism, SolverOptions
from obmc.mechanisms.clear import Clear
from obmc.mechanisms.output import OutputPerturbation
from obmc.observations import Observations, as_generator
from obmc.privacy.attacks import Pair, attack_on, choose_entry
from obmc.privacy.guarantee import level, number
from obmc.privacy.noise import SimulatedNoise
from obmc.solvers.completion import Callback, Progress, stops

Array = NDArray[np.float64]

STATISTICS = ("transcript", "final")
SELECTION = 0.25
# Intervals this wide keep a rare event that happened to look good on the first quarter of the runs from winning.
SELECTION_ERROR = 1e-8
# Among events whose cautious bounds differ by less than this the smallest is taken: it is farther from the other world.
SLACK = 0.02
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
            return f"{found}, more than the {level(self.claimed, self.delta)} that was asked for."
        return (
            f"{found}, which does not contradict the {level(self.claimed, self.delta)} that was asked for. "
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
        """d = sqrt(log(4 m / (1 - confidence)) / (2 n)), m comparisons: so sure no rate of the curve is farther off.

        The Dvoretzky-Kiefer-Wolfowitz inequality for the n judging runs of either world, half of the error for each,
        corrected for the comparisons, so that it holds at all thresholds at once: the true curve lies between
        (false + d, true - d) and (false - d, true + d).
        """
        return math.sqrt(math.log(2.0 / _error(self.confidence, self.comparisons)) / (2.0 * self.evaluated))

    def operating_point(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The chosen event's (false, true) positive rates, as counted and as bounded: at most and at least these.

        The lower bound is log((true_at_least - delta) / false_at_most) of the second pair.
        """
        counted = (self.false_hits / self.evaluated, self.true_hits / self.evaluated)
        error = _error(self.confidence, self.comparisons)
        false, true = _rates(self.true_hits, self.false_hits, self.evaluated, error)
        return counted, (float(false), float(true))


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
        attack = attack_on(self.mechanism, self.pair, self.link, self.cset, self.options, self.statistic)
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
            told_now = self.done // told > before // told
            if told_now and stops(callback, Progress(self.done, self.runs)):
                raise InterruptedError("the audit was stopped.")
            if time.thread_time() >= end:
                break
        return self

    def guesses(self) -> NDArray[np.bool_] | None:
        """Which runs the best guesser takes for world 1, shape (2, done); None where no best guess is known.

        On equally likely worlds nobody is right more often than by taking the likelier one.
        """
        attack = attack_on(self.mechanism, self.pair, self.link, self.cset, self.options, self.statistic)
        if math.isnan(attack.boundary):
            return None
        above = self._scores[:, : self.done] > attack.boundary
        return above if attack.upper == 1 else ~above

    def result(self) -> Audit:
        """What the audit found. Raises ``ValueError`` before the last run."""
        if not self.is_done:
            raise ValueError(f"advance must have done all {self.runs} runs before there is a result, not {self.done}.")
        attack = attack_on(self.mechanism, self.pair, self.link, self.cset, self.options, self.statistic)
        statement = self.mechanism.guarantee(self.link, self.cset, self.pair.given.shape)
        scores = self.scores
        error = _error(self.confidence, self.comparisons)
        first = round(SELECTION * self.runs)
        evaluated = self.runs - first
        event = _choose_event(
            (scores[0][:first], scores[1][:first]), evaluated, statement.delta, error, attack.is_ratio
        )
        hits = [int(event.happens(values[first:]).sum()) for values in scores]
        true_hits, false_hits = hits[event.speaks_for], hits[1 - event.speaks_for]
        return Audit(
            mechanism=self.mechanism.label,
            lower_bound=float(_bound(true_hits, false_hits, evaluated, statement.delta, error)),
            confidence=self.confidence,
            exact=attack.exact,
            ceiling=float(_bound(evaluated, 0, evaluated, statement.delta, error)),
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
    flipped = choose_entry(mechanism, obs, link, cset, entry, for_entry, options, needs_estimate)
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


def _error(confidence: float, comparisons: int) -> float:
    """With what probability each of the two bounds of each audit may fail."""
    return (1.0 - confidence) / comparisons / 2.0


def _rates(true_hits: ArrayLike, false_hits: ArrayLike, n: int, error: float) -> tuple[Array, Array]:
    """Clopper and Pearson's upper bounds of the false and lower bounds of the true positive rates."""
    true, false = np.asarray(true_hits), np.asarray(false_hits)
    up = np.where(false == n, 1.0, special.betaincinv(false + 1, n - false, 1.0 - error))
    low = np.where(true == 0, 0.0, special.betaincinv(true, n - true + 1, error))
    return up, low


def _bound(true_hits: ArrayLike, false_hits: ArrayLike, n: int, delta: float, error: float) -> Array:
    """log((P_low - delta) / P_up), at least 0; each probability's bound fails with probability ``error``."""
    up, low = _rates(true_hits, false_hits, n, error)
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
