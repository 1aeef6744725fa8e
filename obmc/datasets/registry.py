"""The real data sets as one table: what they are called, where they come from and how a copy is known to be right.

Fetching, the readers, sweeps, the command line, the pages and data/README.md all follow this table; a further data set
is a row here, a reader function, and a section there.
"""

from __future__ import annotations

import csv
import hashlib
import inspect
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_data_dir

from obmc.errors import DataNotFoundError, check_choice
from obmc.observations import Observations

if TYPE_CHECKING:
    import pandas as pd

FETCH_COMMAND = "python -m obmc fetch-data"


def sha256(content: bytes) -> str:
    """The SHA-256 of a file's bytes, as hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def rating_triples_sha256(content: bytes) -> str:
    """The SHA-256 of the (userID, placeID, rating) triples of a CSV file with these columns.

    The triples are sorted, each joined by commas and all joined by line feeds, so that the order of rows, the line ends
    and further columns of a copy do not matter. The digest of nothing if it is not such a file.
    """
    rows = csv.DictReader(io.StringIO(content.decode("utf-8-sig", errors="replace"), newline=""))
    names = ("userID", "placeID", "rating")
    try:
        triples = sorted(tuple(row[name] or "" for name in names) for row in rows)
    except (csv.Error, KeyError):
        triples = []
    return sha256("\n".join(",".join(triple) for triple in triples).encode())


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    ``digest`` is what ``digest_of`` gives for a right copy; None for a file that is an extra, taken along where it is
    there and not needed.
    """

    name: str
    digest: str | None = None
    digest_of: Callable[[bytes], str] = sha256

    @property
    def needed(self) -> bool:
        return self.digest is not None


@dataclass(frozen=True)
class DataSet:
    """A row of the table.

    ``name`` is also the folder in the data home, ``label`` what pages and charts call it, ``noun`` one of its items and
    several, ``shape`` the size of its matrix. ``reader`` is "module:function" of the function that reads it, which
    takes the data home as its first argument. ``archive_sha256`` is None where the publisher's archive has no known
    checksum and only the content is checked. ``max_bytes`` bounds the archive and what is unpacked from it.
    """

    name: str
    title: str
    label: str
    noun: tuple[str, str]
    shape: tuple[int, int]
    summary: str
    page: str
    address: str
    archive_sha256: str | None
    max_bytes: int
    files: tuple[DataFile, ...]
    reader: str
    licence: str
    citation: str

    def fault(self, folder: Path) -> str | None:
        """What is wrong with ``folder`` as a copy of this data set; None if it holds every needed file, unchanged."""
        for file in self.files:
            if file.needed:
                try:
                    content = (folder / file.name).read_bytes()
                except OSError:
                    return f"there is no readable file {file.name}"
                if file.digest_of(content) != file.digest:
                    return f"{file.name} differs from the published file"
        return None


@dataclass(frozen=True, eq=False)
class RatedItems:
    """A real data set, read.

    ``ratings``: user, item, rating (and timestamp where there is one), as published, in the file's order.
    ``users``: column ``user``; its k-th row is the matrix's row k. ``items``: columns ``item`` and ``title`` at least;
    its k-th row is the matrix's column k. ``train`` and ``test``: a rating is +1 strictly above ``threshold``, a public
    constant, else -1.
    """

    name: str
    ratings: pd.DataFrame
    users: pd.DataFrame
    items: pd.DataFrame
    threshold: float
    train: Observations
    test: Observations


