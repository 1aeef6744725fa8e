"""What of a sweep is known already, and how long the rest will take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from obmc.experiments.outcomes import Outcome, OutcomeStore, StoreError
from obmc.experiments.runner import make_rows
from obmc.experiments.sweep import Point, Row, Sweep

Means = Mapping[tuple[str, str, str, str], float]

# Seconds of a run at 100 x 100 on one core, and how they grow with the number of entries: rough, for want of better.
_USUAL = {"Clear": 0.04, "InP": 0.05, "ObjP": 0.05, "GraP": 0.08, "OutP": 0.01, "InP+": 0.6, "Majority": 0.001}
_ENTRIES = 10_000
_GROWTH = 0.85


@dataclass(frozen=True)
class Known:
    """A sweep before it is computed.

    Attributes
    ----------
    rows
        Its rows that the store has.
    missing
        The runs that have to be computed.
    """

    rows: list[Row]
    missing: list[Point]

    def expected_seconds(self, workers: int, means: Means | None = None) -> float:
        """About how long the missing runs take on so many workers.

        Each counts with the mean time of the runs of its kind in ``means`` (``Store.mean_seconds``), else with what is
        usual for its mechanism and size.
        """
        return sum(_seconds(point, means or {}) for point in self.missing) / workers


def look_up(sweep: Sweep, store: OutcomeStore | None) -> Known:
    """What the store has of a sweep. A store that cannot be read has nothing: the runner says so when it computes."""
    points = list(sweep.points())
    found = finished(points, sweep.metrics, store if sweep.is_stored else None)
    rows = [row for point in points if point in found for row in make_rows(point, found[point], sweep.metrics)]
    return Known(rows, [point for point in points if point not in found])


def finished(points: Sequence[Point], metrics: Sequence[str], store: OutcomeStore | None) -> dict[Point, Outcome]:
    """Of these runs those that the store has with all these measures; none of a store that cannot be read."""
    if store is None:
        return {}
    wanted = set(metrics)
    with suppress(StoreError):
        found = store.find([point for point in points if point.spec.made is None])
        return {point: outcome for point, outcome in found.items() if outcome.values.keys() >= wanted}
    return {}


def _seconds(point: Point, means: Means) -> float:
    if point.kind in means:
        return means[point.kind]
    entries = point.draw.shape[0] * point.draw.shape[1]
    return _USUAL.get(point.spec.name, 0.1) * (entries / _ENTRIES) ** _GROWTH
