"""Exploring one's own ratings: the trade-off on a part of them kept for testing, as a sweep. For the owner's eyes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from obmc.datasets.ratings_table import RatingsTable
from obmc.experiments.mechanisms import MAJORITY, MechanismSpec
from obmc.experiments.sweep import InMemory, Sweep
from obmc.offers import OFFERS, Offer
from obmc.plan import REAL_METRICS, curves_of, key_of
from obmc.release import solver_for
from obmc.single import Setting
from obmc.summary import MAJORITY_LABEL

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
TOLERANCE = 1e-3
# What every mechanism is compared with, beside the majority class.
_LINES = ("clear", "clear-effects")


@dataclass(frozen=True, eq=False)
class Exploration:
    """A sweep over somebody's ratings.

    Attributes
    ----------
    sweep
        What is to be computed. Its data are private: no store and no other visitor may see them.
    labels
        What its curves are called, by mechanism, calibration and options as the rows have them.
    """

    sweep: Sweep
    labels: dict[tuple[str, str, str], str]

    @property
    def is_large(self) -> bool:
        """Whether the matrix is too large to be solved densely, so that curves that need it are left out."""
        return self.sweep.solver == "factored"


def explore(
    table: RatingsTable,
    threshold: float | str,
    setting: Setting,
    offers: Iterable[Offer],
    calibration: str,
    share: float,
    draws: int,
) -> Exploration:
    """The sweep of these mechanisms over the ratings, a ``share`` of which is kept for testing.

    Parameters
    ----------
    table, threshold
        The ratings, and above what a rating is +1.
    setting
        Noise model, constraints and seed.
    offers, calibration
        The mechanisms.
    share
        In (0, 1), drawn by the setting's seed.
    draws
        Of the noise, on one split.

    Raises ``RatingsError`` or ``ValueError`` naming what is out of its range.
    """
    test, train = table.binarize(threshold).split(share, setting.seed)
    solver = solver_for(train.shape)
    curves = curves_of((*(OFFERS[key] for key in _LINES), *offers), (calibration,))
    if solver == "factored":
        curves = tuple(curve for curve in curves if not dict(curve.spec.options).get("postprocess"))
    majority = MechanismSpec(MAJORITY)
    sweep = setting.sweep(
        [*(curve.spec for curve in curves), majority],
        EPSILONS,
        draws,
        REAL_METRICS,
        dataset=InMemory(train, test, name="your ratings"),
        solver=solver,
        tol=TOLERANCE,
    )
    return Exploration(
        sweep, {key_of(curve.spec): curve.label for curve in curves} | {key_of(majority): MAJORITY_LABEL}
    )
