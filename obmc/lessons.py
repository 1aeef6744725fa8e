"""The numbers of the lessons: every figure that the page of lessons shows, and the solution of every exercise.

A solution is a function without arguments that returns named numbers; the words around them are the page's. All of
them are computed when asked for, from the same functions that the rest of the package uses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from obmc import bounds, limits
from obmc.checks import PRESETS, Check, Found, advance
from obmc.constraints import ConstraintSet
from obmc.datasets.synthetic import synthetic
from obmc.errors import check_choice, check_integer, check_number
from obmc.game import Score
from obmc.links import Gaussian, Logistic
from obmc.mechanisms import Clear, GradientPerturbation, InputPerturbation, ObjectivePerturbation
from obmc.mechanisms.base import Mechanism
from obmc.privacy import Ledger, accounting
from obmc.privacy.audit import Audit, success_ceiling
from obmc.privacy.guarantee import odds
from obmc.privacy.noise import check_epsilon, flip_probability, laplace_variance, randomised_response_variance
from obmc.summary import Mean

Array = NDArray[np.float64]
Numbers = dict[str, float]

# The paper's synthetic setting.
SHAPE, RATIO, ALPHA = (100, 100), 0.15, 1.0
# Ratings of the users whom the lessons look at: one, the fewest, the median, the mean and the most of MovieLens-100K.
USERS = (1, 20, 65, 106, 737)
DELTA = 1e-5
_DRAWS = 3
_BUDGET_OF_TWO_PROBABILITIES = 1.0
_TWO_PROBABILITIES = (0.01, 0.40)
_GAME_ROUNDS, _GAME_WON = 20, 15
_STEPS = 10


# Epsilon --------------------------------------------------------------------------------------------------------------


def posterior(epsilon: float, prior: float) -> float:
    """The most that a belief of ``prior`` in one sign can grow to: odds times e^eps, as a probability in (0, 1)."""
    eps = check_epsilon("epsilon", epsilon)
    before = check_number("prior", prior, low=0.0, high=1.0, open_low=True, open_high=True)
    return 1.0 / (1.0 + (1.0 - before) / before * math.exp(-min(eps, 700.0)))


def posteriors(prior: float) -> tuple[Array, Array]:
    """epsilon from 0.1 to 10, and ``posterior`` at each."""
    epsilons = np.geomspace(0.1, 10.0, 81)
    return epsilons, np.array([posterior(float(eps), prior) for eps in epsilons])


def user_table(epsilon: float, delta: float = DELTA) -> dict[str, list[float]]:
    """For each number of ratings in ``USERS``: ``pure`` m eps, and ``exact`` at ``delta`` for randomised response."""
    return {
        "ratings": [float(count) for count in USERS],
        "pure": [accounting.user_epsilon(epsilon, count) for count in USERS],
        "exact": [accounting.rr_user_epsilon(epsilon, count, delta) for count in USERS],
    }


def ledger_of(releases: Sequence[float]) -> Ledger:
    """A ledger of MovieLens-like users with one release by InP at each of these epsilons."""
    ledger = Ledger("a class", USERS)
    cset = ConstraintSet.for_rank(SHAPE)
    for epsilon in releases:
        ledger.book(InputPerturbation(epsilon=epsilon).guarantee(Logistic(), cset, SHAPE))
    return ledger


def variances() -> tuple[Array, Array, Array]:
    """epsilon from 0.5 to 10, and the variance of the noise on one label: randomised response, Laplace noise."""
    epsilons = np.geomspace(0.5, 10.0, 61)
    flipped = np.array([randomised_response_variance(float(eps)) for eps in epsilons])
    laplace = np.array([laplace_variance(1.0 / float(eps)) for eps in epsilons])
    return epsilons, flipped, laplace


# What the paper claims ------------------------------------------------------------------------------------------------


def claims() -> Numbers:
    """The numbers beside the paper's claims, in closed form; alpha = sigma = 1."""
    gaussian = Gaussian()
    return {
        "two_true": accounting.rr_epsilon(*_TWO_PROBABILITIES),
        "convex_from": accounting.flipped_convexity_threshold(Logistic(), ALPHA),
        "gaussian_false_below": accounting.paper_violated_below(gaussian, ALPHA),
        "gaussian_proven_from": accounting.paper_proven_from(gaussian, ALPHA),
        "bridge": bridge_multiplier(),
        "steps_std": GradientPerturbation(epsilon=1.0, iterations=_STEPS).noise_std(
            Logistic(), ConstraintSet.for_rank(SHAPE)
        ),
        "one_look_std": math.sqrt(laplace_variance(1.0)),
        "beta_true": bounds.flipped_flatness(Logistic(), ALPHA, 1.0),
        "beta_printed": bounds.paper_flipped_flatness(ALPHA, 1.0),
    }


