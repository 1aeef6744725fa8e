"""Synthetic problems: the model of the paper, and streams that make results comparable in pairs."""

from __future__ import annotations

import numpy as np
import pytest

from obmc.datasets import synthetic
from obmc.links import Gaussian, Logistic


@pytest.mark.parametrize(("rank", "alpha"), [(1, 1.0), (3, 0.7), (5, 13.0)])
def test_truth_has_the_rank_and_the_largest_entry_asked_for(rank: int, alpha: float) -> None:
    truth = synthetic(shape=(40, 30), rank=rank, alpha=alpha, ratio=0.5, rng=1).truth
    assert truth.shape == (40, 30)
    assert np.abs(truth).max() == alpha
    values = np.linalg.svd(truth, compute_uv=False)
    assert values[rank - 1] > 1e-3 * values[0]
    assert values[rank] < 1e-12 * values[0]


def test_truth_is_scaled_by_the_largest_absolute_entry_even_where_that_entry_is_negative() -> None:
    truths = [synthetic(shape=(6, 5), ratio=1.0, rng=seed).truth for seed in range(20)]
    assert any(truth.min() == -1.0 and truth.max() < 1.0 for truth in truths)
    assert all(np.abs(truth).max() == 1.0 for truth in truths)


def test_factors_are_uniform_so_that_entries_have_the_moments_of_a_product_of_uniforms() -> None:
    # For rank 1 the entries are a_i b_j up to one factor; u = a_i / max|a| is uniform on [-1, 1], with E u^2 = 1/3.
    truth = synthetic(shape=(4000, 3), ratio=0.01, rng=2).truth
    column = truth[:, 0] / np.abs(truth[:, 0]).max()
    assert abs(np.mean(column**2) - 1 / 3) < 0.02
    assert abs(np.mean(column**4) - 1 / 5) < 0.02
    assert abs(np.mean(column)) < 0.03


@pytest.mark.parametrize("link", [Logistic(), Gaussian(0.5)])
def test_signs_follow_the_link(link: Logistic | Gaussian) -> None:
    problem = synthetic(shape=(300, 300), rank=1, alpha=2.0, ratio=1.0, link=link, rng=3)
    positive = problem.observations.to_dense() > 0
    for low, high in ((-2.0, -1.0), (-0.5, 0.0), (0.2, 0.4), (0.8, 2.0)):
        cells = (problem.truth > low) & (problem.truth < high)
        expected = link.probability(problem.truth[cells])
        spread = np.sqrt(np.sum(expected * (1.0 - expected))) / cells.sum()
        assert abs(positive[cells].mean() - expected.mean()) < 4.0 * spread


def test_every_entry_is_observed_independently_with_probability_ratio() -> None:
    counts = [len(synthetic(shape=(50, 40), ratio=0.15, rng=seed).observations) for seed in range(200)]
    mean, variance = 2000 * 0.15, 2000 * 0.15 * 0.85
    assert abs(np.mean(counts) - mean) < 4.0 * np.sqrt(variance / 200)
    assert 0.6 < np.var(counts) / variance < 1.5  # a fixed number of observations would have variance 0


def test_a_full_ratio_observes_everything_once() -> None:
    observations = synthetic(shape=(7, 9), ratio=1.0, rng=0).observations
    assert len(observations) == 63
    assert observations.shape == (7, 9)


def test_another_ratio_keeps_the_truth_and_nests_the_observations() -> None:
    few = synthetic(ratio=0.15, rng=11)
    many = synthetic(ratio=0.5, rng=11)
    np.testing.assert_array_equal(few.truth, many.truth)
    sparse, dense = few.observations.to_dense(), many.observations.to_dense()
    observed = sparse != 0
    assert 0 < observed.sum() < (dense != 0).sum()
    np.testing.assert_array_equal(sparse[observed], dense[observed])


def test_another_link_keeps_truth_and_entries() -> None:
    logistic = synthetic(link=Logistic(), rng=4)
    gaussian = synthetic(link=Gaussian(0.3), rng=4)
    np.testing.assert_array_equal(logistic.truth, gaussian.truth)
    np.testing.assert_array_equal(logistic.observations.rows, gaussian.observations.rows)
    assert not np.array_equal(logistic.observations.signs, gaussian.observations.signs)


def test_a_seed_repeats_and_another_seed_or_the_next_draw_of_a_generator_differs() -> None:
    first, again, other = (synthetic(rng=seed) for seed in (5, 5, 6))
    assert first.observations.fingerprint() == again.observations.fingerprint()
    np.testing.assert_array_equal(first.truth, again.truth)
    assert not np.array_equal(first.truth, other.truth)
    generator = np.random.default_rng(5)
    np.testing.assert_array_equal(synthetic(rng=generator).truth, first.truth)
    assert not np.array_equal(synthetic(rng=generator).truth, first.truth)


def test_the_link_is_logistic_unless_given() -> None:
    assert synthetic(rng=0).link == Logistic()
    assert synthetic(rng=0).observations.fingerprint() == synthetic(link=Logistic(), rng=0).observations.fingerprint()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"shape": (0, 5)}, r"shape\[0\] must be a whole number of at least 1"),
        ({"shape": 100}, "shape must be a pair"),
        ({"shape": (10, 2.5)}, r"shape\[1\] must be a whole number"),
        ({"shape": (100_000, 100_000)}, "shape must hold at most 50,000,000 entries"),
        ({"shape": (10, 4), "rank": 5}, "rank must be a whole number from 1 to 4"),
        ({"rank": 0}, "rank must be a whole number from 1 to 100"),
        ({"alpha": 0.0}, "alpha must be a finite number above 0"),
        ({"alpha": float("nan")}, "alpha must be a finite number above 0"),
        ({"alpha": float("inf")}, "alpha must be a finite number above 0"),
        ({"ratio": 0.0}, "ratio must be a finite number above 0 and at most 1"),
        ({"ratio": 1.01}, "ratio must be a finite number above 0 and at most 1"),
        ({"ratio": 1e-9}, "ratio must be large enough to observe an entry of the 100 x 100 matrix"),
        ({"rng": -1}, "rng must be a numpy Generator or a whole number of at least 0"),
        ({"rng": None}, "rng must be a numpy Generator or a whole number of at least 0"),
    ],
)
def test_bad_input_is_named(arguments: dict, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        synthetic(**arguments)
