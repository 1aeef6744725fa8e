"""Privacy: what a noise costs, how it is drawn, what a release guarantees, and what has been spent."""

from obmc.privacy.guarantee import Guarantee
from obmc.privacy.ledger import BudgetExceeded, Ledger
from obmc.privacy.noise import SECURE, Randomness, noise_from

__all__ = ["SECURE", "BudgetExceeded", "Guarantee", "Ledger", "Randomness", "noise_from"]
