"""Data sets: made ones, the paper's real ones, and one's own ratings."""

from obmc.datasets.synthetic import SyntheticProblem, synthetic

__all__ = ["SyntheticProblem", "synthetic"]
