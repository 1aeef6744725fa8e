"""obmc: one-bit matrix completion under differential privacy, exact, certified and fast."""

from obmc import datasets, metrics
from obmc.constraints import ConstraintSet
from obmc.errors import DataNotFoundError, RatingsError
from obmc.links import Gaussian, Logistic
from obmc.mechanisms import (
    Clear,
    GradientPerturbation,
    InputPerturbation,
    ObjectivePerturbation,
    OutputPerturbation,
    Release,
    output_multiplier,
)
from obmc.observations import Observations
from obmc.privacy import SECURE, BudgetExceeded, Guarantee, Ledger
from obmc.privacy.audit import Audit, audit
from obmc.solvers import Completion, complete

__all__ = [
    "SECURE",
    "Audit",
    "BudgetExceeded",
    "Clear",
    "Completion",
    "ConstraintSet",
    "DataNotFoundError",
    "Gaussian",
    "GradientPerturbation",
    "Guarantee",
    "InputPerturbation",
    "Ledger",
    "Logistic",
    "ObjectivePerturbation",
    "Observations",
    "OutputPerturbation",
    "RatingsError",
    "Release",
    "audit",
    "complete",
    "datasets",
    "metrics",
    "output_multiplier",
]
