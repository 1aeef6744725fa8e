"""Where results are kept: one SQLite file that all sessions and commands share, written run by run.

Rows are kept under a hash of all that decides them (``Point.key``), so a sweep that was stopped, by whatever means,
goes on where it was, and the same run is never computed twice. What comes of data in memory has no key and cannot get
here.
"""

from __future__ import annotations

import math
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_data_dir

from obmc.errors import check_number
from obmc.experiments.outcomes import Outcome, OutcomeStore, StoreError
from obmc.experiments.sweep import FIELDS, RESULTS_VERSION, Point, Row

# Of the file's layout, in its user_version; RESULTS_VERSION is about the numbers in it.
_LAYOUT = 1
_FACTS = ("delta", "gap", "converged", "iterations", "seconds")
_SETTINGS = tuple(name for name in FIELDS if name not in ("metric", "value", *_FACTS))
_COLUMNS = ("key", "created", *_SETTINGS, *_FACTS)
_TEXT = ("key", "dataset", "link", "mechanism", "calibration", "options")
_WHOLE = ("rank", "repetition", "seed", "version")
_AT_ONCE = 500


def default_path() -> Path:
    """``OBMC_RESULTS``, else ``results.sqlite3`` in the platform's user data folder."""
    given = os.environ.get("OBMC_RESULTS")
    return Path(given).expanduser() if given else Path(user_data_dir("obmc", appauthor=False)) / "results.sqlite3"


@dataclass(frozen=True)
class StoreInfo:
    """What is in a store: ``runs`` by (data set, mechanism, calibration), and the file's facts."""

    path: Path
    bytes: int
    runs: dict[tuple[str, str, str], int]
    values: int
    versions: dict[int, int]
    seconds: float
    oldest: float
    newest: float


