"""The controls of the page Reproduction, as the address has them."""

from __future__ import annotations

from obmc import limits
from obmc.experiments.figures import choices, figures
from obmc.offers import CALIBRATION_TITLES
from pages.parts import address

FIGURE = address.choice("figure", "Figure", "figure", {name: figure.title for name, figure in figures().items()})
CALIBRATION = address.choice(
    "figure_cal", "Calibration of the figure", "calibration", dict(reversed(CALIBRATION_TITLES.items()))
)
_MIDDLE = limits.RATIO_EPSILONS[len(limits.RATIO_EPSILONS) // 2]
EPSILON = address.stops(
    "figure_eps", "Epsilon of the figure", "epsilon of the figure", limits.RATIO_EPSILONS, _MIDDLE, "{:g}".format
)
LOG_ERROR = address.switch("figure_log", "Logarithmic error axis", True)
CHOICE = address.choice(
    "choice", "What is varied", "choice", {name: figure.title for name, figure in choices().items()}
)
CONTROLS = (FIGURE, CALIBRATION, EPSILON, LOG_ERROR, CHOICE)
