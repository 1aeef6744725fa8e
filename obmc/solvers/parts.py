"""The structured side of the splitting: a matrix in the nuclear-norm ball, or one with user and item effects.

Both offer the solver the same three things: the proximal step Z, the support function that a certificate needs, and the
way from an iterate to a feasible matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from obmc.constraints import ConstraintSet, NuclearProjector, nuclear_norm, spectral_norm

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Effects:
    """mu + b_i + c_j: a general level, what a user likes on the whole, and how an item is liked on the whole.

    ``level`` mu; ``rows`` b, shape (d1,); ``cols`` c, shape (d2,).
    """

    level: float
    rows: Array
    cols: Array

    def at(self, rows: NDArray[Any], cols: NDArray[Any]) -> Array:
        """mu + b_i + c_j at the given positions."""
        return self.level + self.rows[rows] + self.cols[cols]

    def dense(self) -> Array:
        """The matrix of effects, shape (d1, d2)."""
        return self.level + self.rows[:, None] + self.cols[None, :]

    @property
    def squares(self) -> float:
        """|b|^2 + |c|^2, what the ridge penalises."""
        return float(self.rows @ self.rows + self.cols @ self.cols)

    def scaled(self, factor: float) -> Effects:
        """All effects times a factor."""
        return Effects(self.level * factor, self.rows * factor, self.cols * factor)


@dataclass(frozen=True, eq=False)
class Feasible:
    """A matrix within the constraints, its penalty, and its effects where the model has them."""

    matrix: Array
    penalty: float = 0.0
    effects: Effects | None = None


class Part(Protocol):
    """What a solver asks of the structured side."""

    @property
    def decompositions(self) -> int: ...

    @property
    def penalty(self) -> float:
        """The penalty of the last step's matrix."""

    def step(self, target: Array, rho: float) -> Array:
        """The proximal step: the structured matrix nearest to ``target``."""

    def held(self, direction: Array) -> Array:
        """The part of a direction that the structured set can hold, where its support is finite: a G1."""

    def support(self, direction: Array, certified: bool = True) -> float:
        """An upper bound of sup over the structured set of <-G1, S> - penalty(S), for a G1 = ``held(G1)``.

        Not ``certified``: an estimate from below, by the singular subspace of the last step.
        """

    def feasible(self, z: Array, exact: bool) -> Feasible:
        """A matrix within ball and box near the iterate ``z``."""

    def other_way(self, z: Array, exact: bool) -> Feasible | None:
        """Another one, further away or much nearer; None where there is one way only."""


def _largest_value(projector: NuclearProjector, matrix: Array, certified: bool) -> float:
    """||A||_2 from above, or not ``certified`` and from below by what the projector's last step left."""
    return spectral_norm(matrix) if certified else projector.leading_value(matrix)


class BallPart:
    """||X||_* <= tau."""

    def __init__(self, cset: ConstraintSet, shape: tuple[int, int]) -> None:
        self.cset = cset
        self._projector = NuclearProjector(cset.tau, shape, approximate=True)
        # A box bounds the nuclear norm too: ||X||_* <= sqrt(rank) ||X||_F, rounded up.
        widest = math.inf if cset.alpha is None else cset.alpha * math.sqrt(shape[0] * shape[1] * min(shape))
        self._reach = min(cset.tau, widest * (1.0 + 1e-15))

    @property
    def decompositions(self) -> int:
        return self._projector.decompositions

    @property
    def penalty(self) -> float:
        return 0.0

    def step(self, target: Array, rho: float) -> Array:
        return self._projector.project(target)

    def held(self, direction: Array) -> Array:
        return direction

    def support(self, direction: Array, certified: bool = True) -> float:
        return self._reach * _largest_value(self._projector, direction, certified)

    def feasible(self, z: Array, exact: bool) -> Feasible:
        point = self.cset.clip(z)
        norm = nuclear_norm(point, exact=exact)
        return Feasible(point * (self.cset.tau / norm) if norm > self.cset.tau else point)

    def other_way(self, z: Array, exact: bool) -> None:
        return None