def bridge_multiplier() -> float:
    """d^2 / 2 for the bridge instance of size d: what one flip moves, in parts of the range of an entry."""
    size = PRESETS["outp-bridge"].check.data.observations.shape[0]
    return size**2 / 2.0


# Bounds ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InSample:
    """The in-sample error of one mechanism at the paper's setting: measured, and what the explicit bound allows."""

    label: str
    measured: Mean
    explicit: float
    trivial: float


def in_sample(epsilon: float = 1.0, ratio: float = RATIO, draws: int = _DRAWS) -> list[InSample]:
    """Clear, InP and ObjP (logistic, alpha = 1, rank 1) at an observation ratio, seeds 0, 1, ...

    The estimators are those that the bound is about: A(x) - T x with an unbiased label T.
    """
    limits.RATIO.check(ratio)
    link, cset = Logistic(), ConstraintSet.for_rank(SHAPE, alpha=ALPHA)
    n = round(ratio * SHAPE[0] * SHAPE[1])
    rows: list[tuple[Mechanism, float]] = [
        (Clear(), 0.0),
        (InputPerturbation(epsilon=epsilon), randomised_response_variance(epsilon)),
        (ObjectivePerturbation(epsilon=epsilon), laplace_variance(1.0 / epsilon)),
    ]
    found = []
    for mechanism, noise in rows:
        errors = []
        for seed in range(check_integer("draws", draws, low=1)):
            problem = synthetic(SHAPE, 1, ALPHA, ratio, link, seed)
            done = mechanism.release(problem.observations, link, cset, rng=seed, tol=1e-3).completion
            errors.append(bounds.in_sample_error(done.matrix, problem.truth, problem.observations))
        explicit = bounds.explicit_bound(link, ALPHA, SHAPE, n, noise_variance=noise)
        found.append(InSample(mechanism.label, Mean.of(errors), explicit, bounds.trivial_bound(ALPHA)))
    return found


def rates(epsilons: Sequence[float]) -> tuple[Array, dict[float, Array]]:
    """Observation ratios from 5 % to 100 %, and ``standard_shape`` of InP at each epsilon (infinite: without noise).

    In parts of the value without noise at the paper's 15 %: the constants are not known.
    """
    link, ratios = Logistic(), np.linspace(0.05, 1.0, 39)
    counts = [round(float(ratio) * SHAPE[0] * SHAPE[1]) for ratio in ratios]
    unit = bounds.standard_shape(link, ALPHA, SHAPE, round(RATIO * SHAPE[0] * SHAPE[1]))
    return ratios, {
        eps: np.array([bounds.standard_shape(link, ALPHA, SHAPE, n, epsilon=eps) for n in counts]) / unit
        for eps in epsilons
    }


# Solutions ------------------------------------------------------------------------------------------------------------


def _audited(check: Check) -> Audit:
    found: Found = advance(check, None, math.inf)
    assert found.audit is not None
    return found.audit


def _odds() -> Numbers:
    return {
        # As everywhere, rounded up: "at most" would be false below.
        **{f"odds_{eps}": float(odds(eps).replace(",", "")) for eps in (1, 4, 10)},
        **{f"posterior_{eps}": posterior(eps, 0.5) for eps in (1, 4, 10)},
        "rare": posterior(1.0, 0.01),
    }


def _game() -> Numbers:
    score = Score(_GAME_WON, _GAME_ROUNDS, 1.0)
    low, high = score.interval
    return {
        "flip": flip_probability(1.0),
        "ceiling": success_ceiling(1.0),
        "rounds": _GAME_ROUNDS,
        "won": _GAME_WON,
        "low": low,
        "high": high,
    }


def _bridge() -> Numbers:
    check = PRESETS["outp-bridge"].check
    audit, change = _audited(check), check.change()
    return {
        "claimed": audit.claimed,
        "bound": audit.lower_bound,
        "ceiling": audit.ceiling,
        "multiplier": change.multiplier,
        "theory": bridge_multiplier(),
        "moved": change.moved,
    }


def _one_entry() -> Numbers:
    audit = _audited(PRESETS["outp-entry"].check)
    return {"claimed": audit.claimed, "bound": audit.lower_bound, "exact": audit.exact}


