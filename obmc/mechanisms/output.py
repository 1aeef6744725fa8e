"""Output perturbation (OutP): complete without privacy, then noise the finished matrix."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from obmc.constraints import ConstraintSet
from obmc.errors import ReleaseFailed, check_choice, check_integer, check_number
from obmc.links import Link
from obmc.losses import Loss, Matching, likelihood
from obmc.mechanisms.base import Mechanism, Release, SolverOptions, require_alpha
from obmc.observations import Observations
from obmc.privacy import accounting
from obmc.privacy.guarantee import Guarantee, number
from obmc.privacy.noise import LaplaceField, Noise, SimulatedNoise, check_delta, check_epsilon, noise_from
from obmc.solvers import minimise
from obmc.solvers.completion import Completion, DenseEstimate, Estimate
from obmc.solvers.dispatch import DENSE_LIMIT

Array = NDArray[np.float64]

CALIBRATIONS = ("rigorous", "paper")
POSTPROCESSES = (None, "project", "rank")
DEFAULT_RIDGE = 1.0
DEFAULT_DELTA = 1e-5
# The relative gap that the ridge variant's sensitivity counts on: fixed in advance, about 1 % of it at 100 x 100.
RIDGE_GAP = 1e-8
# Of the projection of a noised matrix, relative residuals.
PROJECTION_TOL = 1e-5
# Where attacks on a mixed matrix prove more than was asked for: from the radius at which the bridge instance of 4 x 4
# fits into a part of the matrix, in alphas, to a little above that of rank 1. At 1.5 times that they show no more
# than a nominal 1.
BROKEN_FROM, BROKEN_TO = 4.0, 1.25


@dataclass(frozen=True, kw_only=True)
class OutputPerturbation(Mechanism):
    """M_hat = argmin over C of f(X), clipped to [-alpha, alpha], plus noise.

    *One entry* of the clipped matrix has the range 2 alpha whatever the data are, so Laplace(2 alpha / eps) on it is
    eps-DP, and Laplace(2 alpha k / eps) on k entries named in advance. The *matrix* of d1 d2 entries is eps d1 d2-DP
    under the same noise, and up to half of that is attained. A ridge mu/2 ||X||_F^2 bounds how far the whole matrix
    moves in L2 norm, S2 (``accounting.ridge_sensitivity``), and Gaussian noise of the analytic mechanism then
    protects all of it.

    Parameters
    ----------
    epsilon
        Above 0.
    calibration
        "paper": Laplace(2 alpha / eps) on every entry; it covers one entry, not the matrix.
        "rigorous": the ridge with Gaussian noise, or named entries.
    postprocess
        What is done to the noised matrix: None, "project" (on C) or "rank" (the nearest matrix of that rank). Both mix
        entries, so at the paper's calibration not even one entry of the result keeps the one-entry guarantee.
    rank
        For postprocess="rank".
    ridge
        mu > 0, rigorous only; 1 if None.
    delta
        In (0, 1), rigorous only; 1e-5 if None.
    entries
        (row, column) pairs to answer, rigorous only: nothing else of the matrix is shown.

    Raises ``ValueError`` naming the argument that is out of its range.

    Source: paper, section 4.4; Chaudhuri, Monteleoni and Sarwate 2011 and Balle and Wang 2018 for the ridge.
    """

    epsilon: float
    calibration: str = "rigorous"
    postprocess: str | None = None
    rank: int | None = None
    ridge: float | None = None
    delta: float | None = None
    entries: tuple[tuple[int, int], ...] | None = None
    label: ClassVar[str] = "OutP"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon("epsilon", self.epsilon))
        check_choice("calibration", self.calibration, CALIBRATIONS)
        check_choice("postprocess", self.postprocess, POSTPROCESSES)
        if (self.postprocess == "rank") != (self.rank is not None):
            raise ValueError("rank must be given exactly where postprocess='rank'.")
        if self.rank is not None:
            object.__setattr__(self, "rank", check_integer("rank", self.rank, low=1))
        if self.ridge is not None:
            object.__setattr__(self, "ridge", check_number("ridge", self.ridge, low=0.0, open_low=True))
        if self.delta is not None:
            object.__setattr__(self, "delta", check_delta("delta", self.delta))
        if self.entries is not None:
            object.__setattr__(self, "entries", _pairs(self.entries))
        only_rigorous = {"ridge": self.ridge, "delta": self.delta, "entries": self.entries}
        for name, value in only_rigorous.items():
            if self.calibration == "paper" and value is not None:
                raise ValueError(f"{name} must be None for calibration='paper'; it belongs to calibration='rigorous'.")
        for name in ("ridge", "delta", "postprocess"):
            if self.entries is not None and getattr(self, name) is not None:
                raise ValueError(f"{name} must be None where entries are named: they are answered one by one.")

    # Closed forms -------------------------------------------------------------------------------------------------

    @property
    def uses_ridge(self) -> bool:
        """Whether this is the ridge variant with Gaussian noise."""
        return self.calibration == "rigorous" and self.entries is None

    @property
    def ridge_weight(self) -> float:
        """mu of the ridge variant, 0 for the others."""
        return (self.ridge if self.ridge is not None else DEFAULT_RIDGE) if self.uses_ridge else 0.0

    @property
    def used_delta(self) -> float:
        """delta: that of the ridge variant, 0 for the others."""
        return (self.delta if self.delta is not None else DEFAULT_DELTA) if self.uses_ridge else 0.0

    @property
    def multiplier(self) -> float:
        """sigma_1(eps, delta), the noise multiplier of the ridge variant; nan for the others."""
        return accounting.gaussian_multiplier(self.epsilon, self.used_delta) if self.uses_ridge else math.nan

    def l2_sensitivity(self, link: Link, cset: ConstraintSet, n: int) -> float:
        """S2 + 2 sqrt(2 g / mu): how far two solutions of the ridge problem can be apart, g the gap fixed in advance.

        The matching loss is used for both links, so D = 1 and kappa = h'(alpha); g = 1e-8 f(0) depends on n alone.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        alpha = require_alpha(cset, "output perturbation")
        gap = RIDGE_GAP * n * link.potential_at_zero
        return accounting.ridge_sensitivity(1.0, float(link.density(alpha)), self.ridge_weight, gap)

    def noise_std(self, link: Link, cset: ConstraintSet, n: int) -> float:
        """The standard deviation of the noise on one entry, ``n`` the number of observed entries.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        if self.uses_ridge:
            return self.multiplier * self.l2_sensitivity(link, cset, n)
        count = 1 if self.entries is None else len(self.entries)
        return math.sqrt(2.0) * 2.0 * require_alpha(cset, "output perturbation") * count / self.epsilon

    # What is guaranteed -------------------------------------------------------------------------------------------

    def guarantee(self, link: Link, cset: ConstraintSet, shape: tuple[int, int]) -> Guarantee:
        if self.entries is not None:
            return self._entries_guarantee(link, cset, shape[0] * shape[1])
        if self.uses_ridge:
            return self._ridge_guarantee(link, cset, shape[0] * shape[1])
        return self._paper_guarantee(link, cset, shape)

    def _paper_guarantee(self, link: Link, cset: ConstraintSet, shape: tuple[int, int]) -> Guarantee:
        alpha = require_alpha(cset, "output perturbation")
        cells = shape[0] * shape[1]
        whole = self.epsilon * cells
        mixed = self.postprocess is not None
        broken = BROKEN_FROM * alpha <= cset.tau <= BROKEN_TO * alpha * math.sqrt(cells)
        done = {"project": "The projection on the constraint set", "rank": "The nearest matrix of low rank"}
        if mixed and cells > 1:
            moved = (
                f", but a single rating can move all {cells:,} of them."
                if broken
                else ". A single rating may move others too, and at this radius it is not established how much that "
                "tells."
            )
            why = (
                f"Noise of scale {number(2 * alpha / self.epsilon)} hides one entry of the matrix{moved} "
                f"{done[str(self.postprocess)]} mixes the entries, so each entry of it collects what the others reveal."
            )
        else:
            why = (
                f"An entry lies between -{number(alpha)} and {number(alpha)} whatever the ratings are, and noise of "
                f"scale {number(2 * alpha / self.epsilon)} hides a change of that size. It does not hide that a single "
                "rating can move many entries at once."
            )
        return Guarantee(
            mechanism=self.label,
            link=link.name,
            calibration=self.calibration,
            claimed=self.epsilon,
            epsilon=whole if mixed else self.epsilon,
            scope="output" if mixed else "entry",
            output_epsilon=None if mixed else whole,
            trust="central",
            status="proven" if not mixed or cells == 1 else "violated" if broken else "open",
            conditions="any solver",
            group="any change",
            why=why,
            formula=r"Laplace$(2\alpha/\varepsilon)$ per entry. For a pair $Y, Y'$ the exact loss of the matrix is "
            rf"$\varepsilon\,\|\hat M - \hat M'\|_1/(2\alpha)$: at most $d_1 d_2 = {number(float(cells))}$ times "
            r"$\varepsilon$; $d_1 d_2/2$ times is attained for even sizes at the radius of rank 1.",
            **_paper_view(cells),
            rigorous_change=self._rigorous_change(link, cset),
        )

    def _entries_guarantee(self, link: Link, cset: ConstraintSet, cells: int) -> Guarantee:
        alpha = require_alpha(cset, "output perturbation")
        assert self.entries is not None
        count = len(self.entries)
        scale = number(2 * alpha * count / self.epsilon)
        return Guarantee(
            mechanism=self.label,
            link=link.name,
            calibration=self.calibration,
            claimed=self.epsilon,
            epsilon=self.epsilon,
            trust="central",
            status="proven",
            conditions="any solver",
            group="any change",
            entries=count,
            why=f"Each answer lies between -{number(alpha)} and {number(alpha)} before it is noised, whatever the "
            f"ratings are, and noise of scale {scale} on each hides any change of all that are given.",
            formula=rf"$k = {count}$ entries in $[-\alpha, \alpha]$ have $L_1$ sensitivity at most $2\alpha k$: "
            rf"Laplace$(2\alpha k/\varepsilon) = {scale}$, against any change of the data.",
            **_paper_view(cells, "Here only the named entries are answered, with noise that grows with their number."),
            rigorous_change=self._rigorous_change(link, cset),
        )

    def _ridge_guarantee(self, link: Link, cset: ConstraintSet, cells: int) -> Guarantee:
        kappa = float(link.density(require_alpha(cset, "output perturbation")))
        exact = accounting.ridge_sensitivity(1.0, kappa, self.ridge_weight)
        return Guarantee(
            mechanism=self.label,
            link=link.name,
            calibration=self.calibration,
            claimed=self.epsilon,
            epsilon=self.epsilon,
            delta=self.used_delta,
            trust="central",
            status="proven",
            conditions="certified gap",
            group="gaussian",
            multiplier=self.multiplier,
            why=f"A penalty on large entries (ridge {number(self.ridge_weight)}) keeps a single rating from moving the "
            "matrix far as a whole, and Gaussian noise on every entry hides a move of that length: "
            f"a standard deviation of at least {number(self.multiplier * exact)} on every entry.",
            formula=r"$f(X) + \frac{\mu}{2}\|X\|_F^2$ has a minimiser of $L_2$ sensitivity $S_2 = "
            r"\frac{1}{2\sqrt{\kappa\mu}}$ for $\mu \leq \kappa$, $\frac{1}{\kappa + \mu}$ otherwise, $\kappa = "
            rf"h'(\alpha) = {number(kappa)}$, $\mu = {number(self.ridge_weight)}$: $S_2 = {number(exact)}$; plus "
            r"$2\sqrt{2g/\mu}$ for solutions within an absolute gap $g = 10^{-8} f(0)$. Gaussian noise of "
            rf"$\sigma_1(\varepsilon, \delta) = {number(self.multiplier)}$ times that.",
            **_paper_view(cells, "Here that sensitivity is bounded, by a ridge, and the noise is as large as it asks."),
            rigorous_change=self._rigorous_change(link, cset),
        )

    def _rigorous_change(self, link: Link, cset: ConstraintSet) -> str:
        alpha = require_alpha(cset, "output perturbation")
        theirs = math.sqrt(2.0) * 2.0 * alpha / self.epsilon
        text = (
            f"The paper's calibration puts Laplace noise of standard deviation {number(theirs)} on every entry, which "
            "covers one entry fixed in advance and not the matrix."
        )
        if self.entries is not None:
            return (
                f"{text} The rigorous one answers the named entries alone, with noise of standard deviation "
                f"{number(self.noise_std(link, cset, 0))} on each."
            )
        ours = replace(self, calibration="rigorous")
        kappa = float(link.density(alpha))
        least = ours.multiplier * accounting.ridge_sensitivity(1.0, kappa, ours.ridge_weight)
        return (
            f"{text} The rigorous one adds a ridge of {number(ours.ridge_weight)} to the matching loss and Gaussian "
            f"noise of standard deviation at least {number(least)} to every entry, which covers the whole matrix at "
            f"delta = {number(ours.used_delta)}."
        )

    # The release --------------------------------------------------------------------------------------------------

    def private_loss(self, obs: Observations, link: Link) -> Loss:
        """The loss that is minimised on the true signs: the likelihood, for the ridge variant the matching loss."""
        return Matching(link, obs.bits) if self.uses_ridge else likelihood(link, obs.signs)

    def solution(self, obs: Observations, link: Link, cset: ConstraintSet, options: SolverOptions) -> Completion:
        """The completion before the noise: for the owner's eyes, never part of a release.

        The ridge variant's guarantee counts on a gap fixed in advance: when its solver gets there depends on the signs,
        so a limit of iterations from outside is refused with ``ValueError``, and where the solver does not get there
        by its own limit, or is stopped, ``ReleaseFailed`` says so.
        """
        private = options.without_facts()
        solver = private.solver
        if self.uses_ridge:
            if private.max_iter is not None:
                raise ValueError(
                    "max_iter must be None for the ridge variant of output perturbation: whether its solver is done by "
                    f"then would say something about the ratings, got {private.max_iter}."
                )
            # The factored solver leaves the box to the end, and its gap would be that of another problem.
            check_choice("solver", solver, ("auto", "admm", "spg"))
            solver = "admm" if solver == "auto" else solver
            if obs.shape[0] * obs.shape[1] > DENSE_LIMIT:
                raise ValueError(
                    f"shape must have at most {DENSE_LIMIT:,} entries for the ridge variant of output perturbation, "
                    f"got {obs.shape[0]} x {obs.shape[1]}: name the entries to release, or use InP+."
                )
        done = minimise(
            self.private_loss(obs, link),
            obs.omega,
            link,
            cset,
            solver=solver,
            tol=min(private.tol, RIDGE_GAP) if self.uses_ridge else private.tol,
            max_iter=private.max_iter,
            callback=private.callback,
            ridge=self.ridge_weight,
        )
        if self.uses_ridge and not done.gap <= RIDGE_GAP:
            raise ReleaseFailed(
                f"The solver did not reach the relative gap of {RIDGE_GAP:g} that the guarantee counts on. Nothing is "
                "released, but that it failed may depend on the ratings, which no guarantee covers: the attempt counts "
                "as a release."
            )
        return done

    def noised(self, matrix: Array, link: Link, cset: ConstraintSet, n: int, noise: Noise) -> Array:
        """The clipped matrix plus noise on every entry, before any post-processing.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        alpha = require_alpha(cset, "output perturbation")
        if not self.uses_ridge:
            return noise.laplace_entries(matrix, alpha=alpha, epsilon=self.epsilon, count=1)
        return noise.gaussian(
            np.clip(matrix, -alpha, alpha),
            sensitivity=self.l2_sensitivity(link, cset, n),
            multiplier=self.multiplier,
            rounding=math.sqrt(matrix.size),
        )

    def postprocessed(self, matrix: Array, cset: ConstraintSet) -> Array:
        """The noised matrix after ``postprocess``."""
        if self.postprocess == "project":
            return cset.project(matrix, tol=PROJECTION_TOL)
        if self.postprocess == "rank":
            assert self.rank is not None
            left, values, right = np.linalg.svd(matrix, full_matrices=False)
            return np.asarray((left[:, : self.rank] * values[: self.rank]) @ right[: self.rank], dtype=np.float64)
        return matrix

    def answered(self, solution: Completion, cset: ConstraintSet, noise: Noise) -> Array:
        """The named entries, clipped and noised, in their order.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        assert self.entries is not None
        rows, cols = np.array(self.entries).T
        return noise.laplace_entries(
            solution.predict(rows, cols),
            alpha=require_alpha(cset, "output perturbation"),
            epsilon=self.epsilon,
            count=len(self.entries),
        )

    def _complete(
        self, obs: Observations, link: Link, cset: ConstraintSet, noise: Noise, options: SolverOptions
    ) -> Completion:
        if self.entries is not None:
            for row, col in self.entries:
                check_integer("entries (row)", row, low=0, high=obs.shape[0] - 1)
                check_integer("entries (column)", col, low=0, high=obs.shape[1] - 1)
        if options.solver == "factored" or obs.shape[0] * obs.shape[1] > DENSE_LIMIT:
            self._refuse_postprocess()
        return self._noised_solution(self.solution(obs, link, cset, options), link, cset, len(obs), noise)

    def _noised_solution(
        self, solution: Completion, link: Link, cset: ConstraintSet, n: int, noise: Noise
    ) -> Completion:
        # The wall: from here on only what is noised goes on, without any fact of the solve.
        if self.entries is not None:
            values = self.answered(solution, cset, noise)
            return solution.without_facts(NamedEntries(solution.shape, self.entries, values))
        if not isinstance(solution.estimate, DenseEstimate):
            return solution.without_facts(self._noised_in_place(solution.estimate, cset, noise))
        matrix = self.noised(solution.matrix, link, cset, n, noise)
        return solution.without_facts(DenseEstimate(self.postprocessed(matrix, cset)))

    def _noised_in_place(self, estimate: Estimate, cset: ConstraintSet, noise: Noise) -> NoisedEntries:
        """A matrix that is held as factors: its noise is drawn for the entries that are asked for."""
        self._refuse_postprocess()
        # Only the whole matrix at the paper's calibration gets here, and that is never released.
        assert isinstance(noise, SimulatedNoise)
        alpha = require_alpha(cset, "output perturbation")
        return NoisedEntries(estimate, alpha, noise.laplace_field(2.0 * alpha / self.epsilon))

    def _refuse_postprocess(self) -> None:
        if self.postprocess is not None:
            raise ValueError(f"postprocess must be None for a matrix held as factors, got {self.postprocess!r}.")

    # Experiments --------------------------------------------------------------------------------------------------

    @property
    def solution_key(self) -> tuple[str, float]:
        """Equal for mechanisms whose ``solution`` on the same data is the same; ("ridge", 0) is that of ``Clear``."""
        return ("ridge", self.ridge_weight)

    def simulate(
        self, solution: Completion, link: Link, cset: ConstraintSet, n: int, *, rng: int | np.random.Generator
    ) -> Release:
        """A simulated release from a ``solution`` computed before, for experiments that make many of one solve.

        ``n`` is the number of observed entries. ``ValueError`` for ``obmc.SECURE``: a real release solves for itself.
        """
        noise = noise_from(rng)
        if not noise.simulated:
            raise ValueError("rng must be a seed or a Generator to simulate with: a release is made by release().")
        statement = self._statement(link, cset, solution.shape, noise)
        return Release(self._noised_solution(solution, link, cset, n, noise), statement)


@dataclass(frozen=True, eq=False)
class NoisedEntries:
    """clip(X) + noise, entry by entry as they are asked for: a dense matrix of noise would not fit."""

    estimate: Estimate
    alpha: float
    noise: LaplaceField

    @property
    def shape(self) -> tuple[int, int]:
        return self.estimate.shape

    def at(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> Array:
        return np.clip(self.estimate.at(rows, cols), -self.alpha, self.alpha) + self.noise.at(rows, cols)

    def row(self, row: int) -> Array:
        cols = np.arange(self.shape[1])
        clean = np.clip(self.estimate.row(row), -self.alpha, self.alpha)
        return clean + self.noise.at(np.full(len(cols), row), cols)

    def scores(self, row: int) -> Array:
        return self.row(row)

    def dense(self) -> Array:
        return np.vstack(list(self.blocks))

    def singular_values(self) -> Array:
        return np.zeros(0)

    @property
    def blocks(self) -> Iterator[Array]:
        for row in range(self.shape[0]):
            yield self.row(row)[None, :]


@dataclass(frozen=True, eq=False)
class NamedEntries:
    """An estimate of which only some entries are known; all others are nan."""

    shape: tuple[int, int]
    entries: tuple[tuple[int, int], ...]
    values: Array

    def dense(self) -> Array:
        matrix = np.full(self.shape, np.nan)
        rows, cols = np.array(self.entries).T
        matrix[rows, cols] = self.values
        return matrix

    def at(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> Array:
        known = dict(zip(self.entries, self.values, strict=True))
        pairs = zip(rows.tolist(), cols.tolist(), strict=True)
        return np.array([known.get((row, col), math.nan) for row, col in pairs], dtype=np.float64)

    def row(self, row: int) -> Array:
        cols = np.arange(self.shape[1])
        return self.at(np.full(len(cols), row), cols)

    def scores(self, row: int) -> Array:
        return self.row(row)

    def singular_values(self) -> Array:
        return np.zeros(0)

    @property
    def blocks(self) -> Iterator[Array]:
        for row in range(self.shape[0]):
            yield self.row(row)[None, :]


def _paper_view(cells: int, here: str = "") -> dict[str, Any]:
    """What the paper claims of a matrix with so many cells, whether that holds, and what is done ``here`` instead."""
    return {
        "paper_claim": "Laplace noise of scale 2 alpha / epsilon on every entry makes the completed matrix epsilon-DP.",
        "paper_verdict": "false" if cells > 1 else "holds",
        "difference": ""
        if cells == 1
        else f"It takes the range of one entry for the sensitivity of the whole matrix. {here}".rstrip(),
    }


def output_change(
    obs: Observations, link: Link, cset: ConstraintSet, entry: tuple[int, int], tol: float = 1e-7
) -> Array:
    """|Mhat - Mhat'|, shape (d1, d2): by how much every entry of the completed matrix moves when one sign flips.

    It is computed from the private ratings: for the owner's eyes, never part of a release. Two solves.
    """
    require_alpha(cset, "output perturbation")
    solutions = [
        cset.clip(minimise(likelihood(link, data.signs), obs.omega, link, cset, tol=tol).matrix)
        for data in (obs, obs.flip(entry))
    ]
    return np.abs(solutions[0] - solutions[1])


def output_multiplier(
    obs: Observations, link: Link, cset: ConstraintSet, entry: tuple[int, int], tol: float = 1e-7
) -> float:
    """||Mhat - Mhat'||_1 / (2 alpha): by how much the paper's OutP understates epsilon for one flip of these data.

    The exact privacy loss of the whole matrix for this pair of data sets is this number times the nominal epsilon. It
    is computed from the private ratings: for the owner's eyes, never part of a release. Two solves.

    Raises ``ValueError`` naming the argument that is out of its range.
    """
    alpha = require_alpha(cset, "output perturbation")
    return float(output_change(obs, link, cset, entry, tol).sum()) / (2.0 * alpha)


def _pairs(entries: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    try:
        given = [(row, col) for row, col in entries]
    except (TypeError, ValueError):
        raise ValueError(f"entries must be (row, column) pairs of whole numbers, got {entries!r}.") from None
    pairs = tuple(
        (check_integer("entries (row)", r, low=0), check_integer("entries (column)", c, low=0)) for r, c in given
    )
    if not pairs or len(set(pairs)) != len(pairs):
        raise ValueError("entries must name at least one entry, and every entry once.")
    return pairs
