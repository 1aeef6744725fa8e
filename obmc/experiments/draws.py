"""The data of a run: a draw of a synthetic problem, or a real data set's split, made from its description."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obmc.datasets.registry import RatedItems, load, splits_at_random
from obmc.datasets.synthetic import synthetic
from obmc.experiments.seeds import data_seed, side_seed
from obmc.experiments.sweep import SYNTHETIC, DrawSpec, InMemory
from obmc.lazy import lazy_property
from obmc.observations import Observations
from obmc.solvers import Completion


class Draw:
    """What mechanisms see and what they are measured against, and the one solve that several of them share.

    Attributes
    ----------
    train
        The observations.
    truth
        The matrix they were drawn from, shape (d1, d2); None where nobody knows it.
    test
        Held-out observations; None where there are none.
    """

    def __init__(self, spec: DrawSpec) -> None:
        self._spec = spec
        self._solution: tuple[Any, Completion] | None = None
        self.truth: NDArray[np.float64] | None = None
        self._held_out: Observations | None = None
        rng = data_seed(spec.seed, spec.repetition)
        if spec.dataset == SYNTHETIC:
            bound = 1.0 if spec.alpha is None else spec.alpha
            problem = synthetic(spec.shape, spec.rank, bound, spec.ratio, spec.link, rng)
            self.train, self.truth = problem.observations, problem.truth
            return
        if isinstance(spec.dataset, InMemory):
            self.train, self._held_out, self.truth = spec.dataset.train, spec.dataset.test, spec.dataset.truth
        else:
            at_random = splits_at_random(spec.dataset)
            data = load(spec.dataset, rng=rng) if at_random else _published(spec.dataset, spec.fold)
            self.train, self._held_out = data.train, data.test
        if spec.ratio < 1.0:
            self.train = _share(self.train, spec.ratio, side_seed("share", spec.seed, spec.repetition))

    @lazy_property
    def test(self) -> Observations | None:
        """Held-out observations. Of a synthetic problem: one fresh sign for each entry that was not observed."""
        if self.truth is None or self._held_out is not None:
            return self._held_out
        unobserved = np.ones(self.truth.shape, dtype=bool)
        unobserved[self.train.rows, self.train.cols] = False
        rows, cols = np.nonzero(unobserved)
        if len(rows) == 0:
            return None
        rng = np.random.default_rng(side_seed("test", self._spec.seed, self._spec.repetition))
        chance = self._spec.link.probability(self.truth[rows, cols])
        signs = np.where(rng.random(self.truth.shape)[rows, cols] < chance, 1, -1)
        return Observations(rows, cols, signs, self.train.shape)

    def solution(self, key: Any, solve: Callable[[], Completion]) -> Completion:
        """What ``solve`` returns, computed once for all that ask for ``key`` one after the other."""
        if self._solution is None or self._solution[0] != key:
            self._solution = (key, solve())
        return self._solution[1]


def find_draw(spec: DrawSpec) -> Draw:
    """The draw of this description: kept from the run before where it is public, made anew for data in memory.

    All draws of a whole published split are one, and so is what was solved on it.
    """
    if isinstance(spec.dataset, InMemory):
        return Draw(spec)
    same = spec.dataset != SYNTHETIC and not splits_at_random(spec.dataset) and spec.ratio >= 1.0
    return _kept(replace(spec, seed=0, repetition=0) if same else spec)


@lru_cache(maxsize=3)
def _kept(spec: DrawSpec) -> Draw:
    return Draw(spec)


@lru_cache(maxsize=1)
def _published(name: str, fold: int) -> RatedItems:
    return load(name, fold=fold)


def _share(train: Observations, ratio: float, seed: int) -> Observations:
    """``ratio`` of the observations, at least one; with one seed, a smaller share is part of a larger one."""
    size = max(round(ratio * len(train)), 1)
    keep = np.zeros(len(train), dtype=bool)
    keep[np.random.default_rng(seed).permutation(len(train))[:size]] = True
    return train.take(keep)
