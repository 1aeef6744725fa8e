"""How much structure noised labels support: the radius and the effects' ridge, chosen by data already protected.

All of this is post-processing of a noised view and costs no privacy. It matters more than the estimator: at the
paper's radius the completion of noised signs is worse than zeros wherever the signs carry little (docs/inp-plus.md).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from obmc.constraints import ConstraintSet
from obmc.links import Link
from obmc.losses import Matching
from obmc.observations import Omega
from obmc.solvers.completion import Callback, Completion, DenseEstimate, FactoredEstimate
from obmc.solvers.dispatch import minimise
from obmc.solvers.factored import FactoredOutcome, factored
from obmc.solvers.problem import Problem
from obmc.solvers.spectral import spectral_norm_bound

Array = NDArray[np.float64]

# Radii as shares of the constraint set's, what a solution's low-rank part is stretched by, and ridges in units of
# (1/4 + v) / h'(0), 1 + 4 v for the logistic link: the ridge that a prior variance of 1/unit asks for when the labels
# have noise variance v beyond a fair coin's 1/4. The last ridge leaves the level alone.
SHARES = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.55, 0.75, 1.0)
STRETCHES = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 15.0)
RIDGES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 1000.0)
# A structure needs a gain of so many standard errors over a simpler one, and of those that have it the one with the
# largest gain less SHRINKING standard errors is taken.
STANDARD_ERRORS, SHRINKING = 2.0, 1.0
# What a part must show without folds before it is taken: effects a spread of means this many standard errors above
# noise, a low-rank part a larger norm than so many draws of noise. Strict, since structure that is not there costs an
# error several times that of zeros where labels are noisy, and structure that is missed at most that of zeros.
SPREAD_ERRORS = 3.0
NOISES, NOISES_OF_LARGE, NOISES_OF_RULE = 10, 8, 3
# The share of the box that a low-rank part is taken to fill when it is asked whether it could be seen (root mean
# square; entries uniform within the box fill 0.58 of it, the paper's matrices of rank 1 a third).
FILLED = 0.5
# Small data need many folds, so that a fold's training set is nearly all of them; for large ones few are enough.
FOLDS, FOLDS_OF_LARGE, LARGE = 10, 4, 20_000
# Beyond this many entries one held-out fold has hundreds of thousands: its standard errors are as good as none.
VERY_LARGE = 2_000_000
TOLERANCE = 1e-3


@dataclass(frozen=True)
class Candidate:
    """A structure that was tried.

    Attributes
    ----------
    ridge
        Weight of the effects' ridge; None for no effects.
    radius
        Of the nuclear-norm ball that the convex problem is solved in; 0 for no low-rank part.
    stretch
        What the solution's low-rank part is multiplied by, at least 1.
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
    stretch: float = 1.0


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
    """(1/4 + v) / h'(0): the best ridge for effects of variance 1 under noise variance v, to first order around 0.

    An effect seen n times has the estimate's variance n s^2 / (n k + lam)^2 and bias lam / (n k + lam), s^2 = 1/4 + v
    and k = h'(0) the curvature; the sum of variance and squared bias is least at lam = s^2 / k for every n. Away from 0
    h is flatter and a label's own variance below 1/4.
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
    stretches: Sequence[float] = STRETCHES,
    step: Callable[[int], bool | None] | None = None,
) -> Structure:
    """The structure that predicts held-out noised labels best, if by more than 2 standard errors over a simpler one.

    Effects alone are tried at several ridges; if they beat zeros, low-rank parts are tried beside the best of them,
    else without effects. Of the structures whose gain over the simpler one exceeds ``STANDARD_ERRORS`` standard errors
    the one with the largest gain less one standard error is taken, and the simpler one if there are none. The minimum
    of the held-out loss would overfit: with few or very noisy labels it is seldom the zeros that it should be, and
    where it leaves them wrongly it does so by a long way. The standard error of a gain grows with the structure, so
    that little of it is preferred unless much is seen.

    A solution's low-rank part is also tried stretched, S = E + c L with c > 1: a ball that is small enough to keep the
    noise's singular vectors out shrinks the signal's singular values far too much. Without effects c L is exactly the
    solution for the labels' loss c A(S / c) - T S in the ball of radius c tau', whose curvature is a c-th, and for
    large c it is the leading singular vectors of the noised labels. It costs no further solve. c tau' stays within tau.

    Radii grow until one is clearly or two in a row are worse than the best. As the best of several candidates passes
    two standard errors too often by chance, and the folds share their noise, each part must also be seen without folds:
    effects in the spread of the means (``ridge_by_moments``), a low-rank part in a gradient that passes ``_is_seen``.

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
        Number of folds, at least 2; None for 10, or 4 above 20,000 entries, of which above 2,000,000 entries one alone
        is held out.
    stretches
        What the low-rank part is tried stretched by, from 1 upwards.
    step
        Called with a count after every fold; returning False stops the search at what is known then.

    Source: docs/inp-plus.md.
    """
    n = loss.n
    number = min(folds or (FOLDS if n <= LARGE else FOLDS_OF_LARGE), n)
    fold = rng.permutation(n) % number
    used = 1 if folds is None and n > VERY_LARGE else number
    parts = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(used)]
    held = np.flatnonzero(fold < used)
    judged = loss.select(held)
    zeros = judged.values(np.zeros(len(held)))
    tried: list[Candidate] = []
    count = 0
    stopped = number < 2

    def predict(ridge: float | None, radius: float, starts: list[FactoredOutcome | None]) -> tuple[Array, Array] | None:
        """Held-out effects and low-rank parts, shape (h,); the folds' solutions replace ``starts``. None: stopped."""
        nonlocal count, stopped
        fixed, low = np.zeros(n), np.zeros(n)
        for k, (train, test) in enumerate(parts):
            if stopped:
                return None
            problem = Problem(
                loss.select(train),
                omega.take(train),
                ConstraintSet(max(radius, 1e-12), None),
                effects=ridge,
                low_rank=radius > 0.0,
            )
            starts[k] = outcome = factored(problem, TOLERANCE, 200, None, starts[k], certify=False)
            rows, cols = omega.rows[test], omega.cols[test]
            low[test] = FactoredEstimate(outcome.left, outcome.right, None, None).at(rows, cols)
            if outcome.effects is not None:
                fixed[test] = outcome.effects.at(rows, cols)
            count += 1
            stopped = step is not None and step(count) is False
        return fixed[held], low[held]

    def search(structures: Iterable[tuple[float | None, float]], reference: _Scored, warm: bool) -> _Scored:
        """The best structure on a path of those that beat ``reference``; ``reference`` if none does."""
        found, largest = reference, -math.inf
        least: Array | None = None
        worse = 0
        starts: list[FactoredOutcome | None] = [None] * len(parts)
        for ridge, radius in structures:
            predicted = predict(ridge, radius, starts if warm else [None] * len(parts))
            if predicted is None:
                break
            lowest: Array | None = None
            for stretch in stretches if radius > 0.0 else (1.0,):
                # The smallest radii are stretched furthest, and no further than to tau.
                if stretch > 1.0 and stretch * radius > cset.tau:
                    break
                losses = judged.values(cset.clip(predicted[0] + stretch * predicted[1]))
                # Held-out losses are convex in the stretch: once they rise they go on rising.
                if lowest is not None and losses.mean() >= lowest.mean():
                    break
                lowest = losses
                gain, error = _gain(losses, zeros)
                tried.append(Candidate(ridge, radius, float(losses.mean()), gain, error, stretch))
                gain, error = _gain(losses, reference.losses)
                if gain > STANDARD_ERRORS * error and gain - SHRINKING * error > largest:
                    found, largest = _Scored(tried[-1], losses), gain - SHRINKING * error
            assert lowest is not None
            if least is None or lowest.mean() < least.mean():
                least, worse = lowest, 0
            else:
                # One clearly worse, or two worse at all: the loss is convex in the radius, up to noise.
                gain, error = _gain(least, lowest)
                worse += 2 if gain > STANDARD_ERRORS * error else 1
                if worse >= 2:
                    break
        return found

    best = _Scored(Candidate(None, 0.0, float(zeros.mean()), 0.0, 0.0), zeros)
    tried.append(best.candidate)
    unit = ridge_unit(loss.link, variance)
    if ridge_by_moments(loss, omega, variance) is not None:
        best = search(((share * unit, 0.0) for share in RIDGES), best, False)
    ridge = best.candidate.ridge
    if low_rank and not stopped and _is_seen(loss, omega, cset, ridge, variance, rng):
        best = search(((ridge, share * cset.tau) for share in SHARES), best, True)
    return Structure(best.candidate, tuple(tried))


