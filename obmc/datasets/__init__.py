"""Data sets: made ones, the paper's real ones, and one's own ratings."""

import importlib
from typing import TYPE_CHECKING, Any

from obmc.datasets.bridge import Bridge, bridge
from obmc.datasets.movielens import movielens_100k
from obmc.datasets.registry import DATA_SETS, RatedItems, is_available, load
from obmc.datasets.restaurant import restaurant
from obmc.datasets.synthetic import SyntheticProblem, synthetic

if TYPE_CHECKING:
    from obmc.datasets.download import fetch
    from obmc.datasets.ratings_file import preview_ratings, read_ratings
    from obmc.datasets.ratings_table import RatingsTable

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

# What brings a reader of tables or of the internet with it comes on first use: most who import the package need none.
_LATER = {
    "RatingsTable": "ratings_table",
    "fetch": "download",
    "preview_ratings": "ratings_file",
    "read_ratings": "ratings_file",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'obmc.datasets' has no attribute {name!r}")
    return getattr(importlib.import_module(f"obmc.datasets.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
