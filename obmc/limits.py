"""Bounds and defaults of everything a person can set, in one place: the dashboard's sliders and every check use them.

A bound here is what the dashboard and the experiments offer. The core itself allows more where more makes sense (an
alpha of 50, say), and checks for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from obmc.datasets.registry import DATA_SETS
from obmc.errors import check_choice, check_integer, check_number


def read_number(text: str) -> float | int | str:
    """The whole or other number that a text is; any other text as it is, to be refused by the name of its setting."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def number_text(value: float) -> str:
    """A number by its shortest exact digits, without the zero of a whole one: ``read_number`` gives it back."""
    return repr(value).removesuffix(".0")


def written(value: Any) -> str:
    """A value as an address has it: switches in small letters, numbers as short as they stay exact."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return str(value)


@dataclass(frozen=True)
class Range:
    """The numbers that a setting may take.

    Attributes
    ----------
    name
        What the setting is called in messages.
    low, high, default
        Smallest, largest and first value; both ends are allowed.
    step
        By how much a slider moves.
    whole
        True for whole numbers.
    """

    name: str
    low: float
    high: float
    default: float
    step: float
    whole: bool = False

    def check(self, value: object) -> float:
        """Return ``value`` as a float (an int where whole), or raise ``ValueError`` naming the range."""
        if self.whole:
            return check_integer(self.name, value, low=int(self.low), high=int(self.high))
        return check_number(self.name, value, low=self.low, high=self.high)

    def parse(self, text: str) -> float:
        """The value that a text from outside (an address, a file) stands for, or ``ValueError`` naming the range."""
        try:
            value: object = int(text) if self.whole else float(text)
        except ValueError:
            value = text
        return self.check(value)


@dataclass(frozen=True)
class Choice:
    """The names that a setting may take; the first is the default."""

    name: str
    allowed: tuple[str, ...]

    @property
    def default(self) -> str:
        return self.allowed[0]

    def check(self, value: object) -> str:
        """Return ``value``, or raise ``ValueError`` listing what is allowed."""
        return str(check_choice(self.name, value, self.allowed))


EPSILON = Range("epsilon", 0.1, 20.0, 1.0, 0.1)
ALPHA = Range("alpha", 0.1, 10.0, 1.0, 0.1)
SIGMA = Range("sigma", 0.05, 5.0, 1.0, 0.05)
RANK = Range("rank", 1, 20, 1, 1, whole=True)
# A multiple of the paper's tau = alpha sqrt(r d1 d2).
RADIUS = Range("radius", 0.05, 2.0, 1.0, 0.05)
RATIO = Range("ratio", 0.01, 1.0, 0.15, 0.01)
# Rows and columns of a synthetic matrix. The smallest holds the largest rank.
SIZE = Range("size", 20, 500, 100, 10, whole=True)
SEED = Range("seed", 0, 2**31 - 1, 0, 1, whole=True)
# The paper's numbers of draws on synthetic data, against epsilon and against the observation ratio.
DRAWS, RATIO_DRAWS = 40, 10
REPETITIONS = Range("repetitions", 3, 100, DRAWS, 1, whole=True)
RATIO_REPETITIONS = Range("repetitions", 3, 100, RATIO_DRAWS, 1, whole=True)
POINTS = Range("points", 2, 21, 21, 1, whole=True)

DATA = Choice("data", ("synthetic", *DATA_SETS))
LINK = Choice("noise model", ("logistic", "gaussian"))

# What a logarithmic slider stops at: round numbers, about 25 % apart.
EPSILON_GRID = (
    *(0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8),
    *(1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0),
    *(10.0, 12.0, 15.0, 20.0),
)


# Where curves have points: the paper's 1 to 10, and what is below and above.
CURVE_GRID = (
    *(0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8),
    *(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0),
    *(12.0, 15.0, 20.0),
)
EPSILON_RANGE = (1.0, 10.0)
RATIO_GRID = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
RATIO_RANGE = (0.2, 0.8)
# Of a heat map against epsilon and ratio, and of the curves one of which is drawn for each.
RATIO_EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def epsilons_between(low: float, high: float, points: int) -> tuple[float, ...]:
    """About ``points`` stops of ``CURVE_GRID`` from ``low`` to ``high``, evenly spread, both ends among them."""
    stops = [stop for stop in CURVE_GRID if low <= stop <= high]
    if len(stops) <= points:
        return tuple(stops)
    picked = {round(k * (len(stops) - 1) / (points - 1)) for k in range(points)}
    return tuple(stops[k] for k in sorted(picked))


def ratios_between(low: float, high: float) -> tuple[float, ...]:
    """The stops of ``RATIO_GRID`` from ``low`` to ``high``, both ends among them."""
    return tuple(stop for stop in RATIO_GRID if low <= stop <= high)


def nearest_epsilon(value: float, stops: Sequence[float] = EPSILON_GRID) -> float:
    """The stop that lies nearest in ratio."""
    return min(stops, key=lambda stop: max(stop / value, value / stop))


# What a person may wish for: of the accuracy in per cent, of the others in their own unit.
WANTED_ACCURACY = Range("wanted accuracy", 40.0, 100.0, 70.0, 0.5)
WANTED_ERROR = Range("wanted error", 0.0, 100.0, 1.0, 0.05)
WANTED_AUC = Range("wanted area", 0.4, 1.0, 0.7, 0.01)
WANTED_LOG_LOSS = Range("wanted log-loss", 0.0, 10.0, 0.65, 0.01)

# Of what cannot be read of a settings file a page says so much, and how much more there is.
SETTINGS_NOTES = 8
# Of a ledger a page shows this many of the latest releases; the sums are of all.
LEDGER_ROWS = 10
