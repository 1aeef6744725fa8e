"""What all mechanisms share: how a release is made, and the wall that private signs stay behind.

A release has three parts, and they touch the data in this order only:

1. the *mechanism* turns signs into something noised, inside this package;
2. a *solver* runs on what is noised (a ``NoisedView``, a ``GradientOracle``), or on the data themselves where the
   mechanism noises the finished solution; then it reports the number of its step and nothing else;
3. a ``Release`` carries the completion and the guarantee, and nothing that was computed from the data outside 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from obmc.constraints import ConstraintSet
from obmc.errors import ReleaseFailed
from obmc.links import Link
from obmc.losses import Loss
from obmc.observations import Observations, Omega
from obmc.privacy.guarantee import Guarantee
from obmc.privacy.noise import Noise, Randomness, noise_from
from obmc.solvers import minimise
from obmc.solvers.completion import Callback, Completion, Progress
from obmc.solvers.lowrank import RankTooLargeError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SolverOptions:
    """The caller's choices for the solver, none of which may depend on private data."""

    solver: str = "auto"
    tol: float = 1e-4
    max_iter: int | None = None
    callback: Callback | None = None

    def without_facts(self) -> SolverOptions:
        """The same for a solver that sees private signs: the callback is told the number of the step alone."""
        told = self.callback
        if told is None:
            return self

        def blind(progress: Progress) -> bool | None:
            return told(Progress(progress.iteration, progress.max_iter))

        return SolverOptions(self.solver, self.tol, self.max_iter, blind)


@dataclass(frozen=True, eq=False)
class Release:
    """What a mechanism hands back.

    Attributes
    ----------
    completion
        The completed matrix. Its facts (objective, gap, iterations, ...) are nan where they were computed from the
        private signs.
    guarantee
        What is guaranteed about it.
    """

    completion: Completion
    guarantee: Guarantee

    @property
    def simulated(self) -> bool:
        """True where the noise came from a seed: a demonstration that protects nobody."""
        return self.guarantee.simulated


@dataclass(frozen=True, eq=False)
class NoisedView:
    """Who rated what, and the labels after the noise: all that the solver of a local mechanism ever sees.

    Attributes
    ----------
    omega
        The observed positions, public.
    labels
        Noised labels, shape (n,): bits in {0, 1} (randomised response) or bits plus noise.
    guarantee
        What is guaranteed about the view, and so about everything that is made of it.

    A view drawn once may serve any number of solves, links and constraint sets at no further cost.
    """

    omega: Omega
    labels: Array
    guarantee: Guarantee