def _users() -> Numbers:
    table = user_table(1.0)
    median, most = USERS.index(65), USERS.index(737)
    return {
        "pure_median": table["pure"][median],
        "exact_median": table["exact"][median],
        "pure_most": table["pure"][most],
        "exact_most": table["exact"][most],
        "sweep": ledger_of([float(eps) for eps in range(1, 11)] * 10).epsilon,
        # Rounded down, so that 65 times what is printed is no more than what is kept.
        "rating_epsilon": math.floor(1000.0 * accounting.rating_epsilon(4.0, 65)) / 1000.0,
    }


def _noises() -> Numbers:
    found: Numbers = {}
    for eps in (1, 4, 10):
        flipped, laplace = randomised_response_variance(eps), laplace_variance(1.0 / eps)
        found |= {f"flipped_{eps}": flipped, f"laplace_{eps}": laplace, f"ratio_{eps}": laplace / flipped}
    return found


def _two_probabilities() -> Numbers:
    p1, p2 = _TWO_PROBABILITIES
    return {
        "p1": p1,
        "p2": p2,
        "epsilon": _BUDGET_OF_TWO_PROBABILITIES,
        "accepted": float(accounting.paper_accepts(p1, p2, _BUDGET_OF_TWO_PROBABILITIES)),
        "after_minus": 1.0 - p2,
        "times": (1.0 - p2) / p1,
        "true": accounting.rr_epsilon(p1, p2),
        "never": accounting.rr_epsilon(0.0, p2),
    }


def _displayed() -> Numbers:
    audit, kept = _audited(PRESETS["objp-displayed"].check), _audited(PRESETS["objp"].check)
    return {"bound": audit.lower_bound, "exact": audit.exact, "kept": kept.lower_bound, "kept_exact": kept.exact}


def _rare_events() -> Numbers:
    check = PRESETS["objp-gaussian"].check
    audit, few = _audited(check), _audited(replace(check, runs=500))
    return {
        "claimed": audit.claimed,
        "bound": audit.lower_bound,
        "theory": audit.at_least,
        "few": few.lower_bound,
        "false_below": accounting.paper_violated_below(check.link, check.alpha),
        "proven_from": accounting.paper_proven_from(check.link, check.alpha),
    }


def _looks() -> Numbers:
    link, cset = Logistic(), ConstraintSet.for_rank(SHAPE)
    laplace = GradientPerturbation(epsilon=1.0, iterations=_STEPS).noise_std(link, cset)
    gaussian = GradientPerturbation(epsilon=1.0, iterations=_STEPS, delta=DELTA).noise_std(link, cset)
    one = math.sqrt(laplace_variance(1.0))
    return {
        "steps": _STEPS,
        "laplace": laplace,
        "gaussian": gaussian,
        "one": one,
        "mean": laplace / math.sqrt(_STEPS),
        "worse": laplace / math.sqrt(_STEPS) / one,
        "bound": _audited(PRESETS["grap"].check).lower_bound,
    }


def _bounds() -> Numbers:
    found = {row.label: row for row in in_sample()}
    dense = round(0.8 * SHAPE[0] * SHAPE[1])
    return {
        "explicit": found["Clear"].explicit,
        "explicit_inp": found["InP"].explicit,
        "trivial": found["Clear"].trivial,
        "measured": found["Clear"].measured.value,
        "measured_inp": found["InP"].measured.value,
        "explicit_dense": bounds.explicit_bound(Logistic(), ALPHA, SHAPE, dense),
        "output_noise": bounds.output_noise_term(ALPHA, 1.0),
        "beta_true": bounds.flipped_flatness(Logistic(), ALPHA, 1.0),
        "beta_printed": bounds.paper_flipped_flatness(ALPHA, 1.0),
    }


SOLUTIONS: dict[str, Callable[[], Numbers]] = {
    "odds": _odds,
    "game": _game,
    "bridge": _bridge,
    "one-entry": _one_entry,
    "users": _users,
    "noises": _noises,
    "two-probabilities": _two_probabilities,
    "displayed": _displayed,
    "rare-events": _rare_events,
    "looks": _looks,
    "bounds": _bounds,
}


def solve(key: str) -> Numbers:
    """The numbers of one solution; ``ValueError`` naming the exercises there are for another key."""
    check_choice("exercise", key, tuple(SOLUTIONS))
    return SOLUTIONS[key]()
