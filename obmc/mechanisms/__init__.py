"""The mechanisms: one a file, each a way to complete a matrix and a statement of what it guarantees."""

from obmc.mechanisms.base import LocalMechanism, Mechanism, NoisedView, Release
from obmc.mechanisms.clear import Clear
from obmc.mechanisms.gradient import GradientPerturbation
from obmc.mechanisms.input import InputPerturbation
from obmc.mechanisms.input_plus import InputPerturbationPlus
from obmc.mechanisms.objective import ObjectivePerturbation
from obmc.mechanisms.output import OutputPerturbation, output_multiplier

__all__ = [
    "Clear",
    "GradientPerturbation",
    "InputPerturbation",
    "InputPerturbationPlus",
    "LocalMechanism",
    "Mechanism",
    "NoisedView",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "Release",
    "output_multiplier",
]
