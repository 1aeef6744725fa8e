"""One run in full: the data, one mechanism's estimate of it, and how good that is. What a sweep does many times.

``Setting`` is what a person chooses, checked against ``obmc.limits``; ``find_problem`` makes or reads its data; ``run``
is what a worker process is given. Data and noise have the seeds of a sweep's first repetition, so that a single run is
one of the draws behind a curve.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from obmc import limits, metrics
from obmc.constraints import nuclear_norm
from obmc.datasets import RatedItems, load
from obmc.datasets.registry import splits_at_random
from obmc.experiments.draws import Draw, find_draw
from obmc.experiments.measures import MEASURES, Measure
from obmc.experiments.mechanisms import CLEAR, MechanismSpec
from obmc.experiments.runner import complete_point
from obmc.experiments.sweep import SYNTHETIC, InMemory, Point, Sweep
from obmc.lazy import lazy_property
from obmc.observations import Observations
from obmc.privacy import Guarantee
from obmc.solvers import Completion
from obmc.summary import MAJORITY_LABEL, ZEROS

_CLEAR = MechanismSpec(CLEAR)
# Relative gap of one run that a person waits for; curves have the solver's own. On real data the test set's sampling
# error is far above what the smaller one would change.
_TOLERANCE_REAL = 1e-3


@dataclass(frozen=True)
class Setting:
    """All that decides one run. Raises ``ValueError`` naming the field that is out of range.

    Attributes
    ----------
    data
        "synthetic" or the name of a real data set.
    noise, sigma
        Link function; standard deviation of the Gaussian one.
    mechanism, epsilon
        The privacy mechanism and its budget; "Clear" has no use for the latter.
    alpha, rank, radius
        The constraint set: tau = radius alpha sqrt(rank d1 d2). On synthetic data alpha and rank are the truth's too.
    ratio, size
        Share of observed entries, rows and columns of a synthetic problem. Real data have their own.
    seed
        Of data and noise.
    """

    data: str = limits.DATA.default
    noise: str = limits.LINK.default
    sigma: float = limits.SIGMA.default
    mechanism: MechanismSpec = _CLEAR
    epsilon: float = limits.EPSILON.default
    alpha: float = limits.ALPHA.default
    rank: int = int(limits.RANK.default)
    radius: float = limits.RADIUS.default
    ratio: float = limits.RATIO.default
    size: int = int(limits.SIZE.default)
    seed: int = int(limits.SEED.default)

    def __post_init__(self) -> None:
        limits.DATA.check(self.data)
        limits.LINK.check(self.noise)
        for bound, value in (
            (limits.SIGMA, self.sigma),
            (limits.EPSILON, self.epsilon),
            (limits.ALPHA, self.alpha),
            (limits.RANK, self.rank),
            (limits.RADIUS, self.radius),
            (limits.RATIO, self.ratio),
            (limits.SIZE, self.size),
            (limits.SEED, self.seed),
        ):
            bound.check(value)

    @property
    def is_synthetic(self) -> bool:
        return self.data == SYNTHETIC

    def sweep(
        self,
        mechanisms: Sequence[MechanismSpec],
        epsilons: Sequence[float],
        repetitions: int,
        metrics: Sequence[str] | None = None,
        ratios: Sequence[float] | None = None,
        dataset: InMemory | None = None,
        **solving: Any,
    ) -> Sweep:
        """The same data and constraints for several mechanisms, epsilons and draws.

        ``metrics``: by default the paper's. ``ratios``: several observation ratios, or shares of the training ratings
        of real data, in place of the setting's. ``dataset``: other data in place of the setting's. ``solving``: the
        solver and its tolerance, as ``Sweep`` takes them.
        """
        synthetic = self.is_synthetic and dataset is None
        if ratios is None and synthetic:
            ratios = (self.ratio,)
        return Sweep(
            dataset=self.data if dataset is None else dataset,
            mechanisms=list(mechanisms),
            epsilons=list(epsilons),
            link=self.noise,
            sigma=self.sigma,
            alpha=self.alpha,
            rank=self.rank,
            tau_multiple=self.radius,
            shape=(self.size, self.size) if synthetic else None,
            ratio=None if ratios is None else list(ratios),
            repetitions=repetitions,
            seed=self.seed,
            metrics=metrics,
            **solving,
        )

    @property
    def has_one_split(self) -> bool:
        """Whether all draws of the whole data set are the same: only noise differs between them."""
        return self.data != SYNTHETIC and not splits_at_random(self.data)

    @lazy_property
    def point(self) -> Point:
        """This run as a sweep's."""
        sweep = self.sweep((self.mechanism,), (self.epsilon,), 1)
        return next((sweep if self.is_synthetic else replace(sweep, tol=_TOLERANCE_REAL)).points())

    @lazy_property
    def guarantee(self) -> Guarantee:
        """What this run guarantees; its noise is a simulation's. ``ValueError`` where the mechanism refuses."""
        point = self.point
        made = point.spec.build(point.epsilon)
        return made.guarantee(point.draw.link, point.cset, point.draw.shape).drawn(simulated=point.spec.is_private)

    @property
    def table(self) -> str:
        """A name for the table of ratings that the run looks at, whatever is done with it."""
        if self.data == SYNTHETIC:
            return f"{self.data}, {self.size} x {self.size}, {100.0 * self.ratio:g} % observed, seed {self.seed}"
        return self.data

    def clear(self) -> Setting:
        """The same without privacy; equal for all mechanisms and epsilons, so that one result serves them all."""
        return replace(self, mechanism=_CLEAR, epsilon=limits.EPSILON.default)


