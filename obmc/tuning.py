"""How much structure noised labels support: the radius and the effects' ridge, chosen by data already protected.

All of this is post-processing of a noised view and costs no privacy. It matters more than the estimator: at the
paper's radius the completion of noised signs is worse than zeros wherever the signs carry little (theory section 8).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from obmc.constraints import ConstraintSet
from obmc.links import Link
from obmc.losses import Matching
from obmc.observations import Omega
from obmc.solvers.certificate import Problem
from obmc.solvers.completion import Callback, Completion, FactoredEstimate
from obmc.solvers.dispatch import minimise
from obmc.solvers.factored import FactoredOutcome, factored
from obmc.solvers.spectral import spectral_norm_bound

Array = NDArray[np.float64]

# Radii as shares of the constraint set's, and ridges in units of (1 + 4 v): the ridge that a prior variance of 1/unit
# asks for when the labels have noise variance v beyond a fair coin's 1/4. The last ridge leaves the level alone.
SHARES = (0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.55, 0.75, 1.0)
RIDGES = (0.5, 1.0, 2.0, 4.0, 8.0, 1000.0)
STANDARD_ERRORS = 2.0
# What a part must show without folds before it is taken: effects a spread of means this many standard errors above
# noise, a low-rank part a larger norm than so many draws of noise. Strict, since structure that is not there costs an
# error several times that of zeros where labels are noisy, and structure that is missed at most that of zeros.
SPREAD_ERRORS = 3.0
NOISES, NOISES_OF_LARGE, NOISES_OF_RULE = 20, 8, 3
# Small data need many folds, so that a fold's training set is nearly all of them; for large ones few are enough.
FOLDS, FOLDS_OF_LARGE, LARGE = 10, 4, 20_000
TOLERANCE = 1e-3


@dataclass(frozen=True)
class Candidate:
    """A structure that was tried.

    Attributes
    ----------
    ridge
        Weight of the effects' ridge; None for no effects.
    radius
        Of the nuclear-norm ball; 0 for no low-rank part.
    loss
        Mean held-out loss per entry (nan where the rule chose without one).
    gain, standard_error
        By how much the loss is below that of zeros, and the standard error of that difference over the entries.
    """

    ridge: float | None
    radius: float
    loss: float = math.nan
    gain: float = math.nan
    standard_error: float = math.nan


@dataclass(frozen=True)
class Structure:
    """The chosen structure, and all that was tried on the way."""

    chosen: Candidate
    tried: tuple[Candidate, ...] = field(default=())

    @property
    def is_zero(self) -> bool:
        """Whether zeros were found to do as well as anything."""
        return self.chosen.ridge is None and self.chosen.radius == 0.0


def seeded_by(labels: Array) -> np.random.Generator:
    """A generator seeded by a hash of labels, so that folds are a function of the (noised) labels alone."""
    digest = hashlib.sha256(np.ascontiguousarray(labels, dtype=np.float64).tobytes()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))


def ridge_unit(link: Link, variance: float) -> float:
    """(1/4 + v) / h'(0): the ridge that minimises the error of an effect of prior variance 1 under noise variance v.

    An effect seen n times has the estimate's variance n s^2 / (n k + lam)^2 and bias lam / (n k + lam), s^2 = 1/4 + v
    and k = h'(0) the curvature; the sum of variance and squared bias is least at lam = s^2 / k for every n.
    """
    return (0.25 + variance) / link.max_density


def cross_validated(
    loss: Matching,
    omega: Omega,
    cset: ConstraintSet,
    variance: float,
    rng: np.random.Generator,
    *,
    low_rank: bool = True,
    folds: int | None = None,
    step: Callable[[int], bool | None] | None = None,
) -> Structure:
    """The structure that predicts held-out noised labels best, where it beats a simpler one by 2 standard errors.

    Effects alone are tried at several ridges; if they beat zeros by ``STANDARD_ERRORS``, low-rank parts are tried
    beside the best of them, else without effects. Radii grow until one is clearly or two in a row are worse than the
    best. The minimum by itself would overfit: with few or very noisy labels it is seldom the zeros that it should be.
    The best of several candidates passes two standard errors too often by chance, and the folds share their noise, so
    each part must also be seen without folds: effects in the spread of the means (``ridge_by_moments``), a low-rank
    part in a gradient whose spectral norm exceeds that of all draws of noise alone (``NOISES``).

    Parameters
    ----------
    loss
        The matching loss of unbiased noised labels, so that its held-out mean estimates the risk without bias.
    omega
        The observed positions.
    cset
        The largest radius, and the box that predictions are cut to.
    variance
        Of the noise of the labels, v.
    rng
        Draws the folds.
    low_rank
        False: effects alone.
    folds
        Number of folds, at least 2; None for 10, or 4 above 20,000 entries.
    step
        Called with a count after every fold; returning False stops the search at what is known then.

    Source: theory section 8.
    """
    n = loss.n
    number = min(folds or (FOLDS if n <= LARGE else FOLDS_OF_LARGE), n)
    fold = rng.permutation(n) % number
    parts = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(number)]
    zeros = loss.values(np.zeros(n))
    tried: list[Candidate] = []
    count = 0
    stopped = number < 2

    def score(ridge: float | None, radius: float, starts: list[FactoredOutcome | None]) -> Array | None:
        """Held-out losses of a structure, shape (n,); the folds' solutions replace ``starts``. None when stopped."""
        nonlocal count, stopped
        if stopped:
            return None
        held_out = np.zeros(n)
        for k, (train, test) in enumerate(parts):
            problem = Problem(
                loss.select(train),
                omega.take(train),
                ConstraintSet(max(radius, 1e-12), None),
                effects=ridge,
                low_rank=radius > 0.0,
            )
            starts[k] = outcome = factored(problem, TOLERANCE, 200, None, starts[k], certify=False)
            estimate = FactoredEstimate(outcome.left, outcome.right, outcome.effects, cset.alpha)
            held_out[test] = loss.select(test).values(estimate.at(omega.rows[test], omega.cols[test]))
            count += 1
            if step is not None and step(count) is False:
                stopped = True
                return None
        tried.append(_candidate(ridge, radius, held_out, zeros))
        return held_out

    best, best_losses = Candidate(None, 0.0, float(zeros.mean()), 0.0, 0.0), zeros
    tried.append(best)
    unit = ridge_unit(loss.link, variance)
    ridges = ((share * unit, 0.0) for share in RIDGES)
    found = _path(ridges, score, best_losses, len(parts), keep_starts=False)
    if found is not None and ridge_by_moments(loss, omega, variance) is not None:
        best_losses, best = found[1], _candidate(found[0][0], 0.0, found[1], zeros)
    if low_rank and not stopped and _exceeds_noise(loss, omega, best.ridge, variance, rng):
        radii = ((best.ridge, share * cset.tau) for share in SHARES)
        found = _path(radii, score, best_losses, len(parts), keep_starts=True)
        if found is not None:
            best = _candidate(found[0][0], found[0][1], found[1], zeros)
    return Structure(best, tuple(tried))


