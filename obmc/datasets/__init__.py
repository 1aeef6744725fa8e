"""Data sets: made ones, the paper's real ones, and one's own ratings."""

from obmc.datasets.bridge import Bridge, bridge
from obmc.datasets.download import fetch
from obmc.datasets.movielens import movielens_100k
from obmc.datasets.ratings_file import preview_ratings, read_ratings
from obmc.datasets.ratings_table import RatingsTable
from obmc.datasets.registry import DATA_SETS, RatedItems, is_available, load
from obmc.datasets.restaurant import restaurant
from obmc.datasets.synthetic import SyntheticProblem, synthetic

__all__ = [
    "DATA_SETS",
    "Bridge",
    "RatedItems",
    "RatingsTable",
    "SyntheticProblem",
    "bridge",
    "fetch",
    "is_available",
    "load",
    "movielens_100k",
    "preview_ratings",
    "read_ratings",
    "restaurant",
    "synthetic",
]
