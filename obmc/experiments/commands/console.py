"""What the commands share: tables out, a progress line, and the options for where and with what to compute."""

from __future__ import annotations

import argparse
import csv
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from obmc.datasets import RatingsTable, read_ratings
from obmc.experiments.executors import open_executor
from obmc.experiments.jobs import duration
from obmc.experiments.outcomes import OutcomeStore, StoreWarning
from obmc.experiments.runner import Progress, make_rows, run
from obmc.experiments.store import Store
from obmc.experiments.sweep import FIELDS, Row, Sweep
from obmc.links import LINKS, Link, has_sigma

FORMATS = (".csv", ".parquet")
_BAR = 30


def add_columns(group: argparse._ArgumentGroup) -> None:
    """The options for which columns of a ratings file are which, as ``read_file`` takes them."""
    group.add_argument("--user", metavar="COLUMN", help="name or 0-based position of the users' column")
    group.add_argument("--item", metavar="COLUMN", help="of the items' column")
    group.add_argument("--rating", metavar="COLUMN", help="of the ratings' column")


def add_link(group: argparse._ArgumentGroup) -> None:
    """Add --link and --sigma, which ``link_of`` reads."""
    group.add_argument("--link", default="logistic", choices=tuple(LINKS), help="default: logistic")
    group.add_argument("--sigma", type=float, metavar="X", help="of the gaussian link (default: 1)")


def link_of(options: argparse.Namespace) -> Link:
    """The link that was asked for; ``ValueError`` for a scale of the logistic link, which has none to choose."""
    scale = 1.0 if options.sigma is None else options.sigma
    if options.sigma is not None and not has_sigma(options.link):
        raise ValueError(f"--sigma is of the gaussian link, and the {options.link} one has none: leave it out.")
    return LINKS[options.link](scale)


def read_file(options: argparse.Namespace) -> RatingsTable:
    """The ratings file ``options.source``; what was changed or guessed goes to standard error."""
    user, item, rating = (
        int(name) if name is not None and name.isdecimal() else name
        for name in (options.user, options.item, options.rating)
    )
    table = read_ratings(options.source, user=user, item=item, rating=rating)
    for note in table.notes:
        print(note, file=sys.stderr)
    return table


def add_computing_options(parser: argparse.ArgumentParser) -> None:
    """The options for where to compute and what to keep."""
    group = parser.add_argument_group("where to compute and what to keep")
    group.add_argument("--workers", type=int, metavar="N", help="worker processes (default: one for each CPU)")
    group.add_argument(
        "--dask", metavar="ADDRESS", help="compute on the Dask cluster of this scheduler (default: OBMC_DASK)"
    )
    group.add_argument(
        "--store", metavar="FILE", help="the results store to look up and to keep in (default: OBMC_RESULTS)"
    )
    group.add_argument("--no-store", action="store_true", help="compute everything, and keep nothing")
    group.add_argument("--quiet", action="store_true", help="no progress line")


def executor_of(options: argparse.Namespace) -> AbstractContextManager[Executor]:
    """Where the options above say to compute."""
    return open_executor(options.workers, options.dask)


def look_up_all(sweeps: Mapping[str, Sweep], options: argparse.Namespace) -> Iterator[tuple[str, Row]]:
    """Yield (name, row) of what the store of the options above has of sweeps; ``StoreError`` if it cannot be read."""
    kept = Store(options.store)
    for name, sweep in sweeps.items():
        found = kept.find(list(sweep.points()))
        for point, outcome in found.items():
            if outcome.values.keys() >= set(sweep.metrics):
                for row in make_rows(point, outcome, sweep.metrics):
                    yield name, row


def compute(sweeps: Mapping[str, Sweep], executor: Executor, options: argparse.Namespace) -> Iterator[tuple[str, Row]]:
    """Run sweeps one after the other with the options above, and yield (name, row)."""
    kept: OutcomeStore | None = None if options.no_store else Store(options.store)
    for name, sweep in sweeps.items():
        line = ProgressLine(name, sys.stderr, options.quiet)
        with warnings.catch_warnings():
            # The progress line says it too.
            warnings.simplefilter("ignore", StoreWarning)
            for row in run(sweep, executor, kept, line.show):
                yield name, row
        line.end()