def _exceeds_noise(
    loss: Matching, omega: Omega, ridge: float | None, variance: float, rng: np.random.Generator
) -> bool:
    """Whether effects leave a gradient with a larger spectral norm than all draws of noise."""
    fit, size, _ = _rest(loss, omega, ridge, 0.0, None)
    level = _noise_level(loss.link, fit, variance)
    number = NOISES if loss.n <= LARGE else NOISES_OF_LARGE
    return all(size > _norm(omega, level * rng.choice((-1.0, 1.0), size=loss.n)) for _ in range(number))


def _rest(
    loss: Matching, omega: Omega, ridge: float | None, radius: float, start: FactoredOutcome | None
) -> tuple[Array, float, FactoredOutcome]:
    """The fit on Omega, the norm of the gradient that it leaves, and the outcome to start the next one from."""
    problem = Problem(loss, omega, ConstraintSet(max(radius, 1e-12), None), effects=ridge, low_rank=radius > 0.0)
    outcome = factored(problem, TOLERANCE, 200, None, start, certify=False)
    fit = FactoredEstimate(outcome.left, outcome.right, outcome.effects, None).at(omega.rows, omega.cols)
    return fit, _norm(omega, loss.gradient(fit)), outcome


def _noise_level(link: Link, fit: Array, variance: float) -> Array:
    """The standard deviation of the labels that a fit implies: sqrt(h (1 - h) + v)."""
    chance = link.probability(fit)
    return np.sqrt(chance * (1.0 - chance) + variance)


