"""obmc: one-bit matrix completion under differential privacy, exact, certified and fast."""

from obmc.errors import DataNotFoundError, RatingsError
from obmc.links import Gaussian, Logistic
from obmc.observations import Observations

__all__ = ["DataNotFoundError", "Gaussian", "Logistic", "Observations", "RatingsError"]
