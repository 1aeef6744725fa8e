"""The command line, ``python -m obmc COMMAND``.

A command is one function, here or in ``obmc.experiments.commands``, and one line in ``COMMANDS``. The function adds its
options to a parser and returns what runs it; the first line of its docstring is its help. It raises ``ValueError``,
``OSError`` or ``ReleaseFailed``: ``main`` makes one sentence and exit code 2 of it, so that no command prints a
traceback for something its user can mend.
"""

from __future__ import annotations

import argparse
import inspect
import os
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import NoReturn

from obmc.datasets import DATA_SETS, fetch
from obmc.datasets.registry import DataSet
from obmc.errors import ReleaseFailed
from obmc.experiments.commands import audit, complete, release, reproduce, store, sweep

Run = Callable[[argparse.Namespace], None]
BAD_INPUT = 2
INTERRUPTED = 130


def fetch_data(parser: argparse.ArgumentParser) -> Run:
    """Bring the paper's real data sets to this machine, from their publishers or from a copy that is already here.

    A data set that is there already is left as it is. Everything is checked against the published checksums. Without
    internet, download the archive elsewhere and hand it over with --from.
    """
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(DATA_SETS)}; all if none is given")
    parser.add_argument("--from", dest="source", metavar="PATH", help="a zip archive or folder with the one named")
    parser.add_argument(
        "--data-home", metavar="FOLDER", help="where to put them (default: OBMC_DATA_HOME or the user's)"
    )
    parser.epilog = "\n".join(["data sets:", *(_description(row) for row in DATA_SETS.values())])

    def run(options: argparse.Namespace) -> None:
        names = options.names or list(DATA_SETS)
        unknown = [name for name in names if name not in DATA_SETS]
        if unknown:
            raise ValueError(f"NAME must be one of {', '.join(DATA_SETS)}, got {', '.join(unknown)}.")
        if options.source is not None and len(names) != 1:
            raise ValueError("--from needs the NAME of the one data set that the archive or folder holds.")
        for name in names:
            folder = fetch(name, options.data_home, options.source, _progress_line(name))
            print(f"{name}: {folder}\nLicence: {DATA_SETS[name].licence}")

    return run


COMMANDS: dict[str, Callable[[argparse.ArgumentParser], Run]] = {
    "fetch-data": fetch_data,
    "complete": complete,
    "sweep": sweep,
    "reproduce": reproduce,
    "audit": audit,
    "release": release,
    "store": store,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 2 on bad input, 130 if interrupted."""
    parser = _Parser(prog="python -m obmc", description="One-bit matrix completion under differential privacy.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    runs = {}
    for name, command in COMMANDS.items():
        text = inspect.getdoc(command) or ""
        runs[name] = command(
            commands.add_parser(
                name,
                help=text.partition("\n")[0],
                description=text,
                formatter_class=argparse.RawDescriptionHelpFormatter,
                allow_abbrev=False,
            )
        )
    options = parser.parse_args(arguments)
    try:
        runs[options.command](options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has what it wanted (as in `| head`); the interpreter's own last flush would complain once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError, ReleaseFailed) as error:
        print(f"{parser.prog} {options.command}: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print(f"{parser.prog} {options.command}: stopped.", file=sys.stderr)
        return INTERRUPTED
    return 0


class _Parser(argparse.ArgumentParser):
    """Says in one sentence what is wrong with the arguments, where argparse would print the usage first."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {message}; see {self.prog} --help.\n")


def _description(row: DataSet) -> str:
    facts = (f"{row.title}: {row.summary}.", f"From {row.address}", f"Licence: {row.licence}", f"Cite: {row.citation}")
    lines = (textwrap.fill(fact, 100, initial_indent="    ", subsequent_indent="      ") for fact in facts)
    return "\n".join([f"\n  {row.name}", *lines])


def _progress_line(name: str) -> Callable[[int, int | None], None] | None:
    """A line on a terminal that counts the megabytes; nothing where the output is not a terminal."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int | None) -> None:
        of = f" of {total / 1e6:.1f}" if total else ""
        end = "\n" if done == total else ""
        print(f"\r{name}: {done / 1e6:.1f}{of} MB", end=end, file=sys.stderr, flush=True)

    return show
