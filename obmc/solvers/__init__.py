"""Solvers: one algorithm a file; ``minimise`` chooses among them, ``complete`` is the estimator without privacy."""

from obmc.solvers.completion import Completion, DenseEstimate, Progress
from obmc.solvers.dispatch import complete, minimise

__all__ = ["Completion", "DenseEstimate", "Progress", "complete", "minimise"]