@dataclass(frozen=True, eq=False)
class _Scored:
    """A candidate and its losses at the h held-out entries, shape (h,)."""

    candidate: Candidate
    losses: Array


def _is_seen(
    loss: Matching, omega: Omega, cset: ConstraintSet, ridge: float | None, variance: float, rng: np.random.Generator
) -> bool:
    """Whether a low-rank part can be seen at all, and the gradient that effects leave has more than noise in it.

    An L within the box adds at most h(S) - h(E) to the labels' means, for S and E at the bounds, and so at most that
    times ||P|| to the spectral norm of the gradient, P_ij = 1 on Omega and 0 elsewhere; L is taken to reach the share
    ``FILLED`` of it. Noise of standard deviation s at evenly observed entries, sqrt(q) s (sqrt(d1) + sqrt(d2)) in norm,
    hides what is below sqrt(q) s (d1 d2)^(1/4). Where that is more than L could reach, nothing that the folds say of it
    is to be believed. Without effects this does not depend on the labels: few and noisy ones are left at zeros.

    Where L could be seen, the norm must exceed that of all of ``NOISES`` draws of noise.

    Source: Benaych-Georges and Nadakuditi 2012, for the least singular value that noise does not hide.
    """
    fit, size, _ = _rest(loss, omega, ridge, 0.0, None)
    level = _noise_level(loss.link, fit, variance)
    number = NOISES if loss.n <= LARGE else NOISES_OF_LARGE
    noise = [_norm(omega, level * rng.choice((-1.0, 1.0), size=loss.n)) for _ in range(number)]
    rows, cols = (len(np.unique(index)) for index in (omega.rows, omega.cols))
    hidden = np.mean(noise) * (rows * cols) ** 0.25 / (math.sqrt(rows) + math.sqrt(cols))
    bound = math.inf if cset.alpha is None else cset.alpha
    chances = loss.link.probability(np.array([-bound, bound if ridge is not None else 0.0]))
    largest = FILLED * float(chances[1] - chances[0]) * _norm(omega, np.ones(loss.n))
    return largest > hidden and size > max(noise)


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


