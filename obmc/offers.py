"""What a person is offered to choose from, as one table: mechanisms, in the order of the pages.

A further mechanism appears on every page by a row here and its look in ``obmc.plots.STYLES``. What a mechanism
guarantees is not said here but by its ``guarantee``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from obmc.datasets.registry import DATA_SETS
from obmc.errors import check_choice
from obmc.experiments.mechanisms import CLEAR, MechanismSpec
from obmc.links import has_sigma

# The first is the default.
CALIBRATIONS = ("rigorous", "paper")
# What the pages call the data sets, noise models and calibrations.
DATA_TITLES = {"synthetic": "Synthetic", **{name: row.label for name, row in DATA_SETS.items()}}
NOISE_NAMES = {"logistic": "logistic", "gaussian": "Gaussian"}
NOISE_TITLES = {name: f"{said[0].upper()}{said[1:]}" for name, said in NOISE_NAMES.items()}
CALIBRATION_TITLES = {"rigorous": "Rigorous", "paper": "Paper"}


@dataclass(frozen=True)
class Offer:
    """A row of the table.

    Attributes
    ----------
    key
        In addresses and settings files.
    label
        On controls and charts; its look is ``obmc.plots.STYLES[label]``.
    about
        In a sentence, where the noise comes in.
    name, options
        The mechanism and the options that make it this one.
    private
        Whether it takes an epsilon.
    calibrated
        Whether it has calibrations to choose from.
    """

    key: str
    label: str
    about: str
    name: str
    options: tuple[tuple[str, Any], ...] = ()
    private: bool = True
    calibrated: bool = True

    def spec(self, calibration: str) -> MechanismSpec:
        """The mechanism, at this one of ``CALIBRATIONS`` where it has them."""
        checked = check_calibration(calibration)
        return MechanismSpec(self.name, checked if self.calibrated else "", self.options)


OFFERS: dict[str, Offer] = {
    offer.key: offer
    for offer in (
        Offer("clear", "Clear", "The estimator itself, without noise.", CLEAR, private=False, calibrated=False),
        Offer("inp", "InP", "Signs are flipped at random, then the matrix is completed.", "InP"),
        Offer("objp", "ObjP", "A random linear term is added to what the solver minimises.", "ObjP"),
        Offer("grap", "GraP", "A few gradient steps, each on a noised gradient.", "GraP"),
        Offer("outp", "OutP", "Noise is added to the entries of the finished matrix.", "OutP"),
        Offer(
            "outp-projected",
            "OutP projected",
            "As OutP, and the noised matrix is projected on the constraint set.",
            "OutP",
            options=(("postprocess", "project"),),
        ),
        Offer(
            "inp+",
            "InP+",
            "Signs are flipped as in InP; then effects of rows and columns and a low-rank part are fitted to them.",
            "InP+",
            calibrated=False,
        ),
        Offer(
            "effects",
            "Effects alone",
            "As InP+, with the effects of rows and columns alone.",
            "InP+",
            options=(("low_rank", False),),
            calibrated=False,
        ),
        Offer(
            "clear-effects",
            "Clear with effects",
            "The model of InP+ without noise.",
            CLEAR,
            options=(("effects", True),),
            private=False,
            calibrated=False,
        ),
    )
}


def find_offer(key: str) -> Offer:
    """The row of the table with this key; ``ValueError`` listing the keys if there is none."""
    check_choice("mechanism", key, tuple(OFFERS))
    return OFFERS[key]


def noise_text(noise: str, sigma: float) -> str:
    """A noise model within a sentence."""
    said = f"{NOISE_NAMES[noise]} noise"
    return f"{said}, sigma {sigma:g}" if has_sigma(noise) else said


def check_calibration(value: Any) -> str:
    """``value`` if it is one of ``CALIBRATIONS``, else ``ValueError`` listing them."""
    return str(check_choice("calibration", value, CALIBRATIONS))
