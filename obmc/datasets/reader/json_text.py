"""JSON to rows: lines of objects, a list of objects or of lists, a table by columns, or ratings by user and item."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from typing import Any

from obmc.datasets.reader.grid import ListGrid, Skipped
from obmc.errors import RatingsError

NO_TABLE = (
    "The file is JSON, but not a table of ratings: give one object with user, item and rating per line, or a CSV file."
)
LONGEST_LITERAL = 2**16


def looks_like_json(data: bytes) -> bool:
    """Does the text begin as a JSON object or a list of objects or lists?"""
    start = data[:4096].lstrip()
    return start[:1] == b"{" or (start[:1] == b"[" and start[1:].lstrip()[:1] in (b"{", b"["))


def read_json(data: bytes) -> tuple[ListGrid, list[str]]:
    """The rows of the table and what is to be noted. Raises ``RatingsError`` if there is no table."""
    notes: list[str] = []
    try:
        found = json.loads(data)
        records, skipped = _records(found, notes), 0
    except (ValueError, RecursionError):
        records, skipped = _by_line(data.decode(), notes)
    grid = _table(records)
    grid.skipped = Skipped(ragged=skipped)
    return grid, notes


def _by_line(text: str, notes: list[str]) -> tuple[list[Any], int]:
    records: list[Any] = []
    broken = loose = 0
    for line in text.split("\n"):
        line = line.strip().rstrip(",")
        if not line or line in "[]":
            continue
        try:
            records.append(json.loads(line))
        except (ValueError, RecursionError):
            try:
                # Some public data sets write Python literals and call them JSON.
                records.append(ast.literal_eval(line) if len(line) < LONGEST_LITERAL else None)
                loose += 1
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                broken += 1
    if broken > len(records):
        raise RatingsError("The file begins like JSON but is broken: export it again, as JSON lines or as CSV.")
    if loose:
        notes.append(f"{loose:,} lines are Python literals rather than JSON and were read as such.")
    if len(records) == 1:
        return _records(records[0], notes), broken
    return records, broken


def _records(found: Any, notes: list[str]) -> list[Any]:
    if isinstance(found, list):
        return found
    if not isinstance(found, dict) or not found:
        raise RatingsError(NO_TABLE)
    if isinstance(found.get("columns"), list) and isinstance(found.get("data"), list):
        return [
            dict(zip(map(str, found["columns"]), row, strict=False)) for row in found["data"] if isinstance(row, list)
        ]
    tables = [value for value in found.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
    if len(tables) == 1:
        return tables[0]
    values = list(found.values())
    if (
        all(isinstance(value, list) for value in values)
        and len({len(value) for value in values}) == 1
        and len(values) > 2
    ):
        return [dict(zip(found, row, strict=True)) for row in zip(*values, strict=True)]
    if all(isinstance(value, dict) for value in values):
        return _nested(found, notes)
    if not any(isinstance(value, dict | list) for value in values):
        return [found]
    raise RatingsError(NO_TABLE)


def _nested(found: Mapping[str, Mapping[str, Any]], notes: list[str]) -> list[Any]:
    """{"rating": {"0": 5, ...}, ...} by columns, or {"user": {"item": 5, ...}, ...}."""
    keys = [tuple(value) for value in found.values()]
    numbered = all(key.isdigit() for key in keys[0])
    if len(set(keys)) == 1 and numbered and len(found) >= 3 and not all(key.isdigit() for key in found):
        return [{name: column[key] for name, column in found.items()} for key in keys[0]]
    if any(isinstance(value, dict) and "rating" in value for value in found.values()):
        return list(found.values())
    notes.append(
        "The file lists ratings by user and item: the outer names were taken as users, the inner ones as items."
    )
    return [
        {"user": user, "item": item, "rating": rating} for user, row in found.items() for item, rating in row.items()
    ]


def _table(records: list[Any]) -> ListGrid:
    if not records:
        raise RatingsError("The file is JSON without any rating in it.")
    if all(isinstance(record, list) for record in records):
        width = max(len(record) for record in records)
        rows = [[_text(value) for value in record] + [""] * (width - len(record)) for record in records]
        names = None
        if (
            rows
            and all(isinstance(value, str) for value in records[0])
            and not all(isinstance(value, str) for record in records[1:2] for value in record)
        ):
            names, rows = rows[0], rows[1:]
        return ListGrid(names, width, rows)
    objects = [_flat(record) for record in records if isinstance(record, dict)]
    if len(objects) < 0.5 * len(records):
        raise RatingsError(NO_TABLE)
    names = list(dict.fromkeys(name for record in objects for name in record))
    if len(names) * len(objects) > 2 * 10**8:
        raise RatingsError("The JSON file has too many different names to be a table: give a CSV file.")
    return ListGrid(names, len(names), [[_text(record.get(name)) for name in names] for record in objects])


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """One level of objects inside is opened: {"user": {"id": 3}} has the column "user.id"."""
    if not any(isinstance(value, dict) for value in record.values()):
        return dict(record)
    pairs: list[tuple[str, Any]] = []
    for name, value in record.items():
        inner: Iterable[tuple[str, Any]] = (
            ((f"{name}.{key}", inside) for key, inside in value.items()) if isinstance(value, dict) else [(name, value)]
        )
        pairs.extend(inner)
    return dict(pairs)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict) and len(value) == 1 and next(iter(value)).startswith("$"):
        return _text(next(iter(value.values())))
    return str(value)
