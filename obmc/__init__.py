"""obmc: one-bit matrix completion under differential privacy, exact, certified and fast."""

from obmc import metrics
from obmc.constraints import ConstraintSet
from obmc.errors import DataNotFoundError, RatingsError
from obmc.links import Gaussian, Logistic
from obmc.observations import Observations
from obmc.solvers import Completion, complete

__all__ = [
    "Completion",
    "ConstraintSet",
    "DataNotFoundError",
    "Gaussian",
    "Logistic",
    "Observations",
    "RatingsError",
    "complete",
    "metrics",
]