DATA_SETS: dict[str, DataSet] = {
    row.name: row
    for row in (
        DataSet(
            name="ml-100k",
            title="MovieLens 100K",
            label="MovieLens-100K",
            noun=("film", "films"),
            shape=(943, 1682),
            summary="100,000 ratings from 1 to 5 that 943 people gave 1,682 films",
            page="https://grouplens.org/datasets/movielens/100k/",
            address="https://files.grouplens.org/datasets/movielens/ml-100k.zip",
            archive_sha256="50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
            max_bytes=32_000_000,
            files=(
                DataFile("u.data", "06416e597f82b7342361e41163890c81036900f418ad91315590814211dca490"),
                DataFile("u.item", "553841ebc7de3a0fd0d6b62a204ea30c1e651aacfb2814c7a6584ac52f2c5701"),
                DataFile("README"),
            ),
            reader="obmc.datasets.movielens:movielens_100k",
            licence=(
                "Research use only: no redistribution, no commercial use without permission, no claim of endorsement "
                "by the University of Minnesota or GroupLens, and the citation in publications. The full text is "
                "the README that comes with the data."
            ),
            citation=(
                "F. Maxwell Harper and Joseph A. Konstan. 2015. The MovieLens Datasets: History and Context. "
                "ACM Transactions on Interactive Intelligent Systems 5, 4, Article 19. "
                "https://doi.org/10.1145/2827872"
            ),
        ),
        DataSet(
            name="rc",
            title="Restaurant and consumer data",
            label="Restaurants",
            noun=("restaurant", "restaurants"),
            shape=(138, 130),
            summary="1,161 ratings from 0 to 2 that 138 people gave 130 restaurants",
            page="https://archive.ics.uci.edu/dataset/232/restaurant+consumer+data",
            address="https://archive.ics.uci.edu/ml/machine-learning-databases/00232/RCdata.zip",
            archive_sha256=None,
            max_bytes=32_000_000,
            files=(
                DataFile(
                    "rating_final.csv",
                    "c6d27dbc58afb1cc972d57aa434a1ec62f16903c245d3fdb92c531ec2f9b9364",
                    rating_triples_sha256,
                ),
                DataFile("geoplaces2.csv"),
                DataFile("README"),
            ),
            reader="obmc.datasets.restaurant:restaurant",
            licence="Creative Commons Attribution 4.0 (CC BY 4.0), by the UCI Machine Learning Repository.",
            citation=(
                "Rafael Ponce Medellín and Juan Gabriel González Serna. 2011. Restaurant & consumer data. UCI Machine "
                "Learning Repository. https://doi.org/10.24432/C5DP41"
            ),
        ),
    )
}


def find_data_set(name: str) -> DataSet:
    """The row of the table with this name; ``ValueError`` listing the names if there is none."""
    check_choice("name", name, tuple(DATA_SETS))
    return DATA_SETS[name]


def find_data_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """The folder for downloaded data: the argument, else ``OBMC_DATA_HOME``, else the platform's user data folder."""
    if data_home is None:
        data_home = os.environ.get("OBMC_DATA_HOME") or user_data_dir("obmc", appauthor=False)
    return Path(data_home).expanduser().absolute()


def is_available(name: str, data_home: str | os.PathLike[str] | None = None) -> bool:
    """Whether a right copy of the data set lies in the data home."""
    row = find_data_set(name)
    return row.fault(find_data_home(data_home) / row.name) is None


def locate(name: str, data_home: str | os.PathLike[str] | None = None) -> Path:
    """The folder of a right copy of the data set.

    Raises ``DataNotFoundError`` saying how to get one if it is not in the data home, or is not as published.
    """
    row = find_data_set(name)
    folder = find_data_home(data_home) / row.name
    fault = row.fault(folder)
    if fault is not None:
        raise DataNotFoundError(
            f"{row.title} is not in {folder} ({fault}): fetch it with `{FETCH_COMMAND} {row.name}`, or set "
            f"OBMC_DATA_HOME or data_home to the folder that holds {row.name}."
        )
    return folder


def load(name: str, data_home: str | os.PathLike[str] | None = None, **split: int) -> RatedItems:
    """Read a data set of the table by its reader.

    ``split``: which training and test part, as the reader calls it: ``rng`` the seed of a random one, ``fold`` the
    number of a published one. What the reader has no argument for is left out.

    Raises ``ValueError`` for an unknown name and ``DataNotFoundError`` if the data are not on this machine.
    """
    read = _reader(find_data_set(name))
    known = inspect.signature(read).parameters
    return read(data_home, **{argument: value for argument, value in split.items() if argument in known})


def splits_at_random(name: str) -> bool:
    """Whether the data set's training and test part are drawn anew for every seed."""
    return "rng" in inspect.signature(_reader(find_data_set(name))).parameters


def _reader(row: DataSet) -> Callable[..., RatedItems]:
    module, _, function = row.reader.partition(":")
    found: Callable[..., RatedItems] = getattr(import_module(module), function)
    return found
