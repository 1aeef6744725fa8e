"""How good an estimate is: against the truth where it is known, against held-out signs where it is not."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from obmc.observations import Observations


class Predictor(Protocol):
    """What can be asked for entries: a ``Completion``, or a baseline."""

    def predict(self, rows: ArrayLike, cols: ArrayLike) -> NDArray[np.float64]: ...


def average_relative_error(estimate: Predictor | NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    """ARE = ||X - M||_F^2 / ||M||_F^2; a matrix of zeros scores 1.

    ``estimate`` is a completion or a matrix of the shape of ``truth``. ``ValueError`` for another shape or a truth of
    zeros. Source: paper, section 5.1.
    """
    matrix = np.asarray(getattr(estimate, "matrix", estimate), dtype=np.float64)
    if matrix.shape != truth.shape:
        raise ValueError(f"estimate must have the shape of truth, {truth.shape}, got {matrix.shape}.")
    size = float(np.sum(truth**2))
    if size == 0.0:
        raise ValueError("truth must not be all zeros: the relative error is not defined.")
    return float(np.sum((matrix - truth) ** 2)) / size


def sign_accuracy(done: Predictor, test: Observations) -> float:
    """The share of held-out entries whose sign the estimate has; an estimate of exactly 0 counts as +1.

    Source: paper, section 5.1 (Acc).
    """
    guess = np.where(done.predict(test.rows, test.cols) >= 0.0, 1, -1)
    return float(np.mean(guess == test.signs))


def majority_accuracy(train: Observations, test: Observations) -> float:
    """The sign accuracy of saying the training set's more frequent sign everywhere (+1 on a tie): the line to beat."""
    guess = 1 if train.positive_share >= 0.5 else -1
    return float(np.mean(test.signs == guess))
