"""obmc: one-bit matrix completion under differential privacy, exact, certified and fast."""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from obmc import datasets, metrics
from obmc.constraints import ConstraintSet
from obmc.errors import DataNotFoundError, RatingsError
from obmc.links import Gaussian, Logistic
from obmc.mechanisms import (
    Clear,
    GradientPerturbation,
    InputPerturbation,
    InputPerturbationPlus,
    ObjectivePerturbation,
    OutputPerturbation,
    Release,
    output_multiplier,
)
from obmc.observations import Observations
from obmc.privacy import SECURE, BudgetExceeded, Guarantee, Ledger
from obmc.privacy.audit import Audit, audit
from obmc.solvers import Completion, complete
from obmc.version import VERSION

if TYPE_CHECKING:
    from obmc import experiments

__version__ = VERSION

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
    "InputPerturbationPlus",
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
    "experiments",
    "metrics",
    "output_multiplier",
]


def __getattr__(name: str) -> ModuleType:
    """``obmc.experiments`` on first use: who only completes a matrix need not wait for it."""
    if name == "experiments":
        return importlib.import_module("obmc.experiments")
    raise AttributeError(f"module 'obmc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
