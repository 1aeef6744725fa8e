"""Certified gaps: how far a feasible matrix can be from the optimum, whatever the solver did.

For any feasible F, any P at which f is convex between P and C, and any split G1 + G2 = grad f(P),

    f(F) - f* <= f(F) - [ f(P) - <grad f(P), P> - tau ||G1||_2 - alpha ||G2||_1 ],

since <grad f(P), X> >= -tau ||G1||_2 - alpha ||G2||_1 on C. The bracket is a lower bound of f*. The norms are bounded
from above (``obmc.constraints``), so that the gap can only be overstated. Source: docs/mathematics.md, Solvers.
"""

from __future__ import annotations

import math
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from obmc.losses import is_convex
from obmc.solvers.level import best_shift
from obmc.solvers.parts import Feasible, Part
from obmc.solvers.problem import Problem

Array = NDArray[np.float64]


class Certificate:
    """The best feasible matrix and the best lower bound seen so far.

    Both have their price in decompositions. ``foresee`` and ``glance`` estimate what they would be, for a small part of
    it: a solver looks at these on its way and pays (``certify``, ``feasible``) once they are within its tolerance. What
    it returns is ``gap``, which estimates never enter.

    Parameters
    ----------
    problem
        What is solved.
    part
        The structured side of the solver's splitting, which knows the support function and the way to feasibility.
    tol
        The relative gap that the solver is to reach. The loss's own infimum is a bound as well where that is enough.
    exact
        Whether nuclear norms are taken from a full decomposition, or rounded up from the Gram matrix.
    """

    def __init__(self, problem: Problem, part: Part, tol: float, exact: bool = True) -> None:
        self.problem = problem
        self.part = part
        self.tol = tol
        self.exact = exact
        self.best: Feasible | None = None
        self.objective = math.inf
        self.bound = -math.inf
        # Whether it was found that there is no bound, since the loss falls without end as a free level grows.
        self.unbounded = False
        # Of the loss; effects and a ridge add nothing negative.
        self._infimum = problem.loss.infimum
        self._foreseen = -math.inf
        self._offer: tuple[float, Array] | None = None
        self._convex_everywhere = is_convex(problem.loss, None)
        self.price_share = 0.0
        self._cost_of_feasibility = 0.0
        self._try_all = False

    @property
    def gap(self) -> float:
        """(f(best) - lower bound) / f(0)."""
        return max(self.objective - max(self.bound, self._infimum), 0.0) / self.problem.loss.scale

    def glance(self, matrix: Array) -> float:
        """An estimate of the gap that ``certify()`` and ``feasible(matrix)`` would give, without a decomposition.

        The cut to the box takes the matrix out of the ball, and the scaling back into it costs in proportion to what
        was cut off, at the rate of the last ``price`` or ``feasible``: ``price_share`` of this gap. Not certified.
        """
        value, cut = self._clipped(matrix)
        price = self._cost_of_feasibility * cut
        # Only once it is enough: against it the gap does not fall to zero, and a solver that foretells the end by the
        # pace of the gap would be misled.
        if value + price - self._infimum <= self.tol * self.problem.loss.scale:
            self.bound = max(self.bound, self._infimum)
        gap = max(value + price - max(self.bound, self._foreseen), 0.0)
        self.price_share = price / gap if gap > 0.0 else 0.0
        return gap / self.problem.loss.scale

    def _clipped(self, matrix: Array) -> tuple[float, float]:
        """The objective of the matrix cut to the box, and how much was cut off (Frobenius norm)."""
        clipped = self.problem.cset.clip(matrix)
        value = self.problem.objective(clipped) + self.part.penalty
        return value, 0.0 if self.problem.cset.alpha is None else float(np.linalg.norm(matrix - clipped))

    def price(self, matrix: Array) -> None:
        """Learn what it costs to make this matrix feasible, for ``glance``: a rounded up norm is good enough."""
        self._made_feasible(matrix, exact=False)

    def price_again(self, matrix: Array) -> None:
        """Learn it anew where the price is what keeps the gap open, and from now on try all ways to feasibility."""
        self._try_all = True
        self.price(matrix)

    def feasible(self, matrix: Array) -> None:
        """Offer a matrix: made feasible, kept if it is the best so far."""
        value, point = self._made_feasible(matrix, self.exact)
        if value < self.objective:
            self.best, self.objective = point, value

    def _made_feasible(self, matrix: Array, exact: bool) -> tuple[float, Feasible]:
        """The best of what the part can make of a matrix, and its objective; its price is kept."""
        points = [self.part.feasible(matrix, exact)]
        if self._try_all and (other := self.part.other_way(matrix, exact)) is not None:
            points.append(other)
        values = [self.problem.objective(point.matrix) + point.penalty for point in points]
        value, point = min(zip(values, points, strict=True), key=itemgetter(0))
        clipped, cut = self._clipped(matrix)
        self._cost_of_feasibility = max(value - clipped, 0.0) / cut if cut > 0.0 else 0.0
        return value, point

    def foresee(self, matrix: Array, ball_part: Array, inside: NDArray[np.bool_] | None = None) -> None:
        """Offer a lower bound from P near ``matrix`` as ``lower_bound`` does, its value estimated, for ``certify``.

        The estimate lies above the bound: it is made by the singular subspace of the part's last step, which near an
        optimum holds the largest singular values of the gradient, and further away may miss them. So the last offer
        counts, not the best.
        """
        self._foreseen, self._offer = -math.inf, self._split(matrix, ball_part, inside)
        if self._offer is not None:
            rest, held = self._offer
            self._foreseen = rest - self.part.support(held, certified=False)

    def certify(self) -> None:
        """Pay for the bound that was offered last, and is not paid for."""
        if self._offer is not None:
            rest, held = self._offer
            self.bound = max(self.bound, rest - self.part.support(held))
            self._foreseen, self._offer = -math.inf, None

    def lower_bound(self, matrix: Array, ball_part: Array, inside: NDArray[np.bool_] | None = None) -> None:
        """Offer a lower bound from P near ``matrix``, certified at once.

        G1 is ``ball_part`` where ``inside`` is False and the gradient itself where it is True: strictly within the box
        an optimum owes the box nothing, and an error costs less in the spectral norm of G1 than in the l1 norm of G2.
        Without a box G1 is all of the gradient, and with a free level it must sum to zero (``obmc.solvers.level``).
        """
        self._offer = self._split(matrix, ball_part, inside)
        self.certify()

    def _split(self, matrix: Array, ball_part: Array, inside: NDArray[np.bool_] | None) -> tuple[float, Array] | None:
        """The bound but for the support of the structured set, and the G1 that this is of; None where there is none."""
        cset = self.problem.cset
        point = matrix if self._convex_everywhere else cset.clip(matrix)
        if cset.alpha is None and self.problem.effects is not None:
            shift, _, found = best_shift(self.problem.loss, point.reshape(-1)[self.problem.omega.flat])
            if not found:
                self.unbounded = self._infimum == -math.inf
                return None
            point = point + shift
        gradient = self.problem.gradient(point)
        value = self.problem.objective(point) - float(np.vdot(gradient, point))
        if cset.alpha is None:
            return value, self.part.held(gradient)
        held = self.part.held(ball_part if inside is None else np.where(inside, gradient, ball_part))
        return value - cset.alpha * float(np.abs(gradient - held).sum()), held
