"""Upper bounds of a spectral norm: never below it, close to it, and with the chance of failure said."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from obmc.solvers import spectral
from obmc.solvers.spectral import FAILURE, spectral_norm_bound


def made(shape: tuple[int, int], density: float, seed: int) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random(shape) < density, rng.standard_normal(shape), 0.0)
    return sparse.csr_array(dense), rng.standard_normal((shape[0], 3)), rng.standard_normal((shape[1], 3))


SHAPES = [(60, 80), (80, 60), (1, 40), (40, 1), (5, 300), (50, 50)]


@pytest.mark.parametrize("lanczos", [False, True])
@pytest.mark.parametrize("weight", [0.0, 0.3, 50.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_bound_is_above_the_norm_and_within_the_slack(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int], weight: float, lanczos: bool
) -> None:
    if lanczos:
        monkeypatch.setattr(spectral, "DENSE_SIDE", 0)
    for seed in range(5):
        matrix, left, right = made(shape, 0.3, seed)
        true = float(np.linalg.norm(matrix.toarray() + weight * left @ right.T, 2))
        for slack in (1.0 * true, 1e-3 * true, 0.0):
            bound = spectral_norm_bound(matrix, left, right, weight, slack)
            assert true * (1.0 - 1e-12) <= bound.value <= true + slack + 1e-9 * true
            # Only what may fail says so; a Krylov space that is exhausted holds the norm itself.
            assert bound.note == "" or (lanczos and f"{FAILURE:g}" in bound.note)


@pytest.mark.parametrize("shape", [(1, 20_000), (20, 20_000), (20_000, 20), (100, 20_000)])
def test_long_rows_round_upwards_too(shape: tuple[int, int]) -> None:
    """The norm of one full row is known: c sqrt(n), of which the sums of the Gram matrix round off as they grow."""
    long = max(shape)
    for value in (0.1, 0.3, 0.7):
        full = np.full(long, value)
        places = (np.zeros(long, dtype=np.int32), np.arange(long, dtype=np.int32))
        single = sparse.csr_array((full, places if shape[1] == long else places[::-1]), shape=shape)
        nothing = np.zeros((shape[0], 0)), np.zeros((shape[1], 0))
        bound = spectral_norm_bound(single, *nothing)
        assert value * math.sqrt(long) <= bound.value <= value * math.sqrt(long) * (1.0 + 1e-10)
        assert bound.note == ""


def test_few_steps_give_a_looser_bound_that_still_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Ritz value after few steps lies clearly below the norm; the bound made of it does not."""
    monkeypatch.setattr(spectral, "DENSE_SIDE", 0)
    below = 0
    for seed in range(30):
        matrix, left, right = made((300, 300), 0.05, seed)
        true = float(np.linalg.norm(matrix.toarray(), 2))
        bound = spectral_norm_bound(matrix, left, right, 0.0, math.inf)
        assert true <= bound.value <= 2.0 * true
        assert "fails with probability" in bound.note
        # What the same number of steps says from below.
        steps = math.ceil(0.5 * (math.log(1.648 * math.sqrt(300) / FAILURE) / math.sqrt(0.5) + 1.0) / 10.0) * 10
        ritz = ritz_value(matrix, steps)
        below += ritz < true * (1.0 - 1e-6)
    assert below > 0


def ritz_value(matrix: sparse.csr_array, steps: int) -> float:
    basis = np.random.default_rng(0).standard_normal((matrix.shape[0], 1))
    for _ in range(steps - 1):
        basis = np.linalg.qr(np.hstack([basis, matrix @ (matrix.T @ basis[:, -1:])]))[0]
    return float(np.linalg.norm(matrix.T @ basis, 2))


@pytest.mark.parametrize("lanczos", [False, True])
def test_a_matrix_of_zeros_and_one_of_a_single_entry(monkeypatch: pytest.MonkeyPatch, lanczos: bool) -> None:
    if lanczos:
        monkeypatch.setattr(spectral, "DENSE_SIDE", 0)
    nothing = np.zeros((30, 0)), np.zeros((50, 0))
    assert spectral_norm_bound(sparse.csr_array((30, 50)), *nothing).value == 0.0
    single = sparse.csr_array((np.array([-7.0]), (np.array([3]), np.array([4]))), shape=(30, 50))
    assert spectral_norm_bound(single, *nothing).value == pytest.approx(7.0, rel=1e-9)