def _path(
    structures: Iterable[tuple[float | None, float]],
    score: Callable[[float | None, float, list[FactoredOutcome | None]], Array | None],
    reference: Array,
    folds: int,
    *,
    keep_starts: bool,
) -> tuple[tuple[float | None, float], Array] | None:
    """The best structure, with its held-out losses, of those on a path that beat ``reference``; None if none does.

    The path ends where it has clearly passed its best, or where ``score`` stops.
    """
    found: tuple[tuple[float | None, float], Array] | None = None
    least: Array | None = None
    worse = 0
    starts: list[FactoredOutcome | None] = [None] * folds
    for structure in structures:
        losses = score(*structure, starts if keep_starts else [None] * folds)
        if losses is None:
            break
        if _significant(losses, reference) and (found is None or losses.mean() < found[1].mean()):
            found = structure, losses
        if least is None or losses.mean() < least.mean():
            least, worse = losses, 0
        else:
            # One clearly worse, or two worse at all: the loss is convex in the radius, up to noise.
            worse += 2 if _significant(least, losses) else 1
            if worse >= 2:
                break
    return found


def _candidate(ridge: float | None, radius: float, losses: Array, zeros: Array) -> Candidate:
    gain, error = _gain(losses, zeros)
    return Candidate(ridge, radius, float(losses.mean()), gain, error)


def _gain(losses: Array, reference: Array) -> tuple[float, float]:
    difference = reference - losses
    return float(difference.mean()), float(difference.std(ddof=1)) / math.sqrt(len(losses))


def _significant(losses: Array, reference: Array) -> bool:
    gain, error = _gain(losses, reference)
    return gain > STANDARD_ERRORS * error


def ridge_by_moments(loss: Matching, omega: Omega, variance: float) -> float | None:
    """The ridge that the spread of the row and column means of the labels asks for; None where noise explains it all.

    With n_i labels of mean z_i in row i, noise variance s^2 and Q = sum_i n_i (z_i - z)^2 over R rows,

        E Q = (R - 1) s^2 + kappa^2 sigma^2 (n - sum_i n_i^2 / n),

    for effects of variance sigma^2 and kappa = h'(0); the ridge is ``ridge_unit`` / sigma^2 with the mean of the rows'
    and the columns' sigma^2 (a low one where they are large, since h is flatter away from 0). Unless Q exceeds its mean
    under noise alone by ``SPREAD_ERRORS`` for either it is that of the level alone, or None where the mean of all
    labels is within as many of 1/2, too.

    Source: DerSimonian and Laird 1986.
    """
    labels = loss.labels
    mean = float(labels.mean())
    chance = min(max(mean, 0.0), 1.0)
    noise = chance * (1.0 - chance) + variance
    spread, found = 0.0, False
    for index in (omega.rows, omega.cols) if noise > 0.0 else ():
        count = np.bincount(index)
        seen = count[count > 0]
        sums = np.bincount(index, weights=labels - mean)[count > 0]
        excess = float((sums**2 / seen).sum()) / noise - (len(seen) - 1)
        found |= excess > SPREAD_ERRORS * math.sqrt(2.0 * max(len(seen) - 1, 1))
        free = loss.n - float((seen.astype(np.float64) ** 2).sum()) / loss.n
        if free > 0.0:
            spread += 0.5 * max(excess, 0.0) * noise / (loss.link.max_density**2 * free)
    unit = ridge_unit(loss.link, variance)
    if found and spread > 0.0:
        return unit / spread
    level = abs(mean - 0.5) > SPREAD_ERRORS * math.sqrt((0.25 + variance) / loss.n)
    return RIDGES[-1] * unit if level else None


