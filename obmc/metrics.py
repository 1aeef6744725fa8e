"""How good an estimate is: against the truth where it is known, against held-out signs where it is not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from obmc.errors import check_choice, check_integer, check_numbers
from obmc.links import Link
from obmc.observations import Observations

# At run time pandas comes where it is used: it is most of the time that ``import obmc`` would take.
if TYPE_CHECKING:
    import pandas as pd


# An estimate this close to 0 is 0 to rounding, in the unit of the matrix: an entry of which nothing was learnt.
_ROUNDING = 1e-12


class Predictor(Protocol):
    """What can be asked for entries: a ``Completion``, or a baseline."""

    def predict(self, rows: ArrayLike, cols: ArrayLike) -> NDArray[np.float64]:
        """The entries at (rows[k], cols[k]), shape (n,)."""


class ProbabilisticPredictor(Predictor, Protocol):
    """A predictor whose entries a link turns into probabilities."""

    @property
    def link(self) -> Link:
        """h, with h(entry) the probability of a +1."""


def average_relative_error(estimate: Predictor | NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    """ARE = ||X - M||_F^2 / ||M||_F^2; a matrix of zeros scores 1.

    ``estimate`` is a completion or a matrix of the shape of ``truth``. ``ValueError`` for another shape or a truth of
    zeros. Source: paper, section 5.1.
    """
    right = check_numbers("truth", truth, dimensions=2)
    matrix = check_numbers("estimate", getattr(estimate, "matrix", estimate), dimensions=2)
    if matrix.shape != right.shape:
        raise ValueError(f"estimate must have the shape of truth, {right.shape}, got {matrix.shape}.")
    size = float(np.sum(right**2))
    if size == 0.0:
        raise ValueError("truth must not be all zeros: the relative error is not defined.")
    return float(np.sum((matrix - right) ** 2)) / size


def _predicted(done: Predictor, test: Observations) -> NDArray[np.float64]:
    """The entries at the held-out positions; ``ValueError`` where a completion does not know them all."""
    if not hasattr(done, "predict"):
        raise ValueError(
            f"done must be a completion or a baseline, which predicts entries, got a {type(done).__name__}; of a "
            "release that is its .completion."
        )
    entries = done.predict(test.rows, test.cols)
    unknown = int(np.count_nonzero(np.isnan(entries)))
    if unknown:
        raise ValueError(
            f"test must hold entries that the completion knows, and {unknown:,} of its {len(test):,} are unknown: only "
            "the named ones were answered."
        )
    return entries


def _learnt(done: Predictor, test: Observations) -> NDArray[np.float64]:
    """These entries with rounding errors around 0 set to 0: neither their signs nor their order say anything."""
    entries = _predicted(done, test)
    return np.where(np.abs(entries) <= _ROUNDING, 0.0, entries)


def _right(done: Predictor, test: Observations) -> NDArray[np.bool_]:
    """Where the estimate has the held-out sign."""
    return (_learnt(done, test) >= 0.0) == (test.signs > 0)


def sign_accuracy(done: Predictor, test: Observations) -> float:
    """The share of held-out entries whose sign the estimate has; an estimate of 0, to rounding, counts as +1.

    Source: paper, section 5.1 (Acc).
    """
    return float(np.mean(_right(done, test)))


def majority_accuracy(train: Observations, test: Observations) -> float:
    """The sign accuracy of saying the training set's more frequent sign everywhere (+1 on a tie): the line to beat."""
    guess = 1 if train.positive_share >= 0.5 else -1
    return float(np.mean(test.signs == guess))


def log_loss(done: ProbabilisticPredictor, test: Observations) -> float:
    """The mean negative log-likelihood of the held-out signs under the estimated probabilities, in nats per rating.

    0.693 = log 2 is what a probability of one half everywhere scores; overconfident estimates score worse than that.
    """
    entries = _predicted(done, test)
    return float(-np.mean(done.link.log_probability(test.signs * entries)))


def auc(done: Predictor, test: Observations) -> float:
    """The area under the ROC curve: the chance that a held-out +1 has a larger entry than a held-out -1, ties half.

    ``nan`` where the test set has one class only. By ranks: (sum of the ranks of the +1 - m (m + 1) / 2) / (m k) for m
    positives and k negatives (Mann and Whitney 1947).
    """
    import pandas as pd

    positive = test.signs > 0
    count, rest = int(positive.sum()), int(len(test) - positive.sum())
    if count == 0 or rest == 0:
        return math.nan
    ranks = pd.Series(_learnt(done, test)).rank().to_numpy()
    return float((ranks[positive].sum() - count * (count + 1) / 2.0) / (count * rest))


def reliability(done: ProbabilisticPredictor, test: Observations, bins: int = 10) -> pd.DataFrame:
    """How often a +1 follows where the estimate says a probability: the calibration table.

    Parameters
    ----------
    done
        A completion.
    test
        Held-out observations.
    bins
        Number of equally wide intervals of [0, 1], at least 2. Empty ones are left out.

    Returns
    -------
    A row per interval: ``low``, ``high``, ``count``, ``predicted`` (mean probability), ``observed`` (share of +1) and
    ``standard_error`` of that share, sqrt(observed (1 - observed) / count).

    Raises ``ValueError`` naming the argument that is out of its range.
    """
    import pandas as pd

    number = check_integer("bins", bins, low=2)
    probability = done.link.probability(_predicted(done, test))
    place = np.minimum((probability * number).astype(np.int64), number - 1)
    count = np.bincount(place, minlength=number)
    kept = count > 0
    share = np.bincount(place, weights=test.signs > 0, minlength=number)[kept] / count[kept]
    edges = np.arange(number + 1) / number
    return pd.DataFrame(
        {
            "low": edges[:-1][kept],
            "high": edges[1:][kept],
            "count": count[kept],
            "predicted": np.bincount(place, weights=probability, minlength=number)[kept] / count[kept],
            "observed": share,
            "standard_error": np.sqrt(share * (1.0 - share) / count[kept]),
        }
    )


def accuracy_by_activity(
    done: Predictor, train: Observations, test: Observations, by: str = "user", groups: int = 5
) -> pd.DataFrame:
    """Sign accuracy by how many training ratings the user (or item) of a held-out rating has.

    Parameters
    ----------
    done, train, test
        A completion and the two parts of the data.
    by
        "user" (activity) or "item" (popularity).
    groups
        Number of groups of about equally many held-out ratings, at least 1; equal counts are never torn apart.

    Returns
    -------
    A row per group: ``fewest`` and ``most`` training ratings, ``count`` of held-out ratings, ``accuracy`` and its
    ``standard_error``.

    Raises ``ValueError`` naming the argument that is out of its range.
    """
    import pandas as pd

    check_choice("by", by, ("user", "item"))
    number = check_integer("groups", groups, low=1)
    side = 0 if by == "user" else 1
    seen = np.bincount((train.rows, train.cols)[side], minlength=train.shape[side])
    known = seen[(test.rows, test.cols)[side]]
    right = _right(done, test)
    starts = np.unique(np.quantile(known, np.arange(number) / number, method="higher"))
    place = np.searchsorted(starts, known, side="right")
    table = pd.DataFrame({"group": place, "known": known, "right": right}).groupby("group")
    accuracy = table["right"].mean()
    count = table.size()
    return pd.DataFrame(
        {
            "fewest": table["known"].min(),
            "most": table["known"].max(),
            "count": count,
            "accuracy": accuracy,
            "standard_error": np.sqrt(accuracy * (1.0 - accuracy) / count),
        }
    ).reset_index(drop=True)
