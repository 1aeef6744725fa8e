"""No dense matrix where it would not fit: what is allocated on the way from observations to a recommendation."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pandas as pd  # here, or its first import would be counted where a table is made first
import pytest
from solver_problems import Array

import obmc
from obmc.constraints import ConstraintSet
from obmc.links import Gaussian, Logistic
from obmc.mechanisms.base import Mechanism
from obmc.observations import Observations
from obmc.solvers.lowrank import FIRST_BLOCK

SHAPE = (6_000, 5_000)
DENSE = 8 * SHAPE[0] * SHAPE[1]
# The vectors over the entries and the blocks that are alive at one time, with their work space, and a public part (the
# Gram matrix of a bound, a chunk of entries) that does not grow with the problem.
VECTORS, BLOCKS, PUBLIC = 25, 12, 8_000_000


@contextmanager
def at_most(limit: float) -> Iterator[None]:
    """The block allocates at most so many bytes at one time."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= limit, f"{peak / 1e6:.1f} MB allocated, at most {limit / 1e6:.1f} MB expected"


def observed(n: int, seed: int = 0) -> Observations:
    rng = np.random.default_rng(seed)
    rows, cols = np.divmod(np.unique(rng.integers(0, SHAPE[0] * SHAPE[1], n)), SHAPE[1])
    pattern = np.sign(rng.standard_normal(SHAPE[0]))[rows] * np.sign(rng.standard_normal(SHAPE[1]))[cols]
    return Observations(rows, cols, np.where(rng.random(len(rows)) < 0.5 + 0.35 * pattern, 1, -1), SHAPE)


def proportional(n: int, width: int) -> float:
    """Bytes in proportion to n + (d1 + d2) width."""
    return 8.0 * (VECTORS * n + BLOCKS * sum(SHAPE) * width) + PUBLIC


TRAIN, TEST = observed(60_000), observed(2_000, 1)
CSET = ConstraintSet(400.0, 1.0)


def test_a_solve_and_all_that_is_asked_of_it() -> None:
    limit = proportional(len(TRAIN), 3 * FIRST_BLOCK)
    assert limit < DENSE / 4
    with at_most(limit):
        done = obmc.complete(TRAIN, Logistic(), CSET, tol=1e-3)
    assert done.solver == "factored"
    assert done.converged and done.gap <= 1e-3
    with at_most(DENSE / 20):
        entries = done.predict(TEST.rows, TEST.cols)
        assert np.abs(entries).max() <= 1.0
        assert done.probability(TEST.rows, TEST.cols) == pytest.approx(Logistic().probability(entries))
        assert len(done.top_n(17, 10, exclude=TRAIN.cols[TRAIN.rows == 17])) == 10
        assert obmc.metrics.sign_accuracy(done, TEST) > 0.0
        assert obmc.metrics.log_loss(done, TEST) > 0.0
        assert 0.0 < obmc.metrics.auc(done, TEST) < 1.0
        reliability = obmc.metrics.reliability(done, TEST)
        assert isinstance(reliability, pd.DataFrame) and len(reliability) > 0
        assert len(obmc.metrics.accuracy_by_activity(done, TRAIN, TEST)) > 0
        assert done.nuclear_norm <= 400.0 * (1.0 + 1e-9)
        assert done.rank() >= 1
    with at_most(DENSE / 2):  # by blocks of rows, four million entries each
        assert done.largest_entry <= 1.0
        assert 0.0 <= done.share_at_bound <= 1.0


def test_effects_are_not_spread_out_either() -> None:
    with at_most(proportional(len(TRAIN), 3 * FIRST_BLOCK)):
        release = obmc.Clear(effects=True).release(TRAIN, Logistic(), CSET, tol=1e-3)
        assert release.completion.predict([5], [7]).shape == (1,)


MECHANISMS: list[Callable[[], Mechanism]] = [
    lambda: obmc.InputPerturbation(epsilon=2.0),
    lambda: obmc.InputPerturbation(epsilon=2.0, calibration="paper"),
    lambda: obmc.InputPerturbationPlus(epsilon=2.0, tuning="rule"),
    lambda: obmc.ObjectivePerturbation(epsilon=2.0),
    lambda: obmc.GradientPerturbation(epsilon=2.0, iterations=3),
    lambda: obmc.OutputPerturbation(epsilon=2.0, calibration="paper"),
]


@pytest.mark.parametrize("link", [Logistic(), Gaussian(1.0)], ids=str)
@pytest.mark.parametrize("make", MECHANISMS)
def test_no_mechanism_forms_the_matrix(make: Callable[[], Mechanism], link: obmc.Logistic | obmc.Gaussian) -> None:
    """OutP's noise included, which is drawn for the entries that are asked for, and is the same at every asking."""
    mechanism = make()
    # A step of noise is of a rank that grows with the radius.
    cset = ConstraintSet(20.0, 1.0) if isinstance(mechanism, obmc.GradientPerturbation) else CSET
    with at_most(DENSE / 2):
        done = mechanism.release(TRAIN, link, cset, tol=1e-2, rng=3).completion
        entries: Array = done.predict(TEST.rows, TEST.cols)
        again = done.predict(TEST.rows[::-1], TEST.cols[::-1])[::-1]
        assert np.array_equal(entries, again)
        assert np.all(np.isfinite(entries))
        assert len(done.top_n(3, 5)) == 5
        assert 0.0 <= obmc.metrics.sign_accuracy(done, TEST) <= 1.0
