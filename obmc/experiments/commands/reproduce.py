"""``python -m obmc reproduce``: the paper's figures and table, computed again."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

from obmc.datasets.registry import DATA_SETS, locate
from obmc.experiments.commands.console import (
    Table,
    add_computing_options,
    check_folder,
    check_output,
    compute,
    executor_of,
    look_up_all,
)
from obmc.experiments.figures import (
    ORIGIN,
    PARTS,
    TABLE,
    Figure,
    choices,
    figures,
    find_figure,
    origin_of,
    points_of,
    settings_of,
    shipped_folder,
    table_1,
)
from obmc.experiments.machine import machine
from obmc.experiments.measures import find_measure
from obmc.experiments.report import make_report, markdown, read_tables, series_of
from obmc.experiments.sweep import FIELDS, Row, Sweep

CHOICES = "choices"
FOLDER = "results"
REPORT = "docs/reproduction.md"
MACHINE = "machine.json"


def reproduce(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], None]:
    """Compute the paper's figures and its table again, with the paper's numbers of repetitions.

    A table for each goes to a folder. What is in the results store is not computed again, so a run that was stopped is
    gone on with by the same command. Everything takes hours on two cores, --quick minutes.
    """
    parser.add_argument(
        "--figure",
        nargs="+",
        metavar="NAME",
        help=f"{', '.join([*figures(), *choices(), TABLE])}; 1, 2, 3 mean both of their parts, {CHOICES} all of what "
        "is varied because the paper does not print it (default: all)",
    )
    parser.add_argument("--only", nargs="+", metavar="PART", help=f"of each figure only {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="two draws, three epsilons, nothing that takes minutes")
    parser.add_argument("--computed", action="store_true", help="what the results store has of it, and no more")
    parser.add_argument(
        "--report",
        metavar="FILE",
        nargs="?",
        const=REPORT,
        help=f"only write the report on the tables in --output, else on the shipped ones, to FILE (default: {REPORT})",
    )
    parser.add_argument("--output", metavar="FOLDER", help=f"for the tables (default: {FOLDER})")
    parser.add_argument("--format", default="csv", choices=("csv", "parquet"), help="of the tables (default: csv)")
    add_computing_options(parser)

    def run(options: argparse.Namespace) -> None:
        if options.report is not None:
            _report(Path(options.report), shipped_folder() if options.output is None else Path(options.output))
            return
        chosen, table = _chosen(options)
        if options.computed and options.no_store:
            raise ValueError("--computed takes what is in the results store, and --no-store leaves it out.")
        folder = Path(options.output or FOLDER)
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"--output must be a folder, and {folder} is a file.")
        folder.mkdir(parents=True, exist_ok=True)
        check_folder(folder)
        # Before hours are spent: whether the data are here.
        for dataset in DATA_SETS:
            if table or any(sweep.dataset == dataset for figure in chosen for sweep in figure.parts.values()):
                locate(dataset)
        if table:
            rows = table_1()
            target = check_output(str(folder / f"table-1.{options.format}"))
            with Table(target, list(rows[0])) as out:
                for row in rows:
                    out.write(row)
            print(f"{target}: Table 1.")
        if options.computed:
            for figure in chosen:
                _write(figure, folder, options, look_up_all(_sweeps(figure), options))
        else:
            with executor_of(options) as executor:
                for figure in chosen:
                    _write(figure, folder, options, compute(_sweeps(figure), executor, options))
        print("Means over the draws. What the paper states of its figures, and what of it holds: docs/reproduction.md.")

    return run


def _chosen(options: argparse.Namespace) -> tuple[list[Figure], bool]:
    names: dict[str, None] = {}
    for name in options.figure or [*figures(), CHOICES, TABLE]:
        both = list(choices()) if name == CHOICES else [figure for figure in figures() if figure[:-1] == name]
        names.update(dict.fromkeys(both or [name]))
    table = TABLE in names
    names.pop(TABLE, None)
    chosen = [find_figure(name) for name in names]
    for part in options.only or ():
        if part not in PARTS:
            raise ValueError(f"--only must name {', '.join(PARTS)}, got {part}.")
    if options.quick:
        chosen = [figure.quick() for figure in chosen]
    if options.only:
        kept = [
            Figure(
                figure.name,
                figure.title,
                figure.against,
                {name: sweep for name, sweep in figure.parts.items() if name in options.only},
            )
            for figure in chosen
        ]
        chosen = kept
    return [figure for figure in chosen if figure.parts], table


def _report(target: Path, folder: Path) -> None:
    report = make_report(read_tables(folder))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(markdown(report), encoding="utf-8")
    print(f"{target}: {report.summary}")


def _sweeps(figure: Figure) -> dict[str, Sweep]:
    return {f"figure {figure.name} {name}": sweep for name, sweep in figure.parts.items()}


def _write(figure: Figure, folder: Path, options: argparse.Namespace, found: Iterator[tuple[str, Row]]) -> None:
    target = folder / f"figure-{figure.name}.{options.format}"
    points = {settings: point for sweep in figure.parts.values() for settings, point in points_of(sweep).items()}
    places = {settings: place for place, settings in enumerate(points)}
    rows = []
    with Table(check_output(str(target)), (*ORIGIN, *FIELDS), lambda row: places[settings_of(row)]) as table:
        for _, row in found:
            rows.append(row)
            table.write({**origin_of(points[settings_of(row)]), **row})
    if not rows:
        print(f"Figure {figure.name}: nothing of it is in the results store.")
        return
    _note_machine(folder / MACHINE, target.stem)
    print(f"{target}: {figure.title}.")
    print(means(sorted(rows, key=lambda row: places[settings_of(row)]), figure.against))


def _note_machine(target: Path, table: str) -> None:
    """Say beside the tables on what machine this one was made: on another the last digits may differ."""
    made = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    target.write_text(json.dumps({**made, table: machine()}, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def means(rows: list[Row], against: str) -> str:
    """The means over the draws as text: a line for each mechanism (and epsilon), a column for each of ``against``."""
    table = pd.DataFrame(rows)
    table = table[table["metric"] == table["metric"].iloc[0]]
    counts = table.groupby(["mechanism", "calibration", "options"])["repetition"].nunique()
    draws = f"{counts.max()}" if counts.min() == counts.max() else f"{counts.min()} to {counts.max()}"
    head = f"{find_measure(str(table['metric'].iloc[0])).label}: means of {draws} draws, against {against}"
    table["mechanism"] = [series_of(row.mechanism, row.calibration, row.options) for row in table.itertuples()]
    lines = ["mechanism"] if against == "epsilon" else ["mechanism", "epsilon"]
    wide = table.pivot_table(index=lines, columns=against, values="value", sort=False)
    body = wide[sorted(wide.columns)].to_string(float_format=lambda value: f"{value:.3f}", na_rep="")
    return f"{head}\n{body}"