class Store:
    """The results store. Thread-safe, and safe with several processes on one file.

    Write-ahead logging lets readers and one writer work at a time; what a finished task gave is one transaction, which
    survives the process being killed. The file is opened at first use.

    Parameters
    ----------
    path
        The file; by default ``default_path()``. Its folder is made if need be.
    patience
        Seconds to wait for another process that is writing, at least 0.

    Every method raises ``StoreError``, saying what is wrong with the file and what to do about it.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, patience: float = 10.0) -> None:
        self.path = default_path() if path is None else Path(path)
        self._patience = check_number("patience", patience, low=0.0)
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._owner = 0

    def find(self, points: Sequence[Point]) -> dict[Point, Outcome]:
        """The outcomes that are there, each with whatever measures were taken."""
        keys = {point.key: point for point in points}
        found: dict[Point, Outcome] = {}
        with self._opened() as connection:
            names = list(keys)
            for start in range(0, len(names), _AT_ONCE):
                part = names[start : start + _AT_ONCE]
                marks = ",".join("?" * len(part))
                lines = connection.execute(
                    f"SELECT key, metric, value, {', '.join(_FACTS)} FROM runs JOIN results USING (key) "
                    f"WHERE key IN ({marks})",
                    part,
                )
                for key, metric, value, *facts in lines:
                    point = keys[key]
                    if point not in found:
                        found[point] = Outcome({}, *map(_number, facts))
                    found[point].values[metric] = _number(value)
        return found

    def keep(self, outcomes: Sequence[tuple[Point, Outcome]]) -> None:
        """Keep outcomes in one transaction. Measures that were taken before of the same runs stay."""
        runs, results = [], []
        for point, outcome in outcomes:
            key = point.key
            settings = point.settings_row()
            runs.append((key, time.time(), *(settings[name] for name in _SETTINGS), *outcome.facts().values()))
            results += [(key, metric, value) for metric, value in outcome.values.items()]
        with self._opened() as connection, _transaction(connection):
            connection.executemany(f"INSERT OR REPLACE INTO runs VALUES ({','.join('?' * len(_COLUMNS))})", runs)
            connection.executemany("INSERT OR REPLACE INTO results VALUES (?,?,?)", results)

    def rows(self) -> Iterator[Row]:
        """All rows of the current version of the results, in the order of their settings."""
        columns = [f"results.{name}" if name in ("metric", "value") else f"runs.{name}" for name in FIELDS]
        with self._opened() as connection:
            lines = connection.execute(
                f"SELECT {', '.join(columns)} FROM runs JOIN results USING (key) WHERE version = ? "
                "ORDER BY dataset, link, sigma, alpha, rank, tau, ratio, mechanism, calibration, options, epsilon, "
                "seed, repetition, metric",
                (RESULTS_VERSION,),
            ).fetchall()
        for line in lines:
            row: dict[str, Any] = dict(zip(FIELDS, line, strict=True))
            yield Row(**{name: math.nan if value is None else value for name, value in row.items()})  # type: ignore[typeddict-item]

    def info(self) -> StoreInfo:
        """What is in the store."""
        with self._opened() as connection:
            runs = connection.execute(
                "SELECT dataset, mechanism, calibration, count(*) FROM runs WHERE version = ? "
                "GROUP BY dataset, mechanism, calibration ORDER BY 1, 2, 3",
                (RESULTS_VERSION,),
            ).fetchall()
            versions = connection.execute("SELECT version, count(*) FROM runs GROUP BY version").fetchall()
            values = connection.execute("SELECT count(*) FROM results").fetchone()[0]
            seconds, oldest, newest = connection.execute(
                "SELECT total(seconds), min(created), max(created) FROM runs"
            ).fetchone()
        size = sum(path.stat().st_size for path in (self.path, Path(f"{self.path}-wal")) if path.exists())
        return StoreInfo(
            path=self.path,
            bytes=size,
            runs={(dataset, mechanism, calibration): count for dataset, mechanism, calibration, count in runs},
            values=values,
            versions=dict(versions),
            seconds=seconds,
            oldest=_number(oldest),
            newest=_number(newest),
        )

    def mean_seconds(self) -> dict[tuple[str, str, str, str], float]:
        """The mean time of a run by (data set, mechanism, calibration, options), for estimates of what is to come."""
        with self._opened() as connection:
            lines = connection.execute(
                "SELECT dataset, mechanism, calibration, options, avg(seconds) FROM runs WHERE version = ? "
                "GROUP BY dataset, mechanism, calibration, options",
                (RESULTS_VERSION,),
            ).fetchall()
        return {tuple(names): _number(seconds) for *names, seconds in lines if seconds is not None}

    def prune(self, everything: bool = False, older_than: float | None = None) -> int:
        """Remove the results of other versions, all older than so many days, or everything; returns how many runs.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        values: list[float]
        if everything:
            where, values = "1", []
        elif older_than is None:
            where, values = "version != ?", [RESULTS_VERSION]
        else:
            days = check_number("older_than", older_than, low=0.0)
            where, values = "version != ? OR created < ?", [RESULTS_VERSION, time.time() - days * 86_400.0]
        with self._opened() as connection:
            with _transaction(connection):
                connection.execute(f"DELETE FROM results WHERE key IN (SELECT key FROM runs WHERE {where})", values)
                removed = connection.execute(f"DELETE FROM runs WHERE {where}", values).rowcount
            connection.execute("VACUUM")
        return removed

    def close(self) -> None:
        """Close the file; it is opened again when needed."""
        with self._lock:
            if self._connection is not None and self._owner == os.getpid():
                with suppress(sqlite3.Error):
                    self._connection.close()
            self._connection = None

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            # A connection must not be carried over into a forked process.
            if self._connection is None or self._owner != os.getpid():
                self._connection, self._owner = self._connect(), os.getpid()
            try:
                yield self._connection
            except sqlite3.Error as error:
                self.close()
                raise StoreError(self._reason(error)) from None

    def _connect(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(
                self.path, timeout=self._patience, isolation_level=None, check_same_thread=False
            )
        except OSError as error:
            raise StoreError(
                f"the results store {self.path} cannot be made ({error.strerror}): "
                "set OBMC_RESULTS to a file in a folder that can be written."
            ) from None
        except sqlite3.Error as error:
            raise StoreError(self._reason(error)) from None
        try:
            self._prepare(connection)
        except sqlite3.Error as error:
            connection.close()
            raise StoreError(self._reason(error)) from None
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        # In one statement, since another process may be making the store at this moment.
        layout, tables = connection.execute(
            "SELECT (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_master)"
        ).fetchone()
        columns = {row[1] for row in connection.execute("PRAGMA table_info(runs)")}
        if (layout == 0 and tables) or (layout == _LAYOUT and columns and not columns >= set(_COLUMNS)):
            connection.close()
            raise StoreError(
                f"{self.path} is a database of another program, and nothing in it was changed: name another file with "
                "--store or OBMC_RESULTS."
            )
        if layout > _LAYOUT:
            connection.close()
            raise StoreError(
                f"the results store {self.path} was made by a newer version of this program: "
                "update it, or set OBMC_RESULTS to another file."
            )
        connection.execute("PRAGMA journal_mode = WAL")
        # A power failure may take the last runs with it, never the file; a killed process loses nothing.
        connection.execute("PRAGMA synchronous = NORMAL")
        if layout == _LAYOUT:
            return
        kinds = [f"{name} {'TEXT' if name in _TEXT else 'INTEGER' if name in _WHOLE else 'REAL'}" for name in _COLUMNS]
        with _transaction(connection):
            connection.execute(f"CREATE TABLE IF NOT EXISTS runs ({', '.join(kinds)}, PRIMARY KEY (key)) WITHOUT ROWID")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS results (key TEXT, metric TEXT, value REAL, PRIMARY KEY (key, metric)) "
                "WITHOUT ROWID"
            )
            connection.execute(f"PRAGMA user_version = {_LAYOUT}")

    def _reason(self, error: sqlite3.Error) -> str:
        name = getattr(error, "sqlite_errorname", "")
        place = f"the results store {self.path}"
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "no such table" in str(error):
            return f"{place} is damaged or is no results store: move it away and a new one is made."
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return f"{place} is locked by another program for over {self._patience:g} s: end it and try again."
        if name.startswith("SQLITE_FULL"):
            return f"{place} has no room left: free space on its disk, or set OBMC_RESULTS to a file on another one."
        if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
            return f"{place} cannot be written: change its permissions, or set OBMC_RESULTS to a file that can be."
        if name.startswith("SQLITE_IOERR"):
            return f"{place} cannot be read or written ({error}): its disk may be full or failing."
        return f"{place} cannot be used ({error}): move it away and a new one is made."


