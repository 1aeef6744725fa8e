"""``python -m obmc store``: what is in the results store, and how to get it out or rid of it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from obmc.experiments.commands.console import Table, check_output
from obmc.experiments.jobs import duration
from obmc.experiments.store import Store, StoreInfo
from obmc.experiments.sweep import RESULTS_VERSION


def store(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], None]:
    """Show, prune or export the results store, the file in which all computed runs are kept.

    info: where it is and what is in it. export: its rows as a table. prune: remove the results of other versions of the
    program, and with --older-than or --all others too.
    """
    parser.add_argument("action", choices=("info", "prune", "export"), help="what to do")
    parser.add_argument("--store", metavar="FILE", help="the store (default: OBMC_RESULTS, else the user's)")
    parser.add_argument("--output", metavar="FILE", help="export: a .csv or .parquet file (default: CSV on the output)")
    parser.add_argument("--older-than", type=float, metavar="DAYS", help="prune: all results older than this too")
    parser.add_argument("--all", action="store_true", help="prune: everything")

    def run(options: argparse.Namespace) -> None:
        for option, given, action in (
            ("--all", options.all, "prune"),
            ("--older-than", options.older_than is not None, "prune"),
            ("--output", options.output is not None, "export"),
        ):
            if given and options.action != action:
                raise ValueError(f"{option} belongs to store {action}, not to store {options.action}.")
        kept = Store(options.store)
        if not kept.path.exists():
            raise ValueError(f"there is no results store {kept.path}: compute something, or name another with --store.")
        if options.action == "info":
            print(describe(kept.info()))
        elif options.action == "prune":
            removed = kept.prune(options.all, options.older_than)
            print(f"{removed:,} runs removed from {kept.path}.")
        else:
            with Table(check_output(options.output)) as table:
                for row in kept.rows():
                    table.write(row)

    return run


def describe(info: StoreInfo) -> str:
    """The contents of a store for a reader."""
    total = sum(info.versions.values())
    lines = [f"{info.path}: {info.bytes / 1e6:.1f} MB, {total:,} runs, {info.values:,} values."]
    if total:
        dates = [time.strftime("%Y-%m-%d", time.localtime(moment)) for moment in (info.oldest, info.newest)]
        lines.append(f"Computed from {dates[0]} to {dates[1]}, {duration(info.seconds)} of computing in all.")
    for (dataset, mechanism, calibration), count in info.runs.items():
        lines.append(f"  {dataset:20} {' '.join(filter(None, (mechanism, calibration))):20} {count:8,} runs")
    old = total - info.versions.get(RESULTS_VERSION, 0)
    if old:
        lines.append(f"{old:,} runs are of other versions of the program and are not used: store prune removes them.")
    return "\n".join(lines)