def _gain(losses: Array, reference: Array) -> tuple[float, float]:
    difference = reference - losses
    return float(difference.mean()), float(difference.std(ddof=1)) / math.sqrt(len(losses))


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

    Parameters as for ``cross_validated``; ``rng`` draws the random signs. Source: docs/inp-plus.md.
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

    Where a stretch c was chosen, the solution's low-rank part is multiplied by it and the sum cut to the box; the
    completion's ``tau`` is then c tau'.

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
            message="zeros: no structure in the labels passed the tests against noise",
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
    if chosen.radius == 0.0:
        return replace(done, tau=0.0)
    return done if chosen.stretch == 1.0 else stretched(done, chosen.stretch)


def stretched(done: Completion, factor: float) -> Completion:
    """S = E + c L, cut to the box, with c = ``factor``; objective and gap stay those of the problem that L solves.

    Parameters
    ----------
    done
        A completion whose estimate is the sum of its effects and a low-rank part.
    factor
        At least 1.
    """
    fixed, old = done.effects, done.estimate
    estimate: FactoredEstimate | DenseEstimate
    if isinstance(old, FactoredEstimate):
        estimate = replace(old, left=old.left * factor)
    else:
        base = np.zeros(done.shape) if fixed is None else fixed.dense()
        estimate = DenseEstimate(ConstraintSet(done.tau, done.alpha).clip(base + factor * (old.dense() - base)))
    words = f"{done.message}; the low-rank part was then stretched {factor:g} times"
    return replace(done, estimate=estimate, tau=done.tau * factor, message=words)


def _norm(omega: Omega, data: Array) -> float:
    matrix = sparse.csr_array(sparse.coo_array((data, (omega.rows, omega.cols)), shape=omega.shape))
    nothing = np.zeros((omega.shape[0], 0)), np.zeros((omega.shape[1], 0))
    # A hundredth of a typical entry; for very large data, where that takes long to reach, a hundredth of the least norm
    # that entries of this size can have, the longer side's rows holding them all.
    slack = 0.01 * float(np.sqrt(np.mean(data**2)))
    if len(omega) > VERY_LARGE:
        slack *= float(np.sqrt(len(omega) / max(omega.shape)))
    return spectral_norm_bound(matrix, *nothing, slack=slack).value
