"""Upper bounds of the spectral norm of a sparse (plus low-rank) matrix: what a certificate may rely on.

A Ritz value is a lower bound and would overstate the certificate. Where the smaller Gram matrix fits, its largest
eigenvalue is the norm. Where not, Lanczos from a random start gives a bound that fails with a stated probability:

    P( lambda_1 > ritz / (1 - e) ) <= 1.648 sqrt(d) exp(-sqrt(e) (2 q - 1))   after q steps

(Kuczynski and Wozniakowski 1992, for a positive semidefinite matrix of order d and a uniformly distributed start).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigvalsh_tridiagonal

from obmc.constraints import rounded_up, spectral_norm

Array = NDArray[np.float64]

DENSE_SIDE = 1_300
DENSE_ENTRIES = 25_000_000
FAILURE = 1e-6
MOST_STEPS = 400
TRY_EVERY = 10


@dataclass(frozen=True)
class Bound:
    """An upper bound of the norm and what to say about it ("" where it is certain)."""

    value: float
    note: str = ""


def spectral_norm_bound(
    matrix: sparse.csr_array, left: Array, right: Array, weight: float = 0.0, slack: float = 0.0
) -> Bound:
    """A bound of ||G + weight left right'||_2 from above, at most about ``slack`` above it where that is possible.

    Parameters
    ----------
    matrix
        G, sparse, shape (d1, d2).
    left, right, weight
        A low-rank part; ``weight`` 0 leaves it out.
    slack
        How much above the norm the bound may lie, in its unit.
    """
    side = min(matrix.shape)
    if side <= DENSE_SIDE and (not weight or matrix.shape[0] * matrix.shape[1] <= DENSE_ENTRIES):
        if weight:
            return Bound(spectral_norm(matrix.toarray() + weight * (left @ right.T)))
        gram = (matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix).toarray()
        return Bound(math.sqrt(max(float(np.linalg.eigvalsh(gram)[-1]), 0.0)) * rounded_up(matrix.shape))
    # Made once: every new view of a sparse matrix is checked index by index.
    transposed = matrix.T
    wide, tall, near, far = matrix, transposed, left, right
    if matrix.shape[0] > matrix.shape[1]:
        wide, tall, near, far = transposed, matrix, right, left

    def gram_times(vector: Array) -> Array:
        across = tall @ vector
        if weight:
            across += weight * (far @ (near.T @ vector))
        image: Array = wide @ across
        if weight:
            image += weight * (near @ (far.T @ across))
        return image

    most = min(MOST_STEPS, side)
    # The number of steps is chosen by what they give, so that the chance is shared among all numbers it is tried at.
    tries = most // TRY_EVERY + 1
    constant = math.log(1.648 * math.sqrt(side) * tries / FAILURE)
    basis = np.zeros((most, side))
    diagonal, off = np.zeros(most), np.zeros(most)
    # The randomness is the bound's own: it decides nothing but the small chance that it fails. Hence a fixed seed.
    vector = np.random.default_rng(0).standard_normal(side)
    vector /= float(np.linalg.norm(vector))
    for step in range(1, most + 1):
        basis[step - 1] = vector
        image = gram_times(vector)
        diagonal[step - 1] = float(image @ vector)
        image -= diagonal[step - 1] * vector
        if step > 1:
            image -= off[step - 2] * basis[step - 2]
        # And once more against all before: the theorem is about exact arithmetic.
        image -= basis[:step].T @ (basis[:step] @ image)
        size = float(np.linalg.norm(image))
        error = (constant / (2 * step - 1)) ** 2
        exhausted = step == side or size <= 1e-14 * max(float(diagonal[:step].max()), 1e-300)
        if exhausted or step == most or (step % TRY_EVERY == 0 and error < 0.5):
            ritz = max(float(eigvalsh_tridiagonal(diagonal[:step], off[: step - 1])[-1]), 0.0)
            if exhausted:
                return Bound(math.sqrt(ritz) * rounded_up(matrix.shape))
            if step == most or math.sqrt(ritz) * (1.0 / math.sqrt(1.0 - error) - 1.0) <= slack:
                break
        off[step - 1] = size
        vector = image / size
    note = f"; each bound of a spectral norm in it fails with probability at most {FAILURE:g}"
    return Bound(math.sqrt(ritz / (1.0 - error)), note)
