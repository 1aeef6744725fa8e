"""The paper's figures as sweeps, with what stands beside them here, and the results that come with the package.

Figures 1, 2 and 3 show the three data sets against epsilon, (a) with the Gaussian and (b) with the logistic link;
Figures 4 and 5 show synthetic data against the observation ratio. One more, at small epsilon, is not in the paper. Each
is a few parts: the paper's own mechanisms at the paper's calibration; the same ones at the rigorous calibration; and
what the paper does not have. The paper does not print the rank and alpha that it uses on real data: 1 and 1 are the
best without privacy of those tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

import obmc
from obmc.datasets.registry import DATA_SETS, load
from obmc.errors import check_choice
from obmc.experiments.store import FixedStore
from obmc.experiments.sweep import FIELDS, Point, Row, Sweep
from obmc.limits import DRAWS, RATIO_DRAWS, RATIO_EPSILONS

# Repetitions of the paper on real data.
REAL_DRAWS = 10
# Of the mechanisms that take minutes on ML-100K: their noise averages over 1.6 million entries, so few draws tell.
SLOW_DRAWS = 3

EPSILONS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
RATIOS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
# What the paper does not show: where an epsilon is a protection worth its name.
SMALL_EPSILONS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
SMALL = "small-epsilon"

# What a table of results has of each run before the columns of ``FIELDS``: its key in a store, and its two seeds.
ORIGIN = ("key", "data_seed", "noise_seed")
_SETTINGS = tuple(
    name
    for name in FIELDS
    if name not in ("delta", "metric", "value", "gap", "converged", "iterations", "seconds", "version")
)

_PARTS: dict[str, tuple[Any, ...]] = {
    "paper": (
        "Clear",
        {"name": "InP", "calibration": "paper"},
        {"name": "ObjP", "calibration": "paper"},
        {"name": "OutP", "calibration": "paper"},
        "Majority",
    ),
    "paper-gradient": ({"name": "GraP", "calibration": "paper"},),
    "rigorous": ("InP", "ObjP", "OutP"),
    "rigorous-gradient": ("GraP",),
    "projected": ({"name": "OutP", "calibration": "paper", "postprocess": "project"},),
    "beyond": ("InP+", {"name": "InP+", "low_rank": False}, {"name": "Clear", "effects": True}),
}
_SLOW = ("paper-gradient", "rigorous-gradient", "projected", "beyond")
PARTS = tuple(_PARTS)


@dataclass(frozen=True)
class Figure:
    """A figure of the paper.

    Attributes
    ----------
    name
        "1a" to "3b", "4", "5"; and what the paper does not have: "small-epsilon", and those of ``choices``.
    title
        What it shows.
    against
        The rows' column on its horizontal axis.
    parts
        The sweeps that it consists of, by the names in ``PARTS``.
    """

    name: str
    title: str
    against: str
    parts: Mapping[str, Sweep]

    def quick(self) -> Figure:
        """The same with two draws and three epsilons (and ratios), and on ML-100K without what takes minutes.

        Its runs are among those of the whole figure.
        """
        large = next(iter(self.parts.values())).dataset == "ml-100k"
        parts = {
            name: replace(
                sweep,
                epsilons=sweep.epsilons[::4] if self.name == SMALL else (1.0, 4.0, 10.0),
                ratio=sweep.ratio if len(sweep.ratio) == 1 else sweep.ratio[::3],
                repetitions=min(sweep.repetitions, 2),
            )
            for name, sweep in self.parts.items()
            if not (large and (name in _SLOW or self.against == "options"))
        }
        return replace(self, parts=parts)


@cache
def figures() -> dict[str, Figure]:
    """All figures by name."""
    found = {}
    for number, dataset, data in ((1, "synthetic", "synthetic data"), (2, "ml-100k", "ML-100K"), (3, "rc", "RC")):
        for letter, link in (("a", "gaussian"), ("b", "logistic")):
            name = f"{number}{letter}"
            title = f"Recovery on {data} against epsilon, {_LINK[link]}"
            found[name] = Figure(name, title, "epsilon", _parts(dataset=dataset, link=link, epsilons=EPSILONS))
    for name, link in (("4", "gaussian"), ("5", "logistic")):
        title = f"Recovery on synthetic data against the observation ratio, {_LINK[link]}"
        parts = _parts(dataset="synthetic", link=link, epsilons=RATIO_EPSILONS, ratio=RATIOS, repetitions=RATIO_DRAWS)
        found[name] = Figure(name, title, "ratio", parts)
    title = f"Recovery on synthetic data at small epsilon, {_LINK['logistic']}"
    found[SMALL] = Figure(
        SMALL, title, "epsilon", _parts(dataset="synthetic", link="logistic", epsilons=SMALL_EPSILONS)
    )
    return found


_LINK = {"gaussian": "Gaussian noise", "logistic": "logistic noise"}

# What the paper does not print, and what is tried in its place: the values here, 1, 1, 10 and 1, are among them.
TRIED_RANKS = (1, 2, 5)
TRIED_ALPHAS = (0.5, 1.0, 2.0)
TRIED_STEPS = (1, 3, 10, 30)
TRIED_LENGTHS = (0.1, 0.3, 1.0, 3.0)
TRIED_EPSILONS = (1.0, 4.0, 10.0)
_DATA = {"synthetic": "synthetic data", "ml-100k": "ML-100K", "rc": "RC"}


@cache
def choices() -> dict[str, Figure]:
    """By name, how much depends on the choices that the paper does not print: each varied, the others as usual.

    Rank and alpha on real data, the number of GraP's steps, and their length in units of the usual one. The parts are
    the two links. On ML-100K there are few draws, and GraP's steps are varied with the logistic link alone.
    """
    found = {}
    gradient: dict[str, Any] = {"name": "GraP", "calibration": "paper"}
    for data in ("ml-100k", "rc"):
        tried = _PARTS["paper"] if data == "ml-100k" else (*_PARTS["paper"], gradient)
        for about, values in (("rank", TRIED_RANKS), ("alpha", TRIED_ALPHAS)):
            name, title = f"{about}-{data}", f"The choice of {about} on {_DATA[data]}"
            found[name] = Figure(name, title, about, _tried(data, tried, **{about: values}))
    for data in _DATA:
        counts = [count for count in TRIED_STEPS if count <= 10 or data != "ml-100k"]
        varied = [gradient | {"iterations": count} for count in counts]
        title = f"The choice of GraP's number of steps on {_DATA[data]}"
        parts = _tried(data, varied)
        if data == "ml-100k":
            parts = {"logistic": parts["logistic"]}
        found[f"steps-{data}"] = Figure(f"steps-{data}", title, "options", parts)
    for data in ("synthetic", "rc"):
        varied = [gradient | {"step": length} for length in TRIED_LENGTHS]
        title = f"The choice of GraP's step length on {_DATA[data]}"
        found[f"length-{data}"] = Figure(f"length-{data}", title, "options", _tried(data, varied))
    return found


def _tried(data: str, mechanisms: Sequence[Any], **settings: Any) -> dict[str, Sweep]:
    return {
        link: Sweep(
            dataset=data,
            link=link,
            mechanisms=mechanisms,
            epsilons=TRIED_EPSILONS,
            repetitions=SLOW_DRAWS if data == "ml-100k" else REAL_DRAWS,
            metrics=_metrics(data),
            **settings,
        )
        for link in ("logistic", "gaussian")
    }


def find_figure(name: str) -> Figure:
    """The figure or choice of this name; ``ValueError`` listing the names if there is none."""
    known = figures() | choices()
    return known[check_choice("figure", name, tuple(known))]


def _parts(**settings: Any) -> dict[str, Sweep]:
    dataset = settings["dataset"]
    settings.setdefault("repetitions", DRAWS if dataset == "synthetic" else REAL_DRAWS)
    settings["metrics"] = _metrics(dataset)
    parts = {}
    for name, mechanisms in _PARTS.items():
        slow = dataset == "ml-100k" and name in _SLOW
        parts[name] = Sweep(**{**settings, "mechanisms": mechanisms} | ({"repetitions": SLOW_DRAWS} if slow else {}))
    return parts


def _metrics(dataset: str) -> tuple[str, ...]:
    return ("are", "sign_accuracy") if dataset == "synthetic" else ("sign_accuracy", "auc", "log_loss")


# Its name among the figures.
TABLE = "table1"


def table_1() -> list[dict[str, Any]]:
    """Table 1, from the data: users, items, scale, number and density of ratings, and the density that is printed.

    The printed density of RC is that of its training part. ``DataNotFoundError`` if a data set is not on this machine.
    """
    printed = {"ml-100k": 0.063, "rc": 0.052}
    rows = []
    for name, row in DATA_SETS.items():
        if name in printed:
            data = load(name)
            users, items = data.train.shape
            scale = sorted(data.ratings["rating"].unique().tolist())
            rows.append(
                {
                    "dataset": row.title,
                    "users": users,
                    "items": items,
                    "scale": " ".join(f"{value:g}" for value in scale),
                    "ratings": len(data.ratings),
                    "density": len(data.ratings) / (users * items),
                    "training_density": data.train.ratio,
                    "printed_density": printed[name],
                }
            )
    return rows


# The results that come with the package -------------------------------------------------------------------------------


def shipped_folder() -> Path:
    """Where the shipped tables are, beside the package."""
    return Path(obmc.__file__).resolve().parent.parent / "data" / "results"


def shipped_tables() -> list[Path]:
    """The shipped tables: one Parquet file for each figure that was computed."""
    return sorted(shipped_folder().glob("figure-*.parquet"))


def shipped_rows(name: str) -> pd.DataFrame:
    """The shipped rows of a figure, with the columns of ``FIELDS``; empty if it has not been computed."""
    path = shipped_folder() / f"figure-{find_figure(name).name}.parquet"
    if not path.exists():
        return pd.DataFrame(columns=list(FIELDS))
    return pd.read_parquet(path, columns=list(FIELDS))


def shipped_table_1() -> pd.DataFrame:
    """The shipped Table 1, as ``table_1`` makes it; empty if there is none."""
    path = shipped_folder() / "table-1.parquet"
    return pd.read_parquet(path) if path.exists() else pd.DataFrame()


def shipped_seconds() -> dict[tuple[str, str, str, str], float]:
    """The mean time of a shipped run by (data set, mechanism, calibration, options), as ``Store.mean_seconds``."""
    names = ["dataset", "mechanism", "calibration", "options"]
    tables = [pd.read_parquet(path, columns=["key", *names, "seconds"]) for path in shipped_tables()]
    if not tables:
        return {}
    runs = pd.concat(tables).drop_duplicates("key")
    means = runs.groupby(names)["seconds"].mean()
    return {(str(a), str(b), str(c), str(d)): float(seconds) for (a, b, c, d), seconds in means.items()}


def shipped_store() -> FixedStore:
    """The shipped results as a store, for the lower layer of a ``LayeredStore``."""
    return FixedStore(shipped_tables())


def points_of(sweep: Sweep) -> dict[tuple[Any, ...], Point]:
    """A sweep's runs by their settings, for what a table of results says of each beside its row (``ORIGIN``)."""
    return {tuple(point.settings_row()[name] for name in _SETTINGS): point for point in sweep.points()}


def origin_of(point: Point) -> dict[str, Any]:
    """The columns ``ORIGIN`` of a run."""
    return {"key": point.key, "data_seed": point.data_seed, "noise_seed": point.noise_seed}


def settings_of(row: Row) -> tuple[Any, ...]:
    """The settings of a row's run, as ``points_of`` has them."""
    entry: Mapping[str, Any] = row
    return tuple(entry[name] for name in _SETTINGS)