class MemoryStore:
    """Outcomes kept in this process only, the last ``size`` ones. Thread-safe."""

    def __init__(self, size: int = 50_000) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._outcomes: dict[str, Outcome] = {}

    def find(self, points: Sequence[Point]) -> dict[Point, Outcome]:
        """The outcomes that are there."""
        with self._lock:
            return {point: self._outcomes[key] for point in points if (key := point.key) in self._outcomes}

    def keep(self, outcomes: Sequence[tuple[Point, Outcome]]) -> None:
        """Keep outcomes; the oldest go where there are too many."""
        with self._lock:
            for point, outcome in outcomes:
                self._outcomes[point.key] = merged(self._outcomes.pop(point.key, None), outcome)
            for key in list(self._outcomes)[: max(len(self._outcomes) - self._size, 0)]:
                del self._outcomes[key]


class FixedStore:
    """Outcomes that came with the package, from tables of rows with a column ``key``; nothing is added to them."""

    def __init__(self, tables: Sequence[str | os.PathLike[str]]) -> None:
        self._tables = tables
        self._lock = threading.Lock()
        self._outcomes: Mapping[str, Outcome] | None = None

    def find(self, points: Sequence[Point]) -> dict[Point, Outcome]:
        """The outcomes that are there."""
        with self._lock:
            if self._outcomes is None:
                self._outcomes = self._read()
        return {point: self._outcomes[key] for point in points if (key := point.key) in self._outcomes}

    def keep(self, outcomes: Sequence[tuple[Point, Outcome]]) -> None:
        """Nothing: what came with the package stays as it is."""

    def _read(self) -> dict[str, Outcome]:
        import pandas as pd

        outcomes: dict[str, Outcome] = {}
        for path in self._tables:
            try:
                table = pd.read_parquet(path, columns=["key", "metric", "value", "version", *_FACTS])
            except (OSError, ValueError, KeyError) as error:
                raise StoreError(f"the shipped results {path} cannot be read ({error}): fetch them again.") from None
            table = table[table["version"] == RESULTS_VERSION]
            lines = zip(*(table[name].tolist() for name in ("key", "metric", "value", *_FACTS)), strict=True)
            for key, metric, value, *facts in lines:
                outcomes.setdefault(key, Outcome({}, *facts)).values[metric] = value
        return outcomes


class LayeredStore:
    """Several stores in one: looked up in order, written to the first.

    A store that cannot be read is passed over: the others still serve, and what is wrong shows when something is kept.
    """

    def __init__(self, *stores: OutcomeStore) -> None:
        self._stores = stores

    def find(self, points: Sequence[Point]) -> dict[Point, Outcome]:
        """The outcomes that any of the stores has, with the measures of all."""
        found: dict[Point, Outcome] = {}
        for store in self._stores:
            with suppress(StoreError):
                for point, outcome in store.find(points).items():
                    found[point] = merged(found.get(point), outcome)
        return found

    def keep(self, outcomes: Sequence[tuple[Point, Outcome]]) -> None:
        """Keep outcomes in the first store."""
        self._stores[0].keep(outcomes)


def merged(older: Outcome | None, newer: Outcome) -> Outcome:
    """One outcome of a run from two that were taken of it, with the measures of both."""
    if older is None:
        return newer
    values = {**older.values, **newer.values}
    return Outcome(values, newer.delta, newer.gap, newer.converged, newer.iterations, newer.seconds)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    # Immediate: to wait for another writer at the start, not to fail in the middle.
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _number(value: Any) -> float:
    # SQLite has no nan and holds NULL in its place.
    return math.nan if value is None else float(value)