@dataclass(frozen=True, eq=False)
class Problem:
    """What there is to complete: observations, and what an estimate is judged by.

    ``truth``, shape (d1, d2), is None for real data, which have ``rated`` instead. ``test`` are held-out signs.
    """

    train: Observations
    truth: NDArray[np.float64] | None
    test: Observations | None
    rated: RatedItems | None

    @property
    def measure(self) -> Measure:
        """The relative error where the truth is known, else the sign accuracy on the test set."""
        return MEASURES["sign_accuracy" if self.truth is None else "are"]

    def score(self, done: Completion) -> float:
        """The measure of an estimate."""
        return self.measure.function(done, self.test if self.truth is None else self.truth)

    @property
    def baseline_label(self) -> str:
        """What knows nothing is called."""
        return MAJORITY_LABEL if self.truth is None else ZEROS

    @property
    def baseline(self) -> float:
        """The measure of knowing nothing: all zeros (1), or the training set's majority class."""
        if self.truth is not None:
            return self.measure.function(np.zeros(self.truth.shape), self.truth)
        assert self.test is not None
        return metrics.majority_accuracy(self.train, self.test)


def find_problem(setting: Setting) -> Problem:
    """The data of a setting: made from its seed, or read from the data home.

    Raises ``ValueError`` if nothing is observed or all signs are equal, ``DataNotFoundError`` if the data are missing.
    """
    draw = find_draw(setting.point.draw)
    if draw.train.positive_share in (0.0, 1.0):
        raise ValueError(
            f"All {len(draw.train)} observed entries have the same sign, from which nothing can be learnt: "
            "observe more entries, or take another seed."
        )
    return _problem(draw, None if setting.is_synthetic else _titles(setting.data))


def _problem(draw: Draw, rated: RatedItems | None) -> Problem:
    return Problem(draw.train, draw.truth, None if rated is None else draw.test, rated)


@lru_cache(maxsize=2)
def _titles(name: str) -> RatedItems:
    return load(name)


@dataclass(frozen=True)
class Facts:
    """What is known of a solve; nan where it would tell something of the private data that the noise does not cover.

    ``nuclear_norm`` is of what tau bounds: the whole estimate, or its low-rank part where ``has_effects``.
    """

    iterations: float
    gap: float
    rank: float
    nuclear_norm: float
    tau: float
    largest_entry: float
    alpha: float
    share_at_bound: float
    seconds: float
    solver: str
    message: str
    has_effects: bool

    @classmethod
    def of(cls, done: Completion) -> Facts:
        """The facts of a completion."""
        return cls(
            iterations=float(done.iterations),
            gap=done.gap,
            rank=float(done.rank()),
            nuclear_norm=_bounded_norm(done),
            tau=done.tau,
            largest_entry=done.largest_entry,
            alpha=math.nan if done.alpha is None else done.alpha,
            share_at_bound=done.share_at_bound,
            seconds=done.seconds,
            solver=done.solver,
            message=done.message,
            has_effects=done.effects is not None,
        )

    @property
    def told(self) -> bool:
        """Whether the facts that depend on the private data may be told."""
        return not math.isnan(self.iterations)


def _bounded_norm(done: Completion) -> float:
    if done.effects is None:
        return done.nuclear_norm
    return nuclear_norm(done.matrix - done.effects.dense())


@dataclass(frozen=True, eq=False)
class Run:
    """The result of one setting: the estimate, shape (d1, d2) in single precision, its measure, the solver's facts."""

    setting: Setting
    estimate: NDArray[np.float32]
    score: float
    facts: Facts

    def likes(self, user: int, problem: Problem, count: int) -> pd.DataFrame:
        """What user ``user`` (a row) of a real data set is predicted to like best, without what is in training.

        Columns: ``title``, ``probability`` (h of the entry, at least one half), ``sign`` (in the test set; 0: not
        there). Best first, at most ``count`` rows.
        """
        assert problem.rated is not None and problem.test is not None
        entries = self.estimate[user].astype(np.float64)
        entries[problem.train.cols[problem.train.rows == user]] = -np.inf
        best = np.argsort(-entries, kind="stable")[:count]
        best = best[entries[best] >= 0.0]
        own = problem.test.rows == user
        signs = dict(zip(problem.test.cols[own].tolist(), problem.test.signs[own].tolist(), strict=True))
        return pd.DataFrame(
            {
                "title": problem.rated.items["title"].to_numpy()[best],
                "probability": self.setting.point.draw.link.probability(entries[best]),
                "sign": [signs.get(int(item), 0) for item in best],
            }
        )


SIGNS, ERROR = "Observed signs", "Error"


def known_matrices(problem: Problem, alpha: float) -> dict[str, NDArray]:
    """What can be shown without an estimate, by title: the truth, where it is known, and the observed signs.

    A sign is -alpha or alpha, the end of the scale of the others, and nan where nothing is observed.
    """
    dense = problem.train.to_dense().astype(np.float32)
    signs = np.where(dense == 0, np.nan, dense * np.float32(alpha))
    return {SIGNS: signs} if problem.truth is None else {"Truth": problem.truth, SIGNS: signs}


def matrices(problem: Problem, run: Run) -> dict[str, NDArray]:
    """What can be shown of a run, by title: also the estimate and, where the truth is known, the error."""
    found = {**known_matrices(problem, run.setting.alpha), "Estimate": run.estimate}
    return found if problem.truth is None else {**found, ERROR: run.estimate - problem.truth}


def run(setting: Setting) -> Run:
    """Compute one setting. Raises what ``find_problem`` raises, and ``ValueError`` where the mechanism refuses."""
    problem = find_problem(setting)
    point = setting.point
    done = complete_point(point, find_draw(point.draw))
    return Run(setting, done.matrix.astype(np.float32), problem.score(done), Facts.of(done))
