"""Synthetic problems: a known low-rank matrix and one-bit observations of some of its entries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from obmc.errors import check_integer, check_number, check_shape
from obmc.links import Link, Logistic
from obmc.observations import Observations, as_generator

MAX_ENTRIES = 50_000_000


@dataclass(frozen=True, eq=False)
class SyntheticProblem:
    """A truth M, shape (d1, d2), and observations Y of it through ``link``."""

    truth: NDArray[np.float64]
    observations: Observations
    link: Link


def synthetic(
    shape: tuple[int, int] = (100, 100),
    rank: int = 1,
    alpha: float = 1.0,
    ratio: float = 0.15,
    link: Link | None = None,
    rng: int | np.random.Generator = 0,
) -> SyntheticProblem:
    """M = alpha A B^T / max|A B^T|, and Y_ij = +1 with probability h(M_ij), else -1, on a random Omega.

    The entries of A, shape (d1, r), and of B, shape (d2, r), are uniform on [-1/2, 1/2], and every entry of M belongs
    to Omega independently with probability ``ratio``. (The paper divides by max M, which bounds the largest entry but
    not the most negative one; max|M| gives the bound alpha that the method asks for.)

    Truth, Omega and noise come from three independent streams of ``rng``, and an entry is observed where its own
    uniform number lies below ``ratio``. So with one seed another ratio has the same truth, the observations of a
    smaller ratio are among those of a larger one with the same signs, and another link sees the same truth and Omega:
    results over a grid of these can be compared in pairs.

    Parameters
    ----------
    shape
        (d1, d2), each at least 1, at most 50 million entries in all, since the truth is a dense matrix.
    rank
        r, from 1 to min(d1, d2).
    alpha
        The largest absolute entry of M, above 0 and at most 1,000.
    ratio
        Probability that an entry is observed, above 0 and at most 1.
    link
        The link h; the logistic one if none is given.
    rng
        Seed or generator.

    Raises
    ------
    ValueError
        Naming the argument that is out of range; also if ``ratio`` happens to observe nothing.

    Source: paper, numerical experiments, synthetic data.
    """
    size = check_shape("shape", shape, entries=MAX_ENTRIES)
    order = check_integer("rank", rank, low=1, high=min(size))
    bound = check_number("alpha", alpha, low=0.0, high=1e3, open_low=True)
    share = check_number("ratio", ratio, low=0.0, high=1.0, open_low=True)
    h = Logistic() if link is None else link

    for_truth, for_omega, for_noise = as_generator(rng).spawn(3)
    product = for_truth.uniform(-0.5, 0.5, (size[0], order)) @ for_truth.uniform(-0.5, 0.5, (order, size[1]))
    # Divided first: then the largest entry is exactly alpha, where alpha / max|AB^T| times it could round above.
    truth = product / np.abs(product).max() * bound

    rows, cols = np.nonzero(for_omega.random(size) < share)
    if len(rows) == 0:
        raise ValueError(
            f"ratio must be large enough to observe an entry of the {size[0]} x {size[1]} matrix, {ratio!r} does not."
        )
    noise = for_noise.random(size)[rows, cols]
    signs = np.where(noise < h.probability(truth[rows, cols]), 1, -1)
    return SyntheticProblem(truth, Observations(rows, cols, signs, size), h)