class ProgressLine:
    """A line that counts the runs, with the time that is left; on a terminal it is drawn over and over."""

    def __init__(self, name: str, stream: TextIO, quiet: bool = False) -> None:
        self._name = name
        self._stream = stream
        self._quiet = quiet
        self._live = stream.isatty() and not quiet
        self._last: Progress | None = None
        self._width = 0

    def show(self, progress: Progress) -> None:
        """Draw the line; a callback of ``run``."""
        self._last = progress
        if self._live:
            self._draw(text_of(self._name, progress))

    def end(self) -> None:
        """Leave the last line behind, and say what the user should know."""
        progress = self._last
        if progress is None:
            return
        if self._live:
            self._draw("")
            self._stream.write("\r")
        if not self._quiet:
            from_store = f", {progress.cached:,} of them from the store" if progress.cached else ""
            took = duration(progress.seconds)
            print(f"{self._name}: {progress.done:,} runs in {took}{from_store}.", file=self._stream)
        if progress.note:
            print(f"{self._name}: going on without the store: {progress.note}", file=self._stream)
        for sentence in map(str, progress.refused):
            print(f"{self._name}: left out: {sentence}", file=self._stream)
        self._stream.flush()

    def _draw(self, text: str) -> None:
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)


def text_of(name: str, progress: Progress) -> str:
    """The progress as a line of text with a bar."""
    full = int(_BAR * progress.share)
    left = "" if progress.remaining != progress.remaining else f", {duration(progress.remaining)} left"
    return f"{name} [{'#' * full}{'.' * (_BAR - full)}] {progress.done:,} of {progress.total:,}{left}"


def check_output(path: str | None) -> Path | None:
    """The file that a table goes to, None for the standard output.

    ``ValueError`` for an ending that is not known, ``OSError`` where it cannot be written: before hours are spent.
    """
    if path is None or path == "-":
        return None
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise ValueError(f"--output must end in {' or '.join(FORMATS)}, got {path}.")
    if target.suffix.lower() == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise ValueError("--output can be Parquet only where pyarrow is installed: pip install pyarrow.") from None
    if target.is_dir():
        raise ValueError(f"--output must be a file, and {path} is a folder.")
    check_folder(target.parent)
    return target


def check_apart(**files: str | None) -> None:
    """``ValueError`` where two of the files, named as on the command line, are one: the second would replace the first.

    ``None`` and "-" are no files.
    """
    seen: dict[Path, str] = {}
    for name, path in files.items():
        if path is None or path == "-":
            continue
        place = Path(path).resolve()
        if place in seen:
            raise ValueError(
                f"--{name} must be another file than {seen[place]}, which it would replace, and both are {path}."
            )
        seen[place] = "the ratings" if name == "source" else f"--{name}"


def check_folder(folder: Path, option: str = "--output") -> None:
    """``OSError`` with a sentence where no file can be made in the folder."""
    try:
        # As it stands: a path through a folder that is not there is none, wherever it leads to.
        os.stat(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(f"{option} cannot be written to {folder}: {error.strerror}.") from None


@contextmanager
def in_place(target: Path) -> Iterator[Path]:
    """A file beside the target to write to, which takes its place whole at the end of the block, or not at all."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


class Table:
    """Rows on their way out: to the standard output as they come, to a file at the end, whole or not at all.

    A context manager. Where the rows end early, by an error or an interrupt, those that there are go to the file.
    ``order`` is what the rows of a file are sorted by, so that equal sweeps give equal files.
    """

    def __init__(
        self, target: Path | None, columns: Sequence[str] = FIELDS, order: Callable[[Any], Any] | None = None
    ) -> None:
        self._target = target
        self._columns = columns
        self._order = order
        self._rows: list[Mapping[str, Any]] = []
        self._writer: csv.DictWriter[str] | None = None

    def __enter__(self) -> Table:
        return self

    def write(self, row: Mapping[str, Any]) -> None:
        """Add a row."""
        if self._target is None:
            if self._writer is None:
                self._writer = self._start(sys.stdout)
            self._writer.writerow(row)
        else:
            self._rows.append(row)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._target is None:
            # What is refused at once has no table, not even a head.
            if self._writer is None and kind is None:
                self._start(sys.stdout)
            sys.stdout.flush()
        elif self._rows:
            self._put(self._target)

    def _put(self, target: Path) -> None:
        if self._order is not None:
            self._rows.sort(key=self._order)
        with in_place(target) as part:
            if target.suffix.lower() == ".parquet":
                table = pd.DataFrame(self._rows, columns=list(self._columns))
                table.to_parquet(part, index=False, compression="zstd")
            else:
                with open(part, "w", encoding="utf-8", newline="") as stream:
                    self._start(stream).writerows(self._rows)

    def _start(self, stream: TextIO) -> csv.DictWriter[str]:
        writer = csv.DictWriter(stream, self._columns, lineterminator="\n")
        writer.writeheader()
        return writer


def in_order_of(sweep: Sweep) -> Callable[[Any], Any]:
    """The order of a sweep's rows: that of its grid."""
    places: dict[tuple[Any, ...], int] = {}
    for place, point in enumerate(sweep.points()):
        places[tuple(point.settings_row().values())] = place
    names = tuple(point.settings_row())
    metrics = {metric: place for place, metric in enumerate(sweep.metrics)}
    return lambda row: (places[tuple(row[name] for name in names)], metrics[row["metric"]])
