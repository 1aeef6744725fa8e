"""obmc: one-bit matrix completion under differential privacy, exact, certified and fast."""

from obmc import datasets, metrics
from obmc.constraints import ConstraintSet
from obmc.errors import DataNotFoundError, RatingsError
from obmc.links import Gaussian, Logistic
from obmc.observations import Observations
from obmc.privacy import SECURE, BudgetExceeded, Guarantee, Ledger
from obmc.solvers import Completion, complete

__all__ = [
    "SECURE",
    "BudgetExceeded",
    "Completion",
    "ConstraintSet",
    "DataNotFoundError",
    "Gaussian",
    "Guarantee",
    "Ledger",
    "Logistic",
    "Observations",
    "RatingsError",
    "complete",
    "datasets",
    "metrics",
]