class Mechanism(ABC):
    """A way to complete a matrix from one-bit observations, with a statement of what it guarantees."""

    label: ClassVar[str]

    @abstractmethod
    def guarantee(self, link: Link, cset: ConstraintSet, shape: tuple[int, int]) -> Guarantee:
        """What a release with these settings guarantees; needs no data, so it can be shown beforehand.

        Raises ``ValueError`` where the mechanism has no such form for this link or constraint set.
        """

    @abstractmethod
    def _complete(
        self, obs: Observations, link: Link, cset: ConstraintSet, noise: Noise, options: SolverOptions
    ) -> Completion:
        """Draw the noise and complete; the one place where a mechanism touches private signs."""

    def release(
        self,
        obs: Observations,
        link: Link,
        cset: ConstraintSet,
        *,
        rng: Randomness = 0,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
        callback: Callback | None = None,
    ) -> Release:
        """Complete the matrix under this mechanism.

        Parameters
        ----------
        obs
            The private observations.
        link
            ``Logistic()`` or ``Gaussian(sigma)``.
        cset
            Radius tau and bound alpha.
        rng
            A seed or ``Generator`` for a simulation; ``obmc.SECURE`` for a release with the operating system's
            randomness and exact samplers.
        solver, tol, max_iter, callback
            As for ``obmc.complete``; gradient perturbation takes its own number of steps. Where the solver works on
            private signs the callback learns the number of the step only.

        Raises
        ------
        ValueError
            Naming the argument; also for ``rng=obmc.SECURE`` where the guarantee does not allow a release.
        ReleaseFailed
            Where the solver fails on the data. That may depend on the signs, and no guarantee covers it: it counts as
            a release.
        """
        return self._release(obs, link, cset, noise_from(rng), SolverOptions(solver, tol, max_iter, callback))

    def _release(
        self, obs: Observations, link: Link, cset: ConstraintSet, noise: Noise, options: SolverOptions
    ) -> Release:
        statement = self._statement(link, cset, obs.shape, noise)
        try:
            return Release(self._complete(obs, link, cset, noise, options), statement)
        except (RankTooLargeError, np.linalg.LinAlgError, ArithmeticError, MemoryError) as error:
            raise ReleaseFailed(
                f"{str(error) or type(error).__name__} Nothing is released, but that it failed may depend on the "
                "ratings, which no guarantee covers: the attempt counts as a release."
            ) from None

    def _statement(self, link: Link, cset: ConstraintSet, shape: tuple[int, int], noise: Noise) -> Guarantee:
        """The guarantee of a draw, after refusing a release that it does not allow."""
        statement = self.guarantee(link, cset, shape)
        if not noise.simulated and not statement.release_allowed:
            raise ValueError(f"rng must be a seed here, not obmc.SECURE. {statement.release_reason}")
        return statement.drawn(noise.simulated)


class LocalMechanism(Mechanism):
    """A mechanism that noises each label by itself before anything is computed: what follows is post-processing.

    With links for which it does (``is_local``).
    """

    def is_local(self, link: Link) -> bool:
        """Whether with this link the noised labels are all that is ever computed from the signs."""
        return True

    @abstractmethod
    def _noised_labels(self, obs: Observations, link: Link, noise: Noise) -> Array:
        """The labels after the noise, shape (n,): the only thing that is ever computed from the signs."""

    @abstractmethod
    def loss(self, view: NoisedView, link: Link) -> Loss:
        """The loss that the solver minimises, made of the noised view alone."""

    def noised(self, obs: Observations, link: Link, cset: ConstraintSet, *, rng: Randomness = 0) -> NoisedView:
        """Draw the noise once: a view to keep and to solve with ``complete`` as often as wanted.

        Arguments and errors as for ``release``.
        """
        return self._view(obs, link, cset, noise_from(rng))

    def complete(
        self,
        view: NoisedView,
        link: Link,
        cset: ConstraintSet,
        *,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
        callback: Callback | None = None,
    ) -> Completion:
        """Complete the matrix from a noised view: post-processing, at no cost of privacy."""
        return self._solve(view, link, cset, SolverOptions(solver, tol, max_iter, callback))

    def _view(self, obs: Observations, link: Link, cset: ConstraintSet, noise: Noise) -> NoisedView:
        statement = self._statement(link, cset, obs.shape, noise)
        return NoisedView(obs.omega, self._noised_labels(obs, link, noise), statement)

    def _solve(self, view: NoisedView, link: Link, cset: ConstraintSet, options: SolverOptions) -> Completion:
        return minimise(
            self.loss(view, link),
            view.omega,
            link,
            cset,
            solver=options.solver,
            tol=options.tol,
            max_iter=options.max_iter,
            callback=options.callback,
        )

    def _complete(
        self, obs: Observations, link: Link, cset: ConstraintSet, noise: Noise, options: SolverOptions
    ) -> Completion:
        # The wall: from here on there is only the view.
        return self._solve(self._view(obs, link, cset, noise), link, cset, options)


def require_alpha(cset: ConstraintSet, what: str) -> float:
    """The bound alpha of the constraint set, or ``ValueError``: ``what`` has no finite sensitivity without one."""
    if cset.alpha is None:
        raise ValueError(f"alpha must be a positive number for {what}: without a bound its sensitivity is infinite.")
    return cset.alpha
