"""``python -m obmc sweep``: a grid of runs from a file or from options."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Callable
from typing import Any

from obmc.experiments.commands.console import (
    Table,
    add_computing_options,
    check_output,
    compute,
    executor_of,
    in_order_of,
)
from obmc.experiments.measures import MEASURES
from obmc.experiments.mechanisms import MECHANISMS
from obmc.experiments.sweep import DATASETS, Sweep
from obmc.limits import read_number
from obmc.links import LINKS
from obmc.solvers.dispatch import SOLVERS

_EPSILON_HELP = "default: 1 2 3 4 5 6 7 8 9 10"
_MECHANISMS_HELP = (
    f"{', '.join(MECHANISMS)}; with settings as InP:paper or OutP:paper,postprocess=rank,rank=2 "
    "(default: Clear InP ObjP GraP OutP)"
)


def sweep(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], None]:
    """Compute every mechanism at every epsilon on a data set, and write the results as a table.

    What to compute comes from a TOML FILE, from options, or from both: an option replaces what the file says. Runs that
    are in the results store are not computed again, and a sweep that was stopped goes on where it was.
    """
    parser.add_argument("file", nargs="?", metavar="FILE.toml", help="a sweep, as --write-toml writes it")
    what = parser.add_argument_group("what to compute")
    for key, (count, kind, text) in _OPTIONS.items():
        metavar = ("D1", "D2") if key == "shape" else "NAME" if kind is str else "X"
        what.add_argument(f"--{key.replace('_', '-')}", nargs=count, type=kind, metavar=metavar, help=text)
    parser.add_argument("--output", metavar="FILE", help="a .csv or .parquet file (default: CSV on the output)")
    parser.add_argument("--write-toml", action="store_true", help="print the sweep as TOML, and compute nothing")
    add_computing_options(parser)

    def run(options: argparse.Namespace) -> None:
        asked = _asked(options)
        if options.write_toml:
            print(asked.to_toml(), end="")
            return
        target = check_output(options.output)
        with executor_of(options) as executor, Table(target, order=in_order_of(asked)) as table:
            for _, row in compute({"sweep": asked}, executor, options):
                table.write(row)

    return run


def _asked(options: argparse.Namespace) -> Sweep:
    given = {key: value for key in _OPTIONS if (value := getattr(options, key)) is not None}
    if "mechanisms" in given:
        given["mechanisms"] = [parse_mechanism(text) for text in given["mechanisms"]]
    if options.file is None:
        return Sweep(**given)
    read = Sweep.read(options.file)
    entry = read.to_dict() | given
    if entry["dataset"] != read.dataset:
        # What belongs to the file's data set alone does not go with another one.
        entry = {
            key: value
            for key, value in entry.items()
            if key in given or key not in ("shape", "fold", "metrics", "ratio")
        }
    return Sweep.from_dict(entry)


def parse_mechanism(text: str) -> dict[str, Any]:
    """``NAME``, ``NAME:calibration`` or ``NAME:calibration,option=value,...``; ``ValueError`` for anything else."""
    name, _, rest = text.partition(":")
    entry: dict[str, Any] = {"name": name, "options": {}}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            if "calibration" in entry:
                raise ValueError(f"--mechanisms: {part!r} in {text!r} must be written as option=value.")
            entry["calibration"] = part
        elif key in entry["options"]:
            raise ValueError(f"--mechanisms: {key} must be given once in {text!r}.")
        else:
            entry["options"][key] = _value(value)
    return entry


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def parse_bound(text: str) -> float | int | str | None:
    return None if text.lower() == "none" else read_number(text)


# Every key of a sweep: how many values, of which kind, and its help.
_OPTIONS: dict[str, tuple[int | str | None, Callable[[str], Any], str]] = {
    "dataset": (None, str, f"{', '.join(DATASETS)} (default: synthetic)"),
    "mechanisms": ("+", str, _MECHANISMS_HELP),
    "epsilons": ("+", read_number, _EPSILON_HELP),
    "link": (None, str, f"{' or '.join(LINKS)} (default: logistic)"),
    "sigma": (None, read_number, "standard deviation of the gaussian link (default: 1)"),
    "alpha": ("+", parse_bound, "bound of the entries, or none (default: 1)"),
    "rank": ("+", read_number, "R of tau = alpha sqrt(R d1 d2) (default: 1)"),
    "tau_multiple": ("+", read_number, "radius in units of tau (default: 1)"),
    "ratio": ("+", read_number, "share of entries observed, or of ratings kept (default: 0.15, or 1 on real data)"),
    "shape": (2, read_number, "of synthetic data (default: 100 100)"),
    "fold": (None, read_number, "of ml-100k, 1 to 5 (default: 1)"),
    "repetitions": (None, read_number, "number of draws (default: 1)"),
    "seed": (None, read_number, "default: 0"),
    "metrics": ("+", str, f"{', '.join(MEASURES)} (default: are, or sign_accuracy on real data)"),
    "solver": (None, str, f"{', '.join(SOLVERS)} (default: auto)"),
    "tol": (None, read_number, "relative gap to stop at (default: 1e-4)"),
    "max_iter": (None, read_number, "iterations at most"),
}
