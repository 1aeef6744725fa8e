"""``python -m obmc complete``: one completion without privacy."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import obmc
from obmc import metrics
from obmc.constraints import ConstraintSet
from obmc.datasets.registry import DATA_SETS, load
from obmc.errors import check_integer, check_number
from obmc.experiments.commands.console import (
    Table,
    add_columns,
    add_link,
    check_apart,
    check_output,
    link_of,
    read_file,
)
from obmc.experiments.commands.sweep import parse_bound
from obmc.experiments.runner import one_blas_thread
from obmc.links import Link
from obmc.observations import Observations
from obmc.solvers.completion import Completion
from obmc.solvers.dispatch import SOLVERS

COLUMNS = ("user", "item", "estimate", "probability")


def complete(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], None]:
    """Complete the matrix of a ratings file or of a data set, without privacy.

    Writes, for every user, the items not rated yet with the highest estimates, and what the estimate says of each: the
    entry and the probability of a +1. Nothing in the output is protected: `release` is the command for that.
    """
    parser.add_argument("source", metavar="SOURCE", help=f"a ratings file, or one of {', '.join(DATA_SETS)}")
    file = parser.add_argument_group("of a ratings file (what is not given is found out, and said)")
    add_columns(file)
    file.add_argument("--threshold", default="mean", metavar="X", help="+1 strictly above: a number, or mean (default)")
    file.add_argument("--holdout", type=float, metavar="SHARE", help="keep this share out, and say how well it is met")
    model = parser.add_argument_group("the model")
    add_link(model)
    model.add_argument("--alpha", type=parse_bound, default=1.0, metavar="X", help="bound, or none (default: 1)")
    model.add_argument("--rank", type=int, default=1, metavar="R", help="of tau = alpha sqrt(R d1 d2) (default: 1)")
    model.add_argument("--tau-multiple", type=float, default=1.0, metavar="X", help="in units of tau (default: 1)")
    model.add_argument("--solver", default="auto", choices=SOLVERS, help="default: auto")
    model.add_argument("--tol", type=float, default=1e-4, metavar="X", help="relative gap to stop at (default: 1e-4)")
    model.add_argument("--max-iter", type=int, metavar="N", help="iterations at most")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the ratings kept out (default: 0)")
    parser.add_argument("--top", type=int, default=10, metavar="N", help="items for every user (default: 10)")
    parser.add_argument("--output", metavar="FILE", help="a .csv or .parquet file (default: CSV on the output)")

    def run(options: argparse.Namespace) -> None:
        target = check_output(options.output)
        if options.source not in DATA_SETS:
            check_apart(source=options.source, output=options.output)
        count = check_integer("--top", options.top, low=0)
        link = link_of(options)
        train, test, users, items = _read(options)
        with one_blas_thread():
            cset = _constraints(train, options)
            done = obmc.complete(train, link, cset, options.solver, options.tol, options.max_iter)
        print(facts(done, train, test), file=sys.stderr)
        with Table(target, COLUMNS) as table:
            for row in best(done, train, users, items, link, count):
                table.write(row)

    return run


def _read(options: argparse.Namespace) -> tuple[Observations, Observations | None, Sequence[Any], Sequence[Any]]:
    if options.source in DATA_SETS:
        data = load(options.source)
        return data.train, data.test, data.users["user"].tolist(), data.items["title"].tolist()
    ratings = read_file(options)
    try:
        threshold: float | str = float(options.threshold)
    except ValueError:
        threshold = options.threshold
    observed = ratings.binarize(threshold=threshold)
    if options.holdout is None:
        return observed, None, ratings.users, ratings.items
    share = check_number("--holdout", options.holdout, low=0.0, high=1.0, open_low=True, open_high=True)
    seed = check_integer("--seed", options.seed, low=0)
    test, train = observed.split(share, seed)
    return train, test, ratings.users, ratings.items


def _constraints(train: Observations, options: argparse.Namespace) -> ConstraintSet:
    multiple = check_number("--tau-multiple", options.tau_multiple, low=0.0, open_low=True)
    return ConstraintSet.for_rank(train.shape, options.rank, options.alpha, multiple)


def facts(done: Completion, train: Observations, test: Observations | None) -> str:
    """What was computed and how well, in a few lines."""
    users, items = done.shape
    gap = "no certified gap" if math.isnan(done.gap) else f"certified relative gap {done.gap:.1e}"
    if done.solver == "factored" and done.alpha is not None and not math.isnan(done.gap):
        gap += " (of the problem without the bound)"
    lines = [
        f"{len(train):,} ratings of {users:,} users and {items:,} items; {done.solver}, {done.iterations} iterations, "
        f"{done.seconds:.2f} s, {gap}: {done.message}.",
        "Without privacy: nothing of this is protected.",
    ]
    if test is not None:
        accuracy = metrics.sign_accuracy(done, test)
        majority = metrics.majority_accuracy(train, test)
        lines.append(f"Sign accuracy on {len(test):,} others: {accuracy:.4f} (majority: {majority:.4f}).")
    return "\n".join(lines)


def best(
    done: Completion, train: Observations, users: Sequence[Any], items: Sequence[Any], link: Link, count: int
) -> Iterator[dict[str, Any]]:
    """The ``count`` best items for every user that are not in the training set, best first."""
    for user, chosen in enumerate(done.favourites(count, train.omega)):
        entries = done.predict(np.full(len(chosen), user), chosen)
        for item, entry, chance in zip(chosen.tolist(), entries, link.probability(entries), strict=True):
            yield {"user": users[user], "item": items[item], "estimate": float(entry), "probability": float(chance)}