class EffectsPart:
    """S = mu + b 1' + 1 c' + L, ||L||_* <= tau, with the penalty ridge/2 (|b|^2 + |c|^2); ``low_rank=False``: L = 0.

    The step alternates once between the effects (closed form: shrunken row and column means of what L leaves) and L
    (the projection of what the effects leave). That is the exact step of a proximal ADMM, whose extra term
    rho/2 ||L - L_before||^2 in the seminorm of the shrinkage vanishes at the fixed point.
    """

    def __init__(self, cset: ConstraintSet, shape: tuple[int, int], ridge: float, low_rank: bool) -> None:
        self.cset = cset
        self.ridge = ridge
        self.low_rank = low_rank
        self._projector = NuclearProjector(cset.tau, shape, approximate=True)
        self._low_rank: Array = np.zeros(shape)
        self._effects = Effects(0.0, np.zeros(shape[0]), np.zeros(shape[1]))

    @property
    def decompositions(self) -> int:
        return self._projector.decompositions

    @property
    def penalty(self) -> float:
        return 0.5 * self.ridge * self._effects.squares

    def step(self, target: Array, rho: float) -> Array:
        rest = target - self._low_rank if self.low_rank else target
        level = float(rest.mean())
        d1, d2 = rest.shape
        # Both centred means are orthogonal, so each is shrunk by itself: rho d/(rho d + ridge).
        rows = (rest.mean(axis=1) - level) * (rho * d2 / (rho * d2 + self.ridge))
        cols = (rest.mean(axis=0) - level) * (rho * d1 / (rho * d1 + self.ridge))
        self._effects = Effects(level, rows, cols)
        effects = self._effects.dense()
        if not self.low_rank:
            return effects
        self._low_rank = self._projector.project(target - effects)
        return effects + self._low_rank

    def held(self, direction: Array) -> Array:
        # The level is free, so G1 must have mean zero; what is taken off moves to the box's part.
        return direction - direction.mean()

    def support(self, direction: Array, certified: bool = True) -> float:
        sums = direction.sum(axis=1), direction.sum(axis=0)
        value = float(sums[0] @ sums[0] + sums[1] @ sums[1]) / (2.0 * self.ridge)
        return value + (self.cset.tau * _largest_value(self._projector, direction, certified) if self.low_rank else 0.0)

    def feasible(self, z: Array, exact: bool) -> Feasible:
        effects, cset = self._effects, self.cset
        base = effects.dense()
        if cset.alpha is None or float(np.abs(base).max()) <= cset.alpha:
            return self._mixed(effects, base, z, exact)
        if not self.low_rank:
            return self._shrunk(z, exact)
        share = self._share(cset.clip(z) - base, exact)
        effects = effects.scaled(share)
        return Feasible(share * cset.clip(z), 0.5 * self.ridge * effects.squares, effects)

    def other_way(self, z: Array, exact: bool) -> Feasible | None:
        # What leaves the box by little need not cost the low-rank part anything, whose share may be tiny.
        alpha = self.cset.alpha
        leaves = alpha is not None and self.low_rank and float(np.abs(self._effects.dense()).max()) > alpha
        return self._shrunk(z, exact) if leaves else None

    def _shrunk(self, z: Array, exact: bool) -> Feasible:
        """The effects shrunk into the box, which they leave, and mixed with the iterate."""
        assert self.cset.alpha is not None
        effects = self._effects.scaled(self.cset.alpha / float(np.abs(self._effects.dense()).max()))
        return self._mixed(effects, self.cset.clip(effects.dense()), z, exact)

    def _mixed(self, effects: Effects, base: Array, z: Array, exact: bool) -> Feasible:
        """E + s (clip(Z) - E): E and clip(Z) both lie in the box, so every mixture does."""
        point = base
        if self.low_rank:
            rest = self.cset.clip(z) - base
            point = base + self._share(rest, exact) * rest
        return Feasible(point, 0.5 * self.ridge * effects.squares, effects)

    def _share(self, rest: Array, exact: bool) -> float:
        """How much of a matrix lies in the ball."""
        norm = nuclear_norm(rest, exact=exact)
        return min(1.0, self.cset.tau / norm) if norm > 0.0 else 1.0