def by_rule(
    loss: Matching,
    omega: Omega,
    cset: ConstraintSet,
    variance: float,
    rng: np.random.Generator,
    *,
    low_rank: bool = True,
) -> Structure:
    """The structure by a rule, without a look at held-out labels.

    Effects with the ridge of ``ridge_by_moments``, and the radius at which the gradient that is left has the spectral
    norm of noise alone: that is the radius of the nuclear-norm penalised estimator with the standard penalty, found by
    bisection, since the norm falls as the radius grows. It shrinks more than cross-validation does.

    Noise alone is what is left of labels h(E_ij) +- s_ij with random signs after effects are fitted to them, with E the
    effects fitted to the labels at hand and s_ij^2 = h(E_ij) (1 - h(E_ij)) + v, the variance that they imply. (The
    upper bound s^2 = 1/4 + v with nothing fitted to the noise makes the norm a fifth larger on ML-100K at epsilon = 4,
    and then next to no radius is left.)

    Parameters as for ``cross_validated``; ``rng`` draws the random signs. Source: theory section 8.
    """
    ridge = ridge_by_moments(loss, omega, variance)
    if not low_rank:
        return Structure(Candidate(ridge, 0.0))

    fit, size, start = _rest(loss, omega, ridge, 0.0, None)
    level = _noise_level(loss.link, fit, variance)
    chance = loss.link.probability(fit)
    noised = (Matching(loss.link, chance + level * rng.choice((-1.0, 1.0), size=loss.n)) for _ in range(NOISES_OF_RULE))
    noise = float(np.median([_rest(labels, omega, ridge, 0.0, None)[1] for labels in noised]))
    if size <= noise:
        return Structure(Candidate(ridge, 0.0))
    low, high = 0.0, cset.tau
    if _rest(loss, omega, ridge, high, start)[1] > noise:
        return Structure(Candidate(ridge, high))
    while high - low > max(0.1 * high, 1e-3 * cset.tau):
        middle = 0.5 * (low + high)
        _, size, outcome = _rest(loss, omega, ridge, middle, start)
        if size > noise:
            low, start = middle, outcome
        else:
            high = middle
    return Structure(Candidate(ridge, 0.5 * (low + high)))


def complete_structure(
    loss: Matching,
    omega: Omega,
    cset: ConstraintSet,
    structure: Structure,
    *,
    solver: str = "auto",
    tol: float = 1e-4,
    max_iter: int | None = None,
    callback: Callback | None = None,
) -> Completion:
    """The completion with a chosen structure: one convex problem, effects and low-rank part together, box on the sum.

    Parameters
    ----------
    loss, omega, cset
        As for ``cross_validated``.
    structure
        What was chosen. Zeros need no solver: the completion is the matrix of zeros.
    solver, tol, max_iter, callback
        As for ``obmc.complete``; "spg" knows no effects.
    """
    chosen = structure.chosen
    if structure.is_zero:
        d1, d2 = omega.shape
        return Completion(
            estimate=FactoredEstimate(np.zeros((d1, 0)), np.zeros((d2, 0)), None, cset.alpha),
            link=loss.link,
            tau=0.0,
            alpha=cset.alpha,
            objective=float(loss.values(np.zeros(loss.n)).sum()),
            gap=0.0,
            converged=True,
            iterations=0,
            seconds=0.0,
            solver="none",
            message="zeros: held-out labels gave no structure a gain above two standard errors",
        )
    done = minimise(
        loss,
        omega,
        loss.link,
        ConstraintSet(chosen.radius if chosen.radius > 0.0 else cset.tau, cset.alpha),
        solver=solver,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
        effects=chosen.ridge,
        low_rank=chosen.radius > 0.0,
    )
    return done if chosen.radius > 0.0 else replace(done, tau=0.0)


def _norm(omega: Omega, data: Array) -> float:
    matrix = sparse.csr_array(sparse.coo_array((data, (omega.rows, omega.cols)), shape=omega.shape))
    nothing = np.zeros((omega.shape[0], 0)), np.zeros((omega.shape[1], 0))
    return spectral_norm_bound(matrix, *nothing, slack=0.01 * float(np.sqrt(np.mean(data**2)))).value
